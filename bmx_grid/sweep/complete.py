"""The evaluations of a sweep, once all of its settings have ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from bmx_grid.errors import BmxError, component_errors
from bmx_grid.sweep.evaluated import Evaluations, Outcome, in_turn
from bmx_grid.sweep.executors.base import Executor
from bmx_grid.sweep.executors.local import Sequential
from bmx_grid.sweep.quicker import each
from bmx_grid.sweep.results import SettingResult
from bmx_grid.sweep.scores import segment_rows
from bmx_grid.sweep.settings import Refused


def complete(
    outcomes: Sequence[Outcome], evaluations: Evaluations, executor: Executor | None = None
) -> tuple[list[SettingResult], list[Refused]]:
    """The results of a sweep with all evaluations, in the order of their names, and the evaluations that failed.

    executor: whose workers evaluate where that takes longer than they start.
    """
    done = sorted((one for one in outcomes if one.result is not None), key=lambda one: one.label)
    results = [one.result for one in done if one.result is not None]
    settings = [one.finished for one in done if one.finished is not None]
    failed: list[Refused] = []
    for evaluation in in_turn(evaluations) if settings else ():
        cost = sum(evaluation.cost(len(setting.segments)) for setting in settings)
        try:
            with component_errors():
                found = evaluation.evaluate(settings, partial(each, executor or Sequential(), cost))
        except BmxError as error:
            failed.append(Refused(f"evaluation {evaluation.key}", str(error)))
            continue
        results = [
            replace(result, evaluated={**result.evaluated, evaluation.key: of})
            for result, of in zip(results, found, strict=True)
        ]
        settings = [setting.with_points(evaluation.points(of)) for setting, of in zip(settings, found, strict=True)]
    for place, (setting, result) in enumerate(zip(settings, results, strict=True)):
        columns = [
            one.segment_columns(result.evaluated[one.key])
            for one in evaluations.values()
            if one.key in result.evaluated
        ]
        results[place] = replace(result, scores=segment_rows(setting, columns))
    return results, failed
