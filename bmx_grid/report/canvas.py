"""What all figures share: colours, size, look, words of their captions, and the files they are written to.

A figure is as wide as a column or as the text of a paper. It has no caption in it; the page shows the caption below it.
"""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bmx_grid.analysis.finished import FigureFormat
from bmx_grid.analysis.points import evaluation_point_name
from bmx_grid.analysis.questions import Analysis, signature
from bmx_grid.core.storage import replacing
from bmx_grid.core.wording import correlation_in_words, escape_unprintable, pluralize
from bmx_grid.evaluations.boost_evidence import ELSEWHERE, PUBLISHED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMN = 3.3  # inches: a column of a two-column page
PAGE = 6.9  # inches: its text width
DPI = 200  # of figures that a notebook shows
SMALL = 7.0  # points

INK = "#000000"
QUIET = "#555555"
FAINT = "#dddddd"
PAPER = "#ffffff"
GREY = "#777777"
NEUTRAL = "#bbbbbb"
PALE = "#9cc7e3"
# Okabe and Ito's colours, distinguishable for colour-blind readers; without colour, dashes and markers are.
BLUE = "#0072b2"
ORANGE = "#e69f00"
GREEN = "#009e73"
SKY = "#56b4e9"
RED = "#d55e00"
PINK = "#cc79a7"
LINES = (RED, ORANGE, GREEN, SKY, BLUE, PINK)
# Matplotlib's (offset, (on, off, …)).
DASHES: tuple[Any, ...] = (
    "-",
    (0, (6, 2)),
    (0, (1, 1.2)),
    (0, (5, 1.5, 1, 1.5)),
    (0, (3, 1)),
    (0, (8, 2, 2, 2)),
)
MARKERS = ("o", "s", "^", "D", "v", "P")

BEST = "best"
CHOSEN_ELSEWHERE = "chosen on other\nlanguage pairs"

# Of each format the names of caption and signature, and of the dates that it would get.
METADATA: dict[FigureFormat, tuple[str, str, tuple[str, ...]]] = {
    "svg": ("Description", "Source", ("Date",)),
    "png": ("Description", "Source", ()),
    "pdf": ("Subject", "Keywords", ("CreationDate",)),
}

STYLE: Any = {
    "font.size": 8.0,
    "axes.titlesize": 8.0,
    "axes.labelsize": 8.0,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 7.5,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "bmx-grid",  # of the names inside a file, so that the same figure gives the same bytes
    "figure.labelsize": 8.0,
    "pdf.fonttype": 42,  # letters that can be searched and copied
    "svg.fonttype": "none",  # text stays text: small and searchable
    "text.hinting": "none",
    "text.parse_math": False,  # names of data sets may hold $
}


@dataclass(frozen=True)
class Drawing:
    """A figure that can be drawn.

    stem: its file name without suffix; title: its topic, in a few words; caption: its data and method, in sentences;
    draw: makes it, called inside `style`. signature: of its results, for the metadata of its file.
    """

    stem: str
    title: str
    caption: str
    draw: Callable[[], Figure]
    signature: str | None = None

    def __post_init__(self) -> None:
        # Names of data sets and metrics in title and caption may hold line breaks. The class is frozen.
        object.__setattr__(self, "title", escape_unprintable(self.title))
        object.__setattr__(self, "caption", escape_unprintable(self.caption))


@contextmanager
def style() -> Iterator[None]:
    """The look of all figures; drawing and saving both happen inside."""
    matplotlib = _import_matplotlib()
    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        # A name in a script that the font lacks is drawn as boxes in PNG; SVG and the caption have the letters.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def _import_matplotlib() -> Any:
    """Import matplotlib without a backend: it refuses an unknown one in MPLBACKEND."""
    import importlib

    try:
        return importlib.import_module("matplotlib")
    except ValueError:
        backend = os.environ.pop("MPLBACKEND", None)
        if backend is None:
            raise
        # Half of it was imported: without this, the second attempt would get that half.
        for name in list(sys.modules):
            package = name.partition(".")[0]
            if package == "matplotlib":
                del sys.modules[name]
        try:
            return importlib.import_module("matplotlib")
        finally:
            os.environ["MPLBACKEND"] = backend


def canvas(
    width: float, height: float, *, columns: int = 1, rows: int = 1, **options: Any
) -> tuple[Figure, list[Axes]]:
    """A figure of that many inches with `rows` times `columns` axes, which make room for their labels by themselves.

    options: as for `Figure.subplots`.
    """
    from matplotlib.figure import Figure

    # Figures are made without pyplot, which would choose a backend and keep every figure in memory.
    figure = Figure(figsize=(width, height), dpi=DPI, layout="constrained")
    engine: Any = figure.get_layout_engine()
    engine.set(w_pad=0.03, h_pad=0.03)
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    return figure, list(axes.ravel())


def figure_file(drawing: Drawing, folder: Path, form: FigureFormat = "svg") -> Path:
    """The path to which `save` writes a figure."""
    return folder / f"{drawing.stem}.{form}"


def save(drawing: Drawing, folder: Path, form: FigureFormat = "svg") -> Path:
    """Draw a figure and write it as folder/stem.svg, or in another format, in one step; the file. Raises StoreError."""
    file = figure_file(drawing, folder, form)
    with replacing(file) as part:
        part.write_bytes(render(drawing, form))
    return file


def render(drawing: Drawing, form: FigureFormat = "svg") -> bytes:
    """A figure as the content of a file. No date is inside: the same figure gives the same bytes."""
    caption, source, dates = METADATA[form]
    texts = {"Title": drawing.title, caption: drawing.caption, source: drawing.signature or ""}
    metadata: dict[str, Any] = {**texts, **dict.fromkeys(dates)}
    content = io.BytesIO()
    with style():
        drawing.draw().savefig(content, format=form, metadata=metadata)
    return content.getvalue()


def sign_figure(analysis: Analysis, stem: str, title: str, caption: str, draw: Callable[[], Figure]) -> Drawing:
    """A figure of an analysis, with its signature."""
    return Drawing(stem, title, caption.rstrip(), draw, analysis.compute_once(signature))


def correlation_of(analysis: Analysis) -> str:
    """The name of the correlation that is gained; "correlation" if it is not known."""
    return correlation_in_words(analysis.correlation)


def mark_point(axes: Axes, analysis: Analysis, kind: str, x: float, y: float) -> Any:
    """Mark a point as the page does: the best one, or that of a kind in points.parquet; the mark, for a legend."""
    from matplotlib.patheffects import withStroke

    marker = {BEST: "o", PUBLISHED: "x", ELSEWHERE: "s"}[kind]
    names = {BEST: "best (in-sample)", PUBLISHED: evaluation_point_name(analysis), ELSEWHERE: CHOSEN_ELSEWHERE}
    (mark,) = axes.plot(
        [x],
        [y],
        linestyle="none",
        marker=marker,
        markersize=5,
        color="none",
        markeredgecolor=INK,
        zorder=9,
        clip_on=False,
        label=names[kind],
        path_effects=[withStroke(linewidth=2.5, foreground=PAPER)],
    )
    return mark


def undefined_in_words(count: int, thing: str) -> str:
    """A sentence on what could not be drawn; empty where everything could."""
    if count == 0:
        return ""
    return f" {pluralize(count, thing)} undefined and left out."


def empty(axes: Axes, words: str) -> None:
    """Write in the middle of the axes why they are empty."""
    axes.text(0.5, 0.5, words, transform=axes.transAxes, ha="center", va="center", color=QUIET)


def no_change_line(axes: Axes) -> None:
    """The black line at a gain of 0."""
    axes.axvline(0, color=INK, linewidth=0.9, zorder=1.5)


def name_rows(axes: Axes, names: Sequence[str]) -> None:
    """Names at the left of horizontal rows, one unit apart, the first on top."""
    # Downwards from 0: row i is at -i.
    heights = [-place for place in range(len(names))]
    axes.set_yticks(heights, names)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(0.4 - len(names), 0.6)


def write_beside(axes: Axes, place: int, words: str, **look: Any) -> None:
    """Words at the right of the horizontal row `place` (see `name_rows`), outside the axes."""
    # Across a fraction of the axes, upwards the row: the label keeps its distance at any scale.
    where: Any = ("axes fraction", "data")
    axes.annotate(words, (1.01, -place), xycoords=where, va="center", annotation_clip=False, **look)


def legend_above(figure: Figure, **look: Any) -> None:
    """A legend above the axes, without a frame."""
    figure.legend(loc="outside upper left", frameon=False, **look)


def gain_axis(axes: Axes, words: str) -> None:
    """An axis of gains: faint lines, the line of no change, and a label."""
    axes.locator_params(axis="x", nbins=5)
    thin_grid(axes, "x")
    no_change_line(axes)
    axes.set_xlabel(words)


def thin_grid(axes: Axes, which: Any = "both") -> None:
    """Faint lines below everything."""
    axes.grid(True, axis=which, color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)
