"""The verdicts of a sweep as rows to show: on the widest scope of each boost, what helps first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bmx_grid.analysis.base import Given, SettingKey, each_row, first_by, highest_first
from bmx_grid.analysis.points import in_sample_on
from bmx_grid.core.wording import named, written
from bmx_grid.datasets.segments import NO_PAIR
from bmx_grid.evaluations.boost_evidence import ALL, OTHER_DATASETS, PUBLISHED
from bmx_grid.evaluations.verdicts import DISTANCE, LEGEND, NOT_JUDGED, REDUNDANT, Verdict

PAPERS_BOOST = "power_mean_grid"
DECLARED = "declared"
FURTHER = (PUBLISHED, OTHER_DATASETS, NOT_JUDGED)  # questions beside that of declared points


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
        if self.verdict != REDUNDANT:
            return self.verdict
        metrics = [written(name) for name in self.metrics.split(", ")]
        return f"{self.verdict} with {named(metrics)} in this sweep"

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
    verdicts = []
    for verdict in given.rows("verdicts", Verdict):
        if not SettingKey(*verdict.setting_names).control:
            verdicts.append(verdict)
    # The paper's boost first, the others as they were declared.
    declared = [verdict.boost for verdict in verdicts]
    boosts = list(dict.fromkeys([PAPERS_BOOST, *declared]))
    labels = list(LEGEND)
    deviations = _repeat_deviations(given)
    # None for all hides the column; as soon as one judge repeated, the other metrics are unknown, not steady.
    unknown = math.nan if deviations else None
    rows = []
    for verdict in verdicts:
        point = verdict.point
        row = ShownVerdict(
            **vars(verdict),
            question=point if point in FURTHER else DECLARED,
            place=boosts.index(verdict.boost),
            rank=labels.index(verdict.verdict),
            best_looks_better=verdict.best_gain - verdict.gain.value,
            chosen_on=_chosen_on(given, verdict),
            repeat_deviation=deviations.get(verdict.metric, unknown),
        )
        rows.append(row)
    # Sorted before the widest are picked, so that every later group begins with its best verdict.
    rows.sort(key=_order)
    # A mean over all language pairs, where there is one, already holds what each of them says.
    widths: dict[Any, int] = {}
    for row in rows:
        boost = row.question, row.of_boost
        widths[boost] = max(row.width, widths.get(boost, 0))
    widest = []
    for row in rows:
        if row.question == NOT_JUDGED or row.width == widths[row.question, row.of_boost]:
            widest.append(row)
    return widest


def _chosen_on(given: Given, verdict: Verdict) -> str:
    """On what segments a boost was chosen; a published point also on those that judge it, in its paper."""
    words = DISTANCE.get(verdict.point, verdict.point.replace("_", " "))
    if verdict.point == PUBLISHED:
        datasets = [verdict.dataset]
        if verdict.dataset == ALL:
            datasets = given.real.factor_levels("dataset")
        in_sample = in_sample_on(given, verdict.explainer, datasets)
        if in_sample:
            words += f" (in-sample on {named(in_sample)})"
    return words


def _repeat_deviations(given: Given) -> dict[str, float]:
    """The largest deviation of each judge that scored repeatedly, by metric."""
    deviations: dict[str, float] = {}
    for setting in each_row(given.settings):
        deviation = setting.repeat_deviation
        if math.isfinite(deviation):
            deviations[setting.metric] = max(deviation, deviations.get(setting.metric, 0.0))
    return deviations


def _order(row: ShownVerdict) -> tuple[Any, ...]:
    question = (DECLARED, *FURTHER).index(row.question)
    gain = highest_first(row.gain.value)
    return (question, row.rank, gain, *row.of_boost, row.dataset, row.language_pair)


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


def place_of(row: ShownVerdict, among: Verdicts) -> str:
    """The language pair, with its data set where there are several among these rows."""
    datasets = {other.dataset for other in among}
    parts = []
    # "all" alone would not say whether it is of one data set.
    if len(datasets) > 1 or row.language_pair == ALL:
        parts.append(written(row.dataset))
    if row.language_pair not in (ALL, NO_PAIR):
        parts.append(row.language_pair)
    return " ".join(parts)
