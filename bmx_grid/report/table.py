"""A table as text, Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
import math
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Format = Literal["txt", "md", "tex", "csv"]
GAP = "  "
WIDTH = 120  # characters a line of notes
FITTING = 7  # columns that fit a line of a page
# What LaTeX reads as commands, and characters that need text mode.
LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "_": r"\_",
        "%": r"\%",
        "&": r"\&",
        "#": r"\#",
        "$": r"\$",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "|": r"\textbar{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "×": r"$\times$",
        "²": r"\textsuperscript{2}",
        "…": r"\ldots{}",
    }
)
MARKDOWN = str.maketrans({"|": r"\|", "*": r"\*", "_": r"\_", "<": "&lt;", ">": "&gt;"})


@dataclass(frozen=True)
class Cell:
    """A name, a count or a number; NaN is undefined, None is no value at all.

    form: how a number is shown (a format specification); CSV holds it in full whatever `form` says.
    best: set in bold, in text with a *; improved: marked with a +.
    """

    value: str | int | float | None
    form: str = ""
    best: bool = False
    improved: bool = False

    @property
    def shown(self) -> str:
        """The value without marks."""
        if self.value is None:
            return ""
        if isinstance(self.value, str):
            return self.value
        return format(self.value, self.form) if math.isfinite(self.value) else "n/a"


@dataclass(frozen=True)
class Table:
    """stem: its file name without suffix; title: what it shows; header: one name a column, all different.

    groups: rows, each of as many cells as the header; a line is drawn between groups. notes: sentences below it, the
    last of them the signature. names: how many columns from the left are names, not numbers.
    """

    stem: str
    title: str
    header: tuple[str, ...]
    groups: tuple[tuple[tuple[Cell, ...], ...], ...]
    notes: tuple[str, ...]
    names: int = 1

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.header):
                raise ValueError(f"{self.stem}: {len(row)} cells for {len(self.header)} columns")

    @property
    def rows(self) -> tuple[tuple[Cell, ...], ...]:
        """All rows, without the lines between groups."""
        return tuple(row for group in self.groups for row in group)


def as_text(table: Table) -> str:
    """Columns for a fixed-width font; * marks the best, + an improvement."""
    rows = [[_text(cell) for cell in row] for row in table.rows]
    widths = [max(map(len, column)) for column in zip(table.header, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        places = enumerate(zip(cells, widths, strict=True))
        return GAP.join(cell.ljust(w) if at < table.names else cell.rjust(w) for at, (cell, w) in places).rstrip()

    rule = "-" * (sum(widths) + len(GAP) * (len(widths) - 1))
    lines = [table.title, line(table.header)]
    for group in table.groups:
        lines += [rule, *(line([_text(cell) for cell in row]) for row in group)]
    notes = [textwrap.fill(note, WIDTH, break_on_hyphens=False, break_long_words=False) for note in table.notes]
    return "\n".join([*lines, rule, *notes]) + "\n"


def as_markdown(table: Table) -> str:
    """A pipe table; the best in bold, + marks an improvement. A group's first row follows on the one before."""
    names = ["---" if at < table.names else "---:" for at in range(len(table.header))]
    lines = [_row(name.translate(MARKDOWN) for name in table.header), _row(names)]
    lines += [_row(_markdown(cell) for cell in row) for row in table.rows]
    notes = [note.translate(MARKDOWN) for note in table.notes]
    return "\n\n".join([f"**{table.title.translate(MARKDOWN)}**", "\n".join(lines), *notes]) + "\n"


def as_latex(table: Table) -> str:
    """A table environment of booktabs, a wide one shrunk to the line; bold is the best, a raised + an improvement."""
    wide = len(table.header) > FITTING
    columns = "l" * table.names + "r" * (len(table.header) - table.names)
    lines = [
        r"% needs \usepackage{booktabs,graphicx}",
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
    return "\n".join([*(f"% {note}" for note in table.notes[-1:]), *lines]) + "\n"


def as_csv(table: Table) -> str:
    """Header and rows; numbers in full, undefined ones empty. No title and no notes, so that anything reads it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.header)
    writer.writerows([_full(cell.value) for cell in row] for row in table.rows)
    return out.getvalue()


FORMATS: Mapping[Format, Callable[[Table], str]] = {
    "txt": as_text,
    "md": as_markdown,
    "tex": as_latex,
    "csv": as_csv,
}


def latex(text: str) -> str:
    """Text with LaTeX's own characters escaped."""
    return text.translate(LATEX)


def _text(cell: Cell) -> str:
    return cell.shown + "+" * cell.improved + "*" * cell.best


def _markdown(cell: Cell) -> str:
    shown = cell.shown.translate(MARKDOWN) + "+" * cell.improved
    return f"**{shown}**" if cell.best and shown else shown


def _latex(cell: Cell) -> str:
    shown = latex(cell.shown)
    if isinstance(cell.value, int | float) and shown.startswith(("-", "+")):
        shown = rf"$\mathbf{{{shown}}}$" if cell.best else f"${shown}$"  # a minus, not a hyphen
    elif cell.best and shown:
        shown = rf"\textbf{{{shown}}}"
    return shown + r"\textsuperscript{+}" * cell.improved


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _latex_row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _full(value: str | int | float | None) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    return repr(float(value)) if isinstance(value, float) else str(value)
