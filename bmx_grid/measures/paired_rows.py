"""Two metrics' scores of the same rows, resampled together: units drawn with replacement, or swapped between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bmx_grid.measures.correlation import Kind, correlate
from bmx_grid.measures.resampling import (
    blocks,
    codes,
    draws,
    every_draw,
    every_swap,
    number_of,
    pair_columns,
    pearson_of_sums,
    swaps,
    weighted_correlation,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Unit = Literal["inputs", "systems", "both", "single"]
# scores, human scores, system and item codes, one per row, to the statistic; NaN where it is undefined
Statistic = Callable[[Floats, Floats, Ints, Ints], float]


@dataclass(frozen=True, eq=False)
class PairedRows:
    """The used rows of two metrics. Made by `of`, which leaves out rows with anything that is not finite.

    x, y: float64[N] scores, standardised; human: float64[N]; cluster, system, item: int[N] codes from 0 on; clusters,
    systems: how many there are, 0 systems where none were given.
    """

    x: Floats
    y: Floats
    human: Floats
    cluster: Ints
    system: Ints
    item: Ints
    clusters: int
    systems: int

    @classmethod
    def of(
        cls,
        x: ArrayLike,
        y: ArrayLike,
        human: ArrayLike,
        cluster: ArrayLike | None,
        system: ArrayLike | None,
        item: ArrayLike | None,
    ) -> PairedRows:
        arrays = [np.asarray(values, dtype=np.float64) for values in (x, y, human)]
        shape = arrays[0].shape
        units = np.arange(arrays[0].size) if cluster is None else np.asarray(cluster)
        labels = [units, np.zeros(shape) if system is None else np.asarray(system)]
        labels.append(units if item is None else np.asarray(item))
        if len(shape) != 1 or any(array.shape != shape for array in (*arrays, *labels)):
            shapes = ", ".join(str(array.shape) for array in (*arrays, *labels))
            raise ValueError(f"scores, human scores and labels must be arrays of one length, not of shapes {shapes}")
        used = np.isfinite(arrays).all(axis=0)
        left, right, judged = (array[used] for array in arrays)
        unit, group, translated = (codes(label[used]) for label in labels)
        return cls(
            x=_standardised(left),
            y=_standardised(right),
            human=judged,
            cluster=unit,
            system=group,
            item=translated,
            clusters=number_of(unit),
            systems=0 if system is None else number_of(group),
        )

    def statistic(self, statistic: Kind | Statistic, scores: Floats) -> float:
        if not isinstance(statistic, str):
            return float(statistic(scores, self.human, self.system, self.item)) if len(scores) else float("nan")
        return correlate(statistic, scores, self.human)

    def bootstrapped(
        self, statistic: Kind | Statistic, unit: Unit, resamples: int, rng: np.random.Generator | None
    ) -> Floats:
        """float64[R] differences of resamples; all of them without a generator."""
        found = []
        for of_cluster, of_system in self._designs(unit, resamples, rng, draws, every_draw):
            if not isinstance(statistic, str):
                found.append(self._looped_draws(statistic, of_cluster, of_system))
                continue
            if statistic == "pearson" and unit != "both":
                found.append(self._pearson_draws(unit, of_cluster, of_system))
                continue
            weights = of_cluster[:, self.cluster] * of_system[:, self.system]
            left, right = (weighted_correlation(statistic, scores, self.human, weights) for scores in (self.x, self.y))
            found.append(left - right)
        return np.concatenate(found)

    def permuted(
        self, statistic: Kind | Statistic, unit: Unit, resamples: int, rng: np.random.Generator | None
    ) -> Floats:
        """float64[R] differences after swaps; all of them without a generator."""
        found = []
        pooled, human = np.concatenate([self.x, self.y]), np.tile(self.human, 2)
        for of_cluster, of_system in self._designs(unit, resamples, rng, swaps, every_swap):
            if statistic == "pearson" and unit != "both":
                found.append(self._pearson_swaps(unit, of_cluster, of_system))
                continue
            per_row = of_cluster if unit == "single" else of_cluster[:, self.cluster]
            swapped = (per_row + of_system[:, self.system]) % 2
            if not isinstance(statistic, str):
                pairs = [(np.where(row, self.y, self.x), np.where(row, self.x, self.y)) for row in swapped > 0]
                found.append(np.array([self.statistic(statistic, a) - self.statistic(statistic, b) for a, b in pairs]))
                continue
            kept = np.concatenate([1 - swapped, swapped], axis=1)
            other = np.concatenate([swapped, 1 - swapped], axis=1)
            left, right = (weighted_correlation(statistic, pooled, human, weights) for weights in (kept, other))
            found.append(left - right)
        return np.concatenate(found)

    def _pearson_draws(self, unit: Unit, of_cluster: Floats, of_system: Floats) -> Floats:
        """`weighted_correlation` of both metrics, from sums over each unit instead of over rows."""
        of, times = (self.system, of_system) if unit == "systems" else (self.cluster, of_cluster)
        left, right = (
            pearson_of_sums(times @ _unit_sums(pair_columns(scores, self._centred), of)) for scores in (self.x, self.y)
        )
        for row in np.flatnonzero(np.isnan(left - right)):
            weights = times[row : row + 1, of]
            left[row] = weighted_correlation("pearson", self.x, self.human, weights)[0]
            right[row] = weighted_correlation("pearson", self.y, self.human, weights)[0]
        return left - right

    def _pearson_swaps(self, unit: Unit, of_cluster: Floats, of_system: Floats) -> Floats:
        """Swaps change the sums of one metric by as much as those of the other, by what the swapped units differ."""
        rows = np.arange(len(self.human))
        of = {"systems": self.system, "inputs": self.cluster}.get(unit, rows)
        swapped = of_system if unit == "systems" else of_cluster
        columns = [pair_columns(scores, self._centred) for scores in (self.x, self.y)]
        moved = swapped @ _unit_sums(columns[1] - columns[0], of)
        left, right = (
            pearson_of_sums(found) for found in (columns[0].sum(axis=0) + moved, columns[1].sum(axis=0) - moved)
        )
        for row in np.flatnonzero(np.isnan(left - right)):
            swap = swapped[row, of] > 0
            left[row] = correlate("pearson", np.where(swap, self.y, self.x), self.human)
            right[row] = correlate("pearson", np.where(swap, self.x, self.y), self.human)
        return left - right

    @property
    def _centred(self) -> Floats:
        centred: Floats = self.human - self.human.mean()
        return centred

    def _designs(
        self,
        unit: Unit,
        resamples: int,
        rng: np.random.Generator | None,
        drawn: Callable[[np.random.Generator, int, int], Floats],
        enumerated: Callable[[int], Floats],
    ) -> Iterator[tuple[Floats, Floats]]:
        """Weights per cluster float64[R, C] and per system float64[R, S], of a block of resamples at a time.

        What a unit leaves alone has the weight 1 for draws and 0 for swaps. For swaps of single scores the first are
        per row.
        """
        swapping = drawn is swaps
        rest = 0.0 if swapping else 1.0
        clusters = len(self.human) if unit == "single" and swapping else self.clusters
        systems = max(self.systems, 1)
        use = (unit != "systems", unit in ("systems", "both"))
        if rng is None:
            every = [enumerated(clusters) if use[0] else np.full((1, clusters), rest)]
            every.append(enumerated(systems) if use[1] else np.full((1, systems), rest))
            for row in every[1]:
                yield every[0], np.tile(row, (len(every[0]), 1))
            return
        generators = rng.spawn(2)
        for size in blocks(resamples, 2 * len(self.human) if swapping else len(self.human)):
            of_cluster = drawn(generators[0], clusters, size) if use[0] else np.full((size, clusters), rest)
            of_system = drawn(generators[1], systems, size) if use[1] else np.full((size, systems), rest)
            yield of_cluster, of_system

    def _looped_draws(self, statistic: Statistic, of_cluster: Floats, of_system: Floats) -> Floats:
        """The differences of resampled rows, in which a unit that is drawn twice stands twice, under two codes."""
        found = np.empty(len(of_cluster))
        for place, (items, systems) in enumerate(zip(of_cluster, of_system, strict=True)):
            copies = systems[self.system].astype(np.int64)
            times = items[self.cluster].astype(np.int64) * copies
            rows = np.repeat(np.arange(len(times)), times)
            copy = np.arange(len(rows)) - np.repeat(np.cumsum(times) - times, times)
            of_item, of_row = np.divmod(copy, copies[rows])
            item = codes(self.item[rows] * int(items.max()) + of_item)
            system = codes(self.system[rows] * int(systems.max()) + of_row)
            given = self.human[rows], system, item
            left, right = float(statistic(self.x[rows], *given)), float(statistic(self.y[rows], *given))
            found[place] = left - right
        return found


def _unit_sums(columns: Floats, unit: Ints) -> Floats:
    """float64[U, K] sums of float64[N, K] over the rows of each unit."""
    sums: Floats = np.stack([np.bincount(unit, column) for column in columns.T], axis=1)
    return sums


def _standardised(scores: Floats) -> Floats:
    """Less their mean, over their standard deviation; only less their mean when they are constant."""
    if not len(scores):
        return scores
    left: Floats = scores - scores.mean()
    if not (scores == scores[0]).all():
        left /= left.std()
    return left
