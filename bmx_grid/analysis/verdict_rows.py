"""The verdicts of a sweep as rows to show: on the widest scope of each boost, what helps first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.analysis.base import CONTROLS, Given, each_row, first_by
from bmx_grid.analysis.points import in_sample_on
from bmx_grid.core.wording import named, written
from bmx_grid.datasets.segments import NO_PAIR
from bmx_grid.evaluations.boost_evidence import ALL, OTHER_DATASETS, PUBLISHED
from bmx_grid.evaluations.verdicts import DISTANCE, LEGEND, NOT_JUDGED, REDUNDANT, Verdict

if TYPE_CHECKING:
    import pandas as pd

BOOST = ("metric", "explainer", "boost")
PAPERS_BOOST = "power_mean_grid"
DECLARED = "declared"
FURTHER = (PUBLISHED, OTHER_DATASETS, NOT_JUDGED)  # questions beside that of declared points


Row = Any  # a row of `shown_verdicts`, with the columns as attributes
Verdicts = Sequence[Row]


def shown_verdicts(given: Given) -> pd.DataFrame:
    """The verdicts on metrics and explainers that are no controls, on the widest scope of each boost.

    By question, what could not be judged at the end; what helps first, then by the other verdicts, by the gain.
    The columns of verdicts.parquet, and: question: "declared", or of published points, other data sets, or what could
    not be judged. place: of the boost among those of the sweep, in which the paper's comes first, then the others as
    they were declared. rank: of the verdict, what helps first. best_looks_better: the gain of the best point minus that
    on other segments; chosen_on: on what segments. repeat_deviation: the largest of a judge that scored repeatedly;
    there if one did, NaN of another metric.
    """
    verdicts = given.frame("verdicts", Verdict)
    # Verdicts on controls say whether the method can be trusted, not what to use.
    verdicts = verdicts[~(verdicts["metric"].isin(CONTROLS) | verdicts["explainer"].isin(CONTROLS))]
    # The paper's boost first, the others as they were declared.
    boosts = list(dict.fromkeys([PAPERS_BOOST, *verdicts["boost"]]))
    verdicts = verdicts.assign(
        question=verdicts["point"].where(verdicts["point"].isin(FURTHER), DECLARED),
        place=verdicts["boost"].map(boosts.index).astype(np.int64),
        rank=verdicts["verdict"].map(list(LEGEND).index).astype(np.int64),
        best_looks_better=verdicts["best_gain"] - verdicts["gain"],
        chosen_on=[_chosen_on(given, verdict) for verdict in each_row(verdicts)],
    )
    deviations = _repeat_deviations(given)
    # As soon as one judge repeated, the other metrics are unknown, not steady.
    if len(deviations):
        verdicts["repeat_deviation"] = verdicts["metric"].map(deviations)
    # A mean over all language pairs, if there is one, already holds what each of them says.
    width = (verdicts["dataset"] == ALL).astype(np.int64) + (verdicts["language_pair"] == ALL)
    widest = width.groupby([verdicts[name] for name in ("question", *BOOST)]).transform("max")
    verdicts = verdicts[(verdicts["question"] == NOT_JUDGED) | (width == widest)]
    # Sorted, so that every later group begins with its best verdict.
    keys = verdicts.assign(question=verdicts["question"].map([DECLARED, *FURTHER].index), gain=-verdicts["gain"])
    order = keys.sort_values(["question", "rank", "gain", *BOOST, "dataset", "language_pair"]).index
    return verdicts.loc[order].reset_index(drop=True)


def in_words(row: Row) -> str:
    """The verdict, with the names of the metrics that a boost adds nothing to, or with what is undefined."""
    if math.isnan(row.gain):
        return f"{row.verdict}: {row.because}"
    if row.verdict != REDUNDANT:
        return str(row.verdict)
    metrics = [written(name) for name in row.metrics.split(", ")]
    return f"{row.verdict} with {named(metrics)} in this sweep"


def _chosen_on(given: Given, verdict: Row) -> str:
    """On what segments a boost was chosen; a published point also on those that judge it, in its paper."""
    words: str = DISTANCE.get(verdict.point, verdict.point.replace("_", " "))
    if verdict.point == PUBLISHED:
        datasets = [verdict.dataset]
        if verdict.dataset == ALL:
            datasets = given.real.factor_levels("dataset")
        in_sample = in_sample_on(given, verdict.explainer, datasets)
        if in_sample:
            words += f" (in-sample on {named(in_sample)})"
    return words


def _repeat_deviations(given: Given) -> pd.Series[float]:
    """The largest deviation of each judge that scored repeatedly, by metric."""
    repeated = given.settings[np.isfinite(given.settings["repeat_deviation"])]
    largest: pd.Series[float] = repeated.groupby("metric")["repeat_deviation"].max()
    return largest


def of_settings(given: Given) -> list[Verdict]:
    """The verdicts on single settings, also on controls, of the boost that was declared first, at declared points."""
    rows = []
    for verdict in given.rows("verdicts", Verdict):
        if verdict.language_pair != ALL and verdict.point not in FURTHER:
            rows.append(verdict)
    # The sort is stable: the others stand in the order in which they were declared.
    rows.sort(key=lambda row: row.boost != PAPERS_BOOST)
    return list(first_by(rows, lambda row: row.setting_names).values())


def several_golds(rows: Verdicts) -> bool:
    """Whether several human scores judge."""
    return len({row.human for row in rows}) > 1


def place_of(row: Row, among: Verdicts) -> str:
    """The language pair, with its data set where there are several among these rows."""
    datasets = {other.dataset for other in among}
    parts = []
    # "all" alone would not say whether it is of one data set.
    if len(datasets) > 1 or row.language_pair == ALL:
        parts.append(written(row.dataset))
    if row.language_pair not in (ALL, NO_PAIR):
        parts.append(row.language_pair)
    return " ".join(parts)
