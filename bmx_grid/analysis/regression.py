"""Ridge regression of the gain on the parts of a setting (paper 4.3, Figure 8).

Settings of one data set and language pair share segments and human scores. Standard errors therefore come from a
bootstrap of these clusters; a name that occurs in fewer than three of them, as most language pairs do, has none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bmx_grid.analysis import fixed
from bmx_grid.analysis.base import Cell, Table, working, written
from bmx_grid.analysis.given import Given
from bmx_grid.analysis.table import FACTORS, Floats, GridTable
from bmx_grid.measures.resampling import FEWEST_CLUSTERS, codes, draws, number_of
from bmx_grid.wording import counted

ALPHA = 1.0
RESAMPLES = 1000


@dataclass(frozen=True)
class RidgeFit:
    """The fit of gain = intercept + one coefficient per name of each factor.

    Least squares with the penalty alpha * sum(coefficient**2); the intercept is not penalised. That is scikit-learn's
    Ridge(alpha=1) on columns of 0 and 1. Columns of a factor add up to 1, and language pairs belong to data sets:
    a coefficient is a share of the gain among many such splits, not an effect.
    coefficients: (factor, name) to coefficient, largest first; named: the same by name, factor:name where two factors
    share a name; intercept; n: settings fitted; r2: share of the gains' variance explained. All NaN without a defined
    gain.
    errors, named_errors: the coefficients' standard errors by a bootstrap of clusters, data set x language pair, over
    the resamples that hold the name; NaN for a name in fewer than 3 clusters. clusters: how many there are.
    """

    alpha: float
    intercept: float
    n: int
    r2: float
    coefficients: Mapping[tuple[str, str], float] = working()
    named: Mapping[str, float] = written("coefficients")
    errors: Mapping[tuple[str, str], float] = working()
    named_errors: Mapping[str, float] = written("standard_errors")
    clusters: int = 0


@dataclass(frozen=True, eq=False)
class Ridge:
    """ridge: the fit of the gains at the fixed points; points: these, in words."""

    ridge: RidgeFit
    points: str = working()


def compute(given: Given) -> Ridge:
    """The fit over the settings that are not controls."""
    at = given.ask(fixed.compute)
    return Ridge(fit_ridge(given.real, at.evaluation.gain, given.options.seed), at.points.in_words())


def tables(result: Ridge) -> Sequence[Table]:
    """All coefficients."""
    fit = result.ridge
    if not fit.coefficients:
        return ()
    rows = tuple(
        (Cell(factor), Cell(name), Cell(value, "+.5f"), Cell(fit.errors[factor, name], ".5f"))
        for (factor, name), value in fit.coefficients.items()
    )
    below = (
        (Cell("intercept"), Cell(""), Cell(fit.intercept, "+.5f"), Cell(None)),
        (Cell("R²"), Cell(""), Cell(fit.r2, ".4f"), Cell(None)),
    )
    note = f"Ridge regression, alpha {fit.alpha:g}, of the gain at the fixed points of {counted(fit.n, 'setting')}."
    table = Table(
        "ridge_coefficients",
        "What goes with a larger or smaller gain",
        ("factor", "name", "coefficient", "standard error"),
        (rows, below),
        (
            f"{note} The factors are not independent: a coefficient is not an effect. Standard errors: bootstrap of "
            f"{fit.clusters} language pairs; n/a for a name in fewer than 3 of them.",
            result.points,
        ),
        names=2,
    )
    return (table,)


def fit_ridge(table: GridTable, gain: Floats, seed: int = 0) -> RidgeFit:
    """The fit over the settings of a table with a defined gain, float64[S]; seed: of the bootstrap of clusters."""
    defined = ~np.isnan(gain)
    kept = [one for one, good in zip(table.settings, defined, strict=True) if good]
    y = gain[defined]
    if not kept:
        return RidgeFit(ALPHA, float("nan"), 0, float("nan"), {}, {}, {}, {})
    columns = [(factor, name) for factor in FACTORS for name in sorted({getattr(one, factor) for one in kept})]
    x = np.array([[getattr(one, factor) == name for factor, name in columns] for one in kept], dtype=np.float64)
    centre, level = x.mean(axis=0), float(y.mean())
    centred = x - centre
    beta = np.linalg.solve(centred.T @ centred + ALPHA * np.eye(len(columns)), centred.T @ (y - level))
    errors = dict(zip(columns, cluster_errors(x, y, codes(table.clusters[defined]), seed).tolist(), strict=True))
    around = float(((y - level) ** 2).sum())
    left = float(((y - level - centred @ beta) ** 2).sum())
    ordered = sorted(zip(columns, beta.tolist(), strict=True), key=lambda one: (-one[1], one[0]))
    r2 = 1 - left / around if around > 0 else float("nan")
    shared = Counter(name for _, name in columns)
    titles = {(factor, name): f"{factor}:{name}" if shared[name] > 1 else name for factor, name in columns}
    return RidgeFit(
        alpha=ALPHA,
        intercept=level - float(centre @ beta),
        n=len(kept),
        r2=r2,
        coefficients=dict(ordered),
        named={titles[key]: value for key, value in ordered},
        errors=errors,
        named_errors={titles[key]: errors[key] for key, _ in ordered},
        clusters=len(set(table.clusters[defined].tolist())),
    )


def cluster_errors(x: Floats, y: Floats, cluster: NDArray[np.int64], seed: int, resamples: int = RESAMPLES) -> Floats:
    """float64[K] standard errors of the coefficients of x: float64[n, K] for y: float64[n], by a bootstrap of clusters.

    cluster: int[n] from 0 on. A resample that lacks a column, all 0 there, says nothing of its coefficient and is left
    out for it; a column in fewer than 3 clusters has NaN.
    """
    n_clusters, n_columns = number_of(cluster), x.shape[1]
    members = np.zeros((n_clusters, len(y)))
    members[cluster, np.arange(len(y))] = 1.0
    counts = members @ x  # of each column in each cluster
    enough = (counts > 0).sum(axis=0) >= FEWEST_CLUSTERS
    if not enough.any():
        return np.full(n_columns, np.nan)
    products = np.einsum("cn,nj,nk->cjk", members, x, x, optimize=True)
    weights = draws(np.random.default_rng(seed), n_clusters, resamples)
    size, level = weights @ members.sum(axis=1), weights @ (members @ y)
    drawn = weights @ counts
    left = np.tensordot(weights, products, axes=1) - drawn[:, :, None] * drawn[:, None, :] / size[:, None, None]
    right = weights @ (members @ (x * y[:, None])) - drawn * (level / size)[:, None]
    beta = np.linalg.solve(left + ALPHA * np.eye(n_columns), right[:, :, None])[:, :, 0]
    beta[drawn == 0] = np.nan
    found = np.full(n_columns, np.nan)
    found[enough] = np.nanstd(beta[:, enough], axis=0, ddof=1)
    return found
