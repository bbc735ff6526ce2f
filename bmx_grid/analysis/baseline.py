"""Is a weak metric easier to improve? Pearson's r of the gain with the baseline (paper 4.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bmx_grid.analysis import fixed
from bmx_grid.analysis.base import Cell, Table, working
from bmx_grid.analysis.given import Given
from bmx_grid.analysis.table import Floats, GridTable
from bmx_grid.measures.correlation import pearson


@dataclass(frozen=True)
class GainBaseline:
    """Pearson's r of gain and baseline over settings; NaN with fewer than 3 settings or without variance.

    all: over all settings; by_explainer: over those of each.
    """

    all: float
    by_explainer: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class GainAndBaseline:
    """gain_baseline_pearson: "all" and each explainer to Pearson's r; correlations: the same; points: in words."""

    gain_baseline_pearson: Mapping[str, float]
    correlations: GainBaseline = working()
    points: str = working()


def compute(given: Given) -> GainAndBaseline:
    """The correlations of the gains at the fixed points."""
    at = given.ask(fixed.compute)
    found = gain_baseline(given.real, at.evaluation.gain)
    return GainAndBaseline({"all": found.all, **found.by_explainer}, found, at.points.in_words())


def tables(result: GainAndBaseline) -> Sequence[Table]:
    """One row per explainer, and all."""
    found = result.correlations
    if not found.by_explainer:
        return ()
    rows = tuple((Cell(name), Cell(value, ".4f")) for name, value in found.by_explainer.items())
    table = Table(
        "gain_and_baseline",
        "Is a weak metric easier to improve?",
        ("explainer", "r(gain, baseline)"),
        (rows, ((Cell("all"), Cell(found.all, ".4f")),)),
        (
            "Pearson's r of the gain at the fixed points with the correlation of the metric alone.",
            result.points,
        ),
    )
    return (table,)


def gain_baseline(table: GridTable, gain: Floats) -> GainBaseline:
    """The correlations for gains float64[S]; settings with an undefined gain are left out."""
    return GainBaseline(
        all=pearson(gain, table.baseline),
        by_explainer={
            name: pearson(gain[rows], table.baseline[rows])
            for name in table.factor_levels("explainer")
            for rows in [table.where(explainer=name)]
        },
    )
