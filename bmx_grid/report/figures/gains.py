"""Gains as distributions: of all grid points (Figure 4 of the BMX paper), at fixed points (Figures 7, 9, 12, 13)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from bmx_grid.analysis import shown
from bmx_grid.analysis.basis import Basis
from bmx_grid.analysis.density import Density
from bmx_grid.analysis.names import SHORT_LABEL, correlation_in_words, label
from bmx_grid.analysis.run import Analysis
from bmx_grid.analysis.signature import signature
from bmx_grid.analysis.table import CONTROL, Floats
from bmx_grid.report.figures.canvas import COLUMN, SMALL, Drawing, broken, canvas, empty, no_change_line, thin_grid
from bmx_grid.report.figures.palette import BLUE, DASHES, INK, LINES, MARKERS, PALE, QUIET
from bmx_grid.report.figures.palette import CONTROL as GREY
from bmx_grid.report.figures.words import points_in_words
from bmx_grid.wording import MINUS, counted, factor_in_words, file_stem, typeset, with_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEWEST = 30  # values from which a density is drawn; the shape of fewer is mostly that of the kernel
TOGETHER = 6  # lines that can be distinguished in one frame; more are drawn in rows
VISIBLE = 0.004  # of the highest peak: flatter tails are left out of the frame
STRIP = 0.3  # inches of a row of points


def gains_of_all_points(analysis: Analysis, basis: Basis) -> Drawing:
    """Gains of all (p, w) with w other than 1, one line per explainer."""
    found = analysis.densities.grid["explainer"]
    told = "; ".join(
        f"{label(name)} {counted(one.n, 'point')}, {typeset(one.share_positive, '.1%')} above 0, "
        f"mean {typeset(one.mean, '+.3f')}"
        for name, one in found.items()
    )
    caption = (
        f"Gaussian kernel density (Scott's bandwidth) of the gain, {correlation_in_words(basis.correlation)} of the "
        "boosted metric minus that of the metric alone, over every (p, w) with w other than 1 of every setting, those "
        f"of the random metric included. The black line is no change. {told}.{_cut(found)} Means and shares over the "
        "points of a grid have no interval: the points share their segments, and nobody would choose all of them. "
        f"{signature(analysis)}"
    )
    title = "Gain over all (p, w) by explainer"
    return Drawing("gain_density_by_explainer", title, caption, partial(_lines, found, basis))


def gains_by(
    analysis: Analysis, basis: Basis, explainer: str, factor: str, names: Sequence[str] | None = None, suffix: str = ""
) -> Drawing:
    """Gains of an explainer's settings at its fixed point, by data set, language pair or metric; some names, or all.

    Densities where every name has 30 settings or more, else one mark per setting, in rows.
    """
    every = shown.densities_of(analysis, explainer, factor)
    found = {name: one for name, one in every.items() if names is None or name in names}
    gains = {name: one for name, one in shown.gains_of(analysis, explainer, factor).items() if name in found}
    dense = len(found) <= TOGETHER and all(len(one.x) > 0 and one.n >= FEWEST for one in found.values())
    ends = shown.mean_intervals(analysis, explainer, factor)
    kind = "Gaussian kernel density (Scott's bandwidth)" if dense else "One mark per setting, diamonds are means"
    kind += "" if dense else ", lines their 95 % intervals"
    told = "; ".join(
        f"{label(name)}: {counted(one.n, 'setting')}, mean "
        f"{with_interval(one.mean, *ends[name], minus=MINUS)}, metric alone "
        f"{typeset(one.mean_baseline, '.3f')} on average"
        for name, one in found.items()
    )
    caption = (
        f"Gain of {label(explainer)} ({correlation_in_words(basis.correlation)}, boosted minus metric alone) by "
        f"{factor_in_words(factor)}. {kind}; the black line is no change. In brackets: 95 % intervals of means by "
        f"clusters (data set x language pair; "
        f"none with fewer than 3). {told}. "
        f"{points_in_words(analysis, [explainer])}"
    )
    if len(found) < len(every):
        caption += (
            f" {len(found)} of {len(every)}: those of several data sets first, then the highest and lowest mean gains."
        )
    missing = shown.undefined_gains(analysis, explainer)
    caption += f" {missing:,} undefined gains left out." if missing > 0 else ""
    return Drawing(
        f"gain_by_{factor}_{file_stem(explainer)}{suffix}",
        f"Gain of {label(explainer)} by {factor_in_words(factor)}",
        f"{caption} {signature(analysis)}",
        partial(_lines, found, basis) if dense else partial(_strips, found, gains, ends, basis),
    )


def _axis(basis: Basis) -> str:
    return f"gain in {correlation_in_words(basis.correlation)}"


def _lines(found: Mapping[str, Density], basis: Basis) -> Figure:
    figure, (axes,) = canvas(COLUMN, 2.1 + 0.14 * len(found))
    for at, (name, one) in enumerate(found.items()):
        control = name == CONTROL
        colour = GREY if control else LINES[at % len(LINES)]
        axes.plot(
            one.x,
            one.density,
            color=colour,
            linestyle=(0, (2, 1)) if control else DASHES[at % len(DASHES)],
            linewidth=1.2,
            marker=MARKERS[at % len(MARKERS)],
            markevery=(6 + 4 * at, 26),
            markersize=3.2,
            label=f"{label(name, SHORT_LABEL)} ({typeset(one.share_positive, '.0%')} above 0)",
        )
    drawn = {name: one for name, one in found.items() if len(one.x) > 0}
    if drawn:
        axes.set_xlim(*_window(drawn))
        axes.set_ylim(bottom=0)
    else:
        empty(axes, "fewer than two values that differ" if any(one.n > 0 for one in found.values()) else "no gain")
    no_change_line(axes)
    axes.set_xlabel(_axis(basis))
    axes.set_ylabel("density")
    figure.legend(loc="outside upper left", frameon=False, handlelength=2.8, ncols=1)
    return figure


def _strips(
    found: Mapping[str, Density],
    gains: Mapping[str, Floats],
    ends: Mapping[str, tuple[float, float]],
    basis: Basis,
) -> Figure:
    """A row per name; with more than six the highest mean gain is on top."""
    ordered = list(found)
    if len(ordered) > TOGETHER:
        ordered.sort(key=lambda name: (-found[name].mean if found[name].n > 0 else np.inf, name))
    labels = [broken(label(name, SHORT_LABEL), 14) for name in ordered]
    lines = sum(max(text.count("\n") + 1, 2) for text in labels) / 2
    figure, (axes,) = canvas(COLUMN, 0.55 + STRIP * max(lines, 1.0))
    reach = max((float(np.ptp(one)) for one in gains.values() if len(one)), default=0.0)
    for at, name in enumerate(ordered):
        values = gains[name]
        axes.scatter(
            values,
            -at + _offsets(values, max(reach, 1e-12) / 60),
            s=9,
            facecolor=PALE,
            edgecolor=BLUE,
            linewidth=0.6,
            zorder=3,
            clip_on=False,
        )
        if len(values):
            axes.plot(ends[name], (-at, -at), color=INK, linewidth=1.4, zorder=3.5)  # nothing is drawn for NaN
            axes.scatter(
                found[name].mean, -at, s=26, marker="D", facecolor="none", edgecolor=INK, linewidth=1, zorder=4
            )
        axes.annotate(
            f"n = {found[name].n}",
            (1.01, -at),
            xycoords=("axes fraction", "data"),
            fontsize=SMALL,
            va="center",
            color=QUIET,
            annotation_clip=False,
        )
    axes.set_yticks([-at for at in range(len(ordered))], labels)
    axes.set_ylim(-len(ordered) + 0.4, 0.6)
    axes.tick_params(axis="y", length=0)
    axes.margins(x=0.06)
    axes.locator_params(axis="x", nbins=5)
    thin_grid(axes, "x")
    no_change_line(axes)
    axes.set_xlabel(_axis(basis))
    if not any(len(one) for one in gains.values()):
        empty(axes, "no defined gain")
    return figure


def _offsets(values: Floats, near: float) -> Floats:
    """float64[n] places off the middle of a row, so that marks closer than `near` do not hide each other.

    values: ascending. The first of a crowd stands in the middle, the next above and below in turn.
    """
    places = np.zeros(len(values))
    for at in range(1, len(values)):
        crowd = int(np.sum(values[max(at - 5, 0) : at] > values[at] - near))
        places[at] = (0.13 * ((crowd + 1) // 2)) * (1 if crowd % 2 else -1)
    return places


def _window(drawn: Mapping[str, Density]) -> tuple[float, float]:
    """From where to where a line stands out, with 0 inside."""
    level = VISIBLE * max(one.density.max() for one in drawn.values())
    seen = np.concatenate([one.x[one.density >= level] for one in drawn.values()])
    low, high = min(float(seen.min()), 0.0), max(float(seen.max()), 0.0)
    margin = 0.02 * (high - low)
    return low - margin, high + margin


def _cut(found: Mapping[str, Density]) -> str:
    drawn = {name: one for name, one in found.items() if len(one.x) > 0}
    if not drawn:
        return ""
    low, high = _window(drawn)
    beyond = min(one.x[0] for one in drawn.values()) < low or max(one.x[-1] for one in drawn.values()) > high
    return " Tails below 0.4 % of the highest peak are outside the frame." if beyond else ""
