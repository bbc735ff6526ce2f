"""Measures of words with intervals: texts, or clusters of texts, drawn with replacement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bmx_grid.measures.resampling import FEWEST_CLUSTERS, bounds, codes, interval_levels, number_of, seeded_draws
from bmx_grid.measures.words.labels import MEASURES, measures

Floats = NDArray[np.float64]
Compute = Callable[[Floats], Floats]


@dataclass(frozen=True)
class WordMeasure:
    """A measure with its interval.

    value: on all texts; low, high: of the bootstrap, NaN with fewer than 3 clusters or where most resamples have no
    value. n_segments: texts that count; n_left_out: texts without a value; clusters: that the counting texts are in;
    undefined: resamples without a value.
    """

    value: float
    low: float
    high: float
    n_segments: int
    n_left_out: int
    clusters: int
    undefined: int


def mean_over_segments(
    values: Floats, cluster: ArrayLike | None = None, *, resamples: int = 1000, seed: int = 0, confidence: float = 0.95
) -> WordMeasure:
    """The mean of float64[N] values of N texts, NaN being left out: AUC, average precision and recall at top K.

    cluster: N labels of texts that are not independent of each other; each text is its own without. The interval is
    the expanded percentile interval (`resampling.interval_levels`) over whole clusters drawn with replacement.
    Raises ValueError for arrays of different lengths.
    """
    defined = ~np.isnan(values)
    group = _clusters(len(values), cluster)[defined]
    used = values[defined]
    found = _bootstrap(np.stack([used, np.ones_like(used)], axis=1), group, _mean, resamples, seed, confidence)
    return _measure(found, 0, len(used), len(values) - len(used))


def label_measures(
    statistics: Floats,
    cluster: ArrayLike | None = None,
    *,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> dict[str, WordMeasure]:
    """All MEASURES of a labelling with their intervals, from `labels.statistics` float64[N, 18]; as above.

    Texts without words are left out.
    """
    filled = statistics[:, -2] > 0
    group = _clusters(len(statistics), cluster)[filled]
    found = _bootstrap(statistics[filled], group, measures, resamples, seed, confidence)
    used = int(filled.sum())
    return {name: _measure(found, place, used, len(filled) - used) for place, name in enumerate(MEASURES)}


@dataclass(frozen=True, eq=False)
class _Found:
    value: Floats
    low: Floats
    high: Floats
    undefined: NDArray[np.int64]
    clusters: int


def _bootstrap(
    columns: Floats, group: NDArray[np.int64], compute: Compute, resamples: int, seed: int, confidence: float
) -> _Found:
    """The measures that `compute` makes of sums of float64[M, K] columns, on all texts and on resamples of clusters."""
    group = codes(group)
    clusters = number_of(group)
    value = compute(columns.sum(axis=0))
    nothing = np.full(value.shape, np.nan)
    if clusters < FEWEST_CLUSTERS or resamples < 1:
        return _Found(value, nothing, nothing, np.zeros(value.shape, dtype=np.int64), clusters)
    sums = np.stack([np.bincount(group, column, minlength=clusters) for column in columns.T], axis=1)
    samples = np.concatenate([compute(times.T @ sums) for times in seeded_draws(clusters, resamples, seed)])
    low, high = bounds(np.ascontiguousarray(samples.T), interval_levels(confidence, clusters))
    return _Found(value, low, high, np.isnan(samples).sum(axis=0), clusters)


def _mean(sums: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = sums[..., :1] / sums[..., 1:]
    return found


def _measure(found: _Found, place: int, used: int, left_out: int) -> WordMeasure:
    value, low, high = (float(values[place]) for values in (found.value, found.low, found.high))
    return WordMeasure(value, low, high, used, left_out, found.clusters, int(found.undefined[place]))


def _clusters(count: int, cluster: ArrayLike | None) -> NDArray[np.int64]:
    group = codes(np.arange(count) if cluster is None else cluster)
    if len(group) != count:
        raise ValueError(f"{len(group)} clusters but {count} texts")
    return group
