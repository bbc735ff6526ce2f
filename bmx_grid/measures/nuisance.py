"""Lengths and curves of a score, fitted to human scores: the gain of a boost without any explanation.

Also the donors of reassigned attributions: another segment for each segment.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.ragged import Flags, Floats, Ints
from bmx_grid.measures.correlation import (
    FEWEST,
    Kind,
    average_ranks,
    beats,
    below_one,
    correlate,
    size_exponent,
    standard_deviation,
)

KNOTS = 7  # of the spline of the score
PER_TERM = 10  # clusters that each term needs
COLLINEAR = 1e-10  # share of the largest singular value below which columns count as collinear


@dataclass(frozen=True, eq=False)
class CurveTerms:
    """A smooth curve of a score and of the log words of each text, as columns for least squares.

    The terms are linear, then squares and products, then cubes, then a natural cubic spline of the score; `size` is
    their number: one for every PER_TERM clusters, but at least the linear ones.
    means, sds: float64[1 + k] of score and log words; knots: of the spline, in standard deviations.
    """

    size: int
    means: Floats
    sds: Floats
    knots: Floats

    @classmethod
    def from_scores(cls, score: Floats, log_words: Floats, clusters: int) -> CurveTerms:
        """The curve for float64[n] scores and float64[n, k] log words of segments in so many clusters."""
        values = np.column_stack([score, log_words])
        means = values.mean(axis=0)
        # A constant column has rounding for a deviation.
        varies = np.ptp(values, axis=0) > 0
        sds = np.where(varies, standard_deviation(values), 1.0)
        standard = (values[:, 0] - means[0]) / sds[0]
        shares = np.linspace(0.05, 0.95, KNOTS)
        # of many equal scores several knots are one
        knots = np.unique(np.quantile(standard, shares))
        size = max(values.shape[1], clusters // PER_TERM)
        return cls(size, means, sds, knots)

    def columns(self, score: Floats, log_words: Floats) -> Floats:
        """float64[n, k] the terms, k at most `size`."""
        values = np.column_stack([score, log_words])
        standard = (values - self.means) / self.sds
        linear = list(standard.T)
        pairs = itertools.combinations_with_replacement(linear, 2)
        products = [first * second for first, second in pairs]
        cubes = [column**3 for column in linear]
        spline = self._spline(linear[0])
        # in this order, as few clusters leave the first ones only
        terms = [*linear, *products, *cubes, *spline]
        return np.column_stack(terms[: self.size])

    def _spline(self, score: Floats) -> list[Floats]:
        """The basis of a natural cubic spline beyond its linear part (Hastie, Tibshirani and Friedman, eq. 5.4)."""
        if len(self.knots) < 3:
            return []
        last = self.knots[-1]
        beyond_last = np.maximum(score - last, 0) ** 3
        bends = []
        for knot in self.knots[:-1]:
            beyond = np.maximum(score - knot, 0) ** 3
            bends.append((beyond - beyond_last) / (last - knot))
        # Less the last one, the curve is linear beyond the outer knots, where few segments hold it.
        last_bend = bends.pop()
        return [bend - last_bend for bend in bends]


NO_DONOR = -1


def donors(n_words: Ints, clusters: Ints, rng: np.random.Generator) -> Ints:
    """int64[N] for each segment another one with the same number of words, -1 without another cluster.

    n_words: int64[N]; clusters: int64[N] codes from 0: a donor is of another cluster, so that no source and no
    reference is shared. If no other cluster has that number of words, the nearest number that has one is taken, of two
    equally near ones the smaller. Segments of one number are put into a random circle, and each takes the next one
    from another cluster.
    """
    # by number of words, those of one number at random
    order = np.lexsort((rng.random(len(n_words)), n_words))
    donor = np.full(len(n_words), NO_DONOR, dtype=np.int64)
    starts = np.flatnonzero(np.diff(n_words[order])) + 1
    for group in np.split(order, starts):
        donor[group] = _next_of_another_cluster(group, clusters)
    if not len(clusters) or (clusters == clusters[0]).all():
        return donor
    nearest: dict[tuple[int, int], Ints] = {}
    for row in np.flatnonzero(donor == NO_DONOR):
        words = int(n_words[row])
        cluster = int(clusters[row])
        if (words, cluster) not in nearest:
            others = order[clusters[order] != cluster]
            distance = np.abs(n_words[others] - words)
            # numbers of words ascend: of two equally near numbers the smaller is found first
            nearest_words = n_words[others[np.argmin(distance)]]
            nearest[words, cluster] = others[n_words[others] == nearest_words]
        candidates = nearest[words, cluster]
        donor[row] = candidates[rng.integers(len(candidates))]
    return donor


def _next_of_another_cluster(group: Ints, clusters: Ints) -> Ints:
    """For each member of a circle the next one from another cluster, -1 if all are from one.

    Runs of one cluster share the first member of the run that follows.
    """
    in_circle = clusters[group]
    first_of_run = np.flatnonzero(in_circle != np.roll(in_circle, 1))
    if not len(first_of_run):
        return np.full(len(group), NO_DONOR, dtype=np.int64)
    following = np.searchsorted(first_of_run, np.arange(len(group)), side="right")
    # behind the last run the circle begins again
    next_run = first_of_run[following % len(first_of_run)]
    return group[next_run]


def fit_term(kind: Kind, parts: Sequence[tuple[Floats, Floats, Floats]]) -> tuple[float, Floats]:
    """The weights of the metric, at least 0, and of k terms that are best on these parts (language pairs) together.

    parts: of each float64[n] base scores, float64[n, k] terms, float64[n] human scores; all finite.
    Least squares of the human scores (their average ranks, for a rank correlation) on base score and terms, which
    maximises Pearson's r within one part; each part is centred, has human scores of variance 1, and counts the same.
    A metric that would get a negative weight gets 0, as w = 0 of a grid leaves it out. Without a gain in the mean
    correlation of the parts nothing is added, as a grid may choose w = 1.
    The scores have the spread that the metric has on the parts, so that weights w of a grid mean the same over both.
    """
    width = parts[0][1].shape[1] if parts else 0
    alone = 1.0, np.zeros(width)
    fewest = max(FEWEST, width + 2)
    usable = []
    for base, term, human in parts:
        if len(human) >= fewest and np.ptp(human) > 0:
            usable.append((base, term, below_one(human)))
    if not usable:
        return alone
    # over powers of two, so that squares of tiny scores are not 0
    base_exponent = size_exponent(_join([base for base, _, _ in usable]))
    term_exponents = size_exponent(_join([term for _, term, _ in usable]))
    exponents = np.append(base_exponent, term_exponents)
    columns = []
    targets = []
    for base, term, human in usable:
        target = human if kind == "pearson" else average_ranks(human)
        # In place, as columns of a million segments are large.
        both = np.column_stack([base, term])
        np.ldexp(both, -exponents, out=both)
        both -= both.mean(axis=0)
        # divided by the square root of n, so that a long part counts no more than a short one
        root = np.sqrt(len(target))
        both /= root
        columns.append(both)
        standard = (target - target.mean()) / target.std()
        targets.append(standard / root)
    stacked = _join(columns)
    wanted = np.concatenate(targets)
    weights = _least_squares(stacked, wanted)
    if weights[0] < 0:
        term_weights = _least_squares(stacked[:, 1:], wanted)
        weights = np.concatenate([[0.0], term_weights])
    fitted = stacked @ weights
    spread = np.sqrt(np.sum(fitted**2))
    of_base = np.sqrt(np.sum(stacked[:, 0] ** 2))
    if not (spread > 0 and of_base > 0):
        return alone
    # Correlations do not depend on the scale of a score; the grid that blends it with attributions does.
    base_weight = float(weights[0] * of_base / spread)
    term_weights = np.ldexp(weights[1:] * of_base / spread, base_exponent - term_exponents)
    gains = []
    for base, term, human in usable:
        score = base_weight * base + term @ term_weights
        baseline = correlate(kind, base, human)
        gains.append(correlate(kind, score, human) - baseline)
    gain = np.array(gains).mean(keepdims=True)
    return (base_weight, term_weights) if beats(gain)[0] else alone


def _join(parts: Sequence[Floats]) -> Floats:
    """All rows; those of a single part are not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _least_squares(columns: Floats, wanted: Floats) -> Floats:
    """Weights of the columns, which are scaled to length 1 meanwhile; 0 for a column without variance."""
    size = np.sqrt(np.sum(columns**2, axis=0))
    varies = size > 0
    scaled = _divide(columns, size, varies)
    weights, *_ = np.linalg.lstsq(scaled, wanted, rcond=COLLINEAR)
    return _divide(weights, size, varies)


def _divide(values: NDArray[Any], divisors: Floats, where: Flags) -> Floats:
    """Values over divisors; 0 elsewhere."""
    return np.asarray(np.divide(values, divisors, out=np.zeros_like(values), where=where))
