"""Densities of gains: of all grid points (the paper's Figure 4), at fixed points (Figures 7, 9, 12 and 13)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bmx_grid.analysis.density import Density
from bmx_grid.analysis.run import Analysis
from bmx_grid.analysis.table import CONTROL, Floats
from bmx_grid.report.figures.grid import COLOURS, DASHES, MARKERS
from bmx_grid.report.figures.page import empty, no_change_line, page
from bmx_grid.report.figures.words import number, points_in_words, source

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TOGETHER = 6  # lines that can be told apart in one frame; more are drawn in rows
VISIBLE = 0.004  # of the highest peak: flatter tails are cut off the frame
WORDS = {"dataset": "data set", "language_pair": "language pair", "metric": "metric", "explainer": "explainer"}


def gains_of_all_points(analysis: Analysis) -> Figure:
    """Figure 4: gains of all (p, w) with w other than 1, a line for each explainer."""
    found = analysis.densities.grid["explainer"]
    shown = {name: one for name, one in found.items() if len(one.x) > 0}
    labels = {
        name: f"{name}\n{number(one.share_positive, '.1%')} above 0, mean {number(one.mean, '+.3f')}"
        for name, one in found.items()
    }
    about = (
        "Gaussian kernel density (Scott's bandwidth) of the gain, correlation of the boosted metric minus that of the "
        "metric alone, over every (p, w) with w other than 1 of every setting, the random metric's included. "
        f"The black line is no change. n: {', '.join(f'{name} {one.n:,}' for name, one in found.items())}."
    )
    figure, (axes,) = page(3.6, [about + _cut(shown), source(analysis)])
    _lines(axes, found, labels)
    _dress(axes, shown, "Gain over all (p, w), by explainer")
    return figure


def gains_by(analysis: Analysis, explainer: str, factor: str, names: Sequence[str] | None = None) -> Figure:
    """Gains of an explainer's settings at its fixed point, by data set, language pair or metric; some names, or all.

    Up to six lines share a frame; more are drawn in rows. Short strokes are the settings themselves.
    """
    every = analysis.densities.fixed[explainer][factor]
    found = {name: one for name, one in every.items() if names is None or name in names}
    real = analysis.real
    rows = real.where(explainer=explainer)
    gains = {name: analysis.fixed.gain[rows & real.where(**{factor: name})] for name in found}
    labels = {name: f"{name} (n = {one.n}, baseline {number(one.mean_baseline, '.3f')})" for name, one in found.items()}
    about = (
        f"Gain of {explainer} by {WORDS[factor]}: Gaussian kernel density (Scott's bandwidth), strokes are the "
        f"settings in the order of the legend, baseline is their mean correlation without {explainer}, the "
        "black line is no change. "
        f"{points_in_words(analysis, [explainer])}"
    )
    if names is not None and len(found) < len(every):
        about += (
            f" {len(found)} of {len(every)}: those of several data sets first, then the highest and lowest mean gains."
        )
    missing = sum(int(np.isnan(one).sum()) for one in gains.values())
    about += f" {missing:,} undefined gains left out." if missing > 0 else ""
    flat = [name for name, one in found.items() if len(one.x) == 0]
    about += f" No density of fewer than 2 values that differ: {', '.join(flat)}." if flat else ""
    title = f"Gain of {explainer} by {WORDS[factor]}"
    if len(found) > TOGETHER:
        return _in_rows(found, gains, [about, source(analysis)], title)
    figure, (axes,) = page(3.4, [about, source(analysis)])
    _lines(axes, found, labels)
    _dress(axes, found, title)
    _strokes(axes, gains)
    return figure


def pairs_to_compare(analysis: Analysis, explainer: str, most: int = 5) -> list[str]:
    """Language pairs to draw in one frame: those of several data sets, then the highest and lowest mean gains."""
    found = analysis.densities.fixed[explainer]["language_pair"]
    kept = [name for name, one in found.items() if one.n > 0]
    sets: dict[str, set[str]] = {}
    for one in analysis.real.settings:
        sets.setdefault(one.language_pair, set()).add(one.dataset)
    shared = [name for name in kept if len(sets[name]) > 1]
    by_gain = sorted((name for name in kept if name not in shared), key=lambda name: (found[name].mean, name))
    ends = [one for pair in zip(by_gain[::-1], by_gain, strict=True) for one in pair]
    return sorted(list(dict.fromkeys([*shared, *ends]))[:most])


def _lines(axes: Axes, found: Mapping[str, Density], labels: Mapping[str, str]) -> None:
    for at, (name, one) in enumerate(found.items()):
        control = name == CONTROL
        axes.plot(
            one.x,
            one.density,
            color="#777777" if control else COLOURS[at % len(COLOURS)],
            linestyle=(0, (2, 1)) if control else DASHES[at % len(DASHES)],
            linewidth=1.5,
            marker=MARKERS[at % len(MARKERS)],
            markevery=(6 + 4 * at, 26),
            markersize=4,
            label=labels[name],
        )
        if len(one.x) > 0:
            axes.fill_between(one.x, one.density, color="#777777" if control else COLOURS[at % len(COLOURS)], alpha=0.1)


def _strokes(axes: Axes, gains: Mapping[str, Floats]) -> None:
    """A short stroke below the densities for each setting, a level for each name."""
    top = axes.get_ylim()[1]
    for at, values in enumerate(gains.values()):
        defined = values[~np.isnan(values)]
        axes.plot(
            defined,
            np.full(len(defined), -0.045 * top * (at + 1)),
            marker="|",
            markersize=5,
            linestyle="none",
            color=COLOURS[at % len(COLOURS)],
        )
    axes.axhline(0, color="black", linewidth=0.6)
    axes.set_yticks([tick for tick in axes.get_yticks() if 0 <= tick <= top])
    axes.set_ylim(-0.045 * top * (len(gains) + 1), top)


def _dress(axes: Axes, shown: Mapping[str, Density], title: str) -> None:
    drawn = {name: one for name, one in shown.items() if len(one.x) > 0}
    if drawn:
        axes.set_xlim(*_window(drawn))
        axes.set_ylim(bottom=0)
    elif not any(one.n > 0 for one in shown.values()):
        empty(axes, "no defined gain")
    no_change_line(axes)
    axes.set_title(title, loc="left")
    axes.set_xlabel("gain in correlation (boosted minus metric alone)")
    axes.set_ylabel("density")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=7.5, handlelength=2.8)


def _window(drawn: Mapping[str, Density]) -> tuple[float, float]:
    """From where to where a line stands out, with 0 inside."""
    level = VISIBLE * max(one.density.max() for one in drawn.values())
    seen = np.concatenate([one.x[one.density >= level] for one in drawn.values()])
    low, high = min(float(seen.min()), 0.0), max(float(seen.max()), 0.0)
    margin = 0.02 * (high - low)
    return low - margin, high + margin


def _cut(drawn: Mapping[str, Density]) -> str:
    if not drawn:
        return ""
    low, high = _window(drawn)
    beyond = min(one.x[0] for one in drawn.values()) < low or max(one.x[-1] for one in drawn.values()) > high
    return " Tails below 0.4 % of the highest peak are cut off." if beyond else ""


def _in_rows(found: Mapping[str, Density], gains: Mapping[str, Floats], caption: Sequence[str], title: str) -> Figure:
    """A row for each name, highest mean gain on top, each scaled to its own peak."""
    ordered = sorted(found, key=lambda name: (-found[name].mean if found[name].n > 0 else np.inf, name))
    figure, (axes,) = page(0.9 + 0.3 * len(ordered), [f"{caption[0]} Each row has its own scale.", *caption[1:]])
    for at, name in enumerate(ordered):
        one, floor = found[name], -at
        if len(one.x) > 0:
            top = floor + 0.85 * one.density / one.density.max()
            axes.fill_between(one.x, floor, top, facecolor="#9CC7E3", edgecolor="#0072B2", linewidth=1.0)
        values = gains[name][~np.isnan(gains[name])]
        axes.plot(values, np.full(len(values), floor + 0.07), marker="|", markersize=5, linestyle="none", color="black")
        axes.annotate(
            f"n = {one.n}, mean {number(one.mean, '+.4f')}, baseline {number(one.mean_baseline, '.3f')}",
            (1.01, floor + 0.1),
            xycoords=("axes fraction", "data"),
            fontsize=7,
            annotation_clip=False,
        )
    axes.set_yticks([-at for at in range(len(ordered))], ordered)
    axes.set_ylim(-len(ordered) + 0.75, 1.0)
    axes.tick_params(axis="y", length=0)
    no_change_line(axes)
    axes.set_title(title, loc="left")
    axes.set_xlabel("gain in correlation (boosted minus metric alone)")
    return figure
