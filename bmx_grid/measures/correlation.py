"""Correlation with human scores: Pearson, Spearman, Kendall; one pair of arrays or all points of a grid (paper 3.5).

Definitions are SciPy's: Spearman's rho is Pearson's r of average ranks, Kendall's tau is tau-b. A
correlation is NaN with fewer than 3 rated pairs, or when one side is constant: all its float64 numbers equal.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bmx_grid.core.errors import ConfigError, unknown

Floats = NDArray[np.float64]
Kind = Literal["pearson", "spearman", "kendall"]
KINDS: tuple[str, ...] = get_args(Kind)

FEWEST = 3  # any two pairs correlate perfectly
CANCELLED = 1e-3  # share of the variance that must be left when base and mean cancel, to trust the moments
CENTRED = 1 / 400  # variance of the means, relative to their squared mean, below which they are centred first
ROUNDED = 1e-4  # spread of the scores, relative to their size, from which their own rounding shows


def pearson(x: ArrayLike, y: ArrayLike) -> float:
    """Pearson's r of two float64[N]; pairs with NaN on either side (not rated) are left out, infinity gives NaN."""
    x, y = _rated_pairs(x, y)
    if len(x) < FEWEST or not (np.isfinite(x).all() and np.isfinite(y).all()):
        return float("nan")
    # The base score alone, by the steps of a grid: the column w = 1 of a grid is this number, bit for bit.
    return float(_pearson_grid(np.zeros((len(x), 1)), np.zeros(1), x, y, np.ones(1)).item())


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """Spearman's rho of two float64[N], Pearson's r of the average ranks; pairs with NaN are left out."""
    return _ordered("spearman", x, y)


def kendall(x: ArrayLike, y: ArrayLike) -> float:
    """Kendall's tau-b of two float64[N]; pairs with NaN on either side are left out."""
    return _ordered("kendall", x, y)


def correlate(kind: Kind, x: ArrayLike, y: ArrayLike) -> float:
    """The correlation of that name. Raises ConfigError for an unknown one."""
    check_kind(kind)
    return pearson(x, y) if kind == "pearson" else _ordered(kind, x, y)


def average_ranks(values: Floats) -> Floats:
    """float64[N] ranks from 1 for the lowest of float64[N] values; equal values share their mean rank."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[places]
    return ranks


def check_kind(kind: str) -> None:
    """Raise ConfigError, with the list of what exists, unless `kind` names a correlation."""
    if kind not in KINDS:
        raise ConfigError(unknown("correlation", kind, KINDS))


def correlate_grid(
    kind: Kind, means: Floats, base: Floats, human: Floats, w: ArrayLike, precision: float = 0.0
) -> Floats:
    """float64[P, W] correlation of s1 = w * base + (1 - w) * means[:, p] with the human scores, for all p and w.

    means: float64[N, P], base: float64[N], human: float64[N] (NaN = not rated), w: float64[W] in [0, 1].
    Every point uses the same segments: those whose human score, base score and means are all finite. A point
    is the correlation of the float64 numbers s1, as SciPy would give it, to 1e-12 (Kendall: equal); the column
    w = 1 is the baseline, the same number for every p.
    precision: the relative error of the means. Means that differ by no more tie for the rank correlations, and a
    point (w below 1) whose scores all lie that close together is constant, so NaN: rounding creates no order. At 0
    the float64 numbers count as they are.
    Raises ConfigError for an unknown kind.
    """
    check_kind(kind)
    w = np.asarray(w, dtype=np.float64)
    used = np.isfinite(human) & np.isfinite(base)
    sums = np.ones(len(base)) @ means  # NaN or infinity anywhere shows in the sum of its column
    if not (used.all() and np.isfinite(sums).all()):
        used &= np.isfinite(means).all(axis=1)
        means, base, human = means[used], base[used], human[used]
        sums = np.ones(len(base)) @ means
    result = np.full((means.shape[1], len(w)), np.nan)
    if len(base) < FEWEST:
        return result
    if kind == "pearson":
        return _pearson_grid(means, sums / len(base), base, human, w, precision)
    blend = w != 1
    result[:, blend] = _ordered_grid(kind, means, base, human, w[blend], precision)
    if not blend.all():
        result[:, ~blend] = _ordered(kind, base, human)
    return result


def _pearson_grid(
    means: Floats, centre: Floats, base: Floats, human: Floats, w: Floats, precision: float = 0.0
) -> Floats:
    """All w from the second moments of base, mean and human score at each p; centre: float64[P] the mean of means.

    Where too few digits are left of the variance, a point is recomputed from its scores.
    """
    if (human == human[0]).all():
        return np.full((len(centre), len(w)), np.nan)
    human_unit = unit(human)
    base_centre = float(base.mean())
    base_left = base - base_centre
    # One product with each vector: a product with both at once would copy all means first.
    with_human, with_base = human_unit @ means, base_left @ means
    own, level = np.einsum("np,np->p", means, means), len(base) * centre**2
    own -= level
    close = np.flatnonzero(~(own > CENTRED * level))  # means so close to each other lose digits unless centred first
    if len(close):
        some = slice(close[0], close[-1] + 1)  # all p between: a range is not copied
        left = means[:, some] - centre[some]
        with_human[some], with_base[some] = human_unit @ left, base_left @ left
        own[some] = np.einsum("np,np->p", left, left)
    share, rest = w[:, None], 1 - w[:, None]  # [W, P] from here on, for long inner loops
    parts = share**2 * float(base_left @ base_left) + rest**2 * own
    variance = parts + 2 * share * rest * with_base
    size = share * abs(base_centre) + rest * np.abs(centre)
    enough = np.maximum(CANCELLED * parts, len(base) * (ROUNDED * size) ** 2)
    direct = ~((variance > enough) & (variance < np.inf))
    variance[direct] = 1.0
    result: Floats = (share * float(base_left @ human_unit) + rest * with_human) / np.sqrt(variance)
    for column in np.flatnonzero(direct.any(axis=1)):
        again = direct[column]
        scores = w[column] * base[:, None] + (1 - w[column]) * means[:, again]
        result[column, again] = _pearson_columns(scores, human, precision if w[column] != 1 else 0.0)
    clipped: Floats = np.clip(result, -1.0, 1.0).T
    return clipped


def _pearson_columns(scores: Floats, human: Floats, precision: float) -> Floats:
    """float64[K] Pearson's r of float64[N, K] scores and human scores in two passes.

    NaN for scores that are equal to a relative `precision`.
    """
    result = np.full(scores.shape[1], np.nan)
    least, most = scores.min(axis=0), scores.max(axis=0)
    varies = most - least > precision * np.maximum(np.abs(least), np.abs(most))
    result[varies] = unit(human) @ unit(scores[:, varies])
    return result


def unit(values: Floats) -> Floats:
    """Columns float64[N] or [N, K] less their mean, of length 1; scaled first, which keeps squares of tiny numbers."""
    left: Floats = values - values.mean(axis=0)
    left /= np.abs(left).max(axis=0)
    left /= np.sqrt(np.einsum("n...,n...->...", left, left))
    return left


def _ordered(kind: Kind, x: ArrayLike, y: ArrayLike) -> float:
    x, y = _rated_pairs(x, y)
    if len(x) < FEWEST:
        return float("nan")
    rank = np.unique(x, return_inverse=True)[1].astype(np.float64)  # finite, whatever x holds
    return float(_ordered_grid(kind, rank[:, None], np.zeros(len(x)), y, np.zeros(1)).item())


def _ordered_grid(kind: Kind, means: Floats, base: Floats, human: Floats, w: Floats, precision: float = 0.0) -> Floats:
    from bmx_grid.measures.ordered import ordered_grid

    return ordered_grid(kind == "kendall", means, base, human, w, precision)


def _rated_pairs(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 1:
        raise ValueError(f"two arrays of one length are correlated, not shapes {x.shape} and {y.shape}")
    rated = ~(np.isnan(x) | np.isnan(y))
    return x[rated], y[rated]
