"""Which ranks systems may have, and which stand apart from each other: rank ranges and clusters as WMT printed them.

Segments are drawn with replacement, systems are ranked by the scores of each resample, and the 2.5 % of resamples with
the lowest and the highest ranks of a system are left out: the range of the others, as 1-6, is its rank range (Koehn
2012, Simulating human judgment in machine translation evaluation campaigns, IWSLT). Systems are grouped in clusters
that do not overlap: the worst rank of each system in a cluster is above the best rank of each system of the next one
(Bojar et al. 2013, Findings of WMT). Later campaigns, as WMT24, print ranges that count significant pairwise wins and
losses instead. The ranks of metrics in ranking.parquet come from pairwise tests as well, and are another thing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bmx_grid.measures.resampling import Floats, Ints

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
