"""Correlations of weighted segments: what a resample of clusters gives."""

from __future__ import annotations

import numpy as np

from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.measures.correlation import FEWEST, Coefficient, check_coefficient, tau_c_of, unit
from bmx_grid.measures.resampling import (
    CACHED_CELLS,
    CELLS,
    FEWEST_CLUSTERS,
    fitting,
    number_of,
    ranges,
    ratio,
    seeded_draws,
)
from bmx_grid.measures.scale import below_one

TOGETHER = 32  # resamples in one product of many pairs, at least: fewer read all pairs for little
LEAST_VARIANCE = 1e-6  # share of the second moment that must be left as variance, to trust moments


def weighted_correlations(kind: Coefficient, columns: Floats, human: Floats, times: Floats) -> Floats:
    """float64[K, R] correlations of K scores of M pairs with human scores, each pair as often as its weight says.

    columns: float64[M, K]; human: float64[M]; times: float64[M, R] whole numbers of at least 0. NaN where one side is
    constant among the pairs that count, where the list has fewer than 3 pairs, copies counted, and for a column that
    is not finite. Raises ConfigError for an unknown kind.
    """
    check_coefficient(kind)
    correlations = np.full((columns.shape[1], times.shape[1]), np.nan)
    known = np.flatnonzero(np.isfinite(columns).all(axis=0))
    if len(human) < FEWEST or not len(known):
        return correlations
    times = np.ascontiguousarray(times)
    columns = columns[:, known]
    if kind in ("kendall", "kendall_c"):
        from bmx_grid.measures.ordered import weighted_kendall

        for place, column in zip(known, columns.T, strict=True):
            correlations[place] = weighted_kendall(column, human, times.T)
            if kind == "kendall_c":
                correlations[place] = tau_c_of(correlations[place], column, human, times)
    elif kind == "pearson":
        correlations[known] = _pearson(columns, human, times)
    else:
        for part in ranges(times.shape[1], fitting(CACHED_CELLS, len(times))):
            correlations[known, part] = _spearman(columns, human, times[:, part])
    too_few = times.sum(axis=0) < FEWEST
    correlations[:, too_few] = np.nan
    return np.asarray(np.clip(correlations, -1.0, 1.0))


def resampled_correlations(
    kind: Coefficient, columns: Floats, human: Floats, cluster: Ints, resamples: int, seed: int
) -> Floats:
    """float64[K, R] correlations of float64[n, K] scores under resamples of whole clusters, the same ones for all.

    cluster: int64[n] codes. None (R = 0) with fewer than FEWEST_CLUSTERS. Raises ConfigError for an
    unknown kind.
    """
    check_coefficient(kind)
    count = number_of(cluster)
    if count < FEWEST_CLUSTERS or resamples < 1:
        return np.empty((columns.shape[1], 0))
    correlations = []
    for drawn in seeded_draws(count, resamples, seed, len(human)):
        times = drawn[cluster]
        correlations.append(weighted_correlations(kind, columns, human, times))
    return np.concatenate(correlations, axis=1)


def pair_columns(x: Floats, human: Floats) -> Floats:
    """float64[M, 6] what Pearson's r needs of M pairs: one, x, human, x^2, human^2, x human."""
    return np.stack([np.ones_like(x), x, human, x * x, human * human, x * human], axis=1)


def pearson_of_sums(sums: Floats) -> Floats:
    """float64[...] Pearson's r from float64[..., 6] sums of `pair_columns`; NaN where undefined or digits are lost.

    For pairs that were centred before, so that few resamples lose digits. Those are to be computed from their pairs.
    """
    with np.errstate(all="ignore"):
        moments = sums[..., 1:] / sums[..., :1]
        x, human, squared_x, squared_human, x_human = np.moveaxis(moments, -1, 0)
        variance_x = squared_x - x**2
        variance_human = squared_human - human**2
        product = variance_x * variance_human
        covariance = x_human - x * human
        r = covariance / np.sqrt(product)
    # Where little is left of a second moment, what is left is rounding.
    kept = variance_x > LEAST_VARIANCE * squared_x
    kept &= variance_human > LEAST_VARIANCE * squared_human
    kept &= (product > 0) & (product < np.inf)
    return np.where(kept, np.clip(r, -1.0, 1.0), np.nan)


def pearson_two_pass(x: Floats, y: Floats, times: Floats) -> Floats:
    """float64[R] Pearson's r of the columns of float64[M, R] under weights, in two passes; NaN where constant."""
    drawn = times > 0
    varies = drawn.any(axis=0)
    # a resample that draws nothing is divided by this instead of 0, and is NaN in the end
    total = np.maximum(times.sum(axis=0), np.finfo(np.float64).tiny)
    left = []
    # The second pass is over values less their weighted mean: no digits cancel.
    for values in (x, y):
        least = np.where(drawn, values, np.inf).min(axis=0, initial=np.inf)
        most = np.where(drawn, values, -np.inf).max(axis=0, initial=-np.inf)
        varies &= most > least
        mean = (times * values).sum(axis=0) / total
        centred = np.where(drawn, values - mean, 0.0)
        # scaled, so that tiny or huge numbers keep their squares
        size = np.abs(centred).max(axis=0, initial=0.0)
        scale = np.where(size > 0, size, 1.0)
        left.append(centred / scale)
    products = np.einsum("mr,mr,mr->r", times, *left)
    squares = [np.einsum("mr,mr,mr->r", times, values, values) for values in left]
    r = ratio(products, np.sqrt(squares[0] * squares[1]))
    return np.where(varies, np.clip(r, -1.0, 1.0), np.nan)


def _pearson(columns: Floats, human: Floats, times: Floats) -> Floats:
    correlations = np.full((columns.shape[1], times.shape[1]), np.nan)
    differs = columns != columns[0]
    varying = np.flatnonzero(differs.any(axis=0))
    if (human == human[0]).all():
        return correlations
    columns = below_one(columns)
    human = below_one(human)
    human_unit = unit(human)
    together = max(fitting(CACHED_CELLS, len(times)), TOGETHER)
    # a product for each column: the same digits whatever is computed beside it
    for column in varying:
        pairs = pair_columns(unit(columns[:, column]), human_unit)
        for part in ranges(times.shape[1], together):
            sums = times[:, part].T @ pairs
            correlations[column, part] = pearson_of_sums(sums)
        # where sums lost digits: anew from the pairs, and the undefined stay so
        again = np.flatnonzero(np.isnan(correlations[column]))
        for part in ranges(len(again), fitting(CELLS, len(human))):
            some = again[part]
            weights = times[:, some]
            x = np.broadcast_to(columns[:, column, None], weights.shape)
            y = np.broadcast_to(human[:, None], weights.shape)
            correlations[column, some] = pearson_two_pass(x, y, weights)
    return correlations


def _spearman(columns: Floats, human: Floats, times: Floats) -> Floats:
    """Ranks less their mean are halves of whole numbers: their products sum exactly, to 0 for a constant side."""
    size = times.sum(axis=0)
    human_ranks, human_squares = _ranks(human, times, size)
    human_ranks *= times
    correlations = []
    for column in columns.T:
        ranks, squares = _ranks(column, times, size)
        products = np.einsum("mr,mr->r", ranks, human_ranks)
        by_rank = ratio(products, np.sqrt(squares))
        correlations.append(ratio(by_rank, np.sqrt(human_squares)))
    return np.array(correlations)


def _ranks(values: Floats, times: Floats, size: Floats) -> tuple[Floats, Floats]:
    """float64[M, R] average ranks less their mean, and float64[R] their sums of squares."""
    order = np.argsort(values)
    ordered = values[order]
    # the last place of each distinct value
    is_last = np.append(ordered[1:] != ordered[:-1], True)
    last = np.flatnonzero(is_last)
    group = np.empty(len(values), dtype=np.int64)
    group[order] = np.searchsorted(last, np.arange(len(values)))
    tied = times[order]
    ranks = np.cumsum(tied, axis=0)
    if len(last) < len(values):
        ranks = ranks[last]
        tied = np.diff(ranks, axis=0, prepend=0)
    # from the last place of those that tie to the middle of their places, and less the mean of all ranks
    ranks -= tied / 2
    ranks -= size / 2
    return ranks[group], np.einsum("gr,gr,gr->r", ranks, ranks, tied)
