"""Rows of the tables of levels: correlations, systems, and how much a difference of systems is worth."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bmx_grid.evaluations.base import Measured, SettingRow


@dataclass(frozen=True)
class CorrelationRow(SettingRow):
    """One row of correlations.parquet.

    point: "base" or the name of a boosted point; human: which judgement. level: "segment" or "system"; grouping:
    "none", "item", "system" or "document" (Kendall's tau-b alone). low, high: the 95 % interval; NaN where undefined.
    n_segments: segments with both scores; n_systems: their systems; n_groups: groups, 1 without grouping;
    n_undefined: those of them without a value, for "pdp" (`measures.pairwise`) without two outputs; all if it is NaN.
    epsilon, calibrated_on: the tie threshold of acc_eq, and what it was chosen on; held_out: acc_eq where it is chosen
    on half of the clusters and judged on the other half, the mean of both ways.
    system_score: "mean" or "corpus".
    """

    KEY = ("point", "human", "level", "grouping", "statistic")

    point: str
    human: str
    level: str
    grouping: str
    statistic: str
    value: Measured
    n_segments: int
    n_systems: int
    n_groups: int
    n_undefined: int
    epsilon: float = math.nan
    calibrated_on: str = ""
    system_score: str = ""
    note: str = ""
    held_out: float = math.nan


@dataclass(frozen=True)
class SystemRow(SettingRow):
    """One row of systems.parquet: a system's human score, and its score as a mean and from summed statistics.

    rank: among the systems by the metric, 1 is the best, with the ends of its rank range and the cluster of systems it
    is in (`measures.rank_ranges`), of the score that the system level uses; human_*: the same by people. 0 where there
    is none: a system without a score, no resamples, too few clusters of segments, or people who scored whole systems.
    """

    KEY = ("point", "human_name", "system")

    point: str
    human_name: str
    system: str
    human: float
    mean: float
    corpus: float
    n_segments: int
    rank: int
    rank_low: int
    rank_high: int
    rank_cluster: int
    human_rank: int
    human_rank_low: int
    human_rank_high: int
    human_rank_cluster: int


@dataclass(frozen=True)
class ThresholdRow(SettingRow):
    """One row of thresholds.parquet: how large a difference of two systems must be for people to agree so often.

    probability: that people prefer the system with the higher score, at this difference of system scores (of a logistic
    curve, `measures.systems.agreement_slopes`); probability_low, probability_high: its 95 % interval at this
    difference; low, high: that of the difference. NaN where people do not agree more with larger differences.
    observed: the share of the n_pairs pairs at least as far apart on which they agree, a human tie is half.
    n_undefined: of all pairs of systems, those without both scores.
    """

    KEY = ("point", "human_name", "probability")

    point: str
    human_name: str
    probability: float
    difference: Measured
    probability_low: float
    probability_high: float
    observed: float
    n_pairs: int
    n_undefined: int
    system_score: str
