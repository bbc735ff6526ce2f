"""The tables of a sweep as its questions read them: one reader for files, Arrow tables and frames.

A question requests a table by its name and the class of its rows; other tables are not read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from bmx_grid.core.errors import DataError, DataMissingError, quote_value
from bmx_grid.core.storage import check_regular
from bmx_grid.core.wording import escape_unprintable, first_line
from bmx_grid.evaluations.base import NAMES, ColumnKind, SettingRow, columns_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

DTYPES: dict[ColumnKind, Any] = {"text": object, "number": np.float64, "count": np.int64, "flag": np.bool_}
EDITED = "it is of another version, or was edited: run the sweep again (cached scores are reused)"


class Tables(Mapping[str, "pd.DataFrame"]):
    """The tables of a sweep by name, as frames; read when they are requested.

    sources: by name the file, the Arrow table or the frame.
    """

    def __init__(self, sources: Mapping[str, Path | pa.Table | pd.DataFrame]) -> None:
        self._sources = dict(sources)
        self._frames: dict[str, pd.DataFrame] = {}
        self._checked: dict[tuple[str, type], pd.DataFrame] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)

    def __contains__(self, name: object) -> bool:
        # Check the name only: `Mapping` would read the table.
        return name in self._sources

    def __getitem__(self, name: str) -> pd.DataFrame:
        """A table as a frame; names of settings are texts, not codes. Raises DataError for a damaged file."""
        if name not in self._frames:
            table = self._arrow(name)
            self._frames[name] = as_frame(table, self._origin(name))
        return self._frames[name]

    def checked_table(self, name: str, row: type) -> pd.DataFrame:
        """A table with the columns of a class of rows; without rows if it is missing.

        Raises DataError that names the file, and the column of another type than its field in `row` or the duplicated
        row.
        """
        import pandas as pd

        if (name, row) not in self._checked:
            if name in self._sources:
                frame = checked_frame(self._arrow(name), row, self._origin(name))
            else:
                frame = pd.DataFrame({column: pd.Series(dtype=DTYPES[kind]) for column, kind in kinds_of(row).items()})
            self._checked[name, row] = frame
        return self._checked[name, row]

    def _origin(self, name: str) -> str:
        source = self._sources[name]
        if isinstance(source, Path):
            return str(source)
        return f"the table {name}"

    def _arrow(self, name: str) -> pa.Table:
        import pyarrow as pa

        source = self._sources[name]
        if isinstance(source, Path):
            return read_arrow(source)
        if isinstance(source, pa.Table):
            return source
        return pa.Table.from_pandas(source, preserve_index=False)


def checked_frame(table: pa.Table, row: type, origin: str) -> pd.DataFrame:
    """The columns that a class of rows has. Raises DataError as `Tables.checked_table`."""
    import pandas as pd

    cells = checked_columns(table, row, origin)
    kinds = kinds_of(row)
    return pd.DataFrame({name: pd.Series(values, dtype=DTYPES[kinds[name]]) for name, values in cells.items()})


def kinds_of(row: type) -> dict[str, ColumnKind]:
    """Map the columns of a table, by the class of its rows, to their kinds; the names of the setting first."""
    names = NAMES if issubclass(row, SettingRow) else ()
    kinds: dict[str, ColumnKind] = dict.fromkeys(names, "text")
    return kinds | columns_of(row)


def checked_columns(table: pa.Table, row: type, origin: str) -> dict[str, list[Any]]:
    """The values of the columns that a class of rows has, by name. Raises DataError as `Tables.checked_table`."""
    kinds = kinds_of(row)
    table = _add_later_columns(table, row)
    check_columns(table, kinds, origin)
    cells = {}
    for name, kind in kinds.items():
        cells[name] = _values(table, name, kind)
    for name, hint in get_type_hints(row, include_extras=True).items():
        if get_origin(hint) is Literal:
            _check_labels(cells[name], name, get_args(hint), origin)
    columns_of_key = list(kinds)
    key = getattr(row, "KEY", None)
    if key is not None:
        names = NAMES if issubclass(row, SettingRow) else ()
        columns_of_key = [*names, *key]
    key_cells = [cells[name] for name in columns_of_key]
    keys = list(zip(*key_cells, strict=True))
    _check_once(keys, origin)
    return cells


def _add_later_columns(table: pa.Table, row: type) -> pa.Table:
    """The table with the columns that an earlier version did not write, as NaN."""
    import pyarrow as pa

    for name in getattr(row, "LATER", ()):
        if name not in table.column_names:
            table = table.append_column(name, pa.array([math.nan] * len(table), pa.float64()))
    return table


def check_columns(
    table: pa.Table, kinds: Mapping[str, ColumnKind], origin: Path | str, empty: Sequence[str] = ()
) -> None:
    """Raise DataError unless a table has exactly one column of each name, of the expected kind.

    empty: columns of texts that may be empty in some rows.
    """
    import pyarrow as pa

    for name, kind in kinds.items():
        count = table.column_names.count(name)
        if count == 0:
            raise _table_error(origin, f"no column {name}")
        if count > 1:
            raise _table_error(origin, f"more than one column {name}")
        stored_type = table.schema.field(name).type
        value_type = stored_type
        if pa.types.is_dictionary(stored_type):
            value_type = stored_type.value_type
        if not _holds(kind, value_type):
            raise _table_error(origin, f"the column {name} holds {stored_type}, not {kind}s")
        # An empty number is undefined; an empty name or count is damage.
        may_be_empty = kind == "number" or name in empty
        if table.column(name).null_count and not may_be_empty:
            raise _table_error(origin, f"the column {name} has empty cells")
    _check_names(table, origin)


def _check_names(table: pa.Table, origin: Path | str) -> None:
    names = table.column_names
    for name in names:
        if names.count(name) > 1:
            raise _table_error(origin, f"more than one column {escape_unprintable(name)}")


def _table_error(origin: Path | str, problem: str) -> DataError:
    """The error of a table that no sweep of this version wrote so."""
    return DataError(f"{origin}: {problem}; {EDITED}.")


def _holds(kind: ColumnKind, arrow_type: Any) -> bool:
    """Whether one of Arrow's types holds values of this kind."""
    from pyarrow import types

    by_kind: dict[ColumnKind, Sequence[Any]] = {
        # A column of texts without a value has the type null.
        "text": (types.is_string, types.is_large_string, types.is_null),
        "number": (types.is_floating, types.is_integer),
        "count": (types.is_integer,),
        "flag": (types.is_boolean,),
    }
    return any(is_type(arrow_type) for is_type in by_kind[kind])


def _values(table: pa.Table, name: str, kind: ColumnKind) -> list[Any]:
    """The values of a column; empty numbers are NaN."""
    column = table.column(name)
    values: list[Any]
    if kind == "number":
        # Not by `to_pylist`, which makes None of an empty number.
        numbers = np.asarray(column.to_numpy(), dtype=np.float64)
        values = numbers.tolist()
    else:
        values = column.to_pylist()
    return values


def _check_labels(values: Sequence[str], name: str, labels: Sequence[str], origin: str) -> None:
    """Raise DataError for a value that is not one of the labels of a column."""
    for number, value in enumerate(values, 1):
        if value not in labels:
            expected = ", ".join(map(repr, labels))
            raise _table_error(origin, f"row {number}: unknown {name} {quote_value(value)}; expected one of {expected}")


def _check_once(keys: Sequence[tuple[Any, ...]], origin: str) -> None:
    """Raise DataError for duplicated or contradictory rows."""
    # Mostly all differ: only a damaged table is gone through row by row.
    if len(set(keys)) == len(keys):
        return
    seen = set()
    for number, key in enumerate(keys, 1):
        if key in seen:
            # Cut: a value may be a whole text.
            parts = [escape_unprintable(str(value))[:60] for value in key]
            label = " · ".join(parts)
            raise _table_error(origin, f"row {number} repeats {label}")
        seen.add(key)


def read_arrow(path: Path) -> pa.Table:
    """Any table that a sweep wrote. Raises DataMissingError if it is missing, DataError if it is damaged."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        check_regular(path)
        with pq.ParquetFile(path) as file:
            return file.read()
    except FileNotFoundError as error:
        raise DataMissingError(f"{path} not found; give the folder of a finished sweep.") from error
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{path}: not a readable Parquet file ({first_line(error)}); run the sweep again.") from error


def read_frame(path: Path) -> pd.DataFrame:
    """Read any table that a sweep wrote, as a frame; errors as in `read_arrow`."""
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
    categories = frame.select_dtypes("category")
    return frame.astype(dict.fromkeys(categories, object))
