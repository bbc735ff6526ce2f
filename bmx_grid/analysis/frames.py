"""The other tables of a sweep, which questions read beside its grid: what was tested, what boosts reach, ….

A sweep hands them over; for a results table they are the Parquet files beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bmx_grid.analysis.basis import is_of
from bmx_grid.analysis.table import FACTORS, GridTable
from bmx_grid.errors import DataError
from bmx_grid.sweep.output import table_path
from bmx_grid.wording import first_line

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

TABLES = (
    *(
        "points",
        "tests",
        "boosts",
        "verdicts",
        "seeds",
        "correlations",
        "systems",
        "ranking",
        "ceilings",
        "words",
        "word_tags",
        "word_boosts",
        "top_systems",
        "ranks",
        "top_differences",
        "difficulty",
        "difficult_words",
    ),
    "scores",
)
MOST_ROWS = 200_000  # of a table that is read whole; more segments are for the user's own statistics


def frames_of(tables: Mapping[str, pa.Table], names: Sequence[str] = TABLES) -> dict[str, pd.DataFrame]:
    """Those of a sweep's tables that questions read, by name; names of settings are texts, not codes."""
    return {name: _frame(tables[name]) for name in names if name in tables and tables[name].num_rows <= MOST_ROWS}


def frames_beside(table: GridTable) -> dict[str, pd.DataFrame]:
    """The tables in the folder of a results table, by name; none where the folder is that of another table.

    A file that is absent, damaged, or has no names of settings is left out.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = Path(table.origin)
    folder = path if path.is_dir() else path.parent
    if not is_of(table, folder):
        return {}
    found: dict[str, pa.Table] = {}
    for name in TABLES:
        try:
            with pq.ParquetFile(table_path(folder, name)) as file:
                if file.metadata.num_rows <= MOST_ROWS and set(FACTORS[:2]) <= set(file.schema_arrow.names):
                    found[name] = file.read()
        except (OSError, pa.ArrowException):  # absent or damaged: of no use
            continue
    return frames_of(found)


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
