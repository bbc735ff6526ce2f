"""Boosts chosen on some segments and judged on others, with a verdict on each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from bmx_grid.boosts.base import Boost, Candidate, Fitted
from bmx_grid.boosts.controls import Curve, Length, MetricAverage
from bmx_grid.boosts.power_mean_grid import AtPoint, PowerMeanGrid
from bmx_grid.boosts.recipe import Chosen, ChosenOn, Fixed, HeldOut
from bmx_grid.errors import ConfigError
from bmx_grid.evaluations.base import OF_PAIRS, Columns, Each, Evaluation, Finished, Floats, grouped, here, in_groups
from bmx_grid.evaluations.boost_evidence import (
    ALL,
    COMBINED,
    CROSS_FITTED,
    CURVE,
    ELSEWHERE,
    FIXED,
    LENGTH,
    OTHER_DATASETS,
    PUBLISHED,
    BoostRow,
    Key,
    Line,
    contrasts,
    joint_samples,
    lines_of,
    over_metrics,
    over_scope,
)
from bmx_grid.evaluations.boost_members import Member, Preparation, other_metrics
from bmx_grid.evaluations.grid import CELLS_PER_SECOND, GridEvaluation
from bmx_grid.evaluations.held_out import Held, chosen, cross_fitted, in_sample, on_others
from bmx_grid.evaluations.points import FOLDS, Flags, free_of_each
from bmx_grid.evaluations.verdicts import DISTANCE, SMALLEST_GAIN, Judged, VerdictRow, asked, judged, not_judged
from bmx_grid.identity import identity
from bmx_grid.measures.correlation import correlate
from bmx_grid.measures.grid import nearest_point
from bmx_grid.segments import SegmentSet, clusters

FITS_PER_SECOND = 400  # of a boost on half of 560 segments, on one core
RESAMPLED_PER_SECOND = 1e7  # segments x resamples, of one score
TAKEN = (LENGTH, CURVE, COMBINED)  # names


@dataclass(frozen=True, eq=False)
class BoostsOfSetting:
    """What the boosts of a setting reach.

    lines: gains; judged: verdicts. In the first setting of a scope those on the whole scope as well, and in the first
    one of a metric and explainer `chosen`: each boost fitted on all segments of all its settings.
    scores: float64[N] held-out scores by boost. labels: of the clusters that its judged segments belong to. lacking: by
    name, why a boost cannot be made here. best: by name, what it gains on the segments it is chosen on. held, joint:
    what later steps need; empty in the end.
    """

    names: tuple[str, str, str, str]
    lines: tuple[Line, ...] = ()
    judged: tuple[Judged, ...] = ()
    scores: Mapping[str, Floats] = field(default_factory=dict)
    labels: frozenset[str] = frozenset()
    lacking: Mapping[str, str] = field(default_factory=dict)
    best: Mapping[str, float] = field(default_factory=dict)
    chosen: tuple[Chosen, ...] = ()
    held: Mapping[tuple[str, str], Held] = field(default_factory=dict)
    joint: Mapping[Key, Floats] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class BoostEvaluation(Evaluation):
    """Each boost chosen on some segments and judged on others, with "do not boost" among the choices, and a verdict.

    Points. elsewhere: what is best on the other language pairs of the data set, without their shared clusters.
    cross_fitted: each segment with what is best on the other folds, those of the grid. other_datasets: what is best on
    all other data sets of the sweep. published: the point of a paper, of the power mean. fixed: a recipe.
    Against. metric: the metric alone. score and length: the metric, where a smooth curve of its score and of the
    lengths is fitted to the judged segments, for it and for the boost (`measures.nuisance`). reassigned: the same boost
    made of the attributions of another segment with as many words. metrics: a fit of all metrics at hand and the curve.
    metric within source: among the translations of one source, where several systems are rated.
    Placebos stand beside the boosts: `length`, a linear term in log words, and `curve`, that of score and lengths,
    chosen like a boost; and `combined`, the average of up to three metrics. All are judged on the segments that every
    boost can be made for, those boosts left out, by name, that can be made for none.

    One verdict per boost: where other language pairs chose it, if all pairs of the scope have such others, else where
    other folds did; those of published points and other data sets are further questions. Each question of a sweep, on
    single pairs, data sets, or all of them, is one family of tests (`verdicts.verdicts`).

    grid: whose correlation, folds and published points are used. boosts: by name, what is judged. draws: how often
    attributions are reassigned; gains are means over the draws. resamples: of whole clusters, for intervals.
    smallest_gain: in correlation, that is worth having.
    Raises ConfigError for numbers out of range, and a boost that has the name of something it stands beside.
    """

    VERSION: ClassVar[int] = 3
    ROWS: ClassVar[Mapping[str, type]] = {"boosts": BoostRow, "verdicts": VerdictRow}

    grid: GridEvaluation = identity()
    boosts: Mapping[str, Boost] = identity()
    draws: int = identity(3)
    resamples: int = identity(1000)
    seed: int = identity(0)
    smallest_gain: float = identity(SMALLEST_GAIN)

    def __post_init__(self) -> None:
        for name, least, most in (("draws", 1, 100), ("resamples", 40, 100_000), ("seed", 0, 2**63)):
            if not least <= getattr(self, name) <= most:
                raise ConfigError(f"boosts.{name} must lie between {least} and {most:,}, got {getattr(self, name)}.")
        if not 0 <= self.smallest_gain < 1:
            raise ConfigError(f"boosts.smallest_gain is a difference of correlations, got {self.smallest_gain}.")
        for name in TAKEN:
            if name in self.boosts:
                raise ConfigError(f"boost.{name}: that name is taken by what boosts stand beside; choose another one.")

    def fingerprint(self) -> dict[str, Any]:
        """With what each boost computes."""
        return {**super().fingerprint(), "boosts": {name: one.fingerprint() for name, one in self.boosts.items()}}

    def inapplicable(self, n_metrics: int, n_explainers: int, sets: Sequence[SegmentSet]) -> str:
        """Without explainers there is only the average of several metrics to judge."""
        return "needs an explainer, or several metrics to average" if not n_explainers and n_metrics < 2 else ""

    def cost(self, n_segments: int) -> float:
        fits = len(self.boosts) * (1 + self.draws) * (FOLDS + 1) * max(n_segments / 560, 0.1)
        means = len(self.grid.spec.p) * n_segments * len(self.boosts)
        scores = 2 * len(self.boosts) * (3 + self.draws) * n_segments * self.resamples
        return fits / FITS_PER_SECOND + means / CELLS_PER_SECOND + scores / RESAMPLED_PER_SECOND

    def evaluate(self, settings: Sequence[Finished], each: Each = here) -> list[BoostsOfSetting]:
        """What boosts reach where others choose: folds, pairs, data sets; gains over several pairs, and verdicts."""
        completed = in_groups(self._of_pairs, settings, OF_PAIRS, each)
        for places in grouped(settings, OF_PAIRS):
            self._combine(settings, completed, places)
        alike = grouped(settings, (2, 3))  # of one metric and explainer
        for places in alike:
            self._from_other_datasets(settings, completed, places)
        for scope, places in _scopes(settings):
            first, lines = completed[places[0]], self._over(scope, settings, completed, places)
            completed[places[0]] = replace(first, lines=(*first.lines, *lines))
        completed = self._judged(completed)
        for places in alike:
            if settings[places[0]].explainer is not None:
                given = [one for at in places for one in completed[at].judged]
                found = tuple(self._choices([settings[at] for at in places], given))
                completed[places[0]] = replace(completed[places[0]], chosen=found)
        return [replace(one, held={}, joint={}) for one in completed]

    def _of_pairs(self, settings: Sequence[Finished]) -> list[BoostsOfSetting]:
        """What boosts reach where other folds and other language pairs choose. Metrics alone have no boosts."""
        results = [BoostsOfSetting(setting.names) for setting in settings]
        if settings[0].explainer is None:
            return results
        members = self._preparation.members(settings, [one.clusters for one in settings])
        free = free_of_each([setting.clusters for setting in settings])
        held, reassigned = self._chosen([setting.names[1] for setting in settings], members, free, ELSEWHERE)
        for setting, member, own, theirs in zip(settings, members, held, reassigned, strict=True):
            for name, point, held_at in self._without_choice(setting, member):
                own[name, point] = held_at(member.features[name])
                theirs[name, point] = [held_at(one) for one in member.reassigned(self.boosts[name], name)]
            for name, candidate, features in self._candidates(member):
                own[name, CROSS_FITTED] = cross_fitted(self._kind, candidate, member.rated, features)
                if name in member.features:
                    theirs[name, CROSS_FITTED] = [
                        cross_fitted(self._kind, candidate, member.rated, one)
                        for one in member.reassigned(self.boosts[name], name)
                    ]
        completed = self._with_lines(settings, members, results, held, reassigned)
        for setting in settings:
            setting.forget()
        return [
            replace(
                result,
                lacking=member.lacking,
                labels=frozenset(member.labels.tolist()),
                best={name: self._best_gain(name, member) for name in member.features},
            )
            for result, member in zip(completed, members, strict=True)
        ]

    def rows(self, result: BoostsOfSetting) -> Mapping[str, Sequence[Any]]:
        """Gains by boost, against and point; verdicts by boost and point."""
        lines = [line.row(*result.names[2:], self.resamples, self.seed) for line in result.lines]
        return {"boosts": lines, "verdicts": [one.row(result.names[2:]) for one in result.judged]}

    def segment_columns(self, result: BoostsOfSetting) -> Columns:
        """The held-out score of each boost: of what other language pairs choose, else of what other folds choose."""
        return {f"boost_{name}": scores for name, scores in result.scores.items()}

    @property
    def _kind(self) -> Any:
        return self.grid.correlation

    @property
    def _preparation(self) -> Preparation:
        return Preparation(self.grid.spec, self.grid.seed, self.boosts, self.draws, self.seed)

    def _candidates(self, member: Member) -> Iterator[tuple[str, Candidate, Floats]]:
        """What is chosen, with its features: boosts that are not fixed, and the placebos that need no attribution."""
        for name, features in member.features.items():
            if not isinstance(self.boosts[name], Fixed):
                yield name, self.boosts[name], features
        yield LENGTH, Length(member.roles), member.rated.log_words
        yield CURVE, Curve(member.roles), member.rated.log_words

    def _without_choice(self, setting: Finished, member: Member) -> Iterator[tuple[str, str, Callable[[Floats], Held]]]:
        """Recipes, and the power mean at the published point of the explainer: name, point, and features to scores."""
        published = self.grid.fixed.get(setting.explainer_name)
        for name in member.features:
            boost, fitted = self.boosts[name], None
            if isinstance(boost, Fixed):
                fitted, point, said = boost.known.fitted(), FIXED, f"recipe {boost.known.name}"
            elif isinstance(boost, PowerMeanGrid) and boost.shift == "paper" and published is not None:
                spec = boost.spec
                place = nearest_point(np.array(spec.p), np.array(spec.w), published.p, published.w)
                if place is not None:
                    fitted = AtPoint(spec.w[place[1]], spec.p[place[0]], place[0])
                    point, said = PUBLISHED, "as published"
            if fitted is not None:
                yield name, point, partial(_held_at, fitted, member.rated.base, said)

    def _chosen(
        self, names: Sequence[str], members: Sequence[Member], free: Sequence[Mapping[int, Flags]], point: str
    ) -> tuple[list[dict[tuple[str, str], Held]], list[dict[tuple[str, str], list[Held]]]]:
        """For each member what is best on those that are free of it; and the same with reassigned attributions."""
        held: list[dict[tuple[str, str], Held]] = [{} for _ in members]
        reassigned: list[dict[tuple[str, str], list[Held]]] = [{} for _ in members]
        rated = [one.rated for one in members]
        of_each = [{name: (one, features) for name, one, features in self._candidates(member)} for member in members]
        for name, (candidate, _) in of_each[0].items():
            if any(name not in of for of in of_each):
                continue
            features = [of[name][1] for of in of_each]
            for at, found in enumerate(on_others(self._kind, candidate, names, rated, features, free)):
                if found is not None:
                    held[at][name, point] = found
            if name in self.boosts and all(member.can_reassign for member in members):
                for drawn in zip(*(member.reassigned(self.boosts[name], name) for member in members), strict=True):
                    for at, found in enumerate(on_others(self._kind, candidate, names, rated, drawn, free)):
                        if found is not None:
                            reassigned[at].setdefault((name, point), []).append(found)
        return held, reassigned

    def _with_lines(
        self,
        settings: Sequence[Finished],
        members: Sequence[Member],
        results: Sequence[BoostsOfSetting],
        held: Sequence[Mapping[tuple[str, str], Held]],
        reassigned: Sequence[Mapping[tuple[str, str], Sequence[Held]]],
    ) -> list[BoostsOfSetting]:
        """The results with the lines and scores of what was chosen, and joint samples in the first of a data set."""
        rated = [one.rated for one in members]
        made = [contrasts(self._kind, *of) for of in zip(rated, held, reassigned, strict=True)]
        completed = []
        for setting, member, result, of, own in zip(settings, members, results, made, held, strict=True):
            lines = lines_of(setting.names, member.rated, of, own, self.resamples, self.seed)
            scores = {
                name: member.on_all(own[name, point].scores)
                for point in (FIXED, CROSS_FITTED, ELSEWHERE)
                for name in self.boosts
                if (name, point) in own
            }
            completed.append(
                replace(
                    result,
                    lines=(*result.lines, *lines),
                    scores={**result.scores, **scores},
                    held={**result.held, **own},
                )
            )
        for dataset in dict.fromkeys(setting.names[0] for setting in settings):
            inside = [at for at, setting in enumerate(settings) if setting.names[0] == dataset]
            joint = joint_samples([rated[at] for at in inside], [made[at] for at in inside], self.resamples, self.seed)
            first = inside[0]
            completed[first] = replace(completed[first], joint={**completed[first].joint, **joint})
        return completed

    def _combine(self, settings: Sequence[Finished], completed: list[BoostsOfSetting], places: Sequence[int]) -> None:
        """Add what the average of metrics gains, and boosts over all metrics, where there are other metrics."""
        own = [settings[at] for at in places]
        members = self._preparation.members(own, [one.clusters for one in own])
        others = other_metrics(own, members, settings)
        if not others[0]:
            return
        candidate, rated = MetricAverage(tuple(others[0])), [one.rated for one in members]
        features = [np.column_stack(list(scores.values())) for scores in others]
        free = free_of_each([one.clusters for one in own])
        names = [one.names[1] for one in own]
        elsewhere = on_others(self._kind, candidate, names, rated, features, free)
        held = []
        for one, columns, found in zip(rated, features, elsewhere, strict=True):
            inside = {(COMBINED, CROSS_FITTED): cross_fitted(self._kind, candidate, one, columns)}
            held.append(inside if found is None else {**inside, (COMBINED, ELSEWHERE): found})
        found_of = self._with_lines(own, members, [completed[at] for at in places], held, [{}] * len(own))
        made = [
            over_metrics(self._kind, one, {key: of for key, of in result.held.items() if key[0] in self.boosts}, scores)
            for one, result, scores in zip(rated, found_of, others, strict=True)
        ]
        joint = joint_samples(rated, made, self.resamples, self.seed)
        for at, setting, one, of, result in zip(places, own, rated, made, found_of, strict=True):
            lines = lines_of(setting.names, one, of, result.held, self.resamples, self.seed)
            completed[at] = replace(result, lines=(*result.lines, *lines))
        first = completed[places[0]]
        completed[places[0]] = replace(first, joint={**first.joint, **joint})

    def _from_other_datasets(
        self, settings: Sequence[Finished], completed: list[BoostsOfSetting], places: Sequence[int]
    ) -> None:
        """Add what is chosen on the other data sets, where there are several."""
        own = [settings[at] for at in places]
        of_dataset = [one.names[0] for one in own]
        if len(set(of_dataset)) < 2 or own[0].explainer is None:
            return
        labels = clusters([one.segments for one in own])
        members = self._preparation.members(own, labels)
        free = [
            {other: rows for other, rows in of.items() if of_dataset[other] != of_dataset[at]}
            for at, of in enumerate(free_of_each([of.tolist() for of in labels]))
        ]
        names = [f"{one.names[0]} {one.names[1]}" for one in own]
        held, reassigned = self._chosen(names, members, free, OTHER_DATASETS)
        found = self._with_lines(own, members, [completed[at] for at in places], held, reassigned)
        for at, result in zip(places, found, strict=True):
            completed[at] = result

    def _over(
        self,
        scope: tuple[str, str],
        settings: Sequence[Finished],
        completed: Sequence[BoostsOfSetting],
        places: Sequence[int],
    ) -> list[Line]:
        """The gains over the language pairs of a scope."""
        pairs = [line for at in places for line in completed[at].lines if line.language_pair != ALL]
        by_dataset: dict[str, list[int]] = {}
        for at in places:
            by_dataset.setdefault(settings[at].names[0], []).append(at)
        samples = [(completed[own[0]].joint, len(own)) for own in by_dataset.values()]
        labels = {(settings[at].names[0], label) for at in places for label in completed[at].labels}
        return over_scope(scope, pairs, _pooled(samples), len(labels))

    def _judged(self, completed: Sequence[BoostsOfSetting]) -> list[BoostsOfSetting]:
        """The results with verdicts, each corrected over all that answer the same question in this sweep."""
        family, owners = [], []
        for at, result in enumerate(completed):
            for one in asked(result.lines, self.boosts):
                inside = [
                    of.best[one.boost]
                    for of in completed
                    if of.names[2:] == result.names[2:] and one.boost in of.best
                    if one.dataset in (ALL, of.names[0]) and one.language_pair in (ALL, of.names[1])
                ]
                family.append(replace(one, best=float(np.mean(inside)) if inside else math.nan))
                owners.append(at)
        found: list[list[Judged]] = [[] for _ in completed]
        for at, one in zip(owners, judged(family, self.smallest_gain), strict=True):
            found[at].append(one)
        return [
            replace(
                result,
                judged=(*own, *(not_judged(*result.names[:2], *reason) for reason in result.lacking.items())),
            )
            for result, own in zip(completed, found, strict=True)
        ]

    def _best_gain(self, name: str, member: Member) -> float:
        """What a boost gains on the segments it is chosen on."""
        rated = member.rated
        best = in_sample(self._kind, self.boosts[name], rated, member.features[name])
        return correlate(self._kind, best.scores, rated.human) - correlate(self._kind, rated.base, rated.human)

    def _choices(self, settings: Sequence[Finished], given: Sequence[Judged]) -> Iterator[Chosen]:
        """Each boost fitted on all segments of some settings, with the verdict that says most of such a choice.

        That is the one on the most language pairs, chosen furthest away.
        """
        members = self._preparation.members(settings, clusters([one.segments for one in settings]))
        chosen_on = tuple(
            ChosenOn(*one.pair, len(of.labels), len(set(of.labels)), one.segments.judgements.primary)
            for one, of in zip(settings, members, strict=True)
        )
        for name in (name for name, boost in self.boosts.items() if not isinstance(boost, Fixed)):
            made = [of for of in members if name in of.features]
            own = [one for one in given if one.boost == name and one.point in DISTANCE]
            if not made or not own:
                continue
            best = max(own, key=lambda one: (one.pairs, list(DISTANCE).index(one.point)))
            gain, beyond = (
                HeldOut.of(estimate.value, estimate.low, estimate.high, best.how())
                for estimate in (best.estimates["gain"], best.estimates["beyond"])
            )
            everyone = [(of.rated, of.features[name], np.ones(len(of.labels), dtype=np.bool_)) for of in made]
            yield Chosen(
                boost_name=name,
                boost=self.boosts[name],
                fitted=chosen(self._kind, self.boosts[name], everyone),
                chosen_on=chosen_on,
                gain=gain,
                beyond=beyond,
                verdict=best.verdict.label,
                correlation=self._kind,
            )


def _held_at(fitted: Fitted, base: Floats, said: str, features: Floats) -> Held:
    return Held(fitted.scores(base, features), (fitted,), said)


def _scopes(settings: Sequence[Finished]) -> Iterator[tuple[tuple[str, str], list[int]]]:
    """Data set and language pair in the rows of a scope, and its settings: data sets, then all of them."""
    for places in grouped(settings, OF_PAIRS):
        yield (settings[places[0]].names[0], ALL), places
    for places in grouped(settings, (2, 3)):
        if len({settings[at].names[0] for at in places}) > 1:
            yield (ALL, ALL), places


def _pooled(samples: Sequence[tuple[Mapping[Key, Floats], int]]) -> dict[Key, Floats]:
    """The resampled means of several data sets as one, each counting as often as it has language pairs."""
    keys = [key for key in samples[0][0] if all(key in of for of, _ in samples)]
    total = sum(pairs for _, pairs in samples)
    return {key: np.asarray(sum(of[key] * pairs for of, pairs in samples) / total) for key in keys}
