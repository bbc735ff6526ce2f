"""Transfer: the parameters for a setting come from settings of other data sets, language pairs or metrics.

`leave_one_out` leaves out one data set (language pair, metric) at a time, takes the median best (p, w) of the others
and evaluates it on what was left out. `nested` also lets the rule of selection be chosen, by the same leave-one-out
among the others.

None of this is "held out": settings of different metrics rest on the same segments and human scores, those of different
language pairs share sources or references (492 of the 2,851 references of WMT17 occur in several pairs), and a results
table, which has no segments, cannot tell what different data sets share. It answers whether parameters carry over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bmx_grid.analysis import best
from bmx_grid.analysis.base import Cell, Table, inlined, point_cells, working, written
from bmx_grid.analysis.best import BestPoints
from bmx_grid.analysis.fixed import gains_at
from bmx_grid.analysis.gains import CLUSTERED, COUNTED, COUNTS, GainSummary, summarise
from bmx_grid.analysis.given import Given, Point
from bmx_grid.analysis.rules import RULES, Candidates
from bmx_grid.analysis.table import Flags, Floats, GridTable
from bmx_grid.wording import factor_in_words

LEFT_OUT = ("dataset", "language_pair", "metric")
WHY = (
    "Not held out: metrics share all segments and human scores, language pairs share sources or references (492 of "
    "the 2,851 distinct references of WMT17 occur in several pairs), and a results table has no segments that could be "
    "taken out of the other pairs; a sweep takes them out (point 'elsewhere')."
)

Names = NDArray[np.str_]
Choice = Callable[[Candidates, Names, Flags], str]  # the name of the rule for the settings where the flags are true


@dataclass(frozen=True)
class Fold:
    """What was left out, the (p, w) that the other settings chose, by which rule; the gains of those left out."""

    rule: str
    name: str = working()
    point: Point = inlined()
    gains: GainSummary = inlined()


@dataclass(frozen=True, eq=False)
class Transfer:
    """Gains of one explainer's n settings, each with parameters that were chosen without its data set (pair, metric).

    summary: of these gains; in_sample: of the same settings at the point that all of them choose together.
    optimism: in-sample mean gain minus mean gain in transfer, of the same settings: what judging where one selected
        hides. NaN without folds.
    gain: float64[n], in the order of the table; folds: one for each name left out.
    With a single name of the factor nothing can be left out: no fold, and all n gains are undefined.
    """

    optimism: float
    summary: GainSummary = inlined()
    in_sample: GainSummary = inlined("in_sample_", only=("n", "better", "mean_gain"))
    by_fold: Mapping[str, Fold] = written("folds")
    gain: Floats = working()

    @property
    def folds(self) -> tuple[Fold, ...]:
        """The folds, sorted by what was left out."""
        return tuple(self.by_fold.values())


@dataclass(frozen=True, eq=False)
class Transfers:
    """By factor ("dataset", "language_pair", "metric") and explainer, with the median rule and with the rule chosen."""

    leave_one_out: Mapping[str, Mapping[str, Transfer]]
    nested: Mapping[str, Mapping[str, Transfer]]

    @property
    def factor(self) -> str | None:
        """The factor whose folds represent all: the first that has several names; None without one."""
        found = self.leave_one_out.items()
        return next((factor for factor, one in found if any(each.by_fold for each in one.values())), None)


def compute(given: Given) -> Transfers:
    """Both procedures, over every factor but the explainer."""
    real, found, seed = given.real, given.ask(best.compute).real, given.options.seed
    return Transfers(
        leave_one_out={factor: leave_one_out(real, found, factor, seed) for factor in LEFT_OUT},
        nested={factor: nested(real, found, factor, seed) for factor in LEFT_OUT},
    )


def tables(result: Transfers) -> Sequence[Table]:
    """In-sample and transferred gains with the optimism between them, and what each fold chose."""
    header = ("left out", "explainer", "rule", "settings", "in-sample better", "in-sample mean gain")
    summary, folds = [], []
    for factor, found in result.leave_one_out.items():
        rows, chosen = [], []
        for name, one in found.items():
            for rule, transfer in (("median", one), ("chosen", result.nested[factor][name])):
                if transfer.by_fold:
                    rows.append((Cell(factor), Cell(name), Cell(rule), *_cells(transfer)))
            chosen += [
                (Cell(factor), Cell(fold.name), Cell(name), *point_cells(fold.point.w, fold.point.p), *fold.gains.cells)
                for fold in one.folds
            ]
        summary.append(tuple(rows))
        folds.append(tuple(chosen))
    if not any(summary):
        return ()
    single = [factor_in_words(factor) for factor, rows in zip(result.leave_one_out, summary, strict=True) if not rows]
    note = f"Nothing to leave out, only one name: {', '.join(single)}."
    kept = [tuple(group for group in groups if group) for groups in (summary, folds)]
    return (
        Table(
            "transfer",
            "Transfer: points chosen on the other data sets, language pairs or metrics",
            (*header, "transfer better", "transfer mean gain", "low", "high", "optimism"),
            kept[0],
            (
                "In-sample: at the point that all settings of the explainer choose together; transfer: at the point "
                "chosen by those of the other data sets (language pairs, metrics). Rule: the median of best points, or "
                "chosen on the others too. Optimism: in-sample minus transfer mean gain, of the same settings.",
                WHY,
                CLUSTERED.partition(" Above 0:")[0],
                *([note] if single else []),
            ),
            names=3,
        ),
        Table(
            "transfer_folds",
            "Transfer, fold by fold",
            ("left out", "name", "explainer", "w", "p", *COUNTS),
            kept[1],
            (f"w, p: medians of the best points of the settings that were not left out. {COUNTED}",),
            names=3,
        ),
    )


def _cells(one: Transfer) -> tuple[Cell, ...]:
    gains = (one.in_sample, one.summary)
    inside, outside = ((Cell(each.better), Cell(each.mean_gain, "+.5f")) for each in gains)
    ends = (Cell(one.summary.mean_low, "+.5f"), Cell(one.summary.mean_high, "+.5f"))
    return (Cell(one.summary.n), *inside, *outside, *ends, Cell(one.optimism, "+.5f"))


def leave_one_out(table: GridTable, best: BestPoints, factor: str, seed: int = 0) -> dict[str, Transfer]:
    """For each explainer: every name of `factor` left out in turn, the medians of the others applied to it.

    seed: of the bootstrap of clusters.
    """
    return _for_each_explainer(table, best, factor, lambda candidates, names, rows: "median", seed)


def nested(table: GridTable, best: BestPoints, factor: str, seed: int = 0) -> dict[str, Transfer]:
    """As `leave_one_out`, the rule chosen anew for each fold by the mean gain it reaches among the other names.

    The rules are those of `rules.RULES`, ties are broken by their order. With a single other name nothing is left that
    a rule could choose from: none gains anything, and the first, the median, is taken.
    """
    return _for_each_explainer(table, best, factor, _best_rule, seed)


def _best_rule(candidates: Candidates, names: Names, rows: Flags) -> str:
    reached = {}
    for rule, select in RULES.items():
        gain = np.full(len(names), np.nan)
        for level in set(names[rows].tolist()):
            out = rows & (names == level)
            gain[out] = gains_at(candidates.table, select(candidates, rows & ~out))[out]
        mean = summarise(gain[rows], candidates.table.baseline[rows]).mean_gain
        reached[rule] = mean if np.isfinite(mean) else -np.inf
    return max(reached, key=reached.__getitem__)


def _for_each_explainer(
    table: GridTable, best: BestPoints, factor: str, choose: Choice, seed: int
) -> dict[str, Transfer]:
    found = {}
    for explainer in table.factor_levels("explainer"):
        rows = table.where(explainer=explainer)
        found[explainer] = _leave_out(Candidates(table.take(rows), best.take(rows)), factor, choose, seed)
    return found


def _leave_out(candidates: Candidates, factor: str, choose: Choice, seed: int) -> Transfer:
    table = candidates.table
    names = table.names(factor)
    levels = table.factor_levels(factor)
    gain = np.full(len(table), np.nan)
    folds = {}
    for level in levels if len(levels) > 1 else []:
        out = names == level
        rule = choose(candidates, names, ~out)
        point = RULES[rule](candidates, ~out)
        gain[out] = gains_at(table, point)[out]
        folds[level] = Fold(rule, level, point, summarise(gain[out], table.baseline[out]))
    everyone = np.ones(len(table), dtype=np.bool_)
    inside = gains_at(table, RULES[choose(candidates, names, everyone)](candidates, everyone))
    if not folds:
        nothing, within = (summarise(one, table.baseline, table.clusters, seed) for one in (gain, inside))
        return Transfer(float("nan"), nothing, within, folds, gain)
    both = ~(np.isnan(gain) | np.isnan(inside))
    outside, within = (
        summarise(np.where(both, one, np.nan), table.baseline, table.clusters, seed) for one in (gain, inside)
    )
    return Transfer(within.mean_gain - outside.mean_gain, outside, within, folds, gain)
