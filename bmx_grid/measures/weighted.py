"""Resamples of segments as weights: how often each cluster was drawn, and correlations under such weights.

A bootstrap resample of N segments is a row of N counts, constant within a cluster. Correlations of a resample are
those of the drawn list, copies included (Pearson's r, Spearman's rho of average ranks, Kendall's tau-b, in which two
copies of one segment are a tie on both sides): computed from the weights, without writing the list out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.measures.correlation import Kind
from bmx_grid.measures.ordered import compiled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CELLS = 4_000_000  # resamples x segments held at a time

LEVEL = 0.95


def draws(n_units: int, resamples: int, rng: np.random.Generator, width: int = 0) -> Iterator[Floats]:
    """Bootstrap counts of n_units clusters (or systems) in blocks float64[b, n_units], `resamples` rows in all.

    width: the numbers that a row is expanded to, where these are more; it decides how many rows a block has. Each row
    sums to n_units.
    """
    block = max(CELLS // max(n_units, width, 1), 1)
    for start in range(0, resamples, block):
        yield counts_drawn(n_units, min(block, resamples - start), rng)


def counts_drawn(n_units: int, rows: int, rng: np.random.Generator) -> Floats:
    """float64[rows, n_units] how often each of n_units was drawn, n_units times with replacement."""
    chosen = rng.integers(n_units, size=(rows, n_units)) + n_units * np.arange(rows)[:, None]
    return np.bincount(chosen.ravel(), minlength=rows * n_units).reshape(rows, n_units).astype(np.float64)


def interval(values: Floats) -> tuple[float, float]:
    """The percentile interval (95 %) of resampled values; undefined ones (NaN) are left out, NaN if most are."""
    defined = values[np.isfinite(values)]
    if 2 * len(defined) <= len(values):
        return float("nan"), float("nan")
    low, high = np.quantile(defined, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def weighted_correlation(kind: Kind, x: Floats, y: Floats, weights: Floats) -> Floats:
    """float64[B] correlation of x and y, float64[n] without NaN, under each row of weights, float64[B, n] >= 0.

    NaN where fewer than three different segments were drawn, or one side is constant.
    """
    if len(x) == 0:
        return np.full(len(weights), np.nan)
    if kind == "pearson":
        found = _pearson(x, y, weights)
    elif kind == "spearman":
        found = _spearman(x, y, weights)
    else:
        found = _kendall(x, y, weights)
    found[np.count_nonzero(weights, axis=1) < 3] = np.nan
    return found


def _pearson(x: Floats, y: Floats, weights: Floats) -> Floats:
    if (x == x[0]).all() or (y == y[0]).all():
        return np.full(len(weights), np.nan)
    one, other = _unit(x), _unit(y)
    moments = weights @ np.stack([np.ones(len(x)), one, other, one * one, other * other, one * other], axis=1)
    total, sum_x, sum_y, xx, yy, xy = moments.T
    with np.errstate(invalid="ignore", divide="ignore"):
        own = (xx - sum_x**2 / total) / total, (yy - sum_y**2 / total) / total
        found = np.asarray((xy - sum_x * sum_y / total) / total / np.sqrt(own[0] * own[1]))
    # Few digits are left of a resample that missed the segments with nearly all the variance: two passes for it.
    again = np.flatnonzero(~((own[0] > 1e-6) & (own[1] > 1e-6)))
    if len(again):
        rows = np.broadcast_to(x, (len(again), len(x))), np.broadcast_to(y, (len(again), len(y)))
        found[again] = pearson_rows(*rows, weights[again])
    return np.asarray(np.clip(found, -1.0, 1.0), dtype=np.float64)


def pearson_rows(x: Floats, y: Floats, weights: Floats) -> Floats:
    """float64[B] Pearson's r of the rows of float64[B, n] under weights, in two passes; NaN where constant."""
    drawn = weights > 0
    varies = drawn.any(axis=1)
    total = np.maximum(weights.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    left = []
    for values in (x, y):
        varies &= np.where(drawn, values, -np.inf).max(axis=1) > np.where(drawn, values, np.inf).min(axis=1)
        centred = np.where(drawn, values - (weights * values).sum(axis=1, keepdims=True) / total, 0.0)
        size = np.abs(centred).max(axis=1, keepdims=True)
        left.append(centred / np.where(size > 0, size, 1.0))  # so that tiny or huge numbers keep their squares
    own = [np.einsum("bn,bn,bn->b", weights, values, values) for values in left]
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.einsum("bn,bn,bn->b", weights, *left) / np.sqrt(own[0] * own[1])
    return np.where(varies, np.clip(found, -1.0, 1.0), np.nan)


def _unit(values: Floats) -> Floats:
    """Values less their mean, of variance 1."""
    left = values - values.mean()
    left /= np.abs(left).max()
    return np.asarray(left / left.std())


def _spearman(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Ranks less their mean are halves of whole numbers: their products sum exactly, to 0 for a constant side."""
    one, other = _ranks(x, weights), _ranks(y, weights)
    weighted = weights * one
    own = np.einsum("bn,bn->b", weighted, one), np.einsum("bn,bn,bn->b", weights, other, other)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.einsum("bn,bn->b", weighted, other) / np.sqrt(own[0]) / np.sqrt(own[1])
    return np.asarray(np.clip(found, -1.0, 1.0), dtype=np.float64)


def _ranks(values: Floats, weights: Floats) -> Floats:
    """float64[B, n] average ranks, less the mean rank, of the values in each resample's list, copies counted."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    group = np.empty(len(values), dtype=np.intp)
    group[order] = np.repeat(np.arange(len(starts)), np.diff([*starts, len(values)]))
    counts = np.add.reduceat(weights[:, order], starts, axis=1)
    upto = np.cumsum(counts, axis=1)
    ranks: Floats = (upto - counts / 2 - upto[:, -1:] / 2)[:, group]
    return ranks


def _kendall(x: Floats, y: Floats, weights: Floats) -> Floats:
    by_x = np.argsort(x, kind="stable")
    dense_x = np.unique(x, return_inverse=True)[1][by_x].astype(np.int64)
    dense_y = np.unique(y, return_inverse=True)[1][by_x].astype(np.int64)
    found: Floats = compiled(_tau_b)(dense_x, dense_y, np.ascontiguousarray(weights[:, by_x]))
    return found


def _tau_b(x: Ints, y: Ints, weights: Floats) -> Any:
    """The kernel: weighted tau-b of dense ranks x (ascending) and y for each row of weights; whole counts are exact."""
    n, levels = len(x), 0
    for place in range(n):
        levels = max(levels, y[place] + 1)
    result = np.full(len(weights), np.nan)
    tree, of_y = np.empty(levels + 1), np.empty(levels)
    for row in range(len(weights)):
        tree[:] = 0.0  # a Fenwick tree of the weights by human rank
        of_y[:] = 0.0
        seen, net, ties_x, first = 0.0, 0.0, 0.0, 0
        while first < n:
            last, level = first, 0.0
            while last < n and x[last] == x[first]:
                weight = weights[row, last]
                if weight > 0:
                    below, at = 0.0, y[last]
                    while at > 0:
                        below += tree[at]
                        at -= at & -at
                    net += weight * (below - (seen - below - of_y[y[last]]))
                    level += weight
                last += 1
            for place in range(first, last):
                weight = weights[row, place]
                if weight > 0:
                    of_y[y[place]] += weight
                    at = y[place] + 1
                    while at <= levels:
                        tree[at] += weight
                        at += at & -at
            seen += level
            ties_x += level * level
            first = last
        ties_y = 0.0
        for rank in range(levels):
            ties_y += of_y[rank] * of_y[rank]
        untied_x, untied_y = (seen * seen - ties_x) / 2, (seen * seen - ties_y) / 2
        if untied_x > 0 and untied_y > 0:
            result[row] = min(1.0, max(-1.0, net / np.sqrt(untied_x) / np.sqrt(untied_y)))
    return result
