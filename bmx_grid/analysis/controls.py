"""Control settings (random metric or random explainer): what is gained without an explanation.

The random explainer is read at the points of the real explainers. At the median of its own best points, which is mostly
w = 1, it would be the metric alone and gain nothing by construction. Its best of the grid shows what selection alone
gains. What attributions without meaning reach under the same selection is asked by the placebos (see established).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bmx_grid.analysis import best, points
from bmx_grid.analysis.base import Cell, Table, inlined, working
from bmx_grid.analysis.fixed import FixedEvaluation, evaluate, gains_at
from bmx_grid.analysis.gains import CLUSTERED, COUNTED, COUNTS, SURE, GainSummary, summarise
from bmx_grid.analysis.given import NOWHERE, Given, Point
from bmx_grid.analysis.points import grid_point
from bmx_grid.analysis.table import CONTROL, GridTable

SAID = {
    "random_explainer": "random explainer: attributions drawn at random for real metrics, at the points of the real "
    "explainers.",
    "random_metric": "random metric: real explainers with a metric that is noise, at the points of these explainers.",
}


@dataclass(frozen=True)
class Control:
    """The gains of control settings, and the points they were read at, by explainer."""

    used: Mapping[str, Point]
    by_explainer: Mapping[str, GainSummary]
    gains: GainSummary = inlined()


@dataclass(frozen=True)
class RandomExplainer:
    """The random explainer with real metrics.

    used, by_explainer: by real explainer its point, and the gains of the random explainer there. best_of_grid: gains at
    the best point of each setting, by explainer, those of real explainers on the same metrics among them.
    """

    used: Mapping[str, Point]
    by_explainer: Mapping[str, GainSummary]
    best_of_grid: Mapping[str, GainSummary]


@dataclass(frozen=True, eq=False)
class Controls:
    """controls: "random_explainer" and "random_metric"; None where the table has no such settings.

    metric: settings of the random metric with real explainers, at the points of these explainers.
    """

    controls: Mapping[str, RandomExplainer | Control | None]
    metric: FixedEvaluation | None = working()


def compute(given: Given) -> Controls:
    """Both kinds of controls at the points of the real explainers."""
    table, asked = given.table, given.ask(points.compute).asked
    metric = None
    rows = table.where(metric=CONTROL) & ~table.where(explainer=CONTROL)
    if rows.any():
        metric = evaluate(table.take(rows), asked, given.options.seed)
    control = None if metric is None else Control(metric.used, metric.by["explainer"], metric.all)
    return Controls({"random_explainer": _random_explainer(given, asked), "random_metric": control}, metric)


def tables(result: Controls) -> Sequence[Table]:
    """One row per kind and explainer, with the point used; the best of the grid by explainer."""
    rows, notes, made = [], [], []
    for kind, control in result.controls.items():
        if control is None:
            continue
        notes.append(SAID[kind])
        for name, gains in control.by_explainer.items():
            used = control.used.get(name, NOWHERE)
            rows.append((Cell(kind.replace("_", " ")), Cell(name), Cell(used.words), *gains.cells, *gains.sure))
    if rows:
        header = ("control", "explainer", "at", *COUNTS, *SURE)
        made.append(
            Table("controls", "Control settings", header, (tuple(rows),), (*notes, COUNTED, CLUSTERED), names=3)
        )
    found = result.controls["random_explainer"]
    if isinstance(found, RandomExplainer):
        body = [(Cell(name), *gains.cells) for name, gains in found.best_of_grid.items()]
        notes = [
            "Gains at the best point of each setting, chosen where it is judged, the metric alone among them. What "
            "random attributions reach here is found by looking at the whole grid, not by an explanation.",
            COUNTED,
        ]
        title = "Best of the grid, with random attributions beside"
        made.append(Table("controls_best", title, ("explainer", *COUNTS), (tuple(body),), tuple(notes)))
    return made


def _random_explainer(given: Given, asked: Mapping[str, Point]) -> RandomExplainer | None:
    table = given.table
    rows = table.where(explainer=CONTROL) & ~table.where(metric=CONTROL)
    if not rows.any():
        return None
    part, seed, gain = table.take(rows), given.options.seed, given.ask(best.compute).points.gain
    real = given.is_real | rows
    return RandomExplainer(
        used={name: grid_point(table, point) for name, point in asked.items()},
        by_explainer={name: _at(part, point, seed) for name, point in asked.items()},
        best_of_grid={
            name: summarise(gain[own], table.baseline[own], table.clusters[own], seed)
            for name in table.factor_levels("explainer")
            for own in [real & table.where(explainer=name)]
            if own.any()
        },
    )


def _at(table: GridTable, point: Point, seed: int) -> GainSummary:
    return summarise(gains_at(table, point), table.baseline, table.clusters, seed)
