"""Results tables from Parquet, CSV or Arrow into arrays; every problem names its row."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import numpy as np
from numpy.typing import NDArray

from bmx_grid.analysis.table import FACTORS, Floats, GridTable, LeftOut, Setting, left_out
from bmx_grid.errors import DataError, DataMissingError, unknown
from bmx_grid.measures.grid import Words
from bmx_grid.segments import check_name
from bmx_grid.sweep.output import table_path
from bmx_grid.wording import counted, factor_in_words, first_line, visible

if TYPE_CHECKING:
    import pyarrow as pa

NAMES = (*FACTORS, "side")
NUMBERS = ("w", "p", "correlation")
DECIMALS = 10  # p and w that agree to this many decimals are equal: published grids carry the rounding of their loops
NOT_CONSTANT = 1e-6  # rows with w = 1 may differ by rounding only
MOST_CELLS = 20  # cells of the common grid for every row of the table


def load_table(path: Path, side: str | None = None) -> GridTable:
    """A results table from a Parquet or CSV file (.csv, .csv.gz), or the grid.parquet of a sweep's folder.

    side: which side to take where the table holds several. Raises DataError, DataMissingError.
    """
    file = table_path(path, "grid") if path.is_dir() else path
    if not file.is_file():
        raise DataMissingError(
            f"there is no results table {file}; give a Parquet or CSV file, or the output folder of a sweep."
        )
    return from_arrow(_read(file), side, str(path))


def _read(file: Path) -> pa.Table:
    import pyarrow as pa

    try:
        if file.name.endswith((".csv", ".csv.gz")):
            from pyarrow import csv

            return csv.read_csv(file, convert_options=csv.ConvertOptions(auto_dict_encode=True))
        import pyarrow.parquet as pq

        with pq.ParquetFile(file) as parquet:
            columns = [name for name in parquet.schema_arrow.names if name in (*NAMES, *NUMBERS)]
            return parquet.read(columns)
    except (pa.ArrowException, OSError) as error:
        raise DataError(
            f"{file}: not a readable Parquet or CSV table ({first_line(error)}); save or copy it again."
        ) from error


def from_arrow(table: pa.Table, side: str | None = None, origin: str = "the table") -> GridTable:
    """A results table of the columns dataset, language_pair, metric, explainer, side, w, p, correlation, in any order.

    Settings without one defined correlation of the metric alone are left out, and recorded.
    Raises DataError for missing columns, names that are empty or cannot be part of file names, impossible numbers,
    several sides, points that are missing or given twice, and where nothing is left.
    """
    origin = visible(origin)
    missing = [name for name in (*NAMES, *NUMBERS) if name not in table.column_names]
    if missing:
        raise DataError(
            f"{origin}: no column {', '.join(missing)}; a results table has {', '.join((*NAMES, *NUMBERS))}, "
            f"this one {', '.join(table.column_names) or 'none'}."
        )
    if table.num_rows == 0:
        raise DataError(f"{origin}: the table has no rows.")
    sides, side_codes = _names(table, "side", origin)
    chosen = _choose_side(sides, np.bincount(side_codes, minlength=len(sides)), side, origin)
    records: list[LeftOut] = []
    if len(sides) > 1:
        import pyarrow as pa

        rows = side_codes == sides.index(chosen)
        beside = [f"{name}: {int((side_codes == code).sum()):,}" for code, name in enumerate(sides) if name != chosen]
        records.append(LeftOut(f"another side than {chosen}", int((~rows).sum()), "row", tuple(beside)))
        table = table.filter(pa.array(rows))
    settings, codes = _settings(table, origin)
    (p, p_codes), (w, w_codes) = (_levels(table, name, origin) for name in ("p", "w"))
    if ((w < 0) | (w > 1)).any():
        raise DataError(f"{origin}: w = {w[(w < 0) | (w > 1)][0]:g} is outside [0, 1]; w is the share of the metric.")
    shape = (len(settings), len(p), len(w))
    if math.prod(shape) > max(MOST_CELLS * table.num_rows, 100_000):
        raise DataError(
            f"{origin}: {len(settings):,} settings with {len(p):,} different p and {len(w):,} different w in "
            f"{table.num_rows:,} rows share no grid; analyse tables of one grid each."
        )
    cells = (codes * len(p) + p_codes) * len(w) + w_codes
    cube = np.full(shape, np.nan)
    cube.reshape(-1)[cells] = _correlations(table, origin)
    if not (len(cells) == cube.size and np.array_equal(cells, np.arange(len(cells)))):  # as a sweep writes its rows
        _check_points(cells, settings, p, w, origin)
    found = GridTable(settings, p, w, cube, chosen, (), origin)
    return _checked(found, records)


def _choose_side(sides: list[str], counts: NDArray[np.intp], wanted: str | None, origin: str) -> str:
    strange = [name for name in sides if name not in get_args(Words)]
    if strange:
        raise DataError(f"{origin}: {unknown('side', strange[0], get_args(Words))}")
    told = " and ".join(f"{name} ({count:,} rows)" for name, count in zip(sides, counts, strict=True))
    if wanted is None and len(sides) > 1:
        raise DataError(f"{origin}: the table holds the sides {told}; choose one with side=….")
    if wanted is not None and wanted not in sides:
        raise DataError(f"{origin}: no row of side '{wanted}'; the table holds {told}.")
    return sides[0] if wanted is None else wanted


def _names(table: pa.Table, column: str, origin: str) -> tuple[list[str], NDArray[np.intp]]:
    """The names of a column, sorted, and for each row which."""
    import pyarrow as pa
    import pyarrow.compute as pc

    array = table.column(column)
    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    if not any(fits(kind) for fits in (pa.types.is_string, pa.types.is_large_string, pa.types.is_integer)):
        raise DataError(f"{origin}: column {column} holds {kind}, not names; write them as text.")
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    array = array.unify_dictionaries().combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0)
    if array.null_count:
        row = int(np.flatnonzero(pc.is_null(array).to_numpy(zero_copy_only=False))[0])
        raise DataError(f"{origin}: row {row + 1} has no {column}.")
    try:
        given = [str(name) for name in array.dictionary.to_pylist()]
    except UnicodeDecodeError as error:
        raise DataError(f"{origin}: column {column} holds text that is not UTF-8 ({error.reason}).") from error
    codes = array.indices.to_numpy().astype(np.intp)
    occurring = np.flatnonzero(np.bincount(codes, minlength=len(given)))
    if column in FACTORS:
        for code in occurring:  # they become parts of file names and of columns
            check_name(factor_in_words(column), given[code], f"{origin}: row {int(np.argmax(codes == code)) + 1}")
    names = sorted({given[code] for code in occurring})
    order = {name: code for code, name in enumerate(names)}
    return names, np.array([order.get(name, -1) for name in given], dtype=np.intp)[codes]


def _settings(table: pa.Table, origin: str) -> tuple[tuple[Setting, ...], NDArray[np.intp]]:
    """The settings in their order, and for each row which."""
    columns = {name: _names(table, name, origin) for name in FACTORS}
    code = np.zeros(table.num_rows, dtype=np.intp)
    sorted_by = ("dataset", "explainer", "metric", "language_pair")
    for name in sorted_by:
        code = code * len(columns[name][0]) + columns[name][1]
    there = np.flatnonzero(np.bincount(code))
    settings = []
    for one in there:
        names, rest = {}, int(one)
        for name in reversed(sorted_by):
            rest, index = divmod(rest, len(columns[name][0]))
            names[name] = columns[name][0][index]
        settings.append(Setting(**names))
    return tuple(settings), np.searchsorted(there, code)


def _numbers(table: pa.Table, column: str, origin: str) -> pa.Array:
    import pyarrow as pa

    array = table.column(column)
    kinds = (pa.types.is_floating, pa.types.is_integer, pa.types.is_decimal, pa.types.is_null)
    if not any(fits(array.type) for fits in kinds):
        raise DataError(f"{origin}: column {column} holds {array.type}, not numbers.")
    array = array.cast(pa.float64()).combine_chunks()
    return array.chunk(0) if isinstance(array, pa.ChunkedArray) else array


def _levels(table: pa.Table, column: str, origin: str) -> tuple[Floats, NDArray[np.intp]]:
    """The values of p or w, ascending, and for each row which."""
    encoded = _numbers(table, column, origin).dictionary_encode()
    given = encoded.dictionary.to_numpy(zero_copy_only=False)
    if encoded.null_count or not np.isfinite(given).all():
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        bad = np.isnan(codes) if encoded.null_count else ~np.isfinite(given)[codes]
        raise DataError(f"{origin}: row {int(np.flatnonzero(bad)[0]) + 1} has no finite {column}.")
    values, index = np.unique(np.round(given, DECIMALS) + 0.0, return_inverse=True)
    return values, index.astype(np.intp)[encoded.indices.to_numpy()]


def _correlations(table: pa.Table, origin: str) -> Floats:
    values = np.asarray(_numbers(table, "correlation", origin).to_numpy(zero_copy_only=False), dtype=np.float64)
    outside = np.abs(values) > 1 + 1e-9
    if outside.any():
        row = int(np.flatnonzero(outside)[0])
        raise DataError(f"{origin}: row {row + 1} has the correlation {values[row]:g}, which is not within [-1, 1].")
    return values


def _check_points(cells: NDArray[np.intp], settings: tuple[Setting, ...], p: Floats, w: Floats, origin: str) -> None:
    """Raise DataError for a point that is given twice, or that a setting lacks and another has."""
    if not (w == 1).any():
        return  # GridTable says what is wrong
    n_points = len(p) * len(w)
    counts = np.bincount(cells, minlength=len(settings) * n_points)
    repeated = np.flatnonzero(counts > 1)
    if len(repeated):
        first = int(repeated[0])
        rows = np.flatnonzero(cells == first)[:2] + 1
        more = f", and {counted(len(repeated) - 1, 'other point')} too" if len(repeated) > 1 else ""
        raise DataError(
            f"{origin}: {_point(first, settings, p, w)} is given {counts[first]} times, in rows {rows[0]} and "
            f"{rows[1]}{more}; keep one row for each point of a setting."
        )
    missing = np.flatnonzero(counts == 0)
    if len(missing):
        first = int(missing[0])
        n_missing = int((missing // n_points == first // n_points).sum())
        others = len(set((missing // n_points).tolist())) - 1
        more = f", and {counted(others, 'other setting')} lack points, too" if others else ""
        raise DataError(
            f"{origin}: no row for {_point(first, settings, p, w)}: {n_missing:,} of {n_points:,} points of this "
            f"setting are missing{more}. Run it again, or analyse tables of one grid each."
        )


def _point(cell: int, settings: tuple[Setting, ...], p: Floats, w: Floats) -> str:
    setting, point = divmod(cell, len(p) * len(w))
    row, column = divmod(point, len(w))
    return f"{settings[setting].label} at w = {w[column]:g}, p = {p[row]:g}"


def _checked(found: GridTable, records: list[LeftOut]) -> GridTable:
    """The table without settings whose baseline is undefined or not one number; undefined points are recorded."""
    alone = found.correlation[:, :, ~found.boosted]
    low, high = np.fmin.reduce(alone, axis=(1, 2)), np.fmax.reduce(alone, axis=(1, 2))
    undefined, varies = np.isnan(low), high - low > NOT_CONSTANT
    for reason, flags in (
        ("the correlation at w = 1, the metric alone, is undefined", undefined),
        ("the rows with w = 1, the metric alone, differ over p", varies),
    ):
        if flags.any():
            named = [one.label for one, bad in zip(found.settings, flags, strict=True) if bad]
            records.append(left_out(reason, "setting", named))
    good = ~(undefined | varies)
    if not good.any():
        told = "; ".join(str(record) for record in records)
        raise DataError(f"{found.origin}: no setting is left to analyse. Left out: {told}.")
    if not good.all():
        found = found.take(good)
    holes = np.isnan(found.correlation).sum(axis=(1, 2))
    if holes.any():
        named_holes = tuple(f"{found.settings[one].label}: {holes[one]:,}" for one in np.flatnonzero(holes)[:3])
        records.append(LeftOut("undefined (NaN) correlations", int(holes.sum()), "point", named_holes))
    return GridTable(found.settings, found.p, found.w, found.correlation, found.side, tuple(records), found.origin)
