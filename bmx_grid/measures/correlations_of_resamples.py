"""Correlations of resamples and swaps: of weighted segments, and of the units of a paired test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Literal, get_args

import numpy as np

from bmx_grid.core.errors import check_known
from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.measures.correlation import FEWEST, Coefficient, below_one, check_coefficient, correlate, tau_c_of, unit
from bmx_grid.measures.ordered import sort_values, weighted_kendall, weighted_ranks
from bmx_grid.measures.resampling import (
    CACHED_CELLS,
    CELLS,
    FEWEST_CLUSTERS,
    Draw,
    fitting,
    number_of,
    ranges,
    ratio,
    seeded_draws,
    sums_by,
    swaps,
)

TOGETHER = 32  # resamples in one product of many pairs, at least: fewer read all pairs for little
LEAST_KEPT_VARIANCE = 1e-6  # share of the second moment that must be left as variance, to trust moments


def weighted_correlations(kind: Coefficient, columns: Floats, human: Floats, times: Floats) -> Floats:
    """float64[K, R] correlations of K scores of M pairs with human scores, each pair repeated by its weight.

    columns: float64[M, K]; human: float64[M]; times: float64[M, R] whole numbers of at least 0. NaN if one side is
    constant among the pairs that count, if the list has fewer than 3 pairs, copies counted, and for a column that
    is not finite. Raises ConfigError for an unknown kind.
    """
    check_coefficient(kind)
    correlations = np.full((columns.shape[1], times.shape[1]), np.nan)
    known = np.flatnonzero(np.isfinite(columns).all(axis=0))
    if len(human) < FEWEST or not len(known):
        return correlations
    times = np.ascontiguousarray(times)
    columns = columns[:, known]
    if kind in ("kendall", "kendall_tau_c"):
        for place, column in zip(known, columns.T, strict=True):
            correlations[place] = weighted_kendall(column, human, times.T)
            if kind == "kendall_tau_c":
                correlations[place] = tau_c_of(correlations[place], column, human, times)
    elif kind == "pearson":
        correlations[known] = _pearson(columns, human, times)
    else:
        correlations[known] = _spearman(columns, human, times)
    too_few = times.sum(axis=0) < FEWEST
    correlations[:, too_few] = np.nan
    return np.asarray(np.clip(correlations, -1.0, 1.0))


def resampled_correlations(
    kind: Coefficient, columns: Floats, human: Floats, cluster: Ints, resamples: int, seed: int
) -> Floats:
    """Correlate scores with human scores in bootstrap resamples of clusters.

    Args:
        kind: `"pearson"`, `"spearman"`, `"kendall"` or `"kendall_tau_c"`, as in `correlate`.
        columns: float64[N, K], scores of K metrics. All metrics share the same resamples.
        human: float64[N], human scores.
        cluster: int64[N], cluster of each segment, numbered from 0. Whole clusters are drawn with replacement.
        resamples: Number R of resamples.
        seed: Seed of the resampling.

    Returns:
        float64[K, R]: Correlations; NaN if one side is constant in a resample. R = 0 with fewer than 3 clusters.

    Raises:
        ConfigError: `kind` is unknown.

    Example:
        >>> import numpy as np
        >>> from bmx_grid.measures import interval, resampled_correlations
        >>> rng = np.random.default_rng(0)
        >>> human = rng.normal(size=100)
        >>> metrics = human[:, None] + rng.normal(size=(100, 2))
        >>> samples = resampled_correlations("pearson", metrics, human, np.arange(100), resamples=200, seed=1)
        >>> samples.shape
        (2, 200)
        >>> low, high = interval(samples[0], units=100)
        >>> bool(low < np.corrcoef(metrics[:, 0], human)[0, 1] < high)
        True
    """
    check_coefficient(kind)
    count = number_of(cluster)
    if count < FEWEST_CLUSTERS or resamples < 1:
        return np.empty((columns.shape[1], 0))
    correlations = []
    for drawn in seeded_draws(count, resamples, seed, len(human)):
        times = drawn[cluster]
        correlations.append(weighted_correlations(kind, columns, human, times))
    return np.concatenate(correlations, axis=1)


def pair_columns(x: Floats, human: Floats) -> Floats:
    """float64[M, 6] what Pearson's r needs of M pairs: one, x, human, x^2, human^2, x human."""
    return np.stack([np.ones_like(x), x, human, x * x, human * human, x * human], axis=1)


def pearson_of_sums(sums: Floats) -> Floats:
    """float64[...] Pearson's r from float64[..., 6] sums of `pair_columns`; NaN where undefined or digits are lost.

    For pairs that were centred before, so that few resamples lose digits. Those are to be computed from their pairs.
    """
    with np.errstate(all="ignore"):
        moments = sums[..., 1:] / sums[..., :1]
        x, human, squared_x, squared_human, x_human = np.moveaxis(moments, -1, 0)
        variance_x = squared_x - x**2
        variance_human = squared_human - human**2
        product = variance_x * variance_human
        covariance = x_human - x * human
        r = covariance / np.sqrt(product)
    # A second moment that is nearly cancelled holds rounding only.
    kept = variance_x > LEAST_KEPT_VARIANCE * squared_x
    kept &= variance_human > LEAST_KEPT_VARIANCE * squared_human
    kept &= (product > 0) & (product < np.inf)
    return np.where(kept, np.clip(r, -1.0, 1.0), np.nan)


def pearson_two_pass(x: Floats, y: Floats, times: Floats) -> Floats:
    """float64[R] Pearson's r of the columns of float64[M, R] under weights, in two passes; NaN where constant."""
    drawn = times > 0
    varies = drawn.any(axis=0)
    # a resample that draws nothing is divided by this instead of 0, and is NaN in the end
    total = np.maximum(times.sum(axis=0), np.finfo(np.float64).tiny)
    left = []
    # The second pass is over values less their weighted mean: no digits cancel.
    for values in (x, y):
        least = np.where(drawn, values, np.inf).min(axis=0, initial=np.inf)
        most = np.where(drawn, values, -np.inf).max(axis=0, initial=-np.inf)
        varies &= most > least
        mean = (times * values).sum(axis=0) / total
        centred = np.where(drawn, values - mean, 0.0)
        # scaled, so that tiny or huge numbers keep their squares
        size = np.abs(centred).max(axis=0, initial=0.0)
        scale = np.where(size > 0, size, 1.0)
        left.append(centred / scale)
    products = np.einsum("mr,mr,mr->r", times, *left)
    squares = [np.einsum("mr,mr,mr->r", times, values, values) for values in left]
    r = ratio(products, np.sqrt(squares[0] * squares[1]))
    return np.where(varies, np.clip(r, -1.0, 1.0), np.nan)


def _pearson(columns: Floats, human: Floats, times: Floats) -> Floats:
    correlations = np.full((columns.shape[1], times.shape[1]), np.nan)
    differs = columns != columns[0]
    varying = np.flatnonzero(differs.any(axis=0))
    if (human == human[0]).all():
        return correlations
    columns = below_one(columns)
    human = below_one(human)
    human_unit = unit(human)
    together = max(fitting(CACHED_CELLS, len(times)), TOGETHER)
    # a product for each column: the same digits whatever the other columns are
    for column in varying:
        pairs = pair_columns(unit(columns[:, column]), human_unit)
        for part in ranges(times.shape[1], together):
            sums = times[:, part].T @ pairs
            correlations[column, part] = pearson_of_sums(sums)
        # where sums lost digits: anew from the pairs, and the undefined stay so
        again = np.flatnonzero(np.isnan(correlations[column]))
        for part in ranges(len(again), fitting(CELLS, len(human))):
            some = again[part]
            weights = times[:, some]
            x = np.broadcast_to(columns[:, column, None], weights.shape)
            y = np.broadcast_to(human[:, None], weights.shape)
            correlations[column, some] = pearson_two_pass(x, y, weights)
    return correlations


def _spearman(columns: Floats, human: Floats, times: Floats) -> Floats:
    """Resamples that fit into a cache at a time, whose human ranks serve all columns."""
    sorted_human = sort_values(human)
    sorted_columns = [sort_values(column) for column in columns.T]
    correlations = np.empty((columns.shape[1], times.shape[1]))
    for part in ranges(times.shape[1], fitting(CACHED_CELLS, len(times))):
        weights = np.ascontiguousarray(times[:, part])
        human_ranks, human_squares = weighted_ranks(*sorted_human, weights)
        human_ranks *= weights
        for place, sorted_column in enumerate(sorted_columns):
            ranks, squares = weighted_ranks(*sorted_column, weights)
            products = np.einsum("mr,mr->r", ranks, human_ranks)
            by_rank = ratio(products, np.sqrt(squares))
            correlations[place, part] = ratio(by_rank, np.sqrt(human_squares))
    return correlations


Unit = Literal["inputs", "systems", "both"]


def check_unit(unit: str) -> None:
    """Raise ConfigError with the list of units unless `unit` is known."""
    check_known("unit", unit, get_args(Unit))


def units_of(unit: Unit, clusters: Ints, systems: Ints) -> tuple[int, Ints]:
    """How many units there are of N rows in int64[N] clusters and systems (of both the fewer), and that of each row.

    Of both each row is a unit.
    """
    if unit == "both":
        fewer = min(number_of(clusters), number_of(systems))
        return fewer, np.arange(len(clusters))
    codes_of_unit = clusters if unit == "inputs" else systems
    return number_of(codes_of_unit), codes_of_unit


def drawn_units(
    unit: Unit, clusters: Ints, systems: Ints, draw: Draw, resamples: int, seed: int, width: int
) -> Iterator[Floats]:
    """float64[U, R] how often each unit is drawn, or whether it is swapped, of a block of resamples at a time.

    Clusters are drawn as by every other bootstrap of clusters with this seed, so that a gain has the same interval
    everywhere; swaps, and draws of systems, have streams of their own. width, and arrays that must not be written to:
    as for `seeded_draws`.
    """
    swapping = draw is swaps
    cluster_stream = (1, 0) if swapping else ()
    system_stream = (int(swapping), 1)
    # nothing is drawn before a block is requested
    of_clusters = seeded_draws(number_of(clusters), resamples, seed, width, draw=draw, stream=cluster_stream)
    of_systems = seeded_draws(number_of(systems), resamples, seed, width, draw=draw, stream=system_stream)
    if unit != "both":
        yield from of_clusters if unit == "inputs" else of_systems
        return
    for of_cluster, of_system in zip(of_clusters, of_systems, strict=True):
        by_cluster = of_cluster[clusters]
        by_system = of_system[systems]
        if swapping:
            yield (by_cluster != by_system).astype(np.float64)
        else:
            yield by_cluster * by_system


def prepare_resamples(
    kind: Coefficient, columns: Floats, human: Floats, unit: Ints, members: Sequence[Ints]
) -> Callable[[Floats], Floats]:
    """A function of float64[U, R] times that each unit counts: float64[K, R] correlations of float64[N, K] scores.

    They are means within groups of rows. What all resamples share is computed once, here.
    """
    prepare = _prepare_pearson if kind == "pearson" else partial(_prepare_rows, kind)
    units = number_of(unit)
    by_group = [prepare(columns[rows], human[rows], unit[rows], units) for rows in members]
    return lambda times: _mean([correlations_of(times) for correlations_of in by_group])


def _prepare_rows(
    kind: Coefficient, columns: Floats, human: Floats, unit: Ints, units: int
) -> Callable[[Floats], Floats]:
    return lambda times: weighted_correlations(kind, columns, human, times[unit])


def _prepare_pearson(columns: Floats, human: Floats, unit: Ints, units: int) -> Callable[[Floats], Floats]:
    """Pearson's r from the sums of each unit; where digits are lost, from the pairs."""
    centred = human - human.mean()
    sums_of_columns = [sums_by(unit, pair_columns(column - column.mean(), centred), units) for column in columns.T]

    def correlations_of(times: Floats) -> Floats:
        correlations = np.empty((columns.shape[1], times.shape[1]))
        for place, sums in enumerate(sums_of_columns):
            drawn = times.T @ sums
            # the first sum is that of ones: how many pairs were drawn
            too_few = drawn[:, 0] < FEWEST
            correlations[place] = np.where(too_few, np.nan, pearson_of_sums(drawn))
        lost = np.flatnonzero(np.isnan(correlations).any(axis=0))
        for part in ranges(len(lost), fitting(CELLS, len(human))):
            some = lost[part]
            weights = times[:, some][unit]
            correlations[:, some] = weighted_correlations("pearson", columns, human, weights)
        return correlations

    return correlations_of


def prepare_swaps(
    kind: Coefficient, x: Floats, y: Floats, human: Floats, unit: Ints, members: Sequence[Ints]
) -> Callable[[Floats], Floats]:
    """A function of float64[U, R] swaps of units: float64[R] differences, of metrics that have rows of both."""
    is_of_sums = kind == "pearson" and len(members) == 1
    if is_of_sums:
        # Swaps change the sums of both metrics by the same amount: the difference of the swapped units.
        centred = human - human.mean()
        x_sums = sums_by(unit, pair_columns(x, centred))
        y_sums = sums_by(unit, pair_columns(y, centred))
        moves = y_sums - x_sums
        x_whole = x_sums.sum(axis=0)
        y_whole = y_sums.sum(axis=0)

    @cache
    def rows_of_both() -> Callable[[Floats], Floats]:
        """Each unit twice, with its rows of x and with those of y: a metric takes one of the two."""
        both = np.append(x, y)[:, None]
        units = np.append(unit, unit + number_of(unit))
        groups = [np.append(rows, rows + len(x)) for rows in members]
        return prepare_resamples(kind, both, np.tile(human, 2), units, groups)

    def differences_of(swap: Floats) -> Floats:
        differences = np.full(swap.shape[1], np.nan)
        if is_of_sums:
            moved = swap.T @ moves
            differences = pearson_of_sums(x_whole + moved) - pearson_of_sums(y_whole - moved)
        lost = np.flatnonzero(np.isnan(differences))
        if len(lost):
            swapped = swap[:, lost]
            kept = 1 - swapped
            of_x = rows_of_both()(np.concatenate([kept, swapped]))[0]
            of_y = rows_of_both()(np.concatenate([swapped, kept]))[0]
            differences[lost] = of_x - of_y
        return differences

    return differences_of


def mean_within(kind: Coefficient, scores: Floats, human: Floats, members: list[Ints]) -> float:
    """The correlation, or its mean within groups of rows."""
    correlations = [correlate(kind, scores[rows], human[rows]) for rows in members]
    return float(_mean(np.array(correlations)))


def _mean(values: Sequence[Floats] | Floats) -> Floats:
    """float64[R] the mean of arrays of that length, without undefined values."""
    known = np.isfinite(values)
    total = np.where(known, values, 0.0).sum(axis=0)
    return ratio(total, known.sum(axis=0))
