"""Best points, counts of better and worse, and the regression (Figures 5, 6, 8 and 10 of the BMX paper)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.analysis import gains, regression, transfer
from bmx_grid.analysis.gains import real_at_points, summarise
from bmx_grid.analysis.names import SHORT_LABEL, label
from bmx_grid.analysis.questions import Analysis
from bmx_grid.analysis.table import Floats
from bmx_grid.core.wording import counted, factor_in_words, typeset
from bmx_grid.report.figures.canvas import (
    BLUE,
    COLUMN,
    GREEN,
    INK,
    NEUTRAL,
    ORANGE,
    PAGE,
    PALE,
    PAPER,
    PINK,
    QUIET,
    RED,
    SMALL,
    Drawing,
    canvas,
    empty,
    legend_above,
    name_rows,
    points_in_words,
    signed,
    thin_grid,
    undefined_in_words,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Counts: what they are, how they are named, their colour, and the hatch that distinguishes them without it.
COUNTS = (
    ("better", "better", BLUE, ""),
    ("unchanged", "within 1e-5", NEUTRAL, ""),
    ("worse", "equal or worse", ORANGE, "////"),
)
FACTOR_COLOURS = {"dataset": BLUE, "language_pair": GREEN, "metric": ORANGE, "explainer": PINK}
FACTOR_HATCHES = {"dataset": "////", "language_pair": "", "metric": "\\\\\\\\", "explainer": "xx"}
RULE = "Better: gain above 1e-5; equal or worse: gain of 0 or less."
BAR = 0.27  # inches of a row


def best_boxes(analysis: Analysis) -> Drawing:
    """Box plots of best w and best p by explainer, with the medians written."""
    real = analysis.ask(real_at_points)
    defined = real.dropna(subset=["best_w", "best_p"])
    undefined = len(real) - len(defined)
    caption = (
        f"Best (w, p) of {counted(len(defined), 'setting')} by explainer, controls left out, chosen on the "
        f"segments they are judged on, of equal points the first. Box: quartiles; whiskers: "
        f"last values within 1.5 interquartile ranges; Md: median. Of {real['ties_baseline'].sum()} settings the "
        f"metric alone is best: their p means nothing.{undefined_in_words(undefined, 'best point')}"
    )
    values = {
        name: (of_explainer["best_w"].to_numpy(), of_explainer["best_p"].to_numpy())
        for name in analysis.real.factor_levels("explainer")
        for of_explainer in [defined[defined["explainer"] == name]]
    }
    return signed(analysis, "best_w_and_p_by_explainer", "Best w and p by explainer", caption, partial(_boxes, values))


def better_and_worse(analysis: Analysis) -> Drawing:
    """Settings that got better and not better at the fixed points, by explainer."""
    total = summarise(analysis.ask(real_at_points), analysis.options.seed)
    caption = (
        f"{counted(total['n'], 'setting')} at one fixed (w, p) per explainer; controls left out. "
        f"{RULE} Of {counted(total['clusters'], 'cluster')}, a data set and language pair each, "
        f"{total['clusters_better']} have a mean gain above 0 (one-sided sign test p = "
        f"{typeset(total['sign_p'], '.3g')}). "
        f"{points_in_words(analysis)}{undefined_in_words(total['undefined'], 'setting')}"
    )
    draw = partial(_counts, {"": analysis.ask(gains.compute)["fixed"]})
    title = "Settings that get better and worse by explainer"
    return signed(analysis, "better_and_worse_by_explainer", title, caption, draw)


def better_when_left_out(analysis: Analysis) -> Drawing:
    """The same counts with points chosen without the data set, language pair or metric they are judged on."""
    moved = analysis.ask(transfer.compute)["leave_one_out"]
    parts = {factor: moved[moved.index.get_level_values("factor") == factor] for factor in transfer.LEFT_OUT}
    parts = {factor: part.droplevel("factor") for factor, part in parts.items()}
    in_sample = "; ".join(
        f"{factor_in_words(factor)}: {', '.join(f'{label(name)} {n}' for name, n in part['in_sample_better'].items())}"
        for factor, part in parts.items()
        if len(part)
    )
    caption = (
        "Settings that get better and worse when the point of an explainer is the median of the best points of all "
        "data sets (language pairs, metrics) but the one it is applied to; these may share references or segments. "
        f"{RULE} Better at points chosen on all: {in_sample or 'nothing to leave out'}."
    )
    title = "Better and worse at points chosen without the data set, language pair or metric judged on"
    summaries = {f"chosen on the other {factor_in_words(factor)}s": part for factor, part in parts.items()}
    return signed(analysis, "better_and_worse_left_out", title, caption, partial(_counts, summaries))


def ridge_bars(analysis: Analysis, ends: int | None = None) -> Drawing:
    """Coefficients of the regression of the gain, all, or the `ends` largest and smallest."""
    frame = analysis.ask(regression.coefficients)
    fit, rows = frame.attrs, frame.to_dict("records")
    shortened = ends is not None and len(rows) > 2 * ends
    kept = [*rows[:ends], *rows[-ends:]] if ends is not None and shortened else rows
    which = f"{len(kept)} of {len(rows)} coefficients" if shortened else "all"
    caption = (
        f"Coefficients of a ridge regression (alpha {regression.ALPHA:g}) of the gain on data set, language pair, "
        f"metric and explainer, which are not independent; {counted(fit['n'], 'setting')}; intercept "
        f"{typeset(fit['intercept'], '+.4f')}, R² {typeset(fit['r2'], '.2f')}; {which}. Lines: two standard errors "
        f"either way by a bootstrap of {fit['clusters']} clusters, a data set and language pair each; none for a name "
        f"in fewer than 3 of them. {points_in_words(analysis)}"
    )
    stem = "ridge_all" if ends is None else f"ridge_{ends}_largest_and_smallest"
    title = f"Regression of the gain: {'all' if ends is None else 'largest and smallest'} coefficients"
    return signed(analysis, stem, title, caption, partial(_ridge, kept, ends if shortened else None))


def _boxes(values: Mapping[str, tuple[Floats, Floats]]) -> Figure:
    figure, frames = canvas(PAGE, 0.5 + 0.36 * max(len(values), 2), columns=2)
    for axes, symbol, by_name in zip(frames, "wp", zip(*values.values(), strict=True), strict=True):
        look: dict[str, Any] = {"color": RED, "linewidth": 2.2, "solid_capstyle": "butt"}
        axes.boxplot(
            by_name,
            positions=[-place for place in range(len(by_name))],
            widths=0.55,
            orientation="horizontal",
            patch_artist=True,
            manage_ticks=False,
            boxprops={"facecolor": PALE, "edgecolor": INK},
            medianprops=look,
            flierprops={"marker": "o", "markersize": 2.5, "markeredgecolor": QUIET},
        )
        labels = [f"{label(name)} (n = {len(own)})" for name, own in zip(values, by_name, strict=True)]
        name_rows(axes, labels)
        axes.tick_params(axis="y", labelleft=symbol == "w")
        axes.set_xlabel(f"best {symbol}")
        thin_grid(axes, "x")
        for place, own in enumerate(by_name):
            words = f"Md {typeset(float(np.median(own)) if len(own) else math.nan)}"
            axes.annotate(words, (1.01, -place), xycoords=("axes fraction", "data"), va="center", annotation_clip=False)
    return figure


def _counts(by_title: Mapping[str, pd.DataFrame]) -> Figure:
    """A frame per title: one bar per name, of settings that got better, stayed, and got worse, with their numbers."""
    rows = [max(len(one), 1) for one in by_title.values()]
    height = sum(BAR * one + 0.2 * bool(title) for title, one in zip(by_title, rows, strict=True)) + 0.75
    figure, frames = canvas(COLUMN, height, rows=len(by_title), height_ratios=rows)
    for axes, (title, summaries) in zip(frames, by_title.items(), strict=True):
        _bars(axes, summaries)
        axes.set_title(title, loc="left", fontsize=7.5, pad=3)
    frames[-1].set_xlabel("settings")
    handles, labels = max((axes.get_legend_handles_labels() for axes in frames), key=lambda one: len(one[0]))
    if handles:
        legend_above(figure, handles, labels, ncols=3, columnspacing=1.2)
    return figure


def _bars(axes: Axes, by_name: pd.DataFrame) -> None:
    if not len(by_name):
        axes.set_axis_off()
        empty(axes, "nothing to leave out")
        return
    widest = int(by_name["n"].max())
    places = [-place for place in range(len(by_name))]
    start = np.zeros(len(by_name))
    for kind, name, colour, hatch in COUNTS:
        widths = by_name[kind].to_numpy()
        look: dict[str, Any] = {"color": colour, "hatch": hatch, "edgecolor": INK, "linewidth": 0.5, "height": 0.7}
        bars = axes.barh(places, widths, left=start, label=name, **look)
        words = [str(width) if width > 0 and width >= 0.06 * widest else "" for width in widths]
        box = {"facecolor": PAPER, "edgecolor": "none", "pad": 0.8}
        for text in axes.bar_label(bars, words, label_type="center", fontsize=SMALL, color=INK):
            text.set_bbox(box if text.get_text() else None)
        start = start + widths
    name_rows(axes, [label(name, SHORT_LABEL) for name in by_name.index])
    axes.set_xlim(0, max(widest, 1))
    axes.locator_params(axis="x", nbins=6, integer=True)


def _ridge(kept: Sequence[Mapping[Any, Any]], ends: int | None) -> Figure:
    figure, (axes,) = canvas(COLUMN, 0.75 + 0.17 * max(len(kept), 4))
    places = [-place - (0.8 if ends is not None and place >= ends else 0) for place in range(len(kept))]
    names: set[str] = set()
    for place, row in zip(places, kept, strict=True):
        factor, value = row["factor"], row["coefficient"]
        words = None if factor in names else factor_in_words(factor)
        names.add(factor)
        look: dict[str, Any] = {"color": FACTOR_COLOURS[factor], "hatch": FACTOR_HATCHES[factor], "edgecolor": PAPER}
        axes.barh(place, value, height=0.72, linewidth=0, label=words, **look)
        error, sign = row["error"], 1 if value >= 0 else -1
        reach = 2 * error if math.isfinite(error) else 0.0
        if reach > 0:
            axes.plot([value - reach, value + reach], [place, place], color=INK, linewidth=0.8, zorder=3)
        where: dict[str, Any] = {"textcoords": "offset points", "ha": "left" if sign > 0 else "right", "va": "center"}
        axes.annotate(
            typeset(value, "+.4f"), (value + sign * reach, place), xytext=(3 * sign, 0), fontsize=6.5, **where
        )
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.margins(x=0.5)  # room for the numbers beside the bars
    name_rows(axes, [label(row["name"], SHORT_LABEL) for row in kept], places)
    axes.locator_params(axis="x", nbins=3)
    axes.set_xlabel("coefficient (gain in correlation)")
    if kept:
        legend_above(figure, ncols=2, columnspacing=1.2)
    else:
        empty(axes, "no defined gain")
    return figure
