"""Rank metrics over all tasks, systems by human scores, and test outlier systems: the tables of WMT findings.

A task is a language pair and a statistic: the metrics task of WMT24 has soft pairwise accuracy of systems and accuracy
of segments with ties for each of three language pairs (Freitag et al. 2024).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from bmx_grid.core.errors import ConfigError
from bmx_grid.core.identity import identity
from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.datasets.segments import SegmentSet
from bmx_grid.evaluations.base import (
    BASE,
    MOST_RESAMPLES,
    OF_METRIC,
    OF_PAIR,
    Evaluation,
    MapFunction,
    ScoredSetting,
    group_by_names,
    map_sequential,
)
from bmx_grid.evaluations.boost_evidence import ALL
from bmx_grid.evaluations.compared_scores import scores_at_level
from bmx_grid.evaluations.levels import SystemLevel
from bmx_grid.evaluations.significance import ALONE, significance_ranks
from bmx_grid.guests.tasks.task_rows import RATER, HumanRank, TaskRank, TaskScore, WithoutOutliers
from bmx_grid.measures.agreement_tests import AgreementStatistic, Scores, drawn_agreement
from bmx_grid.measures.correlation import correlate
from bmx_grid.measures.paired_tests import Drawn, drawn_correlations, p_of_swaps
from bmx_grid.measures.resampling import ratio
from bmx_grid.measures.systems import outliers, ranges_by_wins

TaskStatistic = Literal[AgreementStatistic, "pearson", "system_pearson", "document_kendall"]
FROM_MINUS_ONE = ("pearson", "system_pearson", "document_kendall")  # from -1 to 1; the other statistics are shares
OF_SYSTEM_SCORES = ("pairwise_accuracy", "system_pearson")


@dataclass(frozen=True, eq=False)
class Task:
    """A language pair and a statistic. scores: of each metric, higher is better, x and y alike.

    documents: int64[n] of the segments, for the mean of correlations within documents. ratings: float64[n] of each
    person who is ranked among the metrics.
    """

    dataset: str
    language_pair: str
    statistic: TaskStatistic
    weight: float
    scores: Mapping[str, Scores]
    documents: Ints
    ratings: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Data set, language pair and statistic."""
        return f"{self.dataset} {self.language_pair} {self.statistic}"

    @property
    def n_system_pairs(self) -> int:
        """How many pairs of systems are judged; of scores of systems."""
        human = next(iter(self.scores.values())).human
        n_systems = int(np.isfinite(human).sum())
        return math.comb(n_systems, 2)

    def select_metrics(self, metric: str, other: str) -> Task:
        """The same task for two of its metrics."""
        return replace(self, scores={name: self.scores[name] for name in (metric, other)})

    def resample_difference(self, metric: str, other: str, resamples: int, seed: int) -> Drawn:
        """The statistic of two metrics, with swaps of their difference; a correlation r counts as (1 + r) / 2."""
        scores = replace(self.scores[metric], y=self.scores[other].x, human=self._human(metric, other))
        options: dict[str, Any] = {"resamples": resamples, "seed": seed, "bootstrap": False}
        if self.statistic == "pairwise_accuracy":
            return drawn_agreement("pairwise_accuracy", scores, unit="systems", **options)
        if self.statistic == "acc_eq" or self.statistic == "spa":
            return drawn_agreement(self.statistic, scores, **options)
        options["statistic"] = "pearson"
        if self.statistic == "document_kendall":
            options |= {"statistic": "kendall", "group": self.documents}
        drawn = drawn_correlations(scores.x, scores.y, scores.human, scores.cluster, **options)
        # In differences of swaps the 1 cancels.
        x = (1 + drawn.x) / 2
        y = (1 + drawn.y) / 2
        return drawn._replace(x=x, y=y, swapped=drawn.swapped / 2)

    def _human(self, *judged: str) -> Floats:
        """float64[n] the human score; if a person is judged, the mean of the others, NaN without any."""
        if self.ratings.keys().isdisjoint(judged):
            return self.scores[judged[0]].human
        others = [ratings for name, ratings in self.ratings.items() if name not in judged]
        ratings = np.array(others).reshape(len(others), len(self.documents))
        known = np.isfinite(ratings)
        sums = np.where(known, ratings, 0.0).sum(axis=0)
        return ratio(sums, known.sum(axis=0))


@dataclass(frozen=True, kw_only=True)
class TasksEvaluation(Evaluation):
    """Metrics without an explainer over all tasks of a sweep.

    statistics: of each language pair. acc_eq of segments by item, spa, and pearson of segments; document_kendall, the
    mean of Kendall's tau-b within documents; pairwise_accuracy and system_pearson of the scores of systems. The mean
    over tasks takes a correlation r as (1 + r) / 2, as WMT23 does.
    pooled: statistics of systems whose language pairs count by their pairs of systems, so that the mean is that of all
    pairs of systems of all language pairs together (Kocmi et al. 2021).
    raters: whether each rater of the primary human score is ranked among the metrics, as human_rater_1, judged by the
    mean of the other raters; a metric is tested against a rater on that mean, too. In tasks of segments only.
    weights: by the name of a statistic, language pair or data set, 1 without; the weight of a task is their product.
    resamples, seed: of the permutations, which swap whole inputs, or whole systems, the same ones in all tasks of a
    language pair. Raises ConfigError.
    """

    VERSION: ClassVar[int] = 3  # a metric that lacks a task is left out; equal distances tie in acc_eq
    SECONDS: ClassVar[float] = 4e-4  # if a language pair has a dozen metrics
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
    raters: bool = identity(False, added_later=True)
    weights: Mapping[str, float] = identity()
    resamples: int = identity(1000, least=40, most=MOST_RESAMPLES)
    seed: int = identity(0)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, weight in self.weights.items():
            if not 0 <= weight < math.inf:
                raise ConfigError(f"tasks.weights.{name} is {weight}; write a number of 0 or more.")

    def inapplicable(self, n_metrics: int, n_explainers: int, sets: Sequence[SegmentSet]) -> str:
        if any(len(segments.systems) > 1 for segments in sets):
            return ""
        return "ranks systems, and no data set names several"

    def evaluate_scope(self, settings: Sequence[ScoredSetting]) -> list[dict[str, Any]]:
        """Systems as people rank them and outliers, and of the first setting its `tasks`."""
        results: list[dict[str, Any]] = [{"tasks": []} for _ in settings]
        if len(settings[0].segments.systems) < 2:
            return results
        results[0]["human_ranking"] = list(_human_ranking(settings[0]))
        # The baseline is the same in all of its settings: its first one represents it.
        first_places = [places[0] for places in group_by_names(settings, OF_METRIC)]
        for place in first_places:
            results[place]["outliers"] = [_drop_outliers(settings[place])]
        metrics = [settings[place] for place in first_places]
        results[0]["tasks"] = [self._task(metrics, statistic) for statistic in self.statistics]
        return results

    def _task(self, settings: Sequence[ScoredSetting], statistic: TaskStatistic) -> Task:
        """The statistic of metrics on their language pair."""
        first = settings[0]
        names = (*first.pair, statistic)
        weight = math.prod(self.weights.get(name, 1.0) for name in names)
        scores = {setting.metric_name: _scores(setting, statistic) for setting in settings}
        ratings: dict[str, Floats] = {}
        if self.raters and statistic not in OF_SYSTEM_SCORES:
            ratings = _ratings(first)
        of_first = scores[first.metric_name]
        for name, values in ratings.items():
            scores[name] = replace(of_first, x=values, y=values)
        return Task(*names, weight, scores, first.codes.documents, ratings)

    def evaluate(
        self, settings: Sequence[ScoredSetting], map_function: MapFunction = map_sequential
    ) -> list[dict[str, Any]]:
        """Add one ranking over the tasks of all language pairs."""
        results = super().evaluate(settings, map_function)
        all_tasks: list[Task] = []
        for result in results:
            all_tasks += result.pop("tasks")
        tasks = self._weigh_by_pairs(all_tasks)
        # Backwards, so that the first setting of a metric stays.
        first_of = {setting.metric_name: place for place, setting in reversed(list(enumerate(settings)))}
        values = {task.name: self._values(task) for task in tasks}
        for task in tasks:
            for metric, value in values[task.name].items():
                # The table has correlations as they are, from -1 to 1.
                if task.statistic in FROM_MINUS_ONE:
                    value = 2 * value - 1
                place = first_of.get(metric, 0)
                row = TaskScore(
                    metric=metric,
                    dataset=task.dataset,
                    language_pair=task.language_pair,
                    explainer=ALONE,
                    statistic=task.statistic,
                    value=value,
                    weight=task.weight,
                )
                results[place].setdefault("task_scores", []).append(row)
        people = dict.fromkeys(name for task in tasks for name in task.ratings)
        for metric, rank in self._ranking(tasks, values, [*first_of, *people], map_function):
            # People have no setting: their rows are those of the first one.
            results[first_of.get(metric, 0)].setdefault("task_ranking", []).append(rank)
        return results

    def _weigh_by_pairs(self, tasks: Sequence[Task]) -> list[Task]:
        """The tasks, where those of pooled statistics weigh as many pairs of systems as they have."""
        weighed = []
        for task in tasks:
            if task.statistic in self.pooled:
                n_pairs = [other.n_system_pairs for other in tasks if other.statistic == task.statistic]
                share = task.n_system_pairs / max(sum(n_pairs), 1)
                # Times the number of tasks: equal weights keep their sum.
                task = replace(task, weight=task.weight * share * len(n_pairs))
            weighed.append(task)
        return weighed

    def _values(self, task: Task) -> dict[str, float]:
        """The statistic of each metric, from 0 to 1."""
        # A metric drawn with itself and without resamples: its statistic.
        return {metric: task.resample_difference(metric, metric, 0, self.seed).x for metric in task.scores}

    def _ranking(
        self,
        tasks: Sequence[Task],
        values: Mapping[str, Mapping[str, float]],
        metrics: Sequence[str],
        map_function: MapFunction,
    ) -> Iterator[tuple[str, TaskRank]]:
        """The row of each metric that has all tasks, as mt-metrics-eval's AverageCorrs ranks; none of a single metric.

        A task that is undefined for every metric is not one.
        """
        shared = []
        for task in tasks:
            is_defined = np.isfinite(list(values[task.name].values())).any()
            if task.weight > 0 and is_defined:
                shared.append(task)
        if not shared or len(metrics) < 2:
            return
        ranked = []
        table = []
        for metric in metrics:
            values_of_metric = [values[task.name].get(metric, math.nan) for task in shared]
            if np.isfinite(values_of_metric).all():
                ranked.append(metric)
                table.append(values_of_metric)
        if not ranked:
            return
        metrics = ranked
        weights = [task.weight for task in shared]
        means = np.average(table, axis=1, weights=weights).tolist()
        pairs = list(itertools.combinations(range(len(metrics)), 2))
        work = []
        for place, other_place in pairs:
            metric = metrics[place]
            other = metrics[other_place]
            # A worker process is sent the scores of two metrics, not of all.
            work.append((metric, other, [task.select_metrics(metric, other) for task in shared]))
        p_of = dict(zip(pairs, map_function(self._p_of, work), strict=True))
        # A single metric is the first without any test.
        ranks = significance_ranks(means, p_of) if p_of else [1]
        names = ", ".join(task.name for task in shared)
        n_left_out = len(tasks) - len(shared)
        for metric, mean, rank in zip(metrics, means, ranks, strict=True):
            row = TaskRank(
                metric=metric,
                dataset=ALL,
                language_pair=ALL,
                explainer=ALONE,
                value=mean,
                rank=rank,
                tasks=names,
                n_tasks=len(shared),
                n_left_out=n_left_out,
            )
            yield metric, row

    def _p_of(self, work: tuple[str, str, Sequence[Task]]) -> float:
        """p of the difference of the weighted means of two metrics over tasks."""
        metric, other, tasks = work
        gaps = []
        swapped = []
        for task in tasks:
            drawn = task.resample_difference(metric, other, self.resamples, self.seed)
            gaps.append(drawn.x - drawn.y)
            swaps = drawn.swapped
            # Without swaps in one task, the mean over tasks has none: NaN counts as extreme.
            if not len(swaps):
                swaps = np.full(self.resamples, math.nan)
            swapped.append(swaps)
        weights = [task.weight for task in tasks]
        difference = float(np.average(gaps, weights=weights))
        return p_of_swaps(difference, np.average(swapped, axis=0, weights=weights))


def _scores(setting: ScoredSetting, statistic: TaskStatistic) -> Scores:
    """The scores of a metric without an explainer, per segment or per system, as the statistic needs."""
    if statistic not in OF_SYSTEM_SCORES:
        return scores_at_level(setting, BASE, "segment", statistic, turn=True)
    scores = scores_at_level(setting, BASE, "system", "pearson", turn=True)
    if statistic != "pairwise_accuracy":
        return scores
    # An agreement compares the systems of an item: with one item all systems are compared.
    same_item = np.zeros(len(scores.human), dtype=np.int64)
    return replace(scores, cluster=same_item, system=scores.cluster, item=same_item)


def _ratings(setting: ScoredSetting) -> dict[str, Floats]:
    """float64[N] the ratings of each person who rated the primary human score, by name; none of a single rater."""
    judgements = setting.segments.judgements
    ratings = judgements.raters.get(judgements.primary, np.empty((len(judgements), 0)))
    named = {}
    for number, values in enumerate(ratings.T, start=1):
        if np.isfinite(values).any():
            named[f"{RATER}{number}"] = np.where(setting.codes.named, values, np.nan)
    return named if len(named) > 1 else {}


def _human_ranking(setting: ScoredSetting) -> Iterator[HumanRank]:
    """A row per system, by its segments' primary human scores."""
    codes = setting.codes
    human_name = setting.segments.judgements.primary
    human = SystemLevel(setting, BASE, human_name).human
    is_outlier = outliers(human).tolist()
    table = codes.table(setting.segments.human_scores)
    ranges = ranges_by_wins(table).T.tolist()
    for place, system in enumerate(codes.names):
        wins, losses, low, high, cluster = ranges[place]
        yield HumanRank(
            metric="none",
            explainer=ALONE,
            human_name=human_name,
            system=system,
            human=float(human[place]),
            wins=wins,
            losses=losses,
            rank_low=low,
            rank_high=high,
            cluster=cluster,
            outlier=is_outlier[place],
        )


def _drop_outliers(setting: ScoredSetting) -> WithoutOutliers:
    """Pearson's r of a metric's and people's system scores, and the same without the outliers among them."""
    level = SystemLevel(setting, BASE, setting.segments.judgements.primary_of_systems)
    known = np.isfinite(level.scores) & np.isfinite(level.human)
    is_outlier = known & outliers(level.human)
    rest = known & ~is_outlier
    pearson = correlate("pearson", level.scores[known], level.human[known])
    pearson_without = correlate("pearson", level.scores[rest], level.human[rest])
    names = [level.names[place] for place in np.flatnonzero(is_outlier)]
    return WithoutOutliers(
        explainer=ALONE,
        systems=", ".join(names),
        n_systems=int(known.sum()),
        n_outliers=len(names),
        pearson=pearson,
        pearson_without=pearson_without,
    )
