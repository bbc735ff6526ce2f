"""Is a weak metric easier to improve? Pearson's r of the gain with the baseline (paper 4.3).

The gain is boosted minus baseline, so that it is coupled to the baseline: noise in the baseline alone gives a negative
correlation. Oldham (1962) correlates the gain with the mean of the two instead, which noise of equal size in both does
not move.
"""

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

    all: over all settings; by_explainer: over those of each. uncoupled, uncoupled_by_explainer: the same by Oldham, of
    the gain with the mean of baseline and boosted correlation.
    """

    all: float
    by_explainer: Mapping[str, float]
    uncoupled: float
    uncoupled_by_explainer: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class GainAndBaseline:
    """gain_baseline_pearson: "all" and each explainer to Pearson's r; gain_baseline_oldham: the same, uncoupled.

    correlations: both; points: in words.
    """

    gain_baseline_pearson: Mapping[str, float]
    gain_baseline_oldham: Mapping[str, float]
    correlations: GainBaseline = working()
    points: str = working()


def compute(given: Given) -> GainAndBaseline:
    """The correlations of the gains at the fixed points."""
    at = given.ask(fixed.compute)
    found = gain_baseline(given.real, at.evaluation.gain)
    coupled = {"all": found.all, **found.by_explainer}
    uncoupled = {"all": found.uncoupled, **found.uncoupled_by_explainer}
    return GainAndBaseline(coupled, uncoupled, found, at.points.in_words())


def tables(result: GainAndBaseline) -> Sequence[Table]:
    """One row per explainer, and all."""
    if not result.correlations.by_explainer:
        return ()
    rows = [
        (Cell(name), Cell(value, ".4f"), Cell(result.gain_baseline_oldham[name], ".4f"))
        for name, value in result.gain_baseline_pearson.items()
    ]
    total, *each = rows
    table = Table(
        "gain_and_baseline",
        "Is a weak metric easier to improve?",
        ("explainer", "r(gain, baseline)", "r(gain, mean of both)"),
        (tuple(each), (total,)),
        (
            "Pearson's r of the gain at the fixed points with the correlation of the metric alone, and with the mean "
            "of baseline and boosted correlation (Oldham 1962). The first is negative by noise alone, since the "
            "baseline is part of the gain; the second is not.",
            result.points,
        ),
    )
    return (table,)


def gain_baseline(table: GridTable, gain: Floats) -> GainBaseline:
    """The correlations for gains float64[S]; settings with an undefined gain are left out."""
    middle = table.baseline + gain / 2
    own = {name: table.where(explainer=name) for name in table.factor_levels("explainer")}
    return GainBaseline(
        all=pearson(gain, table.baseline),
        by_explainer={name: pearson(gain[rows], table.baseline[rows]) for name, rows in own.items()},
        uncoupled=pearson(gain, middle),
        uncoupled_by_explainer={name: pearson(gain[rows], middle[rows]) for name, rows in own.items()},
    )
