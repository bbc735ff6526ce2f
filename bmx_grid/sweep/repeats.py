"""Settings repeated with other seeds: how far the gain of a random explainer depends on its draws."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bmx_grid.evaluations.base import NAMES
from bmx_grid.evaluations.grid import GridEvaluation, GridOfSetting
from bmx_grid.measures.correlation import correlate
from bmx_grid.sweep.evaluation import Outcome
from bmx_grid.sweep.executors.base import Executor
from bmx_grid.sweep.results import SettingResult, in_order, repeated
from bmx_grid.sweep.runner import run_plan
from bmx_grid.sweep.settings import SweepPlan

if TYPE_CHECKING:
    import pyarrow as pa

BEST = "best"  # the best point of each seed's own grid
Names = tuple[str, str, str, str]


def run_repeats(
    plan: SweepPlan,
    done: Iterable[SettingResult],
    grid: GridEvaluation,
    *,
    executor: Executor,
    stop_on_error: bool,
    progress: Callable[[int], None],
) -> Iterator[tuple[int, Outcome]]:
    """Score and evaluate the plan's repeats, seed by seed; each outcome with its seed, its label naming it.

    done: the results of the settings; what failed there is not repeated. The folds of cross-fitted points are those of
    the grid, the same for all seeds.
    """
    known = {result.names for result in done}
    for seed, settings in plan.repeats.items():
        wanted = tuple(planned for planned in settings if planned.setting.names in known)
        again = replace(plan, settings=wanted, repeats={})
        run = run_plan(again, {grid.key: grid}, executor=executor, stop_on_error=stop_on_error, progress=progress)
        for outcome in run:
            yield seed, replace(outcome, label=f"{outcome.label} · seed {seed}")
            if outcome.status == "failed" and stop_on_error:
                return


def gains(result: SettingResult, grid: GridEvaluation) -> dict[str, float]:
    """The gain at each declared point of a setting, and at the best one of its grid; NaN where undefined."""
    of_grid: GridOfSetting = result.evaluated[grid.key]
    human, base = np.asarray(result.scores["human"]), np.asarray(result.scores["base"])
    found = {}
    for point, declared in of_grid.declared.items():
        used = np.isfinite(human) & np.isfinite(base) & np.isfinite(declared.boosted)
        one, other = (correlate(grid.correlation, scores[used], human[used]) for scores in (declared.boosted, base))
        found[point] = one - other
    return {**found, BEST: result.gain}


def seeds_table(results: Mapping[int, Iterable[SettingResult]], grid: GridEvaluation) -> pa.Table:
    """NAMES, seed, point, gain: one row per setting, seed and point; settings in the order of every table."""
    import pyarrow as pa

    rows: list[tuple[SettingResult, int, str, float]] = []
    place: dict[Names, int] = {}
    by_seed = [(seed, result) for seed, found in results.items() for result in found]
    for result in in_order(result for _, result in by_seed):
        place.setdefault(result.names, len(place))
    for seed, result in sorted(by_seed, key=lambda one: (place[one[1].names], one[0])):
        rows += [(result, seed, point, gain) for point, gain in gains(result, grid).items()]
    ones = [1] * len(rows)
    return pa.table(
        {
            **{name: repeated([getattr(row[0], name) for row in rows], ones) for name in NAMES},
            "seed": pa.array([row[1] for row in rows], pa.int64()),
            "point": repeated([row[2] for row in rows], ones),
            "gain": pa.array([row[3] for row in rows], pa.float64()),
        }
    )
