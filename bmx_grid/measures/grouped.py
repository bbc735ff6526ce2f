"""Correlation with human judgements at the level of segments: without grouping, by item, by system.

Groups are those of mt-metrics-eval and Deutsch et al. (2021): the correlation is computed within each group and
averaged over the groups in which it is defined. A group with fewer than three segments, or in which one side is
constant, is undefined: counted, and never scored 0.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bmx_grid.core.ragged import Flags, Floats, Ints
from bmx_grid.measures.agreement import SegmentPairs, members_of
from bmx_grid.measures.correlation import FEWEST, Coefficient, check_coefficient, correlate
from bmx_grid.measures.correlations_of_resamples import weighted_correlations
from bmx_grid.measures.projection import influences
from bmx_grid.measures.resampling import (
    CELLS,
    FEWEST_CLUSTERS,
    assign_folds,
    codes,
    fitting,
    interval,
    labels_of_rows,
    number_of,
    ranges,
    ratio,
    seeded_draws,
)
from bmx_grid.measures.systems import weighted_statistics

Resample = Callable[[Floats], Floats]  # float64[C, R] how often clusters are drawn -> float64[K, R] values of a group
PrepareGroup = Callable[[int, Ints], Resample]  # the number of a group, int64[m] clusters of its rows
ONLY_TIES = "no better than tying every pair: this is only the share of pairs that people tied"
TOGETHER_UP_TO = 32  # segments up to which groups of one size are computed together, from the signs of all pairs
# Resamples x segments from which correlations are projected, as 5,000 segments are at 1,000 resamples: rank
# correlations sort each resample anew, so that 20,000 segments would take longer than 100,000 projected ones.
MOST_EXACT = 5_000_000
FEWEST_PROJECTED = 1000  # segments of a group: the error of a projection is then below 1 % of an interval


class Grouped(NamedTuple):
    """The mean of a statistic over groups, with its 95 % interval.

    Attributes:
        value: Mean over the groups in which the statistic is defined; NaN without such a group.
        low: Lower end of the interval; NaN without resamples or with fewer than 3 clusters.
        high: Upper end of the interval; NaN in the same cases.
        n_groups: Number of groups.
        n_undefined: Number of groups in which the statistic is undefined.
        n_segments: Number of segments with all scores.
    """

    value: float
    low: float
    high: float
    n_groups: int
    n_undefined: int
    n_segments: int


def _means(
    values: Floats, prepare_group: PrepareGroup, groups: Ints, clusters: Ints, resamples: int, seed: int
) -> list[Grouped]:
    """The mean of float64[K, G] values over the groups int64[n] of segments, and its interval, for K columns.

    Expanded percentile intervals (`resampling.interval_levels`) for the clusters, int64[n], that have a defined group;
    NaN without resamples, or with fewer than three such clusters.
    """
    group = codes(groups)
    clusters = codes(clusters)
    defined = np.isfinite(values)
    units = []
    for known in defined:
        used_clusters = clusters[known[group]]
        units.append(len(np.unique(used_clusters)))
    samples = np.empty((len(values), 0))
    if resamples and max(units, default=0) >= FEWEST_CLUSTERS:
        samples = _resample_means(values, defined, prepare_group, group, clusters, resamples, seed)
    columns = []
    for row, known, resampled, count in zip(values, defined, samples, units, strict=True):
        value = float(row[known].mean()) if known.any() else math.nan
        low, high = interval(resampled, count)
        n_undefined = int((~known).sum())
        columns.append(Grouped(value, low, high, len(row), n_undefined, len(group)))
    return columns


def _resample_means(
    values: Floats, defined: Flags, prepare_group: PrepareGroup, group: Ints, clusters: Ints, resamples: int, seed: int
) -> Floats:
    """float64[K, R] the mean over the groups of each resample; those within one cluster come and go with it."""
    members = members_of(group)
    count = number_of(clusters)
    first_rows = [rows[0] for rows in members]
    cluster = clusters[first_rows]
    # Groups whose segments are all of the cluster of their first: a draw of the cluster is a draw of the group.
    elsewhere = clusters != cluster[group]
    whole = np.bincount(group, elsewhere, len(members)) == 0
    known_values = np.where(defined, values, 0.0)
    known_groups = defined.astype(np.float64)
    value_sums = _sums_by_cluster(known_values[:, whole], cluster[whole], count)
    group_counts = _sums_by_cluster(known_groups[:, whole], cluster[whole], count)
    has_value = defined.any(axis=0)
    spanning = {
        place: prepare_group(place, clusters[members[place]]) for place in np.flatnonzero(~whole & has_value).tolist()
    }
    # projected correlations need the draws of clusters only, not of each segment
    width = 0 if _is_large(len(clusters), resamples) else len(clusters)
    means = []
    for drawn in seeded_draws(count, resamples, seed, width):
        # A product for each column: the same digits whatever the other columns are.
        total = np.array([row @ drawn for row in value_sums])
        number = np.array([row @ drawn for row in group_counts])
        for place, resample in spanning.items():
            value = resample(drawn)
            # a group may lose its variance in a resample: it is then left out, as among the values
            known = np.isfinite(value) & defined[:, place, None]
            total += np.where(known, value, 0.0)
            number += known
        means.append(ratio(total, number))
    return np.concatenate(means, axis=1)


def _sums_by_cluster(rows: Floats, cluster: Ints, count: int) -> Floats:
    """float64[K, count] the sums of float64[K, G] values of groups over their clusters, int64[G]."""
    return np.array([np.bincount(cluster, row, count) for row in rows])


def grouped_correlations(
    kinds: Coefficient | Sequence[Coefficient],
    scores: ArrayLike,
    human: ArrayLike,
    groups: ArrayLike,
    clusters: ArrayLike | None = None,
    resamples: int = 0,
    seed: int = 0,
) -> list[dict[Coefficient, Grouped]]:
    """Average the correlations within groups, such as the translations of one source.

    A group is undefined with fewer than 3 segments or if one side is constant in it. Undefined groups are counted
    and do not enter the mean (Deutsch, Dror and Roth 2021; mt-metrics-eval).

    Args:
        kinds: `"pearson"`, `"spearman"`, `"kendall"` or `"kendall_tau_c"`, or a list of several.
        scores: float64[N, K], scores of K metrics, or float64[N] of one. A segment with NaN in any column is ignored
            for all columns; call once per metric if the missing segments differ.
        human: float64[N], human scores; segments with NaN are ignored.
        groups: N labels of any type: one group per source ("by item") or per system.
        clusters: N labels of segments that are resampled together. Default: each segment is its own cluster.
        resamples: Number of bootstrap resamples of clusters. 0 computes no interval.
        seed: Seed of the resampling.

    Returns:
        list[dict[str, Grouped]]: One dictionary per column of `scores`, from kind to mean and 95 % interval.

        A group within one cluster is resampled with it; a group across clusters is computed anew in each resample.
        Above 5 million resamples x segments, large groups are linearised.

    Raises:
        ConfigError: A kind is unknown.
        ValueError: The arrays differ in length.

    Example:
        >>> from bmx_grid.measures import grouped_correlations
        >>> scores = [1, 2, 3, 1, 2, 3]
        >>> human = [1, 2, 3, 1, 3, 2]
        >>> [by_kind] = grouped_correlations("pearson", scores, human, groups=["a", "a", "a", "b", "b", "b"])
        >>> round(by_kind["pearson"].value, 3), by_kind["pearson"].n_groups
        (0.75, 2)
    """
    kinds = _as_kinds(kinds)
    scores, human, groups, clusters = _scored_rows(scores, human, groups, clusters)
    members = members_of(groups)

    values = np.concatenate([_correlate_groups(kind, scores, human, members) for kind in kinds])
    is_large = _is_large(len(human), resamples)

    def prepare_group(group: int, cluster: Ints) -> Resample:
        rows = members[group]
        columns = scores[rows]
        judged = human[rows]
        if is_large and len(rows) >= FEWEST_PROJECTED:
            value = values[:, group, None]
            move = _drawn_sums(_moves(kinds, columns, judged), cluster)
            return lambda drawn: np.asarray(value + move(drawn))

        def resample(drawn: Floats) -> Floats:
            times = drawn[cluster]
            return np.concatenate([weighted_correlations(kind, columns, judged, times) for kind in kinds])

        return resample

    means = _means(values, prepare_group, groups, clusters, resamples, seed)
    # all columns of the first kind, then all of the second
    width = scores.shape[1]
    return [dict(zip(kinds, means[column::width], strict=True)) for column in range(width)]


def _as_kinds(kinds: Coefficient | Sequence[Coefficient]) -> Sequence[Coefficient]:
    """The correlations as a list. Raises ConfigError for an unknown one."""
    # a text is a sequence of its letters
    listed = [kinds] if isinstance(kinds, str) else list(kinds)
    for kind in listed:
        check_coefficient(kind)
    return listed


def grouped_columns(
    scores: ArrayLike, human: ArrayLike, groups: ArrayLike, clusters: ArrayLike | None
) -> tuple[Floats, Floats, Ints, Ints]:
    """float64[n, K] scores, of one column if they are one-dimensional, float64[n] human scores, int64[n] codes.

    groups, clusters: n labels of any type, coded in their order; without clusters each segment is its own. Raises
    ValueError for other shapes.
    """
    columns = np.asarray(scores, dtype=np.float64)
    if columns.ndim == 1:
        columns = columns[:, None]
    judged = np.asarray(human, dtype=np.float64)
    group = codes(groups)
    cluster = codes(labels_of_rows(clusters, len(judged)))
    lengths = {len(columns), len(judged), len(group), len(cluster)}
    if columns.ndim != 2 or judged.ndim != 1 or len(lengths) > 1:
        raise ValueError(
            f"scores, human scores and labels must be of the same segments, not of shapes {np.shape(scores)}, "
            f"{np.shape(human)}, {np.shape(group)} and {np.shape(cluster)}"
        )
    return columns, judged, group, cluster


def _scored_rows(
    scores: ArrayLike, human: ArrayLike, groups: ArrayLike, clusters: ArrayLike | None
) -> tuple[Floats, Floats, Ints, Ints]:
    """The segments that have all scores and a human one, as `grouped_columns`: groups keep their codes among all."""
    scores, human, groups, clusters = grouped_columns(scores, human, groups, clusters)
    lacks_score = np.isnan(scores).any(axis=1)
    used = ~(lacks_score | np.isnan(human))
    return scores[used], human[used], groups[used], clusters[used]


def _is_large(n: int, resamples: int) -> bool:
    """Whether correlations of n segments are projected, not computed in each resample."""
    return n * resamples > MOST_EXACT


def _moves(kinds: Sequence[Coefficient], scores: Floats, human: Floats) -> Floats:
    """float64[kinds x K, m] how much each of m rows moves each correlation."""
    return np.array([influences(kind, column, human) for kind, column in itertools.product(kinds, scores.T)])


def _drawn_sums(rows: Floats, cluster: Ints) -> Resample:
    """Sums of float64[K, m] values of rows whose clusters are int64[m], as often as these are drawn."""
    used, place = np.unique(cluster, return_inverse=True)
    of_clusters = _sums_by_cluster(rows, place, len(used))

    def resample(drawn: Floats) -> Floats:
        times = drawn if len(used) == len(drawn) else drawn[used]
        # A product for each row: the same digits whatever the other rows are.
        return np.array([sums @ times for sums in of_clusters])

    return resample


def within_groups(kind: Coefficient, scores: ArrayLike, human: ArrayLike, groups: ArrayLike) -> Floats:
    """Correlate scores with human scores within each group.

    Args:
        kind: `"pearson"`, `"spearman"`, `"kendall"` or `"kendall_tau_c"`.
        scores: float64[N, K], scores of K metrics, or float64[N] of one. A segment with NaN in any column is ignored.
        human: float64[N], human scores; segments with NaN are ignored.
        groups: N labels of any type, with G distinct values.

    Returns:
        float64[K, G]: One column per group, in the sort order of the labels. NaN in a group with fewer than 3
            segments or with a constant side.

    Raises:
        ConfigError: `kind` is unknown.
        ValueError: The arrays differ in length.

    Example:
        >>> from bmx_grid.measures import within_groups
        >>> within_groups("pearson", [1, 2, 3, 1, 2, 3], [1, 2, 3, 1, 3, 2], ["a"] * 3 + ["b"] * 3).round(3)
        array([[1. , 0.5]])
    """
    check_coefficient(kind)
    n_groups = number_of(codes(groups))
    scores, human, groups, _ = _scored_rows(scores, human, groups, None)
    correlations = np.full((scores.shape[1], n_groups), np.nan)
    used_groups = np.unique(groups)
    correlations[:, used_groups] = _correlate_groups(kind, scores, human, members_of(groups))
    return correlations


def grouped_acc_eq(
    scores: ArrayLike,
    human: ArrayLike,
    groups: ArrayLike,
    clusters: ArrayLike | None = None,
    resamples: int = 0,
    seed: int = 0,
) -> list[tuple[Grouped, float, list[str]]]:
    """Compute pairwise accuracy with calibrated ties (acc_eq), averaged over groups.

    acc_eq is the share of pairs of segments that metric and human scores order alike, ties included. Two metric
    scores tie if they differ by at most epsilon; epsilon is the threshold with the highest accuracy over all groups
    (Deutsch, Foster and Freitag 2023). Above 1 million pairs, a random sample of 1 million is used.

    Args:
        scores: float64[N, K], scores of K metrics, or float64[N] of one. A segment with NaN in any column is ignored.
        human: float64[N], human scores; segments with NaN are ignored.
        groups: N labels of any type; pairs are formed within groups.
        clusters: N labels of segments that are resampled together. Default: each segment is its own cluster.
        resamples: Number of bootstrap resamples of clusters. 0 computes no interval.
        seed: Seed of the sample of pairs and of the resampling.

    Returns:
        list[tuple[Grouped, float, list[str]]]: Per column of `scores`: mean accuracy with its 95 % interval, epsilon,
            and notes, for example that the metric is no better than tying every pair. The interval keeps epsilon
            fixed.

    Raises:
        ValueError: The arrays differ in length.

    Example:
        >>> from bmx_grid.measures import grouped_acc_eq
        >>> scores, human = [1, 2, 3, 1, 2, 3], [1, 2, 3, 1, 3, 2]
        >>> [(accuracy, epsilon, notes)] = grouped_acc_eq(scores, human, groups=["a"] * 3 + ["b"] * 3)
        >>> round(accuracy.value, 3), epsilon, notes
        (0.833, 0.0, [])
    """
    scores, human, groups, clusters = _scored_rows(scores, human, groups, clusters)
    groups = codes(groups)
    pairs = SegmentPairs.from_groups(human, groups, seed=seed)
    drawn_pairs = len(pairs.first)
    few = []
    if drawn_pairs < pairs.n_pairs_of:
        few.append(f"on {drawn_pairs:,} random pairs of {pairs.n_pairs_of:,}")
    of_segments = []
    of_groups = []
    epsilons = []
    notes = []
    for column in scores.T:
        epsilon, only_ties = pairs.calibrate(column)
        of_segment, of_group = pairs.shares(pairs.find_agreeing(column, epsilon))
        # a segment whose pairs were not drawn counts as its group does
        of_segments.append(np.where(np.isnan(of_segment), of_group[groups], of_segment))
        of_groups.append(of_group)
        epsilons.append(epsilon)
        notes.append([ONLY_TIES, *few] if only_ties else few)
    agreements = np.array(of_segments)
    members = members_of(groups)

    def prepare_group(group: int, cluster: Ints) -> Resample:
        rows = members[group]
        of_rows = agreements[:, rows]
        value = of_rows.mean(axis=1)[:, None]
        total = _drawn_sums(of_rows, cluster)
        number = _drawn_sums(np.ones((1, len(rows))), cluster)

        def resample(drawn: Floats) -> Floats:
            mean = ratio(total(drawn), number(drawn))
            # Twice, as each pair has two segments through which a resample moves it.
            return np.asarray(value + 2 * (mean - value))

        return resample

    means = _means(np.array(of_groups), prepare_group, groups, clusters, resamples, seed)
    return list(zip(means, epsilons, notes, strict=True))


def acc_eq_of_halves(
    scores: ArrayLike, human: ArrayLike, groups: ArrayLike, clusters: ArrayLike | None = None, seed: int = 0
) -> Floats:
    """float64[K] acc_eq of each column, calibrated on half of the clusters and judged on the other: the mean of both.

    As `grouped_acc_eq`; only pairs within a half count. NaN if a half has no pair. seed: deals the clusters to the
    halves, and draws pairs if a half has too many.
    """
    scores, human, groups, clusters = _scored_rows(scores, human, groups, clusters)
    half = assign_folds(codes(clusters), 2, np.random.default_rng(seed))
    left = np.flatnonzero(half == 0)
    right = np.flatnonzero(half == 1)
    left_pairs = SegmentPairs.from_groups(human[left], groups[left], seed=seed)
    right_pairs = SegmentPairs.from_groups(human[right], groups[right], seed=seed)
    means = []
    for column in scores.T:
        left_epsilon, _ = left_pairs.calibrate(column[left])
        right_epsilon, _ = right_pairs.calibrate(column[right])
        # each half is judged at the tie threshold of the other
        on_left = left_pairs.agreement(column[left], right_epsilon)
        on_right = right_pairs.agreement(column[right], left_epsilon)
        means.append((on_left + on_right) / 2)
    return np.array(means)


def _correlate_groups(kind: Coefficient, scores: Floats, human: Floats, members: list[Ints]) -> Floats:
    """float64[K, G] the correlation of each column in each group; NaN where undefined."""
    correlations = np.full((scores.shape[1], len(members)), np.nan)
    sizes = np.array([len(rows) for rows in members])
    for size in np.unique(sizes[sizes >= FEWEST]).tolist():
        of_size = np.flatnonzero(sizes == size)
        if size > TOGETHER_UP_TO:
            for group in of_size.tolist():
                rows = members[group]
                judged = human[rows]
                correlations[:, group] = [correlate(kind, column, judged) for column in scores[rows].T]
            continue
        # The signs of all pairs of a group are held at once: as many groups at a time as fit into the memory for them.
        for part in ranges(len(of_size), fitting(CELLS, size**2)):
            some = of_size[part]
            rows = np.stack([members[group] for group in some])
            once = np.ones(rows.shape)
            for column in range(scores.shape[1]):
                statistics = weighted_statistics([kind], scores[rows, column], human[rows], once)
                correlations[column, some] = statistics[kind]
    return correlations
