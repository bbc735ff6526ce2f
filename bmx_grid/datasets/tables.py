"""Users' tables: TSV (never unquoted), CSV and JSONL (an object per line), perhaps gzipped, Parquet and workbooks."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from bmx_grid.core.errors import ConfigError, DataError, DataMissingError
from bmx_grid.core.identity import file_version
from bmx_grid.core.wording import escape_unprintable, pluralize, shorten
from bmx_grid.datasets.archives import GZIP, gunzip
from bmx_grid.datasets.binary_tables import read_parquet, read_workbook
from bmx_grid.datasets.lines import decode_lines, read_bytes
from bmx_grid.datasets.nested import field_names, field_value, is_nested, nested_columns, nested_outputs
from bmx_grid.datasets.table_file import FIRST_ROWS, PLAIN, SPLIT, Reading, TableFile, header_of, separator_of

TABLE_ENDINGS = (".tsv", ".csv", ".jsonl", ".parquet", ".xlsx")
# Formats that have no lines.
BINARY = (".parquet", ".xlsx")
# What people have in place of a table, and how they get one.
OTHER_ENDINGS = {
    ".tmx": "a translation memory has no human scores; export source and target from it as .tsv or .xlsx, and add a "
    "column of scores",
    **dict.fromkeys(
        (".xlf", ".xliff", ".sdlxliff", ".mqxliff", ".mxliff"),
        "XLIFF has no human scores; export source and target from it as .tsv or .xlsx, and add a column of scores",
    ),
    **dict.fromkeys((".xls", ".xlsm", ".xlsb", ".ods", ".numbers"), "save the workbook as .xlsx"),
}
# Bytes of a table, packed and unpacked.
LARGEST_TABLE = 2_000_000_000
# The value of a JSONL row that lacks the field: null is another one.
ABSENT = object()


def open_table(path: Path, reading: Reading = PLAIN) -> TableFile:
    """Open a table; the end of its name gives the format. Parsed once, and again when the file has changed.

    The separator of a CSV file is the most frequent one of its first line. Rows without any value are skipped and
    counted.

    Raises ConfigError for another ending, DataMissingError for a missing file; DataError naming file and row for a
    damaged or too large file, a first line without column names, a row of the wrong length or a file without rows.
    """
    try:
        version = file_version(path)
    except PermissionError:
        version = None  # it is not cached: reading it reports the cause
    # ValueError: a name that is too long, or holds a NUL
    except (OSError, ValueError) as error:
        name = shorten(escape_unprintable(str(path)), 300)
        raise DataMissingError(f"file not found: {name} (in {Path.cwd()}); correct the path.") from error
    return _open_version(path, version, reading)


@lru_cache(maxsize=2)  # every language pair reads its file
def _open_version(path: Path, version: Hashable, reading: Reading) -> TableFile:
    kind = path.name.lower()
    suffix = Path(kind.removesuffix(".gz")).suffix
    if suffix not in TABLE_ENDINGS or (suffix in BINARY and kind.endswith(".gz")):
        endings = ", ".join(TABLE_ENDINGS)
        advice = OTHER_ENDINGS.get(suffix, "save it as one of these")
        raise ConfigError(
            f"{path}: the name must end in {endings} (.gz may follow, except for .parquet and .xlsx); {advice}."
        )
    if suffix in BINARY and reading.encoding:
        raise ConfigError(f"{path}: the format has one encoding; leave out encoding.")
    if suffix == ".parquet":
        table = read_parquet(path, LARGEST_TABLE, reading)
    elif suffix == ".xlsx":
        table = read_workbook(path, LARGEST_TABLE, reading)
    elif suffix == ".jsonl":
        table = _jsonl(_text_lines(path, reading), path, reading)
    elif suffix == ".tsv":
        table = _tsv(_text_lines(path, reading), path, reading)
    else:
        table = _csv(_text_lines(path, reading), path, reading)
    if len(table) == 0:
        raise DataError(f"{path}: holds no rows; write one line per segment, ended by LF, below the column names.")
    return table


def _text_lines(path: Path, reading: Reading) -> list[str]:
    """The lines of a text file below those to skip, unpacked if it is gzip, without empty ones at the end."""
    size = path.stat().st_size
    if size > LARGEST_TABLE:
        raise DataError(f"{path}: has {pluralize(size, 'byte')}, more than {LARGEST_TABLE:,}; {SPLIT}")
    raw = read_bytes(path)
    # By its first bytes, not by its name: a file may be compressed under any name.
    if raw.startswith(GZIP):
        raw = gunzip(raw, str(path), LARGEST_TABLE, SPLIT)
    lines = decode_lines(raw, str(path), reading.encoding, reading.set_with("encoding"))
    del lines[: reading.skip_rows]
    while lines and lines[-1] == "":
        lines.pop()
    if not lines:
        raise DataError(f"{path}: the file is empty; the first line must hold the column names.")
    return lines


def _csv(lines: list[str], path: Path, reading: Reading) -> TableFile:
    """A table of CSV lines, the first with the column names, which shows the separator."""
    records, ends = _csv_records(lines, path, separator_of(lines), reading.skip_rows)
    is_filled = [any(value.strip() for value in record) for record in records]
    # In one column nothing but an empty value makes an empty row.
    if max(map(len, records)) <= 1:
        records = [record or [""] for record in records]
        is_filled = [True] * len(records)
    rows = [record for record, filled in zip(records, is_filled, strict=True) if filled]
    places = [end for end, filled in zip(ends, is_filled, strict=True) if filled]
    header = header_of(rows, places, path, reading)
    for values, end in zip(rows, places, strict=True):
        _check_fields(values, len(header), f"{path}, line {end}")

    def column(name: str) -> list[Any]:
        index = header.index(name)
        return [values[index] for values in rows[1:]]

    return TableFile(path, header, column, places[1:], "line", empty_rows=len(records) - len(rows))


def _tsv(lines: list[str], path: Path, reading: Reading) -> TableFile:
    """A table of TSV lines, kept in Arrow: a million rows of Python's texts take several times the room."""
    import pyarrow as pa
    import pyarrow.compute as pc

    places = np.arange(len(lines)) + reading.skip_rows + 1
    empty_rows = 0
    # In one column nothing but an empty value makes an empty row.
    if any("\t" in line for line in lines[:2]):
        is_filled = np.array([bool(line) and not line.isspace() for line in lines], dtype=np.bool_)
        empty_rows = int((~is_filled).sum())
        if empty_rows:
            lines = [line for line, filled in zip(lines, is_filled, strict=True) if filled]
            places = places[is_filled]
    first_rows = [line.split("\t") for line in lines[:FIRST_ROWS]]
    names = header_of(first_rows, places.tolist(), path, reading)
    for number, line in enumerate(lines):
        if line.count("\t") + 1 != len(names):
            _check_fields(line.split("\t"), len(names), f"{path}, line {places[number]}")
    fields = pc.split_pattern(_to_arrow(lines), "\t").flatten()

    def column(name: str) -> list[Any]:
        first = len(names) + names.index(name)
        cells = np.arange(first, len(fields), len(names))
        in_arrow = pa.Array.from_buffers(pa.int64(), len(cells), [None, pa.py_buffer(cells)])
        encoded = fields.take(in_arrow).dictionary_encode()
        # Equal rows share one text.
        different = encoded.dictionary.to_pylist()
        return [different[number] for number in encoded.indices.to_pylist()]

    return TableFile(path, names, column, places[1:].tolist(), "line", empty_rows=empty_rows)


# What Arrow makes of Python's values, and of arrays, imports pandas: a sixth of the time of a sweep that is cached.
# From buffers it makes the same without.


def _to_arrow(lines: list[str]) -> Any:
    import pyarrow as pa

    encoded = [line.encode() for line in lines]
    # Large strings: the offsets of the usual ones end at 2 GB of text.
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(line) for line in encoded], out=offsets[1:])
    return pa.LargeStringArray.from_buffers(len(encoded), pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded)))


def _check_fields(values: Sequence[str], expected: int, where: str) -> None:
    """Raise DataError for another number of fields than the header has."""
    if len(values) != expected:
        raise DataError(
            f"{where}: expected {expected} fields, got {len(values)}: {values!r:.80}. "
            "Check for a separator inside a text, or a broken line."
        )


def _csv_records(lines: list[str], path: Path, separator: str, skipped: int) -> tuple[list[list[str]], list[int]]:
    """The records of a CSV file, and the line that each ends at: a quoted field may hold line feeds.

    skipped: how many lines come before.
    """
    # The line feeds are given back, as those in quoted fields belong to the text.
    parsed = csv.reader((f"{line}\n" for line in lines), strict=True, delimiter=separator)
    records = []
    ends = []
    try:
        for record in parsed:
            records.append(record)
            ends.append(skipped + parsed.line_num)
    except csv.Error as error:
        raise DataError(
            f"{path}, line {skipped + parsed.line_num}: {error}; check the quotation marks, or save as TSV."
        ) from error
    return records, ends


def _jsonl(lines: list[str], path: Path, reading: Reading) -> TableFile:
    """A table of one JSON object per line; a field that is not read may be missing in some.

    Objects that hold all outputs for a source have a row per output (`datasets.nested`). The fields of other objects
    inside are columns, too: `translation.de`.
    """
    records: dict[int, Mapping[str, Any]] = {}
    for row, line in enumerate(lines, start=reading.skip_rows + 1):
        if line.strip():
            records[row] = _json_object(line, f"{path}, line {row}")
    # The first record shows whether records are nested; another layout further down is an error of its line.
    if records and is_nested(next(iter(records.values()))):
        outputs = list(nested_outputs(records, str(path)))
        by_name = nested_columns(outputs)
        places = [output.place for output in outputs]
        return TableFile(path, list(by_name), by_name.__getitem__, places, "line", outputs)
    numbers = list(records)
    objects = list(dict.fromkeys(chain.from_iterable(map(_object_fields, records.values()))))

    def column(name: str) -> list[Any]:
        if objects:
            values = [field_value(record, name, ABSENT) for record in records.values()]
        else:
            values = [record.get(name, ABSENT) for record in records.values()]
        if ABSENT in values:
            line = numbers[values.index(ABSENT)]
            raise DataError(
                f"{path}, line {line}: the field '{escape_unprintable(name)}' is missing but exists in other lines; "
                "write it in every line, null for no value."
            )
        return values

    names = chain.from_iterable(map(field_names, records.values()) if objects else records.values())
    # An object in some rows may be null in others.
    columns = [name for name in dict.fromkeys(names) if name not in objects]
    return TableFile(path, columns, column, numbers, "line", objects=objects)


def _object_fields(record: Mapping[str, Any]) -> list[str]:
    return [name for name, value in record.items() if isinstance(value, Mapping) and value]


def _json_object(line: str, where: str) -> dict[str, Any]:
    """The object that a line holds. Raises DataError for anything else, or a repeated field."""
    try:
        record = json.loads(line, object_pairs_hook=_fields)
        if not isinstance(record, dict):
            raise ValueError("no object with named fields")
    # RecursionError: brackets in brackets, some thousands of them
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{where}: not a JSON object ({error}): {line[:80]!r}; write one per line, without an array or document "
            "around them, or call a table with columns .tsv or .csv."
        ) from error
    return record


def _fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object's fields. Raises ValueError for a name that occurs twice: JSON would take the last."""
    record = dict(pairs)
    if len(record) != len(pairs):
        counts = Counter(name for name, _ in pairs)
        name, _ = counts.most_common(1)[0]
        raise ValueError(f"the field '{escape_unprintable(name)}' occurs several times")
    return record
