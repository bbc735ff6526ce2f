"""The answer of a sweep: what each boost is worth on segments that it was not chosen on, and what to do next.

The numbers are those of verdicts.parquet. A results table alone has no verdicts: the mean gains at the fixed points are
said instead, and that nothing was tested.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bmx_grid.analysis import fixed
from bmx_grid.analysis.base import Cell, Table, working
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
    def scope(self) -> str:
        """On which segments."""
        if self.pairs > 1:
            return f"{counted(self.pairs, 'language pair')}, {counted(self.n, 'segment')}"
        return f"{self.dataset} {self.language_pair}, {counted(self.n, 'segment')}"

    @property
    def what(self) -> str:
        """Explainer, metric, and a boost that is not the paper's."""
        boost = "" if self.boost == PAPERS_BOOST else f" ({self.boost})"
        return f"{self.explainer} on {self.metric}{boost}"

    def in_words(self) -> str:
        """ "no gain shown, +0.004 [-0.012, +0.018]"."""
        why = ""
        if self.verdict == NO_GAIN and self.gain.low > 0:
            small = self.p_gain_holm <= ALPHA
            why = " (too small)" if small else f" (not after the correction for {self.tried} verdicts)"
        return f"{self.verdict}, {_words(self.gain, '+.3f')}{why}"


@dataclass(frozen=True, eq=False)
class Verdicts:
    """verdicts: on the widest scope of each boost, what helps first; published, other_datasets: further questions.

    verdicts_in_words: a sentence per metric and explainer, then on further questions, what to do, and the legend.
    """

    verdicts: Sequence[ShownVerdict]
    verdicts_published: Sequence[ShownVerdict]
    verdicts_other_datasets: Sequence[ShownVerdict]
    verdicts_in_words: Sequence[str]
    answers: Sequence[str] = working()


def compute(given: Given) -> Verdicts:
    """The verdicts on metrics and explainers that are no controls."""
    frame = given.frames.get("verdicts")
    if frame is None or not len(frame):
        return Verdicts((), (), (), _untested(given))
    real = given.real
    own = frame[
        frame["metric"].isin(real.factor_levels("metric")) & frame["explainer"].isin(real.factor_levels("explainer"))
    ]
    further = own["point"].isin((NOT_JUDGED, PUBLISHED, OTHER_DATASETS))
    declared, published, other = (
        _sorted(widest(own[rows])) for rows in (~further, own["point"] == PUBLISHED, own["point"] == OTHER_DATASETS)
    )
    answers = _answers(declared)
    steps = _next_steps(declared, given.frames.get("boosts"))
    words = [*answers, *_not_judged(own[own["point"] == NOT_JUDGED]), *_further(published, other), *steps]
    legend = [
        f"{label}: {meaning}." for label, meaning in LEGEND.items() if any(row.verdict == label for row in declared)
    ]
    return Verdicts(declared, published, other, [*words, *legend], answers)


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
    return sorted(rows, key=lambda row: (order.index(row.verdict), _descending(row.gain.gain), row.what, row.scope))


def _shown(row: Mapping[Any, Any]) -> ShownVerdict:
    estimates = {name: Reached(row[name], row[f"{name}_low"], row[f"{name}_high"]) for name in ESTIMATES}
    fields = [name for name in ShownVerdict.__dataclass_fields__ if name != "estimates"]
    return ShownVerdict(estimates=estimates, **{name: row[name] for name in fields})


def _answers(rows: Sequence[ShownVerdict]) -> list[str]:
    """A sentence per metric and explainer: its first boost, then how many others have which verdict."""
    found = []
    for first, own in _grouped(rows).values():
        same = [row for row in own if row.boost == first.boost]
        if len(same) > 1:  # too few language pairs for a mean of them
            by: dict[str, list[str]] = {}
            for row in same:
                by.setdefault(row.verdict, []).append(f"{row.language_pair} {_words(row.gain, '+.3f')}")
            said = "; ".join(f"{label} on {', '.join(pairs)}" for label, pairs in by.items())
            said += f"; {counted(sum(row.n for row in same), 'segment')}"
        else:
            length = first.estimates["length_gain"].gain
            beside = f" (length alone {number(length, '+.3f')})" if math.isfinite(length) else ""
            said = f"{first.in_words()}, {first.scope}{beside}"
        others = Counter(row.verdict for row in own if row.boost != first.boost)
        tried = ", ".join(f"{counted(count, 'other boost')} {label}" for label, count in others.items())
        found.append(f"{first.what}: {said}{f'; {tried}' if tried else ''}.")
    return found


def _grouped(rows: Sequence[ShownVerdict]) -> dict[tuple[str, str], tuple[ShownVerdict, list[ShownVerdict]]]:
    """By metric and explainer the first row, and all."""
    found: dict[tuple[str, str], tuple[ShownVerdict, list[ShownVerdict]]] = {}
    for row in rows:
        found.setdefault((row.metric, row.explainer), (row, []))[1].append(row)
    return found


def _not_judged(frame: pd.DataFrame) -> list[str]:
    """The boosts that some settings cannot take, with the reason, once."""
    found = []
    for because, own in frame.groupby("because", sort=False):
        metrics = list(dict.fromkeys(own["metric"] + " x " + own["explainer"]))
        found.append(f"{', '.join(own['boost'].unique())} {because} ({named(metrics)}).")
    return found


def _further(published: Sequence[ShownVerdict], other: Sequence[ShownVerdict]) -> list[str]:
    """What holds at published points, and where other data sets choose."""
    said = []
    for rows, where in ((published, "At the published points"), (other, "Chosen on the other data sets instead")):
        if not rows:
            continue
        inside = sorted({row.dataset for row in rows} & PAPERS_DATASETS) if rows is published else []
        where += f" (in-sample on {named(inside)})" if inside else ""
        by: dict[str, list[str]] = {}
        for row in rows:
            by.setdefault(row.verdict, []).append(f"{row.what} {_words(row.gain, '+.3f')}")
        said.append(f"{where}: {'; '.join(f'{label} ({named(own)})' for label, own in by.items())}.")
    return said


def _next_steps(rows: Sequence[ShownVerdict], boosts: pd.DataFrame | None) -> list[str]:
    """What to do with each metric, in a sentence for those of which the same is said."""
    steps: dict[str, list[str]] = {}
    by_metric: dict[str, list[ShownVerdict]] = {}
    for row in rows:
        by_metric.setdefault(row.metric, []).append(row)
    for metric, own in by_metric.items():
        steps.setdefault(_step(own, boosts), []).append(metric)
    return [f"{named(metrics)}: {step}." for step, metrics in steps.items()]


def _step(own: Sequence[ShownVerdict], boosts: pd.DataFrame | None) -> str:
    first, best = own[0], max(own, key=lambda row: row.estimates["combined_gain"].low)
    average = best.estimates["combined_gain"]
    boost = first.gain.gain if first.helps else 0.0
    if average.low > 0 and best.estimates["combined_beyond"].low > 0 and average.gain > boost:
        instead = _average(first.metric, boosts)
        return f"{instead} instead, {_words(average, '+.3f')}"
    if first.helps:
        return f"use the recipe of {first.boost} by {first.explainer}"
    judged = [row for row in own if math.isfinite(row.gain.low)]
    if all(row.verdict in (TOO_LITTLE, NO_GAIN) for row in own) and judged:
        row = min(judged, key=lambda one: one.gain.high - one.gain.low)
        half = (row.gain.high - row.gain.low) / 2
        if half > PRECISE and row.pairs == 1:
            more = math.ceil(row.n * ((half / PRECISE) ** 2 - 1) / 100) * 100
            return f"rate about {more:,} segments more to see a gain of {PRECISE:g}"
        if half > PRECISE:
            more = math.ceil(row.pairs * ((half / PRECISE) ** 2 - 1))
            return f"add about {counted(more, 'language pair')} of this size to see a gain of {PRECISE:g}"
    if any(row.verdict == TOO_LITTLE for row in own) and not judged:
        return "rate more segments: nothing can be judged on these"
    if all(row.verdict == HURTS for row in own):
        return "do not boost it, keep the metric as it is"
    return "keep the metric as it is"


def _average(metric: str, boosts: pd.DataFrame | None) -> str:
    """The average that most language pairs choose, in words; the constants of a single choice are JSON."""
    counts: Counter[tuple[str, ...]] = Counter()
    if boosts is not None:
        own = boosts[(boosts["metric"] == metric) & (boosts["boost"] == COMBINED) & (boosts["constants"] != "")]
        for text in own["constants"]:
            constants = json.loads(text)
            weights = zip(constants["features"], constants["weights"], strict=True)
            counts[(metric,) * (constants["own"] > 0) + tuple(name for name, weight in weights if weight > 0)] += 1
    if not counts:
        return "use an average of the metrics"
    (names, _), *_rest = counts.most_common(1)
    return f"use {' + '.join(names)}"


def _untested(given: Given) -> list[str]:
    """Mean gains at the fixed points, and why there are no verdicts."""
    found = given.ask(fixed.compute)
    said = []
    for name, one in found.fixed.items():
        mean = with_interval(one.gains.mean_gain, one.gains.mean_low, one.gains.mean_high)
        where = f"{name} at {point_in_words(one.used_w, one.used_p)}, {one.origin}"
        said.append(f"{where}: the mean gain over {counted(one.gains.n, 'setting')} is {mean}.")
    why = "Nothing was judged: a sweep with evaluation=[grid,boosts] writes verdicts beside its grid."
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
