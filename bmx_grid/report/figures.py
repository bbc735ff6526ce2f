"""Figures of gains with their intervals, and of one setting: correlation over p (Figure 3 of the BMX paper)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.analysis.base import FACTORS, PAIR, each_group, each_row
from bmx_grid.analysis.gains import settings_at_points
from bmx_grid.analysis.metrics_and_people import PEOPLE
from bmx_grid.analysis.points import (
    POINT_NAMES,
    chosen_points,
    describe_in_sample_gains,
    evaluation_point_name,
    gains_at_declared_points,
)
from bmx_grid.analysis.questions import Analysis
from bmx_grid.analysis.verdict_rows import DECLARED, widest_verdicts
from bmx_grid.core.wording import (
    MINUS,
    SHORT_LABEL,
    file_stem,
    format_interval,
    join_names,
    label,
    pluralize,
    point_in_words,
    setting_in_words,
    setting_label,
    typeset_number,
)
from bmx_grid.evaluations.base import Estimate
from bmx_grid.evaluations.boost_evidence import ELSEWHERE, PUBLISHED
from bmx_grid.evaluations.verdicts import HELPS, HURTS, TOO_LITTLE
from bmx_grid.measures.correlation import NO_CHANGE
from bmx_grid.report.canvas import (
    BEST,
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
    mark_point,
    sign_figure,
    thin_grid,
    undefined_in_words,
)
from bmx_grid.report.maps import points_elsewhere

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW = 0.28  # inches, of a gain
MOST_GAINS = 48  # of one figure; more go on in further ones
LENGTH_MARK = "length alone"
REASSIGNED_MARK = "attributions of another segment"
POOLED = "segment r"  # a column of the metrics without an explainer, as is the next
WITHIN_SOURCES = "PDP"
BROKEN = (0, (1.5, 1))  # Matplotlib's (offset, (on, off))
MARKS = {
    "gain": ("o", 4.5, BLUE),
    LENGTH_MARK: ("^", 3.8, ORANGE),
    REASSIGNED_MARK: ("x", 3.8, GREY),
    WITHIN_SOURCES: ("^", 3.8, ORANGE),
}
HEIGHT = 2.5  # inches, of the curves of a setting
LEAST_REACH = 0.005  # of their second frame, above and below the baseline


@dataclass(frozen=True)
class Bar:
    """A row of a figure.

    names: the parts of its name, "" for none; gain: with its interval; filled: whether its mark is; marks: further
    values, by kind (a key of MARKS); verdict: what hurts and too little data are drawn otherwise, also without colour.
    """

    names: tuple[str, ...]
    gain: Estimate
    filled: bool
    marks: Mapping[str, float] = field(default_factory=dict)
    verdict: str = ""


def boosts(analysis: Analysis) -> Iterator[Drawing]:
    """All boosts, those of the metric with the largest gain first; none without a table of boosts."""
    shown = analysis.compute_once(widest_verdicts)
    verdicts = shown[(shown["question"] == DECLARED) & np.isfinite(shown["gain"])]
    if verdicts.empty:
        return
    # The rows of a metric stay together, ordered by its best gain.
    largest = verdicts.groupby("metric")["gain"].transform("max")
    order = verdicts.assign(largest=largest).sort_values(["largest", "metric", "gain"], ascending=[False, True, False])
    boosts_differ = verdicts["boost"].nunique() > 1
    placebos = [LENGTH_MARK]
    # Reassigned attributions have a gain only if they were requested.
    if np.isfinite(verdicts["reassigned_gain"]).any():
        placebos.append(REASSIGNED_MARK)
    rows = []
    for row in each_row(order):
        # What all rows share would only lengthen their names.
        boost = row.boost.replace("_", " ") if boosts_differ else ""
        pair = f"{row.dataset} {row.language_pair}" if row.pairs == 1 else ""
        names = (row.metric, row.explainer, boost, pair, row.human)
        marks = {LENGTH_MARK: row.length_gain}
        if REASSIGNED_MARK in placebos:
            marks[REASSIGNED_MARK] = row.reassigned_gain
        gain = Estimate(row.gain, row.gain_low, row.gain_high)
        rows.append(Bar(names, gain, row.verdict in (HELPS, HURTS), marks, row.verdict))
    n_helping = sum(row.verdict == HELPS for row in rows)
    n_boosts = pluralize(len(rows), "boost")
    correlation = correlation_of(analysis)
    caption = (
        f"{n_boosts}, each judged on segments it was not chosen on: {correlation}, "
        f"boosted minus baseline, with 95 % intervals. Filled circle: it helps, {n_helping} of {len(rows)}; filled "
        "diamond: it hurts; broken line: too little data. "
        f"Next to it the gain of {join_names(placebos)} on the same segments."
    )
    yield from _drawings(analysis, rows, "boosts", "What each boost gains", caption)


def gains_with_intervals(analysis: Analysis) -> Iterator[Drawing]:
    """Tested gains per explainer at the published point, or else the one chosen elsewhere, best first."""
    every = analysis.compute_once(gains_at_declared_points)
    # Gains without intervals are shown by the figures of the paper.
    if every["test"].isna().all():
        return
    # By name if gains are equal, so that the order does not depend on that of the files.
    order = ["gain", *FACTORS]
    defined = every[every["gain"].notna()].sort_values(order, ascending=[False, True, True, True, True])
    correlation = correlation_of(analysis)
    in_sample = analysis.compute_once(describe_in_sample_gains)
    for explainer, gains in each_group(defined, "explainer", sort=True):
        kind = gains["point"].iloc[0]
        caption = (
            f"Gain of {label(explainer)} at the {POINT_NAMES[kind]} ({correlation}, boosted minus baseline), "
            "one row per setting; lines are 95 % intervals. Filled: gains that survive Holm's correction."
        )
        if kind == PUBLISHED and in_sample:
            caption += f" {in_sample}"
        stem = f"gains_with_intervals_{file_stem(explainer)}"
        title = f"Gains of {label(explainer)} at the {POINT_NAMES[kind]}"
        rows = []
        for row in each_row(gains):
            names = (row.dataset, row.language_pair, row.metric)
            gain = Estimate(row.gain, row.low, row.high)
            rows.append(Bar(names, gain, row.survives))
        yield from _drawings(analysis, rows, stem, title, caption)


def human_ceilings(metrics: pd.DataFrame) -> Iterator[Drawing]:
    """Compare metrics with the ceiling of further human scores, per language pair.

    metrics: as `analysis.metrics_and_people` has them.
    """
    # Metrics that score whole systems have no correlation of segments.
    if POOLED not in metrics:
        return
    of_segments = metrics[metrics[POOLED].notna()]
    for (dataset, language_pair), rows in each_group(of_segments, *PAIR):
        is_human = rows["metric"].str.startswith(PEOPLE)
        if not is_human.any():
            continue
        ceiling = rows.loc[is_human, POOLED].max()
        order = (-rows[POOLED].abs()).sort_values(kind="stable").index
        bars = []
        # There is one figure per language pair: of very many metrics the weakest are left out.
        for row in rows.loc[order[:MOST_GAINS]].to_dict("records"):
            metric = row["metric"]
            pooled = Estimate(row[POOLED], row[f"{POOLED}_low"], row[f"{POOLED}_high"])
            within = abs(row.get(WITHIN_SOURCES, math.nan))
            # Absolute values: metrics of errors are compared with metrics of agreement.
            bars.append(
                Bar((metric,), _absolute_correlation(pooled), metric.startswith(PEOPLE), {WITHIN_SOURCES: within})
            )
        caption = (
            "Correlation with the primary human score: Pearson's r of segments with its 95 % interval, and r of "
            "differences within sources (PDP). Filled: other human scores of the same segments; the dashed line is "
            "the highest one."
        )
        stem = file_stem(f"people_and_metrics_{dataset}_{language_pair}")
        title = f"{dataset} {language_pair}: metrics and people"
        yield Drawing(stem, title, caption, partial(_draw, bars, "correlation, without its sign", ceiling))


def _absolute_correlation(r: Estimate) -> Estimate:
    """A correlation and its interval, turned if it is negative."""
    if r.value >= 0:
        return r
    return Estimate(-r.value, -r.high, -r.low)


def _drawings(analysis: Analysis, rows: Sequence[Bar], stem: str, title: str, caption: str) -> Iterator[Drawing]:
    """One figure, or several of MOST_GAINS rows each."""
    axis = f"gain in {correlation_of(analysis)}"
    for start in range(0, len(rows), MOST_GAINS):
        # The first keeps its stem: the page looks for that of the boosts.
        number = start // MOST_GAINS + 1
        names = (stem, title) if number == 1 else (f"{stem}_{number}", f"{title}, part {number}")
        yield sign_figure(analysis, *names, caption, partial(_draw, rows[start : start + MOST_GAINS], axis))


def _draw(rows: Sequence[Bar], axis: str, ceiling: float | None = None) -> Figure:
    """Draw rows, the first on top. axis: its label; ceiling: position and label of a dashed line.

    Names are above their rows, so that the figure fits a column and a phone.
    """
    height = 0.7 + ROW * max(len(rows), 3)
    figure, (axes,) = canvas(COLUMN, height)
    for place, row in enumerate(rows):
        names = [label(part, SHORT_LABEL) for part in row.names if part]
        axes.text(
            0.01,
            -place + 0.3,
            setting_label(*names),
            transform=axes.get_yaxis_transform(),
            fontsize=6.5,
            va="center",
            zorder=1.6,
            bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.6},
            in_layout=False,
        )
        # Below the name, which is above its row.
        y = -place - 0.16
        # Matplotlib draws nothing for NaN: a gain without an interval has a mark only.
        ends = [row.gain.low, row.gain.high]
        dashes = BROKEN if row.verdict == TOO_LITTLE else "-"
        axes.plot(ends, [y, y], color=BLUE, linewidth=1.4, linestyle=dashes, solid_capstyle="butt", zorder=2)
        values = {"gain": row.gain.value, **row.marks}
        for kind, value in values.items():
            marker, size, colour = MARKS[kind]
            is_gain = kind == "gain"
            if is_gain and row.verdict == HURTS:
                marker = "D"
            # With a ceiling the rows are correlations of metrics, not gains.
            entry = POOLED if is_gain and ceiling is not None else kind
            axes.plot(
                [value],
                [y],
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
    draw = partial(correlation_over_p, analysis, row)
    return sign_figure(analysis, stem, title, _caption(analysis, row), draw)


def _caption(analysis: Analysis, row: int) -> str:
    """The numbers of the figure in sentences."""
    setting = analysis.compute_once(settings_at_points).iloc[row]
    alone = typeset_number(setting.baseline, ".4f") if math.isfinite(setting.baseline) else "undefined"
    sentences = [
        f"{correlation_of(analysis).capitalize()} with human scores over p, one line per w; right: near the "
        f"baseline. Baseline (w = 1): {alone}."
    ]
    if setting.best_w < 1:
        best = _point_with_correlation(setting.best, setting.best_w, setting.best_p)
        sentences.append(f"Best point (in-sample): {best}.")
    elif math.isfinite(setting.baseline):
        sentences.append("Best of all points: the baseline.")
    if math.isfinite(setting.fixed):
        fixed = _point_with_correlation(setting.fixed, setting.fixed_w, setting.fixed_p)
        origin = analysis.compute_once(chosen_points).loc[setting.explainer, "origin"]
        gain = ""
        if math.isfinite(setting.fixed_gain_low):
            ends = (setting.fixed_gain_low, setting.fixed_gain_high)
            interval = format_interval(setting.fixed_gain, *ends, minus=MINUS)
            gain = f", gain there {interval}, the vertical line"
        sentences.append(f"{evaluation_point_name(analysis).capitalize()}: {fixed}{gain}, {origin}.")
    n_undefined = int(np.isnan(analysis.table.correlation[row]).sum())
    return " ".join(sentences) + undefined_in_words(n_undefined, "point")


def _point_with_correlation(correlation: float, w: float, p: float) -> str:
    """A correlation and its point, which no line of the page breaks."""
    point = point_in_words(w, p, MINUS).replace(" ", "\u00a0")
    return f"{typeset_number(correlation, '.4f')} ({point})"


def correlation_over_p(analysis: Analysis, row: int) -> Figure:
    """Two frames: the whole grid, and its part near the baseline. To be called inside `canvas.style`."""
    from matplotlib.figure import Figure

    setting = analysis.compute_once(settings_at_points).iloc[row]
    other = analysis.aggregation not in (None, "PowerMean")
    power = f"p ({analysis.aggregation})" if other else "p of the power mean"
    figure = Figure(figsize=(PAGE, HEIGHT), dpi=DPI)
    # Fixed positions: finding them from the extents of all labels takes half of the drawing time.
    whole = figure.add_axes((0.088, 0.165, 0.315, 0.735))
    near = figure.add_axes((0.49, 0.165, 0.315, 0.735))
    # Both frames draw all lines; the second one shows a part.
    for axes in (whole, near):
        _draw_lines(axes, analysis, row, setting)
        thin_grid(axes)
        axes.margins(x=0.01)
        axes.set_xlabel(power)
        axes.xaxis.set_label_coords(0.5, -0.13)
    if np.isnan(analysis.table.correlation[row]).all():
        empty(whole, "no defined correlation")
    baseline = setting.baseline
    if math.isfinite(baseline):
        # Far enough above the baseline to show the best gain, but inside the first frame.
        reach = max(LEAST_REACH, setting.gain)  # an undefined gain is not above it
        low, high = whole.get_ylim()
        bottom = max(baseline - 2 * reach, low)
        top = min(baseline + 1.5 * reach, high)
        near.set_ylim(bottom, top)
    kind = correlation_of(analysis)
    # `capitalize` would also make all other letters small.
    kind = kind[:1].upper() + kind[1:]
    whole.set_ylabel(f"{kind} with human scores")
    whole.yaxis.set_label_coords(-0.2, 0.5)
    figure.text(0.088, 0.935, setting_in_words(analysis.table.settings[row]), fontsize=8)
    near.set_title("near the baseline", loc="right", fontsize=7.5, pad=3)
    near.legend(loc="upper left", bbox_to_anchor=(1.0, 1.03), frameon=False, handlelength=2.6, handletextpad=0.6)
    return figure


def _draw_lines(axes: Axes, analysis: Analysis, row: int, setting: pd.Series) -> None:
    """One line over p per w, ascending in w, so that the baseline (black) lies on top; then the points."""
    table = analysis.table
    every = max(len(table.p) // 10, 1)  # about ten markers on each line
    for column, weight in enumerate(table.w.tolist()):
        look: dict[str, Any] = {
            "color": LINES[column % len(LINES)],
            "linestyle": DASHES[column % len(DASHES)],
            "linewidth": 1.1,
            "marker": MARKERS[column % len(MARKERS)],
            "label": f"w = {weight:g}",
        }
        if weight == 1:
            look |= {"color": INK, "linestyle": "-", "linewidth": 1.3, "label": "baseline"}
            # At a single p a line without a marker would not be seen.
            if len(table.p) > 1:
                look["marker"] = None
        # Markers of different lines start at different powers: where lines meet they do not cover each other.
        first_marker = column * every // len(table.w)
        correlation = table.correlation[row][:, column]
        axes.plot(table.p, correlation, markevery=(first_marker, every), markersize=3.2, **look)
    if math.isfinite(setting.fixed_p):
        if math.isfinite(setting.fixed_gain_low):
            ends = [setting.baseline + setting.fixed_gain_low, setting.baseline + setting.fixed_gain_high]
            p = setting.fixed_p
            axes.plot([p, p], ends, color=INK, linewidth=1.1, solid_capstyle="butt", zorder=8)
        mark_point(axes, analysis, PUBLISHED, setting.fixed_p, setting.fixed)
    names = tuple(table.settings[row])
    elsewhere = points_elsewhere(analysis)
    for point in each_row(elsewhere[elsewhere.index == names]):
        mark_point(axes, analysis, ELSEWHERE, point.p, point.correlation)
    if setting.gain > NO_CHANGE:
        mark_point(axes, analysis, BEST, setting.best_p, setting.best)
