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
from bmx_grid.measures.resampling import codes, number_of


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
        rows = np.flatnonzero((sizes[items] > 1) & (least[items] == most[items]))
        _, first = np.unique(items[rows], return_index=True)
        return cls(kind, human, rows, codes(items[rows]), rows[first])

    def correlations(self, columns: Floats, times: Floats) -> Floats:
        """float64[K, R] PDP of float64[n, K] scores; times: float64[n, R] how often each segment's source counts.

        From the sums of each source: of n values x and y the differences of all pairs have the sum of products
        n * sum(xy) - sum(x) * sum(y). NaN where all differences of one side are 0.
        """
        counts = times[self.first]
        of_human = self._deviations(self.human)
        human_squares = self._sums(of_human, of_human) @ counts
        correlations = np.empty((columns.shape[1], times.shape[1]))
        for place, column in enumerate(columns.T):
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
