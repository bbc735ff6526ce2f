"""What is said of a set of gains: how many settings got better or worse, and by how much."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bmx_grid.analysis.best import NO_CHANGE
from bmx_grid.analysis.table import Floats, GridTable


@dataclass(frozen=True)
class GainSummary:
    """The gains of n settings whose gain is defined.

    better: gain above 1e-5; worse: gain of 0 or less (the paper's "equal or worse"); unchanged: the rest, above 0 but
    not above 1e-5. undefined: further settings whose gain is NaN, counted in none of these.
    max_gain, mean_gain, mean_baseline: over the n settings; NaN of none.
    """

    n: int
    better: int
    worse: int
    unchanged: int
    undefined: int
    max_gain: float
    mean_gain: float
    mean_baseline: float

    @property
    def positive(self) -> int:
        """Settings with a gain above 0: better and unchanged."""
        return self.better + self.unchanged


def summarise(gain: Floats, baseline: Floats) -> GainSummary:
    """The summary of gains float64[n], NaN = undefined, and the baselines float64[n] they are above."""
    defined = ~np.isnan(gain)
    kept, alone = gain[defined], baseline[defined]
    better, worse = int((kept > NO_CHANGE).sum()), int((kept <= 0).sum())
    some = len(kept) > 0
    return GainSummary(
        n=len(kept),
        better=better,
        worse=worse,
        unchanged=len(kept) - better - worse,
        undefined=int((~defined).sum()),
        max_gain=float(kept.max()) if some else float("nan"),
        mean_gain=float(kept.mean()) if some else float("nan"),
        mean_baseline=float(alone.mean()) if some else float("nan"),
    )


def summarise_by(table: GridTable, gain: Floats, factor: str) -> Mapping[str, GainSummary]:
    """A summary for each name of a factor ("dataset", "language_pair", "metric", "explainer"), sorted by name."""
    names = table.names(factor)
    return {name: summarise(gain[names == name], table.baseline[names == name]) for name in table.factor_levels(factor)}
