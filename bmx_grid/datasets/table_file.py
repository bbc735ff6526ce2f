"""A table that was opened: its columns, and where its rows are in the file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bmx_grid.core.errors import DataError
from bmx_grid.core.wording import visible
from bmx_grid.datasets.nested import Output
from bmx_grid.words.perturbation import INVISIBLE

SPLIT = "split it, or leave out columns."


@dataclass(frozen=True)
class Reading:
    """How a text file becomes a table.

    encoding: its name, None for UTF-8; a byte-order mark goes before it. skip_rows: lines above the header. option:
    what sets these, with {} for their name, as "dataset.tabular.{}="; "" if nothing does.
    """

    encoding: str | None = None
    skip_rows: int = 0
    option: str = ""

    def set_with(self, name: str) -> str:
        """What sets one of these, "" if nothing does."""
        # Flags have hyphens.
        return self.option.format(name.replace("_", "-") if self.option.startswith("--") else name)


PLAIN = Reading()


@dataclass(eq=False)
class TableFile:
    """A file with named columns of n values each.

    raw: the columns in order, as they are in the file. column(name): the values of one of them. place(index): where row
    `index` (from 0) stands, as messages show it: "line 3". names: `raw` without blanks and invisible characters at
    their ends; a name that occurs several times matters only when that column is read. outputs: what the rows are made
    of where records hold all outputs for a source. empty_rows: how many rows without any value were skipped. objects:
    columns of objects, which can be taken, but play no role by themselves: their fields do.
    """

    path: Path
    raw: Sequence[str]
    rows: int
    column: Callable[[str], list[Any]]
    place: Callable[[int], str]
    outputs: Sequence[Output] = ()
    empty_rows: int = 0
    objects: Sequence[str] = ()

    def __post_init__(self) -> None:
        self.names = tuple(name.strip(INVISIBLE) for name in self.raw)

    def __len__(self) -> int:
        return self.rows

    def where(self, index: int) -> str:
        """File and place of a row, for messages."""
        return f"{self.path}, {self.place(index)}"

    def take(self, names: Iterable[str]) -> dict[str, list[Any]]:
        """name -> the n values of each of these columns: texts, or what JSON and Parquet hold.

        Raises DataError naming the column, and the row where it is one, when a column is not there, occurs
        several times or has a value that cannot be read.
        """
        columns = {}
        for name in names:
            count = self.names.count(name) or int(name in self.objects)
            if count == 0:
                raise DataError(f"{self.path}: the column '{visible(name)}' is needed, and is not there.")
            if count > 1:
                raise DataError(
                    f"{self.path}: the column '{visible(name)}' is there {count} times; give each another name."
                )
            raw_name = self.raw[self.names.index(name)] if name in self.names else name
            columns[name] = self.column(raw_name)
        return columns
