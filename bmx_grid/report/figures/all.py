"""The figures of an analysis: those that its page shows, and all others."""

from __future__ import annotations

from bmx_grid.analysis.basis import UNKNOWN, Basis
from bmx_grid.analysis.run import Analysis
from bmx_grid.report.figures.canvas import Drawing
from bmx_grid.report.figures.forest import boosts, declared_gains
from bmx_grid.report.figures.gains import TOGETHER, gains_by, gains_of_all_points
from bmx_grid.report.figures.grid import setting_drawing
from bmx_grid.report.figures.plausibility import plausibility
from bmx_grid.report.figures.selection import best_boxes, better_and_worse, better_when_left_out, ridge_bars

ENDS = 3  # coefficients at each end of the shorter figure of the regression
MANY = 4 * ENDS  # coefficients up to which there is no shorter one


def page_figures(analysis: Analysis, basis: Basis = UNKNOWN) -> list[Drawing]:
    """The figures that the page of an analysis shows, that of the boosts first. basis: which correlation is shown."""
    return [*boosts(analysis, basis), *declared_gains(analysis, basis), *plausibility(analysis, basis)]


def further_figures(analysis: Analysis, basis: Basis = UNKNOWN) -> list[Drawing]:
    """The figures of the BMX paper: of distributions, selected points and the regression, then of every setting."""
    drawings = [gains_of_all_points(analysis, basis)]
    if len(analysis.real):
        drawings += [best_boxes(analysis), better_and_worse(analysis), better_when_left_out(analysis)]
        if len(analysis.ridge.coefficients) > MANY:
            drawings.append(ridge_bars(analysis, ENDS))
        drawings.append(ridge_bars(analysis))
    best = analysis.best_explainer
    if best is not None:
        drawings += [gains_by(analysis, basis, best, factor) for factor in ("dataset", "language_pair", "metric")]
        if len(analysis.real.factor_levels("language_pair")) > TOGETHER:
            drawings.append(gains_by(analysis, basis, best, "language_pair", suffix="_all"))
    return [*drawings, *(setting_drawing(analysis, row, basis) for row in range(len(analysis.table)))]
