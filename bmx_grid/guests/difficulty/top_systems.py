"""Correlation with human judgements on the best systems alone (Zhan et al. 2021, table 1, figure 2).

Metrics are compared there as well. The tables are top_systems.parquet, ranks.parquet and top_differences.parquet.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from bmx_grid.attribution.contracts import combined
from bmx_grid.attribution.store import AttributionSet
from bmx_grid.core.identity import identity
from bmx_grid.evaluations.base import (
    BASE,
    MOST_RESAMPLES,
    OF_METRIC,
    OF_PAIR,
    Estimate,
    Evaluation,
    Finished,
    grouped,
)
from bmx_grid.evaluations.levels import OF_SYSTEMS, SystemLevel, SystemScoring
from bmx_grid.guests.difficulty.difficulty_bertscore import DifficultyBertScore
from bmx_grid.guests.difficulty.difficulty_rows import DifferenceRow, RankRow, TopRow
from bmx_grid.measures.correlation import average_ranks
from bmx_grid.measures.systems import FEWEST_SYSTEMS

AS_SCORED = "as scored"
ON_THESE = "on these systems"


@dataclass(frozen=True, kw_only=True)
class TopSystemsEvaluation(Evaluation):
    """Correlations of system scores with people among the best 3, 4, … systems by human score, and their ranks.

    A metric that was fitted on these systems alone (`DifficultyBertScore.best`) has rows as fitted on them as well.
    resamples: of each interval; seed: of its draws. system_score: as for the evaluation `levels`. Judged is the metric
    alone, by the primary human score.
    Raises ConfigError for a negative number of resamples.
    """

    VERSION: ClassVar[int] = 2  # differences of metrics were added
    SECONDS: ClassVar[float] = 2e-3
    SCOPE: ClassVar[tuple[str, ...]] = OF_PAIR
    QUESTIONS: ClassVar[tuple[str, ...]] = ("bmx_grid.guests.difficulty.best_systems",)
    ROWS: ClassVar[Mapping[str, type]] = {
        "top_systems": TopRow,
        "ranks": RankRow,
        "top_differences": DifferenceRow,
    }

    resamples: int = identity(1000, least=0, most=MOST_RESAMPLES)
    seed: int = identity(0)
    system_score: SystemScoring = identity("auto")

    def of_scope(self, settings: Sequence[Finished]) -> list[Mapping[str, Sequence[Any]]]:
        """The rows of each setting, with the differences between metrics, each taken from its first explainer."""
        levels = [dict(self._levels(setting)) for setting in settings]
        differences: list[list[DifferenceRow]] = [[] for _ in settings]
        first = [places[0] for places in grouped(settings, OF_METRIC)]  # of a metric its first explainer
        for one, other in itertools.combinations(first, 2):
            fitted = [any(fit == ON_THESE for _, fit in levels[place]) for place in (one, other)]
            left, right = (other, one) if fitted == [False, True] else (one, other)
            differences[left] += _differences(levels[left], levels[right], settings[right].metric_name)
        results: list[Mapping[str, Sequence[Any]]] = []
        for of_setting, rows in zip(levels, differences, strict=True):
            top: list[Any] = []
            ranks: list[Any] = []
            for key, level in of_setting.items():
                top += _top_rows(*key, level)
                ranks += _rank_rows(*key, level)
            results.append({"top_systems": top, "ranks": ranks, "top_differences": rows})
        return results

    def _levels(self, setting: Finished) -> Iterator[tuple[tuple[int, str], SystemLevel]]:
        """The best systems by how many they are and what the metric was fitted on; none with fewer than three.

        Systems without a name, a score or a human score are none.
        """
        drawn = {"resamples": self.resamples, "seed": self.seed}
        human = setting.segments.judgements.primary
        best_first = _best_first(setting) if setting.segments.systems else []
        for size in range(FEWEST_SYSTEMS, len(best_first) + 1):
            for fitted, part in _parts(setting, best_first[:size]):
                level = SystemLevel(part, BASE, human, drawn, self.system_score)
                yield (size, fitted), level


def _top_rows(size: int, fitted: str, level: SystemLevel) -> Iterator[TopRow]:
    for row in itertools.islice(level.rows(), len(OF_SYSTEMS)):  # soft accuracy, the last one, is not asked for
        yield TopRow(level.human_name, size, fitted, row.statistic, row.value, row.n_segments, row.system_score)


def _rank_rows(size: int, fitted: str, level: SystemLevel) -> Iterator[RankRow]:
    ranks = (average_ranks(-scores) for scores in (level.scores, level.human))
    columns = np.stack([level.direction * level.scores, next(ranks), level.human, next(ranks)], axis=1).tolist()
    for name, values in zip(level.names, columns, strict=True):
        yield RankRow(level.human_name, size, fitted, name, *values)


def _differences(
    one: Mapping[tuple[int, str], SystemLevel], other: Mapping[tuple[int, str], SystemLevel], against: str
) -> Iterator[DifferenceRow]:
    """Of every number of systems that both have, each as fitted on these systems where it is."""
    for size in sorted({size for size, _ in one} & {size for size, _ in other}):
        fits = [ON_THESE if (size, ON_THESE) in levels else AS_SCORED for levels in (one, other)]
        x = one[size, fits[0]]
        y = other[size, fits[1]]
        for statistic in OF_SYSTEMS:
            difference = Estimate(x.values[statistic] - y.values[statistic])
            if x.drawn_from == y.drawn_from and math.isfinite(difference.value):
                difference = Estimate(difference.value, *x.interval(x.samples[statistic] - y.samples[statistic]))
            yield DifferenceRow(against, x.human_name, size, fits[0], fits[1], statistic, difference)


def _best_first(setting: Finished) -> list[str]:
    """The systems that have a human score and a score, from the best to the worst by people."""
    level = SystemLevel(setting, BASE, setting.segments.judgements.primary)
    scored = np.where(np.isfinite(level.scores), level.human, np.nan)
    human = dict(zip(level.names, scored.tolist(), strict=True))
    known = [name for name in setting.segments.systems if name and math.isfinite(human[name])]
    return sorted(known, key=lambda name: -human[name])


def _parts(setting: Finished, systems: list[str]) -> Iterator[tuple[str, Finished]]:
    """The setting with these systems alone, as it was scored, and as fitted on these where there are such scores."""
    kept = set(systems)
    rows = np.flatnonzero([segment.system in kept for segment in setting.segments.segments])
    statistics = setting.scores.statistics

    def part(scores: AttributionSet) -> Finished:
        return replace(
            setting,
            segments=setting.segments.take(rows),
            items=tuple(setting.items[row] for row in rows.tolist()),
            scores=scores,
            clusters=[setting.clusters[row] for row in rows.tolist()],
            boosted={},
            words={},
        )

    own = None if statistics is None else statistics[rows]
    yield AS_SCORED, part(AttributionSet(setting.scores.base_scores[rows], {}, own))
    metric = setting.metric
    if own is None or not isinstance(metric, DifficultyBertScore) or metric.outputs is None:
        return
    columns = metric.columns_of_best().get(len(systems))
    if columns is not None and kept == {metric.outputs.systems[at] for at in metric.outputs.best_first[: len(systems)]}:
        again = metric.statistics_of(own, *columns)
        yield ON_THESE, part(AttributionSet(combined(metric, again), {}, again))
