"""Measure for a dry run how long scoring takes on this machine, and list the models to download."""

from __future__ import annotations

import math
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bmx_grid.attribution.explain import score_requests
from bmx_grid.core.errors import BmxError, component_errors
from bmx_grid.core.wording import first_line, join_names, pluralize
from bmx_grid.evaluations.base import Evaluation
from bmx_grid.metrics.base import Metric
from bmx_grid.models.files import would_be_fetched
from bmx_grid.models.model_cards import GIGABYTES
from bmx_grid.sweep.settings import SweepPlan
from bmx_grid.words.perturbation import Item, Plan, Request
from bmx_grid.words.segmentation import split_words

TIMED_TEXTS = 32  # that each metric scores
SECONDS = 10.0  # for all metrics together, the start of their process and loading their models included
TRACES = "it sends requests or stores results, which a dry run does not"
NOT_HERE = "its model is not on this machine yet"
SLOW = f"its model was not loaded and {TIMED_TEXTS} texts scored within {SECONDS:g} s"


@dataclass(frozen=True)
class TimePerText:
    """Seconds per text of a metric; None, and why, if it was not timed."""

    seconds: float | None
    why: str = ""


Works = dict[str, Callable[[], TimePerText]]


@dataclass(frozen=True)
class Download:
    """A model that scoring would fetch from the hub, and who needs it. gigabytes: None if the size is unknown."""

    model: str
    users: tuple[str, ...]
    gigabytes: float | None


def downloads(plan: SweepPlan) -> list[Download]:
    """The models that are not on this machine, without duplicates. Sends no request."""
    users: dict[str, list[str]] = {}
    for name, part in _parts(plan):
        for model, revision in part.pretrained_models():
            if would_be_fetched(model, revision):
                users.setdefault(model, []).append(name)
    to_fetch = []
    for model, names in users.items():
        to_fetch.append(Download(model, tuple(names), GIGABYTES.get(model)))
    return to_fetch


def time_and_downloads(plan: SweepPlan, evaluations: Mapping[str, Evaluation]) -> tuple[dict[str, str], list[str]]:
    """The scoring time of each metric, as the end of a line; then lines on downloads and the whole sweep."""
    n_texts = Counter[str]()
    for setting in plan.everything:
        n_texts[setting.metric_name] += setting.n_texts
    for further in plan.further:
        n_texts[further.metric] += further.n_texts
    sizes = [len(setting.segments) for setting in plan.settings]
    whole = sum(sum(map(evaluation.cost, sizes)) for evaluation in evaluations.values())
    untimed = [name for name in plan.unavailable if n_texts[name] > 0]
    ends = {}
    for name, per_text in time_metrics(plan).items():
        if per_text.seconds is None:
            untimed.append(name)
            ends[name] = f"; not timed: {per_text.why}"
        else:
            seconds = n_texts[name] * per_text.seconds
            ends[name] = f"; about {duration(seconds)}"
            whole += seconds
    lines = []
    for download in downloads(plan):
        size = "size unknown" if download.gigabytes is None else f"{download.gigabytes:g} GB"
        lines.append(f"to download: {download.model} ({', '.join(download.users)}), {size}")
    without = f", without scoring with {join_names(untimed)}" if untimed else ""
    lines.append(f"the whole sweep takes about {duration(whole)} in one process on this machine{without}")
    return ends, lines


def duration(seconds: float) -> str:
    """A time in its usual unit, rounded up: "3 s", "12 minutes", "5 hours"."""
    if seconds < 60:
        return f"{math.ceil(seconds)} s"
    if seconds < 120 * 60:
        return pluralize(math.ceil(seconds / 60), "minute")
    return pluralize(math.ceil(seconds / 3600), "hour")


def _parts(plan: SweepPlan) -> list[tuple[str, Any]]:
    """The metrics and explainers with texts left to score, with their names: a model may be downloaded for them.

    A metric and an explainer may share a name, as "random".
    """
    metrics: dict[str, Any] = {}
    explainers: dict[str, Any] = {}
    for setting in plan.everything:
        if setting.missing:
            metrics.setdefault(setting.metric_name, setting.metric)
        if setting.missing and setting.to_ask is not None:
            explainers.setdefault(setting.explainer_name, setting.to_ask)
    return [*metrics.items(), *explainers.items()]


def time_metrics(plan: SweepPlan, seconds: float = SECONDS) -> dict[str, TimePerText]:
    """Time each available metric per text, by name; light metrics first.

    Metrics score in one extra process that is ended after `seconds`: a slow one cannot delay a dry run, and this
    process loads no model. Nothing is downloaded or sent.
    """
    times = {}
    works: Works = {}
    # False sorts before True: metrics with a model start last, as they may use up the time.
    samples = sorted(_samples(plan), key=lambda sample: sample.metric.cost == "model")
    for name, metric, items in samples:
        if name in plan.unavailable:
            continue
        if metric.has_side_effects:
            times[name] = TimePerText(None, TRACES)
        elif any(would_be_fetched(model, revision) for model, revision in metric.pretrained_models()):
            times[name] = TimePerText(None, NOT_HERE)
        else:
            works[name] = partial(seconds_per_text, metric, items)
    return times | _run_with_time_limit(seconds, works)


class _Sample(NamedTuple):
    """A metric by its name, and two of the items that it has still to score, a shorter and a longer one."""

    name: str
    metric: Metric
    items: tuple[Item, ...]


def _samples(plan: SweepPlan) -> list[_Sample]:
    """A sample for each metric that has items to score."""
    metrics: dict[str, Metric] = {}
    missing: dict[str, list[Item]] = {}
    for setting in plan.everything:
        if setting.missing:
            metrics.setdefault(setting.metric_name, setting.metric)
            items = missing.setdefault(setting.metric_name, [])
            items += [setting.items[position] for position in setting.missing]

    samples = []
    for name, items in missing.items():
        by_length = sorted(items, key=lambda item: item.n_characters)
        third = len(items) // 3
        two_thirds = 2 * len(items) // 3
        pair = (by_length[third], by_length[two_thirds])
        samples.append(_Sample(name, metrics[name], pair))
    return samples


def _run_with_time_limit(seconds: float, works: Works) -> dict[str, TimePerText]:
    """Do the works in order in another process, and return their results; unfinished ones were too slow."""
    from bmx_grid.sweep.executors.local import processes

    times = {name: TimePerText(None, SLOW) for name in works}
    if not works:
        return times
    end = time.monotonic() + seconds
    try:
        with processes(1, None, variables={"HF_HUB_OFFLINE": "1"}) as submit:
            futures = {name: submit(work) for name, work in works.items()}
            for name, future in futures.items():
                try:
                    time_left = max(end - time.monotonic(), 0)
                    times[name] = future.result(timeout=time_left)
                except TimeoutError:
                    raise
                # The process was killed, or the metric cannot be pickled: the error is reported.
                except Exception as error:
                    times[name] = TimePerText(None, first_line(error))
    except TimeoutError:
        pass  # leaving the block has ended the process
    return times


def seconds_per_text(metric: Metric, items: Sequence[Item]) -> TimePerText:
    """How long a text takes a metric that has loaded its model; of TIMED_TEXTS perturbations of all the items."""
    requests = _requests(items)
    if not requests:
        return TimePerText(None, "its texts have no words")
    try:
        with warnings.catch_warnings(), component_errors():
            # They are shown when the sweep runs.
            warnings.simplefilter("ignore")
            metric.check()
            # The first text loads models, which is not timed.
            score_requests(metric, requests[:1])
            start = time.perf_counter()
            score_requests(metric, requests)
            took = time.perf_counter() - start
            n_texts = sum(metric.count_texts(request.item, len(request.plan)) for request in requests)
    except BmxError as error:
        return TimePerText(None, str(error))
    return TimePerText(took / n_texts)


def _requests(items: Sequence[Item]) -> list[Request]:
    """TEXTS requests in all: the items, hiding one word after the other in each."""
    sides = []
    for item in items:
        for role, text in item.texts().items():
            if text:
                sides.append((item, role, split_words(text)))
    requests = []
    for item, role, words in sides:
        n_texts = TIMED_TEXTS // len(sides)
        keep = np.ones((n_texts, len(words)), dtype=np.bool_)
        for row in range(n_texts):
            keep[row, row % len(words)] = False
        requests.append(Request(Plan(words, keep, ""), role, item))
    return requests
