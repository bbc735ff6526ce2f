"""What a boost has to exceed, pure arrays: attributions of other segments, and terms that need no attributions.

Those of another segment keep what follows from the number of words alone; a linear term in log words says directly how
much of a gain that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bmx_grid.measures.best import beats
from bmx_grid.measures.correlation import FEWEST, Kind, average_ranks, correlate
from bmx_grid.ragged import Ragged

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

NO_DONOR = -1
NEGLIGIBLE = 1e-10  # share of the largest singular value below which columns count as collinear


def donors(n_words: Ints, clusters: Ints, rng: np.random.Generator) -> Ints:
    """int64[N] for each segment another one with the same number of words, -1 where there is no other cluster.

    n_words: int64[N]; clusters: int64[N] codes from 0: a donor is of another cluster, so that no source and no
    reference is shared. Where no other cluster has that number of words, the nearest number that has one is taken, of
    two equally near ones the smaller. Segments of one number stand in a random circle, and each takes the next one of
    another cluster.
    """
    found = np.full(len(n_words), NO_DONOR, dtype=np.int64)
    order = np.lexsort((rng.random(len(n_words)), n_words))
    numbers, starts = np.unique(n_words[order], return_index=True)
    groups = np.split(order, starts[1:])
    for group in groups:
        found[group] = _next_of_another_cluster(group, clusters)
    if not len(clusters) or (clusters == clusters[0]).all():
        return found
    nearest: dict[tuple[int, int], Ints] = {}
    for at in np.flatnonzero(found == NO_DONOR):
        who = int(n_words[at]), int(clusters[at])
        if who not in nearest:
            nearest[who] = _nearest_of_another_cluster(*who, numbers, groups, clusters)
        found[at] = nearest[who][rng.integers(len(nearest[who]))]
    return found


def _nearest_of_another_cluster(
    n_words: int, cluster: int, numbers: Ints, groups: Sequence[Ints], clusters: Ints
) -> Ints:
    """The members of other clusters in the group with the nearest number of words; there is another cluster."""
    others: Ints = np.empty(0, dtype=np.int64)
    for place in np.argsort(np.abs(numbers - n_words), kind="stable"):
        others = groups[place][clusters[groups[place]] != cluster]
        if len(others):
            break
    return others


def _next_of_another_cluster(group: Ints, clusters: Ints) -> Ints:
    """For each member of a circle the next one of another cluster, -1 where all are of one.

    Runs of one cluster share the first member of the run that follows.
    """
    own = clusters[group]
    first_of_run = np.flatnonzero(own != np.roll(own, 1))
    if not len(first_of_run):
        return np.full(len(group), NO_DONOR, dtype=np.int64)
    following = np.searchsorted(first_of_run, np.arange(len(group)), side="right")
    found: Ints = group[first_of_run[following % len(first_of_run)]]
    return found


def log_words(*sides: Ragged) -> Floats:
    """float64[N, sides] the natural logarithm of the number of words of each side; an empty side counts as one word."""
    return np.log(np.maximum(np.column_stack([side.lengths for side in sides]), 1).astype(np.float64))


@dataclass(frozen=True, eq=False)
class Selected:
    """Segments that something is chosen on: float64[n] base and human scores, float64[n, k] terms; all finite."""

    base: Floats
    term: Floats
    human: Floats


@dataclass(frozen=True, eq=False)
class WithTerm:
    """The metric with a linear term: own * base + term @ weights.

    own: weight of the metric, at least 0; weights: float64[k].
    """

    own: float
    weights: Floats

    def scores(self, base: Floats, term: Floats) -> Floats:
        """float64[N] scores from float64[N] base scores and float64[N, k] terms."""
        found: Floats = self.own * base + term @ self.weights
        return found


def fit_term(kind: Kind, parts: Sequence[Selected]) -> WithTerm:
    """The term that is best on these parts (language pairs), one set of weights for all of them.

    Least squares of the human scores (their average ranks, for a rank correlation) on base score and terms, which
    maximises Pearson's r within one part; each part is centred, has human scores of variance 1, and counts the same.
    A metric that would get a negative weight gets 0, as w = 0 of a grid leaves it out. Without a gain in the mean
    correlation of the parts nothing is added, as a grid may choose w = 1.
    The scores have the spread that the metric has on the parts, so that weights w of a grid mean the same over both.
    """
    usable = [one for one in parts if len(one.human) >= max(FEWEST, one.term.shape[1] + 2) and np.ptp(one.human) > 0]
    width = parts[0].term.shape[1] if parts else 0
    alone = WithTerm(1.0, np.zeros(width))
    if not usable:
        return alone
    columns, targets = [], []
    for one in usable:
        target = one.human if kind == "pearson" else average_ranks(one.human)
        both = np.column_stack([one.base, one.term])
        columns.append((both - both.mean(axis=0)) / np.sqrt(len(target)))
        targets.append((target - target.mean()) / target.std() / np.sqrt(len(target)))
    stacked, wanted = np.concatenate(columns), np.concatenate(targets)
    weights = _least_squares(stacked, wanted)
    if weights[0] < 0:
        weights = np.concatenate([[0.0], _least_squares(stacked[:, 1:], wanted)])
    spread, own = np.sqrt(np.sum((stacked @ weights) ** 2)), np.sqrt(np.sum(stacked[:, 0] ** 2))
    if not (spread > 0 and own > 0):
        return alone
    fitted = WithTerm(float(weights[0] * own / spread), weights[1:] * own / spread)
    if kind == "pearson":
        gains = [
            _cosine(both @ weights, target) - _cosine(both[:, 0], target)
            for both, target in zip(columns, targets, strict=True)
        ]
    else:
        gains = [
            correlate(kind, fitted.scores(one.base, one.term), one.human) - correlate(kind, one.base, one.human)
            for one in usable
        ]
    return fitted if beats(np.array(gains).mean(keepdims=True))[0] else alone


def _cosine(x: Floats, y: Floats) -> float:
    """Pearson's r of centred arrays; NaN without variance."""
    size = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / size if size > 0 else float("nan")


def _least_squares(columns: Floats, wanted: Floats) -> Floats:
    """Weights of the columns, which are scaled to length 1 meanwhile; 0 for a column without variance."""
    size = np.sqrt(np.sum(columns**2, axis=0))
    scaled = np.divide(columns, size, out=np.zeros_like(columns), where=size > 0)
    found = np.linalg.lstsq(scaled, wanted, rcond=NEGLIGIBLE)[0]
    weights: Floats = np.divide(found, size, out=np.zeros_like(found), where=size > 0)
    return weights
