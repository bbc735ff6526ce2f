"""Runs a plan: chunks of segments through the executor into the store, then the grid of each setting."""

from __future__ import annotations

import dataclasses
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np

from bmx_grid.attribution.explain import count_texts, explain_pairs, explanation_identity
from bmx_grid.attribution.store import Slot
from bmx_grid.errors import BmxError
from bmx_grid.explainers.base import Explainer
from bmx_grid.identity import digest
from bmx_grid.measures.grid import GridSpec, compute_grid
from bmx_grid.metrics.base import Metric, Pair
from bmx_grid.sweep.executors.base import Executor, Job, WorkerLost
from bmx_grid.sweep.plan import PlannedSetting, Refused, Setting, SweepPlan
from bmx_grid.sweep.results import SettingResult
from bmx_grid.terminal import plain_warnings

VERSION = 1  # of what `evaluate` computes beside the grid itself; part of a result's fingerprint
Fixed = Mapping[str, tuple[float, float]]  # explainer -> the (w, p) evaluated beside the best


@dataclass(frozen=True, eq=False)
class Outcome:
    """How a setting ended. `details` holds the traceback of an error nobody foresaw."""

    label: str
    status: Literal["done", "cached", "failed"]
    result: SettingResult | None = None
    reason: str = ""
    details: str = ""


@dataclass(frozen=True)
class _Chunk:
    """Pairs for one job, and the texts they ask for at most."""

    pairs: Sequence[Pair]
    n_texts: int


@dataclass(frozen=True)
class _ChunkEnd:
    """n_texts: as planned; n_scored: as asked of the metric; texts_cut: those of them longer than its model reads."""

    setting: int
    n_texts: int
    seconds: float
    n_scored: int = 0
    texts_cut: int = 0
    reason: str = ""
    details: str = ""


@dataclass
class _Progress:
    """What is still open of one setting."""

    chunks: int
    n_texts: int = 0
    texts_cut: int = 0
    seconds: float = 0.0
    done: set[int] = field(default_factory=set)


def run_plan(
    plan: SweepPlan,
    spec: GridSpec,
    *,
    fixed: Fixed,
    executor: Executor,
    seed: int,
    stop_on_error: bool,
    progress: Callable[[int], None],
) -> Iterator[Outcome]:
    """Outcomes of the plan's settings as they end: cached ones first, then the others as workers finish.

    progress is told the number of texts of every chunk that ends. With stop_on_error nothing new is
    started after a failure. Finished chunks are on disk whatever happens to this process.
    """
    waiting: dict[int, list[_Chunk]] = {}
    for index, planned in enumerate(plan.settings):
        obstacle = plan.obstacle(planned.setting)
        if planned.cached or obstacle is not None:
            if planned.cached:
                outcome = _finish(planned.setting, spec, fixed, seed, None)
            else:
                outcome = Outcome(planned.setting.label, "failed", reason=obstacle or "")
            yield outcome
            if outcome.status == "failed" and stop_on_error:
                return
        else:
            at_once = planned.setting.metric.texts_at_once(executor.chunk_texts)
            waiting[index] = list(_chunks(planned, at_once))
    open_settings = {index: _Progress(len(chunks)) for index, chunks in waiting.items()}

    def jobs(chosen: Sequence[int]) -> Iterator[Job]:
        for index in chosen:
            setting = plan.settings[index].setting
            for number, chunk in enumerate(waiting[index]):
                # Looked at again for every chunk: settings that failed meanwhile get no more work.
                if index in open_settings and number not in open_settings[index].done:
                    parts = (setting.metric, setting.explainer)
                    yield Job(partial(_work, index, number, setting.slot, *parts, chunk, seed), _needs_device(*parts))

    one_by_one = False  # after a worker was killed: so that only the setting that kills workers fails
    while open_settings:
        chosen = list(open_settings)[:1] if one_by_one else list(open_settings)
        try:
            for number, end in executor.run(jobs(chosen)):
                state = open_settings.get(end.setting)
                progress(end.n_texts)
                if state is None:
                    continue
                setting = plan.settings[end.setting].setting
                state.done.add(number)
                state.n_texts += end.n_scored
                state.texts_cut += end.texts_cut
                state.seconds += end.seconds
                if end.reason:
                    outcome = Outcome(setting.label, "failed", reason=end.reason, details=end.details)
                elif len(state.done) == state.chunks:
                    outcome = _finish(setting, spec, fixed, seed, state)
                else:
                    continue
                del open_settings[end.setting]
                yield outcome
                if outcome.status == "failed" and stop_on_error:
                    return
        except WorkerLost as lost:
            if one_by_one:
                del open_settings[chosen[0]]
                yield Outcome(plan.settings[chosen[0]].setting.label, "failed", reason=str(lost))
                if stop_on_error:
                    return
            one_by_one = True


def _needs_device(*parts: Metric | Explainer) -> bool:
    """Whether one of the parts runs a large model that its settings do not keep on the processor."""
    heavy = [part for part in parts if getattr(part, "cost", "light") == "model" or hasattr(part, "device")]
    return any(getattr(part, "device", "auto") != "cpu" for part in heavy)


def _chunks(planned: PlannedSetting, chunk_texts: int) -> Iterator[_Chunk]:
    chunk: list[Pair] = []
    size = 0
    for position in planned.missing:
        pair = planned.setting.pairs[position]
        chunk.append(pair)
        size += count_texts(planned.setting.metric, planned.setting.explainer, pair)
        if size >= chunk_texts:
            yield _Chunk(chunk, size)
            chunk, size = [], 0
    if chunk:
        yield _Chunk(chunk, size)


def _work(
    index: int, number: int, slot: Slot, metric: Metric, explainer: Explainer, chunk: _Chunk, seed: int
) -> tuple[int, _ChunkEnd]:
    """One chunk, in a worker: explain, write, report. An error ends its setting, never the sweep."""
    start = time.perf_counter()
    n_texts = chunk.n_texts
    try:
        with plain_warnings():
            cut_before = metric.texts_cut
            explained = explain_pairs(metric, explainer, chunk.pairs, seed)
            cut = metric.texts_cut - cut_before
            n_scored = sum(
                metric.count_texts(pair, one.n_texts) for pair, one in zip(chunk.pairs, explained, strict=True)
            )
        slot.add(explained)
    except BmxError as error:
        return number, _ChunkEnd(index, n_texts, time.perf_counter() - start, reason=str(error))
    except Exception as error:
        # The one place where any error is taken: libraries behind metrics raise what they like, the
        # other settings go on, and the traceback is kept for the report.
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        seconds = time.perf_counter() - start
        return number, _ChunkEnd(index, n_texts, seconds, reason=reason, details=traceback.format_exc())
    return number, _ChunkEnd(index, n_texts, time.perf_counter() - start, n_scored, cut)


def _finish(setting: Setting, spec: GridSpec, fixed: Fixed, seed: int, state: _Progress | None) -> Outcome:
    """Merge the chunks, load the attributions and compute the grid."""
    try:
        setting.slot.merge()
        result = evaluate(setting, spec, fixed.get(setting.explainer_name), seed, state)
    except BmxError as error:
        return Outcome(setting.label, "failed", reason=str(error))
    return Outcome(setting.label, "cached" if state is None else "done", result)


def evaluate(
    setting: Setting, spec: GridSpec, fixed: tuple[float, float] | None, seed: int, state: _Progress | None = None
) -> SettingResult:
    """The grid of a setting whose attributions are in the store. Raises StoreError when some are not."""
    start = time.perf_counter()
    segments = setting.segments
    stored = setting.slot.load(setting.keys)
    spent = state if state is not None else _Progress(chunks=0)
    arrays = (stored.base_scores, stored.ground_truth, stored.hypothesis, segments.human_scores)
    grid = compute_grid(spec, *arrays)
    fixed_w, fixed_p = fixed if fixed is not None else (np.nan, np.nan)
    at_fixed = np.nan
    if fixed is not None:
        at_fixed = compute_grid(dataclasses.replace(spec, p=(fixed_p,), w=(fixed_w,)), *arrays).correlation[0, 0]
    identity = explanation_identity(setting.metric, setting.explainer, seed)
    return SettingResult(
        dataset=segments.dataset,
        language_pair=segments.language_pair,
        metric=setting.metric_name,
        explainer=setting.explainer_name,
        grid=grid,
        p=spec.p,
        w=spec.w,
        side=spec.side,
        correlation=spec.correlation,
        aggregation=type(spec.aggregation).__name__,
        fixed_p=fixed_p,
        fixed_w=fixed_w,
        fixed=float(at_fixed),
        signature=f"{setting.metric.signature} || {setting.explainer.signature} || seed:{identity['seed']}",
        parameters={
            **{f"metric.{key}": value for key, value in setting.metric.fingerprint().items()},
            **{f"explainer.{key}": value for key, value in setting.explainer.fingerprint().items()},
            "seed": seed,
            "segments": len(segments),
        },
        fingerprint=digest([VERSION, identity, segments.fingerprint(), _readable(spec), str((fixed_w, fixed_p))]),
        seconds=time.perf_counter() - start + spent.seconds,
        n_texts=spent.n_texts,
        texts_cut=spent.texts_cut,
        cached=state is None,
    )


def _readable(spec: GridSpec) -> dict[str, Any]:
    return {**dataclasses.asdict(spec), "aggregation": spec.aggregation.fingerprint()}


def refused(outcomes: Sequence[Outcome], plan: SweepPlan) -> list[Refused]:
    """Everything of a sweep that failed, before and while it ran."""
    return [*plan.failed, *(Refused(one.label, one.reason) for one in outcomes if one.status == "failed")]
