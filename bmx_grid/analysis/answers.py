"""The answer of a sweep: what each boost is worth on segments that it was not chosen on, and what to do next.

The numbers are those of verdicts.parquet. A results table alone has no verdicts: the mean gains at the fixed points are
said instead, and that nothing was tested.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bmx_grid.analysis.base import FACTORS, Column, Given, Table, each_row, first_by, rows_by
from bmx_grid.analysis.gains import gains_by_explainer
from bmx_grid.analysis.next_steps import next_steps
from bmx_grid.analysis.points import point_name
from bmx_grid.analysis.verdict_rows import (
    DECLARED,
    PAPERS_BOOST,
    ShownVerdict,
    Verdicts,
    place_of,
    several_golds,
    shown_verdicts,
)
from bmx_grid.core.wording import P_VALUE, counted, named, number, point_in_words, with_interval, written
from bmx_grid.evaluations.boost_evidence import ALL, PUBLISHED
from bmx_grid.evaluations.grid_surface import PointRow
from bmx_grid.evaluations.verdicts import LEGEND, NO_GAIN, NOT_JUDGED, legend
from bmx_grid.measures.resampling import CONFIDENCE

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
    "Gain: over the metric alone. Partial r: the correlation of boosted and human scores when score, numbers of words, "
    "text statistics and named systems, raters and domains are controlled for; within sources or documents if the data "
    "have several segments of each. It is no gain, and may be larger than one. Length, curve alone, average of "
    "metrics: what these gain without an explanation, chosen in the same way. Partial r given metrics: all other "
    "metrics of the sweep are controlled for as well.",
    "p gain, p partial (Holm): corrected for so many verdicts of one question. Best point looks better by: its gain on "
    "the segments that it is chosen on, minus its gain on others.",
    *legend(LEGEND),
)
OF_PUBLISHED = (
    "Published: at the point of a paper, which was chosen on the data sets of the paper. On these, where in-sample "
    "stands beside it, its gain is not one on other segments."
)
# What people's scores and attributions may both depend on, where the data name it.
SHARED_LEVELS = ("system", "document", "rater", "domain")


@dataclass(frozen=True)
class Answers:
    """What is said of each boost.

    verdicts: see `shown_verdicts`; answers: per metric and explainer a line of the boost that was declared first,
    whatever others gain, and one of its published point, where there is one.
    legend: the verdicts that occur, a line each; next_steps: what to do, in a sentence, "" where it would rest on a
    constructed data set; not_judged: the boosts that cannot be made, a sentence per reason; unnamed: the SHARED_LEVELS
    that the judged data do not name, in a sentence or two; families: over how many comparisons verdicts are corrected.
    """

    verdicts: Verdicts
    answers: Sequence[str]
    legend: Sequence[str] = ()
    next_steps: str = ""
    not_judged: Sequence[str] = ()
    unnamed: str = ""
    families: str = ""


def compute(given: Given) -> Answers:
    """The answer of a sweep, without verdicts that of its table."""
    verdicts = given.ask(shown_verdicts)
    if not verdicts:
        return Answers(verdicts, _untested(given))
    by_question = rows_by(verdicts, lambda row: row.question)
    declared = by_question.get(DECLARED, [])
    published = by_question.get(PUBLISHED, [])
    not_judged = by_question.get(NOT_JUDGED, [])
    labels = {row.verdict for row in [*declared, *published]}
    # A mean over all data sets rests on the constructed ones as well: nobody should act on it.
    no_evidence = {*given.constructed, ALL} if given.constructed else set()
    evidence = [row for row in declared if row.dataset not in no_evidence]
    return Answers(
        verdicts=verdicts,
        answers=list(_answers(declared, published, given.rows("points", PointRow))),
        legend=legend(labels),
        next_steps=next_steps(evidence),
        not_judged=_not_judged(not_judged, declared),
        families=_families(declared, published),
        unnamed="" if given.constructed else _unnamed([*declared, *published]),
    )


def tables(result: Answers) -> Iterator[Table]:
    """One row per metric, explainer and boost; no table without verdicts."""
    judged = [row for row in result.verdicts if row.question != NOT_JUDGED]
    if not judged:
        return
    names = [*FACTORS, "boost"]
    if several_golds(judged):
        names.append("human")
    names.append("verdict")
    columns: list[str | Column] = [*names]
    for name, header in ESTIMATED.items():
        columns.append(Column(name, header, "+.4f"))
    columns += [
        Column("best_looks_better", "best point looks better by", "+.4f"),
        Column("p_gain_holm", "p gain (Holm)", P_VALUE),
        Column("p_partial_holm", "p partial (Holm)", P_VALUE),
        Column("tried", "corrected for"),
        Column("chosen_on", "chosen on"),
        "pairs",
        Column("n", "segments"),
    ]
    if any(row.repeat_deviation is not None for row in judged):
        columns.append(Column("repeat_deviation", "varies when repeated", ".4f"))
    notes = [*OF_VERDICTS]
    if any(row.question == PUBLISHED for row in judged):
        notes.append(OF_PUBLISHED)
    if result.unnamed:
        notes.append(result.unnamed)
    title = "What each boost is worth"
    yield Table.of("verdicts", title, judged, columns, notes, by=["question"], names=len(names))


def _families(declared: Verdicts, published: Verdicts) -> str:
    """Over how many verdicts each question is corrected, in a sentence; "" without verdicts."""
    parts = []
    for rows, what in ((declared, "verdicts"), (published, "at published points")):
        sizes = sorted({row.tried for row in rows})
        if sizes:
            count = " or ".join(f"{size:,}" for size in sizes)
            parts.append(f"over {count} {what}")
    if not parts:
        return ""
    return f"Holm's correction is {', and '.join(parts)}."


def _unnamed(rows: Verdicts) -> str:
    """The levels that could explain a gain and are not named; "" if all are, or if nothing was judged."""
    levels_of_rows = [set(row.named.split(", ")) for row in rows]
    in_none: list[str] = []
    in_some: list[str] = []
    for level in SHARED_LEVELS:
        n_naming = sum(level in levels for levels in levels_of_rows)
        if n_naming < len(rows):
            missing = in_some if n_naming else in_none
            missing.append(f"{level}s")
    sentences = []
    for data, levels in (("These data", in_none), ("Some of these data", in_some)):
        if levels:
            effects = "effects of these are not controlled for, and may look like a gain"
            sentences.append(f"{data} name no {_either(levels)}: {effects}.")
    return " ".join(sentences)


def _either(names: Sequence[str]) -> str:
    """Names in one list, with "or" before the last."""
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


def _boost(row: ShownVerdict, among: Verdicts) -> str:
    """Explainer and metric, with the boost where there is another than the paper's."""
    name = f"{written(row.explainer)} on {written(row.metric)}"
    if any(other.boost != PAPERS_BOOST for other in among):
        name += f" ({row.boost})"
    return name


def _doubt(row: ShownVerdict) -> str:
    """Why the verdict is NO_GAIN though the interval of the gain leaves 0 out; "" for every other row."""
    looks = ""
    if row.gain.low > 0:
        looks = "gain"
    elif row.gain.high < 0:
        looks = "loss"
    if row.verdict != NO_GAIN or not looks:
        return ""
    # What holds after the correction is a gain: a loss would have the verdict HURTS. Only its size is against it.
    if row.p_gain_holm <= 1 - CONFIDENCE:
        return "too small"
    return f"looks like a {looks}, but not after the correction for {row.tried} verdicts"


def _answers(declared: Verdicts, published: Verdicts, points: Sequence[PointRow]) -> Iterator[str]:
    """The lines of each metric and explainer, those with the best verdict of a first boost first."""
    fixed = {}
    for point in points:
        if point.point == PUBLISHED:
            fixed[point.explainer] = point_name(point.explainer, point.w, point.p)
    # What the first boost says is the answer; others are named only where they say something else.
    by_both = rows_by(declared, _metric_and_explainer)
    published_by_both = _of_first_boost(published)
    for both, rows in _of_first_boost(declared).items():
        head = _boost(rows[0], declared)
        yield _answer(head, rows, declared, _others(rows, by_both[both]))
        if both in published_by_both:
            at_point = published_by_both[both]
            where = fixed.get(rows[0].explainer, "its fixed point")
            # Language pairs of several data sets may differ in it.
            in_sample = {row.chosen_on.removeprefix(PUBLISHED) for row in at_point}
            where += "".join(sorted(in_sample))
            head = _boost(at_point[0], declared)
            yield _answer(f"{head} at {where}", at_point, declared, [])


def _metric_and_explainer(row: ShownVerdict) -> tuple[str, str]:
    return row.metric, row.explainer


def _of_first_boost(rows: Verdicts) -> dict[tuple[str, str], list[ShownVerdict]]:
    """By metric and explainer the verdicts of the boost that was declared first."""
    in_place = sorted(rows, key=lambda row: row.place)
    first = first_by(in_place, _metric_and_explainer)
    rows_of_first = []
    for row in rows:
        if row.boost == first[_metric_and_explainer(row)].boost:
            rows_of_first.append(row)
    # Grouped last, so that verdicts of other boosts do not decide the order.
    return rows_by(rows_of_first, _metric_and_explainer)


def _others(lines: Verdicts, rows: Verdicts) -> list[str]:
    """What other boosts have another verdict than those of these lines, with it."""
    boost = lines[0].boost
    verdicts = {row.verdict for row in lines}
    others = [row for row in rows if row.boost != boost and row.verdict not in verdicts]
    others.sort(key=lambda row: row.place)
    remarks = []
    for verdict, alike in rows_by(others, lambda row: row.verdict).items():
        boosts = dict.fromkeys(row.boost for row in alike)  # each once, on however many language pairs
        remarks.append(f"{verdict} by {named(list(boosts))}")
    return remarks


def _answer(head: str, rows: Verdicts, among: Verdicts, remarks: Sequence[str]) -> str:
    """A line of a boost, on each verdict where language pairs differ. among: as for `_place`; remarks: further ones."""
    by_verdict = rows_by(rows, lambda row: (row.human, row.in_words))
    parts = [_part(alike, among) for alike in by_verdict.values()]
    length = rows[0].length_gain
    varies = rows[0].repeat_deviation
    beside = []
    # Of several language pairs it would be the number of one of them.
    if len(rows) == 1 and math.isfinite(length.value):
        beside.append(f"length alone {length:+.3f}")
    if varies is not None and math.isfinite(varies):
        beside.append(f"the correlation varies by {number(varies, '.3f')} when repeated")
    line = f"{head}: {'; '.join(parts)}"
    end = _joined(*beside, *remarks)
    return f"{line} ({end})" if end else line


def _part(alike: Verdicts, among: Verdicts) -> str:
    """A verdict with its gain, the largest of several language pairs, and what it rests on."""
    first = alike[0]  # the largest gain: rows of one verdict are sorted by it
    verdict = first.in_words
    if several_golds(among):
        verdict = f"{verdict} ({first.human})"
    if math.isnan(first.gain.value):
        places = [place_of(row, among) for row in alike]
        return _joined(verdict, named(places))
    gain = f"{first.gain:+.3f}"
    remarks = _doubt(first)
    if len(alike) > 1:
        gain = f"at most {gain}"
        remarks = _joined(place_of(first, alike), remarks)
    if remarks:
        gain = f"{gain} ({remarks})"
    n_pairs = max(first.pairs, len(alike))
    where = counted(n_pairs, "language pair") if n_pairs > 1 else place_of(first, among)
    n_segments = sum(row.n for row in alike)
    return _joined(verdict, gain, where, counted(n_segments, "segment"))


def _joined(*parts: str) -> str:
    return ", ".join(filter(None, parts))


def _not_judged(rows: Verdicts, declared: Verdicts) -> list[str]:
    """The boosts that cannot be made, and the language pairs, a sentence per reason."""
    sentences = []
    among = [*rows, *declared]
    for alike in rows_by(rows, lambda row: row.because).values():
        # Each once: a boost may lack several language pairs for one reason, and a pair several boosts.
        boosts = dict.fromkeys(_boost(row, among) for row in alike)
        places = dict.fromkeys(place_of(row, rows) for row in alike)
        subject = named(list(boosts))
        if any(places):
            subject += f" for {named(list(places))}"
        reason = alike[0].because.rstrip(".")
        sentences.append(f"{subject}: {reason}.")
    return sentences


def _untested(given: Given) -> list[str]:
    """Mean gains at the fixed points, and why there are no verdicts."""
    if not len(given.table):
        return []
    # A results table alone has no scores of segments, and so nothing to test with.
    fixed = given.ask(gains_by_explainer)
    if fixed.empty:
        return []
    lines = []
    for row in each_row(fixed):
        if row.n > 0:
            point = point_in_words(row.used_w, row.used_p)
            settings = counted(row.n, "setting")
            mean = with_interval(row.mean_gain, row.mean_low, row.mean_high)
            lines.append(f"{written(row.Index)} at {point}, {row.origin}: the mean gain over {settings} is {mean}")
    lines.append("No boost was judged on other segments: a sweep with evaluation=[grid,boosts] does so.")
    return lines
