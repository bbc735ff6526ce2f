"""Ridge regression of the gain on the parts of a setting (paper 4.3, Figure 8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bmx_grid.analysis import fixed
from bmx_grid.analysis.base import Cell, Table, working, written
from bmx_grid.analysis.given import Given
from bmx_grid.analysis.table import FACTORS, Floats, GridTable
from bmx_grid.wording import counted

ALPHA = 1.0


@dataclass(frozen=True)
class RidgeFit:
    """The fit of gain = intercept + one coefficient per name of each factor.

    Least squares with the penalty alpha * sum(coefficient**2); the intercept is not penalised. That is scikit-learn's
    Ridge(alpha=1) on columns of 0 and 1. Columns of a factor add up to 1, and language pairs belong to data sets:
    a coefficient is a share of the gain among many such splits, not an effect.
    coefficients: (factor, name) to coefficient, largest first; named: the same by name, factor:name where two factors
    share a name; intercept; n: settings fitted; r2: share of the gains' variance explained. All NaN without a defined
    gain.
    """

    alpha: float
    intercept: float
    n: int
    r2: float
    coefficients: Mapping[tuple[str, str], float] = working()
    named: Mapping[str, float] = written("coefficients")


@dataclass(frozen=True, eq=False)
class Ridge:
    """ridge: the fit of the gains at the fixed points; points: these, in words."""

    ridge: RidgeFit
    points: str = working()


def compute(given: Given) -> Ridge:
    """The fit over the settings that are not controls."""
    at = given.ask(fixed.compute)
    return Ridge(fit_ridge(given.real, at.evaluation.gain), at.points.in_words())


def tables(result: Ridge) -> Sequence[Table]:
    """All coefficients."""
    fit = result.ridge
    if not fit.coefficients:
        return ()
    rows = tuple((Cell(factor), Cell(name), Cell(value, "+.5f")) for (factor, name), value in fit.coefficients.items())
    below = ((Cell("intercept"), Cell(""), Cell(fit.intercept, "+.5f")), (Cell("R²"), Cell(""), Cell(fit.r2, ".4f")))
    note = f"Ridge regression, alpha {fit.alpha:g}, of the gain at the fixed points of {counted(fit.n, 'setting')}."
    table = Table(
        "ridge_coefficients",
        "What goes with a larger or smaller gain",
        ("factor", "name", "coefficient"),
        (rows, below),
        (f"{note} The factors are not independent: a coefficient is not an effect.", result.points),
        names=2,
    )
    return (table,)


def fit_ridge(table: GridTable, gain: Floats) -> RidgeFit:
    """The fit over the settings of a table with a defined gain, float64[S]."""
    defined = ~np.isnan(gain)
    kept = [one for one, good in zip(table.settings, defined, strict=True) if good]
    y = gain[defined]
    if not kept:
        return RidgeFit(ALPHA, float("nan"), 0, float("nan"), {}, {})
    columns = [(factor, name) for factor in FACTORS for name in sorted({getattr(one, factor) for one in kept})]
    x = np.array([[getattr(one, factor) == name for factor, name in columns] for one in kept], dtype=np.float64)
    centre, level = x.mean(axis=0), float(y.mean())
    centred = x - centre
    beta = np.linalg.solve(centred.T @ centred + ALPHA * np.eye(len(columns)), centred.T @ (y - level))
    around = float(((y - level) ** 2).sum())
    left = float(((y - level - centred @ beta) ** 2).sum())
    ordered = sorted(zip(columns, beta.tolist(), strict=True), key=lambda one: (-one[1], one[0]))
    r2 = 1 - left / around if around > 0 else float("nan")
    shared = Counter(name for _, name in columns)
    named = {f"{factor}:{name}" if shared[name] > 1 else name: value for (factor, name), value in ordered}
    return RidgeFit(ALPHA, level - float(centre @ beta), len(kept), r2, dict(ordered), named)
