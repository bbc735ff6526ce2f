"""Tables from files: a results table as arrays, every problem with its row; the other tables of its sweep as frames."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from bmx_grid.analysis.table import FACTORS, Floats, GridTable, Setting
from bmx_grid.core.errors import DataError, DataMissingError, unknown
from bmx_grid.core.wording import counted, factor_in_words, first_line, visible
from bmx_grid.datasets.segments import check_name
from bmx_grid.measures.grid import Words
from bmx_grid.sweep.output import table_path

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

OF_GRIDS = ("settings", "points", "tests", "boosts", "verdicts", "seeds", "ceilings", "scores")
OF_METRICS = ("correlations", "systems", "ranking", "top_systems", "ranks", "top_differences", "thresholds")
OF_TASKS = ("task_ranking", "human_ranking", "outliers")
OF_WORDS = ("words", "word_tags", "word_boosts", "difficulty", "difficult_words")
TABLES = (*OF_GRIDS, *OF_METRICS, *OF_TASKS, *OF_WORDS)
MOST_ROWS = 200_000  # of a table that is read whole; more segments are for the user's own statistics
EQUAL = 1e-12  # baselines of the same run: written twice from one number


def frames_of(tables: Mapping[str, pa.Table]) -> dict[str, pd.DataFrame]:
    """Those of a sweep's tables that questions read, by name; names of settings are texts, not codes."""
    return {name: _frame(tables[name]) for name in TABLES if name in tables and tables[name].num_rows <= MOST_ROWS}


def frames_beside(table: GridTable) -> dict[str, pd.DataFrame]:
    """The tables in the folder of a results table, by name; none where the folder is that of another table.

    A file that is absent, damaged, or has no names of settings is left out.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = Path(table.origin)
    folder = path if path.is_dir() else path.parent
    tables: dict[str, pa.Table] = {}
    for name in TABLES:
        try:
            with pq.ParquetFile(table_path(folder, name)) as file:
                if file.metadata.num_rows <= MOST_ROWS and set(FACTORS[:2]) <= set(file.schema_arrow.names):
                    tables[name] = file.read()
        except (OSError, pa.ArrowException):  # absent or damaged: of no use
            continue
    frames = frames_of(tables)
    return frames if _is_of(table, frames.get("settings")) else {}


def _is_of(table: GridTable, settings: pd.DataFrame | None) -> bool:
    """Whether a frame `settings` has every setting of the table, with the same correlation of the metric alone."""
    if settings is None or not {*FACTORS, "baseline", "correlation", "aggregation", "n_used"} <= set(settings.columns):
        return False
    both = table.frame.merge(settings, on=list(FACTORS), how="left", suffixes=("", "_beside"))
    differs = (both["baseline"] - both["baseline_beside"]).abs()
    undefined = both["baseline"].isna() & both["baseline_beside"].isna()
    return bool(((differs <= EQUAL) | undefined).all())


def read_frame(path: Path) -> pd.DataFrame:
    """A table that a sweep wrote. Raises DataError for a file that is damaged."""
    import pandas as pd
    import pyarrow as pa

    try:
        return pd.read_parquet(path)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{path}: not a readable Parquet file ({first_line(error)}); run the sweep again.") from error


def _frame(table: pa.Table) -> pd.DataFrame:
    import pandas as pd

    frame: pd.DataFrame = table.to_pandas()
    for name in frame.columns:
        if isinstance(frame[name].dtype, pd.CategoricalDtype):
            frame[name] = frame[name].astype(object)
    return frame


NAMES = (*FACTORS, "side")
NUMBERS = ("w", "p", "correlation")
SORTED_BY = ("dataset", "explainer", "metric", "language_pair")
DECIMALS = 10  # p and w that agree to this many decimals are equal: published grids carry the rounding of their loops
NOT_CONSTANT = 1e-6  # rows with w = 1 may differ by rounding only
MOST_CELLS = 20  # cells of the common grid for every row of the table

Codes = NDArray[np.intp]


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
    sides, of_side = _names(table, "side", origin)
    chosen = _choose_side(sides, np.bincount(of_side), side, origin)
    records: list[str] = []
    if len(sides) > 1:
        rows = np.flatnonzero(of_side == sides.index(chosen))
        others = [f"{name}: {(of_side == code).sum():,}" for code, name in enumerate(sides) if name != chosen]
        records.append(_left_out(f"another side than {chosen}", table.num_rows - len(rows), "row", others))
        table = table.take(rows)
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
    cells = np.ravel_multi_index((codes, p_codes, w_codes), shape)
    cube = np.full(math.prod(shape), np.nan)
    cube[cells] = _correlations(table, origin)
    if (w == 1).any():  # GridTable says what is wrong without it
        _check_points(cells, settings, p, w, origin)
    return _checked(GridTable(settings, p, w, cube.reshape(shape), chosen, (), origin), records)


def _choose_side(sides: list[str], counts: Codes, wanted: str | None, origin: str) -> str:
    strange = [name for name in sides if name not in get_args(Words)]
    if strange:
        raise DataError(f"{origin}: {unknown('side', strange[0], get_args(Words))}")
    held = " and ".join(f"{name} ({count:,} rows)" for name, count in zip(sides, counts, strict=True))
    if wanted is None and len(sides) > 1:
        raise DataError(f"{origin}: the table holds the sides {held}; choose one with side=….")
    if wanted is not None and wanted not in sides:
        raise DataError(f"{origin}: no row of side '{wanted}'; the table holds {held}.")
    return sides[0] if wanted is None else wanted


def _names(table: pa.Table, column: str, origin: str) -> tuple[list[str], Codes]:
    """The names of a column, sorted, and for each row which."""
    import pandas as pd
    import pyarrow as pa

    values = table.column(column)
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if not any(fits(kind) for fits in (pa.types.is_string, pa.types.is_large_string, pa.types.is_integer)):
        raise DataError(f"{origin}: column {column} holds {kind}, not names; write them as text.")
    try:
        codes, names = pd.factorize(values.to_pandas())
        texts = [str(name) for name in names]
    except UnicodeDecodeError as error:
        raise DataError(f"{origin}: column {column} holds text that is not UTF-8 ({error.reason}).") from error
    if (codes < 0).any():
        raise DataError(f"{origin}: row {int(np.argmax(codes < 0)) + 1} has no {column}.")
    for code, name in enumerate(texts if column in FACTORS else ()):  # they become parts of file names and of columns
        check_name(factor_in_words(column), name, f"{origin}: row {int(np.argmax(codes == code)) + 1}")
    places = np.argsort(np.argsort(np.array(texts, dtype=object)))
    return sorted(texts), places[codes]


def _settings(table: pa.Table, origin: str) -> tuple[tuple[Setting, ...], Codes]:
    """The settings in their order, and for each row which."""
    import pandas as pd

    columns = {name: _names(table, name, origin) for name in FACTORS}
    sizes = [len(columns[name][0]) for name in SORTED_BY]
    combined = np.ravel_multi_index([columns[name][1] for name in SORTED_BY], sizes)
    codes, occurring = pd.factorize(combined, sort=True)
    places = dict(zip(SORTED_BY, np.unravel_index(occurring, sizes), strict=True))
    names = ([columns[factor][0][place] for place in places[factor]] for factor in FACTORS)
    return tuple(Setting(*setting) for setting in zip(*names, strict=True)), codes


def _numbers(table: pa.Table, column: str, origin: str) -> Floats:
    import pyarrow as pa

    values: Any = table.column(column)
    kinds = (pa.types.is_floating, pa.types.is_integer, pa.types.is_decimal, pa.types.is_null)
    if not any(fits(values.type) for fits in kinds):
        raise DataError(f"{origin}: column {column} holds {values.type}, not numbers.")
    return np.asarray(values.cast(pa.float64()).to_numpy(), dtype=np.float64)


def _levels(table: pa.Table, column: str, origin: str) -> tuple[Floats, Codes]:
    """The values of p or w, ascending, and for each row which."""
    import pandas as pd

    values = _numbers(table, column, origin)
    if not np.isfinite(values).all():
        raise DataError(f"{origin}: row {int(np.argmin(np.isfinite(values))) + 1} has no finite {column}.")
    codes, levels = pd.factorize(np.round(values, DECIMALS) + 0.0, sort=True)
    return levels, codes


def _correlations(table: pa.Table, origin: str) -> Floats:
    values = _numbers(table, "correlation", origin)
    outside = np.abs(values) > 1 + 1e-9
    if outside.any():
        row = int(np.argmax(outside))
        raise DataError(f"{origin}: row {row + 1} has the correlation {values[row]:g}, which is not within [-1, 1].")
    return values


def _check_points(cells: Codes, settings: tuple[Setting, ...], p: Floats, w: Floats, origin: str) -> None:
    """Raise DataError for a point that is given twice, or that a setting lacks and another has."""
    shape = (len(settings), len(p), len(w))
    counts = np.bincount(cells, minlength=math.prod(shape)).reshape(shape)
    for cell in np.argwhere(counts > 1)[:1]:
        rows = np.flatnonzero(cells == np.ravel_multi_index(tuple(cell), shape))[:2] + 1
        others = int((counts > 1).sum()) - 1
        more = f", and {counted(others, 'other point')} too" if others else ""
        raise DataError(
            f"{origin}: {_point(cell, settings, p, w)} is given {counts[tuple(cell)]} times, in rows {rows[0]} and "
            f"{rows[1]}{more}; keep one row for each point of a setting."
        )
    for cell in np.argwhere(counts == 0)[:1]:
        lacking = (counts == 0).sum(axis=(1, 2))
        others = int((lacking > 0).sum()) - 1
        more = f", and {counted(others, 'other setting')} lack points, too" if others else ""
        raise DataError(
            f"{origin}: no row for {_point(cell, settings, p, w)}: {lacking[cell[0]]:,} of {len(p) * len(w):,} points "
            f"of this setting are missing{more}. Run it again, or analyse tables of one grid each."
        )


def _point(cell: Codes, settings: tuple[Setting, ...], p: Floats, w: Floats) -> str:
    setting, row, column = cell
    return f"{settings[setting].label} at w = {w[column]:g}, p = {p[row]:g}"


def _checked(table: GridTable, records: list[str]) -> GridTable:
    """The table without settings whose baseline is undefined or not one number; undefined points are recorded."""
    alone = table.correlation[:, :, ~table.boosted]
    low, high = np.fmin.reduce(alone, axis=(1, 2)), np.fmax.reduce(alone, axis=(1, 2))
    undefined, varies = np.isnan(low), high - low > NOT_CONSTANT
    for reason, flags in (
        ("the correlation at w = 1, the metric alone, is undefined", undefined),
        ("the rows with w = 1, the metric alone, differ over p", varies),
    ):
        if flags.any():
            named = [setting.label for setting, bad in zip(table.settings, flags, strict=True) if bad]
            records.append(_left_out(reason, len(named), "setting", named))
    table = table.take(~(undefined | varies))
    if not len(table):
        raise DataError(f"{table.origin}: no setting is left to analyse. Left out: {'; '.join(records)}.")
    holes = np.isnan(table.correlation).sum(axis=(1, 2))
    if holes.any():
        named = [f"{table.settings[row].label}: {holes[row]:,}" for row in np.flatnonzero(holes)]
        records.append(_left_out("undefined (NaN) correlations", int(holes.sum()), "point", named))
    return replace(table, left_out=tuple(records))


def _left_out(reason: str, count: int, unit: str, examples: Sequence[str]) -> str:
    """What the analysis does not use of a table, with the first three of it."""
    return f"{counted(count, unit)}: {reason} (e.g. {'; '.join(examples[:3])})"
