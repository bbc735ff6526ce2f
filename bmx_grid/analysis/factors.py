"""How data sets, language pairs, metrics and explainers relate to the gain: a regression, and transfer.

Ridge regression of the gain on the parts of a setting (paper 4.3, Figure 8). Settings of one data set and language pair
share segments and human scores. Standard errors therefore come from a bootstrap of these clusters; a name in fewer than
three clusters, as most language pairs, has none.

Transfer: each data set (language pair, metric) is left out in turn; the median best (p, w) of the others is evaluated
on it. None of this is "held out": settings of different metrics rest on the same segments and human scores, those of
different language pairs share sources or references (492 of the 2,851 references of WMT17 occur in several pairs), and
a results table, which has no segments, cannot show the overlap of data sets. It answers whether parameters carry over.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.analysis.base import FACTORS, Column, SweepTables, Table, each_group
from bmx_grid.analysis.gains import CLUSTERED, gains_of, gains_without_controls, stack_frames, summarise
from bmx_grid.analysis.points import best_of_all, chosen_points, medians, points_in_words
from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.core.wording import number, pluralize
from bmx_grid.measures.resampling import FEWEST_CLUSTERS, codes, draws, number_of

if TYPE_CHECKING:
    import pandas as pd

PENALTY = 1.0  # alpha
RESAMPLES = 1000
LEFT_OUT = FACTORS[:3]
OF_TRANSFER = (
    "In-sample: at the median of the best points of all settings of the explainer; transfer: at that of the other data "
    "sets (language pairs, metrics), if there are several. Optimism: in-sample minus transfer mean gain of the same "
    "settings."
)
WHY = (
    "Not held out: metrics share all segments and human scores, language pairs share sources or references. A sweep "
    "takes these out (point 'elsewhere')."
)


def compute(tables: SweepTables) -> dict[str, Any]:
    """ridge, ridge_coefficients: see `regression`; leave_one_out: see `transfer`."""
    points = points_in_words(tables.compute_once(chosen_points))
    return {**tables.compute_once(regression), "points": points, "leave_one_out": transfer(tables)}


def tables(result: Mapping[str, Any]) -> Iterator[Table]:
    """All coefficients; in-sample and transferred gains with the optimism between them."""
    if len(result["ridge_coefficients"]):
        yield _table_of_coefficients(result)
    if len(result["leave_one_out"]):
        yield _table_of_transfer(result["leave_one_out"].reset_index())


def regression(tables: SweepTables) -> dict[str, Any]:
    """gain = intercept + one coefficient per name of each factor, over the n settings with a gain.

    Without more settings than coefficients, with the intercept, nothing is fitted: NaN, and no coefficients.
    Least squares with the penalty alpha * sum(coefficient**2); the intercept is not penalised. That is scikit-learn's
    Ridge(alpha=1) on columns of 0 and 1. Columns of a factor add up to 1, and language pairs belong to data sets:
    a coefficient is a share of the gain among many such splits, not an effect.
    ridge: the fit. r2: share of the gains' variance explained; clusters: how many there are. coefficients: largest
    first, by name, factor:name if two factors share a name; standard_errors: of the coefficients, by a bootstrap of
    clusters, data set x language pair, over the resamples that hold the name; NaN for a name in fewer than 3 clusters.
    ridge_coefficients: the same as rows.
    """
    import pandas as pd

    settings = tables.compute_once(gains_without_controls)
    settings = settings[settings["gain"].notna()]
    y = settings["gain"].to_numpy(np.float64)
    clusters = codes(settings["cluster"].to_list())
    intercept = math.nan
    r2 = math.nan
    rows = pd.DataFrame(columns=["factor", "name", "coefficient", "error"])
    names = pd.get_dummies(settings[[*FACTORS]], prefix_sep=":", dtype=np.float64)
    # Fewer settings have a high R² whatever their gains are.
    if len(settings) > names.shape[1] + 1:
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
        rows = rows.assign(coefficient=beta, error=cluster_errors(x, y, clusters, tables.seed))
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
    return {"ridge": fit, "ridge_coefficients": rows}


def _table_of_coefficients(result: Mapping[str, Any]) -> Table:
    fit = result["ridge"]
    rows = result["ridge_coefficients"]
    columns = ("factor", "name", Column("coefficient", form="+.5f"), Column("error", "standard error", ".5f"))
    note = (
        f"Ridge regression, alpha {fit['alpha']:g}, of the gain at one point per explainer; "
        f"{pluralize(fit['n'], 'setting')}; "
        f"intercept {number(fit['intercept'], '+.5f')}, R² {number(fit['r2'], '.5f')}. "
        "The factors are not independent: a coefficient is not an effect. Standard errors: bootstrap of "
        f"{fit['clusters']} language pairs; n/a for a name in fewer than 3."
    )
    title = "Factors of a larger or smaller gain"
    notes = (note, result["points"])
    return Table.from_rows("ridge_coefficients", title, rows, columns, notes, names=2)


def moved_gains(tables: SweepTables, factor: str) -> pd.DataFrame:
    """The gain in transfer, and in_sample, of settings that are no controls (GAIN_COLUMNS).

    In transfer: at the medians of the best points of the other names of the factor; in-sample: at those of all.
    """
    real = tables.non_controls
    best = tables.compute_once(best_of_all)
    best = best[~best["control"]]
    moved = gains_of(real, medians(best))
    moved["in_sample"] = moved["gain"]
    for name in real.factor_levels(factor):
        gains = gains_of(real, medians(best[best[factor] != name]))
        moved["gain"] = moved["gain"].mask(moved[factor] == name, gains["gain"])
    return moved


def transfer(tables: SweepTables) -> pd.DataFrame:
    """The gains of points of the other data sets (language pairs, metrics), by factor and explainer.

    Factors with several names only. Summaries of the gains in transfer, and of the same settings in-sample. optimism:
    in-sample mean gain minus mean gain in transfer: the optimism of judging in-sample.
    """
    import pandas as pd

    leave_one_out = {}
    for factor in LEFT_OUT:
        # With one name there is no other one to transfer from.
        if len(tables.non_controls.factor_levels(factor)) < 2:
            continue
        rows = {}
        for explainer, gains in each_group(moved_gains(tables, factor), "explainer", sort=True):
            # The same of the settings of an explainer.
            if gains[factor].nunique() > 1:
                rows[explainer] = _transfer(gains, tables.seed)
        leave_one_out[factor] = pd.DataFrame.from_dict(rows, orient="index").rename_axis("explainer")
    return stack_frames(leave_one_out, "factor")


def _transfer(gains: pd.DataFrame, seed: int) -> dict[str, Any]:
    """Settings are judged if both gains are defined; the others are counted as undefined."""
    # One undefined gain takes out the other: the optimism compares the same settings.
    undefined = gains["gain"].isna() | gains["in_sample"].isna()
    moved = summarise(gains.assign(gain=gains["gain"].mask(undefined)), seed)
    inside = summarise(gains.assign(gain=gains["in_sample"].mask(undefined)), seed)
    return {
        **moved,
        "in_sample_better": inside["better"],
        "in_sample_mean_gain": inside["mean_gain"],
        "in_sample_mean_low": inside["mean_low"],
        "in_sample_mean_high": inside["mean_high"],
        "optimism": inside["mean_gain"] - moved["mean_gain"],
    }


def _table_of_transfer(rows: pd.DataFrame) -> Table:
    columns = (
        Column("factor", "left out"),
        "explainer",
        Column("n", "settings"),
        Column("in_sample_better", "in-sample better"),
        Column("in_sample_mean_gain", "in-sample mean gain", "+.5f"),
        Column("better", "transfer better"),
        Column("mean_gain", "transfer mean gain", "+.5f", ("mean_low", "mean_high")),
        Column("optimism", form="+.5f"),
    )
    title = "Transfer: points chosen on the other data sets, language pairs or metrics"
    notes = (OF_TRANSFER, WHY, CLUSTERED)
    return Table.from_rows("transfer", title, rows, columns, notes, by=["factor"], names=2)


def fit_rows(tables: SweepTables) -> pd.DataFrame:
    """ridge.parquet: the coefficients, largest first, with the fit's own numbers; no rows if nothing was fitted."""
    result = tables.compute_once(regression)
    fit = {name: result["ridge"][name] for name in ("intercept", "r2", "n", "clusters", "alpha")}
    rows: pd.DataFrame = result["ridge_coefficients"]
    return rows.assign(**fit)


def ridge(x: Floats, y: Floats, weights: Floats) -> tuple[Floats, float]:
    """float64[K] coefficients of x: float64[n, K] for y: float64[n], each row counted float64[n] times; the intercept.

    NaN for a column that is 0 in all rows that count: its coefficient is undetermined.
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
        # A resample without the name does not determine its coefficient.
        errors[enough] = np.nanstd(coefficients[:, enough], axis=0, ddof=1)
    return errors
