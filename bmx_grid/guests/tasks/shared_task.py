"""What shared tasks decide by: one ranking over tasks, outliers, systems by people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bmx_grid.analysis.base import PAIR, Column, Given, Table, first_by, highest_first, rows_by
from bmx_grid.core.wording import file_stem, setting_label
from bmx_grid.guests.tasks.task_rows import HumanRank, TaskRank, WithoutOutliers

OF_OUTLIERS = "Pearson's r of system scores. What changes much without one system says little of the others."
OF_TASKS = (
    "The weighted mean over tasks. Metrics share a rank until a permutation test of means tells them apart (.05)."
)
OF_PEOPLE = (
    "Wins and losses: one-sided Wilcoxon signed-rank tests of common items, at .05; range: from 1 and the losses to "
    "all systems less the wins. Lines separate clusters. Outlier: more than 2.5 median absolute deviations (times "
    "1.483) from the median (Mathur et al. 2020)."
)


@dataclass(frozen=True)
class SharedTask:
    """What the evaluation of tasks wrote of the metrics alone; None where a sweep has no such table."""

    task_ranking: Sequence[TaskRank] | None
    human_ranking: Sequence[HumanRank] | None
    outliers: Sequence[WithoutOutliers] | None


def compute(given: Given) -> SharedTask:
    """What the tables of shared tasks say."""
    known = set(given.frames)
    return SharedTask(
        task_ranking=given.rows("task_ranking", TaskRank) if "task_ranking" in known else None,
        human_ranking=given.rows("human_ranking", HumanRank) if "human_ranking" in known else None,
        outliers=given.rows("outliers", WithoutOutliers) if "outliers" in known else None,
    )


def tables(result: SharedTask) -> Iterator[Table]:
    """One ranking over tasks, outliers, and systems by people for each language pair."""
    if result.task_ranking:
        yield _of_tasks(result.task_ranking)
    yield from _of_outliers(result.outliers or [])
    ranked = [row for row in result.human_ranking or [] if row.rank_high > 0]
    for pair, rows in rows_by(ranked, lambda row: row.pair).items():
        yield _of_people(pair, rows)


def _of_tasks(ranking: Sequence[TaskRank]) -> Table:
    ranking = sorted(ranking, key=lambda row: highest_first(row.value))
    columns = ("metric", Column("value", "mean", ".3f"), Column("rank", form=".0f"))
    left = ranking[0].n_left_out
    notes = [f"Tasks: {ranking[0].tasks}; left out, as undefined or not of every metric: {left}.", OF_TASKS]
    return Table.of("task_ranking", "One ranking over all tasks", ranking, columns, notes, by=["rank"], brief=True)


def _of_outliers(outliers: Sequence[WithoutOutliers]) -> Iterator[Table]:
    """Each metric once, whatever its explainer, where there are outliers."""
    rows = first_by([row for row in outliers if row.n_outliers > 0], lambda row: row.metric_alone)
    if rows:
        r = (Column("pearson", "r", ".3f"), Column("pearson_without", "r without them", ".3f"))
        columns = (*PAIR, "metric", Column("systems", "outliers"), Column("n_systems", "systems"), *r)
        title = "System level without outliers"
        yield Table.of("outliers", title, list(rows.values()), columns, [OF_OUTLIERS], by=PAIR, names=4)


@dataclass(frozen=True, kw_only=True)
class ShownRank(HumanRank):
    """A system as the table shows it: its range of ranks, and "outlier" where it is one."""

    range: str
    far: str


def _of_people(pair: tuple[str, str], ranks: Sequence[HumanRank]) -> Table:
    ranks = sorted(ranks, key=lambda row: (row.cluster, row.rank_low, row.rank_high, highest_first(row.human)))
    rows = [
        ShownRank(**vars(row), range=f"{row.rank_low}-{row.rank_high}", far="outlier" if row.outlier else "")
        for row in ranks
    ]
    columns = ("system", "range", Column("far", "outlier"), Column("human", "human score", ".3f"), "wins", "losses")
    title = f"{setting_label(*pair)}: systems ranked by people"
    stem = file_stem(f"people_{'_'.join(pair)}")
    return Table.of(stem, title, rows, columns, [OF_PEOPLE], by=["cluster"], names=3)
