"""What shared tasks decide by: one ranking over tasks, outliers, systems by people."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bmx_grid.analysis.base import PAIR, Column, Given, Table, WideRow, first_by, highest_first, rows_by
from bmx_grid.core.wording import file_stem, setting_label
from bmx_grid.guests.tasks.task_rows import HumanRank, TaskRank, TaskScore, WithoutOutliers

OF_OUTLIERS = "Pearson's r of system scores. What changes much without one system says little of the others."
OF_TASKS = (
    "The weighted mean over tasks, of correlations r as (1 + r) / 2. Metrics share a rank until a permutation test of "
    "means tells them apart (.05)."
)
OF_LACKING = "Only metrics that have every task are ranked, as mt-metrics-eval's AverageCorrs does."
OF_PEOPLE = (
    "Wins and losses: one-sided Wilcoxon signed-rank tests of common items, at .05; range: from 1 and the losses to "
    "all systems less the wins. Lines separate clusters. Outlier: more than 2.5 median absolute deviations (times "
    "1.483) from the median (Mathur et al. 2020)."
)


@dataclass(frozen=True)
class SharedTask:
    """What the evaluation of tasks wrote of the metrics alone; None where a sweep has no such table."""

    task_ranking: Sequence[TaskRank] | None
    task_scores: Sequence[TaskScore] | None
    human_ranking: Sequence[HumanRank] | None
    outliers: Sequence[WithoutOutliers] | None


def compute(given: Given) -> SharedTask:
    """What the tables of shared tasks say."""
    row_types = {
        "task_ranking": TaskRank,
        "task_scores": TaskScore,
        "human_ranking": HumanRank,
        "outliers": WithoutOutliers,
    }
    rows: dict[str, Any] = {}
    for name, row_type in row_types.items():
        rows[name] = given.rows(name, row_type) if name in given.frames else None
    return SharedTask(**rows)


def tables(result: SharedTask) -> Iterator[Table]:
    """One ranking over tasks and who is left out of it, each task, outliers, and systems by people for each language
    pair."""
    if result.task_ranking:
        yield _of_tasks(result.task_ranking)
    yield from _lacking(result.task_scores or [])
    if result.task_scores:
        yield _each_task(result.task_scores, result.task_ranking or [])
    yield from _of_outliers(result.outliers or [])
    ranked = [row for row in result.human_ranking or [] if row.rank_high > 0]
    for pair, rows in rows_by(ranked, lambda row: row.pair).items():
        yield _of_people(pair, rows)


def _of_tasks(ranking: Sequence[TaskRank]) -> Table:
    ranking = sorted(ranking, key=lambda row: highest_first(row.value))
    columns = ("metric", Column("value", "mean", ".3f"), Column("rank", form=".0f"))
    best = ranking[0]
    notes = [f"Tasks: {best.tasks}; left out, as undefined for every metric: {best.n_left_out}.", OF_TASKS]
    return Table.of("task_ranking", "One ranking over all tasks", ranking, columns, notes, by=["rank"], brief=True)


def _lacking(scores: Sequence[TaskScore]) -> Iterator[Table]:
    """The metrics that lack a task, and what they lack; no table where all metrics have all tasks."""
    several_sets = len({row.dataset for row in scores}) > 1
    statistics_of: dict[str, set[str]] = {}
    known: dict[str, set[tuple[str, str]]] = {}
    for row in scores:
        of_metric = known.setdefault(row.metric, set())
        # A task that is undefined for every metric, or weighs nothing, is no task.
        if math.isfinite(row.value) and row.weight > 0:
            pair = f"{row.dataset} {row.language_pair}" if several_sets else row.language_pair
            of_metric.add((pair, row.statistic))
            statistics_of.setdefault(pair, set()).add(row.statistic)
    rows = []
    for metric in sorted(known):
        # The language pairs by what the metric lacks there.
        pairs_of: dict[str, list[str]] = {}
        for pair, statistics in sorted(statistics_of.items()):
            missing = sorted(name for name in statistics if (pair, name) not in known[metric])
            if missing:
                names = "all tasks" if len(missing) == len(statistics) else ", ".join(missing)
                pairs_of.setdefault(names, []).append(pair)
        if pairs_of:
            lacks = "; ".join(f"{', '.join(pairs)}: {names}" for names, pairs in pairs_of.items())
            rows.append({"metric": metric, "lacks": lacks})
    if rows:
        title = "Metrics left out of the ranking, and the tasks that they lack"
        yield Table.of("task_gaps", title, rows, ["metric", "lacks"], [OF_LACKING], names=2, brief=True)


@dataclass(frozen=True)
class MetricInTasks(WideRow):
    """A metric, the best mean first; scores: of each task that it has, by its name."""

    metric: str
    mean: float
    scores: dict[str, float]

    @property
    def columns(self) -> dict[str, Any]:
        return {"metric": self.metric, "mean": self.mean, **self.scores}


def _each_task(scores: Sequence[TaskScore], ranking: Sequence[TaskRank]) -> Table:
    """A column per task, and the weight of each in the notes."""
    means = {row.metric: row.value for row in ranking}
    several_sets = len({row.dataset for row in scores}) > 1
    weights: dict[str, float] = {}
    by_metric: dict[str, dict[str, float]] = {}
    for row in scores:
        name = f"{row.language_pair} {row.statistic}"
        if several_sets:
            name = f"{row.dataset} {name}"
        weights[name] = row.weight
        values = by_metric.setdefault(row.metric, {})
        values[name] = row.value
    undefined = dict.fromkeys(weights, math.nan)
    rows = []
    for metric, values in by_metric.items():
        mean = means.get(metric, math.nan)
        rows.append(MetricInTasks(metric, mean, undefined | values))
    rows.sort(key=lambda row: (highest_first(row.mean), row.metric))
    columns = ("metric", Column("mean", form=".3f"), *(Column(name, form=".3f") for name in weights))
    weights_in_words = ", ".join(f"{name} {weight:.3g}" for name, weight in weights.items())
    notes = [f"Weights: {weights_in_words}."]
    return Table.of("task_scores", "Every task", rows, columns, notes, names=1)


def _of_outliers(outliers: Sequence[WithoutOutliers]) -> Iterator[Table]:
    """Each metric once, whatever its explainer, where there are outliers."""
    with_outliers = [row for row in outliers if row.n_outliers > 0]
    rows = list(first_by(with_outliers, lambda row: row.metric_alone).values())
    if not rows:
        return
    columns = (
        *PAIR,
        "metric",
        Column("systems", "outliers"),
        Column("n_systems", "systems"),
        Column("pearson", "r", ".3f"),
        Column("pearson_without", "r without them", ".3f"),
    )
    title = "System level without outliers"
    yield Table.of("outliers", title, rows, columns, [OF_OUTLIERS], by=PAIR, names=4)


@dataclass(frozen=True, kw_only=True)
class ShownRank(HumanRank):
    """A system as the table shows it: its range of ranks, and "outlier" where it is one."""

    range: str
    far: str


def _of_people(pair: tuple[str, str], ranks: Sequence[HumanRank]) -> Table:
    ranks = sorted(ranks, key=lambda row: (row.cluster, row.rank_low, row.rank_high, highest_first(row.human)))
    rows = []
    for row in ranks:
        rank_range = f"{row.rank_low}-{row.rank_high}"
        far = "outlier" if row.outlier else ""
        rows.append(ShownRank(**vars(row), range=rank_range, far=far))
    columns = ("system", "range", Column("far", "outlier"), Column("human", "human score", ".3f"), "wins", "losses")
    title = f"{setting_label(*pair)}: systems ranked by people"
    stem = file_stem(f"people_{'_'.join(pair)}")
    return Table.of(stem, title, rows, columns, [OF_PEOPLE], by=["cluster"], names=3)
