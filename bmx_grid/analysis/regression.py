"""Ridge regression of the gain on what a setting is made of (paper 4.3, Figure 8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bmx_grid.analysis.table import FACTORS, Floats, GridTable

ALPHA = 1.0


@dataclass(frozen=True)
class RidgeFit:
    """The fit of gain = intercept + a coefficient for each name of each factor.

    Least squares with the penalty alpha * sum(coefficient**2); the intercept is not penalised. That is scikit-learn's
    Ridge(alpha=1) on columns of 0 and 1. Columns of a factor add up to 1, and language pairs belong to data sets:
    a coefficient is a share of the gain among many such splits, not an effect.
    coefficients: (factor, name) to coefficient, largest first; intercept; n: settings fitted; r2: share of the gains'
    variance explained. All NaN without a defined gain.
    """

    alpha: float
    coefficients: Mapping[tuple[str, str], float]
    intercept: float
    n: int
    r2: float


def fit_ridge(table: GridTable, gain: Floats) -> RidgeFit:
    """The fit over the settings of a table with a defined gain, float64[S]."""
    defined = ~np.isnan(gain)
    kept = [one for one, good in zip(table.settings, defined, strict=True) if good]
    y = gain[defined]
    if not kept:
        return RidgeFit(ALPHA, {}, float("nan"), 0, float("nan"))
    columns = [(factor, name) for factor in FACTORS for name in sorted({getattr(one, factor) for one in kept})]
    x = np.array([[getattr(one, factor) == name for factor, name in columns] for one in kept], dtype=np.float64)
    centre, level = x.mean(axis=0), float(y.mean())
    centred = x - centre
    beta = np.linalg.solve(centred.T @ centred + ALPHA * np.eye(len(columns)), centred.T @ (y - level))
    around = float(((y - level) ** 2).sum())
    left = float(((y - level - centred @ beta) ** 2).sum())
    ordered = sorted(zip(columns, beta.tolist(), strict=True), key=lambda one: (-one[1], one[0]))
    r2 = 1 - left / around if around > 0 else float("nan")
    return RidgeFit(ALPHA, dict(ordered), level - float(centre @ beta), len(kept), r2)
