"""Sentinels: metrics that do not compare a translation with a source or reference (Perrella et al., ACL 2024)."""

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
from bmx_grid.measures.resampling import assign_folds, codes
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
    """The human score, as ridge regression predicts it from a part of a metric's input.

    sees: "truth", the source (or with ground_truth=reference the reference); "hypothesis"; or "lengths", words and
        characters of both. None compares the two texts: a metric that does not correlate better with human scores
        has not shown that it compares them. In a sweep the option expands to one of each kind.
    folds: a segment is predicted from the other folds, which share no source or reference with it; the penalty is
        chosen by folds among these. seed: of the folds. A ground truth of no segment gets the mean over the folds.
    Fields of the model as of `SentenceEmbedding`. NaN if fewer than three folds have human scores.
    """

    is_placebo: ClassVar[bool] = True
    can_be_explained: ClassVar[bool] = False
    may_be_undefined: ClassVar[bool] = True

    sees: Sees = identity("hypothesis")
    folds: int = identity(5, least=FEWEST_FOLDS)
    seed: int = identity(0)
    set: str = identity("")
    judged: tuple[Judged, ...] = field(default=(), compare=False, metadata={"role": RUNTIME})  # `set` is their identity

    def check(self) -> None:
        if self.sees != "lengths":
            super().check()

    def pretrained_models(self) -> tuple[tuple[str, str | None], ...]:
        return () if self.sees == "lengths" else super().pretrained_models()

    def known_languages(self, role: Role) -> frozenset[str] | None:
        seen_role = "hypothesis" if self.sees == "hypothesis" else self.ground_truth
        return super().known_languages(role) if role == seen_role else None

    def expand(self, name: str, sets: Sequence[SegmentSet]) -> Mapping[str, Self]:
        """A sentinel of each kind, named by its input."""
        sentinels = {}
        for sees in get_args(Sees):
            label = self.ground_truth if sees == "truth" else sees
            sentinels[f"{name}_{label}"] = dataclasses.replace(self, sees=sees)
        return sentinels

    def fit(self, segments: SegmentSet) -> Self:
        """This sentinel with the texts, primary human scores and clusters of a set, and their digest.

        The regressions themselves are computed when it first scores.
        """
        from bmx_grid.datasets.segments import clusters

        items = segments.items(self.reads)
        (labels,) = clusters([segments])
        human = segments.human_scores.tolist()
        judged = tuple(zip(items, human, labels.tolist(), strict=True))
        content = []
        for item, score, cluster in judged:
            content.append([*item.texts().values(), repr(score), cluster])
        return dataclasses.replace(self, judged=judged, set=digest(content)[:16])

    def score_pairs(self, items: Sequence[Item]) -> Floats:
        """float64[n] predicted human scores. Raises ConfigError if it was fitted to no set."""
        if not self.judged:
            raise ConfigError("metric 'sentinel' is fitted to the human scores of a whole data set: use it in a sweep.")
        if not items:
            return np.empty(0)
        weights, fold_of_truth = _fit(self, digest(self.fingerprint()))
        # a ground truth of no fold takes the last row, the mean over the folds
        rows = np.vstack([weights, weights.mean(axis=0)])
        folds = [fold_of_truth.get(item.text(self.ground_truth), -1) for item in items]
        columns = np.column_stack([np.ones(len(items)), self.columns(items)])
        predicted = (columns * rows[folds]).sum(axis=1)
        return np.asarray(predicted, dtype=np.float64)

    def columns(self, items: Sequence[Item]) -> Floats:
        """float64[n, k] its input: a sentence vector, or logarithms of lengths and their squares."""
        if self.sees != "lengths":
            role: Role = "hypothesis" if self.sees == "hypothesis" else self.ground_truth
            return self.embed_texts([item.text(role) for item in items])
        counts = []
        for item in items:
            truth = item.text(self.ground_truth)
            hypothesis = item.text("hypothesis")
            truth_words = truth.split()
            hypothesis_words = hypothesis.split()
            counts.append((len(truth_words), len(truth), len(hypothesis_words), len(hypothesis)))
        logs = np.log1p(np.array(counts, dtype=np.float64))
        return np.column_stack([logs, logs**2])


@functools.lru_cache(maxsize=4)  # once in a process, for all parts of a set
def _fit(sentinel: Sentinel, _fingerprint: str) -> tuple[Floats, dict[str, int]]:
    """float64[K, 1 + k] regressions without each fold, and the fold of each ground truth.

    They are kept by the fingerprint, too: the model's folder may be overwritten.
    """
    items = []
    truths = []
    human = []
    labels = []
    for item, score, cluster in sentinel.judged:
        truth = item.text(sentinel.ground_truth)
        items.append(item)
        truths.append(truth)
        human.append(score)
        # empty ground truths are one cluster, since all have the fold of one text
        labels.append(cluster if truth else "")
    generator = np.random.default_rng(sentinel.seed)
    fold = assign_folds(codes(labels), sentinel.folds, generator)
    columns = sentinel.columns(items)
    weights = ridge_without(fold, columns, np.array(human, dtype=np.float64))
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
    varies = sds > 0
    standard = np.divide(columns - means, sds, out=np.zeros_like(columns), where=varies)
    rated = np.isfinite(human)
    n_folds = fold.max() + 1
    rated_in_fold = [rated & (fold == number) for number in range(n_folds)]
    n_weights = 1 + columns.shape[1]
    regressions = np.full((n_folds, n_weights), np.nan)
    known = [number for number, rows in enumerate(rated_in_fold) if rows.any()]
    if len(known) < FEWEST_FOLDS:
        return regressions
    inverse = np.divide(1, sds, out=np.zeros_like(sds), where=varies)
    for number, rows in enumerate(rated_in_fold):
        others = rated & ~rows
        errors = np.zeros(len(PENALTIES))
        # the penalty is chosen without the fold that is predicted in the end, or its error would be too small
        for other in known:
            if other == number:
                continue
            left_out = rated_in_fold[other]
            candidates = _ridge(standard, human, others & ~left_out, PENALTIES)
            intercepts = candidates[:, :1]
            predicted = intercepts + candidates[:, 1:] @ standard[left_out].T
            differences = predicted - human[left_out]
            errors += np.square(differences).sum(axis=1)
        penalty = PENALTIES[[errors.argmin()]]
        ((intercept, *standard_weights),) = _ridge(standard, human, others, penalty)
        # in terms of the original columns: the intercept absorbs the subtracted mean
        weights = standard_weights * inverse
        regressions[number, 0] = intercept - means @ weights
        regressions[number, 1:] = weights
    return regressions


def _ridge(columns: Floats, human: Floats, rows: np.ndarray, penalties: Floats) -> Floats:
    """float64[P, 1 + k] intercept and weights fitted on some rows, for each penalty."""
    chosen = columns[rows]
    target = human[rows]
    means = chosen.mean(axis=0)
    # Subtracted twice: for one array and its own transpose NumPy calls another routine, with other last bits.
    moments = (chosen - means).T @ (chosen - means) / len(chosen)
    # one decomposition of the second moments serves all penalties
    values, vectors = np.linalg.eigh(moments)
    products = (chosen - means).T @ (target - target.mean())
    along = vectors.T @ products / len(chosen)
    shrunk = along / (values + penalties[:, None])
    weights = shrunk @ vectors.T
    intercepts = target.mean() - weights @ means
    return np.column_stack([intercepts, weights])
