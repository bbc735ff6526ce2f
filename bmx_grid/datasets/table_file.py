"""A table that was opened: its header and columns, the values of its cells, and where its rows are in the file."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bmx_grid.core.errors import DataError, text_of
from bmx_grid.core.wording import escape_unprintable, pluralize
from bmx_grid.datasets.nested import Output
from bmx_grid.words.perturbation import INVISIBLE

SPLIT = "split it, or leave out columns."


@dataclass(frozen=True)
class Reading:
    """How a text file becomes a table.

    encoding: its name, None for UTF-8; a byte-order mark overrides it. skip_rows: lines above the header. option: the
    setting of both, with {} for their name, as "dataset.tabular.{}="; "" if none exists.
    """

    encoding: str | None = None
    skip_rows: int = 0
    option: str = ""

    def set_with(self, name: str) -> str:
        """The setting of a field, "" if none exists."""
        # Flags have hyphens.
        return self.option.format(name.replace("_", "-") if self.option.startswith("--") else name)


PLAIN = Reading()


@dataclass(eq=False)
class TableFile:
    """A file with named columns of n values each.

    raw: the columns in order, as they are in the file. column(name): the values of one column. places: of rows, as
    messages show them: "line 3" is the place 3 of the unit "line". names: `raw` without blanks and invisible
    characters at their ends; a name that occurs several times matters only when that column is read. outputs: the
    source of the rows if records hold all outputs for a source. empty_rows: how many rows without any value were
    skipped. objects: columns of objects, which can be taken, but play no role by themselves: their fields do.
    """

    path: Path
    raw: Sequence[str]
    column: Callable[[str], list[Any]]
    places: Sequence[int | str]
    unit: str = "row"
    outputs: Sequence[Output] = ()
    empty_rows: int = 0
    objects: Sequence[str] = ()

    def __post_init__(self) -> None:
        self.names = tuple(name.strip(INVISIBLE) for name in self.raw)

    def __len__(self) -> int:
        return len(self.places)

    def place(self, index: int) -> str:
        """The place of a row (from 0), for messages."""
        return f"{self.unit} {self.places[index]}"

    def where(self, index: int) -> str:
        """File and place of a row, for messages."""
        return f"{self.path}, {self.place(index)}"

    def take(self, names: Iterable[str]) -> dict[str, list[Any]]:
        """name -> the n values of the columns: texts, or values of JSON and Parquet.

        Raises DataError naming the column, and the row if it is one, when a column does not exist, occurs
        several times or has a value that cannot be read.
        """
        columns = {}
        for name in names:
            count = self.names.count(name) or int(name in self.objects)
            if count == 0:
                raise DataError(f"{self.path}: the column '{escape_unprintable(name)}' is needed but not found.")
            if count > 1:
                raise DataError(
                    f"{self.path}: the column '{escape_unprintable(name)}' occurs {count} times; rename the duplicates."
                )
            raw_name = self.raw[self.names.index(name)] if name in self.names else name
            columns[name] = self.column(raw_name)
        return columns


# Names that may be missing.
OPTIONAL = ("system", "document", "domain", "rater")


def is_gap(value: Any) -> bool:
    """Whether a cell holds nothing: no value, an empty text or NaN, which pandas writes for either."""
    # By its type first: comparing an array gives an array.
    return value is None or (isinstance(value, str) and not value) or (isinstance(value, float) and math.isnan(value))


def name_of(value: Any) -> str | None:
    """A name as a text: a whole number as it is written, None for a gap.

    Raises ValueError for anything else.
    """
    if is_gap(value):
        return None
    # pandas writes whole numbers as floats if some are missing.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    # bool is a kind of int, but no name.
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError("not a name")
    return str(value)


def read_names(values: Sequence[Any], role: str, column: str, table: TableFile) -> list[str | None]:
    """The names in a column, None for optional ones that are missing. Raises DataError naming the row for others."""
    names: list[str | None] = []
    for row, value in enumerate(values):
        try:
            # Most names are texts already.
            name = value if type(value) is str and value else name_of(value)
        except ValueError as error:
            raise DataError(
                f"{_cell(table, row, column)} {_quote_cell(value)}, not text; write a text or a whole number."
            ) from error
        if role not in OPTIONAL and (name is None or not name.strip()):
            name_of_role = role.replace("_", " ")
            raise DataError(f"{_cell(table, row, column)} nothing; write the {name_of_role} of every row.")
        if name is not None and not name.isascii():
            _check_whole(name, row, column, table)
        names.append(name)
    return names


def read_texts(values: Sequence[Any], column: str, table: TableFile, *, optional: bool = False) -> list[Any]:
    """The texts in a column; a gap is an empty text, or None if it is optional.

    Raises DataError naming the row for anything but texts and whole numbers.
    """
    texts = list(values)
    for row, value in enumerate(values):
        if isinstance(value, str) and (value or not optional):
            # Most texts are ASCII, which is quickly checked.
            if not value.isascii():
                _check_whole(value, row, column, table)
        elif is_gap(value):
            texts[row] = None if optional else ""
        # bool is a kind of int, but no text.
        elif isinstance(value, int) and not isinstance(value, bool):
            texts[row] = str(value)
        else:
            raise DataError(
                f"{_cell(table, row, column)} {_quote_cell(value)}, not text; write a text (it may be empty)."
            )
    return texts


def _check_whole(text: str, row: int, column: str, table: TableFile) -> None:
    """Raise DataError for a text with half a character."""
    # Only JSON can hold halves, as escapes.
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise DataError(
            f"{_cell(table, row, column)} half of a character (a lone surrogate) in {text[:60]!r}; write the whole "
            "character, or remove it."
        )


def _cell(table: TableFile, row: int, column: str) -> str:
    return f"{table.where(row)}: the column '{escape_unprintable(column)}' holds"


def _quote_cell(value: Any) -> str:
    return f"{text_of(value)[:60]!r} ({type(value).__name__})"


def warn_of_quotes(table: TableFile, texts: Mapping[str, Sequence[Any]]) -> None:
    """Warn of quotation marks that pandas and spreadsheets put around texts, which TSV does not take off."""
    if ".tsv" not in table.path.name.lower():
        return
    n_quoted = 0
    first = ""
    for role in ("source", "reference", "hypothesis"):
        for value in texts.get(role, ()):
            for text in value if isinstance(value, tuple) else (value,):
                if len(text) > 2 and text[0] == text[-1] == '"' and '""' in text[1:-1]:
                    n_quoted += 1
                    first = first or text
    if n_quoted:
        warnings.warn(
            f"{table.path}: {pluralize(n_quoted, 'text')} between quotation marks with doubled ones inside, as "
            f"{first[:60]!r}; TSV is read as written, marks included. If a program added them, save the table as .csv.",
            stacklevel=2,
        )


# Of a CSV file; of as many the first.
SEPARATORS = (",", ";", "\t", "|")
# First rows, which show the columns in use.
FIRST_ROWS = 20


def separator_of(lines: Sequence[str]) -> str:
    """The separator of CSV lines: the one that the first line has most of, or the second below a title."""
    filled = [line for line in lines[:FIRST_ROWS] if line.strip()]
    best = [max(SEPARATORS, key=line.count) for line in filled[:2]]
    if not best:
        return SEPARATORS[0]
    if len(best) == 2:
        first, second = filled[:2]
        # A quoted text may go on in the second line, and hold anything.
        is_title = first.count(best[1]) == 0 and second.count(best[0]) == 0 and '"' not in second
        if is_title and second.count(best[1]) > first.count(best[0]):
            return best[1]
    return best[0]


def header_of(rows: Sequence[Sequence[str]], places: Sequence[int], path: Path, reading: Reading) -> Sequence[str]:
    """The column names, which the first row holds.

    Args:
        rows: the fields of the first rows.
        places: the line that each row ends at.
        path: the file, for messages.
        reading: its `skip_rows` can skip lines.

    Raises:
        DataError: the file has no row, or the first one is a title: most columns that are in use have no name in it.
    """
    if not rows:
        raise DataError(f"{path}: the file is empty; the first line must hold the column names.")
    filled = []
    for row in rows[:FIRST_ROWS]:
        filled.append({column for column, value in enumerate(row) if value.strip(INVISIBLE)})
    n_used = len(set().union(*filled))
    # An index that pandas writes has no name, so that one of two columns may lack it.
    if 2 * len(filled[0]) >= n_used:
        return rows[0]
    way_out = "delete the lines above the header"
    named = [number for number, columns in enumerate(filled) if 2 * len(columns) >= n_used]
    option = reading.set_with("skip_rows")
    if option:
        # All lines above the first row that has most columns.
        way_out = f"{way_out}, or skip them: {option}{places[named[0] - 1]}"
    title = " ".join(rows[0]).strip()
    raise DataError(
        f"{path}: line {places[0]} holds no column names, but {escape_unprintable(title)[:60]!r}; {way_out}."
    )
