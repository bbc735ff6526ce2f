"""Boosts chosen on some segments and judged on others, with a verdict on each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar

from bmx_grid.boosts.base import Boost
from bmx_grid.core.errors import ConfigError, unknown
from bmx_grid.core.identity import identity
from bmx_grid.core.ragged import Floats
from bmx_grid.datasets.segments import SegmentSet, clusters
from bmx_grid.evaluations.base import (
    OF_SETS,
    ColumnValues,
    Estimate,
    MapFunction,
    ScoredSetting,
    group_by_names,
    map_sequential,
)
from bmx_grid.evaluations.boost_evidence import (
    COMBINED,
    CROSS_FITTED,
    CURVE,
    DATASET,
    ELSEWHERE,
    FIXED,
    LENGTH,
    METRIC,
    OTHER_DATASETS,
    BoostRow,
    Contrasts,
    GainStatistic,
    Key,
    add_scopes,
    build_contrasts,
    contrast_rows,
    joint_samples,
)
from bmx_grid.evaluations.choose import (
    BoostCandidate,
    RecipeFields,
    add_verdicts,
    average_of,
    best_gains,
    boost_candidates,
    hold_out_elsewhere,
    hold_out_folds,
    hold_out_unchosen,
    link_selection_sets,
    recipe_fields,
)
from bmx_grid.evaluations.grid_surface import CELLS_PER_SECOND, OnGrid
from bmx_grid.evaluations.held_out import (
    FOLDS,
    BoostInputs,
    Boosts,
    RatedSegments,
    boosts_by_segments,
    compute_features,
    is_of_grid,
    judged_by,
    member_of,
)
from bmx_grid.evaluations.verdicts import NOT_JUDGED, SMALLEST_GAIN, Verdict, add_context, collect_evidence, label_gains
from bmx_grid.measures.correlation import Kind

TAKEN = (LENGTH, CURVE, COMBINED)  # names of the placebos
FITS_PER_SECOND = 400  # of a boost on half of 560 segments, on one core
RESAMPLED_PER_SECOND = 1e7  # segments x resamples, of one score
LEARNER_SECONDS = 1.5  # to learn score and length jointly, for 2,000 segments

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class BoostsOfSetting:
    """The results of a setting's boosts.

    boosts: gains; verdicts. In the first setting of a data set those on the whole data set, too, and in the first one
    of a metric and explainer those on all data sets. scores: float64[N] held-out scores by boost. gains: over the
    baseline, at the points of the grid.
    chosen: in that first setting each boost that was fitted on all segments of all its settings, as fields of a recipe.
    """

    boosts: list[BoostRow] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    scores: dict[str, Floats] = field(default_factory=dict)
    gains: dict[str, Estimate] = field(default_factory=dict)
    chosen: list[RecipeFields] = field(default_factory=list)

    def add(self, other: BoostsOfSetting, beside: str) -> None:
        """Add the results of boosts judged on other segments; beside: their name in the rows of placebos."""
        for row in other.boosts:
            self.boosts.append(replace(row, beside=beside) if row.boost in TAKEN else row)
        self.verdicts.extend(other.verdicts)
        self.scores.update(other.scores)
        self.gains.update(other.gains)
        self.chosen.extend(other.chosen)

    def sort(self, boosts: Sequence[str]) -> None:
        """Sort verdicts by scope, and these, scores and recipes by the order of the boosts."""
        by_scope: dict[tuple[str, str, str], list[Verdict]] = {}
        for row in self.verdicts:
            by_scope.setdefault((row.dataset, row.language_pair, row.human), []).append(row)
        self.verdicts.clear()
        for rows in by_scope.values():
            self.verdicts.extend(sorted(rows, key=lambda row: boosts.index(row.boost)))
        scores = {name: self.scores.pop(name) for name in boosts if name in self.scores}
        self.scores.update(scores)
        self.chosen.sort(key=lambda recipe: boosts.index(recipe["boost_name"]))


@dataclass(frozen=True, kw_only=True)
class BoostEvaluation(OnGrid):
    """Choose each boost on some segments, "do not boost" among the choices, judge it on others, and give a verdict.

    Points:
      elsewhere: the best choice on the other language pairs of the data set, without their shared clusters.
      cross_fitted: each segment with the best choice on the other folds of the grid.
      other_datasets: the best choice on all other data sets of the sweep.
      published: a paper's point, of the power mean.
      fixed: a recipe, or another boost without choices.

    Comparisons:
      metric: the gain over the baseline.
      score, length and text: the partial correlation with the human scores, controlled for score and lengths jointly,
        the texts, and named systems, raters and domains (`measures.partial_correlation`).
      residuals: the same as it is, not extrapolated: higher than the truth if the controls are not learned fully.
      metrics: the partial correlation controlled also for all other metrics of the sweep.

    Placebos: `length`, a linear term in log words; `curve`, one in score and lengths, chosen like a boost;
    `NAME reassigned 1` and so on, the boost made of the attributions of other segments with as many words; `combined`,
    the average of up to three metrics. Each boost is judged on all segments that it can be made for, independently of
    other boosts, and its placebos on the same segments (column `beside`). Boosts without segments are reported by name.

    Each boost has one verdict: at the point of other language pairs if all pairs of the scope have one, else at that of
    other folds. Published points and other data sets are further questions. Each question of a sweep, on single pairs,
    data sets, or all of them together, is one family of tests (`verdicts.label_gains`).

    grid: its correlation, folds and published points are used. boosts: the boosts to judge, by name.
    human: names of the human scores that judge; each gives its own verdict on the segments that it rates. By default
    the primary one, which always chooses: a boost that fits its raters is detected by another one.
    statistic: gains are differences of "pooled", the correlation over all segments, or of "pdp", that of the
    differences between outputs for one source (`measures.pairwise`). draws: number of reassignments of attributions,
    for placebos; verdicts do not use them.
    resamples: of whole clusters, for intervals. smallest_gain: the smallest gain in correlation that matters.
    Raises ConfigError for numbers out of range, a boost with the name of a placebo, and human scores that a data set
    lacks.
    """

    VERSION: ClassVar[int] = 12  # partial correlations need twelve clusters; of several verdicts a recipe states one
    SCOPE: ClassVar[tuple[str, ...]] = OF_SETS
    ROWS: ClassVar[Mapping[str, type]] = {"boosts": BoostRow, "verdicts": Verdict}

    boosts: Mapping[str, Boost] = identity()
    human: tuple[str, ...] = identity((), added_later=True)
    statistic: GainStatistic = identity("pooled", added_later=True)
    draws: int = identity(0, least=0, most=100)
    resamples: int = identity(1000, least=40, most=100_000)
    seed: int = identity(0, least=0, most=2**63)
    smallest_gain: float = identity(SMALLEST_GAIN, least=0, below=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        # Rows of both would have the same key.
        for name in TAKEN:
            if name in self.boosts:
                raise ConfigError(f"boost.{name}: this name is reserved for a placebo; choose another one.")

    def fingerprint(self) -> dict[str, Any]:
        """Includes the fingerprints of the boosts."""
        boosts = {name: boost.fingerprint() for name, boost in self.boosts.items()}
        return {**super().fingerprint(), "boosts": boosts}

    @property
    def reads_ground_truth(self) -> bool:
        return any(boost.reads_ground_truth for boost in self.boosts.values())

    def inapplicable(self, n_metrics: int, n_explainers: int, sets: Sequence[SegmentSet]) -> str:
        """Why nothing is judged: without explainers only the average of several metrics is.

        Raises ConfigError for a human score that one of the sets does not have.
        """
        for segments in sets:
            known = segments.judgements.aspects
            for name in self.human:
                if name not in known:
                    where = f"{segments.dataset} {segments.language_pair}"
                    problem = unknown("human score", name, known)
                    raise ConfigError(f"evaluation.boosts.human: {where}: {problem}")
        if n_explainers == 0 and n_metrics < 2:
            return "needs an explainer, or several metrics to average"
        return ""

    def cost(self, n_segments: int) -> float:
        n_boosts = len(self.boosts)
        # All segments and every fold choose, for the true attributions and for each reassigned draw.
        fits = n_boosts * (1 + self.draws) * (FOLDS + 1) * max(n_segments / 560, 0.1)
        means = len(self.grid.spec.p) * n_segments * n_boosts
        resampled = 2 * n_boosts * (3 + self.draws) * n_segments * self.resamples
        size = n_segments / 2000
        learned = LEARNER_SECONDS * min(size, 1) ** 2 * max(size, 1)
        seconds = fits / FITS_PER_SECOND
        seconds += means / CELLS_PER_SECOND
        seconds += resampled / RESAMPLED_PER_SECOND
        return seconds + learned

    def evaluate(
        self, settings: Sequence[ScoredSetting], map_function: MapFunction = map_sequential
    ) -> list[BoostsOfSetting]:
        """What boosts reach where others choose, with verdicts that are corrected over all that answer one question."""
        averages: dict[str, Any] = {}
        with_others = []
        for setting in settings:
            with_others.append(replace(setting, others=other_metrics(setting, settings), averages=averages))
        results: list[BoostsOfSetting] = super().evaluate(with_others, map_function)
        # The correction knows how many verdicts there are only when all scopes have ended.
        family = [row for result in results for row in result.verdicts if row.point != NOT_JUDGED]
        verdicts = iter(label_gains(family, self.smallest_gain))
        for result in results:
            result.verdicts[:] = [row if row.point == NOT_JUDGED else next(verdicts) for row in result.verdicts]
        for places in group_by_names(settings, OF_SETS):
            rows = [row for place in places for row in results[place].verdicts]
            first = results[places[0]]
            first.chosen[:] = add_verdicts(first.chosen, rows)
        return results

    def segment_columns(self, result: BoostsOfSetting) -> ColumnValues:
        """The held-out score of each boost: of what other language pairs choose, else of what other folds choose."""
        return {f"boost_{name}": scores for name, scores in result.scores.items()}

    def gains(self, result: BoostsOfSetting) -> Mapping[str, Estimate]:
        """The gains of the paper's boost, if it is judged on the sweep's grid."""
        return result.gains

    @property
    def _kind(self) -> Kind:
        return self.grid.correlation

    def evaluate_scope(self, settings: Sequence[ScoredSetting]) -> list[BoostsOfSetting]:
        """What boosts, and the average of metrics, reach where other folds, language pairs and data sets choose.

        Metrics without an explainer have no boosts.
        """
        results = [BoostsOfSetting() for _ in settings]
        explained = settings[0].explainer is not None
        have_others = any(setting.others for setting in settings)
        if not explained and not have_others:
            return results
        features = []
        lacking = []
        for setting in settings:
            features_of_setting, reasons = compute_features(setting, self.boosts)
            features.append(features_of_setting)
            lacking.append(reasons)
        groups = boosts_by_segments(self.boosts, settings, features)
        for boosts in groups:
            # Other boosts, with segments of their own, have no part in it.
            beside = ", ".join(boosts) if len(groups) > 1 else ""
            for result, of_boosts in zip(results, self._judge_boosts(boosts, settings, features), strict=True):
                result.add(of_boosts, beside)
        for setting, reasons, result in zip(settings, lacking, results, strict=True):
            result.sort(list(self.boosts))
            for boost, reason in reasons.items():
                verdict = Verdict(*setting.names, boost, NOT_JUDGED, because=f"not judged: {reason}")
                result.verdicts.append(verdict)
        return results

    def _judge_boosts(
        self, boosts: Boosts, settings: Sequence[ScoredSetting], features: Sequence[Mapping[str, Floats]]
    ) -> list[BoostsOfSetting]:
        """Judge boosts on the same segments, with their placebos.

        features: float64[N, k] of all boosts that each setting can make.
        """
        kind = self._kind
        drawn: Any = {"fold_seed": self.grid.seed, "draws": self.draws, "seed": self.seed}
        members = []
        for setting, features_of_setting in zip(settings, features, strict=True):
            kept = {name: features_of_setting[name] for name in boosts if name in features_of_setting}
            members.append(member_of(setting, kept, boosts, self.grid.spec, **drawn))
        results = [BoostsOfSetting() for _ in members]
        by_dataset = group_by_names(settings, DATASET)
        is_only = len(by_dataset) == 1
        samples: list[dict[Key, Floats]] = []
        for places in by_dataset:
            samples.append(self._judge_dataset(boosts, _select(members, places), _select(results, places), is_only))
        if settings[0].explainer is not None:
            # Clusters anew, over all data sets: what one shares with another must not choose for it.
            labels = [settings[0].clusters]
            if len(settings) > 1:
                sets = [setting.segments for setting in settings]
                labels = [labels_of_set.tolist() for labels_of_set in clusters(sets)]
            together = link_selection_sets(kind, members, labels, [setting.segments.dataset for setting in settings])
            if not is_only:
                hold_out_elsewhere(kind, boost_candidates(boosts, together), together, OTHER_DATASETS)
                for places, samples_of_dataset in zip(by_dataset, samples, strict=True):
                    samples_of_dataset |= self._add_lines(_select(together, places), _select(results, places))
            results[0].chosen.extend(recipe_fields(kind, boosts, together))
        add_scopes(members, [result.boosts for result in results], samples)
        best = [best_gains(kind, boosts, member) for member in members]
        for result in results:
            for row in collect_evidence(result.boosts, boosts):
                result.verdicts.append(add_context(row, settings, best))
        return results

    def _judge_dataset(
        self, boosts: Boosts, members: Sequence[BoostInputs], results: Sequence[BoostsOfSetting], is_only: bool
    ) -> dict[Key, Floats]:
        """Add choices of other folds and language pairs of a data set, and boosts without choices.

        is_only: whether the sweep has no other data set. Returns as `_add_lines`.
        """
        kind = self._kind
        settings = [member.setting for member in members]
        labels = [setting.clusters for setting in settings]
        members = link_selection_sets(kind, members, labels, [setting.segments.language_pair for setting in settings])
        choices = boost_candidates(boosts, members)
        average = average_of(members)
        if average is not None:
            choices.append(average)
        hold_out_elsewhere(kind, choices, members, ELSEWHERE)
        for member in members:
            hold_out_unchosen(boosts, self.grid.fixed.get(member.setting.explainer_name), member)
        hold_out_folds(kind, choices, members)
        for member, result in zip(members, results, strict=True):
            # The last that is there is shown: chosen furthest away.
            for point in (FIXED, CROSS_FITTED, ELSEWHERE):
                for name in boosts:
                    if (name, point) in member.held_out:
                        result.scores[name] = member.rated.to_all_segments(member.held_out[name, point])
        # What other folds chose has no verdict if other language pairs chose for all, on every data set.
        not_judged = set()
        for name, point in members[0].held_out if is_only else ():
            if point == ELSEWHERE and all((name, ELSEWHERE) in member.held_out for member in members):
                not_judged.add((name, CROSS_FITTED))
        alone = is_only and len(members) == 1
        return self._add_lines(members, results, average, not_judged, alone)

    def _add_lines(
        self,
        members: Sequence[BoostInputs],
        results: Sequence[BoostsOfSetting],
        average: BoostCandidate | None = None,
        not_judged: Set[tuple[str, str]] = frozenset(),
        alone: bool = False,
    ) -> dict[Key, Floats]:
        """Add the gains of held-out scores per language pair of a data set; return resamples of their means over pairs.

        average: its metrics are further controls of partial correlations. not_judged: see `build_contrasts`. alone:
        whether to skip the means, for the only language pair of a sweep.
        """
        kind = self._kind
        differences: dict[str, list[tuple[RatedSegments, Contrasts]]] = {}
        for place, (member, result) in enumerate(zip(members, results, strict=True)):
            # "" is the primary human score of each data set, whatever its name.
            for gold in self.human or ("",):
                # A further human score may rate fewer of the segments.
                rated, rows = judged_by(kind, member, gold, self.grid.seed)
                metrics = None if average is None else average.features[place]
                held_out = member.held_out
                # Large scores are not copied.
                if not rows.all():
                    held_out = {key: scores[rows] for key, scores in held_out.items()}
                    metrics = None if metrics is None else metrics[rows]
                gains = build_contrasts(
                    kind=kind,
                    rated=rated,
                    held_out=held_out,
                    seed=self.seed,
                    metrics=metrics,
                    statistic=self.statistic,
                    gold=gold,
                    not_judged=not_judged,
                )
                differences.setdefault(gold, []).append((rated, gains))
                lines = contrast_rows(member.setting.names, rated, gains, self.resamples, self.seed)
                result.boosts.extend(lines)
                # The grid knows pooled correlations with the primary human score only.
                if self.statistic != "pooled" or gold not in ("", member.setting.segments.judgements.primary):
                    continue
                for line in lines:
                    at_point = line.against == METRIC and line.point in member.setting.boosted
                    if at_point and is_of_grid(self.boosts.get(line.boost), self.grid.spec):
                        result.gains[line.point] = line.gain
        samples: dict[Key, Floats] = {}
        for of_pairs in differences.values() if not alone else ():
            samples |= joint_samples(of_pairs, self.resamples, self.seed)
        return samples


def other_metrics(setting: ScoredSetting, settings: Sequence[ScoredSetting]) -> dict[str, Floats]:
    """float64[N] scores of the other metrics of a sweep on the same segments, by name; placebos and human scores are
    left out.
    """
    scores = {}
    n_segments = len(setting.segments)
    for other in settings:
        name = other.metric_name
        if other.pair != setting.pair or name == setting.metric_name:
            continue
        # Scores of other metrics are read row by row: they must be of the same segments.
        if len(other.segments) != n_segments:
            continue
        if not (other.metric.is_placebo or other.metric.is_human):
            scores[name] = other.scores.base_scores
    return scores


def _select(values: Sequence[T], places: Sequence[int]) -> list[T]:
    return [values[place] for place in places]
