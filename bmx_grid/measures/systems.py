"""System level: the score of each system, its correlation with people, and intervals over systems and segments.

The interval resamples both systems and clusters of segments (BOOT-BOTH of Deutsch, Dror & Roth 2021): the systems of a
test set are a sample of systems as its segments are one of segments. Where people scored whole systems only, their
scores stay as they are while the metric's are recomputed from the segments drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bmx_grid.measures.agreement import SoftAgreement, pairwise_accuracy
from bmx_grid.measures.correlation import correlate
from bmx_grid.measures.levels import FEWEST_CLUSTERS
from bmx_grid.measures.weighted import Floats, Ints, counts_drawn, draws, interval, pearson_rows

Statistic = Literal["pearson", "spearman", "kendall", "pairwise_accuracy"]
FEWEST_SYSTEMS = 3  # different ones, in a resample that counts


@dataclass(frozen=True, eq=False)
class SystemScores:
    """Scores of S systems; of what is undefined NaN.

    mean: float64[S] the mean of the system's segment scores; corpus: the score of its summed statistics, None without.
    n_segments: int64[S] segments used.
    """

    mean: Floats
    corpus: Floats | None
    n_segments: Ints


@dataclass(frozen=True, eq=False)
class Segments:
    """What system scores are made of: n segments of S systems in C clusters.

    scores: float64[n]; systems, clusters: int64[n] numbers from 0; n_systems, n_clusters: how many there are.
    statistics: float64[n, k] with combine: float64[..., k] -> float64[...], or None for means only.
    """

    scores: Floats
    systems: Ints
    clusters: Ints
    n_systems: int
    n_clusters: int
    statistics: Floats | None = None
    combine: Callable[[Floats], Floats] | None = None

    def system_scores(self) -> SystemScores:
        """Mean and corpus score of each system, over all its segments."""
        whole = np.ones((1, self.n_clusters))
        mean = self.resampled(whole, corpus=False)[0]
        corpus = self.resampled(whole, corpus=True)[0] if self.combine is not None else None
        return SystemScores(mean, corpus, np.bincount(self.systems, minlength=self.n_systems))

    def resampled(self, weights: Floats, *, corpus: bool) -> Floats:
        """float64[B, S] scores of systems under float64[B, C] weights of clusters; NaN for one without segments."""
        values = np.stack([self.scores, np.ones(len(self.scores))], axis=1)
        if corpus and self.statistics is not None:
            values = np.concatenate([self.statistics, np.ones((len(self.scores), 1))], axis=1)
        sums = self._summed(values, weights)
        drawn = sums[..., -1] > 0
        with np.errstate(invalid="ignore", divide="ignore"):
            own = self.combine if corpus else None
            found = sums[..., 0] / sums[..., 1] if own is None else own(sums[..., :-1])
        return np.where(drawn, found, np.nan)

    def _summed(self, values: Floats, weights: Floats) -> Floats:
        """float64[B, S, k] sums by system of the segments' values, float64[n, k], as often as their cluster counts."""
        from scipy.sparse import coo_array

        k = values.shape[1]
        columns = self.systems[:, None] * k + np.arange(k)
        rows = np.repeat(self.clusters, k)
        shape = (self.n_clusters, self.n_systems * k)
        by_cluster = coo_array((values.ravel(), (rows, columns.ravel())), shape=shape).tocsr()
        return np.asarray((by_cluster.T @ weights.T).T.reshape(len(weights), self.n_systems, k))


def system_statistic(statistic: Statistic, metric: Floats, human: Floats) -> float:
    """The statistic of float64[S] scores of systems; NaN as `correlate` and `pairwise_accuracy` say."""
    return pairwise_accuracy(metric, human) if statistic == "pairwise_accuracy" else correlate(statistic, metric, human)


def system_interval(
    statistic: Statistic,
    metric: Callable[[Floats], Floats],
    human: Callable[[Floats], Floats],
    n_systems: int,
    n_clusters: int,
    *,
    resamples: int,
    seed: int,
) -> tuple[float, float]:
    """The 95 % interval of a statistic over resampled systems and clusters of segments.

    metric, human: float64[B, C] weights of clusters -> float64[B, S] scores of systems. NaN with fewer than three
    systems or clusters; resamples with fewer than three different systems do not count.
    """
    if n_systems < FEWEST_SYSTEMS or n_clusters < FEWEST_CLUSTERS or not resamples:
        return math.nan, math.nan
    of_systems, of_clusters = (np.random.default_rng([seed, stream]) for stream in (0, 1))
    values = []
    for weights in draws(n_clusters, resamples, of_clusters, n_systems**2):
        times = counts_drawn(n_systems, len(weights), of_systems)
        values.append(weighted_statistic(statistic, metric(weights), human(weights), times))
    return interval(np.concatenate(values))


def weighted_statistic(statistic: Statistic, metric: Floats, human: Floats, times: Floats) -> Floats:
    """float64[B] the statistic of each row of float64[B, S] scores, of which each system was drawn `times`.

    Copies of one system tie on both sides for the correlations, and are no pair for the accuracy. Systems with NaN are
    left out; NaN with fewer than three different systems, or a constant side.
    """
    times = np.where(np.isfinite(metric) & np.isfinite(human), times, 0.0)
    metric, human = np.where(times > 0, metric, 0.0), np.where(times > 0, human, 0.0)
    pairs = times[:, :, None] * times[:, None, :]
    with np.errstate(invalid="ignore", divide="ignore"):
        if statistic == "pearson":
            found = pearson_rows(metric, human, times)
        else:
            one, other = (np.sign(scores[:, :, None] - scores[:, None, :]) for scores in (metric, human))
            if statistic == "kendall":
                untied = [(pairs * signs**2).sum(axis=(1, 2)) for signs in (one, other)]
                found = (pairs * one * other).sum(axis=(1, 2)) / np.sqrt(untied[0] * untied[1])
            elif statistic == "spearman":
                # the mean rank of the drawn list is the same for all: a rank less it is half the net number below
                ranks = [np.einsum("bst,bt->bs", signs, times) for signs in (one, other)]
                found = pearson_rows(ranks[0], ranks[1], times)
            else:
                apart = ~np.eye(times.shape[1], dtype=np.bool_)
                found = (pairs * (one == other) * apart).sum(axis=(1, 2)) / (pairs * apart).sum(axis=(1, 2))
    return np.where((times > 0).sum(axis=1) >= FEWEST_SYSTEMS, found, np.nan)


def spa_interval(found: SoftAgreement, *, resamples: int, seed: int) -> tuple[float, float]:
    """The 95 % interval of soft pairwise accuracy over resampled systems, each pair's p-values as they are."""
    n_systems = len(found.apart)
    if n_systems < FEWEST_SYSTEMS or not resamples or not found.n_pairs:
        return math.nan, math.nan
    apart, known = np.nan_to_num(found.apart), np.isfinite(found.apart).astype(np.float64)
    values = []
    for times in draws(n_systems, resamples, np.random.default_rng(seed)):
        with np.errstate(invalid="ignore", divide="ignore"):
            sums = [np.einsum("bs,st,bt->b", times, matrix, times, optimize=True) for matrix in (apart, known)]
            share = 1 - sums[0] / sums[1]
        values.append(np.where((times > 0).sum(axis=1) >= FEWEST_SYSTEMS, share, np.nan))
    return interval(np.concatenate(values))
