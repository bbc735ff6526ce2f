"""Boosts chosen on some segments and judged on others, beside what length, other attributions and metrics gain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from bmx_grid.boosts.base import Boost, Part
from bmx_grid.boosts.chosen import Chosen
from bmx_grid.boosts.learned import Learned
from bmx_grid.errors import ConfigError
from bmx_grid.evaluations import boost_judging as judging
from bmx_grid.evaluations.base import Columns, Evaluation, Finished, Floats, Kind
from bmx_grid.evaluations.boost_choices import choices
from bmx_grid.evaluations.boost_judging import (
    ALL,
    BEST,
    CROSS_FITTED,
    ELSEWHERE,
    HALF_SPLITS,
    METRIC,
    OTHER_DATASETS,
    SPLITS,
    JudgedBoost,
    Key,
    Line,
)
from bmx_grid.evaluations.boost_members import Entries, Member, Preparation, shared_metrics
from bmx_grid.evaluations.boost_tables import TABLES, Shown, tables
from bmx_grid.evaluations.chosen import Flags, free_of_each
from bmx_grid.evaluations.grid import CELLS_PER_SECOND, GridEvaluation
from bmx_grid.evaluations.held_out import (
    Halves,
    Held,
    cross_fitted,
    in_sample,
    on_others,
)
from bmx_grid.evaluations.points import FOLDS
from bmx_grid.evaluations.verdicts import Estimate, distinct_clusters
from bmx_grid.identity import identity
from bmx_grid.measures.grid_resampling import halves
from bmx_grid.measures.resampling import FEWEST_CLUSTERS, number_of
from bmx_grid.segments import clusters

FITS_PER_SECOND = 400  # of a boost on half of 560 segments, on one core


@dataclass(frozen=True, eq=False)
class BoostsOfSetting:
    """What the boosts of a setting reach.

    lines: gains; judged: verdicts; coefficients: of learned boosts. In the first setting of a scope those on the whole
    scope as well, and in the first one of a metric and explainer `chosen`: each boost fitted on all segments of all
    its settings. scores: float64[N] held-out scores by boost; NaN for segments that are not judged.
    labels: of the clusters that its judged segments belong to. reassigned: what reassigned attributions gain. held,
    joint: what later steps need; empty once the sweep has ended.
    """

    names: tuple[str, str, str, str]
    lines: tuple[Line, ...] = ()
    judged: tuple[JudgedBoost, ...] = ()
    coefficients: tuple[Shown, ...] = ()
    scores: Mapping[str, Floats] = field(default_factory=dict)
    labels: frozenset[str] = frozenset()
    chosen: tuple[Chosen, ...] = ()
    reassigned: Mapping[Key, float] = field(default_factory=dict)
    held: Mapping[Key, Sequence[Held]] = field(default_factory=dict)
    joint: Mapping[Key, Floats] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class BoostEvaluation(Evaluation):
    """Each boost chosen on some segments and judged on others, with "do not boost" among the choices.

    Points. cross_fitted: each segment with what is best on the other folds, those of the grid. elsewhere: what is best
    on the other language pairs of the data set, without their shared clusters. other_datasets: what is best on all
    other data sets of the sweep, without shared sources and references. half_splits: chosen on one half of the
    clusters, judged on the other, many times. best: chosen on the segments it is judged on.
    Against. metric: the metric alone. length: the metric with a linear term in log words, fitted first on the same
    segments. reassigned: the gain less that of the same boost made of the attributions of another segment with as many
    words. combined: the metric with the length term and the other metrics of the sweep, fitted first in the same way.
    Beside the boosts stand `length`, that term as a boost of its own, and `combined`, the average of up to three of the
    metrics at hand, for metrics alone as well. All are judged on the segments that every boost can be made for, those
    boosts left out that can be made for none: of attributions of one side, say, while they read both.

    grid: whose correlation and folds are used. boosts: by name, what is judged. draws: how often attributions are
    reassigned. splits: of the clusters in halves; 0 = none. resamples: of whole clusters, for intervals.
    Raises ConfigError for numbers out of range, and a boost that has the name of something it stands beside.
    """

    VERSION: ClassVar[int] = 2
    TABLES: ClassVar[Mapping[str, Mapping[str, Kind]]] = TABLES

    grid: GridEvaluation = identity()
    boosts: Mapping[str, Boost] = identity()
    draws: int = identity(3)
    splits: int = identity(100)
    resamples: int = identity(1000)
    seed: int = identity(0)

    def __post_init__(self) -> None:
        for name, least in (("draws", 1), ("splits", 0), ("resamples", 1), ("seed", 0)):
            if getattr(self, name) < least:
                raise ConfigError(f"boosts.{name} must be at least {least}, got {getattr(self, name)}.")
        for name in judging.COMPARATORS:
            if name in self.boosts:
                raise ConfigError(f"boost.{name}: that name is taken by what boosts stand beside; choose another one.")

    def fingerprint(self) -> dict[str, Any]:
        """With what each boost computes."""
        return {**super().fingerprint(), "boosts": {name: one.fingerprint() for name, one in self.boosts.items()}}

    @property
    def chooses(self) -> Sequence[str]:
        return tuple(self.boosts)

    def silent(self, n_metrics: int, n_explainers: int) -> str:
        """Without explainers there is only the average of several metrics to judge."""
        return "needs an explainer, or several metrics to average" if not n_explainers and n_metrics < 2 else ""

    def cost(self, n_segments: int) -> float:
        fits = len(self.boosts) * ((2 + self.draws) * (FOLDS + 1) + 2 * self.splits) * max(n_segments / 560, 0.1)
        means = len(self.grid.spec.p) * n_segments * len(self.boosts)
        return fits / FITS_PER_SECOND + means / CELLS_PER_SECOND

    def evaluate(self, setting: Finished) -> BoostsOfSetting:
        """What each boost reaches where the setting's own segments choose.

        Raises DataError when a boost cannot be made of these attributions. Metrics alone have no boosts.
        """
        if setting.explainer is None:
            return BoostsOfSetting(setting.names)
        member, kind = self._preparation.member(setting), self.grid.correlation
        held: dict[Key, list[Held]] = {}
        for (boost, against), drawn in self._preparation.entries(member).items():
            held[boost, against, CROSS_FITTED] = [
                cross_fitted(kind, member.rated, entry, member.fold_of) for entry in drawn
            ]
            if against == METRIC:
                held[boost, against, BEST] = [in_sample(kind, member.rated, entry) for entry in drawn]
        lines = judging.lines_of(setting.names, kind, member.rated, held, self.resamples, self.seed)
        lines += self._half_splits(setting, member)
        scores = {name: member.on_all(held[name, METRIC, CROSS_FITTED][0].boosted) for name in member.features}
        result = BoostsOfSetting(
            setting.names,
            tuple(lines),
            coefficients=tuple(self._coefficients(setting.names[1], [member])),
            scores=scores,
            labels=frozenset(member.labels.tolist()),
            reassigned=judging.reassigned_gains(kind, member.rated, held),
            held=judging.without_best(held),
        )
        return self._judged(result)

    def across_pairs(
        self, settings: Sequence[Finished], results: Sequence[BoostsOfSetting]
    ) -> Sequence[BoostsOfSetting]:
        """The results with what boosts reach where other language pairs choose."""
        if any(setting.explainer is None for setting in settings):
            return results
        members = self._preparation.members(settings, [one.clusters for one in settings])
        names = [setting.names[1] for setting in settings]
        free = free_of_each([setting.clusters for setting in settings])
        held = self._on_others(names, members, [self._preparation.entries(one) for one in members], free, ELSEWHERE)
        completed = self._with_held(settings, members, results, held)
        both = [{**of.held, **more} for of, more in zip(results, held, strict=True)]
        rated, kind = [one.rated for one in members], self.grid.correlation
        joint = judging.joint_samples(kind, rated, both, self.resamples, self.seed)
        of_all = tuple(self._coefficients(ALL, members)) if len(members) > 1 else ()
        completed[0] = replace(completed[0], joint=joint, coefficients=(*completed[0].coefficients, *of_all))
        return completed

    def together(self, settings: Sequence[Finished], results: Sequence[BoostsOfSetting]) -> Sequence[BoostsOfSetting]:
        """The results with averages of metrics, what other data sets choose, verdicts on several pairs, and choices."""
        completed = list(results)
        for members in _grouped(settings, (0, 2, 3)).values():
            self._combine(settings, completed, members)
        alike = _grouped(settings, (2, 3)).values()  # of one metric and explainer
        boosted = [members for members in alike if settings[members[0]].explainer is not None]
        for members in boosted:
            self._from_other_datasets(settings, completed, members)
        for scope, members in _scopes(settings):
            self._over(scope, settings, completed, members)
        for members in boosted:
            own = [settings[at] for at in members]
            prepared = self._preparation.members(own, clusters([one.segments for one in own]))
            lines = [line for at in members for line in completed[at].lines]
            found = choices(self.grid.correlation, self.boosts, own, prepared, lines)
            completed[members[0]] = replace(completed[members[0]], chosen=found)
        for setting in settings:
            setting.forget()
        return [replace(one, held={}, joint={}) for one in completed]

    def rows(self, result: BoostsOfSetting) -> Mapping[str, Columns]:
        """Gains by boost, against and point; verdicts by boost and point; coefficients by boost and feature."""
        return tables(result.names, result.lines, result.judged, result.coefficients, self.resamples, self.seed)

    def segment_columns(self, result: BoostsOfSetting) -> Columns:
        """The held-out score of each boost: of what other language pairs choose, else of what other folds choose."""
        return {f"boost_{name}": scores for name, scores in result.scores.items()}

    @property
    def _preparation(self) -> Preparation:
        return Preparation(self.grid.spec, self.grid.seed, self.boosts, self.draws, self.seed)

    def _half_splits(self, setting: Finished, member: Member) -> Iterator[Line]:
        count = number_of(member.rated.clusters)
        if not self.splits or count < FEWEST_CLUSTERS:
            return
        first = halves(count, self.splits, self.seed)[:, member.rated.clusters] > 0
        halved = Halves(self.grid.correlation, member.rated, first)
        for (boost, against), drawn in self._preparation.entries(member).items():
            if against == METRIC:
                (entry,) = drawn
                found = halved.gain(entry)
                gain = Estimate(found.mean, found.low, found.high)
                said = f"halves of the clusters, {self.splits} times"
                sizes = 1, len(member.rated.human), count
                key = boost, METRIC, HALF_SPLITS
                yield Line(*setting.pair, *key, gain, SPLITS, *sizes, found.abstained, said)

    def _coefficients(self, language_pair: str, members: Sequence[Member]) -> Iterator[Shown]:
        for name, boost in self.boosts.items():
            made = [one for one in members if name in one.features]
            if isinstance(boost, Learned) and made:
                parts = [Part(one.rated.base, one.features[name], one.rated.human, one.rated.clusters) for one in made]
                for row in boost.coefficients(self.grid.correlation, parts, self.resamples, self.seed):
                    yield Shown(language_pair, name, row)

    def _on_others(
        self,
        names: Sequence[str],
        members: Sequence[Member],
        entries: Sequence[Entries],
        free: Sequence[Mapping[int, Flags]],
        point: str,
    ) -> list[dict[Key, list[Held]]]:
        """For each member what is best on those that are free of it."""
        held: list[dict[Key, list[Held]]] = [{} for _ in members]
        rated = [one.rated for one in members]
        shared = [who for who in entries[0] if all(who in of for of in entries)] if entries else []
        for who in shared:
            for draw in range(len(entries[0][who])):
                some = [of[who][draw] for of in entries]
                for at, found in enumerate(on_others(self.grid.correlation, names, rated, some, free)):
                    if found is not None:
                        held[at].setdefault((*who, point), []).append(found)
        return held

    def _with_held(
        self,
        settings: Sequence[Finished],
        members: Sequence[Member],
        results: Sequence[BoostsOfSetting],
        held: Sequence[Mapping[Key, Sequence[Held]]],
    ) -> list[BoostsOfSetting]:
        """The results with the rows and scores of further choices, and verdicts on all of them."""
        kind, completed = self.grid.correlation, []
        for setting, member, result, of in zip(settings, members, results, held, strict=True):
            lines = judging.lines_of(setting.names, kind, member.rated, of, self.resamples, self.seed)
            scores = {
                name: member.on_all(of[name, METRIC, ELSEWHERE][0].boosted)
                for name in self.boosts
                if (name, METRIC, ELSEWHERE) in of
            }
            completed.append(
                self._judged(
                    replace(
                        result,
                        lines=(*result.lines, *lines),
                        scores={**result.scores, **scores},
                        reassigned={**result.reassigned, **judging.reassigned_gains(kind, member.rated, of)},
                    )
                )
            )
        return completed

    def _judged(self, result: BoostsOfSetting) -> BoostsOfSetting:
        return replace(result, judged=tuple(judging.judge_pair(self.boosts, result.lines, result.reassigned)))

    def _combine(self, settings: Sequence[Finished], completed: list[BoostsOfSetting], members: Sequence[int]) -> None:
        """Add what the average of metrics gains, and boosts over all metrics, where there are other metrics."""
        own = [settings[at] for at in members]
        prepared = self._preparation.members(own, [one.clusters for one in own])
        others = shared_metrics(own, prepared, settings)
        if not others[0]:
            return
        entries = [self._preparation.combined_entries(one, of) for one, of in zip(prepared, others, strict=True)]
        kind = self.grid.correlation
        held: list[dict[Key, list[Held]]] = [
            {(*who, CROSS_FITTED): [cross_fitted(kind, one.rated, drawn[0], one.fold_of)] for who, drawn in of.items()}
            for one, of in zip(prepared, entries, strict=True)
        ]
        free = free_of_each([one.clusters for one in own])
        elsewhere = self._on_others([one.names[1] for one in own], prepared, entries, free, ELSEWHERE)
        held = [{**inside, **outside} for inside, outside in zip(held, elsewhere, strict=True)]
        joint = judging.joint_samples(kind, [one.rated for one in prepared], held, self.resamples, self.seed)
        found_of = self._with_held(own, prepared, [completed[at] for at in members], held)
        found_of[0] = replace(found_of[0], joint={**found_of[0].joint, **joint})
        for at, result in zip(members, found_of, strict=True):
            completed[at] = result

    def _from_other_datasets(
        self, settings: Sequence[Finished], completed: list[BoostsOfSetting], members: Sequence[int]
    ) -> None:
        """Add what is chosen on the other data sets, where there are several."""
        own = [settings[at] for at in members]
        of_dataset = [one.names[0] for one in own]
        if len(set(of_dataset)) < 2:
            return
        labels = clusters([one.segments for one in own])
        prepared = self._preparation.members(own, labels)
        free = [
            {other: rows for other, rows in of.items() if of_dataset[other] != of_dataset[at]}
            for at, of in enumerate(free_of_each([of.tolist() for of in labels]))
        ]
        names = [f"{one.names[0]} {one.names[1]}" for one in own]
        held = self._on_others(
            names, prepared, [self._preparation.entries(one) for one in prepared], free, OTHER_DATASETS
        )
        found = self._with_held(own, prepared, [completed[at] for at in members], held)
        for dataset in dict.fromkeys(of_dataset):
            inside = [at for at, name in enumerate(of_dataset) if name == dataset]
            rated, of = [prepared[at].rated for at in inside], [held[at] for at in inside]
            joint = judging.joint_samples(self.grid.correlation, rated, of, self.resamples, self.seed)
            found[inside[0]] = replace(found[inside[0]], joint={**found[inside[0]].joint, **joint})
        for at, result in zip(members, found, strict=True):
            completed[at] = result

    def _over(
        self,
        scope: tuple[str, str],
        settings: Sequence[Finished],
        completed: list[BoostsOfSetting],
        members: Sequence[int],
    ) -> None:
        """Add gains and verdicts over the language pairs of a scope to its first result."""
        pairs = [one for at in members for one in completed[at].lines if one.language_pair != ALL]
        judged = [one for at in members for one in completed[at].judged if one.language_pair != ALL]
        by_dataset: dict[str, list[int]] = {}
        for at in members:
            by_dataset.setdefault(settings[at].names[0], []).append(at)
        samples = [(completed[own[0]].joint, len(own)) for own in by_dataset.values()]
        shared = distinct_clusters((settings[at].names[0], completed[at].labels) for at in members)
        lines = judging.over_scope(scope, pairs, _pooled(samples), shared)
        first = completed[members[0]]
        verdicts = judging.judge_scope(scope, judged, lines)
        completed[members[0]] = replace(first, lines=(*first.lines, *lines), judged=(*first.judged, *verdicts))


def _grouped(settings: Sequence[Finished], places: tuple[int, ...]) -> dict[tuple[str, ...], list[int]]:
    """Settings by some of their names."""
    found: dict[tuple[str, ...], list[int]] = {}
    for at, setting in enumerate(settings):
        found.setdefault(tuple(setting.names[place] for place in places), []).append(at)
    return found


def _scopes(settings: Sequence[Finished]) -> Iterator[tuple[tuple[str, str], list[int]]]:
    """Data set and language pair in the rows of a scope, and its settings: data sets, then all of them."""
    for (dataset, *_), members in _grouped(settings, (0, 2, 3)).items():
        yield (dataset, ALL), members
    for members in _grouped(settings, (2, 3)).values():
        if len({settings[at].names[0] for at in members}) > 1:
            yield (ALL, ALL), members


def _pooled(samples: Sequence[tuple[Mapping[Key, Floats], int]]) -> dict[Key, Floats]:
    """The resampled means of several data sets as one, each counting as often as it has language pairs."""
    keys = [key for key in samples[0][0] if all(key in of for of, _ in samples)]
    total = sum(pairs for _, pairs in samples)
    return {key: np.asarray(sum(of[key] * pairs for of, pairs in samples) / total) for key in keys}
