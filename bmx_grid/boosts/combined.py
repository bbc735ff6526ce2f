"""The average of metrics, which needs no explanation: what a boost has to exceed where other metrics are at hand."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bmx_grid.boosts.base import Candidate, Floats, Part
from bmx_grid.boosts.feature_mix import within_sd
from bmx_grid.boosts.learned import Linear, read_linear
from bmx_grid.errors import ConfigError
from bmx_grid.measures.best import beats, first_within_rounding
from bmx_grid.measures.correlation import Kind, correlate

MOST = 3  # metrics in an average


@dataclass(frozen=True)
class Combined(Candidate):
    """The mean of the z scores of at most three of the metrics at hand, the best of all subsets.

    metrics: the names of the others; their scores are the features, higher is better. The metric of the base is one
    of those to choose from, and need not be chosen; alone it is "no boost". Of equal subsets the first counts, smaller
    ones before larger ones, in the order of the names with the own one first.
    Raises ConfigError for a name that repeats.
    """

    metrics: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(set(self.metrics)) < len(self.metrics):
            raise ConfigError(f"the metrics to average are named twice: {', '.join(self.metrics)}.")

    def names(self) -> tuple[str, ...]:
        return self.metrics

    def fit(self, kind: Kind, parts: Sequence[Part]) -> Linear:
        used = [one for one in parts if one.decides]
        alone = Linear.alone(self.metrics)
        if not used or not self.metrics:
            return alone
        columns = [np.column_stack([one.base, one.features]) for one in used]
        means = np.mean([one.mean(axis=0) for one in columns], axis=0)
        sds = np.array([within_sd([one[:, metric] for one in columns]) for metric in range(columns[0].shape[1])])
        subsets = [some for some in _subsets(len(sds)) if (sds[list(some)] > 0).all() and some != (0,)]
        if not (sds[0] > 0 and subsets):
            return alone
        gains = np.zeros(len(subsets))
        for one, raw in zip(used, columns, strict=True):
            standard = np.divide(raw - means, sds, out=np.zeros_like(raw), where=sds > 0)
            averages = np.column_stack([standard[:, list(some)].mean(axis=1) for some in subsets])
            gains += _correlations(kind, averages, one.human) - correlate(kind, one.base, one.human)
        gains /= len(used)
        best = int(first_within_rounding(gains[None, :, None])[0])
        if best < 0 or not beats(gains[best]):
            return alone
        chosen = subsets[best]
        share = float(sds[0]) / len(chosen)  # on the scale of the base
        weights = tuple(share if metric in chosen else 0.0 for metric in range(1, len(sds)))
        own = 1 / len(chosen) if 0 in chosen else 0.0
        spreads = tuple(float(sd) if sd > 0 else 1.0 for sd in sds[1:])
        return Linear(self.metrics, own, float(means[0]), weights, tuple(means[1:].tolist()), spreads)

    def restored(self, constants: Mapping[str, Any]) -> Linear:
        return read_linear(constants, self.metrics)


def _subsets(count: int) -> list[tuple[int, ...]]:
    sizes = range(1, min(MOST, count) + 1)
    return [some for size in sizes for some in itertools.combinations(range(count), size)]


def _correlations(kind: Kind, columns: Floats, human: Floats) -> Floats:
    return np.array([correlate(kind, column, human) for column in columns.T])
