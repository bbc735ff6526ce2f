"""The answer of a sweep: what each boost is worth on segments that it was not chosen on, and what to do next.

The numbers are those of verdicts.parquet. A results table alone has no verdicts: the mean gains at the fixed points are
said instead, and that nothing was tested.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bmx_grid.analysis import fixed
from bmx_grid.analysis.base import Cell, Table
from bmx_grid.analysis.given import Given
from bmx_grid.analysis.names import written
from bmx_grid.analysis.next_steps import next_steps
from bmx_grid.analysis.verdict_rows import ShownVerdict, grouped, place_of, what_of
from bmx_grid.evaluations.boost_evidence import ALL, OTHER_DATASETS, PUBLISHED
from bmx_grid.evaluations.verdicts import DISTANCE, ESTIMATES, LEGEND, NOT_JUDGED
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

    answers: a line per metric and explainer, of the boost that gains most; legend: the verdicts that occur, a line
    each; next_steps: what to do, in a sentence; not_judged: the boosts that cannot be made, a sentence per reason.
    """

    verdicts: Sequence[ShownVerdict]
    verdicts_published: Sequence[ShownVerdict]
    verdicts_other_datasets: Sequence[ShownVerdict]
    answers: Sequence[str]
    legend: Sequence[str] = ()
    next_steps: str = ""
    not_judged: Sequence[str] = ()


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
    not_judged = _not_judged([ShownVerdict.of(row) for row in frame[at[NOT_JUDGED]].to_dict("records")], declared)
    answers = [_answer(same, declared) for same in grouped(declared, "metric", "explainer")]
    shown = {row.verdict for row in declared}
    legend = [f"{label}: {meaning}." for label, meaning in LEGEND.items() if label in shown]
    steps = next_steps(declared, given.frames.get("boosts"))
    return Verdicts(declared, published, other, answers, legend, steps, not_judged)


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


def _answer(of_both: Sequence[ShownVerdict], among: Sequence[ShownVerdict]) -> str:
    """The line of a metric and explainer: the boost that gains most, on each verdict where language pairs differ."""
    best = next(iter(grouped(of_both, "boost")))
    parts = [_part(same, among) for same in grouped(best, "label")]
    length = best[0].estimates["length_gain"].gain
    alone = f" (length alone {number(length, '+.3f')})" if len(best) == 1 and math.isfinite(length) else ""
    return f"{what_of(best[0], among)}: {'; '.join(parts)}{alone}"


def _part(same: Sequence[ShownVerdict], among: Sequence[ShownVerdict]) -> str:
    """A verdict with its gain, the largest of several language pairs, and what it rests on."""
    first = same[0]
    segments = counted(sum(row.n for row in same), "segment")
    if math.isnan(first.gain.gain):
        return ", ".join(filter(None, (first.label, named([place_of(row, among) for row in same]))))
    pairs = counted(max(first.pairs, len(same)), "language pair")
    remarks = [*([place_of(first, same)] if len(same) > 1 else []), *([first.doubt] if first.doubt else [])]
    remark = f" ({', '.join(remarks)})" if remarks else ""
    gain = f"{'at most ' if len(same) > 1 else ''}{first.gain.in_words('+.3f')}{remark}"
    where = pairs if first.pairs > 1 or len(same) > 1 else place_of(first, among)
    return ", ".join(filter(None, (first.label, gain, where, segments)))


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


def _untested(given: Given) -> list[str]:
    """Mean gains at the fixed points, and why there are no verdicts."""
    found = given.ask(fixed.compute)
    told = []
    for name, one in found.fixed.items():
        if not one.gains.n:
            continue
        mean = with_interval(one.gains.mean_gain, one.gains.mean_low, one.gains.mean_high)
        where = f"{written(name)} at {point_in_words(one.used_w, one.used_p)}, {one.origin}"
        told.append(f"{where}: the mean gain over {counted(one.gains.n, 'setting')} is {mean}")
    why = "No boost was judged on other segments: a sweep with evaluation=[grid,boosts] does so."
    return [*told, why] if found.fixed else []


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
