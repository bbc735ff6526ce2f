"""Metrics and explainers that break their contract at a hook, drawn by a seed: their setting fails, no other one does.

    for shown, group, hook, way in inputs(seed=0, count=100):
        answer(group, hook, way, folder)

A way is a value that a hook returns, or an exception that it raises.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from fakes import HashMetric

from bmx_grid.core.configure import build, load_option
from bmx_grid.core.errors import DataError
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.evaluations.base import Evaluation
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.sweep.executors.local import Sequential
from bmx_grid.sweep.judge import SettingResult, judge_sweep
from bmx_grid.sweep.plan import make_plan
from bmx_grid.sweep.scoring import run_plan
from bmx_grid.sweep.settings import NotRun, PlanOptions
from bmx_grid.words.perturbation import Plan


class Strange(BaseException):
    """No Exception, as some libraries raise."""


class Mute(Exception):
    """Cannot be printed."""

    def __str__(self) -> str:
        raise RuntimeError("no message")


class Unprintable:
    """Raises wherever it is shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


def _raise(error: BaseException) -> None:
    raise error


# What a hook does with what it should return.
WAYS: dict[str, Callable[[Any], Any]] = {
    "raises": lambda right: _raise(ValueError("boom\nin two lines")),
    "raises a BaseException": lambda right: _raise(Strange("boom")),
    "raises what cannot be printed": lambda right: _raise(Mute()),
    "exits": lambda right: sys.exit(0),
    "raises GeneratorExit": lambda right: _raise(GeneratorExit("boom")),
    "says much": lambda right: _raise(ValueError("x" * 600_000)),
    "says much in a sentence of ours": lambda right: _raise(DataError("x" * 600_000)),
    "escapes": lambda right: _raise(ValueError("\x1b[31mred\x07")),
    "None": lambda right: None,
    "a text": lambda right: "1.0",
    "a number": lambda right: 0.5,
    "minus one": lambda right: -1,
    "an object": lambda right: Unprintable(),
    "a dict": lambda right: {"a": 1},
    "a generator": lambda right: (one for one in right),
    "nothing": lambda right: right[:0],
    "one too few": lambda right: right[:-1],
    "one too many": lambda right: [*right, right[0]],
    "complex": lambda right: np.asarray(right) + 1j,
    "NaN": lambda right: np.full(np.shape(right), np.nan),
    "masked": lambda right: np.ma.masked_all(np.shape(right)),
    "two dimensions": lambda right: np.asarray(right)[:, None],
    "texts": lambda right: [str(one) for one in right],
    "fractions": lambda right: [Fraction(1, 3) for _ in right],
    "Nones": lambda right: [None for _ in right],
    "ragged": lambda right: [[1.0] * place for place, _ in enumerate(right)],
    "other words": lambda right: Plan(("other",), keep=np.ones((1, 1), dtype=np.bool_)),
    "masks of numbers": lambda right: Plan(right.words, keep=np.full((2, len(right.words)), 2.5)),
    "texts that are numbers": lambda right: Plan(right.words, texts=[1, 2]),
    "one text": lambda right: Plan(right.words, texts="abc"),
}
METRIC_HOOKS = (
    *("reads", "signature", "cost", "higher_is_better", "reads_all_references", "fingerprint", "recipe_fingerprint"),
    *("check", "fit", "load_scores", "expand", "count_texts", "score", "score_masked", "statistics", "combine"),
)
EXPLAINER_HOOKS = (
    *("signature", "stochastic", "writes_texts", "only_for_metric", "fingerprint", "recipe_fingerprint"),
    *("check", "expand", "load_attributions", "count_texts", "plan", "attribute"),
)


def hostile(base: type, hook: str, way: str) -> Any:
    """A component whose `hook` goes wrong in this way."""
    made: Any = type(f"Hostile{base.__name__}", (base,), {"__module__": __name__})
    if isinstance(getattr(base, hook), property):
        right = getattr(base, hook)
        setattr(made, hook, property(lambda self: WAYS[way](right.fget(self))))
    elif callable(getattr(base, hook)):
        usual = getattr(base, hook)
        setattr(made, hook, lambda self, *given: WAYS[way](usual(self, *given)))
    else:
        value = getattr(base, hook)
        setattr(made, hook, property(lambda self: WAYS[way](value)))
    return dataclass(frozen=True)(made)()


class Counting(HashMetric):
    """A metric with statistics of its own."""

    def statistics(self, items: Sequence[Any]) -> np.ndarray:
        """The score, and 1."""
        return np.stack([HashMetric.score(self, items), np.ones(len(items))], axis=1)


def inputs(seed: int, count: int) -> Iterator[tuple[str, str, str, str]]:
    """`count` of (what it is, group, hook, way)."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        group = ("metric", "explainer")[int(rng.integers(2))]
        hooks = METRIC_HOOKS if group == "metric" else EXPLAINER_HOOKS
        hook, way = hooks[int(rng.integers(len(hooks)))], list(WAYS)[int(rng.integers(len(WAYS)))]
        yield f"{group}.{hook}: {way}", group, hook, way


def answer(group: str, hook: str, way: str, folder: Path) -> list[str]:
    """Why settings of a hostile component failed; none where it did no harm.

    Raises AssertionError where a good setting has no result, or a bad one has neither a result nor a reason.
    """
    base = (Counting if hook in ("statistics", "combine") else HashMetric) if group == "metric" else Erasure
    parts = {"metric": {"good": HashMetric(salt=1)}, "explainer": {"good": Erasure()}}
    parts[group]["bad"] = hostile(base, hook, way)
    if hook == "combine":  # asked where there is nothing to explain
        parts["explainer"].clear()
    reader = build({**load_option("dataset", "sample"), "language_pairs": ["de-en"]}, DatasetReader, "dataset.sample")
    levels = build({**load_option("evaluation", "levels", 0), "resamples": 3}, Evaluation, "evaluation.levels")
    options = PlanOptions(data_dir=folder, cache_dir=folder, limit=4)
    try:
        plan = make_plan({"sample": reader}, parts["metric"], parts["explainer"], options)
    except DataError as error:
        if hook != "expand":
            raise
        return [str(error)]  # a mistake in its options, which stops the sweep
    run = run_plan(plan, {"levels": levels}, executor=Sequential(), stop_on_error=False, progress=lambda *_: None)
    ended = list(run)
    failed = [*plan.not_run, *(part for part in ended if isinstance(part, NotRun))]
    results, incomplete = judge_sweep([part for part in ended if isinstance(part, SettingResult)], {"levels": levels})
    done = {(result.metric, result.explainer) for result in results}
    good = "good" if parts["explainer"] else "none"
    assert ("good", good) in done and not incomplete, (done, incomplete)
    reasons = [part.reason for part in failed if part.status != "unavailable"]
    assert reasons or len(done) == 2, "a setting is neither done nor failed"
    assert all(reason and reason.isprintable() for reason in reasons), reasons
    return reasons
