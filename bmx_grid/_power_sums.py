"""Sums of many powers over the words of many rows, from few exponentials.

x^(q0 + (a*K + k)*d) = x^(q0 + a*K*d) * x^(k*d): on an evenly spaced grid of E exponents two tables of
about sqrt(E) powers a word are enough, and the sum over the words of a row is a small matrix product.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bmx_grid.ragged import Ragged

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BLOCK_WORDS = 4096  # both tables of a block and its sums stay within a core's cache
EVEN_AT_LEAST = 8  # below this many exponents two tables cost more than they save
PIECE_WORDS = 64  # a matrix product adds one by one; longer rows are added up in pieces, for the digits
SMALL_EXPONENT = 1.0  # up to here a mean multiplies the sum's rounding by 1/p: these sums are taken pairwise


@dataclass(frozen=True, eq=False)
class Packed:
    """The R rows that have values, sorted by length, each row's values ascending.

    order: int64[R] the rows' places in the ragged array; values: float64[total]; lengths: int64[R] ascending;
    offsets: int64[R + 1]. Ascending values make a sum independent of the order of the words, bit for bit.
    """

    order: Ints
    values: Floats
    lengths: Ints
    offsets: Ints

    @classmethod
    def of(cls, ragged: Ragged) -> Packed:
        """Pack a ragged array; rows without values are left out."""
        order = np.argsort(ragged.lengths, kind="stable")
        order = order[ragged.lengths[order] > 0]
        lengths = ragged.lengths[order]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        values = ragged.values[np.repeat(ragged.offsets[order] - offsets[:-1], lengths) + np.arange(offsets[-1])]
        for first, last in equal_runs(lengths):
            values[offsets[first] : offsets[last]].reshape(last - first, -1).sort(axis=1)
        return cls(order, values, lengths, offsets)

    def blocks(self) -> list[tuple[int, int]]:
        """Ranges of whole rows of about BLOCK_WORDS values, as (first, past the last)."""
        bounds, rows = [0], len(self.order)
        while bounds[-1] < rows:
            reach = np.searchsorted(self.offsets, self.offsets[bounds[-1]] + BLOCK_WORDS, side="right") - 1
            bounds.append(max(int(reach), bounds[-1] + 1))
        return list(itertools.pairwise(bounds))


def equal_runs(lengths: Ints) -> list[tuple[int, int]]:
    """The runs of equal numbers in an array, as (first, past the last)."""
    if not len(lengths):
        return []
    bounds = [0, *(np.flatnonzero(np.diff(lengths)) + 1).tolist(), len(lengths)]
    return list(itertools.pairwise(bounds))


def power_sums(logs: Floats, lengths: Ints, exponents: Floats) -> Floats:
    """float64[R, E] sums over each row's words of exp(exponent * log).

    logs: float64[total] <= 0, logarithms relative to the row's largest (or smallest) value, so that no sum
    overflows, ascending in each row, so that small terms are added before large ones; lengths: int64[R]
    words a row, all >= 1, equal ones side by side; exponents: float64[E], ascending, at least -1.
    """
    starts = np.cumsum(lengths) - lengths
    step = even_step(exponents)
    if step is not None:
        return _even_sums(logs, lengths, starts, exponents, step)
    sums = np.empty((len(lengths), len(exponents)))
    for column, exponent in enumerate(exponents):
        sums[:, column] = np.add.reduceat(np.exp(exponent * logs), starts)
    return sums


def even_step(exponents: Floats) -> float | None:
    """The step of an evenly spaced grid of exponents (to rounding), None for any other or a short one."""
    if len(exponents) < EVEN_AT_LEAST:
        return None
    step = float(exponents[-1] - exponents[0]) / (len(exponents) - 1)
    off = np.abs(exponents - (exponents[0] + step * np.arange(len(exponents))))
    even = (off <= 4 * np.finfo(np.float64).eps * np.maximum(np.abs(exponents), step)).all()
    return step if step > 0 and even else None


def _even_sums(logs: Floats, lengths: Ints, starts: Ints, exponents: Floats, step: float) -> Floats:
    """`power_sums` for evenly spaced exponents."""
    count = len(exponents)
    width = math.isqrt(count - 1) + 1
    height = -(-count // width)
    fine = _powers(logs, 0.0, step, width)
    coarse = _powers(logs, float(exponents[0]), step * width, height)
    sums = np.empty((len(lengths), height, width))
    for first, last in equal_runs(lengths):
        length = int(lengths[first])
        words = slice(int(starts[first]), int(starts[last - 1]) + length)
        left = coarse[:, words].reshape(height, last - first, length).transpose(1, 0, 2)
        right = fine[:, words].reshape(width, last - first, length).transpose(1, 2, 0)
        np.matmul(left[:, :, :PIECE_WORDS], right[:, :PIECE_WORDS], out=sums[first:last])
        for piece in range(PIECE_WORDS, length, PIECE_WORDS):
            reach = piece + PIECE_WORDS
            sums[first:last] += np.matmul(left[:, :, piece:reach], right[:, piece:reach])
    flat = sums.reshape(len(lengths), height * width)[:, :count]
    small = min(int(np.searchsorted(exponents, SMALL_EXPONENT, side="right")), width)
    if small:
        flat[:, :small] = np.add.reduceat(coarse[0] * fine[:small], starts, axis=1).T
    return flat


def _powers(logs: Floats, first: float, step: float, count: int) -> Floats:
    """float64[count, words] exp((first + k * step) * logs) for k < count, by doubling.

    Each doubling multiplies by one more factor, every other one a fresh exponential and those between its
    square, so that rounding does not grow with the exponent as it would along a chain of multiplications.
    """
    table = np.empty((count, len(logs)))
    np.exp(first * logs, out=table[0])
    done, fresh, factor = 1, True, logs
    while done < count:
        more = min(done, count - done)
        factor = np.exp(done * step * logs) if fresh else np.square(factor, out=factor)
        np.multiply(table[:more], factor, out=table[done : done + more])
        done, fresh = done + more, not fresh
    return table
