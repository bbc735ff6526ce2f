"""What settings have beside each other: other metrics, named levels, and what is best where it is chosen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from bmx_grid.core.ragged import Floats
from bmx_grid.evaluations.base import Finished
from bmx_grid.evaluations.boost_evidence import ALL
from bmx_grid.evaluations.boost_inputs import Member
from bmx_grid.evaluations.held_out import has_groups
from bmx_grid.evaluations.verdicts import Verdict


def other_metrics(setting: Finished, settings: Sequence[Finished]) -> dict[str, Floats]:
    """float64[N] scores of the other metrics of a sweep on the same segments, by name; placebos and people are none."""
    scores = {}
    n_segments = len(setting.segments)
    for other in settings:
        name = other.metric_name
        if other.pair != setting.pair or name == setting.metric_name:
            continue
        # Scores of other metrics are read row by row: they must be of the same segments.
        if len(other.segments) != n_segments:
            continue
        if not (other.metric.is_placebo or other.metric.is_human):
            scores[name] = other.scores.base_scores
    return scores


def shared_metrics(members: Sequence[Member]) -> tuple[tuple[str, ...], list[Floats]]:
    """The other metrics that score every judged segment of some settings, and their scores float64[n, k] of each."""
    names_of_members = []
    for member in members:
        names = set()
        for name, scores_of_all in member.setting.others.items():
            if np.isfinite(scores_of_all[member.used]).all():
                names.add(name)
        names_of_members.append(names)
    shared = tuple(sorted(set.intersection(*names_of_members)))
    scores_of_members = []
    for member in members:
        others = member.setting.others
        columns = [others[name][member.used] for name in shared]
        # Without a shared metric there are no columns, which `column_stack` cannot make.
        if not columns:
            columns = [np.empty(0)]
        scores_of_members.append(np.column_stack(columns))
    return shared, scores_of_members


def named_levels(row: Verdict, settings: Sequence[Finished]) -> str:
    """Of systems, raters, domains and documents, what all data behind a verdict name, and it controls for."""
    levels_of_settings = []
    for setting in _settings_of(row, settings):
        groups = setting.segments.groups
        documents = [segment.document or f"\0{row}" for row, segment in enumerate(setting.segments.segments)]
        groups["document"] = np.array(documents)
        levels_of_settings.append({kind for kind, names in groups.items() if has_groups(names)})
    return ", ".join(sorted(set.intersection(*levels_of_settings)))


def _settings_of(row: Verdict, settings: Sequence[Finished]) -> list[Finished]:
    """The settings behind a verdict: of its data set and language pair, or of all."""
    of_row = []
    for setting in settings:
        dataset, language_pair = setting.pair
        if row.dataset in (ALL, dataset) and row.language_pair in (ALL, language_pair):
            of_row.append(setting)
    return of_row


def with_best(row: Verdict, settings: Sequence[Finished], best: Sequence[Mapping[str, float]]) -> Verdict:
    """With the mean of what the boost gains on the segments it is chosen on; best: of each setting, by boost.

    Not where another human score judges than the one that chooses.
    """
    # Another human score did not choose: on it there is no best point.
    primary = settings[0].segments.judgements.primary
    if row.human not in ("", primary):
        return row
    gains = []
    for setting, best_of_setting in zip(settings, best, strict=True):
        dataset, language_pair = setting.pair
        in_dataset = row.dataset in (ALL, dataset)
        in_pair = row.language_pair in (ALL, language_pair)
        if in_dataset and in_pair and row.boost in best_of_setting:
            gains.append(best_of_setting[row.boost])
    # NumPy warns of the mean of nothing.
    if not gains:
        return replace(row, best_gain=math.nan)
    return replace(row, best_gain=float(np.mean(gains)))
