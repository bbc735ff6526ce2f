"""The values of a table's cells: texts of segments, names of rows, and gaps, by one rule for every format."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from bmx_grid.core.errors import DataError, text_of
from bmx_grid.core.wording import visible
from bmx_grid.datasets.table_file import TableFile

# Names that may be missing.
OPTIONAL = ("system", "document", "domain", "rater")


def is_gap(value: Any) -> bool:
    """Whether a cell holds nothing: no value, an empty text or NaN, which pandas writes for either."""
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


def name_of(value: Any) -> str | None:
    """A name as a text: a whole number as it is written, None for a gap.

    Raises ValueError for anything else.
    """
    if is_gap(value):
        return None
    # pandas writes whole numbers beside missing ones as floats.
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
                f"{_cell(table, row, column)} {_shown(value)}, not text; write a text or a whole number."
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
            # Most texts are ASCII, which is quickly told.
            if not value.isascii():
                _check_whole(value, row, column, table)
        elif is_gap(value):
            texts[row] = None if optional else ""
        # bool is a kind of int, but no text.
        elif isinstance(value, int) and not isinstance(value, bool):
            texts[row] = str(value)
        else:
            raise DataError(f"{_cell(table, row, column)} {_shown(value)}, not text; write a text (it may be empty).")
    return texts


def _check_whole(text: str, row: int, column: str, table: TableFile) -> None:
    """Raise DataError for a text with half a character."""
    # Only JSON can hold halves, as escapes.
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise DataError(
            f"{_cell(table, row, column)} half of a character (a lone surrogate) in {text[:60]!r}; write the whole "
            "character, or take it out."
        )


def _cell(table: TableFile, row: int, column: str) -> str:
    return f"{table.where(row)}: the column '{visible(column)}' holds"


def _shown(value: Any) -> str:
    return f"{text_of(value)[:60]!r} ({type(value).__name__})"
