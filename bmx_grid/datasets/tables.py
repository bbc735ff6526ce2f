"""A user's table as columns of values with the row of the file each value came from.

TSV is never unquoted (a text may begin with a quotation mark); CSV follows the csv rules; JSONL has
one object a line; Parquet keeps its types. TSV, CSV and JSONL may be compressed (.gz).
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bmx_grid.datasets.lines import decode_lines, read_bytes
from bmx_grid.errors import ConfigError, DataError

FORMATS = (".tsv", ".csv", ".jsonl", ".parquet")


@dataclass(frozen=True, eq=False)
class Table:
    """columns: name -> n values (text, or what JSON and Parquet hold); rows: the n places in the file."""

    columns: dict[str, list[Any]]
    rows: list[str]


def read_table(path: Path) -> Table:
    """Read a table; the end of its name says which format.

    Raises ConfigError for another ending; DataError naming file and row for a damaged file, a row
    of the wrong length, a repeated column name or a file without rows.
    """
    names = path.name.lower().removesuffix(".gz")
    suffix = Path(names).suffix
    if suffix not in FORMATS or (suffix == ".parquet" and path.name.lower().endswith(".gz")):
        raise ConfigError(f"{path}: the name must end in {', '.join(FORMATS)} (.gz may follow, except for .parquet).")
    if suffix == ".parquet":
        table = _parquet(path)
    else:
        lines = decode_lines(_uncompressed(path), str(path))
        while lines and lines[-1] in ("", "\r"):
            lines.pop()
        table = {".tsv": _tsv, ".csv": _csv, ".jsonl": _jsonl}[suffix](lines, str(path))
    if not table.rows:
        raise DataError(f"{path}: holds no rows; write one line a segment below the column names.")
    return table


def _uncompressed(path: Path) -> bytes:
    raw = read_bytes(path)
    if not path.name.lower().endswith(".gz"):
        return raw
    try:
        return gzip.decompress(raw)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path}: damaged gzip file ({error}).") from error


def _tsv(lines: list[str], where: str) -> Table:
    fields = [line.removesuffix("\r").split("\t") for line in lines]
    return _from_rows(fields, [f"line {row}" for row in range(1, len(fields) + 1)], where)


def _csv(lines: list[str], where: str) -> Table:
    reader = csv.reader(io.StringIO("\n".join(lines), newline=""), strict=True)
    fields, rows = [], []
    try:
        for record in reader:
            fields.append(record)
            rows.append(f"line {reader.line_num}")
    except csv.Error as error:
        raise DataError(
            f"{where}, line {reader.line_num}: {error}; check the quotation marks, or save as TSV."
        ) from error
    return _from_rows(fields, rows, where)


def _from_rows(fields: Sequence[list[str]], rows: list[str], where: str) -> Table:
    if not fields:
        raise DataError(f"{where}: empty; the first line must hold the column names.")
    header = fields[0]
    repeated = sorted({name for name in header if header.count(name) > 1})
    if repeated:
        raise DataError(f"{where}, {rows[0]}: the column '{repeated[0]}' is there {header.count(repeated[0])} times.")
    for place, values in zip(rows, fields, strict=True):
        if len(values) != len(header):
            raise DataError(
                f"{where}, {place}: {len(values)} fields, but the header has {len(header)}: {values!r:.80}. "
                "A tab or comma inside a text, or a broken line?"
            )
    columns = {name: [values[index] for values in fields[1:]] for index, name in enumerate(header)}
    return Table(columns, rows[1:])


def _jsonl(lines: list[str], where: str) -> Table:
    records: list[dict[str, Any]] = []
    rows = []
    for row, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{where}, line {row}: not JSON ({error}): {line[:80]!r}") from error
        if not isinstance(record, dict):
            raise DataError(f"{where}, line {row}: expected an object with named fields, got {line[:80]!r}")
        if records and record.keys() != records[0].keys():
            odd = sorted(record.keys() ^ records[0].keys())
            raise DataError(f"{where}, line {row}: the field '{odd[0]}' is in some lines and not in others.")
        records.append(record)
        rows.append(f"line {row}")
    names = list(records[0]) if records else []
    return Table({name: [record[name] for record in records] for name in names}, rows)


def _parquet(path: Path) -> Table:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        found = parquet.read_table(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{path}: not a readable Parquet file ({error}).") from error
    columns = {name: found.column(name).to_pylist() for name in found.column_names}
    return Table(columns, [f"row {row}" for row in range(1, found.num_rows + 1)])
