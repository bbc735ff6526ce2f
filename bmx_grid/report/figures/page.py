"""A figure of the analysis as a page: drawing, a caption that says what it rests on, two files."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bmx_grid.files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 7.0  # inches: the text width of a page
DPI = 160
SMALL = 7.0  # points, of captions
CAPTION_WIDTH = 126  # characters of that size that fit

STYLE: Any = {
    "font.size": 8.5,
    "axes.titlesize": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "hatch.linewidth": 0.7,
    "pdf.fonttype": 42,  # TrueType, as publishers ask: the default cannot be searched or edited
    "text.hinting": "none",
    "text.parse_math": False,  # names of data sets may hold $
}


@contextmanager
def style() -> Iterator[None]:
    """The look of all figures; drawing and saving both happen inside."""
    import matplotlib

    with matplotlib.rc_context(STYLE):
        yield


def page(height: float, caption: Sequence[str], *, columns: int = 1, rows: int = 1) -> tuple[Figure, list[Axes]]:
    """A figure of `rows` times `columns` axes, `height` inches high in all, with its caption below them.

    caption: paragraphs. Axes make room for their legends and labels by themselves.
    """
    from matplotlib.figure import Figure

    lines = [line for paragraph in caption for line in _wrapped(paragraph)]
    below = (len(lines) * SMALL * 1.4 + 10) / 72
    figure = Figure(figsize=(WIDTH, height + below), dpi=DPI, layout="constrained")
    engine: Any = figure.get_layout_engine()
    share = below / (height + below)
    engine.set(rect=(0, share, 1, 1 - share), w_pad=0.08, h_pad=0.06)
    figure.text(0.012, 5 / 72 / (height + below), "\n".join(lines), va="bottom", fontsize=SMALL, linespacing=1.3)
    axes = figure.subplots(rows, columns, squeeze=False)
    return figure, list(axes.ravel())


def save(figure: Figure, folder: Path, stem: str) -> list[Path]:
    """Write folder/stem.pdf and .png, each in one step. Raises StoreError."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_pdf import FigureCanvasPdf

    canvas: Any = FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # the places are found; the second file needs no second search
    paths = [folder / f"{stem}.pdf", folder / f"{stem}.png"]
    words = " ".join(text.get_text().replace("\n", " ") for text in figure.texts)  # for readers who do not see it
    metadata = {"Software": None, "Title": stem, "Description": words}
    with replacing(paths[1]) as part:
        canvas.print_png(part, metadata=metadata, pil_kwargs={"compress_level": 3})
    vector: Any = FigureCanvasPdf(figure)
    with replacing(paths[0]) as part:
        # No date inside, so that the same results give the same file.
        vector.print_pdf(part, metadata={"Title": stem, "CreationDate": None})
    return paths


def empty(axes: Axes, words: str) -> None:
    """Say in the middle of the axes why they are empty."""
    axes.text(0.5, 0.5, words, transform=axes.transAxes, ha="center", va="center", color="#555555")


def no_change_line(axes: Axes) -> None:
    """The black line at a gain of 0."""
    axes.axvline(0, color="black", linewidth=1.1, zorder=1.5)


def broken(name: str, width: int = 13) -> str:
    """A name in lines of about `width`, broken after _ and - only, for a place below a bar."""
    lines, current = [], ""
    for part in name.replace("_", "_\0").replace("-", "-\0").split("\0"):
        if current and len(current) + len(part) > width:
            lines.append(current)
            current = ""
        current += part
    return "\n".join([*lines, current])


def _wrapped(paragraph: str) -> list[str]:
    """Lines that fit. A signature has no blanks; it is broken after | and after a point."""
    if " " in paragraph:
        return textwrap.wrap(paragraph, CAPTION_WIDTH, break_on_hyphens=False)
    spaced = paragraph.replace("|", "| ").replace("),", "), ")
    lines = textwrap.wrap(spaced, CAPTION_WIDTH, break_on_hyphens=False)
    return [line.replace("| ", "|").replace("), ", "),") for line in lines]
