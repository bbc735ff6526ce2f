"""Users' tables: TSV (never unquoted), CSV and JSONL (an object per line), perhaps gzipped, and Parquet."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from bmx_grid.core.errors import ConfigError, DataError, DataMissingError
from bmx_grid.core.wording import counted, first_line, shortened, visible
from bmx_grid.datasets.lines import GZIP, decode_lines, gunzip, read_bytes, refuse_cr_alone
from bmx_grid.words.text import INVISIBLE

FORMATS = (".tsv", ".csv", ".jsonl", ".parquet")
SEPARATORS = (",", ";", "\t", "|")  # of a CSV file; of as many, the first
MAX_BYTES = 2_000_000_000  # how large a table, and what it unpacks to, may be
SPLIT = "split it, or leave out columns."
PARQUET = b"PAR1"
OTHER_FILES = {  # how files of other kinds begin
    PARQUET: "a Parquet file; give it a name that ends in .parquet",
    b"PK\x03\x04": "a ZIP archive or an Excel workbook; save the table as TSV, CSV or JSONL",
    b"\xd0\xcf\x11\xe0": "an Excel workbook; save the table as TSV, CSV or JSONL",
}
ABSENT = object()  # the value of a JSONL row that lacks the field
BATCH = 256  # rows of Parquet decoded at once: one stored value may decode to a large text in each of them
KEPT = 2  # tables that stay in memory, as every language pair asks for its file


@dataclass(eq=False)
class Table:
    """A file with named columns of n values each.

    raw: the columns in order, as they are in the file. column(name): the values of one of them. place(index): where row
    `index` (from 0) stands, as messages show it: "line 3". names: `raw` without blanks and invisible characters at
    their ends; a name that occurs several times matters only when that column is read.
    """

    path: Path
    raw: Sequence[str]
    rows: int
    column: Callable[[str], list[Any]]
    place: Callable[[int], str]

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
        found = {}
        for name in names:
            if (count := self.names.count(name)) != 1:
                there = f"is there {count} times; give each another name" if count else "is needed, and is not there"
                raise DataError(f"{self.path}: the column '{visible(name)}' {there}.")
            found[name] = self.column(self.raw[self.names.index(name)])
        return found


def open_table(path: Path, lists: Sequence[str] = ()) -> Table:
    """Open a table; the end of its name says which format. Parsed once, and again when the file has changed.

    The separator of a CSV file is the one that its first line has most of. lists: columns that may hold lists.

    Raises ConfigError for another ending, DataMissingError for no such file; DataError naming file and row for a
    damaged or too large file, a row of the wrong length or a file without rows.
    """
    try:
        state = path.stat()
    except (OSError, ValueError) as error:  # too long, a NUL
        name = shortened(visible(str(path)), 300)
        raise DataMissingError(f"there is no file {name} (looked in {Path.cwd()}); correct the path.") from error
    return _opened(path, (state.st_mtime_ns, state.st_size, state.st_ino), tuple(lists))


@lru_cache(maxsize=KEPT)
def _opened(path: Path, version: tuple[int, ...], lists: tuple[str, ...]) -> Table:
    kind = path.name.lower().removesuffix(".gz")
    suffix = Path(kind).suffix
    if suffix not in FORMATS or (suffix == ".parquet" and path.name.lower().endswith(".gz")):
        raise ConfigError(f"{path}: the name must end in {', '.join(FORMATS)} (.gz may follow, except for .parquet).")
    if suffix == ".parquet":
        table = _parquet(path, lists)
    else:
        lines = _text_lines(path)
        table = _jsonl(lines, path) if suffix == ".jsonl" else _rows(lines, path, suffix)
    if len(table) == 0:
        raise DataError(f"{path}: holds no rows; write one line per segment below the column names.")
    return table


def _text_lines(path: Path) -> list[str]:
    """The lines of a text file, unpacked where it is gzip, without empty ones at the end."""
    if (size := path.stat().st_size) > MAX_BYTES:
        raise DataError(f"{path}: has {counted(size, 'byte')}, more than {MAX_BYTES:,}; {SPLIT}")
    raw = read_bytes(path)
    if raw.startswith(GZIP):
        raw = gunzip(raw, str(path), MAX_BYTES, SPLIT)
    elif path.name.lower().endswith(".gz"):
        raise DataError(f"{path}: is not compressed with gzip, although its name ends in .gz; rename it.")
    for beginning, kind in OTHER_FILES.items():
        if raw.startswith(beginning):
            raise DataError(f"{path}: is {kind}.")
    lines = decode_lines(raw, str(path))
    while lines and lines[-1] in ("", "\r"):
        lines.pop()
    if not lines:
        raise DataError(f"{path}: the file is empty; the first line must hold the column names.")
    refuse_cr_alone(lines, path)
    return lines


def _rows(lines: list[str], path: Path, suffix: str) -> Table:
    """A table of TSV or CSV lines, the first of which holds the column names."""
    if lines[0].startswith(("{", "[{")):
        raise DataError(
            f"{path}, line 1: JSON, not column names: {lines[0][:80]!r}; write one object per line into a .jsonl."
        )
    if suffix == ".tsv":
        rows, ends = [line.removesuffix("\r").split("\t") for line in lines], list(range(1, len(lines) + 1))
        if len(rows[0]) == 1 and "," in lines[0]:
            raise DataError(
                f"{path}, line 1: no tabs, but commas: {lines[0]!r:.80}; name the file .csv, or save it as TSV."
            )
    else:
        rows, ends = _csv(lines, path, max(SEPARATORS, key=lines[0].count))
    if not any(rows[0]):
        raise DataError(f"{path}, line {ends[0]}: holds no column names.")
    for values, end in zip(rows, ends, strict=True):
        if len(values) != len(rows[0]):
            raise DataError(
                f"{path}, line {end}: {len(values)} fields, but the header has {len(rows[0])}: {values!r:.80}. "
                "A separator inside a text, or a broken line?"
            )

    def column(name: str) -> list[Any]:
        index = rows[0].index(name)
        return [values[index] for values in rows[1:]]

    return Table(path, rows[0], len(rows) - 1, column, lambda index: f"line {ends[index + 1]}")


def _csv(lines: list[str], path: Path, separator: str) -> tuple[list[list[str]], list[int]]:
    """The records of a CSV file, and the line that each ends at: a quoted field may hold line feeds."""
    parsed = csv.reader((f"{line}\n" for line in lines), strict=True, delimiter=separator)
    try:
        rows, ends = zip(*((record, parsed.line_num) for record in parsed), strict=True)
    except csv.Error as error:
        raise DataError(
            f"{path}, line {parsed.line_num}: {error}; check the quotation marks, or save as TSV."
        ) from error
    return list(rows), list(ends)


def _jsonl(lines: list[str], path: Path) -> Table:
    """A table of one JSON object per line; a field that is not read may be missing in some."""
    records = {row: _record(line, path, row) for row, line in enumerate(lines, start=1) if line.strip()}
    numbers = list(records)

    def column(name: str) -> list[Any]:
        values = [record.get(name, ABSENT) for record in records.values()]
        if ABSENT in values:
            raise DataError(
                f"{path}, line {numbers[values.index(ABSENT)]}: the field '{visible(name)}' is missing but there in "
                "other lines; write it in every line, null where there is nothing."
            )
        return values

    names = list(dict.fromkeys(name for record in records.values() for name in record))
    return Table(path, names, len(records), column, lambda index: f"line {numbers[index]}")


def _record(line: str, path: Path, row: int) -> Mapping[str, Any]:
    try:
        record = json.loads(line, object_pairs_hook=_fields)
        problem = "expected an object with named fields"
    except (ValueError, RecursionError) as error:
        record, problem = None, f"not JSON ({error})"
    if not isinstance(record, dict):
        way_out = "write one object per line, without an array or document around them"
        if not line.startswith(("[", "{")):
            way_out = "is it a table with columns, that should be called .tsv or .csv?"
        raise DataError(f"{path}, line {row}: {problem}; {way_out}: {line[:80]!r}")
    return record


def _fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object's fields. Raises ValueError for a name that occurs twice: JSON would take the last."""
    record = dict(pairs)
    if len(record) != len(pairs):
        name, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ValueError(f"the field '{visible(name)}' is there several times")
    return record


def _parquet(path: Path, lists: Collection[str]) -> Table:
    """Only the columns that are asked for are read: a few rows at a time, and at most MAX_BYTES."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(path)
        schema = file.schema_arrow
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{path}: not a readable Parquet file ({_reason(error)}); save or copy it again.") from error
    left = MAX_BYTES

    def column(name: str) -> list[Any]:
        nonlocal left
        kind = schema.field(name).type
        if not _readable(kind, nested=name.strip(INVISIBLE) in lists):
            raise DataError(f"{path}: the column '{name}' holds {kind}; write texts, or numbers for scores and ids.")
        values: list[Any] = []
        try:
            for batch in file.iter_batches(BATCH, columns=[name]):
                left -= batch.nbytes
                if left < 0:
                    raise DataError(f"{path}: unpacks to more than {MAX_BYTES:,} bytes; {SPLIT}")
                values += batch.column(batch.schema.names.index(name)).to_pylist()
        except (pa.ArrowException, OSError, ValueError) as error:
            raise DataError(
                f"{path}: the column '{name}' cannot be read ({_reason(error)}); save or copy it again."
            ) from error
        if len(values) != file.metadata.num_rows:
            raise DataError(
                f"{path}: the column '{name}' has {len(values)} values in {file.metadata.num_rows} rows, as a damaged "
                "file has; copy it again."
            )
        return values

    return Table(path, schema.names, file.metadata.num_rows, column, lambda index: f"row {index + 1}")


def _readable(kind: Any, *, nested: bool) -> bool:
    """Texts, whole numbers, decimals, floats and truth values, as dictionaries (categories) or `nested` lists too."""
    from pyarrow import types

    if types.is_dictionary(kind) or (nested and (types.is_list(kind) or types.is_large_list(kind))):
        kind = kind.value_type
        if types.is_struct(kind):
            return nested
    tests = (types.is_string, types.is_large_string, types.is_string_view, types.is_integer, types.is_floating)
    return any(test(kind) for test in (*tests, types.is_decimal, types.is_boolean, types.is_null))


def _reason(error: Exception) -> str:
    return visible(first_line(error)[:200].rstrip("."))
