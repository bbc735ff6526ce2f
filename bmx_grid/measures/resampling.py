"""Units drawn with replacement or swapped, intervals from resamples, and correlations of weighted pairs.

A resample is a row of weights: how often each pair counts. A bootstrap draw of clusters, and a swap of two metrics'
scores (the pairs of both metrics pooled, each with weight 0 or 1), are both such rows, so that one set of vectorised
correlations serves all of them. They are those of the drawn list, copies included (Pearson's r, Spearman's rho of
average ranks, Kendall's tau-b, in which two copies of a pair tie on both sides), without writing the list out.
Draws come from the generator passed in, one resample after the other: the same seed gives the same draws however many
are asked for at a time and on however many threads.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bmx_grid.measures.at_a_time import fitting, ranges, sizes
from bmx_grid.measures.best import TIE
from bmx_grid.measures.correlation import FEWEST, Kind, check_kind

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Two clusters have three different resamples, are one and the same cluster in half of them, and have two swaps.
FEWEST_CLUSTERS = 3
CELLS = 2**21  # resamples x pairs handled at a time: 16 MiB per array
EXACT_CELLS = 2**22  # resamples x units an enumeration may have
SIGNS = 3000  # pairs up to which Kendall's tau multiplies a matrix of signs (36 MB); beyond, a compiled kernel counts
STRIPS = 4  # of a matrix of signs; more save fewer products than they cost
AT_ONCE = 2**17  # resamples x pairs in one pass over sorted pairs: 1 MiB per array stays in a processor's cache
TOGETHER = 32  # resamples in one product of many pairs, at least: fewer read all pairs for little
LOST = 1e-6  # share of the second moment that must be left as variance, to trust moments


def codes(labels: ArrayLike) -> Ints:
    """int[N] numbers from 0 on of N labels of any type, equal labels sharing one."""
    found: Ints = np.unique(np.asarray(labels), return_inverse=True)[1].astype(np.int64).ravel()
    return found


def number_of(codes: Ints) -> int:
    """How many different labels `codes` has numbered; 0 of none."""
    return int(codes.max(initial=-1)) + 1


def draws(rng: np.random.Generator, units: int, resamples: int) -> Floats:
    """float64[R, U] how often each of U units is drawn when U are drawn with replacement, R times."""
    picked = rng.integers(0, units, size=(resamples, units))
    picked += units * np.arange(resamples)[:, None]
    counts = np.bincount(picked.ravel(), minlength=resamples * units)
    return counts.reshape(resamples, units).astype(np.float64)


def seeded_draws(units: int, resamples: int, seed: int, width: int = 0) -> Iterator[Floats]:
    """The `draws` of a seed in blocks float64[U, R]: a row for each unit, so that rows of pairs are taken from it.

    width: how many pairs a resample is expanded to, where these are more than the units. Draws that fit one block are
    kept for the next call with the same numbers; not to be written to.
    """
    if resamples * max(units, width) <= CELLS:
        yield _kept_draws(units, resamples, seed)
        return
    rng = np.random.default_rng(seed)
    for size in blocks(resamples, max(units, width)):
        yield np.ascontiguousarray(draws(rng, units, size).T)


@functools.lru_cache(maxsize=4)
def _kept_draws(units: int, resamples: int, seed: int) -> Floats:
    found = np.ascontiguousarray(draws(np.random.default_rng(seed), units, resamples).T)
    found.flags.writeable = False
    return found


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
    return sizes(resamples, fitting(CELLS, cells))


def interval_levels(confidence: float, units: int) -> tuple[float, float]:
    """The two quantiles of the bootstrap distribution that bound an interval: the expanded percentile interval.

    The plain percentile interval is too short for few units: it lacks the factor n / (n - 1) of the variance and
    the width of Student's t. Its levels are therefore widened to Phi(-t sqrt(n / (n - 1))), with t the quantile of
    Student's t of n - 1 degrees of freedom (Hesterberg 2015, "What teachers should know about the bootstrap", The
    American Statistician 69(4)). For 18 clusters the levels are .01497 and .98503, for 560 they are .02465 and .97535.
    Raises ValueError unless 0 < confidence < 1.
    """
    from scipy.special import ndtr, stdtrit

    if not 0 < confidence < 1:
        raise ValueError(f"the confidence is a share between 0 and 1, not {confidence}")
    if units < 2:
        return 0.0, 1.0
    lower = float(ndtr(stdtrit(units - 1, (1 - confidence) / 2) * math.sqrt(units / (units - 1))))
    return lower, 1 - lower


def p_of_zero(samples: Floats, units: int) -> float:
    """The two-sided p value of 0 that `interval_levels` stand for: at most .05 where a 95 % interval leaves 0 out.

    samples: float64[R] of a bootstrap of so many units. With k of the R defined samples at or beyond 0 it starts from
    (k + 1) / (R + 1), so that it is never 0; what is within 1e-12 is at 0, as differently rounded equal correlations
    are. NaN with fewer than two units, or where more than half are undefined.
    """
    from scipy.special import ndtri, stdtr

    known = samples[~np.isnan(samples)]
    if units < 2 or not len(known) or 2 * len(known) < len(samples):
        return math.nan
    beyond = min(np.count_nonzero(known <= TIE), np.count_nonzero(known >= -TIE))
    share = min((beyond + 1) / (len(known) + 1), 0.5)
    return float(2 * stdtr(units - 1, ndtri(share) / math.sqrt(units / (units - 1))))


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
    among the pairs that count, or the list has fewer than 3 pairs, copies counted. Raises ConfigError for an unknown
    kind.
    """
    found: Floats = weighted_correlations(kind, x[:, None], human, weights.T)[0]
    return found


def weighted_correlations(kind: Kind, columns: Floats, human: Floats, times: Floats) -> Floats:
    """float64[K, R] `weighted_correlation` of K scores with the same human scores under the same weights.

    columns: float64[M, K]; times: float64[M, R], the weights with a row for each pair.
    """
    check_kind(kind)
    found = np.full((columns.shape[1], times.shape[1]), np.nan)
    if len(human) < FEWEST:
        return found
    times = np.ascontiguousarray(times)
    if kind == "kendall":
        found[:] = _kendall(columns, human, times)
    elif kind == "pearson":
        found[:] = _pearson(columns, human, times)
    else:
        for part in ranges(times.shape[1], fitting(AT_ONCE, len(times))):
            found[:, part] = _spearman(columns, human, times[:, part])
    found[:, times.sum(axis=0) < FEWEST] = np.nan
    clipped: Floats = np.clip(found, -1.0, 1.0)
    return clipped


def pair_columns(x: Floats, human: Floats) -> Floats:
    """float64[M, 6] what Pearson's r needs of M pairs: one, x, human, x^2, human^2, x human."""
    return np.stack([np.ones_like(x), x, human, x * x, human * human, x * human], axis=1)


def pearson_of_sums(sums: Floats) -> Floats:
    """float64[...] Pearson's r from float64[..., 6] sums of `pair_columns`; NaN where undefined or digits are lost.

    For pairs that were centred before, so that few resamples lose digits. Those are to be computed from their pairs.
    """
    with np.errstate(all="ignore"):
        mean = sums[..., 1:] / sums[..., :1]
        own, other = mean[..., 2] - mean[..., 0] ** 2, mean[..., 3] - mean[..., 1] ** 2
        product = own * other
        found: Floats = (mean[..., 4] - mean[..., 0] * mean[..., 1]) / np.sqrt(product)
    kept = (own > LOST * mean[..., 2]) & (other > LOST * mean[..., 3])
    found[~(kept & (product > 0) & (product < np.inf))] = np.nan
    clipped: Floats = np.clip(found, -1.0, 1.0)
    return clipped


def pearson_two_pass(x: Floats, y: Floats, times: Floats) -> Floats:
    """float64[R] Pearson's r of the columns of float64[M, R] under weights, in two passes; NaN where constant."""
    drawn = times > 0
    varies = drawn.any(axis=0)
    total = np.maximum(times.sum(axis=0), np.finfo(np.float64).tiny)
    left = []
    for values in (x, y):
        least, most = (np.where(drawn, values, missing) for missing in (np.inf, -np.inf))
        varies &= most.max(axis=0, initial=-np.inf) > least.min(axis=0, initial=np.inf)
        centred = np.where(drawn, values - (times * values).sum(axis=0) / total, 0.0)
        size = np.abs(centred).max(axis=0, initial=0.0)
        left.append(centred / np.where(size > 0, size, 1.0))  # so that tiny or huge numbers keep their squares
    own = [np.einsum("mr,mr,mr->r", times, values, values) for values in left]
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.einsum("mr,mr,mr->r", times, *left) / np.sqrt(own[0] * own[1])
    return np.where(varies, np.clip(found, -1.0, 1.0), np.nan)


def _pearson(columns: Floats, human: Floats, times: Floats) -> Floats:
    found = np.full((columns.shape[1], times.shape[1]), np.nan)
    varying = np.flatnonzero((columns != columns[0]).any(axis=0))
    if (human == human[0]).all():
        return found
    other = _unit(human)
    for column in varying:  # a product for each: the same digits whatever is computed beside it
        pairs = pair_columns(_unit(columns[:, column]), other)
        for part in ranges(times.shape[1], max(fitting(AT_ONCE, len(times)), TOGETHER)):
            found[column, part] = pearson_of_sums(times[:, part].T @ pairs)
        again = np.flatnonzero(np.isnan(found[column]))
        for part in ranges(len(again), fitting(CELLS, len(human))):
            some = again[part]
            weights = times[:, some]
            x, y = (np.broadcast_to(values[:, None], weights.shape) for values in (columns[:, column], human))
            found[column, some] = pearson_two_pass(x, y, weights)
    return found


def _unit(values: Floats) -> Floats:
    """Values less their mean, of variance 1; scaled first, so that tiny or huge numbers keep their squares."""
    left: Floats = values - values.mean()
    left /= np.abs(left).max()
    left /= left.std()
    return left


def _spearman(columns: Floats, human: Floats, times: Floats) -> Floats:
    """Ranks less their mean are halves of whole numbers: their products sum exactly, to 0 for a constant side."""
    size = times.sum(axis=0)
    right, other = _ranks(human, times, size)
    right *= times
    found = []
    with np.errstate(invalid="ignore", divide="ignore"):
        for column in columns.T:
            left, own = _ranks(column, times, size)
            found.append(np.einsum("mr,mr->r", left, right) / np.sqrt(own) / np.sqrt(other))
    return np.array(found)


def _ranks(values: Floats, times: Floats, size: Floats) -> tuple[Floats, Floats]:
    """float64[M, R] average ranks less their mean, and float64[R] their sums of squares."""
    group, tied, ranks = _tied(values, times)
    ranks -= tied / 2
    ranks -= size / 2
    squares = np.einsum("gr,gr,gr->r", ranks, ranks, tied)
    return ranks[group], squares


def _kendall(columns: Floats, human: Floats, times: Floats) -> Floats:
    if len(human) > SIGNS:
        from bmx_grid.measures.ordered import weighted_kendall

        return np.array([weighted_kendall(column, human, times.T) for column in columns.T])
    single, found = times.T.astype(np.float32), []
    pairs, squares = times.sum(axis=0) ** 2, np.einsum("mr,mr->r", times, times)
    of_human, untied_human = _signs(human), pairs - _tied_pairs(human, times, squares)
    with np.errstate(invalid="ignore", divide="ignore"):
        for column in columns.T:
            net = 2 * _net(_signs(column) * of_human, single)
            untied = pairs - _tied_pairs(column, times, squares)
            found.append(net / np.sqrt(untied) / np.sqrt(untied_human))
    return np.array(found)


def _signs(values: Floats) -> NDArray[np.float32]:
    ranks = codes(values).astype(np.float32)
    above, below = ranks[:, None] > ranks, ranks[:, None] < ranks
    found: NDArray[np.float32] = above.astype(np.float32) - below
    return found


def _net(signs: NDArray[np.float32], weights: NDArray[np.float32]) -> Floats:
    """float64[R] the sum of float32[M, M] signs over the pairs of the drawn list, float32[R, M].

    Whole numbers below 2^24: single precision adds them exactly, in half the time. Signs are symmetric, so that
    blocks of rows above the diagonal are enough.
    """
    net = np.zeros(len(weights))
    for rows in ranges(len(signs), -(-len(signs) // STRIPS)):
        own = signs[:, rows].copy()
        own[rows] /= 2  # these pairs are counted twice
        above = weights[:, : rows.stop] @ own[: rows.stop]
        above *= weights[:, rows]
        net += above.sum(axis=1, dtype=np.float64)
    return net


def _tied_pairs(values: Floats, times: Floats, squares: Floats) -> Floats:
    """float64[R] pairs of the drawn list that tie, in both orders and with themselves; squares: of distinct values."""
    order = np.argsort(values)
    new = np.append(True, values[order][1:] != values[order][:-1])
    shared = ~(new & np.append(new[1:], True))
    if not shared.any():
        return squares
    rows = times[order[shared]]
    tied = np.add.reduceat(rows, np.flatnonzero(new[shared]), axis=0)
    found: Floats = squares + np.einsum("gr,gr->r", tied, tied) - np.einsum("mr,mr->r", rows, rows)
    return found


def _tied(values: Floats, times: Floats) -> tuple[Ints, Floats, Floats]:
    """The dense rank of each value, and the total weight of each of G distinct values, and of those up to it.

    int[M], float64[G, R] and float64[G, R].
    """
    order = np.argsort(values)
    ordered = values[order]
    last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    group = np.empty(len(values), dtype=np.int64)
    group[order] = np.searchsorted(last, np.arange(len(values)))
    tied = times[order]
    upto = np.cumsum(tied, axis=0)
    if len(last) < len(values):
        upto = upto[last]
        tied = np.diff(upto, axis=0, prepend=0)
    return group, tied, upto


def _check_enumeration(cells: Any) -> None:
    if cells > EXACT_CELLS:
        raise ValueError(f"too many resamples to enumerate them ({cells:,} array cells); draw them with a seed")
