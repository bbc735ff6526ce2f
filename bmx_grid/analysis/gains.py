"""Gains at one (w, p) per explainer (paper 4.3 to 4.5), of settings, by factor, and of controls."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bmx_grid.analysis.base import CONTROL, FACTORS, Column, Given, GridTable, Table, first_by, rows_by, with_keys
from bmx_grid.analysis.declared_gains import GainTest, declared_points
from bmx_grid.analysis.gain_summaries import (
    CLUSTERED,
    COUNTED,
    SIGN_TEST,
    SUMMARY_COLUMNS,
    Gain,
    Summary,
    summaries,
    summarise,
)
from bmx_grid.analysis.points import (
    BestPoint,
    ChosenPoint,
    Median,
    best_of_all,
    chosen_points,
    correlation_at,
    gains_at,
    points_in_words,
)
from bmx_grid.evaluations.base import Estimate
from bmx_grid.evaluations.boost_evidence import ALL
from bmx_grid.measures.correlation import correlate
from bmx_grid.measures.grid import Point


@dataclass(frozen=True, kw_only=True)
class FixedSummary(Summary, ChosenPoint):
    """What the settings of an explainer gain at its point; of all settings there is none."""


@dataclass(frozen=True, kw_only=True)
class SettingAtPoints(BestPoint):
    """A setting with its best point, and at the point of its explainer; controls have none.

    fixed: correlation at fixed_w, fixed_p, the grid point that is used; fixed_gain, and where the sweep tested this
    point its 95 % interval; fixed_gain_p, fixed_gain_p_holm: of that test, alone and corrected; survives: a gain
    above 0 that survives.
    """

    fixed: float
    fixed_w: float
    fixed_p: float
    fixed_gain: Estimate
    fixed_gain_p: float
    fixed_gain_p_holm: float
    survives: bool


def at_points(given: Given) -> list[SettingAtPoints]:
    """Every setting, with its best point and at the point of its explainer."""
    points = given.ask(chosen_points)
    declared = first_by(given.ask(declared_points), lambda row: (row.setting, _place(row.w, row.p)))
    best_points = given.ask(best_of_all)
    gains = gains_of(given.table, points)
    rows = []
    for place, (best, at_point) in enumerate(zip(best_points, gains, strict=True)):
        w = math.nan
        p = math.nan
        gain = math.nan
        fixed = math.nan
        if not best.control:
            point = points[best.explainer]
            w = point.used_w
            p = point.used_p
            gain = at_point.gain
            # Not baseline + gain, which has other last digits than the sweep's own table.
            fixed = correlation_at(given.table, place, Point(point.p, point.w))
        test = GainTest()
        # A gain that the sweep estimated is shown as it is everywhere: that of the grid differs by rounding.
        key = (best.setting, _place(w, p))
        if key in declared:
            test = declared[key]
            gain = declared[key].gain
            fixed = declared[key].correlation
        row = SettingAtPoints(
            **vars(best),
            fixed=fixed,
            fixed_w=w,
            fixed_p=p,
            fixed_gain=Estimate(gain, test.low, test.high),
            fixed_gain_p=test.p_value,
            fixed_gain_p_holm=test.p_holm,
            survives=test.survives,
        )
        rows.append(row)
    return rows


def _place(w: float, p: float) -> tuple[float, float | None]:
    """The place of a point on the grid: the metric alone is the same point whatever its p."""
    return w, None if w == 1 else p


def gains_of(table: GridTable, points: Mapping[str, Median | ChosenPoint]) -> list[Gain]:
    """The gains of the settings of a table, each at the point of its explainer; NaN without one."""
    gains = np.full(len(table), np.nan)
    names = [setting.explainer for setting in table.settings]
    explainers = np.array(names, dtype=object)
    for explainer, point in points.items():
        rows = explainers == explainer
        gains_of_all = gains_at(table, Point(point.p, point.w))
        gains[rows] = gains_of_all[rows]
    return list(map(Gain, table.settings, table.baseline.tolist(), gains.tolist()))


def real_at_points(given: Given) -> list[SettingAtPoints]:
    """The settings that are not controls, at the points of their explainers."""
    return [row for row in given.ask(at_points) if not row.control]


def real_gains(given: Given) -> list[Gain]:
    """The gains of these there."""
    rows = given.ask(real_at_points)
    return [Gain(row.setting, row.baseline, row.fixed_gain.value) for row in rows]


def gains_by_explainer(given: Given) -> dict[str, FixedSummary]:
    """By explainer its point and a summary of its settings there."""
    points = given.ask(chosen_points)
    gains = given.ask(real_gains)
    by_explainer = {}
    for name, summary in summaries(gains, "explainer", given.seed).items():
        by_explainer[name] = FixedSummary(**vars(points[name]), **vars(summary))
    return by_explainer


def overview(given: Given) -> dict[str, FixedSummary]:
    """The same, and the summary of all settings; empty without settings."""
    rows = given.ask(gains_by_explainer)
    settings = given.ask(real_gains)
    if not settings:
        return rows
    # Explainers have different points: all settings together have none.
    nowhere: dict[str, Any] = dict.fromkeys(("w", "p", "used_w", "used_p"), math.nan)
    nowhere["origin"] = None
    summary = summarise(settings, given.seed)
    return {**rows, ALL: FixedSummary(**nowhere, **vars(summary))}


@dataclass(frozen=True)
class Gains:
    """Gains at the point of each explainer, by explainer, by factor and name; and of control settings.

    fixed: by explainer its point and a summary; fixed_by: by factor, explainer and name.
    gain_baseline_pearson: Pearson's r of the gain with the baseline, of all and by explainer: is a weak metric easier
    to improve? The gain is coupled to the baseline, so that noise alone makes this negative; gain_baseline_oldham: the
    same with the mean of baseline and boosted correlation (Oldham 1962), which noise in both does not move.
    controls: summaries of the control settings, read at the points of the real explainers: at the median of its own
    best points, which is mostly w = 1, the random explainer would gain nothing by construction. Best of the grid: of
    the gains at the best point of each setting of a metric that is no control. judged: whether boosts have verdicts.
    """

    fixed: Mapping[str, FixedSummary]
    fixed_by: Mapping[str, Mapping[str, Mapping[str, Summary]]]
    gain_baseline_pearson: Mapping[str, float]
    gain_baseline_oldham: Mapping[str, float]
    controls: Mapping[str, Mapping[str, Summary]]
    judged: bool
    points: str


def compute(given: Given) -> Gains:
    """What the settings gain at the points of their explainers."""
    settings = given.ask(real_gains)
    groups_of_explainers = rows_by(settings, lambda row: row.setting.explainer)
    by_explainer = dict(sorted(groups_of_explainers.items()))
    fixed_by: dict[str, dict[str, dict[str, Summary]]] = {}
    for factor in FACTORS[:3]:
        for explainer, rows in by_explainer.items():
            fixed_by.setdefault(factor, {})[explainer] = summaries(rows, factor, given.seed)
    groups = {**by_explainer, ALL: settings}
    pearson = {}
    oldham = {}
    for name, rows in groups.items():
        pearson[name] = _of_baseline(rows, 0.0)
        oldham[name] = _of_baseline(rows, 0.5)
    return Gains(
        fixed=given.ask(gains_by_explainer),
        fixed_by=fixed_by,
        gain_baseline_pearson=pearson,
        gain_baseline_oldham=oldham,
        controls=_controls(given),
        judged=given.judged,
        points=points_in_words(given.ask(chosen_points)),
    )


def _of_baseline(settings: Sequence[Gain], part: float) -> float:
    """Pearson's r of the gain with the baseline plus this part of the gain."""
    gains = [row.gain for row in settings]
    levels = [row.baseline + part * row.gain for row in settings]
    return correlate("pearson", gains, levels)


def _controls(given: Given) -> dict[str, dict[str, Summary]]:
    points = given.ask(chosen_points)
    seed = given.seed
    table = given.table
    # Where both are random there is nothing that either could be a control of.
    random_explainer = table.where(lambda setting: setting.explainer == CONTROL != setting.metric)
    random_metric = table.where(lambda setting: setting.metric == CONTROL != setting.explainer)
    controls = {}
    if len(random_explainer):
        at_points = {}
        for name, point in points.items():
            gains = gains_of(random_explainer, {CONTROL: point})
            at_points[name] = summarise(gains, seed)
        controls["random explainer"] = at_points
        best = [row for row in given.ask(best_of_all) if row.metric != CONTROL]
        gains = [Gain(row.setting, row.baseline, row.gain) for row in best]
        controls["best of the grid"] = summaries(gains, "explainer", seed)
    if len(random_metric):
        gains = gains_of(random_metric, points)
        controls["random metric"] = summaries(gains, "explainer", seed)
    return {control: rows for control, rows in controls.items() if rows}


def tables(result: Gains) -> Iterator[Table]:
    """Gains by data set, language pair and metric, where boosts have no verdicts; control settings."""
    notes = (COUNTED, f"{CLUSTERED} {SIGN_TEST}", result.points)
    by_factor = with_keys(result.fixed_by, "factor", "explainer", "name")
    controls = with_keys(result.controls, "control", "explainer")
    if by_factor and not result.judged:
        columns = ("factor", "name", "explainer", *SUMMARY_COLUMNS, Column("mean_baseline", "mean baseline", ".4f"))
        title = "Gains at the fixed points by data set, language pair and metric"
        yield Table.of("gains_by_factor", title, by_factor, columns, notes, by=["factor"], names=3)
    if controls:
        note = (
            "Random explainer: attributions drawn at random for real metrics, at the points of the real explainers. "
            "Random metric: real explainers with a metric that is noise, at their points. Best of the grid: at the "
            "best point of each setting, chosen where it is judged, the metric alone among them; what random "
            "attributions reach there is found by looking at the whole grid, not by an explanation."
        )
        of_controls = ("control", "explainer", *SUMMARY_COLUMNS)
        title = "Control settings"
        notes = (note, *notes[:2])
        yield Table.of("controls", title, controls, of_controls, notes, by=["control"], names=2)
