"""Compare slices of a data set: correlations and gains by a column (`evaluation.levels.by`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bmx_grid.analysis.base import FACTORS, Column, SweepTables, Table, each_group
from bmx_grid.core.wording import P_VALUE, factor_in_words, file_stem
from bmx_grid.evaluations.base import OF_METRIC
from bmx_grid.evaluations.slices import SliceRow

if TYPE_CHECKING:
    import pandas as pd

MOST_BRIEF_ROWS = 12  # of a table that fits a screen
MOST_ROWS = 400  # of a table that is read; more are written as CSV only
FORM = ".3f"
R = Column("value", "r", FORM, ("value_low", "value_high"))
GAIN = (
    Column("gain", "gain", f"+{FORM}", ("gain_low", "gain_high")),
    Column("p_holm", "p (Holm)", P_VALUE),
    Column("verdict"),
)
SEGMENTS = Column("n_segments", "segments")
NOTES = (
    "Pearson's r with human scores on the segments of a slice; the gain is that of the boosted scores over the "
    "baseline on the same segments. In brackets: 95 % intervals by a bootstrap of clusters.",
    "p (Holm): of a permutation of clusters, corrected for all gains of slices of the sweep together. Points that were "
    "published or chosen on these segments are in-sample.",
)


def compute(tables: SweepTables) -> dict[str, Any]:
    """slices: the baseline once, and every point of each setting, on each slice; empty without slices."""
    rows = tables.frame("slices", SliceRow)
    is_base = rows["verdict"] == "baseline"
    repeated = is_base & rows.assign(base=is_base).duplicated([*OF_METRIC, "by", "slice", "base"])
    return {"slices": rows[~repeated].reset_index(drop=True)}


def tables(result: Mapping[str, Any]) -> Iterator[Table]:
    """A table for each column."""
    slices: pd.DataFrame = result["slices"]
    for column, rows in each_group(slices, "by"):
        columns: tuple[Any, ...] = (*OF_METRIC, "slice", R, SEGMENTS)
        names = 4
        # Metrics without an explainer have no gains.
        if rows["gain"].notna().any():
            columns = (*FACTORS, "slice", "point", R, *GAIN, SEGMENTS)
            names = 6
        title = f"Correlations and gains by {factor_in_words(column)}"
        long = len(rows) > MOST_ROWS
        stem = file_stem(f"slices_{column}")
        yield Table.from_rows(
            stem, title, rows, columns, NOTES, by=OF_METRIC, names=names, brief=len(rows) <= MOST_BRIEF_ROWS, data=long
        )
