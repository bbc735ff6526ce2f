"""Weights by agreement: each column of scores counts by its correlation with all the others (DATScore, eq. 3).

The paper does not say how the weights are scaled. Here they are divided by their sum, so that they add up to 1.
Correlations below 0 stay as they are. Two cases are caught and said: a sum that is not above 0 (dividing by it would
reverse the ranking), and a column without a correlation, because it is constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.errors import ConfigError
from bmx_grid.measures.aggregation import weighted_sum
from bmx_grid.measures.correlation import FEWEST, pearson

Floats = NDArray[np.float64]
_NOTHING = 1e-9  # of the sum of absolute weights: a sum below is rounding


@dataclass(frozen=True, eq=False)
class Agreement:
    """Weights of k columns, and what they were made of.

    weights: float64[k]. correlations: float64[k, k], NaN where undefined and on the diagonal. rows: how many rows had
    all columns. notes: a sentence for each thing that was caught.
    """

    weights: Floats
    correlations: Floats
    rows: int
    notes: tuple[str, ...] = ()


def one_vs_rest(columns: Floats, names: Sequence[str]) -> Agreement:
    """Weights of float64[n, k] scores: w_i = sum over j != i of Pearson's r of columns i and j, divided by their sum.

    Rows with a NaN are left out. A constant column has weight 0 and takes no part in the others' sums. Where the sum of
    the weights is not above 0 they are divided by the sum of their absolute values instead. One column has weight 1.
    Raises ConfigError with fewer than 3 rows, or where no weight differs from 0.
    """
    count = columns.shape[1]
    used = columns[np.isfinite(columns).all(axis=1)]
    if count == 1:
        return Agreement(np.ones(1), np.full((1, 1), np.nan), len(used))
    if len(used) < FEWEST:
        raise ConfigError(
            f"weights=one_vs_rest needs correlations over at least {FEWEST} segments with all scores, and there are "
            f"{len(used)}: evaluate more segments, or write weights=equal."
        )
    found = np.full((count, count), np.nan)
    for one in range(count):
        for other in range(one):
            found[one, other] = found[other, one] = pearson(used[:, one], used[:, other])
    weights = np.nansum(found, axis=1)
    notes = []
    constant = [name for name, column in zip(names, used.T, strict=True) if not np.ptp(column) > 0]
    if constant:
        notes.append(f"{', '.join(constant)}: the same score for all {len(used)} segments, so no correlation: weight 0")
    size = float(np.abs(weights).sum())
    if not size > 0:
        raise ConfigError(
            f"weights=one_vs_rest: the scores {', '.join(names)} do not correlate with each other at all, so that no "
            "weight differs from 0; write weights=equal."
        )
    total = float(weights.sum())
    negative = [f"{name} ({weight:.3f})" for name, weight in zip(names, weights, strict=True) if weight < 0]
    if negative:
        notes.append(f"correlate negatively with the rest, and count so: {', '.join(negative)}")
    if total > _NOTHING * size:
        return Agreement(weights / total, found, len(used), tuple(notes))
    notes.append(
        f"the weights sum to {total:.3f}; dividing by that would reverse the ranking, so they are divided by the sum "
        "of their absolute values"
    )
    return Agreement(weights / size, found, len(used), tuple(notes))


def weighted(columns: Floats, weights: Floats) -> Floats:
    """float64[n] sums of weight x score of float64[n, k] columns; one of weight 0 has no say, even where it is NaN."""
    used = weights != 0
    return weighted_sum(np.zeros(len(columns)), 0.0, columns[:, used], weights[used].tolist())
