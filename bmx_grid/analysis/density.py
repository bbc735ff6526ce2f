"""Densities of gains, as numbers to draw (paper, Figures 4, 7, 9, 12 and 13)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from bmx_grid.analysis.table import Floats

BINS, POINTS = 4096, 256
REACH = 4.0  # bandwidths beyond the values: less than 1e-4 of a value's mass lies outside


@dataclass(frozen=True, eq=False)
class Density:
    """A Gaussian kernel density estimate of n gains, with Scott's bandwidth.

    x: float64[256], equally spaced; density: float64[256], 1 / gain. Both empty when fewer than 2 values differ.
    mean, share_positive: of the gains; mean_baseline: of the settings they come from, each counted once per value.
    """

    n: int
    mean: float = math.nan
    mean_baseline: float = math.nan
    share_positive: float = math.nan
    x: Floats = field(default_factory=lambda: np.empty(0))
    density: Floats = field(default_factory=lambda: np.empty(0))


def density_of(gains: Floats, baseline: Floats) -> Density:
    """The density of gains of any shape, NaN left out; baseline: one for each gain, in the same order.

    The values are counted in fine bins first: a million of them would take minutes, and is within 1 % of the peak.
    """
    from scipy.stats import gaussian_kde

    defined = ~np.isnan(gains)
    values, baseline = gains[defined], baseline[defined]
    n = len(values)
    if n == 0:
        return Density(0)
    numbers = (n, float(values.mean()), float(baseline.mean()), float((values > 0).mean()))
    if n < 2 or np.ptp(values) <= 1e-12:  # for values that differ only by rounding no width can be estimated
        return Density(*numbers)
    reach = REACH * float(values.std(ddof=1)) * n ** (-1 / 5)
    counts, edges = np.histogram(values, BINS)
    centres, filled = (edges[1:] + edges[:-1]) / 2, counts > 0
    x = np.linspace(values.min() - reach, values.max() + reach, POINTS)
    estimate = gaussian_kde(centres[filled], n ** (-1 / 5), weights=counts[filled])
    return Density(*numbers, x, estimate(x))
