"""Best points, counts of better and worse, and the regression (Figures 5, 6, 8 and 10 of the BMX paper)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from bmx_grid.analysis import shown
from bmx_grid.analysis.gains import GainSummary
from bmx_grid.analysis.names import SHORT_LABEL, label
from bmx_grid.analysis.run import Analysis
from bmx_grid.analysis.shown import Box
from bmx_grid.analysis.signature import signature
from bmx_grid.report.figures.canvas import COLUMN, PAGE, SMALL, Drawing, canvas, empty, thin_grid
from bmx_grid.report.figures.palette import (
    BLUE,
    GREEN,
    INK,
    NEUTRAL,
    ORANGE,
    PALE,
    PAPER,
    PINK,
    QUIET,
    RED,
)
from bmx_grid.report.figures.words import points_in_words, undefined_in_words
from bmx_grid.wording import counted, factor_in_words, typeset

if TYPE_CHECKING:
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
SAID = "Better: gain above 1e-5; equal or worse: gain of 0 or less."
BAR = 0.27  # inches of a row


def best_boxes(analysis: Analysis) -> Drawing:
    """Box plots of best w and best p by explainer, with the medians written."""
    found = shown.best_boxes(analysis)
    total = len(analysis.real)
    undefined = total - sum(w.n for w, _ in found.values())
    caption = (
        f"Best (w, p) of {counted(total - undefined, 'setting')} by explainer, controls left out; ties are broken by "
        f"the rule '{analysis.best.tie}'. Box: quartiles; whiskers: last values within 1.5 interquartile ranges; Md: "
        "median, of points chosen on the segments they are judged on, and so without an interval. "
        f"Of {analysis.n_tied} settings the metric alone is best: the p that the rule gives them means nothing."
        f"{undefined_in_words(undefined, 'best point')} {signature(analysis)}"
    )
    return Drawing("best_w_and_p_by_explainer", "Best w and p by explainer", caption, partial(_boxes, found))


def better_and_worse(analysis: Analysis) -> Drawing:
    """Settings that got better and not better at the fixed points, by explainer."""
    total = analysis.fixed.all
    caption = (
        f"{counted(total.n, 'setting')} at one fixed (w, p) per explainer; controls left out. "
        f"{SAID} Of {counted(total.clusters, 'cluster')}, a data set and language pair each, {total.clusters_better} "
        f"have a mean gain above 0 (one-sided sign test p = {typeset(total.sign_p, '.3g')}). "
        f"{points_in_words(analysis)}{undefined_in_words(total.undefined, 'setting')} {signature(analysis)}"
    )
    title = "Settings that get better and worse by explainer"
    return Drawing(
        "better_and_worse_by_explainer", title, caption, partial(_counts, {"": analysis.fixed.by["explainer"]})
    )


def better_when_left_out(analysis: Analysis) -> Drawing:
    """The same counts with points chosen without the data set, language pair or metric they are judged on."""
    found = {
        f"chosen on the other {factor_in_words(factor)}s": {
            name: one.summary for name, one in held.items() if one.by_fold
        }
        for factor, held in analysis.leave_one_out.items()
    }
    inside = "; ".join(
        f"{factor_in_words(factor)}: "
        + ", ".join(f"{label(name)} {one.in_sample.better}" for name, one in held.items() if one.by_fold)
        for factor, held in analysis.leave_one_out.items()
        if any(one.by_fold for one in held.values())
    )
    caption = (
        "Settings that get better and worse when the point of an explainer is the median of the best points of all "
        "data sets (language pairs, metrics) but the one it is applied to. Other language pairs of a set may "
        f"share its references, and other metrics are judged on the same segments. {SAID} Better at points chosen "
        f"on all: {inside or 'nothing to leave out'}. {signature(analysis)}"
    )
    title = "Better and worse at points chosen without the data set, language pair or metric judged on"
    return Drawing("better_and_worse_left_out", title, caption, partial(_counts, found))


def ridge_bars(analysis: Analysis, ends: int | None = None) -> Drawing:
    """Coefficients of the regression of the gain, all, or the `ends` largest and smallest."""
    fit = analysis.ridge
    coefficients = list(fit.coefficients.items())
    shortened = ends is not None and len(coefficients) > 2 * ends
    kept = coefficients if ends is None or not shortened else [*coefficients[:ends], *coefficients[-ends:]]
    which = f"{len(kept)} of {len(coefficients)} coefficients, the largest and the smallest" if shortened else "all"
    caption = (
        f"Coefficients of a ridge regression (alpha {fit.alpha:g}) of the gain on data set, language pair, metric and "
        f"explainer, {counted(fit.n, 'setting')}; intercept {typeset(fit.intercept, '+.4f')}, "
        f"R² {typeset(fit.r2, '.2f')}; {which}. "
        "The factors are not independent. Lines: plus and minus two standard errors by a bootstrap of "
        f"{fit.clusters} clusters, a data set and language pair each; none for a name in fewer than 3 of them. "
        f"{points_in_words(analysis)} "
        f"{signature(analysis)}"
    )
    stem = "ridge_all" if ends is None else f"ridge_{ends}_largest_and_smallest"
    title = "Regression of the gain: " + ("all coefficients" if ends is None else "largest and smallest coefficients")
    return Drawing(stem, title, caption, partial(_ridge, kept, fit.errors, ends if shortened else None))


def _boxes(found: Mapping[str, tuple[Box, Box]]) -> Figure:
    figure, frames = canvas(PAGE, 0.5 + 0.36 * max(len(found), 2), columns=2)
    for axes, symbol, boxes in zip(frames, "wp", zip(*found.values(), strict=True), strict=True):
        kept = [(at, box) for at, box in enumerate(boxes) if box.n > 0]
        if kept:
            axes.bxp(
                [_as_drawn(box) for _, box in kept],
                positions=[-at for at, _ in kept],
                widths=0.55,
                orientation="horizontal",
                patch_artist=True,
                manage_ticks=False,
                boxprops={"facecolor": PALE, "edgecolor": INK, "linewidth": 0.7},
                whiskerprops={"linewidth": 0.7},
                capprops={"linewidth": 0.7},
                medianprops={"color": RED, "linewidth": 2.2, "solid_capstyle": "butt"},
                flierprops={"marker": "o", "markersize": 2.5, "markerfacecolor": "none", "markeredgecolor": QUIET},
            )
        labels = [f"{label(name)} (n = {box.n})" for name, box in zip(found, boxes, strict=True)]
        axes.set_yticks([-at for at in range(len(found))], labels)
        axes.tick_params(axis="y", length=0, labelleft=symbol == "w")
        axes.set_ylim(-len(found) + 0.4, 0.6)
        axes.set_xlabel(f"best {symbol}")
        thin_grid(axes, "x")
        for at, box in enumerate(boxes):
            words = f"Md {typeset(box.quartiles[1], 'g')}"
            axes.annotate(words, (1.01, -at), xycoords=("axes fraction", "data"), va="center", annotation_clip=False)
        if not kept:
            empty(axes, "no best point")
    return figure


def _as_drawn(box: Box) -> dict[str, Any]:
    first, middle, third = box.quartiles
    return {"q1": first, "med": middle, "q3": third, "whislo": box.low, "whishi": box.high, "fliers": box.outliers}


def _counts(found: Mapping[str, Mapping[str, GainSummary]]) -> Figure:
    """A frame per title: one bar per name, of settings that got better, stayed, and got worse, with their numbers."""
    rows = [max(len(one), 1) for one in found.values()]
    height = sum(BAR * one + 0.2 * bool(title) for title, one in zip(found, rows, strict=True)) + 0.75
    figure, frames = canvas(COLUMN, height, rows=len(found), height_ratios=rows)
    for axes, (title, summaries) in zip(frames, found.items(), strict=True):
        _bars(axes, summaries)
        if title:
            axes.set_title(title, loc="left", fontsize=7.5, pad=3)
    frames[-1].set_xlabel("settings")
    handles, labels = max((axes.get_legend_handles_labels() for axes in frames), key=lambda one: len(one[0]))
    if handles:
        figure.legend(handles, labels, loc="outside upper left", frameon=False, ncols=3, columnspacing=1.2)
    return figure


def _bars(axes: Axes, found: Mapping[str, GainSummary]) -> None:
    from matplotlib.ticker import MaxNLocator

    if not found:
        axes.set_axis_off()
        empty(axes, "nothing to leave out")
        return
    widest = max((one.n for one in found.values()), default=0)
    places = [-at for at in range(len(found))]
    start = [0] * len(found)
    for kind, name, colour, hatch in COUNTS:
        widths = [getattr(one, kind) for one in found.values()]
        axes.barh(
            places, widths, left=start, height=0.7, color=colour, hatch=hatch, edgecolor=INK, linewidth=0.5, label=name
        )
        for place, left, width in zip(places, start, widths, strict=True):
            if width >= 0.06 * widest and width > 0:
                box = {"facecolor": PAPER, "edgecolor": "none", "pad": 0.8}
                axes.text(
                    left + width / 2, place, str(width), ha="center", va="center", fontsize=SMALL, color=INK, bbox=box
                )
        start = [left + width for left, width in zip(start, widths, strict=True)]
    axes.set_yticks(places, [label(name, SHORT_LABEL) for name in found])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(-len(found) + 0.45, 0.55)
    axes.set_xlim(0, max(widest, 1))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))


def _ridge(
    kept: Sequence[tuple[tuple[str, str], float]], errors: Mapping[tuple[str, str], float], ends: int | None
) -> Figure:
    figure, (axes,) = canvas(COLUMN, 0.75 + 0.17 * max(len(kept), 4))
    places = [-at - (0.8 if ends is not None and at >= ends else 0) for at in range(len(kept))]
    drawn: set[str] = set()
    for place, ((factor, name), value) in zip(places, kept, strict=True):
        axes.barh(
            place,
            value,
            height=0.72,
            color=FACTOR_COLOURS[factor],
            hatch=FACTOR_HATCHES[factor],
            edgecolor=PAPER,
            linewidth=0,
            label=None if factor in drawn else factor_in_words(factor),
        )
        drawn.add(factor)
        error = errors[factor, name]
        reach = 2 * error if math.isfinite(error) else 0.0
        if reach > 0:
            axes.plot([value - reach, value + reach], [place, place], color=INK, linewidth=0.8, zorder=3)
        axes.annotate(
            typeset(value, "+.4f"),
            (value + reach if value >= 0 else value - reach, place),
            xytext=(3 if value >= 0 else -3, 0),
            textcoords="offset points",
            ha="left" if value >= 0 else "right",
            va="center",
            fontsize=6.5,
        )
    axes.set_yticks(places, [label(name, SHORT_LABEL) for (_, name), _ in kept])
    axes.tick_params(axis="y", length=0)
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.margins(x=0.5)  # room for the numbers beside the bars
    axes.locator_params(axis="x", nbins=3)
    axes.set_ylim(min(places, default=0) - 0.7, 0.7)
    axes.set_xlabel("coefficient (gain in correlation)")
    if kept:
        figure.legend(loc="outside upper left", frameon=False, ncols=2, columnspacing=1.2)
    else:
        empty(axes, "no defined gain")
    return figure
