"""Scores of whole systems from the statistics of their segments: intervals, and paired tests of two systems.

A system's score is `combine` of the sums of its segments' statistics: BLEU of a corpus, or with the statistics
(score, 1) the mean of segment scores. A resample of segments is a matrix product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bmx_grid.measures.resampling import (
    FEWEST_CLUSTERS,
    blocks,
    bounds,
    codes,
    draws,
    interval_levels,
    number_of,
    swaps,
)
from bmx_grid.measures.significance import permutation_p

Floats = NDArray[np.float64]
Combine = Callable[[Floats], Floats]


@dataclass(frozen=True)
class SystemScore:
    """The score of a system with its interval, mostly of 95 %; NaN ends with too few clusters of segments."""

    score: float
    low: float
    high: float


@dataclass(frozen=True)
class PairedScores:
    """The difference of two systems' scores, its 95 % interval, and p, two-sided, of the paired permutation test."""

    difference: float
    low: float
    high: float
    p: float


def by_mean(scores: ArrayLike) -> Floats:
    """float64[N, 2] statistics whose `mean` is that of the scores."""
    found = np.asarray(scores, dtype=np.float64)
    return np.stack([found, np.ones(len(found))], axis=1)


def mean(sums: Floats) -> Floats:
    """float64[...] means from float64[..., 2] sums of `by_mean`."""
    return np.asarray(sums[..., 0] / sums[..., 1])


def student_interval(scores: ArrayLike, confidence: float = 0.95) -> SystemScore:
    """The mean of float64[N] scores of independent sentences, with the interval of Student's t; of shares as well.

    The interval of a textbook, which needs no draws: `system_score` asks less of the scores and knows clusters. NaN are
    left out; NaN ends with fewer than two scores. Raises ValueError unless 0 < confidence < 1.
    """
    from scipy.special import stdtrit

    if not 0 < confidence < 1:
        raise ValueError(f"the confidence is a share between 0 and 1, not {confidence}")
    given = np.asarray(scores, dtype=np.float64)
    given = given[np.isfinite(given)]
    n, found = len(given), float(given.mean()) if len(given) else np.nan
    if n < 2:
        return SystemScore(found, np.nan, np.nan)
    reach = float(stdtrit(n - 1, (1 + confidence) / 2)) * float(given.std(ddof=1)) / float(np.sqrt(n))
    return SystemScore(found, found - reach, found + reach)


def system_score(
    statistics: Floats, combine: Combine, cluster: ArrayLike, resamples: int = 1000, seed: int = 0
) -> SystemScore:
    """The score of a system of N segments, float64[N, k], and its interval by a bootstrap of clusters.

    cluster: N labels of segments that are drawn together. Raises ValueError for another number of labels.
    """
    of = _codes(cluster, len(statistics))
    score = float(combine(statistics.sum(axis=0)))
    if (count := number_of(of)) < FEWEST_CLUSTERS:
        return SystemScore(score, np.nan, np.nan)
    sums = _sums(statistics, of, count)
    rng = np.random.default_rng(seed)
    drawn = np.concatenate([combine(draws(rng, count, size) @ sums) for size in blocks(resamples, count)])
    low, high = bounds(drawn, interval_levels(0.95, count))
    return SystemScore(score, float(low), float(high))


def paired(
    x: Floats, y: Floats, combine: Combine, cluster: ArrayLike, resamples: int = 1000, seed: int = 0
) -> PairedScores:
    """Whether system x scores differently from y on the same N segments, from their statistics float64[N, k].

    Interval: clusters drawn with replacement, the same for both (paired bootstrap, Koehn 2004). p: the outputs of a
    cluster swapped between the systems (approximate randomisation, Riezler and Maxwell 2005), (k + 1) / (R + 1).
    Raises ValueError for statistics of different shapes.
    """
    if x.shape != y.shape:
        raise ValueError(f"statistics of shapes {x.shape} and {y.shape} are not of the same segments")
    of = _codes(cluster, len(x))
    difference = float(combine(x.sum(axis=0)) - combine(y.sum(axis=0)))
    if (count := number_of(of)) < FEWEST_CLUSTERS:
        return PairedScores(difference, np.nan, np.nan, np.nan)
    first, second = (_sums(one, of, count) for one in (x, y))
    drawing, swapping = (np.random.default_rng(part) for part in np.random.SeedSequence(seed).spawn(2))
    drawn, swapped = [], []
    for size in blocks(resamples, count):
        weights = draws(drawing, count, size)
        drawn.append(combine(weights @ first) - combine(weights @ second))
        moved = swaps(swapping, count, size) @ (second - first)
        swapped.append(combine(first.sum(axis=0) + moved) - combine(second.sum(axis=0) - moved))
    low, high = bounds(np.concatenate(drawn), interval_levels(0.95, count))
    p = permutation_p(np.concatenate(swapped), difference, "two-sided", exact=False)
    return PairedScores(difference, float(low), float(high), p)


def _codes(cluster: ArrayLike, count: int) -> NDArray[np.int64]:
    found = codes(cluster)
    if len(found) != count:
        raise ValueError(f"{len(found)} cluster labels for {count} segments")
    return found


def _sums(statistics: Floats, of: NDArray[np.int64], count: int) -> Floats:
    """float64[clusters, k] the sums of each cluster."""
    found = np.zeros((count, statistics.shape[1]))
    np.add.at(found, of, statistics)
    return found
