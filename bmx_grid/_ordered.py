"""Kendall's tau-b and Spearman's rho of a whole grid: the sorted order is carried from one p to the next.

Compiled by numba on the first call in a process (and kept on disk where there is a folder to write to), so
that nobody who correlates with Pearson waits for it. From one p to the next few segments change places:
repairing the order by insertion touches each place once and each exchange once, where sorting anew costs
n log n. Every exchange of neighbours changes Kendall's count by the sign of one pair.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def ordered_grid(kendall: bool, means: Floats, base: Floats, human: Floats, w: Floats) -> Floats:
    """float64[P, W] tau-b (kendall) or rho of the scores w * base + (1 - w) * means with the human scores.

    means: float64[N, P], base and human: float64[N], w: float64[W], all finite, N >= 2. NaN where the scores,
    or the human scores, are all equal.
    """
    dense = np.unique(human, return_inverse=True)[1].astype(np.int64)
    counts = np.bincount(dense)
    middle = (np.cumsum(counts) - (counts - 1) / 2)[dense] - (len(human) + 1) / 2  # average rank, centred
    by_human = np.argsort(dense, kind="stable")
    found: Floats = _compiled()(kendall, np.ascontiguousarray(means.T), base, dense, middle, by_human, w)
    return found


@functools.cache
def _compiled() -> Callable[..., Any]:
    """The compiled kernel; without a folder to keep it in it is compiled anew in each process."""
    from numba import njit

    try:
        kernel: Callable[..., Any] = njit(cache=True, nogil=True)(_grid)
    except RuntimeError:  # numba found no folder that it may write to
        kernel = njit(nogil=True)(_grid)
    return kernel


def _grid(kendall: bool, means: Floats, base: Floats, dense: Ints, middle: Floats, by_human: Ints, w: Floats) -> Floats:
    """The kernel, written out in one function because numba compiles it lazily and caches it whole.

    means: float64[P, N]; dense: int64[N] ranks of the human scores, equal ones sharing a rank; middle: their
    average ranks less the mean; by_human: int64[N] segments by ascending human score.

    `order` holds the segments by (score, human score). `net` counts the pairs of places in that order, +1
    where the human score ascends and -1 where it descends; concordant less discordant pairs is `net` less the
    pairs that tie in the score, which ascend by construction unless they tie in the human score as well.
    """
    n = len(base)
    pairs = n * (n - 1) // 2
    result = np.empty((len(means), len(w)))
    scores, ordered, tree = np.empty(n), np.empty(n), np.empty(n + 1, np.int64)
    order = by_human.copy()
    human_ties, squares, run = 0, 0.0, 0
    for place in range(n):
        run = run + 1 if place and dense[by_human[place]] == dense[by_human[place - 1]] else 0
        human_ties += run
        squares += middle[place] * middle[place]
    for column in range(len(w)):
        net = 0
        for row in range(len(means)):
            for segment in range(n):
                scores[segment] = w[column] * base[segment] + (1.0 - w[column]) * means[row, segment]
            # Past this many exchanges sorting anew is quicker than repairing.
            budget = 0 if row == 0 else 8 * n
            for place in range(n):
                if budget <= 0:
                    break
                segment = order[place]
                score, rank = scores[segment], dense[segment]
                hole = place
                while hole > 0 and (
                    ordered[hole - 1] > score or (ordered[hole - 1] == score and dense[order[hole - 1]] > rank)
                ):
                    other = dense[order[hole - 1]]
                    net += 2 * (int(other > rank) - int(other < rank))
                    order[hole] = order[hole - 1]
                    ordered[hole] = ordered[hole - 1]
                    hole -= 1
                order[hole] = segment
                ordered[hole] = score
                budget -= place - hole
            if budget <= 0:
                order[:] = by_human[np.argsort(scores[by_human], kind="mergesort")]
                net = 0
                tree[:] = 0  # a Fenwick tree of the human ranks met so far
                for place in range(n):
                    ordered[place] = scores[order[place]]
                    rank = dense[order[place]] + 1
                    below, at = 0, rank - 1
                    while at > 0:
                        below += tree[at]
                        at -= at & -at
                    upto, at = 0, rank
                    while at > 0:
                        upto += tree[at]
                        at -= at & -at
                    net += below - (place - upto)
                    at = rank
                    while at <= n:
                        tree[at] += 1
                        at += at & -at
            if ordered[0] == ordered[n - 1] or human_ties == pairs:
                result[row, column] = np.nan
                continue
            ties, both, run, joint = 0, 0, 0, 0  # pairs equal in the score, and in both
            cross, own, first, total = 0.0, 0.0, 0, 0.0
            for place in range(n):
                if place and ordered[place] == ordered[place - 1]:
                    run += 1
                    joint = joint + 1 if dense[order[place]] == dense[order[place - 1]] else 0
                else:
                    run, joint, first, total = 0, 0, place, 0.0
                if kendall:
                    ties += run
                    both += joint
                    continue
                total += middle[order[place]]
                if place == n - 1 or ordered[place + 1] != ordered[place]:
                    rank_here = 0.5 * (first + place) - 0.5 * (n - 1)
                    cross += rank_here * total
                    own += rank_here * rank_here * (place - first + 1)
            if kendall:
                value = (net - (ties - both)) / math.sqrt(pairs - ties) / math.sqrt(pairs - human_ties)
            else:
                value = cross / math.sqrt(own * squares)
            result[row, column] = min(1.0, max(-1.0, value))
    return result
