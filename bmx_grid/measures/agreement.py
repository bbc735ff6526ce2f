"""Agreement of a metric with people on which of two translations, or of two systems, is better.

In all of them a higher metric score says better: turn the sign of a metric such as TER first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.ragged import Flags, Floats, Ints
from bmx_grid.measures.correlation import FEWEST, TIE, beats
from bmx_grid.measures.resampling import (
    CELLS,
    blocks,
    bundled,
    draws,
    fitting,
    interval,
    ranges,
    seeded_draws,
    sums_by,
    swaps,
)

MAX_PAIRS = 1_000_000  # of segments, for the calibration of ties; of more, that many are drawn
PAIRS_AT_ONCE = 500  # of systems, in a permutation test


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
    def of(cls, human: Floats, groups: Ints, *, seed: int = 0, max_pairs: int = MAX_PAIRS) -> SegmentPairs:
        """All pairs within groups int64[n] of float64[n] human scores without NaN.

        Past max_pairs, so many pairs are drawn with replacement (the seed decides), from each group in proportion to
        its pairs.
        """
        rows = np.argsort(groups, kind="stable")
        sizes = np.unique(groups, return_counts=True)[1]
        pairs_of = sizes * (sizes - 1) // 2
        total = int(pairs_of.sum())
        defined = int((pairs_of > 0).sum())
        if total <= max_pairs:
            first, second, group = _all_pairs(rows, sizes)
        else:
            first, second, group = _drawn_pairs(rows, sizes, max_pairs, np.random.default_rng(seed))
        # Each group with a pair weighs the same, and within it each pair.
        weight = 1 / np.bincount(group)[group] / defined
        by_human = _order(human[first], human[second])
        return cls(first, second, group, weight, by_human, len(human), len(sizes), total)

    def agreement(self, metric: Floats, epsilon: float) -> float:
        """acc_eq of float64[n] scores at a threshold that was chosen elsewhere; NaN without a pair."""
        gap = metric[self.first] - metric[self.second]
        order = np.where(np.abs(gap) <= epsilon, 0.0, np.sign(gap))
        return float(self.weight @ (order == self.by_human)) if len(gap) else math.nan

    def calibrated(self, metric: Floats) -> tuple[float, bool, Flags]:
        """Pairwise accuracy with ties, of float64[n] scores without NaN, at the threshold that makes it largest.

        Returns epsilon: pairs whose scores differ by at most this are ties (Deutsch et al. 2023); the smallest of the
        best thresholds, NaN without a pair. Whether it does no better than tying every pair, so that the accuracy is
        only the share of pairs that people tied. And bool[M] which pairs agree, see `shares`.
        Equals the search over all thresholds, in one pass over the sorted differences.
        """
        if not len(self.first):
            return math.nan, False, np.empty(0, dtype=np.bool_)
        first = metric[self.first]
        second = metric[self.second]
        distance = np.abs(first - second)
        tied = self.by_human == 0
        concordant = ~tied & (_order(first, second) == self.by_human)
        # Raising the threshold past a pair makes it a tie: right if people tied it, wrong if it was concordant. So the
        # best ones are among 0 and the distances of what people tied.
        thresholds, place = np.unique(np.append(0.0, distance[tied]), return_inverse=True)
        gained = np.bincount(place[1:], self.weight[tied], len(thresholds))
        past = np.searchsorted(thresholds, distance[concordant])
        lost = np.bincount(past, self.weight[concordant], len(thresholds))[: len(thresholds)]
        right = float(self.weight[concordant].sum())
        # What a metric gets that ties everything.
        by_ties = float(self.weight[tied].sum())
        accuracies = right + np.cumsum(gained - lost)
        best = int(np.argmax(accuracies >= accuracies.max() - TIE))  # sums of weights differ by rounding
        epsilon = float(thresholds[best])
        return epsilon, not beats(accuracies[best] - by_ties), np.where(distance <= epsilon, tied, concordant)

    def shares(self, agree: Flags) -> tuple[Floats, Floats]:
        """float64[n] the share of the pairs of each row that agree, and float64[G] that of each group; NaN of none."""
        of_group = np.bincount(self.group, minlength=self.n_groups)
        of_row = self._by_row(None)
        agreed = self._by_row(agree)
        with np.errstate(invalid="ignore"):
            return agreed / of_row, np.bincount(self.group, agree, self.n_groups) / of_group

    def _by_row(self, weights: Flags | None) -> Ints | Floats:
        """Number or summed weights of the pairs that each row is in, as their first or their second."""
        return np.bincount(self.first, weights, self.n_rows) + np.bincount(self.second, weights, self.n_rows)


def _order(first: Floats, second: Floats) -> NDArray[np.int8]:
    """The sign of first - second."""
    return np.asarray((first > second).astype(np.int8) - (first < second).astype(np.int8))


def members_of(groups: Ints) -> list[Ints]:
    """The rows of each group, int64[n] numbers, by ascending number."""
    if not len(groups):
        return []
    order = np.argsort(groups, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)


def _all_pairs(rows: Ints, sizes: Ints) -> tuple[Ints, Ints, Ints]:
    """Two rows and the group of every pair within groups of these sizes, whose rows stand together."""
    ends = np.cumsum(sizes)
    group = np.repeat(np.arange(len(sizes)), sizes)
    # Each row is paired with those after it, so that no pair occurs twice.
    later = ends[group] - 1 - np.arange(len(rows))  # rows of its group that come after each
    first = np.repeat(np.arange(len(rows)), later)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(later) - later, later)
    return rows[first], rows[second], group[first]


def _drawn_pairs(rows: Ints, sizes: Ints, count: int, rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
    """About `count` pairs, at least one from each group that has any."""
    pairs_of = sizes * (sizes - 1) // 2
    drawn = np.where(pairs_of > 0, np.maximum(np.rint(pairs_of * (count / pairs_of.sum())), 1), 0).astype(np.int64)
    group = np.repeat(np.arange(len(sizes)), drawn)
    starts = np.cumsum(sizes) - sizes
    first = rng.integers(sizes[group])
    # a step of 1 to size - 1 along the circle of the group: never the same row, and each other one as often
    second = (first + 1 + rng.integers(sizes[group] - 1)) % sizes[group]
    return rows[starts[group] + first], rows[starts[group] + second], group


def spa(
    metric: Floats, human: Floats, *, resamples: int = 1000, seed: int = 0
) -> tuple[float, tuple[float, float], int]:
    """Soft pairwise accuracy of float64[items, S] scores of S systems on common items, NaN where there is none.

    It is 1 - mean |p_human - p_metric| over the system pairs (Thompson et al. 2024). Returns it, its 95 % interval over
    resampled systems, each pair's p-values as they are (NaN with fewer than three), and the number of pairs of systems
    with an item for which all four scores exist.
    p-values are those of one-sided paired permutation tests of the difference of two systems: in each of `resamples`
    permutations (1,000 for 0, which leaves out the interval) the two systems exchange their scores of random items,
    the same items for metric and people; p = (k + 1) / (n + 1). More than 5,000 items are exchanged in bundles.
    """
    n_systems = metric.shape[1]
    apart = np.full((n_systems, n_systems), np.nan)  # |p_human - p_metric| of each pair
    used = np.isfinite(metric) & np.isfinite(human)
    shared = np.flatnonzero(used.sum(axis=1) > 1)  # the other items have no pair
    metric = metric[shared]
    human = human[shared]
    used = used[shared]
    first, second = np.triu_indices(n_systems, 1)
    for some in ranges(len(first), min(PAIRS_AT_ONCE, fitting(CELLS, len(shared)))):
        left = first[some]
        right = second[some]
        both = used[:, left] & used[:, right]
        # an item that lacks a score adds nothing, whichever way its systems are exchanged
        gaps = [np.where(both, scores[:, left] - scores[:, right], 0.0) for scores in (metric, human)]
        of_bundles = sums_by(bundled(np.arange(len(shared))), np.concatenate(gaps, axis=1))
        p_values = np.split(_one_sided(of_bundles, resamples or 1000, seed), 2)
        far = np.where(both.any(axis=0), np.abs(p_values[0] - p_values[1]), np.nan)
        apart[left, right] = apart[right, left] = far
    pairs = apart[first, second]
    known = pairs[np.isfinite(pairs)]
    if not len(known):
        return math.nan, (math.nan, math.nan), 0
    ends = interval(_resampled_systems(apart, resamples, seed), n_systems)
    return float(1 - known.mean()), ends, len(known)


def _resampled_systems(apart: Floats, resamples: int, seed: int) -> Floats:
    """float64[R] soft pairwise accuracy of systems that are drawn; NaN of fewer than three different ones."""
    # sums of differences and their numbers: a pair without a value adds to neither
    matrices = (np.nan_to_num(apart), np.isfinite(apart).astype(np.float64))
    rng = np.random.default_rng(seed)
    values = [np.empty(0)]
    for size in blocks(resamples, len(apart)):
        times = draws(rng, len(apart), size)
        with np.errstate(invalid="ignore", divide="ignore"):
            sums = [np.einsum("bs,bs->b", times @ matrix, times) for matrix in matrices]
            share = 1 - sums[0] / sums[1]
        values.append(np.where((times > 0).sum(axis=1) >= FEWEST, share, np.nan))
    return np.concatenate(values)


def _one_sided(differences: Floats, resamples: int, seed: int) -> Floats:
    """float64[pairs] p-values of "the first system is better"; differences: float64[items, pairs]."""
    observed = differences.sum(axis=0)
    near = 1e-9 * np.abs(differences).sum(axis=0)  # sums in another order differ by rounding; equal ones count
    larger = np.zeros(differences.shape[1], dtype=np.int64)
    for swapped in seeded_draws(len(differences), resamples, seed, draw=swaps):
        larger += np.count_nonzero((2 * swapped - 1).T @ differences >= observed - near, axis=0)
    return np.asarray((larger + 1) / (resamples + 1))
