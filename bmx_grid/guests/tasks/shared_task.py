"""What shared tasks decide by: one ranking over tasks, outliers, systems by people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.analysis.base import PAIR, Column, SweepTables, Table, each_group, first_row
from bmx_grid.core.wording import file_stem, setting_label
from bmx_grid.evaluations.base import OF_METRIC
from bmx_grid.guests.tasks.task_rows import RATER, HumanRank, TaskRank, TaskScore, WithoutOutliers

if TYPE_CHECKING:
    import pandas as pd

OF_OUTLIERS = (
    "Pearson's r of system scores. A value that changes much without one system is a weak result on the others."
)
OF_TASKS = (
    "The weighted mean over tasks, of correlations r as (1 + r) / 2. Metrics share a rank until a permutation test of "
    "means separates them (.05)."
)
OF_RATERS = (
    "human_rater_N: a person, judged by the mean of the other raters, as is a metric that is tested against them."
)
OF_LACKING = "Only metrics that have every task are ranked, as mt-metrics-eval's AverageCorrs does."
OF_PEOPLE = (
    "Wins and losses: one-sided Wilcoxon signed-rank tests of common items, at .05; range: from 1 and the losses to "
    "all systems less the wins. Lines separate clusters. Outlier: more than 2.5 median absolute deviations (times "
    "1.483) from the median (Mathur et al. 2020)."
)


ROW_TYPES = {
    "task_ranking": TaskRank,
    "task_scores": TaskScore,
    "human_ranking": HumanRank,
    "outliers": WithoutOutliers,
}


def compute(tables: SweepTables) -> dict[str, pd.DataFrame | None]:
    """Read the tables of the evaluation of tasks, for metrics without an explainer; None for a missing table."""
    rows_by_table: dict[str, pd.DataFrame | None] = {}
    for name, row_type in ROW_TYPES.items():
        rows_by_table[name] = tables.frame(name, row_type) if name in tables.frames else None
    return rows_by_table


def tables(result: Mapping[str, pd.DataFrame | None]) -> Iterator[Table]:
    """One ranking over tasks and who is left out of it, each task, outliers, and systems by people for each language
    pair."""
    known = {name: rows for name, rows in result.items() if rows is not None and len(rows)}
    if "task_ranking" in known:
        yield _task_table(known["task_ranking"])
    if "task_scores" in known:
        scores = _add_task_names(known["task_scores"])
        yield from _lacking(scores)
        means: dict[Any, float] = {}
        if "task_ranking" in known:
            means = known["task_ranking"].set_index("metric")["value"].to_dict()
        yield _each_task(scores, means)
    if "outliers" in known:
        yield from _outlier_tables(known["outliers"])
    if "human_ranking" in known:
        ranks = known["human_ranking"]
        for pair, rows in each_group(ranks[ranks["rank_high"] > 0], *PAIR):
            yield _human_table(pair, rows)


def _task_table(ranking: pd.DataFrame) -> Table:
    ranking = ranking.sort_values("value", ascending=False, kind="stable")
    columns = ("metric", Column("value", "mean", ".3f"), Column("rank", form=".0f"))
    best = first_row(ranking)
    notes = [f"Tasks: {best.tasks}; left out, as undefined for every metric: {best.n_left_out}.", OF_TASKS]
    if ranking["metric"].str.startswith(RATER).any():
        notes.append(OF_RATERS)
    return Table.from_rows(
        "task_ranking", "One ranking over all tasks", ranking, columns, notes, by=["rank"], brief=True
    )


def _add_task_names(scores: pd.DataFrame) -> pd.DataFrame:
    """The scores with the place of each, its language pair, and its data set if there are several."""
    place = scores["language_pair"]
    if scores["dataset"].nunique() > 1:
        place = scores["dataset"] + " " + place
    return scores.assign(place=place, task=place + " " + scores["statistic"])


def _lacking(scores: pd.DataFrame) -> Iterator[Table]:
    """The metrics that lack a task, with the missing tasks; no table if all metrics have all tasks."""
    # A task that is undefined for every metric, or weighs nothing, is no task.
    known = scores[np.isfinite(scores["value"]) & (scores["weight"] > 0)]
    tasks = known.drop_duplicates("task").sort_values(["place", "statistic"])
    rows = []
    for metric in sorted(set(scores["metric"])):
        tasks_of_metric = known.loc[known["metric"] == metric, "task"]
        missing = tasks[~tasks["task"].isin(tasks_of_metric)]
        # The language pairs, by the missing statistics.
        places_of: dict[str, list[str]] = {}
        for place, lacked in each_group(missing, "place"):
            n_tasks = int((tasks["place"] == place).sum())
            names = "all tasks" if len(lacked) == n_tasks else ", ".join(lacked["statistic"])
            places_of.setdefault(names, []).append(place)
        if places_of:
            lacks = "; ".join(f"{', '.join(places)}: {names}" for names, places in places_of.items())
            rows.append({"metric": metric, "lacks": lacks})
    if rows:
        title = "Metrics left out of the ranking, and the tasks that they lack"
        yield Table.from_rows("task_gaps", title, rows, ["metric", "lacks"], [OF_LACKING], names=2, brief=True)


def _each_task(scores: pd.DataFrame, means: Mapping[str, float]) -> Table:
    """A column per task, and the weight of each in the notes. means: of the metrics that are ranked."""
    weights = dict(zip(scores["task"], scores["weight"], strict=True))
    rows = scores.drop_duplicates(["metric", "task"]).pivot(index="metric", columns="task", values="value")
    rows = rows.reset_index()
    rows["mean"] = rows["metric"].map(means).astype(np.float64)
    rows = rows.sort_values(["mean", "metric"], ascending=[False, True])
    columns = ("metric", Column("mean", form=".3f"), *(Column(name, form=".3f") for name in weights))
    weights_in_words = ", ".join(f"{name} {weight:.3g}" for name, weight in weights.items())
    notes = [f"Weights: {weights_in_words}."]
    return Table.from_rows("task_scores", "Every task", rows, columns, notes, names=1)


def _outlier_tables(outliers: pd.DataFrame) -> Iterator[Table]:
    """Each metric once, whatever its explainer, if there are outliers."""
    rows = outliers[outliers["n_outliers"] > 0].drop_duplicates([*OF_METRIC])
    if rows.empty:
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
    yield Table.from_rows("outliers", title, rows, columns, [OF_OUTLIERS], by=PAIR, names=4)


def _human_table(pair: tuple[str, str], ranks: pd.DataFrame) -> Table:
    rows = ranks.assign(
        range=ranks["rank_low"].astype(str) + "-" + ranks["rank_high"].astype(str),
        far=ranks["outlier"].map({True: "outlier", False: ""}),
    )
    order = ["cluster", "rank_low", "rank_high", "human"]
    rows = rows.sort_values(order, ascending=[True, True, True, False])
    columns = ("system", "range", Column("far", "outlier"), Column("human", "human score", ".3f"), "wins", "losses")
    title = f"{setting_label(*pair)}: systems ranked by people"
    stem = file_stem(f"people_{'_'.join(pair)}")
    return Table.from_rows(stem, title, rows, columns, [OF_PEOPLE], by=["cluster"], names=3)
