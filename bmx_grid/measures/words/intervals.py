"""Measures of words with intervals: texts, or clusters of texts, drawn with replacement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bmx_grid.measures.resampling import codes, interval, resampled_sums, sums_by
from bmx_grid.measures.systems import by_mean, mean
from bmx_grid.measures.words.labels import MEASURES, measures

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class WordMeasure:
    """A measure with its interval.

    value: on all texts; low, high: of the bootstrap, NaN with fewer than 3 clusters or where most resamples have no
    value. n_segments: texts that count; n_left_out: texts without a value; clusters: that the counting texts are in.
    """

    value: float
    low: float
    high: float
    n_segments: int
    n_left_out: int
    clusters: int


def mean_over_segments(
    values: Floats, cluster: ArrayLike | None = None, *, resamples: int = 1000, seed: int = 0
) -> WordMeasure:
    """The mean of float64[N] values of N texts, NaN being left out: AUC, average precision and recall at top K.

    cluster: N labels of texts that are not independent of each other; each text is its own without. The interval is
    that of `resampling.interval` over whole clusters drawn with replacement.
    Raises ValueError for arrays of different lengths.
    """

    def means(sums: Floats) -> Floats:
        return mean(sums)[..., None]

    return _measures(means, by_mean(values), ~np.isnan(values), cluster, resamples, seed)[0]


def label_measures(
    statistics: Floats, cluster: ArrayLike | None = None, *, resamples: int = 1000, seed: int = 0
) -> dict[str, WordMeasure]:
    """All MEASURES of a labelling with their intervals, from `labels.statistics` float64[N, 18]; as above.

    Texts without words are left out.
    """
    found = _measures(measures, statistics, statistics[:, -2] > 0, cluster, resamples, seed)
    return dict(zip(MEASURES, found, strict=True))


def _measures(
    compute: Callable[[Floats], Floats],
    terms: Floats,
    used: NDArray[np.bool_],
    cluster: ArrayLike | None,
    resamples: int,
    seed: int,
) -> list[WordMeasure]:
    """The m measures that `compute` makes of sums over texts, float64[..., k] -> float64[..., m]."""
    labels = np.arange(len(terms)) if cluster is None else np.asarray(cluster)
    if len(labels) != len(terms):
        raise ValueError(f"{len(labels)} clusters but {len(terms)} texts")
    sums, n = sums_by(codes(labels[used]), terms[used]), int(used.sum())
    samples = resampled_sums(compute, sums, resamples, seed)
    return [
        WordMeasure(float(value), *interval(column, len(sums)), n, len(terms) - n, len(sums))
        for value, column in zip(compute(sums.sum(axis=0)), samples.T, strict=True)
    ]
