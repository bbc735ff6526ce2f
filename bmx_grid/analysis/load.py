"""A results table as arrays, every problem with its row; and the other tables of its sweep."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from bmx_grid.analysis.base import FACTORS, GridTable, SettingKey
from bmx_grid.core.errors import DataError, DataMissingError, unknown
from bmx_grid.core.ragged import Floats
from bmx_grid.core.storage import check_name, is_file, is_folder
from bmx_grid.core.wording import escape_unprintable, factor_in_words, first_line, join_names, pluralize
from bmx_grid.evaluations.base import columns_of
from bmx_grid.evaluations.stored_tables import Tables
from bmx_grid.measures.grid import UsedWords
from bmx_grid.sweep.folder import table_files, table_path
from bmx_grid.sweep.judge import SettingResult
from bmx_grid.sweep.tables import SettingsRow, sort_results, version_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

EQUAL = 1e-12  # baselines of the same run: written twice from one number
TEXT_COLUMNS = (*FACTORS, "side")  # columns of a results table
NUMBER_COLUMNS = ("w", "p", "correlation")
COLUMNS_OF_GRIDS = (*TEXT_COLUMNS, *NUMBER_COLUMNS)
SORTED_BY = ["dataset", "explainer", "metric", "language_pair"]
DECIMALS = 10  # p and w that agree to this many decimals are equal: published grids carry the rounding of their loops
NOT_CONSTANT = 1e-6  # rows with w = 1 may differ by rounding only


def sibling_tables(table: GridTable) -> Tables:
    """The tables of the sweep in the folder of its results table; none if they are of another table.

    Warns of tables of another version, which are not read. Raises DataError if the table of settings is damaged.
    """
    path = Path(table.origin)
    folder = path if path.is_dir() else path.parent
    files = table_files(folder)
    tables = Tables(files)
    # Without it the other tables cannot be matched to a sweep.
    if "settings" not in files:
        return Tables({})
    settings = files["settings"]
    known = set(tables["settings"].columns)
    needed = (*FACTORS, *(name for name in columns_of(SettingsRow) if name not in SettingsRow.LATER))
    missing = [name for name in needed if name not in known]
    if missing:
        warnings.warn(
            f"{settings}: no column {', '.join(missing)}; it was written by {version_of(settings)}, "
            "or edited. The tables of its folder are ignored. Run the sweep again (cached scores are reused).",
            stacklevel=2,
        )
        return Tables({})
    if not _is_of(table, tables):
        return Tables({})
    return tables


def _is_of(table: GridTable, tables: Tables) -> bool:
    """Whether the tables of a sweep know every setting of the table, with the same correlation of the baseline."""
    settings = tables.checked_table("settings", SettingsRow)[[*FACTORS, "baseline"]]
    beside = table.names.merge(settings, on=list(FACTORS), how="left")["baseline"].to_numpy()
    # A comparison with NaN is false: a setting that the tables lack makes them those of another table.
    equal = np.abs(table.baseline - beside) <= EQUAL
    return bool(equal.all())


def load_table(path: Path) -> GridTable:
    """A results table from a Parquet or CSV file (.csv, .csv.gz), or the grid.parquet of a sweep's folder.

    Raises DataError, DataMissingError.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow import csv

    file = table_path(path, "grid") if is_folder(path) else path
    if not is_file(file):
        tables: list[str] = []
        if is_folder(path):
            tables = sorted(other.name for other in path.glob("*.parquet"))
            if (path / "log.txt").is_file() and not tables and not any((path / "tables").glob("*")):
                log = path / "log.txt"
                raise DataMissingError(f"{path} holds no results: no setting of its sweep has ended. Read why: {log}")
        there = f" (that folder holds {join_names(tables)})" if tables else ""
        raise DataMissingError(
            f"results table not found: {file}{there}; give a Parquet or CSV file, or the output folder of a sweep."
        )
    try:
        if file.name.endswith((".csv", ".csv.gz")):
            # Names repeat for every point of a grid: a dictionary holds each one time.
            options = csv.ConvertOptions(auto_dict_encode=True)
            table = csv.read_csv(file, convert_options=options)
        else:
            with pq.ParquetFile(file) as parquet:
                columns = [name for name in parquet.schema_arrow.names if name in COLUMNS_OF_GRIDS]
                table = parquet.read(columns)
    except (pa.ArrowException, OSError) as error:
        raise DataError(
            f"{file}: not a readable Parquet or CSV table ({first_line(error)}); save or copy it again."
        ) from error
    return from_arrow(table, str(path))


def grids_of_results(results: Iterable[SettingResult], origin: str) -> GridTable:
    """The grids of finished settings of one sweep, as they were computed: arrays, that need not be made of rows.

    Raises DataError if none can be analysed.
    """
    finished = sort_results(results)
    spec = finished[0].spec
    assert spec is not None
    # As they are read from a file.
    p = _round_values(np.asarray(spec.p))
    w = _round_values(np.asarray(spec.w))
    origin = escape_unprintable(origin)
    _check_alone(w, origin)
    settings = tuple(SettingKey(*result.names) for result in finished)
    correlation = np.stack([result.grid.correlation for result in finished])
    table = GridTable(settings, p, w, correlation, spec.side, origin=origin)
    return _drop_undefined_baselines(table)


def _round_values(values: Floats) -> Floats:
    """Numbers in the decimals that count; -0.0 becomes 0.0."""
    return np.round(values, DECIMALS) + 0.0


def from_arrow(table: pa.Table, origin: str = "the table") -> GridTable:
    """The grids of a table of the columns dataset, language_pair, metric, explainer, side, w, p, correlation.

    Columns and rows are in any order; further columns are not read.
    Settings without one defined correlation of the baseline are left out, and recorded.
    Raises DataError for missing columns, names that are empty or cannot be part of file names, impossible numbers,
    several sides, missing or duplicated points, and if nothing is left.
    """
    import pandas as pd

    origin = escape_unprintable(origin)
    _check_layout(table, origin)
    columns: dict[str, Any] = {}
    for name in TEXT_COLUMNS:
        columns[name] = _names(table, name, origin)
    for name in NUMBER_COLUMNS:
        columns[name] = _numbers(table, name, origin)
    frame = pd.DataFrame(columns)
    sides = list(frame["side"].cat.categories)
    side = _only_side(sides, origin)
    p = np.unique(frame["p"])
    w = np.unique(frame["w"])
    _check_alone(w, origin)
    _check_points(frame, p, w, origin)
    # Every setting has every point, once: sorted rows fold into a cube.
    n_points = len(p) * len(w)
    frame = frame.sort_values([*SORTED_BY, "p", "w"])
    names = frame[list(FACTORS)].iloc[::n_points].astype(str)
    settings = tuple(SettingKey(*setting) for setting in names.itertuples(index=False))
    correlation = frame["correlation"].to_numpy()
    cube = correlation.reshape(len(settings), len(p), len(w))
    grids = GridTable(settings, p, w, cube, side, origin=origin)
    return _drop_undefined_baselines(grids)


def _check_layout(table: pa.Table, origin: str) -> None:
    """Raise DataError unless a table has rows, and one column of each name of a results table."""
    missing = [name for name in COLUMNS_OF_GRIDS if name not in table.column_names]
    if missing:
        expected = ", ".join(COLUMNS_OF_GRIDS)
        received = ", ".join(table.column_names) or "none"
        raise DataError(
            f"{origin}: no column {', '.join(missing)}; a results table has {expected}, "
            f"this one {received}. Rename columns, or add them."
        )
    for name in COLUMNS_OF_GRIDS:
        if table.column_names.count(name) > 1:
            raise DataError(f"{origin}: more than one column {name}; keep one.")
    if table.num_rows == 0:
        raise DataError(f"{origin}: the table has no rows; run the sweep again.")


def _only_side(sides: Sequence[str], origin: str) -> str:
    """The side that all rows are of. Raises DataError for an unknown one, and for several."""
    known = get_args(UsedWords)
    for side in sides:
        if side not in known:
            raise DataError(f"{origin}: {unknown('side', side, known)}")
    if len(sides) > 1:
        raise DataError(f"{origin}: the table holds the sides {' and '.join(sides)}; keep the rows of one side.")
    return sides[0]


def _check_alone(w: Floats, origin: str) -> None:
    if 1 not in w:
        raise DataError(f"{origin}: no row has w = 1, the baseline of every gain; add 1 to grid.w.")


def _names(table: pa.Table, column: str, origin: str) -> Any:
    """The names of a column as a Series, its categories in ascending order.

    Raises DataError for a row without one, for values that are no text, and for names that cannot be part of file
    names.
    """
    import pyarrow as pa

    stored = table.column(column)
    try:
        values: Any = stored.cast(pa.string()).dictionary_encode().to_pandas()
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise DataError(
            f"{origin}: column {column} holds {stored.type}, not names; write them as text in UTF-8."
        ) from error
    _refuse(values.isna(), f"has no {column}", origin)
    names = values.cat.categories
    # The names of factors become parts of file names and of columns.
    if column in FACTORS:
        for name in names:
            first_row = int((values == name).argmax())
            where = f"{origin}: row {first_row + 1}"
            check_name(factor_in_words(column), name, where)
    return values.cat.reorder_categories(sorted(names))


def _numbers(table: pa.Table, column: str, origin: str) -> Floats:
    """The numbers of a column; of p and w, which are defined, in the decimals that count."""
    import pyarrow as pa

    stored = table.column(column)
    try:
        numbers = stored.cast(pa.float64()).to_numpy()
    except pa.ArrowException as error:
        raise DataError(f"{origin}: column {column} holds {stored.type}, not numbers; correct the table.") from error
    values = np.asarray(numbers, dtype=np.float64)
    if column == "correlation":
        outside = np.abs(values) > 1 + 1e-9
        _refuse(outside, "has a correlation outside [-1, 1]", origin, values)
        return values
    # The powers of a grid may be infinite: the minimum and the maximum.
    _refuse(np.isnan(values), f"has no {column}", origin)
    if column == "w":
        outside = (values < 0) | (values > 1)
        _refuse(outside, "has w outside [0, 1]; w is the share of the metric", origin, values)
    return _round_values(values)


def _refuse(bad: Any, problem: str, origin: str, values: Floats | None = None) -> None:
    """Raise DataError for the first row marked in `bad`, with its value."""
    if bad.any():
        row = int(np.argmax(bad))
        if values is not None:
            problem = f"{problem}: {values[row]:g}"
        raise DataError(f"{origin}: row {row + 1} {problem}; correct the table.")


def _check_points(frame: pd.DataFrame, p: Floats, w: Floats, origin: str) -> None:
    """Raise DataError for a duplicated point, or one that a setting lacks and another has."""
    import pandas as pd

    factors = list(FACTORS)
    point = [*factors, "p", "w"]
    repeated = np.flatnonzero(frame.duplicated(point))
    if len(repeated):
        # The first is enough to correct the table by.
        row = repeated[0]
        *names, power, weight = frame.iloc[row][point]
        setting = SettingKey(*names)
        raise DataError(
            f"{origin}: row {row + 1} repeats {setting.label} at w = {weight:g}, p = "
            f"{power:g}; keep one row for each point of a setting."
        )
    # Without repeats, a setting has all points if it has as many rows as the grid.
    n_points = len(p) * len(w)
    sizes = frame.groupby(factors, observed=True).size()
    short = sizes[sizes < n_points]
    if len(short):
        setting = SettingKey(*short.index[0])
        of_setting = (frame[factors] == list(setting)).all(axis=1)
        known = pd.MultiIndex.from_frame(frame.loc[of_setting, ["p", "w"]])
        missing = pd.MultiIndex.from_product([p, w]).difference(known)
        power, weight = missing[0]
        others = ""
        n_others = len(short) - 1
        if n_others:
            others = f", and {pluralize(n_others, 'other setting')} lack points, too"
        raise DataError(
            f"{origin}: no row for {setting.label} at w = {weight:g}, p = {power:g}: "
            f"{len(missing):,} of {n_points:,} points of this setting are missing{others}. "
            "Run it again, or analyse tables of one grid each."
        )


def _drop_undefined_baselines(table: GridTable) -> GridTable:
    """The table without settings whose baseline is undefined or not one number; undefined points are recorded."""
    alone = table.correlation[:, :, ~table.is_boosted]
    # fmin and fmax pass over NaN: a baseline is known where any power has it.
    low = np.fmin.reduce(alone, axis=(1, 2))
    high = np.fmax.reduce(alone, axis=(1, 2))
    constant = high - low <= NOT_CONSTANT
    undefined = np.isnan(high - low)
    records = []
    for rows, reason in (
        (undefined, "the baseline is undefined: it needs three rated segments, and scores that differ"),
        (~undefined & ~constant, "the baseline, at w = 1, differs between powers p"),
    ):
        labels = [table.settings[row].label for row in np.flatnonzero(rows)]
        if labels:
            settings = pluralize(len(labels), "setting")
            examples = "; ".join(labels[:3])
            records.append(f"{settings}: {reason} (e.g. {examples})")
    # Every gain is relative to the baseline: without it a setting has none.
    table = table.take(constant)
    if not len(table):
        raise DataError(f"{table.origin}: no setting is left to analyse. Left out: {'; '.join(records)}.")
    holes = np.isnan(table.correlation).sum(axis=(1, 2))
    if holes.any():
        labels = []
        for row in np.flatnonzero(holes)[:3]:
            labels.append(f"{table.settings[row].label}: {holes[row]:,}")
        examples = "; ".join(labels)
        points = pluralize(int(holes.sum()), "point")
        records.append(f"{points}: undefined (NaN) correlations (e.g. {examples})")
    return replace(table, left_out=tuple(records))
