"""Judgement within sources: Pearson's r of pairwise differences between the translations of one source.

PDP (DiIanni and Deutsch 2025, arXiv 2509.25546): whether a difference in score goes with a difference in human score,
over all pairs of outputs for one source. What all outputs of a source share, such as its difficulty, cancels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.measures.correlation import Kind, average_ranks
from bmx_grid.measures.resampling import codes, interval, number_of, seeded_draws


@dataclass(frozen=True, eq=False)
class PairedSources:
    """The S sources that have two judged outputs or more, all in one cluster.

    kind: for a rank correlation differences are those of average ranks. rows: int64[m] their segments, of n; source:
    int64[m] the source of each; human: float64[n]; first: int64[S] a segment of each.
    """

    kind: Kind
    human: Floats
    rows: Ints
    source: Ints
    first: Ints

    @classmethod
    def of(cls, kind: Kind, human: Floats, items: Ints, clusters: Ints) -> Self:
        """Of n segments, by int64[n] codes of their sources and clusters."""
        sizes = np.bincount(items, minlength=1)
        least = np.full(len(sizes), len(items))
        most = np.full(len(sizes), -1)
        np.minimum.at(least, items, clusters)
        np.maximum.at(most, items, clusters)
        # all in one cluster: the least and the most of its segments' clusters are the same
        rows = np.flatnonzero((sizes[items] > 1) & (least[items] == most[items]))
        _, first = np.unique(items[rows], return_index=True)
        return cls(kind, human, rows, codes(items[rows]), rows[first])

    def correlations(self, columns: Floats, counts: Floats) -> Floats:
        """float64[K, R] PDP of float64[n, K] scores; counts: float64[S, R] how often each source counts.

        From the sums of each source: of n values x and y the differences of all pairs have the sum of products
        n * sum(xy) - sum(x) * sum(y). NaN where all differences of one side are 0, and of a column that is not finite.
        """
        of_human = self._deviations(self.human)
        human_squares = self._sums(of_human, of_human) @ counts
        correlations = np.full((columns.shape[1], counts.shape[1]), np.nan)
        for place, column in enumerate(columns.T):
            if not np.isfinite(column).all():
                continue
            of_scores = self._deviations(column)
            product = self._sums(of_scores, of_human) @ counts
            squares = self._sums(of_scores, of_scores) @ counts
            with np.errstate(invalid="ignore", divide="ignore"):
                correlations[place] = product / np.sqrt(squares * human_squares)
        return correlations

    def _deviations(self, values: Floats) -> Floats:
        """float64[m] values, or their ranks, minus the mean of their source, which keeps all differences."""
        used = values[self.rows] if self.kind == "pearson" else average_ranks(values)[self.rows]
        means = np.bincount(self.source, used) / np.bincount(self.source)
        return np.asarray(used - means[self.source])

    def _sums(self, left: Floats, right: Floats) -> Floats:
        """float64[S] the sum of products over all pairs of outputs of each source."""
        size = np.bincount(self.source, minlength=number_of(self.source))
        return np.asarray(size * np.bincount(self.source, left * right, len(size)))


def pairwise_correlations(
    scores: Floats, human: Floats, items: Ints, clusters: Ints, resamples: int = 0, seed: int = 0
) -> list[tuple[float, float, float, int, int, int]]:
    """PDP of each column of float64[n, K] scores, as `levels.grouped_correlations` gives other correlations.

    human: float64[n]; items, clusters: int64[n]. Segments with NaN in any column, or in human, are left out. The value,
    the ends of its 95 % interval by a bootstrap of the clusters that have a source with two outputs, the number of
    sources, of those with less than two outputs, and of segments.
    """
    used = np.isfinite(scores).all(axis=1) & np.isfinite(human)
    scores = scores[used]
    human = human[used]
    items = codes(items[used])
    clusters = codes(clusters[used])
    sources = PairedSources.of("pearson", human, items, clusters)
    n_sources = number_of(items)
    n_paired = len(sources.first)
    values = sources.correlations(scores, np.ones((n_paired, 1)))[:, 0]
    cluster = codes(clusters[sources.first])
    n_clusters = number_of(cluster)
    samples = np.empty((scores.shape[1], 0))
    if resamples and n_clusters:
        draws = seeded_draws(n_clusters, resamples, seed, n_paired)
        blocks = [sources.correlations(scores, drawn[cluster]) for drawn in draws]
        samples = np.concatenate(blocks, axis=1)
    counts = (n_sources, n_sources - n_paired, len(human))
    return [(float(value), *interval(drawn, n_clusters), *counts) for value, drawn in zip(values, samples, strict=True)]
