"""A question: one file that computes a conclusion from results, and says which tables show it.

A question is a module (or any object) with two functions:

    compute(given) -> Result     a dataclass; `given` (analysis.given) holds the results table, the options, and the
                                 answers to other questions: given.ask(best.compute)
    tables(result) -> [Table]    what people read of it; no tables where there is nothing to show

Everything else is made from these: the fields of the Result are keys of analysis.json, the tables are written as text,
Markdown, LaTeX and CSV, shown on the page and in the terminal, and are DataFrames by `Table.frame()`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from bmx_grid.wording import METRIC_ALONE, number

if TYPE_CHECKING:
    import pandas as pd

Given = TypeVar("Given", contravariant=True)
KEY = "bmx_grid.key"  # of a field's metadata
Value = str | int | float | None


class Question(Protocol[Given]):
    """What every question has; its `__name__` is that of its module."""

    __name__: str

    def compute(self, given: Given, /) -> Any:
        """The Result, a dataclass whose field names no other question uses."""

    def tables(self, result: Any, /) -> Sequence[Table]:
        """The tables that show a Result of `compute`; the signature is added where they are written."""


@dataclass(frozen=True)
class Cell:
    """A name, a count or a number; NaN is undefined, None is no value at all.

    form: how a number is shown (a format specification); CSV and DataFrames hold it in full whatever `form` says.
    words: shown in place of the value.
    marked: a gain that survives the correction for the number of tests; set in bold, in plain text with a †.
    """

    value: Value
    form: str = ""
    words: str | None = None
    marked: bool = False

    @property
    def shown(self) -> str:
        """The value as it is shown."""
        if self.words is not None:
            return self.words
        return self.value if isinstance(self.value, str) else number(self.value, self.form)


@dataclass(frozen=True)
class Table:
    """stem: its file name without suffix; title: what it shows; header: one name per column, all different.

    groups: rows, each of as many cells as the header; a line is drawn between groups. notes: sentences below it.
    names: how many columns from the left are names, not numbers. brief: shown in the terminal as well.
    data: too long to read; written as CSV only.
    """

    stem: str
    title: str
    header: tuple[str, ...]
    groups: tuple[tuple[tuple[Cell, ...], ...], ...]
    notes: tuple[str, ...]
    names: int = 1
    brief: bool = False
    data: bool = False

    def __post_init__(self) -> None:
        if len(set(self.header)) < len(self.header):
            raise ValueError(f"{self.stem}: a column name is given twice: {', '.join(self.header)}")
        for row in self.rows:
            if len(row) != len(self.header):
                raise ValueError(f"{self.stem}: {len(row)} cells for {len(self.header)} columns")

    @property
    def rows(self) -> tuple[tuple[Cell, ...], ...]:
        """All rows, without the lines between groups."""
        return tuple(row for group in self.groups for row in group)

    def frame(self) -> pd.DataFrame:
        """The rows as a DataFrame of values, not of texts; undefined and absent numbers are NaN."""
        import pandas as pd

        return pd.DataFrame({name: [row[at].value for row in self.rows] for at, name in enumerate(self.header)})


def point_cells(w: float, p: float) -> tuple[Cell, Cell]:
    """The cells of w and p; where w is 1 the place of p reads "metric alone"."""
    if w == 1:
        return Cell(w, "g"), Cell(math.nan, words=METRIC_ALONE)
    return Cell(w, "g"), Cell(p, "g")


def written(key: str | None = None, *, digits: int | None = None, **options: Any) -> Any:
    """A field of a Result that is written under another key, or rounded to that many significant digits.

    options: as of `dataclasses.field`.
    """
    return dataclasses.field(metadata={KEY: {"key": key, "digits": digits}}, **options)


def inlined(prefix: str = "", *, only: Sequence[str] = ()) -> Any:
    """A field whose own fields are written beside it, with a prefix; with `only`, those of these names."""
    return dataclasses.field(metadata={KEY: {"inline": prefix, "only": tuple(only)}})


def working() -> Any:
    """A field for other questions, figures and tables, not written to analysis.json."""
    return dataclasses.field(metadata={KEY: {"hidden": True}})
