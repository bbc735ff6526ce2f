"""Parquet files as tables, those of data sets of Hugging Face among them, whose columns may be structs."""

from __future__ import annotations

import errno
from collections import Counter
from pathlib import Path
from typing import Any

from bmx_grid.core.errors import ConfigError, DataError
from bmx_grid.core.storage import check_readable
from bmx_grid.core.wording import first_line, visible
from bmx_grid.datasets.table_file import SPLIT, Reading, TableFile

# Rows decoded at once: one stored value may decode to a large text in each of them.
BATCH = 256


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

    def damaged(error: Exception, problem: str, way_out: str) -> DataError:
        reason = visible(first_line(error)[:200].rstrip("."))
        return DataError(f"{path}: {problem} ({reason}); {way_out}.")

    try:
        check_readable(path)
        if path.is_fifo():
            raise OSError(errno.ESPIPE, "it is a pipe, in which nothing can be looked up")
        file = parquet.ParquetFile(path)
        schema = file.schema_arrow
        parts_of = _parquet_columns(schema)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise damaged(error, "not a readable Parquet file", "save or copy it again") from error

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
            raise damaged(error, f"the column '{name}' cannot be read", way_out) from error
        return values

    names = list(parts_of)
    # A name that is there twice is refused if it is read.
    for name, count in Counter(schema.names).items():
        names += [name] * (count - 1)
    objects = [parts[0] for parts in parts_of.values() if len(parts) > 1]

    def place(index: int) -> str:
        return f"row {index + 1}"

    return TableFile(path, names, file.metadata.num_rows, column, place, objects=list(dict.fromkeys(objects)))


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
