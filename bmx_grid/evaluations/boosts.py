"""Boosts chosen on some segments and judged on others, with a verdict on each."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from bmx_grid.boosts.base import Boost, Candidate
from bmx_grid.boosts.controls import Curve, Length, MetricAverage
from bmx_grid.boosts.power_mean_grid import AtPoint, PowerMeanGrid
from bmx_grid.boosts.recipe import Chosen as ChosenBoost
from bmx_grid.boosts.recipe import ChosenOn, Fixed, HeldOut
from bmx_grid.core.errors import ConfigError
from bmx_grid.core.identity import identity
from bmx_grid.datasets.segments import SegmentSet
from bmx_grid.evaluations.base import (
    OF_PAIRS,
    OF_SETS,
    Columns,
    Each,
    Evaluation,
    Finished,
    Floats,
    check_bounds,
    grouped,
    here,
)
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
    Chosen,
    Contrasts,
    Key,
    contrasts,
    joint_samples,
    lines_of,
    over_metrics,
    over_scope,
)
from bmx_grid.evaluations.grid import CELLS_PER_SECOND, GridEvaluation
from bmx_grid.evaluations.held_out import (
    FOLDS,
    Held,
    Member,
    chosen,
    cross_fitted,
    members_of,
    on_others,
)
from bmx_grid.evaluations.verdicts import DISTANCE, NOT_JUDGED, SMALLEST_GAIN, Verdict, asked, judged
from bmx_grid.measures.correlation import Kind, correlate
from bmx_grid.measures.grid import nearest_point

FITS_PER_SECOND = 400  # of a boost on half of 560 segments, on one core
RESAMPLED_PER_SECOND = 1e7  # segments x resamples, of one score
TAKEN = (LENGTH, CURVE, COMBINED)  # names

Choice = tuple[str, Candidate, list[list[Floats]]]  # its name; of each setting its features, as they are and reassigned


@dataclass(frozen=True, eq=False)
class BoostsOfSetting:
    """What the boosts of a setting reach.

    boosts: gains; verdicts. In the first setting of a scope those on the whole scope as well, and in the first
    one of a metric and explainer `chosen`: each boost fitted on all segments of all its settings.
    scores: float64[N] held-out scores by boost. labels: of the clusters that its judged segments belong to. lacking: by
    name, why a boost cannot be made here. best: by name, what it gains on the segments it is chosen on. joint: in the
    first setting of a data set, resampled means over its language pairs.
    """

    names: tuple[str, str, str, str]
    boosts: list[BoostRow] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    scores: dict[str, Floats] = field(default_factory=dict)
    labels: set[str] = field(default_factory=set)
    lacking: dict[str, str] = field(default_factory=dict)
    best: dict[str, float] = field(default_factory=dict)
    chosen: list[ChosenBoost] = field(default_factory=list)
    joint: dict[Key, Floats] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class BoostEvaluation(Evaluation):
    """Each boost chosen on some segments and judged on others, with "do not boost" among the choices, and a verdict.

    Points. elsewhere: what is best on the other language pairs of the data set, without their shared clusters.
    cross_fitted: each segment with what is best on the other folds, those of the grid. other_datasets: what is best on
    all other data sets of the sweep. published: the point of a paper, of the power mean. fixed: a recipe.
    Against. metric: the metric alone. score and length: the metric, where a smooth curve of its score and of the
    lengths, and the level of each system, are fitted to the judged segments, for it and for the boost
    (`measures.nuisance`). reassigned: the same boost made of the attributions of another segment with as many words.
    metrics: a fit of all metrics at hand and the curve.
    metric within source: among the outputs for one source, where several systems are rated.
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

    VERSION: ClassVar[int] = 4  # beyond score and length takes off the level of each system
    SCOPE: ClassVar[tuple[str, ...]] = OF_PAIRS
    ROWS: ClassVar[Mapping[str, type]] = {"boosts": BoostRow, "verdicts": Verdict}

    grid: GridEvaluation = identity()
    boosts: Mapping[str, Boost] = identity()
    draws: int = identity(3)
    resamples: int = identity(1000)
    seed: int = identity(0)
    smallest_gain: float = identity(SMALLEST_GAIN)

    def __post_init__(self) -> None:
        check_bounds(self, "boosts", draws=(1, 100), resamples=(40, 100_000), seed=(0, 2**63))
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
        others = [replace(setting, others=_other_metrics(setting, settings)) for setting in settings]
        results = super().evaluate(others, each)
        alike = grouped(settings, OF_SETS)
        for places in alike:
            self._from_other_datasets([settings[at] for at in places], [results[at] for at in places])
        for scope, places in _scopes(settings):
            lines = _over(scope, [results[at] for at in places])
            results[places[0]].boosts.extend(lines)
        self._judge(results)
        for places in alike:
            if settings[places[0]].explainer is not None:
                verdicts = [verdict for at in places for verdict in results[at].verdicts]
                results[places[0]].chosen.extend(self._for_recipes([settings[at] for at in places], verdicts))
        return results

    def segment_columns(self, result: BoostsOfSetting) -> Columns:
        """The held-out score of each boost: of what other language pairs choose, else of what other folds choose."""
        return {f"boost_{name}": scores for name, scores in result.scores.items()}

    @property
    def _kind(self) -> Kind:
        return self.grid.correlation

    def _members(self, settings: Sequence[Finished], *, by_dataset: bool) -> list[Member]:
        drawn = {"fold_seed": self.grid.seed, "draws": self.draws, "seed": self.seed}
        return members_of(settings, self.boosts, self.grid.spec, **drawn, by_dataset=by_dataset)

    def of_scope(self, settings: Sequence[Finished]) -> list[BoostsOfSetting]:
        """What boosts, and the average of metrics, reach where other folds and other language pairs choose.

        Metrics alone have no boosts.
        """
        results = [BoostsOfSetting(setting.names) for setting in settings]
        if settings[0].explainer is None and not any(setting.others for setting in settings):
            return results
        members = self._members(settings, by_dataset=False)
        held: list[Chosen] = [{} for _ in settings]
        if settings[0].explainer is not None:
            choices = list(self._choices(members))
            for choice in choices:
                self._choose(choice, members, ELSEWHERE, held)
            for setting, member, of_boosts, result in zip(settings, members, held, results, strict=True):
                of_boosts.update(self._without_choice(setting, member))
                result.lacking.update(member.lacking)
                result.labels.update(member.labels.tolist())
                result.best.update({name: self._best_gain(name, member) for name in member.features})
            for choice in choices:
                self._cross_fit(choice, members, held)
            self._add_lines(results, members, held, contrasts)
        metrics = [
            {name: scores[member.used] for name, scores in sorted(setting.others.items())}
            for member, setting in zip(members, settings, strict=True)
        ]
        shared = [name for name in metrics[0] if all(name in of and np.isfinite(of[name]).all() for of in metrics)]
        if shared:
            columns = [np.column_stack([of[name] for name in shared]) for of in metrics]
            average: list[Chosen] = [{} for _ in settings]
            choice = COMBINED, MetricAverage(tuple(shared)), [[of] for of in columns]
            self._cross_fit(choice, members, average)
            self._choose(choice, members, ELSEWHERE, average)
            self._add_lines(results, members, average, contrasts)
            self._add_lines(results, members, held, over_metrics, columns)
        return results

    def _choices(self, members: Sequence[Member]) -> Iterator[Choice]:
        """What is chosen, with its features of each member: boosts that are not fixed, and the placebos."""
        for name, boost in self.boosts.items():
            if not isinstance(boost, Fixed):
                yield name, boost, [member.features_of(name, boost) for member in members]
        for name, placebo in ((LENGTH, Length(members[0].roles)), (CURVE, Curve(members[0].roles))):
            yield name, placebo, [[member.log_words] for member in members]

    def _without_choice(self, setting: Finished, member: Member) -> Iterator[tuple[tuple[str, str], list[Held]]]:
        """Recipes, and the power mean at the published point of the explainer, by name and point."""
        published = self.grid.fixed.get(setting.explainer_name)
        for name in member.features:
            boost, fitted = self.boosts[name], None
            if isinstance(boost, Fixed):
                fitted, point, chosen_on = boost.known.fitted(), FIXED, f"recipe {boost.known.name}"
            elif isinstance(boost, PowerMeanGrid) and boost.shift == "paper" and published is not None:
                spec = boost.spec
                place = nearest_point(np.array(spec.p), np.array(spec.w), published.p, published.w)
                if place is not None:
                    fitted = AtPoint(spec.w[place[1]], spec.p[place[0]], place[0])
                    point, chosen_on = PUBLISHED, "as published"
            if fitted is not None:
                base, features = member.base, member.features_of(name, boost)
                yield (name, point), [Held(fitted.scores(base, columns), (fitted,), chosen_on) for columns in features]

    def _cross_fit(self, choice: Choice, members: Sequence[Member], held: Sequence[Chosen]) -> None:
        """Add for each member what is best on its other folds."""
        name, candidate, features = choice
        for own, member, columns in zip(held, members, features, strict=True):
            if columns:
                own[name, CROSS_FITTED] = [cross_fitted(self._kind, candidate, member, of) for of in columns]

    def _choose(self, choice: Choice, members: Sequence[Member], point: str, held: Sequence[Chosen]) -> None:
        """Add for each member what is best on those that choose for it, at `point`."""
        name, candidate, features = choice
        for drawn in zip(*features, strict=False):  # none where a member lacks the boost
            for own, found in zip(held, on_others(self._kind, candidate, members, drawn), strict=True):
                if found is not None:
                    own.setdefault((name, point), []).append(found)

    def _add_lines(
        self,
        results: Sequence[BoostsOfSetting],
        members: Sequence[Member],
        held: Sequence[Chosen],
        contrast: Callable[..., Contrasts],
        *more: Sequence[Any],
    ) -> None:
        """Add the lines and scores of what was chosen, and joint samples to the first of a data set."""
        made = [contrast(self._kind, member, *of) for member, *of in zip(members, held, *more, strict=True)]
        for result, member, of, own in zip(results, members, made, held, strict=True):
            result.boosts.extend(lines_of(result.names, member, of, own, self.resamples, self.seed))
            for point in (FIXED, CROSS_FITTED, ELSEWHERE):
                known = (name for name in self.boosts if (name, point) in own)
                result.scores.update({name: member.on_all(own[name, point][0].scores) for name in known})
        for dataset in dict.fromkeys(result.names[0] for result in results):
            inside = [place for place, result in enumerate(results) if result.names[0] == dataset]
            of_pairs, of_dataset = [members[place] for place in inside], [made[place] for place in inside]
            results[inside[0]].joint.update(joint_samples(of_pairs, of_dataset, self.resamples, self.seed))

    def _from_other_datasets(self, settings: Sequence[Finished], results: Sequence[BoostsOfSetting]) -> None:
        """Add what is chosen on the other data sets, where there are several."""
        if len({setting.names[0] for setting in settings}) < 2 or settings[0].explainer is None:
            return
        members = self._members(settings, by_dataset=True)
        held: list[Chosen] = [{} for _ in settings]
        for choice in self._choices(members):
            self._choose(choice, members, OTHER_DATASETS, held)
        self._add_lines(results, members, held, contrasts)

    def _judge(self, results: Sequence[BoostsOfSetting]) -> None:
        """Add verdicts, each corrected over all that answer the same question in this sweep."""
        family, owners = [], []
        for result in results:
            for one in asked(result.boosts, self.boosts):
                inside = [
                    other.best[one.boost]
                    for other in results
                    if other.names[2:] == result.names[2:] and one.boost in other.best
                    if one.dataset in (ALL, other.names[0]) and one.language_pair in (ALL, other.names[1])
                ]
                family.append(replace(one, best_gain=float(np.mean(inside)) if inside else math.nan))
                owners.append(result)
        for result, one in zip(owners, judged(family, self.smallest_gain), strict=True):
            result.verdicts.append(one)
        for result in results:
            for boost, reason in result.lacking.items():
                because = f"not judged: {reason}"
                result.verdicts.append(Verdict(*result.names, boost, NOT_JUDGED, because=because))

    def _best_gain(self, name: str, member: Member) -> float:
        """What a boost gains on the segments it is chosen on."""
        features, everyone = member.features[name], np.ones(len(member.base), dtype=np.bool_)
        best = chosen(self._kind, self.boosts[name], [(member, features, everyone)]).scores(member.base, features)
        return correlate(self._kind, best, member.human) - correlate(self._kind, member.base, member.human)

    def _for_recipes(self, settings: Sequence[Finished], verdicts: Sequence[Verdict]) -> Iterator[ChosenBoost]:
        """Each boost fitted on all segments of some settings, with the verdict that says most of such a choice.

        That is the one on the most language pairs, chosen furthest away.
        """
        members = self._members(settings, by_dataset=True)
        chosen_on = tuple(
            ChosenOn(*setting.pair, len(of.labels), len(set(of.labels)), setting.segments.judgements.primary)
            for setting, of in zip(settings, members, strict=True)
        )
        for name in (name for name, boost in self.boosts.items() if not isinstance(boost, Fixed)):
            parts = [
                (of, of.features[name], np.ones(len(of.labels), dtype=np.bool_))
                for of in members
                if name in of.features
            ]
            known = [one for one in verdicts if one.boost == name and one.point in DISTANCE]
            fitted = chosen(self._kind, self.boosts[name], parts)
            if fitted.abstains or not known:
                continue
            best = max(known, key=lambda one: (one.pairs, list(DISTANCE).index(one.point)))
            gain, beyond = (
                HeldOut.of(estimate.value, estimate.low, estimate.high, best.how())
                for estimate in (best.gain, best.beyond)
            )
            yield ChosenBoost(
                boost_name=name,
                boost=self.boosts[name],
                constants=fitted.constants(),
                chosen_on=chosen_on,
                gain=gain,
                beyond=beyond,
                verdict=best.label,
                correlation=self._kind,
            )


def _other_metrics(setting: Finished, settings: Sequence[Finished]) -> dict[str, Floats]:
    """float64[N] scores of the other metrics of a sweep on the same segments, by name; placebos are none."""
    return {
        other.metric_name: other.scores.base_scores
        for other in settings
        if other.pair == setting.pair and len(other.segments) == len(setting.segments)
        if other.metric_name != setting.metric_name and not other.metric.is_placebo
    }


def _scopes(settings: Sequence[Finished]) -> Iterator[tuple[tuple[str, str], list[int]]]:
    """Data set and language pair in the rows of a scope, and its settings: data sets, then all of them."""
    for places in grouped(settings, OF_PAIRS):
        yield (settings[places[0]].names[0], ALL), places
    for places in grouped(settings, OF_SETS):
        if len({settings[at].names[0] for at in places}) > 1:
            yield (ALL, ALL), places


def _over(scope: tuple[str, str], results: Sequence[BoostsOfSetting]) -> list[BoostRow]:
    """The gains over the language pairs of a scope; resamples of data sets count as often as they have pairs."""
    lines = [line for result in results for line in result.boosts if line.language_pair != ALL]
    sizes = Counter(result.names[0] for result in results)
    first = {result.names[0]: result for result in reversed(results)}
    samples = [(first[dataset].joint, sizes[dataset] / len(results)) for dataset in sizes]
    keys = [key for key in samples[0][0] if all(key in joint for joint, _ in samples)]
    joint = {key: np.asarray(sum(joint[key] * share for joint, share in samples)) for key in keys}
    labels = {(result.names[0], label) for result in results for label in result.labels}
    return over_scope(scope, lines, joint, len(labels))
