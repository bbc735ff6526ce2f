"""Which average of at most three scores correlates best with human scores, of all averages that there are.

Pearson's r of an average follows from the covariances of its scores, so that m scores have their m^3 / 6 averages
judged in a few array operations. Ranks of an average follow from nothing but the average.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.measures.correlation import CANCELLED, TIE, Kind, correlate, unit


@dataclass(frozen=True, eq=False)
class BestAverages:
    """The averages within rounding of the highest mean correlation, by their number of scores.

    members: int64[a, size] the scores of each average, ascending; correlations: float64[a].
    """

    members: tuple[Ints, ...]
    correlations: tuple[Floats, ...]


def best_averages(kind: Kind, tables: Sequence[Floats], human: Sequence[Floats]) -> BestAverages:
    """The best averages of one to three of m scores, by the mean of their correlations on some parts.

    tables: of each part float64[n, m] scores, standardised, finite; human: float64[n], neither constant nor of fewer
    than three. An average whose correlation is undefined on a part is not a best one.
    """
    blocks = list(_subsets(tables[0].shape[1]))
    sums = [np.zeros(len(members)) for members in blocks]
    for table, human_scores in zip(tables, human, strict=True):
        moments = _Moments(table, human_scores) if kind == "pearson" else None
        for members, total in zip(blocks, sums, strict=True):
            if moments is not None:
                total += moments.correlations(members)
                continue
            for place, subset in enumerate(members):
                total[place] += correlate(kind, table[:, subset].mean(axis=1), human_scores)
    means = [np.where(np.isnan(total), -np.inf, total / len(tables)) for total in sums]
    highest = max((block.max(initial=-np.inf) for block in means), default=-np.inf)
    by_size: dict[int, list[tuple[Ints, Floats]]] = {}
    for members, correlations in zip(blocks, means, strict=True):
        best = np.isfinite(correlations) & (correlations >= highest - TIE)
        if best.any():
            by_size.setdefault(members.shape[1], []).append((members[best], correlations[best]))
    found_members = []
    found_correlations = []
    for found in by_size.values():
        found_members.append(np.concatenate([members for members, _ in found]))
        found_correlations.append(np.concatenate([correlations for _, correlations in found]))
    return BestAverages(tuple(found_members), tuple(found_correlations))


def _subsets(m: int) -> Iterator[Ints]:
    """The sets of one, two and three of m scores, int64[s, size] each; those of three in blocks of one first score."""
    places = np.arange(m)
    yield places[:, None]
    pairs = np.column_stack(np.triu_indices(m, 1))
    yield pairs
    for first in range(m - 2):
        others = pairs[pairs[:, 0] > first]
        yield np.column_stack([np.full(len(others), first), others])


class _Moments:
    """The covariances of m scores on n segments, for Pearson's r of their averages with human scores."""

    def __init__(self, table: Floats, human: Floats) -> None:
        self.table = table
        self.human = human
        # A constant column has rounding for deviations from its mean.
        varies = np.ptp(table, axis=0) > 0
        centred = np.where(varies, table - table.mean(axis=0), 0.0)
        self.with_human = unit(human) @ centred
        self.covariances = centred.T @ centred

    def correlations(self, members: Any) -> Floats:
        """float64[s] of the averages of int64[s, size] scores, to some 1e-15; NaN if undefined."""
        covariance = self.with_human[members].sum(axis=1)
        alone = self.covariances.diagonal()[members].sum(axis=1)
        variance = alone.copy()
        size = members.shape[1]
        for left in range(size):
            for right in range(left + 1, size):
                variance += 2 * self.covariances[members[:, left], members[:, right]]
        # Scores that cancel leave few digits of the variance: these averages are correlated themselves.
        lost = ~(variance > CANCELLED * alone)
        variance[lost] = 1.0
        correlations = np.clip(covariance / np.sqrt(variance), -1.0, 1.0)
        for place in np.flatnonzero(lost):
            average = self.table[:, members[place]].mean(axis=1)
            correlations[place] = correlate("pearson", average, self.human)
        return np.asarray(correlations)
