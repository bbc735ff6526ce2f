"""Figures of gains with their intervals, and of one setting: correlation over p (Figure 3 of the BMX paper)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.analysis.base import rows_by
from bmx_grid.analysis.correlations import MetricRow
from bmx_grid.analysis.declared_gains import declared
from bmx_grid.analysis.gains import SettingAtPoints, at_points
from bmx_grid.analysis.points import chosen_points
from bmx_grid.analysis.questions import Analysis
from bmx_grid.analysis.verdict_rows import DECLARED, shown_verdicts
from bmx_grid.core.wording import (
    MINUS,
    SHORT_LABEL,
    counted,
    file_stem,
    label,
    point_in_words,
    setting_in_words,
    typeset,
    with_interval,
)
from bmx_grid.evaluations.base import NOTHING, Estimate
from bmx_grid.evaluations.verdicts import HELPS
from bmx_grid.measures.correlation import NO_CHANGE
from bmx_grid.report.canvas import (
    BLUE,
    COLUMN,
    DASHES,
    DPI,
    GREY,
    INK,
    LINES,
    MARKERS,
    ORANGE,
    PAGE,
    PAPER,
    Drawing,
    canvas,
    correlation_of,
    empty,
    gain_axis,
    legend_above,
    signed,
    thin_grid,
    undefined_in_words,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW = 0.28  # inches, of a gain
MOST_GAINS = 48  # of one figure; more go on in further ones
LENGTH_MARK = "length alone"
REASSIGNED_MARK = "attributions of another segment"
POOLED = "segment r"  # a column of the metrics alone, as is the next
WITHIN_SOURCES = "PDP"
MARKS = {
    "gain": ("o", 4.5, BLUE),
    LENGTH_MARK: ("^", 3.8, ORANGE),
    REASSIGNED_MARK: ("x", 3.8, GREY),
    WITHIN_SOURCES: ("^", 3.8, ORANGE),
}
HEIGHT = 2.5  # inches, of the curves of a setting
LEAST_REACH = 0.005  # of their second frame, above and below the metric alone


@dataclass(frozen=True)
class Bar:
    """A row of a figure. names: the parts of its name; filled: its mark; marks: further values, by kind."""

    names: tuple[str, ...]
    gain: Estimate
    filled: bool
    marks: Mapping[str, float] = field(default_factory=dict)


def boosts(analysis: Analysis) -> Iterator[Drawing]:
    """All boosts, those of the metric with the largest gain first; none without a table of boosts."""
    every = analysis.ask(shown_verdicts)
    verdicts = [row for row in every if row.question == DECLARED and math.isfinite(row.gain.value)]
    if not verdicts:
        return
    # The rows of a metric stay together, in the order of what each metric can gain.
    largest: dict[str, float] = {}
    for row in verdicts:
        largest[row.metric] = max(row.gain.value, largest.get(row.metric, -math.inf))
    verdicts.sort(key=lambda row: (-largest[row.metric], row.metric, -row.gain.value))
    several = len({row.boost for row in verdicts}) > 1
    rows = []
    for row in verdicts:
        boost = row.boost.replace("_", " ") if several else ""
        pair = f"{row.dataset} {row.language_pair}" if row.pairs == 1 else ""
        names = (row.metric, row.explainer, boost, pair, row.human)
        marks = {LENGTH_MARK: row.length_gain.value, REASSIGNED_MARK: row.reassigned_gain}
        rows.append(Bar(names, row.gain, row.verdict == HELPS, marks))
    helping = sum(row.filled for row in rows)
    caption = (
        f"{counted(len(rows), 'boost')}, each judged on segments it was not chosen on: {correlation_of(analysis)}, "
        f"boosted minus metric alone, with 95 % intervals. Filled: it helps, {helping} of {len(rows)}. "
        "Beside it what length alone, and attributions of another segment, gain on the same segments."
    )
    yield from _drawings(analysis, rows, "boosts", "What each boost gains", caption)


def declared_gains(analysis: Analysis) -> Iterator[Drawing]:
    """For each explainer its gains at its declared point, best first, where they were tested."""
    every = analysis.ask(declared)
    # Gains without intervals are shown by the figures of the paper.
    if all(row.test is None for row in every):
        return
    defined = [row for row in every if not math.isnan(row.gain)]
    defined.sort(key=lambda row: (-row.gain, row.setting))
    for explainer, gains in sorted(rows_by(defined, lambda row: row.explainer).items()):
        caption = (
            f"Gain of {label(explainer)} at the declared point ({correlation_of(analysis)}, boosted minus metric "
            "alone), one row per setting; lines are 95 % intervals. Filled: gains that survive Holm's correction."
        )
        stem = f"gains_with_intervals_{file_stem(explainer)}"
        title = f"Gains of {label(explainer)} at the declared point"
        rows = []
        for row in gains:
            gain = Estimate(row.gain, row.low, row.high)
            rows.append(Bar((row.dataset, row.language_pair, row.metric), gain, row.survives))
        yield from _drawings(analysis, rows, stem, title, caption)


def metrics_and_people(every: Sequence[MetricRow]) -> Iterator[Drawing]:
    """Metrics alone beside further human scores, which are the ceiling; for each language pair that has such scores."""
    for (dataset, language_pair), rows in rows_by(every, lambda row: (row.dataset, row.language_pair)).items():
        people = [row for row in rows if row.is_human and math.isfinite(row.correlations[POOLED].value)]
        if not people:
            continue
        ceiling = max(row.correlations[POOLED].value for row in people)
        bars = []
        for row in sorted(rows, key=lambda row: -abs(row.correlations[POOLED].value)):
            pooled = _without_sign(row.correlations[POOLED])
            within = abs(row.correlations.get(WITHIN_SOURCES, NOTHING).value)
            # Without signs: a metric of errors stands beside those that it agrees with.
            bars.append(Bar((row.metric,), pooled, row.is_human, {WITHIN_SOURCES: within}))
        caption = (
            "Correlation with the primary human score: Pearson's r of segments with its 95 % interval, and r of "
            "differences within sources (PDP). Filled: other human scores of the same segments; the dashed line is "
            "the highest of them."
        )
        title = f"{dataset} {language_pair}: metrics and people"
        draw = partial(_draw, bars[:MOST_GAINS], "correlation, without its sign", ceiling)
        yield Drawing(file_stem(f"people_and_metrics_{dataset}_{language_pair}"), title, caption, draw)


def _without_sign(r: Estimate) -> Estimate:
    """A correlation and its interval, turned where it is negative."""
    return r if r.value >= 0 else Estimate(-r.value, -r.high, -r.low)


def _drawings(analysis: Analysis, rows: Sequence[Bar], stem: str, title: str, caption: str) -> Iterator[Drawing]:
    """One figure, or several of MOST_GAINS rows each."""
    for start in range(0, len(rows), MOST_GAINS):
        number = start // MOST_GAINS + 1
        draw = partial(_draw, rows[start : start + MOST_GAINS], f"gain in {correlation_of(analysis)}")
        if number == 1:
            yield signed(analysis, stem, title, caption, draw)
        else:
            yield signed(analysis, f"{stem}_{number}", f"{title}, part {number}", caption, draw)


def _draw(rows: Sequence[Bar], axis: str, ceiling: float | None = None) -> Figure:
    """Names stand above their rows, so that the figure fits a column and a phone. ceiling: is a dashed line."""
    figure, (axes,) = canvas(COLUMN, 0.7 + ROW * max(len(rows), 3))
    for place, row in enumerate(rows):
        names = [label(part, SHORT_LABEL) for part in row.names if part]
        axes.text(
            0.01,
            -place + 0.3,
            " · ".join(names),
            transform=axes.get_yaxis_transform(),
            fontsize=6.5,
            va="center",
            zorder=1.6,
            bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.6},
            in_layout=False,
        )
        # Below the name, which stands above its row.
        height = -place - 0.16
        # nothing is drawn for NaN
        axes.plot(
            [row.gain.low, row.gain.high], [height] * 2, color=BLUE, linewidth=1.4, solid_capstyle="butt", zorder=2
        )
        values = {"gain": row.gain.value, **row.marks}
        for kind, value in values.items():
            marker, size, colour = MARKS[kind]
            is_gain = kind == "gain"
            entry = POOLED if is_gain and ceiling is not None else kind
            axes.plot(
                [value],
                [height],
                linestyle="none",
                marker=marker,
                markersize=size,
                color=PAPER if is_gain and not row.filled else colour,
                markeredgecolor=colour,
                markeredgewidth=1.0,
                zorder=4 if is_gain else 3,
                label=entry if place == 0 else None,  # once, for the legend
            )
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_ylim(-len(rows) + 0.5, 0.55)
    axes.margins(x=0.03)
    if ceiling is None:
        gain_axis(axes, axis)
    else:
        axes.set_xlabel(axis)
        axes.axvline(ceiling, color=INK, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    if rows[0].marks:
        legend_above(figure, ncols=3, fontsize=6.5, handletextpad=0.1, columnspacing=0.9)
    return figure


def setting_drawing(analysis: Analysis, row: int) -> Drawing:
    """The curves of one setting of an analysis."""
    names = analysis.table.settings[row]
    stem = f"correlation_over_p_{file_stem(*names)}"
    title = f"{setting_in_words(names)}: correlation over p"
    return signed(analysis, stem, title, _caption(analysis, row), partial(correlation_over_p, analysis, row))


def _caption(analysis: Analysis, row: int) -> str:
    """The numbers of the figure in sentences."""
    setting = analysis.ask(at_points)[row]
    alone = typeset(setting.baseline, ".4f") if math.isfinite(setting.baseline) else "undefined"
    words = [
        f"{correlation_of(analysis).capitalize()} with human scores over p, one line per w; right: near the metric "
        f"alone. Metric alone (w = 1): {alone}."
    ]
    if setting.best_w < 1:
        words.append(f"Best point (in-sample): {_point(setting.best, setting.best_w, setting.best_p)}.")
    elif math.isfinite(setting.baseline):
        words.append("Best of all points: the metric alone.")
    if math.isfinite(setting.fixed):
        origin = analysis.ask(chosen_points)[setting.explainer].origin
        gain = ""
        there = setting.fixed_gain
        if math.isfinite(there.low):
            gain = f", gain there {with_interval(there.value, there.low, there.high, minus=MINUS)}, the vertical line"
        words.append(f"Fixed point: {_point(setting.fixed, setting.fixed_w, setting.fixed_p)}{gain}, {origin}.")
    undefined = undefined_in_words(int(np.isnan(analysis.table.correlation[row]).sum()), "point")
    return f"{' '.join(words)}{undefined}"


def _point(correlation: float, w: float, p: float) -> str:
    where = point_in_words(w, p, MINUS).replace(" ", "\u00a0")
    return f"{typeset(correlation, '.4f')} ({where})"


def correlation_over_p(analysis: Analysis, row: int) -> Figure:
    """Two frames: the whole grid, and its part near the metric alone. To be called inside `canvas.style`."""
    from matplotlib.figure import Figure

    setting = analysis.ask(at_points)[row]
    aggregation = analysis.aggregation
    figure = Figure(figsize=(PAGE, HEIGHT), dpi=DPI)
    # Fixed positions: finding them from the extents of all labels takes half of the drawing time.
    whole, near = (figure.add_axes((left, 0.165, 0.315, 0.735)) for left in (0.088, 0.49))
    # The same lines twice: the second frame shows a part of them only.
    for axes in (whole, near):
        _draw_lines(axes, analysis, row, setting)
        thin_grid(axes)
        axes.margins(x=0.01)
        axes.set_xlabel("p of the power mean" if aggregation in (None, "PowerMean") else f"p ({aggregation})")
        axes.xaxis.set_label_coords(0.5, -0.13)
    if np.isnan(analysis.table.correlation[row]).all():
        empty(whole, "no defined correlation")
    baseline = setting.baseline
    if math.isfinite(baseline):
        reach = max(LEAST_REACH, setting.gain)  # an undefined gain is not above it
        low, high = whole.get_ylim()
        near.set_ylim(max(baseline - 2 * reach, low), min(baseline + 1.5 * reach, high))
    kind = correlation_of(analysis)
    whole.set_ylabel(f"{kind[:1].upper()}{kind[1:]} with human scores")
    whole.yaxis.set_label_coords(-0.2, 0.5)
    figure.text(0.088, 0.935, setting_in_words(analysis.table.settings[row]), fontsize=8)
    near.set_title("near the metric alone", loc="right", fontsize=7.5, pad=3)
    near.legend(loc="upper left", bbox_to_anchor=(1.0, 1.03), frameon=False, handlelength=2.6, handletextpad=0.6)
    return figure


def _draw_lines(axes: Axes, analysis: Analysis, row: int, setting: SettingAtPoints) -> None:
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
            # Markers of different lines start at different powers: where lines meet they do not cover each other.
            markevery=((column * every) // len(table.w), every),
            markersize=3.2,
            label="metric alone" if alone else f"w = {weight:g}",
        )
    if math.isfinite(setting.fixed_p):
        if math.isfinite(setting.fixed_gain.low):
            ends = [setting.baseline + setting.fixed_gain.low, setting.baseline + setting.fixed_gain.high]
            axes.plot([setting.fixed_p] * 2, ends, color=INK, linewidth=1.1, solid_capstyle="butt", zorder=8)
        cross: dict[str, Any] = {"marker": "x", "markersize": 6, "markeredgewidth": 1.5, "color": INK}
        axes.plot([setting.fixed_p], [setting.fixed], label="fixed (w, p)", zorder=9, linestyle="none", **cross)
    if setting.gain > NO_CHANGE:
        ring: dict[str, Any] = {"marker": "o", "markersize": 7, "markeredgecolor": INK, "color": "none"}
        axes.plot([setting.best_p], [setting.best], label="best (in-sample)", zorder=10, linestyle="none", **ring)
