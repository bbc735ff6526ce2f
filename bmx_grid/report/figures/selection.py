"""Best points, counts of better and worse, and the regression (the paper's Figures 5, 6, 8 and 10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.analysis.gains import GainSummary
from bmx_grid.analysis.run import Analysis
from bmx_grid.report.figures.page import broken, empty, page
from bmx_grid.report.figures.words import number, points_in_words, source, undefined_in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Counts: what they are, their colour, and the hatch that tells them apart without it.
COUNTS = (("better", "#0072B2", ""), ("unchanged", "#BBBBBB", "...."), ("worse", "#E69F00", "////"))
NAMED = {"better": "better", "unchanged": "within 1e-5", "worse": "equal or worse"}
FACTOR_COLOURS = {"dataset": "#0072B2", "language_pair": "#009E73", "metric": "#E69F00", "explainer": "#CC79A7"}
FACTOR_HATCHES = {"dataset": "////", "language_pair": "", "metric": "....", "explainer": "xx"}
FACTOR_WORDS = {"dataset": "data set", "language_pair": "language pair", "metric": "metric", "explainer": "explainer"}
BAR = 0.26


def best_boxes(analysis: Analysis) -> Figure:
    """Figure 5: box plots of best w and best p by explainer, with the medians written."""
    real = analysis.real
    best = analysis.best.take(~analysis.table.is_control)
    names = real.factor_levels("explainer")
    undefined = int((np.isnan(best.p) | np.isnan(best.w)).sum())
    about = (
        f"Best (w, p) of {len(real) - undefined:,} settings, controls left out; of several best points the rule "
        f"'{best.tie}' takes one. Box: quartiles; whiskers: 1.5 times the box; Md: median. {analysis.n_tied} of "
        f"{len(real)} settings are improved by no (w, p)."
    ) + undefined_in_words(undefined, "settings have no best point,")
    figure, frames = page(1.0 + 0.42 * max(len(names), 2), [about, source(analysis)], columns=2)
    for axes, symbol, values in zip(frames, ("w", "p"), (best.w, best.p), strict=True):
        groups = []
        for name in names:
            own = values[real.where(explainer=name)]
            groups.append(own[~np.isnan(own)])
        _boxes(axes, names, groups, symbol)
        for at, name in enumerate(names):
            words = f"Md {number(getattr(analysis.medians[name], symbol), 'g')}"
            axes.annotate(words, (1.01, -at), xycoords=("axes fraction", "data"), va="center", annotation_clip=False)
        axes.set_title(f"best {symbol}", loc="left")
        if not any(len(group) > 0 for group in groups):
            empty(axes, "no best point")
    return figure


def better_and_worse(analysis: Analysis) -> Figure:
    """Figures 6 and 10: settings that got better and not better at the fixed points, by explainer."""
    found = analysis.fixed.by["explainer"]
    total = analysis.fixed.all
    about = (
        f"{total.n:,} settings at fixed points, controls left out: better is a gain above 1e-5, worse a gain of 0 or "
        f"less. {points_in_words(analysis)}{undefined_in_words(total.undefined, 'settings')}"
    )
    figure, (axes,) = page(3.2, [about, source(analysis)])
    _counts(axes, found)
    where = "points from elsewhere" if analysis.is_held_out else "points chosen on these settings"
    axes.set_title(f"Better and worse by explainer ({where})", loc="left")
    return figure


def better_when_left_out(analysis: Analysis) -> Figure:
    """The counts of Figure 6 with points chosen without the data set, language pair or metric they are judged on."""
    about = (
        "Settings that got better and not better when the median point of an explainer is chosen on all data sets "
        "(language pairs, metrics) but the one it is applied to. In brackets: better with points chosen on all of them."
    )
    figure, frames = page(
        1.85 * len(analysis.leave_one_out), [about, source(analysis)], rows=len(analysis.leave_one_out)
    )
    for axes, (factor, found) in zip(frames, analysis.leave_one_out.items(), strict=True):
        held = {name: one for name, one in found.items() if one.folds}
        summaries = {name: one.summary for name, one in held.items()}
        _counts(axes, summaries, [one.in_sample.better for one in held.values()], legend=axes is frames[0])
        axes.set_title(f"{FACTOR_WORDS[factor]} left out", loc="left")
        if not held:
            axes.clear()
            axes.set_axis_off()
            empty(axes, f"a single {FACTOR_WORDS[factor]}:\nnothing to leave out")
    return figure


def ridge_bars(analysis: Analysis, ends: int | None = None) -> Figure:
    """Figure 8: coefficients of the regression of the gain, all, or the `ends` largest and smallest."""
    fit = analysis.ridge
    coefficients = list(fit.coefficients.items())
    shortened = ends is not None and len(coefficients) > 2 * ends
    shown = coefficients if ends is None or not shortened else [*coefficients[:ends], *coefficients[-ends:]]
    which = f"{len(shown)} of {len(coefficients)} coefficients, the largest and the smallest" if shortened else "all"
    about = (
        f"Ridge regression (alpha {fit.alpha:g}) of the gain on data set, language pair, metric and explainer, "
        f"{fit.n:,} settings; intercept {number(fit.intercept, '+.4f')}, R² {number(fit.r2, '.2f')}; {which}. "
        f"The factors are not independent. {points_in_words(analysis)}"
    )
    figure, (axes,) = page(0.9 + 0.23 * max(len(shown), 4), [about, source(analysis)])
    places = [-at - (0.8 if shortened and ends is not None and at >= ends else 0) for at in range(len(shown))]
    drawn: set[str] = set()
    for place, ((factor, _), value) in zip(places, shown, strict=True):
        axes.barh(
            place,
            value,
            height=0.72,
            color=FACTOR_COLOURS[factor],
            hatch=FACTOR_HATCHES[factor],
            edgecolor="white",
            linewidth=0,
            label=None if factor in drawn else FACTOR_WORDS[factor],
        )
        drawn.add(factor)
        axes.annotate(
            f"{value:+.4f}",
            (value, place),
            xytext=(3 if value >= 0 else -3, 0),
            textcoords="offset points",
            ha="left" if value >= 0 else "right",
            va="center",
            fontsize=7,
        )
    axes.set_yticks(places, [name for (_, name), _ in shown])
    axes.tick_params(axis="y", length=0)
    axes.axvline(0, color="black", linewidth=1.0)
    axes.margins(x=0.14)
    axes.set_ylim(min(places, default=0) - 0.7, 0.7)
    axes.set_xlabel("coefficient (gain in correlation)")
    axes.set_title("What goes with a larger or smaller gain", loc="left")
    if shown:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=8)
    else:
        empty(axes, "no defined gain")
    return figure


def _boxes(axes: Axes, names: Sequence[str], groups: Sequence[Any], symbol: str) -> None:
    kept = [(at, group) for at, group in enumerate(groups) if len(group) > 0]
    if kept:
        axes.boxplot(
            [group for _, group in kept],
            positions=[-at for at, _ in kept],
            widths=0.55,
            orientation="horizontal",
            patch_artist=True,
            manage_ticks=False,
            boxprops={"facecolor": "#9CC7E3", "edgecolor": "black"},
            medianprops={"color": "#D55E00", "linewidth": 2.6, "solid_capstyle": "butt"},
            flierprops={"marker": "o", "markersize": 3, "markerfacecolor": "none", "markeredgecolor": "#555555"},
        )
    labels = [f"{broken(name, 20)}\n(n = {len(group)})" for name, group in zip(names, groups, strict=True)]
    axes.set_yticks([-at for at in range(len(names))], labels)
    axes.tick_params(axis="y", length=0, labelleft=symbol == "w")
    axes.set_ylim(-len(names) + 0.4, 0.6)
    axes.set_xlabel(symbol)
    axes.grid(True, axis="x", color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)


def _counts(
    axes: Axes, found: Mapping[str, GainSummary], in_sample: Sequence[int] | None = None, *, legend: bool = True
) -> None:
    """Bars of better, unchanged and worse beside each other, with their numbers; in brackets better in-sample."""
    from matplotlib.ticker import MaxNLocator

    for at, (kind, colour, hatch) in enumerate(COUNTS):
        heights = [getattr(one, kind) for one in found.values()]
        places = [place + (at - 1) * BAR for place in range(len(heights))]
        bars = axes.bar(places, heights, width=BAR, color=colour, hatch=hatch, edgecolor="black", linewidth=0.6)
        bars.set_label(NAMED[kind])
        told = [str(height) for height in heights]
        if kind == "better" and in_sample is not None:
            told = [f"{height} ({other})" for height, other in zip(heights, in_sample, strict=True)]
        axes.bar_label(bars, told, fontsize=7.5, padding=1.5)
    labels = [f"{broken(name)}\n(n = {one.n})" for name, one in found.items()]
    axes.set_xticks(range(len(labels)), labels, fontsize=7.5)
    axes.set_xlim(-0.6, max(len(labels) - 0.4, 0.6))
    axes.set_ylabel("settings")
    axes.margins(y=0.14)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    if legend:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=8)
    if not found:
        empty(axes, "no setting")
