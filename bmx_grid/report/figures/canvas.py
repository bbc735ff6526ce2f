"""What all figures share: their size, their look, and the files they are written to.

A figure is drawn at the width of a column or of a page of a paper, without caption; the caption lies beside it as text.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bmx_grid.errors import StoreError
from bmx_grid.identity import digest
from bmx_grid.report.figures.current import KEY, is_current, stamped
from bmx_grid.report.figures.palette import FAINT, INK, QUIET
from bmx_grid.storage.files import replacing, write_text
from bmx_grid.wording import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

VERSION = 4  # raise when a drawing changes, so that older figures are drawn again
COLUMN, PAGE = 3.3, 6.9  # inches: a column and the text width of a two-column page
DPI = 200  # of PNG files
SMALL = 7.0  # points
FORMATS = ("pdf", "svg", "png")
QUICK = ("svg", "png")  # what a page and a glance need; a PDF, which is for papers, takes as long as both

STYLE: Any = {
    "font.size": 8.0,
    "axes.titlesize": 8.0,
    "axes.labelsize": 8.0,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 7.5,
    "axes.linewidth": 0.7,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
    "hatch.linewidth": 0.7,
    "pdf.fonttype": 42,  # TrueType, as publishers ask: the default cannot be searched or edited
    "svg.hashsalt": "bmx-grid",  # of the names inside a file, so that the same figure gives the same bytes
    "svg.fonttype": "none",  # text stays text: small, searchable, and read aloud
    "text.hinting": "none",
    "text.parse_math": False,  # names of data sets may hold $
    "axes.formatter.use_mathtext": False,
}


@dataclass(frozen=True)
class Drawing:
    """A figure that can be drawn.

    stem: its file name without suffix; title: what it shows, in a few words; caption: what it rests on, in sentences;
    draw: makes it, called inside `style`.
    """

    stem: str
    title: str
    caption: str
    draw: Callable[[], Figure]

    @property
    def text(self) -> str:
        """Title and caption, as they lie beside the figure."""
        return f"{self.title}\n\n{self.caption}\n"

    def __post_init__(self) -> None:
        for name in ("title", "caption"):  # names in them may hold line breaks
            object.__setattr__(self, name, visible(getattr(self, name)))


@contextmanager
def style() -> Iterator[None]:
    """The look of all figures; drawing and saving both happen inside."""
    import matplotlib

    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        # A name in a script that the font lacks is drawn as boxes in PNG and PDF; SVG and the caption have the letters.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def canvas(
    width: float, height: float, *, columns: int = 1, rows: int = 1, **options: Any
) -> tuple[Figure, list[Axes]]:
    """A figure of that many inches with `rows` times `columns` axes, which make room for their labels by themselves.

    options: as for `Figure.subplots`.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=DPI, layout="constrained")
    engine: Any = figure.get_layout_engine()
    engine.set(w_pad=0.03, h_pad=0.03)
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    return figure, list(axes.ravel())


def save_new(
    drawings: Sequence[Drawing], folder: Path, fingerprint: str, formats: Sequence[str] = FORMATS
) -> list[Path]:
    """Write each drawing as folder/stem in the formats, and its words as .txt, unless they are there already.

    fingerprint: of the numbers behind the drawings. A file that another version, other numbers or another caption
    made is written anew, and deleted where its format is not asked for. The paths of all files, in order. Raises
    StoreError.
    """
    paths = []
    for one in drawings:
        stamp = digest([VERSION, one.stem, one.text, fingerprint])
        files = [folder / f"{one.stem}.{kind}" for kind in formats]
        for file in (folder / f"{one.stem}.{kind}" for kind in FORMATS if kind not in formats):
            if file.is_file() and not is_current(file, stamp):
                _delete(file)
        if not all(is_current(file, stamp) for file in files):
            with style():
                save(one.draw(), files, title=one.title, caption=one.caption, stamp=stamp)
        words = folder / f"{one.stem}.txt"
        if not _holds(words, one.text):
            write_text(words, one.text)
        paths += [*files, words]
    return paths


def save(figure: Figure, files: Sequence[Path], *, title: str, caption: str, stamp: str) -> None:
    """Write a figure to files, each in one step, in the formats of their suffixes (.pdf, .svg, .png).

    stamp: what `is_current` is asked for later. No date is inside: the same figure gives the same bytes.
    Raises StoreError.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)  # measures text where no other canvas does
    if figure.get_layout_engine() is not None:
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # the layout is known; the next file needs no second search
    for file in files:
        with replacing(file) as part:
            if file.suffix == ".png":
                figure.set_dpi(DPI)  # the other canvases leave their own
                raster: Any = FigureCanvasAgg(figure)
                # What a PNG holds as text is read by viewers and by those who do not see the figure.
                held = {"Software": None, "Title": title, "Description": caption, KEY: stamp}
                raster.print_png(part, metadata=held, pil_kwargs={"compress_level": 3})
            elif file.suffix == ".pdf":
                from matplotlib.backends.backend_pdf import FigureCanvasPdf  # a tenth of a second

                pdf: Any = FigureCanvasPdf(figure)
                pdf.print_pdf(part, metadata={"Title": title, "Keywords": stamped(stamp), "CreationDate": None})
            else:
                from matplotlib.backends.backend_svg import FigureCanvasSVG

                svg: Any = FigureCanvasSVG(figure)
                svg.print_svg(part, metadata={"Title": title, "Keywords": [stamped(stamp)], "Date": None})


def empty(axes: Axes, words: str) -> None:
    """Say in the middle of the axes why they are empty."""
    axes.text(0.5, 0.5, words, transform=axes.transAxes, ha="center", va="center", color=QUIET)


def no_change_line(axes: Axes) -> None:
    """The black line at a gain of 0."""
    axes.axvline(0, color=INK, linewidth=0.9, zorder=1.5)


def thin_grid(axes: Axes, which: Any = "both") -> None:
    """Faint lines below everything."""
    axes.grid(True, axis=which, color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)


def broken(name: str, width: int = 16) -> str:
    """A name in lines of about `width`, broken after blanks, _ and - only."""
    lines, current = [], ""
    for part in name.replace("_", "_\0").replace("-", "-\0").replace(" ", " \0").split("\0"):
        if current and len(current) + len(part.rstrip()) > width:
            lines.append(current.rstrip())
            current = ""
        current += part
    return "\n".join([*lines, current])


def _delete(file: Path) -> None:
    try:
        file.unlink()
    except OSError as error:
        raise StoreError(f"cannot delete {file}, a figure of other numbers: {error.strerror}. Delete it.") from error


def _holds(file: Path, text: str) -> bool:
    try:
        return file.read_text(encoding="utf-8") == text
    except (OSError, UnicodeDecodeError):  # absent or of another program: writing reports what is wrong
        return False
