"""The figures of a setting: correlation over p, one line per w (Figure 3 of the BMX paper), and gain over p and w."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.analysis.gains import at_points
from bmx_grid.analysis.names import correlation_in_words, setting_in_words
from bmx_grid.analysis.points import chosen_points
from bmx_grid.analysis.questions import Analysis, signature
from bmx_grid.analysis.table import Setting
from bmx_grid.core.wording import MINUS, counted, file_stem, point_in_words, typeset
from bmx_grid.measures.best import NO_CHANGE
from bmx_grid.measures.grid import Point
from bmx_grid.report.figures.canvas import (
    COLUMN,
    DASHES,
    DPI,
    INK,
    LINES,
    MARKERS,
    PAGE,
    QUIET,
    Drawing,
    empty,
    thin_grid,
    undefined_in_words,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

HEIGHT = 2.5  # inches
LEAST_REACH = 0.005  # of the second frame, above and below the metric alone, and of the colours of a heat map
COLOUR_REACH = 1.5  # the end of the colours, in largest gains: losses are often a hundred times as large
MOST_TICKS = 7
NO_INTERVAL = (math.nan, math.nan)


@dataclass(frozen=True, eq=False)
class Curves:
    """What is drawn of a setting.

    names: data set, language pair, metric, explainer; correlation: float64[P, W] at p: float64[P], w: float64[W].
    kind: "pearson", "spearman", "kendall", or None where it is not known; aggregation: the name of the power mean.
    best, fixed: points and their correlations; None and NaN without one. notes: sentences at the end of the caption.
    interval: of the gain at the fixed point, NaN without one; ceiling: what the human scores' reliability allows, NaN
    where it is not known.
    """

    names: tuple[str, ...]
    p: Floats
    w: Floats
    correlation: Floats
    baseline: float
    best: Point | None
    best_correlation: float
    fixed: Point | None
    fixed_correlation: float
    kind: str | None
    aggregation: str | None
    notes: str
    interval: tuple[float, float] = NO_INTERVAL
    ceiling: float = math.nan

    @property
    def mean(self) -> str:
        """The label of the axis of p."""
        return "p of the power mean" if self.aggregation in (None, "PowerMean") else f"p ({self.aggregation})"

    @property
    def caption(self) -> str:
        """The numbers of the figure in sentences."""
        alone = typeset(self.baseline, ".4f") if math.isfinite(self.baseline) else "undefined"
        words = [
            f"{correlation_in_words(self.kind).capitalize()} with human scores over p, one line per w; right: near "
            f"the metric alone. Metric alone (w = 1): {alone}."
        ]
        if self.best is not None:
            words.append(f"Best point (in-sample): {self._at(self.best_correlation, self.best)}.")
        elif math.isfinite(self.baseline):
            words.append("Best of all points: the metric alone.")
        if self.fixed is not None:
            low, high = (typeset(end, "+.4f") for end in self.interval)
            ends = f" [{low}, {high}], the vertical line" if math.isfinite(self.interval[0]) else ""
            words.append(f"Fixed point: {self._at(self.fixed_correlation, self.fixed)}{ends}.")
        if math.isfinite(self.ceiling):
            words.append(f"Dotted: the ceiling that the reliability of the human scores sets, {self.ceiling:.3f}.")
        undefined = undefined_in_words(int(np.isnan(self.correlation).sum()), "point")
        return f"{' '.join(words)}{undefined} {self.notes}"

    def _at(self, correlation: float, point: Point) -> str:
        where = point_in_words(point.w, point.p, MINUS).replace(" ", "\u00a0")
        return f"{typeset(correlation, '.4f')} ({where}), gain {typeset(correlation - self.baseline, '+.4f')}"


def setting_drawing(analysis: Analysis, row: int) -> Drawing:
    """The curves of one setting of an analysis."""
    curves = curves_of_row(analysis, row)
    stem = f"correlation_over_p_{file_stem(*curves.names)}"
    title = f"{setting_in_words(curves.names)}: correlation over p"
    return Drawing(stem, title, curves.caption, lambda: correlation_over_p(curves))


def curves_of_row(analysis: Analysis, row: int) -> Curves:
    """The curves of a setting of an analysis."""
    table = analysis.table
    numbers, names = analysis.ask(at_points).iloc[row], table.settings[row]
    best, known = float(numbers["best"]), math.isfinite(numbers["fixed"])
    boosted = math.isfinite(best) and numbers["best_w"] < 1
    notes = [f"Fixed point: {analysis.ask(chosen_points)['origin'][names.explainer]}."] if known else []
    if (names.dataset, names.language_pair) in analysis.basis.used:
        notes.append(f"{counted(analysis.basis.used[names.dataset, names.language_pair], 'segment')}.")
    return Curves(
        names=tuple(names),
        p=table.p,
        w=table.w,
        correlation=table.correlation[row],
        baseline=float(table.baseline[row]),
        best=Point(numbers["best_p"], numbers["best_w"]) if boosted else None,
        best_correlation=best,
        fixed=Point(numbers["fixed_p"], numbers["fixed_w"]) if known else None,
        fixed_correlation=float(numbers["fixed"]),
        kind=analysis.basis.correlation,
        aggregation=analysis.basis.aggregation,
        notes=" ".join([*notes, signature(analysis)]),
        interval=(numbers["fixed_gain_low"], numbers["fixed_gain_high"]),
        ceiling=_ceiling(analysis, names),
    )


def _ceiling(analysis: Analysis, names: Setting) -> float:
    """The highest correlation that a setting can be expected to reach; NaN where no raters are published."""
    if "ceilings" not in analysis.frames:
        return math.nan
    ceilings = analysis.frames["ceilings"]
    of_pair = (ceilings["dataset"] == names.dataset) & (ceilings["language_pair"] == names.language_pair)
    return float(ceilings["ceiling"][of_pair].iloc[0]) if of_pair.any() else math.nan


def correlation_over_p(curves: Curves) -> Figure:
    """Two frames: the whole grid, and its part near the metric alone. To be called inside `canvas.style`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(PAGE, HEIGHT), dpi=DPI)
    # Fixed positions: finding them from the extents of all labels takes half of the drawing time.
    whole, near = (figure.add_axes((left, 0.165, 0.315, 0.735)) for left in (0.088, 0.49))
    for axes in (whole, near):
        _draw_lines(axes, curves)
        thin_grid(axes)
        axes.margins(x=0.01)
        axes.set_xlabel(curves.mean)
        axes.xaxis.set_label_coords(0.5, -0.13)
    if math.isfinite(curves.ceiling):
        whole.axhline(curves.ceiling, color=INK, linewidth=0.9, linestyle=(0, (1, 2)), label="ceiling")
    if np.isnan(curves.correlation).all():
        empty(whole, "no defined correlation")
    if math.isfinite(curves.baseline):
        gain = curves.best_correlation - curves.baseline
        reach = max(gain, LEAST_REACH) if math.isfinite(gain) else LEAST_REACH
        low, high = whole.get_ylim()
        near.set_ylim(max(curves.baseline - 2 * reach, low), min(curves.baseline + 1.5 * reach, high))
    kind = correlation_in_words(curves.kind)
    whole.set_ylabel(f"{kind[:1].upper()}{kind[1:]} with human scores")
    whole.yaxis.set_label_coords(-0.2, 0.5)
    figure.text(0.088, 0.935, setting_in_words(curves.names), fontsize=8)
    near.set_title("near the metric alone", loc="right", fontsize=7.5, pad=3)
    near.legend(loc="upper left", bbox_to_anchor=(1.0, 1.03), frameon=False, handlelength=2.6, handletextpad=0.6)
    return figure


def _draw_lines(axes: Axes, curves: Curves) -> None:
    """One line over p per w, ascending in w, so that the metric alone (black) lies on top; then the points."""
    finite = np.isfinite(curves.p)
    every = max(len(curves.p) // 10, 1)
    for column, weight in enumerate(curves.w.tolist()):
        alone = weight == 1
        axes.plot(
            curves.p[finite],
            curves.correlation[finite, column],
            color=INK if alone else LINES[column % len(LINES)],
            linestyle="-" if alone else DASHES[column % len(DASHES)],
            linewidth=1.3 if alone else 1.1,
            marker=None if alone and len(curves.p) > 1 else MARKERS[column % len(MARKERS)],
            markevery=((column * every) // len(curves.w), every),
            markersize=3.2,
            label="metric alone" if alone else f"w = {weight:g}",
        )
    fixed, best = curves.fixed, curves.best
    if fixed is not None and math.isfinite(fixed.p):
        if math.isfinite(curves.interval[0]):
            ends = [curves.baseline + end for end in curves.interval]
            axes.plot([fixed.p] * 2, ends, color=INK, linewidth=1.1, solid_capstyle="butt", zorder=8)
        cross: dict[str, Any] = {"marker": "x", "markersize": 6, "markeredgewidth": 1.5, "color": INK}
        axes.plot([fixed.p], [curves.fixed_correlation], label="fixed (w, p)", zorder=9, linestyle="none", **cross)
    if best is not None and curves.best_correlation > curves.baseline + NO_CHANGE:
        ring: dict[str, Any] = {"marker": "o", "markersize": 7, "markeredgecolor": INK, "color": "none"}
        axes.plot([best.p], [curves.best_correlation], label="best (in-sample)", zorder=10, linestyle="none", **ring)


def heat_map(curves: Curves) -> Figure:
    """Gain over the metric alone at every (p, w), blue where it gains and red where it loses; undefined points blank.

    The metric alone (w = 1) is left out: its gain is 0 for every p. To be called inside `canvas.style`.
    """
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure

    figure = Figure(figsize=(COLUMN, HEIGHT), dpi=DPI)
    axes = figure.add_axes((0.14, 0.2, 0.62, 0.66))
    finite, boosted = np.isfinite(curves.p), curves.w != 1
    gain = (curves.correlation[finite] - curves.baseline)[:, boosted]
    p, w = curves.p[finite], curves.w[boosted]
    figure.text(0.14, 0.92, setting_in_words(curves.names), fontsize=7)
    axes.set_xlabel(curves.mean)
    axes.set_ylabel("w")
    if not np.isfinite(gain).any():
        empty(axes, "no defined correlation")
        return figure
    end = max(COLOUR_REACH * float(np.nanmax(gain)), LEAST_REACH)
    colours = LinearSegmentedColormap.from_list("gain", ["#7f2704", "#fdae6b", "#ffffff", "#6baed6", "#08306b"])
    image = axes.imshow(
        gain.T, origin="lower", aspect="auto", cmap=colours, vmin=-end, vmax=end, interpolation="nearest"
    )
    ticks = _ticks(p)
    axes.set_xticks(ticks, [typeset(p[tick]) for tick in ticks])
    axes.set_yticks(np.arange(len(w)), [f"{weight:g}" for weight in w])
    axes.tick_params(length=2, color=QUIET)
    better = curves.best_correlation > curves.baseline + NO_CHANGE
    for point, marker, face in ((curves.fixed, "x", INK), (curves.best if better else None, "o", "none")):
        if point is not None and point.w != 1:
            column, line = int(np.argmin(np.abs(p - point.p))), int(np.argmin(np.abs(w - point.w)))
            axes.plot([column], [line], marker=marker, color=INK, markerfacecolor=face, markersize=6, zorder=9)
    bar = figure.colorbar(image, cax=figure.add_axes((0.79, 0.2, 0.025, 0.66)), extend="both", format="%+.3g")
    bar.ax.tick_params(labelsize=6, length=2)
    bar.set_label(f"gain in {correlation_in_words(curves.kind)}", fontsize=6.5, labelpad=1)
    return figure


def _ticks(p: Floats) -> NDArray[np.intp]:
    """Places of round p where there are some, otherwise of evenly spaced ones."""
    for step in (1, 2, 5, 10, 20, 50, 100):
        found = np.flatnonzero(np.isclose(p % step, 0))
        if 2 <= len(found) <= MOST_TICKS:
            return found
    return np.unique(np.linspace(0, len(p) - 1, min(len(p), MOST_TICKS)).astype(np.intp))
