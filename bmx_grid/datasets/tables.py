"""Users' tables: TSV (never unquoted), CSV and JSONL (an object per line), perhaps gzipped, and Parquet.

Which column plays which role, and what to write where that is not clear.
"""

from __future__ import annotations

import csv
import errno
import json
import re
import shlex
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from bmx_grid.core.errors import ConfigError, DataError, DataMissingError, unknown
from bmx_grid.core.storage import check_readable
from bmx_grid.core.wording import counted, first_line, named, shortened, visible
from bmx_grid.datasets.lines import GZIP, decode_lines, gunzip, read_bytes
from bmx_grid.datasets.nested import Output, columns_of, is_nested, outputs_of
from bmx_grid.words.perturbation import INVISIBLE

TABLE_ENDINGS = (".tsv", ".csv", ".jsonl", ".parquet")
SEPARATORS = (",", ";", "\t", "|")  # of a CSV file; of as many, the first
LARGEST_TABLE = 2_000_000_000  # how large a table, and what it unpacks to, may be
SPLIT = "split it, or leave out columns."
ABSENT = object()  # the value of a JSONL row that lacks the field
BATCH = 256  # rows of Parquet decoded at once: one stored value may decode to a large text in each of them
# Role -> other names that such columns often have, compared as `_plainly` writes them. Sweeps take none of them by
# themselves: they are proposed, so that a configuration says what was read.
_NAMES = Path(__file__).with_name("usual_columns.tsv").read_text(encoding="utf-8").splitlines()[1:]
COLUMN_ROLES = tuple(line.split("\t")[0] for line in _NAMES)
UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
REQUIRED = ("hypothesis", "score")
MANY_COLUMNS = ("score", "reference")  # roles that may have several columns: the first is what metrics use
MOST_LISTED = 30  # columns listed in a message
NO_TEXTS = ("null", "true", "false", "nan", "inf")  # what Hydra reads as something else, in any case
# no number, no signs of a shell
PLAIN = re.compile(r"[A-Za-z_][\w-]*|(?:[A-Za-z_.]|/(?=\w))[\w./-]*[A-Za-z]", re.ASCII)


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
            if (count := self.names.count(name)) != 1:
                there = f"is there {count} times; give each another name" if count else "is needed, and is not there"
                raise DataError(f"{self.path}: the column '{visible(name)}' {there}.")
            columns[name] = self.column(self.raw[self.names.index(name)])
        return columns


def open_table(path: Path) -> TableFile:
    """Open a table; the end of its name says which format. Parsed once, and again when the file has changed.

    The separator of a CSV file is the one that its first line has most of.

    Raises ConfigError for another ending, DataMissingError for no such file; DataError naming file and row for a
    damaged or too large file, a row of the wrong length or a file without rows.
    """
    try:
        state = path.stat()
    except (OSError, ValueError) as error:  # too long, a NUL
        name = shortened(visible(str(path)), 300)
        raise DataMissingError(f"there is no file {name} (looked in {Path.cwd()}); correct the path.") from error
    return _opened(path, (state.st_mtime_ns, state.st_size, state.st_ino))


@lru_cache(maxsize=2)  # every language pair asks for its file
def _opened(path: Path, version: tuple[int, ...]) -> TableFile:
    kind = path.name.lower()
    suffix = Path(kind.removesuffix(".gz")).suffix
    if suffix not in TABLE_ENDINGS or kind.endswith(".parquet.gz"):
        raise ConfigError(
            f"{path}: the name must end in {', '.join(TABLE_ENDINGS)} (.gz may follow, except for .parquet)."
        )
    if suffix == ".parquet":
        table = _parquet(path)
    else:
        lines = _text_lines(path)
        table = _jsonl(lines, path) if suffix == ".jsonl" else _rows(lines, path, suffix)
    if len(table) == 0:
        raise DataError(f"{path}: holds no rows; write one line per segment, ended by LF, below the column names.")
    return table


def _text_lines(path: Path) -> list[str]:
    """The lines of a text file, unpacked where it is gzip, without empty ones at the end."""
    if (size := path.stat().st_size) > LARGEST_TABLE:
        raise DataError(f"{path}: has {counted(size, 'byte')}, more than {LARGEST_TABLE:,}; {SPLIT}")
    raw = read_bytes(path)
    lines = decode_lines(gunzip(raw, str(path), LARGEST_TABLE, SPLIT) if raw.startswith(GZIP) else raw, str(path))
    while lines and lines[-1] in ("", "\r"):
        lines.pop()
    if not lines:
        raise DataError(f"{path}: the file is empty; the first line must hold the column names.")
    return lines


def _rows(lines: list[str], path: Path, suffix: str) -> TableFile:
    """A table of TSV or CSV lines, the first of which holds the column names."""
    if suffix == ".tsv":
        return _tsv(lines, path)
    rows, ends = _csv(lines, path, max(SEPARATORS, key=lines[0].count))
    for values, end in zip(rows, ends, strict=True):
        _check_fields(values, len(rows[0]), f"{path}, line {end}")

    def column(name: str) -> list[Any]:
        index = rows[0].index(name)
        return [values[index] for values in rows[1:]]

    return TableFile(path, rows[0], len(rows) - 1, column, lambda index: f"line {ends[index + 1]}")


def _tsv(lines: list[str], path: Path) -> TableFile:
    """A table of TSV lines, kept in Arrow: a million rows of Python's texts take several times the room."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lines = [line.removesuffix("\r") for line in lines]
    names = lines[0].split("\t")
    fields: Any = pc.split_pattern(pa.array(lines, pa.large_string()), "\t")
    wrong = np.flatnonzero(pc.list_value_length(fields).to_numpy() != len(names))
    for row in wrong[:1].tolist():
        _check_fields(lines[row].split("\t"), len(names), f"{path}, line {row + 1}")

    def column(name: str) -> list[Any]:
        encoded: Any = pc.list_element(fields[1:], names.index(name)).dictionary_encode()
        different = encoded.dictionary.to_pylist()  # rows that say the same share one text
        return [different[number] for number in encoded.indices.to_pylist()]

    return TableFile(path, names, len(lines) - 1, column, lambda index: f"line {index + 2}")


def _check_fields(values: Sequence[str], expected: int, where: str) -> None:
    """Raise DataError for another number of fields than the header has."""
    if len(values) != expected:
        raise DataError(
            f"{where}: {len(values)} fields, but the header has {expected}: {values!r:.80}. "
            "A separator inside a text, or a broken line?"
        )


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


def _jsonl(lines: list[str], path: Path) -> TableFile:
    """A table of one JSON object per line; a field that is not read may be missing in some.

    Objects that hold all outputs for a source have a row per output (`datasets.nested`).
    """
    records: dict[int, Mapping[str, Any]] = {}
    for row, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line, object_pairs_hook=_fields)
            if not isinstance(record, dict):
                raise ValueError("no object with named fields")
        except (ValueError, RecursionError) as error:
            raise DataError(
                f"{path}, line {row}: not a JSON object ({error}): {line[:80]!r}; write one per line, without an array "
                "or document around them, or call a table with columns .tsv or .csv."
            ) from error
        records[row] = record
    if records and is_nested(next(iter(records.values()))):
        return _nested(list(outputs_of(records, str(path))), path)
    numbers = list(records)

    def column(name: str) -> list[Any]:
        values = [record.get(name, ABSENT) for record in records.values()]
        if ABSENT in values:
            raise DataError(
                f"{path}, line {numbers[values.index(ABSENT)]}: the field '{visible(name)}' is missing but there in "
                "other lines; write it in every line, null where there is nothing."
            )
        return values

    names = list(dict.fromkeys(chain.from_iterable(records.values())))
    return TableFile(path, names, len(records), column, lambda index: f"line {numbers[index]}")


def _nested(outputs: Sequence[Output], path: Path) -> TableFile:
    """A table with a row per output, of records that hold all outputs for a source."""
    columns = columns_of(outputs)
    return TableFile(
        path, list(columns), len(outputs), columns.__getitem__, lambda index: outputs[index].place, outputs
    )


def _fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object's fields. Raises ValueError for a name that occurs twice: JSON would take the last."""
    record = dict(pairs)
    if len(record) != len(pairs):
        name, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ValueError(f"the field '{visible(name)}' is there several times")
    return record


def _parquet(path: Path) -> TableFile:
    """Only the columns that are asked for are read: a few rows at a time, and at most MAX_BYTES."""
    import pyarrow as pa
    from pyarrow import parquet

    def damaged(error: Exception, what: str, way_out: str = "save or copy it again") -> DataError:
        reason = visible(first_line(error)[:200].rstrip("."))
        return DataError(f"{path}: {what} ({reason}); {way_out}.")

    try:
        check_readable(path)
        if path.is_fifo():
            raise OSError(errno.ESPIPE, "it is a pipe, in which nothing can be looked up")
        file = parquet.ParquetFile(path)
        names = file.schema_arrow.names
    except (pa.ArrowException, OSError, ValueError) as error:
        raise damaged(error, "not a readable Parquet file") from error

    def column(name: str) -> list[Any]:
        values: list[Any] = []
        size = 0
        try:
            for batch in file.iter_batches(BATCH, columns=[name]):
                size += batch.nbytes
                if size > LARGEST_TABLE:
                    raise DataError(f"{path}: unpacks to more than {LARGEST_TABLE:,} bytes; {SPLIT}")
                values += batch.column(batch.schema.names.index(name)).to_pylist()
            if len(values) != file.metadata.num_rows:
                raise ValueError(f"{len(values)} values in {file.metadata.num_rows} rows")
        except (pa.ArrowException, OSError, ValueError, LookupError, OverflowError) as error:  # a time zone, a date
            way_out = "save it as text or numbers, or copy the file again"
            raise damaged(error, f"the column '{name}' cannot be read", way_out) from error
        return values

    return TableFile(path, names, file.metadata.num_rows, column, lambda index: f"row {index + 1}")


def recognised(
    names: Sequence[str],
    given: Mapping[str, Sequence[str]],
    needed: Sequence[str],
    where: str,
    way_out: str,
    *,
    proposes: bool = False,
) -> dict[str, tuple[str, ...]]:
    """role -> its columns, of the roles that have one: the given ones, else the one of the role's own or a usual name.

    names: the columns that are free; needed: roles without which nothing can be done; with a hypothesis that is also a
    source or a reference. way_out: what to write, for a role and a column (two `{}`). proposes: whether columns of a
    usual name are not taken, only named in the message. Raises ConfigError for an unknown role or column, DataError for
    needed roles without a column, all in one sentence.
    """
    for role, columns in given.items():
        if role not in COLUMN_ROLES:
            raise ConfigError(f"{where}: columns: {unknown('role', role, COLUMN_ROLES)}")
        if not columns or len(set(columns)) < len(columns) or (len(columns) > 1 and role not in MANY_COLUMNS):
            several = "one or more, each once" if role in MANY_COLUMNS else "one column"
            raise ConfigError(f"{where}: columns: {role} is [{', '.join(columns)}]; name {several}.")
        for name in columns:
            if name not in names:
                raise ConfigError(f"{where}: columns: {role}: {unknown('column', name, names)}")
    roles = {role: tuple(columns) for role, columns in given.items()}
    usual = usual_columns([name for name in names if name.isprintable()], roles)
    if proposes:
        roles = {role: (role,) for role in COLUMN_ROLES if role in names} | roles
    else:
        roles |= {role: (name,) for role, name in usual.items()}
    missing = [role for role in needed if role not in roles]
    if "hypothesis" in needed and not {"source", "reference"} & roles.keys():
        missing.append("source or reference")
    if missing:
        advice = {role: name for role, name in usual.items() if role not in roles}
        advice |= {role.split()[0]: "NAME" for role in missing if not set(role.split()) & advice.keys()}
        raise DataError(
            f"{where} has no column for {', '.join(missing)} among {first_few(names) or 'none'}. Name them: "
            + " ".join(way_out.format(role, name) for role, name in advice.items())
        )
    return {role: roles[role] for role in COLUMN_ROLES if role in roles}


def named_roles(arguments: Sequence[str]) -> dict[str, str]:
    """role -> column, from arguments ROLE=COLUMN. Raises ConfigError."""
    columns: dict[str, str] = {}
    for argument in arguments:
        role, _, column = argument.partition("=")
        if not column:
            raise ConfigError(f"--columns {argument}: write ROLE=COLUMN, with one of {', '.join(COLUMN_ROLES)}.")
        if role in columns:
            raise ConfigError(f"--columns: the {role} is given twice; name one column.")
        columns[role] = column
    return columns


def usual_columns(names: Sequence[str], taken: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """role -> its column, of the roles not in `taken` that a column's own or usual name (in any case) stands for.

    A column plays one role. Of several usual names of a role, the one that stands first in the list is taken.
    """
    used = set(chain.from_iterable(taken.values()))
    chosen: dict[str, str] = {}
    for exact in (True, False):  # a column that is named as a role is of that role
        for role in COLUMN_ROLES:
            wanted = [_plainly(role)] if exact else USUAL[role]
            usual = [name for name in names if name not in used and _plainly(name) in wanted]
            if role not in taken and role not in chosen and usual:
                chosen[role] = min(usual, key=lambda name: wanted.index(_plainly(name)))
                used.add(chosen[role])
    return chosen


def _plainly(name: str) -> str:
    """A column's name in small letters and digits only, umlauts in two letters: Satz-ID, satz_id and SatzID are one."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", name).lower().translate(UMLAUTS))


USUAL: dict[str, list[str]] = {}
for _line in _NAMES:
    _role, _names = _line.split("\t")
    USUAL[_role] = [_plainly(_name) for _name in _names.split()]


def override(key: str, value: str) -> str:
    """An override with a text as its value, as it is typed into a shell."""
    if PLAIN.fullmatch(value) and value.lower() not in NO_TEXTS:
        return f"{key}={value}"
    return in_shell(f"{key}={quoted(value)}")


def in_shell(word: str) -> str:
    """A word as it is typed into a shell: signs that no terminal shows as their bytes, between $' and '."""
    if word.isprintable():
        return shlex.quote(word)
    signs = {"\\": r"\\", "'": r"\'"}
    escaped = [
        signs.get(sign, sign) if sign.isprintable() else "".join(f"\\x{byte:02x}" for byte in sign.encode())
        for sign in word
    ]
    return f"$'{''.join(escaped)}'"


def quoted(text: str, mark: str = '"') -> str:
    """A text between quotation marks, as an override has it: Hydra removes backslashes only before such a mark."""
    inner = re.sub(rf"(\\*)({mark}|\Z)", lambda end: end[1] * 2 + ("\\" + mark if end[2] else ""), text)
    return f"{mark}{inner}{mark}"


def first_few(names: Sequence[str]) -> str:
    """Column names as a message lists them: the first ones, and how many more there are."""
    return named([name[:60] if name.strip() and name.isprintable() else repr(name[:60]) for name in names], MOST_LISTED)
