"""The answer of a sweep: the gain of each boost on segments that it was not chosen on, and the next steps.

The numbers are those of verdicts.parquet. A results table without its sweep has no verdicts: the answer has the mean
gains at one point per explainer, and a note that nothing was tested.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bmx_grid.analysis.base import FACTORS, Column, SweepTables, Table, each_group, each_row
from bmx_grid.analysis.gains import gains_by_explainer
from bmx_grid.analysis.verdict_rows import (
    DECLARED,
    PAPERS_BOOST,
    Row,
    next_steps,
    places_of,
    widest_verdicts,
)
from bmx_grid.core.wording import P_VALUE, display_name, format_interval, join_names, number, pluralize, point_in_words
from bmx_grid.evaluations.boost_evidence import ALL, PUBLISHED
from bmx_grid.evaluations.verdicts import (
    CONFOUNDED,
    HELPS,
    HURTS,
    INFORMATIVE,
    LEGEND,
    NO_GAIN,
    NOT_JUDGED,
    OPEN,
    REDUNDANT,
    TOO_LITTLE,
    legend,
)

if TYPE_CHECKING:
    import pandas as pd

ESTIMATED = {  # the estimates of a verdict, and their headers
    "gain": "gain",
    "partial_r": "partial r",
    "length_gain": "length alone",
    "curve_gain": "curve alone",
    "combined_gain": "average of metrics",
    "over_metrics": "partial r given metrics",
}
OF_VERDICTS = (
    "Each boost is chosen on some segments, not boosting among the choices, and judged on others. Data set or language "
    "pair all: the mean over language pairs. In brackets 95 % intervals: of one pair by a bootstrap of clusters of "
    "segments; of several the wider of Student's t over the pairs and the bootstrap of all their clusters.",
    "Gain: over the baseline. Partial r: the correlation of boosted and human scores when score, numbers of words, "
    "text statistics and named systems, raters and domains are controlled for; within sources or documents if the data "
    "have several segments of each. It is no gain, and may be larger than one. Length, curve alone, average of "
    "metrics: their gains without an explanation, chosen in the same way. Partial r given metrics: all other "
    "metrics of the sweep are controlled for, too.",
    "p gain, p partial (Holm): corrected for so many verdicts of one question. Best point looks better by: its gain on "
    "the segments that it is chosen on, minus its gain on others.",
    *legend(LEGEND),
)
OF_PUBLISHED = (
    "Published: at the point of a paper, chosen on the paper's data sets. On those its gain is marked in-sample: it is "
    "not a gain on other segments."
)
# The words for one boost with a verdict, and for more than MOST_CONCLUDED boosts.
MOST_CONCLUDED = 3
CONCLUDED = {
    HELPS: ("{boost} helps {metric} ({gain}).", "help"),
    REDUNDANT: (
        "{boost} helps {metric} ({gain}), but adds nothing to the other metrics.",
        "help, but add nothing to the other metrics",
    ),
    OPEN: ("{boost} gains {gain} on {metric}, and what explains it is not decided.", "gain, and it is not decided why"),
    CONFOUNDED: (
        "{boost} gains {gain} on {metric}, as score, length, text or groups explain.",
        "gain as score, length, text or groups explain",
    ),
    HURTS: ("{boost} hurts {metric} ({gain}).", "hurt"),
}
# What people's scores and attributions may both depend on, if the data name it.
SHARED_LEVELS = ("system", "document", "rater", "domain")


def compute(tables: SweepTables) -> dict[str, Any]:
    """The answer of a sweep, without verdicts that of its table.

    conclusion: what helps and what hurts, in a sentence or two. verdicts: see `widest_verdicts`. answers: without
    verdicts the mean gains at the fixed points, a line per explainer.
    legend: the verdicts that occur, a line each; next_steps: what to do, in a sentence, "" if it would rest on a
    constructed data set; not_judged: the boosts that cannot be made or whose gain is undefined, a sentence per reason;
    unnamed: the SHARED_LEVELS that the judged data do not name, in a sentence or two; families: over how many
    comparisons verdicts are corrected.
    """
    verdicts = tables.compute_once(widest_verdicts)
    question = verdicts["question"]
    declared = verdicts[question == DECLARED]
    published = verdicts[question == PUBLISHED]
    judged = verdicts[question.isin((DECLARED, PUBLISHED))]
    # A mean over all data sets rests on the constructed ones, too: nobody should act on it.
    no_evidence = {*tables.constructed_datasets, ALL} if tables.constructed_datasets else set()
    without_gain = verdicts[(question == NOT_JUDGED) | (question.isin((DECLARED, PUBLISHED)) & verdicts["gain"].isna())]
    return {
        "conclusion": _conclusion(declared),
        "verdicts": verdicts,
        "answers": _describe_untested_gains(tables) if verdicts.empty else [],
        "legend": legend(set(judged["verdict"])),
        "next_steps": next_steps(declared[~declared["dataset"].isin(no_evidence)]),
        "not_judged": _describe_unjudged_boosts(without_gain, declared),
        "unnamed": "" if tables.constructed_datasets else _describe_unnamed_levels(judged["named"]),
        "families": _describe_families(declared, published),
    }


def tables(result: Mapping[str, Any]) -> Iterator[Table]:
    """One row per metric, explainer and boost; no table without verdicts."""
    verdicts = result["verdicts"]
    judged = verdicts[verdicts["question"] != NOT_JUDGED]
    if judged.empty:
        return
    names = [*FACTORS, "boost"]
    if judged["human"].nunique() > 1:
        names.append("human")
    names.append("verdict")
    columns: list[str | Column] = [*names]
    for name, header in ESTIMATED.items():
        columns.append(Column(name, header, "+.4f", (f"{name}_low", f"{name}_high")))
    columns += [
        Column("best_looks_better", "best point looks better by", "+.4f"),
        Column("p_gain_holm", "p gain (Holm)", P_VALUE),
        Column("p_partial_holm", "p partial (Holm)", P_VALUE),
        Column("tried", "corrected for"),
        Column("chosen_on", "chosen on"),
        "pairs",
        Column("n", "segments"),
    ]
    if "repeat_deviation" in judged:
        columns.append(Column("repeat_deviation", "varies when repeated", ".4f"))
    notes = [*OF_VERDICTS]
    if (judged["question"] == PUBLISHED).any():
        notes.append(OF_PUBLISHED)
    if result["unnamed"]:
        notes.append(result["unnamed"])
    title = "Gains of each boost on held-out segments"
    yield Table.from_rows("verdicts", title, judged, columns, notes, by=["question"], names=len(names))


def _conclusion(declared: pd.DataFrame) -> str:
    """Conclude on the declared boosts, those that help first, in a sentence per verdict; "" without verdicts."""
    if declared.empty:
        return ""
    several = declared["boost"].nunique() > 1
    places = dict(zip(declared.index, places_of(declared, declared), strict=True))
    sentences = []
    for label, (one, many) in CONCLUDED.items():
        rows = declared[declared["verdict"] == label]
        if len(rows) > MOST_CONCLUDED:
            sentences.append(f"{len(rows)} of {len(declared)} boosts {many}.")
            continue
        for row in each_row(rows):
            place = f" on {places[row.Index]}" if len(set(places.values())) > 1 else ""
            gain = number(row.gain, "+.3f")
            boost = _boost_alone(row, several)
            sentences.append(one.format(boost=boost, metric=f"{display_name(row.metric)}{place}", gain=gain))
    if not (declared["verdict"] == HELPS).any():
        labels = set(declared["verdict"])
        opening = "No boost is shown to help."
        if labels <= {NO_GAIN, HURTS, TOO_LITTLE, INFORMATIVE}:
            opening = "Too little data to show a gain." if labels == {TOO_LITTLE} else "No gain is shown."
        sentences.insert(0, opening)
    return " ".join(sentences)


def _boost_alone(row: Row, several: bool) -> str:
    """The explainer, with the boost if the sweep has several."""
    return f"{display_name(row.explainer)} ({row.boost})" if several else display_name(row.explainer)


def _describe_families(declared: pd.DataFrame, published: pd.DataFrame) -> str:
    """The number of verdicts that each question is corrected for, in a sentence; "" without verdicts."""
    parts = []
    verdicts = "verdict" if set(declared["tried"]) == {1} else "verdicts"
    for rows, what in ((declared, verdicts), (published, "at published points")):
        sizes = sorted(set(rows["tried"]))
        if sizes:
            count = " or ".join(f"{size:,}" for size in sizes)
            parts.append(f"over {count} {what}")
    if not parts:
        return ""
    return f"Holm's correction is {', and '.join(parts)}."


def _describe_unnamed_levels(names: pd.Series[str]) -> str:
    """The levels that could explain a gain and of which the data name no two; "" if none, or if nothing was judged.

    names: the named levels of each verdict, separated by commas.
    """
    levels_of_rows = [set(text.split(", ")) for text in names]
    in_none: list[str] = []
    in_some: list[str] = []
    for level in SHARED_LEVELS:
        n_naming = sum(level in levels for levels in levels_of_rows)
        if n_naming < len(levels_of_rows):
            missing = in_some if n_naming else in_none
            missing.append(f"{level}s")
    sentences = []
    for data, levels in (("These data", in_none), ("Some of these data", in_some)):
        if levels:
            effects = "their effects are not controlled for, and may look like a gain"
            sentences.append(f"{data} distinguish no {_join_with_or(levels)}: {effects}.")
    return " ".join(sentences)


def _join_with_or(names: Sequence[str]) -> str:
    """Names in one list, with "or" before the last."""
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


def _boost_name(row: Row, several: bool) -> str:
    """Explainer and metric, with the boost if the sweep has several."""
    name = f"{display_name(row.explainer)} on {display_name(row.metric)}"
    return f"{name} ({row.boost})" if several else name


def _has_other_boosts(rows: pd.DataFrame) -> bool:
    """Whether there is another boost than the paper's."""
    return bool((rows["boost"] != PAPERS_BOOST).any())


def _describe_unjudged_boosts(rows: pd.DataFrame, declared: pd.DataFrame) -> list[str]:
    """The boosts that cannot be made, and the language pairs, a sentence per reason."""
    sentences = []
    several = _has_other_boosts(rows) or _has_other_boosts(declared)
    for because, alike in each_group(rows, "because"):
        # Without duplicates: a boost may lack several language pairs for one reason, and a pair several boosts.
        boosts = dict.fromkeys(_boost_name(row, several) for row in each_row(alike))
        places = dict.fromkeys(places_of(alike, rows))
        subject = join_names(list(boosts))
        if any(places):
            subject += f" for {join_names(list(places))}"
        reason = because.rstrip(".")
        sentences.append(f"{subject}: {reason}.")
    return sentences


def _describe_untested_gains(tables: SweepTables) -> list[str]:
    """Mean gains at one point per explainer, and why verdicts are missing."""
    if not len(tables.table):
        return []
    # A results table without its sweep has no scores of segments to test.
    fixed = tables.compute_once(gains_by_explainer)
    if fixed.empty:
        return []
    lines = []
    for row in each_row(fixed):
        if row.n > 0:
            point = point_in_words(row.used_w, row.used_p)
            settings = pluralize(row.n, "setting")
            mean = format_interval(row.mean_gain, row.mean_low, row.mean_high)
            lines.append(f"{display_name(row.Index)} at {point}, {row.origin}: the mean gain over {settings} is {mean}")
    lines.append("No boost was judged on other segments: a sweep with evaluation=[grid,boosts] does so.")
    return lines
