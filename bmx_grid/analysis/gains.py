"""A summary of a set of gains: how many settings got better or worse, and by how much."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bmx_grid.analysis.base import Cell
from bmx_grid.analysis.table import Floats, GridTable
from bmx_grid.measures.best import better, worse

COUNTS = ("n", "better", "equal or worse", "between", "undefined", "largest gain", "mean gain")
COUNTED = "Better: gain above 1e-5; equal or worse: gain of 0 or less; between: a gain up to 1e-5."


@dataclass(frozen=True)
class GainSummary:
    """The gains of n settings whose gain is defined.

    better, worse: as in measures.best, a gain above 1e-5, and one of 0 or less; unchanged: the rest, above 0 but
    not above 1e-5. undefined: further settings whose gain is NaN, counted in none of these.
    positive: settings with a gain above 0, better and unchanged.
    max_gain, mean_gain, mean_baseline: over the n settings; NaN if there are none.
    """

    n: int
    better: int
    worse: int
    unchanged: int
    undefined: int
    positive: int
    max_gain: float
    mean_gain: float
    mean_baseline: float

    @property
    def cells(self) -> tuple[Cell, ...]:
        """One cell for each of COUNTS."""
        counts = (self.n, self.better, self.worse, self.unchanged, self.undefined)
        return (*map(Cell, counts), Cell(self.max_gain, "+.4f"), Cell(self.mean_gain, "+.5f"))


def summarise(gain: Floats, baseline: Floats) -> GainSummary:
    """The summary of gains float64[n], NaN = undefined, and the baselines float64[n] they are above."""
    defined = ~np.isnan(gain)
    kept, alone = gain[defined], baseline[defined]
    n, n_better, n_worse = len(kept), int(better(kept).sum()), int(worse(kept).sum())
    return GainSummary(
        n=n,
        better=n_better,
        worse=n_worse,
        unchanged=n - n_better - n_worse,
        undefined=int((~defined).sum()),
        positive=n - n_worse,
        max_gain=float(kept.max()) if n > 0 else float("nan"),
        mean_gain=float(kept.mean()) if n > 0 else float("nan"),
        mean_baseline=float(alone.mean()) if n > 0 else float("nan"),
    )


def summarise_by(table: GridTable, gain: Floats, factor: str) -> Mapping[str, GainSummary]:
    """A summary for each name of a factor ("dataset", "language_pair", "metric", "explainer"), sorted by name."""
    names = table.names(factor)
    return {name: summarise(gain[names == name], table.baseline[names == name]) for name in table.factor_levels(factor)}
