"""The figures of points that questions have (`analysis.base.Scatter`)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bmx_grid.analysis.base import Scatter
from bmx_grid.analysis.questions import Analysis
from bmx_grid.core.wording import escape_unprintable
from bmx_grid.report.canvas import COLUMN, GREY, LINES, MARKERS, PAPER, Drawing, canvas, legend_above, sign_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEIGHT = 2.8  # inches


def scatter(analysis: Analysis, figure: Scatter) -> Drawing:
    """A figure of a question, that can be drawn."""
    return sign_figure(analysis, figure.stem, figure.title, figure.caption, partial(_draw, figure))


def _draw(figure: Scatter) -> Figure:
    """Draw the points, a mark and a colour per group, with lines at 0."""
    drawn, (axes,) = canvas(COLUMN, HEIGHT)
    for place, (name, (x, y)) in enumerate(figure.points.items()):
        axes.plot(
            x,
            y,
            linestyle="none",
            marker=MARKERS[place % len(MARKERS)],
            markersize=4,
            color=LINES[place % len(LINES)],
            markeredgecolor=PAPER,
            markeredgewidth=0.4,
            label=escape_unprintable(name),
        )
    for line in (axes.axhline, axes.axvline):
        line(0, color=GREY, linewidth=0.6, zorder=1)
    axes.set_xlabel(figure.x_label)
    axes.set_ylabel(figure.y_label)
    legend_above(drawn, ncols=3, fontsize=6.5, handletextpad=0.1, columnspacing=0.9)
    return drawn
