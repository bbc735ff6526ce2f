"""Many tests at once: p values adjusted for their number, and in how many members of a family an effect is real."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def holm(p: ArrayLike) -> Floats:
    """float64[n] p values adjusted by Holm (1979): the family-wise error rate, whatever the tests' dependence.

    The i-th smallest of n is multiplied by n - i + 1 and made no smaller than the one before, at most 1. NaN (a test
    that is undefined) stays NaN and does not count in n. Raises ValueError for numbers outside [0, 1].
    """
    p, tested, order = _ordered(p)
    size = len(order)
    found = np.full(p.shape, np.nan)
    found[tested[order]] = np.minimum(np.maximum.accumulate(p[tested[order]] * (size - np.arange(size))), 1.0)
    return found


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """float64[n] p values adjusted by Benjamini and Hochberg (1995): the false discovery rate.

    The i-th smallest of n is multiplied by n / i and made no larger than the next, at most 1. For independent or
    positively dependent tests (Benjamini and Yekutieli 2001). NaN and errors as for `holm`.
    """
    p, tested, order = _ordered(p)
    size = len(order)
    scaled = p[tested[order]] * size / np.arange(1, size + 1)
    found = np.full(p.shape, np.nan)
    found[tested[order]] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return found


def partial_conjunction_p(p: ArrayLike) -> Floats:
    """float64[n] p values of "fewer than u of the n effects are real", for u = 1 .. n (Benjamini and Heller 2008).

    By Bonferroni: (n - u + 1) times the u-th smallest p value, right for any dependence, as settings that share
    segments, metrics or human scores have it. Each is made no smaller than the one before, since u real effects are
    also u - 1. NaN in `p` is left out of n. Raises ValueError for numbers outside [0, 1].
    """
    p, tested, order = _ordered(p)
    size = len(order)
    found = np.minimum(p[tested[order]] * (size - np.arange(size)), 1.0)
    return np.asarray(np.maximum.accumulate(found) if size else found, dtype=np.float64)


def partial_conjunction(p: ArrayLike, alpha: float = 0.05) -> int:
    """k-hat: the effect is real in at least this many members of the family, with confidence 1 - alpha.

    The largest u whose `partial_conjunction_p` is at most alpha (Dror, Baumer, Bogomolov and Reichart 2017,
    "Replicability analysis for natural language processing", TACL 5), 0 for none. It says how many, not which:
    for the latter see `holm`.
    """
    return int((partial_conjunction_p(p) <= alpha).sum())


def _ordered(p: ArrayLike) -> tuple[Floats, NDArray[np.intp], NDArray[np.intp]]:
    """The p values, the places of those that are defined, and the order of these."""
    p = np.asarray(p, dtype=np.float64)
    if p.ndim != 1:
        raise ValueError(f"a family of p values is one array, not of shape {p.shape}")
    tested = np.flatnonzero(~np.isnan(p))
    if ((p[tested] < 0) | (p[tested] > 1)).any():
        raise ValueError("a p value is between 0 and 1")
    return p, tested, np.argsort(p[tested], kind="stable")
