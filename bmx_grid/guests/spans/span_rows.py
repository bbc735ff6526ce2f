"""Rows of the tables on error spans."""

from __future__ import annotations

from dataclasses import dataclass

from bmx_grid.evaluations.base import Measured, SettingRow


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
    """One row of error_free.parquet: how well error-free segments are detected.

    point: of a metric's score or its boost, with a cross-fitted threshold; "no span" of an explainer by itself. mcc:
    NaN if no segment is error-free, or all are; n_error_free of n_segments are; n_unlabelled: segments without a
    threshold from the other folds.
    """

    KEY = ("gold", "human_name", "point")

    gold: str
    human_name: str
    point: str
    mcc: Measured
    n_segments: int
    n_error_free: int
    n_unlabelled: int
