"""Workbooks (.xlsx) as tables: the first sheet, its first filled row as the column names."""

from __future__ import annotations

import warnings
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bmx_grid.core.errors import ConfigError, DataError
from bmx_grid.core.storage import check_readable
from bmx_grid.core.wording import counted, first_line, visible
from bmx_grid.datasets.table_file import FIRST_ROWS, SPLIT, Reading, TableFile, header_of

# What reading a damaged workbook may raise: openpyxl checks little. SyntaxError is that of XML.
UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, LookupError, TypeError, AttributeError),
    *(SyntaxError, NotImplementedError, RuntimeError, OverflowError),
)
# Of a sheet: a cell far to the right makes a row of thousands of empty ones.
MOST_WORKBOOK_CELLS = 50_000_000

Cells = tuple[Any, ...]


def read_workbook(path: Path, limit: int, reading: Reading) -> TableFile:
    """The first sheet of a workbook that unpacks to at most `limit` bytes.

    Raises DataError for a damaged or too large one, or a first row without column names; ConfigError without openpyxl.
    """
    try:
        check_readable(path)
        _check_size(path, limit)
        with warnings.catch_warnings():
            # Of styles and validations that are not read.
            warnings.simplefilter("ignore")
            rows = list(_filled_rows(path, reading.skip_rows))
    except ImportError as error:
        raise ConfigError(
            f"{path}: reading .xlsx requires openpyxl, the extra excel: pip install openpyxl, or save the file as .csv."
        ) from error
    except UNREADABLE as error:
        reason = visible(first_line(error)[:200].rstrip("."))
        raise DataError(f"{path}: not a readable workbook ({reason}); save it again, or as .csv.") from error
    if not rows:
        raise DataError(f"{path}: the first sheet is empty; its first row must hold the column names.")
    places = [number for number, _ in rows]
    first_rows = []
    for _, cells in rows[:FIRST_ROWS]:
        first_rows.append(["" if value is None else str(value) for value in cells])
    names = header_of(first_rows, places, path, reading)

    def column(name: str) -> list[Any]:
        index = names.index(name)
        # A row ends at its last value.
        return [cells[index] if index < len(cells) else None for _, cells in rows[1:]]

    def place(index: int) -> str:
        return f"row {places[index + 1]}"

    n_empty = places[-1] - reading.skip_rows - len(places)
    return TableFile(path, names, len(rows) - 1, column, place, empty_rows=n_empty)


def _check_size(path: Path, limit: int) -> None:
    """Raise DataError for a workbook that unpacks to more than a table may have."""
    with zipfile.ZipFile(path) as parts:
        size = sum(part.file_size for part in parts.infolist())
    if size > limit:
        raise DataError(f"{path}: unpacks to {counted(size, 'byte')}, more than {limit:,}; {SPLIT}")


def _filled_rows(path: Path, skipped: int) -> Iterator[tuple[int, Cells]]:
    """The number and the cells of each row of the first sheet that has a value, as Excel numbers them."""
    import pandas as pd

    # Of the workbook that pandas opens, formulas are what they were last computed to.
    with pd.ExcelFile(path, engine="openpyxl") as file:
        sheet = file.book.worksheets[0]
        # What the file says of its size may be wrong.
        sheet.reset_dimensions()
        n_cells = 0
        for number, cells in enumerate(sheet.iter_rows(values_only=True), start=1):
            n_cells += len(cells)
            if n_cells > MOST_WORKBOOK_CELLS:
                raise DataError(f"{path}: the first sheet has more than {MOST_WORKBOOK_CELLS:,} cells; {SPLIT}")
            is_filled = any(value is not None and str(value).strip() for value in cells)
            if number > skipped and is_filled:
                yield number, cells
