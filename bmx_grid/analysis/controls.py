"""Control settings (random metric or random explainer): what is gained without an explanation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bmx_grid.analysis import best, points
from bmx_grid.analysis.base import Cell, Table, inlined, working
from bmx_grid.analysis.fixed import FixedEvaluation, evaluate
from bmx_grid.analysis.gains import COUNTED, COUNTS, GainSummary
from bmx_grid.analysis.given import NOWHERE, Given, Point
from bmx_grid.analysis.medians import median_of
from bmx_grid.analysis.points import METRIC_ALONE
from bmx_grid.analysis.table import CONTROL

SAID = {
    "random_explainer": "random explainer: attributions drawn at random for real metrics, at the median of their own "
    "best points. These are in-sample, and lie where boosting changes least: so few losses there are not evidence.",
    "random_metric": "random metric: real explainers with a metric that is noise, at the points of these explainers.",
}


@dataclass(frozen=True)
class Control:
    """The gains of control settings, and the points they were read at, by explainer."""

    used: Mapping[str, Point]
    by_explainer: Mapping[str, GainSummary]
    gains: GainSummary = inlined()


@dataclass(frozen=True, eq=False)
class Controls:
    """controls: "random_explainer" and "random_metric"; None where the table has no such settings.

    explainer: settings of the random explainer with real metrics, at the median of their own best points (in-sample).
    metric: settings of the random metric with real explainers, at the points of these explainers.
    """

    controls: Mapping[str, Control | None]
    explainer: FixedEvaluation | None = working()
    metric: FixedEvaluation | None = working()


def compute(given: Given) -> Controls:
    """Both kinds of controls at their points."""
    table, found = given.table, given.ask(best.compute).points
    explainer = metric = None
    rows = table.where(explainer=CONTROL) & ~table.where(metric=CONTROL)
    if rows.any():
        own = median_of(found.p[rows], found.w[rows])
        explainer = evaluate(table.take(rows), {CONTROL: METRIC_ALONE if own.n == 0 else Point(own.p, own.w)})
    rows = table.where(metric=CONTROL) & ~table.where(explainer=CONTROL)
    if rows.any():
        metric = evaluate(table.take(rows), given.ask(points.compute).asked)
    controls = {"random_explainer": _control(explainer), "random_metric": _control(metric)}
    return Controls(controls, explainer, metric)


def tables(result: Controls) -> Sequence[Table]:
    """One row per kind and explainer, with the point used."""
    rows, notes = [], []
    for kind, control in result.controls.items():
        if control is None:
            continue
        notes.append(SAID[kind])
        for name, gains in control.by_explainer.items():
            used = control.used.get(name, NOWHERE)
            rows.append((Cell(kind.replace("_", " ")), Cell(name), Cell(used.words), *gains.cells))
    if not rows:
        return ()
    header = ("control", "explainer", "at", *COUNTS)
    return (Table("controls", "Control settings", header, (tuple(rows),), (*notes, COUNTED), names=3),)


def _control(found: FixedEvaluation | None) -> Control | None:
    return None if found is None else Control(found.used, found.by["explainer"], found.all)
