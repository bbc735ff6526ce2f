"""Reliability of mean human scores: what correlation a metric could reach at most."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Reliability:
    """One-way reliability of the mean of a segment's ratings, ICC(1,k) (Shrout & Fleiss 1979; McGraw & Wong 1996).

    icc_k: of the mean of k ratings; icc_1: of a single one. NaN where undefined; an estimate may lie below 0.
    ceiling: the square root of icc_k, the correlation that the true scores themselves would have with the means
        (attenuation, Spearman 1904), so that no metric can be expected to exceed it; 0 for an icc_k below 0.
    k: ratings per segment, the harmonic mean. n_segments: those with a rating; n_repeated: those with two or more.
    """

    icc_k: float
    icc_1: float
    ceiling: float
    k: float
    n_segments: int
    n_repeated: int


def reliability(raters: ArrayLike) -> Reliability:
    """Reliability of the row means of float64[N, R] ratings, NaN where a segment has fewer than R.

    One-way random effects, since a column need not be one person. With different numbers of ratings k_i: the variance
    between segments is (MSB - MSW) / n0, n0 = (sum k - sum k^2 / sum k) / (N - 1), and the error of a mean is
    MSW / k with the harmonic mean of k_i; with equal numbers this is (MSB - MSW) / MSB.
    NaN with fewer than two segments, no segment rated twice, or all ratings equal.
    """
    ratings = np.asarray(raters, dtype=np.float64)
    if ratings.ndim != 2:
        raise ValueError(f"ratings of shape {ratings.shape}; expected segments x raters")
    given = np.isfinite(ratings)
    counts = given.sum(axis=1)
    ratings, given, counts = ratings[counts > 0], given[counts > 0], counts[counts > 0]
    n, repeated, total = len(counts), int((counts > 1).sum()), int(counts.sum())
    k = float(n / (1 / counts).sum()) if n > 0 else math.nan
    undefined = Reliability(math.nan, math.nan, math.nan, k, n, repeated)
    if n < 2 or not repeated:
        return undefined
    means = np.where(given, ratings, 0.0).sum(axis=1) / counts
    grand = (counts * means).sum() / total
    within = float((np.where(given, ratings - means[:, None], 0.0) ** 2).sum() / (total - n))
    between = float((counts * (means - grand) ** 2).sum() / (n - 1))
    n0 = float((total - (counts**2).sum() / total) / (n - 1))
    true = (between - within) / n0
    if not (true + within / k > 0 and within + between > 0):
        return undefined
    icc_k = true / (true + within / k)
    return Reliability(icc_k, true / (true + within), math.sqrt(max(icc_k, 0.0)), k, n, repeated)
