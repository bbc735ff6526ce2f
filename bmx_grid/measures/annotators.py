"""How far annotators agree with each other: Cohen's and Fleiss' kappa and Krippendorff's alpha, with intervals.

All of them are 1 - observed / expected disagreement, and differ in what disagreement is and what chance is taken to be.
They are computed from weighted counts, so that a bootstrap of a thousand resamples is a few products of matrices, and
equal scikit-learn (Cohen), statsmodels (Fleiss) and the package krippendorff (alpha; its licence is GPL) to rounding,
resamples included. Sources: Cohen 1960, Educational and Psychological Measurement 20(1), and 1968, Psychological
Bulletin 70(4); Fleiss 1971, Psychological Bulletin 76(5); Krippendorff 2011, Computing Krippendorff's
Alpha-Reliability; Bennett, Alpert and Goldstein 1954, Public Opinion Quarterly 18(3), for uniform chance. The
reliability of mean human scores says what correlation a metric could reach at most.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bmx_grid.core.errors import ConfigError, unknown
from bmx_grid.measures.resampling import FEWEST_CLUSTERS, Floats, Ints, codes, interval, number_of, seeded_draws

Level = Literal["nominal", "ordinal", "interval"]
Weights = Literal["none", "linear", "quadratic"]
Chance = Literal["pooled", "uniform"]
Disagreements = Callable[[Floats], tuple[Floats, Floats]]


@dataclass(frozen=True)
class Agreement:
    """value = 1 - observed / expected: 1 for full agreement, 0 for that of chance, below 0 for less.

    low, high: its 95 % interval over clusters of items, NaN without resamples or with fewer than three clusters.
    observed, expected: disagreement of the ratings, and that of chance. Of kappa without weights it is the share of
        pairs of ratings that differ, 1 - p(A) and 1 - p(E); of interval alpha the mean squared difference, as a share
        of the squared range of all ratings.
    n_items: items that count, those with two ratings or more; n_ratings: their ratings; n_annotators: who gave them.
    NaN where nothing can differ by chance: no such item, or all ratings equal.
    """

    value: float
    low: float
    high: float
    observed: float
    expected: float
    n_items: int
    n_ratings: int
    n_annotators: int


def krippendorff_alpha(
    ratings: ArrayLike, level: Level, *, cluster: ArrayLike | None = None, resamples: int = 1000, seed: int = 0
) -> Agreement:
    """Krippendorff's alpha of float64[N, R] ratings of N items by R annotators, NaN where one did not rate an item.

    level: "nominal": ratings are equal or differ; "ordinal": they differ by the ranks between them; "interval": by
        their squared difference. Chance draws from the ratings of all annotators together.
    cluster: N labels of items that are drawn together; every item alone unless given.
    Raises ConfigError for an unknown level, ValueError for other shapes.
    """
    if level not in get_args(Level):
        raise ConfigError(unknown("level", str(level), get_args(Level)))
    given, cluster = _rated(ratings, cluster)
    values, counts, m = _counted(given)

    def from_moments(weights: Floats, first: Floats, second: Floats) -> tuple[Floats, Floats]:
        """first, second: float64[N, 1 or B] sums of the values of each item, and of their squares."""
        within = 2 * (m * second - first**2) / (m - 1)
        n, total, squares = ((weights * one).sum(axis=0) for one in (m, first, second))
        return (weights * within).sum(axis=0) / n, 2 * (n * squares - total**2) / (n * (n - 1))

    def nominal(weights: Floats) -> tuple[Floats, Floats]:
        within = (m - counts.power(2).sum(axis=1)[:, None] / m) * m / (m - 1)
        n, of_values = (weights * m).sum(axis=0), counts.T @ weights
        return (weights * within).sum(axis=0) / n, (n**2 - (of_values**2).sum(axis=0)) / (n * (n - 1))

    def ordinal(weights: Floats) -> tuple[Floats, Floats]:
        of_values = counts.T @ weights
        ranks = np.cumsum(of_values, axis=0) - of_values / 2  # the middle of each value's places, less a constant
        ranks -= of_values.sum(axis=0) / 2
        return from_moments(weights, counts @ ranks, counts @ ranks**2)

    def interval(weights: Floats) -> tuple[Floats, Floats]:
        return from_moments(weights, counts @ centred, counts @ centred**2)

    span = float(np.ptp(values)) if len(values) > 1 else 1.0
    centred = ((values - values.mean()) / span)[:, None] if len(values) else np.empty((0, 1))
    found: dict[Level, Disagreements] = {"nominal": nominal, "ordinal": ordinal, "interval": interval}
    return _agreement(found[level], given, cluster, resamples, seed, len(values))


def fleiss_kappa(
    ratings: ArrayLike,
    *,
    chance: Chance = "pooled",
    categories: int | None = None,
    cluster: ArrayLike | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> Agreement:
    """Fleiss' kappa of float64[N, R] ratings, as in `krippendorff_alpha`, whose values are names of categories.

    chance: "pooled": a category is as probable as it is among all ratings (Fleiss; of two annotators Scott's pi);
        "uniform": all categories are equally probable, so that p(E) is one over their number.
    categories: their number for uniform chance; those that occur, unless given.
    Every item counts the same, however many annotators rated it. Raises ConfigError for an unknown chance, ValueError
    for other shapes.
    """
    if chance not in get_args(Chance):
        raise ConfigError(unknown("chance", str(chance), get_args(Chance)))
    given, cluster = _rated(ratings, cluster)
    values, counts, m = _counted(given)
    differing = (m**2 - counts.power(2).sum(axis=1)[:, None]) / (m * (m - 1))
    number = len(values) if categories is None else categories

    def disagreements(weights: Floats) -> tuple[Floats, Floats]:
        observed = (weights * differing).sum(axis=0) / weights.sum(axis=0)
        if chance == "uniform":
            return observed, np.full_like(observed, 1 - 1 / max(number, 1))
        shares = (counts.T @ weights) / (weights * m).sum(axis=0)
        return observed, 1 - (shares**2).sum(axis=0)

    return _agreement(disagreements, given, cluster, resamples, seed, len(values))


def cohen_kappa(
    one: ArrayLike,
    other: ArrayLike,
    *,
    weights: Weights = "none",
    categories: ArrayLike | None = None,
    cluster: ArrayLike | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> Agreement:
    """Cohen's kappa of two annotators, float64[N] each, NaN where one did not rate an item; such items do not count.

    Chance draws from each annotator's own ratings. weights: "none": ratings are equal or differ; "linear",
        "quadratic": by the number of categories between them, or its square, as in scikit-learn: categories count from
        the lowest to the highest, whatever numbers they are named by.
    categories: all of them, where some do not occur; those that occur in either unless given.
    Raises ConfigError for unknown weights, ValueError for other shapes or a rating that is none of the categories.
    """
    if weights not in get_args(Weights):
        raise ConfigError(unknown("weights", str(weights), get_args(Weights)))
    both = np.stack([np.asarray(one, np.float64), np.asarray(other, np.float64)], axis=1)
    given, cluster = _rated(both, cluster)
    known = np.unique(given if categories is None else np.asarray(categories, np.float64))
    if len(given) and not np.isin(given, known).all():
        raise ValueError("a rating is none of the categories")
    place = np.searchsorted(known, given)
    numbers = np.arange(len(known), dtype=np.float64)
    apart = np.abs(numbers[:, None] - numbers)
    distance = {"none": np.sign(apart), "linear": apart, "quadratic": apart**2}[weights]
    counts = [_counts(np.arange(len(given)), column, (len(given), len(known))) for column in place.T]
    of_items = distance[place[:, 0], place[:, 1]]

    def disagreements(times: Floats) -> tuple[Floats, Floats]:
        n = times.sum(axis=0)
        first, second = ((of_one.T @ times) / n for of_one in counts)
        return of_items @ times / n, (first * (distance @ second)).sum(axis=0)

    return _agreement(disagreements, given, cluster, resamples, seed, len(known))


def standardised(ratings: ArrayLike, *, ddof: int = 0) -> Floats:
    """float64[N, R] ratings less the mean of their annotator, divided by the annotator's standard deviation.

    ratings: a column for each annotator, NaN where there is none. All ratings of a column count: a rater of several
    sets needs all of them. ddof: 0, the deviation of what was rated, as MLQE-PE's z-scores have it; 1 as R's `sd`.
    An annotator whose ratings are all equal, or too few, has NaN: there is no scale.
    """
    found = np.asarray(ratings, dtype=np.float64)
    if found.ndim != 2:
        raise ValueError(f"ratings of shape {found.shape}; expected items x annotators")
    given = np.isfinite(found)
    n = given.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(given, found, 0.0).sum(axis=0) / n
        centred = np.where(given, found - mean, 0.0)
        deviation = np.sqrt((centred**2).sum(axis=0) / np.where(n > ddof, n - ddof, np.nan))
        lowest, highest = (np.where(given, found, end) for end in (np.inf, -np.inf))
        varied = lowest.min(axis=0, initial=np.inf) < highest.max(axis=0, initial=-np.inf)
        return np.asarray(np.where(given & varied, centred / deviation, np.nan))


def _rated(ratings: ArrayLike, cluster: ArrayLike | None) -> tuple[Floats, Ints]:
    """The items with two ratings or more, and the numbers of their clusters."""
    given = np.asarray(ratings, dtype=np.float64)
    if given.ndim != 2:
        raise ValueError(f"ratings of shape {given.shape}; expected items x annotators")
    labels = np.arange(len(given)) if cluster is None else np.asarray(cluster)
    if len(labels) != len(given):
        raise ValueError(f"{len(labels)} cluster labels for {len(given)} items")
    kept = np.isfinite(given).sum(axis=1) > 1
    return np.where(np.isfinite(given[kept]), given[kept], np.nan), codes(labels[kept])


def _counted(given: Floats) -> tuple[Floats, Any, Floats]:
    """The values that occur, how often each item got each of them, and float64[N, 1] ratings of each item."""
    rows, columns = np.nonzero(np.isfinite(given))
    values, of_value = np.unique(given[rows, columns], return_inverse=True)
    m = np.isfinite(given).sum(axis=1).astype(np.float64)[:, None]
    return values, _counts(rows, of_value, (len(given), len(values))), m


def _counts(rows: NDArray[Any], columns: NDArray[Any], shape: tuple[int, int]) -> Any:
    """A sparse float64 matrix of how often each item got each value."""
    from scipy.sparse import coo_array

    return coo_array((np.ones(len(rows)), (rows, columns.ravel())), shape=shape).tocsr()


def _agreement(
    disagreements: Disagreements, given: Floats, cluster: Ints, resamples: int, seed: int, width: int
) -> Agreement:
    """disagreements: float64[N, B] how often each item counts -> observed and expected, float64[B]."""
    rated = np.isfinite(given)
    counts = (len(given), int(rated.sum()), int(rated.any(axis=0).sum()))
    if not len(given):
        return Agreement(*(math.nan,) * 5, *counts)
    observed, expected = (one.item() for one in disagreements(np.ones((len(given), 1))))
    value = float(_value(np.array(observed), np.array(expected)))
    units = number_of(cluster)
    samples = np.empty(0)
    if resamples and units >= FEWEST_CLUSTERS and math.isfinite(value):
        drawn = seeded_draws(units, resamples, seed, max(len(given), width))
        samples = np.concatenate([_value(*disagreements(times[cluster])) for times in drawn])
    return Agreement(value, *interval(samples, units), observed, expected, *counts)


def _value(observed: Floats, expected: Floats) -> Floats:
    """1 - observed / expected; NaN where nothing can differ."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(expected > 1e-12, 1 - observed / expected, np.nan))


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
