"""How a setting ends: its explanations are loaded from the store, and its grid is computed."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bmx_grid.errors import BmxError, component_errors
from bmx_grid.evaluations.base import Evaluation, Finished
from bmx_grid.evaluations.grid import GridEvaluation
from bmx_grid.explainers.base import Explainer
from bmx_grid.identity import canonical_json, digest
from bmx_grid.sweep.results import SettingResult
from bmx_grid.sweep.settings import PlannedSetting, Refused, Setting, SweepPlan

VERSION = 3  # of what is reported of a setting besides its evaluations; part of a result's fingerprint
Evaluations = Mapping[str, Evaluation]


@dataclass(frozen=True, eq=False)
class Outcome:
    """How a setting ended.

    result: what is known of it alone, and finished: what it was evaluated from; None for a setting that failed.
    details: the traceback of an unexpected error.
    """

    label: str
    status: Literal["done", "cached", "failed"]
    result: SettingResult | None = None
    finished: Finished | None = None
    reason: str = ""
    details: str = ""


@dataclass
class Progress:
    """What is left to do for one setting."""

    chunks: int
    n_texts: int = 0
    n_truncated: int = 0
    seconds: float = 0.0
    done: set[int] = field(default_factory=set)


def finish(
    planned: PlannedSetting, clusters: Sequence[str], evaluations: Evaluations, seed: int, state: Progress | None
) -> Outcome:
    """Merge the chunks, load the attributions and evaluate the setting."""
    setting = planned.setting
    try:
        setting.slot.merge()
        with component_errors():
            result, finished = evaluate(planned, clusters, evaluations, seed, state)
    except BmxError as error:
        return Outcome(setting.label, "failed", reason=str(error), details=error.details)
    return Outcome(setting.label, "cached" if state is None else "done", result, finished)


def evaluate(
    planned: PlannedSetting,
    clusters: Sequence[str],
    evaluations: Evaluations,
    seed: int,
    state: Progress | None = None,
) -> tuple[SettingResult, Finished]:
    """The grid of a setting whose explanations are in the store, and what the other evaluations are made from.

    Raises StoreError when some explanations are not in the store.
    """
    start = time.perf_counter()
    setting = planned.setting
    segments = setting.segments
    spent = state if state is not None else Progress(chunks=0)
    given = setting.given
    finished = Finished(
        segments,
        setting.metric_name,
        setting.explainer_name,
        setting.metric,
        setting.explainer,
        setting.items,
        setting.explanations(),
        clusters,
        systems={} if given is None else given.systems,
        words={} if setting.imported is None else setting.imported.words,
        attributed={} if setting.imported is None else setting.imported.attributed,
        segmented=setting.words,
    )
    grid = next((one for one in evaluations.values() if isinstance(one, GridEvaluation)), None)
    of_grid = None if grid is None else grid.of_setting(finished)
    finished.forget()
    finished = replace(finished, of_grid=of_grid)
    result = SettingResult(
        dataset=segments.dataset,
        language_pair=segments.language_pair,
        metric=setting.metric_name,
        explainer=setting.explainer_name,
        evaluated={} if grid is None else {grid.key: of_grid},
        n_segments=len(segments),
        n_rated=segments.rated,
        signature=_signature(setting, seed),
        parameters={
            **{f"metric.{key}": value for key, value in setting.metric.fingerprint().items()},
            **_explainer_parameters(setting.explainer),
            "seed": seed,
            "segments": len(segments),
        },
        fingerprint=fingerprint(setting, clusters, evaluations, seed),
        seconds=time.perf_counter() - start + spent.seconds,
        n_texts=spent.n_texts,
        n_truncated=spent.n_truncated,
        n_unexplained=len(planned.refused),
        words={role: _mean(finished.word_counts(role)) for role in finished.worded},
        cached=state is None,
    )
    return result, finished


def _mean(counts: NDArray[np.int64]) -> float:
    """The mean number of words per text; NaN without texts."""
    return int(counts.sum()) / len(counts) if len(counts) else math.nan


def in_turn(evaluations: Evaluations) -> list[Evaluation]:
    """The evaluations in the order they are asked: those that declare points before those that read them."""
    return sorted(evaluations.values(), key=lambda one: type(one).points is Evaluation.points)


def fingerprint(setting: Setting, clusters: Sequence[str], evaluations: Evaluations, seed: int) -> str:
    """SHA-256 of all that the result of a setting alone depends on; known before anything is computed."""
    identity = setting.identity(seed)
    asked = [one.fingerprint() for one in evaluations.values()]
    return digest([VERSION, setting.names, identity, setting.segments.fingerprint(), list(clusters), asked])


def _signature(setting: Setting, seed: int) -> str:
    identity = setting.identity(seed)
    explainer = "no explainer" if setting.explainer is None else setting.explainer.signature
    words = f" || words:{canonical_json(identity['words'])}" if "words" in identity else ""
    return f"{setting.metric.signature} || {explainer} || seed:{identity['seed']}{words}"


def _explainer_parameters(explainer: Explainer | None) -> dict[str, Any]:
    return {} if explainer is None else {f"explainer.{key}": value for key, value in explainer.fingerprint().items()}


def refused(outcomes: Sequence[Outcome], plan: SweepPlan) -> list[Refused]:
    """Everything in a sweep that failed, before and while it ran."""
    return [*plan.failed, *(Refused(one.label, one.reason) for one in outcomes if one.status == "failed")]
