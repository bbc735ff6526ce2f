"""What a boost has to exceed on the very segments it is judged on: whatever score, lengths and texts tell anyway.

A gain over the metric alone proves nothing about attributions: a curve of the metric's own score, the number of words,
or both jointly, may give the same. All of that is therefore fitted to the human scores of the judged segments and to
the boosted scores alike, and what is left of a boost counts by what it adds to what is left of people's scores. A
segment is predicted by fits on other clusters, so that more terms cost accuracy on both sides and gain nothing by
themselves (Chernozhukov and others 2018, "Double/debiased machine learning", The Econometrics Journal 21).

Two stages. Least squares on a smooth curve of score and lengths, and on terms that are no explanation either: the level
of each named system, rater and domain, and what the texts are like. Then kernel ridge on what is left (`kernel_ridge`),
for joint effects of score and lengths. What least squares leaves of other segments comes from fits that saw the judged
ones among all others; that is the one thing a prediction knows of its own segment, and it makes it a little worse.

No learner is perfect: an effect that it catches in part, in people's scores and in the boost's, leaves a gain that is
none. But what it misses shrinks with the number of segments that it learns from, and what only the boost knows stays.
Every fit is therefore made on most segments and on half of them, and the gain is extrapolated (`extrapolation`).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.ragged import Flags, Floats, Ints
from bmx_grid.measures.correlation import FEWEST, Kind, average_ranks, beats, correlate
from bmx_grid.measures.kernel_ridge import out_of_part
from bmx_grid.measures.resampling import number_of
from bmx_grid.measures.scale import below_one, size_exponent, standard_deviation

KNOTS = 7  # of the spline of the score; benchmarks/verdicts.py has what fewer miss
PER_TERM = 10  # clusters that each term needs
TIED_DIGITS = 9  # of score and lengths; closer ones are equal
COLLINEAR = 1e-10  # share of the largest singular value below which columns count as collinear


@dataclass(frozen=True, eq=False)
class CurveTerms:
    """A smooth curve of a score and of the log words of each text, as columns for least squares.

    The terms are linear, then squares and products, then cubes, then a natural cubic spline of the score; `size` is how
    many of them there are: one for every PER_TERM clusters, but at least the linear ones.
    means, sds: float64[1 + k] of score and log words; knots: of the spline, in standard deviations.
    """

    size: int
    means: Floats
    sds: Floats
    knots: Floats

    @classmethod
    def of(cls, score: Floats, log_words: Floats, clusters: int) -> CurveTerms:
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
        # in this order, as few clusters leave the first of them only
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


def levels(groups: NDArray[Any]) -> Floats:
    """float64[n, k] a column for each of several groups of PER_TERM segments or more: 1 where a segment is of it.

    groups: n names, of systems, raters or domains. Fitted as further terms, they take off the level of each: a handful
    of systems may be ordered alike by chance.
    """
    names, counts = np.unique(groups, return_counts=True)
    # The level of a rare system would be fitted to a handful of segments, which it then explains by itself.
    kept = names[counts >= PER_TERM]
    if len(names) == 1:
        kept = names[:0]
    return np.asarray(groups[:, None] == kept, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class NuisanceFit:
    """Human scores float64[n] as predicted from what is no explanation, and float64[n, b] from that and each score.

    From fits on some of the other segments; weight: with which their gain counts.
    """

    alone: Floats
    with_scores: Floats
    weight: float


def beyond_nuisance(
    kind: Kind, score: Floats, log_words: Floats, terms: Floats, human: Floats, fold_of: Ints, boosted: Floats
) -> list[NuisanceFit]:
    """Predictions from score, lengths and terms, and what each boosted score adds; from fits of different sizes.

    What a boost adds beyond them is the sum of weight * (correlation of with_scores - correlation of alone).
    score: float64[n]; log_words: float64[n, k]; terms: float64[n, t], that count linearly, the curve among them; human:
    float64[n], of which a rank correlation takes the average ranks; fold_of: int64[n]; boosted: float64[n, b]. The
    weight of a boosted score is at least 0, so that it cannot be used against its own direction. NaN with fewer than
    two folds.
    """
    folds = number_of(fold_of)
    if folds < 2:
        alone = np.full(len(human), np.nan)
        with_scores = np.full(boosted.shape, np.nan)
        return [NuisanceFit(alone, with_scores, 1.0)]
    target = human if kind == "pearson" else average_ranks(human)
    # over powers of two, so that squares of tiny scores are not 0
    exponent = size_exponent(target)
    boosted = below_one(boosted)
    wanted = np.column_stack([np.ldexp(target, -exponent), boosted - boosted.mean(axis=0)])
    n_sides = log_words.shape[1]
    inputs = [below_one(score), *log_words.T]
    # The ratio of lengths is a direction of its own to a learner that sees distances along the axes.
    if n_sides == 2:
        inputs.append(log_words[:, 1] - log_words[:, 0])
    # rounding must not decide which of two equal inputs is larger
    rounded = np.round(np.column_stack(inputs), TIED_DIGITS)
    linear = _linear(terms, wanted, fold_of)
    # one fit on most segments, and two on half of them
    divisions = [fold_of, *_halves(fold_of)]
    learned = out_of_part(rounded, wanted - linear, divisions)
    share = 1 - 1 / folds
    weights = extrapolation(1 + n_sides, share, len(learned) - 1)
    fits = []
    for prediction, weight in zip(learned, weights, strict=True):
        predicted = linear + prediction
        alone = predicted[:, 0]
        with_scores = alone[:, None] + _added(wanted - predicted, wanted, fold_of)
        fits.append(NuisanceFit(np.ldexp(alone, exponent), np.ldexp(with_scores, exponent), weight))
    return fits


def extrapolation(inputs: int, share: float, smaller: int) -> tuple[float, ...]:
    """The weights of gains with fits on a share of the segments and with so many fits on half of them; their sum is 1.

    The squared error of the best learner of a Lipschitz function of d inputs falls with n segments as
    n ** (-2 / (2 + d)) (Stone 1982, "Optimal global rates of convergence for nonparametric regression", Annals of
    Statistics 10): with these weights errors of this rate cancel, and what does not depend on n stays.
    """
    # with two folds the first fit is on half of the segments as well: nothing to extrapolate from
    if share <= 0.5:
        return (1.0, *[0.0] * smaller)
    # Errors at n and at n / 2 segments make a line in n ** -rate; its value at an endless number is what is wanted.
    rate = 2 / (2 + inputs)
    error = share**-rate
    error_of_half = 0.5**-rate
    further = error / (error_of_half - error)
    of_half = -further / smaller
    return (1 + further, *[of_half] * smaller)


def _halves(fold_of: Ints) -> list[Ints]:
    """Two divisions of the folds in halves: the first ones and the last ones, even and odd ones."""
    in_last_half = fold_of >= number_of(fold_of) / 2
    return [in_last_half.astype(np.int64), fold_of % 2]


def _linear(terms: Floats, values: Floats, fold_of: Ints) -> Floats:
    """float64[n, q] human scores and scores as predicted by least squares with an intercept on the other folds.

    Curves run off where no segment was fitted: no human score is predicted, and nothing left of a score, that is not
    seen there.
    """
    intercept = np.ones(len(values))
    columns = _scaled(np.column_stack([intercept, terms]))
    predicted = np.empty_like(values)
    for fold in range(number_of(fold_of)):
        judged = fold_of == fold
        others = ~judged
        weights, *_ = np.linalg.lstsq(columns[others], values[others], rcond=COLLINEAR)
        fitted = columns[others] @ weights
        ahead = columns[judged] @ weights
        # Scores: what is left of them is cut. Human scores: the prediction itself.
        left_of_others = values[others] - fitted
        left = _within(values[judged] - ahead, left_of_others)
        predicted[judged] = values[judged] - left
        predicted[judged, 0] = _within(ahead[:, 0], fitted[:, 0])
    return predicted


def _added(left: Floats, values: Floats, fold_of: Ints) -> Floats:
    """float64[n, b] what is left of each score, times its weight on the other folds for what is left of human scores.

    left, values: float64[n, 1 + b] human scores and scores, without and with what predicts them.
    """
    of_human = left[:, 0]
    of_scores = left[:, 1:]
    added = np.zeros_like(of_scores)
    for fold in range(number_of(fold_of)):
        judged = fold_of == fold
        others = ~judged
        left_of_others = of_scores[others]
        spread = np.sum(left_of_others**2, axis=0)
        whole = np.sum(values[others, 1:] ** 2, axis=0)
        # by what predicts the score: what is left of it is rounding
        determined = spread <= COLLINEAR * whole
        # Below 0 the score would be used against what it says.
        products = np.maximum(of_human[others] @ left_of_others, 0.0)
        weights = _divided(products, spread, ~determined)
        added[judged] = of_scores[judged] * weights
    return added


def _scaled(columns: Floats) -> Floats:
    """Columns with a mean square of 1; a column of zeros as it is."""
    columns = below_one(columns)
    size = np.sqrt(np.mean(columns**2, axis=0))
    return columns / np.where(size > 0, size, 1.0)


def _within(values: Floats, seen: Floats) -> Floats:
    """Values, those outside the range of what was seen at its ends."""
    return np.clip(values, seen.min(axis=0), seen.max(axis=0))


NO_DONOR = -1


def donors(n_words: Ints, clusters: Ints, rng: np.random.Generator) -> Ints:
    """int64[N] for each segment another one with the same number of words, -1 where there is no other cluster.

    n_words: int64[N]; clusters: int64[N] codes from 0: a donor is of another cluster, so that no source and no
    reference is shared. Where no other cluster has that number of words, the nearest number that has one is taken, of
    two equally near ones the smaller. Segments of one number stand in a random circle, and each takes the next one of
    another cluster.
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
            # others are by their numbers of words: of two equally near numbers the smaller comes first
            nearest_words = n_words[others[np.argmin(distance)]]
            nearest[words, cluster] = others[n_words[others] == nearest_words]
        candidates = nearest[words, cluster]
        donor[row] = candidates[rng.integers(len(candidates))]
    return donor


def _next_of_another_cluster(group: Ints, clusters: Ints) -> Ints:
    """For each member of a circle the next one of another cluster, -1 where all are of one.

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


def log_words(*counts: Ints | Floats) -> Floats:
    """float64[N, sides] the natural logarithm of int64[N] words of each side; an empty side counts as one word."""
    words = np.maximum(np.column_stack(counts), 1)
    return np.log(words.astype(np.float64))


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
    base_exponent = size_exponent(np.concatenate([base for base, _, _ in usable]))
    term_exponents = size_exponent(np.concatenate([term for _, term, _ in usable]))
    columns = []
    targets = []
    for base, term, human in usable:
        target = human if kind == "pearson" else average_ranks(human)
        both = np.column_stack([np.ldexp(base, -base_exponent), np.ldexp(term, -term_exponents)])
        # divided by the square root of n, so that a long part counts no more than a short one
        root = np.sqrt(len(target))
        columns.append((both - both.mean(axis=0)) / root)
        standard = (target - target.mean()) / target.std()
        targets.append(standard / root)
    stacked = np.concatenate(columns)
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


def _least_squares(columns: Floats, wanted: Floats) -> Floats:
    """Weights of the columns, which are scaled to length 1 meanwhile; 0 for a column without variance."""
    size = np.sqrt(np.sum(columns**2, axis=0))
    varies = size > 0
    scaled = _divided(columns, size, varies)
    weights, *_ = np.linalg.lstsq(scaled, wanted, rcond=COLLINEAR)
    return _divided(weights, size, varies)


def _divided(values: NDArray[Any], divisors: Floats, where: Flags) -> Floats:
    """Values over divisors; 0 elsewhere."""
    return np.asarray(np.divide(values, divisors, out=np.zeros_like(values), where=where))
