"""Boosts chosen on some segments and judged on others, with a verdict on each."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np

from bmx_grid.boosts.base import Boost, Fit, Fitted
from bmx_grid.boosts.controls import fit_average, fit_curve, fit_length
from bmx_grid.boosts.power_mean_grid import AtPoint, PowerMeanGrid
from bmx_grid.boosts.recipe import ChosenOn, HeldOut
from bmx_grid.core.errors import ConfigError, unknown
from bmx_grid.core.identity import identity
from bmx_grid.core.ragged import Floats
from bmx_grid.datasets.segments import SegmentSet, clusters
from bmx_grid.evaluations.base import NAMES, OF_SETS, ColumnValues, Each, Finished, grouped, here
from bmx_grid.evaluations.beside import named_levels, other_metrics, placebos_of, shared_metrics, with_best
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
    GainStatistic,
    Key,
    contrasts,
    joint_samples,
    lines_of,
    over_scope,
)
from bmx_grid.evaluations.grid_options import CELLS_PER_SECOND, OnGrid
from bmx_grid.evaluations.held_out import (
    FOLDS,
    Member,
    Rated,
    chosen,
    cross_fitted,
    judged_by,
    linked,
    member_of,
)
from bmx_grid.evaluations.verdicts import DISTANCE, NOT_JUDGED, SMALLEST_GAIN, Verdict, asked, judged
from bmx_grid.measures.correlation import Kind, correlate
from bmx_grid.measures.grid import nearest_point
from bmx_grid.measures.resampling import codes, number_of

FITS_PER_SECOND = 400  # of a boost on half of 560 segments, on one core
RESAMPLED_PER_SECOND = 1e7  # segments x resamples, of one score
LEARNER_SECONDS = 4.0  # of what score and length tell jointly, of 2,000 segments
TAKEN = (LENGTH, CURVE, COMBINED)  # names
DATASET = NAMES[:1]

T = TypeVar("T")
Differences = dict[str, list[tuple[Rated, Contrasts]]]  # by human score, of each setting of a data set
Choice = tuple[str, Fit, list[list[Floats]]]  # its name; of each setting its features, as they are and reassigned


@dataclass(frozen=True, eq=False)
class BoostsOfSetting:
    """What the boosts of a setting reach.

    boosts: gains; verdicts. In the first setting of a data set those on the whole data set as well, and in the first
    one of a metric and explainer those on all data sets. scores: float64[N] held-out scores by boost.
    chosen: in that first setting each boost that was fitted on all segments of all its settings, as fields of a recipe.
    """

    boosts: list[BoostRow] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    scores: dict[str, Floats] = field(default_factory=dict)
    chosen: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class BoostEvaluation(OnGrid):
    """Each boost chosen on some segments and judged on others, with "do not boost" among the choices, and a verdict.

    Points. elsewhere: what is best on the other language pairs of the data set, without their shared clusters.
    cross_fitted: each segment with what is best on the other folds, those of the grid. other_datasets: what is best on
    all other data sets of the sweep. published: the point of a paper, of the power mean. fixed: a recipe, or
    another boost of which nothing is chosen.
    Against. metric: the metric alone. score, length and text: whatever score and lengths jointly, the texts, and the
    levels of named systems, raters and domains tell of the judged segments (`measures.nuisance`). reassigned: the same
    boost made of the attributions of another segment with as many words. metrics: as the second, with all metrics at
    hand. shuffled: the same boost made of the attributions of a model with shuffled weights, where these are in the
    sweep (`explainers.shuffled`). metric within source: among the outputs for one source, where most sources have
    several.
    Placebos stand beside the boosts: `length`, a linear term in log words, and `curve`, that of score and lengths,
    chosen like a boost; and `combined`, the average of up to three metrics. All are judged on the segments that every
    boost can be made for, those boosts left out, by name, that can be made for none.

    One verdict per boost: where other language pairs chose it, if all pairs of the scope have such others, else where
    other folds did; those of published points and other data sets are further questions. Each question of a sweep, on
    single pairs, data sets, or all of them, is one family of tests (`verdicts.verdicts`).

    grid: whose correlation, folds and published points are used. boosts: by name, what is judged. human: the human
    scores that judge, by name, each with a verdict of its own on the segments that it rates; the primary one where none
    is named. It alone chooses, so that a boost that fits its raters is found out by another. statistic: what gains are
    differences of: "pooled", the correlation over all segments, or "pdp", that of the differences between outputs for
    one source (`measures.pairwise`). draws: how often attributions are reassigned; gains are means over the draws.
    resamples: of whole clusters, for intervals. smallest_gain: in correlation, that is worth having.
    Raises ConfigError for numbers out of range, a boost that has the name of something it stands beside, and human
    scores that a data set does not have.
    """

    VERSION: ClassVar[int] = 6  # beyond takes off steps of single inputs in few segments
    SCOPE: ClassVar[tuple[str, ...]] = OF_SETS
    ROWS: ClassVar[Mapping[str, type]] = {"boosts": BoostRow, "verdicts": Verdict}

    boosts: Mapping[str, Boost] = identity()
    human: tuple[str, ...] = identity((), later=True)
    statistic: GainStatistic = identity("pooled", later=True)
    draws: int = identity(3, least=1, most=100)
    resamples: int = identity(1000, least=40, most=100_000)
    seed: int = identity(0, least=0, most=2**63)
    smallest_gain: float = identity(SMALLEST_GAIN, least=0, below=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        # Rows of both would have the same key.
        for name in TAKEN:
            if name in self.boosts:
                raise ConfigError(f"boost.{name}: that name is taken by what boosts stand beside; choose another one.")

    def fingerprint(self) -> dict[str, Any]:
        """With what each boost computes."""
        boosts = {name: boost.fingerprint() for name, boost in self.boosts.items()}
        return {**super().fingerprint(), "boosts": boosts}

    @property
    def reads_ground_truth(self) -> bool:
        return any(boost.reads_ground_truth for boost in self.boosts.values())

    def inapplicable(self, n_metrics: int, n_explainers: int, sets: Sequence[SegmentSet]) -> str:
        """Without explainers there is only the average of several metrics to judge."""
        for segments in sets:
            for name in self.human:
                if name not in segments.judgements.aspects:
                    raise ConfigError(
                        f"evaluation.boosts.human: {segments.dataset} {segments.language_pair}: "
                        + unknown("human score", name, segments.judgements.aspects)
                    )
        nothing = n_explainers == 0 and n_metrics < 2
        return "needs an explainer, or several metrics to average" if nothing else ""

    def cost(self, n_segments: int) -> float:
        fits = len(self.boosts) * (1 + self.draws) * (FOLDS + 1) * max(n_segments / 560, 0.1)
        means = len(self.grid.spec.p) * n_segments * len(self.boosts)
        scores = 2 * len(self.boosts) * (3 + self.draws) * n_segments * self.resamples
        learned = LEARNER_SECONDS * min(n_segments / 2000, 1) ** 2 * max(n_segments / 2000, 1)
        return fits / FITS_PER_SECOND + means / CELLS_PER_SECOND + scores / RESAMPLED_PER_SECOND + learned

    def evaluate(self, settings: Sequence[Finished], each: Each = here) -> list[BoostsOfSetting]:
        """What boosts reach where others choose, with verdicts that are corrected over all that answer one question."""
        with_others = []
        for setting in settings:
            others = other_metrics(setting, settings)
            with_others.append(replace(setting, others=others, placebos=placebos_of(setting, settings)))
        results = super().evaluate(with_others, each)
        # The correction knows how many verdicts there are only when all scopes have ended.
        family: list[Verdict] = []
        for result in results:
            family += [row for row in result.verdicts if row.point != NOT_JUDGED]
        verdicts = iter(judged(family, self.smallest_gain))
        for result in results:
            result.verdicts[:] = [row if row.point == NOT_JUDGED else next(verdicts) for row in result.verdicts]
        for places in grouped(settings, OF_SETS):
            rows: list[Verdict] = []
            for place in places:
                rows += results[place].verdicts
            first = results[places[0]]
            first.chosen[:] = _with_verdicts(first.chosen, rows)
        return results

    def segment_columns(self, result: BoostsOfSetting) -> ColumnValues:
        """The held-out score of each boost: of what other language pairs choose, else of what other folds choose."""
        return {f"boost_{name}": scores for name, scores in result.scores.items()}

    @property
    def _kind(self) -> Kind:
        return self.grid.correlation

    @property
    def _golds(self) -> tuple[str, ...]:
        """The human scores that judge; "" for the primary one of each data set, whatever its name."""
        return self.human or ("",)

    def of_scope(self, settings: Sequence[Finished]) -> list[BoostsOfSetting]:
        """What boosts, and the average of metrics, reach where other folds, language pairs and data sets choose.

        Metrics alone have no boosts.
        """
        # Filled in by the steps below, each of which knows a part of the settings.
        results = [BoostsOfSetting() for _ in settings]
        explained = settings[0].explainer is not None
        if not explained and not any(setting.others for setting in settings):
            return results
        drawn = {"fold_seed": self.grid.seed, "draws": self.draws, "seed": self.seed}
        members = [member_of(setting, self.boosts, self.grid.spec, **drawn) for setting in settings]
        by_dataset = grouped(settings, DATASET)
        samples: list[dict[Key, Floats]] = []
        for places in by_dataset:
            differences = self._of_dataset(_of(members, places), _of(results, places))
            samples.append(self._joint(differences) if len(settings) > 1 else {})
        if explained:
            # Clusters anew, over all data sets: what one shares with another must not choose for it.
            sets = [setting.segments for setting in settings]
            labels = [names.tolist() for names in clusters(sets)]
            together = linked(self._kind, members, labels, [setting.names[0] for setting in settings])
            if len(by_dataset) > 1:
                for of_dataset, further in zip(samples, self._across_datasets(together, results), strict=True):
                    of_dataset |= further
            results[0].chosen.extend(self._for_recipes(together))
        _add_scopes(members, results, samples)
        best = []
        for member in members:
            best.append({name: self._best_gain(name, member) for name in member.features})
        others = ", ".join(sorted(set().union(*(setting.others for setting in settings))))
        named = named_levels(settings)
        for result, setting, member in zip(results, settings, members, strict=True):
            for row in asked(result.boosts, self.boosts):
                metrics = others if math.isfinite(row.over_metrics.value) else ""
                result.verdicts.append(replace(with_best(row, settings, best), metrics=metrics, named=named))
            for boost, reason in member.lacking.items():
                result.verdicts.append(Verdict(*setting.names, boost, NOT_JUDGED, because=f"not judged: {reason}"))
        return results

    def _of_dataset(self, members: Sequence[Member], results: Sequence[BoostsOfSetting]) -> Differences:
        """Add what is chosen on other folds and language pairs of a data set, and what needs no choice."""
        settings = [member.setting for member in members]
        labels = [setting.clusters for setting in settings]
        pairs = [setting.names[1] for setting in settings]
        members = linked(self._kind, members, labels, pairs)
        choices = list(self._choices(members)) if settings[0].explainer is not None else []
        names, metrics = shared_metrics(members)
        # An average needs scores of all metrics on all judged segments.
        if names:
            choices.append((COMBINED, partial(fit_average, names), [[columns] for columns in metrics]))
        held = self._chosen_by_others(choices, members, ELSEWHERE)
        for member, scores in zip(members, held, strict=True):
            scores.update(self._without_choice(member))
        for name, fit, features in choices:
            for member, columns, scores in zip(members, features, held, strict=True):
                if columns:
                    scores[name, CROSS_FITTED] = [cross_fitted(self._kind, fit, member, drawn) for drawn in columns]
        for result, member, scores in zip(results, members, held, strict=True):
            for point in (FIXED, CROSS_FITTED, ELSEWHERE):  # the last that is there is shown: chosen furthest away
                for name in self.boosts:
                    if (name, point) in scores:
                        result.scores[name] = member.on_all(scores[name, point][0])
        return self._add_lines(members, results, held, metrics if names else [None] * len(members))

    def _across_datasets(
        self, members: Sequence[Member], results: Sequence[BoostsOfSetting]
    ) -> Iterator[dict[Key, Floats]]:
        """Add what is chosen on the other data sets; resamples of each data set."""
        held = self._chosen_by_others(list(self._choices(members)), members, OTHER_DATASETS)
        for places in grouped([member.setting for member in members], DATASET):
            of_dataset = (_of(members, places), _of(results, places), _of(held, places))
            yield self._joint(self._add_lines(*of_dataset, [None] * len(places)))

    def _choices(self, members: Sequence[Member]) -> Iterator[Choice]:
        """What is chosen, with its features of each member: boosts that are not fixed, and the placebos."""
        roles = members[0].setting.worded
        for name, boost in self.boosts.items():
            if boost.fixed is None:
                yield name, boost.fit, [member.features_of(name, boost) for member in members]
        log_words = [[member.log_words] for member in members]
        yield LENGTH, partial(fit_length, roles), log_words
        yield CURVE, fit_curve, log_words

    def _without_choice(self, member: Member) -> Iterator[tuple[tuple[str, str], list[Floats]]]:
        """Recipes, and the power mean at the published point of the explainer, by name and point."""
        published = self.grid.fixed.get(member.setting.explainer_name)
        for name in member.features:
            boost = self.boosts[name]
            fitted = boost.fixed
            point = FIXED
            if isinstance(boost, PowerMeanGrid) and boost.shift == "paper" and published is not None:
                spec = boost.spec
                point = PUBLISHED
                place = nearest_point(spec.p, spec.w, published.p, published.w)
                fitted = None if place is None else AtPoint(spec.w[place[1]], spec.p[place[0]], place[0])
            if fitted is not None:
                features = member.features_of(name, boost)
                yield (name, point), [fitted.scores(member.base, columns) for columns in features]

    def _chosen_by_others(self, choices: Sequence[Choice], members: Sequence[Member], point: str) -> list[Chosen]:
        """What is best on the members that choose for each one, at `point`."""
        held: list[Chosen] = [{} for _ in members]
        for name, fit, features in choices:
            for drawn in zip(*features, strict=False):  # none where a member lacks the boost
                for scores_of_member, member, columns in zip(held, members, drawn, strict=True):
                    others = [(members[other], drawn[other], rows) for other, rows in member.choosing.items()]
                    if others:
                        scores = chosen(self._kind, fit, others).scores(member.base, columns)
                        scores_of_member.setdefault((name, point), []).append(scores)
        return held

    def _add_lines(
        self,
        members: Sequence[Member],
        results: Sequence[BoostsOfSetting],
        held: Sequence[Chosen],
        metrics: Sequence[Floats | None],
    ) -> Differences:
        """Add the lines of what was chosen in the language pairs of a data set; these with their differences."""
        differences: Differences = {}
        for member, scores, further, result in zip(members, held, metrics, results, strict=True):
            for gold in self._golds:
                rated, rows = judged_by(self._kind, member, gold, self.grid.seed)
                scores_of_rated: Chosen = {}
                for key, drawn in scores.items():
                    scores_of_rated[key] = [values[rows] for values in drawn]
                metrics_of_rated = None if further is None else further[rows]
                gains = contrasts(
                    self._kind, rated, scores_of_rated, member.instead, metrics_of_rated, self.statistic, gold
                )
                result.boosts.extend(lines_of(member.setting.names, rated, gains, self.resamples, self.seed))
                differences.setdefault(gold, []).append((rated, gains))
        return differences

    def _joint(self, differences: Differences) -> dict[Key, Floats]:
        """Resamples of the means over the language pairs of a data set, judged by each human score."""
        samples: dict[Key, Floats] = {}
        for of_pairs in differences.values():
            samples |= joint_samples(of_pairs, self.resamples, self.seed)
        return samples

    def _best_gain(self, name: str, member: Member) -> float:
        """What a boost gains on the segments it is chosen on."""
        best = self._chosen_on(name, [member]).scores(member.base, member.features[name])
        return correlate(self._kind, best, member.human) - correlate(self._kind, member.base, member.human)

    def _chosen_on(self, name: str, members: Sequence[Member]) -> Fitted:
        """What is best on all segments of the settings that a boost can be made for."""
        selection = []
        for member in members:
            if name in member.features:
                everyone = np.ones(len(member.base), dtype=np.bool_)
                selection.append((member, member.features[name], everyone))
        return chosen(self._kind, self.boosts[name].fit, selection)

    def _for_recipes(self, members: Sequence[Member]) -> Iterator[dict[str, Any]]:
        """What is best on all segments of these settings, as fields of a recipe; not what abstains or is one."""
        chosen_on = []
        for member in members:
            human = member.setting.segments.judgements.primary
            n_clusters = number_of(codes(member.clusters))
            chosen_on.append(ChosenOn(*member.setting.pair, len(member.base), n_clusters, human))
        shared = {"chosen_on": tuple(chosen_on), "correlation": self._kind}
        for name, boost in self.boosts.items():
            if boost.fixed is not None:
                continue
            fitted = self._chosen_on(name, members)
            if not fitted.abstains:
                yield {"boost_name": name, "boost": boost, "constants": fitted.constants(), **shared}


def _with_verdicts(boosts: Sequence[dict[str, Any]], verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    """Fields of recipes with the verdict that says most of such a choice; without those that were not judged.

    That is the one on the most language pairs, chosen furthest away, by the human score that is named first.
    """
    with_verdicts = []
    for boost in boosts:
        known = [row for row in verdicts if row.boost == boost["boost_name"] and row.point in DISTANCE]
        if known:
            # Verdicts by several human scores are several questions: a recipe tells one.
            known = [row for row in known if row.human == known[0].human]
            best = max(known, key=lambda row: (row.pairs, list(DISTANCE).index(row.point)))
            gain = HeldOut.of(best.gain.value, best.gain.low, best.gain.high, best.how())
            beyond = HeldOut.of(best.beyond.value, best.beyond.low, best.beyond.high, best.how())
            with_verdicts.append({**boost, "gain": gain, "beyond": beyond, "verdict": best.label})
    return with_verdicts


def _of(values: Sequence[T], places: Sequence[int]) -> list[T]:
    return [values[place] for place in places]


def _add_scopes(
    members: Sequence[Member], results: Sequence[BoostsOfSetting], samples: Sequence[Mapping[Key, Floats]]
) -> None:
    """Add the gains over the language pairs of each data set to its first setting, and those over all to the first.

    samples: of each data set, which count as often as it has pairs.
    """
    # Copied: rows over several pairs are added to the same lists.
    single = [list(result.boosts) for result in results]
    settings = [member.setting for member in members]
    by_dataset = grouped(settings, DATASET)
    scopes = [(settings[places[0]].names[0], [dataset]) for dataset, places in enumerate(by_dataset)]
    if len(by_dataset) > 1:
        scopes.append((ALL, list(range(len(by_dataset)))))
    for name, datasets in scopes:
        places = sorted(itertools.chain.from_iterable(by_dataset[dataset] for dataset in datasets))
        joint: dict[Key, Floats] = {}
        for key in samples[datasets[0]]:
            if all(key in samples[dataset] for dataset in datasets):
                # Of data sets with several pairs each has its share: the mean is over pairs.
                parts = [samples[dataset][key] * (len(by_dataset[dataset]) / len(places)) for dataset in datasets]
                joint[key] = np.sum(parts, axis=0)
        by_gold: dict[str, list[BoostRow]] = {}
        for place in places:
            for line in single[place]:
                by_gold.setdefault(line.human, []).append(line)
        for gold, lines in by_gold.items():
            # A cluster that several pairs share counts once: they are drawn together.
            labels: set[tuple[str, str]] = set()
            for place in places:
                labels.update(_labels(members[place], gold))
            results[places[0]].boosts.extend(over_scope((name, ALL), lines, joint, len(labels)))


def _labels(member: Member, gold: str) -> Iterator[tuple[str, str]]:
    """Data set and label of the clusters of the segments that a human score rates."""
    judgements = member.setting.segments.judgements
    rated = member.used & np.isfinite(judgements.scores[gold or judgements.primary])
    for label in np.asarray(member.setting.clusters)[rated].tolist():
        yield member.setting.names[0], label
