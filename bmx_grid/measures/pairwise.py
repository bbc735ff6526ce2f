"""Judgement within sources: Pearson's r of pairwise differences between the translations of one source.

PDP (DiIanni and Deutsch 2025, arXiv 2509.25546): whether a difference in score accompanies a difference in human score,
over all pairs of outputs for one source. Properties that all outputs of a source share, such as its difficulty, cancel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.measures.correlation import Coefficient, average_ranks, below_one
from bmx_grid.measures.grouped import Grouped, grouped_columns
from bmx_grid.measures.resampling import codes, interval, number_of, ratio, seeded_draws


@dataclass(frozen=True, eq=False)
class PairedSources:
    """The S sources that have two judged outputs or more, all in one cluster.

    kind: for a rank correlation differences are those of average ranks. rows: int64[m] the places of their
    segments among all n; source: int64[m] codes of their sources, from 0 to S - 1; human: float64[n] of all segments;
    first: int64[S] a segment of each source.
    """

    kind: Coefficient
    human: Floats
    rows: Ints
    source: Ints
    first: Ints

    @classmethod
    def from_codes(cls, kind: Coefficient, human: Floats, items: Ints, clusters: Ints) -> Self:
        """Of n segments, by int64[n] codes of their sources (items) and clusters, each from 0 on without gaps."""
        sizes = np.bincount(items, minlength=1)
        lowest_cluster = np.full(len(sizes), len(items))
        highest_cluster = np.full(len(sizes), -1)
        np.minimum.at(lowest_cluster, items, clusters)
        np.maximum.at(highest_cluster, items, clusters)
        in_one_cluster = lowest_cluster == highest_cluster
        usable = (sizes > 1) & in_one_cluster
        rows = np.flatnonzero(usable[items])
        _, first = np.unique(items[rows], return_index=True)
        # numbered anew, as sources were left out
        source = codes(items[rows])
        return cls(kind=kind, human=human, rows=rows, source=source, first=rows[first])

    def correlations(self, columns: Floats, counts: Floats) -> Floats:
        """float64[K, R] PDP of float64[n, K] scores; counts: float64[S, R] how often each source counts.

        From the sums of each source: of n values x and y the differences of all pairs have the sum of products
        n * sum(xy) - sum(x) * sum(y). NaN if all differences of one side are 0, and for a column that is not finite.
        """
        human_left = self._less_source_mean(self.human)
        human_squares = self._sums_of_products(human_left, human_left) @ counts
        correlations = np.full((columns.shape[1], counts.shape[1]), np.nan)
        for place, column in enumerate(columns.T):
            if not np.isfinite(column).all():
                continue
            left = self._less_source_mean(column)
            products = self._sums_of_products(left, human_left) @ counts
            squares = self._sums_of_products(left, left) @ counts
            correlations[place] = ratio(products, np.sqrt(squares * human_squares))
        return correlations

    def _less_source_mean(self, values: Floats) -> Floats:
        """float64[m] values, or their ranks, minus the mean of their source, which keeps all differences."""
        if self.kind != "pearson":
            values = average_ranks(values)
        used = below_one(values[self.rows])
        sums = np.bincount(self.source, used)
        means = sums / np.bincount(self.source)
        return used - means[self.source]

    def _sums_of_products(self, left: Floats, right: Floats) -> Floats:
        """float64[S] the sum over all pairs of outputs of a source of the product of their differences.

        left, right: as `_less_source_mean` gives them: the sums of each source are 0, which leaves n * sum(xy).
        """
        size = np.bincount(self.source, minlength=number_of(self.source))
        products = np.bincount(self.source, left * right, len(size))
        return np.asarray(size * products)


def pairwise_correlations(
    scores: ArrayLike,
    human: ArrayLike,
    items: ArrayLike,
    clusters: ArrayLike | None = None,
    resamples: int = 0,
    seed: int = 0,
) -> list[Grouped]:
    """Correlate pairwise differences between translations of the same source (PDP).

    PDP is Pearson's r between differences in metric score and differences in human score, over all pairs of outputs
    for one source (DiIanni and Deutsch 2025, arXiv 2509.25546). The difficulty of a source cancels.

    Args:
        scores: float64[N, K], scores of K metrics, or float64[N] of one. A segment with NaN in any column is ignored.
        human: float64[N], human scores; segments with NaN are ignored.
        items: N labels of the sources. A source with one output has no pair.
        clusters: N labels of segments that are resampled together: the sources, or larger clusters. A source across
            several clusters is undefined; without labels, that is every source.
        resamples: Number of bootstrap resamples of clusters. 0 computes no interval.
        seed: Seed of the resampling.

    Returns:
        list[Grouped]: One per column of `scores`: PDP with its 95 % interval. `n_groups` counts sources,
            `n_undefined` those without a pair.

    Raises:
        ValueError: The arrays differ in length.

    Example:
        >>> from bmx_grid.measures import pairwise_correlations
        >>> source = ["a", "a", "b", "b", "c"]
        >>> [pdp] = pairwise_correlations([1, 3, 7, 8, 2], [10, 30, 50, 60, 0], source, clusters=source)
        >>> round(pdp.value, 3), pdp.n_groups, pdp.n_undefined
        (1.0, 3, 1)
    """
    scores, human, items, clusters = grouped_columns(scores, human, items, clusters)
    used = np.isfinite(scores).all(axis=1) & np.isfinite(human)
    scores = scores[used]
    human = human[used]
    items = codes(items[used])
    clusters = codes(clusters[used])
    sources = PairedSources.from_codes("pearson", human, items, clusters)
    n_sources = number_of(items)
    n_paired = len(sources.first)
    once = np.ones((n_paired, 1))
    values = sources.correlations(scores, once)[:, 0]
    cluster = codes(clusters[sources.first])
    n_clusters = number_of(cluster)
    samples = np.empty((scores.shape[1], 0))
    if resamples and n_clusters:
        draws = seeded_draws(n_clusters, resamples, seed, n_paired)
        blocks = [sources.correlations(scores, drawn[cluster]) for drawn in draws]
        samples = np.concatenate(blocks, axis=1)
    rows = []
    for value, resampled in zip(values, samples, strict=True):
        low, high = interval(resampled, n_clusters)
        rows.append(Grouped(float(value), low, high, n_sources, n_sources - n_paired, len(human)))
    return rows
