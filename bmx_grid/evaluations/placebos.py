"""Placebos: what attributions without meaning, and the number of words alone, gain at the points of a boost."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bmx_grid.configure import check_seed
from bmx_grid.errors import ConfigError
from bmx_grid.evaluations import placebo_points as points
from bmx_grid.evaluations.base import KEPT, Columns, Evaluation, Finished, Floats, Kind
from bmx_grid.evaluations.chosen import free_of_each
from bmx_grid.evaluations.gained import Pair, Sampled, gained, less, scores_by_id
from bmx_grid.evaluations.grid import CELLS_PER_SECOND, GridEvaluation
from bmx_grid.evaluations.intervals import estimate, resampled
from bmx_grid.evaluations.placebo_points import Candidates
from bmx_grid.evaluations.placebo_verdicts import (
    BEST,
    BEYOND,
    BOOST,
    CROSS_FITTED,
    ELSEWHERE,
    INDICATOR,
    LENGTH,
    PLACEBOS,
    PUBLISHED,
    RANDOM,
    REASSIGNED,
    PlacebosOfSetting,
    Reached,
    on_setting,
    with_scopes,
)
from bmx_grid.evaluations.points import FOLDS, cross_fitting_folds
from bmx_grid.evaluations.reassigned import donors_of, generator
from bmx_grid.evaluations.verdict_columns import (
    EVIDENCE,
    SIZES,
    estimates,
    evidence_columns,
    fields,
    scope_columns,
)
from bmx_grid.evaluations.verdicts import Estimate
from bmx_grid.identity import identity
from bmx_grid.measures.grid import GridInputs, grid_inputs, nearest_point
from bmx_grid.measures.placebos import NO_DONOR, log_words, none_shifted, random_like
from bmx_grid.measures.resampling import codes, number_of


@dataclass(frozen=True, kw_only=True)
class PlaceboEvaluation(Evaluation):
    """What placebos gain where a boost does, each chosen on the same segments in the same way.

    none: the boost itself. random: attributions drawn from [0, 1), as the explainer `random` draws them. reassigned:
    those of a segment of another cluster with as many words (the nearest number where there is none; `matched` is
    the share with exactly as many). length: a linear term in log words of each side. indicator: a term that says
    whether no attribution was <= 0. beyond_length: the boost over the metric with the length term, chosen first on the
    same segments. They are judged on the segments of the boost. `best` is chosen on the segments it is judged on, and
    has no interval.

    grid: the grid of the boost, with its published points and the seed of its folds. draws: how often random and
    reassigned attributions are drawn; their gains are means over the draws. resamples: of the bootstrap, of whole
    clusters and of draws. A verdict per language pair, over a data set's pairs and over all data sets is found by
    `verdicts.verdict`, at each point; the one at `cross_fitted`, which every setting has, is that of the sweep.
    Raises ConfigError for numbers below 1.
    """

    VERSION: ClassVar[int] = 2
    TABLES: ClassVar[Mapping[str, Mapping[str, Kind]]] = {
        "placebos": {
            "placebo": "text",
            "point": "text",
            "gain": "number",
            "low": "number",
            "high": "number",
            "n": "count",
            "clusters": "count",
            "chosen_on": "text",
            "matched": "number",
            "resamples": "count",
            "seed": "count",
        },
        "verdicts": {
            "point": "text",
            **EVIDENCE,
            "random_gain": "number",
            **SIZES,
        },
    }

    grid: GridEvaluation = identity()
    draws: int = identity(3)
    resamples: int = identity(1000)
    seed: int = identity(0)

    def __post_init__(self) -> None:
        for name in ("draws", "resamples"):
            if getattr(self, name) < 1:
                raise ConfigError(f"placebos.{name} must be at least 1, got {getattr(self, name)}.")
        check_seed(self.seed, "placebos.seed")

    def silent(self, n_metrics: int, n_explainers: int) -> str:
        return "" if n_explainers else "compares boosts by explainers with placebos, and there is no explainer"

    def cost(self, n_segments: int) -> float:
        surfaces = 2 * (1 + self.draws) * (FOLDS + 1)
        return surfaces * n_segments * len(self.grid.spec.p) * len(self.grid.spec.w) / CELLS_PER_SECOND

    def evaluate(self, setting: Finished) -> PlacebosOfSetting:
        """What each placebo reaches at the published, the cross-fitted and the best point.

        Raises DataError when attributions are too large to be shifted. A metric alone has no placebos.
        """
        if setting.explainer is None:
            return PlacebosOfSetting(setting.names, (), {})
        spec = self.grid.spec
        asked = self.grid.fixed.get(setting.explainer_name)
        place = None if asked is None else nearest_point(np.array(spec.p), np.array(spec.w), asked.p, asked.w)
        pairs: dict[tuple[str, str], list[Pair]] = {}
        own = setting.inputs(spec)
        fold_of = cross_fitting_folds(spec, setting, self.grid.seed)
        for placebo, draw in self._all():
            one = self._candidates(setting, own, placebo, draw)
            found = {BEST: points.in_sample(spec, one), CROSS_FITTED: points.cross_fitted(spec, one, fold_of)}
            if place is not None and one.term is None:
                found[PUBLISHED] = points.at_point(spec, one, (spec.w[place[1]], spec.p[place[0]]), fold_of)
            elif place is not None:  # no weights of a term are published
                found[PUBLISHED] = found[CROSS_FITTED]
            for point, pair in found.items():
                pairs.setdefault((placebo, point), []).append(pair)
        reached, over = self._judge(setting, own, pairs)
        labels = frozenset(_labels(setting, own).tolist())
        result = PlacebosOfSetting(setting.names, tuple(reached), over, labels=labels)
        return replace(result, judged=tuple(on_setting(result)))

    def across_pairs(
        self, settings: Sequence[Finished], results: Sequence[PlacebosOfSetting]
    ) -> Sequence[PlacebosOfSetting]:
        """The results with what placebos reach where other language pairs choose."""
        if any(setting.explainer is None for setting in settings):
            return results
        completed = []
        for result, (reached, over) in zip(results, self._elsewhere(settings), strict=True):
            one = replace(result, reached=(*result.reached, *reached), over={**result.over, **over})
            completed.append(replace(one, judged=tuple(on_setting(one))))
        return completed

    def together(
        self, settings: Sequence[Finished], results: Sequence[PlacebosOfSetting]
    ) -> Sequence[PlacebosOfSetting]:
        """The results with verdicts on several language pairs."""
        return with_scopes(results)

    def _elsewhere(self, settings: Sequence[Finished]) -> list[tuple[list[Reached], dict[str, Estimate]]]:
        spec = self.grid.spec
        names = [setting.segments.language_pair for setting in settings]
        free = free_of_each([setting.clusters for setting in settings])
        pairs: list[dict[tuple[str, str], list[Pair]]] = [{} for _ in settings]
        for placebo, draw in self._all():
            members = [
                self._candidates(setting, setting.inputs(spec), placebo, draw, many=True) for setting in settings
            ]
            for at, pair in enumerate(points.elsewhere(spec, names, free, members)):
                if pair is not None:
                    pairs[at].setdefault((placebo, ELSEWHERE), []).append(pair)
        return [self._judge(setting, setting.inputs(spec), of) for setting, of in zip(settings, pairs, strict=True)]

    def _all(self) -> list[tuple[str, int]]:
        """Each placebo with the number of its draw."""
        return [(one, draw) for one in PLACEBOS for draw in range(self.draws if one in (RANDOM, REASSIGNED) else 1)]

    def _candidates(
        self, setting: Finished, own: GridInputs, placebo: str, draw: int, *, many: bool = False
    ) -> Candidates:
        """What is chosen for a placebo, on the segments that the boost is judged on.

        many: whether it is one of many that choose for each other, whose means are kept where they are small only.
        """
        truth, hypothesis = setting.scores.ground_truth, setting.scores.hypothesis
        spec, used = self.grid.spec, own.used
        plain = Candidates(own.base, own.human, _labels(setting, own), used)
        if placebo == LENGTH:
            return replace(plain, term=log_words(truth, hypothesis)[used])
        if placebo == INDICATOR:
            sides = (truth, hypothesis) if spec.side == "both" else (hypothesis,)
            return replace(plain, term=none_shifted(*sides)[used])
        inputs: Callable[[], GridInputs] = partial(setting.inputs, spec)
        if not many:
            inputs = partial(_itself, own)
        make = partial(self._means, setting, inputs, placebo, draw)
        kept = make if many and own.columns.size > KEPT else cache(make)
        return replace(plain, make=kept, before=log_words(truth, hypothesis)[used] if placebo == BEYOND else None)

    def _means(self, setting: Finished, inputs: Callable[[], GridInputs], placebo: str, draw: int) -> Floats:
        """float64[n, P] the means of a placebo that has some."""
        own = inputs()
        if placebo == RANDOM:
            truth, hypothesis = setting.scores.ground_truth, setting.scores.hypothesis
            rng = generator(setting, self.seed, PLACEBOS.index(RANDOM), draw)
            drawn, rated = (random_like(truth, rng), random_like(hypothesis, rng)), setting.segments.human_scores
            # Only segments of the boost count as rated: an attribution that is missing there would not be here.
            rated = np.where(own.used, rated, np.nan)
            return grid_inputs(self.grid.spec, setting.scores.base_scores, *drawn, rated).means
        if placebo == REASSIGNED:
            given = self._donors(setting, own, draw)
            return np.where((given == NO_DONOR)[:, None], np.nan, own.means[given])
        return own.means

    def _donors(self, setting: Finished, own: GridInputs, draw: int) -> NDArray[np.int64]:
        """int64[n] the used segment that each gets its attributions from; -1 without one."""
        return donors_of(setting, own.lengths, _labels(setting, own), self.seed, draw)

    def _judge(
        self, setting: Finished, own: GridInputs, pairs: Mapping[tuple[str, str], Sequence[Pair]]
    ) -> tuple[list[Reached], dict[str, Estimate]]:
        """A row per placebo and point, and by point how much more the boost gains than reassigned attributions."""
        human, kind = own.human, self.grid.correlation
        clusters = codes(_labels(setting, own))
        count = number_of(clusters)
        inside = {(placebo, point): drawn for (placebo, point), drawn in pairs.items() if point != BEST}
        by_score = resampled(kind, scores_by_id(inside), human, clusters, self.resamples, self.seed)
        gains = gained(kind, human, inside, by_score, self.seed)
        gains |= gained(kind, human, {key: pairs[key] for key in pairs if key not in inside}, {}, self.seed)
        matched = {REASSIGNED: self._matched(setting, own)}
        found = [
            Reached(
                placebo,
                point,
                _estimate(gains[placebo, point], count),
                len(human),
                count,
                drawn[0].chosen_on,
                matched.get(placebo, math.nan),
            )
            for (placebo, point), drawn in pairs.items()
        ]
        over = {
            point: _estimate(less(gains[BOOST, point], gains[REASSIGNED, point]), count)
            for placebo, point in inside
            if placebo == BOOST
            and all((who, point) in gains and gains[who, point][1] is not None for who in (BOOST, REASSIGNED))
        }
        return found, over

    def _matched(self, setting: Finished, own: GridInputs) -> float:
        given = self._donors(setting, own, 0)
        known = given != NO_DONOR
        return float((own.lengths[given[known]] == own.lengths[known]).mean()) if known.any() else math.nan

    def rows(self, result: PlacebosOfSetting) -> Mapping[str, Columns]:
        """One row per placebo and point; in `verdicts` one per scope and point."""
        reached, judged = result.reached, result.judged
        placebos = {
            **fields(reached, ("placebo", "point")),
            **estimates("gain", "", [one.gain for one in reached]),
            **fields(reached, ("n", "clusters", "chosen_on", "matched")),
            "resamples": [self.resamples] * len(reached),
            "seed": [self.seed] * len(reached),
        }
        verdicts = {
            **scope_columns([(one.dataset, one.language_pair) for one in judged], result.names),
            "point": [one.point for one in judged],
            **evidence_columns(judged),
            "random_gain": [one.evidence.random.value for one in judged],
            **fields(judged, tuple(SIZES)),
        }
        return {"placebos": placebos, "verdicts": verdicts}


def _itself(own: GridInputs) -> GridInputs:
    return own


def _labels(setting: Finished, own: GridInputs) -> NDArray[np.str_]:
    """The clusters of the used segments."""
    return np.asarray(setting.clusters, dtype=np.str_)[own.used]


def _estimate(gain: Sampled, clusters: int) -> Estimate:
    """With its interval where there are resamples."""
    value, samples = gain
    return Estimate(value) if samples is None else estimate(value, samples, clusters)
