"""Partial correlation of a score with human scores, controlling for score, lengths, texts and named groups.

A gain over the metric alone proves nothing about attributions: a curve of the metric's own score, the number of words,
or both jointly, may give the same. The partial correlation removes all this from both sides: it is the correlation of
the residuals of the boosted scores with the residuals of the human scores, both predicted from the nuisance with the
segment's own cluster left out (Chernozhukov and others 2018, "Double/debiased machine learning", The Econometrics
Journal 21).

No learner is perfect. An effect that it catches in part, on both sides, leaves a spurious correlation. But the part
that it misses shrinks with the number of segments that it learns from, and the boost's own part stays: the covariance
of the residuals is extrapolated from fits on all other segments and on random quarters of them. The extrapolated value
leans low where the learner learns faster than assumed; the correlation of the residuals themselves leans high.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.measures.correlation import Coefficient, average_ranks
from bmx_grid.measures.kernel_ridge import N_PARTS, Parts, residuals
from bmx_grid.measures.kernels import Nuisance, standardise
from bmx_grid.measures.resampling import codes, number_of

DIVISIONS = 15  # of the clusters into N_PARTS, at random: with fewer the seed shows
# Errors fall with n segments as n ** -RATE, the rate of the best learner of a Lipschitz function of three inputs (Stone
# 1982, Annals of Statistics 10): by this factor the difference of fits on all and on a part of them is extrapolated.
RATE = 0.4
EXTRAPOLATION = 1 / (N_PARTS**RATE - 1)
# Clusters that a partial correlation needs. Of fewer, a quarter is one or two: with four clusters random attributions
# had a significant partial correlation in 15 of 40 sweeps.
FEWEST_OF_PARTIAL = 3 * N_PARTS
N_NEAREST = 25  # segments nearest in score and lengths, for the local variance of residuals
LEAST_VARIANCE = 0.1  # share of the median local variance that is added, so that no segment counts for all
NOTHING_LEFT = 1e-5  # standard deviations: the boost is the metric itself, or linear in score and lengths


@dataclass(frozen=True, eq=False)
class PartialCorrelation:
    """A partial correlation, and how much each segment moves it.

    value: NaN if undefined, 0 if the score is determined by the nuisance. influence: float64[n] with sum 0; the
    variance of `value` is the sum over clusters of (sum of influence / n) ** 2. explained: share of the variance of
    human scores that the nuisance predicts.
    """

    value: float
    influence: Floats
    explained: float


def partial_correlations(
    kind: Coefficient, nuisance: Nuisance, human: Floats, scores: Floats, clusters: Ints, seed: int
) -> list[tuple[PartialCorrelation, PartialCorrelation]]:
    """The partial correlation of the columns of float64[n, b] scores with float64[n] human scores, given the nuisance.

    Extrapolated, and of the residuals as they are: the former leans low, the latter high. Of average ranks for a rank
    correlation. clusters: int64[n] of segments that depend on each other: none is predicted from its own cluster.
    seed: of the random divisions. All numbers are finite. NaN with fewer than FEWEST_OF_PARTIAL clusters, and for
    constant human scores. Of a set that is fitted in several blocks it is their mean.
    """
    undefined = PartialCorrelation(math.nan, np.full(len(human), math.nan), math.nan)
    # A stratum of one segment has nothing to be compared with.
    used = np.ones(len(human), dtype=np.bool_)
    if nuisance.strata is not None:
        used = np.bincount(nuisance.strata)[nuisance.strata] > 1
    rows = np.flatnonzero(used)
    clusters = codes(clusters[rows])
    n_scores = scores.shape[1]
    if number_of(clusters) < FEWEST_OF_PARTIAL or np.ptp(human[rows]) == 0:
        return [(undefined, undefined)] * n_scores
    nuisance = nuisance.take(rows)
    targets = _targets(kind, np.column_stack([human, scores])[rows])
    judged = np.flatnonzero(_beyond_linear(nuisance, targets)[1:] >= NOTHING_LEFT)
    # Of the extrapolated correlation, and of that of the residuals.
    values = np.zeros((2, n_scores))
    influences = np.zeros((2, n_scores, len(human)))
    unexplained = 0.0
    for block, errors in residuals(nuisance, targets, clusters, _divisions(clusters, seed)):
        local = _local_variance(nuisance.core[block], errors[0])
        unexplained += float(np.sum(errors[0, :, 0] ** 2))
        for place in judged:
            both = _extrapolate(errors[:, :, 0], errors[:, :, place + 1], local[:, place + 1])
            for version, (value, influence) in enumerate(both):
                values[version, place] += value * len(block) / len(rows)
                influences[version, place, rows[block]] = influence * (len(human) / len(rows))
    explained = 1 - unexplained / float(np.sum(nuisance.subtract_means(targets)[:, 0] ** 2))
    # An extrapolation may leave the range of a correlation.
    values = values.clip(-1.0, 1.0)
    found = []
    for column in range(n_scores):
        extrapolated = PartialCorrelation(float(values[0, column]), influences[0, column], explained)
        of_residuals = PartialCorrelation(float(values[1, column]), influences[1, column], explained)
        found.append((extrapolated, of_residuals))
    return found


def _targets(kind: Coefficient, columns: Floats) -> Floats:
    """float64[n, q] in standard deviations from the mean, of average ranks for a rank correlation."""
    if kind != "pearson":
        columns = np.column_stack([average_ranks(column) for column in columns.T])
    return standardise(columns)


def _beyond_linear(nuisance: Nuisance, targets: Floats) -> Floats:
    """float64[q] standard deviations of what is not linear in score and lengths, of float64[n, q] targets."""
    design = np.column_stack([np.ones(len(targets)), standardise(nuisance.core)])
    weights, *_ = np.linalg.lstsq(design, targets, rcond=None)
    return np.asarray((targets - design @ weights).std(axis=0))


def _divisions(clusters: Ints, seed: int) -> list[Parts]:
    """DIVISIONS times the part uint8[n] of each segment, drawn by cluster."""
    generator = np.random.default_rng([seed, len(clusters)])
    divisions = []
    for _ in range(DIVISIONS):
        part_of_cluster = generator.permutation(number_of(clusters)) % N_PARTS
        divisions.append(part_of_cluster.astype(np.uint8)[clusters])
    return divisions


def _extrapolate(human: Floats, boost: Floats, local: Floats) -> list[tuple[float, Floats]]:
    """The correlation of residuals, extrapolated and as it is, each with its influence float64[n].

    human, boost: float64[d, n] residuals, of fits on all other clusters first, then of those on parts. local:
    float64[n] the local variance of the boost's residuals, by which segments are weighted: if the boost adds little
    that is new, chance would decide.
    """
    weights = 1 / (local + LEAST_VARIANCE * np.median(local))
    weights /= weights.mean()
    standard_human = human - (human @ weights)[:, None] / len(weights)
    standard_boost = boost - (boost @ weights)[:, None] / len(weights)
    # All in standard deviations of the full fit: in a correlation of its own, the misfit of a part would cancel.
    standard_human /= math.sqrt(np.mean(weights * standard_human[0] ** 2))
    standard_boost /= math.sqrt(np.mean(weights * standard_boost[0] ** 2))
    products = weights * standard_human * standard_boost
    full = float(products[0].mean())
    of_parts = products[1:].mean(axis=0)
    squares = standard_human[0] ** 2 + standard_boost[0] ** 2
    influence = products[0] - full / 2 * weights * squares
    value = full + EXTRAPOLATION * (full - float(of_parts.mean()))
    extrapolated = influence + EXTRAPOLATION * (influence - of_parts + of_parts.mean() * weights)
    return [(value, extrapolated), (full, influence)]


def _local_variance(core: Floats, errors: Floats) -> Floats:
    """float64[n, q] mean squared errors of the segments nearest in the ranks of score and lengths."""
    from scipy.spatial import KDTree

    ranks = np.column_stack([average_ranks(column) / len(column) for column in core.T])
    _, nearest = KDTree(ranks).query(ranks, k=min(N_NEAREST + 1, len(ranks)))
    return np.asarray((errors[nearest[:, 1:]] ** 2).mean(axis=1))
