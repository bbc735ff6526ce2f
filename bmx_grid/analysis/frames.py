"""The other tables of a sweep, which questions read beside its grid: what was tested, what boosts reach, ….

A sweep hands them over; for a results table they are the Parquet files beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bmx_grid.analysis.table import FACTORS, GridTable
from bmx_grid.errors import DataError
from bmx_grid.sweep.output import table_path
from bmx_grid.wording import first_line

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


@dataclass(frozen=True)
class Basis:
    """What correlations rest on: "pearson", "spearman" or "kendall", None where it is not known; the name of the mean.

    segments: by (data set, language pair) how many segments there are; used: on how many of them correlations rest,
    those with a human score and an explanation. Both are the most of any setting, and empty where it is not known.
    """

    correlation: str | None = None
    aggregation: str | None = None
    segments: Mapping[tuple[str, str], int] = field(default_factory=dict)
    used: Mapping[tuple[str, str], int] = field(default_factory=dict)


UNKNOWN = Basis()


def basis_of(frames: Mapping[str, pd.DataFrame]) -> Basis:
    """The basis of a sweep, from its frame `settings`; an empty one without it."""
    if "settings" not in frames:
        return UNKNOWN
    settings = frames["settings"]
    correlation, aggregation = (
        str(settings[name].iloc[0]) if settings[name].nunique() == 1 else None
        for name in ("correlation", "aggregation")
    )
    most: Any = settings.groupby(list(FACTORS[:2]))[["n_segments", "n_used"]].max()
    return Basis(correlation, aggregation, most["n_segments"].to_dict(), most["n_used"].to_dict())


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
