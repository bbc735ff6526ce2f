"""Median parameters of an explainer, or of a metric and an explainer (paper 4.2).

The median is the ordinary one: the middle value, of an even number the mean of the two middle ones. It is taken of p
and of w apart, so that the pair need be no grid point of any setting.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bmx_grid.analysis.best import BestPoints
from bmx_grid.analysis.table import Flags, Floats, GridTable
from bmx_grid.measures.grid import TIE


@dataclass(frozen=True)
class Point:
    """A (p, w) to evaluate at."""

    p: float
    w: float


@dataclass(frozen=True)
class Median(Point):
    """Median p and w, and how many values they are the middle of. NaN of none."""

    n: int


def median_of(p: Floats, w: Floats) -> Median:
    """The medians of p and w where both are defined."""
    defined = ~(np.isnan(p) | np.isnan(w))
    n = int(defined.sum())
    if n == 0:
        return Median(float("nan"), float("nan"), 0)
    return Median(float(np.median(p[defined])), float(np.median(w[defined])), n)


def explainer_medians(table: GridTable, best: BestPoints, *, strict: bool = False) -> dict[str, Median]:
    """For each explainer the medians of its settings' best p and w; controls take no part.

    strict: only settings whose best gain is above 0 (by more than 1e-12).
    """
    use = ~table.is_control
    if strict:
        use &= best.gain > TIE
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
    beats = (table.gains > TIE) & table.boosted & (table.baseline > 0)[:, None, None]
    medians = {}
    for pair, rows in _pairs(table).items():
        counts = beats[rows].sum(axis=0)  # how often each grid point beats
        medians[pair] = Median(
            _weighted_median(table.p, counts.sum(axis=1)),
            _weighted_median(table.w, counts.sum(axis=0)),
            int(counts.sum()),
        )
    return medians


def _weighted_median(values: Floats, counts: Floats) -> float:
    """The median of ascending values that occur `counts` times each; NaN of none."""
    ends = np.cumsum(counts)
    if ends[-1] == 0:
        return float("nan")
    middle = np.searchsorted(ends, [(ends[-1] - 1) // 2, ends[-1] // 2], side="right")
    return float(values[middle].mean())


def _explainers(table: GridTable) -> dict[str, Flags]:
    """The explainers of settings that are no controls, and their rows."""
    names = sorted(
        {one.explainer for one, control in zip(table.settings, table.is_control, strict=True) if not control}
    )
    return {name: table.where(explainer=name) for name in names}


def _pairs(table: GridTable) -> Mapping[tuple[str, str], Flags]:
    """The metric and explainer of settings that are no controls, and their rows."""
    kept = zip(table.settings, table.is_control, strict=True)
    pairs = sorted({(one.metric, one.explainer) for one, control in kept if not control})
    return {(metric, explainer): table.where(metric=metric, explainer=explainer) for metric, explainer in pairs}
