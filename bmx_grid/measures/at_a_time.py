"""How much is handled at a time, so that memory stays the same however much there is."""

from __future__ import annotations

from collections.abc import Iterator


def fitting(cells: int, each: int) -> int:
    """How many things of `each` cells fit into so many cells; at least one."""
    return max(1, cells // max(each, 1))


def ranges(count: int, size: int) -> Iterator[slice]:
    """The ranges of `size` places, the last perhaps shorter, that together are 0 to `count`."""
    for first in range(0, count, size):
        yield slice(first, min(first + size, count))


def sizes(count: int, size: int) -> Iterator[int]:
    """How many places each of the `ranges` has."""
    for part in ranges(count, size):
        yield part.stop - part.start
