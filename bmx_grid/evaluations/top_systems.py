"""Correlation with human judgements on the best systems alone (Zhan et al. 2021, table 1, figure 2).

Metrics are compared there as well. The tables are top_systems.parquet, ranks.parquet and top_differences.parquet.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import ClassVar

import numpy as np

from bmx_grid.attribution.store import AttributionSet
from bmx_grid.errors import ConfigError
from bmx_grid.evaluations.agreement import OF_SYSTEMS, OfPoint, Places, SystemScore
from bmx_grid.evaluations.base import BASE, Each, Evaluation, Finished, Floats, grouped, here, seconds
from bmx_grid.identity import identity
from bmx_grid.measures.correlation import average_ranks
from bmx_grid.measures.systems import FEWEST_SYSTEMS, Statistic, system_interval
from bmx_grid.metrics.difficulty_bertscore import DifficultyBertScore

SECONDS_PER_SEGMENT = 2e-3  # with 1,000 resamples
AS_SCORED, ON_THESE = "as scored", "on these systems"


@dataclass(frozen=True)
class TopRow:
    """One row of top_systems.parquet.

    systems: how many of the best by human score are compared. fitted: "on these systems" for a metric that was fitted
    on these alone, else "as scored". value: the correlation of system scores with human scores, with the metric's own
    sign; low, high: its 95 % interval over systems and clusters of segments. system_score: "corpus" or "mean".
    """

    human_name: str
    systems: int
    fitted: str
    statistic: str
    value: float
    low: float
    high: float
    n_segments: int
    system_score: str


@dataclass(frozen=True)
class RankRow:
    """One row of ranks.parquet: the score and rank of a system among so many best ones, by a metric and by people.

    Ranks count from 1, the best; equal scores share the mean of theirs.
    """

    human_name: str
    systems: int
    fitted: str
    system: str
    score: float
    rank: float
    human: float
    human_rank: float


@dataclass(frozen=True)
class DifferenceRow:
    """One row of top_differences.parquet: how much better the metric of the row does than `against`.

    Of two metrics the row's is the one that is fitted on the systems, else the first of the sweep. Correlations of a
    metric whose lower scores are better are turned: above 0 the metric of the row is the better one.
    fitted, against_fitted: as in `TopRow`, "on these systems" where there is such a fit. low, high: the 95 % interval
    over systems and clusters of segments, the same ones drawn for both; NaN where the metrics scored other segments.
    """

    against: str
    human_name: str
    systems: int
    fitted: str
    against_fitted: str
    statistic: str
    difference: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Drawn:
    """What differences are made of: statistics of a metric among so many systems, turned so that higher is better.

    samples: float64[B] resampled ones; of: of what systems and clusters; interval: samples -> its ends.
    """

    values: Mapping[Statistic, float]
    samples: Mapping[Statistic, Floats]
    of: bytes
    interval: Callable[[Floats], tuple[float, float]]


@dataclass(frozen=True)
class TopSystems:
    """The rows of one setting. drawn: by number of systems and fit, until the settings of a sweep are compared."""

    top_systems: tuple[TopRow, ...] = ()
    ranks: tuple[RankRow, ...] = ()
    top_differences: tuple[DifferenceRow, ...] = ()
    drawn: Mapping[tuple[int, str], Drawn] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class TopSystemsEvaluation(Evaluation):
    """Correlations of system scores with people among the best 3, 4, … systems by human score, and their ranks.

    A metric that was fitted on these systems alone (`DifficultyBertScore.best`) has rows as fitted on them as well.
    resamples: of each interval; seed: of its draws. system_score: as for the evaluation `levels`. Judged is the metric
    alone, by the primary human score.
    Raises ConfigError for a negative number of resamples.
    """

    VERSION: ClassVar[int] = 2  # differences of metrics were added
    ROWS: ClassVar[Mapping[str, type]] = {
        "top_systems": TopRow,
        "ranks": RankRow,
        "top_differences": DifferenceRow,
    }

    resamples: int = identity(1000)
    seed: int = identity(0)
    system_score: SystemScore = identity("auto")

    def __post_init__(self) -> None:
        if self.resamples < 0:
            raise ConfigError(f"evaluation.top_systems.resamples={self.resamples}: write 0 for no intervals, or 1000.")

    def cost(self, n_segments: int) -> float:
        return seconds(n_segments, SECONDS_PER_SEGMENT, self.resamples)

    def evaluate(self, settings: Sequence[Finished], each: Each = here) -> list[TopSystems]:
        """The rows of each setting, with the differences between metrics, each taken from its first explainer."""
        results = each(self._of_setting, settings)
        rows: dict[int, list[DifferenceRow]] = {}
        for of_pair in grouped(settings, (0, 1)):
            first_of: dict[str, int] = {}
            for at in of_pair:
                first_of.setdefault(settings[at].metric_name, at)
            for one, other in itertools.combinations(first_of.values(), 2):
                fitted = [any(fit == ON_THESE for _, fit in results[at].drawn) for at in (one, other)]
                first, second = (other, one) if fitted == [False, True] else (one, other)
                names = settings[second].metric_name, settings[first].segments.judgements.primary
                rows.setdefault(first, []).extend(_differences(results[first], results[second], *names))
        return [replace(of, top_differences=tuple(rows.get(at, ())), drawn={}) for at, of in enumerate(results)]

    def _of_setting(self, setting: Finished) -> TopSystems:
        """The rows of the metric alone; none where fewer than three systems have names and human scores."""
        best_first = _best_first(setting)
        found = TopSystems()
        for size in range(FEWEST_SYSTEMS, len(best_first) + 1):
            for fitted, part in _parts(setting, best_first[:size]):
                found = self._with(found, fitted, part, size)
        return found

    def _with(self, found: TopSystems, fitted: str, setting: Finished, size: int) -> TopSystems:
        """With the rows of a setting of so many systems."""
        human = setting.segments.judgements.primary
        drawn = {"resamples": self.resamples, "seed": self.seed}
        one = OfPoint(setting, Places(setting), BASE, human, system_score=self.system_score, **drawn)
        rows = [
            TopRow(human, size, fitted, row.statistic, row.value, row.low, row.high, row.n_segments, row.system_score)
            for row in islice(one.system_rows(), len(OF_SYSTEMS))  # soft accuracy, the last one, is not asked for
        ]
        names, scores, judged = one.of_systems()
        direction = 1.0 if setting.metric.higher_is_better else -1.0
        values = {
            statistic: row.value * (1.0 if statistic == "pairwise_accuracy" else direction)
            for statistic, row in zip(OF_SYSTEMS, rows, strict=True)
        }
        interval = functools.partial(system_interval, n_systems=one.n_systems, n_clusters=one.n_clusters)
        kept = {**found.drawn, (size, fitted): Drawn(values, one.samples, one.drawn_from, interval)}
        columns = (scores * direction, _ranks(scores), judged, _ranks(judged))
        ranks = [
            RankRow(human, size, fitted, name, *(float(column[at]) for column in columns))
            for at, name in enumerate(names)
        ]
        return TopSystems((*found.top_systems, *rows), (*found.ranks, *ranks), drawn=kept)


def _differences(one: TopSystems, other: TopSystems, against: str, human: str) -> Iterator[DifferenceRow]:
    """Of every number of systems that both have, each as fitted on these systems where it is."""
    for size in sorted({size for size, _ in one.drawn} & {size for size, _ in other.drawn}):
        fits = [ON_THESE if (size, ON_THESE) in found.drawn else AS_SCORED for found in (one, other)]
        x, y = one.drawn[size, fits[0]], other.drawn[size, fits[1]]
        for statistic in OF_SYSTEMS:
            difference, ends = x.values[statistic] - y.values[statistic], (math.nan, math.nan)
            if x.of == y.of and math.isfinite(difference):
                ends = x.interval(x.samples[statistic] - y.samples[statistic])
            yield DifferenceRow(against, human, size, fits[0], fits[1], statistic, difference, *ends)


def _best_first(setting: Finished) -> list[str]:
    """The systems that have a human score and a score, from the best to the worst by people."""
    if not setting.segments.systems:
        return []
    one = OfPoint(setting, Places(setting), BASE, setting.segments.judgements.primary)
    names, scores, human = one.of_systems()
    of_human = {
        name: value
        for name, score, value in zip(names, scores.tolist(), human.tolist(), strict=True)
        if name and np.isfinite(score) and np.isfinite(value)
    }
    return sorted((name for name in setting.segments.systems if name in of_human), key=lambda name: -of_human[name])


def _parts(setting: Finished, systems: list[str]) -> Iterator[tuple[str, Finished]]:
    """The setting with these systems alone, as it was scored, and as fitted on these where there are such scores."""
    kept = set(systems)
    rows = np.flatnonzero([segment.system in kept for segment in setting.segments.segments])
    statistics = setting.statistics

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
        yield ON_THESE, part(AttributionSet(metric.combine(again), {}, again))


def _ranks(scores: Floats) -> Floats:
    """Ranks from 1, the highest; the mean of equal ones."""
    return np.asarray(average_ranks(-scores))
