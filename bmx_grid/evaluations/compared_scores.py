"""The scores of two metrics, or of a point and its metric alone, that a test compares, and their comparison."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from bmx_grid.evaluations.base import BASE, Estimate, Finished
from bmx_grid.evaluations.gain_estimates import estimate_gain
from bmx_grid.evaluations.levels import SystemLevel
from bmx_grid.measures.agreement_tests import AgreementStatistic, Scores, compare_agreement
from bmx_grid.measures.drawn_units import Unit
from bmx_grid.measures.paired_tests import Comparison, compare
from bmx_grid.measures.system_tests import compare_systems

AGREEMENTS = get_args(AgreementStatistic)
# Agreements that judge systems, though by their segments.
OF_SYSTEMS = ("pairwise_accuracy", "spa")
# What each permutation test swaps.
UNITS: Mapping[str, Unit] = {"perm_both": "both", "perm_inputs": "inputs", "perm_systems": "systems"}


def compared(scores: Scores, statistic: Any, unit: Unit, **drawn: Any) -> Comparison:
    """Two metrics by a correlation or a statistic of agreement; drawn: `resamples`, `seed` and `bootstrap`."""
    if statistic in AGREEMENTS:
        return compare_agreement(statistic, scores, unit=unit, **drawn)
    columns = (scores.x, scores.y, scores.human, scores.cluster)
    return compare(*columns, system=scores.system, statistic=statistic, unit=unit, **drawn)


def compared_systems(
    setting: Finished, point: str, other: Finished, statistic: Any, unit: Unit, **drawn: Any
) -> Comparison:
    """Two metrics by systems' mean scores, which are made anew from the segments that are swapped and drawn."""
    segment_codes = setting.codes
    judgements = setting.segments.judgements
    aspect = judgements.primary_of_systems
    human = judgements.scores[aspect]
    if aspect in judgements.systems:
        # People scored whole systems: each segment has the score of its system.
        published = SystemLevel(setting, BASE, aspect).human
        human = published[segment_codes.systems]
    # Segments without a named system are of none.
    x = np.where(segment_codes.named, setting.direction * setting.points[point], np.nan)
    y = other.direction * other.points[BASE]
    labels = (segment_codes.systems, segment_codes.clusters)
    return compare_systems(x, y, human, *labels, statistic=statistic, unit=unit, **drawn)


def unit_of(scores: Scores, test: str) -> Unit:
    """What a test swaps; of one system there is nothing but the inputs, and each system score is an input."""
    if scores.system is None:
        return "inputs"
    return UNITS.get(test, "inputs")


def levels_of(setting: Finished, statistic: str) -> tuple[str, ...]:
    """The levels at which metrics are compared by a statistic, boosts at the first; agreement needs systems."""
    if statistic not in AGREEMENTS:
        return "segment", "system"
    if len(setting.segments.systems) < 2:
        return ()
    return ("segment" if statistic == "acc_eq" else "system",)


def compared_scores(setting: Finished, point: str, other: Finished, level: str, statistic: str) -> Scores:
    """The scores of a point, and those of its own metric alone, or of another one; of two metrics higher is better."""
    if other is setting:
        return _of_point(setting, point, statistic)
    scores = turned(setting, point, level, statistic)
    scores_of_other = turned(other, BASE, level, statistic)
    return replace(scores, y=scores_of_other.x)


def gain_at(setting: Finished, point: str, statistic: Any, of_gains: str, **drawn: Any) -> Estimate | None:
    """The gain of a point over its metric alone, with the interval of its clusters; None of agreement.

    of_gains: the correlation of the gains that evaluations before have estimated, which are taken. drawn: `resamples`
    and `seed` of others.
    """
    if statistic in AGREEMENTS:
        return None
    if statistic == of_gains and point in setting.gains:
        return setting.gains[point]
    scores = _of_point(setting, point, statistic)
    return estimate_gain(statistic, scores.y, scores.x, scores.human, scores.cluster, **drawn)


def _of_point(setting: Finished, point: str, statistic: str) -> Scores:
    """The scores of a point, and of the metric alone; for statistics of agreement higher is better."""
    segment_codes = setting.codes
    segments = setting.segments
    judgements = segments.judgements
    clusters = segment_codes.clusters
    systems = segment_codes.systems
    scores = setting.points[point]
    alone = setting.scores.base_scores
    human = segments.human_scores
    aspect = judgements.primary_of_systems
    if statistic in OF_SYSTEMS:
        human = judgements.scores[aspect]
    if statistic not in AGREEMENTS:
        # One system cannot be swapped.
        if len(segments.systems) < 2:
            return Scores(scores, alone, human, clusters, None)
        return Scores(scores, alone, human, clusters, systems)
    published = None
    # Where people scored whole systems, these scores order the pairs.
    if statistic == "pairwise_accuracy" and aspect in judgements.systems:
        published = SystemLevel(setting, BASE, aspect).human
    # Segments without a named system would make a system of their own.
    direction = np.where(segment_codes.named, setting.direction, np.nan)
    scores = direction * scores
    alone = direction * alone
    return Scores(
        x=scores, y=alone, human=human, cluster=clusters, system=systems, item=segment_codes.items, of_systems=published
    )


def turned(setting: Finished, point: str, level: str, statistic: str) -> Scores:
    """The scores of a point, higher is better; a system is swapped and drawn as a whole."""
    if level == "segment" or statistic in AGREEMENTS:
        scores = _of_point(setting, point, statistic)
        higher_is_better = scores.x
        # For statistics of agreement they are turned already.
        if statistic not in AGREEMENTS:
            higher_is_better = setting.direction * higher_is_better
        return replace(scores, x=higher_is_better, y=higher_is_better)
    # A system is drawn as a whole: each is a cluster of its own.
    systems = SystemLevel(setting, point, setting.segments.judgements.primary_of_systems)
    clusters = np.arange(len(systems.names))
    return Scores(x=systems.scores, y=systems.scores, human=systems.human, cluster=clusters, system=None)
