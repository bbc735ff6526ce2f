"""What the settings of a sweep say of each other, once all of them have ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from bmx_grid.errors import BmxError, component_errors
from bmx_grid.evaluations.base import Finished
from bmx_grid.sweep.evaluated import Evaluations, Outcome, in_turn, with_points_of
from bmx_grid.sweep.executors.base import Executor
from bmx_grid.sweep.executors.local import Sequential
from bmx_grid.sweep.quicker import wherever_quicker
from bmx_grid.sweep.results import SettingResult
from bmx_grid.sweep.scores import segment_rows
from bmx_grid.sweep.settings import Refused

ACROSS = 0.25  # of what a setting takes alone, to find what language pairs say of each other


def complete(
    outcomes: Sequence[Outcome], evaluations: Evaluations, executor: Executor | None = None
) -> tuple[list[SettingResult], list[Refused]]:
    """The results of a sweep whose settings have ended, with what they say of each other; and what could not be said.

    Settings are in the order of their names, in whatever order they ended. An evaluation that fails here leaves what it
    found of each setting alone. executor: whose workers do it where that takes longer than they start.
    """
    done = sorted((one for one in outcomes if one.result is not None), key=lambda one: one.label)
    results = [one.result for one in done if one.result is not None]
    settings = [one.finished for one in done if one.finished is not None]
    evaluated = [dict(result.evaluated) for result in results]
    groups: dict[tuple[str, ...], list[int]] = {}
    for at, setting in enumerate(settings):
        dataset, _, metric, explainer = setting.names
        groups.setdefault((dataset, metric, explainer), []).append(at)
    works = [
        partial(_across_pairs, [settings[at] for at in own], [evaluated[at] for at in own], evaluations)
        for own in groups.values()
    ]
    cost = 0.0
    if executor is not None:
        cost = ACROSS * sum(one.cost(len(of.segments)) for of in settings for one in evaluations.values())
    reasons: dict[str, str] = {}
    for number, across in wherever_quicker(works, executor or Sequential(), cost):
        reasons |= across.failed
        for at, of, points in zip(list(groups.values())[number], across.evaluated, across.points, strict=True):
            evaluated[at], settings[at] = of, settings[at].with_points(points)
    for one in in_turn(evaluations):
        try:
            with component_errors():
                found = one.together(settings, [of[one.key] for of in evaluated])
        except BmxError as error:
            reasons.setdefault(one.key, str(error))
            continue
        for of, result in zip(evaluated, found, strict=True):
            of[one.key] = result
        settings = [with_points_of(setting, one, of[one.key]) for setting, of in zip(settings, evaluated, strict=True)]
    for at, (setting, of) in enumerate(zip(settings, evaluated, strict=True)):
        of_segments = [one.segment_columns(of[one.key]) for one in evaluations.values()]
        results[at] = replace(results[at], evaluated=of, scores=segment_rows(setting, of_segments))
    return results, [Refused(f"evaluation {key}", reason) for key, reason in reasons.items()]


@dataclass(frozen=True)
class _Across:
    """What evaluations found of settings, and the points they declared of each; failed: the reason by evaluation."""

    evaluated: list[dict[str, Any]]
    points: list[Mapping[str, Any]]
    failed: dict[str, str]


def _across_pairs(settings: list[Finished], evaluated: list[dict[str, Any]], evaluations: Evaluations) -> _Across:
    """What the language pairs of a data set say of each other, for one metric and explainer."""
    known, failed = [dict(of) for of in evaluated], {}
    for one in in_turn(evaluations):
        try:
            with component_errors():
                found = one.across_pairs(settings, [of[one.key] for of in known])
        except BmxError as error:
            failed[one.key] = str(error)
            continue
        for of, result in zip(known, found, strict=True):
            of[one.key] = result
        settings = [with_points_of(setting, one, of[one.key]) for setting, of in zip(settings, known, strict=True)]
    for setting in settings:
        setting.forget()
    return _Across(known, [setting.boosted for setting in settings], failed)
