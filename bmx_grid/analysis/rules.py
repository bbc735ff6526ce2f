"""Rules that choose one (p, w) from the settings of an explainer, or decline to boost: w = 1, the metric alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bmx_grid.analysis.best import BestPoints
from bmx_grid.analysis.given import Point
from bmx_grid.analysis.medians import median_of
from bmx_grid.analysis.points import METRIC_ALONE
from bmx_grid.analysis.table import Flags, Floats, GridTable
from bmx_grid.measures.best import TIE, beats, better


@dataclass(frozen=True, eq=False)
class Candidates:
    """The settings that a rule may choose from, with their best points."""

    table: GridTable
    best: BestPoints

    @cached_property
    def gains(self) -> Floats:
        """float64[S, P * W], 0 where undefined."""
        return np.nan_to_num(self.table.gains.reshape(len(self.table), -1))

    @cached_property
    def better(self) -> Floats:
        """float64[S, P * W] 1 where the gain is better (measures.best)."""
        return better(self.gains).astype(np.float64)

    @cached_property
    def undefined(self) -> Floats | None:
        """float64[S, P * W] 1 where the gain is NaN; None where all are defined."""
        found = np.isnan(self.table.gains).reshape(len(self.table), -1)
        return found.astype(np.float64) if found.any() else None

    def peak(self, surface: Floats, weights: Floats) -> Point:
        """The point of the highest value, w other than 1, defined for all settings of weight 1.

        Ties are broken by order, p ascending and w fastest. The metric alone, whose value is 0, where none is above 0.
        """
        usable = np.tile(self.table.boosted, len(self.table.p))
        if self.undefined is not None:
            usable = usable & (weights @ self.undefined == 0)
        values = np.where(usable, surface, -np.inf)
        at = int(np.argmax(values))
        if not values[at] > TIE:
            return METRIC_ALONE
        row, column = divmod(at, len(self.table.w))
        return Point(float(self.table.p[row]), float(self.table.w[column]))


Rule = Callable[[Candidates, Flags], Point]


def median(candidates: Candidates, rows: Flags) -> Point:
    """The medians of the best p and w of the settings where `rows` is true: the paper's rule.

    The metric alone where none of them has a best point.
    """
    found = median_of(candidates.best.p[rows], candidates.best.w[rows])
    return METRIC_ALONE if found.n == 0 else Point(found.p, found.w)


def strict_median(candidates: Candidates, rows: Flags) -> Point:
    """The medians over those settings only that some (p, w) improves; the metric alone where there are none."""
    return median(candidates, rows & beats(candidates.best.gain))


def highest_mean_gain(candidates: Candidates, rows: Flags) -> Point:
    """The grid point with the highest mean gain."""
    weights = rows.astype(np.float64)
    return candidates.peak(weights @ candidates.gains / max(weights.sum(), 1), weights)


def most_improved(candidates: Candidates, rows: Flags) -> Point:
    """The grid point that makes most settings better; ties are broken by the highest mean gain."""
    weights = rows.astype(np.float64)
    # A mean gain lies within (-2, 2), so that a quarter of it decides between equal counts and never outweighs one.
    mean = weights @ candidates.gains / max(weights.sum(), 1)
    return candidates.peak(weights @ candidates.better + mean / 4, weights)


# The last two are what section 4.2 of the paper leaves to future work.
RULES: Mapping[str, Rule] = {rule.__name__: rule for rule in (median, strict_median, highest_mean_gain, most_improved)}
