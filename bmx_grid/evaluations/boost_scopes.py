"""Gains of boosts over several language pairs: those of each data set, and of all data sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bmx_grid.core.ragged import Floats
from bmx_grid.evaluations.base import NAMES, grouped
from bmx_grid.evaluations.boost_evidence import ALL, BoostRow, over_scope
from bmx_grid.evaluations.boost_inputs import Member
from bmx_grid.evaluations.gain_estimates import Key

DATASET = NAMES[:1]
Samples = Mapping[Key, Floats]  # float64[R] resamples of a gain


def add_scopes(members: Sequence[Member], samples: Sequence[Samples]) -> None:
    """Add the gains over the language pairs of each data set to the rows of its first member, and those over all
    data sets to the rows of the first member of all.

    samples: resamples of each data set, which count as often as it has pairs.
    """
    # Copied: rows over several pairs are added to the same lists.
    single = [list(member.rows) for member in members]
    by_dataset = grouped([member.setting for member in members], DATASET)
    scopes: list[Sequence[int]] = [[number] for number in range(len(by_dataset))]
    if len(by_dataset) > 1:
        scopes.append(range(len(by_dataset)))
    for datasets in scopes:
        places = sorted(place for number in datasets for place in by_dataset[number])
        first = members[places[0]]
        name = first.setting.segments.dataset if len(datasets) == 1 else ALL
        joint: dict[Key, Floats] = {}
        for key in samples[datasets[0]]:
            if all(key in samples[number] for number in datasets):
                # Of data sets with several pairs each has its share: the mean is over pairs.
                parts = [samples[number][key] * (len(by_dataset[number]) / len(places)) for number in datasets]
                joint[key] = np.sum(parts, axis=0)
        by_gold: dict[str, list[BoostRow]] = {}
        for place in places:
            for row in single[place]:
                by_gold.setdefault(row.human, []).append(row)
        for gold, rows in by_gold.items():
            # A cluster that several pairs share counts once: they are drawn together.
            clusters = set[tuple[str, str]]().union(*(_rated_clusters(members[place], gold) for place in places))
            first.rows.extend(over_scope((name, ALL), rows, joint, len(clusters)))


def _rated_clusters(member: Member, gold: str) -> set[tuple[str, str]]:
    """Data set and label of the clusters of the segments that a human score rates."""
    judgements = member.setting.segments.judgements
    human = judgements.scores[gold or judgements.primary]
    rated = member.used & np.isfinite(human)
    labels = np.asarray(member.setting.clusters)[rated]
    # Of two data sets equal labels are different clusters.
    dataset = member.setting.segments.dataset
    return {(dataset, label) for label in labels.tolist()}
