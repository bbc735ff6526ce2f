"""Ridge regression of the gain on the parts of a setting (paper 4.3, Figure 8).

Settings of one data set and language pair share segments and human scores. Standard errors therefore come from a
bootstrap of these clusters; a name that occurs in fewer than three of them, as most language pairs do, has none.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bmx_grid.analysis.base import FACTORS, Column, Given, Table
from bmx_grid.analysis.gains import real_gains
from bmx_grid.analysis.points import chosen_points, points_in_words
from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.core.wording import counted, number
from bmx_grid.measures.resampling import FEWEST_CLUSTERS, codes, draws, number_of

PENALTY = 1.0  # alpha
RESAMPLES = 1000


@dataclass(frozen=True)
class Coefficient:
    """The share of a name of a factor in the gain, with its standard error; NaN for a name in fewer than 3 clusters."""

    factor: str
    name: str
    coefficient: float
    error: float


@dataclass(frozen=True)
class FitRow(Coefficient):
    """One row of ridge.parquet: a coefficient, and what is of the whole fit."""

    intercept: float
    r2: float
    n: int
    clusters: int
    alpha: float


@dataclass(frozen=True)
class GainFit:
    """gain = intercept + one coefficient per name of each factor, over the n settings with a gain.

    Least squares with the penalty alpha * sum(coefficient**2); the intercept is not penalised. That is scikit-learn's
    Ridge(alpha=1) on columns of 0 and 1. Columns of a factor add up to 1, and language pairs belong to data sets:
    a coefficient is a share of the gain among many such splits, not an effect.
    r2: share of the gains' variance explained; clusters: how many there are. coefficients: largest first, by name,
    factor:name where two factors share a name; standard_errors: of these, by a bootstrap of clusters, data set x
    language pair, over the resamples that hold the name.
    """

    alpha: float
    intercept: float
    n: int
    r2: float
    clusters: int
    coefficients: Mapping[str, float]
    standard_errors: Mapping[str, float]


@dataclass(frozen=True)
class Regression:
    """ridge: the fit; ridge_coefficients: its coefficients as rows."""

    ridge: GainFit
    ridge_coefficients: Sequence[Coefficient]
    points: str


def compute(given: Given) -> Regression:
    """The fit of the gains at the points of the explainers; undefined without one."""
    settings = [row for row in given.ask(real_gains) if not math.isnan(row.gain)]
    y = np.array([row.gain for row in settings])
    names: list[tuple[str, str]] = []
    columns = []
    for factor in FACTORS:
        levels = [getattr(row.setting, factor) for row in settings]
        for name in sorted(set(levels)):
            names.append((factor, name))
            columns.append([level == name for level in levels])
    clusters = codes([row.setting.cluster for row in settings])
    intercept = math.nan
    r2 = math.nan
    rows: list[Coefficient] = []
    if settings:
        # Laid out by rows: sums in another order differ in their last digits.
        x = np.array(columns, dtype=np.float64).T.copy()
        once = np.ones(len(y))
        beta, intercept = ridge(x, y, once)
        deviations = y - y.mean()
        residuals = y - intercept - x @ beta
        around = float((deviations**2).sum())
        left = float((residuals**2).sum())
        # Equal gains have no variance to explain.
        if around > 0:
            r2 = 1 - left / around
        errors = cluster_errors(x, y, clusters, given.seed)
        numbers = zip(beta.tolist(), errors.tolist(), strict=True)
        for (factor, name), (coefficient, error) in zip(names, numbers, strict=True):
            rows.append(Coefficient(factor, name, coefficient, error))
        rows.sort(key=lambda row: (-row.coefficient, row.factor, row.name))
    # A metric and an explainer may have one name, such as "random".
    known = Counter(row.name for row in rows)
    coefficients = {}
    standard_errors = {}
    for row in rows:
        key = row.name
        if known[key] > 1:
            key = f"{row.factor}:{row.name}"
        coefficients[key] = row.coefficient
        standard_errors[key] = row.error
    fit = GainFit(
        alpha=PENALTY,
        intercept=intercept,
        n=len(y),
        r2=r2,
        clusters=number_of(clusters),
        coefficients=coefficients,
        standard_errors=standard_errors,
    )
    return Regression(fit, rows, points_in_words(given.ask(chosen_points)))


def tables(result: Regression) -> Iterator[Table]:
    """All coefficients."""
    fit = result.ridge
    if not result.ridge_coefficients:
        return
    columns = ("factor", "name", Column("coefficient", form="+.5f"), Column("error", "standard error", ".5f"))
    note = (
        f"Ridge regression, alpha {fit.alpha:g}, of the gain at the fixed points of {counted(fit.n, 'setting')}; "
        f"intercept {number(fit.intercept, '+.5f')}, R² {number(fit.r2, '.5f')}. "
        "The factors are not independent: a coefficient is not an effect. Standard errors: bootstrap of "
        f"{fit.clusters} language pairs; n/a for a name in fewer than 3 of them."
    )
    title = "What goes with a larger or smaller gain"
    notes = (note, result.points)
    yield Table.of("ridge_coefficients", title, result.ridge_coefficients, columns, notes, names=2)


def fit_rows(given: Given) -> list[FitRow]:
    """The fit as one table, largest coefficient first; no rows where nothing was fitted."""
    result = given.ask(compute)
    fit = result.ridge
    rows = []
    for coefficient in result.ridge_coefficients:
        row = FitRow(
            **vars(coefficient), intercept=fit.intercept, r2=fit.r2, n=fit.n, clusters=fit.clusters, alpha=fit.alpha
        )
        rows.append(row)
    return rows


def ridge(x: Floats, y: Floats, weights: Floats) -> tuple[Floats, float]:
    """float64[K] coefficients of x: float64[n, K] for y: float64[n], each row counted float64[n] times; the intercept.

    NaN for a column that is 0 wherever a row counts: it says nothing.
    """
    # Centred, so that the intercept is not penalised.
    total = weights.sum()
    centre = weights @ x / total
    level = float(weights @ y / total)
    centred = x - centre
    weighted = centred.T * weights
    penalty = PENALTY * np.eye(x.shape[1])
    # The normal equations, with the penalty on the diagonal.
    beta = np.linalg.solve(weighted @ centred + penalty, weighted @ (y - level))
    intercept = level - float(centre @ beta)
    return np.where(centre == 0, np.nan, beta), intercept


def cluster_errors(x: Floats, y: Floats, cluster: Ints, seed: int, resamples: int = RESAMPLES) -> Floats:
    """float64[K] standard errors of the coefficients of `ridge`, by a bootstrap of clusters, int64[n] from 0 on.

    NaN for a column in fewer than 3 clusters.
    """
    n_clusters = []  # that hold the name of a column
    for column in x.T:
        holding = np.unique(cluster[column > 0])
        n_clusters.append(len(holding))
    enough = np.array(n_clusters) >= FEWEST_CLUSTERS
    errors = np.full(x.shape[1], np.nan)
    if enough.any():
        generator = np.random.default_rng(seed)
        fits = []
        for times in draws(generator, number_of(cluster), resamples):
            beta, _ = ridge(x, y, times[cluster])
            fits.append(beta)
        coefficients = np.array(fits)
        # A resample without the name says nothing of its coefficient.
        errors[enough] = np.nanstd(coefficients[:, enough], axis=0, ddof=1)
    return errors
