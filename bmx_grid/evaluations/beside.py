"""What settings have beside each other: other metrics, placebos, named levels, and what is best where it is chosen."""

from __future__ import annotations

import itertools
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
    scores = {}
    for other in settings:
        # Scores of other metrics are read row by row: they must be of the same segments.
        if other.pair != setting.pair or len(other.segments) != len(setting.segments):
            continue
        if other.metric_name != setting.metric_name and not (other.metric.is_placebo or other.metric.is_human):
            scores[other.metric_name] = other.scores.base_scores
    return scores


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
    complete = []
    for member in members:
        others = member.setting.others
        complete.append({name for name, scores in others.items() if np.isfinite(scores[member.used]).all()})
    shared = tuple(sorted(set.intersection(*complete)))
    columns = []
    for member in members:
        scores = [member.setting.others[name][member.used] for name in shared]
        # Without a shared metric there are no columns, which `column_stack` cannot make.
        columns.append(np.column_stack(scores or [np.empty(0)]))
    return shared, columns


def named_levels(settings: Sequence[Finished]) -> str:
    """Of systems, raters, domains and documents what the data of all settings name."""
    levels = set.intersection(*(set(setting.segments.groups) for setting in settings))
    # Documents are no group of names: a segment without one is a document of its own.
    segments = itertools.chain.from_iterable(setting.segments.segments for setting in settings)
    if all(segment.document for segment in segments):
        levels.add("document")
    return ", ".join(sorted(levels))


def with_best(row: Verdict, settings: Sequence[Finished], best: Sequence[Mapping[str, float]]) -> Verdict:
    """With the mean of what the boost gains on the segments it is chosen on; best: of each setting, by boost.

    Not where another human score judges than the one that chooses.
    """
    # Another human score did not choose: on it there is no best point.
    if row.human not in ("", settings[0].segments.judgements.primary):
        return row
    gains = []
    for setting, gain_of in zip(settings, best, strict=True):
        dataset, language_pair = setting.pair
        in_scope = row.dataset in (ALL, dataset) and row.language_pair in (ALL, language_pair)
        if in_scope and row.boost in gain_of:
            gains.append(gain_of[row.boost])
    return replace(row, best_gain=float(np.mean(gains)) if gains else math.nan)
