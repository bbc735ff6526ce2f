"""What the numbers of a results table rest on, beyond the table itself: which correlation, how many segments.

A sweep writes it beside its grid, in settings.parquet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bmx_grid.analysis.table import FACTORS, GridTable, Setting

BESIDE = "settings.parquet"
COLUMNS = (*FACTORS, "correlation", "aggregation", "baseline", "n_used")
EQUAL = 1e-12  # baselines of the same run: written twice from one number


@dataclass(frozen=True)
class Basis:
    """correlation: "pearson", "spearman" or "kendall", None where it is not known; aggregation: the name of the mean.

    segments: by (data set, language pair) how many segments the correlations rest on, the most of any setting; empty
    where it is not known.
    """

    correlation: str | None = None
    aggregation: str | None = None
    segments: Mapping[tuple[str, str], int] = field(default_factory=dict)


def basis_beside(table: GridTable) -> Basis:
    """The basis of a table, from the settings.parquet beside its file; an empty one where there is none.

    A file of another table (it lacks a setting, or a baseline differs) is ignored: the basis is
    then empty, too.
    """
    path = Path(table.origin)
    rows = _rows((path if path.is_dir() else path.parent) / BESIDE)
    if rows is None:
        return Basis()
    for setting, baseline in zip(table.settings, table.baseline.tolist(), strict=True):
        row = rows.get(setting)
        if row is None or not np.isclose(row["baseline"], baseline, rtol=0, atol=EQUAL, equal_nan=True):
            return Basis()
    used = [rows[setting] for setting in table.settings]
    segments: dict[tuple[str, str], int] = {}
    for row in used:
        pair = row["dataset"], row["language_pair"]
        segments[pair] = max(segments.get(pair, 0), int(row["n_used"]))
    return Basis(_one(used, "correlation"), _one(used, "aggregation"), segments)


def _one(rows: list[dict[str, Any]], column: str) -> str | None:
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
