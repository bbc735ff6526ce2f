"""Any table evaluated at given (p, w), one point for each explainer (paper 4.3 to 4.5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bmx_grid.analysis.gains import GainSummary, summarise, summarise_by
from bmx_grid.analysis.medians import Point
from bmx_grid.analysis.table import FACTORS, Floats, GridTable

EQUALLY_NEAR = 1e-9  # distances to two grid points that differ by less are equal
BEYOND = 1e-9


@dataclass(frozen=True, eq=False)
class FixedEvaluation:
    """S settings, each at the point of its explainer.

    points: the (p, w) asked for, by explainer.
    used: the grid points they were evaluated at, by explainer: the nearest p and w of the grid, of two equally near
        ones the lower. p = -0.95 on a grid of tenths is evaluated at -1.0, as the paper's published numbers are.
        A number is therefore always a correlation that was computed, never one between two. NaN outside the grid.
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


def grid_point(table: GridTable, point: Point) -> tuple[int, int] | None:
    """Row and column of the grid point nearest to `point`, of equally near ones the lower; None outside the grid."""
    row, column = _nearest(table.p, point.p), _nearest(table.w, point.w)
    return None if row is None or column is None else (row, column)


def gains_at(table: GridTable, point: Point) -> Floats:
    """float64[S] gains of all settings at one point; NaN outside the grid."""
    found = grid_point(table, point)
    if found is None:
        return np.full(len(table), np.nan)
    return np.asarray(table.gains[:, found[0], found[1]], dtype=np.float64)


def evaluate(table: GridTable, points: Mapping[str, Point]) -> FixedEvaluation:
    """All settings of a table at the points of their explainers."""
    gain = np.full(len(table), np.nan)
    used = {}
    for explainer, point in points.items():
        found = grid_point(table, point)
        used[explainer] = Point(float("nan"), float("nan"))
        if found is not None:
            used[explainer] = Point(float(table.p[found[0]]), float(table.w[found[1]]))
        rows = table.where(explainer=explainer)
        gain[rows] = gains_at(table, point)[rows]
    by_explainer = {}
    for explainer in table.factor_levels("explainer"):
        rows = table.where(explainer=explainer)
        part = table.take(rows)
        by_explainer[explainer] = {factor: summarise_by(part, gain[rows], factor) for factor in FACTORS[:3]}
    return FixedEvaluation(
        points=dict(points),
        used=used,
        correlation=table.baseline + gain,
        gain=gain,
        all=summarise(gain, table.baseline),
        by={factor: summarise_by(table, gain, factor) for factor in FACTORS},
        by_explainer=by_explainer,
    )


def _nearest(values: Floats, wanted: float) -> int | None:
    """The index of the nearest of ascending values; None when `wanted` is NaN or beyond their ends."""
    if not values[0] - BEYOND <= wanted <= values[-1] + BEYOND:
        return None
    distance = np.abs(values - wanted)
    return int(np.flatnonzero(distance <= distance.min() + EQUALLY_NEAR)[0])
