"""Rows of the tables on the best systems and on difficult tokens."""

from __future__ import annotations

from dataclasses import dataclass

from bmx_grid.evaluations.base import Measured, SettingRow

AS_SCORED = "as scored"
ON_THESE = "on these systems"


@dataclass(frozen=True)
class TopRow(SettingRow):
    """One row of top_systems.parquet.

    systems: how many of the best by human score are compared. fitted: "on these systems" for a metric that was fitted
    on exactly these systems, else "as scored". value: the correlation of system scores with human scores, with the
    metric's own sign; low, high: its 95 % interval over systems and clusters of segments. system_score: "corpus" or
    "mean".
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
    fitted, against_fitted: as in `TopRow`, "on these systems" if there is such a fit. low, high: the 95 % interval over
    systems and clusters of segments, the same ones drawn for both; NaN if the metrics scored other segments.
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

    systems: how many the weights were fitted on. The first bin includes lower values, the last one higher values. mean:
    of all tokens; zero: how many of the references have no weight above 0, and so score 0.
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
