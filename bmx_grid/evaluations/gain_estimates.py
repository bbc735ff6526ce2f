"""Gains in correlation on the segments of a language pair, with intervals by a bootstrap of their clusters."""

from __future__ import annotations

import math
from collections.abc import Iterable
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
    """Sums of weighted correlations of n segments' scores with their human scores, such as differences.

    statistic: the correlation over all segments, or that of the pairs of translations of one source (PDP). gold: the
    name of the human score. columns: float64[n] each; terms: for each key the weight of each of its columns, by place.
    sources: the pairs of translations of one source, for PDP. partial: partial correlations, by key: no differences,
    but estimated from the same draws, by the influence of each segment.
    """

    kind: Coefficient
    statistic: GainStatistic
    gold: str
    human: Floats
    columns: list[Floats] = field(default_factory=list)
    terms: dict[Key, dict[int, float]] = field(default_factory=dict)
    sources: PairedSources | None = None
    partial: dict[Key, PartialCorrelation] = field(default_factory=dict)

    def add(self, scores: Floats) -> int:
        """The place of a column."""
        self.columns.append(scores)
        return len(self.columns) - 1

    def values(self) -> dict[Key, float]:
        """The differences on the segments as they are; NaN where one is undefined."""
        once = np.ones((len(self.human), 1))
        if self.statistic == "pdp":
            columns = self._stacked()
            reached = self._of_pairs(columns, once)
        else:
            reached = np.full((len(self.columns), 1), math.nan)
            for place, column in enumerate(self.columns):
                if np.isfinite(column).all():
                    reached[place] = correlate(self.kind, column, self.human)
        differences = self._differences(reached)
        values = {key: float(values[0]) for key, values in differences.items()}
        for key, correlation in self.partial.items():
            values[key] = correlation.value
        return values

    def under(self, times: Iterable[Floats]) -> dict[Key, Floats]:
        """float64[R] the differences under blocks float64[n, R'] of how often a segment counts."""
        blocks: dict[Key, list[Floats]] = {}
        columns = self._stacked()
        for weights in times:
            if self.statistic == "pdp":
                reached = self._of_pairs(columns, weights)
            else:
                reached = weighted_correlations(self.kind, columns, self.human, weights)
            for key, values in self._differences(reached).items():
                blocks.setdefault(key, []).append(values)
            for key, correlation in self.partial.items():
                moved = correlation.influence @ weights / len(weights)
                # A sum of influences may leave the range of a correlation.
                blocks.setdefault(key, []).append(np.clip(correlation.value + moved, -1.0, 1.0))
        samples = {}
        for key, parts in blocks.items():
            samples[key] = np.concatenate(parts)
        return samples

    def _stacked(self) -> Floats:
        """float64[n, K] the columns."""
        # `column_stack` cannot make an array of no columns.
        no_columns = np.empty((len(self.human), 0))
        return np.column_stack([no_columns, *self.columns])

    def _of_pairs(self, columns: Floats, times: Floats) -> Floats:
        """float64[K, R] PDP of float64[n, K] columns; NaN without enough sources. times: float64[n, R]."""
        if self.sources is None:
            return np.full((columns.shape[1], times.shape[1]), math.nan)
        return self.sources.correlations(columns, times[self.sources.first])

    def _differences(self, reached: Floats) -> dict[Key, Floats]:
        """float64[R] of each key from float64[K, R] correlations of the columns."""
        values: dict[Key, Floats] = {}
        for key, weight_of_column in self.terms.items():
            places = list(weight_of_column)
            weights = np.array(list(weight_of_column.values()))
            values[key] = weights @ reached[places]
        return values


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
    differences = Contrasts(kind=kind, statistic="pooled", gold="", human=human[used])
    place = differences.add(boosted[used])
    alone = differences.add(base[used])
    differences.terms["", METRIC, "", ""] = {place: 1.0, alone: -1.0}
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
