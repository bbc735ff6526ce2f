"""A table as text, Markdown, LaTeX and CSV: the one writer of each.

Names come from users' files. Every writer shows them in one line (wording.visible) and escapes what its medium reads as
a command: only numbers are written unescaped.
"""

from __future__ import annotations

import csv
import io
import math
import re
import shutil
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from bmx_grid.analysis.base import Cell, CellValue, Table
from bmx_grid.core.storage import write_text
from bmx_grid.core.wording import visible

GAP = "  "
MARK = "†"
WIDTH = 120  # characters per line of notes, and on however wide a terminal
NARROWEST = 40
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
    """Columns for a fixed-width font.

    width: characters per line; a wider table is written in blocks of columns, the names repeated in each.
    """
    header = [visible(name) for name in table.header]
    has_marks = [False] * len(header)
    for row in table.rows:
        for column, cell in enumerate(row):
            has_marks[column] |= cell.marked
    # Widths over all groups: their columns stand below each other.
    widths = [width_of(name) for name in header]
    groups = []
    for group in table.groups:
        rows = []
        for row in group:
            cells = list(map(_marked, row, has_marks))
            rows.append(cells)
            widths = list(map(max, widths, map(width_of, cells)))
        groups.append(rows)
    lines = [visible(table.title)]
    blocks = _blocks(widths, table.names, width)
    for block in blocks:
        width_of_columns = sum(widths[column] for column in block)
        width_of_gaps = len(GAP) * (len(block) - 1)
        rule = "-" * (width_of_columns + width_of_gaps)
        lines += [_text_row(header, block, widths, table.names), rule]
        for rows in groups:
            for cells in rows:
                # A row without anything else in this block would be its names alone.
                has_values = any(cells[column] for column in block[table.names :])
                if has_values or len(blocks) == 1:
                    lines.append(_text_row(cells, block, widths, table.names))
            # A group of which no row is shown has no rule: the last line is that of the one before.
            if lines[-1] != rule:
                lines.append(rule)
    lines += [wrapped(note, width or WIDTH) for note in table.notes]
    return "\n".join(lines) + "\n"


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
    # A comment ends with its line: `visible` keeps the signature, which holds names, in one.
    lines = [f"% {visible(note)}" for note in table.notes[-1:]]
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


def terminal_width() -> int:
    """Characters per line: those of the terminal, but not too few and not too many to be read."""
    columns = shutil.get_terminal_size((80, 24)).columns  # 80 where output is no terminal
    return max(min(columns, WIDTH), NARROWEST)


def fitted(text: str) -> str:
    """A sentence in lines that fit the terminal."""
    return wrapped(text, terminal_width(), "  ")


def sentences(lines: Iterable[str]) -> str:
    """Sentences that begin on a line each."""
    return "\n".join(map(fitted, lines))


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


def filled_up(text: str, width: int, *, left: bool) -> str:
    """`text` with blanks up to `width` columns, behind it or before it."""
    n_blanks = max(width - width_of(text), 0)
    blanks = " " * n_blanks
    return text + blanks if left else blanks + text


def _blocks(widths: Sequence[int], names: int, width: int | None) -> list[list[int]]:
    """The columns of each block: the names, then as many others as fit, at least one."""
    columns = list(range(len(widths)))
    if width is None or len(columns) == names:
        return [columns]
    # What the names leave, which every block repeats.
    gaps = len(GAP) * (names - 1)
    room = width - sum(widths[:names]) - gaps
    blocks: list[list[int]] = []
    left = -1  # the first column begins a block, however wide it is
    for column in columns[names:]:
        needed = widths[column] + len(GAP)
        if needed > left:
            blocks.append(columns[:names])
            left = room
        blocks[-1].append(column)
        left -= needed
    return blocks


def _text_row(cells: Sequence[str], block: Sequence[int], widths: Sequence[int], names: int) -> str:
    """The cells of a block's columns in one line: names to the left of their columns, numbers to the right."""
    padded = []
    for column in block:
        is_name = column < names
        padded.append(filled_up(cells[column], widths[column], left=is_name))
    return GAP.join(padded).rstrip()


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _marked(cell: Cell, has_marks: bool) -> str:
    """A cell in plain text; in a column that has marks, others have a blank in their place, so that numbers line up."""
    text = visible(cell.shown)
    if cell.marked:
        return f"{text}{MARK}"
    # An empty cell stays empty: by that `as_text` knows the rows that hold nothing in a block.
    if has_marks and cell.shown:
        return f"{text} "
    return text


def _markdown_cell(cell: Cell) -> str:
    text = markdown(cell.shown)
    return f"**{text}**" if cell.marked else text


# The minus of a number among words, such as the end of an interval.
MINUS_SIGN = re.compile(r"(?<![\w.])-(?=\.?\d)")


def _latex_cell(cell: Cell) -> str:
    text = latex(cell.shown)
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
    """A value for programs: a number in full, "" where there is none; a text that no spreadsheet runs."""
    if value is None:
        return ""
    if isinstance(value, str):
        text = visible(value)
        return f"'{text}" if value.startswith(FORMULA) else text
    if not isinstance(value, float):
        return str(value)
    # float(): NumPy's own floats would write their type.
    return "" if math.isnan(value) else repr(float(value))
