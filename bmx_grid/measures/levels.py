"""Agreement with people at the level of segments: without grouping, by item, by system.

Groups are those of mt-metrics-eval and Deutsch et al. (2021): the correlation is computed within each group and
averaged over the groups in which it is defined. A group with fewer than three segments, or in which one side is
constant, is undefined: counted, and never scored 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bmx_grid.measures.agreement import TieCalibrated, acc_eq, members_of
from bmx_grid.measures.correlation import FEWEST, Kind, correlate
from bmx_grid.measures.weighted import Floats, Ints, draws, interval, weighted_correlation

FEWEST_CLUSTERS = 3  # a resample of two clusters is one of them in half of all cases


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


def codes(labels: ArrayLike) -> Ints:
    """int64[n] numbers from 0 of labels, in the order of the sorted labels."""
    return np.asarray(np.unique(np.asarray(labels), return_inverse=True)[1], dtype=np.int64)


def grouped_correlation(
    kind: Kind, scores: Floats, human: Floats, groups: Ints, clusters: Ints, resamples: int = 0, seed: int = 0
) -> Grouped:
    """Mean within-group correlation of float64[n] scores with human scores, and its cluster-bootstrap interval.

    groups, clusters: int64[n]. Segments with NaN on either side are left out. Clusters are drawn with replacement: a
    group that lies in one cluster comes and goes with it, one that spans several is recomputed from what was drawn.
    Without resamples, or with fewer than three clusters, there is no interval.
    """
    used = ~(np.isnan(scores) | np.isnan(human))
    scores, human, groups, clusters = scores[used], human[used], groups[used], codes(clusters[used])
    members = members_of(groups)
    values = np.array([_within(kind, scores[rows], human[rows]) for rows in members], dtype=np.float64)

    def again(group: int, weights: Floats) -> Floats:
        rows = members[group]
        return weighted_correlation(kind, scores[rows], human[rows], weights)

    low, high = _interval(members, values, clusters, again, resamples, seed)
    return _grouped(values, low, high, len(scores))


def grouped_acc_eq(
    scores: Floats, human: Floats, groups: Ints, clusters: Ints, resamples: int = 0, seed: int = 0
) -> tuple[Grouped, TieCalibrated]:
    """acc_eq, calibrated over all groups at once, as `grouped_correlation`.

    The interval holds epsilon at its calibrated value, and takes the accuracy of a group that spans several clusters as
    linear in the weights (the projection of a U-statistic), since a resample of all pairs costs their number.
    """
    used = ~(np.isnan(scores) | np.isnan(human))
    scores, human, groups, clusters = scores[used], human[used], groups[used], codes(clusters[used])
    found = acc_eq(scores, human, groups, seed=seed)
    members = members_of(groups)
    values = np.array([found.by_row[rows].mean() for rows in members], dtype=np.float64)

    def again(group: int, weights: Floats) -> Floats:
        rows = members[group]
        with np.errstate(invalid="ignore"):
            drawn = weights @ found.by_row[rows] / weights.sum(axis=1)
        return np.asarray(values[group] + 2 * (drawn - values[group]))

    low, high = _interval(members, values, clusters, again, resamples, seed)
    grouped = Grouped(found.accuracy, low, high, found.n_groups, found.n_undefined, len(scores))
    return grouped, found


def _grouped(values: Floats, low: float, high: float, n_segments: int) -> Grouped:
    defined = np.isfinite(values)
    value = float(values[defined].mean()) if defined.any() else math.nan
    return Grouped(value, low, high, len(values), int((~defined).sum()), n_segments)


def _within(kind: Kind, scores: Floats, human: Floats) -> float:
    return correlate(kind, scores, human) if len(scores) >= FEWEST else math.nan


def _interval(
    members: Sequence[Ints],
    values: Floats,
    clusters: Ints,
    again: Callable[[int, Floats], Floats],
    resamples: int,
    seed: int,
) -> tuple[float, float]:
    """The interval of the mean of groups' values; again(group, weights) recomputes the value of one for resamples."""
    n_clusters = int(clusters.max(initial=-1)) + 1
    defined = np.flatnonzero(np.isfinite(values))
    if not resamples or not len(defined) or n_clusters < FEWEST_CLUSTERS:
        return math.nan, math.nan
    whole = [group for group in defined.tolist() if (clusters[members[group]] == clusters[members[group][0]]).all()]
    spread = sorted(set(defined.tolist()) - set(whole))
    of_whole = np.array([clusters[members[group][0]] for group in whole], dtype=np.intp)
    means = []
    for drawn in draws(n_clusters, resamples, np.random.default_rng(seed), len(clusters)):
        times = drawn[:, of_whole]
        total, count = times @ values[whole], times.sum(axis=1)
        for group in spread:
            value = again(int(group), drawn[:, clusters[members[group]]])
            known = np.isfinite(value)
            total += np.where(known, value, 0.0)
            count += known
        with np.errstate(invalid="ignore", divide="ignore"):
            means.append(total / count)
    return interval(np.concatenate(means))
