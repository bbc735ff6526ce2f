"""Kendall's tau-b of weighted pairs in n log n, for more pairs than a matrix of signs should have.

Compiled by numba on the first call, as `ordered` is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.measures.ordered import compiled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def weighted_kendall(x: Floats, human: Floats, weights: Floats) -> Floats:
    """float64[R] tau-b of float64[M] scores, each pair repeated as often as float64[R, M] weights say; NaN if constant.

    Whole weights are counted exactly.
    """
    by_x = np.argsort(x, kind="stable")
    dense_x = np.unique(x, return_inverse=True)[1][by_x].astype(np.int64)
    dense_human = np.unique(human, return_inverse=True)[1][by_x].astype(np.int64)
    found: Floats = compiled(_tau_b)(dense_x, dense_human, np.ascontiguousarray(weights[:, by_x]))
    return found


def _tau_b(x: Ints, y: Ints, weights: Floats) -> Any:
    """The kernel: weighted tau-b of dense ranks x (ascending) and y for each row of weights; whole counts are exact."""
    n, levels = len(x), 0
    for place in range(n):
        levels = max(levels, y[place] + 1)
    result = np.full(len(weights), np.nan)
    tree, of_y = np.empty(levels + 1), np.empty(levels)
    for row in range(len(weights)):
        tree[:] = 0.0  # a Fenwick tree of the weights by human rank
        of_y[:] = 0.0
        seen, net, ties_x, first = 0.0, 0.0, 0.0, 0
        while first < n:
            last, level = first, 0.0
            while last < n and x[last] == x[first]:
                weight = weights[row, last]
                if weight > 0:
                    below, at = 0.0, y[last]
                    while at > 0:
                        below += tree[at]
                        at -= at & -at
                    net += weight * (below - (seen - below - of_y[y[last]]))
                    level += weight
                last += 1
            for place in range(first, last):
                weight = weights[row, place]
                if weight > 0:
                    of_y[y[place]] += weight
                    at = y[place] + 1
                    while at <= levels:
                        tree[at] += weight
                        at += at & -at
            seen += level
            ties_x += level * level
            first = last
        ties_y = 0.0
        for rank in range(levels):
            ties_y += of_y[rank] * of_y[rank]
        untied_x, untied_y = (seen * seen - ties_x) / 2, (seen * seen - ties_y) / 2
        if untied_x > 0 and untied_y > 0:
            result[row] = net / np.sqrt(untied_x) / np.sqrt(untied_y)
    return result
