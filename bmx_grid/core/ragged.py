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
    """N rows of numbers with different lengths, packed into one array.

    Attributes:
        values: float64[total], the values of all rows.
        offsets: int64[N + 1]; row i is `values[offsets[i]:offsets[i + 1]]`.
        DTYPE: Type of the values.

    Example:
        >>> from bmx_grid.measures import Ragged
        >>> rows = Ragged.from_rows([[0.1, 0.3], [], [0.5]])
        >>> len(rows), rows[0], rows.lengths
        (3, array([0.1, 0.3]), array([2, 0, 1]))
    """

    DTYPE: ClassVar[type[np.generic]] = np.float64

    values: NDArray[Any]
    offsets: Ints

    @classmethod
    def from_rows(cls, rows: Iterable[ArrayLike]) -> Self:
        """Pack rows, in order.

        Args:
            rows: N one-dimensional arrays or lists.

        Returns:
            Self: The packed rows.

        Example:
            >>> from bmx_grid.measures import Ragged
            >>> Ragged.from_rows([[0.1, 0.3], [0.5]]).offsets
            array([0, 2, 3])
        """
        arrays: list[NDArray[Any]] = [np.asarray(row, dtype=cls.DTYPE) for row in rows]
        lengths = [len(array) for array in arrays]
        offsets = np.zeros(len(arrays) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        # With an empty array: NumPy refuses to concatenate none.
        values = np.concatenate([np.empty(0, dtype=cls.DTYPE), *arrays])
        return cls(values, offsets)

    @classmethod
    def of(cls, rows: Any) -> Self:
        """Pack rows unless they are packed already.

        Args:
            rows: An object of this class, or N arrays or lists.

        Returns:
            Self: The packed rows.

        Example:
            >>> from bmx_grid.measures import Ragged
            >>> rows = Ragged.of([[0.1, 0.3], [0.5]])
            >>> Ragged.of(rows) is rows
            True
        """
        return rows if isinstance(rows, cls) else cls.from_rows(rows)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> NDArray[Any]:
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    @property
    def lengths(self) -> Ints:
        """int64[N], number of values per row."""
        return np.diff(self.offsets)

    def rows(self) -> list[NDArray[Any]]:
        """List the rows.

        Returns:
            list[float64[n]]: N views of `values`.

        Example:
            >>> from bmx_grid.measures import Ragged
            >>> Ragged.from_rows([[0.1, 0.3], [0.5]]).rows()
            [array([0.1, 0.3]), array([0.5])]
        """
        return [self[row] for row in range(len(self))]


def rows_from(rows: Ragged, block: slice) -> Ragged:
    """Some rows that follow each other, as views."""
    first, last, _ = block.indices(len(rows))
    return Ragged(rows.values, rows.offsets[first : last + 1])


def concatenate_rows(left: Ragged, right: Ragged) -> Ragged:
    """Row by row: the values of `left`, then those of `right`."""
    if len(left) != len(right):
        raise ValueError(f"{len(left)} rows cannot be joined with {len(right)}")
    lengths = left.lengths + right.lengths
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    values = np.empty(offsets[-1])
    starts_of_left = offsets[:-1]
    starts_of_right = offsets[:-1] + left.lengths
    for side, starts in ((left, starts_of_left), (right, starts_of_right)):
        first = side.offsets[0]
        last = side.offsets[-1]
        # Every value moves by as much as the start of its row does.
        row_moves = starts - side.offsets[:-1]
        places = np.arange(first, last) + np.repeat(row_moves, side.lengths)
        values[places] = side.values[first:last]
    return Ragged(values, offsets)


def defined_rows(rows: Ragged) -> Flags:
    """bool[N] which rows have a value, and finite ones only."""
    is_defined = rows.lengths > 0
    # Rows may cover a part of the values only: the rest does not count.
    first = rows.offsets[0]
    inside = rows.values[first : rows.offsets[-1]]
    undefined_values = np.flatnonzero(~np.isfinite(inside)) + first
    # The row of a value is the last one that starts at or before it.
    rows_of_values = np.searchsorted(rows.offsets, undefined_values, side="right") - 1
    is_defined[rows_of_values] = False
    return is_defined


def take_rows(rows: Ragged, keep: Flags) -> Ragged:
    """The rows where bool[N] `keep` is true, from offset 0."""
    first = rows.offsets[0]
    inside = rows.values[first : rows.offsets[-1]]
    if keep.all():  # no copy of the values
        return Ragged(inside, rows.offsets - first)
    lengths = rows.lengths
    kept_values = inside[np.repeat(keep, lengths)]
    offsets = np.concatenate([[0], np.cumsum(lengths[keep])])
    return Ragged(kept_values, offsets)


def expand_rows(values: Floats, keep: Flags) -> Floats:
    """float64[N, k] with `values` in the rows where bool[N] `keep` is true, and NaN in the others."""
    if keep.all():  # no copy: of the means of a grid there are gigabytes
        return values
    rows = np.full((len(keep), values.shape[1]), np.nan)
    rows[keep] = values
    return rows


def row_minimum(rows: Ragged) -> Floats:
    """float64[N] the lowest value of each row; infinity for an empty row, NaN for a row with NaN."""
    lowest = np.full(len(rows), np.inf)
    # `reduceat` has no empty rows: it would take the next row's first value.
    filled = np.flatnonzero(rows.lengths > 0)
    if len(filled) > 0:
        # Cut at the end of the last row, which `reduceat` would else take to the end of the values.
        values = rows.values[: rows.offsets[-1]]
        lowest[filled] = np.minimum.reduceat(values, rows.offsets[filled])
    return lowest


class Labels(Ragged):
    """Labels of the words of N texts; true is BAD, a translation error.

    Attributes:
        values: bool[total], the labels of all texts.
        offsets: int64[N + 1]; the labels of text i are `values[offsets[i]:offsets[i + 1]]`.
        bad: The same as `values`.
        DTYPE: Type of the values.

    Example:
        >>> from bmx_grid.measures import Labels
        >>> labels = Labels.of([[0, 1, 0], [1]])
        >>> labels.bad, labels.lengths
        (array([False,  True, False,  True]), array([3, 1]))
    """

    DTYPE = np.bool_

    @classmethod
    def of(cls, rows: Any) -> Self:
        """Pack labels unless they are packed already.

        Args:
            rows: `Labels`, or N lists with 1 or true for BAD and 0 or false for OK.

        Returns:
            Self: The packed labels.

        Raises:
            ValueError: A label is neither 0 nor 1, such as a text or a probability.

        Example:
            >>> from bmx_grid.measures import Labels
            >>> Labels.of([[0, 1], [True]]).offsets
            array([0, 2, 3])
        """
        if isinstance(rows, cls):
            return rows
        given = [np.asarray(row) for row in rows]
        for number, row in enumerate(given):
            # of numbers and texts any but 0 and "" would be true: "OK", too
            is_number = row.dtype.kind in "biuf"
            if len(row) and not (is_number and np.isin(row, (0, 1)).all()):
                raise ValueError(f"row {number} of labels is {row.tolist()!r:.60}: write 1 for BAD and 0 for OK")
        return cls.from_rows(given)

    @property
    def bad(self) -> Flags:
        """bool[total], the labels of all texts."""
        return self.values

    def row_of_word(self) -> Ints:
        """Find the text of each word.

        Returns:
            int64[total]: Number of the text, from 0.

        Example:
            >>> from bmx_grid.measures import Labels
            >>> Labels.of([[0, 1, 0], [1]]).row_of_word()
            array([0, 0, 0, 1])
        """
        return np.repeat(np.arange(len(self)), self.lengths)

    def same_words(self, other: Labels) -> bool:
        """Check whether two labellings have the same numbers of words.

        Args:
            other: Another labelling.

        Returns:
            bool: True if each text has the same number of words in both.

        Example:
            >>> from bmx_grid.measures import Labels
            >>> Labels.of([[0, 1], [1]]).same_words(Labels.of([[1, 1], [0]]))
            True
        """
        return np.array_equal(self.offsets, other.offsets)


def sums_by_text(values: ArrayLike, text: Ints, count: int) -> Floats:
    """float64[count] the sum of the values of each text; text: the number of the text that each value belongs to."""
    weights = np.asarray(values, dtype=np.float64)
    # Without any value bincount gives integers, weights or not.
    return np.bincount(text, weights, minlength=count).astype(np.float64)
