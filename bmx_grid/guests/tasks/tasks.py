"""One ranking of metrics over all tasks, systems ranked by people, and what outlier systems do: as WMT findings print.

A task is a language pair and a statistic: the metrics task of WMT24 has soft pairwise accuracy of systems and accuracy
of segments with ties for each of three language pairs (Freitag et al. 2024).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from bmx_grid.core.errors import ConfigError
from bmx_grid.core.identity import identity
from bmx_grid.core.ragged import Floats
from bmx_grid.datasets.segments import SegmentSet
from bmx_grid.evaluations.base import (
    BASE,
    MOST_RESAMPLES,
    OF_METRIC,
    OF_PAIR,
    Each,
    Evaluation,
    Finished,
    grouped,
    here,
)
from bmx_grid.evaluations.boost_evidence import ALL
from bmx_grid.evaluations.levels import SystemLevel
from bmx_grid.evaluations.significance import ALONE, significance_ranks, turned
from bmx_grid.guests.tasks.task_rows import HumanRank, TaskRank, WithoutOutliers
from bmx_grid.measures.agreement_tests import AgreementStatistic, Drawn, Scores, drawn_agreement
from bmx_grid.measures.correlation import correlate
from bmx_grid.measures.paired_tests import p_of_swaps
from bmx_grid.measures.systems import outliers, ranges_by_wins

Task = tuple[AgreementStatistic, float, Mapping[str, Scores]]  # statistic, weight, scores by metric


@dataclass(frozen=True, kw_only=True)
class TasksEvaluation(Evaluation):
    """Metrics alone over all tasks of a sweep.

    statistics: of each language pair. weights: by the name of a statistic, language pair or data set, 1 without; the
    weight of a task is their product. resamples, seed: of the permutations, which swap whole inputs, the same ones in
    all tasks of a language pair. Raises ConfigError.
    """

    SECONDS: ClassVar[float] = 4e-4  # where a language pair has a dozen metrics
    SCOPE: ClassVar[tuple[str, ...]] = OF_PAIR
    QUESTIONS: ClassVar[tuple[str, ...]] = ("bmx_grid.guests.tasks.shared_task",)
    ROWS: ClassVar[Mapping[str, type]] = {
        "task_ranking": TaskRank,
        "human_ranking": HumanRank,
        "outliers": WithoutOutliers,
    }

    statistics: tuple[AgreementStatistic, ...] = identity(("spa", "acc_eq"))
    weights: Mapping[str, float] = identity()
    resamples: int = identity(1000, least=40, most=MOST_RESAMPLES)
    seed: int = identity(0)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, weight in self.weights.items():
            if not 0 <= weight < math.inf:
                raise ConfigError(f"tasks.weights.{name} is {weight}; write a number of 0 or more.")

    def inapplicable(self, n_metrics: int, n_explainers: int, sets: Sequence[SegmentSet]) -> str:
        return "" if any(len(of.systems) > 1 for of in sets) else "ranks systems, and no data set names several"

    def of_scope(self, settings: Sequence[Finished]) -> list[dict[str, Any]]:
        """Systems as people rank them and outliers, and of the first setting `tasks`, by their names."""
        results: list[dict[str, Any]] = [{"tasks": {}} for _ in settings]
        if len(settings[0].segments.systems) < 2:
            return results
        alone = [of_metric[0] for of_metric in grouped(settings, OF_METRIC)]
        results[0]["human_ranking"] = list(_human_ranking(settings[0]))
        for at in alone:
            results[at]["outliers"] = [_without_outliers(settings[at])]
        for statistic in self.statistics:
            scores = {settings[at].metric_name: turned(settings[at], BASE, "system", statistic) for at in alone}
            names = (*settings[0].pair, statistic)
            weight = math.prod(self.weights.get(name, 1.0) for name in names)
            results[0]["tasks"][" ".join(names)] = statistic, weight, scores
        return results

    def evaluate(self, settings: Sequence[Finished], each: Each = here) -> list[dict[str, Any]]:
        """With one ranking over the tasks of all language pairs."""
        results = super().evaluate(settings, each)
        tasks = {name: task for result in results for name, task in result.pop("tasks").items()}
        first_of = {setting.metric_name: at for at, setting in reversed(list(enumerate(settings)))}
        for metric, row in self._ranking(tasks, list(first_of), each):
            results[first_of[metric]]["task_ranking"] = [row]
        return results

    def _ranking(self, tasks: Mapping[str, Task], metrics: Sequence[str], each: Each) -> Iterator[tuple[str, TaskRank]]:
        """The row of each metric; none without a task that all metrics have."""
        values = {
            name: [self._drawn(statistic, scores[metric], scores[metric].x, 0)[0] for metric in metrics]
            for name, (statistic, weight, scores) in tasks.items()
            if weight > 0 and len(scores) == len(metrics)
        }
        shared = {name: tasks[name] for name, of_task in values.items() if np.isfinite(of_task).all()}
        if not shared or len(metrics) < 2:
            return
        weights = [weight for _, weight, _ in shared.values()]
        means = np.average([values[name] for name in shared], axis=0, weights=weights).tolist()
        pairs = list(itertools.combinations(range(len(metrics)), 2))
        work = [[(task, metrics[one], metrics[other]) for task in shared.values()] for one, other in pairs]
        p_of = dict(zip(pairs, each(self._p_of, work), strict=True))
        names = (", ".join(shared), len(shared), len(tasks) - len(shared))
        for metric, value, rank in zip(metrics, means, significance_ranks(means, p_of), strict=True):
            yield metric, TaskRank(ALL, ALL, ALONE, value, rank, *names)

    def _p_of(self, work: Sequence[tuple[Task, str, str]]) -> float:
        """p of the difference of the weighted means of two metrics over tasks."""
        gaps, swapped = [], []
        for (statistic, _, scores), one, other in work:
            x, y, _, swaps, *_ = self._drawn(statistic, scores[one], scores[other].x, self.resamples)
            gaps.append(x - y)
            swapped.append(swaps if len(swaps) else np.full(self.resamples, math.nan))
        weights = [weight for (_, weight, _), *_ in work]
        return p_of_swaps(float(np.average(gaps, weights=weights)), np.average(swapped, axis=0, weights=weights))

    def _drawn(self, statistic: AgreementStatistic, of: Scores, other: Floats, resamples: int) -> Drawn:
        """The agreement of a metric and of another one, with swaps of their difference; the same ones in all tasks."""
        both = replace(of, y=other)
        return drawn_agreement(statistic, both, resamples=resamples, seed=self.seed, bootstrap=False)


def _human_ranking(setting: Finished) -> Iterator[HumanRank]:
    """A row per system, by its segments' primary human scores."""
    codes, human, name = setting.codes, setting.segments.human_scores, setting.segments.judgements.primary
    level = SystemLevel(setting, BASE, name)
    far = outliers(level.human)
    found = ranges_by_wins(codes.table(human))
    for at, system in enumerate(codes.names):
        wins, losses, low, high, cluster = found[:, at].tolist()
        yield HumanRank(
            "none", ALONE, name, system, float(level.human[at]), wins, losses, low, high, cluster, bool(far[at])
        )


def _without_outliers(setting: Finished) -> WithoutOutliers:
    level = SystemLevel(setting, BASE, setting.segments.judgements.primary)
    known = np.isfinite(level.scores) & np.isfinite(level.human)
    far = known & outliers(level.human)
    with_all, without = (correlate("pearson", level.scores[rows], level.human[rows]) for rows in (known, known & ~far))
    names = ", ".join(name for name, is_far in zip(level.names, far.tolist(), strict=True) if is_far)
    return WithoutOutliers(ALONE, names, int(known.sum()), int(far.sum()), with_all, without)
