"""Sums of many powers over the words of many rows, from few exponentials.

x^(q0 + (a*K + k)*d) = x^(q0 + a*K*d) * x^(k*d): on an evenly spaced grid of E exponents two tables of
about sqrt(E) powers per word are enough, and the sum over the words of a row is a small matrix product.
"""

from __future__ import annotations

import itertools
import math
import threading
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bmx_grid.ragged import Ragged

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BLOCK_WORDS = 7000  # each block costs as much as 500 words; no power of two, whose rows share a cache's lines
EVEN_AT_LEAST = 8  # below this many exponents two tables cost more than they save
PIECE_WORDS = 96  # a matrix product adds one by one; longer rows are added up in pieces, for the digits
SMALL_EXPONENT = 0.5  # up to here a mean multiplies the sum's rounding by 1/p: these sums are taken pairwise


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
    bounds = [0, *(np.flatnonzero(lengths[1:] != lengths[:-1]) + 1).tolist(), len(lengths)]
    return list(itertools.pairwise(bounds))


def power_sums(logs: Floats, lengths: Ints, exponents: Floats) -> Floats:
    """float64[R, E] sums over each row's words of exp(exponent * log).

    logs: float64[total] <= 0, logarithms relative to the row's largest (or smallest) value, so that no sum
    overflows, ascending in each row, so that small terms are added before large ones; lengths: int64[R]
    words per row, all >= 1, equal ones side by side; exponents: float64[E], ascending, at least 0.
    """
    step = even_step(exponents)
    if step is not None:
        return even_power_sums(logs, lengths, exponents, step)
    starts = np.cumsum(lengths) - lengths
    sums = np.empty((len(lengths), len(exponents)))
    for column, exponent in enumerate(exponents):
        sums[:, column] = np.add.reduceat(np.exp(exponent * logs), starts)
    return sums


def even_step(exponents: Floats) -> float | None:
    """The step of an evenly spaced grid of exponents (to rounding), None for any other or a short one."""
    if len(exponents) < EVEN_AT_LEAST:
        return None
    step = float(exponents[-1] - exponents[0]) / (len(exponents) - 1)
    nearest = int(np.argmin(np.abs(exponents)))  # `even_power_sums` counts from there
    off = np.abs(exponents - (exponents[nearest] + step * (np.arange(len(exponents)) - nearest)))
    even = (off <= 4 * np.finfo(np.float64).eps * np.maximum(np.abs(exponents), step)).all()
    return step if step > 0 and even else None


def even_power_sums(logs: Floats, lengths: Ints, exponents: Floats, step: float) -> Floats:
    """`power_sums` for exponents of either sign, `step` apart, and logs of either sign, if their products are moderate.

    |exponent * log| may reach 450: the tables reach beyond a short grid by up to half of it, and exp(709) is the last
    finite one. Both tables are laid around the exponent nearest 0, where a mean multiplies rounding by most: there
    the coarse factor is 1.
    """
    starts = np.cumsum(lengths) - lengths
    count = len(exponents)
    nearest, width = int(np.argmin(np.abs(exponents))), math.isqrt(count)
    left = nearest if nearest < width else width // 2
    below, above = -(-(nearest - left) // width), (count - nearest + left - 1) // width
    height = below + 1 + above
    tables = _scratch.rows(height + width, len(logs))
    coarse, fine = tables[:height], tables[height:]
    _powers(logs, step * width, below, out=coarse)
    _powers(logs, step, left, out=fine)
    if exponents[nearest] != 0:
        fine *= np.exp(exponents[nearest] * logs)
    sums = np.empty((len(lengths), height, width))
    for first, last in equal_runs(lengths):
        length = int(lengths[first])
        words = slice(int(starts[first]), int(starts[last - 1]) + length)
        rows = coarse[:, words].reshape(-1, last - first, length).swapaxes(0, 1)
        columns = fine[:, words].reshape(-1, last - first, length).transpose(1, 2, 0)
        np.matmul(rows[:, :, :PIECE_WORDS], columns[:, :PIECE_WORDS], out=sums[first:last])
        for piece in range(PIECE_WORDS, length, PIECE_WORDS):
            reach = piece + PIECE_WORDS
            sums[first:last] += np.matmul(rows[:, :, piece:reach], columns[:, piece:reach])
    skipped = left + below * width - nearest
    small = skipped + np.searchsorted(exponents, [-SMALL_EXPONENT, np.nextafter(SMALL_EXPONENT, np.inf)])
    for row in range(small[0] // width, -(-small[1] // width)):
        inside = slice(max(small[0] - row * width, 0), min(small[1] - row * width, width))
        terms = fine[inside] if row == below else coarse[row] * fine[inside]
        sums[:, row, inside] = np.add.reduceat(terms, starts, axis=1).T
    return sums.reshape(len(lengths), -1)[:, skipped : skipped + count]


def _powers(logs: Floats, step: float, below: int, out: Floats) -> None:
    """Fill float64[below + 1 + above, words] with exp(k * step * logs), k from -below to above.

    From k = 0 away by doubling, and reciprocals on the shorter side. Each doubling multiplies by one more factor,
    every other one a fresh exponential and those between its square, so that rounding does not grow with k as it
    would along a chain of multiplications.
    """
    above = len(out) - 1 - below
    table, short, sign = (out, below, 1.0) if above >= below else (out[::-1], above, -1.0)
    table[short] = 1.0
    rest = table[short + 1 :]
    if len(rest):
        np.exp(sign * step * logs, out=rest[0])
    done, fresh, factor = 1, True, logs
    while done < len(rest):
        more = min(done, len(rest) - done)
        factor = np.exp(sign * done * step * logs) if fresh else np.square(factor, out=factor)
        np.multiply(rest[:more], factor, out=rest[done : done + more])
        done, fresh = done + more, not fresh
    np.divide(1.0, rest[:short][::-1], out=table[:short])


class _Scratch(threading.local):
    """Memory for the tables of a block, one table per thread.

    Kept between calls: handed back to the system and asked for anew, it would cost more than the arithmetic done in it.
    """

    memory: Floats = np.empty(0)

    def rows(self, count: int, words: int) -> Floats:
        """float64[count, words] uninitialised, valid until the next call."""
        if len(self.memory) < count * words:
            self.memory = np.empty(count * words)
        return self.memory[: count * words].reshape(count, words)


_scratch = _Scratch()
