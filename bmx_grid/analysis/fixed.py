"""Any table evaluated at given (p, w), one point per explainer (paper 4.3 to 4.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bmx_grid.analysis import points
from bmx_grid.analysis.base import Cell, Table, inlined, working
from bmx_grid.analysis.gains import CLUSTERED, COUNTED, COUNTS, SURE, GainSummary, summarise, summarise_by
from bmx_grid.analysis.given import NOWHERE, Given, Point
from bmx_grid.analysis.points import ChosenPoints, Provenance, grid_point
from bmx_grid.analysis.table import FACTORS, Floats, GridTable
from bmx_grid.measures.grid import nearest_point


@dataclass(frozen=True, eq=False)
class FixedEvaluation:
    """S settings, each at the point of its explainer.

    points: the (p, w) asked for, by explainer; used: the grid points they were evaluated at (see points.grid_point).
    correlation, gain: float64[S], NaN for an explainer without a point, a point outside the grid, or an undefined one.
    all: the summary of all settings; by: summaries by each factor; by_explainer: for each explainer and each other
        factor, summaries by its names: by_explainer["lime"]["dataset"]["wmt17"].
    """

    points: Mapping[str, Point]
    used: Mapping[str, Point]
    correlation: Floats
    gain: Floats
    all: GainSummary
    by: Mapping[str, Mapping[str, GainSummary]]
    by_explainer: Mapping[str, Mapping[str, Mapping[str, GainSummary]]]


@dataclass(frozen=True)
class AtPoint:
    """An explainer at its point: asked for (w, p), the grid point used, where it comes from, and what is gained.

    by: summaries by the names of each other factor.
    """

    w: float
    p: float
    used_w: float
    used_p: float
    origin: str
    provenance: Provenance
    by: Mapping[str, Mapping[str, GainSummary]]
    gains: GainSummary = inlined()


@dataclass(frozen=True, eq=False)
class Fixed:
    """fixed: by explainer; fixed_by: summaries by factor and name; best_explainer: see `best_explainer`."""

    fixed: Mapping[str, AtPoint]
    fixed_by: Mapping[str, Mapping[str, GainSummary]]
    best_explainer: str | None
    evaluation: FixedEvaluation = working()
    points: ChosenPoints = working()


def compute(given: Given) -> Fixed:
    """The settings that are not controls at the chosen points."""
    chosen = given.ask(points.compute)
    found = evaluate(given.real, chosen.asked, given.options.seed)
    fixed = {}
    for name, gains in found.by["explainer"].items():
        asked, used = chosen.asked.get(name, NOWHERE), chosen.used.get(name, NOWHERE)
        fixed[name] = AtPoint(
            *(asked.w, asked.p, used.w, used.p, chosen.origins[name], chosen.provenance[name]),
            gains=gains,
            by=found.by_explainer[name],
        )
    return Fixed(fixed, found.by, best_explainer(found), found, chosen)


def tables(result: Fixed) -> Sequence[Table]:
    """Counts and gains by data set, language pair and metric, for each explainer."""
    groups = []
    for factor in FACTORS[:3]:
        rows = [
            (Cell(factor), Cell(name), Cell(explainer), *one.cells, *one.sure, Cell(one.mean_baseline, ".4f"))
            for explainer, found in result.fixed.items()
            for name, one in found.by[factor].items()
        ]
        groups.append(tuple(rows))
    if not any(groups):
        return ()
    table = Table(
        "gains_by_factor",
        "Gains at the fixed points by data set, language pair and metric",
        ("factor", "name", "explainer", *COUNTS, *SURE, "mean baseline"),
        tuple(groups),
        (COUNTED, CLUSTERED, result.points.in_words()),
        names=3,
    )
    return (table,)


def best_explainer(found: FixedEvaluation) -> str | None:
    """The explainer with the largest share of better settings at its point.

    Ties are broken by the larger mean gain, then by name. None without a defined gain.
    """
    candidates = [(name, one) for name, one in found.by["explainer"].items() if one.n > 0]
    if not candidates:
        return None
    return min(candidates, key=lambda item: (-item[1].better / item[1].n, -item[1].mean_gain, item[0]))[0]


def gains_at(table: GridTable, point: Point) -> Floats:
    """float64[S] gains of all settings at one point; exactly 0 at w = 1, NaN outside the grid."""
    found = nearest_point(table.p, table.w, point.p, point.w)
    if found is None:
        return np.full(len(table), np.nan)
    if table.w[found[1]] == 1:
        return np.where(np.isnan(table.baseline), np.nan, 0.0)
    return np.asarray(table.gains[:, found[0], found[1]], dtype=np.float64)


def evaluate(table: GridTable, points: Mapping[str, Point], seed: int = 0) -> FixedEvaluation:
    """All settings of a table at the points of their explainers; seed: of the bootstrap of clusters."""
    gain = np.full(len(table), np.nan)
    used = {}
    for explainer, point in points.items():
        used[explainer] = grid_point(table, point)
        rows = table.where(explainer=explainer)
        gain[rows] = gains_at(table, point)[rows]
    by_explainer = {}
    for explainer in table.factor_levels("explainer"):
        rows = table.where(explainer=explainer)
        part = table.take(rows)
        by_explainer[explainer] = {factor: summarise_by(part, gain[rows], factor, seed) for factor in FACTORS[:3]}
    return FixedEvaluation(
        points=dict(points),
        used=used,
        correlation=table.baseline + gain,
        gain=gain,
        all=summarise(gain, table.baseline, table.clusters, seed),
        by={factor: summarise_by(table, gain, factor, seed) for factor in FACTORS},
        by_explainer=by_explainer,
    )
