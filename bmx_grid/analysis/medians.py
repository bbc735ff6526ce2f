"""Median parameters of an explainer, or of a metric and an explainer (paper 4.2).

The median is the ordinary one: the middle value, or the mean of the two middle ones. It is taken of p
and of w separately, so that the pair need not be a grid point of any setting.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bmx_grid.analysis import best
from bmx_grid.analysis.base import Cell, Table, point_cells, working
from bmx_grid.analysis.best import BestPoints
from bmx_grid.analysis.given import Given, Point
from bmx_grid.analysis.table import Flags, Floats, GridTable
from bmx_grid.measures.best import beats


@dataclass(frozen=True)
class Median(Point):
    """Median p and w, and the number of values; NaN if there are none."""

    n: int


@dataclass(frozen=True, eq=False)
class Medians:
    """medians: by explainer, of the best points of its settings; strict_medians: of those that some point improves.

    metric_medians, beating_medians: by (metric, explainer), of best points, and of all points that beat the baseline.
    Controls take no part.
    """

    medians: Mapping[str, Median]
    strict_medians: Mapping[str, Median]
    metric_medians: Mapping[tuple[str, str], Median]
    beating_medians: Mapping[tuple[str, str], Median]
    tie: str = working()


def compute(given: Given) -> Medians:
    """The medians of a table."""
    real, found = given.real, given.ask(best.compute).real
    return Medians(
        medians=explainer_medians(real, found),
        strict_medians=explainer_medians(real, found, strict=True),
        metric_medians=metric_medians(real, found),
        beating_medians=beating_medians(real),
        tie=found.tie,
    )


def tables(result: Medians) -> Sequence[Table]:
    """The medians by explainer, and by metric and explainer."""
    if not result.medians:
        return ()
    rows = []
    for name, median in result.medians.items():
        strict = result.strict_medians[name]
        rows.append((Cell(name), *_cells(median), *_cells(strict)))
    groups: dict[str, list[tuple[Cell, ...]]] = {}
    for (metric, name), median in result.metric_medians.items():
        beating = result.beating_medians[metric, name]
        groups.setdefault(metric, []).append((Cell(metric), Cell(name), *_cells(median), *_cells(beating)))
    rule = f"Medians of the best points of the settings, ties broken by the rule '{result.tie}'"
    return (
        Table(
            "selection_by_explainer",
            "Median best points by explainer",
            ("explainer", "median w", "median p", "settings", "strict w", "strict p", "strict settings"),
            (tuple(rows),),
            (f"{rule}; strict: of the settings only that some (p, w) improves.",),
        ),
        Table(
            "selection_by_metric",
            "Median best points by metric and explainer",
            ("metric", "explainer", "median w", "median p", "settings", "beating w", "beating p", "beating points"),
            tuple(map(tuple, groups.values())),
            (
                f"{rule}. Beating: of every (p, w) with w other than 1 that beats a baseline above 0, each counted "
                "once per setting.",
            ),
            names=2,
        ),
    )


def _cells(median: Median) -> tuple[Cell, ...]:
    return (*point_cells(median.w, median.p), Cell(median.n, ","))


def median_of(p: Floats, w: Floats) -> Median:
    """The medians of p and w where both are defined."""
    defined = ~(np.isnan(p) | np.isnan(w))
    n = int(defined.sum())
    if n == 0:
        return Median(float("nan"), float("nan"), 0)
    return Median(_in_grid_digits(np.median(p[defined])), _in_grid_digits(np.median(w[defined])), n)


def explainer_medians(table: GridTable, best: BestPoints, *, strict: bool = False) -> dict[str, Median]:
    """For each explainer the medians of its settings' best p and w; controls take no part.

    strict: only settings whose best gain is above 0 (by more than 1e-12).
    """
    use = ~table.is_control
    if strict:
        use &= beats(best.gain)
    return {
        name: median_of(best.p[rows], best.w[rows]) for name, own in _explainers(table).items() for rows in [own & use]
    }


def metric_medians(table: GridTable, best: BestPoints) -> dict[tuple[str, str], Median]:
    """For each metric and explainer the medians of its settings' best p and w; controls are left out."""
    return {pair: median_of(best.p[rows], best.w[rows]) for pair, rows in _pairs(table).items()}


def beating_medians(table: GridTable) -> dict[tuple[str, str], Median]:
    """For each metric and explainer the medians over all grid points that beat a baseline above 0.

    The rule of the paper's second version: every (p, w) with w other than 1 and a gain above 0 (by more than 1e-12)
    counts once, in whatever setting it lies; settings with a baseline of 0 or less are left out, and so are controls.
    """
    beating = beats(table.gains) & table.boosted & (table.baseline > 0)[:, None, None]
    medians = {}
    for pair, rows in _pairs(table).items():
        counts = beating[rows].sum(axis=0)  # how often each grid point beats
        medians[pair] = Median(
            _weighted_median(table.p, counts.sum(axis=1)),
            _weighted_median(table.w, counts.sum(axis=0)),
            int(counts.sum()),
        )
    return medians


def _weighted_median(values: Floats, counts: Floats) -> float:
    """The median of ascending values that occur `counts` times each; NaN if there are none."""
    ends = np.cumsum(counts)
    if ends[-1] == 0:
        return float("nan")
    middle = np.searchsorted(ends, [(ends[-1] - 1) // 2, ends[-1] // 2], side="right")
    return _in_grid_digits(values[middle].mean())


def _in_grid_digits(median: np.floating[Any]) -> float:
    """In 12 digits: the mean of 0.2 and 0.4 is 0.30000000000000004 in binary, and 0.3 to a reader."""
    return float(f"{median:.12g}")


def _explainers(table: GridTable) -> dict[str, Flags]:
    """The explainers of settings that are not controls, and their rows."""
    names = sorted(
        {one.explainer for one, control in zip(table.settings, table.is_control, strict=True) if not control}
    )
    return {name: table.where(explainer=name) for name in names}


def _pairs(table: GridTable) -> Mapping[tuple[str, str], Flags]:
    """The metric and explainer of settings that are not controls, and their rows."""
    kept = zip(table.settings, table.is_control, strict=True)
    pairs = sorted({(one.metric, one.explainer) for one, control in kept if not control})
    return {(metric, explainer): table.where(metric=metric, explainer=explainer) for metric, explainer in pairs}
