"""P values of several tests: Holm's and Benjamini and Hochberg's, and the resamples that a family of tests needs."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from bmx_grid.core.ragged import Flags, Floats, Ints

LEVEL = 0.05  # of corrected p values
NEAR = 10  # p values up to so many times the smallest are looked at again in a large family
ENOUGH = 4  # times the resamples that a family needs to show one difference
MOST_REPEATED = 200_000


def holm(p: ArrayLike) -> Floats:
    """Adjust p-values for multiple tests by Holm's method.

    Controls the family-wise error rate under any dependence of the tests (Holm 1979).

    Args:
        p: float64[n], p-values of one family of tests. NaN (an undefined test) stays NaN and is not counted in n.

    Returns:
        float64[n]: Adjusted p-values: the i-th smallest times n - i + 1, at least the one before, at most 1.

    Raises:
        ValueError: `p` is not one-dimensional, or a p-value is outside [0, 1].

    Example:
        >>> from bmx_grid.measures import holm
        >>> holm([0.01, 0.04, 0.03]).round(3)
        array([0.03, 0.06, 0.06])
    """
    p, order = _check_and_sort(p)
    # n for the smallest p, 1 for the largest
    factors = len(order) - np.arange(len(order))
    adjusted = np.full(p.shape, np.nan)
    adjusted[order] = np.maximum.accumulate(p[order] * factors).clip(max=1.0)
    return adjusted


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """Adjust p-values for multiple tests by the Benjamini-Hochberg method.

    Controls the false discovery rate (Benjamini and Hochberg 1995).

    Args:
        p: float64[n], p-values of one family of tests. NaN (an undefined test) stays NaN and is not counted in n.

    Returns:
        float64[n]: Adjusted p-values: the i-th smallest times n / i, at most the one after.

    Raises:
        ValueError: `p` is not one-dimensional, or a p-value is outside [0, 1].

    Example:
        >>> from bmx_grid.measures import benjamini_hochberg
        >>> benjamini_hochberg([0.01, 0.04, 0.03]).round(3)
        array([0.03, 0.04, 0.04])
    """
    p, order = _check_and_sort(p)
    # n for the smallest p, 1 for the largest
    factors = len(order) / np.arange(1, len(order) + 1)
    adjusted = np.full(p.shape, np.nan)
    # The smallest of an adjusted p and those after it.
    adjusted[order[::-1]] = np.minimum.accumulate((p[order] * factors)[::-1])
    return adjusted


def _check_and_sort(p: ArrayLike) -> tuple[Floats, Ints]:
    """float64[n] p values, and the places of those that are not NaN from the smallest to the largest."""
    p = np.asarray(p, dtype=np.float64)
    if p.ndim != 1:
        raise ValueError(f"a family of p values is one array, not of shape {p.shape}")
    tested = np.flatnonzero(~np.isnan(p))
    outside = (p[tested] < 0) | (p[tested] > 1)
    if outside.any():
        raise ValueError("a p value is between 0 and 1")
    return p, tested[np.argsort(p[tested], kind="stable")]


def select_repeats(p: ArrayLike, resamples: int) -> tuple[Flags, int]:
    """bool[n] which permutation tests of a family are repeated, and with how many resamples.

    p: float64[n] of `resamples` each. R resamples show nothing in a large family: 1 / (R + 1) times its size is above
    the level. Tests that came near to their smallest p are then done again, with resamples enough for the family and
    with draws of their own (`seed_of_repeats`). A test must pass both rounds, so that its level is kept.
    """
    p = np.asarray(p, dtype=np.float64)
    size = int(np.isfinite(p).sum())
    too_few = size / (resamples + 1) > LEVEL
    enough = math.ceil(ENOUGH * size / LEVEL)
    return too_few & (p <= NEAR / (resamples + 1)), min(enough, MOST_REPEATED)


def seed_of_repeats(seed: int) -> int:
    """The seed of repeated tests: with that of the first round, its draws would come again."""
    (state,) = np.random.SeedSequence([seed, 1]).generate_state(1)
    return int(state)
