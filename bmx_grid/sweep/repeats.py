"""How far the gain of a random explainer depends on its draws: the settings that were repeated with other seeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bmx_grid.evaluations.base import NAMES
from bmx_grid.evaluations.grid import GridEvaluation, GridOfSetting
from bmx_grid.measures.correlation import correlate
from bmx_grid.sweep.evaluation import Outcome, complete
from bmx_grid.sweep.results import SettingResult, in_order, repeated

if TYPE_CHECKING:
    import pyarrow as pa

BEST = "best"  # the best point of each seed's own grid


def gains(result: SettingResult, grid: GridEvaluation) -> dict[str, float]:
    """The gain at each declared point of a setting, and at the best one of its grid; NaN where undefined."""
    of_grid: GridOfSetting = result.evaluated[grid.key]
    human, base = np.asarray(result.scores["human"]), np.asarray(result.scores["base"])
    by_point = {}
    for point, boosted in of_grid.boosted.items():
        used = np.isfinite(human) & np.isfinite(base) & np.isfinite(boosted)
        value, alone = (correlate(grid.correlation, scores[used], human[used]) for scores in (boosted, base))
        by_point[point] = value - alone
    return {**by_point, BEST: result.gain}


def seeds_table(outcomes: Sequence[Outcome], results: Iterable[SettingResult], grid: GridEvaluation) -> pa.Table | None:
    """NAMES, seed, point, gain: one row per setting, seed and point; settings in the order of every table.

    outcomes: of a sweep, those of further seeds among them; results: of the settings with the sweep's own seed.
    The folds of cross-fitted points are those of the grid, the same for all seeds. None where nothing was repeated.
    """
    import pyarrow as pa

    by_seed: dict[int, list[SettingResult]] = {}
    for seed in sorted({outcome.repeated_with for outcome in outcomes if outcome.repeated_with is not None}):
        by_seed[seed], _ = complete(
            [outcome for outcome in outcomes if outcome.repeated_with == seed], {grid.key: grid}
        )
    names = {result.names for found in by_seed.values() for result in found}
    own = [result for result in results if result.names in names]
    if not own:
        return None
    place = {result.names: number for number, result in enumerate(in_order(own))}
    known = [
        (place[result.names], result) for found in (own, *by_seed.values()) for result in found if result.names in place
    ]
    known.sort(key=lambda pair: (pair[0], pair[1].parameters["seed"]))
    rows = [(result, *row) for _, result in known for row in gains(result, grid).items()]
    ones = [1] * len(rows)
    return pa.table(
        {
            **{name: repeated([getattr(result, name) for result, _, _ in rows], ones) for name in NAMES},
            "seed": pa.array([result.parameters["seed"] for result, _, _ in rows], pa.int64()),
            "point": repeated([point for _, point, _ in rows], ones),
            "gain": pa.array([gain for _, _, gain in rows], pa.float64()),
        }
    )
