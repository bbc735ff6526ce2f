"""The best (p, w) of each setting, by a stated tie rule (paper 4.2)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bmx_grid.analysis.table import Flags, Floats, GridTable
from bmx_grid.measures.grid import TIE

Tie = Literal["first", "mildest"]
NO_CHANGE = 1e-5  # gains up to this count as no change: better or worse is said of larger ones


@dataclass(frozen=True, eq=False)
class BestPoints:
    """The best point of each of S settings.

    tie: the rule by which one of several is taken.
        "first" is the paper's: the first exact maximum with p ascending and w fastest, w = 1 allowed. A setting that
        nothing improves gets the lowest p of the grid and whatever w stands there.
        "mildest" never lets a tie invent a p: points within 1e-5 of the highest correlation with w other than 1 are
        one plateau, of which the largest w is taken, then the p nearest to 1 (the arithmetic mean), then the
        larger p. A setting whose best gain is not above 1e-5 has no best p and w (NaN), and takes no part in medians.
    p, w: float64[S], NaN where there is no best point.
    correlation, gain: float64[S] at the best point; gain is above the baseline. Where "mildest" finds no
        improvement they are the baseline and 0.
    plateau: int[S] points with w other than 1 that are within 1e-5 of the highest of these; 0 without one.
    plateau_p: float64[S, 2] lowest and highest p of that plateau.
    ties_baseline: bool[S] the highest correlation of all points with w other than 1 is not above the baseline by
        more than 1e-12: nothing in the grid improves the metric.
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


def best_points(table: GridTable, tie: Tie = "first") -> BestPoints:
    """The best point of every setting of a table, by the rule `tie` (see BestPoints)."""
    highest, plateau, plateau_p, mildest = _plateaus(table)
    ties_baseline = ~(highest > table.baseline + TIE)
    if tie == "first":
        flat = np.where(np.isnan(table.correlation), -np.inf, table.correlation).reshape(len(table), -1)
        points = np.argmax(flat, axis=1)
        improvable = np.ones(len(table), dtype=np.bool_)
    else:
        points = mildest
        improvable = highest > table.baseline + NO_CHANGE
    rows, columns = np.divmod(points, len(table.w))
    correlation = table.correlation[np.arange(len(table)), rows, columns]
    correlation = np.where(improvable, correlation, table.baseline)
    return BestPoints(
        tie=tie,
        p=np.where(improvable, table.p[rows], np.nan),
        w=np.where(improvable, table.w[columns], np.nan),
        correlation=correlation,
        gain=correlation - table.baseline,
        plateau=plateau,
        plateau_p=plateau_p,
        ties_baseline=ties_baseline,
    )


def _plateaus(table: GridTable) -> tuple[Floats, NDArray[np.intp], Floats, NDArray[np.intp]]:
    """Per setting, over w other than 1: highest correlation, size and p range of its plateau, its mildest point.

    The point is an index into the flattened P x W grid; all are 0, -inf or NaN for a setting without such points.
    """
    boosted = np.where(table.boosted & ~np.isnan(table.correlation), table.correlation, -np.inf)
    highest = boosted.max(axis=(1, 2))
    near = (boosted >= highest[:, None, None] - NO_CHANGE) & np.isfinite(boosted)
    # Mildest first: w descending, then |p - 1| ascending, then p descending.
    weights, powers = np.tile(table.w, len(table.p)), np.repeat(table.p, len(table.w))
    order = np.lexsort((-powers, np.round(np.abs(powers - 1), 10), -weights))
    mildest = order[np.argmax(near.reshape(len(table), -1)[:, order], axis=1)]
    rows = near.any(axis=2)
    some = rows.any(axis=1)
    first, last = np.argmax(rows, axis=1), len(table.p) - 1 - np.argmax(rows[:, ::-1], axis=1)
    plateau_p = np.where(some[:, None], np.stack([table.p[first], table.p[last]], axis=1), np.nan)
    return highest, near.sum(axis=(1, 2)), plateau_p, mildest
