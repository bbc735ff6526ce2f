"""A setting as boosts see it: the segments they are judged on, their features, and what is chosen of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bmx_grid.boosts.base import Boost
from bmx_grid.boosts.combined import Combined
from bmx_grid.boosts.power_mean_grid import PowerMeanGrid
from bmx_grid.boosts.terms import Length
from bmx_grid.evaluations.base import Finished, Floats
from bmx_grid.evaluations.boost_judging import COMBINED, LENGTH, METRIC, REASSIGNED
from bmx_grid.evaluations.chosen import Flags
from bmx_grid.evaluations.held_out import Entry, Ints, Rated
from bmx_grid.evaluations.points import FOLDS, cross_fitting_folds
from bmx_grid.evaluations.reassigned import donors_of
from bmx_grid.measures.grid import GridSpec
from bmx_grid.measures.grid_resampling import folds_of
from bmx_grid.measures.placebos import NO_DONOR, log_words
from bmx_grid.measures.resampling import codes
from bmx_grid.measures.weighted_grids import Sample
from bmx_grid.metrics.random import RandomMetric

OWN_LENGTH = Length()
Entries = dict[tuple[str, str], list[Entry]]  # by boost and against, one for each draw


@dataclass(frozen=True, eq=False)
class Member:
    """A setting as boosts see it: n of N segments.

    labels: n clusters; features: float64[n, k] of each boost that can be made of some segment; lengths: float64[n, 2]
    log words; donors: int64[n] for each draw; fold_of: int64[n].
    """

    rated: Rated
    labels: NDArray[np.str_]
    features: Mapping[str, Floats]
    lengths: Floats
    donors: tuple[Ints, ...]
    fold_of: Ints

    @property
    def can_reassign(self) -> bool:
        """Whether every segment has another cluster to get attributions from."""
        return bool(len(self.labels)) and not any((of == NO_DONOR).any() for of in self.donors)

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
        return _numbered([self.member(setting) for setting in settings], labels)

    def member(self, setting: Finished) -> Member:
        """Raises DataError where a boost cannot be made of the attributions."""
        human, base = setting.segments.human_scores, setting.scores.base_scores
        labels = np.asarray(setting.clusters, dtype=np.str_)
        if setting.explainer is None:
            used = np.isfinite(human) & np.isfinite(base)
            sample = Sample.of(
                np.zeros((int(used.sum()), 1)), base[used], human[used], np.ones(1), labels[used],
                kind=self.spec.correlation,
            )  # fmt: skip
            rated = Rated(base[used], human[used], sample.cluster, used)
            nothing = np.empty((len(rated.base), 0))
            return Member(rated, labels[used], {}, nothing, (), folds_of(sample, FOLDS, self.fold_seed))
        own = setting.inputs(self.spec)
        features = {name: self._features(boost, setting) for name, boost in self.boosts.items()}
        defined = {
            name: _spread(which, np.logical_and.reduce(np.isfinite(columns), axis=1))
            for name, (which, columns) in features.items()
        }
        # a boost that reads a side without attributions takes no segment from the others
        features = {name: found for name, found in features.items() if (defined[name] & own.used).any()}
        used = np.logical_and.reduce([own.used, *(defined[name] for name in features)])
        fold_of = np.full(len(used), -1, dtype=np.int64)
        fold_of[own.used] = cross_fitting_folds(self.spec, setting, self.fold_seed)
        truth, hypothesis = setting.scores.ground_truth, setting.scores.hypothesis
        n_words = own.lengths[used[own.used]]
        donors = tuple(donors_of(setting, n_words, labels[used], self.seed, draw) for draw in range(self.draws))
        return Member(
            Rated(base[used], human[used], codes(labels[used]), used),
            labels[used],
            {name: _rows(columns, used[which]) for name, (which, columns) in features.items()},
            log_words(truth, hypothesis)[used],
            donors,
            fold_of[used],
        )

    def _features(self, boost: Boost, setting: Finished) -> tuple[Flags, Floats]:
        """bool[N] which segments these are of, and float64[n, k]. The means of a grid are made once for all."""
        if isinstance(boost, PowerMeanGrid) and boost.shift == "paper":
            given = setting.inputs(replace(boost.spec, correlation=self.spec.correlation))
            return given.used, given.means
        everyone = np.ones(len(setting.segments), dtype=np.bool_)
        return everyone, boost.features(setting.scores.ground_truth, setting.scores.hypothesis)

    def entries(self, member: Member) -> Entries:
        """What is chosen on a setting alone."""
        found: Entries = {(LENGTH, METRIC): [Entry(OWN_LENGTH, member.lengths)]}
        for name, features in member.features.items():
            boost = self.boosts[name]
            found[name, METRIC] = [Entry(boost, features)]
            found[name, LENGTH] = [Entry(boost, features, member.lengths)]
            if member.can_reassign:
                theirs = np.array(boost.of_attributions())
                found[name, REASSIGNED] = [
                    Entry(boost, features[of] if theirs.all() else np.where(theirs, features[of], features))
                    for of in member.donors
                ]
        return found

    def combined_entries(self, member: Member, others: Mapping[str, Floats]) -> Entries:
        """What is chosen where other metrics are at hand; others: float64[N] scores by metric."""
        columns = np.column_stack([scores[member.rated.used] for scores in others.values()])
        found: Entries = {(COMBINED, METRIC): [Entry(Combined(tuple(others)), columns)]}
        for name, features in member.features.items():
            before = np.column_stack([member.lengths, columns])
            found[name, COMBINED] = [Entry(self.boosts[name], features, before)]
        return found


def shared_metrics(
    own: Sequence[Finished], members: Sequence[Member], settings: Sequence[Finished]
) -> list[dict[str, Floats]]:
    """For each of some settings float64[N] scores of the other metrics at hand, by name; the same names for all.

    settings: of the sweep. Left out are the random metric, and metrics without a score for a judged segment.
    """
    found = [_other_metrics(one, settings) for one in own]
    names = [
        name
        for name in found[0]
        if all(
            name in of and np.isfinite(of[name][one.rated.used]).all() for of, one in zip(found, members, strict=True)
        )
    ]
    return [{name: of[name] for name in names} for of in found]


def _spread(which: Flags, values: Flags) -> Flags:
    """bool[N] of those of the segments `which`; False for the others."""
    found = np.zeros(len(which), dtype=np.bool_)
    found[which] = values
    return found


def _rows(columns: Floats, rows: Flags) -> Floats:
    return columns if rows.all() else columns[rows]


def _numbered(members: Sequence[Member], labels: Sequence[Sequence[str] | NDArray[np.str_]]) -> list[Member]:
    """With codes of clusters that are the same in all of them; labels: N of each."""
    own = [np.asarray(of, dtype=np.str_)[one.rated.used] for one, of in zip(members, labels, strict=True)]
    numbers = codes(np.concatenate(own))
    parts = np.split(numbers, np.cumsum([len(of) for of in own])[:-1])
    return [
        replace(one, labels=of, rated=replace(one.rated, clusters=part))
        for one, of, part in zip(members, own, parts, strict=True)
    ]


def _other_metrics(setting: Finished, settings: Sequence[Finished]) -> dict[str, Floats]:
    """float64[N] scores of the other metrics on the same segments, without the random one."""
    found = {}
    for one in settings:
        same = one.pair == setting.pair and len(one.segments) == len(setting.segments)
        if same and one.metric_name != setting.metric_name and not isinstance(one.metric, RandomMetric):
            found[one.metric_name] = one.scores.base_scores
    return {name: found[name] for name in sorted(found)}
