"""What a boost has to exceed on the very segments it is judged on: a smooth curve of the score and of the lengths.

A gain over the metric alone proves nothing about attributions: a curve of the metric's own score, or the number of
words, may give the same. Both are therefore fitted to the human scores of the judged segments, for the metric and for
the boosted metric alike, and what the boosted score still adds is what only it knows. A segment is predicted by a fit
on other clusters, so that more terms cost accuracy on both sides and gain nothing by themselves.

A smooth curve misses steps, such as that of BLEU scores that are 0, a penalty from some ratio of lengths on, or that of
a metric that counts on long segments only: a boost that knows no more than a step would seem to know more than a curve.
Breaks are therefore added where they are needed: those that tell human scores, or the boosted score, beyond the curve
(double selection: Belloni, Chernozhukov and Hansen 2014, Review of Economic Studies 81(2)). What only a boost knows has
no break in score or lengths, so that nothing is taken from it.

The level of each system is taken off as well (`levels`): attributions that are higher for some systems than for others
correlate with human scores by chance, as often as a handful of systems happen to be ordered alike.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bmx_grid.core.ragged import Flags, Floats, Ints
from bmx_grid.measures.correlation import FEWEST, Kind, average_ranks, beats, correlate
from bmx_grid.measures.resampling import number_of

KNOTS = 7  # of the spline of the score; benchmarks/verdicts.py has what fewer miss
PER_TERM = 10  # clusters that each term needs
MOST = 10  # breaks that are added for human scores, and for a score
CUTS = 19  # quantiles of score, lengths and their ratio at which there may be a break
DIGITS = 9  # of score and lengths; closer ones are equal
SAME = 0.01  # share of a term that others leave, below which it tells nothing of its own
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
        means, sds = values.mean(axis=0), values.std(axis=0)
        sds = np.where(np.ptp(values, axis=0) > 0, sds, 1.0)
        standard = (values[:, 0] - means[0]) / sds[0]
        return cls(
            max(values.shape[1], clusters // PER_TERM),
            means,
            sds,
            np.unique(np.quantile(standard, np.linspace(0.05, 0.95, KNOTS))),
        )

    @property
    def most_breaks(self) -> int:
        """How many breaks may be added for one thing that is fitted."""
        return min(self.size // 2, MOST)

    def columns(self, score: Floats, log_words: Floats) -> Floats:
        """float64[n, k] the terms, k at most `size`."""
        score, *words = ((np.column_stack([score, log_words]) - self.means) / self.sds).T
        linear = [score, *words]
        products = [one * other for at, one in enumerate(linear) for other in linear[at:]]
        terms = [*linear, *products, *(one**3 for one in linear), *self._spline(score)]
        return np.column_stack(terms[: self.size])

    def breaks(self, score: Floats, log_words: Floats) -> Floats:
        """float64[n, m] terms that may be added: steps, also in the slope of the score, and mixed cubic products.

        Steps stand at quantiles of the score, of log words and, with two sides, of their ratio.
        """
        standard = ((np.column_stack([score, log_words]) - self.means) / self.sds).T
        places = [*standard, *([log_words[:, 1] - log_words[:, 0]] if log_words.shape[1] == 2 else [])]
        steps = [
            (one > cut).astype(np.float64)
            for one in np.round(places, DIGITS)  # rounding must not decide on which side of a step a segment is
            for cut in np.unique(np.quantile(one, np.linspace(0, 1, CUTS + 2)[1:-1], method="lower"))
        ]
        mixed = [
            standard[a] * standard[b] * standard[c]
            for a, b, c in itertools.combinations_with_replacement(range(len(standard)), 3)
            if not a == b == c
        ]
        return np.column_stack([*steps, *(step * standard[0] for step in steps), *mixed])

    def _spline(self, score: Floats) -> list[Floats]:
        """The basis of a natural cubic spline beyond its linear part (Hastie, Tibshirani and Friedman, eq. 5.4)."""
        if len(self.knots) < 3:
            return []
        last = self.knots[-1]
        bends = [
            (np.maximum(score - knot, 0) ** 3 - np.maximum(score - last, 0) ** 3) / (last - knot)
            for knot in self.knots[:-1]
        ]
        return [bend - bends[-1] for bend in bends[:-1]]


def levels(systems: Ints) -> Floats:
    """float64[n, k] a column for each of several systems that has PER_TERM segments or more: 1 where it translated.

    Fitted as further terms, they take off how good each system is: a handful of systems may be ordered alike by chance.
    """
    names, counts = np.unique(systems, return_counts=True)
    kept = names[counts >= PER_TERM] if len(names) > 1 else names[:0]
    return np.asarray(systems[:, None] == kept, dtype=np.float64)


def predictions(
    kind: Kind, terms: Floats, human: Floats, fold_of: Ints, scores: Floats, breaks: Floats, most: int
) -> tuple[Floats, Floats]:
    """The human scores as predicted from terms alone, and from terms with each score; fitted on the other folds.

    terms: float64[n, k]; human: float64[n] (for a rank correlation its average ranks are predicted); fold_of: int64[n];
    scores: float64[n, b]; breaks: float64[n, m] further terms, of which at most so many are added by what they tell of
    human scores, and as many by what they tell of a score. Least squares with an intercept; the weight of a score is at
    least 0, so that a score cannot be used against its own direction. Returns float64[n] and float64[n, b]; NaN with
    fewer than two folds.
    """
    target = human if kind == "pearson" else average_ranks(human)
    alone, with_scores = np.full(len(human), np.nan), np.full(scores.shape, np.nan)
    columns, breaks = _scaled(np.column_stack([np.ones(len(human)), terms])), _scaled(breaks)
    scores = scores - scores.mean(axis=0, keepdims=True)
    whole, values = np.column_stack([target, scores, breaks]), 1 + scores.shape[1]
    for fold in range(number_of(fold_of) if number_of(fold_of) > 1 else 0):
        judged = fold_of == fold
        left = _fitted(columns, breaks[:, :0], whole, judged)[1]
        of_breaks, n = left[:, values:], len(left)
        products, spreads = of_breaks.T @ left, np.sum(left**2, axis=0)
        determined = spreads <= COLLINEAR * np.sum(whole[~judged] ** 2, axis=0)  # what is left is rounding
        of_each = [
            [] if determined[place] else _telling(products[:, values:], products[:, place], spreads[place], n, most)
            for place in range(values)
        ]
        of_human = of_each[0]
        predicted, left_human = _fitted(columns, breaks[:, of_human], target, judged)
        # Curves run off where no segment was fitted: nothing is predicted that is not seen there.
        alone[judged] = _within(predicted, target[~judged] - left_human)
        for place, score in enumerate(scores.T):
            added = sorted({*of_human, *of_each[1 + place]})
            fitted, left_score = _fitted(columns, breaks[:, added], score, judged)
            spread = float(left_score @ left_score)
            adds = spread > COLLINEAR * float(score[~judged] @ score[~judged])
            weight = max(float(left_human @ left_score) / spread, 0.0) if adds else 0.0
            with_scores[judged, place] = alone[judged] + weight * _within(score[judged] - fitted, left_score)
    return alone, with_scores


def _scaled(columns: Floats) -> Floats:
    """Columns with a mean square of 1; a column of zeros as it is."""
    size = np.sqrt(np.mean(columns**2, axis=0))
    return np.asarray(columns / np.where(size > 0, size, 1.0))


def _telling(products: Floats, with_values: Floats, spread: np.float64, n: int, most: int) -> list[int]:
    """Places of at most so many of m columns that tell some values, one after the other.

    Each tells more than the best of m columns of noise would: its t squared is above 2 log m.
    products: float64[m, m] of the columns with each other; with_values: float64[m] with the n values; spread: the sum
    of squares of the values.
    """
    places: list[int] = []
    whole = np.diagonal(products)
    usable = whole > COLLINEAR * n
    while len(places) < most:
        size = np.diagonal(products)
        usable = usable & (size > SAME * whole)
        told = np.divide(with_values**2, size, out=np.zeros_like(with_values), where=usable)
        # of columns that tell the same, the first: rounding must not choose
        best = int(np.argmax(told >= told.max() * (1 - 10.0**-DIGITS))) if len(told) else 0
        if not usable.any() or told[best] * n <= 2 * math.log(len(told)) * max(spread - told[best], 0.0):
            break
        spread -= told[best]
        own = products[best] / size[best]
        with_values = with_values - own * with_values[best]
        products = products - np.outer(own, products[best])
        places.append(best)
    return places


def _fitted(columns: Floats, added: Floats, values: Floats, judged: Flags) -> tuple[Floats, Floats]:
    """Predictions of the judged values from a fit on the others, and what it leaves of the others."""
    both = np.column_stack([columns, added])
    weights = np.linalg.lstsq(both[~judged], values[~judged], rcond=COLLINEAR)[0]
    return both[judged] @ weights, values[~judged] - both[~judged] @ weights


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
    order = np.lexsort((rng.random(len(n_words)), n_words))
    donor = np.full(len(n_words), NO_DONOR, dtype=np.int64)
    for group in np.split(order, np.flatnonzero(np.diff(n_words[order])) + 1):
        donor[group] = _next_of_another_cluster(group, clusters)
    if not len(clusters) or (clusters == clusters[0]).all():
        return donor
    nearest: dict[tuple[int, int], Ints] = {}
    for row in np.flatnonzero(donor == NO_DONOR):
        key = int(n_words[row]), int(clusters[row])
        if key not in nearest:
            others = order[clusters[order] != key[1]]  # by their numbers of words
            distance = np.abs(n_words[others] - key[0])
            first = others[np.argmin(distance)]
            nearest[key] = others[n_words[others] == n_words[first]]
        donor[row] = nearest[key][rng.integers(len(nearest[key]))]
    return donor


def _next_of_another_cluster(group: Ints, clusters: Ints) -> Ints:
    """For each member of a circle the next one of another cluster, -1 where all are of one.

    Runs of one cluster share the first member of the run that follows.
    """
    first_of_run = np.flatnonzero(clusters[group] != np.roll(clusters[group], 1))
    if not len(first_of_run):
        return np.full(len(group), NO_DONOR, dtype=np.int64)
    following = np.searchsorted(first_of_run, np.arange(len(group)), side="right")
    return np.asarray(group[first_of_run[following % len(first_of_run)]])


def log_words(*counts: Ints | Floats) -> Floats:
    """float64[N, sides] the natural logarithm of int64[N] words of each side; an empty side counts as one word."""
    return np.log(np.maximum(np.column_stack(counts), 1).astype(np.float64))


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
    usable = [part for part in parts if len(part[2]) >= max(FEWEST, width + 2) and np.ptp(part[2]) > 0]
    if not usable:
        return alone
    columns, targets = [], []
    for base, term, human in usable:
        target = human if kind == "pearson" else average_ranks(human)
        both = np.column_stack([base, term])
        columns.append((both - both.mean(axis=0)) / np.sqrt(len(target)))
        targets.append((target - target.mean()) / target.std() / np.sqrt(len(target)))
    stacked, wanted = np.concatenate(columns), np.concatenate(targets)
    weights = _least_squares(stacked, wanted)
    if weights[0] < 0:
        weights = np.concatenate([[0.0], _least_squares(stacked[:, 1:], wanted)])
    spread, of_base = np.sqrt(np.sum((stacked @ weights) ** 2)), np.sqrt(np.sum(stacked[:, 0] ** 2))
    if not (spread > 0 and of_base > 0):
        return alone
    own, of_terms = float(weights[0] * of_base / spread), weights[1:] * of_base / spread
    gains = [
        correlate(kind, own * base + term @ of_terms, human) - correlate(kind, base, human)
        for base, term, human in usable
    ]
    return (own, of_terms) if beats(np.array(gains).mean(keepdims=True))[0] else alone


def _least_squares(columns: Floats, wanted: Floats) -> Floats:
    """Weights of the columns, which are scaled to length 1 meanwhile; 0 for a column without variance."""
    size = np.sqrt(np.sum(columns**2, axis=0))
    scaled = np.divide(columns, size, out=np.zeros_like(columns), where=size > 0)
    weights = np.linalg.lstsq(scaled, wanted, rcond=COLLINEAR)[0]
    return np.asarray(np.divide(weights, size, out=np.zeros_like(weights), where=size > 0))
