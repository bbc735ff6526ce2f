"""Rows of tables that guests' evaluations write and questions read: all that both know of each other."""

from __future__ import annotations

from dataclasses import dataclass

from bmx_grid.evaluations.base import Measured, SettingRow


@dataclass(frozen=True)
class TaskRank(SettingRow):
    """One row of task_ranking.parquet: a metric over the n_tasks tasks that every metric has.

    value: the mean of the tasks, weighted; rank: metrics share one until a test of means tells them apart (p < .05);
    tasks: their names; n_left_out: tasks that some metric lacks.
    """

    dataset: str
    language_pair: str
    explainer: str
    value: float
    rank: int
    tasks: str
    n_tasks: int
    n_left_out: int


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


@dataclass(frozen=True)
class TopRow(SettingRow):
    """One row of top_systems.parquet.

    systems: how many of the best by human score are compared. fitted: "on these systems" for a metric that was fitted
    on these alone, else "as scored". value: the correlation of system scores with human scores, with the metric's own
    sign; low, high: its 95 % interval over systems and clusters of segments. system_score: "corpus" or "mean".
    """

    KEY = ("human_name", "systems", "fitted", "statistic")

    human_name: str
    systems: int
    fitted: str
    statistic: str
    value: Measured
    n_segments: int
    system_score: str


@dataclass(frozen=True)
class RankRow(SettingRow):
    """One row of ranks.parquet: the score and rank of a system among so many best ones, by a metric and by people.

    Ranks count from 1, the best; equal scores share the mean of theirs.
    """

    KEY = ("human_name", "systems", "fitted", "system")

    human_name: str
    systems: int
    fitted: str
    system: str
    score: float
    rank: float
    human: float
    human_rank: float


@dataclass(frozen=True)
class DifferenceRow(SettingRow):
    """One row of top_differences.parquet: how much better the metric of the row does than `against`.

    Of two metrics the row's is the one that is fitted on the systems, else the first of the sweep. Correlations of a
    metric whose lower scores are better are turned: above 0 the metric of the row is the better one.
    fitted, against_fitted: as in `TopRow`, "on these systems" where there is such a fit. low, high: the 95 % interval
    over systems and clusters of segments, the same ones drawn for both; NaN where the metrics scored other segments.
    """

    against: str
    human_name: str
    systems: int
    fitted: str
    against_fitted: str
    statistic: str
    difference: Measured


@dataclass(frozen=True)
class BinRow(SettingRow):
    """One row of difficulty.parquet: the share of reference tokens whose difficulty is from `low` to below `high`.

    systems: how many the weights were fitted on. The first bin has what is below it as well, the last what is above.
    mean: of all tokens; zero: how many of the references have no weight above 0, and so score 0.
    """

    systems: int
    low: float
    high: float
    share: float
    tokens: int
    mean: float
    references: int
    zero: int


@dataclass(frozen=True)
class WordRow(SettingRow):
    """One row of difficult_words.parquet: a token of a reference, and its difficulty."""

    id: str
    place: int
    token: str
    systems: int
    difficulty: float


@dataclass(frozen=True)
class SpanRow(SettingRow):
    """One row of spans.parquet: how the error spans of an explainer, or of a person, agree with people's.

    explainer: whose spans; gold: with whose; kind: "explainer" or "human", which has the name of the gold where its
    own annotators are compared. measure: "characters" with partial credit, or "MPP". f1: with its 95 % interval over
    clusters. n_segments: judged by both; n_comparisons: of several annotators each pair counts.
    """

    KEY = ("gold", "measure")

    metric: str
    explainer: str
    gold: str
    kind: str
    measure: str
    f1: Measured
    precision: float
    recall: float
    n_segments: int
    n_comparisons: int


@dataclass(frozen=True)
class ErrorFreeRow(SettingRow):
    """One row of error_free.parquet: how well error-free segments are told from others.

    point: of a metric's score or its boost, with a cross-fitted threshold; "no span" of an explainer by itself.
    mcc: NaN where no segment is error-free, or all are; n_error_free of n_segments are; n_unlabelled: segments
    for which the other folds give no threshold.
    """

    KEY = ("gold", "human_name", "point")

    gold: str
    human_name: str
    point: str
    mcc: Measured
    n_segments: int
    n_error_free: int
    n_unlabelled: int
