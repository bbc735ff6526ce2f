"""Units drawn with replacement or swapped, and intervals from resamples.

A resample is a row of weights: how often each pair counts. A bootstrap draw of clusters, and a swap of two metrics'
scores (the pairs of both metrics pooled, each with weight 0 or 1), are both such rows, so that one set of vectorised
correlations serves both. They are the correlations of the drawn list, copies included (Pearson's r, Spearman's rho of
average ranks, Kendall's tau-b, in which two copies of a pair tie on both sides), without writing the list out.
Draws come from the generator passed in, one resample after the other: the same seed gives the same draws for every
block size and number of threads.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.measures.correlation import TIE
from bmx_grid.measures.ordered import dense_ranks

# Two clusters have three different resamples, are one and the same cluster in half the resamples, and have two swaps.
FEWEST_CLUSTERS = 3
CONFIDENCE = 0.95
CELLS = 2**21  # resamples x pairs handled at a time: 16 MiB per array
CACHED_CELLS = 2**17  # resamples x pairs in one pass over sorted pairs: 1 MiB per array stays in a processor's cache
BOOTSTRAPPED = 12  # the fewest clusters for which a bootstrap keeps its level
MOST_UNITS = 5000  # clusters that are drawn one by one
BUNDLES = 2000  # of more clusters: a thousand draws are kept for the next interval


def codes(labels: ArrayLike) -> Ints:
    """int64[N] numbers from 0 on of N labels of any type, in the order of the labels, equal labels sharing one."""
    if isinstance(labels, np.ndarray) and labels.dtype == object:
        labels = labels.tolist()
    # of texts, as sorting an array of texts takes ten times as long
    if isinstance(labels, list):
        distinct = sorted(set(labels))
        numbers = {label: number for number, label in enumerate(distinct)}
        return np.fromiter(map(numbers.__getitem__, labels), dtype=np.int64, count=len(labels))
    return dense_ranks(np.asarray(labels)).ravel()


def labels_of_rows(labels: ArrayLike | None, rows: int) -> NDArray[Any]:
    """The labels of `rows` rows; without labels, a number of its own for each."""
    return np.arange(rows) if labels is None else np.asarray(labels)


def number_of(codes: Ints) -> int:
    """How many different labels `codes` has numbered; 0 of none."""
    return int(codes.max(initial=-1)) + 1


def bundle_clusters(codes: Ints) -> Ints:
    """int64[N] the bundle of each cluster, dealt in turn, if there are more than MOST_UNITS; else the same codes.

    codes: int64[N], whose order means nothing. A draw costs its clusters. A bundle is as good a cluster as any. With
    BUNDLES bundles the width of an interval is known to 2 %, better than from a thousand resamples.
    """
    return codes if number_of(codes) <= MOST_UNITS else codes % BUNDLES


def draws(rng: np.random.Generator, units: int, resamples: int) -> Floats:
    """float64[R, U] how often every unit is drawn when U units are drawn with replacement, R times."""
    picked = rng.integers(0, units, size=(resamples, units))
    # One count over all resamples, in which each has its own range of numbers, is quicker than one of each.
    picked += units * np.arange(resamples)[:, None]
    counts = np.bincount(picked.ravel(), minlength=resamples * units)
    return counts.reshape(resamples, units).astype(np.float64)


def swaps(rng: np.random.Generator, units: int, resamples: int) -> Floats:
    """float64[R, U] of 0 and 1 with equal probability: which units are swapped."""
    swapped = rng.integers(0, 2, size=(resamples, units))
    return swapped.astype(np.float64)


Combine = Callable[[Floats], Floats]
Draw = Callable[[np.random.Generator, int, int], Floats]  # `draws` or `swaps`


def seeded_draws(
    units: int, resamples: int, seed: int, width: int = 0, *, draw: Draw = draws, stream: tuple[int, ...] = ()
) -> Iterator[Floats]:
    """The draws of a seed in blocks float64[U, R]: a row for each unit, so that rows of pairs are taken from it.

    width: how many pairs a resample is expanded to, where these are more than the units. stream: draws of different
    streams do not depend on each other. Draws that fit one block are kept for the next call with the same numbers; not
    to be written to.
    """
    if resamples * max(units, width) <= CELLS:
        yield _kept_draws(units, resamples, seed, draw, stream)
        return
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=stream))
    for size in blocks(resamples, max(units, width)):
        yield np.ascontiguousarray(draw(rng, units, size).T)


@functools.lru_cache(maxsize=8)
def _kept_draws(units: int, resamples: int, seed: int, draw: Draw, stream: tuple[int, ...]) -> Floats:
    """float64[U, R] all draws of a seed, the same array for the same numbers."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=stream))
    times = np.ascontiguousarray(draw(rng, units, resamples).T)
    times.flags.writeable = False
    return times


def assign_folds(unit: Ints, folds: int, rng: np.random.Generator) -> Ints:
    """int64[N] the fold of each row: units are never divided, and dealt at random, the largest first.

    Folds have nearly equal numbers of rows; with fewer units than folds each unit is a fold.
    """
    count = number_of(unit)
    sizes = np.bincount(unit, minlength=count)
    shuffled = rng.permutation(count)
    # a stable order: units of one size stay at random among themselves
    largest_first = np.argsort(-sizes[shuffled], kind="stable")
    fold = np.empty(count, dtype=np.int64)
    fold[shuffled[largest_first]] = np.arange(count) % folds
    return fold[unit]


def fitting(cells: int, each: int) -> int:
    """How many things of `each` cells fit into so many cells; at least one."""
    return max(1, cells // max(each, 1))


def ranges(count: int, size: int) -> Iterator[slice]:
    """The ranges of `size` places, the last perhaps shorter, that together are 0 to `count`."""
    for first in range(0, count, size):
        yield slice(first, min(first + size, count))


def blocks(resamples: int, cells: int, most: int | None = None) -> Iterator[int]:
    """Numbers of resamples to handle at a time, summing to `resamples`, for `cells` array cells per resample.

    most: cells at a time, CELLS when left out.
    """
    if most is None:
        most = CELLS
    for part in ranges(resamples, fitting(most, cells)):
        yield part.stop - part.start


def ratio(above: NDArray[Any], below: NDArray[Any]) -> Floats:
    """Element by element above / below, without a warning if undefined: NaN for 0 / 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(above / below)


def sums_by(unit: Ints, columns: Floats, units: int = 0) -> Floats:
    """float64[U, K] sums of float64[N, K] over the rows of each unit, int64[N] codes.

    units: U, if the last units may have no row.
    """
    return np.stack([np.bincount(unit, column, units) for column in columns.T], axis=1)


def resampled_sums(compute: Combine, sums: Floats, resamples: int, seed: int) -> Floats:
    """float64[R, ...] what `compute` makes of float64[R, K] sums over U units that are drawn with replacement.

    sums: float64[U, K] of each unit. None (R = 0) with fewer than FEWEST_CLUSTERS units.
    """
    if len(sums) < FEWEST_CLUSTERS or resamples < 1:
        # of no resamples: the shape that their results would have
        return compute(sums[:0])
    results = []
    for drawn in seeded_draws(len(sums), resamples, seed):
        drawn_sums = drawn.T @ sums
        results.append(compute(drawn_sums))
    return np.concatenate(results)


def check_confidence(confidence: float) -> None:
    """Raise ValueError for a confidence level that is not between 0 and 1."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, not {confidence}: write 0.9 for 90 %")


def interval(samples: Floats, units: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Compute a bootstrap interval from resampled statistics.

    Uses the expanded percentile interval (Hesterberg 2015): its quantiles are wider than the plain ones if the number
    of units is small. Undefined resamples (NaN) are ignored.

    Args:
        samples: float64[R], statistic of R resamples.
        units: Number of units (clusters) that were resampled.
        confidence: Level of the interval. Default: 0.95 for 95 %.

    Returns:
        tuple[float, float]: Lower and upper end. NaN without resamples, with fewer than 3 units, and if more than
            half of the resamples are undefined.

    Raises:
        ValueError: `confidence` is outside (0, 1).

    Example:
        >>> import numpy as np
        >>> from bmx_grid.measures import interval
        >>> samples = np.arange(1001) / 1000
        >>> low, high = interval(samples, units=18)
        >>> round(low, 4), round(high, 4)
        (0.015, 0.985)
    """
    check_confidence(confidence)
    known = samples[~np.isnan(samples)]
    mostly_undefined = 2 * len(known) < len(samples)
    if not len(known) or mostly_undefined or units < FEWEST_CLUSTERS:
        return math.nan, math.nan
    low, high = np.quantile(known, interval_levels(units, confidence)).tolist()
    return low, high


def interval_levels(units: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The two quantiles of the bootstrap distribution that bound an interval: the expanded percentile interval.

    The plain percentile interval is too short for few units: it lacks the factor n / (n - 1) of the variance and
    the width of Student's t. Its levels are therefore widened to Phi(-t sqrt(n / (n - 1))), with t the quantile of
    Student's t of n - 1 degrees of freedom (Hesterberg 2015, "What teachers should know about the bootstrap", The
    American Statistician 69(4)). For 18 clusters the levels are .01497 and .98503, for 560 they are .02465 and .97535.
    """
    from scipy.special import ndtr, stdtrit

    if units < 2:
        return 0.0, 1.0
    # the lower quantile, which is below 0: -t of the formula
    t = stdtrit(units - 1, (1 - confidence) / 2)
    widened = t * math.sqrt(units / (units - 1))
    lower = float(ndtr(widened))
    return lower, 1 - lower


@dataclass(frozen=True)
class ClusterMean:
    """The mean of values in clusters, with an interval and a sign test.

    Attributes:
        mean: Mean of the defined values, each counted once.
        low: Lower end of the interval; NaN with fewer than 3 clusters.
        high: Upper end of the interval.
        p: One-sided p-value of the sign test that more clusters have a positive mean than a negative one.
        positive: Number of clusters with a mean above 0.
        n: Number of defined values.
        clusters: Number of clusters with a defined value.
    """

    mean: float
    low: float
    high: float
    p: float
    positive: int
    n: int
    clusters: int


def cluster_mean(
    values: ArrayLike,
    cluster: ArrayLike,
    *,
    resamples: int = 10_000,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> ClusterMean:
    """Average values in clusters, with an interval over clusters and a sign test.

    Values of one cluster are not independent: four explainers on one language pair share segments and human scores.
    With fewer than 12 clusters the interval is Student's t with the standard error of the clusters; from 12 clusters,
    it is an expanded percentile bootstrap of whole clusters. A bootstrap of few clusters is too narrow: with normal
    values, 95 % intervals cover the mean in 74 % of cases for 3 clusters and in 92 % for 5.

    Args:
        values: float64[N]; NaN is ignored.
        cluster: N labels of clusters, such as data set and language pair.
        resamples: Number of bootstrap resamples.
        seed: Seed of the resampling.
        confidence: Level of the interval. Default: 0.95 for 95 %.

    Returns:
        ClusterMean: Mean, interval and one-sided sign test.

    Raises:
        ValueError: The arrays differ in length, or `confidence` is outside (0, 1).

    Example:
        >>> from bmx_grid.measures import cluster_mean
        >>> result = cluster_mean([1, 2, 3, float("nan")], ["cs-en", "de-en", "fi-en", "fi-en"])
        >>> round(result.mean, 3), round(result.low, 3), round(result.high, 3), result.p
        (2.0, -0.484, 4.484, 0.125)
    """
    from scipy.special import stdtrit
    from scipy.stats import binomtest

    check_confidence(confidence)
    values = np.asarray(values, dtype=np.float64)
    cluster = np.asarray(cluster)
    if values.ndim != 1 or values.shape != cluster.shape:
        raise ValueError(f"one cluster per value is needed, not shapes {values.shape} and {cluster.shape}")
    defined = ~np.isnan(values)
    known = values[defined]
    cluster = codes(cluster[defined])
    sums = np.bincount(cluster, known)
    sizes = np.bincount(cluster)
    n = len(known)
    clusters = len(sizes)
    mean = float(known.mean()) if n else math.nan
    low = math.nan
    high = math.nan
    if FEWEST_CLUSTERS <= clusters < BOOTSTRAPPED:
        # The standard error of a ratio of sums over clusters (of their values, and of how many there are), from what
        # each cluster departs from it.
        left = sums - mean * sizes
        squares = clusters / (clusters - 1) * float(left @ left)
        error = math.sqrt(squares) / n
        t = float(stdtrit(clusters - 1, (1 + confidence) / 2))
        reach = t * error
        low = mean - reach
        high = mean + reach
    elif clusters >= BOOTSTRAPPED:
        terms: Floats = np.stack([sums, sizes], axis=1)
        samples = resampled_sums(_mean_of_sums, terms, resamples, seed)
        low, high = interval(samples, clusters, confidence)
    means = sums / sizes if clusters else sums
    # The sign test: a cluster whose mean is 0 but for rounding is no toss.
    positive = int((means > TIE).sum())
    tosses = int((np.abs(means) > TIE).sum())
    p = math.nan
    if tosses:
        p = float(binomtest(positive, tosses, alternative="greater").pvalue)
    return ClusterMean(mean=mean, low=low, high=high, p=p, positive=positive, n=n, clusters=clusters)


def _mean_of_sums(sums: Floats) -> Floats:
    """float64[R] means of float64[R, 2] sums of values and how many they are of."""
    return sums[:, 0] / sums[:, 1]


def interval_kind(clusters: int) -> str:
    """The kind of the interval of a mean over so many clusters, in words; "" without an interval."""
    if clusters < FEWEST_CLUSTERS:
        return ""
    return "Student's t" if clusters < BOOTSTRAPPED else "bootstrap"
