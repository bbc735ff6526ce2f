"""What settings have beside each other: other metrics, placebos, named levels, and what is best where it is chosen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from bmx_grid.attribution.store import AttributionSet
from bmx_grid.core.ragged import Floats
from bmx_grid.evaluations.base import Finished
from bmx_grid.evaluations.boost_evidence import ALL
from bmx_grid.evaluations.held_out import Member
from bmx_grid.evaluations.verdicts import Verdict


def other_metrics(setting: Finished, settings: Sequence[Finished]) -> dict[str, Floats]:
    """float64[N] scores of the other metrics of a sweep on the same segments, by name; placebos and people are none."""
    return {
        other.metric_name: other.scores.base_scores
        for other in settings
        if other.pair == setting.pair and len(other.segments) == len(setting.segments)
        if other.metric_name != setting.metric_name and not (other.metric.is_placebo or other.metric.is_human)
    }


def placebos_of(setting: Finished, settings: Sequence[Finished]) -> list[AttributionSet]:
    """The attributions of placebos of the setting's explainer, for the same metric and segments."""
    placebos = []
    for other in settings:
        if other.names[:3] != setting.names[:3] or other.explainer is None or setting.explainer is None:
            continue
        if other.explainer.is_placebo_of(setting.explainer):
            placebos.append(other.scores)
    return placebos


def shared_metrics(members: Sequence[Member]) -> tuple[tuple[str, ...], list[Floats]]:
    """The other metrics that score every judged segment of some settings, and their scores float64[n, k] of each."""
    by_name = []
    for member in members:
        others = member.setting.others
        by_name.append({name: scores[member.used] for name, scores in others.items()})
    names = set.intersection(*(set(scores) for scores in by_name))
    shared = tuple(name for name in sorted(names) if all(np.isfinite(scores[name]).all() for scores in by_name))
    columns = []
    for scores in by_name:
        of_member = [scores[name] for name in shared]
        columns.append(np.column_stack(of_member or [np.empty(0)]))
    return shared, columns


def named_levels(settings: Sequence[Finished]) -> str:
    """Of systems, raters, domains and documents what the data of all settings name."""
    groups = set.intersection(*(set(setting.segments.groups) for setting in settings))
    if all(segment.document for setting in settings for segment in setting.segments.segments):
        groups.add("document")
    return ", ".join(sorted(groups))


def with_best(row: Verdict, settings: Sequence[Finished], best: Sequence[Mapping[str, float]]) -> Verdict:
    """With the mean of what the boost gains on the segments it is chosen on; best: of each setting, by boost.

    Not where another human score judges than the one that chooses.
    """
    if row.human not in ("", settings[0].segments.judgements.primary):
        return row
    gains = [
        of_setting[row.boost]
        for setting, of_setting in zip(settings, best, strict=True)
        if row.boost in of_setting
        if row.dataset in (ALL, setting.names[0]) and row.language_pair in (ALL, setting.names[1])
    ]
    return replace(row, best_gain=float(np.mean(gains)) if gains else math.nan)
