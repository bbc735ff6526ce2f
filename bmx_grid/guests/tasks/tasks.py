"""One ranking of metrics over all tasks, systems ranked by people, and what outlier systems do: as WMT findings print.

A task is a language pair and a statistic: the metrics task of WMT24 has soft pairwise accuracy of systems and accuracy
of segments with ties for each of three language pairs (Freitag et al. 2024).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from bmx_grid.core.errors import ConfigError
from bmx_grid.core.identity import identity
from bmx_grid.core.ragged import Ints
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
from bmx_grid.evaluations.compared_scores import turned
from bmx_grid.evaluations.levels import SystemLevel
from bmx_grid.evaluations.significance import ALONE, significance_ranks
from bmx_grid.guests.tasks.task_rows import HumanRank, TaskRank, TaskScore, WithoutOutliers
from bmx_grid.measures.agreement_tests import AgreementStatistic, Scores, drawn_agreement
from bmx_grid.measures.correlation import correlate
from bmx_grid.measures.paired_tests import Drawn, drawn_correlations, p_of_swaps
from bmx_grid.measures.systems import outliers, ranges_by_wins

TaskStatistic = Literal[AgreementStatistic, "pearson", "system_pearson", "document_kendall"]
FROM_MINUS_ONE = ("pearson", "system_pearson", "document_kendall")  # from -1 to 1; the other statistics are shares
OF_SYSTEM_SCORES = ("pairwise_accuracy", "system_pearson")


@dataclass(frozen=True, eq=False)
class Task:
    """A language pair and a statistic. scores: of each metric, higher is better, x and y alike.

    documents: int64[n] of the segments, for the mean of correlations within documents.
    """

    dataset: str
    language_pair: str
    statistic: TaskStatistic
    weight: float
    scores: Mapping[str, Scores]
    documents: Ints

    @property
    def name(self) -> str:
        """Data set, language pair and statistic."""
        return f"{self.dataset} {self.language_pair} {self.statistic}"

    @property
    def n_system_pairs(self) -> int:
        """How many pairs of systems are judged; of scores of systems."""
        judged = next(iter(self.scores.values())).human
        return math.comb(int(np.isfinite(judged).sum()), 2)

    def of_two(self, one: str, other: str) -> Task:
        """The same task for two of its metrics."""
        return replace(self, scores={name: self.scores[name] for name in (one, other)})

    def drawn(self, one: str, other: str, resamples: int, seed: int) -> Drawn:
        """The statistic of two metrics, with swaps of their difference; a correlation r counts as (1 + r) / 2."""
        scores = replace(self.scores[one], y=self.scores[other].x)
        how: dict[str, Any] = {"resamples": resamples, "seed": seed, "bootstrap": False}
        if self.statistic == "pairwise_accuracy":
            return drawn_agreement("pairwise_accuracy", scores, unit="systems", **how)
        if self.statistic == "acc_eq" or self.statistic == "spa":
            return drawn_agreement(self.statistic, scores, **how)
        within = self.statistic == "document_kendall"
        drawn = drawn_correlations(
            scores.x,
            scores.y,
            scores.human,
            scores.cluster,
            group=self.documents if within else None,
            statistic="kendall" if within else "pearson",
            **how,
        )
        return drawn._replace(x=(1 + drawn.x) / 2, y=(1 + drawn.y) / 2, swapped=drawn.swapped / 2)


@dataclass(frozen=True, kw_only=True)
class TasksEvaluation(Evaluation):
    """Metrics alone over all tasks of a sweep.

    statistics: of each language pair. acc_eq of segments by item, spa, and pearson of segments; document_kendall, the
    mean of Kendall's tau-b within documents; pairwise_accuracy and system_pearson of the scores of systems. The mean
    over tasks takes a correlation r as (1 + r) / 2, as WMT23 does.
    pooled: statistics of systems whose language pairs count by their pairs of systems, so that the mean is that of all
    pairs of systems of all language pairs together (Kocmi et al. 2021).
    weights: by the name of a statistic, language pair or data set, 1 without; the weight of a task is their product.
    resamples, seed: of the permutations, which swap whole inputs, or whole systems, the same ones in all tasks of a
    language pair. Raises ConfigError.
    """

    VERSION: ClassVar[int] = 2  # pairwise_accuracy is of the scores of systems
    SECONDS: ClassVar[float] = 4e-4  # where a language pair has a dozen metrics
    SCOPE: ClassVar[tuple[str, ...]] = OF_PAIR
    QUESTIONS: ClassVar[tuple[str, ...]] = ("bmx_grid.guests.tasks.shared_task",)
    ROWS: ClassVar[Mapping[str, type]] = {
        "task_ranking": TaskRank,
        "task_scores": TaskScore,
        "human_ranking": HumanRank,
        "outliers": WithoutOutliers,
    }

    statistics: tuple[TaskStatistic, ...] = identity(("spa", "acc_eq"))
    pooled: tuple[Literal["pairwise_accuracy", "system_pearson"], ...] = identity(())
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
        """Systems as people rank them and outliers, and of the first setting its `tasks`."""
        results: list[dict[str, Any]] = [{"tasks": []} for _ in settings]
        if len(settings[0].segments.systems) < 2:
            return results
        alone = [of_metric[0] for of_metric in grouped(settings, OF_METRIC)]
        results[0]["human_ranking"] = list(_human_ranking(settings[0]))
        for place in alone:
            results[place]["outliers"] = [_without_outliers(settings[place])]
        for statistic in self.statistics:
            results[0]["tasks"].append(self._task([settings[place] for place in alone], statistic))
        return results

    def _task(self, settings: Sequence[Finished], statistic: TaskStatistic) -> Task:
        """A statistic of these metrics on their language pair."""
        first = settings[0]
        weight = math.prod(self.weights.get(name, 1.0) for name in (*first.pair, statistic))
        scores = {setting.metric_name: _scores(setting, statistic) for setting in settings}
        return Task(*first.pair, statistic, weight, scores, first.codes.documents)

    def evaluate(self, settings: Sequence[Finished], each: Each = here) -> list[dict[str, Any]]:
        """With one ranking over the tasks of all language pairs."""
        results = super().evaluate(settings, each)
        tasks = self._by_pairs(list(itertools.chain.from_iterable(result.pop("tasks") for result in results)))
        first_of = {setting.metric_name: place for place, setting in reversed(list(enumerate(settings)))}
        values = {task.name: self._values(task) for task in tasks}
        for task in tasks:
            for metric, value in values[task.name].items():
                correlation = 2 * value - 1 if task.statistic in FROM_MINUS_ONE else value
                row = TaskScore(task.dataset, task.language_pair, ALONE, task.statistic, correlation, task.weight)
                results[first_of[metric]].setdefault("task_scores", []).append(row)
        for metric, rank in self._ranking(tasks, values, list(first_of), each):
            results[first_of[metric]]["task_ranking"] = [rank]
        return results

    def _by_pairs(self, tasks: Sequence[Task]) -> list[Task]:
        """The tasks, where those of pooled statistics weigh as many pairs of systems as they have."""
        weighed = []
        for task in tasks:
            if task.statistic in self.pooled:
                alike = [other.n_system_pairs for other in tasks if other.statistic == task.statistic]
                share = task.n_system_pairs / max(sum(alike), 1)
                task = replace(task, weight=task.weight * share * len(alike))
            weighed.append(task)
        return weighed

    def _values(self, task: Task) -> dict[str, float]:
        """The statistic of each metric, from 0 to 1."""
        return {metric: task.drawn(metric, metric, 0, self.seed).x for metric in task.scores}

    def _ranking(
        self, tasks: Sequence[Task], values: Mapping[str, Mapping[str, float]], metrics: Sequence[str], each: Each
    ) -> Iterator[tuple[str, TaskRank]]:
        """The row of each metric; none without a task that all metrics have."""
        shared = []
        for task in tasks:
            of_metrics = [values[task.name].get(metric, math.nan) for metric in metrics]
            if task.weight > 0 and np.isfinite(of_metrics).all():
                shared.append(task)
        if not shared or len(metrics) < 2:
            return
        weights = [task.weight for task in shared]
        table = []
        for task in shared:
            table.append([values[task.name][metric] for metric in metrics])
        means = np.average(table, axis=0, weights=weights).tolist()
        pairs = list(itertools.combinations(range(len(metrics)), 2))
        work = []
        for one, other in pairs:
            names = metrics[one], metrics[other]
            work.append((*names, [task.of_two(*names) for task in shared]))
        p_of = dict(zip(pairs, each(self._p_of, work), strict=True))
        counts = ", ".join(task.name for task in shared), len(shared), len(tasks) - len(shared)
        for metric, value, rank in zip(metrics, means, significance_ranks(means, p_of), strict=True):
            yield metric, TaskRank(ALL, ALL, ALONE, value, rank, *counts)

    def _p_of(self, work: tuple[str, str, Sequence[Task]]) -> float:
        """p of the difference of the weighted means of two metrics over tasks."""
        one, other, tasks = work
        gaps = []
        swapped = []
        for task in tasks:
            drawn = task.drawn(one, other, self.resamples, self.seed)
            gaps.append(drawn.x - drawn.y)
            swapped.append(drawn.swapped if len(drawn.swapped) else np.full(self.resamples, math.nan))
        weights = [task.weight for task in tasks]
        return p_of_swaps(float(np.average(gaps, weights=weights)), np.average(swapped, axis=0, weights=weights))


def _scores(setting: Finished, statistic: TaskStatistic) -> Scores:
    """The scores of a metric alone, of segments, or of systems where the statistic is of these."""
    if statistic not in OF_SYSTEM_SCORES:
        return turned(setting, BASE, "segment", statistic)
    scores = turned(setting, BASE, "system", "pearson")
    one_item = np.zeros(len(scores.human), dtype=np.int64)
    if statistic == "pairwise_accuracy":
        return replace(scores, cluster=one_item, system=scores.cluster, item=one_item)
    return scores


def _human_ranking(setting: Finished) -> Iterator[HumanRank]:
    """A row per system, by its segments' primary human scores."""
    codes = setting.codes
    human = setting.segments.human_scores
    name = setting.segments.judgements.primary
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
