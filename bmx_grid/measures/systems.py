"""System level: the score of each system, its correlation with people, and intervals over systems and segments.

The interval resamples both systems and clusters of segments (BOOT-BOTH of Deutsch, Dror & Roth 2021): the systems of a
test set are a sample of systems as its segments are one of segments. Where people scored whole systems only, their
scores stay as they are while the metric's are recomputed from the segments drawn.

Rank ranges and clusters are as WMT printed them. Segments are drawn with replacement, systems are ranked by the scores
of each resample, and the 2.5 % of resamples with the lowest and the highest ranks of a system are left out: the range
of the others, as 1-6, is its rank range (Koehn 2012, Simulating human judgment in machine translation evaluation
campaigns, IWSLT). Systems are grouped in clusters that do not overlap: the worst rank of each system in a cluster is
above the best rank of each system of the next one (Bojar et al. 2013, Findings of WMT). Later campaigns, as WMT24,
print ranges that count significant pairwise wins and losses instead. The ranks of metrics in ranking.parquet come from
pairwise tests as well, and are another thing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bmx_grid.measures.agreement import SoftAgreement, pairwise_accuracy
from bmx_grid.measures.at_a_time import fitting, ranges
from bmx_grid.measures.levels import CONFIDENCE
from bmx_grid.measures.resampling import (
    AT_ONCE,
    FEWEST_CLUSTERS,
    Floats,
    Ints,
    blocks,
    bounds,
    draws,
    interval_levels,
    pearson_two_pass,
    seeded_draws,
)

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
        whole = np.ones((self.n_clusters, 1))
        mean = self.resampled(whole, corpus=False)[0]
        corpus = self.resampled(whole, corpus=True)[0] if self.combine is not None else None
        return SystemScores(mean, corpus, np.bincount(self.systems, minlength=self.n_systems))

    def resampled(self, weights: Floats, *, corpus: bool) -> Floats:
        """float64[B, S] scores of systems under float64[C, B] weights of clusters; NaN for one without segments."""
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
        shape = (self.n_systems * k, self.n_clusters)
        of_clusters = coo_array((values.ravel(), (columns.ravel(), rows)), shape=shape).tocsr()
        return np.asarray((of_clusters @ weights).T.reshape(weights.shape[1], self.n_systems, k))


def system_statistic(statistic: Statistic, metric: Floats, human: Floats) -> float:
    """The statistic of float64[S] scores of systems; those with NaN are left out.

    NaN with fewer than three systems (two for the accuracy), or where one side of a correlation is constant.
    """
    if statistic == "pairwise_accuracy":
        return pairwise_accuracy(metric, human)
    found = weighted_statistics([statistic], metric[None], human[None], np.ones((1, len(metric))))
    return float(found[statistic][0])


def system_samples(
    statistics: Sequence[Statistic],
    metric: Callable[[Floats], Floats],
    human: Callable[[Floats], Floats],
    n_systems: int,
    n_clusters: int,
    *,
    resamples: int,
    seed: int,
) -> dict[Statistic, Floats]:
    """float64[B] each statistic over resampled systems and clusters of segments.

    metric, human: float64[C, B] weights of clusters -> float64[B, S] scores of systems. NaN in resamples with fewer
    than three different systems; none (B = 0) with fewer than three systems or clusters. The same seed draws the same
    for every metric of the same systems and clusters: differences of two metrics' samples are paired.
    """
    if n_systems < FEWEST_SYSTEMS or n_clusters < FEWEST_CLUSTERS or not resamples:
        return {statistic: np.empty(0) for statistic in statistics}
    of_systems = np.random.default_rng([seed, 1])
    values: dict[Statistic, list[Floats]] = {statistic: [] for statistic in statistics}
    for weights in seeded_draws(n_clusters, resamples, seed, n_systems**2):
        times = draws(of_systems, n_systems, weights.shape[1])
        for statistic, found in weighted_statistics(statistics, metric(weights), human(weights), times).items():
            values[statistic].append(found)
    return {statistic: np.concatenate(found) for statistic, found in values.items()}


def system_interval(samples: Floats, n_systems: int, n_clusters: int) -> tuple[float, float]:
    """The 95 % interval of float64[B] samples over systems and clusters; NaN without any.

    The expanded percentile interval for the systems or the clusters, whichever are fewer. Resamples with fewer than
    three different systems do not count.
    """
    if not len(samples):
        return math.nan, math.nan
    return _ends(samples, interval_levels(CONFIDENCE, min(n_systems, n_clusters)))


def _ends(samples: Floats, levels: tuple[float, float]) -> tuple[float, float]:
    low, high = bounds(samples, levels)
    return float(low), float(high)


def weighted_statistics(
    statistics: Sequence[Statistic], metric: Floats, human: Floats, times: Floats
) -> dict[Statistic, Floats]:
    """float64[B] each statistic of each row of float64[B, S] scores, of which each system was drawn `times`.

    Copies of one system tie on both sides for the correlations, and are no pair for the accuracy. Systems with NaN are
    left out; NaN with fewer than three different systems, or a constant side.
    """
    some = ranges(len(times), fitting(AT_ONCE, times.shape[1] ** 2))
    parts = [_statistics_of(statistics, metric[part], human[part], times[part]) for part in some]
    return {statistic: np.concatenate([part[statistic] for part in parts]) for statistic in statistics}


def _statistics_of(
    statistics: Sequence[Statistic], metric: Floats, human: Floats, times: Floats
) -> dict[Statistic, Floats]:
    times = np.where(np.isfinite(metric) & np.isfinite(human), times, 0.0).T.copy()
    metric, human = np.where(times > 0, metric.T, 0.0), np.where(times > 0, human.T, 0.0)
    first, second = np.triu_indices(len(times), 1)
    one, other = (np.sign(scores[first] - scores[second]) for scores in (metric, human))
    pairs = times[first] * times[second]
    found: dict[Statistic, Floats] = {}
    with np.errstate(invalid="ignore", divide="ignore"):
        for statistic in statistics:
            if statistic == "pearson":
                found[statistic] = pearson_two_pass(metric, human, times)
            elif statistic == "spearman":
                # the mean rank of the drawn list is the same for all: a rank less it is half the net number below
                ranks = [_net_below(signs, times, first, second) for signs in (one, other)]
                found[statistic] = pearson_two_pass(ranks[0], ranks[1], times)
            elif statistic == "kendall":
                untied = [(pairs * np.abs(signs)).sum(axis=0) for signs in (one, other)]
                found[statistic] = (pairs * one * other).sum(axis=0) / np.sqrt(untied[0] * untied[1])
            else:
                found[statistic] = (pairs * (one == other)).sum(axis=0) / pairs.sum(axis=0)
    enough = np.count_nonzero(times, axis=0) >= FEWEST_SYSTEMS
    return {statistic: np.where(enough, values, np.nan) for statistic, values in found.items()}


def _net_below(signs: Floats, times: Floats, first: Ints, second: Ints) -> Floats:
    """float64[S, B] drawn systems below each less those above; signs: float64[P, B] of the pairs first - second."""
    of_pairs = np.arange(len(times))[:, None]
    net: Floats = (of_pairs == first).astype(np.float64) @ (signs * times[second])
    net -= (of_pairs == second).astype(np.float64) @ (signs * times[first])
    return net


def spa_interval(found: SoftAgreement, *, resamples: int, seed: int) -> tuple[float, float]:
    """The 95 % interval of soft pairwise accuracy over resampled systems, each pair's p-values as they are."""
    n_systems = len(found.apart)
    if n_systems < FEWEST_SYSTEMS or not resamples or not found.n_pairs:
        return math.nan, math.nan
    apart, known = np.nan_to_num(found.apart), np.isfinite(found.apart).astype(np.float64)
    values, rng = [], np.random.default_rng(seed)
    for size in blocks(resamples, n_systems):
        times = draws(rng, n_systems, size)
        with np.errstate(invalid="ignore", divide="ignore"):
            sums = [np.einsum("bs,bs->b", times @ matrix, times) for matrix in (apart, known)]
            share = 1 - sums[0] / sums[1]
        values.append(np.where((times > 0).sum(axis=1) >= FEWEST_SYSTEMS, share, np.nan))
    return _ends(np.concatenate(values), interval_levels(CONFIDENCE, n_systems))


LEFT_OUT = 0.025  # of the resamples, at each end


@dataclass(frozen=True, eq=False)
class RankRanges:
    """The ranks of S systems, 1 is the best; 0 for a system without a score, or without resamples.

    rank: int64[S] 1 and the number of systems with a higher score: equal scores share the best of their ranks.
    low, high: int64[S] the ends of the rank range. cluster: int64[S] from 1, the best.
    """

    rank: Ints
    low: Ints
    high: Ints
    cluster: Ints


def rank_ranges(scores: Floats, samples: Floats) -> RankRanges:
    """Ranks of float64[S] scores of systems, higher is better, with their ranges from float64[B, S] resampled ones.

    A system without a score (NaN) is left out; so are resamples in which another system has none. Systems that are
    equal in a resample have all the ranks that they share, so that turning all signs turns the ranges round. Without a
    resample there are ranks only. Raises ValueError for other shapes.
    """
    if scores.ndim != 1 or samples.shape[1:] != scores.shape:
        raise ValueError(f"scores of shape {scores.shape} and resamples of shape {samples.shape}")
    known = np.flatnonzero(np.isfinite(scores))
    found = RankRanges(*(np.zeros(len(scores), dtype=np.int64) for _ in range(4)))
    own = scores[known]
    found.rank[known] = 1 + (own[:, None] < own).sum(axis=1)
    drawn = samples[:, known][np.isfinite(samples[:, known]).all(axis=1)]
    if not len(drawn) or not len(known):
        return found
    ordered = np.sort(drawn, axis=1)
    best, worst = np.empty(drawn.shape, dtype=np.int64), np.empty(drawn.shape, dtype=np.int64)
    for row, (values, in_order) in enumerate(zip(drawn, ordered, strict=True)):
        best[row] = 1 + len(known) - np.searchsorted(in_order, values, side="right")
        worst[row] = len(known) - np.searchsorted(in_order, values, side="left")
    left_out = int(LEFT_OUT * len(drawn))
    found.low[known] = np.sort(best, axis=0)[left_out]
    found.high[known] = np.sort(worst, axis=0)[len(drawn) - 1 - left_out]
    found.cluster[known] = _clusters(found.low[known], found.high[known])
    return found


def _clusters(low: Ints, high: Ints) -> Ints:
    """The number of each system's cluster: a new one begins where no range so far reaches the next best rank."""
    order = np.lexsort((high, low))
    reached = np.maximum.accumulate(high[order])
    begins = np.append(True, low[order][1:] > reached[:-1])
    found = np.empty(len(low), dtype=np.int64)
    found[order] = np.cumsum(begins)
    return found
