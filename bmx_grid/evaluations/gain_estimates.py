"""Gains in correlation on the segments of a language pair, with intervals by a bootstrap of their clusters."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.evaluations.base import Estimate
from bmx_grid.measures.correlation import Coefficient, correlate
from bmx_grid.measures.correlations_of_resamples import weighted_correlations
from bmx_grid.measures.pairwise import PairedSources
from bmx_grid.measures.partial_correlation import PartialCorrelation
from bmx_grid.measures.resampling import FEWEST_CLUSTERS, codes, interval, number_of, seeded_draws

METRIC = "metric"  # what a gain is measured from: the metric alone
Key = tuple[str, str, str, str]  # boost, against, point, human score
GainStatistic = Literal["pooled", "pdp"]


@dataclass(frozen=True, eq=False)
class Contrasts:
    """What n segments' scores gain over base scores in the correlation with the human scores.

    statistic: the correlation over all segments, or that of the pairs of translations of one source (PDP). base,
    human: float64[n]; scores: by key, float64[n] each. sources: the pairs of translations of one source, for PDP.
    partial: partial correlations, by key: no gains, but estimated from the same draws, by the influence of each
    segment.
    """

    kind: Coefficient
    statistic: GainStatistic
    base: Floats
    human: Floats
    scores: Mapping[Key, Floats]
    sources: PairedSources | None = None
    partial: dict[Key, PartialCorrelation] = field(default_factory=dict)

    def values(self) -> dict[Key, float]:
        """The gains on the segments as they are; NaN where one is undefined."""
        columns = [self.base, *self.scores.values()]
        if self.statistic == "pdp":
            once = np.ones((len(self.human), 1))
            reached = self._of_pairs(np.column_stack(columns), once)[:, 0]
        else:
            reached = np.full(len(columns), math.nan)
            for place, column in enumerate(columns):
                if np.isfinite(column).all():
                    reached[place] = correlate(self.kind, column, self.human)
        gains = reached[1:] - reached[0]
        values = dict(zip(self.scores, gains.tolist(), strict=True))
        return values | {key: correlation.value for key, correlation in self.partial.items()}

    def under(self, times: Iterable[Floats]) -> dict[Key, Floats]:
        """float64[R] the gains under blocks float64[n, R'] of how often a segment counts."""
        columns = np.column_stack([self.base, *self.scores.values()])
        blocks = []
        for weights in times:
            if self.statistic == "pdp":
                reached = self._of_pairs(columns, weights)
            else:
                reached = weighted_correlations(self.kind, columns, self.human, weights)
            gains = list(reached[1:] - reached[0])
            for correlation in self.partial.values():
                moved = correlation.influence @ weights / len(weights)
                # A sum of influences may leave the range of a correlation.
                gains.append(np.clip(correlation.value + moved, -1.0, 1.0))
            blocks.append(gains)
        keys = [*self.scores, *self.partial]
        samples = [np.concatenate(parts) for parts in zip(*blocks, strict=True)]
        return dict(zip(keys, samples, strict=True))

    def _of_pairs(self, columns: Floats, times: Floats) -> Floats:
        """float64[K, R] PDP of float64[n, K] columns; NaN without enough sources. times: float64[n, R]."""
        if self.sources is None:
            return np.full((columns.shape[1], times.shape[1]), math.nan)
        return self.sources.correlations(columns, times[self.sources.first])


def estimate_gains(differences: Contrasts, clusters: Ints, resamples: int, seed: int) -> dict[Key, Estimate]:
    """Each gain with its interval and p, by a bootstrap of int64[n] clusters where there are FEWEST_CLUSTERS.

    Every table takes its gains on single language pairs from this function.
    """
    units = codes(clusters)
    n_clusters = number_of(units)
    samples = {}
    if n_clusters >= FEWEST_CLUSTERS:
        draws = seeded_draws(n_clusters, resamples, seed, len(differences.human))
        samples = differences.under(drawn[units] for drawn in draws)
    gains = {}
    for key, value in differences.values().items():
        gains[key] = Estimate(value)
        if key in samples and math.isfinite(value):
            gains[key] = estimate(value, samples[key], n_clusters)
    return gains


def estimate_gain(
    kind: Coefficient,
    base: Floats,
    boosted: Floats,
    human: Floats,
    clusters: Ints | None = None,
    resamples: int = 0,
    seed: int = 0,
) -> Estimate:
    """What float64[N] boosted scores gain over the base scores, on the segments where all three scores are finite.

    clusters: int64[N], for the interval (`estimate_gains`); none without them.
    """
    used = np.isfinite(human) & np.isfinite(base) & np.isfinite(boosted)
    scores = {("", METRIC, "", ""): boosted[used]}
    differences = Contrasts(kind, "pooled", base[used], human[used], scores)
    units = np.zeros(len(human), dtype=np.int64) if clusters is None else clusters
    (gain,) = estimate_gains(differences, units[used], resamples, seed).values()
    return gain


def estimate(value: float, samples: Floats, units: int) -> Estimate:
    """A value with its interval (`resampling.interval`) and p from float64[R] resamples of so many units."""
    # NumPy warns of the spread of nothing.
    error = math.nan
    if np.isfinite(samples).any():
        error = float(np.nanstd(samples))
    low, high = interval(samples, units)
    return Estimate(value, low, high, p_of(value, error, units))


def p_of(value: float, error: float, units: int) -> float:
    """The two-sided p value of a value with this standard error from so many units, by Student's t."""
    from scipy.special import stdtr

    if units < 2 or math.isnan(error):
        return math.nan
    # Student's t has no value here: all resamples are the same.
    if error == 0:
        return 1.0 if value == 0 else 0.0
    t = -abs(value) / error
    return float(2 * stdtr(units - 1, t))
