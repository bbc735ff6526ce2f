"""How settings are evaluated: each as it ends, as far as it is known alone, and all of them once all have ended.

And how far the gain of a random explainer depends on its draws, from settings that were repeated with other seeds.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.core.errors import BmxError, UnavailableError, component_errors, exception_line
from bmx_grid.core.identity import canonical_json, digest
from bmx_grid.core.terminal import plain_warnings
from bmx_grid.core.wording import counted, shortened
from bmx_grid.evaluations.base import NAMES, Evaluation, Finished
from bmx_grid.evaluations.boost_evidence import estimate_gain
from bmx_grid.evaluations.grid_surface import GridEvaluation, grid_of_sweep
from bmx_grid.measures.correlation import Kind, correlate
from bmx_grid.sweep.executors.base import Executor, Job, WorkerLost
from bmx_grid.sweep.executors.local import Sequential
from bmx_grid.sweep.results import SettingResult, Spent, in_order, repeated, segment_rows
from bmx_grid.sweep.settings import NotRun, Setting
from bmx_grid.words.attributions import AttributionSet

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 4  # of what is reported of a setting besides its evaluations; part of a result's fingerprint
WORTH_WORKERS = 10.0  # seconds of work on one core; processes take some two seconds to start
MOST_OF_REASON = 2_000  # signs; a message of a plugin may have any number, and is printed with every setting
Evaluations = Mapping[str, Evaluation]
BEST = "best"  # the best point of each seed's own grid


@dataclass(frozen=True, eq=False)
class Outcome:
    """A setting that ended well.

    result: what is known of it alone, and finished: what it was evaluated from. label, repeated_with: as of `Setting`.
    """

    label: str
    result: SettingResult
    finished: Finished
    repeated_with: int | None


def failure(setting: Setting, reason: str, error: BmxError | None = None) -> NotRun:
    """A setting that failed."""
    return NotRun("failed", setting.label, shortened(reason, MOST_OF_REASON), error)


def finish(setting: Setting, evaluations: Evaluations, spent: Spent | None) -> Outcome | NotRun:
    """Merge the chunks, load the attributions and evaluate the setting; spent: on scoring it, None if cached."""
    try:
        setting.slot.merge()
        with component_errors():
            return Outcome(setting.label, *evaluate(setting, evaluations, spent), setting.repeated_with)
    except BmxError as error:
        return failure(setting, str(error), error)


def evaluate(setting: Setting, evaluations: Evaluations, spent: Spent | None) -> tuple[SettingResult, Finished]:
    """What is known of a setting alone, whose explanations are in the store, and what evaluations are made from.

    Raises StoreError when some explanations are not in the store, UnavailableError where there is nothing but NaN.
    """
    start = time.perf_counter()
    segments = setting.segments
    n_segments = len(segments)
    finished = setting.finished()
    _check_scored(setting, finished.scores, () if spent is None else spent.unread)
    evaluated: dict[str, Any] = {}
    for evaluation in evaluations.values():
        if isinstance(evaluation, GridEvaluation):
            finished = replace(finished, surface=evaluation.surface(finished))
            evaluated[evaluation.key] = finished.surface
    parameters: dict[str, Any] = {}
    for role, part in {"metric": setting.metric, "explainer": setting.explainer}.items():
        if part is not None:
            parameters |= {f"{role}.{key}": value for key, value in part.fingerprint().items()}
    parameters |= {"seed": setting.seed, "segments": n_segments}
    words: dict[str, float] = {}
    for role in finished.worded if n_segments else ():
        words[role] = finished.word_counts(role).sum() / n_segments
    grid = grid_of_sweep(evaluations.values())
    correlation: Kind | None = None if grid is None else grid.correlation
    return SettingResult(
        *setting.names,
        evaluated=evaluated,
        n_segments=n_segments,
        n_rated=segments.rated,
        signature=_signature(setting),
        parameters=parameters,
        fingerprint=fingerprint(setting, evaluations),
        spent=Spent(time.perf_counter() - start) + (spent or Spent()),
        n_unexplained=finished.scores.n_unexplained,
        words=words,
        cached=spent is None,
        constructed=segments.constructed,
        correlation=correlation or "",
        repeat_deviation=_repeat_deviation(finished, correlation or "pearson"),
    ), finished


def _check_scored(setting: Setting, loaded: AttributionSet, unread: Sequence[str]) -> None:
    """Raise UnavailableError where no segment has a score, or none an explanation, as of a server that is set wrongly.

    Then nothing of it is kept: the next run asks again. unread: answers that could not be read.
    """
    # A file may hold scores of whole systems alone.
    lacking = setting.slot.lacking(loaded) if setting.scores_of_file is None else ""
    if not lacking:
        return
    setting.slot.discard(setting.keys)
    name = setting.metric_name if lacking == "score" else setting.explainer_name
    n_segments = counted(len(setting.segments), "segment")
    example = f"; answers cannot be read, for example {unread[0]}" if unread else ""
    raise UnavailableError(f"{name} has no {lacking} for any of {n_segments}{example}.")


def _repeat_deviation(finished: Finished, correlation: Kind) -> float:
    """The standard deviation of a judge's correlation over its repeated scores; NaN where none are repeated."""
    statistics = finished.scores.statistics
    human = finished.segments.human_scores
    if statistics is None or getattr(finished.metric, "repeat", 1) < 2:
        return math.nan
    # Column 1 of a judge's statistics is a count; the others are scores, one for each time that it was asked.
    repeats = np.delete(statistics, 1, 1).T
    correlations = [correlate(correlation, scores, human) for scores in repeats]
    return float(np.std(correlations, ddof=1))


def fingerprint(setting: Setting, evaluations: Evaluations) -> str:
    """SHA-256 of all that the result of a setting alone depends on; known before anything is computed."""
    asked = [evaluation.fingerprint() for evaluation in evaluations.values()]
    of_segments = [setting.segments.fingerprint(), list(setting.clusters)]
    return digest([VERSION, setting.names, setting.identity, *of_segments, asked])


def _signature(setting: Setting) -> str:
    identity = setting.identity
    explainer = "no explainer" if setting.explainer is None else setting.explainer.signature
    words = f" || words:{canonical_json(identity['words'])}" if "words" in identity else ""
    return f"{setting.metric.signature} || {explainer} || seed:{identity['seed']}{words}"


def complete(
    outcomes: Sequence[Outcome], evaluations: Evaluations, executor: Executor | None = None
) -> tuple[list[SettingResult], list[NotRun]]:
    """The results of a sweep with all evaluations, in the order of their names, and the evaluations that failed.

    executor: whose workers evaluate where that takes longer than they start.
    """
    results: list[SettingResult] = []
    settings: list[Finished] = []
    for outcome in sorted(outcomes, key=lambda outcome: outcome.label):
        results.append(outcome.result)
        settings.append(outcome.finished)
    evaluated = [dict(result.evaluated) for result in results]  # of each setting, by the key of the evaluation
    failed: list[NotRun] = []
    in_turn = sorted(evaluations.values(), key=_reads_of_others)
    for evaluation in in_turn if settings else ():
        cost = sum(evaluation.cost(len(setting.segments)) for setting in settings)
        try:
            with component_errors():
                values = evaluation.evaluate(settings, partial(each_in_turn, executor or Sequential(), cost))
        except BmxError as error:
            failed.append(NotRun("failed", f"evaluation {evaluation.key}", str(error), error))
            continue
        for place, value in enumerate(values):
            evaluated[place][evaluation.key] = value
            with_points = settings[place].with_points(evaluation.points(value))
            settings[place] = with_points.with_gains(evaluation.gains(value))
    for place, setting in enumerate(settings):
        of_setting = evaluated[place]
        columns = []
        for evaluation in evaluations.values():
            if evaluation.key in of_setting:
                columns.append(evaluation.segment_columns(of_setting[evaluation.key]))
        results[place] = replace(results[place], evaluated=of_setting, scores=segment_rows(setting, columns))
    return results, failed


def _reads_of_others(evaluation: Evaluation) -> tuple[bool, bool]:
    """Sorts evaluations: first those that declare points, then those that estimate gains there, then their readers."""
    declares = type(evaluation).points is not Evaluation.points
    estimates = type(evaluation).gains is not Evaluation.gains
    return not declares, not estimates


def gains_by_point(result: SettingResult) -> dict[str, float]:
    """The gain at each declared point of a setting, and at the best one of its grid; NaN where undefined."""
    if result.spec is None:  # no evaluation declares points
        return {}
    human = np.asarray(result.scores["human"])
    base = np.asarray(result.scores["base"])
    by_point = {}
    for point, boosted in result.boosted.items():
        by_point[point] = estimate_gain(result.spec.correlation, base, boosted, human).value
    return {**by_point, BEST: result.gain}


def seeds_table(
    outcomes: Sequence[Outcome], results: Iterable[SettingResult], evaluations: Evaluations
) -> pa.Table | None:
    """NAMES, seed, point, gain: one row per setting, seed and point; settings in the order of every table.

    outcomes: of a sweep, those of further seeds among them; results: of the settings with the sweep's own seed.
    The folds of cross-fitted points are those of the grid, the same for all seeds. None where nothing was repeated.
    """
    import pyarrow as pa

    at_once = {name: part for name, part in evaluations.items() if isinstance(part, GridEvaluation)}
    known = list(results)
    names = {result.names for result in known}
    further = {outcome.repeated_with for outcome in outcomes} - {None}
    for seed in further:
        repeated_settings = [outcome for outcome in outcomes if outcome.repeated_with == seed]
        known += complete(repeated_settings, at_once)[0]
    n_seeds = Counter(result.names for result in known)
    repeats = [result for result in known if result.names in names and n_seeds[result.names] > 1]
    if not repeats:
        return None
    repeats.sort(key=lambda result: result.parameters["seed"])
    results = []
    points = []
    gains = []
    for result in in_order(repeats):
        for point, gain in gains_by_point(result).items():
            results.append(result)
            points.append(point)
            gains.append(gain)
    columns = {}
    for name in NAMES:
        columns[name] = repeated([getattr(result, name) for result in results])
    columns["seed"] = pa.array([result.parameters["seed"] for result in results], pa.int64())
    columns["point"] = repeated(points)
    columns["gain"] = pa.array(gains, pa.float64())
    return pa.table(columns)


def run_jobs(executor: Executor, jobs: Iterable[Job]) -> Iterator[Any]:
    """What jobs return, as `Executor.run`. Raises WorkerLost, too, where one cannot be sent or received."""
    try:
        yield from executor.run(jobs)
    except BmxError:
        raise
    except Exception as error:  # of whatever cannot be pickled, in the words of whatever pickles it
        raise WorkerLost(
            f"cannot be sent to another process: {exception_line(error)}. Write it so that pickle can, or use "
            "executor=sequential."
        ) from error


def wherever_quicker(works: Sequence[Callable[[], Any]], executor: Executor, cost: float) -> Iterator[tuple[int, Any]]:
    """What each work returns, with its number: from the workers where that takes longer than they start.

    cost: seconds of all of it on one core. A lost worker loses nothing: what is left is done here.
    """
    left = dict(enumerate(works))
    if cost > WORTH_WORKERS and len(works) > 1:
        jobs = (Job(partial(_numbered, number, work)) for number, work in enumerate(works))
        with suppress(WorkerLost):
            for number, value in run_jobs(executor, jobs):
                del left[number]
                yield number, value
    for number, work in left.items():
        yield number, work()


def each_in_turn(executor: Executor, cost: float, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """What a function returns for each item, in their order; arguments as of `wherever_quicker`."""
    values = dict(wherever_quicker([partial(function, item) for item in items], executor, cost))
    return [values[place] for place in range(len(items))]


def _numbered(number: int, work: Callable[[], Any]) -> tuple[int, Any]:
    """One piece of work, in a worker."""
    with plain_warnings():
        return number, work()
