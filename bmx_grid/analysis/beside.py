"""Quantities of settings with their intervals, means of them, and gains with other seeds of an explainer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bmx_grid.analysis.gains import Clusters
from bmx_grid.analysis.given import Given
from bmx_grid.analysis.table import Flags, Floats, GridTable, Setting
from bmx_grid.analysis.tested import Rows, by_point
from bmx_grid.measures.cluster_means import cluster_mean
from bmx_grid.wording import with_interval


@dataclass(frozen=True, eq=False)
class Values:
    """A quantity of S settings, float64[S], with its interval on each; NaN where it is not known."""

    value: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, rows: Rows, keys: Sequence[tuple[str, Setting]], names: tuple[str, str, str]) -> Values:
        """The numbers of these names in the rows with these keys."""
        found = [rows.get(key) for key in keys]
        return cls(*(np.array([_number(row, name) for row in found], dtype=np.float64) for name in names))

    def take(self, keep: Flags) -> Values:
        """The settings where `keep`, bool[S], is true."""
        return Values(self.value[keep], self.low[keep], self.high[keep])


@dataclass(frozen=True)
class Reached:
    """A gain with its interval."""

    gain: float
    low: float
    high: float

    def in_words(self, form: str) -> str:
        """Such as "+0.004 [-0.012, +0.018]"."""
        return with_interval(self.gain, self.low, self.high, form)


@dataclass(frozen=True)
class MeanGain:
    """The mean of a gain over the n settings where it is defined, NaN without one; undefined: how many others.

    low, high: 95 % interval; of several settings over clusters, a data set and language pair each
    (`measures.cluster_means`), NaN with fewer than 3; of a single setting its own, by a bootstrap of clusters of
    segments.
    """

    mean: float
    low: float
    high: float
    n: int
    undefined: int


def mean_gain(values: Values, clusters: Clusters, seed: int) -> MeanGain:
    """The mean of values of S settings, whose clusters are str[S] labels; seed: of the bootstrap."""
    defined = np.isfinite(values.value)
    found = cluster_mean(np.where(defined, values.value, np.nan), clusters, seed=seed)
    low, high = found.low, found.high
    if found.n == 1:
        low, high = float(values.low[defined][0]), float(values.high[defined][0])
    return MeanGain(found.mean, low, high, found.n, found.undefined)


def at_seeds(given: Given, real: GridTable, points: Sequence[str]) -> Floats:
    """float64[S, R] gains of the settings at these points with each of R seeds, NaN where not evaluated."""
    frame = given.frames.get("seeds")
    known = [] if frame is None else sorted(set(frame["seed"].tolist()))
    found = np.full((len(real), len(known)), np.nan)
    for at, seed in enumerate(known):
        rows = by_point(None if frame is None else frame[frame["seed"] == seed])
        for row, (point, setting) in enumerate(zip(points, real.settings, strict=True)):
            found[row, at] = _number(rows.get((point, setting)), "gain")
    return found


def _number(row: Mapping[str, object] | None, name: str) -> float:
    value = None if row is None else row.get(name)
    return math.nan if value is None else float(value)  # type: ignore[arg-type]
