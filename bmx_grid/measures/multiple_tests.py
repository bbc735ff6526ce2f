"""P values of several tests: Holm's and Benjamini and Hochberg's."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from bmx_grid.core.ragged import Floats


def holm(p: ArrayLike) -> Floats:
    """float64[n] p values adjusted by Holm (1979): the family-wise error rate, whatever the tests' dependence.

    The i-th smallest of n is multiplied by n - i + 1 and made no smaller than the one before, at most 1. NaN (a test
    that is undefined) stays NaN and does not count in n. Raises ValueError for numbers outside [0, 1].
    """
    p = np.asarray(p, dtype=np.float64)
    if p.ndim != 1:
        raise ValueError(f"a family of p values is one array, not of shape {p.shape}")
    tested = np.flatnonzero(~np.isnan(p))
    outside = (p[tested] < 0) | (p[tested] > 1)
    if outside.any():
        raise ValueError("a p value is between 0 and 1")
    order = tested[np.argsort(p[tested], kind="stable")]
    adjusted = np.full(p.shape, np.nan)
    # n for the smallest p, 1 for the largest
    factors = len(order) - np.arange(len(order))
    raised = np.maximum.accumulate(p[order] * factors)
    adjusted[order] = np.minimum(raised, 1.0)
    return adjusted


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """float64[n] p values adjusted by Benjamini and Hochberg (1995): the false discovery rate. NaN as for `holm`."""
    from scipy.stats import false_discovery_control

    adjusted = np.array(p, dtype=np.float64)
    known = np.isfinite(adjusted)
    if known.any():
        adjusted[known] = false_discovery_control(adjusted[known])
    return adjusted
