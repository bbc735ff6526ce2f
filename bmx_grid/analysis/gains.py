"""A summary of a set of gains: how many settings got better or worse, by how much, and how sure that is.

Settings of one data set and language pair share segments and human scores, so that intervals and tests count these
clusters, not settings: 15 of 18 settings on six language pairs are 5 of 6 pairs; the sign test gives p = .109, not
.004.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bmx_grid.analysis.base import Cell
from bmx_grid.analysis.table import Flags, Floats, GridTable
from bmx_grid.measures.best import better, worse
from bmx_grid.measures.cluster_means import BOOTSTRAPPED, MeanOfClusters, cluster_mean

Clusters = NDArray[np.str_]

COUNTS = ("n", "better", "equal or worse", "between", "undefined", "mean gain")
SURE = ("low", "high", "pairs", "above 0", "sign test p")
COUNTED = "Better: gain above 1e-5; equal or worse: gain of 0 or less; between: a gain up to 1e-5."
CLUSTERED = (
    "Low, high: 95 % interval of the mean gain over the language pairs of all data sets: by Student's t, from "
    f"{BOOTSTRAPPED} pairs on by a bootstrap of them (n/a with fewer than 3). Above 0: pairs whose mean gain is; "
    "sign test p: one-sided, of these counts."
)


@dataclass(frozen=True)
class GainSummary:
    """The gains of n settings whose gain is defined.

    better, worse: as in measures.best, a gain above 1e-5, and one of 0 or less; unchanged: the rest, above 0 but
    not above 1e-5. undefined: further settings whose gain is NaN, counted in none of these.
    positive: settings with a gain above 0, better and unchanged.
    max_gain, mean_gain, mean_baseline: over the n settings; NaN if there are none. max_gain_baseline: of the setting
    with the largest gain, since a metric near 0 has most to gain.
    mean_low, mean_high: 95 % interval of the mean gain over clusters (measures.cluster_means); NaN with fewer than 3 of
    them. clusters: how many there are; clusters_better: those with a mean gain above 0; sign_p: the
    one-sided sign test of these. 0 and NaN where clusters are not given.
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
    max_gain_baseline: float = math.nan
    mean_low: float = math.nan
    mean_high: float = math.nan
    clusters: int = 0
    clusters_better: int = 0
    sign_p: float = math.nan

    @property
    def cells(self) -> tuple[Cell, ...]:
        """One cell for each of COUNTS."""
        counts = (self.n, self.better, self.worse, self.unchanged, self.undefined)
        return (*map(Cell, counts), Cell(self.mean_gain, "+.5f"))

    @property
    def sure(self) -> tuple[Cell, ...]:
        """One cell for each of SURE."""
        ends = (Cell(self.mean_low, "+.5f"), Cell(self.mean_high, "+.5f"))
        return (*ends, Cell(self.clusters), Cell(self.clusters_better), Cell(self.sign_p, ".3g"))


def summarise(gain: Floats, baseline: Floats, clusters: Clusters | None = None, seed: int = 0) -> GainSummary:
    """The summary of gains float64[n], NaN = undefined, and the baselines float64[n] they are above.

    clusters: str[n] labels; without them there is no interval. seed: of the bootstrap.
    """
    defined = ~np.isnan(gain)
    kept, alone = gain[defined], baseline[defined]
    n, n_better, n_worse = len(kept), int(better(kept).sum()), int(worse(kept).sum())
    of = None if clusters is None else cluster_mean(gain, clusters, seed=seed)
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
        max_gain_baseline=float(alone[np.argmax(kept)]) if n > 0 else float("nan"),
        mean_low=float("nan") if of is None else of.low,
        mean_high=float("nan") if of is None else of.high,
        clusters=0 if of is None else of.clusters,
        clusters_better=0 if of is None else of.positive,
        sign_p=float("nan") if of is None else of.p,
    )


def share(which: Flags, defined: Flags, clusters: Clusters, seed: int = 0) -> MeanOfClusters:
    """The share of settings, bool[n], among the defined ones, with its 95 % interval over clusters, inside [0, 1]."""
    found = cluster_mean(np.where(defined, which.astype(np.float64), np.nan), clusters, seed=seed)
    low, high = np.clip([found.low, found.high], 0.0, 1.0)  # Student's t knows no bounds
    return replace(found, low=float(low), high=float(high))


def summarise_by(table: GridTable, gain: Floats, factor: str, seed: int = 0) -> Mapping[str, GainSummary]:
    """A summary for each name of a factor ("dataset", "language_pair", "metric", "explainer"), sorted by name."""
    names = table.names(factor)
    return {
        name: summarise(gain[rows], table.baseline[rows], table.clusters[rows], seed)
        for name in table.factor_levels(factor)
        for rows in [names == name]
    }
