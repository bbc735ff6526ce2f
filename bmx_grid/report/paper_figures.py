"""The figures of the BMX paper on all settings: distributions of gains, best points, counts and the regression."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.analysis import factors
from bmx_grid.analysis.base import CONTROLS, each_group, each_row
from bmx_grid.analysis.gains import (
    gains_by_explainer,
    gains_without_controls,
    overview,
    settings_without_controls,
    summaries,
)
from bmx_grid.analysis.points import chosen_points, points_in_words
from bmx_grid.analysis.questions import Analysis
from bmx_grid.core.ragged import Floats
from bmx_grid.core.wording import (
    MINUS,
    SHORT_LABEL,
    factor_in_words,
    file_stem,
    format_interval,
    label,
    p_in_words,
    pluralize,
    typeset_number,
)
from bmx_grid.evaluations.boost_evidence import ALL
from bmx_grid.report.canvas import (
    BLUE,
    COLUMN,
    DASHES,
    GREEN,
    GREY,
    INK,
    LINES,
    NEUTRAL,
    ORANGE,
    PAGE,
    PALE,
    PAPER,
    PINK,
    QUIET,
    RED,
    SKY,
    SMALL,
    Drawing,
    canvas,
    correlation_of,
    empty,
    gain_axis,
    legend_above,
    name_rows,
    no_change_line,
    sign_figure,
    thin_grid,
    undefined_in_words,
    write_beside,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

HISTOGRAM_BINS = 80
FRAMED = (0.005, 0.995)  # quantiles at the ends of a histogram's axis
# Inches of a row.
STRIP_HEIGHT = 0.3
BAR_HEIGHT = 0.27
COEFFICIENT_HEIGHT = 0.17
COUNTS = {"better": ("better", SKY), "unchanged": ("within 1e-5", NEUTRAL), "worse": ("equal or worse", ORANGE)}
FACTOR_LOOKS = {
    "dataset": (BLUE, "////"),
    "language_pair": (GREEN, ""),
    "metric": (ORANGE, ".."),
    "explainer": (PINK, "xx"),
}


def gains_of_all_points(analysis: Analysis) -> Drawing:
    """Gains of all (p, w) with w other than 1, one line per explainer (Figure 4)."""
    table = analysis.table
    gains = {}
    descriptions = []
    for name in table.factor_levels("explainer"):
        is_of_explainer = [setting.explainer == name for setting in table.settings]
        values = table.gains[is_of_explainer][:, :, table.is_boosted]
        values = values[~np.isnan(values)]
        gains[name] = values
        if len(values) > 0:
            points = pluralize(len(values), "point")
            above = typeset_number((values > 0).mean(), ".1%")
            mean = typeset_number(values.mean(), "+.3f")
            descriptions.append(f"{label(name)} {points}, {above} above 0, mean {mean}")
    kind = correlation_of(analysis)
    framed = FRAMED[1] - FRAMED[0]
    caption = (
        f"Histogram of the gain ({kind}, boosted minus baseline) over every (p, w) with w other than 1 of every "
        f"setting, those of the random metric included; the frame holds the middle {framed:.0%}. "
        f"{'; '.join(descriptions)}. The points of a grid share their segments: no intervals. "
    )
    draw = partial(_histograms, gains, f"gain in {kind}")
    return sign_figure(analysis, "gain_density_by_explainer", "Gain over all (p, w) by explainer", caption, draw)


def _histograms(gains: Mapping[str, Floats], axis: str) -> Figure:
    """Draw one line per name. axis: its label."""
    height = 2.1 + 0.14 * len(gains)  # each line has an entry in the legend above
    figure, (axes,) = canvas(COLUMN, height)
    # The zero is for empty gains, which have no quantiles.
    known = np.concatenate([np.zeros(1), *gains.values()])
    frame = tuple(np.quantile(known, FRAMED))
    edges = np.histogram_bin_edges(known, HISTOGRAM_BINS, frame)
    for place, (name, values) in enumerate(gains.items()):
        share = math.nan
        if len(values) > 0:
            share = (values > 0).mean()
        counts, _ = np.histogram(values, edges)
        # Densities of all values, those outside the frame among them: areas add up to less than 1.
        densities = counts / max(len(values), 1) / np.diff(edges)
        colour = LINES[place % len(LINES)]
        dashes = DASHES[place % len(DASHES)]
        if name in CONTROLS:
            colour = GREY
            dashes = (0, (2, 1))
        entry = f"{label(name, SHORT_LABEL)} ({typeset_number(share, '.0%')} above 0)"
        axes.stairs(densities, edges, color=colour, linestyle=dashes, linewidth=1.2, label=entry)
    if len(known) == 1:
        empty(axes, "no gain")
    no_change_line(axes)
    axes.set_yscale("log")  # a peak at no change is a hundred times as high as the tails
    axes.yaxis.set_major_formatter("{x:g}")
    axes.tick_params(which="minor", labelleft=False)
    axes.set_xlabel(axis)
    axes.set_ylabel("density")
    legend_above(figure, handlelength=2.8, ncols=1)
    return figure


def gains_by(analysis: Analysis, explainer: str, factor: str) -> Drawing:
    """Gains of an explainer's settings at its point, by data set, language pair or metric (Figures 7 to 13)."""
    gains = analysis.compute_once(gains_without_controls)
    gains = gains[gains["explainer"] == explainer]
    by_name = summaries(gains, factor, seed=analysis.seed)
    means = by_name.sort_values("mean_gain", ascending=False, kind="stable")
    descriptions = []
    for summary in each_row(means):
        mean = format_interval(summary.mean_gain, summary.mean_low, summary.mean_high, minus=MINUS)
        alone = typeset_number(summary.mean_baseline, ".3f")
        n_settings = pluralize(summary.n, "setting")
        descriptions.append(f"{label(summary.Index)}: {n_settings}, mean {mean}, baseline {alone} on average")
    defined = gains[gains["gain"].notna()]
    n_undefined = len(gains) - len(defined)
    values: dict[str, list[float]] = {}
    for name in means.index:
        values[name] = defined["gain"][defined[factor] == name].tolist()
    kind = correlation_of(analysis)
    title = f"Gain of {label(explainer)} by {factor_in_words(factor)}"
    point = points_in_words(analysis.compute_once(chosen_points).loc[[explainer]])
    caption = (
        f"Gain of {label(explainer)} ({kind}, boosted minus baseline) by {factor_in_words(factor)}. One mark per "
        "setting, diamonds are means; in brackets and as lines 95 % intervals of means by clusters (data set x "
        f"language pair; none with fewer than 3). {'; '.join(descriptions)}. {point}"
        f"{undefined_in_words(n_undefined, 'gain')}"
    )
    stem = f"gain_by_{factor}_{file_stem(explainer)}"
    draw = partial(_strips, values, means, f"gain in {kind}")
    return sign_figure(analysis, stem, title, caption, draw)


def _strips(values: Mapping[str, Sequence[float]], means: pd.DataFrame, axis: str) -> Figure:
    """Draw a row per name, the highest mean gain on top. values: the gains by name; axis: its label."""
    height = 0.55 + STRIP_HEIGHT * len(means)
    figure, (axes,) = canvas(COLUMN, height)
    for place, summary in enumerate(each_row(means)):
        y = -place
        gains = values[summary.Index]
        heights = np.full(len(gains), y)
        axes.scatter(gains, heights, s=60, marker="|", color=BLUE, linewidth=0.8, zorder=3)
        ends = (summary.mean_low, summary.mean_high)  # nothing is drawn for NaN
        axes.plot(ends, (y, y), color=INK, linewidth=1.4, zorder=3.5)
        axes.scatter(summary.mean_gain, y, s=26, marker="D", facecolor="none", edgecolor=INK, zorder=4)
        write_beside(axes, place, f"n = {summary.n}", fontsize=SMALL, color=QUIET)
    axes.margins(x=0.06)
    name_rows(axes, [label(name, SHORT_LABEL) for name in means.index])
    gain_axis(axes, axis)
    if not means["n"].any():
        empty(axes, "no defined gain")
    return figure


def best_boxes(analysis: Analysis) -> Drawing:
    """Box plots of best w and best p by explainer, with the medians written (Figure 5)."""
    real = analysis.compute_once(settings_without_controls)
    defined = real[np.isfinite(real["best_w"])]
    n_tied = real["ties_baseline"].sum()
    n_undefined = len(real) - len(defined)
    caption = (
        f"Best (w, p) of {pluralize(len(defined), 'setting')} by explainer, controls left out, chosen on the "
        f"segments they are judged on, of equal points the first. Box: quartiles; whiskers: "
        f"last values within 1.5 interquartile ranges; Md: median. Of {n_tied} settings the "
        f"baseline is best: their p means nothing.{undefined_in_words(n_undefined, 'best point')}"
    )
    title = "Best w and p by explainer"
    return sign_figure(analysis, "best_w_and_p_by_explainer", title, caption, partial(_boxes, defined))


def _boxes(best: pd.DataFrame) -> Figure:
    """Best w at the left, best p at the right, a box per explainer in each."""
    groups = dict(each_group(best, "explainer", sort=True))
    names = []
    for name, settings in groups.items():
        names.append(f"{label(name)} (n = {len(settings)})")
    height = 0.5 + 0.36 * max(len(groups), 2)
    figure, frames = canvas(PAGE, height, columns=2)
    for axes, symbol in zip(frames, "wp", strict=True):
        values = []
        for settings in groups.values():
            best_of_settings = settings[f"best_{symbol}"].tolist()
            # Infinite powers have no place on the axis.
            values.append(list(filter(math.isfinite, best_of_settings)))
        axes.boxplot(
            values,
            positions=[-place for place in range(len(groups))],
            widths=0.55,
            orientation="horizontal",
            patch_artist=True,
            manage_ticks=False,
            boxprops={"facecolor": PALE, "edgecolor": INK},
            medianprops={"color": RED, "linewidth": 2.2, "solid_capstyle": "butt"},
            flierprops={"marker": "o", "markersize": 2.5, "markeredgecolor": QUIET},
        )
        name_rows(axes, names)
        axes.tick_params(axis="y", labelleft=symbol == "w")  # both frames have the same rows
        axes.set_xlabel(f"best {symbol}")
        thin_grid(axes, "x")
        for place, values_of_explainer in enumerate(values):
            median = float(np.median(values_of_explainer)) if values_of_explainer else math.nan
            write_beside(axes, place, f"Md {typeset_number(median)}")
    return figure


def better_and_worse(analysis: Analysis) -> Drawing:
    """Settings that got better and not better at their points, by explainer (Figures 6 and 10)."""
    total: Any = analysis.compute_once(overview).loc[ALL]
    settings = pluralize(total.n, "setting")
    clusters = pluralize(total.clusters, "cluster")
    sign_test = p_in_words(total.sign_p)
    points = points_in_words(analysis.compute_once(chosen_points))
    undefined = undefined_in_words(total.undefined, "setting")
    caption = (
        f"{settings} at one (w, p) per explainer; controls left out. Better: gain above "
        f"1e-5; equal or worse: gain of 0 or less. Of {clusters}, a data set and language "
        f"pair each, {total.clusters_better} have a mean gain above 0 (one-sided sign test "
        f"{sign_test}). {points}{undefined}"
    )
    title = "Settings that get better and worse by explainer"
    draw = partial(_bars, analysis.compute_once(gains_by_explainer))
    return sign_figure(analysis, "better_and_worse_by_explainer", title, caption, draw)


def _bars(by_name: pd.DataFrame) -> Figure:
    """One bar per name, of settings that got better, stayed, and got worse, with their numbers."""
    height = 0.75 + BAR_HEIGHT * max(len(by_name), 1)
    figure, (axes,) = canvas(COLUMN, height)
    widest = by_name["n"].max()
    places = [-place for place in range(len(by_name))]
    start = np.zeros(len(by_name))  # start of the next part of each bar
    for kind, (name, colour) in COUNTS.items():
        widths = by_name[kind].tolist()
        bars = axes.barh(
            places,
            widths,
            height=0.7,
            left=start,
            color=colour,
            edgecolor=INK,
            linewidth=0.5,
            label=name,
        )
        numbers = []
        for width in widths:
            # A number that does not fit its part of the bar is left out.
            fits = width > 0 and width >= 0.06 * widest
            numbers.append(str(width) if fits else "")
        axes.bar_label(bars, numbers, label_type="center", fontsize=SMALL, color=INK)
        start = start + widths
    name_rows(axes, [label(name, SHORT_LABEL) for name in by_name.index])
    axes.set_xlim(0, max(widest, 1))
    axes.locator_params(axis="x", nbins=6, integer=True)
    axes.set_xlabel("settings")
    legend_above(figure, ncols=3, columnspacing=1.2)
    return figure


def ridge_bars(analysis: Analysis) -> Drawing:
    """Coefficients of the regression of the gain (Figure 8)."""
    result = analysis.compute_once(factors.regression)
    fit = result["ridge"]
    settings = pluralize(fit["n"], "setting")
    intercept = typeset_number(fit["intercept"], "+.4f")
    r2 = typeset_number(fit["r2"], ".2f")
    points = points_in_words(analysis.compute_once(chosen_points))
    caption = (
        f"Coefficients of a ridge regression (alpha {fit['alpha']:g}) of the gain on data set, language pair, "
        f"metric and explainer, which are not independent; {settings}; intercept "
        f"{intercept}, R² {r2}. Lines: two standard errors either way "
        f"by a bootstrap of {fit['clusters']} clusters, a data set and language pair each; none for a name in fewer "
        f"than 3. {points}"
    )
    draw = partial(_ridge, result["ridge_coefficients"])
    return sign_figure(analysis, "ridge", "Regression of the gain: coefficients", caption, draw)


def _ridge(coefficients: pd.DataFrame) -> Figure:
    """A bar per coefficient, in the colour of its factor, with its number at the end."""
    height = 0.75 + COEFFICIENT_HEIGHT * max(len(coefficients), 4)
    figure, (axes,) = canvas(COLUMN, height)
    # One call for each factor, so that the legend has one entry for each.
    for factor, rows in each_group(coefficients, "factor", sort=True):
        colour, hatch = FACTOR_LOOKS[factor]
        axes.barh(
            -rows.index.to_numpy(),
            rows["coefficient"],
            height=0.72,
            color=colour,
            hatch=hatch,
            edgecolor=PAPER,
            linewidth=0,
            xerr=2 * rows["error"],
            error_kw={"elinewidth": 0.8, "zorder": 3},
            label=factor_in_words(factor),
        )
    for row in each_row(coefficients):
        # The number is beyond the end of its bar and line, on the side that they point to.
        sign = 1 if row.coefficient >= 0 else -1
        error = 0.0 if math.isnan(row.error) else row.error
        end = row.coefficient + sign * 2 * error
        axes.annotate(
            typeset_number(row.coefficient, "+.4f"),
            (end, -row.Index),
            xytext=(3 * sign, 0),
            textcoords="offset points",
            ha="left" if sign > 0 else "right",
            va="center",
            fontsize=6.5,
        )
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.margins(x=0.5)  # room for the numbers at the bars
    name_rows(axes, [label(name, SHORT_LABEL) for name in coefficients["name"]])
    axes.locator_params(axis="x", nbins=3)
    axes.set_xlabel("coefficient (gain in correlation)")
    if len(coefficients):
        legend_above(figure, ncols=2, columnspacing=1.2)
    else:
        empty(axes, "no defined gain")
    return figure
