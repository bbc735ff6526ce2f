"""Gains of boosts over several language pairs: those of each data set, and of all data sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bmx_grid.core.ragged import Floats
from bmx_grid.evaluations.base import NAMES, grouped
from bmx_grid.evaluations.boost_evidence import ALL, BoostRow, over_scope
from bmx_grid.evaluations.boost_inputs import Member
from bmx_grid.evaluations.gain_estimates import Key

DATASET = NAMES[:1]
Samples = Mapping[Key, Floats]  # float64[R] resamples of a gain


class Scope(NamedTuple):
    """Some data sets, by number, under the name that rows on them have; places: of their settings."""

    name: str
    datasets: Sequence[int]
    places: Sequence[int]


def add_scopes(
    members: Sequence[Member], rows_of_members: Sequence[list[BoostRow]], samples: Sequence[Samples]
) -> None:
    """Add the gains over the language pairs of each data set to the rows of its first setting, and those over all
    data sets to the rows of the first setting of all.

    rows_of_members: the gains on single pairs, of each setting. samples: resamples of each data set, which count as
    often as it has pairs.
    """
    # Copied: rows over several pairs are added to the same lists.
    single = [list(rows) for rows in rows_of_members]
    by_dataset = grouped([member.setting for member in members], DATASET)
    scopes = []
    for dataset, places in enumerate(by_dataset):
        first = members[places[0]].setting
        scopes.append(Scope(first.segments.dataset, [dataset], places))
    if len(by_dataset) > 1:
        every_dataset = range(len(by_dataset))
        every_place = range(len(members))
        scopes.append(Scope(ALL, every_dataset, every_place))
    sizes = [len(places) for places in by_dataset]
    for scope in scopes:
        joint = _joint_samples(scope, samples, sizes)
        by_gold: dict[str, list[BoostRow]] = {}
        for place in scope.places:
            for row in single[place]:
                by_gold.setdefault(row.human, []).append(row)
        for gold, rows in by_gold.items():
            # A cluster that several pairs share counts once: they are drawn together.
            clusters = set()
            for place in scope.places:
                clusters |= _rated_clusters(members[place], gold)
            joined = over_scope((scope.name, ALL), rows, joint, len(clusters))
            rows_of_members[scope.places[0]].extend(joined)


def _joint_samples(scope: Scope, samples: Sequence[Samples], sizes: Sequence[int]) -> dict[Key, Floats]:
    """Resamples of the mean over the pairs of a scope, of what all its data sets have.

    sizes: the number of pairs of each data set.
    """
    n_pairs = len(scope.places)
    joint: dict[Key, Floats] = {}
    samples_of_datasets = [samples[dataset] for dataset in scope.datasets]
    for key in samples_of_datasets[0]:
        if not all(key in of_dataset for of_dataset in samples_of_datasets):
            continue
        parts = []
        for dataset in scope.datasets:
            # Of data sets with several pairs each has its share: the mean is over pairs.
            share = sizes[dataset] / n_pairs
            part = samples[dataset][key] * share
            parts.append(part)
        joint[key] = np.sum(parts, axis=0)
    return joint


def _rated_clusters(member: Member, gold: str) -> set[tuple[str, str]]:
    """Data set and label of the clusters of the segments that a human score rates."""
    judgements = member.setting.segments.judgements
    human = judgements.scores[gold or judgements.primary]
    rated = member.used & np.isfinite(human)
    labels = np.asarray(member.setting.clusters)[rated]
    # Of two data sets equal labels are different clusters.
    dataset = member.setting.segments.dataset
    return {(dataset, label) for label in labels.tolist()}
