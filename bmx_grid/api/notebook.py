"""Results as a notebook shows them: short tables, figures as pictures."""

from __future__ import annotations

import html
import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bmx_grid.analysis.base import Cell, Table
from bmx_grid.analysis.tested import ALPHA
from bmx_grid.segments import NO_PAIR
from bmx_grid.wording import visible

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

MOST_ROWS = 20
HEADINGS = {"language_pair": "pair", "compared": "metric"}
PICTURE_DPI = 110  # of figures in a notebook: a page's width fits the column of text


def table_of(
    frame: pd.DataFrame,
    title: str,
    names: Sequence[str],
    columns: Mapping[str, tuple[str, str]],
    notes: Sequence[str] = (),
    stem: str = "shown",
    *,
    in_groups: bool = False,
) -> Table:
    """Rows of a frame as a table: names, of which an unknown language pair is none, then its numbers.

    columns: column -> heading and form. in_groups: whether there is a line between language pairs.
    """
    if len(frame) and "language_pair" in names and set(frame["language_pair"]) == {NO_PAIR}:
        names = [name for name in names if name != "language_pair"]
    header = (*(HEADINGS.get(name, name) for name in names), *(heading for heading, _ in columns.values()))
    parts = [part for _, part in frame.groupby("language_pair", sort=False)] if in_groups else [frame]
    groups = tuple(
        tuple(
            (
                *(Cell(str(row[name])) for name in names),
                *(
                    Cell(row[name], form, marked=name == "p_holm" and row[name] <= ALPHA)
                    for name, (_, form) in columns.items()
                ),
            )
            for row in part.to_dict("records")
        )
        for part in parts
    )
    return Table(stem, title, header, groups if len(frame) else (), tuple(notes), names=len(names))


def table_html(table: Table) -> str:
    """A table as HTML, of at most MOST_ROWS rows."""
    import pandas as pd

    rows = [[visible(cell.shown) for cell in row] for row in table.rows]
    shown: str = pd.DataFrame(rows, columns=list(map(visible, table.header))).to_html(index=False, max_rows=MOST_ROWS)
    return shown


def paragraphs(*lines: str) -> str:
    """Texts as HTML paragraphs, escaped."""
    return "".join(f"<p>{html.escape(visible(line))}</p>" for line in lines)


def in_notebook(figure: Figure) -> Figure:
    """The figure, with a picture of itself for notebooks, a PNG in the look of all figures.

    A figure that pyplot did not make is shown as a line of text there, unless `%matplotlib inline` came first.
    """

    def picture() -> bytes:
        from bmx_grid.report.figures.canvas import style

        held = io.BytesIO()
        with style():
            figure.savefig(held, format="png", dpi=PICTURE_DPI)
        return held.getvalue()

    shown: Any = figure
    shown._repr_png_ = picture
    return figure
