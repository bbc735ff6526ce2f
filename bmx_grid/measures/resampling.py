"""Units drawn with replacement or swapped, intervals from resamples, and correlations of weighted pairs.

A resample is a row of weights: how often each pair counts. A bootstrap draw of clusters, and a swap of two metrics'
scores (the pairs of both metrics pooled, each with weight 0 or 1), are both such rows, so that one set of vectorised
correlations serves all of them. Draws come from the generator passed in, one resample after the other: the same seed
gives the same draws however many are asked for at a time and on however many threads.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bmx_grid.measures.correlation import FEWEST, Kind, check_kind, kendall, pearson

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CELLS = 2**21  # resamples x pairs handled at a time: 16 MiB per array
EXACT_CELLS = 2**22  # resamples x units an enumeration may have
SIGNS = 3000  # pairs up to which Kendall's tau multiplies a matrix of signs (36 MB); beyond, resamples are sorted
LOST = 1e-9  # share of the second moment that must be left as variance, to trust moments


def codes(labels: ArrayLike) -> Ints:
    """int[N] numbers from 0 on of N labels of any type, equal labels sharing one."""
    found: Ints = np.unique(np.asarray(labels), return_inverse=True)[1].astype(np.int64).ravel()
    return found


def draws(rng: np.random.Generator, units: int, resamples: int) -> Floats:
    """float64[R, U] how often each of U units is drawn when U are drawn with replacement, R times."""
    picked = rng.integers(0, units, size=(resamples, units))
    picked += units * np.arange(resamples)[:, None]
    counts = np.bincount(picked.ravel(), minlength=resamples * units)
    return counts.reshape(resamples, units).astype(np.float64)


def swaps(rng: np.random.Generator, units: int, resamples: int) -> Floats:
    """float64[R, U] of 0 and 1 with equal probability: which units are swapped."""
    return rng.integers(0, 2, size=(resamples, units)).astype(np.float64)


def every_draw(units: int) -> Floats:
    """`draws` enumerated: all U^U of them, each as likely as any other. Raises ValueError for too many."""
    _check_enumeration(units**units * units)
    picked = np.array(list(itertools.product(range(units), repeat=units)))
    return np.stack([(picked == unit).sum(axis=1) for unit in range(units)], axis=1).astype(np.float64)


def every_swap(units: int) -> Floats:
    """`swaps` enumerated: all 2^U of them, no swap first. Raises ValueError for too many."""
    _check_enumeration(2**units * units)
    return ((np.arange(2**units)[:, None] >> np.arange(units)) & 1).astype(np.float64)


def blocks(resamples: int, cells: int) -> Iterator[int]:
    """Numbers of resamples to handle at a time, summing to `resamples`, for `cells` array cells per resample."""
    size = max(1, CELLS // max(cells, 1))
    for first in range(0, resamples, size):
        yield min(size, resamples - first)


def interval_levels(confidence: float, units: int) -> tuple[float, float]:
    """The two quantiles of the bootstrap distribution that bound an interval: the expanded percentile interval.

    The plain percentile interval is too short for few units: it lacks the factor n / (n - 1) of the variance and
    the width of Student's t. Its levels are therefore widened to Phi(-t sqrt(n / (n - 1))), with t the quantile of
    Student's t of n - 1 degrees of freedom (Hesterberg 2015, "What teachers should
    know about the bootstrap", The American Statistician 69(4)). For 18
    clusters the levels are .0149 and .9851, for 560 they are .0245 and .9755.
    Raises ValueError unless 0 < confidence < 1.
    """
    from scipy.special import ndtr, stdtrit

    if not 0 < confidence < 1:
        raise ValueError(f"the confidence is a share between 0 and 1, not {confidence}")
    if units < 2:
        return 0.0, 1.0
    lower = float(ndtr(stdtrit(units - 1, (1 - confidence) / 2) * math.sqrt(units / (units - 1))))
    return lower, 1 - lower


def bounds(samples: Floats, levels: tuple[float, float]) -> tuple[Floats, Floats]:
    """The quantiles of float64[..., R] resampled values along the last axis, linearly interpolated.

    Undefined resamples (NaN) are left out, as nlpstats does; NaN where more than half of them are undefined.
    """
    shape = samples.shape[:-1]
    rows = samples.reshape(-1, samples.shape[-1])
    defined = np.count_nonzero(~np.isnan(rows), axis=1)
    found = np.full((2, len(rows)), np.nan)
    whole = defined == rows.shape[1]
    if whole.all() and len(rows):
        found[:] = np.quantile(rows, levels, axis=1)
    elif whole.any():
        found[:, whole] = np.quantile(rows[whole], levels, axis=1)
    for row in np.flatnonzero(~whole & (2 * defined >= rows.shape[1]) & (defined > 0)):
        found[:, row] = np.quantile(rows[row][~np.isnan(rows[row])], levels)
    return found[0].reshape(shape), found[1].reshape(shape)


def weighted_correlation(kind: Kind, x: Floats, human: Floats, weights: Floats) -> Floats:
    """float64[R] correlations of M pairs, each pair repeated as often as its weight says.

    x, human: float64[M], finite; weights: float64[R, M] whole numbers of at least 0. NaN where one side is constant
    among the pairs that count, or fewer than 3 pairs do. Raises ConfigError for an unknown kind.
    """
    check_kind(kind)
    size = weights.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        if kind == "pearson":
            found = _pearson(x, human, weights, size)
        elif kind == "spearman":
            found = _spearman(x, human, weights, size)
        else:
            found = _kendall(x, human, weights, size)
    found[size < FEWEST] = np.nan
    return np.clip(found, -1.0, 1.0)


def pair_columns(x: Floats, human: Floats) -> Floats:
    """float64[M, 6] what Pearson's r needs of M pairs: one, x, human, x^2, human^2, x human."""
    return np.stack([np.ones_like(x), x, human, x * x, human * human, x * human], axis=1)


def pearson_of_sums(sums: Floats) -> Floats:
    """float64[R] Pearson's r from float64[R, 6] sums of `pair_columns`; NaN where it is undefined or has lost digits.

    For pairs that were centred before, so that few resamples lose digits. Those are to be computed from their pairs.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = sums[:, 1:] / sums[:, :1]
        own, other = mean[:, 2] - mean[:, 0] ** 2, mean[:, 3] - mean[:, 1] ** 2
        found: Floats = (mean[:, 4] - mean[:, 0] * mean[:, 1]) / np.sqrt(own * other)
    found[~((own > LOST * mean[:, 2]) & (other > LOST * mean[:, 3]) & (own * other > 0))] = np.nan
    return np.clip(found, -1.0, 1.0)


def _pearson(x: Floats, human: Floats, weights: Floats, size: Floats) -> Floats:
    found = pearson_of_sums(weights @ pair_columns(x - x.mean(), human - human.mean()))
    for row in np.flatnonzero(np.isnan(found) & (size > 0)):
        times = weights[row].astype(np.int64)
        found[row] = pearson(np.repeat(x, times), np.repeat(human, times))
    return found


def _spearman(x: Floats, human: Floats, weights: Floats, size: Floats) -> Floats:
    (left, own), (right, other) = (_ranks(values, weights, size) for values in (x, human))
    crossed = np.einsum("rm,rm,rm->r", left, right, weights)
    found: Floats = crossed / np.sqrt(own * other)
    return found


def _ranks(values: Floats, weights: Floats, size: Floats) -> tuple[Floats, Floats]:
    """float64[R, M] average ranks less their mean, and float64[R] their sums of squares."""
    group, tied = _tied(values, weights)
    ranks = np.cumsum(tied, axis=1)
    ranks -= tied / 2 + size[:, None] / 2
    squares = np.einsum("rg,rg,rg->r", ranks, ranks, tied)
    return ranks[:, group], squares


def _kendall(x: Floats, human: Floats, weights: Floats, size: Floats) -> Floats:
    if len(x) > SIGNS:
        times = weights.astype(np.int64)
        return np.array([kendall(np.repeat(x, row), np.repeat(human, row)) for row in times])
    # Whole numbers below 2^24: single precision adds them exactly, in half the time.
    ranks = [codes(values).astype(np.float32) for values in (x, human)]
    signs = np.sign(ranks[0][:, None] - ranks[0]) * np.sign(ranks[1][:, None] - ranks[1])
    net = np.einsum("rm,rm->r", (weights.astype(np.float32) @ signs).astype(np.float64), weights) / 2
    untied = []
    for values in (x, human):
        tied = _tied(values, weights)[1]
        untied.append((size * (size - 1) - np.einsum("rg,rg->r", tied, tied - 1)) / 2)
    found: Floats = net / np.sqrt(untied[0]) / np.sqrt(untied[1])
    return found


def _tied(values: Floats, weights: Floats) -> tuple[Ints, Floats]:
    """int[M] the dense rank of each value, and float64[R, G] the total weight of each of the G distinct values."""
    distinct, group = np.unique(values, return_inverse=True)
    if len(distinct) == len(values):
        return group, weights[:, np.argsort(group)]
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(len(distinct)))
    return group, np.add.reduceat(weights[:, order], starts, axis=1)


def _check_enumeration(cells: Any) -> None:
    if cells > EXACT_CELLS:
        raise ValueError(f"too many resamples to enumerate them ({cells:,} array cells); draw them with a seed")
