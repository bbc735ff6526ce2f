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
NEAR_ZERO = 0.05  # |p| below this is computed by expm1, as log(mean(x^p)) / p would lose digits
PRECISION = 2e-14  # relative error of a mean, for values within 1e-9 .. 1 and |p| <= 30
SAFE_LOG = 450.0  # the largest |exponent * log| of `even_power_sums`
GATHERED_ROWS = 2**16  # rows whose words are gathered at a time
BLOCK_WORDS = 7000  # each block costs as much as 500 words; no power of two, whose rows share a cache's lines
EVEN_AT_LEAST = 8  # below this many exponents two tables cost more than they save
PIECE_WORDS = 96  # a matrix product adds one by one; longer rows are added up in pieces, for the digits
SMALL_EXPONENT = 0.5  # up to this p a mean multiplies the sum's rounding by 1/p: sums are taken pairwise


@dataclass(frozen=True)
class Aggregation(Component):
    """Turns the strictly positive attributions of a segment into one number, for every p of a grid."""

    @abstractmethod
    def aggregate(self, values: Ragged, p: Floats) -> Floats:
        """float64[N, P] means of N rows for P ascending values of p; a row without values gives NaN.

        p = infinity gives the maximum, and -infinity the minimum. A mean depends on its own row only, and not on the
        order of its values. Relative error below PRECISION.
        Raises DataError when a value is not a finite number above zero (see `shift_positive`), and ValueError when p
        is not ascending, or NaN.
        """


@dataclass(frozen=True)
class PowerMean(Aggregation):
    """The power mean M_p = (mean of x^p)^(1/p) of the paper; M_0 is the geometric mean, its limit."""

    def aggregate(self, values: Ragged, p: Floats) -> Floats:
        p = np.asarray(p, dtype=np.float64)
        ascending = (p[1:] > p[:-1]).all()
        if np.isnan(p).any() or not ascending:
            raise ValueError("every p must be a number, and above the one before")
        order, ordered, lengths = _sorted_rows(values)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        low = int((p == -np.inf).sum())
        high = int((p < np.inf).sum())
        finite = p[low:high]
        step = even_step(finite)
        means = np.full((len(values), len(p)), np.nan)
        first = 0
        # blocks of whole rows, whose tables of powers stay in a processor's cache
        while first < len(order):
            full = offsets[first] + BLOCK_WORDS
            last = int(np.searchsorted(offsets, full, side="right")) - 1
            # a row that is longer than a block is a block of its own
            last = max(last, first + 1)
            rows = order[first:last]
            words = ordered[offsets[first] : offsets[last]]
            bounds = offsets[first : last + 1] - offsets[first]
            # values ascend within a row: the first is the minimum, the last the maximum
            least = words[bounds[:-1]]
            most = words[bounds[1:] - 1]
            means[rows, :low] = least[:, None]
            means[rows, high:] = most[:, None]
            means[rows, low:high] = _finite(words, lengths[first:last], finite, step)
            first = last
        return means


def _sorted_rows(rows: Ragged) -> tuple[Ints, Floats, Ints]:
    """The R rows that have values, by length: int64[R] their places, their values, int64[R] their lengths.

    The values of each row ascend, so that a sum does not depend on the order of the words, bit for bit.
    Raises DataError when a value is not a finite number above zero.
    """
    # the rows may be a part of their array of values
    begin = rows.offsets[0]
    inside = rows.values[begin : rows.offsets[-1]]
    wrong = np.flatnonzero(~((inside > 0) & (inside < np.inf)))
    if len(wrong):
        place = begin + wrong[0]
        row = _row_of(rows, place)
        value = rows.values[place]
        raise DataError(
            f"row {row}: {value:g} is not a finite number above zero, and means "
            "with p are defined for such numbers only; pass attributions through shift_positive first."
        )
    # Rows of one length are sorted as one matrix.
    order = np.argsort(rows.lengths, kind="stable")
    order = order[rows.lengths[order] > 0]
    lengths = rows.lengths[order]
    ends = np.cumsum(lengths)
    starts = ends - lengths
    values = np.empty(int(lengths.sum()))
    # Many rows at a time: the places of all words would take as much memory as the words.
    for first in range(0, len(order), GATHERED_ROWS):
        some = slice(first, first + GATHERED_ROWS)
        moves = rows.offsets[order[some]] - starts[some]
        begin = starts[first]
        end = ends[some][-1]
        places = np.arange(begin, end) + np.repeat(moves, lengths[some])
        values[begin:end] = rows.values[places]
    for first, last in equal_runs(lengths):
        run = values[starts[first] : ends[last - 1]]
        # a view of the values, which are sorted in place
        run.reshape(last - first, -1).sort(axis=1)
    return order, values, lengths


def _finite(ordered: Floats, lengths: Ints, p: Floats, step: float | None) -> Floats:
    """float64[R, Q] means of R rows, ascending values in each, for finite p in ascending order.

    All p from one set of sums, relative to the middle of the row, so that no power overflows. The root divides a sum's
    rounding by p, so a reference far from the largest term costs a power mean no digits.
    """
    ends = np.cumsum(lengths)
    least = ordered[ends - lengths]
    most = ordered[ends - 1]
    # Relative to the middle no logarithm is above half of the range: such rows fit the tables of `even_power_sums`.
    log_range = np.log(most) - np.log(least)
    largest = np.abs(p).max(initial=0)
    narrow = log_range * largest <= 2 * SAFE_LOG
    if step is None or not narrow.any():
        return _from_ends(ordered, lengths, p)
    if not narrow.all():
        means = np.empty((len(lengths), len(p)))
        words = np.repeat(narrow, lengths)
        means[narrow] = _finite(ordered[words], lengths[narrow], p, step)
        means[~narrow] = _from_ends(ordered[~words], lengths[~narrow], p)
        return means
    # the geometric mean of both ends, written so that equal values give exactly that value
    root_of_range = np.sqrt(most) / np.sqrt(least)
    centre = least * root_of_range
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
    starts = ends - lengths
    least = ordered[starts]
    most = ordered[ends - 1]
    means = np.empty((len(lengths), len(p)))
    middle = int(np.searchsorted(p, 0, side="right"))
    if middle > 0:
        # For p up to 0 the smallest value has the largest power: rows are reversed, so that it is last and
        # terms are added from the small ones on. A place and its mirror image add up to the row's first and last.
        first_and_last = np.repeat(starts + ends - 1, lengths)
        descending = ordered[first_and_last - np.arange(len(ordered))]
        relative = descending / np.repeat(least, lengths)
        logs = -np.log(relative)
        # from 0 down, which is by ascending magnitude
        powers = p[:middle][::-1]
        ratios = _ratios(logs, lengths, -1.0, powers)
        by_ascending_p = ratios[:, ::-1]
        means[:, :middle] = by_ascending_p * least[:, None]
    if middle < len(p):
        relative = ordered / np.repeat(most, lengths)
        logs = np.log(relative)
        ratios = _ratios(logs, lengths, 1.0, p[middle:])
        means[:, middle:] = ratios * most[:, None]
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
            powers = np.exp(exponent * logs)
            sums[:, column] = np.add.reduceat(powers, starts)
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
    A row with a NaN becomes NaN as a whole, and is not shifted; nor is a row without words.
    Raises DataError when an attribution is so large (about 1e7) that adding 1e-9 leaves a zero.
    """
    lowest = row_minimum(values)
    shifted = lowest <= 0
    added = np.where(shifted, np.abs(lowest) + OFFSET, OFFSET)
    # One NaN leaves no order of importance among the words of a segment.
    added[np.isnan(lowest)] = np.nan
    begin = values.offsets[0]
    inside = values.values[begin : values.offsets[-1]]
    # infinity less infinity is NaN, in a row that was infinite before
    with np.errstate(invalid="ignore"):
        moved = inside + np.repeat(added, values.lengths)
    positive = Ragged(moved, values.offsets - begin)
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
    geometric = np.exp(centre)
    means = np.tile(geometric[:, None], len(p))
    spread = logs - np.repeat(centre, lengths)
    for column in np.flatnonzero(p):
        power = p[column]
        # mean(x^p) is 1 + excess around the geometric mean: no digit is lost where p is near 0
        excesses = np.expm1(power * spread)
        excess = np.add.reduceat(excesses, starts) / lengths
        log_mean = np.log1p(excess) / power
        means[:, column] = np.exp(centre + log_mean)
    return means


def _row_of(rows: Ragged, place: int) -> int:
    return int(np.searchsorted(rows.offsets, place, side="right")) - 1


def equal_runs(lengths: Ints) -> list[tuple[int, int]]:
    """The runs of equal numbers in an array, as (first, past the last)."""
    if not len(lengths):
        return []
    changes = np.flatnonzero(np.diff(lengths)) + 1
    bounds = [0, *changes.tolist(), len(lengths)]
    return list(itertools.pairwise(bounds))


def even_step(exponents: Floats) -> float | None:
    """The step of an evenly spaced grid of exponents (to rounding), None for any other or a short one."""
    if len(exponents) < EVEN_AT_LEAST:
        return None
    reach = float(exponents[-1] - exponents[0])
    step = reach / (len(exponents) - 1)
    # `even_power_sums` counts from the exponent nearest 0
    nearest = int(np.argmin(np.abs(exponents)))
    steps = np.arange(len(exponents)) - nearest
    evenly_spaced = exponents[nearest] + step * steps
    off = np.abs(exponents - evenly_spaced)
    size = np.maximum(np.abs(exponents), step)
    rounding = 4 * np.finfo(np.float64).eps * size
    even = (off <= rounding).all()
    return step if step > 0 and even else None


def even_power_sums(logs: Floats, lengths: Ints, exponents: Floats, step: float) -> Floats:
    """float64[R, E] sums over each row's words of exp(exponent * log), for ascending exponents that are `step` apart.

    logs: float64[total] logarithms, ascending in each row, so that small terms are added before large ones; lengths:
    int64[R] words per row, all >= 1, equal ones side by side. Exponents and logs may have either sign.
    |exponent * log| may reach 450: the tables reach beyond a short grid by up to half of it, and exp(709) is the last
    finite one. Both tables are laid around the exponent nearest 0, at which a mean multiplies rounding by most: its
    coarse factor is 1.
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
        start = int(starts[first])
        n_rows = last - first
        words = slice(start, start + n_rows * length)
        # [rows, coarse, words] and [rows, words, fine], for one product of matrices per row
        rows = coarse[:, words].reshape(height, n_rows, length).swapaxes(0, 1)
        columns = fine[:, words].reshape(width, n_rows, length).transpose(1, 2, 0)
        run = sums[first:last]
        np.matmul(rows[:, :, :PIECE_WORDS], columns[:, :PIECE_WORDS], out=run)
        for begin in range(PIECE_WORDS, length, PIECE_WORDS):
            piece = slice(begin, begin + PIECE_WORDS)
            run += np.matmul(rows[:, :, piece], columns[:, piece])
    # A mean multiplies the rounding of these sums by 1 / p: added anew, pairwise.
    skipped = left + below * width - nearest
    beyond = np.nextafter(SMALL_EXPONENT, np.inf)
    small = np.searchsorted(exponents, [-SMALL_EXPONENT, beyond])
    low, high = skipped + small
    first_row = low // width
    last_row = (high - 1) // width
    for row in range(first_row, last_row + 1):
        begin = max(low - row * width, 0)
        end = min(high - row * width, width)
        terms = fine[begin:end]
        # the coarse factor of row `below` is 1
        if row != below:
            terms = coarse[row] * terms
        sums[:, row, begin:end] = np.add.reduceat(terms, starts, axis=1).T
    flat = sums.reshape(len(lengths), -1)
    return flat[:, skipped : skipped + count]


def _powers(logs: Floats, step: float, below: int, out: Floats) -> None:
    """Fill float64[below + 1 + above, words] with exp(k * step * logs), k from -below to above.

    From k = 0 away by doubling, and reciprocals on the shorter side. Each doubling multiplies by one more factor,
    every other one a fresh exponential and those between its square, so that rounding does not grow with k as it
    would along a chain of multiplications.
    """
    above = len(out) - 1 - below
    table = out
    short = below
    sign = 1.0
    if above < below:
        table = out[::-1]
        short = above
        sign = -1.0
    table[short] = 1.0
    rest = table[short + 1 :]
    if len(rest):
        np.exp(sign * step * logs, out=rest[0])
    done = 1
    fresh = True
    factor = logs
    while done < len(rest):
        more = min(done, len(rest) - done)
        if fresh:
            factor = np.exp(sign * done * step * logs)
        else:
            np.square(factor, out=factor)
        np.multiply(rest[:more], factor, out=rest[done : done + more])
        done += more
        fresh = not fresh
    # a division costs less than an exponential
    np.divide(1.0, rest[:short][::-1], out=table[:short])


_scratch = threading.local()


def _scratch_rows(count: int, words: int) -> Floats:
    """float64[count, words] uninitialised memory for the tables of a block, valid until the next call in its thread.

    Kept between calls: to free and allocate it anew would cost more than the arithmetic done in it.
    """
    cells = count * words
    kept = getattr(_scratch, "memory", np.empty(0))
    if kept.size < cells:
        kept = np.empty(cells)
        _scratch.memory = kept
    memory: Floats = kept[:cells]
    return memory.reshape(count, words)


def weighted_sum(base: Floats, base_weight: float, columns: Floats, weights: Sequence[float]) -> Floats:
    """float64[N] base_weight * base + columns @ weights, one column after the other.

    A matrix product may round a row differently in a batch of another size; this does not.
    """
    total: Floats = base_weight * base
    for column, weight in enumerate(weights):
        total += weight * columns[:, column]
    return total
