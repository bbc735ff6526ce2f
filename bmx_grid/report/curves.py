"""The figure of a setting: correlation over p, one line per w (Figure 3 of the BMX paper)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.analysis.gains import at_points
from bmx_grid.analysis.points import chosen_points
from bmx_grid.analysis.questions import Analysis, signature
from bmx_grid.core.wording import MINUS, file_stem, point_in_words, setting_in_words, typeset
from bmx_grid.measures.correlation import NO_CHANGE
from bmx_grid.report.canvas import (
    DASHES,
    DPI,
    INK,
    LINES,
    MARKERS,
    PAGE,
    Drawing,
    correlation_of,
    empty,
    thin_grid,
    undefined_in_words,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT = 2.5  # inches
LEAST_REACH = 0.005  # of the second frame, above and below the metric alone


def setting_drawing(analysis: Analysis, row: int) -> Drawing:
    """The curves of one setting of an analysis."""
    names = analysis.table.settings[row]
    stem = f"correlation_over_p_{file_stem(*names)}"
    title = f"{setting_in_words(names)}: correlation over p"
    return Drawing(stem, title, _caption(analysis, row), lambda: correlation_over_p(analysis, row))


def _caption(analysis: Analysis, row: int) -> str:
    """The numbers of the figure in sentences."""
    setting: Any = analysis.ask(at_points).iloc[row]
    alone = typeset(setting["baseline"], ".4f") if math.isfinite(setting["baseline"]) else "undefined"
    words = [
        f"{correlation_of(analysis).capitalize()} with human scores over p, one line per w; right: near the metric "
        f"alone. Metric alone (w = 1): {alone}."
    ]
    if setting["best_w"] < 1:
        words.append(f"Best point (in-sample): {_point(setting, 'best', setting['gain'])}.")
    elif math.isfinite(setting["baseline"]):
        words.append("Best of all points: the metric alone.")
    if math.isfinite(setting["fixed"]):
        low, high = (typeset(setting[f"fixed_gain_{end}"], "+.4f") for end in ("low", "high"))
        ends = f" [{low}, {high}], the vertical line" if math.isfinite(setting["fixed_gain_low"]) else ""
        origin = analysis.ask(chosen_points)["origin"][setting["explainer"]]
        words.append(f"Fixed point: {_point(setting, 'fixed', setting['fixed_gain'])}{ends}, {origin}.")
    undefined = undefined_in_words(int(np.isnan(analysis.table.correlation[row]).sum()), "point")
    return f"{' '.join(words)}{undefined} {analysis.ask(signature)}"


def _point(setting: pd.Series, name: str, gain: float) -> str:
    where = point_in_words(setting[f"{name}_w"], setting[f"{name}_p"], MINUS).replace(" ", "\u00a0")
    return f"{typeset(setting[name], '.4f')} ({where}), gain {typeset(gain, '+.4f')}"


def correlation_over_p(analysis: Analysis, row: int) -> Figure:
    """Two frames: the whole grid, and its part near the metric alone. To be called inside `canvas.style`."""
    from matplotlib.figure import Figure

    setting: Any = analysis.ask(at_points).iloc[row]
    aggregation = analysis.shared("aggregation")
    figure = Figure(figsize=(PAGE, HEIGHT), dpi=DPI)
    # Fixed positions: finding them from the extents of all labels takes half of the drawing time.
    whole, near = (figure.add_axes((left, 0.165, 0.315, 0.735)) for left in (0.088, 0.49))
    for axes in (whole, near):
        _draw_lines(axes, analysis, row, setting)
        thin_grid(axes)
        axes.margins(x=0.01)
        axes.set_xlabel("p of the power mean" if aggregation in (None, "PowerMean") else f"p ({aggregation})")
        axes.xaxis.set_label_coords(0.5, -0.13)
    if np.isnan(analysis.table.correlation[row]).all():
        empty(whole, "no defined correlation")
    baseline, gain = setting["baseline"], setting["gain"]
    if math.isfinite(baseline):
        reach = max(gain, LEAST_REACH) if math.isfinite(gain) else LEAST_REACH
        low, high = whole.get_ylim()
        near.set_ylim(max(baseline - 2 * reach, low), min(baseline + 1.5 * reach, high))
    kind = correlation_of(analysis)
    whole.set_ylabel(f"{kind[:1].upper()}{kind[1:]} with human scores")
    whole.yaxis.set_label_coords(-0.2, 0.5)
    figure.text(0.088, 0.935, setting_in_words(analysis.table.settings[row]), fontsize=8)
    near.set_title("near the metric alone", loc="right", fontsize=7.5, pad=3)
    near.legend(loc="upper left", bbox_to_anchor=(1.0, 1.03), frameon=False, handlelength=2.6, handletextpad=0.6)
    return figure


def _draw_lines(axes: Axes, analysis: Analysis, row: int, setting: pd.Series) -> None:
    """One line over p per w, ascending in w, so that the metric alone (black) lies on top; then the points."""
    table = analysis.table
    every = max(len(table.p) // 10, 1)
    for column, weight in enumerate(table.w.tolist()):
        alone = weight == 1
        axes.plot(
            table.p,
            table.correlation[row][:, column],
            color=INK if alone else LINES[column % len(LINES)],
            linestyle="-" if alone else DASHES[column % len(DASHES)],
            linewidth=1.3 if alone else 1.1,
            marker=None if alone and len(table.p) > 1 else MARKERS[column % len(MARKERS)],
            markevery=((column * every) // len(table.w), every),
            markersize=3.2,
            label="metric alone" if alone else f"w = {weight:g}",
        )
    if math.isfinite(setting["fixed_p"]):
        if math.isfinite(setting["fixed_gain_low"]):
            ends = [setting["baseline"] + setting[f"fixed_gain_{end}"] for end in ("low", "high")]
            axes.plot([setting["fixed_p"]] * 2, ends, color=INK, linewidth=1.1, solid_capstyle="butt", zorder=8)
        cross: dict[str, Any] = {"marker": "x", "markersize": 6, "markeredgewidth": 1.5, "color": INK}
        axes.plot([setting["fixed_p"]], [setting["fixed"]], label="fixed (w, p)", zorder=9, linestyle="none", **cross)
    if setting["gain"] > NO_CHANGE:
        ring: dict[str, Any] = {"marker": "o", "markersize": 7, "markeredgecolor": INK, "color": "none"}
        axes.plot([setting["best_p"]], [setting["best"]], label="best (in-sample)", zorder=10, linestyle="none", **ring)
