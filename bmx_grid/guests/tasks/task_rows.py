"""Rows of the tables of shared tasks."""

from __future__ import annotations

from dataclasses import dataclass

from bmx_grid.evaluations.base import SettingRow

RATER = "human_rater_"  # before the number of a person who is ranked among metrics


@dataclass(frozen=True)
class TaskRank(SettingRow):
    """One row of task_ranking.parquet: a metric that has all n_tasks tasks; one that lacks a task has no row. A person
    who is ranked among metrics is human_rater_N.

    value: the mean of the tasks, weighted; rank: metrics share one until a test of means separates them (p < .05);
    tasks: their names; n_left_out: tasks that are undefined for every metric, or weigh nothing.
    """

    dataset: str
    language_pair: str
    metric: str
    explainer: str
    value: float
    rank: int
    tasks: str
    n_tasks: int
    n_left_out: int


@dataclass(frozen=True)
class TaskScore(SettingRow):
    """One row of task_scores.parquet: a metric in one task.

    value: of the statistic as it is, not scaled; weight: of the task in the mean of all.
    """

    KEY = ("metric", "statistic")

    dataset: str
    language_pair: str
    metric: str
    explainer: str
    statistic: str
    value: float
    weight: float


@dataclass(frozen=True)
class HumanRank(SettingRow):
    """One row of human_ranking.parquet: a system of a language pair, as `measures.systems.ranges_by_wins` ranks it.

    outlier: whether its mean human score is one (`measures.systems.outliers`).
    """

    metric: str
    explainer: str
    human_name: str
    system: str
    human: float
    wins: int
    losses: int
    rank_low: int
    rank_high: int
    cluster: int
    outlier: bool


@dataclass(frozen=True)
class WithoutOutliers(SettingRow):
    """One row of outliers.parquet: Pearson's r of a metric's and people's system scores, with and without outliers."""

    explainer: str
    systems: str
    n_systems: int
    n_outliers: int
    pearson: float
    pearson_without: float
