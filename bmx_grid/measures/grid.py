"""The p x w grid of one setting, pure arrays: attributions in, correlations with human scores out (paper 3.4, 3.5)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np

from bmx_grid.core.errors import ConfigError, unknown
from bmx_grid.core.ragged import Flags, Floats, Ints, Ragged, concatenate_rows, defined_rows, expand_rows, take_rows
from bmx_grid.measures.aggregation import Aggregation, PowerMean, shift_positive
from bmx_grid.measures.correlation import (
    Kind,
    check_kind,
    correlate,
    first_within_rounding,
    plateau_within_no_change,
)
from bmx_grid.measures.means import Means, MeansInParts, can_be_held, correlate_means, means_in_their_rows

UsedWords = Literal["both", "hypothesis"]
Numbers = Floats | Sequence[float]

EQUALLY_NEAR = 1e-9  # distances to two grid points that differ by less are equal; grids carry rounding
KEPT_CELLS = 2**24  # segments x p whose means are kept: 128 MiB, or 50 settings of WMT17
MAX_POINTS = 1_000_000  # of one setting: 8 MB of correlations each; the paper has 3,600


def check_size(n_p: int, n_w: int, max_points: int = MAX_POINTS) -> None:
    """Refuse a grid of more than `max_points` points. Raises ConfigError with the number and the way out."""
    if n_p * n_w > max_points:
        raise ConfigError(
            f"the grid has {n_p * n_w:,} points ({n_p:,} p x {n_w:,} w), more than {max_points:,}; choose a larger "
            "step, a smaller range or fewer w, or raise max_points."
        )


@dataclass(frozen=True)
class PowerRange:
    """A range of powers p in equal steps, as a configuration writes it.

    Attributes:
        start: First p.
        stop: End of the range, exclusive.
        step: Distance between two values of p, above 0. It must divide the range.

    Example:
        >>> from bmx_grid.measures import PowerRange
        >>> PowerRange(-30, 30, 0.1).values()[:3]
        (-30.0, -29.9, -29.8)
    """

    start: float
    stop: float
    step: float

    def values(self, max_points: int = MAX_POINTS) -> tuple[float, ...]:
        """List the powers of the range.

        Each value is the float64 nearest to its decimal number, so that 0 and 1 are exact.

        Args:
            max_points: Highest allowed number of values. Default: 1,000,000.

        Returns:
            tuple[float, ...]: start, start + step, ..., below stop.

        Raises:
            ConfigError: The range is empty, not finite or has more than `max_points` values, or the step is not above 0
                or does not divide the range.

        Example:
            >>> from bmx_grid.measures import PowerRange
            >>> PowerRange(-1, 1, 0.5).values()
            (-1.0, -0.5, 0.0, 0.5)
        """
        grid = f"the p grid from {self.start} to {self.stop} in steps of {self.step}"
        numbers = (self.start, self.stop, self.step)
        if not np.isfinite(numbers).all():
            raise ConfigError(f"{grid} is not made of finite numbers; write finite ones.")
        if self.step <= 0:
            raise ConfigError(f"{grid}: the step must be above 0.")
        # The shortest decimal text of a float is the user's: 0.1 becomes 1/10.
        first, last, stride = (Fraction(str(float(number))) for number in numbers)
        reach = last - first
        if reach <= 0:
            raise ConfigError(f"{grid} is empty: the stop, which is excluded, must be above the start.")
        check_size(int(reach / stride), 1, max_points)
        if reach % stride:
            raise ConfigError(f"{grid} does not come out even; choose a step that divides the range {float(reach):g}.")
        # Python's integers: exact at any size, and their quotient is the nearest float64.
        unit = math.lcm(first.denominator, stride.denominator)
        numerators = range(int(first * unit), int(last * unit), int(stride * unit))
        return tuple(numerator / unit for numerator in numerators)


def powers_of(p: Sequence[float] | PowerRange, max_points: int = MAX_POINTS) -> tuple[float, ...]:
    """The powers of a range, or those that are listed, ascending. Raises ConfigError for none, NaN or too many."""
    if isinstance(p, PowerRange):
        return p.values(max_points)
    check_size(len(p), 1, max_points)
    return _ascending("p", p)


# as configs/grid/paper.yaml, by a test
PAPER_P = PowerRange(-30, 30, 0.1)
PAPER_W = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


@dataclass(frozen=True)
class Point:
    """A (p, w) to evaluate at. With w = 1 (the metric alone) p means nothing and may be NaN."""

    p: float
    w: float


@dataclass(frozen=True)
class GridSpec:
    """The points and options of a p x w grid (paper, sections 3.4 and 3.5).

    Attributes:
        p: P powers of the mean, kept ascending without repeats. Default: the paper's 600 values.
        w: W weights of the metric in [0, 1], kept ascending without repeats. Default: 0, 0.2, ..., 1.
        side: Words to aggregate: `"both"` (source or reference, and hypothesis) or `"hypothesis"`.
        aggregation: Mean of the attributions of a segment. Default: the power mean M_p.
        correlation: `"pearson"`, `"spearman"` or `"kendall"`.

    Raises:
        ConfigError: p or w is empty or contains NaN, a weight is outside [0, 1], or a name is unknown.

    Example:
        >>> from bmx_grid.measures import GridSpec
        >>> spec = GridSpec(p=(1, -1), w=(0.5, 1), correlation="kendall")
        >>> spec.p, spec.w
        ((-1.0, 1.0), (0.5, 1.0))
        >>> len(GridSpec().p), GridSpec().w
        (600, (0.0, 0.2, 0.4, 0.6, 0.8, 1.0))
    """

    p: tuple[float, ...] = PAPER_P.values()
    w: tuple[float, ...] = PAPER_W
    side: UsedWords = "both"
    aggregation: Aggregation = field(default_factory=PowerMean)
    correlation: Kind = "pearson"

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", _ascending("p", self.p))
        object.__setattr__(self, "w", _ascending("w", self.w))
        outside = [weight for weight in self.w if not 0 <= weight <= 1]
        if outside:
            raise ConfigError(f"weight w = {outside[0]} is outside [0, 1]; w is the share of the base score.")
        if self.side not in get_args(UsedWords):
            raise ConfigError(unknown("side", self.side, get_args(UsedWords)))
        check_kind(self.correlation)


def check_points(points: Mapping[str, Point], where: str) -> None:
    """Refuse points, by explainer, that no grid could have. Raises ConfigError naming the key below `where`."""
    for name, point in points.items():
        try:
            GridSpec((point.p,), (point.w,))
        except ConfigError as error:
            raise ConfigError(f"{where}.{name}: {error}") from error


@dataclass(frozen=True, eq=False)
class GridResult:
    """The grid of one setting.

    All correlations use the same segments: rated, scored, and with a word to aggregate.

    Attributes:
        correlation: float64[P, W]; NaN if undefined. The column w = 1 is the baseline for every p.
        baseline: Correlation of the unboosted scores.
        n_segments: Number of segments passed in.
        n_rated: Number of segments with a human score.
        n_used: Number of segments behind every correlation.
        best: Highest correlation. Of points within 1e-12, the first counts (p ascending, w fastest). NaN if no point is
            defined.
        best_p: p of the best point; meaningless if best_w is 1.
        best_w: w of the best point.
        plateau: Number of points with w below 1 within 1e-5 of the highest of these.
        n_undefined: Number of NaN points.
        share_shifted: Share of used segments whose attributions were shifted to be positive. For p <= -1 their mean
            depends almost only on the number of words.
        length_control: Correlation of the number of aggregated words with the human scores.
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
    """The input of a grid: the n used of N segments.

    means: float64[n, P] of the attributions; base, human: float64[n]; lengths: int64[n] words aggregated;
    used: bool[N]; shifted: bool[n] whether an attribution was not above 0; n_rated: segments with a human score.
    """

    means: Means
    base: Floats
    human: Floats
    lengths: Ints
    used: Flags
    shifted: Flags
    n_rated: int


def compute_grid(spec: GridSpec, base: Floats, ground_truth: Ragged, hypothesis: Ragged, human: Floats) -> GridResult:
    """Compute the correlation with human scores at each point of a p x w grid.

    The score of a segment at a point is s1 = w * s0 + (1 - w) * M_p of its attributions (paper, section 2.1).
    Attributions of a segment that are not all positive are shifted first (section 3.4).

    Args:
        spec: Points and options of the grid.
        base: float64[N], scores s0 of the metric.
        ground_truth: N rows of attributions, one per word of the source or reference; empty rows if not explained.
        hypothesis: N rows of attributions, one per word of the hypothesis.
        human: float64[N], human scores; NaN if not rated.

    Returns:
        GridResult: Correlations float64[P, W], the baseline, the best point, and counts.

    Raises:
        DataError: An attribution is too large (about 1e7) to be shifted in float64.
        ValueError: The arrays differ in length.

    Example:
        >>> import numpy as np
        >>> from bmx_grid.measures import GridSpec, Ragged, compute_grid
        >>> base = np.array([0.1, 0.3, 0.2, 0.4])
        >>> hypothesis = Ragged.from_rows([[0.1, 0.3], [0.3], [0.4, 0.8], [0.9]])
        >>> spec = GridSpec(p=(1,), w=(0, 1), side="hypothesis")
        >>> result = compute_grid(spec, base, Ragged.from_rows([[]] * 4), hypothesis, np.array([1.0, 2.0, 3.0, 4.0]))
        >>> result.correlation.round(3), round(result.baseline, 3), result.best_w
        (array([[0.98, 0.8 ]]), 0.8, 0.0)
    """
    return grid_of(spec, grid_inputs(spec, base, ground_truth, hypothesis, human))


def grid_of(spec: GridSpec, inputs: GridInputs) -> GridResult:
    """The grid of the used segments."""
    base = inputs.base
    human = inputs.human
    w = np.array(spec.w)
    grid = correlate_means(spec.correlation, inputs.means, base, human, w)
    best = math.nan
    best_p = math.nan
    best_w = math.nan
    place = int(first_within_rounding(grid[None])[0])
    if place >= 0:
        row, column = divmod(place, len(spec.w))
        best = float(grid[row, column])
        best_p = spec.p[row]
        best_w = spec.w[column]
    _, on_plateau = plateau_within_no_change(grid[None], w)
    share_shifted = float(inputs.shifted.mean()) if len(base) else math.nan
    return GridResult(
        correlation=grid,
        baseline=correlate(spec.correlation, base, human),
        n_segments=len(inputs.used),
        n_rated=inputs.n_rated,
        n_used=len(base),
        best=best,
        best_p=best_p,
        best_w=best_w,
        plateau=int(on_plateau.sum()),
        n_undefined=int(np.isnan(grid).sum()),
        share_shifted=share_shifted,
        length_control=correlate(spec.correlation, inputs.lengths, human),
    )


def grid_inputs(spec: GridSpec, base: Floats, ground_truth: Ragged, hypothesis: Ragged, human: Floats) -> GridInputs:
    """The used segments of a setting and their means for every p; arguments and errors as for `compute_grid`."""
    _check_lengths(base, ground_truth, hypothesis)
    if len(human) != len(base):
        raise ValueError(f"{len(base)} base scores but {len(human)} human scores")
    words = positive_words(spec.side, ground_truth, hypothesis)
    rated = np.isfinite(human)
    used = rated & np.isfinite(base) & words.defined
    means: Means
    if not can_be_held(len(base), len(spec.p)):
        means = MeansInParts(spec.aggregation, take_rows(words.values, used), np.array(spec.p))
    else:
        means = segment_means(spec, ground_truth, hypothesis)
        # copied only if a segment is left out: no other array is as large
        means = means if used.all() else means[used]
    return GridInputs(
        means=means,
        base=base[used],
        human=human[used],
        lengths=words.values.lengths[used],
        used=used,
        shifted=words.shifted[used],
        n_rated=int(rated.sum()),
    )


@dataclass(frozen=True, eq=False)
class PositiveWords:
    """N rows of positive attributions.

    defined: bool[N], false for a row without words, or with one that is not finite. shifted: bool[N] whether an
    attribution was not above 0.
    """

    values: Ragged
    defined: Flags
    shifted: Flags


def positive_words(side: UsedWords, ground_truth: Ragged, hypothesis: Ragged) -> PositiveWords:
    """The attributions that are aggregated. Raises DataError when they are too large to be shifted."""
    words = words_of(side, ground_truth, hypothesis)
    # of all rows, so that an error names the row of the caller
    values, shifted = shift_positive(words)
    return PositiveWords(values, defined_rows(words), shifted)


_kept_means: dict[tuple[Any, ...], Floats] = {}


def segment_means(spec: GridSpec, ground_truth: Ragged, hypothesis: Ragged) -> Floats:
    """float64[N, P] means of N segments for every p of a grid; the last ones are kept for the evaluations that follow.

    NaN if a segment has no word on the aggregated side or an attribution that is not finite. Not to be written to,
    as several evaluations read the same ones. Raises DataError when attributions are too large to be shifted.
    """
    key = (spec.aggregation, spec.p, spec.side, ground_truth, hypothesis)
    known = _kept_means.get(key)
    if known is not None:
        return known
    words = positive_words(spec.side, ground_truth, hypothesis)
    usable = take_rows(words.values, words.defined)
    means = expand_rows(spec.aggregation.aggregate(usable, np.array(spec.p)), words.defined)
    # One power costs no more to compute again than to keep.
    if len(spec.p) > 1 and means.size <= KEPT_CELLS:
        _kept_means[key] = means
        # dictionaries keep their order: the oldest is dropped first
        while sum(kept.size for kept in _kept_means.values()) > KEPT_CELLS:
            del _kept_means[next(iter(_kept_means))]
    return means


def means_of(spec: GridSpec, ground_truth: Ragged, hypothesis: Ragged) -> Means:
    """As `segment_means`; in parts if they are too many to be held."""
    if can_be_held(len(hypothesis), len(spec.p)):
        return segment_means(spec, ground_truth, hypothesis)
    words = positive_words(spec.side, ground_truth, hypothesis)
    usable = take_rows(words.values, words.defined)
    return means_in_their_rows(spec.aggregation, usable, np.array(spec.p), words.defined)


def nearest_point(p_grid: Numbers, w_grid: Numbers, p: float, w: float) -> tuple[int, int] | None:
    """Row and column of the grid point at which (p, w) is evaluated; None outside the grid.

    p_grid: float64[P] and w_grid: float64[W], ascending. The nearest p and the nearest w are taken, of two equally
    near ones the lower: p = -0.95 on a grid of tenths is evaluated at -1.0, as the paper's published numbers are. A
    number is therefore always a correlation that was computed, never interpolated.
    With w = 1 (the metric alone) p has no meaning: any p is accepted, NaN included.
    """
    column = _nearest(w_grid, w)
    if column is None:
        return None
    row = _nearest(p_grid, p)
    if row is None and w_grid[column] == 1 and len(p_grid):
        row = 0
    return None if row is None else (row, column)


def _nearest(values: Numbers, wanted: float) -> int | None:
    """The index of the nearest of ascending values; None when `wanted` is NaN or beyond their ends."""
    if not len(values):
        return None
    lowest = values[0] - EQUALLY_NEAR
    highest = values[-1] + EQUALLY_NEAR
    # written so that a NaN is outside
    if not lowest <= wanted <= highest:
        return None
    numbers = np.asarray(values)
    # A power may be infinite, and the difference of infinities is no number.
    with np.errstate(invalid="ignore"):
        distance = np.where(numbers == wanted, 0.0, np.abs(numbers - wanted))
    equally_near = distance <= distance.min() + EQUALLY_NEAR
    # the arg-max of flags is the first that is true, so the lower value
    return int(np.argmax(equally_near))


def _ascending(name: str, numbers: Iterable[float]) -> tuple[float, ...]:
    distinct = {float(number) for number in numbers}
    if not distinct:
        raise ConfigError(f"the grid has no {name}; name at least one value.")
    if any(math.isnan(number) for number in distinct):
        raise ConfigError(f"a {name} of the grid is NaN; write numbers.")
    return tuple(sorted(distinct))


def _check_lengths(base: Floats, ground_truth: Ragged, hypothesis: Ragged) -> None:
    n = len(base)
    n_truth = len(ground_truth)
    n_hypothesis = len(hypothesis)
    if not n == n_truth == n_hypothesis:
        raise ValueError(f"{n} base scores but {n_truth} and {n_hypothesis} rows of attributions")


def words_of(side: UsedWords, ground_truth: Ragged, hypothesis: Ragged) -> Ragged:
    """N rows of the attributions that are aggregated."""
    return concatenate_rows(ground_truth, hypothesis) if side == "both" else hypothesis
