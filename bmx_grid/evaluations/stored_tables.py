"""The tables of a sweep as its questions read them: one reader for files, Arrow tables and frames.

A question asks for a table by its name and the class of its rows; what it does not ask for is not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

import numpy as np

from bmx_grid.core.errors import DataError, DataMissingError, shown
from bmx_grid.core.wording import first_line, visible
from bmx_grid.evaluations.base import COLUMN_KINDS, NAMES, ColumnKind, Estimate, SettingRow, columns_of, fields_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

RowClass = TypeVar("RowClass")
_ColumnKinds = Mapping[str, ColumnKind]
EDITED = "it is of another version, or was edited: run the sweep again (what was scored is kept)"


class Tables(Mapping[str, "pd.DataFrame"]):
    """The tables of a sweep by name, as frames, or as rows of a class; read when they are asked for.

    sources: by name the file, the Arrow table or the frame.
    """

    def __init__(self, sources: Mapping[str, Path | pa.Table | pd.DataFrame]) -> None:
        self._sources = dict(sources)
        self._rows: dict[tuple[str, type], list[Any]] = {}
        self._frames: dict[str, pd.DataFrame] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)

    def __getitem__(self, name: str) -> pd.DataFrame:
        """A table as a frame; names of settings are texts, not codes. Raises DataError for a damaged file."""
        if name not in self._frames:
            self._frames[name] = as_frame(self._arrow(name), self._origin(name))
        return self._frames[name]

    def rows(self, name: str, row: type[RowClass]) -> list[RowClass]:
        """The rows of a table; none of one that is not there.

        Raises DataError naming the file and the column that does not hold what a field of `row` does, or the row that
        is there twice.
        """
        if name not in self._sources:
            return []
        if (name, row) not in self._rows:
            self._rows[name, row] = rows_of(self._arrow(name), row, self._origin(name))
        return self._rows[name, row]

    def _origin(self, name: str) -> str:
        source = self._sources[name]
        return str(source) if isinstance(source, Path) else f"the table {name}"

    def _arrow(self, name: str) -> pa.Table:
        import pyarrow as pa

        source = self._sources[name]
        if isinstance(source, Path):
            return read_arrow(source)
        return source if isinstance(source, pa.Table) else pa.Table.from_pandas(source, preserve_index=False)


def rows_of(table: pa.Table, row: type[RowClass], origin: str) -> list[RowClass]:
    """The rows of a table as objects of their class. Raises DataError as `Tables.rows`."""
    cells = checked_columns(table, row, origin)
    columns_of_field = fields_of(row)
    values: dict[str, Sequence[Any]] = {}
    for field in fields(cast(Any, row)):
        kind, columns = columns_of_field.get(field.name, (str, (field.name,)))
        parts = [cells[column] for column in columns]
        values[field.name] = parts[0] if kind in COLUMN_KINDS else list(map(Estimate, *parts))
    # By keyword: the names of a setting, and all fields of some classes, are given in no other way.
    rows = []
    for values_of_row in zip(*values.values(), strict=True):
        rows.append(row(**dict(zip(values, values_of_row, strict=True))))
    return rows


def checked_columns(table: pa.Table, row: type, origin: str) -> dict[str, list[Any]]:
    """The values of the columns that a class of rows has, by name. Raises DataError as `Tables.rows`."""
    names = NAMES if issubclass(row, SettingRow) else ()
    kinds: dict[str, ColumnKind] = {**dict.fromkeys(names, "text"), **columns_of(row)}
    check_columns(table, kinds, origin)
    cells = {name: _values(table, name, kind) for name, kind in kinds.items()}
    for name, hint in get_type_hints(row, include_extras=True).items():
        if get_origin(hint) is Literal:
            _check_labels(cells[name], name, get_args(hint), origin)
    key_of_setting = getattr(row, "KEY", None)
    key = list(kinds) if key_of_setting is None else [*names, *key_of_setting]
    keys = zip(*(cells[name] for name in key), strict=True)
    _check_once(list(keys), origin)
    return cells


def check_columns(table: pa.Table, kinds: _ColumnKinds, origin: Path | str, empty: Sequence[str] = ()) -> None:
    """Raise DataError unless a table has these columns, once each, which hold what they should.

    empty: columns of texts that may be empty in some rows.
    """
    import pyarrow as pa

    for name, kind in kinds.items():
        count = table.column_names.count(name)
        if count != 1:
            raise DataError(f"{origin}: {'no' if count == 0 else 'more than one'} column {name}; {EDITED}.")
        stored_type = table.schema.field(name).type
        value_type = stored_type.value_type if pa.types.is_dictionary(stored_type) else stored_type
        if not any(fits(value_type) for fits in _types(kind)):
            raise DataError(f"{origin}: the column {name} holds {stored_type}, not {kind}s; {EDITED}.")
        # An empty number is undefined; an empty name or count is damage.
        if kind != "number" and name not in empty and table.column(name).null_count:
            raise DataError(f"{origin}: the column {name} has empty cells; {EDITED}.")
    _check_names(table, origin)


def _check_names(table: pa.Table, origin: Path | str) -> None:
    for name in table.column_names:
        if table.column_names.count(name) > 1:
            raise DataError(f"{origin}: more than one column {visible(name)}; {EDITED}.")


def _types(kind: ColumnKind) -> tuple[Callable[[Any], bool], ...]:
    """Which of Arrow's types hold values of this kind."""
    from pyarrow import types

    by_kind: dict[ColumnKind, tuple[Callable[[Any], bool], ...]] = {
        "text": (types.is_string, types.is_large_string, types.is_null),
        "number": (types.is_floating, types.is_integer),
        "count": (types.is_integer,),
        "flag": (types.is_boolean,),
    }
    return by_kind[kind]


def _values(table: pa.Table, name: str, kind: ColumnKind) -> list[Any]:
    """The values of a column; empty numbers are NaN."""
    column = table.column(name)
    # Not by `to_pylist`, which makes None of an empty number.
    is_number = kind == "number"
    values: list[Any] = np.asarray(column.to_numpy(), dtype=np.float64).tolist() if is_number else column.to_pylist()
    return values


def _check_labels(values: Sequence[str], name: str, labels: Sequence[str], origin: str) -> None:
    """Raise DataError for a value that is none of the labels of a column."""
    for place, value in enumerate(values):
        if value not in labels:
            there_are = ", ".join(map(repr, labels))
            raise DataError(f"{origin}: row {place + 1}: the {name} {shown(value)} is none of {there_are}; {EDITED}.")


def _check_once(keys: Sequence[tuple[Any, ...]], origin: str) -> None:
    """Raise DataError for a row that is there twice, or says of the same thing something else."""
    # Mostly all differ: only a damaged table is gone through row by row.
    if len(set(keys)) == len(keys):
        return
    seen = set()
    for place, key in enumerate(keys):
        if key in seen:
            label = " · ".join(visible(str(value))[:60] for value in key)
            raise DataError(f"{origin}: row {place + 1} is of {label} again; {EDITED}.")
        seen.add(key)


def read_arrow(path: Path) -> pa.Table:
    """Any table that a sweep wrote. Raises DataMissingError where it is not there, DataError where it is damaged."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            return file.read()
    except FileNotFoundError as error:
        raise DataMissingError(f"{path} is not there; name the folder of a finished sweep.") from error
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{path}: not a readable Parquet file ({first_line(error)}); run the sweep again.") from error


def read_frame(path: Path) -> pd.DataFrame:
    """As `read_arrow`, as a frame."""
    return as_frame(read_arrow(path), path)


def as_frame(table: pa.Table, origin: Path | str = "the sweep") -> pd.DataFrame:
    """A table as a frame. Raises DataError for values that a frame cannot hold, such as dates far away."""
    import pyarrow as pa

    _check_names(table, origin)
    try:
        frame: pd.DataFrame = table.to_pandas()
    except (pa.ArrowException, ValueError, OverflowError) as error:
        raise DataError(f"{origin}: cannot be read ({first_line(error)}); run the sweep again.") from error
    # Categories of one table do not compare with those of another.
    return frame.astype(dict.fromkeys(frame.select_dtypes("category"), object))
