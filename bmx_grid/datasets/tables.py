"""Users' tables: TSV (never unquoted), CSV and JSONL (an object per line), perhaps gzipped, and Parquet."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bmx_grid.datasets.lines import GZIP, decode_lines, gunzip, read_bytes, refuse_cr_alone
from bmx_grid.errors import ConfigError, DataError
from bmx_grid.wording import counted, first_line, visible
from bmx_grid.words.text import INVISIBLE

FORMATS = (".tsv", ".csv", ".jsonl", ".parquet")
SEPARATORS = (",", ";", "\t", "|")  # of a CSV file; of as many, the first
MAX_BYTES = 500_000_000  # how large a table, and what it unpacks to, may be unless a setting says otherwise
PARQUET = b"PAR1"
OTHER_FILES = {  # how files of other kinds begin
    PARQUET: "a Parquet file; give it a name that ends in .parquet",
    b"PK\x03\x04": "a ZIP archive or an Excel workbook; save the table as TSV, CSV or JSONL",
    b"\xd0\xcf\x11\xe0": "an Excel workbook; save the table as TSV, CSV or JSONL",
    b"\xfd7zXZ": "compressed with xz; unpack it, or compress it with gzip",
    b"BZh": "compressed with bzip2; unpack it, or compress it with gzip",
    b"(\xb5/\xfd": "compressed with zstd; unpack it, or compress it with gzip",
    b"%PDF": "a PDF document; save the table as TSV, CSV or JSONL",
}
CSV_ERRORS = {  # part of the csv module's message -> what it means here
    "field larger than": f"a field has more than {csv.field_size_limit():,} characters: a quotation mark left open?",
    "new-line character seen": "a CR inside a field without quotation marks",
    "unexpected end of data": "the file ends inside a quoted field",
}
ABSENT = object()  # the value of a JSONL row that lacks the field
BATCH = 256  # rows of Parquet decoded at once: one stored value may decode to a large text in each of them


class Table:
    """A file with named columns of n values each.

    names: the columns in order, without blanks and invisible characters at their ends; a name that occurs several times
    matters only when that column is read. place(index): where row `index` (from 0) stands, as messages show it:
    "line 3". column(name): the values of a column by its name as it is in the file (`raw`).
    """

    def __init__(
        self,
        path: Path,
        raw: Sequence[str],
        rows: int,
        column: Callable[[str], list[Any]],
        place: Callable[[int], str],
    ) -> None:
        self.path, self.place, self._raw, self._rows, self._column = path, place, tuple(raw), rows, column
        self.names = tuple(name.strip(INVISIBLE) for name in self._raw)

    def __len__(self) -> int:
        return self._rows

    def where(self, index: int) -> str:
        """File and place of a row, for messages."""
        return f"{self.path}, {self.place(index)}"

    def take(self, names: Iterable[str]) -> dict[str, list[Any]]:
        """name -> the n values of each of these columns: texts, or what JSON and Parquet hold.

        Raises DataError naming the column, and the row where it is one, when a column occurs several times or has a
        value that cannot be read.
        """
        found = {}
        for name in names:
            if (count := self.names.count(name)) > 1:
                raise DataError(
                    f"{self.path}: the column '{visible(name)}' is there {count} times; give each another name."
                )
            found[name] = self._column(self._raw[self.names.index(name)])
        return found


def open_table(path: Path, max_bytes: int, separator: str | None, key: str, lists: Collection[str] = ()) -> Table:
    """Open a table; the end of its name says which format.

    max_bytes: how large the file, and what it unpacks to, may be. separator: of a CSV file, None for the one that its
    first line has most of. key: the configuration key of these settings, for the advice in messages. lists: columns
    that may hold lists.

    Raises ConfigError for another ending; DataError naming file and row for a damaged or too large file, a row of the
    wrong length or a file without rows.
    """
    kind = path.name.lower().removesuffix(".gz")
    suffix = Path(kind).suffix
    if suffix not in FORMATS or (suffix == ".parquet" and path.name.lower().endswith(".gz")):
        raise ConfigError(f"{path}: the name must end in {', '.join(FORMATS)} (.gz may follow, except for .parquet).")
    way_out = f"if the table is really that large, set {key}.max_bytes to more."
    size = path.stat().st_size
    if size == 0:
        raise DataError(f"{path}: the file is empty; the first line must hold the column names.")
    if suffix == ".parquet":
        table = _parquet(path, max_bytes, way_out, lists)
    elif size > max_bytes:
        raise DataError(f"{path}: has {counted(size, 'byte')}, more than {max_bytes:,}; {way_out}")
    else:
        lines = _text_lines(path, max_bytes, way_out)
        table = _jsonl(lines, path) if suffix == ".jsonl" else _rows(lines, path, suffix, separator)
    if len(table) == 0:
        raise DataError(f"{path}: holds no rows; write one line per segment below the column names.")
    return table


def _text_lines(path: Path, max_bytes: int, way_out: str) -> list[str]:
    """The lines of a text file, unpacked where it is gzip, without empty ones at the end."""
    raw = read_bytes(path)
    if raw.startswith(GZIP):
        raw = gunzip(raw, str(path), max_bytes, way_out)
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


def _rows(lines: list[str], path: Path, suffix: str, separator: str | None) -> Table:
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
        rows, ends = _csv(lines, path, separator or max(SEPARATORS, key=lines[0].count))
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
    rows: list[list[str]] = []
    ends: list[int] = []
    try:
        for record in parsed:
            rows.append(record)
            ends.append(parsed.line_num)
    except csv.Error as error:
        reason = next((meaning for part, meaning in CSV_ERRORS.items() if part in str(error)), str(error))
        raise DataError(
            f"{path}, line {parsed.line_num}: {reason}; check the quotation marks, or save as TSV."
        ) from error
    return rows, ends


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
    except (ValueError, RecursionError) as error:
        way_out = "write one object per line"
        if line.strip() in ("[", "{"):
            way_out = "JSONL has one object per line, not one document in the whole file"
        elif row == 1 and not line.startswith(("[", "{")):
            way_out = "is it a table with columns, that should be called .tsv or .csv?"
        raise DataError(f"{path}, line {row}: not JSON ({error}); {way_out}: {line[:80]!r}") from error
    if isinstance(record, list):
        raise DataError(
            f"{path}, line {row}: holds a JSON array: {line[:80]!r}; write one object per line, without the array."
        )
    if not isinstance(record, dict):
        raise DataError(f"{path}, line {row}: expected an object with named fields, got {line[:80]!r}")
    return record


def _fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object's fields. Raises ValueError for a name that occurs twice: JSON would take the last."""
    record = dict(pairs)
    if len(record) != len(pairs):
        name, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ValueError(f"the field '{visible(name)}' is there several times")
    return record


def _parquet(path: Path, max_bytes: int, way_out: str, lists: Collection[str]) -> Table:
    """Only the columns that are asked for are read: a few rows at a time, and at most `max_bytes` bytes."""
    import pyarrow as pa
    from pyarrow import parquet

    with path.open("rb") as raw:
        if raw.read(len(PARQUET)) != PARQUET:
            raise DataError(f"{path}: not a Parquet file, although its name says so; rename it as what it is.")
    try:
        file = parquet.ParquetFile(path)
        schema = file.schema_arrow
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{path}: not a readable Parquet file ({_reason(error)}); save or copy it again.") from error
    left = max_bytes

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
                    raise DataError(f"{path}: unpacks to more than {max_bytes:,} bytes; {way_out}")
                for value in batch.column(batch.schema.names.index(name)):
                    values.append(value.as_py())
        except UnicodeDecodeError as error:
            raise DataError(
                f"{path}, row {len(values) + 1}: the column '{name}' is not UTF-8 ({error.reason}); write texts."
            ) from error
        except (pa.ArrowException, OSError, ValueError) as error:
            raise DataError(
                f"{path}: the column '{name}' cannot be read ({_reason(error)}); save or copy it again."
            ) from error
        if len(values) != file.metadata.num_rows:
            raise DataError(f"{path}: the column '{name}' has {len(values)} values in {len(table)} rows; damaged?")
        return values

    table = Table(path, schema.names, file.metadata.num_rows, column, lambda index: f"row {index + 1}")
    return table


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
