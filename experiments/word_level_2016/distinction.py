"""How many pairs of labellings a measure tells apart: the distinction coefficient of Logacheva et al. (2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bmx_grid.core.errors import ConfigError, unknown
from bmx_grid.measures.multiple_tests import holm

Floats = NDArray[np.float64]
Correction = Literal["bonferroni", "holm"]


@dataclass(frozen=True)
class Distinction:
    """Shares of significantly different pairs, NaN for fewer than two labellings.

    d: of all pairs; d_top, d_bottom: within the better and the worse half of the ranking. n, n_top, n_bottom: how many
    labellings each is of.
    """

    d: float
    d_top: float
    d_bottom: float
    n: int
    n_top: int
    n_bottom: int


def distinction(
    scores: ArrayLike,
    pairs: ArrayLike,
    p: ArrayLike,
    *,
    alpha: float = 0.05,
    correction: Correction = "bonferroni",
) -> Distinction:
    """The distinction coefficients of one measure.

    scores: float64[S] of the labellings, higher is better; pairs: int[P, 2]; p: float64[P] of their tests. Labellings
    without a score (NaN) are left out. Of an odd number the middle one of the ranking is in the upper half; equal
    scores are ranked in the order given.

    p values are corrected for the number of pairs that are compared, separately within each half, as in the
    paper's footnote 3: so a greater d need not mean a greater d_top and d_bottom, and coefficients of different numbers
    of labellings are not comparable. Raises ConfigError for an unknown correction.
    """
    if correction not in get_args(Correction):
        raise ConfigError("correction: " + unknown("correction", correction, get_args(Correction)))
    values, tested = np.asarray(scores, dtype=np.float64), np.asarray(p, dtype=np.float64)
    order = np.argsort(-values, kind="stable")
    ranked = order[~np.isnan(values[order])]
    top = (len(ranked) + 1) // 2
    groups = [set(ranked.tolist()), set(ranked[:top].tolist()), set(ranked[top:].tolist())]
    of_pairs = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    found = []
    for group in groups:
        inside = np.array([first in group and second in group for first, second in of_pairs.tolist()], dtype=np.bool_)
        chosen = tested[inside]
        found.append(float((_corrected(chosen, correction) <= alpha).mean()) if len(chosen) else float("nan"))
    return Distinction(found[0], found[1], found[2], len(groups[0]), len(groups[1]), len(groups[2]))


def bonferroni(p: ArrayLike) -> Floats:
    """float64[n] p values times the number of tests, at most 1; NaN stays NaN and does not count (Abdi 2007)."""
    values = np.asarray(p, dtype=np.float64)
    found: Floats = np.minimum(values * np.count_nonzero(~np.isnan(values)), 1.0)
    return found


def _corrected(p: Floats, correction: Correction) -> Floats:
    return bonferroni(p) if correction == "bonferroni" else holm(p)
