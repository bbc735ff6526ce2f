"""The p x w grid of one setting, pure arrays: attributions in, correlations with human scores out (paper 3.4, 3.5).

600 means of a segment are 4,800 bytes: those of a million segments fit into no memory. They are made all at once where
they are small, else for a range of p at a time (`GridMeans`), in about three times the time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.errors import ConfigError, unknown
from bmx_grid.core.ragged import Ragged, concatenate_rows, defined_rows, take_rows
from bmx_grid.measures.aggregation import PRECISION, Aggregation, Packed, PowerMean, shift_positive
from bmx_grid.measures.best import first_within_rounding, plateau_within_no_change
from bmx_grid.measures.correlation import Kind, check_kind, correlate, correlate_grid
from bmx_grid.measures.resampling import fitting, ranges

Floats = NDArray[np.float64]
Words = Literal["both", "hypothesis"]

EQUALLY_NEAR = 1e-9  # distances to two grid points that differ by less are equal; grids carry rounding
PAPER_W = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
MAX_POINTS = 1_000_000  # of one setting: 8 MB of correlations each; the paper has 3,600


def check_size(n_p: int, n_w: int, max_points: int = MAX_POINTS) -> None:
    """Refuse a grid of more than `max_points` points. Raises ConfigError with the number and the way out."""
    if n_p * n_w > max_points:
        points, digits = f"{n_p * n_w:,} points", len(str(n_p * n_w))
        if digits > 15:
            points = f"more than 10^{digits - 1} points"
        elif n_w > 1:
            points += f" ({n_p:,} p x {n_w:,} w)"
        raise ConfigError(
            f"the grid has {points}, more than {max_points:,}; choose a larger step, a smaller range or "
            "fewer w, or raise grid.max_points."
        )


def p_values(start: float, stop: float, step: float, max_points: int = MAX_POINTS) -> Floats:
    """float64[P] start, start + step, ... below `stop`, each the float64 nearest to its decimal number.

    p_values(-30, 30, 0.1) is the paper's 600 values with 0 and 1 exactly there, as numpy.arange(-300, 300) / 10.
    Raises ConfigError when the grid is empty or has more than `max_points` values, the step is not above 0, or the
    step does not divide the range.
    """
    told = f"the p grid from {start} to {stop} in steps of {step}"
    if not np.isfinite([start, stop, step]).all():
        raise ConfigError(f"{told} is not made of finite numbers; write finite ones.")
    if step <= 0:
        raise ConfigError(f"{told}: the step must be above 0.")
    # The shortest decimal text of a float is what the user wrote: 0.1 becomes 1/10.
    first, last, stride = (Fraction(str(float(number))) for number in (start, stop, step))
    if last <= first:
        raise ConfigError(f"{told} is empty: the stop, which is left out, must be above the start.")
    check_size(int((last - first) / stride), 1, max_points)
    if (last - first) % stride:
        raise ConfigError(
            f"{told} does not come out even; choose a step that divides the range {float(last - first):g}."
        )
    # Python's integers: exact at any size, and their quotient is the nearest float64.
    unit = math.lcm(first.denominator, stride.denominator)
    return np.array([number / unit for number in range(int(first * unit), int(last * unit), int(stride * unit))])


@dataclass(frozen=True)
class PowerRange:
    """p from start to stop (exclusive) in steps, as a configuration writes it."""

    start: float
    stop: float
    step: float

    def values(self, max_points: int = MAX_POINTS) -> tuple[float, ...]:
        """The powers, by `p_values`."""
        return tuple(p_values(self.start, self.stop, self.step, max_points).tolist())


PAPER_P = PowerRange(-30.0, 30.0, 0.1)


@dataclass(frozen=True)
class Point:
    """A (p, w) to evaluate at. With w = 1, the metric alone, p means nothing and may be NaN."""

    p: float
    w: float


@dataclass(frozen=True)
class GridSpec:
    """What is computed for a setting.

    p: tuple of P powers and w: tuple of W weights of the base score in [0, 1], both kept ascending without
    repeats; side: "both" aggregates the words of ground truth and hypothesis together, "hypothesis" those of
    the hypothesis; aggregation: the mean; correlation: "pearson", "spearman" or "kendall".
    Raises ConfigError for an empty grid, a NaN, a weight outside [0, 1] or an unknown name.
    """

    p: tuple[float, ...] = PAPER_P.values()
    w: tuple[float, ...] = PAPER_W
    side: Words = "both"
    aggregation: Aggregation = field(default_factory=PowerMean)
    correlation: Kind = "pearson"

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", _ascending("p", self.p))
        object.__setattr__(self, "w", _ascending("w", self.w))
        outside = [weight for weight in self.w if not 0 <= weight <= 1]
        if outside:
            raise ConfigError(f"weight w = {outside[0]} is outside [0, 1]; w is the share of the base score.")
        if self.side not in get_args(Words):
            raise ConfigError(unknown("side", self.side, get_args(Words)))
        check_kind(self.correlation)


@dataclass(frozen=True, eq=False)
class GridResult:
    """The grid of one setting. Correlations are over the used segments: rated, scored, and with a word to aggregate.

    correlation: float64[P, W], NaN where undefined; the column w = 1 is the baseline for every p.
    baseline: correlation of the base score.
    best, best_p, best_w: the best point by `best.first_within_rounding`; NaN when no point is defined. With best_w = 1,
        the metric alone, best_p means nothing.
    plateau: number of points with w other than 1 within 1e-5 of the highest of these; 0 when there is none.
    n_segments: segments handed in; n_rated: those with a human score; n_used: those every correlation rests on.
        The rest of the rated have no word on the aggregated side, or no finite base score or attributions.
    n_undefined: number of NaN points: all scores equal, or equal but for the rounding of the means.
    share_shifted: share of used segments whose attributions had to be shifted to be positive; for p <= -1 their
        mean is almost only a function of the number of words. NaN without used segments.
    length_control: correlation of the number of words aggregated with the human scores.
    """

    correlation: Floats
    baseline: float
    n_segments: int
    n_rated: int
    n_used: int
    best: float = math.nan
    best_p: float = math.nan
    best_w: float = math.nan
    plateau: int = 0
    n_undefined: int = 0
    share_shifted: float = math.nan
    length_control: float = math.nan


@dataclass(frozen=True, eq=False)
class GridInputs:
    """What a grid is computed from: the n used of N segments.

    columns: float64[n, P] the means, read a range of p at a time; base, human: float64[n]; lengths: int64[n] words
    aggregated; used: bool[N]; shifted: bool[n] whether an attribution was not above 0; n_rated: segments with a human
    score.
    """

    columns: GridMeans
    base: Floats
    human: Floats
    lengths: NDArray[np.int64]
    used: NDArray[np.bool_]
    shifted: NDArray[np.bool_]
    n_rated: int

    @property
    def means(self) -> Floats:
        """float64[n, P] all means at once: 4.8 GB for a million segments of the paper's 600 p."""
        return self.columns[:, :]


def compute_grid(spec: GridSpec, base: Floats, ground_truth: Ragged, hypothesis: Ragged, human: Floats) -> GridResult:
    """The grid of a setting of N segments.

    base: float64[N] scores of the metric; ground_truth and hypothesis: N rows of attributions, one per word;
    human: float64[N], NaN = not rated.
    Raises DataError when attributions are too large to be shifted, ValueError when the arrays differ in length.
    """
    return grid_of(spec, grid_inputs(spec, base, ground_truth, hypothesis, human))


def grid_of(spec: GridSpec, given: GridInputs) -> GridResult:
    """The grid of the used segments."""
    base, human, lengths, w = given.base, given.human, given.lengths, np.array(spec.w)
    grid = whole_grid(spec.correlation, given.columns, base, human, w)
    best, best_p, best_w = float("nan"), float("nan"), float("nan")
    at = int(first_within_rounding(grid[None])[0])
    if at >= 0:
        row, column = divmod(at, len(spec.w))
        best, best_p, best_w = float(grid[row, column]), spec.p[row], spec.w[column]
    return GridResult(
        correlation=grid,
        baseline=correlate(spec.correlation, base, human),
        best=best,
        best_p=best_p,
        best_w=best_w,
        plateau=int(plateau_within_no_change(grid[None], w).members.sum()),
        n_segments=len(given.used),
        n_rated=given.n_rated,
        n_used=len(base),
        n_undefined=int(np.isnan(grid).sum()),
        share_shifted=float(given.shifted.mean()) if len(base) else float("nan"),
        length_control=correlate(spec.correlation, lengths, human),
    )


def grid_inputs(spec: GridSpec, base: Floats, ground_truth: Ragged, hypothesis: Ragged, human: Floats) -> GridInputs:
    """The used segments of a setting and their means for every p; arguments and errors as for `compute_grid`."""
    words = _aggregated_words(spec.side, base, ground_truth, hypothesis)
    if len(human) != len(base):
        raise ValueError(f"{len(base)} base scores but {len(human)} human scores")
    rated = np.isfinite(human)
    used = rated & np.isfinite(base) & defined_rows(words)
    positive, shifted = shift_positive(words)  # of all segments, so that an error names the row of the caller
    means = GridMeans(spec.aggregation, take_rows(positive, used), np.array(spec.p))
    return GridInputs(means, base[used], human[used], words.lengths[used], used, shifted[used], int(rated.sum()))


def nearest_point(p_grid: Floats, w_grid: Floats, p: float, w: float) -> tuple[int, int] | None:
    """Row and column of the grid point at which (p, w) is evaluated; None outside the grid.

    p_grid: float64[P] and w_grid: float64[W], ascending. The nearest p and the nearest w are taken, of two equally
    near ones the lower: p = -0.95 on a grid of tenths is evaluated at -1.0, as the paper's published numbers are. A
    number is therefore always a correlation that was computed, never interpolated.
    With w = 1, the metric alone, p has no meaning: any p is accepted, NaN included.
    """
    column = _nearest(w_grid, w)
    if column is None:
        return None
    row = _nearest(p_grid, p)
    if row is None and w_grid[column] == 1 and len(p_grid):
        row = 0
    return None if row is None else (row, column)


def boosted_scores(
    aggregation: Aggregation, side: Words, p: float, w: float, base: Floats, ground_truth: Ragged, hypothesis: Ragged
) -> Floats:
    """float64[N] boosted scores w * base + (1 - w) * M_p of one grid point; arguments as for `compute_grid`.

    NaN where a segment has no word on the aggregated side or an attribution that is not finite.
    Raises ConfigError for a NaN p or a w outside [0, 1].
    """
    GridSpec((p,), (w,), side, aggregation)
    words = _aggregated_words(side, base, ground_truth, hypothesis)
    usable = defined_rows(words)
    positive, _ = shift_positive(words)
    scores = np.full(len(base), np.nan)
    means = aggregation.aggregate(take_rows(positive, usable), np.array([p]))[:, 0]
    scores[usable] = w * base[usable] + (1 - w) * means
    return scores


def _nearest(values: Floats, wanted: float) -> int | None:
    """The index of the nearest of ascending values; None when `wanted` is NaN or beyond their ends."""
    if not len(values) or not values[0] - EQUALLY_NEAR <= wanted <= values[-1] + EQUALLY_NEAR:
        return None
    distance = np.abs(values - wanted)
    return int(np.flatnonzero(distance <= distance.min() + EQUALLY_NEAR)[0])


def _ascending(name: str, numbers: Iterable[float]) -> tuple[float, ...]:
    kept = tuple(sorted({float(number) for number in numbers}))
    if not kept:
        raise ConfigError(f"the grid has no {name}; name at least one value.")
    if any(number != number for number in kept):
        raise ConfigError(f"a {name} of the grid is NaN; write numbers.")
    return kept


def _aggregated_words(side: Words, base: Floats, ground_truth: Ragged, hypothesis: Ragged) -> Ragged:
    if not len(base) == len(ground_truth) == len(hypothesis):
        raise ValueError(f"{len(base)} base scores but {len(ground_truth)} and {len(hypothesis)} rows of attributions")
    return concatenate_rows(ground_truth, hypothesis) if side == "both" else hypothesis


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
        if math.prod(self.shape) <= WHOLE_CELLS:
            self._range, self._made = slice(0, len(p)), aggregation.aggregate(words, p)
        else:
            self._packed = aggregation.packed(words)

    @property
    def _width(self) -> int:
        """How many p are made together, where not all are."""
        return fitting(CELLS, self.shape[0])

    def blocks(self) -> Iterator[slice]:
        """Ranges of p that are made together, in order; one where all are."""
        return ranges(self.shape[1], max(self.shape[1], 1) if self._packed is None else self._width)

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


def blocks_of(means: Floats | GridMeans) -> Iterator[slice]:
    """Ranges of p whose means are there together."""
    return means.blocks() if isinstance(means, GridMeans) else iter((slice(0, means.shape[1]),))


def whole_grid(kind: Kind, means: Floats | GridMeans, base: Floats, human: Floats, w: Floats) -> Floats:
    """float64[P, W] the grid of all segments, by `correlate_grid`."""
    of_blocks = (means[:, block] for block in blocks_of(means))
    return np.concatenate([correlate_grid(kind, block, base, human, w, PRECISION) for block in of_blocks])
