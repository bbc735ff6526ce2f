"""Intervals of gains from resamples of whole clusters, the same resamples for everything that is compared."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from bmx_grid.evaluations.base import Floats
from bmx_grid.measures.cluster_means import cluster_mean
from bmx_grid.measures.resampling import (
    FEWEST_CLUSTERS,
    bounds,
    interval_levels,
)
from bmx_grid.wording import with_interval

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class Estimate:
    """A gain, or a difference of gains, with its 95 % interval; NaN where undefined.

    p: two-sided, of 0, by Student's t of the value over its standard error.
    """

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan

    @property
    def established(self) -> bool:
        """Whether the interval lies above 0."""
        return self.low > 0

    def __str__(self) -> str:
        return with_interval(self.value, self.low, self.high)


def estimate(value: float, samples: Floats, units: int) -> Estimate:
    """A value with its interval and p from float64[R] resamples of so many units.

    The interval is the expanded percentile interval (`resampling.interval_levels`).
    """
    low, high = bounds(samples, interval_levels(units))
    return Estimate(value, float(low), float(high), _p_of(value, float(np.nanstd(samples)), units))


def over_pairs(values: Sequence[float], joint: Estimate) -> Estimate:
    """The mean of one value per language pair; NaN values are left out. None without FEWEST_CLUSTERS pairs.

    joint: the same mean with the interval of clusters of segments drawn together in all pairs. Both have to leave 0
    out: pairs that share segments are not independent of each other, and segments of these pairs say nothing of others.
    The interval therefore reaches as far as the wider one on each side, and p is the larger one.
    """
    found = cluster_mean(list(values), list(range(len(values))))
    known = np.array([value for value in values if math.isfinite(value)])
    if len(known) < FEWEST_CLUSTERS:
        return Estimate(found.mean)
    p = _p_of(found.mean, float(known.std(ddof=1)) / math.sqrt(len(known)), len(known))
    if math.isnan(joint.low):
        return Estimate(found.mean)
    return Estimate(found.mean, min(found.low, joint.low), max(found.high, joint.high), max(p, joint.p))


def _p_of(value: float, error: float, units: int) -> float:
    from scipy.special import stdtr

    if units < 2 or math.isnan(error):
        return math.nan
    if error == 0:
        return 1.0 if value == 0 else 0.0
    return float(2 * stdtr(units - 1, -abs(value) / error))
