"""The verdicts of a sweep to show: on the widest scope of each boost, what helps first; what to do next with each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.analysis.base import CONTROLS, FACTORS, SweepTables, each_group, each_row, first_row
from bmx_grid.analysis.points import datasets_in_sample
from bmx_grid.core.wording import display_name, format_interval, join_names, pluralize
from bmx_grid.datasets.segments import NO_PAIR
from bmx_grid.evaluations.boost_evidence import ALL, OTHER_DATASETS, PUBLISHED
from bmx_grid.evaluations.verdicts import (
    DISTANCE,
    FEWEST_UNITS,
    HELPS,
    HURTS,
    INFORMATIVE,
    LEGEND,
    NO_GAIN,
    NOT_JUDGED,
    OPEN,
    TOO_LITTLE,
    Verdict,
)
from bmx_grid.measures.resampling import CONFIDENCE

if TYPE_CHECKING:
    import pandas as pd

BOOST = ("metric", "explainer", "boost")
PAPERS_BOOST = "power_mean_grid"
DECLARED = "declared"
FURTHER = (PUBLISHED, OTHER_DATASETS, NOT_JUDGED)  # further questions than that of declared points
PRECISE = 0.02  # a gain that the data should detect
POWER = 0.8
MOST_NAMED = 5  # metrics
MOST_STEPS = 3
KEEP = "keep the metric as it is"
RATE_MORE = "rate more segments: these are too few to judge a boost"
DECIDE = "rate more segments: whether score, length, text or groups explain its gain is not decided"

Row = Any  # a row of `widest_verdicts`, with the columns as attributes


def widest_verdicts(tables: SweepTables) -> pd.DataFrame:
    """The verdicts on metrics and explainers that are no controls, on the widest scope of each boost.

    Sorted by question, with boosts that could not be judged last; then by verdict, "helps" first; then by gain.
    The columns of verdicts.parquet, and: question: "declared", or of published points, other data sets, or of boosts
    that could not be judged. place: of the boost among those of the sweep: the paper's first, then the others as they
    were declared. rank: of the verdict, "helps" first. best_looks_better: the gain of the best point minus that on
    other segments; chosen_on: on what segments. repeat_deviation: the largest of a judge that scored repeatedly;
    present if one did, NaN of another metric.
    """
    verdicts = tables.frame("verdicts", Verdict)
    # Verdicts on controls test the method; they recommend nothing.
    verdicts = verdicts[~(verdicts["metric"].isin(CONTROLS) | verdicts["explainer"].isin(CONTROLS))]
    # The paper's boost first, the others as they were declared.
    boosts = list(dict.fromkeys([PAPERS_BOOST, *verdicts["boost"]]))
    verdicts = verdicts.assign(
        question=verdicts["point"].where(verdicts["point"].isin(FURTHER), DECLARED),
        place=verdicts["boost"].map(boosts.index).astype(np.int64),
        rank=verdicts["verdict"].map(list(LEGEND).index).astype(np.int64),
        best_looks_better=verdicts["best_gain"] - verdicts["gain"],
        chosen_on=[_chosen_on(tables, verdict) for verdict in each_row(verdicts)],
    )
    deviations = _repeat_deviations(tables)
    # As soon as one judge repeated, the other metrics are unknown, not steady.
    if len(deviations):
        verdicts["repeat_deviation"] = verdicts["metric"].map(deviations)
    # A mean over all language pairs already covers the single pairs.
    width = (verdicts["dataset"] == ALL).astype(np.int64) + (verdicts["language_pair"] == ALL)
    widest = width.groupby([verdicts[name] for name in ("question", *BOOST)]).transform("max")
    verdicts = verdicts[(verdicts["question"] == NOT_JUDGED) | (width == widest)]
    # Sorted, so that every later group begins with its best verdict.
    keys = verdicts.assign(question=verdicts["question"].map([DECLARED, *FURTHER].index), gain=-verdicts["gain"])
    order = keys.sort_values(["question", "rank", "gain", *BOOST, "dataset", "language_pair"]).index
    return verdicts.loc[order].reset_index(drop=True)


def _chosen_on(tables: SweepTables, verdict: Row) -> str:
    """The segments that chose a boost; for a published point also those that judge it, if its paper used them."""
    words: str = DISTANCE.get(verdict.point, verdict.point.replace("_", " "))
    if verdict.point == PUBLISHED:
        datasets = [verdict.dataset]
        if verdict.dataset == ALL:
            datasets = tables.non_controls.factor_levels("dataset")
        in_sample = datasets_in_sample(tables, verdict.explainer, datasets)
        if in_sample:
            words += f" (in-sample on {join_names(in_sample)})"
    return words


def _repeat_deviations(tables: SweepTables) -> pd.Series[float]:
    """The largest deviation of each judge that scored repeatedly, by metric."""
    repeated = tables.settings[np.isfinite(tables.settings["repeat_deviation"])]
    largest: pd.Series[float] = repeated.groupby("metric")["repeat_deviation"].max()
    return largest


def setting_verdicts(tables: SweepTables) -> pd.DataFrame:
    """The verdicts on single settings, also on controls, of the boost that was declared first, at declared points."""
    verdicts = tables.frame("verdicts", Verdict)
    verdicts = verdicts[(verdicts["language_pair"] != ALL) & ~verdicts["point"].isin(FURTHER)]
    # The sort is stable: the others keep the order of their declaration.
    order = (verdicts["boost"] != PAPERS_BOOST).sort_values(kind="stable")
    return verdicts.loc[order.index].drop_duplicates([*FACTORS])


def has_several_human_scores(verdicts: pd.DataFrame) -> bool:
    """Whether several human scores judge."""
    return verdicts["human"].nunique() > 1


def places_of(verdicts: pd.DataFrame, among: pd.DataFrame) -> list[str]:
    """The language pair of each verdict, with its data set if there are several among all of `among`."""
    has_several = among["dataset"].nunique() > 1
    places = []
    for row in each_row(verdicts):
        parts = []
        # "all" needs the name of its data set.
        if has_several or row.language_pair == ALL:
            parts.append(display_name(row.dataset))
        if row.language_pair not in (ALL, NO_PAIR):
            parts.append(row.language_pair)
        places.append(" ".join(parts))
    return places


def next_steps(verdicts: pd.DataFrame) -> str:
    """What to do with each metric, in a sentence; "" without verdicts. verdicts: what helps first."""
    metrics_of_step: dict[str, list[str]] = {}
    for metric, rows in each_group(verdicts, "metric"):
        metrics_of_step.setdefault(_step(rows), []).append(display_name(metric))
    if not metrics_of_step:
        return ""
    lines = []
    for step, metrics in metrics_of_step.items():
        lines.append(f"{step} ({join_names(metrics, most=MOST_NAMED)})")
    steps = join_names(lines, most=MOST_STEPS, separator="; ")
    return f"Next: {steps}."


def _step(rows: pd.DataFrame) -> str:
    """The next step with one metric."""
    first = first_row(rows)
    averages = rows[_average_is_better(rows)]
    # Only if an average is better wherever there is one.
    if len(averages) and len(averages) == np.isfinite(rows["combined_gain"]).sum():
        # The least of what averages gain: advice must not promise more than every place bears out.
        least = first_row(averages.nsmallest(1, "combined_gain"))
        combined = (least.combined_gain, least.combined_gain_low, least.combined_gain_high)
        return f"use an average of the metrics instead, {format_interval(*combined, '+.3f')}"
    rows_of_first = rows[(rows["explainer"] == first.explainer) & (rows["boost"] == first.boost)]
    # It helps if every human score agrees.
    helps = (rows_of_first["verdict"] == HELPS).groupby(places_of(rows_of_first, rows), sort=False).all()
    if helps.any():
        recipe = f"use the recipe of {first.boost} with {display_name(first.explainer)}"
        if not helps.all():
            recipe += f" on {', '.join(helps.index[helps])}"
        return recipe
    if first.verdict == INFORMATIVE:
        return _more_data(rows[rows["verdict"] == INFORMATIVE])
    if first.verdict == OPEN:
        return DECIDE
    labels = set(rows["verdict"])
    if labels == {HURTS}:
        return f"do not boost it, {KEEP}"
    if labels <= {TOO_LITTLE, NO_GAIN}:
        return _more_data(rows)
    return KEEP


def _average_is_better(rows: pd.DataFrame) -> pd.Series[bool]:
    """Whether averaging metrics gains more than the boost, with a partial correlation."""
    # A gain of the boost counts only if the whole rule found it.
    gain = rows["gain"].where(rows["verdict"] == HELPS, 0.0)
    is_known = (rows["combined_gain_low"] > 0) & (rows["combined_partial_r_low"] > 0)
    return is_known & (rows["combined_gain"] > gain)


def _more_data(rows: pd.DataFrame) -> str:
    """How many more ratings make a gain of PRECISE significant; no more if it already is."""
    known = rows[np.isfinite(rows["gain_low"])]
    if known.empty:
        return RATE_MORE
    row = first_row(known.nlargest(1, "gain"))
    needed = units_needed(row)
    more = needed - _n_units(row)
    if more <= 0:
        return KEEP if row.verdict == NO_GAIN else RATE_MORE
    goal = f"a gain of {PRECISE:g} with probability {POWER:g}"
    # Nobody makes language pairs: each can be judged by itself, by its segments.
    if row.pairs > 1:
        one_by_one = "judge language pairs one by one (dataset.NAME.language_pairs=[PAIR])"
        return f"{one_by_one}, as to see {goal} across them takes about {needed:,}"
    hundreds = math.ceil(more / 100)
    return f"rate about {pluralize(hundreds * 100, 'more segment')} to see {goal}"


def _n_units(row: Row) -> int:
    """The number of language pairs that a mean is over, of a single pair that of its segments."""
    return int(row.pairs if row.pairs > 1 else row.n)


def units_needed(row: Row) -> int:
    """At how many segments, or language pairs, a gain of PRECISE is significant with probability POWER.

    After the hardest step of Holm's correction. The standard error is that of the interval, and falls with the root of
    the number.
    """
    from scipy.special import stdtr, stdtrit

    n_clusters = row.clusters if row.pairs == 1 else row.pairs
    # The interval reaches so many standard errors to each side.
    reach = stdtrit(n_clusters - 1, (1 + CONFIDENCE) / 2)
    width = row.gain_high - row.gain_low
    error_of_mean = width / (2 * reach)
    error = error_of_mean * math.sqrt(_n_units(row))  # of one unit
    if error == 0:
        return FEWEST_UNITS
    # The hardest step of Holm's correction is Bonferroni's.
    alpha = (1 - CONFIDENCE) / 2 / max(row.tried, 1)
    level = 1 - alpha

    def power(count: int) -> float:
        expected = PRECISE / error * math.sqrt(count)
        threshold = stdtrit(count - 1, level)
        return float(stdtr(count - 1, expected - threshold))

    needed = FEWEST_UNITS
    # Power grows with the number, and the answer is advice: steps of 1 % are fine enough.
    while power(needed) < POWER:
        needed = max(needed + 1, math.floor(needed * 1.01))
    return needed
