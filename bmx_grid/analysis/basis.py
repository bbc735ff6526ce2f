"""What the numbers of a results table rest on, beyond the table itself: which correlation, how many segments.

A sweep knows it from its results, and writes it beside its grid, in settings.parquet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from bmx_grid.analysis.table import FACTORS, GridTable, Setting
from bmx_grid.evaluations.significance import Band, TestsOfSetting
from bmx_grid.sweep.output import table_path
from bmx_grid.sweep.results import SettingResult

COLUMNS = (*FACTORS, "correlation", "aggregation", "baseline", "n_segments", "n_used")
EQUAL = 1e-12  # baselines of the same run: written twice from one number


@dataclass(frozen=True)
class Basis:
    """correlation: "pearson", "spearman" or "kendall", None where it is not known; aggregation: the name of the mean.

    segments: by (data set, language pair) how many segments there are; used: on how many of them correlations rest,
    those with a human score and an explanation. Both are the most of any setting, and empty where it is not known.
    bands: 95 % intervals of the correlations at one w, of the settings whose grids a sweep has tested.
    """

    correlation: str | None = None
    aggregation: str | None = None
    segments: Mapping[tuple[str, str], int] = field(default_factory=dict)
    used: Mapping[tuple[str, str], int] = field(default_factory=dict)
    bands: Mapping[Setting, Band] = field(default_factory=dict, compare=False)


UNKNOWN = Basis()


def basis_of(results: Iterable[SettingResult]) -> Basis:
    """The basis of finished settings."""
    results = list(results)
    found = _basis(
        {
            "dataset": one.dataset,
            "language_pair": one.language_pair,
            "correlation": one.correlation,
            "aggregation": one.aggregation,
            "n_segments": one.n_segments,
            "n_used": one.grid.n_used,
        }
        for one in results
    )
    bands = ((Setting(*one.names), band_of(one)) for one in results)
    return replace(found, bands={setting: own for setting, own in bands if own is not None})


def band_of(result: SettingResult) -> Band | None:
    """The intervals of the correlations of a setting at the shown w; None where the sweep did not test its grid."""
    found = result.evaluated.get("tests")
    return found.band if isinstance(found, TestsOfSetting) else None


def basis_beside(table: GridTable) -> Basis:
    """The basis of a table, from the settings.parquet beside its file; an empty one where there is none.

    A file of another table (it lacks a setting, or a baseline differs) is ignored: the basis is
    then empty, too.
    """
    path = Path(table.origin)
    rows = _rows_of(table, path if path.is_dir() else path.parent)
    return UNKNOWN if rows is None else _basis(rows[setting] for setting in table.settings)


def is_of(table: GridTable, folder: Path) -> bool:
    """Whether the files of a folder are those of the sweep that wrote the table, by the settings.parquet there."""
    return _rows_of(table, folder) is not None


def _rows_of(table: GridTable, folder: Path) -> dict[Setting, dict[str, Any]] | None:
    rows = _rows(table_path(folder, "settings"))
    if rows is None:
        return None
    for setting, baseline in zip(table.settings, table.baseline.tolist(), strict=True):
        row = rows.get(setting)
        if row is None or not np.isclose(row["baseline"], baseline, rtol=0, atol=EQUAL, equal_nan=True):
            return None
    return rows


def _basis(rows: Iterable[Mapping[str, Any]]) -> Basis:
    rows = list(rows)
    segments, used = (_most(rows, column) for column in ("n_segments", "n_used"))
    return Basis(_one(rows, "correlation"), _one(rows, "aggregation"), segments, used)


def _most(rows: Iterable[Mapping[str, Any]], column: str) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    for row in rows:
        pair = str(row["dataset"]), str(row["language_pair"])
        found[pair] = max(found.get(pair, 0), int(row[column]))
    return found


def _one(rows: Iterable[Mapping[str, Any]], column: str) -> str | None:
    """The value that all rows share; None when they do not."""
    found = {str(row[column]) for row in rows}
    return found.pop() if len(found) == 1 else None


def _rows(path: Path) -> dict[Setting, dict[str, Any]] | None:
    """The rows by setting; None when there is no such file or it belongs to another table."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        found = pq.read_table(path, columns=list(COLUMNS)).to_pylist()
    except (OSError, pa.ArrowException):  # absent, damaged, or of other columns: of no use
        return None
    return {Setting(*(str(row[factor]) for factor in FACTORS)): row for row in found}
