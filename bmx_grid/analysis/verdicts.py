"""The answer of a sweep: what each boost is worth on segments that it was not chosen on, and what to do next.

The numbers are those of verdicts.parquet. A results table alone has no verdicts: the mean gains at the fixed points are
said instead, and that nothing was tested.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bmx_grid.analysis import fixed
from bmx_grid.analysis.base import Cell, Table
from bmx_grid.analysis.given import Given
from bmx_grid.analysis.next_steps import next_steps
from bmx_grid.analysis.points import PAPERS_DATASETS
from bmx_grid.analysis.verdict_rows import ShownVerdict, grouped, place_of, what_of
from bmx_grid.evaluations.boost_evidence import ALL, OTHER_DATASETS, PUBLISHED
from bmx_grid.evaluations.boost_verdicts import DISTANCE, ESTIMATES, NOT_JUDGED
from bmx_grid.evaluations.verdicts import LEGEND
from bmx_grid.wording import counted, named, number, point_in_words, with_interval

if TYPE_CHECKING:
    import pandas as pd

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
    *("best point looks better by", "p (Holm)", "corrected for", "chosen on", "pairs", "segments"),
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
    "p (Holm): of gain, beyond score and length, and over reassigned together, corrected for so many verdicts of one "
    "question. Best point looks better by: its gain on the segments that it is chosen on, minus its gain on others.",
    *(f"{label[0].upper()}{label[1:]}: {meaning}." for label, meaning in LEGEND.items()),
)


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
    lacking = _not_judged([ShownVerdict.of(row) for row in frame[at[NOT_JUDGED]].to_dict("records")], declared)
    steps = next_steps(declared, given.frames.get("boosts"))
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
    rows = [ShownVerdict.of(row) for row in frame.to_dict("records")]
    return sorted(
        rows,
        key=lambda row: (
            *(order.index(row.verdict), _descending(row.gain.gain)),
            *(row.metric, row.explainer, row.boost, row.dataset, row.language_pair),
        ),
    )


def _answers(rows: Sequence[ShownVerdict]) -> list[str]:
    """A sentence per metric and explainer: its first boost, then how many others have which verdict."""
    sentences = []
    for of_both in grouped(rows, "metric", "explainer"):
        by_boost = list(grouped(of_both, "boost"))
        others = Counter(_verdicts_of(same) for same in by_boost[1:])
        tried = [f"{counted(count, 'other boost')}: {verdicts}" for verdicts, count in others.items()]
        sentences.append(f"{what_of(of_both[0], rows)}: {'; '.join([_answer(by_boost[0]), *tried])}.")
    return sentences


def _answer(same: Sequence[ShownVerdict]) -> str:
    """The verdict on one boost; on several scopes, with too few language pairs for a mean, those on each."""
    if len(same) == 1:
        return _on_one_scope(same[0])
    by_label = list(grouped(same, "label"))
    if len(by_label) == 1 and math.isnan(same[0].gain.gain):
        return same[0].label
    parts = []
    for alike in by_label:
        places = [place_of(row, same) for row in alike]
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


def _not_judged(rows: Sequence[ShownVerdict], declared: Sequence[ShownVerdict]) -> list[str]:
    """The boosts that cannot be made, a sentence per reason; with their language pairs where others can."""
    judged = {(row.metric, row.explainer, row.boost) for row in declared}
    sentences = []
    for alike in grouped(rows, "because"):
        names = []
        for same in grouped(alike, "metric", "explainer", "boost"):
            partly = (same[0].metric, same[0].explainer, same[0].boost) in judged
            where = f" for {named([place_of(row, rows) for row in same])}" if partly else ""
            names.append(f"{what_of(same[0], [*rows, *declared])}{where}")
        sentences.append(f"{named(names)}: {alike[0].because.rstrip('.')}.")
    return sentences


def _further(where: str, rows: Sequence[ShownVerdict]) -> list[str]:
    """The verdicts on further points, in a sentence; none where there are none."""
    several = len({(row.dataset, row.language_pair) for row in rows}) > 1
    parts = []
    for alike in grouped(rows, "label"):
        names = [what_of(row, rows) + (f" for {place_of(row, rows)}" if several else "") for row in alike]
        gains = [f"{name} {row.gain_in_words}" for name, row in zip(names, alike, strict=True)]
        parts.append(f"{alike[0].label} ({named(gains)})")
    return [f"{where}: {'; '.join(parts)}."] if parts else []


def _untested(given: Given) -> list[str]:
    """Mean gains at the fixed points, and why there are no verdicts."""
    found = given.ask(fixed.compute)
    said = []
    for name, one in found.fixed.items():
        if not one.gains.n:
            continue
        mean = with_interval(one.gains.mean_gain, one.gains.mean_low, one.gains.mean_high)
        where = f"{name} at {point_in_words(one.used_w, one.used_p)}, {one.origin}"
        said.append(f"{where}: the mean gain over {counted(one.gains.n, 'setting')} is {mean}.")
    why = (
        "No boost was judged on other segments: a sweep with evaluation=[grid,boosts] does so, and writes "
        "verdicts.parquet beside its grid."
    )
    return [*said, why] if found.fixed else []


def _cells(row: ShownVerdict) -> tuple[Cell, ...]:
    names = (row.dataset, row.language_pair, row.metric, row.explainer, row.boost, row.verdict)
    chosen_on = DISTANCE.get(row.point, row.point.replace("_", " "))
    return (
        *map(Cell, names),
        *(Cell(row.estimates[name].gain, "+.4f", words=row.estimates[name].in_words("+.4f")) for name in COLUMNS),
        Cell(row.best_gain - row.gain.gain, "+.4f"),
        *(Cell(row.p_helps_holm, ".3f"), Cell(row.tried), Cell(chosen_on), Cell(row.pairs), Cell(row.n)),
    )


def _descending(gain: float) -> float:
    """A key that sorts large gains first and undefined ones last."""
    return math.inf if math.isnan(gain) else -gain
