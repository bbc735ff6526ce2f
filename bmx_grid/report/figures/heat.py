"""The p x w plane of one setting: where the boost gains on the metric alone, and where it loses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.analysis.names import correlation_in_words, setting_in_words
from bmx_grid.measures.best import NO_CHANGE
from bmx_grid.report.figures.canvas import COLUMN, DPI, empty, save, style
from bmx_grid.report.figures.grid import Curves, curves_of_result
from bmx_grid.report.figures.palette import INK, QUIET
from bmx_grid.sweep.results import SettingResult
from bmx_grid.wording import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

HEIGHT = 2.3  # inches
REACH = 1.5  # the end of the colours, in largest gains
LEAST = 0.005  # the end where nothing gains more
TICKS = 7


def draw_heat_map(result: SettingResult, path: Path) -> None:
    """Write the p x w plane of a result that has a grid as a PNG in one step. Raises StoreError."""
    curves = curves_of_result(result)
    with style():
        title = f"{setting_in_words(curves.names)}: gain over p and w"
        save(heat_map(curves), [path], title=title, caption=visible(curves.words), stamp=result.fingerprint)


def heat_map(curves: Curves) -> Figure:
    """Gain over the metric alone at every (p, w), blue where it gains and red where it loses; undefined points blank.

    The metric alone (w = 1) is left out: its gain is 0 for every p. To be called inside `canvas.style`.
    """
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure

    figure = Figure(figsize=(COLUMN, HEIGHT), dpi=DPI)
    axes = figure.add_axes((0.14, 0.2, 0.62, 0.66))
    finite, boosted = np.isfinite(curves.p), curves.w != 1
    gain = (curves.correlation[finite] - curves.baseline)[:, boosted]
    p, w = curves.p[finite], curves.w[boosted]
    figure.text(0.14, 0.92, setting_in_words(curves.names), fontsize=7)
    axes.set_xlabel(curves.mean)
    axes.set_ylabel("w")
    if not np.isfinite(gain).any():
        empty(axes, "no defined correlation")
        return figure
    end = max(REACH * float(np.nanmax(gain)), LEAST)  # losses are often a hundred times as large: they lie beyond
    colours = LinearSegmentedColormap.from_list("gain", ["#7f2704", "#fdae6b", "#ffffff", "#6baed6", "#08306b"])
    drawn = axes.imshow(
        gain.T,
        origin="lower",
        aspect="auto",
        cmap=colours,
        vmin=-end,
        vmax=end,
        interpolation="nearest",
        extent=(-0.5, len(p) - 0.5, -0.5, len(w) - 0.5),
    )
    ticks = _ticks(p)
    axes.set_xticks(ticks, [f"{p[tick]:g}".replace("-", "\N{MINUS SIGN}") for tick in ticks])
    axes.set_yticks(np.arange(len(w)), [f"{one:g}" for one in w])
    axes.tick_params(length=2, color=QUIET)
    mark: dict[str, Any] = {"linestyle": "none", "color": INK, "markersize": 6, "zorder": 9}
    for at, marker in ((curves.fixed, "x"), (curves.best, "o")):
        if at is None or at.w == 1 or (marker == "o" and curves.best_correlation <= curves.baseline + NO_CHANGE):
            continue
        column, row = int(np.argmin(np.abs(p - at.p))), int(np.argmin(np.abs(w - at.w)))
        axes.plot([column], [row], marker=marker, **{**mark, **({"markerfacecolor": "none"} if marker == "o" else {})})
    bar = figure.colorbar(drawn, cax=figure.add_axes((0.79, 0.2, 0.025, 0.66)), extend="both", format="%+.3g")
    bar.ax.tick_params(labelsize=6, length=2)
    bar.set_label(f"gain in {correlation_in_words(curves.kind)}", fontsize=6.5, labelpad=1)
    return figure


def _ticks(p: Floats) -> NDArray[np.intp]:
    """Places of round p where there are some, otherwise of evenly spaced ones."""
    for step in (1, 2, 5, 10, 20, 50, 100):
        found = np.flatnonzero(np.isclose(p % step, 0))
        if 2 <= len(found) <= TICKS:
            return found
    return np.unique(np.linspace(0, len(p) - 1, min(len(p), TICKS)).astype(np.intp))
