"""What a notebook shows of results: short tables, figures as pictures."""

from __future__ import annotations

import html
import io
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from bmx_grid.wording import number, visible

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

MOST_ROWS = 20
SIGNED = ("gain", "difference")  # columns whose sign is the point; the ends of their intervals stand beside them
ENDS = ("low", "high")
PICTURE_DPI = 110  # of figures in a notebook: a page's width fits the column of text


def table_html(frame: pd.DataFrame) -> str:
    """A DataFrame as a small HTML table, of at most MOST_ROWS rows; numbers as tables and the terminal write them.

    The styles are inline, since a notebook has no other.
    """
    signed = (*SIGNED, *ENDS) if any(name in SIGNED for name in frame.columns) else ()
    numeric = [kind.kind in "fiu" for kind in frame.dtypes]
    head = "".join(
        f"<th style='text-align:{'right' if right else 'left'}'>{html.escape(str(name))}</th>"
        for name, right in zip(frame.columns, numeric, strict=True)
    )
    rows = []
    for row in frame.head(MOST_ROWS).itertuples(index=False):
        cells = zip(frame.columns, row, numeric, strict=True)
        rows.append("".join(_cell(value, right, name in signed) for name, value, right in cells))
    more = f"<p>… and {len(frame) - MOST_ROWS:,} more rows</p>" if len(frame) > MOST_ROWS else ""
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def paragraphs(*texts: str) -> str:
    """Texts as HTML paragraphs, escaped."""
    return "".join(f"<p>{html.escape(visible(text))}</p>" for text in texts)


def in_notebook(figure: Figure) -> Figure:
    """The figure, with a picture of itself for notebooks.

    A figure that pyplot did not make is shown as a line of text there, unless `%matplotlib inline` came first.
    """
    own: Any = figure
    own._repr_png_ = partial(picture, figure)
    return figure


def picture(figure: Figure) -> bytes:
    """A PNG of a figure in the look of all figures."""
    from bmx_grid.report.figures.canvas import style

    held = io.BytesIO()
    with style():
        figure.savefig(held, format="png", dpi=PICTURE_DPI)
    return held.getvalue()


def of_several(frame: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """Those of the columns that hold more than one value, or the last where none does: the others say nothing."""
    return [name for name in names if frame[name].nunique() > 1] or list(names[-1:])


def _cell(value: Any, right: bool, signed: bool) -> str:
    if isinstance(value, float):
        text = number(value, "+.4f" if signed else ".4f")
    else:
        text = f"{value:,}" if right else visible(str(value))
    return f"<td style='text-align:{'right' if right else 'left'}'>{html.escape(text)}</td>"


def of_columns(frame: pd.DataFrame, names: Mapping[str, str] | Sequence[str]) -> pd.DataFrame:
    """Those of the columns that there are, in this order, called as a mapping says."""
    called = names if isinstance(names, Mapping) else {name: name for name in names}
    kept = {name: to for name, to in called.items() if name in frame.columns}
    return frame[list(kept)].rename(columns=kept)
