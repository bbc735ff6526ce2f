"""Correlation with human scores: of one pair of arrays or of all points of a grid (paper 3.5); which one is best.

Definitions are SciPy's: Spearman's rho is Pearson's r of average ranks, Kendall's tau is tau-b. A
correlation is NaN with fewer than 3 rated pairs, or when one side is constant: all its float64 numbers equal.
This module also defines "best", "plateau", "better" and "worse" for results, tables and figures.

Correlations, tests and verdicts do not depend on the scale of scores: a sentence probability near 1e-200 is worth
as much as its thousandth power of ten. Squares of such numbers are 0 in float64. So scores are scaled to below 1 by
a power of two before they are squared, which changes no digit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bmx_grid.core.errors import check_known
from bmx_grid.core.ragged import Flags, Floats
from bmx_grid.measures.aggregation import PRECISION
from bmx_grid.measures.ordered import merge_near_equal, ordered_grid
from bmx_grid.measures.ranked_pair import correlate_ranks

Kind = Literal["pearson", "spearman", "kendall"]
KINDS: tuple[str, ...] = get_args(Kind)
# of two lists of scores; grids and boosts rest on the kinds above
Coefficient = Literal[Kind, "kendall_tau_c"]
COEFFICIENTS: tuple[str, ...] = get_args(Coefficient)

FEWEST = 3  # any two pairs correlate perfectly
CANCELLED = 1e-3  # share of the variance that must be left when base and mean cancel, to trust the moments
CENTRED = 1 / 400  # variance of the means, relative to their squared mean, below which they are centred first
LEAST_SQUARE = 1e-270  # smaller sums of squares may have lost digits
ROUNDED = 1e-4  # spread of the scores, relative to their size, from which their own rounding shows
TIE = 1e-12  # correlations are not more exact than this: closer ones count as equal
NO_CHANGE = 1e-5  # a gain up to this counts as no change


def correlate(kind: Coefficient, x: ArrayLike, y: ArrayLike) -> float:
    """Correlate two arrays.

    Args:
        kind: `"pearson"` (Pearson's r), `"spearman"` (Pearson's r of average ranks), `"kendall"` (tau-b) or
            `"kendall_tau_c"` (see `kendall_tau_c`). Definitions are SciPy's.
        x: float64[N].
        y: float64[N]. Pairs with NaN on either side are ignored.

    Returns:
        float: Correlation in [-1, 1]. NaN with fewer than 3 pairs or if one side is constant; Pearson's r also with
            an infinite value.

    Raises:
        ConfigError: `kind` is unknown.
        ValueError: The arrays are not one-dimensional, or their lengths differ.

    Example:
        >>> from bmx_grid.measures import correlate
        >>> round(correlate("kendall", [1, 2, 3, 4], [1, 3, 2, 4]), 3)
        0.667
        >>> correlate("pearson", [1, 2, float("nan")], [2, 4, 6])
        nan
    """
    check_coefficient(kind)
    if kind == "kendall_tau_c":
        return kendall_tau_c(x, y)
    left = np.asarray(x, dtype=np.float64)
    right = np.asarray(y, dtype=np.float64)
    if left.shape != right.shape or left.ndim != 1:
        raise ValueError(f"two arrays of one length are correlated, not shapes {left.shape} and {right.shape}")
    missing = np.isnan(left) | np.isnan(right)
    if missing.any():
        left = left[~missing]
        right = right[~missing]
    n = len(left)
    if n < FEWEST:
        return math.nan
    if kind == "pearson":
        if not np.isfinite([left, right]).all():
            return math.nan
        # The base score only, by the steps of a grid: the column w = 1 of a grid is this number, bit for bit.
        grid = _pearson_grid(np.zeros((n, 1)), np.zeros(1), below_one(left), right, np.ones(1))
        return float(grid.item())
    return correlate_ranks(kind == "kendall", left, right)


def kendall_tau_c(x: ArrayLike, y: ArrayLike) -> float:
    """Compute Kendall's tau-c, for scores with few distinct values.

    tau-c = 2 (C - D) / (N^2 (m - 1) / m), with C concordant pairs, D discordant pairs, and m the smaller number of
    distinct values of the two sides (Stuart 1953). Scores on five levels can reach 1 against scores without ties;
    tau-b cannot.

    Args:
        x: float64[N].
        y: float64[N]. Pairs with NaN on either side are ignored.

    Returns:
        float: tau-c. NaN with fewer than 3 pairs or if one side is constant.

    Raises:
        ValueError: The arrays are not one-dimensional, or their lengths differ.

    Example:
        >>> from bmx_grid.measures import correlate, kendall_tau_c
        >>> kendall_tau_c([1, 1, 2, 2], [1, 2, 3, 4])
        1.0
        >>> round(correlate("kendall", [1, 1, 2, 2], [1, 2, 3, 4]), 3)
        0.816
    """
    tau_b = correlate("kendall", x, y)
    left = np.asarray(x, dtype=np.float64)
    right = np.asarray(y, dtype=np.float64)
    rated = ~(np.isnan(left) | np.isnan(right))
    n = int(rated.sum())
    if math.isnan(tau_b):
        return math.nan
    once = np.ones((n, 1))
    return float(tau_c_of(np.array([tau_b]), left[rated], right[rated], once)[0])


def tau_c_of(tau_b: Floats, x: Floats, y: Floats, times: Floats) -> Floats:
    """float64[R] Kendall's tau-c of n pairs from their tau-b, each pair float64[n, R] times; NaN of a constant side."""
    roots = []
    different = []
    size = times.sum(axis=0)
    for values in (x, y):
        _, level = np.unique(values, return_inverse=True)
        of_levels = np.stack([np.bincount(level, column) for column in times.T], axis=1)
        # pairs of copies tie, too
        untied = (size**2 - (of_levels**2).sum(axis=0)) / 2
        roots.append(np.sqrt(untied))
        different.append(np.count_nonzero(of_levels, axis=0))
    # tau-b is the same numerator over the root of the pairs that do not tie on either side
    net = tau_b * roots[0] * roots[1]
    fewer = np.minimum(different[0], different[1])
    with np.errstate(invalid="ignore"):
        return np.asarray(2 * net * fewer / np.where(fewer > 1, size**2 * (fewer - 1), np.nan))


def average_ranks(values: Floats) -> Floats:
    """float64[N] ranks from 1 for the lowest of float64[N] values; equal values share their mean rank."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last_ranks = np.cumsum(counts)
    mean_ranks: Floats = last_ranks - (counts - 1) / 2
    return mean_ranks[places]


def check_coefficient(kind: str) -> None:
    """Raise ConfigError, with the list of what exists, unless `kind` names a correlation of two lists."""
    check_known("correlation", kind, COEFFICIENTS)


def check_kind(kind: str) -> None:
    """Raise ConfigError, with the list of what exists, unless `kind` names a correlation of grids and boosts."""
    check_known("correlation", kind, KINDS)


def correlate_grid(kind: Kind, means: Floats, base: Floats, human: Floats, w: ArrayLike) -> Floats:
    """float64[P, W] correlation of s1 = w * base + (1 - w) * means[:, p] with the human scores, for all p and w.

    means: float64[N, P], base: float64[N], human: float64[N] (NaN = not rated), w: float64[W] in [0, 1].
    Every point uses the same segments: those whose human score, base score and means are all finite. A point
    is the correlation of the float64 numbers s1, as SciPy would give it, to 1e-12 (Kendall: equal); the column
    w = 1 is the baseline, the same number for every p.
    Means that differ by their rounding (`aggregation.PRECISION`) tie for the rank correlations, and a point (w below 1)
    whose scores all lie that close together is constant, so NaN: rounding creates no order.
    Raises ConfigError for an unknown kind.
    """
    check_kind(kind)
    w = np.asarray(w, dtype=np.float64)
    used = np.isfinite(human) & np.isfinite(base)
    # a NaN or infinity makes the sum of its column NaN or infinite, which Pearson's r needs anyway
    sums = np.ones(len(base)) @ means
    complete = used.all() and np.isfinite(sums).all()
    if not complete:
        used &= np.isfinite(means).all(axis=1)
        means = means[used]
        base = base[used]
        human = human[used]
        sums = np.ones(len(base)) @ means
    result = np.full((means.shape[1], len(w)), np.nan)
    if len(base) < FEWEST:
        return result
    blend = w != 1
    if kind == "pearson":
        result[:, blend] = _pearson_grid(means, sums / len(base), base, human, w[blend])
    else:
        joined = merge_near_equal(means)
        result[:, blend] = ordered_grid(kind == "kendall", joined, base, human, w[blend])
    # From moments the metric alone would have other last digits at every p, and than in other tables.
    if not blend.all():
        result[:, ~blend] = correlate(kind, base, human)
    return result


def _pearson_grid(means: Floats, centre: Floats, base: Floats, human: Floats, w: Floats) -> Floats:
    """All w from the second moments of base, mean and human score at each p; centre: float64[P] the mean of means.

    Where too few digits are left of the variance, a point is recomputed from its scores.
    """
    if (human == human[0]).all():
        return np.full((len(centre), len(w)), np.nan)
    human_unit = unit(human)
    base_centre = float(base.mean())
    base_left = base - base_centre
    # One product with each vector: a product with both at once would copy all means first.
    with_human = human_unit @ means
    with_base = base_left @ means
    squares = np.einsum("np,np->p", means, means)
    level = len(base) * centre**2
    squares -= level
    # means so close to each other lose digits unless centred first
    far_apart = squares > CENTRED * level
    close = np.flatnonzero(~far_apart)
    if len(close):
        # all p between, too: a range is not copied
        some = slice(close[0], close[-1] + 1)
        left = means[:, some] - centre[some]
        with_human[some] = human_unit @ left
        with_base[some] = base_left @ left
        squares[some] = np.einsum("np,np->p", left, left)
    # [W, P] from now on, for long inner loops
    share = w[:, None]
    rest = 1 - share
    # n var(w b + (1 - w) m) = w^2 n var(b) + (1 - w)^2 n var(m) + 2 w (1 - w) n cov(b, m)
    of_base = share**2 * float(base_left @ base_left)
    of_means = rest**2 * squares
    parts = of_base + of_means
    variance = parts + 2 * share * rest * with_base
    # How large a blend is, for the rounding that it carries.
    size = share * abs(base_centre) + rest * np.abs(centre)
    rounding = len(base) * (ROUNDED * size) ** 2
    enough = np.maximum(CANCELLED * parts, rounding)
    # squares of tiny scores have few digits left, or none
    enough = np.maximum(enough, LEAST_SQUARE)
    trusted = (variance > enough) & (variance < np.inf)
    # the opposite of "is trusted", so that a NaN is computed again, too
    lost = ~trusted
    variance[lost] = 1.0
    covariance = share * float(base_left @ human_unit) + rest * with_human
    result = covariance / np.sqrt(variance)
    # The few points whose base and means nearly cancel are correlated from their scores.
    for column in np.flatnonzero(lost.any(axis=1)):
        again = lost[column]
        scores = w[column] * base[:, None] + (1 - w[column]) * means[:, again]
        # only means carry rounding: the base score is taken as it is
        precision = PRECISION if w[column] != 1 else 0.0
        result[column, again] = _pearson_columns(scores, human, precision)
    clipped: Floats = np.clip(result, -1.0, 1.0)
    return clipped.T


def _pearson_columns(scores: Floats, human: Floats, precision: float) -> Floats:
    """float64[K] Pearson's r of float64[N, K] scores and human scores in two passes.

    NaN for scores that are equal to a relative `precision`.
    """
    result = np.full(scores.shape[1], np.nan)
    least = scores.min(axis=0)
    most = scores.max(axis=0)
    size = np.maximum(np.abs(least), np.abs(most))
    varies = most - least > precision * size
    result[varies] = unit(human) @ unit(scores[:, varies])
    return result


def unit(values: Floats) -> Floats:
    """Columns float64[N] or [N, K] less their mean, of length 1; scaled first, which keeps squares of tiny numbers."""
    scaled = below_one(values)
    left: Floats = scaled - scaled.mean(axis=0)
    left /= np.abs(left).max(axis=0)
    left /= np.sqrt(np.einsum("n...,n...->...", left, left))
    return left


def first_within_rounding(correlation: Floats) -> NDArray[np.intp]:
    """The best point of each of S settings: int[S] indices into the flattened P x W grids, float64[S, P, W].

    Best is the first, p ascending and w fastest, of the points within 1e-12 of the highest correlation: the paper's
    rule, except for rounding. w = 1 (the metric alone) is allowed. -1 for a setting without a defined point.
    """
    comparable = np.where(np.isnan(correlation), -np.inf, correlation)
    n_settings, n_powers, n_weights = correlation.shape
    flat = comparable.reshape(n_settings, n_powers * n_weights)  # also of no settings
    highest = flat.max(axis=1, initial=-np.inf)
    as_high = flat >= highest[:, None] - TIE
    # the arg-max of flags is the first that is true
    first = np.argmax(as_high, axis=1)
    return np.where(np.isfinite(highest), first, -1)


def point_that_gains(gains: Floats, w: Sequence[float]) -> tuple[int, int] | None:
    """Row and column of the best of float64[P, W] gains by `first_within_rounding`; None for no boost.

    No boost means: no gain is defined or above 0 by more than rounding, or the best has w = 1.
    """
    place = int(first_within_rounding(gains[None])[0])
    if place < 0:
        return None
    row, column = divmod(place, len(w))
    if w[column] == 1 or not beats(gains[row, column]):
        return None
    return row, column


def plateau_within_no_change(correlation: Floats, w: Floats) -> tuple[Floats, Flags]:
    """float64[S] the highest of float64[S, P, W] correlations with w other than 1, -inf without a defined one.

    And bool[S, P, W] which points with w other than 1 are within 1e-5 of it.
    """
    eligible = (w != 1) & ~np.isnan(correlation)
    boosted = np.where(eligible, correlation, -np.inf)
    highest = boosted.max(axis=(1, 2), initial=-np.inf)
    near = boosted >= highest[:, None, None] - NO_CHANGE
    return highest, near & np.isfinite(boosted)


def beats(gain: Floats) -> Flags:
    """True for a gain above 0 by more than rounding (1e-12): the best point has w below 1."""
    return np.asarray(gain > TIE)


def better(gain: Floats) -> Flags:
    """True for a gain above 1e-5; False for NaN."""
    return np.asarray(gain > NO_CHANGE)


def worse(gain: Floats) -> Flags:
    """True for a gain of 0 or less (the paper's "equal or worse"); False for NaN."""
    return np.asarray(gain <= 0)


def size_exponent(values: Floats) -> Any:
    """The power of two just above the largest size in float64[N], or int[K] in each column of float64[N, K].

    0 for zeros, and for no numbers; NaN and infinity do not count.
    """
    sizes = np.where(np.isfinite(values), np.abs(values), 0.0)
    _, exponent = np.frexp(sizes.max(axis=0, initial=0.0))
    return exponent


def below_one(values: Floats) -> Floats:
    """The same numbers, each column over a power of two that leaves its largest size between 1/2 and 1."""
    return np.asarray(np.ldexp(values, -size_exponent(values)))


def standard_deviation(values: Floats) -> Any:
    """The standard deviation (divided by N) of float64[N], or float64[K] of each column of float64[N, K]."""
    exponent = size_exponent(values)
    deviation = np.ldexp(values, -exponent).std(axis=0)
    return np.ldexp(deviation, exponent)
