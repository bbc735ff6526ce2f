"""Gains at one (w, p) per explainer (paper 4.3 to 4.5), of settings, by factor, and of controls.

Settings of one data set and language pair share segments and human scores: intervals and tests count these clusters,
not settings. 15 of 18 settings on six language pairs are 5 of 6 pairs; the sign test gives p = .109, not .004.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.analysis.base import CONTROL, FACTORS, Column, GridTable, SweepTables, Table, each_group, each_row
from bmx_grid.analysis.points import (
    best_of_all,
    chosen_points,
    correlations_at,
    declared_points,
    evaluation_point_name,
    gains_at,
    points_in_words,
)
from bmx_grid.core.ragged import Floats
from bmx_grid.core.wording import P_VALUE
from bmx_grid.evaluations.boost_evidence import ALL
from bmx_grid.measures.correlation import better, correlate, worse
from bmx_grid.measures.grid import Point
from bmx_grid.measures.resampling import BOOTSTRAPPED, cluster_mean

if TYPE_CHECKING:
    import pandas as pd

COUNTED = "Better: gain above 1e-5; equal or worse: gain of 0 or less; between: a gain up to 1e-5."
CLUSTERED = (
    "In brackets: 95 % interval of the mean gain over the language pairs of all data sets: by Student's t, from "
    f"{BOOTSTRAPPED} pairs on by a bootstrap of pairs (none with fewer than 3)."
)
SIGN_TEST = "Above 0: pairs whose mean gain is; sign test p: one-sided, of the counts."
SUMMARY_COLUMNS = (
    "n",
    "better",
    Column("worse", "equal or worse"),
    Column("unchanged", "between"),
    "undefined",
    Column("mean_gain", "mean gain", "+.5f", ("mean_low", "mean_high")),
    Column("clusters", "pairs"),
    Column("clusters_better", "above 0"),
    Column("sign_p", "sign test p", P_VALUE),
)
GAIN_COLUMNS = [*FACTORS, "cluster", "baseline", "gain"]
TESTED = ["fixed_gain_low", "fixed_gain_high", "fixed_gain_p", "fixed_gain_p_holm"]


def settings_at_points(tables: SweepTables) -> pd.DataFrame:
    """Every setting, a row each, with its best point (`best_points`) and at the point of its explainer.

    fixed: correlation at fixed_w, fixed_p, the grid point that is used; fixed_gain, and if the sweep tested this point
    its 95 % interval, _low and _high; fixed_gain_p, fixed_gain_p_holm: of that test, uncorrected and corrected;
    survives: a gain above 0 that survives. Controls have no point.
    """
    table = tables.table
    points = tables.compute_once(chosen_points)
    best = tables.compute_once(best_of_all)
    # Not baseline + gain, which has other last digits than the sweep's own table.
    settings = best.assign(
        fixed=_values_at_points(correlations_at, table, points),
        fixed_w=table.names["explainer"].map(points["used_w"]),
        fixed_p=table.names["explainer"].map(points["used_p"]),
        fixed_gain=_values_at_points(gains_at, table, points),
    )
    at_point = ["fixed", "fixed_w", "fixed_p", "fixed_gain"]
    settings[at_point] = settings[at_point].astype(np.float64).mask(best["control"])
    # A gain that the sweep estimated is shown as it is everywhere: that of the grid differs by rounding.
    tested = _tested_points(tables)
    settings = settings.merge(tested, on=[*FACTORS, "fixed_w", "fixed_p"], how="left")
    is_tested = settings["survives"].notna()
    for name in ("fixed", "fixed_gain"):
        settings[name] = settings[f"{name}_tested"].where(is_tested, settings[name])
    settings["survives"] = settings["survives"].eq(True)
    return settings[[*best.columns, *at_point, *TESTED, "survives"]]


def _tested_points(tables: SweepTables) -> pd.DataFrame:
    """The declared points of the settings without duplicates, by their place on the grid; named as in
    `settings_at_points`.
    """
    names = {"w": "fixed_w", "p": "fixed_p", "correlation": "fixed_tested", "gain": "fixed_gain_tested"}
    names |= dict(zip(("low", "high", "p_value", "p_holm"), TESTED, strict=True))
    points = tables.compute_once(declared_points).rename(columns=names)
    points = points[points["fixed_w"].notna()]
    # The baseline is the same point whatever its p.
    place = [*FACTORS, "fixed_w", "fixed_p"]
    points = points.assign(fixed_p=points["fixed_p"].mask(points["fixed_w"] == 1)).drop_duplicates(place)
    return points[[*place, "fixed_tested", "fixed_gain_tested", *TESTED, "survives"]]


def _values_at_points(
    values_at: Callable[[GridTable, Point], Floats], table: GridTable, points: pd.DataFrame
) -> Floats:
    """float64[S] a value of each setting at the point of its explainer; NaN without one."""
    values = np.full(len(table), np.nan)
    explainers = table.names["explainer"].to_numpy()
    for point in each_row(points):
        rows = explainers == point.Index
        values[rows] = values_at(table, Point(point.p, point.w))[rows]
    return values


def gains_of(table: GridTable, points: pd.DataFrame) -> pd.DataFrame:
    """GAIN_COLUMNS of the settings of a table, each at the point of its explainer; NaN without one."""
    gains = _values_at_points(gains_at, table, points)
    return table.names.assign(baseline=table.baseline, gain=gains)[GAIN_COLUMNS]


def settings_without_controls(tables: SweepTables) -> pd.DataFrame:
    """The settings that are not controls, at the points of their explainers."""
    settings = tables.compute_once(settings_at_points)
    return settings[~settings["control"]]


def gains_without_controls(tables: SweepTables) -> pd.DataFrame:
    """The columns GAIN_COLUMNS of settings that are no controls."""
    settings = tables.compute_once(settings_without_controls)
    return settings.assign(gain=settings["fixed_gain"])[GAIN_COLUMNS]


def summarise(gains: pd.DataFrame, seed: int = 0) -> dict[str, Any]:
    """Summarise the gains of settings. gains: with the columns cluster, baseline and gain; seed: of the bootstrap.

    n: settings with a defined gain; undefined: the others, counted in nothing else. better, worse: as in `correlation`,
    a gain above 1e-5, and one of 0 or less; unchanged: the rest; positive: better and unchanged.
    max_gain, mean_gain, mean_baseline: over the n settings; NaN if n is 0.
    mean_low, mean_high: 95 % interval of the mean gain over clusters (`cluster_mean`), NaN with fewer than 3. clusters:
    their number; clusters_better: those with a mean gain above 0; sign_p: their one-sided sign test.
    """
    defined = gains[gains["gain"].notna()]
    values = defined["gain"].to_numpy(np.float64)
    n = len(values)
    n_better = int(better(values).sum())
    n_worse = int(worse(values).sum())
    # Language pairs are what could be drawn again, not settings, which share segments.
    mean = cluster_mean(values, defined["cluster"].tolist(), seed=seed)
    return {
        "n": n,
        "better": n_better,
        "worse": n_worse,
        "unchanged": n - n_better - n_worse,
        "undefined": len(gains) - n,
        "positive": n - n_worse,
        "max_gain": max(values.tolist(), default=math.nan),
        "mean_gain": mean.mean,
        "mean_baseline": float(np.mean(defined["baseline"].to_numpy())) if n else math.nan,
        "mean_low": mean.low,
        "mean_high": mean.high,
        "clusters": mean.clusters,
        "clusters_better": mean.positive,
        "sign_p": mean.p,
    }


def summaries(gains: pd.DataFrame, *by: str, seed: int) -> pd.DataFrame:
    """A summary of the settings that share these names, a row each; the names are the index."""
    import pandas as pd

    rows = {names: summarise(group, seed) for names, group in each_group(gains, *by, sort=True)}
    index: Any
    if len(by) > 1:
        index = pd.MultiIndex.from_tuples(list(rows), names=list(by))
    else:
        index = pd.Index(list(rows), dtype=object, name=by[0])
    return pd.DataFrame(list(rows.values()), index, columns=list(summarise(gains.iloc[:0])))


def gains_by_explainer(tables: SweepTables) -> pd.DataFrame:
    """The point of each explainer (`chosen_points`), and a summary of its settings at this point."""
    rows = summaries(tables.compute_once(gains_without_controls), "explainer", seed=tables.seed)
    return tables.compute_once(chosen_points).join(rows, how="right")


def overview(tables: SweepTables) -> pd.DataFrame:
    """The same, and the summary of all settings; empty without settings."""
    import pandas as pd

    rows = tables.compute_once(gains_by_explainer)
    settings = tables.compute_once(gains_without_controls)
    if settings.empty:
        return rows
    # Explainers have different points: all settings together have none.
    nowhere: dict[str, Any] = dict.fromkeys(("w", "p", "used_w", "used_p"), math.nan)
    of_all = {**nowhere, "origin": None, **summarise(settings, tables.seed)}
    return pd.concat([rows, pd.DataFrame([of_all], index=[ALL])])


def compute(tables: SweepTables) -> dict[str, Any]:
    """The gains of settings at the point of each explainer, by explainer, factor and name; and those of controls.

    fixed: by explainer its point and a summary; fixed_by: by factor, explainer and name.
    gain_baseline_pearson: Pearson's r of the gain with the baseline, of all and by explainer: is a weak metric easier
    to improve? The gain is coupled to the baseline, so that noise alone makes this negative; gain_baseline_oldham: the
    same with the mean of baseline and boosted correlation (Oldham 1962), which noise in both does not move. controls:
    summaries of the control settings, read at the points of the real explainers: at the median of its own best points,
    which is mostly w = 1, the random explainer would gain nothing by construction. Best of the grid: of the gains at
    the best point of each setting of a metric that is no control. judged: whether boosts have verdicts.
    """
    settings = tables.compute_once(gains_without_controls)
    fixed_by = {}
    for factor in FACTORS[:3]:
        fixed_by[factor] = summaries(settings, "explainer", factor, seed=tables.seed).rename_axis(["explainer", "name"])
    groups = {**dict(each_group(settings, "explainer", sort=True)), ALL: settings}
    return {
        "fixed": tables.compute_once(gains_by_explainer),
        "fixed_by": stack_frames(fixed_by, "factor"),
        "gain_baseline_pearson": {name: _correlation_with_baseline(rows, 0.0) for name, rows in groups.items()},
        "gain_baseline_oldham": {name: _correlation_with_baseline(rows, 0.5) for name, rows in groups.items()},
        "controls": stack_frames(_controls(tables), "control"),
        "judged": tables.has_verdicts,
        "points": points_in_words(tables.compute_once(chosen_points)),
        "evaluated_at": evaluation_point_name(tables),
    }


def stack_frames(frames: Mapping[str, pd.DataFrame], name: str) -> pd.DataFrame:
    """Frames that are not empty below each other, by a further name of the index; without any a frame without rows."""
    import pandas as pd

    known = {key: frame for key, frame in frames.items() if not frame.empty}
    if not known:
        return pd.DataFrame(index=pd.MultiIndex.from_tuples([], names=[name, ""]))
    return pd.concat(known, names=[name])


def _correlation_with_baseline(settings: pd.DataFrame, part: float) -> float:
    """Pearson's r of the gain with the baseline plus this part of the gain."""
    return correlate("pearson", settings["gain"], settings["baseline"] + part * settings["gain"])


def _controls(tables: SweepTables) -> dict[str, pd.DataFrame]:
    import pandas as pd

    points = tables.compute_once(chosen_points)
    seed = tables.seed
    names = tables.table.names
    # If both are random, neither can be the control of a real part.
    is_random_explainer = (names["explainer"] == CONTROL) & (names["metric"] != CONTROL)
    is_random_metric = (names["metric"] == CONTROL) & (names["explainer"] != CONTROL)
    controls = {}
    if is_random_explainer.any():
        random_explainer = tables.table.take(is_random_explainer.to_numpy())
        rows = {}
        for name in points.index:
            gains = gains_of(random_explainer, points.loc[[name]].set_axis([CONTROL]))
            rows[name] = summarise(gains, seed)
        controls["random explainer"] = pd.DataFrame.from_dict(rows, orient="index").rename_axis("explainer")
        best = tables.compute_once(best_of_all)
        controls["best of the grid"] = summaries(best[best["metric"] != CONTROL], "explainer", seed=seed)
    if is_random_metric.any():
        gains = gains_of(tables.table.take(is_random_metric.to_numpy()), points)
        controls["random metric"] = summaries(gains, "explainer", seed=seed)
    return controls


def tables(result: Mapping[str, Any]) -> Iterator[Table]:
    """Gains by data set, language pair and metric, if boosts have no verdicts; control settings."""
    notes = (COUNTED, f"{CLUSTERED} {SIGN_TEST}", result["points"])
    by_factor = result["fixed_by"].reset_index()
    controls = result["controls"].reset_index()
    if len(by_factor) and not result["judged"]:
        columns = ("factor", "name", "explainer", *SUMMARY_COLUMNS, Column("mean_baseline", "mean baseline", ".4f"))
        title = f"Gains at the {result['evaluated_at']} by data set, language pair and metric"
        yield Table.from_rows("gains_by_factor", title, by_factor, columns, notes, by=["factor"], names=3)
    if len(controls):
        note = (
            "Random explainer: attributions drawn at random for real metrics, at the points of the real explainers. "
            "Random metric: real explainers with a metric that is noise, at their points. Best of the grid: at the "
            "best point of each setting, chosen in-sample, the baseline among the candidates; gains of random "
            "attributions at it come from the search over the grid, not from an explanation."
        )
        of_controls = ("control", "explainer", *SUMMARY_COLUMNS)
        title = "Control settings"
        notes = (note, *notes[:2])
        yield Table.from_rows("controls", title, controls, of_controls, notes, by=["control"], names=2)
