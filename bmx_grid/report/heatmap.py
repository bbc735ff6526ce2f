"""The grid of one setting as a heatmap: correlation by p across and w upwards."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.analysis.gains import at_points
from bmx_grid.analysis.questions import Analysis
from bmx_grid.core.wording import setting_in_words
from bmx_grid.measures.correlation import NO_CHANGE
from bmx_grid.report.canvas import INK, PAGE, canvas, correlation_of, name_of_fixed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bmx_grid.core.ragged import Floats

HEATMAP_HEIGHT = 2.2  # inches
MOST_TICKS = 9


def correlation_heatmap(analysis: Analysis, row: int) -> Figure:
    """A cell per point of the grid; undefined ones are empty. To be called inside `canvas.style`."""
    table = analysis.table
    setting = analysis.ask(at_points).iloc[row]
    figure, (axes,) = canvas(PAGE, HEATMAP_HEIGHT)
    # By place, not by value: p may be infinite, and w need not be evenly spaced.
    mesh = axes.pcolormesh(np.ma.masked_invalid(table.correlation[row].T), cmap="viridis")
    figure.colorbar(mesh, ax=axes, label=correlation_of(analysis), pad=0.01)
    _name_ticks(axes.xaxis, table.p)
    _name_ticks(axes.yaxis, table.w)
    axes.set_xlabel("p of the power mean")
    axes.set_ylabel("w")
    axes.set_title(setting_in_words(table.settings[row]), loc="left", fontsize=8)
    if setting.gain > NO_CHANGE:
        _mark(axes, table.p, table.w, setting.best_p, setting.best_w, marker="o", label="best (in-sample)")
    if math.isfinite(setting.fixed):
        _mark(axes, table.p, table.w, setting.fixed_p, setting.fixed_w, marker="x", label=name_of_fixed(analysis))
    if axes.get_legend_handles_labels()[0]:
        figure.legend(loc="outside upper right", frameon=False, ncols=2, fontsize=7)
    return figure


def _name_ticks(axis: Any, values: Floats) -> None:
    """Some of the values below the middle of their cells, the first and the last among them."""
    count = min(len(values), MOST_TICKS)
    places = np.unique(np.linspace(0, len(values) - 1, count).round().astype(np.int64))
    axis.set_ticks(places + 0.5, [f"{value:g}" for value in values[places].tolist()])


def _mark(axes: Axes, p: Floats, w: Floats, at_p: float, at_w: float, *, marker: str, label: str) -> None:
    """A mark in the cell of a point of the grid."""
    x = np.flatnonzero(p == at_p)
    y = np.flatnonzero(w == at_w)
    if len(x) and len(y):
        look: dict[str, Any] = {"linestyle": "none", "color": "none", "markeredgecolor": INK, "markersize": 6}
        axes.plot(x[:1] + 0.5, y[:1] + 0.5, marker=marker, label=label, **look)
