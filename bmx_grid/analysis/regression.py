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
from bmx_grid.analysis.gains import real_at_points
from bmx_grid.analysis.points import chosen_points, points_in_words
from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.core.wording import counted, number
from bmx_grid.measures.resampling import FEWEST_CLUSTERS, codes, draws, number_of

if TYPE_CHECKING:
    import pandas as pd

ALPHA = 1.0
RESAMPLES = 1000


def compute(given: Given) -> dict[str, Any]:
    """ridge: the fit of gain = intercept + one coefficient per name of each factor, over the settings with a gain.

    Least squares with the penalty alpha * sum(coefficient**2); the intercept is not penalised. That is scikit-learn's
    Ridge(alpha=1) on columns of 0 and 1. Columns of a factor add up to 1, and language pairs belong to data sets:
    a coefficient is a share of the gain among many such splits, not an effect.
    coefficients: largest first, by name, factor:name where two factors share a name; standard_errors: of these, by a
    bootstrap of clusters, data set x language pair, over the resamples that hold the name; NaN for a name in fewer than
    3 clusters. n: settings fitted; r2: share of the gains' variance explained; clusters: how many there are.
    """
    frame = given.ask(coefficients)
    names = frame["name"].where(~frame["name"].duplicated(keep=False), frame["factor"] + ":" + frame["name"])
    ridge = {
        "alpha": ALPHA,
        **frame.attrs,
        "coefficients": dict(zip(names, frame["coefficient"], strict=True)),
        "standard_errors": dict(zip(names, frame["error"], strict=True)),
    }
    return {"ridge": ridge, "ridge_coefficients": frame, "points": points_in_words(given.ask(chosen_points))}


def tables(result: Mapping[str, Any]) -> Iterator[Table]:
    """All coefficients."""
    fit, frame = result["ridge"], result["ridge_coefficients"]
    if not len(frame):
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
    yield Table.of("ridge_coefficients", title, frame, columns, notes, names=2)


def fit_table(given: Given) -> pd.DataFrame:
    """The fit as one table, largest coefficient first: factor, name, coefficient, error, and what is of the whole fit.

    That is the same in all rows: intercept, r2, n, clusters, alpha, as in `compute`. No rows where nothing was fitted.
    """
    found = given.ask(compute)
    whole = {name: found["ridge"][name] for name in ("intercept", "r2", "n", "clusters", "alpha")}
    frame: pd.DataFrame = found["ridge_coefficients"].assign(**whole)
    return frame


def coefficients(given: Given) -> pd.DataFrame:
    """The coefficients of the fit, largest first: factor, name, coefficient, error; the rest of it in `attrs`."""
    import pandas as pd

    settings = given.ask(real_at_points)
    settings = settings[settings["fixed_gain"].notna()]
    y = settings["fixed_gain"].to_numpy()
    columns = [(factor, name) for factor in FACTORS for name in sorted(set(settings[factor]))]
    frame = pd.DataFrame(columns, columns=["factor", "name"])
    fit: dict[Any, Any] = {"intercept": math.nan, "n": len(y), "r2": math.nan}
    fit["clusters"] = settings["cluster"].nunique()
    if not len(y):
        frame = frame.assign(coefficient=[], error=[])
        frame.attrs = fit
        return frame
    x = np.column_stack([(settings[factor] == name).to_numpy(np.float64) for factor, name in columns])
    beta, intercept = ridge(x, y, np.ones(len(y)))
    around, left = (float((values**2).sum()) for values in (y - y.mean(), y - intercept - x @ beta))
    fit |= {"intercept": intercept, "r2": 1 - left / around if around > 0 else math.nan}
    errors = cluster_errors(x, y, codes(settings["cluster"].to_numpy()), given.seed)
    frame = frame.assign(coefficient=beta, error=errors)
    frame = frame.sort_values(["coefficient", "factor", "name"], ascending=[False, True, True], ignore_index=True)
    frame.attrs = fit
    return frame


def ridge(x: Floats, y: Floats, weights: Floats) -> tuple[Floats, float]:
    """float64[K] coefficients of x: float64[n, K] for y: float64[n], each row counted float64[n] times; the intercept.

    NaN for a column that is 0 wherever a row counts: it says nothing.
    """
    centre, level = weights @ x / weights.sum(), float(weights @ y / weights.sum())
    centred = x - centre
    weighted = centred.T * weights
    beta = np.linalg.solve(weighted @ centred + ALPHA * np.eye(x.shape[1]), weighted @ (y - level))
    intercept = level - float(centre @ beta)
    return np.where(centre == 0, np.nan, beta), intercept


def cluster_errors(x: Floats, y: Floats, cluster: Ints, seed: int, resamples: int = RESAMPLES) -> Floats:
    """float64[K] standard errors of the coefficients of `ridge`, by a bootstrap of clusters, int64[n] from 0 on.

    NaN for a column in fewer than 3 clusters.
    """
    held_by = np.array([len(np.unique(cluster[column > 0])) for column in x.T])
    enough, errors = held_by >= FEWEST_CLUSTERS, np.full(x.shape[1], np.nan)
    if enough.any():
        drawn = draws(np.random.default_rng(seed), number_of(cluster), resamples)
        fits = np.array([ridge(x, y, times[cluster])[0] for times in drawn])
        errors[enough] = np.nanstd(fits[:, enough], axis=0, ddof=1)
    return errors
