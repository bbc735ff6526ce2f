"""The means of a setting for every p of a grid: all at once where they are small, else a range of p at a time.

600 means of a segment are 4,800 bytes: those of a million segments fit into no memory. What is computed of them (sums
over segments, one p beside the other) needs a few p at a time, so that the memory is the same for any number of
segments, and the time is about three times that of all at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.measures.aggregation import Aggregation
from bmx_grid.measures.at_a_time import fitting, ranges
from bmx_grid.measures.power_sums import Packed
from bmx_grid.ragged import Ragged

Floats = NDArray[np.float64]

WHOLE_CELLS = 2**26  # segments x p up to which all means are made at once: 512 MiB
CELLS = 2**25  # segments x p made at a time beyond: 256 MiB


class GridMeans:
    """float64[n, P] means of n rows of positive attributions for P powers, read by columns: `means[:, columns]`.

    The columns read last are kept, so that reading from left to right makes each mean once. The same numbers as from
    `Aggregation.aggregate`, all at once or in ranges, to the rounding of a mean (`aggregation.PRECISION`).
    """

    def __init__(self, aggregation: Aggregation, words: Ragged, p: Floats) -> None:
        """Raises DataError for a value that is not a finite number above zero."""
        self.shape = len(words), len(p)
        self._aggregation, self._p = aggregation, p
        self._packed: Packed | None = None
        self._range, self._made = slice(0, 0), np.empty((len(words), 0))
        if self.size <= WHOLE_CELLS:
            self._range, self._made = slice(0, len(p)), aggregation.aggregate(words, p)
        else:
            self._packed = aggregation.packed(words)

    @property
    def size(self) -> int:
        """The number of means."""
        return self.shape[0] * self.shape[1]

    @property
    def _width(self) -> int:
        """How many p are made together, where not all are."""
        return fitting(CELLS, self.shape[0])

    @property
    def whole(self) -> Floats:
        """float64[n, P] all of them, at once."""
        return self[:, :]

    def blocks(self) -> Iterator[slice]:
        """Ranges of p that are made together, in order; one where all are."""
        return iter((slice(0, self.shape[1]),)) if self._packed is None else ranges(self.shape[1], self._width)

    def part(self, columns: slice) -> GridMeans:
        """The means for some of the p, made when they are read."""
        found = object.__new__(GridMeans)
        found._aggregation, found._p, found._packed = self._aggregation, self._p[columns], self._packed
        found.shape = self.shape[0], len(found._p)
        found._range, found._made = slice(0, 0), self._made[:, :0]
        if self._packed is None:
            found._range, found._made = slice(0, len(found._p)), self._made[:, columns]
        return found

    def __getitem__(self, key: tuple[Any, Any]) -> Floats:
        """`means[rows, columns]` as of an array; columns: a range, or a single p."""
        rows, columns = key
        if not isinstance(columns, slice):
            if self._packed is None:
                return np.asarray(self._made[rows, columns])
            return np.asarray(self._of(slice(columns, columns + 1))[rows, 0])
        first, last, _ = columns.indices(self.shape[1])
        if first < self._range.start or last > self._range.stop:
            self._range, self._made = slice(0, 0), self._made[:, :0]  # the old ones go before the new ones come
            found = slice(first, max(last, first + self._width))
            self._range, self._made = found, self._of(found)
        return np.asarray(self._made[rows, first - self._range.start : last - self._range.start])

    def _of(self, columns: slice) -> Floats:
        assert self._packed is not None
        return self._aggregation.of_packed(self._packed, self.shape[0], self._p[columns])
