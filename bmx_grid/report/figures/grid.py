"""The figure of a setting: correlation over p, one line per w (Figure 3 of the BMX paper)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.analysis import shown
from bmx_grid.analysis.basis import Basis, band_of
from bmx_grid.analysis.given import Point
from bmx_grid.analysis.names import correlation_in_words, setting_in_words
from bmx_grid.analysis.run import Analysis
from bmx_grid.analysis.signature import signature
from bmx_grid.evaluations.tests_of import Band
from bmx_grid.measures.best import NO_CHANGE
from bmx_grid.report.figures import current
from bmx_grid.report.figures.canvas import DPI, PAGE, VERSION, Drawing, empty, save, style, thin_grid
from bmx_grid.report.figures.palette import DASHES, INK, LINES, MARKERS
from bmx_grid.report.figures.words import point, undefined_in_words
from bmx_grid.sweep.results import SettingResult
from bmx_grid.wording import counted, file_stem, typeset, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

HEIGHT = 2.5  # inches
LEAST_REACH = 0.005  # of the second frame, above and below the metric alone
STEM = "correlation_over_p"


def _band(tested: Band | None, shown_w: float) -> Band | None:
    """The band of the shown w; None where the grid was not tested there, and for the metric alone."""
    return tested if tested is not None and shown_w == tested.w and shown_w != 1 else None


@dataclass(frozen=True, eq=False)
class Curves:
    """What is drawn of a setting.

    names: data set, language pair, metric, explainer; correlation: float64[P, W] at p: float64[P], w: float64[W].
    kind: "pearson", "spearman", "kendall", or None where it is not known; mean: the name of the power mean on the axis.
    best, fixed: points and their correlations; None and NaN without one. words: the caption. band: of the correlations
    at one w; interval: of the gain at the fixed point, NaN without one; ceiling: what the human scores' reliability
    allows, NaN where it is not known.
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
    mean: str
    words: str
    band: Band | None = None
    interval: tuple[float, float] = (math.nan, math.nan)
    ceiling: float = math.nan


def draw_setting(result: SettingResult, path: Path) -> None:
    """Write the figure of a result as a PNG in one step; its caption is the PNG's description.

    Undefined points leave gaps. Raises StoreError when the file cannot be written.
    """
    curves = curves_of_result(result)
    with style():
        title = setting_in_words(curves.names)
        save(
            correlation_over_p(curves),
            [path],
            title=title,
            caption=visible(curves.words),
            stamp=_stamp(result.fingerprint),
        )


def is_current(path: Path, fingerprint: str) -> bool:
    """Whether `path` is a whole figure, drawn by this code, of the result with this fingerprint."""
    return current.is_current(path, _stamp(fingerprint))


def _stamp(fingerprint: str) -> str:
    return f"{VERSION}:{fingerprint}"


def setting_drawing(analysis: Analysis, row: int, basis: Basis) -> Drawing:
    """The figure of one setting of an analysis."""
    curves = curves_of_row(analysis, row, basis)
    stem = f"{STEM}_{file_stem(*curves.names)}"
    title = f"{setting_in_words(curves.names)}: correlation over p"
    return Drawing(stem, title, curves.words, lambda: correlation_over_p(curves))


def curves_of_result(result: SettingResult) -> Curves:
    """The curves of a finished setting of a sweep."""
    grid = result.grid
    boosted = math.isfinite(grid.best_p) and grid.best_w != 1
    given = math.isfinite(result.fixed) and math.isfinite(result.fixed_p)
    best = Point(grid.best_p, grid.best_w) if boosted else None
    fixed = Point(result.fixed_p, result.fixed_w) if given else None
    sides = "both sides" if result.side == "both" else "the hypothesis"
    shared = f", shared by {grid.plateau:,} points" if grid.plateau > 1 and boosted else ""
    words = [
        *_words(result.correlation, grid.baseline, best, grid.best, fixed, result.fixed, shared),
        f"{counted(grid.n_used, 'segment')}, words of {sides}, {result.aggregation}."
        + undefined_in_words(grid.n_undefined, "point"),
        result.signature,
    ]
    band = _band(band_of(result), result.fixed_w if given else grid.best_w)
    words.insert(-1, _band_in_words(band))
    return Curves(
        names=result.names,
        p=np.asarray(result.p, dtype=np.float64),
        w=np.asarray(result.w, dtype=np.float64),
        correlation=grid.correlation,
        baseline=grid.baseline,
        best=best,
        best_correlation=grid.best,
        fixed=fixed,
        fixed_correlation=result.fixed,
        kind=result.correlation,
        mean=_mean(result.aggregation),
        words=" ".join(filter(None, words)),
        band=band,
    )


def curves_of_row(analysis: Analysis, row: int, basis: Basis) -> Curves:
    """The curves of a setting of an analysis."""
    table = analysis.table
    best, fixed, baseline = shown.best_of(analysis, row), shown.fixed_of(analysis, row), float(table.baseline[row])
    names = table.settings[row]
    at = fixed.point if math.isfinite(fixed.correlation) else None
    shared = f", {counted(best.plateau, 'point')} within 1e-5 of the highest below w = 1; rule '{best.tie}'"
    interval, most = (fixed.low, fixed.high), shown.ceiling_of(analysis, row)
    words = _words(basis.correlation, baseline, best.point, best.correlation, at, fixed.correlation, shared, interval)
    if math.isfinite(most):
        words.append(
            f"Dotted: the ceiling that the reliability of the human scores sets to any metric, {typeset(most, '.3f')}."
        )
    if at is not None:
        words.append(f"Fixed point: {fixed.origin}.")
    if (names.dataset, names.language_pair) in basis.used:
        words.append(f"{counted(basis.used[names.dataset, names.language_pair], 'segment')}.")
    undefined = int(np.isnan(table.correlation[row]).sum())
    shown_w = best.point.w if at is None and best.point is not None else math.nan if at is None else at.w
    band = _band(basis.bands.get(names), shown_w)
    words += [_band_in_words(band)] if band is not None else []
    return Curves(
        names=tuple(names),
        p=table.p,
        w=table.w,
        correlation=table.correlation[row],
        baseline=baseline,
        best=best.point,
        best_correlation=best.correlation,
        fixed=at,
        fixed_correlation=fixed.correlation,
        kind=basis.correlation,
        mean=_mean(basis.aggregation),
        words=" ".join(words) + undefined_in_words(undefined, "point") + f" {signature(analysis)}",
        band=band,
        interval=interval,
        ceiling=most,
    )


def _band_in_words(band: Band | None) -> str:
    if band is None:
        return ""
    return (
        f"Shaded: 95 % intervals at w = {typeset(band.w)}, by a bootstrap of clusters of segments: left of the "
        "correlation, right of the gain over the metric alone."
    )


def _mean(aggregation: str | None) -> str:
    return "p of the power mean" if aggregation in (None, "PowerMean") else f"p ({aggregation})"


def _words(
    kind: str | None,
    baseline: float,
    best: Point | None,
    highest: float,
    fixed: Point | None,
    there: float,
    shared: str,
    interval: tuple[float, float] = (math.nan, math.nan),
) -> list[str]:
    alone = "undefined" if not math.isfinite(baseline) else typeset(baseline, ".4f")
    words = [
        f"{correlation_in_words(kind).capitalize()} with human scores over p, one line per w; right: near the metric "
        f"alone. Metric alone (w = 1): {alone}."
    ]
    if best is not None:
        gain = typeset(highest - baseline, "+.4f")
        words.append(
            f"Best point, chosen on these segments (in-sample): {typeset(highest, '.4f')} at {point(best)}, gain "
            f"{gain}{shared}."
        )
    elif math.isfinite(baseline):
        words.append("Best of all points: the metric alone.")
    if fixed is not None:
        low, high = (typeset(end, "+.4f") for end in interval)
        ends = f" [{low}, {high}], the vertical line" if math.isfinite(interval[0]) else ""
        words.append(f"Fixed {point(fixed)}: {typeset(there, '.4f')}, gain {typeset(there - baseline, '+.4f')}{ends}.")
    return words


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
    if curves.band is not None:
        band = curves.band
        _shade(whole, curves, band, band.low, band.high)
        _shade(near, curves, band, curves.baseline + band.gain_low, curves.baseline + band.gain_high)
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
    near.legend(
        loc="upper left", bbox_to_anchor=(1.0, 1.03), frameon=False, handlelength=2.6, handletextpad=0.6, fontsize=7.5
    )
    return figure


def _shade(axes: Axes, curves: Curves, band: Band, low: Floats, high: Floats) -> None:
    """Fill between float64[P] ends, in the colour of the line of that w."""
    finite = np.isfinite(curves.p)
    colour = LINES[int(np.argmin(np.abs(curves.w - band.w))) % len(LINES)]
    name = f"95 %, w = {band.w:g}"
    axes.fill_between(
        curves.p[finite], low[finite], high[finite], color=colour, alpha=0.15, linewidth=0, zorder=1, label=name
    )


def _draw_lines(axes: Axes, curves: Curves) -> None:
    """One line over p per w, ascending in w, so that the metric alone (black) lies on top; then the points."""
    finite = np.isfinite(curves.p)
    every = max(len(curves.p) // 10, 1)
    weights: Sequence[float] = curves.w.tolist()
    for column, weight in enumerate(weights):
        alone = weight == 1
        axes.plot(
            curves.p[finite],
            curves.correlation[finite, column],
            color=INK if alone else LINES[column % len(LINES)],
            linestyle="-" if alone else DASHES[column % len(DASHES)],
            linewidth=1.3 if alone else 1.1,
            marker=None if alone and len(curves.p) > 1 else MARKERS[column % len(MARKERS)],
            markevery=((column * every) // max(len(weights), 1), every),
            markersize=3.2,
            label="metric alone" if alone else f"w = {weight:g}",
        )
    if curves.fixed is not None and math.isfinite(curves.interval[0]) and math.isfinite(curves.fixed.p):
        ends = [curves.baseline + end for end in curves.interval]
        axes.plot([curves.fixed.p] * 2, ends, color=INK, linewidth=1.1, solid_capstyle="butt", zorder=8)
    mark: dict[str, Any] = {"linestyle": "none"}
    if curves.fixed is not None and math.isfinite(curves.fixed.p):
        mark |= {"marker": "x", "markersize": 6, "markeredgewidth": 1.5, "color": INK}
        axes.plot([curves.fixed.p], [curves.fixed_correlation], label="fixed (w, p)", zorder=9, **mark)
    if curves.best is not None and curves.best_correlation > curves.baseline + NO_CHANGE:
        mark |= {"marker": "o", "markersize": 7, "markeredgewidth": 1.2, "markeredgecolor": INK, "color": "none"}
        axes.plot([curves.best.p], [curves.best_correlation], label="best (in-sample)", zorder=10, **mark)
