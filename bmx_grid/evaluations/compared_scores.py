"""The pairs of scores that a test compares: two metrics, or a point and its baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from bmx_grid.core.ragged import Flags
from bmx_grid.evaluations.base import BASE, Estimate, ScoredSetting
from bmx_grid.evaluations.boost_evidence import estimate_gain
from bmx_grid.evaluations.levels import SystemLevel
from bmx_grid.measures.agreement_tests import AgreementStatistic, Scores, compare_agreement
from bmx_grid.measures.correlations_of_resamples import Unit
from bmx_grid.measures.paired_tests import Comparison, compare
from bmx_grid.measures.system_tests import compare_systems

AGREEMENTS = get_args(AgreementStatistic)
# Agreements that judge systems, though by their segments.
AGREEMENTS_OF_SYSTEMS = ("pairwise_accuracy", "spa")
# The unit that each permutation test swaps.
UNITS: Mapping[str, Unit] = {"perm_both": "both", "perm_inputs": "inputs", "perm_systems": "systems"}


def compare_metrics(scores: Scores, statistic: Any, unit: Unit, **drawn: Any) -> Comparison:
    """Two metrics by a correlation or a statistic of agreement; drawn: `resamples`, `seed` and `bootstrap`."""
    if statistic in AGREEMENTS:
        return compare_agreement(statistic, scores, unit=unit, **drawn)
    columns = (scores.x, scores.y, scores.human, scores.cluster)
    return compare(*columns, system=scores.system, statistic=statistic, unit=unit, **drawn)


def compare_by_systems(
    setting: ScoredSetting, point: str, other: ScoredSetting, statistic: Any, unit: Unit, **drawn: Any
) -> Comparison:
    """Two metrics by systems' mean scores, which are made anew from the segments that are swapped and drawn."""
    segment_codes = setting.codes
    judgements = setting.segments.judgements
    aspect = judgements.primary_of_systems
    human = judgements.scores[aspect]
    if aspect in judgements.systems:
        # People scored whole systems: each segment has the score of its system.
        published = segment_codes.array_by_system(judgements.systems[aspect])
        human = published[segment_codes.systems]
    # Segments without a named system are of none.
    x = np.where(segment_codes.named, setting.direction * setting.points[point], np.nan)
    y = other.direction * other.points[BASE]
    labels = (segment_codes.systems, segment_codes.clusters)
    return compare_systems(x, y, human, *labels, statistic=statistic, unit=unit, **drawn)


def unit_to_swap(scores: Scores, level: str, statistic: Any, test: str, unit: Unit) -> tuple[Unit, bool]:
    """The unit that a test swaps, and whether system scores are recomputed from swapped segments.

    unit: of tests of system scores. With one system only inputs can be swapped.
    """
    # Williams' test is one of the systems' scores as they are.
    of_systems = level == "system" and statistic not in AGREEMENTS and test != "williams"
    if of_systems and unit != "systems":
        return unit, True
    # Each system score is an input.
    return ("inputs" if scores.system is None else UNITS.get(test, "inputs")), False


def compare_swapping(
    swapped: tuple[Unit, bool],
    scores: Scores,
    setting: ScoredSetting,
    point: str,
    other: ScoredSetting,
    statistic: Any,
    **drawn: Any,
) -> Comparison:
    """A point and another metric, whose scores these are, by a test that swaps this (`unit_to_swap`)."""
    unit, segments_of_systems = swapped
    if segments_of_systems:
        return compare_by_systems(setting, point, other, statistic, unit, **drawn)
    return compare_metrics(scores, statistic, unit, **drawn)


def levels_of(setting: ScoredSetting, statistic: str) -> tuple[str, ...]:
    """The levels at which metrics are compared by a statistic, boosts at the first; agreement needs systems."""
    if statistic not in AGREEMENTS:
        return "segment", "system"
    if len(setting.segments.systems) < 2:
        return ()
    return ("segment" if statistic == "acc_eq" else "system",)


def scores_of_two(setting: ScoredSetting, point: str, other: ScoredSetting, level: str, statistic: str) -> Scores:
    """The scores of a point and of its baseline or another metric; for two metrics higher is better.

    Systems have the mean scores of the segments that both score.
    """
    if other is setting:
        return scores_at_level(setting, point, level, statistic)
    among = scored_segments(setting, point) & scored_segments(other, BASE)
    scores = scores_at_level(setting, point, level, statistic, turn=True, among=among)
    return replace(scores, y=scores_at_level(other, BASE, level, statistic, turn=True, among=among).x)


def scored_segments(setting: ScoredSetting, point: str) -> Flags:
    """bool[N] the segments with a score at a point; all for a metric that only has scores of systems."""
    scored = np.isfinite(setting.points[point])
    return scored if scored.any() else ~scored


def gain_at(setting: ScoredSetting, point: str, statistic: Any, of_gains: str, **drawn: Any) -> Estimate | None:
    """The gain of a point over its baseline, with the interval over its clusters; None for agreement.

    of_gains: the correlation of gains that earlier evaluations estimated; these are reused. drawn: `resamples` and
    `seed` for new estimates.
    """
    if statistic in AGREEMENTS:
        return None
    if statistic == of_gains and point in setting.gains:
        return setting.gains[point]
    human = setting.segments.human_scores
    clusters = setting.codes.clusters
    return estimate_gain(statistic, setting.scores.base_scores, setting.points[point], human, clusters, **drawn)


def scores_at_level(
    setting: ScoredSetting,
    point: str,
    level: str,
    statistic: str,
    turn: bool = False,
    among: Flags | None = None,
) -> Scores:
    """The scores of a point, and of the baseline.

    turn: higher is better, as always for statistics of agreement. among: bool[N] the segments that scores of systems
    are means of; all if None.
    """
    judgements = setting.segments.judgements
    aspect = judgements.primary_of_systems
    is_agreement = statistic in AGREEMENTS
    if level == "system" and not is_agreement:
        # A system is drawn as a whole: each is a cluster of its own.
        systems = SystemLevel(setting, point, aspect, among=among)
        return Scores(systems.scores, systems.scores, systems.human, np.arange(len(systems.names)), None)
    codes = setting.codes
    sign = np.full(len(codes.named), setting.direction if turn or is_agreement else 1.0)
    # One system cannot be swapped.
    several = is_agreement or len(setting.segments.systems) > 1
    scores = Scores(
        x=sign * setting.points[point],
        y=sign * setting.scores.base_scores,
        human=judgements.scores[aspect] if statistic in AGREEMENTS_OF_SYSTEMS else setting.segments.human_scores,
        cluster=codes.clusters,
        system=codes.systems if several else None,
    )
    if not is_agreement:
        return scores
    published = None
    # Where people scored whole systems, these scores order the pairs.
    if statistic == "pairwise_accuracy" and aspect in judgements.systems:
        published = codes.array_by_system(judgements.systems[aspect])
    # Segments without a named system would make a system of their own.
    x, y = np.where(codes.named, [scores.x, scores.y], np.nan)
    return replace(scores, x=x, y=y, item=codes.items, of_systems=published)
