"""What a sweep says while it is planned and while it runs."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self

from bmx_grid.sweep.plan import SweepPlan
from bmx_grid.sweep.runner import Outcome
from bmx_grid.terminal import say

LINE_EVERY = 30.0  # seconds between progress lines where output is not a terminal


class Progress:
    """Counts scored texts against their total, with rate and time left, on standard error.

    Lines of finished settings go to standard output through `say`, above the bar.
    """

    def __init__(self, total: int) -> None:
        self._total, self._done = total, 0
        self._start = self._last = time.monotonic()
        self._bar: Any = None
        if total > 0 and sys.stderr.isatty():
            from tqdm import tqdm

            self._bar = tqdm(total=total, unit=" texts", unit_scale=True, desc="scoring", dynamic_ncols=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def advance(self, n_texts: int) -> None:
        """`n_texts` more have been scored."""
        self._done += n_texts
        if self._bar is not None:
            self._bar.update(n_texts)
        elif time.monotonic() - self._last >= LINE_EVERY:
            self._last = time.monotonic()
            rate = self._done / (self._last - self._start)
            left = max(self._total - self._done, 0) / rate if rate > 0 else float("inf")
            print(
                f"scoring: {self._done:,} of {self._total:,} texts, {rate:,.0f} texts/s, {left:,.0f} s left",
                file=sys.stderr,
                flush=True,
            )

    def say(self, line: str) -> None:
        """Print a line without disturbing the bar."""
        if self._bar is not None:
            self._bar.write(line, file=sys.stdout)
        else:
            say(line)


def setting_line(outcome: Outcome, number: int, total: int, said: set[str]) -> str:
    """One line for one finished setting. A reason that is already in `said` is not said again; a new one is added."""
    head = f"[{number:>{len(str(total))}}/{total}] {outcome.label}: "
    if outcome.result is None:
        reason = "for the same reason" if outcome.reason in said else outcome.reason
        said.add(outcome.reason)
        return f"{head}failed: {reason}"
    grid, seconds = outcome.result.grid, outcome.result.seconds
    best = f"best {grid.best:.4f} at w {grid.best_w:g}, p {grid.best_p:g}"
    cut = f", {outcome.result.texts_cut:,} too long and cut" if outcome.result.texts_cut > 0 else ""
    cost = "cached" if outcome.status == "cached" else f"{outcome.result.n_texts:,} texts{cut}, {seconds:.1f} s"
    return f"{head}baseline {grid.baseline:.4f}, {best} ({cost})"


def plan_table(plan: SweepPlan, n_points: int, n_boosted: int) -> str:
    """The plan in words: every setting, what it costs, what is left out and why.

    n_points: grid points a setting; n_boosted: those with w other than 1.
    """
    lines = [f"{'segments':>8}  {'rated':>6}  {'to score':>11}  setting"]
    for planned in plan.settings:
        segments = planned.setting.segments
        cost = "cached" if planned.cached else f"{planned.n_texts:,}"
        lines.append(f"{len(segments):>8,}  {segments.rated:>6,}  {cost:>11}  {planned.setting.label}")
    by_metric: dict[str, int] = {}
    for planned in plan.settings:
        name = planned.setting.metric_name
        by_metric[name] = by_metric.get(name, 0) + planned.n_texts
    lines += ["", *(f"left out: {one.label}: {one.reason}" for one in plan.left_out)]
    lines += [f"failed: {one.label}: {one.reason}" for one in plan.failed]
    lines += [f"cannot be had here: {name}: {reason}" for name, reason in plan.unavailable.items()]
    count = len(plan.settings)
    n_cached = sum(planned.cached for planned in plan.settings)
    lines += [f"texts to score with {name}: {texts:,}" for name, texts in by_metric.items()]
    lines.append(
        f"{count} settings ({n_cached} cached), {count * n_points:,} correlations, {count * n_boosted:,} of them "
        f"with w other than 1; at most {plan.n_texts:,} texts to score before repeats are taken out"
    )
    return "\n".join(lines)
