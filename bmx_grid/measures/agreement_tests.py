"""Is the difference of two metrics in agreement with people real? Tests of acc_eq, soft and plain pairwise accuracy.

The permutation tests are those of `significance.compare` (Deutsch, Dror and Roth 2021): standardised scores are swapped
between the metrics, whole inputs, whole systems, or both. Everything that a statistic estimates from the scores is
estimated again after each swap: the tie threshold of acc_eq is calibrated anew for either metric, so that the observed
value is one of the permuted ones. Thresholds kept from the observed scores are those of metrics that the swaps mix. For
two metrics with equal noise both ways give p values that differ by .04 on average, and take the same time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.measures.agreement import SegmentPairs, members_of
from bmx_grid.measures.correlation import TIE
from bmx_grid.measures.ordered import compiled
from bmx_grid.measures.paired_tests import (
    Comparison,
    Drawn,
    Unit,
    comparison_of,
    drawn_units,
    unit_variance,
    units_of,
)
from bmx_grid.measures.resampling import (
    CACHED_CELLS,
    FEWEST_CLUSTERS,
    codes,
    fitting,
    number_of,
    ranges,
    seeded_draws,
    swaps,
)

AgreementStatistic = Literal["acc_eq", "spa", "pairwise_accuracy"]
# float64[R, n] swaps, float64[R, C] draws -> float64[R, 2] of both metrics
Swapped = Callable[[Floats, Floats], Floats]
NO_SPREAD = 1e-12  # share of the squares that is rounding


@dataclass(frozen=True, eq=False)
class Scores:
    """Two metrics' scores of n segments, or of n systems, with the human scores and what is swapped as one.

    x, y, human: float64[n]; cluster, system, item: int64[n] codes, None where there are none; of_systems: float64[S]
    published human scores of systems, for statistics of agreement.
    """

    x: Floats
    y: Floats
    human: Floats
    cluster: Ints
    system: Ints | None
    item: Ints | None = None
    of_systems: Floats | None = None


def compare_agreement(statistic: AgreementStatistic, scores: Scores, **how: Any) -> Comparison:
    """The difference of two metrics' agreement with people; p by permutation. Arguments as of `drawn_agreement`."""
    return comparison_of(*drawn_agreement(statistic, scores, **how))


def drawn_agreement(
    statistic: AgreementStatistic,
    scores: Scores,
    *,
    unit: Unit = "inputs",
    resamples: int = 1000,
    seed: int = 0,
    bootstrap: bool = True,
) -> Drawn:
    """The agreement of two metrics with people, both higher where better, with resamples and swaps of their difference.

    scores: a row per item and system; one with NaN in any score is left out. `of_systems` is in place of means.
    statistic: "acc_eq", the mean over items; "pairwise_accuracy" of the systems' mean standardised scores; "spa", with
    the p-values of systems that 1,000 permutations estimate taken from the normal distribution they tend to.
    unit: what is swapped, as for `significance.compare`; the interval draws clusters. NaN where undefined.
    """
    assert scores.item is not None and scores.system is not None
    rated = np.isfinite(scores.human) if scores.of_systems is None else True
    used = np.flatnonzero(np.isfinite(scores.x + scores.y) & rated)
    # by system, then by item: a full table of scores is then a reshape
    used = used[np.lexsort((scores.item[used], scores.system[used]))]
    x = unit_variance(scores.x[used])
    y = unit_variance(scores.y[used])
    human = scores.human[used]
    items = codes(scores.item[used])
    system = scores.system[used]
    clusters = codes(scores.cluster[used])
    systems = codes(system)
    count = number_of(clusters)
    units, unit_of_row = units_of(unit, clusters, systems)
    if statistic == "acc_eq":
        values = _of_segments(x, y, human, items, clusters)
    else:
        both = Scores(x, y, human, clusters, system, items, scores.of_systems)
        values = _of_systems(both, _order if statistic == "pairwise_accuracy" else _sureness)
    none = np.zeros((1, len(x)))
    once = np.ones((1, count))
    first, second = values(none, once)[0].tolist() if len(x) else (np.nan, np.nan)
    samples = [np.empty(0)]
    swapped = [np.empty(0)]
    few = fitting(CACHED_CELLS, len(x))  # resamples at a time, so that arrays stay in a cache
    if units >= FEWEST_CLUSTERS and np.isfinite(first - second):
        drawn = seeded_draws(count, resamples, seed, 2 * len(x))
        for times in drawn if bootstrap and count >= FEWEST_CLUSTERS else ():
            samples += [_difference(values, none, times.T[part]) for part in ranges(times.shape[1], few)]
        for swap in drawn_units(unit, clusters, systems, swaps, resamples, seed, 2 * len(clusters)):
            for part in ranges(swap.shape[1], few):
                of_rows = np.ascontiguousarray(swap[unit_of_row, part].T)
                swapped.append(_difference(values, of_rows, once))
    return Drawn(first, second, np.concatenate(samples), np.concatenate(swapped), count, len(x), count)


def _difference(values: Swapped, swap: Floats, times: Floats) -> Floats:
    return np.asarray(np.subtract(*values(swap, times).T))


def _of_segments(x: Floats, y: Floats, human: Floats, items: Ints, clusters: Ints) -> Swapped:
    """acc_eq of both metrics, each at its own best threshold, after swaps and draws."""
    pairs = SegmentPairs.of(human, items)
    untied = pairs.by_human != 0
    both = np.stack([x, y])
    gaps = (both[:, None, pairs.first] - both[:, pairs.second]).reshape(4, -1)  # of x and x, x and y, y and x, y and y
    distance = np.abs(gaps)
    thresholds = np.unique(np.append(0.0, distance[:, ~untied]))
    # Raising the threshold past a pair gains it where people tied it, else loses it: at once where it is ordered wrong.
    place = np.searchsorted(thresholds, distance).astype(np.uint32)
    place[untied & (np.sign(gaps) != pairs.by_human)] = 0
    order = np.argsort(place[0], kind="stable")  # thresholds that stand together in memory are raised together
    place = place[:, order]
    untied = untied[order]
    first, second, group = (rows[order].astype(np.uint32) for rows in (pairs.first, pairs.second, pairs.group))
    cluster_of_group = clusters[[rows[0] for rows in members_of(items)]]
    in_group = np.bincount(group, minlength=len(cluster_of_group))
    gain = np.where(untied, -1.0, 1.0) / in_group[group]
    share_untied = np.bincount(group, np.where(untied, -gain, 0.0), len(cluster_of_group))

    def values(swap: Floats, times: Floats) -> Floats:
        drawn = np.ascontiguousarray(times[:, cluster_of_group])
        of_pairs = first, second, group, gain, np.ascontiguousarray(place.T), swap.astype(np.uint8), drawn
        gained: Floats = compiled(_most_gained)(*of_pairs, len(thresholds) + 1)
        with np.errstate(invalid="ignore"):
            return np.asarray((gained + (drawn @ share_untied)[:, None]) / (drawn @ (in_group > 0))[:, None])

    return values


def _most_gained(
    first: NDArray[np.uint32],
    second: NDArray[np.uint32],
    group: NDArray[np.uint32],
    gain: Floats,
    place: NDArray[np.uint32],
    swap: NDArray[np.uint8],
    times: Floats,
    n_thresholds: int,
) -> Floats:
    """float64[R, 2] the highest sum of gains up to a threshold, of each metric.

    gain: float64[M] of a pair that becomes a tie; place: uint32[M, 4] the first threshold at which it does, by the
    metrics its two scores come from.
    """
    resamples = max(len(swap), len(times))
    most = np.empty((resamples, 2))
    gained = np.zeros((n_thresholds, 2))
    for drawn in range(resamples):
        # a single row of swaps, or of draws, is the same for all resamples
        swapped = swap[min(drawn, len(swap) - 1)]
        counted = times[min(drawn, len(times) - 1)]
        for pair in range(len(first)):
            worth = gain[pair] * counted[group[pair]]
            source = 2 * swapped[first[pair]] + swapped[second[pair]]
            # the other metric has the other two scores: sources 0 and 3, 1 and 2 belong together
            gained[place[pair, source], 0] += worth
            gained[place[pair, 3 - source], 1] += worth
        of_x = 0.0
        of_y = 0.0
        most_x = -np.inf
        most_y = -np.inf
        for threshold in range(n_thresholds):
            of_x += gained[threshold, 0]
            of_y += gained[threshold, 1]
            # empty again for the next resample
            gained[threshold] = 0.0
            most_x = max(most_x, of_x)
            most_y = max(most_y, of_y)
        most[drawn] = most_x, most_y
    return most


def _of_systems(scores: Scores, judge: Callable[[Floats, Floats, Floats], Floats]) -> Swapped:
    """Agreement on pairs of systems of both metrics, after swaps and draws, by their `_order` or `_sureness`."""
    x = scores.x
    y = scores.y
    system = scores.system
    items = scores.item
    of_systems = scores.of_systems
    assert items is not None and system is not None
    n_systems = number_of(system) if of_systems is None else len(of_systems)
    first, second = np.triu_indices(n_systems, 1)
    # Draws weigh clusters; an item lies in one cluster.
    at_item = np.zeros(number_of(items), dtype=np.int64)
    at_item[items] = scores.cluster

    def filled(rows: Floats) -> Floats:
        if len(x) == n_systems * len(at_item):  # each system has each item, in order
            return rows.reshape(len(rows), n_systems, len(at_item))
        table = np.zeros((len(rows), n_systems, len(at_item)))
        table[:, system, items] = rows
        return table

    seen = filled(np.ones((1, len(x))))[0]
    judged = filled(scores.human[None])

    def values(swap: Floats, times: Floats) -> Floats:
        weights = times[:, at_item]
        people = judge(judged, seen, weights)
        if judge is _order and of_systems is not None:
            people = np.sign(of_systems[:, None] - of_systems)[None]
        of_x = np.where(swap > 0, y, x)
        agreements = []
        for metric in (of_x, x + y - of_x):
            apart = np.abs(people - judge(filled(metric), seen, weights))[:, first, second]
            if judge is _order:
                apart = np.where(apart > 0, 1.0, apart)
            known = np.isfinite(apart)
            with np.errstate(invalid="ignore"):
                agreements.append(1 - np.where(known, apart, 0.0).sum(axis=1) / known.sum(axis=1))
        return np.stack(agreements, axis=1)

    return values


def _order(scores: Floats, seen: Floats, weights: Floats) -> Floats:
    """float64[R, S, S] the sign of the difference of the mean scores of two systems; NaN where one has none.

    scores: float64[R, S, I], 0 where there is none; seen: float64[S, I] of 0 and 1; weights: float64[R, I] of items.
    """
    with np.errstate(invalid="ignore"):
        means = (scores @ weights[:, :, None])[..., 0] / (weights @ seen.T)
    gaps = means[:, :, None] - means[:, None]
    return np.asarray(np.sign(np.where(np.abs(gaps) <= TIE, 0.0, gaps)))


def _sureness(scores: Floats, seen: Floats, weights: Floats) -> Floats:
    """float64[R, S, S] the p-value of "the first system is better" on common items, as `_order`; NaN without one.

    The sum of n paired differences d has in random exchanges of the two systems mean 0 and variance sum d^2.
    """
    from scipy.special import ndtr

    counted = (weights[:, None] * seen).swapaxes(1, 2)
    sums = scores @ counted
    squares = scores**2 @ counted
    gap = sums - sums.swapaxes(1, 2)
    spread = squares + squares.swapaxes(1, 2) - 2 * (scores * weights[:, None]) @ scores.swapaxes(1, 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        p_values = np.where(spread > NO_SPREAD * squares, ndtr(-gap / np.sqrt(np.maximum(spread, 0.0))), 1.0)
    return np.where(seen @ counted > 0, p_values, np.nan)
