"""Arrays of numbers and flags; ragged ones are flat with the offsets of their rows, as an Arrow list column."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Ragged:
    """N rows of different lengths, of numbers.

    values: float64[total]; offsets: int64[N + 1], row i is values[offsets[i]:offsets[i + 1]]. DTYPE: of the values.
    """

    DTYPE: ClassVar[type[np.generic]] = np.float64

    values: NDArray[Any]
    offsets: Ints

    @classmethod
    def from_rows(cls, rows: Iterable[ArrayLike]) -> Self:
        """Pack rows, in order."""
        kept: list[NDArray[Any]] = [np.asarray(row, dtype=cls.DTYPE) for row in rows]
        offsets = np.zeros(len(kept) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in kept], out=offsets[1:])
        return cls(np.concatenate(kept) if kept else np.empty(0, dtype=cls.DTYPE), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> NDArray[Any]:
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    @property
    def lengths(self) -> Ints:
        """int64[N] number of values per row."""
        return np.diff(self.offsets)

    def rows(self) -> list[NDArray[Any]]:
        """The N rows, as views."""
        return [self[row] for row in range(len(self))]


def rows_from(rows: Ragged, block: slice) -> Ragged:
    """Some rows that follow each other, as views."""
    first, last, _ = block.indices(len(rows))
    return Ragged(rows.values, rows.offsets[first : last + 1])


def concatenate_rows(left: Ragged, right: Ragged) -> Ragged:
    """Row by row: the values of `left`, then those of `right`."""
    if len(left) != len(right):
        raise ValueError(f"{len(left)} rows cannot be joined with {len(right)}")
    offsets = np.concatenate([[0], np.cumsum(left.lengths + right.lengths)])
    values = np.empty(offsets[-1])
    for side, starts in ((left, offsets[:-1]), (right, offsets[:-1] + left.lengths)):
        first = side.offsets[0]
        last = side.offsets[-1]
        # Every value moves by as much as the start of its row does.
        values[np.repeat(starts - side.offsets[:-1], side.lengths) + np.arange(first, last)] = side.values[first:last]
    return Ragged(values, offsets)


def defined_rows(rows: Ragged) -> Flags:
    """bool[N] which rows have a value, and finite ones only."""
    found = rows.lengths > 0
    inside = rows.values[rows.offsets[0] : rows.offsets[-1]]
    broken = np.flatnonzero(~np.isfinite(inside)) + rows.offsets[0]
    # The row of a value is the last one that starts at or before it.
    found[np.searchsorted(rows.offsets, broken, side="right") - 1] = False
    return found


def take_rows(rows: Ragged, keep: Flags) -> Ragged:
    """The rows where bool[N] `keep` is true, from offset 0."""
    inside = rows.values[rows.offsets[0] : rows.offsets[-1]]
    if keep.all():
        return Ragged(inside, rows.offsets - rows.offsets[0])
    return Ragged(inside[np.repeat(keep, rows.lengths)], np.concatenate([[0], np.cumsum(rows.lengths[keep])]))


def row_minimum(rows: Ragged) -> Floats:
    """float64[N] the lowest value of each row; infinity for an empty row, NaN where a value is NaN."""
    found = np.full(len(rows), np.inf)
    filled = np.flatnonzero(rows.lengths > 0)  # reduceat has no empty rows: it would take the next row's first value
    if len(filled) > 0:
        found[filled] = np.minimum.reduceat(rows.values[: rows.offsets[-1]], rows.offsets[filled])
    return found


class Labels(Ragged):
    """Labels of the words of N texts: true is BAD."""

    DTYPE = np.bool_

    @property
    def bad(self) -> Flags:
        """bool[total] the labels of all texts."""
        return self.values

    def row_of_word(self) -> Ints:
        """int64[total] the text that each word belongs to."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def same_words(self, other: Labels) -> bool:
        """Whether both label the same numbers of words."""
        return np.array_equal(self.offsets, other.offsets)


def sums_by_text(values: ArrayLike, text: Ints, count: int) -> Floats:
    """float64[count] the sum of the values of each text; text: the number of the text that each value belongs to."""
    return np.bincount(text, np.asarray(values, dtype=np.float64), minlength=count).astype(np.float64)
