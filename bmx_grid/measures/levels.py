"""Correlation with human judgements at the level of segments: without grouping, by item, by system.

Groups are those of mt-metrics-eval and Deutsch et al. (2021): the correlation is computed within each group and
averaged over the groups in which it is defined. A group with fewer than three segments, or in which one side is
constant, is undefined: counted, and never scored 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bmx_grid.measures.agreement import SegmentPairs, TieCalibrated, members_of
from bmx_grid.measures.correlation import FEWEST, Flags, Kind, correlate
from bmx_grid.measures.resampling import (
    CELLS,
    FEWEST_CLUSTERS,
    Floats,
    Ints,
    codes,
    dealt,
    fitting,
    interval,
    number_of,
    ranges,
    seeded_draws,
    weighted_correlations,
)
from bmx_grid.measures.systems import weighted_statistics

Again = Callable[[Ints, Floats], Floats]  # int64[m] rows of a group, float64[m, R] times drawn -> float64[K, R] values
SMALL = 32  # segments up to which groups of one size are computed together, from the signs of all pairs


@dataclass(frozen=True, eq=False)
class Grouped:
    """A statistic averaged over groups of segments.

    value: the mean over defined groups, NaN without one; low, high: its interval, NaN where there is none.
    n_groups: groups; n_undefined: those without a value. n_segments: segments with both scores.
    """

    value: float
    low: float
    high: float
    n_groups: int
    n_undefined: int
    n_segments: int


class Groups:
    """Which of n segments stand together, and which of these groups are drawn as a whole.

    members: the rows of each of G groups; sizes: int64[G]; group: int64[n] the group of each row; clusters: int64[n]
    codes from 0. whole: bool[G] whether all segments of a group are in one cluster.
    """

    def __init__(self, groups: Ints, clusters: Ints) -> None:
        self.members, self.group, self.clusters = members_of(groups), codes(groups), codes(clusters)
        self.sizes = np.bincount(self.group, minlength=len(self.members))
        self.first = np.array([rows[0] for rows in self.members], dtype=np.int64)
        elsewhere = self.clusters != self.clusters[self.first][self.group]
        self.whole = np.bincount(self.group, elsewhere, len(self.members)) == 0

    def grouped(self, values: Floats, again: Again, resamples: int, seed: int) -> list[Grouped]:
        """The mean of float64[K, G] values over the groups, and its interval, for each of K columns.

        Expanded percentile intervals (`resampling.interval_levels`) for the clusters that have a defined group; NaN
        without resamples, or with fewer than three such clusters.
        """
        defined, samples = np.isfinite(values), np.empty((len(values), 0))
        units = [len(np.unique(self.clusters[row[self.group]])) for row in defined]
        if resamples and max(units, default=0) >= FEWEST_CLUSTERS:
            samples = self._resampled(values, defined, again, resamples, seed)
        columns = []
        for row, known, drawn, count in zip(values, defined, samples, units, strict=True):
            value = float(row[known].mean()) if known.any() else math.nan
            counts = len(row), int((~known).sum()), len(self.group)
            columns.append(Grouped(value, *interval(drawn, count), *counts))
        return columns

    def _resampled(self, values: Floats, defined: Flags, again: Again, resamples: int, seed: int) -> Floats:
        """float64[K, R] the mean over the groups of each resample."""
        count, cluster = number_of(self.clusters), self.clusters[self.first[self.whole]]
        summed = [
            np.array([np.bincount(cluster, row[self.whole], count) for row in rows])
            for rows in (np.where(defined, values, 0.0), defined.astype(np.float64))
        ]
        spread = np.flatnonzero(~self.whole & defined.any(axis=0)).tolist()
        means = []
        for drawn in seeded_draws(count, resamples, seed, len(self.clusters)):
            # A product for each column: the same digits whatever is computed beside it.
            total, number = (np.array([row @ drawn for row in of_cluster]) for of_cluster in summed)
            for group in spread:
                rows = self.members[group]
                value = again(rows, drawn[self.clusters[rows]])
                known = np.isfinite(value) & defined[:, group, None]
                total += np.where(known, value, 0.0)
                number += known
            with np.errstate(invalid="ignore", divide="ignore"):
                means.append(total / number)
        return np.concatenate(means, axis=1)


def grouped_correlations(
    kinds: Sequence[Kind],
    scores: Floats,
    human: Floats,
    groups: Ints,
    clusters: Ints,
    resamples: int = 0,
    seed: int = 0,
) -> list[dict[Kind, Grouped]]:
    """Mean within-group correlations of float64[n, K] scores with human scores, and their intervals, for each column.

    human: float64[n]; groups, clusters: int64[n]. Segments with NaN in any column, or in human, are left out: columns
    that lack other segments are for another call. Clusters are drawn with replacement: a group that lies in one
    cluster comes and goes with it, one that spans several is recomputed from what was drawn (`Groups.grouped`).
    """
    used = ~(np.isnan(scores).any(axis=1) | np.isnan(human))
    scores, human, of = scores[used], human[used], Groups(groups[used], clusters[used])
    values = np.concatenate([_within(kind, scores, human, of) for kind in kinds])

    def again(rows: Ints, times: Floats) -> Floats:
        return np.concatenate([weighted_correlations(kind, scores[rows], human[rows], times) for kind in kinds])

    columns, width = of.grouped(values, again, resamples, seed), scores.shape[1]
    return [dict(zip(kinds, columns[column::width], strict=True)) for column in range(width)]


def within_groups(kind: Kind, scores: Floats, human: Floats, groups: Ints) -> Floats:
    """float64[K, G] the correlation of each column of float64[n, K] scores in each of the G groups.

    G: groups of codes 0 to max(groups), of which those without variance or with fewer than three used segments are NaN.
    Segments with NaN in human or in any column are left out.
    """
    used = ~(np.isnan(scores).any(axis=1) | np.isnan(human))
    correlations = np.full((scores.shape[1], number_of(groups)), np.nan)
    of = Groups(groups[used], groups[used])
    correlations[:, np.unique(groups[used])] = _within(kind, scores[used], human[used], of)
    return correlations


def grouped_acc_eq(
    scores: Floats, human: Floats, groups: Ints, clusters: Ints, resamples: int = 0, seed: int = 0
) -> list[tuple[Grouped, TieCalibrated]]:
    """acc_eq of each column, calibrated over all groups at once, as `grouped_correlations`.

    The interval holds epsilon at its calibrated value, and takes the accuracy of a group that spans several clusters as
    linear in the weights (the projection of a U-statistic), since a resample of all pairs costs their number.
    """
    used = ~(np.isnan(scores).any(axis=1) | np.isnan(human))
    scores, human, of = scores[used], human[used], Groups(groups[used], clusters[used])
    pairs = SegmentPairs.of(human, groups[used], seed=seed)
    calibrated = [pairs.calibrated(column) for column in scores.T]
    values = np.array([column.by_group for column in calibrated]).reshape(len(calibrated), len(of.members))
    by_row = np.array([column.by_row for column in calibrated]).reshape(len(calibrated), len(human))
    by_row = np.where(np.isnan(by_row), values[:, of.group], by_row)  # a segment whose pairs were not drawn

    def again(rows: Ints, times: Floats) -> Floats:
        shares = by_row[:, rows]
        value = shares.mean(axis=1)[:, None]
        with np.errstate(invalid="ignore"):
            drawn = np.array([row @ times for row in shares]) / times.sum(axis=0)
        return np.asarray(value + 2 * (drawn - value))

    return list(zip(of.grouped(values, again, resamples, seed), calibrated, strict=True))


def acc_eq_of_halves(scores: Floats, human: Floats, groups: Ints, clusters: Ints, seed: int = 0) -> Floats:
    """float64[K] acc_eq of each column, calibrated on half of the clusters and judged on the other: the mean of both.

    As `grouped_acc_eq`; only pairs within a half count. NaN where a half has no pair.
    """
    used = ~(np.isnan(scores).any(axis=1) | np.isnan(human))
    scores, human, groups = scores[used], human[used], groups[used]
    half = dealt(codes(clusters[used]), 2, np.random.default_rng(seed))
    pairs = [SegmentPairs.of(human[half == part], groups[half == part], seed=seed) for part in range(2)]
    means = []
    for column in scores.T:
        epsilon = [of.calibrated(column[half == part]).epsilon for part, of in enumerate(pairs)]
        judged = [of.agreement(column[half == part], epsilon[1 - part]) for part, of in enumerate(pairs)]
        means.append(sum(judged) / 2)
    return np.array(means)


def _within(kind: Kind, scores: Floats, human: Floats, of: Groups) -> Floats:
    """float64[K, G] the correlation of each column in each group; NaN where undefined."""
    correlations = np.full((scores.shape[1], len(of.members)), np.nan)
    for size in np.unique(of.sizes[of.sizes >= FEWEST]).tolist():
        of_size = np.flatnonzero(of.sizes == size)
        if size > SMALL:
            for group in of_size.tolist():
                rows = of.members[group]
                correlations[:, group] = [correlate(kind, column, human[rows]) for column in scores[rows].T]
            continue
        for part in ranges(len(of_size), fitting(CELLS, size**2)):
            some = of_size[part]
            rows = np.stack([of.members[group] for group in some])
            for column in range(scores.shape[1]):
                of_rows = weighted_statistics([kind], scores[rows, column], human[rows], np.ones(rows.shape))
                correlations[column, some] = of_rows[kind]
    return correlations
