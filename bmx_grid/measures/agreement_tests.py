"""Is the difference of two metrics in agreement with people real? Tests of acc_eq, soft and plain pairwise accuracy.

The permutation tests are those of `paired_tests.compare` (Deutsch, Dror and Roth 2021): standardised scores are swapped
between the metrics, whole inputs, whole systems, or both. Everything that a statistic estimates from the scores is
estimated again after each swap: the tie threshold of acc_eq is calibrated anew for either metric, so that the observed
value is one of the permuted ones. Thresholds kept from the observed scores are those of metrics that the swaps mix. For
two metrics with equal noise both ways give p values that differ by .04 on average, and take the same time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.errors import check_known
from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.measures.agreement import SegmentPairs, members_of
from bmx_grid.measures.correlation import TIE, below_one
from bmx_grid.measures.correlations_of_resamples import Unit, check_unit, drawn_units, units_of
from bmx_grid.measures.ordered import compile_kernel
from bmx_grid.measures.paired_tests import (
    Alternative,
    Comparison,
    Drawn,
    check_conclusion,
    comparison_of,
    unit_variance,
)
from bmx_grid.measures.resampling import (
    CACHED_CELLS,
    CONFIDENCE,
    FEWEST_CLUSTERS,
    codes,
    fitting,
    number_of,
    ranges,
    ratio,
    seeded_draws,
    swaps,
)

AgreementStatistic = Literal["acc_eq", "spa", "pairwise_accuracy"]
# float64[R, n] swaps, float64[R, C] draws -> float64[R, 2] of both metrics
Swapped = Callable[[Floats, Floats], Floats]
NO_SPREAD = 1e-12  # share of the squares that is rounding


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of two metrics and human scores, with the labels that a test needs.

    Attributes:
        x: float64[N], scores of the first metric, higher is better.
        y: float64[N], scores of the second metric.
        human: float64[N], human scores. A row with NaN or infinity in any score is ignored.
        cluster: int64[N], clusters of rows that are swapped and resampled together.
        system: int64[N], systems, numbered from 0, or None.
        item: int64[N], items such as sources, numbered from 0, or None.
        of_systems: float64[S], published human scores of the S systems, which replace the means of `human`, or None.

    Example:
        >>> import numpy as np
        >>> from bmx_grid.measures import Scores
        >>> item, system = np.divmod(np.arange(60), 3)
        >>> human = np.random.default_rng(0).normal(size=60) + system
        >>> scores = Scores(x=human, y=-human, human=human, cluster=item, system=system, item=item)
        >>> len(scores.human)
        60
    """

    x: Floats
    y: Floats
    human: Floats
    cluster: Ints
    system: Ints | None
    item: Ints | None = None
    of_systems: Floats | None = None


def compare_agreement(
    statistic: AgreementStatistic,
    scores: Scores,
    *,
    alternative: Alternative = "two-sided",
    confidence: float = CONFIDENCE,
    **options: Any,
) -> Comparison:
    """Test whether two metrics differ in acc_eq, soft or plain pairwise accuracy.

    Permutations and resamples are those of `compare` (Deutsch, Dror and Roth 2021). acc_eq is calibrated again for
    both metrics after each permutation.

    Args:
        statistic: `"acc_eq"` (mean over items, see `grouped_acc_eq`), `"spa"` (see `spa`; p-values of systems by their
            normal limit) or `"pairwise_accuracy"` (share of pairs of systems in the human order, by mean standardised
            scores).
        scores: Scores and labels; `system` and `item` are required.
        alternative: `"two-sided"`, `"greater"` (x agrees better) or `"less"`.
        confidence: Level of the interval. Default: 0.95 for 95 %.
        **options: `unit` (`"inputs"`, `"systems"` or `"both"`), `resamples` (default 1,000), `seed` (default 0) and
            `bootstrap` (if false, skip the interval), as in `compare`. Intervals always resample clusters.

    Returns:
        Comparison: Both statistics, their difference with its interval, and p-values; NaN if undefined.

    Raises:
        ConfigError: `statistic`, `unit` or `alternative` is unknown.
        ValueError: `scores` lacks systems or items, or `confidence` is outside (0, 1).

    Example:
        >>> import numpy as np
        >>> from bmx_grid.measures import Scores, compare_agreement
        >>> item, system = np.divmod(np.arange(60), 3)
        >>> human = np.random.default_rng(0).normal(size=60) + system
        >>> scores = Scores(x=human, y=-human, human=human, cluster=item, system=system, item=item)
        >>> result = compare_agreement("pairwise_accuracy", scores, resamples=200)
        >>> result.x, result.y, result.clusters
        (1.0, 0.0, 20)
    """
    check_conclusion(alternative, confidence)
    drawn = drawn_agreement(statistic, scores, **options)
    return comparison_of(drawn, alternative, confidence)


def drawn_agreement(
    statistic: AgreementStatistic,
    scores: Scores,
    *,
    unit: Unit = "inputs",
    resamples: int = 1000,
    seed: int = 0,
    bootstrap: bool = True,
) -> Drawn:
    """The agreement of two metrics with people, with resamples and swaps of their difference. Higher scores are better.

    scores: a row per item and system; one with NaN in any score is left out. `of_systems` replaces the means.
    statistic: "acc_eq", the mean over items; "pairwise_accuracy" of the systems' mean standardised scores; "spa", with
    the p-values of systems that 1,000 permutations estimate taken from the normal distribution that they approach.
    unit: what is swapped, as for `paired_tests.compare`; the interval draws clusters. NaN where undefined.
    Raises ConfigError for an unknown name, ValueError for scores without items or systems.
    """
    check_known("statistic", statistic, get_args(AgreementStatistic))
    check_unit(unit)
    for name in ("system", "item"):
        if getattr(scores, name) is None:
            raise ValueError(f"{statistic} needs labels of each row's {name}. Add them: Scores(..., {name}=[...]).")
    used = _sort_scores(scores)
    assert used.system is not None
    # systems without a used row are no units of swaps
    systems = codes(used.system)
    clusters = used.cluster
    n = len(clusters)
    count = number_of(clusters)
    units, unit_of_row = units_of(unit, clusters, systems)
    values, cells = _values_of(statistic, used, number_of(systems))
    unswapped = np.zeros((1, n))
    once = np.ones((1, count))
    first = math.nan
    second = math.nan
    if n:
        first, second = values(unswapped, once)[0].tolist()
    samples = [np.empty(0)]
    swapped = [np.empty(0)]
    # resamples at a time, so that arrays stay in a cache
    few = fitting(CACHED_CELLS, cells)
    width = 2 * n
    if units >= FEWEST_CLUSTERS and np.isfinite(first - second):
        if bootstrap and count >= FEWEST_CLUSTERS:
            for times in seeded_draws(count, resamples, seed, width):
                for part in ranges(times.shape[1], few):
                    samples.append(_difference(values, unswapped, times.T[part]))
        for swap in drawn_units(unit, clusters, systems, swaps, resamples, seed, width):
            for part in ranges(swap.shape[1], few):
                of_rows = np.ascontiguousarray(swap[unit_of_row, part].T)
                swapped.append(_difference(values, of_rows, once))
    return Drawn(
        x=first,
        y=second,
        samples=np.concatenate(samples),
        swapped=np.concatenate(swapped),
        units=count,
        n=n,
        clusters=count,
    )


def _values_of(statistic: AgreementStatistic, used: Scores, n_systems: int) -> tuple[Swapped, int]:
    """The agreement of both metrics after swaps and draws, and the cells of an array per swap or draw."""
    n = len(used.cluster)
    if statistic == "acc_eq":
        return _segment_agreement(used), n
    if used.of_systems is not None:
        n_systems = len(used.of_systems)
    judge = _order if statistic == "pairwise_accuracy" else _sureness
    # every two systems are compared: 2,000 systems take 4 million cells
    return _system_agreement(used, judge), max(n, n_systems**2)


def _sort_scores(scores: Scores) -> Scores:
    """The rows with all scores, by system, then by item: a full table of scores is then a reshape.

    Each column is below 1, so that means which differ by their rounding tie on any scale.
    """
    assert scores.item is not None and scores.system is not None
    scored = np.isfinite(scores.x + scores.y)
    # published scores of systems need no human scores of segments
    if scores.of_systems is None:
        scored &= np.isfinite(scores.human)
    used = np.flatnonzero(scored)
    order = np.lexsort((scores.item[used], scores.system[used]))
    used = used[order]
    return Scores(
        x=below_one(scores.x[used]),
        y=below_one(scores.y[used]),
        human=below_one(scores.human[used]),
        cluster=codes(scores.cluster[used]),
        system=scores.system[used],
        item=codes(scores.item[used]),
        of_systems=scores.of_systems,
    )


def _difference(values: Swapped, swap: Floats, times: Floats) -> Floats:
    """float64[R] the agreement of the first metric less that of the second."""
    of_x, of_y = values(swap, times).T
    return np.asarray(of_x - of_y)


def _segment_agreement(scores: Scores) -> Swapped:
    """acc_eq of both metrics, each at its own best threshold, after swaps and draws."""
    items = scores.item
    assert items is not None
    pairs = SegmentPairs.from_groups(scores.human, items)
    untied = pairs.by_human != 0
    # of the scores of x and x, x and y, y and x, y and y
    both = np.stack([unit_variance(scores.x), unit_variance(scores.y)])
    of_first = both[:, None, pairs.first]
    of_second = both[:, pairs.second]
    gaps = (of_first - of_second).reshape(4, -1)
    apart = np.abs(gaps)
    # Two scores of one metric are as far apart as they are: standardised, equal distances of integers differ in the
    # last bit, and a threshold falls between them.
    for source, metric in ((0, scores.x), (3, scores.y)):
        gaps[source] = metric[pairs.first] - metric[pairs.second]
        apart[source] = np.abs(gaps[source])
        if len(metric) and np.ptp(metric) > 0:
            apart[source] /= metric.std()
    distance = _rank_distances(apart, np.abs(gaps))
    is_threshold = np.zeros(distance.max(initial=0) + 1, dtype=np.int64)
    is_threshold[distance[:, ~untied]] = 1
    is_threshold[0] = 1
    lower_thresholds = np.cumsum(is_threshold) - is_threshold
    n_thresholds = int(is_threshold.sum())
    # Raising the threshold past a pair gains it where people tied it, else loses it: at once if it is ordered wrong.
    place = lower_thresholds[distance].astype(np.uint32)
    wrong_order = np.sign(gaps) != pairs.by_human
    place[untied & wrong_order] = 0
    # thresholds that are neighbours in memory are raised together
    order = np.argsort(place[0], kind="stable")
    places = np.ascontiguousarray(place[:, order].T)
    untied = untied[order]
    first = pairs.first[order].astype(np.uint32)
    second = pairs.second[order].astype(np.uint32)
    group = pairs.group[order].astype(np.uint32)
    first_rows = [rows[0] for rows in members_of(items)]
    cluster_of_group = scores.cluster[first_rows]
    in_group = np.bincount(group, minlength=len(cluster_of_group))
    signs = np.where(untied, -1.0, 1.0)
    gain = signs / in_group[group]
    untied_shares = np.where(untied, -gain, 0.0)
    share_untied = np.bincount(group, untied_shares, len(cluster_of_group))
    has_pairs = in_group > 0

    def values(swap: Floats, times: Floats) -> Floats:
        drawn = np.ascontiguousarray(times[:, cluster_of_group])
        swapped = swap.astype(np.uint8)
        gained: Floats = compile_kernel(_most_gained)(
            first, second, group, gain, places, swapped, drawn, n_thresholds + 1
        )
        # before any threshold is raised all untied pairs count as right: those ordered wrong are lost at the first
        untied_sums = drawn @ share_untied
        groups = drawn @ has_pairs
        return ratio(gained + untied_sums[:, None], groups[:, None])

    return values


def _rank_distances(apart: Floats, own: Floats) -> Ints:
    """int64[4, M] the rank of each distance: 0 for 0, equal ones share one.

    apart: float64[4, M] in standard deviations; own: the same before they were divided, which may round two distances
    to one.
    """
    by_distance = np.lexsort((own.ravel(), apart.ravel()))
    apart_in_order = np.append(0.0, apart.ravel()[by_distance])
    own_in_order = np.append(0.0, own.ravel()[by_distance])
    is_new = (np.diff(apart_in_order) > 0) | (np.diff(own_in_order) != 0)
    ranks = np.empty(apart.size, dtype=np.int64)
    ranks[by_distance] = np.cumsum(is_new)
    return ranks.reshape(apart.shape)


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


def _system_agreement(scores: Scores, judge: Callable[[Floats, Floats, Floats], Floats]) -> Swapped:
    """Agreement on pairs of systems of both metrics, after swaps and draws, by their `_order` or `_sureness`."""
    x = unit_variance(scores.x)
    y = unit_variance(scores.y)
    system = scores.system
    items = scores.item
    of_systems = scores.of_systems
    assert items is not None and system is not None
    n_systems = number_of(system) if of_systems is None else len(of_systems)
    first, second = np.triu_indices(n_systems, 1)
    # Draws weigh clusters; an item lies in one cluster.
    n_items = number_of(items)
    cluster_of_item = np.zeros(n_items, dtype=np.int64)
    cluster_of_item[items] = scores.cluster

    def to_table(rows: Floats) -> Floats:
        # each system has each item, in order
        if len(x) == n_systems * n_items:
            return rows.reshape(len(rows), n_systems, n_items)
        table = np.zeros((len(rows), n_systems, n_items))
        table[:, system, items] = rows
        return table

    ones = np.ones((1, len(x)))
    seen = to_table(ones)[0]
    judged = to_table(scores.human[None])

    def values(swap: Floats, times: Floats) -> Floats:
        weights = times[:, cluster_of_item]
        people = judge(judged, seen, weights)
        if judge is _order and of_systems is not None:
            published = np.sign(of_systems[:, None] - of_systems)
            people = published[None]
        of_x = np.where(swap > 0, y, x)
        # a swap leaves the sum of both scores as it is
        of_y = x + y - of_x
        agreements = []
        for metric in (of_x, of_y):
            by_metric = judge(to_table(metric), seen, weights)
            distances = np.abs(people - by_metric)
            apart = distances[:, first, second]
            if judge is _order:
                # a tie on one side is as wrong as the other order
                apart = np.where(apart > 0, 1.0, apart)
            known = np.isfinite(apart)
            total = np.where(known, apart, 0.0).sum(axis=1)
            agreements.append(1 - ratio(total, known.sum(axis=1)))
        return np.stack(agreements, axis=1)

    return values


def _order(scores: Floats, seen: Floats, weights: Floats) -> Floats:
    """float64[R, S, S] the sign of the difference of the mean scores of two systems; NaN if one has none.

    scores: float64[R, S, I], 0 if missing; seen: float64[S, I] of 0 and 1; weights: float64[R, I] of items.
    """
    sums = (scores @ weights[:, :, None])[..., 0]
    means = ratio(sums, weights @ seen.T)
    gaps = means[:, :, None] - means[:, None]
    # means that differ by rounding tie
    beyond_rounding = np.where(np.abs(gaps) <= TIE, 0.0, gaps)
    return np.sign(beyond_rounding)


def _sureness(scores: Floats, seen: Floats, weights: Floats) -> Floats:
    """float64[R, S, S] the p-value of "the first system is better" on common items, as `_order`; NaN without one.

    The sum of n paired differences d has in random exchanges of the two systems mean 0 and variance sum d^2.
    """
    from scipy.special import ndtr

    counted = (weights[:, None] * seen).swapaxes(1, 2)
    sums = scores @ counted
    squares = scores**2 @ counted
    gap = sums - sums.swapaxes(1, 2)
    # sum (x - y)^2 = sum x^2 + sum y^2 - 2 sum x y, over the common items of two systems
    weighted = scores * weights[:, None]
    products = 2 * weighted @ scores.swapaxes(1, 2)
    spread = squares + squares.swapaxes(1, 2) - products
    varies = spread > NO_SPREAD * squares
    z = ratio(gap, np.sqrt(np.maximum(spread, 0.0)))
    p_values = np.where(varies, ndtr(-z), 1.0)
    common = seen @ counted > 0
    return np.where(common, p_values, np.nan)
