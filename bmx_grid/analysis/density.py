"""Densities of gains, as numbers to draw (paper, Figures 4, 7, 9, 12 and 13)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bmx_grid.analysis import points
from bmx_grid.analysis.base import Table, written
from bmx_grid.analysis.fixed import evaluate
from bmx_grid.analysis.given import Given
from bmx_grid.analysis.table import FACTORS, Flags, Floats, GridTable

BINS, POINTS = 4096, 256
REACH = 4.0  # bandwidths beyond the values: less than 1e-4 of a value's mass lies outside


@dataclass(frozen=True, eq=False)
class Density:
    """A Gaussian kernel density estimate of n gains.

    x: float64[256], equally spaced from x_first to x_last; density: float64[256], 1 / gain. Both empty, and the ends
        NaN, when fewer than 2 values differ. Written to 4 digits, enough to draw.
    bandwidth: Scott's rule, standard deviation (n - 1) * n**(-1/5), as SciPy's gaussian_kde.
    mean, share_positive: of the gains; mean_baseline: of the settings they come from, each counted once per value.
    The values are counted in fine bins first and the bins smoothed: within 1 % of the peak of the exact estimate.
    """

    n: int
    mean: float
    mean_baseline: float
    share_positive: float
    bandwidth: float = float("nan")
    x_first: float = float("nan")
    x_last: float = float("nan")
    density: Floats = written(digits=4, default_factory=lambda: np.empty(0))

    @cached_property
    def x(self) -> Floats:
        """float64[256] where the density is given; empty without one."""
        return np.linspace(self.x_first, self.x_last, len(self.density))


@dataclass(frozen=True)
class Densities:
    """grid: gains of all grid points with w other than 1, by factor and name: grid["explainer"]["lime"] (Figure 4).
    Each explainer over all metrics, the random ones included, as in the paper; other factors without controls.

    fixed: gains of settings at their explainer's fixed point, without controls: fixed["lime"]["dataset"]["wmt17"]
    (Figures 7, 9, 12, 13); fixed["all"]["explainer"]["lime"] by explainer.
    """

    grid: Mapping[str, Mapping[str, Density]]
    fixed: Mapping[str, Mapping[str, Mapping[str, Density]]]


@dataclass(frozen=True)
class GainDensities:
    """densities: see Densities."""

    densities: Densities


def compute(given: Given) -> GainDensities:
    """The densities of all points, and of the gains at the fixed ones."""
    gain = evaluate(given.table, given.ask(points.compute).asked).gain
    return GainDensities(gain_densities(given.table, gain))


def tables(result: GainDensities) -> Sequence[Table]:
    """None: densities are drawn."""
    return ()


def gain_densities(table: GridTable, fixed_gain: Floats) -> Densities:
    """All densities of a table; fixed_gain: float64[S], NaN = undefined."""
    real = ~table.is_control
    whole = np.ones(len(table), dtype=np.bool_)
    gains = table.gains[:, :, table.boosted].reshape(len(table), -1)
    grid = {factor: _by(table, gains, factor, whole if factor == "explainer" else real) for factor in FACTORS}
    single = fixed_gain[:, None]
    fixed = {"all": {factor: _by(table, single, factor, real) for factor in FACTORS}}
    for name in sorted({one.explainer for one, kept in zip(table.settings, real, strict=True) if kept}):
        rows = real & table.where(explainer=name)
        fixed[name] = {factor: _by(table, single, factor, rows) for factor in FACTORS[:3]}
    return Densities(grid, fixed)


def _by(table: GridTable, gains: Floats, factor: str, keep: Flags) -> dict[str, Density]:
    names = table.names(factor)
    found = {}
    for name in sorted(set(names[keep].tolist())):
        rows = keep & (names == name)
        found[name] = density_of(gains[rows], np.repeat(table.baseline[rows], gains.shape[1]))
    return found


def density_of(gains: Floats, baseline: Floats) -> Density:
    """The density of gains of any shape, NaN left out; baseline: one for each gain, in the same order."""
    values = gains.ravel()
    defined = ~np.isnan(values)
    if not defined.all():
        values, baseline = values[defined], baseline[defined]
    n = len(values)
    if n == 0:
        nothing = float("nan")
        return Density(0, nothing, nothing, nothing)
    mean, share, alone = float(values.mean()), float((values > 0).mean()), float(baseline.mean())
    low, high = float(values.min()), float(values.max())
    bandwidth = float(values.std(ddof=1)) * n ** (-1 / 5) if n > 1 else float("nan")
    # For values that differ only by rounding no width can be estimated.
    if n < 2 or high - low <= 1e-12:
        return Density(n, mean, alone, share)
    start, stop = low - REACH * bandwidth, high + REACH * bandwidth
    x = np.linspace(start, stop, POINTS)
    return Density(n, mean, alone, share, bandwidth, start, stop, _smoothed(values, bandwidth, start, stop, x))


def _smoothed(values: Floats, bandwidth: float, start: float, stop: float, x: Floats) -> Floats:
    """The estimate at x from linearly shared bin counts, smoothed in Fourier space."""
    step = (stop - start) / (BINS - 1)
    place = (values - start) / step
    below = np.minimum(place.astype(np.intp), BINS - 2)
    share = place - below
    counts = np.bincount(below, weights=1 - share, minlength=BINS) + np.bincount(
        below + 1, weights=share, minlength=BINS
    )
    # Twice the length, so that the two ends do not meet.
    frequency = 2 * np.pi * np.fft.rfftfreq(2 * BINS, d=step)
    kernel = np.exp(-0.5 * (bandwidth * frequency) ** 2)
    smooth = np.fft.irfft(np.fft.rfft(counts, 2 * BINS) * kernel, 2 * BINS)[:BINS] / (len(values) * step)
    return np.maximum(np.interp(x, start + step * np.arange(BINS), smooth), 0.0)
