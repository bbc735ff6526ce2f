"""What a boost has to exceed on the very segments it is judged on: a smooth curve of the score and of the lengths.

A gain over the metric alone proves nothing about attributions: a curve of the metric's own score, or the number of
words, may give the same. Both are therefore fitted to the human scores of the judged segments, for the metric and for
the boosted metric alike, and what the boosted score still adds is what only it knows. A segment is predicted by a fit
on other clusters, so that more terms cost accuracy on both sides and gain nothing by themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bmx_grid.measures.correlation import Kind, average_ranks
from bmx_grid.measures.resampling import number_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

KNOTS = 7  # of the spline of the score; benchmarks/verdicts.py has what fewer miss
PER_TERM = 10  # clusters that each term needs
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

    def columns(self, score: Floats, log_words: Floats) -> Floats:
        """float64[n, k] the terms, k at most `size`."""
        score, *words = ((np.column_stack([score, log_words]) - self.means) / self.sds).T
        linear = [score, *words]
        products = [one * other for at, one in enumerate(linear) for other in linear[at:]]
        terms = [*linear, *products, *(one**3 for one in linear), *self._spline(score)]
        return np.column_stack(terms[: self.size])

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


def predictions(kind: Kind, terms: Floats, human: Floats, fold_of: Ints, scores: Floats) -> tuple[Floats, Floats]:
    """The human scores as predicted from terms alone, and from terms with each score; fitted on the other folds.

    terms: float64[n, k]; human: float64[n] (for a rank correlation its average ranks are predicted); fold_of: int64[n];
    scores: float64[n, b]. Least squares with an intercept; the weight of a score is at least 0, so that a score cannot
    be used against its own direction. Returns float64[n] and float64[n, b]; NaN with fewer than two folds.
    """
    target = human if kind == "pearson" else average_ranks(human)
    alone, with_scores = np.full(len(human), np.nan), np.full(scores.shape, np.nan)
    columns = np.column_stack([np.ones(len(human)), terms])
    size = np.sqrt(np.mean(columns**2, axis=0))
    columns = columns / np.where(size > 0, size, 1.0)
    scores = scores - scores.mean(axis=0, keepdims=True)
    for fold in range(number_of(fold_of) if number_of(fold_of) > 1 else 0):
        judged = fold_of == fold
        known = columns[~judged]
        fits = np.linalg.lstsq(known, np.column_stack([target[~judged], scores[~judged]]), rcond=COLLINEAR)[0]
        left, left_scores = target[~judged] - known @ fits[:, 0], scores[~judged] - known @ fits[:, 1:]
        spread, whole = np.sum(left_scores**2, axis=0), np.sum(scores[~judged] ** 2, axis=0)
        adds = spread > COLLINEAR * whole  # a score that the terms determine adds rounding only
        weights = np.divide(left @ left_scores, spread, out=np.zeros_like(spread), where=adds)
        # Curves run off where no segment was fitted: nothing is predicted that is not seen there.
        alone[judged] = _within(columns[judged] @ fits[:, 0], known @ fits[:, 0])
        beyond = _within(scores[judged] - columns[judged] @ fits[:, 1:], left_scores)
        with_scores[judged] = alone[judged, None] + np.maximum(weights, 0.0) * beyond
    return alone, with_scores


def _within(values: Floats, seen: Floats) -> Floats:
    """Values, those outside the range of what was seen at its ends."""
    return np.clip(values, seen.min(axis=0), seen.max(axis=0))
