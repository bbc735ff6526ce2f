"""Evaluate settings: each one as it ends, and all together when the last one has ended."""

from __future__ import annotations

import math
import operator
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from bmx_grid.core.errors import BmxError, UnavailableError, component_errors, exception_line
from bmx_grid.core.identity import canonical_json, digest
from bmx_grid.core.memory import give_back_memory
from bmx_grid.core.ragged import Floats
from bmx_grid.core.terminal import plain_warnings
from bmx_grid.core.threads import one_blas_thread
from bmx_grid.core.wording import pluralize, setting_label, shorten
from bmx_grid.evaluations.base import ColumnValues, Evaluation, ScoredSetting
from bmx_grid.evaluations.grid_surface import NO_POINT, GridEvaluation, GridOfSetting, PointRow, grid_of_sweep
from bmx_grid.measures.correlation import Kind
from bmx_grid.measures.grid import GridResult, GridSpec
from bmx_grid.sweep.executors.base import Executor, Job, WorkerLost
from bmx_grid.sweep.executors.local import Sequential
from bmx_grid.sweep.settings import NotRun, Setting
from bmx_grid.words.attributions import AttributionSet
from bmx_grid.words.perturbation import ROLES

VERSION = 4  # of a setting's report besides its evaluations; part of a result's fingerprint
WORTH_WORKERS = 10.0  # seconds of work on one core; processes take some two seconds to start
MOST_OF_REASON = 2_000  # signs; a message of a plugin may have any number, and is printed with every setting
Evaluations = Mapping[str, Evaluation]


@dataclass(frozen=True)
class Spent:
    """The work of a run.

    n_texts: those sent to the metric; n_truncated: texts longer than a model reads; unread: answers of a model that
    could not be read; linear_layers: the code that computes its models' linear layers.
    """

    seconds: float = 0.0
    n_texts: int = 0
    n_truncated: int = 0
    unread: tuple[str, ...] = ()
    linear_layers: tuple[str, ...] = ()

    def __add__(self, other: Spent) -> Spent:
        return Spent(*map(operator.add, astuple(self), astuple(other)))


@dataclass(frozen=True, eq=False)
class SettingResult:
    """The result of a finished setting: its own (`judge_setting`), then with the others' (`judge_sweep`).

    finished: the scores and attributions to evaluate. repeated_with: the seed, if it repeats another setting with a
    further one. evaluated: the result of each evaluation of the sweep, by its key.
    scores: the columns of the table of scores, one value per segment; none before `judge_sweep`.
    correlation: of the numbers of the sweep, "pearson", "spearman" or "kendall"; "" if nothing rests on one. signature:
    metric, explainer and seed in one line, to travel with the numbers.
    parameters: the readable settings behind the result.
    fingerprint: SHA-256 of all that the result depends on.
    spent, cached: the work of this run for it. Not part of the result.

    The properties below read the evaluation "grid"; numbers are NaN in a sweep without it; without an explainer only
    the baseline is defined.
    """

    dataset: str
    language_pair: str
    metric: str
    explainer: str
    evaluated: Mapping[str, Any]
    finished: ScoredSetting
    signature: str
    parameters: Mapping[str, Any]
    fingerprint: str
    spent: Spent
    cached: bool
    correlation: Kind | Literal[""] = ""
    scores: ColumnValues = field(default_factory=dict)
    repeated_with: int | None = None

    @property
    def _grid_result(self) -> GridOfSetting | None:
        return self.evaluated.get("grid")

    @property
    def names(self) -> tuple[str, str, str, str]:
        """Data set, language pair, metric, explainer: the identity of a setting."""
        return self.dataset, self.language_pair, self.metric, self.explainer

    @property
    def label(self) -> str:
        """The names in one readable line, and a further seed."""
        if self.repeated_with is None:
            return setting_label(*self.names)
        return setting_label(*self.names, f"seed {self.repeated_with}")

    @property
    def grid(self) -> GridResult:
        """The correlations float64[P, W] and what follows from them; all undefined in a sweep without the grid."""
        nothing = GridResult(np.empty((0, 1)), math.nan, len(self.finished.segments), n_rated=0, n_used=0)
        return nothing if self._grid_result is None else self._grid_result.grid

    @property
    def has_grid(self) -> bool:
        """Whether the setting has points to show: it needs an explainer and a grid in the sweep."""
        return self.grid.correlation.size > 0

    @property
    def spec(self) -> GridSpec | None:
        """The powers, the weights and the other options of the grid."""
        return None if self._grid_result is None else self._grid_result.spec

    @property
    def points(self) -> tuple[PointRow, ...]:
        """The declared points, and the correlation at each."""
        return () if self._grid_result is None else self._grid_result.points

    @property
    def published_row(self) -> PointRow:
        """The grid point nearest to the published point, and its correlation."""
        return NO_POINT if self._grid_result is None else self._grid_result.published_row

    @property
    def point_scores(self) -> Mapping[str, Floats]:
        """float64[N] scores at each declared point of the grid."""
        return {} if self._grid_result is None else self._grid_result.boosted

    @property
    def gain(self) -> float:
        """Best correlation above the baseline; NaN when either is undefined."""
        return self.grid.best - self.grid.baseline


def grid_evaluation(evaluations: Evaluations) -> GridEvaluation | None:
    """The grid of a sweep, if it has one: its surface is known as soon as a setting has ended."""
    return next((part for part in evaluations.values() if isinstance(part, GridEvaluation)), None)


def failure(setting: Setting, reason: str, error: BmxError | None = None) -> NotRun:
    """A setting that failed."""
    return NotRun("failed", setting.label, shorten(reason, MOST_OF_REASON), error)


def finish(setting: Setting, evaluations: Evaluations, spent: Spent | None) -> SettingResult | NotRun:
    """Merge the chunks, load the attributions and evaluate the setting; spent: on scoring it, None if cached."""
    try:
        setting.slot.merge()
        with component_errors():
            return judge_setting(setting, evaluations, spent)
    except BmxError as error:
        return failure(setting, str(error), error)


def judge_setting(setting: Setting, evaluations: Evaluations, spent: Spent | None) -> SettingResult:
    """Evaluate one setting from its explanations in the store.

    Raises StoreError when some explanations are not in the store, UnavailableError if all scores or attributions are
    NaN.
    """
    start = time.perf_counter()
    finished = setting.load()
    _check_scored(setting, finished.scores, () if spent is None else spent.unread)
    evaluated: dict[str, Any] = {}
    surface = grid_evaluation(evaluations)
    if surface is not None:
        finished = replace(finished, surface=surface.surface(finished))
        evaluated[surface.key] = finished.surface
    parameters: dict[str, Any] = {}
    for role, part in {"metric": setting.metric, "explainer": setting.explainer}.items():
        if part is not None:
            parameters |= {f"{role}.{key}": value for key, value in part.fingerprint().items()}
    parameters |= {"seed": setting.seed, "segments": len(setting.segments)}
    grid = grid_of_sweep(evaluations.values())
    return SettingResult(
        *setting.names,
        evaluated=evaluated,
        finished=finished,
        signature=_signature(setting),
        parameters=parameters,
        fingerprint=fingerprint(setting, evaluations),
        spent=Spent(time.perf_counter() - start) + (spent or Spent()),
        cached=spent is None,
        correlation="" if grid is None else grid.correlation,
        repeated_with=setting.repeated_with,
    )


def _check_scored(setting: Setting, loaded: AttributionSet, unread: Sequence[str]) -> None:
    """Raise UnavailableError if no segment has a score, or none an explanation, as of a misconfigured server.

    Then nothing is stored, and the next run tries again. unread: answers that could not be read.
    """
    # A file may hold scores of systems only.
    if setting.scores_of_file is not None or not len(setting.items):
        return
    if np.isnan(loaded.base_scores).all():
        name, lacking = setting.metric_name, "score"
    elif setting.slot.explained and loaded.n_unexplained == len(setting.items):
        name, lacking = setting.explainer_name, "explanation"
    else:
        return
    setting.slot.discard(setting.keys)
    n_segments = pluralize(len(setting.segments), "segment")
    example = f"; answers cannot be read, for example {unread[0]}" if unread else ""
    raise UnavailableError(f"{name} has no {lacking} for any of {n_segments}{example}.")


def fingerprint(setting: Setting, evaluations: Evaluations) -> str:
    """SHA-256 of everything that a setting's own result depends on; known before the computation."""
    asked = [evaluation.fingerprint() for evaluation in evaluations.values()]
    of_segments = [setting.segments.fingerprint(), list(setting.clusters)]
    return digest([VERSION, setting.names, setting.identity, *of_segments, asked])


def _signature(setting: Setting) -> str:
    identity = setting.identity
    explainer = "no explainer" if setting.explainer is None else setting.explainer.signature
    words = f" || words:{canonical_json(identity['words'])}" if "words" in identity else ""
    return f"{setting.metric.signature} || {explainer} || seed:{identity['seed']}{words}"


def judge_sweep(
    ended: Sequence[SettingResult], evaluations: Evaluations, executor: Executor | None = None
) -> tuple[list[SettingResult], list[NotRun]]:
    """The results of a sweep with all evaluations, in the order of their names, and the evaluations that failed.

    executor: whose workers evaluate if that takes longer than they start.
    """
    results = sorted(ended, key=operator.attrgetter("label"))
    settings = [result.finished for result in results]
    evaluated = [dict(result.evaluated) for result in results]  # of each setting, by the key of the evaluation
    failed: list[NotRun] = []
    in_turn = sorted(evaluations.values(), key=_reads_of_others)
    for evaluation in in_turn if settings else ():
        cost = sum(evaluation.cost(len(setting.segments)) for setting in settings)
        try:
            with component_errors():
                values = evaluation.evaluate(settings, partial(map_parallel, executor or Sequential(), cost))
        except BmxError as error:
            failed.append(NotRun("failed", f"evaluation {evaluation.key}", str(error), error))
            continue
        finally:
            give_back_memory()
        for place, value in enumerate(values):
            evaluated[place][evaluation.key] = value
            with_points = settings[place].add_points(evaluation.points(value))
            settings[place] = with_points.add_gains(evaluation.gains(value))
    for place, setting in enumerate(settings):
        of_setting = evaluated[place]
        columns = []
        for evaluation in evaluations.values():
            if evaluation.key in of_setting:
                columns.append(evaluation.segment_columns(of_setting[evaluation.key]))
        results[place] = replace(results[place], evaluated=of_setting, scores=segment_rows(setting, columns))
    return results, failed


def segment_rows(setting: ScoredSetting, evaluated: Iterable[ColumnValues]) -> dict[str, Any]:
    """The columns of one setting, N values each: who, human scores, base score, words per text, then `evaluated`.

    evaluated: columns of evaluations. words_ROLE is null for a text that is neither read by the metric nor explained.
    Human scores are NaN for unrated segments; further ones are named human.ASPECT.
    """
    segments = setting.segments
    judged = setting.segments.judgements
    columns: dict[str, Any] = {
        "id": [segment.id for segment in segments.segments],
        "system": [segment.system for segment in segments.segments],
        "cluster": list(setting.clusters),
        "human": segments.human_scores,
        "human_name": [judged.primary] * len(segments),
        **{f"human.{name}": judged.scores[name] for name in judged.aspects[1:]},
        "base": setting.scores.base_scores,
    }
    for role in ROLES:
        if role in setting.text_roles:
            columns[f"words_{role}"] = setting.word_counts(role)
        else:
            columns[f"words_{role}"] = [None] * len(setting.items)
    for of_evaluation in evaluated:
        columns |= of_evaluation
    return columns


def _reads_of_others(evaluation: Evaluation) -> tuple[bool, bool]:
    """Sort key of evaluations: those that declare points, those that estimate gains at points, then their readers."""
    declares = type(evaluation).points is not Evaluation.points
    estimates = type(evaluation).gains is not Evaluation.gains
    return not declares, not estimates


def run_jobs(executor: Executor, jobs: Iterable[Job]) -> Iterator[Any]:
    """What jobs return, as `Executor.run`. Raises WorkerLost, too, if one cannot be sent or received."""
    try:
        yield from executor.run(jobs)
    except BmxError:
        raise
    except Exception as error:  # of whatever cannot be pickled, in the words of whatever pickles it
        raise WorkerLost(
            f"cannot be sent to another process: {exception_line(error)}. Write it so that pickle can, or use "
            "executor=sequential."
        ) from error


def run_local_or_parallel(
    works: Sequence[Callable[[], Any]], executor: Executor, cost: float
) -> Iterator[tuple[int, Any]]:
    """Yield the result of each work with its number; workers are used if the work takes longer than their start.

    cost: seconds of all works on one core. Works of a lost worker are repeated in this process.
    """
    left = dict(enumerate(works))
    if cost > WORTH_WORKERS and len(works) > 1:
        jobs = (Job(partial(_run_numbered, number, work)) for number, work in enumerate(works))
        with suppress(WorkerLost):
            for number, value in run_jobs(executor, jobs):
                del left[number]
                yield number, value
    for number, work in left.items():
        with one_blas_thread():  # as in workers; a second one took a fifth of the CPU time, and saved no time
            value = work()
        yield number, value


def map_parallel(executor: Executor, cost: float, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """Apply a function to each item, and return the results in order; arguments as of `run_local_or_parallel`."""
    values = dict(run_local_or_parallel([partial(function, item) for item in items], executor, cost))
    return [values[place] for place in range(len(items))]


def _run_numbered(number: int, work: Callable[[], Any]) -> tuple[int, Any]:
    """One piece of work, in a worker."""
    with plain_warnings():
        return number, work()
