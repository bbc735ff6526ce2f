"""Every two of many metrics on the same segments by Pearson's r: each metric is resampled once for all its pairs.

The numbers are those of `paired_tests.compare`, but for rounding. After a swap, the sums of a metric are its own less
those of its swapped units plus the other metric's of the same units. So a product of the swaps and the sums of all
metrics serves every pair.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from bmx_grid.core.ragged import Flags, Floats, Ints
from bmx_grid.measures.correlation import TIE, below_one, correlate
from bmx_grid.measures.correlations_of_resamples import (
    LEAST_KEPT_VARIANCE,
    drawn_units,
    pair_columns,
    prepare_resamples,
    prepare_swaps,
)
from bmx_grid.measures.ordered import compile_kernel
from bmx_grid.measures.paired_tests import (
    Alternative,
    Comparison,
    Drawn,
    check_conclusion,
    comparison_of,
    strength,
    unit_variance,
)
from bmx_grid.measures.resampling import (
    CELLS,
    CONFIDENCE,
    FEWEST_CLUSTERS,
    draws,
    fitting,
    number_of,
    ranges,
    sums_by,
    swaps,
)

DIRECTIONS = {"two-sided": 0, "greater": 1, "less": -1}
OF_METRIC = (1, 3, 5)  # places in `pair_columns` of x, x^2 and x human, which differ between metrics


def compare_metrics(
    columns: Floats,
    human: Floats,
    clusters: Ints,
    pairs: Sequence[tuple[int, int]],
    *,
    resamples: int,
    seed: int,
    bootstrap: bool = True,
    alternative: Alternative = "two-sided",
    confidence: float = CONFIDENCE,
    advance: Callable[[int], None] = lambda count: None,
) -> list[Comparison]:
    """Compare pairs of metrics as `paired_tests.compare` does with `statistic="pearson"`.

    Args:
        columns: float64[n, K], finite scores of K metrics.
        human: float64[n], finite human scores.
        clusters: int64[n], cluster of each segment, numbered from 0.
        pairs: Places of the two metrics of each pair.
        resamples: Number R of permutations and of bootstrap resamples.
        seed: Seed of all random draws.
        bootstrap: If false, skip the interval and `p_bootstrap`.
        alternative: As of `paired_tests.compare`.
        confidence: Level of the interval.
        advance: Called with the number of pairs that are done.

    Returns:
        list[Comparison]: One per pair.
    """
    check_conclusion(alternative, confidence)
    judged = below_one(human)
    scores = np.column_stack([unit_variance(column) for column in columns.T])
    values = [correlate("pearson", column, judged) for column in scores.T]
    differences = np.array([values[left] - values[right] for left, right in pairs])
    units = number_of(clusters)
    is_drawn = np.isfinite(differences) & (units >= FEWEST_CLUSTERS)
    samples = np.empty((columns.shape[1], 0))
    if bootstrap and is_drawn.any():
        correlations_of = prepare_resamples("pearson", scores, judged, clusters, [np.arange(len(judged))])
        drawn_times = drawn_units("inputs", clusters, clusters, draws, resamples, seed, 0)
        samples = np.concatenate([correlations_of(times) for times in drawn_times], axis=1)
    extreme = np.zeros(len(pairs), dtype=np.int64)
    done = 0
    told = 0
    if is_drawn.any():
        places = np.array(pairs, dtype=np.int64)[is_drawn]
        swapped = drawn_units("inputs", clusters, clusters, swaps, resamples, seed, 0)
        observed = differences[is_drawn]
        for counts, share in _extreme_by_block(scores, judged, clusters, places, observed, swapped, alternative):
            extreme[is_drawn] += counts
            done += share
            shown = len(pairs) * done // resamples
            advance(shown - told)
            told = shown
    compared = []
    for (left, right), is_of_draws, count in zip(pairs, is_drawn, extreme.tolist(), strict=True):
        differences_of_pair = samples[left] - samples[right] if is_of_draws else np.empty(0)
        drawn = Drawn(values[left], values[right], differences_of_pair, np.empty(0), units, len(judged), units)
        comparison = comparison_of(drawn, alternative, confidence)
        if is_of_draws:
            comparison = replace(comparison, p=(count + 1) / (resamples + 1))
        compared.append(comparison)
    advance(len(pairs) - told)
    return compared


def _extreme_by_block(
    scores: Floats,
    human: Floats,
    unit: Ints,
    pairs: Ints,
    observed: Floats,
    swaps_of_units: Iterable[Floats],
    alternative: Alternative,
) -> Iterator[tuple[Ints, int]]:
    """For each block int64[P] how many swaps speak as much for the alternative as what is observed, and of how many.

    pairs: int64[P, 2] columns. observed: float64[P] differences. An undefined difference counts as such, as in
    `paired_tests.p_of_swaps`.
    """
    centred = human - human.mean()
    sums = []
    for column in scores.T:
        sums.append(sums_by(unit, pair_columns(column, centred)))
    whole = np.array([sums_of_column.sum(axis=0) for sums_of_column in sums])
    # Ones, human scores and their squares are the same of every metric.
    by_unit = np.concatenate([sums_of_column[:, OF_METRIC] for sums_of_column in sums], axis=1)
    constant = whole[0, [0, 2, 4]]
    of_metric = np.ascontiguousarray(whole[:, OF_METRIC])
    least = strength(observed, alternative) - TIE
    count = compile_kernel(_count_swaps)
    everything = [np.arange(len(human))]
    by_sum = np.ascontiguousarray(by_unit.T)
    for swap in swaps_of_units:
        # As many swaps at a time as leave the sums of all metrics in few megabytes.
        for part in ranges(swap.shape[1], fitting(CELLS, len(by_sum))):
            some = swap[:, part]
            moved = (by_sum @ some).reshape(-1, len(OF_METRIC), some.shape[1])
            counts, is_lost = count(moved, of_metric, constant, pairs, least, DIRECTIONS[alternative])
            for place in np.flatnonzero(is_lost):
                # Digits were lost: anew from the rows.
                left, right = pairs[place]
                differences = prepare_swaps("pearson", scores[:, left], scores[:, right], human, unit, everything)(some)
                counts[place] = (~(strength(differences, alternative) < least[place])).sum()
            yield counts, some.shape[1]


def _count_swaps(
    moved: Floats, whole: Floats, constant: Floats, pairs: Ints, least: Floats, direction: int
) -> tuple[Ints, Flags]:
    """int64[P] how many swaps reach `least`, float64[P]; bool[P] whether a difference was undefined.

    moved: float64[K, 3, R] sums of x, x^2 and x human over the swapped units; whole: float64[K, 3] over all units.
    constant: how many rows, and the sums of human scores and of their squares. Compiled, as pairs times swaps are many:
    the innermost loop has no branch and no division, so that it handles several swaps in one instruction.
    """
    counts = np.zeros(len(pairs), dtype=np.int64)
    is_lost = np.zeros(len(pairs), dtype=np.bool_)
    n_swaps = moved.shape[2]
    per_row = 1.0 / constant[0]
    human = constant[1] * per_row
    variance_human = constant[2] * per_row - human**2
    if not variance_human > LEAST_KEPT_VARIANCE * constant[2] * per_row:
        is_lost[:] = True
        return counts, is_lost
    deviation_human = math.sqrt(variance_human)
    for pair in range(len(pairs)):
        left = pairs[pair, 0]
        right = pairs[pair, 1]
        x_left, x_right = moved[left, 0], moved[right, 0]
        squared_left, squared_right = moved[left, 1], moved[right, 1]
        product_left, product_right = moved[left, 2], moved[right, 2]
        reached = least[pair] * deviation_human
        # Without a direction the larger of both signs counts.
        sign = -1.0 if direction < 0 else 1.0
        other_sign = 1.0 if direction > 0 else -1.0
        n_reached = 0
        n_kept = 0
        for swap in range(n_swaps):
            x_moves = x_right[swap] - x_left[swap]
            squared_moves = squared_right[swap] - squared_left[swap]
            product_moves = product_right[swap] - product_left[swap]
            x = (whole[left, 0] + x_moves) * per_row
            y = (whole[right, 0] - x_moves) * per_row
            squared_x = (whole[left, 1] + squared_moves) * per_row
            squared_y = (whole[right, 1] - squared_moves) * per_row
            variance_x = squared_x - x * x
            variance_y = squared_y - y * y
            covariance_x = (whole[left, 2] + product_moves) * per_row - x * human
            covariance_y = (whole[right, 2] - product_moves) * per_row - y * human
            deviation_x = math.sqrt(variance_x)
            deviation_y = math.sqrt(variance_y)
            # The difference of both r, and what it must reach, times all deviations.
            difference = covariance_x * deviation_y - covariance_y * deviation_x
            bound = reached * deviation_x * deviation_y
            n_reached += (sign * difference >= bound) | (other_sign * difference >= bound)
            is_kept = (variance_x > LEAST_KEPT_VARIANCE * squared_x) & (variance_y > LEAST_KEPT_VARIANCE * squared_y)
            n_kept += is_kept
        counts[pair] = n_reached
        is_lost[pair] = n_kept < n_swaps
    return counts, is_lost
