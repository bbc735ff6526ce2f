"""A setting as boosts see it: the segments they are judged on, and their features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bmx_grid.boosts.base import Boost
from bmx_grid.boosts.recipe import Fixed, Identity
from bmx_grid.errors import ConfigError
from bmx_grid.evaluations.base import Finished, Floats
from bmx_grid.evaluations.held_out import Ints, Rated, rated_of
from bmx_grid.evaluations.points import Flags, cross_fitting_folds
from bmx_grid.measures.grid import GridSpec
from bmx_grid.measures.placebos import NO_DONOR, donors
from bmx_grid.measures.resampling import codes
from bmx_grid.metrics.random import RandomMetric

REASSIGNED_PLACE = 2  # in the seed


@dataclass(frozen=True, eq=False)
class Member:
    """A setting as boosts see it.

    labels: n clusters; features: float64[n, k] of each boost that can be made; lacking: why others cannot, by name;
    donors: int64[n] for each draw, which segment each gets its attributions from; roles: of the texts that
    `rated.log_words` counts.
    """

    rated: Rated
    labels: NDArray[np.str_]
    features: Mapping[str, Floats]
    lacking: Mapping[str, str]
    donors: tuple[Ints, ...]
    roles: tuple[str, ...]

    @property
    def can_reassign(self) -> bool:
        """Whether every segment has another cluster to get attributions from."""
        return bool(len(self.labels)) and not any((of == NO_DONOR).any() for of in self.donors)

    def reassigned(self, boost: Boost, name: str) -> list[Floats]:
        """The features of a boost with the attributions of other segments, one for each draw."""
        if not self.can_reassign:
            return []
        features, theirs = self.features[name], np.array(boost.of_attributions())
        return [np.where(theirs, features[donor], features) for donor in self.donors]

    def on_all(self, scores: Floats) -> Floats:
        """float64[N] from float64[n]; NaN for the others."""
        found = np.full(len(self.rated.used), np.nan)
        found[self.rated.used] = scores
        return found


@dataclass(frozen=True, eq=False)
class Preparation:
    """Makes members of settings.

    spec, fold_seed: the grid whose segments, correlation and folds are used; boosts: by name; draws, seed: of
    reassigned attributions.
    """

    spec: GridSpec
    fold_seed: int
    boosts: Mapping[str, Boost]
    draws: int
    seed: int

    def members(self, settings: Sequence[Finished], labels: Sequence[Sequence[str] | NDArray[np.str_]]) -> list[Member]:
        """Members whose codes of clusters are the same in all of them; labels: N of each setting."""
        members = [self.member(setting) for setting in settings]
        own = [np.asarray(of, dtype=np.str_)[one.rated.used] for one, of in zip(members, labels, strict=True)]
        ends = np.cumsum([len(of) for of in own])[:-1]
        parts = np.split(codes(np.concatenate(own)), ends)
        return [
            replace(one, labels=of, rated=replace(one.rated, clusters=part))
            for one, of, part in zip(members, own, parts, strict=True)
        ]

    def member(self, setting: Finished) -> Member:
        """Raises DataError where a boost cannot be made of the attributions at all."""
        labels = np.asarray(setting.clusters, dtype=np.str_)
        features, lacking = {}, {}
        if setting.explainer is None:
            used = np.isfinite(setting.segments.human_scores) & np.isfinite(setting.scores.base_scores)
        else:
            used = setting.inputs(self.spec).used
            for name, boost in self.boosts.items():
                reason = _differs(boost, setting)
                found = None if reason else boost.features(setting.scores.ground_truth, setting.scores.hypothesis)
                if found is not None and not (np.isfinite(found).all(axis=1) & used).any():
                    reason = "it reads a side that has no attributions here" if used.any() else "no segment is rated"
                if reason or found is None:
                    lacking[name] = reason
                else:
                    features[name] = found
            # one set of segments for all boosts that can be made here
            used = np.logical_and.reduce([used, *(np.isfinite(found).all(axis=1) for found in features.values())])
        roles = setting.worded
        counts = np.column_stack([setting.word_counts(role) for role in roles])
        rated = rated_of(
            self.spec.correlation,
            setting.scores.base_scores,
            setting.segments.human_scores,
            np.log(np.maximum(counts, 1).astype(np.float64)),
            labels,
            np.array([segment.id for segment in setting.segments.segments], dtype=np.str_),
            used,
            self.fold_seed,
        )
        if setting.explainer is not None:  # the folds of the grid's points, also where boosts need fewer segments
            folds = cross_fitting_folds(self.spec, setting, self.fold_seed)
            rated = replace(rated, fold_of=folds[used[setting.inputs(self.spec).used]])
        own = labels[used]
        return Member(
            rated,
            own,
            {name: found if used.all() else found[used] for name, found in features.items()},
            lacking,
            tuple(self._donors(setting, used, own, draw) for draw in range(self.draws)) if features else (),
            tuple(roles),
        )

    def _donors(self, setting: Finished, used: Flags, labels: NDArray[np.str_], draw: int) -> Ints:
        """Drawn from the seed and the segments, whatever settings a sweep has."""
        own = setting.inputs(self.spec)
        content = int(setting.segments.fingerprint()[:16], 16)
        rng = np.random.default_rng([self.seed, content, REASSIGNED_PLACE, draw])
        return donors(own.lengths[used[own.used]], codes(labels), rng)


def other_metrics(
    own: Sequence[Finished], members: Sequence[Member], settings: Sequence[Finished]
) -> list[dict[str, Floats]]:
    """For each of some settings float64[n] scores of the other metrics at hand, by name; the same names for all.

    settings: of the sweep. Left out are the random metric, and metrics without a score for a judged segment.
    """
    found: list[dict[str, Floats]] = []
    for setting, member in zip(own, members, strict=True):
        scores = {
            other.metric_name: other.scores.base_scores[member.rated.used]
            for other in settings
            if other.pair == setting.pair and len(other.segments) == len(setting.segments)
            if other.metric_name != setting.metric_name and not isinstance(other.metric, RandomMetric)
        }
        found.append({name: scores[name] for name in sorted(scores) if np.isfinite(scores[name]).all()})
    shared = [name for name in found[0] if all(name in of for of in found)]
    return [{name: of[name] for name in shared} for of in found]


def _differs(boost: Boost, setting: Finished) -> str:
    """Why a recipe is not for this setting; "" where it is, and for other boosts."""
    if not isinstance(boost, Fixed) or setting.explainer is None:
        return ""
    recipe = boost.known
    if any(part.dataset == setting.segments.dataset for part in recipe.chosen_on):
        return f"the recipe was chosen on {setting.segments.dataset}; give your data another name if they are others"
    try:
        recipe.check(
            Identity.of("metric", setting.metric_name, setting.metric, setting.metric.signature),
            Identity.of("explainer", setting.explainer_name, setting.explainer, setting.explainer.signature),
        )
    except ConfigError as error:
        return str(error)
    return ""
