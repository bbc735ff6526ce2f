"""A table as text, Markdown, LaTeX and CSV: the one writer of each.

Names come from users' files. Every writer shows them in one line (wording.visible) and escapes what its medium reads as
a command: only numbers are written unescaped.
"""

from __future__ import annotations

import csv
import io
import math
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from bmx_grid.analysis.base import Cell, CellValue, Table
from bmx_grid.core.storage import write_text
from bmx_grid.core.wording import visible

GAP = "  "
MARK = "†"
WIDTH = 120  # characters per line of notes
FITTING = 7  # columns that fit a line of a page
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet runs a cell that begins with one of these
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
MARKDOWN = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_[]|~$#"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"})


def as_text(table: Table, width: int | None = None) -> str:
    """Columns for a fixed-width font.

    width: characters per line; a wider table is written in blocks of columns, the names repeated in each.
    """
    header = [visible(name) for name in table.header]
    has_marks = [False] * len(header)
    for row in table.rows:
        for column, cell in enumerate(row):
            has_marks[column] |= cell.marked
    # Widths over all groups: their columns stand below each other.
    widths = list(map(width_of, header))
    groups = []
    for group in table.groups:
        rows = [list(map(_marked, row, has_marks)) for row in group]
        groups.append(rows)
        for cells in rows:
            widths = list(map(max, widths, map(width_of, cells)))
    lines = [visible(table.title)]
    blocks = _blocks(widths, table.names, width)
    for block in blocks:
        rule = "-" * (sum(widths[column] for column in block) + len(GAP) * (len(block) - 1))
        lines += [_text_row(header, block, widths, table.names), rule]
        for rows in groups:
            for cells in rows:
                # A row without anything else in this block would be its names alone.
                if len(blocks) == 1 or any(cells[column] for column in block[table.names :]):
                    lines.append(_text_row(cells, block, widths, table.names))
            if lines[-1] != rule:
                lines.append(rule)
    lines += [wrapped(note, width or WIDTH) for note in table.notes]
    return "\n".join(lines) + "\n"


def as_markdown(table: Table) -> str:
    """A pipe table. The first row of a group follows on the one before."""
    names = ["---" if column < table.names else "---:" for column in range(len(table.header))]
    lines = [_markdown_row(markdown(name) for name in table.header), _markdown_row(names)]
    lines += [_markdown_row(map(_markdown, row)) for row in table.rows]
    return "\n\n".join([f"**{markdown(table.title)}**", "\n".join(lines), *map(markdown, table.notes)]) + "\n"


def as_latex(table: Table) -> str:
    """A table environment of booktabs, a wide one shrunk to the line; the last note, the signature, is a comment."""
    wide = len(table.header) > FITTING
    columns = "l" * table.names + "r" * (len(table.header) - table.names)
    lines = [
        r"% needs \usepackage{booktabs,graphicx} and the T1 font encoding",
        r"\begin{table}",
        r"\centering\small",
        *[r"\resizebox{\linewidth}{!}{%"] * wide,
        rf"\begin{{tabular}}{{{columns}}}",
    ]
    lines += [r"\toprule", _latex_row(latex(name) for name in table.header)]
    for group in table.groups:
        lines += [r"\midrule", *(_latex_row(map(_latex, row)) for row in group)]
    caption = " ".join(latex(text) for text in (f"{table.title}.", *table.notes[:-1]))
    lines += [
        r"\bottomrule",
        r"\end{tabular}" + "}" * wide,
        rf"\caption{{{caption}}}",
        rf"\label{{tab:{table.stem}}}",
        r"\end{table}",
    ]
    return "\n".join([*(f"% {visible(note)}" for note in table.notes[-1:]), *lines]) + "\n"


def as_csv(table: Table) -> str:
    """Header and rows; numbers in full, undefined ones empty. No title and no notes, so that any program can read it.

    A name that a spreadsheet would run as a formula has a ' before it.
    """
    out = io.StringIO()
    # One ending on every system: the same table gives the same bytes.
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([_full(name) for name in table.header])
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
    """Where `write_table` writes a table."""
    return folder / f"{table.stem}.{ENDINGS[form]}"


def write_table(table: Table, folder: Path, form: str) -> Path:
    """Write a table below `folder` in one of FORMATS; its file. Raises StoreError."""
    path = table_file(table, folder, form)
    write_text(path, FORMATS[form](table))
    return path


def latex(text: str) -> str:
    """Text in one line with LaTeX's own characters escaped."""
    return visible(text).translate(LATEX)


def markdown(text: str) -> str:
    """Text in one line with Markdown's and HTML's own characters escaped."""
    return visible(text).translate(MARKDOWN)


def wrapped(text: str, width: int, indent: str = "") -> str:
    """Lines of at most `width` characters; names and paths stay whole, so that they can be copied."""
    return textwrap.fill(visible(text), width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)


def width_of(text: str) -> int:
    """Columns of a terminal that a text takes: two for wide East Asian signs, none for combining ones."""
    if text.isascii():
        return len(text)
    width = 0
    for sign in text:
        if not unicodedata.combining(sign):
            width += 2 if unicodedata.east_asian_width(sign) in "WF" else 1
    return width


def filled_up(text: str, width: int, *, left: bool) -> str:
    """`text` with blanks up to `width` columns, behind it or before it."""
    blanks = " " * max(width - width_of(text), 0)
    return text + blanks if left else blanks + text


def _blocks(widths: Sequence[int], names: int, width: int | None) -> list[list[int]]:
    """The columns of each block: the names, then as many others as fit, at least one."""
    first = list(range(names))
    others = list(range(names, len(widths)))
    if width is None or not others:
        return [[*first, *others]]
    # What the names leave, which every block repeats.
    room = width - sum(widths[column] for column in first) - len(GAP) * (names - 1)
    blocks: list[list[int]] = []
    left = -1
    for column in others:
        needed = widths[column] + len(GAP)
        if needed > left:
            blocks.append(list(first))
            left = room
        blocks[-1].append(column)
        left -= needed
    return blocks


def _text_row(cells: Sequence[str], block: Sequence[int], widths: Sequence[int], names: int) -> str:
    return GAP.join(filled_up(cells[column], widths[column], left=column < names) for column in block).rstrip()


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _marked(cell: Cell, has_marks: bool) -> str:
    """A cell in plain text; in a column that has marks, others have a blank in their place, so that numbers line up."""
    text = visible(cell.shown)
    if cell.marked:
        return f"{text}{MARK}"
    return f"{text} " if has_marks and cell.shown else text


def _markdown(cell: Cell) -> str:
    return f"**{markdown(cell.shown)}**" if cell.marked else markdown(cell.shown)


def _latex(cell: Cell) -> str:
    shown = latex(cell.shown)
    number = isinstance(cell.value, int | float) and cell.words is None
    if number and shown.startswith(("-", "+")):  # a minus, not a hyphen
        return rf"$\mathbf{{{shown}}}$" if cell.marked else f"${shown}$"
    return rf"\textbf{{{shown}}}" if cell.marked else shown


def _latex_row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _full(value: CellValue) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if isinstance(value, str):
        text = visible(value)
        return f"'{text}" if value.startswith(FORMULA) else text
    return repr(float(value)) if isinstance(value, float) else str(value)
