"""Score the texts that the store lacks, in chunks for the executor, and judge each setting as it ends."""

from __future__ import annotations

import json
import os
import platform
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import chain
from traceback import clear_frames
from typing import TypeVar

import numpy as np

from bmx_grid.attribution.contracts import check_same_scores
from bmx_grid.attribution.explain import Explanation, explain_items, split_into_parts, texts_at_once
from bmx_grid.attribution.store import AttributionStore
from bmx_grid.core.errors import BmxError, UnavailableError, component_errors
from bmx_grid.core.identity import canonical_json
from bmx_grid.core.secrets import UNREAD_ANSWERS
from bmx_grid.core.terminal import plain_warnings
from bmx_grid.explainers.base import Explainer
from bmx_grid.metrics.base import Metric
from bmx_grid.models.encoding import count_truncated
from bmx_grid.models.loading import linear_layers
from bmx_grid.sweep.executors.base import Executor, Job, WorkerLost
from bmx_grid.sweep.judge import (
    Evaluations,
    SettingResult,
    Spent,
    failure,
    finish,
    grid_evaluation,
    run_jobs,
    run_local_or_parallel,
)
from bmx_grid.sweep.settings import NotRun, Setting, SweepPlan
from bmx_grid.sweep.time_left import ScoredTexts
from bmx_grid.words.perturbation import Item
from bmx_grid.words.segmentation import PairWords

FEW_SEGMENTS = 4  # segments of a setting that are scored again
BATCH_TOLERANCE = 1e-3  # of the largest score: bfloat16 on a GPU differs by that much between batches
LOADED: set[str] = set()  # signatures of the metrics that have scored in this process
Ended = TypeVar("Ended")
Chunks = dict[int, tuple[list[Item], int]]  # by number: segments that are scored together, and how many texts they need


def run_plan(
    plan: SweepPlan,
    evaluations: Evaluations,
    *,
    executor: Executor,
    stop_on_error: bool,
    progress: Callable[[ScoredTexts], None],
    drop: Callable[[str, int], None] = lambda metric, n_texts: None,
) -> Iterator[SettingResult | NotRun]:
    """Results of the plan's settings as they end: cached ones first, then the others as workers finish.

    progress gets the texts of every chunk that ends, drop the metric and the number of texts that are not scored as
    their setting has failed (those of `SweepPlan.texts_here`). With stop_on_error nothing new is started after a
    failure. Finished chunks are on disk even if this process is killed.
    """
    cached = [setting for setting in plan.everything if setting.is_cached]
    grid = grid_evaluation(evaluations)
    cost = 0.0 if grid is None else sum(grid.cost(len(setting.segments)) for setting in cached)
    works = [partial(finish, setting, evaluations, None) for setting in cached]
    evaluated = (result for _, result in run_local_or_parallel(works, executor, cost))
    # Closed when the sweep stops: that ends the jobs which are still running.
    end = partial(finish, evaluations=evaluations)
    with closing(score_settings(plan, end, executor, progress, drop)) as computed:
        for ended in chain(evaluated, computed):
            yield ended
            if isinstance(ended, NotRun) and stop_on_error:
                return


def score_settings(
    plan: SweepPlan,
    end: Callable[..., Ended],
    executor: Executor,
    progress: Callable[[ScoredTexts], None],
    drop: Callable[[str, int], None],
) -> Generator[Ended | NotRun]:
    """What `end(setting, spent=…)` makes of settings with texts to score, as workers finish."""
    settings = plan.everything
    if not any(_needs_worker(setting) for setting in settings if not setting.is_cached):
        executor = executor.choose_executor(plan.n_texts_here)
    waiting: dict[int, Chunks] = {}  # by setting, its unfinished chunks
    for index, setting in enumerate(settings):
        obstacle = plan.obstacle(setting)
        if obstacle is not None and not setting.is_cached:
            yield failure(setting, obstacle)
        elif not setting.is_cached:
            waiting[index] = _chunks_of(setting, executor.chunk_texts)
    spent = dict.fromkeys(waiting, Spent())
    # How long a setting takes: whether its metric runs a model, then its number of texts.
    durations = {index: (settings[index].metric.cost == "model", settings[index].n_texts) for index in waiting}
    one_by_one = False  # after a worker was killed: so that only the setting that kills workers fails
    while waiting:
        # The smallest first, so that something is seen soon; then what takes longest, so that workers end together.
        first = min(waiting, key=durations.__getitem__)
        rest = sorted(waiting.keys() - {first}, key=durations.__getitem__, reverse=True)
        try:
            for done in run_jobs(executor, _jobs(settings, [first] if one_by_one else [first, *rest], waiting)):
                index = done.index
                if index not in waiting:  # it failed meanwhile
                    continue
                spent[index] += done.spent
                if done.error is not None:
                    drop(settings[index].metric_name, _texts_in(waiting.pop(index)))
                    yield failure(settings[index], str(done.error), done.error)
                    continue
                _, n_texts = waiting[index].pop(done.number)
                progress(
                    ScoredTexts(
                        settings[index].metric_name,
                        n_texts,
                        done.spent.seconds - done.loading,
                        done.loading,
                        done.worker,
                    )
                )
                if not waiting[index]:
                    del waiting[index]
                    yield end(settings[index], spent=spent[index])
        except WorkerLost as lost:
            if one_by_one:
                drop(settings[first].metric_name, _texts_in(waiting.pop(first)))
                yield failure(settings[first], str(lost))
            one_by_one = True


def _jobs(settings: Sequence[Setting], chosen: Sequence[int], waiting: Mapping[int, Chunks]) -> Iterator[Job]:
    """The work on the chunks of the chosen settings that wait; those that failed meanwhile get no more."""
    for index in chosen:
        setting = settings[index]
        parts = (setting.metric, setting.to_ask)
        for number, (items, _) in list(waiting[index].items()):
            if index in waiting:
                work = partial(_work, index, number, setting.slot, *parts, items, setting.seed, setting.words)
                yield Job(work, _needs_device(*parts))


def _chunks_of(setting: Setting, chunk_texts: int) -> Chunks:
    """The missing segments of a setting, in chunks of about that many texts."""
    missing = [setting.items[position] for position in setting.missing]
    sizes = zip(missing, setting.n_texts_of, strict=True)
    chunks = split_into_parts(sizes, texts_at_once(setting.metric, chunk_texts))
    return dict(enumerate(chunks))


def _texts_in(chunks: Chunks) -> int:
    """The number of texts in unfinished chunks."""
    return sum(n_texts for _, n_texts in chunks.values())


def _needs_worker(setting: Setting) -> bool:
    """Whether its metric or its explainer runs a model, or is not of this package: it may end its process."""
    metric = setting.metric
    explainer = setting.to_ask
    is_ours = explainer is None or type(explainer).__module__.startswith("bmx_grid.")
    return not (metric.is_held_by_tests and is_ours) or _runs_model(metric) or _runs_model(explainer)


def _runs_model(part: Metric | Explainer | None) -> bool:
    return getattr(part, "cost", "light") == "model" or hasattr(part, "device")


def _needs_device(*parts: Metric | Explainer | None) -> bool:
    """Whether one of the parts runs a large model that its settings do not restrict to the CPU."""
    return any(_runs_model(part) and getattr(part, "device", "auto") != "cpu" for part in parts)


@dataclass(frozen=True)
class DoneChunk:
    """A chunk of a setting that a worker is done with.

    worker: its name. loading: seconds until the metric had scored a first text in this process, among those it spent; 0
    of later chunks. error: ends this setting, not the sweep; None if the explanations are stored.
    """

    index: int
    number: int
    spent: Spent
    worker: str
    loading: float = 0.0
    error: BmxError | None = None


def check_batches(metric: Metric, explained: Sequence[Explanation]) -> None:
    """Raise ComponentError if some explained items score otherwise in a smaller batch, in the opposite order.

    Of metrics of this package that run large models, which its tests hold to this, and of metrics that send texts
    elsewhere, nothing is scored again.
    """
    if metric.has_side_effects or (metric.is_held_by_tests and metric.cost == "model"):
        return
    by_item = {explanation.item: explanation.base_score for explanation in explained}
    items = list(by_item)[: -FEW_SEGMENTS - 1 : -1]
    # One item is a batch like any other.
    if len(items) < 2:
        return
    scores = np.array([by_item[item] for item in items])
    again = np.array([explanation.base_score for explanation in explain_items(metric, None, items, seed=0)])
    tolerance = BATCH_TOLERANCE * np.nanmax(np.abs(scores), initial=0.0)
    check_same_scores(
        metric, items, scores, again, tolerance, f"among {len(by_item):,} segments", f"among {len(items)}"
    )


def _check_unchanged(slot: AttributionStore, parts: Mapping[str, Metric | Explainer | None]) -> None:
    """Raise UnavailableError for a metric or an explainer that computes something else than was planned.

    parts: by their names in the identity of the slot.
    """
    planned = json.loads(slot.identity)
    for kind, part in parts.items():
        fingerprint = None if part is None else part.fingerprint()
        if canonical_json(fingerprint) != canonical_json(planned[kind]):
            raise UnavailableError(
                f"the {kind}'s model has changed since the sweep was planned: it was overwritten, or this machine has "
                "another version. Leave it unchanged, and run the same command again."
            )


def _work(
    index: int,
    number: int,
    slot: AttributionStore,
    metric: Metric,
    explainer: Explainer | None,
    items: Sequence[Item],
    seed: int,
    words: PairWords,
) -> DoneChunk:
    """One chunk, in a worker: explain, write, report."""
    start = time.perf_counter()
    worker = f"{platform.node()} {os.getpid()} {threading.get_ident()}"
    loading = 0.0
    try:
        with plain_warnings(), component_errors():
            if metric.cost == "model" and not metric.has_side_effects and metric.signature not in LOADED:
                # The first text includes loading the model: only later texts are timed.
                list(explain_items(metric, None, items[:1], seed, skip_refused=True, words=words))
                LOADED.add(metric.signature)
                loading = time.perf_counter() - start
            before = count_truncated()
            n_unread = len(UNREAD_ANSWERS)
            explained = explain_items(metric, explainer, items, seed, skip_refused=True, words=words)
            if number == 0:
                check_batches(metric, explained)
            _check_unchanged(slot, {"metric": metric, "explainer": explainer})
            n_truncated = count_truncated() - before
            n_scored = sum(metric.count_texts(done.item, done.n_texts) for done in explained)
        slot.add(explained)
    except BmxError as error:
        spent = Spent(time.perf_counter() - start)
        # Its texts are not needed any more: the lines of each failed setting are enough.
        clear_frames(None if error.__cause__ is None else error.__cause__.__traceback__)
        return DoneChunk(index, number, spent, worker, loading, error)
    unread = tuple(UNREAD_ANSWERS[n_unread:])
    parts = [metric] if explainer is None else [metric, explainer]
    models = [model for part in parts for model, _ in part.pretrained_models()]
    spent = Spent(time.perf_counter() - start, n_scored, n_truncated, unread, linear_layers(models))
    return DoneChunk(index, number, spent, worker, loading)
