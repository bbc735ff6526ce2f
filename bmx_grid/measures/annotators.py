"""How far annotators agree with each other: Krippendorff's alpha, and kappa against uniform chance, with intervals.

Both are 1 - observed / expected disagreement, and differ in their definitions of disagreement and of chance. They
are computed from weighted counts, so that a bootstrap of a thousand resamples is a few products of matrices. Sources:
Krippendorff 2011, Computing Krippendorff's Alpha-Reliability (the package krippendorff has the same numbers; its
licence is GPL); Bennett, Alpert and Goldstein 1954, Public Opinion Quarterly 18(3), for uniform chance. The
reliability of mean human scores bounds the correlation that a metric could reach.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from bmx_grid.core.errors import check_known
from bmx_grid.core.ragged import Floats
from bmx_grid.measures.correlation import below_one, size_exponent
from bmx_grid.measures.resampling import interval, ratio, seeded_draws

Scale = Literal["ordinal", "interval"]


@dataclass(frozen=True)
class Agreement:
    """Chance-corrected agreement of annotators: 1 - observed / expected disagreement.

    Attributes:
        value: 1 for full agreement, 0 for agreement by chance. NaN without an item with two ratings and if all ratings
            are equal.
        low: Lower end of the 95 % interval over items; NaN without resamples or with fewer than 3 items.
        high: Upper end of the interval.
        observed: Observed disagreement. Kappa: share of differing pairs of ratings. Interval alpha: mean squared
            difference, relative to the squared range of all ratings.
        n_items: Number of items with at least two ratings.
        n_annotators: Number of annotators of these items.
    """

    value: float
    low: float
    high: float
    observed: float
    n_items: int
    n_annotators: int


def krippendorff_alpha(ratings: ArrayLike, level: Scale, *, resamples: int = 1000, seed: int = 0) -> Agreement:
    """Compute Krippendorff's alpha, the chance-corrected agreement of annotators.

    Chance draws from the ratings of all annotators together (Krippendorff 2011).

    Args:
        ratings: float64[N, R], N items by R annotators; NaN if an annotator did not rate the item.
        level: `"ordinal"` (distance by ranks) or `"interval"` (squared difference).
        resamples: Number of bootstrap resamples of items. 0 skips the interval.
        seed: Seed of the resampling.

    Returns:
        Agreement: `value` (1: full agreement, 0: chance) with its 95 % interval over items.

    Raises:
        ConfigError: `level` is unknown.
        ValueError: `ratings` is not two-dimensional.

    Example:
        >>> from bmx_grid.measures import krippendorff_alpha
        >>> agreement = krippendorff_alpha([[1, 1], [2, 2], [3, 3], [4, 3]], "interval")
        >>> round(agreement.value, 3), agreement.n_items
        (0.889, 4)
    """
    check_known("level", level, get_args(Scale))

    def disagreements(values: Floats, counts: Any, m: Floats, weights: Floats) -> tuple[Floats, Floats]:
        # of range 1 around 0: squares of raw ratings would lose digits
        reach = max(float(np.ptp(values)), np.finfo(np.float64).tiny)
        numbers = (values - values.mean()) / reach
        if level == "ordinal":
            of_values = counts.T @ weights
            # the middle of each value's places, less a constant
            numbers = np.cumsum(of_values, axis=0) - of_values / 2
            numbers -= of_values.sum(axis=0) / 2
        # The sum of (a - b)^2 over all pairs of m numbers is 2 (m sum(a^2) - sum(a)^2): no pair is formed.
        first = counts @ numbers
        second = counts @ numbers**2
        # The sum of squared differences of all ordered pairs of an item's m ratings, over m - 1.
        within = 2 * (m * second - first**2) / (m - 1)
        n = (weights * m).sum(axis=0)
        total = (weights * first).sum(axis=0)
        squares = (weights * second).sum(axis=0)
        observed = (weights * within).sum(axis=0) / n
        # the same of all n ratings as if they were of one item
        expected = 2 * (n * squares - total**2) / (n * (n - 1))
        return observed, expected

    return _agreement(ratings, disagreements, resamples, seed)


def uniform_kappa(ratings: ArrayLike, categories: int, *, resamples: int = 1000, seed: int = 0) -> Agreement:
    """Compute kappa of annotators, with all categories equally probable by chance.

    Chance disagreement is 1 - 1 / categories (Bennett, Alpert and Goldstein 1954). Each item has the same weight,
    whatever its number of ratings.

    Args:
        ratings: float64[N, R], category codes of N items by R annotators; NaN if an annotator did not rate the item.
        categories: Number of categories that annotators could choose from.
        resamples: Number of bootstrap resamples of items. 0 skips the interval.
        seed: Seed of the resampling.

    Returns:
        Agreement: `value` (1: full agreement, 0: chance) with its 95 % interval over items.

    Raises:
        ValueError: `ratings` is not two-dimensional.

    Example:
        >>> from bmx_grid.measures import uniform_kappa
        >>> round(uniform_kappa([[1, 1], [2, 2], [1, 2]], categories=2).value, 3)
        0.333
    """

    def disagreements(values: Floats, counts: Any, m: Floats, weights: Floats) -> tuple[Floats, Floats]:
        # Of the m (m - 1) ordered pairs of an item's ratings, those that differ.
        alike = counts.power(2).sum(axis=1)[:, None]
        differing = (m**2 - alike) / (m * (m - 1))
        total = (weights * differing).sum(axis=0)
        observed = total / weights.sum(axis=0)
        expected = np.full_like(observed, 1 - 1 / categories)
        return observed, expected

    return _agreement(ratings, disagreements, resamples, seed)


def standardize_ratings(ratings: ArrayLike, *, ddof: int = 0) -> Floats:
    """float64[N, R] ratings less the mean of their annotator, divided by the annotator's standard deviation.

    ratings: a column for each annotator, NaN if missing. All ratings of a column count: a rater of several sets
    needs all sets. ddof: 0, the deviation of the ratings, as in MLQE-PE's z-scores; 1 as in R's `sd`.
    An annotator whose ratings are all equal, or too few, has NaN, as the scale is undefined.
    """
    import pandas as pd

    # below 1, as squares of tiny ratings are 0
    frame = pd.DataFrame(below_one(np.asarray(ratings, dtype=np.float64)))
    deviation = frame.std(ddof=ddof).where(frame.nunique() > 1)
    return np.asarray((frame - frame.mean()) / deviation)


def _agreement(
    ratings: ArrayLike, disagreements: Callable[..., tuple[Floats, Floats]], resamples: int, seed: int
) -> Agreement:
    """1 - observed / expected.

    disagreements: float64[V] values that occur, float64[N, V] how often each of the N items with two ratings or more
    got each value (sparse), float64[N, 1] ratings of each item, float64[N, B] how often each item counts -> observed
    and expected, float64[B].
    """
    from scipy.sparse import coo_array

    kept = np.asarray(ratings, dtype=np.float64)
    if kept.ndim != 2:
        raise ValueError(f"ratings of shape {kept.shape}; expected items x annotators")
    # an item with a single rating has no pair that could agree
    ratings_of_item = np.isfinite(kept).sum(axis=1)
    kept = kept[ratings_of_item > 1]
    n = len(kept)
    rated = np.isfinite(kept)
    if not n:
        return Agreement(math.nan, math.nan, math.nan, math.nan, n_items=0, n_annotators=0)
    rows, columns = np.nonzero(rated)
    values, value_of_rating = np.unique(kept[rows, columns], return_inverse=True)
    # ratings of one item that are equal add up in its cell
    ones = np.ones(len(rows))
    cells = (rows, value_of_rating.ravel())
    counts = coo_array((ones, cells), shape=(n, len(values))).tocsr()
    m = rated.sum(axis=1).astype(np.float64)[:, None]

    def agreement(times: Floats) -> tuple[Floats, Floats]:
        observed, expected = disagreements(values[:, None], counts, m, times)
        value = 1 - ratio(observed, expected)
        return np.where(expected > 1e-12, value, np.nan), observed

    once = np.ones((n, 1))
    value, observed = (numbers.item() for numbers in agreement(once))
    samples = np.empty(0)
    if resamples and math.isfinite(value):
        drawn = seeded_draws(n, resamples, seed, len(values))
        samples = np.concatenate([agreement(times)[0] for times in drawn])
    low, high = interval(samples, n)
    n_annotators = int(rated.any(axis=0).sum())
    return Agreement(value, low, high, observed, n_items=n, n_annotators=n_annotators)


def reliability(raters: ArrayLike) -> dict[str, float]:
    """Compute the reliability of mean human scores, and the ceiling of any metric.

    One-way random effects, because a column need not be one person (Shrout and Fleiss 1979; McGraw and Wong 1996). With
    unequal numbers of ratings k_i, the variance between segments is (MSB - MSW) / n0 with
    n0 = (sum k - sum k^2 / sum k) / (N - 1), and the error of a mean is MSW / k with the harmonic mean k.

    Args:
        raters: float64[N, R], N segments by R ratings; NaN if a segment has fewer ratings.

    Returns:
        dict[str, float]: `icc_k`: reliability ICC(1,k) of the mean of k ratings. `icc_1`: reliability of one rating.
            `ceiling`: sqrt(icc_k), the highest correlation that a metric can be expected to reach (Spearman 1904); 0
            if icc_k is negative. `k`: ratings per segment. All but k are NaN with fewer than 2 segments, without a
            segment rated twice, and if all ratings are equal.

    Raises:
        ValueError: `raters` is not two-dimensional.

    Example:
        >>> from bmx_grid.measures import reliability
        >>> {name: round(value, 3) for name, value in reliability([[1, 2], [3, 4], [5, 6]]).items()}
        {'icc_k': 0.938, 'icc_1': 0.882, 'ceiling': 0.968, 'k': 2.0}
    """
    ratings = np.asarray(raters, dtype=np.float64)
    if ratings.ndim != 2:
        raise ValueError(f"ratings of shape {ratings.shape}; expected segments x raters")
    ratings = ratings[np.isfinite(ratings).any(axis=1)]
    # all raters by one factor
    ratings = np.ldexp(ratings, -size_exponent(ratings.ravel()))
    rated = np.isfinite(ratings)
    counts = rated.sum(axis=1)
    n = len(counts)
    total = int(counts.sum())
    k = math.nan
    if n > 0:
        k = float(n / (1 / counts).sum())
    undefined = {"icc_k": math.nan, "icc_1": math.nan, "ceiling": math.nan, "k": k}
    if n < 2 or total == n:
        return undefined
    sums = np.where(rated, ratings, 0.0).sum(axis=1)
    means = sums / counts
    grand = (counts * means).sum() / total
    # the mean squares of a one-way analysis of variance, MSW and MSB
    left = np.where(rated, ratings - means[:, None], 0.0)
    within = float((left**2).sum() / (total - n))
    left_of_means = counts * (means - grand) ** 2
    between = float(left_of_means.sum() / (n - 1))
    # How many ratings a segment has, for the variance between them; the plain mean if all have as many.
    others = total - (counts**2).sum() / total
    n0 = float(others / (n - 1))
    true = (between - within) / n0
    of_means = true + within / k
    if not (of_means > 0 and within + between > 0):
        return undefined
    icc_k = true / of_means
    icc_1 = true / (true + within)
    ceiling = math.sqrt(max(icc_k, 0.0))
    return {"icc_k": icc_k, "icc_1": icc_1, "ceiling": ceiling, "k": k}
