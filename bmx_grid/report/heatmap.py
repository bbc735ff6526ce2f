"""The heat maps of a page as a figure: the gain at every p, across, and w, upwards, on one scale for all settings."""

from __future__ import annotations

import math
from collections.abc import Collection
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from bmx_grid.analysis.questions import Analysis
from bmx_grid.report.canvas import PAGE, canvas, correlation_of, legend_above, mark_point
from bmx_grid.report.maps import DOWN, UP, maps_of, scale_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ACROSS = 3
MAP_HEIGHT = 1.15  # inches, with its title
MOST_TICKS = 6


def heat_maps(analysis: Analysis, rows: Collection[int]) -> Figure:
    """Draw a map for each setting in `rows`. Call it inside `canvas.style`."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    scale = scale_of(analysis)
    maps = [parts for parts in maps_of(analysis, scale) if parts["row"] in rows]
    n_across = min(len(maps), MOST_ACROSS)
    n_lines = math.ceil(len(maps) / n_across)
    figure, frames = canvas(PAGE, 0.8 + MAP_HEIGHT * n_lines, columns=n_across, rows=n_lines)
    every = math.ceil(len(scale.w) / MOST_TICKS)
    heights = 1 - (np.arange(len(scale.w)) + 0.5) / len(scale.w)
    marks = {}
    for axes, parts in zip_longest(frames, maps):
        if parts is None:
            axes.set_axis_off()
            continue
        axes.imshow(parts["pixels"], extent=(0, 1, 1, 0), aspect="auto", interpolation="nearest")
        axes.set_title(f"{parts['name']}\n{parts['words']}", loc="left", fontsize=6)
        axes.set_xticks(*zip(*scale.powers, strict=True))
        axes.set_yticks(heights[::every], [f"{weight:g}" for weight in scale.w[::every]])
        axes.tick_params(labelsize=6)
        for kind, (x, y) in parts["marks"]:
            marks[kind] = mark_point(axes, analysis, kind, x, y)
    figure.supxlabel("p of the power mean, stretched around 0")
    figure.supylabel("w (1: the baseline)")
    ends = np.array([DOWN, (255, 255, 255), UP]) / 255
    shades = LinearSegmentedColormap.from_list("gain", ends)
    mappable = ScalarMappable(Normalize(-scale.limit, scale.limit), shades)
    figure.colorbar(mappable, ax=frames, label=f"gain in {correlation_of(analysis)}", extend="both", aspect=40)
    legend_above(figure, handles=list(marks.values()), ncols=3)
    return figure
