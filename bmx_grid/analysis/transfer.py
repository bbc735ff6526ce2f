"""Selection without leakage: the parameters for a setting come from settings that were held apart from it.

`leave_one_out` holds out one data set (language pair, metric) at a time, takes the median best (p, w) of the others and
evaluates it on what was held out. `nested` also lets the rule of selection be chosen, by the same leave-one-out
among the others, so that neither parameters nor rule have seen what they are evaluated on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bmx_grid.analysis.best import BestPoints
from bmx_grid.analysis.fixed import gains_at
from bmx_grid.analysis.gains import GainSummary, summarise
from bmx_grid.analysis.medians import Point
from bmx_grid.analysis.rules import RULES, Candidates
from bmx_grid.analysis.table import Flags, Floats, GridTable

HELD_OUT = ("dataset", "language_pair", "metric")

Names = NDArray[np.str_]
Choice = Callable[[Candidates, Names, Flags], str]  # the name of the rule for the settings where the flags are true


@dataclass(frozen=True)
class Fold:
    """What was held out, the (p, w) that the other settings chose, by which rule; the gains of the held-out ones."""

    name: str
    point: Point
    rule: str
    gains: GainSummary


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Gains of one explainer's n settings, each with parameters that were chosen without it.

    gain: float64[n], in the order of the table; summary: of them; folds: one for each name held out.
    in_sample: the summary of the same settings at the point that all of them choose together.
    With a single name of the factor nothing can be held out: no fold, and all n gains are undefined.
    """

    gain: Floats
    summary: GainSummary
    in_sample: GainSummary
    folds: tuple[Fold, ...]

    @property
    def optimism(self) -> float:
        """In-sample mean gain minus held-out mean gain: what judging where one selected hides. NaN without folds."""
        return self.in_sample.mean_gain - self.summary.mean_gain


def leave_one_out(table: GridTable, best: BestPoints, factor: str) -> dict[str, HeldOut]:
    """For each explainer: every name of `factor` held out in turn, the medians of the others applied to it."""
    return _for_each_explainer(table, best, factor, lambda candidates, names, rows: "median")


def nested(table: GridTable, best: BestPoints, factor: str) -> dict[str, HeldOut]:
    """As `leave_one_out`, the rule chosen anew for each fold by the mean gain it reaches among the other names.

    The rules are those of `rules.RULES`, an earlier one before a later one that reaches the same. With fewer than two
    other names there is nothing to choose a rule by: the median is taken.
    """
    return _for_each_explainer(table, best, factor, _best_rule)


def _best_rule(candidates: Candidates, names: Names, rows: Flags) -> str:
    levels = sorted(set(names[rows].tolist()))
    if len(levels) < 2:
        return "median"
    reached = {}
    for rule, select in RULES.items():
        gain = np.full(len(names), np.nan)
        for level in levels:
            held = rows & (names == level)
            gain[held] = gains_at(candidates.table, select(candidates, rows & ~held))[held]
        mean = summarise(gain[rows], candidates.table.baseline[rows]).mean_gain
        reached[rule] = mean if np.isfinite(mean) else -np.inf
    return max(reached, key=reached.__getitem__)


def _for_each_explainer(table: GridTable, best: BestPoints, factor: str, choose: Choice) -> dict[str, HeldOut]:
    found = {}
    for explainer in table.factor_levels("explainer"):
        rows = table.where(explainer=explainer)
        found[explainer] = _hold_out(Candidates(table.take(rows), best.take(rows)), factor, choose)
    return found


def _hold_out(candidates: Candidates, factor: str, choose: Choice) -> HeldOut:
    table = candidates.table
    names = table.names(factor)
    levels = table.factor_levels(factor)
    gain = np.full(len(table), np.nan)
    folds = []
    for level in levels if len(levels) > 1 else []:
        held = names == level
        rule = choose(candidates, names, ~held)
        point = RULES[rule](candidates, ~held)
        gain[held] = gains_at(table, point)[held]
        folds.append(Fold(level, point, rule, summarise(gain[held], table.baseline[held])))
    everyone = np.ones(len(table), dtype=np.bool_)
    inside = gains_at(table, RULES[choose(candidates, names, everyone)](candidates, everyone))
    return HeldOut(gain, summarise(gain, table.baseline), summarise(inside, table.baseline), tuple(folds))
