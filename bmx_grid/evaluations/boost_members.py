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
from bmx_grid.evaluations.held_out import Flags, Ints, Rated, folds_of, rated_of
from bmx_grid.measures.grid import GridSpec
from bmx_grid.measures.nuisance import NO_DONOR, donors
from bmx_grid.measures.resampling import codes

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

    def features_of(self, name: str, boost: Boost) -> list[Floats]:
        """The features of a boost as they are, then with attributions of other segments, one for each draw.

        None where it cannot be made; as they are alone where a segment has no other cluster to get attributions from.
        """
        if name not in self.features:
            return []
        features, theirs = self.features[name], np.array(boost.of_attributions())
        known = len(self.labels) and not any((of == NO_DONOR).any() for of in self.donors)
        return [features, *(np.where(theirs, features[donor], features) for donor in self.donors if known)]

    def on_all(self, scores: Floats) -> Floats:
        """float64[N] from float64[n]; NaN for the others."""
        found = np.full(len(self.rated.used), np.nan)
        found[self.rated.used] = scores
        return found


def members_of(
    settings: Sequence[Finished],
    labels: Sequence[Sequence[str] | NDArray[np.str_]],
    boosts: Mapping[str, Boost],
    spec: GridSpec,
    *,
    fold_seed: int,
    draws: int,
    seed: int,
) -> list[Member]:
    """Members whose codes of clusters are the same in all of them; labels: N of each setting.

    spec, fold_seed: the grid whose segments, correlation and folds are used; draws, seed: of reassigned attributions.
    Raises DataError where a boost cannot be made of the attributions at all.
    """
    members = [_member(setting, boosts, spec, fold_seed, draws, seed) for setting in settings]
    own = [np.asarray(of, dtype=np.str_)[member.rated.used] for member, of in zip(members, labels, strict=True)]
    parts = np.split(codes(np.concatenate(own)), np.cumsum([len(of) for of in own])[:-1])
    return [
        replace(member, labels=of, rated=replace(member.rated, clusters=part))
        for member, of, part in zip(members, own, parts, strict=True)
    ]


def _member(
    setting: Finished, boosts: Mapping[str, Boost], spec: GridSpec, fold_seed: int, draws: int, seed: int
) -> Member:
    base, human = setting.scores.base_scores, setting.segments.human_scores
    labels, kind = np.asarray(setting.clusters, dtype=np.str_), spec.correlation
    features: dict[str, Floats] = {}
    lacking: dict[str, str] = {}
    used = np.isfinite(human) & np.isfinite(base)
    if setting.explainer is not None:
        used = setting.inputs(spec).used
        features, lacking = _features(setting, boosts, used)
        # one set of segments for all boosts that can be made here
        used = np.logical_and.reduce([used, *(np.isfinite(columns).all(axis=1) for columns in features.values())])
    words = np.column_stack([setting.word_counts(role) for role in setting.worded])
    items = np.array([segment.id for segment in setting.segments.segments], dtype=np.str_)
    rated = rated_of(kind, base, human, np.log(np.maximum(words, 1).astype(np.float64)), labels, items, used, fold_seed)
    own, donors_of = labels[used], []
    if setting.explainer is not None:  # the folds of the grid's points, also where boosts need fewer segments
        inputs = setting.inputs(spec)
        folds = folds_of(kind, inputs.base, inputs.human, codes(labels[inputs.used]), fold_seed)
        rated = replace(rated, fold_of=folds[used[inputs.used]])
        for draw in range(draws if features else 0):  # whatever settings a sweep has
            content = int(setting.segments.fingerprint()[:16], 16)
            rng = np.random.default_rng([seed, content, REASSIGNED_PLACE, draw])
            donors_of.append(donors(inputs.lengths[used[inputs.used]], codes(own), rng))
    features = {name: columns if used.all() else columns[used] for name, columns in features.items()}
    return Member(rated, own, features, lacking, tuple(donors_of), tuple(setting.worded))


def _features(setting: Finished, boosts: Mapping[str, Boost], used: Flags) -> tuple[dict[str, Floats], dict[str, str]]:
    """The features float64[N, k] of boosts that can be made, and why others cannot, by name."""
    features, lacking = {}, {}
    for name, boost in boosts.items():
        reason = _differs(boost, setting)
        columns = np.empty((0, 1)) if reason else boost.features(setting.scores.ground_truth, setting.scores.hypothesis)
        if not reason and not (np.isfinite(columns).all(axis=1) & used).any():
            reason = "it reads a side that has no attributions here" if used.any() else "no segment is rated"
        if reason:
            lacking[name] = reason
        else:
            features[name] = columns
    return features, lacking


def _differs(boost: Boost, setting: Finished) -> str:
    """Why a recipe is not for this setting; "" where it is, and for other boosts."""
    if not isinstance(boost, Fixed):
        return ""
    assert setting.explainer is not None
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
