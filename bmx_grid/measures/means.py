"""The means of segments for every power: held as one array, or made in parts if they are too many."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from bmx_grid.core.ragged import Flags, Floats, Ints, Ragged, expand_rows, take_rows
from bmx_grid.measures.aggregation import Aggregation
from bmx_grid.measures.correlation import Kind, correlate_grid
from bmx_grid.measures.ordered import merge_near_equal
from bmx_grid.measures.resampling import fitting, ranges

HELD_CELLS = 2**26  # segments x p of the largest setting whose means are held as a whole: 512 MiB
PART_CELLS = 2**23  # segments x p of a larger one that are held at a time: 64 MiB, which are copied a few times
UNDEFINED = -1  # in place of the number of a row


def can_be_held(n_segments: int, n_powers: int) -> bool:
    """Whether the means of all powers are held at once."""
    return n_segments * n_powers <= HELD_CELLS


@dataclass(frozen=True, eq=False)
class MeansInParts:
    """float64[n, P] means that are too many to be held (4.8 GB for a million segments of the paper's 600 p).

    Those of one power or of a range, `means[:, 3]` or `means[:, 3:9]`, are made anew whenever they are read: see
    `column_blocks`.
    values: m rows of positive attributions. rows: int64[n] the row of `values` that each mean is of, UNDEFINED for a
    row of NaN; None for all m. joined: whether means that differ by their rounding are equal (`merge_near_equal`).
    """

    aggregation: Aggregation
    values: Ragged
    p: Floats
    rows: Ints | None = None
    joined: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """Segments and powers."""
        n = len(self.values) if self.rows is None else len(self.rows)
        return n, len(self.p)

    def __getitem__(self, places: tuple[slice, slice | int]) -> Floats:
        rows, powers = places
        means = self.aggregation.aggregate(self.values, np.atleast_1d(self.p[powers]))
        if self.joined:
            means = merge_near_equal(means)
        if self.rows is not None:
            means = means[self.rows]
            means[self.rows == UNDEFINED] = np.nan
        means = means[rows]
        return means if isinstance(powers, slice) else means[:, 0]

    @property
    def _rows_of_values(self) -> Ints:
        """`rows`, also of all."""
        return np.arange(len(self.values)) if self.rows is None else self.rows

    @cached_property
    def finite_rows(self) -> Flags:
        """bool[n] the rows whose means are finite for every power."""
        defined = np.ones(self.shape[0], dtype=np.bool_)
        for _, means in column_blocks(self):
            defined &= np.isfinite(means).all(axis=1)
        return defined

    def take(self, rows: Flags | Ints) -> MeansInParts:
        """The means of some rows, bit for bit."""
        taken = self._rows_of_values[rows]
        everything = np.array_equal(taken, np.arange(len(self.values)))
        return replace(self, rows=None if everything else taken)

    def merge_near_equal(self) -> MeansInParts:
        """The same rows; means of defined ones that differ by their rounding are equal."""
        defined = self.finite_rows
        known = self._rows_of_values
        # Rows that are left out must not be joined with others.
        keep = np.zeros(len(self.values), dtype=np.bool_)
        keep[known[defined]] = True
        place = np.cumsum(keep) - 1
        rows = np.where(defined, place[known], UNDEFINED)
        return MeansInParts(self.aggregation, take_rows(self.values, keep), self.p, rows, joined=True)


Means = Floats | MeansInParts


def means_in_their_rows(aggregation: Aggregation, usable: Ragged, p: Floats, keep: Flags) -> Means:
    """float64[N, P] means of the rows where bool[N] `keep` is true, NaN in the others; in parts if they are many.

    usable: the rows of positive attributions where `keep` is true.
    """
    if can_be_held(len(keep), len(p)):
        return expand_rows(aggregation.aggregate(usable, p), keep)
    return MeansInParts(aggregation, usable, p, np.where(keep, np.cumsum(keep) - 1, UNDEFINED))


def defined_means(means: Means) -> Flags:
    """bool[n] the rows whose means are finite for every power."""
    return means.finite_rows if isinstance(means, MeansInParts) else np.asarray(np.isfinite(means).all(axis=1))


def take_means(means: Means, rows: Flags | Ints) -> Means:
    """The means of some rows."""
    return means.take(rows) if isinstance(means, MeansInParts) else means[rows]


def join_means(means: Means) -> Means:
    """The means, where those of one p that differ by their rounding are equal; NaN in rows without all of them."""
    if isinstance(means, MeansInParts):
        return means.merge_near_equal()
    defined = defined_means(means)
    joined = np.full_like(means, np.nan)
    joined[defined] = merge_near_equal(means[defined])
    return joined


def column_blocks(means: Means, most: int | None = None) -> Iterator[tuple[slice, Floats]]:
    """The places of at most `most` powers and float64[n, powers] their means, until all powers were yielded."""
    n, n_powers = means.shape
    at_once = n_powers if isinstance(means, np.ndarray) else fitting(PART_CELLS, n)
    for part in ranges(n_powers, at_once):
        held = means[:, part]
        for inside in ranges(held.shape[1], most or n_powers):
            yield slice(part.start + inside.start, part.start + inside.stop), held[:, inside]


def correlate_means(kind: Kind, means: Means, base: Floats, human: Floats, w: ArrayLike) -> Floats:
    """float64[P, W] as `correlation.correlate_grid`, of means that may be held in parts."""
    parts = [correlate_grid(kind, block, base, human, w) for _, block in column_blocks(means)]
    return np.concatenate(parts)
