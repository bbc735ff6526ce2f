"""Agreement of a metric with people on which of two translations, or of two systems, is better.

Higher metric scores must be better: turn the sign of a metric such as TER first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.ragged import Flags, Floats, Ints
from bmx_grid.measures.correlation import FEWEST, TIE, beats
from bmx_grid.measures.ordered import compile_kernel
from bmx_grid.measures.resampling import (
    CELLS,
    blocks,
    bundle_clusters,
    draws,
    fitting,
    interval,
    ranges,
    ratio,
    seeded_draws,
    sums_by,
    swaps,
)

MAX_PAIRS = 1_000_000  # of segments, for the calibration of ties; of more, that many are drawn
PAIRS_AT_ONCE = 500  # of systems, in a permutation test
FEWEST_PARTS = 4096  # that the range of tie thresholds is divided into
MOST_PARTS_PER_UNIT = 1e300  # their products with a distance are finite


@dataclass(frozen=True, eq=False)
class SegmentPairs:
    """Pairs of n segments within groups, and how people judged them; the same for every metric.

    first, second: rows of each of M pairs; group: its group; weight: float64[M] of a pair in the mean over groups.
    by_human: int8[M] the sign of the difference of the human scores.
    n_rows, n_groups: rows and groups; n_pairs_of: pairs that there are.
    """

    first: Ints
    second: Ints
    group: Ints
    weight: Floats
    by_human: NDArray[np.int8]
    n_rows: int
    n_groups: int
    n_pairs_of: int

    @classmethod
    def from_groups(cls, human: Floats, groups: Ints, *, seed: int = 0, max_pairs: int = MAX_PAIRS) -> SegmentPairs:
        """All pairs within groups int64[n] of float64[n] human scores without NaN.

        Past max_pairs, so many pairs are drawn with replacement (the seed decides), from each group in proportion to
        its pairs.
        """
        rows = np.argsort(groups, kind="stable")
        _, sizes = np.unique(groups, return_counts=True)
        group_pairs = sizes * (sizes - 1) // 2
        total = int(group_pairs.sum())
        defined = int((group_pairs > 0).sum())
        if total <= max_pairs:
            first, second, group = _all_pairs(rows, sizes)
        else:
            rng = np.random.default_rng(seed)
            first, second, group = _drawn_pairs(rows, sizes, max_pairs, rng)
        # Each group with a pair weighs the same, and within it each pair.
        used_pairs = np.bincount(group)
        weight = 1 / used_pairs[group] / defined
        by_human = _order(human[first], human[second])
        return cls(
            first=first,
            second=second,
            group=group,
            weight=weight,
            by_human=by_human,
            n_rows=len(human),
            n_groups=len(sizes),
            n_pairs_of=total,
        )

    def agreement(self, metric: Floats, epsilon: float) -> float:
        """acc_eq of float64[n] scores at a threshold that was chosen elsewhere; NaN without a pair."""
        if not len(self.first):
            return math.nan
        return float(self.weight @ self.find_agreeing(metric, epsilon))

    def find_agreeing(self, metric: Floats, epsilon: float) -> Flags:
        """bool[M] which pairs float64[n] scores order as people do, if scores at most epsilon apart tie."""
        agrees: Flags = compile_kernel(_find_agreeing)(metric, self.first, self.second, self.by_human, epsilon)
        return agrees

    def calibrate(self, metric: Floats) -> tuple[float, bool]:
        """The tie threshold of float64[n] scores without NaN that makes pairwise accuracy with ties largest.

        Returns epsilon: pairs whose scores differ by at most this are ties (Deutsch et al. 2023); the smallest of the
        best thresholds, NaN without a pair. And whether it does no better than tying every pair, so that the accuracy
        is only the share of pairs that people tied.
        Equals the search over all thresholds, in one pass over the pairs.
        """
        if not len(self.first):
            return math.nan, False
        first, second, weight_of_ties = self._human_ties
        distances = np.abs(metric[first] - metric[second])
        # Raising the threshold past a pair makes it a tie: right if people tied it, wrong if it was concordant. So the
        # best ones are among 0 and the distances of what people tied.
        thresholds = np.unique(np.append(0.0, distances))
        pairs = (metric, self.first, self.second, self.by_human, self.weight)
        right, changes = compile_kernel(_weigh_thresholds)(*pairs, thresholds)
        accuracies = right + np.cumsum(changes)
        # the first of the best: sums of weights differ by rounding
        as_high = accuracies >= accuracies.max() - TIE
        best = int(np.argmax(as_high))
        # A metric that ties everything has the weight of what people tied.
        return float(thresholds[best]), not beats(accuracies[best] - weight_of_ties)

    @cached_property
    def _human_ties(self) -> tuple[Ints, Ints, float]:
        """Both rows of each pair that people tied, and the weight of all of these pairs."""
        tied = self.by_human == 0
        return self.first[tied], self.second[tied], float(self.weight[tied].sum())

    def shares(self, agree: Flags) -> tuple[Floats, Floats]:
        """float64[n] the share of the pairs of each row that agree, and float64[G] that of each group; NaN of none."""
        of_row, of_group = self._sizes
        agreed_of_group = np.bincount(self.group, agree, self.n_groups)
        return ratio(self._pairs_per_row(agree), of_row), ratio(agreed_of_group, of_group)

    @cached_property
    def _sizes(self) -> tuple[NDArray[Any], Ints]:
        """Number of pairs of each row and of each group."""
        return self._pairs_per_row(None), np.bincount(self.group, minlength=self.n_groups)

    def _pairs_per_row(self, weights: Flags | None) -> Ints | Floats:
        """Number or summed weights of the pairs that each row is in, as their first or their second."""
        as_first = np.bincount(self.first, weights, self.n_rows)
        as_second = np.bincount(self.second, weights, self.n_rows)
        return as_first + as_second


def _order(first: Floats, second: Floats) -> NDArray[np.int8]:
    """The sign of first - second."""
    above = (first > second).astype(np.int8)
    below = (first < second).astype(np.int8)
    return above - below


def _find_agreeing(metric: Floats, first: Ints, second: Ints, by_human: NDArray[np.int8], epsilon: float) -> Flags:
    """The kernel of `SegmentPairs.find_agreeing`."""
    agrees = np.empty(len(first), dtype=np.bool_)
    for pair in range(len(first)):
        x = metric[first[pair]]
        y = metric[second[pair]]
        order = 0
        if abs(x - y) > epsilon:
            order = int(x > y) - int(x < y)
        agrees[pair] = order == by_human[pair]
    return agrees


def _weigh_thresholds(
    metric: Floats, first: Ints, second: Ints, by_human: NDArray[np.int8], weight: Floats, thresholds: Floats
) -> tuple[float, Floats]:
    """The weight of concordant pairs, and float64[T] what each of the thresholds changes in the weight of right pairs.

    thresholds: float64[T] ascending, from 0. Those of the kth part of their range begin at starts[k]: most searches
    are then among none, or among one or two.
    """
    count = len(thresholds)
    n_parts = max(count, FEWEST_PARTS)
    highest = thresholds[count - 1]
    parts_per_unit = n_parts / highest if highest > 0 else 0.0
    # Of a range of nearly nothing, or without an end, all are one part.
    if not parts_per_unit < MOST_PARTS_PER_UNIT:
        parts_per_unit = 0.0
    starts = np.zeros(n_parts + 2, dtype=np.int64)
    for place in range(count):
        starts[int(thresholds[place] * parts_per_unit) + 1] += 1
    for part in range(1, n_parts + 2):
        starts[part] += starts[part - 1]
    right = 0.0
    changes = np.zeros(count)
    for pair in range(len(first)):
        x = metric[first[pair]]
        y = metric[second[pair]]
        tied = by_human[pair] == 0
        if not tied:
            if int(x > y) - int(x < y) != by_human[pair]:
                continue
            right += weight[pair]
        distance = abs(x - y)
        if not distance <= highest:
            continue
        part = int(distance * parts_per_unit)
        place = starts[part]
        end = starts[part + 1]
        while place < end:
            middle = (place + end) // 2
            if thresholds[middle] < distance:
                place = middle + 1
            else:
                end = middle
        changes[place] += weight[pair] if tied else -weight[pair]
    return right, changes


def members_of(groups: Ints) -> list[Ints]:
    """The rows of each group, int64[n] numbers, by ascending number."""
    if not len(groups):
        return []
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order])) + 1
    return np.split(order, starts)


def _all_pairs(rows: Ints, sizes: Ints) -> tuple[Ints, Ints, Ints]:
    """Two rows and the group of every pair within groups of these sizes, whose rows are contiguous."""
    ends = np.cumsum(sizes)
    group = np.repeat(np.arange(len(sizes)), sizes)
    places = np.arange(len(rows))
    # Each row is paired with those after it in its group, so that no pair occurs twice.
    later = ends[group] - 1 - places
    first = np.repeat(places, later)
    # of the pairs of one row the first has the next row, the second the one behind it, and so on
    starts = np.cumsum(later) - later
    behind = np.arange(len(first)) - np.repeat(starts, later)
    second = first + 1 + behind
    return rows[first], rows[second], group[first]


def _drawn_pairs(rows: Ints, sizes: Ints, count: int, rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
    """About `count` pairs, at least one from each group that has any."""
    pairs = sizes * (sizes - 1) // 2
    wanted = np.rint(pairs * (count / pairs.sum()))
    at_least_one = np.maximum(wanted, 1)
    drawn = np.where(pairs > 0, at_least_one, 0).astype(np.int64)
    group = np.repeat(np.arange(len(sizes)), drawn)
    starts = np.cumsum(sizes) - sizes
    size = sizes[group]
    start = starts[group]
    first = rng.integers(size)
    # a step of 1 to size - 1 along the circle of the group: never the same row, and each other one as often
    step = 1 + rng.integers(size - 1)
    second = (first + step) % size
    return rows[start + first], rows[start + second], group


def spa(
    metric: Floats, human: Floats, *, resamples: int = 1000, seed: int = 0
) -> tuple[float, tuple[float, float], int]:
    """Compute soft pairwise accuracy (SPA) of a metric at system level.

    SPA = 1 - mean |p_human - p_metric| over pairs of systems. p is the one-sided p-value of a paired permutation test
    between two systems, (k + 1) / (R + 1) (Thompson et al. 2024). Metric and human scores share the permutations.

    Args:
        metric: float64[I, S], metric scores of S systems on I items, higher is better; NaN if missing.
        human: float64[I, S], human scores; NaN if missing.
        resamples: Number of permutations per test, and of resamples of systems for the interval. 0 skips the
            interval and uses 1,000 permutations.
        seed: Seed of all random draws.

    Returns:
        tuple[float, tuple[float, float], int]: SPA in [0, 1], its 95 % interval over resampled systems (NaN with
            fewer than 3), and the number of pairs of systems with a common item. SPA is NaN without such a pair.

    Example:
        >>> import numpy as np
        >>> from bmx_grid.measures import spa
        >>> rng = np.random.default_rng(0)
        >>> human = rng.normal(size=(50, 4)) + np.arange(4)
        >>> value, (low, high), pairs = spa(human + rng.normal(size=(50, 4)), human, seed=1)
        >>> value > 0.95, pairs
        (True, 6)
    """
    n_systems = metric.shape[1]
    # |p_human - p_metric| of each pair
    apart = np.full((n_systems, n_systems), np.nan)
    used = np.isfinite(metric) & np.isfinite(human)
    # the other items have no pair
    shared = np.flatnonzero(used.sum(axis=1) > 1)
    metric = metric[shared]
    human = human[shared]
    used = used[shared]
    bundle_of_item = bundle_clusters(np.arange(len(shared)))
    permutations = resamples or 1000
    first, second = np.triu_indices(n_systems, 1)
    together = min(PAIRS_AT_ONCE, fitting(CELLS, len(shared)))
    for some in ranges(len(first), together):
        left = first[some]
        right = second[some]
        both = used[:, left] & used[:, right]
        # an item that lacks a score adds nothing, whichever way its systems are exchanged
        metric_gaps = np.where(both, metric[:, left] - metric[:, right], 0.0)
        human_gaps = np.where(both, human[:, left] - human[:, right], 0.0)
        # metric and people side by side, as the same exchanges count for both
        gaps = np.concatenate([metric_gaps, human_gaps], axis=1)
        p_values = _one_sided(sums_by(bundle_of_item, gaps), permutations, seed)
        p_metric, p_human = np.split(p_values, 2)
        far = np.where(both.any(axis=0), np.abs(p_metric - p_human), np.nan)
        apart[left, right] = far
        apart[right, left] = far
    pairs = apart[first, second]
    known = pairs[np.isfinite(pairs)]
    if not len(known):
        return math.nan, (math.nan, math.nan), 0
    samples = _resampled_systems(apart, resamples, seed)
    ends = interval(samples, n_systems)
    return float(1 - known.mean()), ends, len(known)


def _resampled_systems(apart: Floats, resamples: int, seed: int) -> Floats:
    """float64[R] soft pairwise accuracy of systems that are drawn; NaN of fewer than three different ones."""
    # sums of differences and their numbers: a pair without a value adds to neither
    differences = np.nan_to_num(apart)
    defined = np.isfinite(apart).astype(np.float64)
    rng = np.random.default_rng(seed)
    values = [np.empty(0)]
    for size in blocks(resamples, len(apart)):
        times = draws(rng, len(apart), size)
        # a pair counts as often as one of its systems was drawn times the other was
        total = np.einsum("bs,bs->b", times @ differences, times)
        number = np.einsum("bs,bs->b", times @ defined, times)
        share = 1 - ratio(total, number)
        enough = (times > 0).sum(axis=1) >= FEWEST
        values.append(np.where(enough, share, np.nan))
    return np.concatenate(values)


def _one_sided(differences: Floats, resamples: int, seed: int) -> Floats:
    """float64[pairs] p-values of "the first system is better"; differences: float64[items, pairs]."""
    observed = differences.sum(axis=0)
    # sums in another order differ by rounding; equal ones count
    near = 1e-9 * np.abs(differences).sum(axis=0)
    larger = np.zeros(differences.shape[1], dtype=np.int64)
    for swapped in seeded_draws(len(differences), resamples, seed, draw=swaps):
        # 1 leaves a difference as it is, -1 turns it round
        signs = 2 * swapped - 1
        sums = signs.T @ differences
        larger += np.count_nonzero(sums >= observed - near, axis=0)
    return (larger + 1) / (resamples + 1)
