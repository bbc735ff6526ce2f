"""A question: one file that computes a conclusion from results, and says which tables show it.

A question is a module (or any object) with two functions:

    compute(given) -> {key: value}   numbers, texts, frames, by keys that no other question uses; `given`
                                     (analysis.table) holds the results table, the options, the frames of the sweep, and
                                     the answers to other functions: given.ask(f). The index of a frame are keys inside
    tables(result) -> [Table]        what people read of it; no tables where there is nothing to show

Everything else is made from these: the keys are those of analysis.json, the tables are written as text, Markdown,
LaTeX and CSV, shown on the page and in the terminal, and are DataFrames by `Table.frame()`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bmx_grid.core.wording import factor_in_words, number, with_interval

if TYPE_CHECKING:
    import pandas as pd

Value = str | int | float | None


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
class Column:
    """A column of a frame as a table shows it.

    header: its name in the table, "" for its own (of a factor in words); form: of its numbers; ends: the columns of an
    interval that is shown beside; marked: a column of flags, of what is set in bold.
    """

    name: str
    header: str = ""
    form: str = ""
    ends: tuple[str, str] | None = None
    marked: str = ""

    def cell(self, row: Mapping[Any, Any]) -> Cell:
        """The cell of a row."""
        value = row[self.name]
        value = value.item() if hasattr(value, "item") else value
        if isinstance(value, bool):
            value = int(value)
        words = None
        if self.ends is not None:
            words = with_interval(value, row[self.ends[0]], row[self.ends[1]], self.form)
        return Cell(value, self.form, words, bool(self.marked and row[self.marked]))


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

    @classmethod
    def of(
        cls,
        stem: str,
        title: str,
        frame: pd.DataFrame,
        columns: Sequence[Any],
        notes: Sequence[str] = (),
        *,
        by: Sequence[str] = (),
        names: int = 1,
        brief: bool = False,
        data: bool = False,
    ) -> Table:
        """A table of columns of a frame, each a Column or its name; by: those whose values are the groups."""
        shown = [name if isinstance(name, Column) else Column(name) for name in columns]
        groups: dict[tuple[Any, ...], list[tuple[Cell, ...]]] = {}
        for row in frame.to_dict("records"):
            groups.setdefault(tuple(row[name] for name in by), []).append(tuple(column.cell(row) for column in shown))
        header = tuple(column.header or factor_in_words(column.name) for column in shown)
        return cls(stem, title, header, tuple(map(tuple, groups.values())), tuple(notes), names, brief, data)

    @property
    def rows(self) -> tuple[tuple[Cell, ...], ...]:
        """All rows, without the lines between groups."""
        return tuple(row for group in self.groups for row in group)

    def frame(self) -> pd.DataFrame:
        """The rows as a DataFrame of values, not of texts; undefined and absent numbers are NaN."""
        import pandas as pd

        return pd.DataFrame({name: [row[at].value for row in self.rows] for at, name in enumerate(self.header)})


def interval(row: Any, names: Sequence[str], form: str, without: str = "") -> str:
    """A number of a row with the ends of its interval, by the names of the three."""
    value, low, high = (row[name] for name in names)
    return with_interval(value, low, high, form, without=without)
