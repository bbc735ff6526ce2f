"""Users' tables: TSV (never unquoted), CSV and JSONL (an object per line), perhaps gzipped, and Parquet."""

from __future__ import annotations

import csv
import errno
import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from bmx_grid.core.contents import file_version
from bmx_grid.core.errors import ConfigError, DataError, DataMissingError
from bmx_grid.core.ragged import Ints
from bmx_grid.core.storage import check_readable
from bmx_grid.core.wording import counted, first_line, shortened, visible
from bmx_grid.datasets.lines import GZIP, decode_lines, gunzip, read_bytes
from bmx_grid.datasets.nested import Output, columns_of, is_nested, outputs_of
from bmx_grid.words.perturbation import INVISIBLE

TABLE_ENDINGS = (".tsv", ".csv", ".jsonl", ".parquet")
# Of a CSV file.
SEPARATORS = (",", ";", "\t", "|")
# Bytes of a table, packed and unpacked.
LARGEST_TABLE = 2_000_000_000
SPLIT = "split it, or leave out columns."
# The value of a JSONL row that lacks the field: null is another one.
ABSENT = object()
# Rows of Parquet decoded at once: one stored value may decode to a large text in each of them.
BATCH = 256


@dataclass(eq=False)
class TableFile:
    """A file with named columns of n values each.

    raw: the columns in order, as they are in the file. column(name): the values of one of them. place(index): where row
    `index` (from 0) stands, as messages show it: "line 3". names: `raw` without blanks and invisible characters at
    their ends; a name that occurs several times matters only when that column is read. outputs: what the rows are made
    of where records hold all outputs for a source.
    """

    path: Path
    raw: Sequence[str]
    rows: int
    column: Callable[[str], list[Any]]
    place: Callable[[int], str]
    outputs: Sequence[Output] = ()

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
            count = self.names.count(name)
            if count == 0:
                raise DataError(f"{self.path}: the column '{visible(name)}' is needed, and is not there.")
            if count > 1:
                raise DataError(
                    f"{self.path}: the column '{visible(name)}' is there {count} times; give each another name."
                )
            raw_name = self.raw[self.names.index(name)]
            columns[name] = self.column(raw_name)
        return columns


def open_table(path: Path) -> TableFile:
    """Open a table; the end of its name says which format. Parsed once, and again when the file has changed.

    The separator of a CSV file is the one that its first line has most of.

    Raises ConfigError for another ending, DataMissingError for no such file; DataError naming file and row for a
    damaged or too large file, a row of the wrong length or a file without rows.
    """
    try:
        version = file_version(path)
    except PermissionError:
        version = None  # nothing is kept of it: reading it says why
    # ValueError: a name that is too long, or holds a NUL
    except (OSError, ValueError) as error:
        name = shortened(visible(str(path)), 300)
        raise DataMissingError(f"there is no file {name} (looked in {Path.cwd()}); correct the path.") from error
    return _opened(path, version)


@lru_cache(maxsize=2)  # every language pair asks for its file
def _opened(path: Path, version: Hashable) -> TableFile:
    kind = path.name.lower()
    suffix = Path(kind.removesuffix(".gz")).suffix
    if suffix not in TABLE_ENDINGS or kind.endswith(".parquet.gz"):
        endings = ", ".join(TABLE_ENDINGS)
        raise ConfigError(f"{path}: the name must end in {endings} (.gz may follow, except for .parquet).")
    if suffix == ".parquet":
        table = _parquet(path)
    elif suffix == ".jsonl":
        table = _jsonl(_text_lines(path), path)
    elif suffix == ".tsv":
        table = _tsv(_text_lines(path), path)
    else:
        table = _csv(_text_lines(path), path)
    if len(table) == 0:
        raise DataError(f"{path}: holds no rows; write one line per segment, ended by LF, below the column names.")
    return table


def _text_lines(path: Path) -> list[str]:
    """The lines of a text file, unpacked where it is gzip, without empty ones at the end."""
    size = path.stat().st_size
    if size > LARGEST_TABLE:
        raise DataError(f"{path}: has {counted(size, 'byte')}, more than {LARGEST_TABLE:,}; {SPLIT}")
    raw = read_bytes(path)
    # By its first bytes, not by its name: a file may be compressed without saying so.
    if raw.startswith(GZIP):
        raw = gunzip(raw, str(path), LARGEST_TABLE, SPLIT)
    lines = decode_lines(raw, str(path))
    while lines and lines[-1] == "":
        lines.pop()
    if not lines:
        raise DataError(f"{path}: the file is empty; the first line must hold the column names.")
    return lines


def _csv(lines: list[str], path: Path) -> TableFile:
    """A table of CSV lines, the first of which holds the column names and tells the separator."""
    # Of as many, the first of SEPARATORS.
    separator = max(SEPARATORS, key=lines[0].count)
    rows, ends = _csv_records(lines, path, separator)
    header = rows[0]
    for values, end in zip(rows, ends, strict=True):
        _check_fields(values, len(header), f"{path}, line {end}")

    def column(name: str) -> list[Any]:
        index = header.index(name)
        return [values[index] for values in rows[1:]]

    def place(index: int) -> str:
        return f"line {ends[index + 1]}"

    return TableFile(path, header, len(rows) - 1, column, place)


def _tsv(lines: list[str], path: Path) -> TableFile:
    """A table of TSV lines, kept in Arrow: a million rows of Python's texts take several times the room."""
    import pyarrow.compute as pc

    names = lines[0].split("\t")
    for number, line in enumerate(lines, start=1):
        if line.count("\t") + 1 != len(names):
            _check_fields(line.split("\t"), len(names), f"{path}, line {number}")
    fields = pc.split_pattern(_in_arrow(lines), "\t").flatten()

    def column(name: str) -> list[Any]:
        first = len(names) + names.index(name)
        encoded = _taken(fields, np.arange(first, len(fields), len(names))).dictionary_encode()
        # Rows that say the same share one text.
        different = encoded.dictionary.to_pylist()
        return [different[number] for number in encoded.indices.to_pylist()]

    return TableFile(path, names, len(lines) - 1, column, lambda index: f"line {index + 2}")


# What Arrow makes of Python's values, and of arrays, imports pandas: a sixth of the time of a sweep that is cached.
# From buffers it makes the same without.


def _in_arrow(lines: list[str]) -> Any:
    """The lines as Arrow's texts."""
    import pyarrow as pa

    encoded = [line.encode() for line in lines]
    # Large strings: the offsets of the usual ones end at 2 GB of text.
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(line) for line in encoded], out=offsets[1:])
    return pa.LargeStringArray.from_buffers(len(encoded), pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded)))


def _taken(texts: Any, places: Ints) -> Any:
    """The texts at these places, in Arrow."""
    import pyarrow as pa

    return texts.take(pa.Array.from_buffers(pa.int64(), len(places), [None, pa.py_buffer(places)]))


def _check_fields(values: Sequence[str], expected: int, where: str) -> None:
    """Raise DataError for another number of fields than the header has."""
    if len(values) != expected:
        raise DataError(
            f"{where}: {len(values)} fields, but the header has {expected}: {values!r:.80}. "
            "A separator inside a text, or a broken line?"
        )


def _csv_records(lines: list[str], path: Path, separator: str) -> tuple[list[list[str]], list[int]]:
    """The records of a CSV file, and the line that each ends at: a quoted field may hold line feeds."""
    # The line feeds are given back, as those in quoted fields belong to the text.
    parsed = csv.reader((f"{line}\n" for line in lines), strict=True, delimiter=separator)
    records = []
    ends = []
    try:
        for record in parsed:
            records.append(record)
            ends.append(parsed.line_num)
    except csv.Error as error:
        raise DataError(
            f"{path}, line {parsed.line_num}: {error}; check the quotation marks, or save as TSV."
        ) from error
    return records, ends


def _jsonl(lines: list[str], path: Path) -> TableFile:
    """A table of one JSON object per line; a field that is not read may be missing in some.

    Objects that hold all outputs for a source have a row per output (`datasets.nested`).
    """
    records: dict[int, Mapping[str, Any]] = {}
    for row, line in enumerate(lines, start=1):
        if line.strip():
            records[row] = _json_object(line, f"{path}, line {row}")
    # Nested or not is told by the first record; another layout further down is an error of its line.
    if records and is_nested(next(iter(records.values()))):
        return _nested(list(outputs_of(records, str(path))), path)
    numbers = list(records)

    def column(name: str) -> list[Any]:
        values = [record.get(name, ABSENT) for record in records.values()]
        if ABSENT in values:
            line = numbers[values.index(ABSENT)]
            raise DataError(
                f"{path}, line {line}: the field '{visible(name)}' is missing but there in other lines; write it in "
                "every line, null where there is nothing."
            )
        return values

    names = list(dict.fromkeys(chain.from_iterable(records.values())))
    return TableFile(path, names, len(records), column, lambda index: f"line {numbers[index]}")


def _json_object(line: str, where: str) -> dict[str, Any]:
    """The object that a line holds. Raises DataError for anything else, or a field that is there twice."""
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


def _nested(outputs: Sequence[Output], path: Path) -> TableFile:
    """A table with a row per output, of records that hold all outputs for a source."""
    columns = columns_of(outputs)

    def place(index: int) -> str:
        return outputs[index].place

    return TableFile(path, list(columns), len(outputs), columns.__getitem__, place, outputs)


def _fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object's fields. Raises ValueError for a name that occurs twice: JSON would take the last."""
    record = dict(pairs)
    if len(record) != len(pairs):
        counts = Counter(name for name, _ in pairs)
        name, _ = counts.most_common(1)[0]
        raise ValueError(f"the field '{visible(name)}' is there several times")
    return record


def _parquet(path: Path) -> TableFile:
    """Only the columns that are asked for are read: a few rows at a time, and at most LARGEST_TABLE bytes."""
    import pyarrow as pa
    from pyarrow import parquet

    def damaged(error: Exception, problem: str, way_out: str) -> DataError:
        reason = visible(first_line(error)[:200].rstrip("."))
        return DataError(f"{path}: {problem} ({reason}); {way_out}.")

    try:
        check_readable(path)
        if path.is_fifo():
            raise OSError(errno.ESPIPE, "it is a pipe, in which nothing can be looked up")
        file = parquet.ParquetFile(path)
        names = file.schema_arrow.names
    except (pa.ArrowException, OSError, ValueError) as error:
        raise damaged(error, "not a readable Parquet file", "save or copy it again") from error

    def column(name: str) -> list[Any]:
        values: list[Any] = []
        size = 0
        try:
            for batch in file.iter_batches(BATCH, columns=[name]):
                # Counted while it is unpacked: a small file may hold more than the memory.
                size += batch.nbytes
                if size > LARGEST_TABLE:
                    raise DataError(f"{path}: unpacks to more than {LARGEST_TABLE:,} bytes; {SPLIT}")
                index = batch.schema.names.index(name)
                values += batch.column(index).to_pylist()
            if len(values) != file.metadata.num_rows:
                raise ValueError(f"{len(values)} values in {file.metadata.num_rows} rows")
        # LookupError and OverflowError: a time zone or a date that Python does not know
        except (pa.ArrowException, OSError, ValueError, LookupError, OverflowError) as error:
            way_out = "save it as text or numbers, or copy the file again"
            raise damaged(error, f"the column '{name}' cannot be read", way_out) from error
        return values

    return TableFile(path, names, file.metadata.num_rows, column, lambda index: f"row {index + 1}")
