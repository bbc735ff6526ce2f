"""The answer of a sweep: what each boost is worth on segments that it was not chosen on, and what to do next.

The numbers are those of verdicts.parquet. A results table alone has no verdicts: the mean gains at the fixed points are
said instead, and that nothing was tested.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bmx_grid.analysis.base import FACTORS, Column, Given, Table, first_by, highest_first, rows_by
from bmx_grid.analysis.gains import gains_by_explainer
from bmx_grid.analysis.points import point_name
from bmx_grid.core.wording import P_VALUE, counted, named, number, point_in_words, written
from bmx_grid.datasets.segments import NO_PAIR
from bmx_grid.evaluations.boost_evidence import ALL, OTHER_DATASETS, PUBLISHED
from bmx_grid.evaluations.grid_surface import PointRow
from bmx_grid.evaluations.verdicts import (
    ADDS_NOTHING,
    DISTANCE,
    FEWEST_UNITS,
    HELPS,
    HURTS,
    LEGEND,
    NO_GAIN,
    NOT_JUDGED,
    TOO_LITTLE,
    Verdict,
)
from bmx_grid.measures.resampling import CONFIDENCE

PAPERS_BOOST = "power_mean_grid"
PRECISE = 0.02  # a gain that should be seen if it is there
POWER = 0.8
MOST_NAMED = 5  # that are named
MOST_STEPS = 3
DECLARED = "declared"
FURTHER = (PUBLISHED, OTHER_DATASETS, NOT_JUDGED)  # questions beside that of declared points
KEEP = "keep the metric as it is"
RATE_MORE = "rate more segments: these are too few to judge a boost"
ESTIMATED = {  # the estimates of a verdict, and their headers
    "gain": "gain",
    "beyond": "beyond score, length and text",
    "over_reassigned": "over reassigned",
    "over_shuffled": "over shuffled weights",
    "within_source": "within source",
    "length_gain": "length alone",
    "curve_gain": "curve alone",
    "combined_gain": "average of metrics",
    "over_metrics": "over the metrics",
}
OF_VERDICTS = (
    "Each boost is chosen on some segments, not boosting among the choices, and judged on others. Data set or language "
    "pair all: the mean over language pairs. In brackets 95 % intervals: of one pair by a bootstrap of clusters of "
    "segments; of several the wider of Student's t over the pairs and the bootstrap of all their clusters.",
    "Gain: over the metric alone. Beyond score, length and text: what the boost adds to all that score and numbers of "
    "words jointly, the frequency of words, and named systems, raters and domains tell of the judged segments. Over "
    "reassigned: the gain minus that of the same boost made of attributions of other segments. Over shuffled weights: "
    "the same with attributions of a shuffled model, where explainer=shuffled is in the sweep. Within source: among "
    "the outputs for one source. Length, curve alone, average of metrics: what these gain without an explanation, "
    "chosen in the same way; over the metrics: as beyond, with all other metrics of the sweep.",
    "p (Holm): of gain, beyond score, length and text, and over reassigned together, corrected for so many verdicts of "
    "one question. Best point looks better by: its gain on the segments that it is chosen on, minus its gain on "
    "others.",
    *(f"{label[0].upper()}{label[1:]}: {meaning}." for label, meaning in LEGEND.items()),
)
# What people's scores and attributions may both depend on, where the data name it.
SHARED_LEVELS = ("system", "document", "rater", "domain")


@dataclass(frozen=True, kw_only=True)
class ShownVerdict(Verdict):
    """A verdict as it is shown.

    question: "declared", or of published points, other data sets, or what could not be judged. place: of the boost
    among those of the sweep, in which the paper's comes first, then the others as they were declared. rank: of the
    verdict, what helps first. best_looks_better: the gain of the best point minus that on other segments; chosen_on: on
    what segments. repeat_deviation: the largest of a judge that scored repeatedly; None of another metric.
    """

    question: str
    place: int
    rank: int
    best_looks_better: float
    chosen_on: str
    repeat_deviation: float | None

    @property
    def in_words(self) -> str:
        """The verdict, with the names of the metrics that a boost adds nothing to, or with what is undefined."""
        if math.isnan(self.gain.value):
            return f"{self.verdict}: {self.because}"
        if self.verdict != ADDS_NOTHING:
            return self.verdict
        metrics = named([written(name) for name in self.metrics.split(", ")])
        return f"helps, but adds nothing to {metrics}, in this sweep"

    @property
    def of_boost(self) -> tuple[str, str, str]:
        """Metric, explainer and boost."""
        return self.metric, self.explainer, self.boost

    @property
    def width(self) -> int:
        """2 on all data sets, 1 on all language pairs of one, 0 on one pair."""
        return (self.dataset == ALL) + (self.language_pair == ALL)


Verdicts = Sequence[ShownVerdict]


def shown_verdicts(given: Given) -> list[ShownVerdict]:
    """The verdicts on metrics and explainers that are no controls, on the widest scope of each boost.

    By question, what could not be judged at the end; what helps first, then by the other verdicts, by the gain.
    """
    # Verdicts on controls say whether the method can be trusted, not what to use.
    metrics, explainers = (given.real.factor_levels(factor) for factor in ("metric", "explainer"))
    known = [row for row in given.rows("verdicts", Verdict) if row.metric in metrics and row.explainer in explainers]
    boosts = _different([PAPERS_BOOST, *(row.boost for row in known)])
    deviations: dict[str, float] = {}
    for setting in given.settings:
        if math.isfinite(setting.repeat_deviation):
            deviations[setting.metric] = max(setting.repeat_deviation, deviations.get(setting.metric, 0.0))
    # None for all hides the column; as soon as one judge repeated, the other metrics are unknown, not steady.
    unknown = math.nan if deviations else None
    rows = [
        ShownVerdict(
            **vars(row),
            question=row.point if row.point in FURTHER else DECLARED,
            place=boosts.index(row.boost),
            rank=list(LEGEND).index(row.verdict),
            best_looks_better=row.best_gain - row.gain.value,
            chosen_on=DISTANCE.get(row.point, row.point.replace("_", " ")),
            repeat_deviation=deviations.get(row.metric, unknown),
        )
        for row in known
    ]
    # Sorted before the widest are picked, so that every later group begins with its best verdict.
    rows.sort(key=_order)
    # A mean over all language pairs, where there is one, already holds what each of them says.
    widest: dict[Any, int] = {}
    for row in rows:
        boost = row.question, row.of_boost
        widest[boost] = max(row.width, widest.get(boost, 0))
    return [row for row in rows if row.question == NOT_JUDGED or row.width == widest[row.question, row.of_boost]]


def _order(row: ShownVerdict) -> tuple[Any, ...]:
    question = (DECLARED, *FURTHER).index(row.question)
    return (question, row.rank, highest_first(row.gain.value), *row.of_boost, row.dataset, row.language_pair)


def of_settings(given: Given) -> list[Verdict]:
    """The verdicts on single settings, also on controls, of the boost that was declared first, at declared points."""
    rows = [row for row in given.rows("verdicts", Verdict) if row.language_pair != ALL and row.point not in FURTHER]
    rows.sort(key=lambda row: row.boost != PAPERS_BOOST)  # the others stand in the order in which they were declared
    return list(first_by(rows, lambda row: row.setting_names).values())


@dataclass(frozen=True)
class Answers:
    """What is said of each boost.

    verdicts: see `shown_verdicts`; answers: per metric and explainer a line of the boost that was declared first,
    whatever others gain, and one of its published point, where there is one.
    legend: the verdicts that occur, a line each; next_steps: what to do, in a sentence, "" where it would rest on a
    constructed data set; not_judged: the boosts that cannot be made, a sentence per reason; unnamed: of SHARED_LEVELS,
    what no data set of the sweep names, in a sentence.
    """

    verdicts: Verdicts
    answers: Sequence[str]
    legend: Sequence[str] = ()
    next_steps: str = ""
    not_judged: Sequence[str] = ()
    unnamed: str = ""


def compute(given: Given) -> Answers:
    """The answer of a sweep, without verdicts that of its table."""
    every = given.ask(shown_verdicts)
    if not every:
        return Answers(every, _untested(given))
    by_question = rows_by(every, lambda row: row.question)
    rows = by_question.get(DECLARED, [])
    published = by_question.get(PUBLISHED, [])
    labels = {row.verdict for row in [*rows, *published]}
    # A mean over all data sets rests on the constructed ones as well: nobody should act on it.
    no_evidence = {*given.constructed, ALL} if given.constructed else set()
    return Answers(
        verdicts=every,
        answers=list(_answers(rows, published, given.rows("points", PointRow))),
        legend=[f"{label}: {meaning}." for label, meaning in LEGEND.items() if label in labels],
        next_steps=next_steps([row for row in rows if row.dataset not in no_evidence]),
        not_judged=_not_judged(by_question.get(NOT_JUDGED, []), rows),
        unnamed="" if given.constructed else _unnamed(rows),
    )


def tables(result: Answers) -> Iterator[Table]:
    """One row per metric, explainer and boost; no table without verdicts."""
    judged = [row for row in result.verdicts if row.question != NOT_JUDGED]
    if not judged:
        return
    repeated = any(row.repeat_deviation is not None for row in judged)
    of_placebos = any(math.isfinite(row.over_shuffled.value) for row in judged)  # most sweeps have no shuffled models
    # The column would be empty in all other sweeps.
    shown = [name for name in ESTIMATED if of_placebos or name != "over_shuffled"]
    columns = (
        *(*FACTORS, "boost", *(["human"] if several_golds(judged) else []), "verdict"),
        *(Column(name, ESTIMATED[name], "+.4f") for name in shown),
        Column("best_looks_better", "best point looks better by", "+.4f"),
        Column("p_helps_holm", "p (Holm)", P_VALUE),
        Column("tried", "corrected for"),
        Column("chosen_on", "chosen on"),
        "pairs",
        Column("n", "segments"),
        *([Column("repeat_deviation", "varies when repeated", ".4f")] if repeated else []),
    )
    notes = [*OF_VERDICTS, result.unnamed] if result.unnamed else OF_VERDICTS
    n_names = len(FACTORS) + 2 + several_golds(judged)
    yield Table.of("verdicts", "What each boost is worth", judged, columns, notes, by=["question"], names=n_names)


def several_golds(rows: Verdicts) -> bool:
    """Whether several human scores judge."""
    return len({row.human for row in rows}) > 1


def _unnamed(rows: Verdicts) -> str:
    """What could explain a gain and is not named; "" where all is."""
    known: set[str] = set()
    for row in rows:
        known.update(row.named.split(", "))
    missing = [f"{kind}s" for kind in SHARED_LEVELS if kind not in known]
    if not missing:
        return ""
    *others, last = missing
    kinds = f"{', '.join(others)} or {last}" if others else last
    return f"These data name no {kinds}: effects of these are not taken off, and may look like a gain."


def _boost(row: ShownVerdict, among: Verdicts) -> str:
    """Explainer and metric, with the boost where there is another than the paper's."""
    boost = f" ({row.boost})" if any(other.boost != PAPERS_BOOST for other in among) else ""
    return f"{written(row.explainer)} on {written(row.metric)}{boost}"


def _place(row: ShownVerdict, among: Verdicts) -> str:
    """The language pair, with its data set where there are several."""
    pair = "" if row.language_pair in (ALL, NO_PAIR) else row.language_pair
    # "all" alone would not say whether it is of one data set.
    several = len({other.dataset for other in among}) > 1 or row.language_pair == ALL
    return " ".join(part for part in (written(row.dataset) if several else "", pair) if part)


def _doubt(row: ShownVerdict) -> str:
    """Why nothing is shown though the interval leaves 0 out; "" where it needs no reason."""
    if row.verdict != NO_GAIN or not (row.gain.low > 0 or row.gain.high < 0):
        return ""
    # Established, and not worth having.
    if row.p_gain_holm <= 1 - CONFIDENCE:
        return "too small"
    looks = "gain" if row.gain.low > 0 else "loss"
    return f"looks like a {looks}, but not after the correction for {row.tried} verdicts"


def _answers(declared: Verdicts, published: Verdicts, points: Sequence[PointRow]) -> Iterator[str]:
    """The lines of each metric and explainer, those with the best verdict of a first boost first."""
    fixed = {row.explainer: point_name(row.explainer, row.w, row.p) for row in points if row.point == PUBLISHED}
    # What the first boost says is the answer; others are named only where they say something else.
    by_both = rows_by(declared, lambda row: row.of_boost[:2])
    for both, lines in _of_first_boost(declared).items():
        yield _answer(_boost(lines[0], declared), lines, declared, _others(lines, by_both[both]))
        for at_point in _of_first_boost([row for row in published if row.of_boost[:2] == both]).values():
            where = fixed.get(both[1], "its fixed point")
            yield _answer(f"{_boost(at_point[0], declared)} at {where}", at_point, declared, [])


def _of_first_boost(rows: Verdicts) -> dict[Any, list[ShownVerdict]]:
    """By metric and explainer the verdicts of the boost that was declared first."""
    in_place = sorted(rows, key=lambda row: row.place)
    first = first_by(in_place, lambda row: row.of_boost[:2])
    of_first = [row for row in rows if row.boost == first[row.of_boost[:2]].boost]
    return rows_by(of_first, lambda row: row.of_boost[:2])


def _others(lines: Verdicts, rows: Verdicts) -> list[str]:
    """What other boosts have another verdict than those of these lines, with it."""
    verdicts = {row.verdict for row in lines}
    others = [row for row in rows if row.boost != lines[0].boost and row.verdict not in verdicts]
    others.sort(key=lambda row: row.place)
    remarks = []
    for verdict, alike in rows_by(others, lambda row: row.verdict).items():
        boosts = _different(row.boost for row in alike)
        remarks.append(f"{verdict} by {named(boosts)}")
    return remarks


def _different(names: Iterable[str]) -> list[str]:
    """Each name once, in the order of the first."""
    return list(dict.fromkeys(names))


def _answer(head: str, lines: Verdicts, among: Verdicts, remarks: Sequence[str]) -> str:
    """A line of a boost, on each verdict where language pairs differ. among: as for `_place`; remarks: further ones."""
    by_verdict = rows_by(lines, lambda row: (row.human, row.in_words))
    parts = [_part(alike, among) for alike in by_verdict.values()]
    length = lines[0].length_gain
    varies = lines[0].repeat_deviation
    beside = []
    if len(lines) == 1 and math.isfinite(length.value):
        beside.append(f"length alone {length:+.3f}")
    if varies is not None and math.isfinite(varies):
        beside.append(f"the correlation varies by {number(varies, '.3f')} when repeated")
    line = f"{head}: {'; '.join(parts)}"
    end = _joined(*beside, *remarks)
    return f"{line} ({end})" if end else line


def _part(alike: Verdicts, among: Verdicts) -> str:
    """A verdict with its gain, the largest of several language pairs, and what it rests on."""
    first = alike[0]  # the largest gain: rows of one verdict are sorted by it
    verdict = f"{first.in_words} ({first.human})" if several_golds(among) else first.in_words
    if math.isnan(first.gain.value):
        places = [_place(row, among) for row in alike]
        return _joined(verdict, named(places))
    several = len(alike) > 1
    gain = f"{first.gain:+.3f}"
    if several:
        gain = f"at most {gain}"
    remarks = _joined(_place(first, alike) if several else "", _doubt(first))
    if remarks:
        gain = f"{gain} ({remarks})"
    n_pairs = max(first.pairs, len(alike))
    where = counted(n_pairs, "language pair") if n_pairs > 1 else _place(first, among)
    segments = counted(sum(row.n for row in alike), "segment")
    # Of several pairs it would be the number of one of them.
    known_within = not several and math.isfinite(first.within_source.value)
    within = f"within sources {first.within_source:+.3f}" if known_within else ""
    return _joined(verdict, gain, where, segments, within)


def _joined(*parts: str) -> str:
    return ", ".join(filter(None, parts))


def _not_judged(rows: Verdicts, declared: Verdicts) -> list[str]:
    """The boosts that cannot be made, and the language pairs, a sentence per reason."""
    sentences = []
    for alike in rows_by(rows, lambda row: row.because).values():
        boosts = _different(_boost(row, [*rows, *declared]) for row in alike)
        places = _different(_place(row, rows) for row in alike)
        where = f" for {named(places)}" if any(places) else ""
        sentences.append(f"{named(boosts)}{where}: {alike[0].because.rstrip('.')}.")
    return sentences


def _untested(given: Given) -> list[str]:
    """Mean gains at the fixed points, and why there are no verdicts."""
    # A results table alone has no scores of segments, and so nothing to test with.
    fixed = given.ask(gains_by_explainer)
    lines = [
        f"{written(name)} at {point_in_words(row.used_w, row.used_p)}, {row.origin}: the mean gain over "
        f"{counted(row.n, 'setting')} is {row.mean}"
        for name, row in fixed.items()
        if row.n > 0
    ]
    why = "No boost was judged on other segments: a sweep with evaluation=[grid,boosts] does so."
    return [*lines, why] if fixed else []


def next_steps(rows: Verdicts) -> str:
    """What to do with each metric, in a sentence; "" without verdicts. rows: what helps first."""
    by_metric = rows_by(rows, lambda row: row.metric)
    steps = rows_by(by_metric, lambda metric: _step(by_metric[metric]))
    lines = []
    for step, metrics in steps.items():
        names = [written(metric) for metric in metrics]
        lines.append(f"{step} ({named(names, most=MOST_NAMED)})")
    return f"Next: {named(lines, most=MOST_STEPS, separator='; ')}." if lines else ""


def _step(rows: Verdicts) -> str:
    """The next step with one metric."""
    first = rows[0]
    averages = [row for row in rows if _average_is_better(row)]
    n_known = sum(math.isfinite(row.combined_gain.value) for row in rows)
    if averages and len(averages) == n_known:
        # The least of what averages gain: advice must not promise more than every place bears out.
        least = min(averages, key=lambda row: row.combined_gain.value)
        return f"use an average of the metrics instead, {least.combined_gain:+.3f}"
    of_first = [row for row in rows if row.of_boost == first.of_boost]
    by_place = rows_by(of_first, lambda row: _place(row, rows))
    helped = []
    for place, golds in by_place.items():
        if all(row.verdict == HELPS for row in golds):
            helped.append(place)
    if helped:
        where = f" on {', '.join(helped)}" if len(helped) < len(by_place) else ""
        return f"use the recipe of {first.boost} with {written(first.explainer)}{where}"
    if all(row.verdict == HURTS for row in rows):
        return f"do not boost it, {KEEP}"
    return _more_data(rows) if all(row.verdict in (TOO_LITTLE, NO_GAIN) for row in rows) else KEEP


def _average_is_better(row: ShownVerdict) -> bool:
    """Whether averaging metrics gains more than the boost, established also beyond score, length and text."""
    established = row.combined_gain.established and row.combined_beyond.established
    # A gain of the boost counts only where the whole rule found it.
    gain = row.gain.value if row.verdict == HELPS else 0.0
    return established and row.combined_gain.value > gain


def _more_data(rows: Verdicts) -> str:
    """How much more to rate so that the whole rule finds a gain of PRECISE; no more where that is there already."""
    known = [row for row in rows if math.isfinite(row.gain.low)]
    row = max(known, key=lambda row: row.gain.value, default=None)
    if row is None:
        return RATE_MORE
    needed = units_needed(row)
    rated = row.pairs if row.pairs > 1 else row.n
    more = needed - rated
    if more <= 0:
        return KEEP if row.verdict == NO_GAIN else RATE_MORE
    goal = f"a gain of {PRECISE:g} with probability {POWER:g}"
    if row.pairs > 1:  # nobody makes language pairs: each can be judged by itself, by its segments
        one_by_one = "judge language pairs one by one (dataset.NAME.language_pairs=[PAIR])"
        return f"{one_by_one}, as to see {goal} across them takes about {needed:,}"
    hundreds = math.ceil(more / 100)
    return f"rate about {counted(hundreds * 100, 'more segment')} to see {goal}"


def units_needed(row: ShownVerdict) -> int:
    """At how many segments, or language pairs, the rule gives "helps" with probability POWER for a gain of PRECISE.

    All conditions must be established after Holm's correction, its hardest step, if gain, gain beyond score, length
    and text, and gain over reassigned attributions are of that size. Their estimates go together (r about .9 in
    simulations) and come to have the same error with more segments, so that the gain stands for all. Its standard
    error is that of the interval, and falls with the root of the number.
    """
    from scipy.special import stdtr, stdtrit

    units = row.pairs if row.pairs > 1 else row.n
    reach = stdtrit(row.units[0] - 1, (1 + CONFIDENCE) / 2)
    error = (row.gain.high - row.gain.low) / (2 * reach) * math.sqrt(units)
    if error == 0:
        return FEWEST_UNITS
    # The hardest step of Holm's correction is Bonferroni's.
    level = 1 - (1 - CONFIDENCE) / 2 / max(row.tried, 1)
    needed = FEWEST_UNITS
    # Power grows with the number, and the answer is advice: steps of 1 % are fine enough.
    while stdtr(needed - 1, PRECISE / error * math.sqrt(needed) - stdtrit(needed - 1, level)) < POWER:
        needed = max(needed + 1, math.floor(needed * 1.01))
    return needed
