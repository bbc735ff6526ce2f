"""The progress of a sweep: texts that are scored, or settings that are evaluated, with the time left of both."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Self

from bmx_grid.evaluations.base import Evaluation
from bmx_grid.progress import Progress, TimeLeft
from bmx_grid.sweep.evaluation import Outcome
from bmx_grid.sweep.settings import PlannedSetting, SweepPlan
from bmx_grid.wording import setting_label

EVALUATING = "evaluating"
GUESSED = {"light": 1 / 2000, "model": 1 / 30}  # seconds per text of one worker, before anything is timed


class SweepProgress:
    """Counts what a sweep does; use it as a context manager.

    workers: how many work at the same time. Texts are counted where any are left to score, else settings.
    """

    def __init__(self, plan: SweepPlan, evaluations: Mapping[str, Evaluation], workers: int) -> None:
        self._costs = {
            planned.setting.label: sum(one.cost(len(planned.setting.segments)) for one in evaluations.values())
            for planned in plan.settings
        }
        amounts: dict[str, float] = {EVALUATING: sum(self._costs.values())}
        guesses: dict[str, tuple[str, float]] = {EVALUATING: (EVALUATING, 1.0)}
        for planned in plan.everything:
            kind, cost = _kind(planned), planned.setting.metric.cost
            amounts[kind] = amounts.get(kind, 0) + planned.n_texts
            guesses[kind] = (cost, GUESSED[cost])
        left = TimeLeft(amounts, guesses, workers)
        self._counts_texts = plan.n_texts > 0
        self._left, self._scoring = left, dict[str, float]()
        self._waiting = {planned.setting.label: (_kind(planned), planned.n_texts) for planned in plan.settings}
        total = (
            (plan.n_texts, "scoring", "texts") if self._counts_texts else (len(plan.settings), EVALUATING, "settings")
        )
        self._progress = Progress(*total, time_left=left)
        self.say = self._progress.say

    def __enter__(self) -> Self:
        self._progress.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.__exit__(kind, error, trace)

    def scored(self, n_texts: int, planned: PlannedSetting, seconds: float) -> None:
        """A worker scored so many texts of a setting in so many seconds."""
        label = planned.setting.label
        self._scoring[label] = self._scoring.get(label, 0.0) + seconds
        kind, waiting = self._waiting.get(label, (_kind(planned), 0))
        self._waiting[label] = kind, waiting - n_texts
        self._left.done(kind, n_texts, seconds)
        if self._counts_texts:
            self._progress.advance(n_texts)

    def ended(self, outcome: Outcome) -> None:
        """A setting was evaluated, or failed: then what was left of it will not be done."""
        if outcome.result is None and outcome.label in self._waiting:
            self._left.dropped(*self._waiting.pop(outcome.label))
        taken = 0.0 if outcome.result is None else outcome.result.seconds - self._scoring.pop(outcome.label, 0.0)
        self._left.done(EVALUATING, self._costs.get(outcome.label, 0.0), max(taken, 0.0))
        if not self._counts_texts:
            self._progress.advance(1)


def _kind(planned: PlannedSetting) -> str:
    """Settings whose texts cost alike."""
    return setting_label(planned.setting.metric_name, planned.setting.explainer_name)
