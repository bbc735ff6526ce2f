"""Sentinels: what is reached without comparing a translation with anything (Perrella et al., ACL 2024)."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, Self, get_args

import numpy as np

from bmx_grid.core.errors import ConfigError
from bmx_grid.core.identity import RUNTIME, digest, identity
from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.measures.resampling import codes, dealt
from bmx_grid.metrics.encoders import SentenceEmbedding
from bmx_grid.words.perturbation import Item, Role

if TYPE_CHECKING:
    from bmx_grid.datasets.segments import SegmentSet

Sees = Literal["truth", "hypothesis", "lengths"]
FEWEST_FOLDS = 3  # one is predicted, one chooses the penalty, one is fitted on
PENALTIES = np.logspace(-3, 3, 7)  # per segment, for columns of variance 1


Judged = tuple[Item, float, str]  # a segment that a sentinel is fitted on, its human score and its cluster


@dataclass(frozen=True, kw_only=True)
class Sentinel(SentenceEmbedding):
    """The human score, as ridge regression predicts it from a part of what a metric should read.

    sees: "truth", the source (or with ground_truth=reference the reference); "hypothesis"; or "lengths", words and
        characters of both. None compares the two texts, so that a metric which does not correlate better with human
        scores has not shown that it does. In a sweep the option stands for one of each kind.
    folds: a segment is predicted from the other folds, which share no source or reference with it; the penalty is
        chosen by folds among these. seed: of the folds. A ground truth of no segment gets the mean over the folds.
    Fields of the model as of `SentenceEmbedding`. NaN where fewer than three folds have human scores.
    """

    is_placebo: ClassVar[bool] = True
    is_explained: ClassVar[bool] = False
    may_be_undefined: ClassVar[bool] = True

    sees: Sees = identity("hypothesis")
    folds: int = identity(5, least=FEWEST_FOLDS)
    seed: int = identity(0)
    set: str = identity("")
    judged: tuple[Judged, ...] = field(default=(), compare=False, metadata={"role": RUNTIME})  # `set` tells them apart

    def check(self) -> None:
        if self.sees != "lengths":
            super().check()

    def pretrained(self) -> tuple[tuple[str, str | None], ...]:
        return () if self.sees == "lengths" else super().pretrained()

    def members(self, name: str, sets: Sequence[SegmentSet]) -> Mapping[str, Self]:
        """A sentinel of each kind, named by what it sees."""
        labels = {sees: self.ground_truth if sees == "truth" else sees for sees in get_args(Sees)}
        return {f"{name}_{label}": dataclasses.replace(self, sees=sees) for sees, label in labels.items()}

    def fitted(self, segments: SegmentSet) -> Self:
        """Fitted to the primary human scores of a set, once it scores."""
        from bmx_grid.datasets.segments import clusters

        items = segments.items(self.reads)
        (labels,) = clusters([segments])
        judged = tuple(zip(items, segments.human_scores.tolist(), labels.tolist(), strict=True))
        content = [[*item.texts().values(), repr(human), cluster] for item, human, cluster in judged]
        return dataclasses.replace(self, judged=judged, set=digest(content)[:16])

    def of_pairs(self, items: Sequence[Item]) -> Floats:
        """float64[n] predicted human scores. Raises ConfigError where it was fitted to no set."""
        if not self.judged:
            raise ConfigError("metric 'sentinel' is fitted to the human scores of a whole data set: use it in a sweep.")
        if not items:
            return np.empty(0)
        weights, fold_of = _fit(self)
        folds = [fold_of.get(item.text(self.ground_truth), -1) for item in items]  # the last row is the mean
        columns = np.column_stack([np.ones(len(items)), self.columns(items)])
        return np.asarray((columns * np.vstack([weights, weights.mean(axis=0)])[folds]).sum(axis=1), dtype=np.float64)

    def columns(self, items: Sequence[Item]) -> Floats:
        """float64[n, k] what it sees: a sentence vector, or logarithms of lengths and their squares."""
        if self.sees != "lengths":
            role: Role = "hypothesis" if self.sees == "hypothesis" else self.ground_truth
            return self.embedded([item.text(role) for item in items])
        counts = []
        for item in items:
            truth = item.text(self.ground_truth)
            hypothesis = item.text("hypothesis")
            counts.append((len(truth.split()), len(truth), len(hypothesis.split()), len(hypothesis)))
        logs = np.log1p(np.array(counts, dtype=np.float64))
        return np.column_stack([logs, logs**2])


@functools.lru_cache(maxsize=4)  # once in a process, for all parts of a set
def _fit(sentinel: Sentinel) -> tuple[Floats, dict[str, int]]:
    """float64[K, 1 + k] regressions without each fold, and the fold of each ground truth."""
    items, human, clusters = (list(column) for column in zip(*sentinel.judged, strict=True))
    truths = [item.text(sentinel.ground_truth) for item in items]
    labels = [cluster if truth else "" for truth, cluster in zip(truths, clusters, strict=True)]  # empty ones: one
    fold = dealt(codes(labels), sentinel.folds, np.random.default_rng(sentinel.seed))
    weights = ridge_without(fold, sentinel.columns(items), np.array(human, dtype=np.float64))
    return weights, dict(zip(truths, fold.tolist(), strict=True))


def ridge_without(fold: Ints, columns: Floats, human: Floats) -> Floats:
    """float64[K, 1 + k] intercept and weights of ridge regressions, each without one of K folds.

    fold: int64[n]; columns: float64[n, k]; human: float64[n], NaN = not rated. The penalty, of squares of weights of
    standardised columns, is that with the least squared error where each further fold is left out and predicted.
    NaN with fewer than three rated folds.
    """
    means = columns.mean(axis=0)
    sds = columns.std(axis=0)
    # of one variance, so that the penalty weighs all columns alike; a constant column stays 0
    standard = np.divide(columns - means, sds, out=np.zeros_like(columns), where=sds > 0)
    rated = np.isfinite(human)
    of_fold = [rated & (fold == number) for number in range(fold.max() + 1)]
    regressions = np.full((len(of_fold), 1 + columns.shape[1]), np.nan)
    known = [number for number, rows in enumerate(of_fold) if rows.any()]
    if len(known) < FEWEST_FOLDS:
        return regressions
    inverse = np.divide(1, sds, out=np.zeros_like(sds), where=sds > 0)
    for number, rows in enumerate(of_fold):
        errors = np.zeros(len(PENALTIES))
        # the penalty is chosen without the fold that is predicted in the end, or its error would be too small
        for left_out in (of_fold[other] for other in known if other != number):
            weights = _ridge(standard, human, rated & ~rows & ~left_out, PENALTIES)
            predicted = weights[:, :1] + weights[:, 1:] @ standard[left_out].T
            errors += np.square(predicted - human[left_out]).sum(axis=1)
        penalty = PENALTIES[[errors.argmin()]]
        ((intercept, *weights),) = _ridge(standard, human, rated & ~rows, penalty)
        # in terms of the columns as they are: the intercept takes up what was subtracted
        regressions[number] = intercept - means @ (weights * inverse), *(weights * inverse)
    return regressions


def _ridge(columns: Floats, human: Floats, rows: np.ndarray, penalties: Floats) -> Floats:
    """float64[P, 1 + k] intercept and weights fitted on some rows, for each penalty."""
    chosen = columns[rows]
    target = human[rows]
    means = chosen.mean(axis=0)
    # one decomposition of the second moments serves all penalties
    values, vectors = np.linalg.eigh((chosen - means).T @ (chosen - means) / len(chosen))
    along = vectors.T @ ((chosen - means).T @ (target - target.mean())) / len(chosen)
    weights = (along / (values + penalties[:, None])) @ vectors.T
    return np.column_stack([target.mean() - weights @ means, weights])
