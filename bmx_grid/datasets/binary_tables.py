"""Tables in files without lines: Parquet, whose columns may be structs, and the first sheet of a workbook (.xlsx)."""

from __future__ import annotations

import errno
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bmx_grid.core.errors import ConfigError, DataError
from bmx_grid.core.storage import check_readable
from bmx_grid.core.wording import escape_unprintable, first_line, pluralize
from bmx_grid.datasets.table_file import FIRST_ROWS, SPLIT, Reading, TableFile, header_of

# Rows decoded at once: one stored value may decode to a large text in every row.
BATCH = 256
# What reading a damaged workbook may raise: openpyxl checks little. SyntaxError is that of XML.
UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, LookupError, TypeError, AttributeError),
    *(SyntaxError, NotImplementedError, RuntimeError, OverflowError),
)
# Of a sheet: a cell far to the right makes a row of thousands of empty ones.
MOST_WORKBOOK_CELLS = 50_000_000

Cells = tuple[Any, ...]


def read_parquet(path: Path, limit: int, reading: Reading) -> TableFile:
    """A Parquet file as a table.

    Only the columns that are taken are read: a few rows at a time, and at most `limit` bytes. Raises ConfigError for
    lines to skip, DataError for a damaged file.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import parquet

    if reading.skip_rows:
        raise ConfigError(f"{path}: a Parquet file has no lines above its columns; leave out skip_rows.")

    def damage_error(error: Exception, problem: str, way_out: str) -> DataError:
        reason = escape_unprintable(first_line(error)[:200].rstrip("."))
        return DataError(f"{path}: {problem} ({reason}); {way_out}.")

    try:
        check_readable(path)
        if path.is_fifo():
            raise OSError(errno.ESPIPE, "it is a pipe, in which nothing can be looked up")
        file = parquet.ParquetFile(path)
        schema = file.schema_arrow
        parts_of = _parquet_columns(schema)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise damage_error(error, "not a readable Parquet file", "save or copy it again") from error

    def column(name: str) -> list[Any]:
        top, *inner = parts_of.get(name, [name])
        values: list[Any] = []
        size = 0
        try:
            for batch in file.iter_batches(BATCH, columns=[name]):
                # Counted while it is unpacked: a small file may hold more than the memory.
                size += batch.nbytes
                if size > limit:
                    raise DataError(f"{path}: unpacks to more than {limit:,} bytes; {SPLIT}")
                array = batch.column(batch.schema.names.index(top))
                if inner:
                    array = pc.struct_field(array, inner)
                values += array.to_pylist()
            if len(values) != file.metadata.num_rows:
                raise ValueError(f"{len(values)} values in {file.metadata.num_rows} rows")
        # LookupError and OverflowError: a time zone or a date that Python does not know
        except (pa.ArrowException, OSError, ValueError, LookupError, OverflowError) as error:
            way_out = "save it as text or numbers, or copy the file again"
            raise damage_error(error, f"the column '{name}' cannot be read", way_out) from error
        return values

    names = list(parts_of)
    # A name that occurs twice is refused if it is read.
    for name, count in Counter(schema.names).items():
        names += [name] * (count - 1)
    objects = [parts[0] for parts in parts_of.values() if len(parts) > 1]

    places = range(1, file.metadata.num_rows + 1)
    return TableFile(path, names, column, places, objects=list(dict.fromkeys(objects)))


def _parquet_columns(schema: Any) -> dict[str, list[str]]:
    """name -> its parts, of each column: those of a struct are named after it, `translation.de`."""
    import pyarrow as pa

    columns = {}
    # The fields that are left, the next one last.
    left = [([field.name], field.type) for field in reversed(list(schema))]
    while left:
        parts, kind = left.pop()
        if pa.types.is_struct(kind) and kind.num_fields:
            for field in reversed(list(kind)):
                left.append(([*parts, field.name], field.type))
        else:
            columns[".".join(parts)] = parts
    return columns


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
        reason = escape_unprintable(first_line(error)[:200].rstrip("."))
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

    n_empty = places[-1] - reading.skip_rows - len(places)
    return TableFile(path, names, column, places[1:], empty_rows=n_empty)


def _check_size(path: Path, limit: int) -> None:
    """Raise DataError for a workbook that unpacks to more than a table may have."""
    with zipfile.ZipFile(path) as parts:
        size = sum(part.file_size for part in parts.infolist())
    if size > limit:
        raise DataError(f"{path}: unpacks to {pluralize(size, 'byte')}, more than {limit:,}; {SPLIT}")


def _filled_rows(path: Path, skipped: int) -> Iterator[tuple[int, Cells]]:
    """The number and the cells of each row of the first sheet that has a value, as Excel numbers them."""
    import pandas as pd

    # In a workbook that pandas opens, formulas have the values last computed.
    with pd.ExcelFile(path, engine="openpyxl") as file:
        sheet = file.book.worksheets[0]
        # The size that the file declares may be wrong.
        sheet.reset_dimensions()
        n_cells = 0
        for number, cells in enumerate(sheet.iter_rows(values_only=True), start=1):
            n_cells += len(cells)
            if n_cells > MOST_WORKBOOK_CELLS:
                raise DataError(f"{path}: the first sheet has more than {MOST_WORKBOOK_CELLS:,} cells; {SPLIT}")
            is_filled = any(value is not None and str(value).strip() for value in cells)
            if number > skipped and is_filled:
                yield number, cells
