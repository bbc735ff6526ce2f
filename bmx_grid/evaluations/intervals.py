"""Intervals of gains from resamples of whole clusters, the same resamples for everything that is compared."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bmx_grid.evaluations.base import Floats
from bmx_grid.evaluations.verdicts import CONFIDENCE, Estimate
from bmx_grid.measures.correlation import Kind
from bmx_grid.measures.resampling import (
    FEWEST_CLUSTERS,
    bounds,
    interval_levels,
    number_of,
    p_of_zero,
    seeded_draws,
    weighted_correlations,
)

K = TypeVar("K", bound=Hashable)


def resampled(
    kind: Kind, scores: Mapping[K, Floats], human: Floats, clusters: NDArray[np.int64], resamples: int, seed: int
) -> dict[K, Floats]:
    """float64[R] correlations of each score under resamples of whole clusters, the same ones for all; NaN undefined.

    scores: float64[n] each; clusters: int64[n] codes from 0. None with fewer than three clusters.
    """
    count = number_of(clusters)
    if count < FEWEST_CLUSTERS:
        return {}
    return under(kind, scores, human, (drawn[clusters] for drawn in seeded_draws(count, resamples, seed, len(human))))


def under(kind: Kind, scores: Mapping[K, Floats], human: Floats, times: Iterator[Floats]) -> dict[K, Floats]:
    """float64[R] correlations of each score under blocks float64[n, R'] of how often a segment counts.

    NaN for scores that are not all defined.
    """
    known = {key: values for key, values in scores.items() if np.isfinite(values).all()}
    columns = np.column_stack(list(known.values())) if known else np.empty((len(human), 0))
    parts = [weighted_correlations(kind, columns, human, weights) for weights in times]
    nothing = np.full(sum(part.shape[1] for part in parts), np.nan)
    found = dict(zip(known, np.concatenate(parts, axis=1), strict=True)) if parts else {}
    return {key: found.get(key, nothing) for key in scores}


def over_draws(samples: Floats, seed: int) -> Floats:
    """float64[R] means of float64[D, R] over D draws, drawn with replacement in each resample as its clusters are."""
    count, resamples = samples.shape
    picked = np.random.default_rng([seed, count]).integers(0, count, size=(count, resamples))
    found: Floats = np.take_along_axis(samples, picked, axis=0).mean(axis=0)
    return found


def estimate(value: float, samples: Floats, clusters: int) -> Estimate:
    """With the 95 % interval and the p value of the samples, R resamples of so many clusters."""
    low, high = bounds(samples, interval_levels(CONFIDENCE, clusters))
    return Estimate(value, float(low), float(high), p_of_zero(samples, clusters))
