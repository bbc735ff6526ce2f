"""The figure of a setting: correlation over p, a line for each w (the paper's Figure 3)."""

from __future__ import annotations

import math
import struct
import textwrap
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.files import replacing
from bmx_grid.sweep.results import SettingResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

VERSION = 2  # raise when the drawing changes, so that older figures are drawn again
PNG = b"\x89PNG\r\n\x1a\n"
KEY = "Fingerprint"  # of the PNG's text that says which result it shows
# Okabe and Ito's colours, told apart by colour-blind readers; dashes and markers tell lines apart without colour.
COLOURS = ("#D55E00", "#E69F00", "#009E73", "#56B4E9", "#0072B2", "#CC79A7")
DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)), (0, (3, 1)), (0, (8, 2, 2, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P")
CAPTION_WIDTH = 138  # characters that fit below the figure


def draw_setting(result: SettingResult, path: Path) -> None:
    """Write the figure of a result as a PNG of 900 x 600 points, in one step.

    Undefined points leave gaps. Raises StoreError when the file cannot be written.
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6), dpi=100)
    canvas: Any = FigureCanvasAgg(figure)
    caption = _caption(result)
    axes = figure.add_axes((0.09, 0.125 + 0.023 * len(caption), 0.75, 0.805 - 0.023 * len(caption)))
    _draw_lines(axes, result)
    _draw_words(figure, axes, result, caption)
    metadata = {"Software": None, "Title": result.label, KEY: _stamp(result.fingerprint)}
    # Unhinted text looks the same at this size and is quicker to draw.
    with replacing(path) as part, matplotlib.rc_context({"text.hinting": "none"}):
        canvas.print_png(part, metadata=metadata, pil_kwargs={"compress_level": 3})


def is_current(path: Path, fingerprint: str) -> bool:
    """Whether `path` is a whole figure, drawn by this code, of the result with this fingerprint.

    Reads the PNG's chunks by itself, checksums included: a sweep in which nothing is new needs no drawing library.
    """
    expected = KEY.encode() + b"\0" + _stamp(fingerprint).encode()
    try:
        content = path.read_bytes()
    except OSError:  # not there, or not to be read: the drawing that follows says what is wrong
        return False
    place, kind, found = len(PNG), b"", False
    while content.startswith(PNG) and place + 12 <= len(content) and kind != b"IEND":
        size, kind = struct.unpack_from(">I4s", content, place)
        inside = content[place + 8 : place + 8 + size]
        if content[place + 8 + size : place + 12 + size] != struct.pack(">I", zlib.crc32(kind + inside)):
            return False
        found |= kind == b"tEXt" and inside == expected
        place += size + 12
    return found and kind == b"IEND" and place == len(content)


def _stamp(fingerprint: str) -> str:
    return f"{VERSION}:{fingerprint}"


def draw_curves(axes: Axes, p: Floats, w: Sequence[float], correlation: Floats) -> None:
    """A line over p for each w, ascending in w, so that the metric alone (w = 1, black) lies on top.

    p: float64[P]; correlation: float64[P, W], NaN leaves a gap.
    """
    finite = np.isfinite(p)
    every = max(len(p) // 10, 1)
    for column, weight in enumerate(w):
        alone = weight == 1
        axes.plot(
            p[finite],
            correlation[finite, column],
            color="black" if alone else COLOURS[column % len(COLOURS)],
            linestyle="-" if alone else DASHES[column % len(DASHES)],
            linewidth=1.8 if alone else 1.4,
            marker=None if alone and len(p) > 1 else MARKERS[column % len(MARKERS)],
            markevery=((column * every) // max(len(w), 1), every),
            markersize=4.5,
            label=f"w = {weight:g}" + (" (metric)" if alone else ""),
        )


def _draw_lines(axes: Axes, result: SettingResult) -> None:
    """The curves; the best point and the fixed one."""
    draw_curves(axes, np.asarray(result.p, dtype=np.float64), result.w, result.grid.correlation)
    if math.isfinite(result.fixed) and math.isfinite(result.fixed_p):
        style: dict[str, Any] = {
            "color": "black",
            "marker": "x",
            "markersize": 9,
            "markeredgewidth": 1.8,
            "linestyle": "none",
        }
        axes.plot([result.fixed_p], [result.fixed], label="fixed (w, p)", zorder=9, **style)
    if math.isfinite(result.grid.best) and math.isfinite(result.grid.best_p):
        style = {"color": "#FFD700", "marker": "*", "markersize": 15, "markeredgecolor": "black", "linestyle": "none"}
        axes.plot([result.grid.best_p], [result.grid.best], label="best (w, p)", zorder=10, **style)
    else:
        axes.text(0.5, 0.5, "no defined correlation", transform=axes.transAxes, ha="center", color="#555555")


def _draw_words(figure: Figure, axes: Axes, result: SettingResult, caption: list[str]) -> None:
    # Given places: finding them from the extents of all tick labels takes a fifth of the drawing.
    axes.set_title(result.label, fontsize=12, y=1.015, parse_math=False)
    axes.xaxis.set_label_coords(0.5, -0.065)
    axes.yaxis.set_label_coords(-0.085, 0.5)
    axes.set_xlabel("p of the power mean" if result.aggregation == "PowerMean" else f"p ({result.aggregation})")
    axes.set_ylabel(f"{result.correlation.capitalize()} correlation with human scores")
    axes.grid(True, color="#DDDDDD", linewidth=0.6)
    axes.margins(x=0.01)
    axes.legend(
        loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=8.5, handlelength=2.8, handletextpad=0.6
    )
    small: dict[str, Any] = {"fontsize": 7, "family": "monospace", "linespacing": 1.35}
    figure.text(0.02, 0.018, "\n".join(caption), va="bottom", parse_math=False, **small)


def _caption(result: SettingResult) -> list[str]:
    """What the figure rests on, in lines that fit below it."""
    grid = result.grid
    parts = [f"baseline {_number(grid.baseline)}"]
    if math.isfinite(grid.best):
        shared = f", shared by {grid.plateau:,} points" if grid.plateau > 1 else ""
        parts.append(
            f"best {grid.best:.4f} at (w, p) = ({grid.best_w:g}, {grid.best_p:g}), "
            f"gain {_number(result.gain, '+')}{shared}"
        )
    if math.isfinite(result.fixed_p):
        parts.append(f"fixed ({result.fixed_w:g}, {result.fixed_p:g}): {_number(result.fixed)}")
    parts.append(f"{grid.n_used:,} segments, words of {'both sides' if result.side == 'both' else 'the hypothesis'}")
    if grid.n_undefined > 0:
        parts.append(f"{grid.n_undefined:,} points undefined")
    lines = textwrap.wrap("; ".join(parts), CAPTION_WIDTH)
    # Lines break between settings, not inside one.
    spaced = result.signature.replace("|", "| ")
    wrapped = textwrap.wrap(spaced, CAPTION_WIDTH, max_lines=4, placeholder=" …", break_on_hyphens=False)
    return lines + [line.replace("| ", "|") for line in wrapped]


def _number(value: float, sign: str = "") -> str:
    return f"{value:{sign}.4f}" if math.isfinite(value) else "undefined"
