"""Numbers of any size brought below 1 by a power of two: no square underflows or overflows, and no digit changes.

Correlations, tests and verdicts do not depend on the scale of scores: a sentence probability near 1e-200 says the same
as its thousandth power of ten. Squares of such numbers are 0 in float64, so what squares scores scales them first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bmx_grid.core.ragged import Floats


def size_exponent(values: Floats) -> Any:
    """The power of two just above the largest size in float64[N], or int[K] in each column of float64[N, K].

    0 for zeros, and for no numbers; NaN and infinity do not count.
    """
    sizes = np.where(np.isfinite(values), np.abs(values), 0.0)
    _, exponent = np.frexp(sizes.max(axis=0, initial=0.0))
    return exponent


def below_one(values: Floats) -> Floats:
    """The same numbers, each column over a power of two that leaves its largest size between 1/2 and 1."""
    return np.asarray(np.ldexp(values, -size_exponent(values)))


def standard_deviation(values: Floats) -> Any:
    """The standard deviation (divided by N) of float64[N], or float64[K] of each column of float64[N, K]."""
    exponent = size_exponent(values)
    deviation = np.ldexp(values, -exponent).std(axis=0)
    return np.ldexp(deviation, exponent)
