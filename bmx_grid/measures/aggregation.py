"""From one attribution per word to one number per segment: means of positive numbers, for all p at once (paper 3.4).

Sums of many powers need few exponentials: x^(q0 + (a*K + k)*d) = x^(q0 + a*K*d) * x^(k*d). On an evenly spaced grid of
E exponents two tables of about sqrt(E) powers per word are enough, and the sum over the words of a row is a small
matrix product.
"""

from __future__ import annotations

import itertools
import math
import threading
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bmx_grid.core.errors import DataError
from bmx_grid.core.identity import Component
from bmx_grid.core.ragged import Flags, Floats, Ints, Ragged, row_minimum

OFFSET = 1e-9  # paper section 3.4: added to every attribution, so that none is zero
NEAR_ZERO = 0.05  # |p| below this goes through expm1, where log(mean(x^p)) / p would lose digits
PRECISION = 2e-14  # relative error of a mean, for values within 1e-9 .. 1 and |p| <= 30
SAFE_LOG = 450.0  # the largest |exponent * log| of `even_power_sums`
BLOCK_WORDS = 7000  # each block costs as much as 500 words; no power of two, whose rows share a cache's lines
EVEN_AT_LEAST = 8  # below this many exponents two tables cost more than they save
PIECE_WORDS = 96  # a matrix product adds one by one; longer rows are added up in pieces, for the digits
SMALL_EXPONENT = 0.5  # up to here a mean multiplies the sum's rounding by 1/p: these sums are taken pairwise


@dataclass(frozen=True)
class Aggregation(Component):
    """Turns the strictly positive attributions of a segment into one number, for every p of a grid."""

    @abstractmethod
    def aggregate(self, values: Ragged, p: Floats) -> Floats:
        """float64[N, P] means of N rows for P ascending values of p; a row without values gives NaN.

        p = infinity gives the maximum, and -infinity the minimum. A mean depends on its own row alone, and not on the
        order of the values in it. Relative error below PRECISION.
        Raises DataError when a value is not a finite number above zero (see `shift_positive`), and ValueError when p
        is not ascending, or NaN.
        """


@dataclass(frozen=True)
class PowerMean(Aggregation):
    """The power mean M_p = (mean of x^p)^(1/p) of the paper; M_0 is the geometric mean, its limit."""

    def aggregate(self, values: Ragged, p: Floats) -> Floats:
        p = np.asarray(p, dtype=np.float64)
        if np.isnan(p).any() or (p[1:] <= p[:-1]).any():
            raise ValueError("every p must be a number, and above the one before")
        order, ordered, lengths = _sorted_rows(values)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        step = even_step(p[np.isfinite(p)])
        low = int((p == -np.inf).sum())
        high = int((p < np.inf).sum())
        means = np.full((len(values), len(p)), np.nan)
        first = 0
        # blocks of whole rows, whose tables of powers stay in a processor's cache
        while first < len(order):
            last = int(np.searchsorted(offsets, offsets[first] + BLOCK_WORDS, side="right")) - 1
            last = max(last, first + 1)
            words = ordered[offsets[first] : offsets[last]]
            ends = offsets[first : last + 1] - offsets[first]
            rows = order[first:last]
            # values ascend within a row: the first is the minimum, the last the maximum
            means[rows, :low] = words[ends[:-1], None]
            means[rows, high:] = words[ends[1:] - 1, None]
            means[rows, low:high] = _finite(words, lengths[first:last], p[low:high], step)
            first = last
        return means


def _sorted_rows(rows: Ragged) -> tuple[Ints, Floats, Ints]:
    """The R rows that have values, by length: int64[R] their places, their values, int64[R] their lengths.

    The values of each row ascend, so that a sum does not depend on the order of the words, bit for bit.
    Raises DataError when a value is not a finite number above zero.
    """
    wrong = np.flatnonzero(~((rows.values > 0) & (rows.values < np.inf)))
    wrong = wrong[(wrong >= rows.offsets[0]) & (wrong < rows.offsets[-1])]
    if len(wrong):
        raise DataError(
            f"row {_row_of(rows, wrong[0])}: {rows.values[wrong[0]]:g} is not a finite number above zero, and means "
            "with p are defined for such numbers only; pass attributions through shift_positive first."
        )
    # Rows of one length stand together, and are sorted as one matrix.
    order = np.argsort(rows.lengths, kind="stable")
    order = order[rows.lengths[order] > 0]
    lengths = rows.lengths[order]
    ends = np.cumsum(lengths)
    starts = ends - lengths
    values = rows.values[np.repeat(rows.offsets[order] - starts, lengths) + np.arange(lengths.sum())]
    for first, last in equal_runs(lengths):
        values[starts[first] : ends[last - 1]].reshape(last - first, -1).sort(axis=1)
    return order, values, lengths


def _finite(ordered: Floats, lengths: Ints, p: Floats, step: float | None) -> Floats:
    """float64[R, Q] means of R rows, ascending values in each, for finite p in ascending order.

    All p from one set of sums, relative to the middle of the row, where no power can overflow. The root divides a sum's
    rounding by p, so a reference far from the largest term costs a power mean no digits.
    """
    ends = np.cumsum(lengths)
    least = ordered[ends - lengths]
    most = ordered[ends - 1]
    # Relative to the middle no logarithm is above half of the range: such rows fit the tables of `even_power_sums`.
    narrow = (np.log(most) - np.log(least)) * np.abs(p).max(initial=0) <= 2 * SAFE_LOG
    if step is None or not narrow.any():
        return _from_ends(ordered, lengths, p)
    if not narrow.all():
        means = np.empty((len(lengths), len(p)))
        means[narrow] = _finite(ordered[np.repeat(narrow, lengths)], lengths[narrow], p, step)
        means[~narrow] = _from_ends(ordered[np.repeat(~narrow, lengths)], lengths[~narrow], p)
        return means
    centre = least * (np.sqrt(most) / np.sqrt(least))  # equal values give exactly that value
    logs = np.log(ordered / np.repeat(centre, lengths))
    means = even_power_sums(logs, lengths, p, step)
    means /= lengths[:, None]
    np.log(means, out=means)
    near = np.abs(p) < NEAR_ZERO
    means /= np.where(near, 1.0, p)
    np.exp(means, out=means)
    means[:, near] = _means_near_zero(logs, lengths, p[near])
    means *= centre[:, None]
    return means


def _from_ends(ordered: Floats, lengths: Ints, p: Floats) -> Floats:
    """`_finite` relative to the smallest value of a row for p up to 0, and to the largest for p above 0."""
    ends = np.cumsum(lengths)
    least = ordered[ends - lengths]
    most = ordered[ends - 1]
    means = np.empty((len(lengths), len(p)))
    middle = int(np.searchsorted(p, 0, side="right"))
    # for p up to 0 the smallest value has the largest power: rows are turned round, so that it comes last
    if middle > 0:
        # Towards the smallest value the terms of a sum grow with its inverse: they are added from the small ones on.
        descending = ordered[np.repeat(2 * ends - lengths - 1, lengths) - np.arange(len(ordered))]
        logs = -np.log(descending / np.repeat(least, lengths))
        means[:, :middle] = _ratios(logs, lengths, -1.0, p[:middle][::-1])[:, ::-1] * least[:, None]
    if middle < len(p):
        logs = np.log(ordered / np.repeat(most, lengths))
        means[:, middle:] = _ratios(logs, lengths, 1.0, p[middle:]) * most[:, None]
    return means


def _ratios(logs: Floats, lengths: Ints, sign: float, p: Floats) -> Floats:
    """float64[R, Q] means of R rows relative to each row's maximum (sign 1) or minimum (sign -1).

    logs: float64[total] <= 0, sign * log(value / reference), ascending in each row; lengths: int64[R] >= 1;
    p: float64[Q], all above 0 (sign 1) or none above 0 (sign -1), by ascending magnitude.
    """
    near = int(np.searchsorted(np.abs(p), NEAR_ZERO))
    ratios = np.empty((len(lengths), len(p)))
    ratios[:, :near] = _means_near_zero(sign * logs, lengths, p[:near])
    exponents = np.abs(p[near:])
    step = even_step(exponents)
    if step is None:
        starts = np.cumsum(lengths) - lengths
        sums = np.empty((len(lengths), len(exponents)))
        for column, exponent in enumerate(exponents):
            sums[:, column] = np.add.reduceat(np.exp(exponent * logs), starts)
    else:
        sums = even_power_sums(logs, lengths, exponents, step)
    sums /= lengths[:, None]
    np.log(sums, out=sums)
    sums /= p[near:]
    np.exp(sums, out=ratios[:, near:])
    return ratios


def shift_positive(values: Ragged) -> tuple[Ragged, Flags]:
    """Strictly positive attributions, and bool[N] which rows had to be shifted (paper section 3.4).

    A row whose minimum is at most 0 becomes v + (|minimum| + 1e-9), any other row v + 1e-9. The bracketing is that
    of the published results: after rounding the smallest value of a shifted row is near 1e-9, not equal to it.
    A row with a NaN becomes NaN as a whole, and is not shifted.
    Raises DataError when an attribution is so large (about 1e7) that adding 1e-9 leaves a zero.
    """
    lowest = row_minimum(values)
    shifted = lowest <= 0
    added = np.where(shifted, np.abs(lowest) + OFFSET, OFFSET)
    # One NaN leaves no order of importance among the words of a segment.
    added[np.isnan(lowest)] = np.nan
    inside = values.values[values.offsets[0] : values.offsets[-1]]
    with np.errstate(invalid="ignore"):  # infinity less infinity is NaN, in a row that was infinite before
        positive = Ragged(inside + np.repeat(added, values.lengths), values.offsets - values.offsets[0])
    wrong = np.flatnonzero(positive.values <= 0)
    if len(wrong):
        row = _row_of(positive, wrong[0])
        raise DataError(
            f"row {row}: adding 1e-9 to an attribution of {lowest[row]:g} changes nothing in float64, so the row "
            "cannot be made positive; scale the metric's scores down."
        )
    return positive, shifted


def _means_near_zero(logs: Floats, lengths: Ints, p: Floats) -> Floats:
    """float64[R, Q] power means relative to the reference for small |p|, 0 included; logs: log(value / reference)."""
    if not len(p):
        return np.empty((len(lengths), 0))
    starts = np.cumsum(lengths) - lengths
    # Relative to the geometric mean, which is the limit for p = 0.
    centre = np.add.reduceat(logs, starts) / lengths
    means = np.tile(np.exp(centre)[:, None], len(p))
    spread = logs - np.repeat(centre, lengths)
    for column in np.flatnonzero(p):
        # mean(x^p) is 1 + excess around the geometric mean: no digit is lost where p is near 0
        excess = np.add.reduceat(np.expm1(p[column] * spread), starts) / lengths
        means[:, column] = np.exp(centre + np.log1p(excess) / p[column])
    return means


def _row_of(rows: Ragged, place: int) -> int:
    """The row that holds a value."""
    return int(np.searchsorted(rows.offsets, place, side="right")) - 1


def equal_runs(lengths: Ints) -> list[tuple[int, int]]:
    """The runs of equal numbers in an array, as (first, past the last)."""
    if not len(lengths):
        return []
    bounds = [0, *(np.flatnonzero(lengths[1:] != lengths[:-1]) + 1).tolist(), len(lengths)]
    return list(itertools.pairwise(bounds))


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
    """float64[R, E] sums over each row's words of exp(exponent * log), for ascending exponents that are `step` apart.

    logs: float64[total] logarithms, ascending in each row, so that small terms are added before large ones; lengths:
    int64[R] words per row, all >= 1, equal ones side by side. Exponents and logs may have either sign.
    |exponent * log| may reach 450: the tables reach beyond a short grid by up to half of it, and exp(709) is the last
    finite one. Both tables are laid around the exponent nearest 0, where a mean multiplies rounding by most: there
    the coarse factor is 1.
    """
    # Each exponent is a coarse one plus a fine one: two tables of about the square root of the grid's size, and a
    # product of matrices, in place of an exponential per exponent and word.
    starts = np.cumsum(lengths) - lengths
    count = len(exponents)
    nearest = int(np.argmin(np.abs(exponents)))
    width = math.isqrt(count)
    left = nearest if nearest < width else width // 2
    below = -(-(nearest - left) // width)
    above = (count - nearest + left - 1) // width
    height = below + 1 + above
    tables = _scratch_rows(height + width, len(logs))
    coarse = tables[:height]
    fine = tables[height:]
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
    # A mean multiplies the rounding of these sums by 1 / p: added anew, pairwise.
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
    done = 1
    fresh = True
    factor = logs
    while done < len(rest):
        more = min(done, len(rest) - done)
        factor = np.exp(sign * done * step * logs) if fresh else np.square(factor, out=factor)
        np.multiply(rest[:more], factor, out=rest[done : done + more])
        done = done + more
        fresh = not fresh
    # a division costs less than an exponential
    np.divide(1.0, rest[:short][::-1], out=table[:short])


_scratch = threading.local()


def _scratch_rows(count: int, words: int) -> Floats:
    """float64[count, words] uninitialised memory for the tables of a block, valid until the next call in its thread.

    Kept between calls: handed back to the system and asked for anew, it would cost more than the arithmetic done in it.
    """
    if getattr(_scratch, "memory", np.empty(0)).size < count * words:
        _scratch.memory = np.empty(count * words)
    memory: Floats = _scratch.memory[: count * words]
    return memory.reshape(count, words)


def weighted_sum(base: Floats, own: float, columns: Floats, weights: Sequence[float]) -> Floats:
    """float64[N] own * base + columns @ weights, one column after the other.

    A matrix product may round a row differently in a batch of another size; this does not.
    """
    total: Floats = own * base
    for column, weight in enumerate(weights):
        total += weight * columns[:, column]
    return total
