"""The best (p, w) of each setting, by a stated tie rule (paper 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from bmx_grid.analysis.base import Table, working
from bmx_grid.analysis.given import Given, Tie
from bmx_grid.analysis.table import Flags, Floats, GridTable
from bmx_grid.measures.best import (
    beats,
    better,
    first_within_rounding,
    mildest_within_no_change,
    plateau_within_no_change,
)


@dataclass(frozen=True, eq=False)
class BestPoints:
    """The best point of each of S settings; the words are defined in measures.best.

    tie: the rule by which ties are broken.
        "first" is the paper's: `first_within_rounding`, w = 1 allowed. A setting that nothing improves gets the
        lowest p of the grid and the w of the first tied point there.
        "mildest" never lets a tie invent a p: `mildest_within_no_change`. A setting whose best gain is not above
        1e-5 has no best p and w (NaN), and takes no part in medians.
    p, w: float64[S], NaN where there is no best point.
    correlation, gain: float64[S] at the best point; gain is above the baseline. Where "mildest" finds no
        improvement they are the baseline and 0.
    plateau: int[S] points of `plateau_within_no_change`; 0 without one.
    plateau_p: float64[S, 2] lowest and highest p of that plateau.
    ties_baseline: bool[S] no point with w other than 1 beats the baseline: nothing in the grid improves the metric.
        False where the metric alone is undefined, which nothing can be compared with.
    """

    tie: Tie
    p: Floats
    w: Floats
    correlation: Floats
    gain: Floats
    plateau: NDArray[np.intp]
    plateau_p: Floats
    ties_baseline: Flags

    def take(self, keep: Flags) -> BestPoints:
        """The settings where `keep`, bool[S], is true."""
        kept = {item.name: getattr(self, item.name)[keep] for item in fields(self) if item.name != "tie"}
        return BestPoints(tie=self.tie, **kept)


@dataclass(frozen=True, eq=False)
class Best:
    """tie: the rule; n_tied_with_baseline: settings, controls apart, that no (p, w) with w other than 1 improves.

    points: of all settings of the table; real: of those that are not controls.
    """

    tie: Tie
    n_tied_with_baseline: int
    points: BestPoints = working()
    real: BestPoints = working()


def compute(given: Given) -> Best:
    """The best points by the rule of the options."""
    points = best_points(given.table, given.options.tie)
    real = points.take(given.is_real)
    return Best(points.tie, int(real.ties_baseline.sum()), points, real)


def tables(result: Best) -> Sequence[Table]:
    """None: best points are shown with the results and the medians."""
    return ()


def best_points(table: GridTable, tie: Tie = "first") -> BestPoints:
    """The best point of every setting of a table, by the rule `tie` (see BestPoints)."""
    plateau = plateau_within_no_change(table.correlation, table.w)
    gain = np.where(np.isfinite(plateau.highest), plateau.highest - table.baseline, np.nan)
    if tie == "first":
        points = first_within_rounding(table.correlation)
        found = points >= 0
    else:
        points = mildest_within_no_change(plateau, table.p, table.w)
        found = (points >= 0) & better(gain)
    rows, columns = np.divmod(points, len(table.w))
    correlation = np.where(found, table.correlation[np.arange(len(table)), rows, columns], table.baseline)
    return BestPoints(
        tie=tie,
        p=np.where(found, table.p[rows], np.nan),
        w=np.where(found, table.w[columns], np.nan),
        correlation=correlation,
        gain=correlation - table.baseline,
        plateau=plateau.members.sum(axis=(1, 2)),
        plateau_p=_range_of_p(plateau.members, table.p),
        ties_baseline=np.isfinite(table.baseline) & ~beats(gain),
    )


def _range_of_p(members: Flags, p: Floats) -> Floats:
    reached = np.where(members.any(axis=2), p, np.nan)
    return np.stack([np.fmin.reduce(reached, axis=1), np.fmax.reduce(reached, axis=1)], axis=1)
