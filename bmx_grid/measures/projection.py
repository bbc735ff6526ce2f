"""How much each pair of scores moves a correlation: what resamples of many pairs cost no more than sums.

A correlation of n pairs under weights w is about its value plus the sum of w_i h_i, its Hajek projection; the h_i sum
to 0. What that leaves out shrinks with 1 / n, and is far below the width of an interval from some thousand pairs on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.measures.correlation import Coefficient, average_ranks, unit
from bmx_grid.measures.ordered import compile_kernel


def influences(kind: Coefficient, scores: Floats, human: Floats) -> Floats:
    """float64[n] how much one more copy of each pair moves a correlation of float64[n] finite scores; NaN if constant.

    Each correlation is a product xy over the root of xx and yy, sums over pairs or pairs of pairs. One more copy of a
    pair moves these by the three columns of `_moments`.
    """
    constant = (scores == scores[0]).all() or (human == human[0]).all()
    if constant:
        return np.full(len(scores), np.nan)
    if kind == "kendall_tau_c":
        return _tau_c_influences(scores, human)
    of_both, of_scores, of_human, degree = _moments(kind, scores, human)
    # sums of moves are the moments times their degree in the weights
    xy = float(of_both.sum()) / degree
    xx = float(of_scores.sum()) / degree
    yy = float(of_human.sum()) / degree
    length_x = np.sqrt(xx)
    length_y = np.sqrt(yy)
    value = xy / length_x / length_y
    # The derivative of r = xy / sqrt(xx yy) along each pair's weight: dxy / sqrt(xx yy) - r (dxx / xx + dyy / yy) / 2.
    relative = of_scores / xx + of_human / yy
    by_product = of_both / length_x / length_y
    return np.asarray(by_product - value * relative / 2)


def _tau_c_influences(scores: Floats, human: Floats) -> Floats:
    """float64[n] moves of tau-c: of all pairs of pairs the net number in the same order, times m / (m - 1)."""
    net, _, _ = _order_counts(scores, human)
    fewer = min(len(np.unique(scores)), len(np.unique(human)))
    of_each = net / len(net)
    return np.asarray(2 * (of_each - of_each.mean()) / len(net) * fewer / (fewer - 1))


def _moments(kind: Coefficient, scores: Floats, human: Floats) -> tuple[Floats, Floats, Floats, int]:
    """float64[n] by which each pair moves xy, xx and yy, and their degree in the weights."""
    if kind == "kendall":
        return *_order_counts(scores, human), 2
    if kind == "pearson":
        x = unit(scores)
        y = unit(human)
        return x * y, x * x, y * y, 1
    x = _centred_ranks(scores)
    y = _centred_ranks(human)
    both = np.column_stack([x, y])
    # a copy adds its own product, and moves the ranks of all pairs on either side
    x_by_scores, y_by_scores = _below_and_above(scores, both).T
    x_by_human, y_by_human = _below_and_above(human, both).T
    of_both = x * y + y_by_scores + x_by_human
    of_scores = x * x + 2 * x_by_scores
    of_human = y * y + 2 * y_by_human
    return of_both, of_scores, of_human, 3


def _centred_ranks(values: Floats) -> Floats:
    """float64[n] average ranks less their mean, from -1/2 to 1/2."""
    n = len(values)
    centred = average_ranks(values) - (n + 1) / 2
    return centred / n


def _below_and_above(values: Floats, columns: Floats) -> Floats:
    """float64[n, k] half of each column's sum over higher values less that over lower ones, of n pairs on average.

    One more copy of a pair moves the ranks of other pairs by this much, each weighted by the column.
    """
    _, places = np.unique(values, return_inverse=True)
    halves = np.empty_like(columns)
    for place, column in enumerate(columns.T):
        of_value = np.bincount(places, column)
        upto = np.cumsum(of_value)
        # above less below: (all - upto) - (upto - of_value)
        above_less_below = upto[-1] - 2 * upto + of_value
        halves[:, place] = above_less_below[places] / (2 * len(values))
    return halves


def _order_counts(scores: Floats, human: Floats) -> tuple[Floats, Floats, Floats]:
    """float64[n] of each pair: others in the same order less those in the other one; others with another score."""
    _, x, of_x = np.unique(scores, return_inverse=True, return_counts=True)
    _, y, of_y = np.unique(human, return_inverse=True, return_counts=True)
    # with the sign changed, higher values are lower
    reversed_x = len(of_x) - 1 - x
    reversed_y = len(of_y) - 1 - y
    with_higher = _net_lower(reversed_x, reversed_y)
    net = _net_lower(x, y) + with_higher
    untied_x = np.asarray(len(scores) - of_x[x], dtype=np.float64)
    untied_y = np.asarray(len(scores) - of_y[y], dtype=np.float64)
    return net, untied_x, untied_y


def _net_lower(x: Ints, y: Ints) -> Floats:
    """float64[n] of pairs with a lower x: how many have a lower y, less how many have a higher one."""
    order = np.argsort(x, kind="stable")
    net = np.empty(len(x))
    net[order] = compile_kernel(_count_lower)(x[order], y[order])
    return net


def _count_lower(x: Ints, y: Ints) -> Any:
    """The kernel: ranks from 0, x ascending."""
    n = len(x)
    levels = y.max() + 1
    tree = np.zeros(levels + 1, np.int64)  # a Fenwick tree of the ranks y of all lower x
    net = np.empty(n)
    first = 0
    while first < n:
        last = first
        while last < n and x[last] == x[first]:
            less = 0
            node = y[last]
            while node > 0:
                less += tree[node]
                node -= node & -node
            upto = 0
            node = y[last] + 1
            while node > 0:
                upto += tree[node]
                node -= node & -node
            net[last] = less - (first - upto)
            last += 1
        for place in range(first, last):
            node = y[place] + 1
            while node <= levels:
                tree[node] += 1
                node += node & -node
        first = last
    return net
