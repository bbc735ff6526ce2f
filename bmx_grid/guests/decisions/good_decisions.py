"""Are the decisions of a metric good: as a filter, and choosing among outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bmx_grid.analysis.base import FACTORS, PAIR, Column, SweepTables, Table
from bmx_grid.evaluations.base import BASE, OF_METRIC
from bmx_grid.guests.decisions.decisions import FilterRow, RerankingRow

if TYPE_CHECKING:
    import pandas as pd

MOST_BRIEF_ROWS = 12  # of a table that fits a screen
MOST_ROWS = 400  # of a table that is read; more are written as CSV only
FORM = ".3f"
OF_FILTERS = (
    "A segment is accepted if its score reaches the threshold that has the highest F on other folds of segments. F of "
    "all: of a filter that accepts every segment. In brackets: 95 % intervals by a bootstrap of clusters.",
)
OF_RERANKING = (
    "Precision: the share of sources whose output with the highest score is one that people scored highest. "
    "Regret: how far the human score of the chosen output is below the highest one, on average. "
    "In brackets: 95 % intervals by a bootstrap of clusters.",
)


def compute(tables: SweepTables) -> dict[str, Any]:
    """filtering, reranking: the metric alone once, and every point of each setting; empty without the evaluation."""
    row_types = {"filtering": FilterRow, "reranking": RerankingRow}
    return {name: _once(tables.frame(name, row)) for name, row in row_types.items()}


def _once(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows without those of the metric alone that repeat another explainer's."""
    is_base = rows["point"] == BASE
    repeated = is_base & rows.assign(base=is_base).duplicated([*OF_METRIC, "base"])
    return rows[~repeated].reset_index(drop=True)


def tables(result: Mapping[str, Any]) -> Iterator[Table]:
    """A table of filters and one of choices."""
    filters = ("precision", "recall", "f")
    choices = ("precision",)
    yield from _table("filtering", "Metrics as a filter", result["filtering"], filters, "f_of_all", OF_FILTERS)
    yield from _table("reranking", "Choosing among outputs", result["reranking"], choices, "chance", OF_RERANKING)


def _table(
    stem: str, title: str, rows: pd.DataFrame, measures: tuple[str, ...], chance: str, notes: tuple[str, ...]
) -> Iterator[Table]:
    if rows.empty:
        return
    names = [*FACTORS, "point"] if rows["gain"].notna().any() else [*OF_METRIC]
    gains = ["gain"] if "point" in names else []
    # One data set need not be named in each row.
    if rows["dataset"].nunique() == 1:
        names.remove("dataset")
    size = "n_segments" if "n_segments" in rows else "n_sources"
    further = [Column("regret", form=FORM)] if "regret" in rows else []
    columns = (
        *names,
        *map(_estimate, (*measures, *gains)),
        Column(chance, chance.replace("_", " "), FORM),
        *further,
        Column(size, size.removeprefix("n_")),
    )
    brief = len(rows) <= MOST_BRIEF_ROWS
    long = len(rows) > MOST_ROWS
    yield Table.from_rows(stem, title, rows, columns, notes, by=PAIR, names=len(names), brief=brief, data=long)


def _estimate(name: str) -> Column:
    return Column(name, form=FORM, ends=(f"{name}_low", f"{name}_high"))
