"""Correlation with human scores on the best systems only (Zhan et al. 2021, table 1, figure 2).

Also compares metrics on these systems. The tables are top_systems.parquet, ranks.parquet and top_differences.parquet.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from bmx_grid.attribution.contracts import combine_statistics
from bmx_grid.core.identity import identity
from bmx_grid.evaluations.base import (
    BASE,
    MOST_RESAMPLES,
    OF_METRIC,
    OF_PAIR,
    Estimate,
    Evaluation,
    ScoredSetting,
    group_by_names,
)
from bmx_grid.evaluations.levels import OF_SYSTEMS, SystemLevel, SystemScoring
from bmx_grid.guests.difficulty.difficulty_bertscore import DifficultyBertScore
from bmx_grid.guests.difficulty.difficulty_rows import AS_SCORED, ON_THESE, DifferenceRow, RankRow, TopRow
from bmx_grid.measures.correlation import average_ranks
from bmx_grid.measures.systems import FEWEST_SYSTEMS
from bmx_grid.words.attributions import AttributionSet

# By the number of best systems compared, and the metric's fit: AS_SCORED or ON_THESE
Levels = Mapping[tuple[int, str], SystemLevel]


@dataclass(frozen=True, kw_only=True)
class TopSystemsEvaluation(Evaluation):
    """Correlations of system scores with people among the best 3, 4, … systems by human score, and their ranks.

    A metric that was fitted on exactly these systems (`DifficultyBertScore.best`) has rows as fitted on them, too.
    resamples: of each interval; seed: of its draws. system_score: as for the evaluation `levels`. Judged is the
    baseline, by the primary human score.
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

    def evaluate_scope(self, settings: Sequence[ScoredSetting]) -> list[Mapping[str, Sequence[Any]]]:
        """The rows of each setting, with the differences between metrics, each taken from its first explainer."""
        levels = [self._levels(setting) for setting in settings]
        differences: list[list[DifferenceRow]] = [[] for _ in settings]
        first_places = [places[0] for places in group_by_names(settings, OF_METRIC)]
        for left, right in itertools.combinations(first_places, 2):
            # The rows belong to the metric that is fitted on the systems, if one of the two is.
            if _is_fitted(levels[right]) and not _is_fitted(levels[left]):
                left, right = right, left
            against = settings[right].metric_name
            differences[left] += _differences(levels[left], levels[right], against)
        results: list[Mapping[str, Sequence[Any]]] = []
        for setting_levels, difference_rows in zip(levels, differences, strict=True):
            top: list[TopRow] = []
            ranks: list[RankRow] = []
            for (size, fitted), level in setting_levels.items():
                top += _top_rows(size, fitted, level)
                ranks += _rank_rows(size, fitted, level)
            results.append({"top_systems": top, "ranks": ranks, "top_differences": difference_rows})
        return results

    def _levels(self, setting: ScoredSetting) -> Levels:
        """The best systems by their number and the metric's fit; empty with fewer than three.

        Systems need a name, a score and a human score.
        """
        resampling = {"resamples": self.resamples, "seed": self.seed}
        human = setting.segments.judgements.primary_of_systems
        best_first = _best_first(setting)
        levels = {}
        for size in range(FEWEST_SYSTEMS, len(best_first) + 1):
            for fitted, part in _parts(setting, best_first[:size]):
                levels[size, fitted] = SystemLevel(part, BASE, human, resampling, self.system_score)
        return levels


def _is_fitted(levels: Levels) -> bool:
    """Whether a metric was fitted on the systems compared, for some number of systems."""
    return any(fitted == ON_THESE for _, fitted in levels)


def _top_rows(size: int, fitted: str, level: SystemLevel) -> Iterator[TopRow]:
    # The last row, soft accuracy, is computed on request, and is not needed.
    for row in itertools.islice(level.rows(), len(OF_SYSTEMS)):
        yield TopRow(
            human_name=level.human_name,
            systems=size,
            fitted=fitted,
            statistic=row.statistic,
            value=row.value,
            n_segments=row.n_segments,
            system_score=row.system_score,
        )


def _rank_rows(size: int, fitted: str, level: SystemLevel) -> Iterator[RankRow]:
    """A row per system among the best `size` ones. fitted: the metric's fit, as in `TopRow`."""
    # Scores of a level are turned so that higher is better: turned back, they are the metric's own.
    own_scores = level.direction * level.scores
    ranks = average_ranks(-level.scores)
    human_ranks = average_ranks(-level.human)
    for place, name in enumerate(level.names):
        yield RankRow(
            human_name=level.human_name,
            systems=size,
            fitted=fitted,
            system=name,
            score=float(own_scores[place]),
            rank=float(ranks[place]),
            human=float(level.human[place]),
            human_rank=float(human_ranks[place]),
        )


def _differences(left: Levels, right: Levels, against: str) -> Iterator[DifferenceRow]:
    """Differences for every number of systems that both have; a fitted metric is fitted on these systems."""
    sizes = {size for size, _ in left}
    sizes &= {size for size, _ in right}
    for size in sorted(sizes):
        left_fitted = ON_THESE if (size, ON_THESE) in left else AS_SCORED
        right_fitted = ON_THESE if (size, ON_THESE) in right else AS_SCORED
        x = left[size, left_fitted]
        y = right[size, right_fitted]
        for statistic in OF_SYSTEMS:
            value = x.values[statistic] - y.values[statistic]
            difference = Estimate(value)
            # Samples of both can be compared one by one if the same systems and segments were drawn for them.
            if math.isfinite(value) and x.drawn_from == y.drawn_from:
                samples = x.samples[statistic] - y.samples[statistic]
                low, high = x.interval(samples)
                difference = Estimate(value, low, high)
            yield DifferenceRow(
                against=against,
                human_name=x.human_name,
                systems=size,
                fitted=left_fitted,
                against_fitted=right_fitted,
                statistic=statistic,
                difference=difference,
            )


def _best_first(setting: ScoredSetting) -> list[str]:
    """The systems that have a human score and a score, from the best to the worst by people."""
    if not setting.segments.systems:
        return []
    level = SystemLevel(setting, BASE, setting.segments.judgements.primary_of_systems)
    human_if_scored = np.where(np.isfinite(level.scores), level.human, np.nan)
    human = dict(zip(level.names, human_if_scored.tolist(), strict=True))
    known = [name for name in setting.segments.systems if name and math.isfinite(human[name])]
    return sorted(known, key=lambda name: -human[name])


def _parts(setting: ScoredSetting, systems: list[str]) -> Iterator[tuple[str, ScoredSetting]]:
    """The setting restricted to `systems`, as it was scored, and as fitted on these if such scores exist."""
    size = len(systems)
    kept = set(systems)
    is_kept = [segment.system in kept for segment in setting.segments.segments]
    rows = np.flatnonzero(is_kept)
    statistics = setting.scores.statistics
    if statistics is not None:
        statistics = statistics[rows]
    scores = AttributionSet(setting.scores.base_scores[rows], {}, statistics, systems=setting.scores.systems)
    # The baseline is judged: boosts and words are left out.
    part = replace(
        setting,
        segments=setting.segments.take(rows),
        items=tuple(setting.items[row] for row in rows.tolist()),
        scores=scores,
        clusters=[setting.clusters[row] for row in rows.tolist()],
        boosted={},
    )
    yield AS_SCORED, part
    metric = setting.metric
    if statistics is None or not isinstance(metric, DifficultyBertScore) or metric.outputs is None:
        return
    columns = metric.columns_of_best().get(size)
    if columns is None:
        return
    # The metric ranks all systems by people; those without a score here may be among its best ones.
    outputs = metric.outputs
    fitted_on = {outputs.systems[position] for position in outputs.best_first[:size]}
    if kept == fitted_on:
        fitted_statistics = metric.statistics_of(statistics, *columns)
        fitted_scores = AttributionSet(combine_statistics(metric, fitted_statistics), {}, fitted_statistics)
        yield ON_THESE, replace(part, scores=fitted_scores)
