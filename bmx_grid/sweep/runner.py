"""Runs a plan: cached settings are evaluated; chunks of the others go through the executor into the store first."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import chain

from bmx_grid.attribution.explain import explain_items, texts_at_once
from bmx_grid.attribution.store import Slot
from bmx_grid.core.errors import BmxError, component_errors
from bmx_grid.core.terminal import plain_warnings
from bmx_grid.evaluations.grid import GridEvaluation
from bmx_grid.explainers.base import Explainer
from bmx_grid.metrics.base import Metric
from bmx_grid.models.encoding import truncated
from bmx_grid.models.prompts import UNREAD
from bmx_grid.sweep.evaluation import Evaluations, Outcome, Progress, finish, run_jobs, wherever_quicker
from bmx_grid.sweep.executors.base import Executor, Job, WorkerLost
from bmx_grid.sweep.results import Spent
from bmx_grid.sweep.settings import PlannedSetting, SweepPlan
from bmx_grid.words.perturbation import Item
from bmx_grid.words.segmentation import PairWords

_Chunk = tuple[Sequence[Item], int]  # items for one job, and the most texts they ask for


@dataclass(frozen=True)
class _ChunkEnd:
    """n_texts: as planned."""

    setting: int
    n_texts: int
    spent: Spent
    reason: str = ""
    details: str = ""


def run_plan(
    plan: SweepPlan,
    evaluations: Evaluations,
    *,
    executor: Executor,
    stop_on_error: bool,
    progress: Callable[[int], None],
) -> Iterator[Outcome]:
    """Outcomes of the plan's settings as they end: cached ones first, then the others as workers finish.

    progress gets the number of texts of every chunk that ends. With stop_on_error nothing new is started after a
    failure. Finished chunks are on disk even if this process is killed.
    """
    cached = _cached_outcomes(plan, evaluations, executor)
    # Closed when the sweep stops: that ends the jobs which are still running.
    with closing(_scored_outcomes(plan, evaluations, executor, progress)) as scored:
        for outcome in chain(cached, scored):
            yield outcome
            if outcome.status == "failed" and stop_on_error:
                return


def _scored_outcomes(
    plan: SweepPlan,
    evaluations: Evaluations,
    executor: Executor,
    progress: Callable[[int], None],
) -> Generator[Outcome]:
    """The outcomes of settings with texts to score, as workers finish."""
    waiting: dict[int, list[_Chunk]] = {}
    for index, planned in enumerate(plan.settings):
        obstacle = plan.obstacle(planned.setting)
        if obstacle is not None and not planned.cached:
            yield Outcome(planned.setting.label, "failed", reason=obstacle)
        elif not planned.cached:
            waiting[index] = list(_chunks(planned, texts_at_once(planned.setting.metric, executor.chunk_texts)))
    open_settings = {index: Progress(len(chunks)) for index, chunks in waiting.items()}

    def jobs(chosen: Sequence[int]) -> Iterator[Job]:
        for index in chosen:
            setting = plan.settings[index].setting
            for number, chunk in enumerate(waiting[index]):
                # Checked again for every chunk: settings that failed meanwhile get no more work.
                if index in open_settings and number not in open_settings[index].done:
                    parts = (setting.metric, setting.asked)
                    work = partial(_work, index, number, setting.slot, *parts, setting.words, chunk, setting.seed)
                    yield Job(work, _needs_device(*parts))

    one_by_one = False  # after a worker was killed: so that only the setting that kills workers fails
    while open_settings:
        # The smallest first, so that something is seen soon; then what takes longest, so that workers end together.
        first = min(open_settings, key=lambda index: _weight(plan.settings[index]))
        rest = sorted(open_settings.keys() - {first}, key=lambda index: _weight(plan.settings[index]), reverse=True)
        order = [first, *rest]
        chosen = order[:1] if one_by_one else order
        try:
            for number, end in run_jobs(executor, jobs(chosen)):
                state = open_settings.get(end.setting)
                progress(end.n_texts)
                if state is None:
                    continue
                planned = plan.settings[end.setting]
                state.done.add(number)
                state.spent += end.spent
                if end.reason:
                    outcome = Outcome(planned.setting.label, "failed", reason=end.reason, details=end.details)
                elif len(state.done) == state.chunks:
                    outcome = finish(planned, evaluations, state)
                else:
                    continue
                del open_settings[end.setting]
                yield outcome
        except WorkerLost as lost:
            if one_by_one:
                del open_settings[chosen[0]]
                yield Outcome(plan.settings[chosen[0]].setting.label, "failed", reason=str(lost))
            one_by_one = True


def _weight(planned: PlannedSetting) -> tuple[bool, int]:
    """How long a setting takes: whether its metric runs a model, then its number of texts."""
    return planned.setting.metric.cost == "model", sum(planned.n_texts_of)


def _needs_device(*parts: Metric | Explainer | None) -> bool:
    """Whether one of the parts runs a large model that its settings do not restrict to the CPU."""
    heavy = [part for part in parts if getattr(part, "cost", "light") == "model" or hasattr(part, "device")]
    return any(getattr(part, "device", "auto") != "cpu" for part in heavy)


def _chunks(planned: PlannedSetting, chunk_texts: int) -> Iterator[_Chunk]:
    chunk: list[Item] = []
    size = 0
    for position, n_texts in zip(planned.missing, planned.n_texts_of, strict=True):
        chunk.append(planned.setting.items[position])
        size += n_texts
        if size >= chunk_texts:
            yield chunk, size
            chunk, size = [], 0
    if chunk:
        yield chunk, size


def _work(
    index: int,
    number: int,
    slot: Slot,
    metric: Metric,
    explainer: Explainer | None,
    words: PairWords,
    chunk: _Chunk,
    seed: int,
) -> tuple[int, _ChunkEnd]:
    """One chunk, in a worker: explain, write, report. An error ends its setting, never the sweep."""
    start = time.perf_counter()
    items, n_texts = chunk
    try:
        with plain_warnings(), component_errors():
            before, n_unread = truncated(), len(UNREAD)
            explained = explain_items(metric, explainer, items, seed, skip_refused=True, words=words)
            n_truncated = truncated() - before
            n_scored = sum(metric.count_texts(item, one.n_texts) for item, one in zip(items, explained, strict=True))
        slot.add(explained)
    except BmxError as error:
        return number, _ChunkEnd(index, n_texts, Spent(time.perf_counter() - start), str(error), error.details)
    spent = Spent(time.perf_counter() - start, n_scored, n_truncated, tuple(UNREAD[n_unread:]))
    return number, _ChunkEnd(index, n_texts, spent)


def _cached_outcomes(plan: SweepPlan, evaluations: Evaluations, executor: Executor) -> Iterator[Outcome]:
    """The outcomes of settings that need no text scored, from the workers where that takes longer than they start."""
    cached = [planned for planned in plan.settings if planned.cached]
    grids = [one for one in evaluations.values() if isinstance(one, GridEvaluation)]
    cost = sum(grid.cost(len(planned.setting.segments)) for planned in cached for grid in grids)
    works = [partial(finish, planned, evaluations, None) for planned in cached]
    for _, outcome in wherever_quicker(works, executor, cost):
        yield outcome
