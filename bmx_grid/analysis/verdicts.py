"""The answer of a sweep: what each boost is worth on segments that it was not chosen on, and what to do next.

The numbers are those of verdicts.parquet. A results table alone has no verdicts: the mean gains at the fixed points are
said instead, and that nothing was tested.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bmx_grid.analysis import fixed
from bmx_grid.analysis.base import Cell, Table
from bmx_grid.analysis.beside import Reached
from bmx_grid.analysis.given import Given
from bmx_grid.analysis.points import PAPERS_DATASETS
from bmx_grid.analysis.tested import ALPHA
from bmx_grid.evaluations.boost_evidence import ALL, COMBINED, OTHER_DATASETS, PUBLISHED
from bmx_grid.evaluations.boost_verdicts import DISTANCE, ESTIMATES, NOT_JUDGED
from bmx_grid.evaluations.verdicts import HELPS, HURTS, LEGEND, NO_GAIN, TOO_LITTLE
from bmx_grid.wording import counted, named, number, point_in_words, with_interval

if TYPE_CHECKING:
    import pandas as pd

PRECISE = 0.02  # half of an interval that tells a gain worth having
PAPERS_BOOST = "power_mean_grid"
KEEP = "keep the metric as it is"
COLUMNS = {
    "gain": "gain",
    "beyond": "beyond score and length",
    "over_reassigned": "over reassigned",
    "within_source": "within source",
    "length_gain": "length alone",
    "curve_gain": "curve alone",
    "combined_gain": "average of metrics",
    "over_metrics": "over the metrics",
}
HEADER = (
    *("data set", "language pair", "metric", "explainer", "boost", "verdict", *COLUMNS.values()),
    *("best point looks better by", "p (Holm)", "of", "chosen on", "pairs", "segments"),
)
NOTES = (
    "Each boost is chosen on some segments, not boosting among the choices, and judged on others. Data set or language "
    "pair all: the mean over language pairs. In brackets 95 % intervals: of one pair by a bootstrap of clusters of "
    "segments; of several the wider of Student's t over the pairs and the bootstrap of all their clusters.",
    "Gain: over the metric alone. Beyond score and length: with a smooth curve of the score and the numbers of words "
    "fitted to the judged segments, for metric and boost alike. Over reassigned: the gain minus that of the same boost "
    "made of attributions of other segments. Within source: among the translations of one source. Length, curve alone, "
    "average of metrics: what these gain without an explanation, chosen in the same way; over the metrics: what the "
    "boost adds to a fit of all metrics at hand.",
    "p (Holm): of gain, beyond score and length, and over reassigned together, corrected over so many verdicts of one "
    "question. The best point looks better by what it gains on the segments it is chosen on more than on others.",
    *(f"{label[0].upper()}{label[1:]}: {meaning}." for label, meaning in LEGEND.items()),
)


@dataclass(frozen=True)
class ShownVerdict:
    """A verdict with the numbers behind it, NaN where undefined; columns of verdicts.parquet.

    dataset, language_pair: "all" where it speaks of several. estimates: gains by name, with their intervals.
    """

    dataset: str
    language_pair: str
    metric: str
    explainer: str
    boost: str
    point: str
    verdict: str
    because: str
    estimates: Mapping[str, Reached]
    reassigned_gain: float
    best_gain: float
    p_gain_holm: float
    p_helps_holm: float
    tried: int
    pairs: int
    n: int
    clusters: int

    @property
    def gain(self) -> Reached:
        """Over the metric alone."""
        return self.estimates["gain"]

    @property
    def helps(self) -> bool:
        """Whether that is the verdict."""
        return self.verdict == HELPS

    @property
    def label(self) -> str:
        """The verdict, with the reason where no gain is defined."""
        return f"{self.verdict}: {self.because}" if math.isnan(self.gain.gain) else self.verdict

    @property
    def scope(self) -> str:
        """On which segments."""
        on = f"over {self.pairs} language pairs" if self.pairs > 1 else f"on {self.dataset} {self.language_pair}"
        return f"{on}, {counted(self.n, 'segment')}"

    @property
    def what(self) -> str:
        """Explainer, metric, and a boost that is not the paper's."""
        boost = "" if self.boost == PAPERS_BOOST else f" ({self.boost})"
        return f"{self.explainer} on {self.metric}{boost}"

    @property
    def gain_in_words(self) -> str:
        """ "+0.004 [-0.012, +0.018]"; with the reason why a gain whose interval is above 0 is not shown."""
        why = ""
        if self.verdict == NO_GAIN and self.gain.low > 0:
            corrected = f"not after the correction for {self.tried} verdicts"
            why = f" ({'too small' if self.p_gain_holm <= ALPHA else corrected})"
        return f"{_words(self.gain, '+.3f')}{why}"


@dataclass(frozen=True, eq=False)
class Verdicts:
    """verdicts: on the widest scope of each boost, what helps first; published, other_datasets: further questions.

    verdicts_in_words: a sentence per metric and explainer, then on further questions, what to do, and the legend.
    """

    verdicts: Sequence[ShownVerdict]
    verdicts_published: Sequence[ShownVerdict]
    verdicts_other_datasets: Sequence[ShownVerdict]
    verdicts_in_words: Sequence[str]


def compute(given: Given) -> Verdicts:
    """The verdicts on metrics and explainers that are not controls."""
    frame, real = given.frames.get("verdicts"), given.real
    if frame is not None and not {"boost", *ESTIMATES} <= set(frame.columns):
        frame = None  # of an earlier version
    if frame is not None:
        names = {factor: frame[factor].isin(real.factor_levels(factor)) for factor in ("metric", "explainer")}
        frame = frame[names["metric"] & names["explainer"]]
    if frame is None or not len(frame):
        return Verdicts((), (), (), _untested(given))
    at = {point: frame["point"] == point for point in (PUBLISHED, OTHER_DATASETS, NOT_JUDGED)}
    elsewhere = at[PUBLISHED] | at[OTHER_DATASETS] | at[NOT_JUDGED]
    declared, published, other = (
        _sorted(widest(frame[rows])) for rows in (~elsewhere, at[PUBLISHED], at[OTHER_DATASETS])
    )
    in_sample = sorted(PAPERS_DATASETS & set(frame.loc[at[PUBLISHED], "dataset"]))
    where = f"At the published points{f' (in-sample on {named(in_sample)})' if in_sample else ''}"
    further = [*_further(where, published), *_further("Chosen on the other data sets instead", other)]
    lacking = _not_judged([_shown(row) for row in frame[at[NOT_JUDGED]].to_dict("records")], declared)
    steps = _next_steps(declared, given.frames.get("boosts"))
    known = {row.verdict for row in (*declared, *published, *other)}
    legend = [f"{label}: {meaning}." for label, meaning in LEGEND.items() if label in known]
    return Verdicts(declared, published, other, [*_answers(declared), *lacking, *further, *steps, *legend])


def tables(result: Verdicts) -> Sequence[Table]:
    """One row per metric, explainer and boost; no table without verdicts."""
    if not result.verdicts:
        return ()
    groups = tuple(
        tuple(_cells(row) for row in rows)
        for rows in (result.verdicts, result.verdicts_published, result.verdicts_other_datasets)
        if rows
    )
    return (Table("verdicts", "What each boost is worth", HEADER, groups, NOTES, names=6),)


def widest(frame: pd.DataFrame) -> pd.DataFrame:
    """For each boost of a metric and explainer the rows on most: all data sets, else each data set, else each pair."""
    width = (frame["dataset"] == ALL).astype(int) + (frame["language_pair"] == ALL)
    names = [frame[name] for name in ("metric", "explainer", "boost")]
    return frame[width == width.groupby(names).transform("max")]


def _sorted(frame: pd.DataFrame) -> list[ShownVerdict]:
    """What helps first, then by the other verdicts, the largest gain first."""
    order: list[str] = list(LEGEND)
    rows = [_shown(row) for row in frame.to_dict("records")]
    return sorted(
        rows,
        key=lambda row: (
            *(order.index(row.verdict), _descending(row.gain.gain)),
            *(row.what, row.dataset, row.language_pair),
        ),
    )


def _shown(row: Mapping[Any, Any]) -> ShownVerdict:
    estimates = {name: Reached(row[name], row[f"{name}_low"], row[f"{name}_high"]) for name in ESTIMATES}
    fields = [name for name in ShownVerdict.__dataclass_fields__ if name != "estimates"]
    return ShownVerdict(estimates=estimates, **{name: row[name] for name in fields})


def _answers(rows: Sequence[ShownVerdict]) -> list[str]:
    """A sentence per metric and explainer: its first boost, then how many others have which verdict."""
    sentences = []
    for of_both in _grouped(rows, "metric", "explainer"):
        by_boost = list(_grouped(of_both, "boost"))
        others = Counter(_verdicts_of(same) for same in by_boost[1:])
        tried = [f"{counted(count, 'other boost')}: {verdicts}" for verdicts, count in others.items()]
        sentences.append(f"{of_both[0].what}: {'; '.join([_answer(by_boost[0]), *tried])}.")
    return sentences


def _answer(same: Sequence[ShownVerdict]) -> str:
    """The verdict on one boost; on several scopes, with too few language pairs for a mean, those on each."""
    if len(same) == 1:
        return _on_one_scope(same[0])
    by_label = list(_grouped(same, "label"))
    if len(by_label) == 1 and math.isnan(same[0].gain.gain):
        return same[0].label
    parts = []
    for alike in by_label:
        places = [_place(row, same) for row in alike]
        if math.isnan(alike[0].gain.gain):
            parts.append(f"on {named(places)} {alike[0].label}")
        else:
            gains = [f"{place} {row.gain_in_words}" for place, row in zip(places, alike, strict=True)]
            parts.append(f"{alike[0].label} on {', '.join(gains)}")
    return "; ".join([*parts, f"{counted(sum(row.n for row in same), 'segment')} in all"])


def _on_one_scope(row: ShownVerdict) -> str:
    if math.isnan(row.gain.gain):
        return row.label
    length = row.estimates["length_gain"].gain
    beside = f" (length alone {number(length, '+.3f')})" if math.isfinite(length) else ""
    return f"{row.label}, {row.gain_in_words} {row.scope}{beside}"


def _verdicts_of(same: Sequence[ShownVerdict]) -> str:
    """The verdicts on one boost, "no gain shown or hurts, by language pair" where they differ."""
    labels = list(dict.fromkeys(row.label for row in same))
    return labels[0] if len(labels) == 1 else f"{' or '.join(labels)}, by language pair"


def _place(row: ShownVerdict, among: Sequence[ShownVerdict]) -> str:
    """The language pair, with its data set where there are several."""
    several = len({one.dataset for one in among}) > 1 or row.language_pair == ALL
    pair = "" if row.language_pair == ALL else row.language_pair
    return " ".join(part for part in (row.dataset if several else "", pair) if part)


def _grouped(rows: Sequence[ShownVerdict], *names: str) -> Iterable[list[ShownVerdict]]:
    """Rows that agree in these attributes, in the order of the first of each."""
    groups: dict[tuple[str, ...], list[ShownVerdict]] = {}
    for row in rows:
        groups.setdefault(tuple(getattr(row, name) for name in names), []).append(row)
    return groups.values()


def _not_judged(rows: Sequence[ShownVerdict], declared: Sequence[ShownVerdict]) -> list[str]:
    """The boosts that cannot be made, a sentence per reason; with their language pairs where others can."""
    judged = {row.what for row in declared}
    sentences = []
    for alike in _grouped(rows, "because"):
        names = [
            f"{same[0].what}{f' for {named([_place(row, rows) for row in same])}' if same[0].what in judged else ''}"
            for same in _grouped(alike, "what")
        ]
        sentences.append(f"{named(names)}: {alike[0].because.rstrip('.')}.")
    return sentences


def _further(where: str, rows: Sequence[ShownVerdict]) -> list[str]:
    """The verdicts on further points, in a sentence; none where there are none."""
    several = len({(row.dataset, row.language_pair) for row in rows}) > 1
    parts = []
    for alike in _grouped(rows, "label"):
        names = [f"{row.what} for {_place(row, rows)}" if several else row.what for row in alike]
        gains = [f"{name} {row.gain_in_words}" for name, row in zip(names, alike, strict=True)]
        parts.append(f"{alike[0].label} ({named(gains)})")
    return [f"{where}: {'; '.join(parts)}."] if parts else []


def _next_steps(rows: Sequence[ShownVerdict], boosts: pd.DataFrame | None) -> list[str]:
    """What to do with each metric, in a sentence for those of which the same is said."""
    steps: dict[str, list[str]] = {}
    for own in _grouped(rows, "metric"):
        steps.setdefault(_step(own, boosts), []).append(own[0].metric)
    return [f"{named(metrics)}: {step}." for step, metrics in steps.items()]


def _step(rows: Sequence[ShownVerdict], boosts: pd.DataFrame | None) -> str:
    """The next step with one metric; rows: what helps first."""
    first = rows[0]
    averages = [row.estimates["combined_gain"] for row in rows if _average_is_better(row)]
    if averages and len(averages) == sum(math.isfinite(row.estimates["combined_gain"].gain) for row in rows):
        gains = _words(averages[0], "+.3f")
        if len({(row.dataset, row.language_pair) for row in rows}) > 1:
            gains = f"at least {number(min(one.gain for one in averages), '+.3f')}"
        return f"use {_average(first.metric, boosts)} instead, {gains}"
    if first.helps:
        same = [row for row in rows if (row.explainer, row.boost) == (first.explainer, first.boost)]
        helped = [_place(row, same) for row in same if row.helps]
        where = f" on {', '.join(helped)}" if len(helped) < len(same) else ""
        return f"use the recipe of {first.boost} with {first.explainer}{where}"
    if all(row.verdict == HURTS for row in rows):
        return f"do not boost it, {KEEP}"
    if all(row.verdict in (TOO_LITTLE, NO_GAIN) for row in rows):
        return _more_data(rows)
    return KEEP


def _average_is_better(row: ShownVerdict) -> bool:
    """Whether averaging metrics gains more than the boost, established also beyond score and length."""
    average, beyond = row.estimates["combined_gain"], row.estimates["combined_beyond"]
    return average.low > 0 and beyond.low > 0 and average.gain > (row.gain.gain if row.helps else 0.0)


def _more_data(rows: Sequence[ShownVerdict]) -> str:
    """What to rate so that the interval tells a gain of PRECISE; where it does already, no more."""
    known = [row for row in rows if math.isfinite(row.gain.low)]
    if not known:
        return "rate more segments: these are too few to judge a boost"
    row = min(known, key=lambda one: one.gain.high - one.gain.low)
    wider = ((row.gain.high - row.gain.low) / 2 / PRECISE) ** 2
    if wider <= 1:
        return KEEP if row.verdict == NO_GAIN else "rate more segments: these are too few to judge a boost"
    if row.pairs > 1:
        more = counted(math.ceil(row.pairs * (wider - 1)), "more language pair")
        return f"add about {more} of this size to see a gain of {PRECISE:g}"
    more = counted(math.ceil(row.n * (wider - 1) / 100) * 100, "more segment")
    return f"rate about {more} of {row.dataset} {row.language_pair} to see a gain of {PRECISE:g}"


def _average(metric: str, boosts: pd.DataFrame | None) -> str:
    """The average that most language pairs choose, in words; the constants of a single choice are JSON."""
    counts: Counter[tuple[str, ...]] = Counter()
    if boosts is not None:
        own = boosts[(boosts["metric"] == metric) & (boosts["boost"] == COMBINED) & (boosts["constants"] != "")]
        for text in own["constants"]:
            constants = json.loads(text)
            weights = zip(constants["features"], constants["weights"], strict=True)
            counts[(metric,) * (constants["own"] > 0) + tuple(name for name, weight in weights if weight > 0)] += 1
    del counts[metric,]  # no average
    if not counts:
        return "an average of the metrics"
    (names, _), *_rest = counts.most_common(1)
    return names[0] if len(names) == 1 else f"the average of {', '.join(names[:-1])} and {names[-1]}"


def _untested(given: Given) -> list[str]:
    """Mean gains at the fixed points, and why there are no verdicts."""
    found = given.ask(fixed.compute)
    said = []
    for name, one in found.fixed.items():
        mean = with_interval(one.gains.mean_gain, one.gains.mean_low, one.gains.mean_high)
        where = f"{name} at {point_in_words(one.used_w, one.used_p)}, {one.origin}"
        said.append(f"{where}: the mean gain over {counted(one.gains.n, 'setting')} is {mean}.")
    why = (
        "No boost was judged on other segments: a sweep with evaluation=[grid,boosts] does so, and writes "
        "verdicts.parquet beside its grid."
    )
    return [*said, why] if said else said


def _cells(row: ShownVerdict) -> tuple[Cell, ...]:
    names = (row.dataset, row.language_pair, row.metric, row.explainer, row.boost, row.verdict)
    chosen_on = DISTANCE.get(row.point, row.point.replace("_", " "))
    return (
        *map(Cell, names),
        *(Cell(row.estimates[name].gain, "+.4f", words=_words(row.estimates[name], "+.4f")) for name in COLUMNS),
        Cell(row.best_gain - row.gain.gain, "+.4f"),
        *(Cell(row.p_helps_holm, ".3f"), Cell(row.tried), Cell(chosen_on), Cell(row.pairs), Cell(row.n)),
    )


def _words(one: Reached, form: str) -> str:
    return with_interval(one.gain, one.low, one.high, form)


def _descending(gain: float) -> float:
    """A key that sorts large gains first and undefined ones last."""
    return math.inf if math.isnan(gain) else -gain
