"""Every setting with its numbers: the metric alone, its best point, and the point of its explainer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from bmx_grid.analysis import best, fixed, tested, transfer
from bmx_grid.analysis.base import Cell, Table, working
from bmx_grid.analysis.given import NOWHERE, Given
from bmx_grid.analysis.table import Flags, Floats


@dataclass(frozen=True)
class SettingNumbers:
    """One setting. NaN where undefined, and in the last nine for controls.

    baseline: the metric alone; best, best_w, best_p, gain: the best point by the tie rule, and its gain;
    ties_baseline, plateau, plateau_p: see best.BestPoints. fixed, fixed_gain: at (fixed_w, fixed_p), the grid point
    used for the explainer; fixed_gain_low, fixed_gain_high: its 95 % interval, fixed_gain_p, fixed_gain_p_holm: of its
    test, alone and corrected, where the sweep tested this point; transfer_gain: at the point chosen without the
    setting's data set (the first factor that has several names).
    """

    dataset: str
    language_pair: str
    metric: str
    explainer: str
    control: bool
    baseline: float
    best: float
    best_w: float
    best_p: float
    gain: float
    ties_baseline: bool
    plateau: int
    plateau_p: Sequence[float]
    fixed: float
    fixed_w: float
    fixed_p: float
    fixed_gain: float
    fixed_gain_low: float
    fixed_gain_high: float
    fixed_gain_p: float
    fixed_gain_p_holm: float
    transfer_gain: float


@dataclass(frozen=True, eq=False)
class AllSettings:
    """settings: by label, in the order of the table. fixed, transfer_gain: float64[S], NaN for controls.

    transfer_factor: what was left out for `transfer_gain`; None where nothing can be. low, high: float64[S] intervals
    of the gains at the fixed points; survives: bool[S] gains that survive the correction.
    """

    settings: Mapping[str, SettingNumbers]
    fixed: Floats = working()
    transfer_gain: Floats = working()
    transfer_factor: str | None = working()
    low: Floats = working()
    high: Floats = working()
    survives: Flags = working()


def compute(given: Given) -> AllSettings:
    """The numbers of all settings, controls included."""
    table, points, at = given.table, given.ask(best.compute).points, given.ask(fixed.compute)
    transfers = given.ask(transfer.compute)
    correlation, moved = np.full(len(table), np.nan), np.full(len(table), np.nan)
    correlation[given.is_real] = at.evaluation.correlation
    if transfers.factor is not None:
        for explainer, one in transfers.leave_one_out[transfers.factor].items():
            moved[given.is_real & table.where(explainer=explainer)] = one.gain
    of_tests = given.ask(tested.at_fixed)
    low, high, p, p_holm = (
        _whole(given.is_real, one) for one in (of_tests.low, of_tests.high, of_tests.p_value, of_tests.p_holm)
    )
    survives = np.zeros(len(table), dtype=np.bool_)
    survives[given.is_real] = of_tests.survives
    found = {}
    for row, setting in enumerate(table.settings):
        used = at.evaluation.used.get(setting.explainer, NOWHERE) if given.is_real[row] else NOWHERE
        found[setting.label] = SettingNumbers(
            *setting,
            control=not given.is_real[row],
            baseline=float(table.baseline[row]),
            best=float(points.correlation[row]),
            best_w=float(points.w[row]),
            best_p=float(points.p[row]),
            gain=float(points.gain[row]),
            ties_baseline=bool(points.ties_baseline[row]),
            plateau=int(points.plateau[row]),
            plateau_p=points.plateau_p[row].tolist(),
            fixed=float(correlation[row]),
            fixed_w=used.w,
            fixed_p=used.p,
            fixed_gain=float(correlation[row] - table.baseline[row]),
            fixed_gain_low=float(low[row]),
            fixed_gain_high=float(high[row]),
            fixed_gain_p=float(p[row]),
            fixed_gain_p_holm=float(p_holm[row]),
            transfer_gain=float(moved[row]),
        )
    return AllSettings(found, correlation, moved, transfers.factor, low, high, survives)


def _whole(real: Flags, values: Floats) -> Floats:
    """Values of the settings that are no controls, as float64[S] of all settings, NaN for controls."""
    found = np.full(len(real), np.nan)
    found[real] = values
    return found


def tables(result: AllSettings) -> Sequence[Table]:
    """All settings as one table, for other programs."""
    names = [item.name for item in fields(SettingNumbers) if item.name != "plateau_p"]
    rows = []
    for one in result.settings.values():
        values = (getattr(one, name) for name in names)
        rows.append(tuple(Cell(int(value) if isinstance(value, bool) else value) for value in values))
    return (Table("settings", "All settings", tuple(names), (tuple(rows),), (), names=4, data=True),)
