"""Gains as distributions: of all grid points (Figure 4 of the BMX paper), at fixed points (Figures 7, 9, 12, 13)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.analysis.gains import real_at_points, summaries
from bmx_grid.analysis.names import SHORT_LABEL, correlation_in_words, label
from bmx_grid.analysis.questions import Analysis
from bmx_grid.analysis.table import CONTROL, Floats
from bmx_grid.core.wording import MINUS, counted, factor_in_words, file_stem, typeset, with_interval
from bmx_grid.report.figures.canvas import (
    BLUE,
    COLUMN,
    DASHES,
    INK,
    LINES,
    MARKERS,
    PALE,
    QUIET,
    SMALL,
    Drawing,
    canvas,
    empty,
    gain_axis,
    legend_above,
    name_rows,
    no_change_line,
    points_in_words,
    signed,
)
from bmx_grid.report.figures.canvas import CONTROL as GREY

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEWEST = 30  # values from which a density is drawn; the shape of fewer is mostly that of the kernel
TOGETHER = 6  # lines that can be distinguished in one frame; more are drawn in rows
VISIBLE = 0.004  # of the highest peak: flatter tails are left out of the frame
STRIP = 0.3  # inches of a row of points
BINS, POINTS = 4096, 256
REACH = 4.0  # bandwidths beyond the values: less than 1e-4 of a value's mass lies outside


def gains_of_all_points(analysis: Analysis) -> Drawing:
    """Gains of all (p, w) with w other than 1, one line per explainer."""
    table = analysis.table
    every = table.gains[:, :, table.boosted].reshape(len(table), -1)
    by_explainer = {
        name: density_of(every[rows], np.repeat(table.baseline[rows], every.shape[1]).reshape(rows.sum(), -1))
        for name in table.factor_levels("explainer")
        for rows in [table.where(explainer=name)]
    }
    each = "; ".join(
        f"{label(name)} {counted(one.n, 'point')}, {typeset(one.share_positive, '.1%')} above 0, "
        f"mean {typeset(one.mean, '+.3f')}"
        for name, one in by_explainer.items()
    )
    kind = correlation_in_words(analysis.basis.correlation)
    caption = (
        f"Gaussian kernel density (Scott's bandwidth) of the gain ({kind}, boosted minus metric alone) over every "
        "(p, w) with w other than 1 of every setting, those of the random metric included. Tails below 0.4 % of the "
        f"highest peak are outside the frame. {each}. The points of a grid share their segments: no intervals. "
    )
    draw = partial(_lines, by_explainer, f"gain in {kind}")
    return signed(analysis, "gain_density_by_explainer", "Gain over all (p, w) by explainer", caption, draw)


def gains_by(analysis: Analysis, explainer: str, factor: str, suffix: str = "") -> Drawing:
    """Gains of an explainer's settings at its fixed point, by data set, language pair or metric.

    Densities where every name has 30 settings or more, else one mark per setting, in rows. Of more than six language
    pairs a few are shown, without a suffix.
    """
    settings = analysis.ask(real_at_points)
    settings = settings[settings["explainer"] == explainer]
    groups = {str(name): group[["fixed_gain", "baseline"]].to_numpy() for name, group in settings.groupby(factor)}
    every = {name: density_of(*group.T) for name, group in groups.items()}
    few = factor == "language_pair" and len(every) > TOGETHER and not suffix
    names = pairs_to_compare(analysis, every) if few else every
    by_name = {name: one for name, one in every.items() if name in names}
    gains = {name: np.sort(group[:, 0][~np.isnan(group[:, 0])]) for name, group in groups.items()}
    dense = len(by_name) <= TOGETHER and all(len(one.x) > 0 and one.n >= FEWEST for one in by_name.values())
    means = summaries(settings, factor, analysis.options.seed)
    ends = {str(name): (row["mean_low"], row["mean_high"]) for name, row in means.iterrows()}
    marks = "Gaussian kernel density (Scott's bandwidth)" if dense else "One mark per setting, diamonds are means"
    each = "; ".join(
        f"{label(name)}: {counted(one.n, 'setting')}, mean {with_interval(one.mean, *ends[name], minus=MINUS)}, "
        f"metric alone {typeset(one.mean_baseline, '.3f')} on average"
        for name, one in by_name.items()
    )
    kind = correlation_in_words(analysis.basis.correlation)
    caption = (
        f"Gain of {label(explainer)} ({kind}, boosted minus metric alone) by {factor_in_words(factor)}. {marks}; in "
        f"brackets and as lines 95 % intervals of means by clusters (data set x language pair; none with fewer than "
        f"3). {each}. {points_in_words(analysis, [explainer])}"
    )
    if len(by_name) < len(every):
        caption += f" {len(by_name)} of {len(every)}: those of several data sets, then the highest and lowest means."
    missing = int(settings["fixed_gain"].isna().sum())
    caption += f" {missing:,} undefined gains left out." if missing > 0 else ""
    axis = f"gain in {kind}"
    return signed(
        analysis,
        f"gain_by_{factor}_{file_stem(explainer)}{suffix}",
        f"Gain of {label(explainer)} by {factor_in_words(factor)}",
        caption,
        partial(_lines, by_name, axis) if dense else partial(_strips, by_name, gains, ends, axis),
    )


def pairs_to_compare(analysis: Analysis, every: Mapping[str, Density], most: int = 5) -> list[str]:
    """Language pairs to show together: those of several data sets, then the highest and lowest mean gains."""
    pairs = analysis.real.frame[["dataset", "language_pair"]].drop_duplicates()["language_pair"]
    kept = [name for name, density in every.items() if density.n > 0]
    shared = [name for name in kept if (pairs == name).sum() > 1]
    by_gain = sorted((name for name in kept if name not in shared), key=lambda name: (every[name].mean, name))
    ends = [name for pair in zip(by_gain[::-1], by_gain, strict=True) for name in pair]
    return sorted(list(dict.fromkeys([*shared, *ends]))[:most])


def _lines(by_name: Mapping[str, Density], axis: str) -> Figure:
    figure, (axes,) = canvas(COLUMN, 2.1 + 0.14 * len(by_name))
    for place, (name, one) in enumerate(by_name.items()):
        control = name == CONTROL
        axes.plot(
            one.x,
            one.density,
            color=GREY if control else LINES[place % len(LINES)],
            linestyle=(0, (2, 1)) if control else DASHES[place % len(DASHES)],
            linewidth=1.2,
            marker=MARKERS[place % len(MARKERS)],
            markevery=(6 + 4 * place, 26),
            markersize=3.2,
            label=f"{label(name, SHORT_LABEL)} ({typeset(one.share_positive, '.0%')} above 0)",
        )
    dense = [one for one in by_name.values() if len(one.x) > 0]
    if dense:
        level = VISIBLE * max(one.density.max() for one in dense)
        seen = np.concatenate([one.x[one.density >= level] for one in dense])
        low, high = min(float(seen.min()), 0.0), max(float(seen.max()), 0.0)
        axes.set_xlim(low - 0.02 * (high - low), high + 0.02 * (high - low))
        axes.set_ylim(bottom=0)
    else:
        empty(axes, "fewer than two values that differ" if any(one.n > 0 for one in by_name.values()) else "no gain")
    no_change_line(axes)
    axes.set_xlabel(axis)
    axes.set_ylabel("density")
    legend_above(figure, handlelength=2.8, ncols=1)
    return figure


def _strips(
    by_name: Mapping[str, Density], gains: Mapping[str, Floats], ends: Mapping[str, tuple[float, float]], axis: str
) -> Figure:
    """A row per name; with more than six the highest mean gain is on top."""
    names = list(by_name)
    if len(names) > TOGETHER:
        names.sort(key=lambda name: (-by_name[name].mean if by_name[name].n > 0 else np.inf, name))
    labels = [_broken(label(name, SHORT_LABEL)) for name in names]
    lines = sum(max(text.count("\n") + 1, 2) for text in labels) / 2
    figure, (axes,) = canvas(COLUMN, 0.55 + STRIP * max(lines, 1.0))
    reach = max((float(np.ptp(gains[name])) for name in names if len(gains[name])), default=0.0)
    for place, name in enumerate(names):
        offsets = _offsets(gains[name], max(reach, 1e-12) / 60)
        look: dict[str, Any] = {"facecolor": PALE, "edgecolor": BLUE, "linewidth": 0.6, "zorder": 3, "clip_on": False}
        axes.scatter(gains[name], -place + offsets, s=9, **look)
        if len(gains[name]):
            axes.plot(ends[name], (-place, -place), color=INK, linewidth=1.4, zorder=3.5)  # nothing is drawn for NaN
            axes.scatter(by_name[name].mean, -place, s=26, marker="D", facecolor="none", edgecolor=INK, zorder=4)
        where: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "va": "center", "annotation_clip": False}
        axes.annotate(f"n = {by_name[name].n}", (1.01, -place), fontsize=SMALL, color=QUIET, **where)
    axes.margins(x=0.06)
    name_rows(axes, labels)
    gain_axis(axes, axis, ticks=5)
    if not any(len(gains[name]) for name in names):
        empty(axes, "no defined gain")
    return figure


def _broken(name: str, width: int = 14) -> str:
    """A name in lines of about `width`, broken after blanks, _ and - only."""
    lines = [""]
    for part in re.findall(r"[^ _-]*[ _-]?", name):
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)


def _offsets(values: Floats, near: float) -> Floats:
    """float64[n] places off the middle of a row, so that marks closer than `near` do not hide each other.

    values: ascending. The first of a crowd stands in the middle, the next above and below in turn.
    """
    places = np.zeros(len(values))
    for row in range(1, len(values)):
        crowd = int(np.sum(values[max(row - 5, 0) : row] > values[row] - near))
        places[row] = (0.13 * ((crowd + 1) // 2)) * (1 if crowd % 2 else -1)
    return places


@dataclass(frozen=True, eq=False)
class Density:
    """A Gaussian kernel density estimate of n gains, with Scott's bandwidth.

    x: float64[256], equally spaced; density: float64[256], 1 / gain. Both empty when fewer than 2 values differ.
    mean, share_positive: of the gains; mean_baseline: of the settings they come from, each counted once per value.
    """

    n: int
    mean: float = math.nan
    mean_baseline: float = math.nan
    share_positive: float = math.nan
    x: Floats = field(default_factory=lambda: np.empty(0))
    density: Floats = field(default_factory=lambda: np.empty(0))


def density_of(gains: Floats, baseline: Floats) -> Density:
    """The density of gains of any shape, NaN left out; baseline: one for each gain, in the same order.

    The values are counted in fine bins first: a million of them would take minutes, and is within 1 % of the peak.
    """
    from scipy.stats import gaussian_kde

    defined = ~np.isnan(gains)
    values, baseline = gains[defined], baseline[defined]
    n = len(values)
    if n == 0:
        return Density(0)
    numbers = (n, float(values.mean()), float(baseline.mean()), float((values > 0).mean()))
    if n < 2 or np.ptp(values) <= 1e-12:  # for values that differ only by rounding no width can be estimated
        return Density(*numbers)
    reach = REACH * float(values.std(ddof=1)) * n ** (-1 / 5)
    counts, edges = np.histogram(values, BINS)
    centres, filled = (edges[1:] + edges[:-1]) / 2, counts > 0
    x = np.linspace(values.min() - reach, values.max() + reach, POINTS)
    estimate = gaussian_kde(centres[filled], n ** (-1 / 5), weights=counts[filled])
    return Density(*numbers, x, estimate(x))
