"""Gains at declared points with their intervals: one figure per explainer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from bmx_grid.analysis import shown
from bmx_grid.analysis.basis import Basis
from bmx_grid.analysis.names import correlation_in_words, label
from bmx_grid.analysis.run import Analysis
from bmx_grid.analysis.shown import ForestRow
from bmx_grid.analysis.signature import signature
from bmx_grid.report.figures.canvas import PAGE, Drawing, canvas, no_change_line, thin_grid
from bmx_grid.report.figures.palette import BLUE, PAPER
from bmx_grid.wording import file_stem

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW = 0.21  # inches


def forests(analysis: Analysis, basis: Basis) -> list[Drawing]:
    """A figure for each explainer whose gains were tested."""
    found = ((name, shown.forest_of(analysis, name)) for name in analysis.real.factor_levels("explainer"))
    return [_forest(analysis, basis, name, rows) for name, rows in found if rows]


def _forest(analysis: Analysis, basis: Basis, explainer: str, rows: Sequence[ForestRow]) -> Drawing:
    kind = correlation_in_words(basis.correlation)
    each = "data set and metric, means over language pairs with intervals by pair" if rows[0].n > 1 else "setting"
    caption = (
        f"Gain of {label(explainer)} ({kind}, boosted minus metric alone) at the declared point, one row per {each}; "
        "lines are 95 % intervals. "
    )
    if rows[0].n == 1:
        caption += "Filled: gains that survive Holm's correction; hollow: the others. "
    return Drawing(
        f"gains_with_intervals_{file_stem(explainer)}",
        f"Gains of {label(explainer)} with intervals",
        f"{caption}{signature(analysis)}",
        partial(_draw, rows, f"gain in {kind}"),
    )


def _draw(rows: Sequence[ForestRow], axis: str) -> Figure:
    figure, (axes,) = canvas(PAGE, 0.85 + ROW * max(len(rows), 3))
    for at, row in enumerate(rows):
        interval(axes, -at, row.low, row.high, BLUE, 1.4)
        # Hollow where a test was made and the gain does not survive, and where means are shown.
        axes.plot(
            [row.gain],
            [-at],
            linestyle="none",
            marker="o",
            markersize=4.5,
            color=BLUE if row.survives else PAPER,
            markeredgecolor=BLUE,
            markeredgewidth=1.0,
            zorder=4,
            label="gain" if at == 0 else None,
        )
    axes.set_yticks([-at for at in range(len(rows))], [" ".join(map(label, row.names)) for row in rows], fontsize=6.5)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(-len(rows) + 0.35, 0.6)
    axes.locator_params(axis="x", nbins=7)
    thin_grid(axes, "x")
    no_change_line(axes)
    axes.set_xlabel(axis)
    figure.legend(loc="outside upper left", frameon=False, ncols=5, handletextpad=0.3, columnspacing=1.2)
    return figure


def interval(axes: Axes, at: float, low: float, high: float, colour: str, width: float) -> None:
    """A line between the ends of an interval; none where they are undefined."""
    if math.isfinite(low) and math.isfinite(high):
        axes.plot([low, high], [at, at], color=colour, linewidth=width, solid_capstyle="butt", zorder=2)
