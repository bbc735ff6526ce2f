"""Ridge regression of the gain on the parts of a setting (paper 4.3, Figure 8).

Settings of one data set and language pair share segments and human scores. Standard errors therefore come from a
bootstrap of these clusters; a name that occurs in fewer than three of them, as most language pairs do, has none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.analysis.base import FACTORS, Column, Given, Table
from bmx_grid.analysis.gains import real_gains
from bmx_grid.analysis.points import chosen_points, points_in_words
from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.core.wording import counted, number
from bmx_grid.measures.resampling import FEWEST_CLUSTERS, codes, draws, number_of

if TYPE_CHECKING:
    import pandas as pd

PENALTY = 1.0  # alpha
RESAMPLES = 1000


def compute(given: Given) -> dict[str, Any]:
    """gain = intercept + one coefficient per name of each factor, over the n settings with a gain; NaN without one.

    Least squares with the penalty alpha * sum(coefficient**2); the intercept is not penalised. That is scikit-learn's
    Ridge(alpha=1) on columns of 0 and 1. Columns of a factor add up to 1, and language pairs belong to data sets:
    a coefficient is a share of the gain among many such splits, not an effect.
    ridge: the fit. r2: share of the gains' variance explained; clusters: how many there are. coefficients: largest
    first, by name, factor:name if two factors share a name; standard_errors: of these, by a bootstrap of clusters,
    data set x language pair, over the resamples that hold the name; NaN for a name in fewer than 3 clusters.
    ridge_coefficients: the same as rows.
    """
    import pandas as pd

    settings = given.ask(real_gains)
    settings = settings[settings["gain"].notna()]
    y = settings["gain"].to_numpy(np.float64)
    clusters = codes(settings["cluster"].to_list())
    intercept = math.nan
    r2 = math.nan
    rows = pd.DataFrame(columns=["factor", "name", "coefficient", "error"])
    if len(settings):
        names = pd.get_dummies(settings[[*FACTORS]], prefix_sep=":", dtype=np.float64)
        # Laid out by rows: sums in another order differ in their last digits.
        x = np.ascontiguousarray(names.to_numpy())
        beta, intercept = ridge(x, y, np.ones(len(y)))
        deviations = y - y.mean()
        residuals = y - intercept - x @ beta
        around = float((deviations**2).sum())
        left = float((residuals**2).sum())
        # Equal gains have no variance to explain.
        if around > 0:
            r2 = 1 - left / around
        rows = names.columns.to_series().str.split(":", n=1, expand=True).set_axis(["factor", "name"], axis=1)
        rows = rows.assign(coefficient=beta, error=cluster_errors(x, y, clusters, given.seed))
        rows = rows.sort_values(["coefficient", "factor", "name"], ascending=[False, True, True], ignore_index=True)
    # A metric and an explainer may have one name, such as "random".
    is_shared = rows["name"].duplicated(keep=False)
    keys = rows["name"].mask(is_shared, rows["factor"] + ":" + rows["name"])
    fit = {
        "alpha": PENALTY,
        "intercept": intercept,
        "n": len(y),
        "r2": r2,
        "clusters": number_of(clusters),
        "coefficients": dict(zip(keys, rows["coefficient"].tolist(), strict=True)),
        "standard_errors": dict(zip(keys, rows["error"].tolist(), strict=True)),
    }
    points = points_in_words(given.ask(chosen_points))
    return {"ridge": fit, "ridge_coefficients": rows, "points": points}


def tables(result: Mapping[str, Any]) -> Iterator[Table]:
    """All coefficients."""
    fit = result["ridge"]
    rows = result["ridge_coefficients"]
    if rows.empty:
        return
    columns = ("factor", "name", Column("coefficient", form="+.5f"), Column("error", "standard error", ".5f"))
    note = (
        f"Ridge regression, alpha {fit['alpha']:g}, of the gain at the fixed points of {counted(fit['n'], 'setting')}; "
        f"intercept {number(fit['intercept'], '+.5f')}, R² {number(fit['r2'], '.5f')}. "
        "The factors are not independent: a coefficient is not an effect. Standard errors: bootstrap of "
        f"{fit['clusters']} language pairs; n/a for a name in fewer than 3 of them."
    )
    title = "What goes with a larger or smaller gain"
    notes = (note, result["points"])
    yield Table.of("ridge_coefficients", title, rows, columns, notes, names=2)


def fit_rows(given: Given) -> pd.DataFrame:
    """ridge.parquet: the coefficients, largest first, and what is of the whole fit; no rows if nothing was fitted."""
    result = given.ask(compute)
    fit = {name: result["ridge"][name] for name in ("intercept", "r2", "n", "clusters", "alpha")}
    rows: pd.DataFrame = result["ridge_coefficients"]
    return rows.assign(**fit)


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
