"""Kendall's tau-b and Spearman's rho of a whole grid: the sorted order is carried from one p to the next.

Compiled by numba on the first call in a process (and kept on disk if a folder is writable), so
that runs with Pearson never wait for it. From one p to the next few segments change places:
repairing the order by insertion touches every place and every exchange once; sorting anew would cost
n log n. Every exchange of neighbours changes Kendall's count by the sign of one pair.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.ragged import Flags, Floats, Ints
from bmx_grid.measures.aggregation import PRECISION

LANES = 64  # resamples whose pairs are counted at a time: a cache holds their trees


def ordered_grid(kendall: bool, means: Floats, base: Floats, human: Floats, w: Floats) -> Floats:
    """float64[P, W] tau-b (kendall) or rho of the scores w * base + (1 - w) * means with the human scores.

    means: float64[N, P], base and human: float64[N], w: float64[W], all finite, N >= 2. NaN if the scores,
    or the human scores, are all equal. Rounding orders them as any difference does: see `merge_near_equal`.
    """
    dense = dense_ranks(human)
    counts = np.bincount(dense)
    # twice the average rank of each distinct score, less the mean of all ranks
    doubled = 2 * np.cumsum(counts) - counts - len(human)
    by_human = np.argsort(dense, kind="stable")
    # by p: the kernel reads all segments of one p in a row
    by_p = np.ascontiguousarray(means.T)
    correlations: Floats = compile_kernel(_grid)(kendall, by_p, base, dense, doubled[dense], by_human, w)
    return correlations


def dense_ranks(values: NDArray[Any]) -> Ints:
    """int64[N] ranks from 0 on of N values, without gaps: equal values share one."""
    _, ranks = np.unique(values, return_inverse=True)
    return ranks.astype(np.int64)


def merge_near_equal(means: Floats) -> Floats:
    """float64[N, P] means, where those of one p that differ by PRECISION of their size, or less, are the smallest."""
    if not len(means):
        return means
    # a copy, as the kernel writes into it
    by_p = np.array(means.T, order="C")
    compile_kernel(_join_near)(by_p, PRECISION)
    return by_p.T


@functools.cache
def compile_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """The compiled kernel; without a folder to keep it in it is compiled anew in each process."""
    from numba import njit

    try:
        kernel: Callable[..., Any] = njit(cache=True, nogil=True)(function)
    except RuntimeError:
        # numba found no folder that it may write to
        kernel = njit(nogil=True)(function)
    return kernel


def _join_near(means: Floats, precision: float) -> None:
    """In each row of float64[P, N], values at most `precision` times their size above a smaller one become that one.

    From the smallest on: a group ends at a value farther from the group's first, so that groups do not drift.
    """
    n = means.shape[1]
    # carried from one p to the next, between which few segments change places
    order = np.argsort(means[0], kind="mergesort")
    ordered = np.empty(n)
    for row in range(len(means)):
        for place in range(n):
            ordered[place] = means[row, order[place]]
        budget = 8 * n  # past this many moves sorting anew is quicker than repairing
        for place in range(1, n):
            value = ordered[place]
            segment = order[place]
            hole = place
            while hole > 0 and ordered[hole - 1] > value and budget > 0:
                ordered[hole] = ordered[hole - 1]
                order[hole] = order[hole - 1]
                hole -= 1
                budget -= 1
            ordered[hole] = value
            order[hole] = segment
        if budget <= 0:
            order[:] = np.argsort(means[row], kind="mergesort")
            for place in range(n):
                ordered[place] = means[row, order[place]]
        first = ordered[0]
        for place in range(1, n):
            if ordered[place] - first <= precision * max(abs(first), abs(ordered[place])):
                means[row, order[place]] = first
            else:
                first = ordered[place]


def _grid(kendall: bool, means: Floats, base: Floats, dense: Ints, middle: Ints, by_human: Ints, w: Floats) -> Floats:
    """The kernel, written out in one function because numba compiles it lazily and keeps it whole.

    means: float64[P, N]; dense: int64[N] ranks of the human scores, equal ones sharing a rank; middle: int64[N]
    twice their average ranks less the mean; by_human: int64[N] segments by ascending human score.

    `order` holds the segments by (score, human score), `ordered` their scores, `ranks` their dense ranks. While
    no scores tie, Kendall needs `net`, the pairs of places that ascend in the human score less those that
    descend, and Spearman `cross`, the sum of place times `middle`; both change by one exchange of neighbours at
    a time. They are whole numbers, so that nothing is lost on the way; ties are put right at each point.
    """
    n = len(base)
    pairs = n * (n - 1) // 2
    result = np.full((len(means), len(w)), np.nan)
    scores = np.empty(n)
    ordered = np.empty(n)
    order = by_human.copy()
    ranks = np.empty(n, np.int64)
    tree = np.empty(n + 1, np.int64)
    human_ties = 0
    squares = 0.0
    run = 0
    # in a run of equal scores each one ties with all that came before it
    for place in range(n):
        run = run + 1 if place and dense[by_human[place]] == dense[by_human[place - 1]] else 0
        human_ties += run
        squares += float(middle[place]) ** 2
    if human_ties == pairs:
        return result
    for column in range(len(w)):
        net = 0
        cross = 0
        for row in range(len(means)):
            for segment in range(n):
                scores[segment] = w[column] * base[segment] + (1.0 - w[column]) * means[row, segment]
            for place in range(n):
                ordered[place] = scores[order[place]]
            # Past this many exchanges sorting anew is quicker than repairing.
            budget = 0 if row == 0 else 8 * n
            for place in range(1, n):
                score = ordered[place]
                if ordered[place - 1] < score or budget <= 0:
                    continue
                segment = order[place]
                rank = ranks[place]
                hole = place
                while hole > 0 and (
                    ordered[hole - 1] > score or (ordered[hole - 1] == score and ranks[hole - 1] > rank)
                ):
                    other = order[hole - 1]
                    net += 2 * (int(ranks[hole - 1] > rank) - int(ranks[hole - 1] < rank))
                    cross += middle[other] - middle[segment]
                    order[hole] = other
                    ranks[hole] = ranks[hole - 1]
                    ordered[hole] = ordered[hole - 1]
                    hole -= 1
                order[hole] = segment
                ranks[hole] = rank
                ordered[hole] = score
                budget -= place - hole
            if budget <= 0:
                order[:] = by_human[np.argsort(scores[by_human], kind="mergesort")]
                net = 0
                cross = 0
                tree[:] = 0  # a Fenwick tree of the human ranks met so far
                for place in range(n):
                    ordered[place] = scores[order[place]]
                    ranks[place] = dense[order[place]]
                    cross += place * middle[order[place]]
                    below = 0
                    node = ranks[place]
                    while node > 0:
                        below += tree[node]
                        node -= node & -node  # its lowest bit: how many ranks the node adds up
                    upto = 0
                    node = ranks[place] + 1
                    while node > 0:
                        upto += tree[node]
                        node -= node & -node
                    net += below - (place - upto)
                    node = ranks[place] + 1
                    while node <= n:
                        tree[node] += 1
                        node += node & -node
            if ordered[0] == ordered[n - 1]:
                continue
            equal = 0
            for place in range(1, n):
                equal += int(ordered[place] == ordered[place - 1])
            # Pairs that tie in the score; among them those that differ in the human score, and so count in `net`;
            # what average ranks change in `cross` and in the sum of squared ranks, both doubled.
            ties = 0
            ascending = 0
            moved = 0
            cubes = 0
            if equal:
                first = 0
                for place in range(1, n + 1):
                    if place < n and ordered[place] == ordered[first]:
                        continue
                    size = place - first
                    if size > 1:
                        ties += size * (size - 1) // 2
                        cubes += size * (size * size - 1)
                        same = 0
                        for tied in range(first, place):
                            moved += (first + place - 1 - 2 * tied) * middle[order[tied]]
                            same = same + 1 if tied > first and ranks[tied] == ranks[tied - 1] else 0
                            ascending -= same
                        ascending += size * (size - 1) // 2
                    first = place
            if kendall:
                value = (net - ascending) / math.sqrt(pairs - ties) / math.sqrt(pairs - human_ties)
            else:
                score_squares = (float(n) * (float(n) * n - 1) - cubes) / 3  # of doubled, centred ranks
                value = float(2 * cross + moved) / math.sqrt(score_squares) / math.sqrt(squares)
            result[row, column] = min(1.0, max(-1.0, value))
    return result


def weighted_kendall(x: Floats, human: Floats, weights: Floats) -> Floats:
    """float64[R] tau-b of float64[M] scores, each pair repeated by float64[R, M] weights; NaN if constant.

    Whole weights are counted exactly.
    """
    dense_x = dense_ranks(x)
    dense_human = dense_ranks(human)
    # of equal x the y ascend
    order = np.lexsort([dense_human, dense_x])
    taus: Floats = compile_kernel(_tau_b)(dense_x[order], dense_human[order], order, np.ascontiguousarray(weights.T))
    return taus


def _tau_b(x: Ints, y: Ints, order: Ints, times: Floats) -> Any:
    """The kernel: weighted tau-b of dense ranks x (ascending) and y (ascending among equal x); whole counts are exact.

    order: int64[M] the rows of the pairs in times, float64[M, R]. LANES resamples at a time take the same way through
    the tree: the innermost loops handle several resamples in one instruction.
    """
    n = len(x)
    n_resamples = times.shape[1]
    levels = 0
    for place in range(n):
        levels = max(levels, y[place] + 1)
    result = np.full(n_resamples, np.nan)
    for start in range(0, n_resamples, LANES):
        weights = times[:, start : start + LANES]
        width = weights.shape[1]
        tree = np.zeros((levels + 1, width))  # a Fenwick tree of the weights by human rank
        of_y = np.zeros((levels, width))
        of_x = np.zeros(width)
        of_both = np.zeros(width)
        below = np.zeros(width)
        seen = np.zeros(width)
        ties_x = np.zeros(width)
        ties_of_both = np.zeros(width)
        concordant = np.zeros(width)
        first = 0
        while first < n:
            of_x[:] = 0.0
            of_both[:] = 0.0
            last = first
            while last < n and x[last] == x[first]:
                if last > first and y[last] != y[last - 1]:
                    for lane in range(width):
                        ties_of_both[lane] += of_both[lane] * of_both[lane]
                        of_both[lane] = 0.0
                below[:] = 0.0
                node = y[last]
                while node > 0:
                    branch = tree[node]
                    for lane in range(width):
                        below[lane] += branch[lane]
                    node -= node & -node
                weight = weights[order[last]]
                of_level = of_y[y[last]]
                for lane in range(width):
                    concordant[lane] += weight[lane] * below[lane]
                    of_x[lane] += weight[lane]
                for lane in range(width):
                    of_both[lane] += weight[lane]
                    of_level[lane] += weight[lane]
                last += 1
            for place in range(first, last):
                weight = weights[order[place]]
                node = y[place] + 1
                while node <= levels:
                    branch = tree[node]
                    for lane in range(width):
                        branch[lane] += weight[lane]
                    node += node & -node
            for lane in range(width):
                seen[lane] += of_x[lane]
                ties_x[lane] += of_x[lane] * of_x[lane]
                ties_of_both[lane] += of_both[lane] * of_both[lane]
            first = last
        for lane in range(width):
            ties_y = 0.0
            for rank in range(levels):
                ties_y += of_y[rank, lane] * of_y[rank, lane]
            squared = seen[lane] * seen[lane]
            untied_x = (squared - ties_x[lane]) / 2
            untied_y = (squared - ties_y) / 2
            # Pairs that tie on neither side are concordant or discordant.
            untied = (squared - ties_x[lane] - ties_y + ties_of_both[lane]) / 2
            net = 2 * concordant[lane] - untied
            if untied_x > 0 and untied_y > 0:
                result[start + lane] = net / np.sqrt(untied_x) / np.sqrt(untied_y)
    return result


def sort_values(values: Floats) -> tuple[Ints, Flags]:
    """int64[M] the places of M values by ascending value; bool[M] which of them are the last of equal values."""
    order = np.argsort(values)
    ordered = values[order]
    is_last = np.append(ordered[1:] != ordered[:-1], True)
    return order, is_last


def weighted_ranks(order: Ints, is_last: Flags, times: Floats) -> tuple[Floats, Floats]:
    """float64[M, R] average ranks less their mean of M values, each repeated float64[M, R] times; their squares' sums.

    order, is_last: of `sort_values`. Ranks are halves of whole numbers: their products sum exactly, to 0 for a
    constant side.
    """
    ranked: tuple[Floats, Floats] = compile_kernel(_weighted_ranks)(order, is_last, times)
    return ranked


def _weighted_ranks(order: Ints, is_last: Flags, times: Floats) -> tuple[Floats, Floats]:
    """The kernel of `weighted_ranks`."""
    n, n_resamples = times.shape
    ranks = np.empty((n, n_resamples))
    squares = np.zeros(n_resamples)
    # of the rank of the values that follow, less the mean of all ranks
    reached = np.zeros(n_resamples)
    tied = np.zeros(n_resamples)
    for place in range(n):
        weight = times[place]
        for resample in range(n_resamples):
            reached[resample] -= weight[resample] / 2
    first = 0
    for place in range(n):
        weight = times[order[place]]
        for resample in range(n_resamples):
            tied[resample] += weight[resample]
        if not is_last[place]:
            continue
        for row in order[first : place + 1]:
            rank = ranks[row]
            for resample in range(n_resamples):
                # the middle of the places of equal values
                rank[resample] = reached[resample] + tied[resample] / 2
        for resample in range(n_resamples):
            squares[resample] += rank[resample] * rank[resample] * tied[resample]
            reached[resample] += tied[resample]
            tied[resample] = 0.0
        first = place + 1
    return ranks, squares
