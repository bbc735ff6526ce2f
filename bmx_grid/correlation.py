"""Correlation with human scores: Pearson, Spearman, Kendall; one pair of arrays or all points of a grid (paper 3.5).

Definitions are SciPy's: Spearman's rho is Pearson's r of average ranks, Kendall's tau is tau-b. A
correlation is NaN with fewer than 3 rated pairs, or when one side is constant: all its float64 numbers equal.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bmx_grid.errors import ConfigError, unknown

Floats = NDArray[np.float64]
Kind = Literal["pearson", "spearman", "kendall"]
KINDS: tuple[str, ...] = get_args(Kind)

FEWEST = 3  # two pairs correlate perfectly whatever they are
CANCELLED = 1e-3  # share of the variance that must be left when base and mean cancel, to trust the moments
ROUNDED = 1e-4  # spread of the scores, relative to their size, from which their own rounding shows


def pearson(x: ArrayLike, y: ArrayLike) -> float:
    """Pearson's r of two float64[N]; pairs with NaN on either side (not rated) are left out."""
    x, y = _rated_pairs(x, y)
    return float(_pearson_columns(x[:, None], y)[0])


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


def check_kind(kind: str) -> None:
    """Raise ConfigError, with the list of what exists, unless `kind` names a correlation."""
    if kind not in KINDS:
        raise ConfigError(unknown("correlation", kind, KINDS))


def correlate_grid(kind: Kind, means: Floats, base: Floats, human: Floats, w: ArrayLike) -> Floats:
    """float64[P, W] correlation of s1 = w * base + (1 - w) * means[:, p] with the human scores, for all p and w.

    means: float64[N, P], base: float64[N], human: float64[N] (NaN = not rated), w: float64[W] in [0, 1].
    Every point uses the same segments: those whose human score, base score and means are all finite. A point
    is the correlation of the float64 numbers s1, as SciPy would give it, to 1e-12 (Kendall: equal); the column
    w = 1 is the baseline, the same number for every p.
    Raises ConfigError for an unknown kind.
    """
    check_kind(kind)
    w = np.asarray(w, dtype=np.float64)
    used = np.isfinite(human) & np.isfinite(base) & np.isfinite(means).all(axis=1)
    if not used.all():
        means, base, human = means[used], base[used], human[used]
    result = np.full((means.shape[1], len(w)), np.nan)
    if len(base) < FEWEST:
        return result
    blend = w != 1
    result[:, ~blend] = correlate(kind, base, human)
    if kind == "pearson":
        result[:, blend] = _pearson_grid(means, base, human, w[blend])
    else:
        result[:, blend] = _ordered_grid(kind, means, base, human, w[blend])
    return result


def _pearson_grid(means: Floats, base: Floats, human: Floats, w: Floats) -> Floats:
    """All w from the moments of base, mean and human score at each p; points that lose digits so are done directly."""
    n = len(base)
    human_unit = human - human.mean()
    human_norm = np.linalg.norm(human_unit)
    if (human == human[0]).all():
        return np.full((means.shape[1], len(w)), np.nan)
    human_unit /= human_norm
    base_mean, mean = base.mean(), means.mean(axis=0)
    base_left = base - base_mean
    mean_left = means - mean
    with_human, with_base = np.stack([human_unit, base_left]) @ mean_left
    own = np.einsum("np,np->p", mean_left, mean_left)
    base_part, mean_part = w**2 * (base_left @ base_left), (1 - w) ** 2 * own[:, None]
    variance = base_part + 2 * w * (1 - w) * with_base[:, None] + mean_part
    covariance = w * (base_left @ human_unit) + (1 - w) * with_human[:, None]
    size = w * abs(base_mean) + (1 - w) * np.abs(mean)[:, None]
    direct = (variance <= CANCELLED * (base_part + mean_part)) | (variance <= n * (ROUNDED * size) ** 2)
    result: Floats = np.clip(covariance / np.sqrt(np.where(direct, 1.0, variance)), -1.0, 1.0)
    for column in np.flatnonzero(direct.any(axis=0)):
        rows = np.flatnonzero(direct[:, column])
        scores = w[column] * base[:, None] + (1 - w[column]) * means[:, rows]
        result[rows, column] = _pearson_columns(scores, human)
    return result


def _pearson_columns(scores: Floats, human: Floats) -> Floats:
    """float64[K] Pearson's r of float64[N, K] scores with the human scores, in two passes."""
    result = np.full(scores.shape[1], np.nan)
    if len(human) < FEWEST or (human == human[0]).all() or not np.isfinite(human).all():
        return result
    varies = np.isfinite(scores).all(axis=0) & (scores != scores[0]).any(axis=0)
    left, right = _unit(scores[:, varies]), _unit(human[:, None])[:, 0]
    result[varies] = np.clip(right @ left, -1.0, 1.0)
    return result


def _unit(columns: Floats) -> Floats:
    """Columns less their mean, of length 1; scaled first, so that tiny or huge numbers keep their squares."""
    left: Floats = columns - columns.mean(axis=0)
    left /= np.abs(left).max(axis=0)
    left /= np.sqrt(np.einsum("nk,nk->k", left, left))
    return left


def _ordered(kind: Kind, x: ArrayLike, y: ArrayLike) -> float:
    x, y = _rated_pairs(x, y)
    if len(x) < FEWEST:
        return float("nan")
    rank = np.unique(x, return_inverse=True)[1].astype(np.float64)  # finite, whatever x holds
    return float(_ordered_grid(kind, rank[:, None], np.zeros(len(x)), y, np.zeros(1))[0, 0])


def _ordered_grid(kind: Kind, means: Floats, base: Floats, human: Floats, w: Floats) -> Floats:
    from bmx_grid._ordered import ordered_grid

    return ordered_grid(kind == "kendall", means, base, human, w)


def _rated_pairs(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 1:
        raise ValueError(f"two arrays of one length are correlated, not shapes {x.shape} and {y.shape}")
    rated = ~(np.isnan(x) | np.isnan(y))
    return x[rated], y[rated]
