"""A table as text, Markdown, LaTeX and CSV: the one writer of each.

Names come from users' files. Every writer shows them in one line (wording.visible) and escapes what its medium reads as
a command: only numbers are written unescaped.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
import shutil
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bmx_grid.analysis.base import Cell, CellValue, Table
from bmx_grid.core.storage import write_text
from bmx_grid.core.wording import escape_unprintable

GAP = "  "
MARK = "†"
WIDTH = 120  # characters per line of notes, and on however wide a terminal
NARROWEST = 40
SHORTEST_NAME = 8  # characters that are left of one
MOST_CUT = 12  # characters of all names, before a column is dropped
COUNT = ",.0f"  # the form of whole numbers that are floats
FITTING = 7  # columns that fit a line of a page
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # spreadsheets run cells that begin with such a character
# What LaTeX reads as commands, and characters that need text mode.
LATEX = str.maketrans(
    {sign: f"\\{sign}" for sign in "{}_%&#$"}
    | {sign: f"{{{sign}}}" for sign in "[]*"}  # after \\ the start of an argument
    | {
        "\\": r"\textbackslash{}",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "|": r"\textbar{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        '"': r"\textquotedbl{}",
        "·": r"\textperiodcentered{}",
        "×": r"$\times$",
        "²": r"\textsuperscript{2}",
        "†": r"\textdagger{}",
        "…": r"\ldots{}",
    }
)
# What Markdown reads as commands, and HTML in it.
MARKDOWN = str.maketrans(
    {sign: f"\\{sign}" for sign in "\\`*_[]|~$#"}
    | {
        "<": "&lt;",
        ">": "&gt;",
        "&": "&amp;",
    }
)


def as_text(table: Table, width: int | None = None) -> str:
    """Columns for a fixed-width font, with the title above and the notes below.

    width: characters per line, which the table is made to fit; None for a table in full.
    """
    return tables_as_text([table], width)


def tables_as_text(tables: Iterable[Table], width: int | None = None, most: int | None = None) -> str:
    """Format tables below each other, then their notes without duplicates.

    width: as in `as_text`. In a table that is fitted no column is empty, and names and counts that all rows share are
    in the title. If a table is too wide, it drops in this order: the columns `Table.droppable`, without any the last
    ones; ends of long names; further columns from the right. From WIDTH on long names are cut first.
    most: rows of each table that are shown, if the others are in report.html.
    """
    parts = []
    notes: dict[str, None] = {}
    without: dict[str, None] = {}
    for table in tables:
        shown, n_more = (table, 0) if most is None else _first_rows(table, most)
        grid = _text_grid(shown)
        title = escape_unprintable(table.title)
        if width is not None:
            title = grid.share(title, shown)
            without |= dict.fromkeys(grid.fit(width, table.droppable))
        more = [f"{n_more:,} more in report.html"] if n_more else []
        parts.append("\n".join([wrap_text(title, width or WIDTH), "", *grid.lines(), *more]))
        notes |= dict.fromkeys(table.notes)
    if without:
        notes[f"Not shown at {width} columns: {', '.join(without)}."] = None
    remarks = [wrap_text(note, width or WIDTH) for note in notes]
    return "\n\n".join([*parts, "\n".join(remarks)]).rstrip("\n") + "\n"


def as_markdown(table: Table) -> str:
    """The title, a pipe table, which shows no line between groups, and the notes."""
    n_numbers = len(table.header) - table.names
    alignment = ["---"] * table.names + ["---:"] * n_numbers
    lines = [_markdown_row(map(markdown, table.header)), _markdown_row(alignment)]
    for row in table.rows:
        cells = map(_markdown_cell, row)
        lines.append(_markdown_row(cells))
    rows = "\n".join(lines)
    title = f"**{markdown(table.title)}**"
    notes = [markdown(note) for note in table.notes]
    # An empty line ends the table: without it the first note would be a row.
    return "\n\n".join([title, rows, *notes]) + "\n"


def as_latex(table: Table) -> str:
    """A table environment of booktabs, a wide one shrunk to the line; the last note, the signature, is a comment."""
    is_wide = len(table.header) > FITTING
    columns = "l" * table.names + "r" * (len(table.header) - table.names)
    # A comment ends with its line: `escape_unprintable` keeps the signature, which holds names, in one.
    lines = [f"% {escape_unprintable(note)}" for note in table.notes[-1:]]
    lines += [
        r"% needs \usepackage{booktabs,graphicx} and the T1 font encoding",
        r"\begin{table}",
        r"\centering\small",
    ]
    if is_wide:
        lines.append(r"\resizebox{\linewidth}{!}{%")
    lines += [
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _latex_row(map(latex, table.header)),
    ]
    for group in table.groups:
        lines.append(r"\midrule")
        for row in group:
            lines.append(_latex_row(map(_latex_cell, row)))
    sentences = [f"{table.title}.", *table.notes[:-1]]
    caption = " ".join(map(latex, sentences))
    lines += [
        r"\bottomrule",
        r"\end{tabular}}" if is_wide else r"\end{tabular}",
        rf"\caption{{{caption}}}",
        rf"\label{{tab:{table.stem}}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def as_csv(table: Table) -> str:
    """Header and rows; numbers in full, undefined ones empty. No title and no notes, so that any program can read it.

    A name that a spreadsheet would run as a formula has a ' before it.
    """
    out = io.StringIO()
    # One ending on every system: the same table gives the same bytes.
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(_full, table.header))
    for row in table.rows:
        writer.writerow([_full(cell.value) for cell in row])
    return out.getvalue()


FORMATS: dict[str, Callable[[Table], str]] = {
    "text": as_text,
    "markdown": as_markdown,
    "latex": as_latex,
    "csv": as_csv,
}
ENDINGS = {"text": "txt", "markdown": "md", "latex": "tex", "csv": "csv"}


def table_file(table: Table, folder: Path, form: str) -> Path:
    """The path to which `write_table` writes a table."""
    return folder / f"{table.stem}.{ENDINGS[form]}"


def write_table(table: Table, folder: Path, form: str) -> Path:
    """Write a table below `folder` in one of FORMATS; its file. Raises StoreError."""
    path = table_file(table, folder, form)
    write_text(path, FORMATS[form](table))
    return path


def latex(text: str) -> str:
    """Text in one line with LaTeX's own characters escaped."""
    return escape_unprintable(text).translate(LATEX)


def markdown(text: str) -> str:
    """Text in one line with Markdown's and HTML's own characters escaped."""
    return escape_unprintable(text).translate(MARKDOWN)


def wrap_text(text: str, width: int, indent: str = "") -> str:
    """Lines of at most `width` characters; names and paths stay whole, so that they can be copied."""
    return textwrap.fill(
        escape_unprintable(text), width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )


def terminal_width() -> int:
    """Characters per line: those of the terminal, but not too few and not too many to be read."""
    columns = shutil.get_terminal_size((80, 24)).columns  # 80 where output is no terminal
    return max(min(columns, WIDTH), NARROWEST)


def wrap_to_terminal(text: str) -> str:
    """A sentence in lines that fit the terminal."""
    return wrap_text(text, terminal_width(), "  ")


def sentences(lines: Iterable[str]) -> str:
    """Sentences that begin on a line each."""
    return "\n".join(map(wrap_to_terminal, lines))


def width_of(text: str) -> int:
    """Columns of a terminal that a text takes: two for wide East Asian signs, none for combining ones."""
    if text.isascii():
        return len(text)
    width = 0
    for sign in text:
        if unicodedata.combining(sign):
            continue
        is_wide = unicodedata.east_asian_width(sign) in "WF"
        width += 2 if is_wide else 1
    return width


def pad_text(text: str, width: int, *, left: bool) -> str:
    """`text` with blanks up to `width` columns, behind it or before it."""
    n_blanks = max(width - width_of(text), 0)
    blanks = " " * n_blanks
    return text + blanks if left else blanks + text


@dataclass
class _Grid:
    """The cells of a table as texts, and which of its columns are shown.

    header: of all columns, by their places; groups: rows of cells. names: how many columns are names, at the left.
    """

    header: Sequence[str]
    groups: Sequence[Sequence[list[str]]]
    names: int
    shown: list[int]

    @property
    def rows(self) -> list[list[str]]:
        return list(itertools.chain.from_iterable(self.groups))

    def share(self, title: str, table: Table) -> str:
        """Drop empty columns, and names and counts that all rows share; return the title with the shared values."""
        rows = self.rows
        shared = []
        for place in [*self.shown]:
            values = {cells[place] for cells in rows}
            is_name = 0 < place < self.names
            may_move = len(rows) > 1 and (is_name or _counts(table, place))
            if values == {""}:
                self.shown.remove(place)
            elif may_move and len(values) == 1:
                self.shown.remove(place)
                (value,) = values
                shared.append(value if is_name else f"{self.header[place]}={value}")
        return f"{title} ({', '.join(shared)})" if shared else title

    def fit(self, width: int, droppable: Sequence[str]) -> list[str]:
        """Drop columns and cut names until lines fit; return the dropped headers."""
        numbers = [place for place in self.shown if place >= self.names]
        first = [self.header.index(name) for name in droppable] or numbers[:0:-1]
        dropped = self._drop(first, width + (MOST_CUT if width >= WIDTH else 0))
        names = [place for place in self.shown[1:] if place < self.names]
        names.sort(key=self.width_of, reverse=True)
        # Of the first column, which is often a verdict, as little as possible.
        for place in [*names, self.shown[0]]:
            self._truncate_names(place, width)
        return [*dropped, *self._drop(numbers[::-1], width)]

    def _drop(self, places: Sequence[int], width: int) -> list[str]:
        dropped = []
        for place in places:
            if place in self.shown and len(self.shown) > 1 and self.width() > width:
                self.shown.remove(place)
                dropped.append(self.header[place])
        return dropped

    def _truncate_names(self, place: int, width: int) -> None:
        """Cut the cells of a column of names, but not below SHORTEST_NAME."""
        too_wide = self.width() - width
        if too_wide > 0 and place < self.names:
            most = max(self.width_of(place) - too_wide, SHORTEST_NAME)
            for cells in self.rows:
                cells[place] = truncate(cells[place], most)

    def width_of(self, place: int) -> int:
        return max(width_of(self.header[place]), *(width_of(cells[place]) for cells in self.rows), 0)

    def width(self) -> int:
        return sum(map(self.width_of, self.shown)) + len(GAP) * (len(self.shown) - 1)

    def lines(self) -> Iterator[str]:
        """Header and rows; between groups a line, unless both are single rows."""
        widths = {place: self.width_of(place) for place in self.shown}
        rule = "-" * self.width()
        yield self._line(self.header, widths)
        yield rule
        before: Sequence[list[str]] = ()
        for rows in self.groups:
            if before and len(before) + len(rows) > 2:
                yield rule
            for cells in rows:
                yield self._line(cells, widths)
            before = rows

    def _line(self, cells: Sequence[str], widths: Mapping[int, int]) -> str:
        padded = [pad_text(cells[place], widths[place], left=place < self.names) for place in self.shown]
        return GAP.join(padded).rstrip()


def _text_grid(table: Table) -> _Grid:
    """The cells of a table as texts."""
    has_marks = [any(row[place].marked for row in table.rows) for place in range(len(table.header))]
    groups = [[list(map(_cell_with_mark, row, has_marks)) for row in group] for group in table.groups]
    return _Grid(list(map(escape_unprintable, table.header)), groups, table.names, list(range(len(table.header))))


def _first_rows(table: Table, most: int) -> tuple[Table, int]:
    """The table with its first rows, and how many it lacks."""
    groups = []
    n_left = most
    for group in table.groups:
        groups.append(group[:n_left])
        n_left -= len(groups[-1])
    return replace(table, groups=tuple(filter(None, groups))), len(table.rows) - most + n_left


def _counts(table: Table, place: int) -> bool:
    return all(isinstance(row[place].value, int) or row[place].form == COUNT for row in table.rows)


def truncate(text: str, most: int) -> str:
    """The text in at most `most` columns of a terminal, with an ellipsis if it is cut."""
    if width_of(text) <= most:
        return text
    start = text[: most - 1]
    while width_of(start) > most - 1:
        start = start[:-1]
    return f"{start}…"


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell_with_mark(cell: Cell, has_marks: bool) -> str:
    """A cell in plain text; in a column that has marks, others have a blank in their place, so that numbers line up."""
    text = escape_unprintable(cell.display_text)
    if cell.marked:
        return f"{text}{MARK}"
    # An empty cell stays empty: a column of such cells is not shown.
    if has_marks and cell.display_text:
        return f"{text} "
    return text


def _markdown_cell(cell: Cell) -> str:
    text = markdown(cell.display_text)
    return f"**{text}**" if cell.marked else text


# The minus of a number among words, such as the end of an interval.
MINUS_SIGN = re.compile(r"(?<![\w.])-(?=\.?\d)")


def _latex_cell(cell: Cell) -> str:
    text = latex(cell.display_text)
    is_number = isinstance(cell.value, int | float) and cell.words is None
    # In text mode, "-" would be a hyphen.
    if is_number and text.startswith(("-", "+")):
        return rf"$\mathbf{{{text}}}$" if cell.marked else f"${text}$"
    if isinstance(cell.value, int | float):
        text = MINUS_SIGN.sub("$-$", text)
    return rf"\textbf{{{text}}}" if cell.marked else text


def _latex_row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _full(value: CellValue) -> str:
    """A value for programs: a number in full, "" if missing; a text that no spreadsheet runs."""
    if value is None:
        return ""
    if isinstance(value, str):
        text = escape_unprintable(value)
        return f"'{text}" if value.startswith(FORMULA) else text
    if not isinstance(value, float):
        return str(value)
    # float(): NumPy's own floats would write their type.
    return "" if math.isnan(value) else repr(float(value))
