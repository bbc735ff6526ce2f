"""The lines of a sweep: its plan, and each finished setting."""

from __future__ import annotations

from bmx_grid.sweep.plan import SweepPlan
from bmx_grid.sweep.runner import Outcome


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
