"""A ridge regression of the human scores on the metric, the lengths and statistics of the attributions."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bmx_grid.boosts.base import Boost, Fitted, Part, gains, restore
from bmx_grid.boosts.feature_mix import FEATURES, statistic
from bmx_grid.core.errors import ConfigError
from bmx_grid.core.identity import identity
from bmx_grid.core.ragged import Floats, Ints, Ragged
from bmx_grid.measures.aggregation import weighted_sum
from bmx_grid.measures.correlation import Kind, average_ranks
from bmx_grid.measures.nuisance import log_words
from bmx_grid.measures.resampling import codes, number_of


@dataclass(frozen=True)
class Linear(Fitted):
    """own * base + (1 - own) * base_mean + the sum of weight * (feature - mean) / sd.

    own: the weight of the base, 1 with no other weight = no boost. weights: points of the base's scale per standard
    deviation of each feature; means, sds: of the features on the segments it was chosen on, so that a single new
    segment can be scored. features: their names.
    """

    features: tuple[str, ...]
    own: float
    base_mean: float
    weights: tuple[float, ...]
    means: tuple[float, ...]
    sds: tuple[float, ...]

    @classmethod
    def alone(cls, features: Sequence[str]) -> Linear:
        """No boost."""
        k = len(features)
        return cls(tuple(features), 1.0, 0.0, (0.0,) * k, (0.0,) * k, (1.0,) * k)

    @property
    def abstains(self) -> bool:
        return self.own == 1 and not any(self.weights)

    def _boosted(self, base: Floats, features: Floats) -> Floats:
        standard = (features - np.array(self.means)) / np.array(self.sds)
        return weighted_sum(base, self.own, standard, self.weights) + (1 - self.own) * self.base_mean

    def constants(self) -> dict[str, Any]:
        return {key: list(value) if isinstance(value, tuple) else value for key, value in vars(self).items()}


SIDES = ("ground_truth", "hypothesis")
RIDGE_PENALTIES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)  # the variance of the human scores is 1


@dataclass(frozen=True)
class Learned(Boost):
    """Ridge on the base, log words of each side, and per side share_negative, mean, sum, spread, min and max.

    The base is free, but its weight is at least 0; the other columns have a standard deviation of 1 on the segments
    it is chosen on, and are penalised. penalties: to choose from, in units of the variance of the human scores, by
    the squared error on `folds` folds of whole clusters; equal ones decide for the larger. "No boost" is the largest
    of all, so that a feature has to predict other clusters to be used. Language pairs are centred, have human scores
    (for a rank correlation their average ranks) of variance 1, and count the same.
    Folds take turns in the order of the clusters' codes: nothing is drawn.
    Raises ConfigError for fewer than two folds, and penalties that are none or not above 0.
    """

    penalties: tuple[float, ...] = identity(RIDGE_PENALTIES)
    folds: int = identity(5, least=2)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.penalties or not all(0 < penalty < np.inf for penalty in self.penalties):
            raise ConfigError(f"penalties must be finite numbers above 0, at least one, got {list(self.penalties)}.")
        object.__setattr__(self, "penalties", tuple(sorted(set(map(float, self.penalties)))))

    def names(self) -> tuple[str, ...]:
        lengths = [f"log_words {side}" for side in SIDES]
        of_words = [f"{name} {side}" for side, name in itertools.product(SIDES, FEATURES)]
        return (*lengths, *of_words)

    def features(self, truth: Ragged, hypothesis: Ragged) -> Floats:
        """float64[N, 14]; a row is NaN where one of the two sides has no word or an attribution that is not finite."""
        columns = [statistic(name, rows) for rows, name in itertools.product((truth, hypothesis), FEATURES)]
        features = np.column_stack([log_words(truth.lengths, hypothesis.lengths), *columns])
        features[np.isnan(features).any(axis=1)] = np.nan
        return features

    def of_attributions(self) -> tuple[bool, ...]:
        """All but the lengths."""
        return tuple(not name.startswith("log_words") for name in self.names())

    def fit(self, kind: Kind, parts: Sequence[Part]) -> Linear:
        return fit_ridge(self, kind, parts)[0]

    def restored(self, constants: Mapping[str, Any]) -> Linear:
        """Raises ConfigError for constants of other features, or with an sd of 0."""
        fitted = restore(Linear, constants, len(self.names()))
        names = list(self.names())
        if fitted.features != self.names():
            raise ConfigError(f"constants.features: expected {names}, in this order; got {list(fitted.features)}.")
        return fitted


def fit_ridge(spec: Learned, kind: Kind, parts: Sequence[Part]) -> tuple[Linear, float]:
    """The regression with the penalty that predicts other clusters best, and that penalty; infinity for no boost."""
    alone = Linear.alone(spec.names()), np.inf
    used = [part for part in parts if part.decides]
    if not used:
        return alone
    columns, means, sds = _standard(kind, used)
    clusters = codes(np.concatenate([part.clusters for part in used]))
    fold_of = np.split(clusters % spec.folds, np.cumsum([len(rows) for rows in columns])[:-1])
    penalty = _chosen_penalty(spec, columns, fold_of, min(spec.folds, number_of(clusters)))
    if penalty == np.inf:
        return alone
    gram = _covariances([(rows.T @ rows)[None] for rows in columns])
    weights = _solved(gram, np.array([penalty]))[0]
    gram = gram[0, :-1, :-1]
    spread = float(np.sqrt(weights @ gram @ weights))
    own = float(np.sqrt(gram[0, 0]))
    if not (spread > 0 and own > 0):
        return alone
    # with the spread of the base on the parts
    scaled = np.asarray(weights * (own / spread))
    base_sd = float(sds[0])
    points = tuple((scaled[1:] * base_sd).tolist())
    constants = points, tuple(means[1:].tolist()), tuple(sds[1:].tolist())
    fitted = Linear(spec.names(), float(scaled[0]), float(means[0]), *constants)
    return (fitted, penalty) if gains(kind, used, fitted) else alone


def _standard(kind: Kind, parts: Sequence[Part]) -> tuple[list[Floats], Floats, Floats]:
    """What covariances are computed from, and the means and standard deviations float64[1 + k] of base and features.

    For each part float64[n, 1 + m]: ones, then base, features and human score with mean 0 and, within parts, standard
    deviation 1. A constant column is 0, and its standard deviation 1.
    """
    raw = [np.column_stack([part.base, part.features]) for part in parts]
    centres = [rows.mean(axis=0) for rows in raw]
    varies = [np.ptp(rows, axis=0) > 0 for rows in raw]
    variance = np.mean([np.where(some, rows.var(axis=0), 0.0) for rows, some in zip(raw, varies, strict=True)], axis=0)
    sds = np.sqrt(np.where(variance > 0, variance, 1.0))
    columns = []
    for part, rows, centre, some in zip(parts, raw, centres, varies, strict=True):
        target = part.human if kind == "pearson" else average_ranks(part.human)
        standard = np.where(some, (rows - centre) / sds, 0.0)
        columns.append(np.column_stack([np.ones(len(rows)), standard, (target - target.mean()) / target.std()]))
    return columns, np.mean(centres, axis=0), sds


def _covariances(sums: Sequence[Floats]) -> Floats:
    """float64[R, m, m] the mean over parts of the covariances, from float64[R, 1 + m, 1 + m] sums of products of each.

    The first column is the ones. Parts without a segment are left out.
    """
    total = np.zeros_like(sums[0][:, 1:, 1:])
    count = np.zeros(len(sums[0]))
    for products in sums:
        size = products[:, 0, 0]
        known = size > 0
        share = np.divide(1.0, size, out=np.zeros_like(size), where=known)
        level = products[:, 0, 1:] * share[:, None]
        total += products[:, 1:, 1:] * share[:, None, None] - level[:, :, None] * level[:, None, :]
        count += known
    return np.asarray(total / np.maximum(count, 1.0)[:, None, None])


def _chosen_penalty(spec: Learned, columns: Sequence[Floats], fold_of: Sequence[Ints], folds: int) -> float:
    """The penalty with the lowest squared error on left-out folds; infinity, the base alone, where none beats that."""
    if folds < 2:
        return np.inf
    of_folds = []
    for rows, place in zip(columns, fold_of, strict=True):
        rows_of_folds = [rows[place == fold] for fold in range(folds)]
        of_folds.append(np.array([of_fold.T @ of_fold for of_fold in rows_of_folds]))
    left = _covariances(of_folds)
    # Sums of products add up, so that each fold's training data are those of all others.
    others = 1.0 - np.eye(folds)
    inside = _covariances([np.tensordot(others, sums, axes=1) for sums in of_folds])
    ladder = [*spec.penalties, np.inf]
    finite = np.repeat(spec.penalties, folds)
    solved = np.concatenate([_solved(np.tile(inside, (len(spec.penalties), 1, 1)), finite), _base_alone(inside)])
    # With -1 for the human score, w' C w is the variance of what is left to explain.
    whole = np.column_stack([solved, np.full(len(solved), -1.0)])
    left_of_each = np.tile(left, (len(ladder), 1, 1))
    residuals = np.einsum("ri,ri->r", np.matmul(left_of_each, whole[:, :, None])[:, :, 0], whole)
    errors = residuals.reshape(len(ladder), folds).sum(axis=1)  # the residual variance in each fold, summed
    # argmin takes the first of equal errors: from the end, the larger penalty.
    return ladder[len(ladder) - 1 - int(np.argmin(errors[::-1]))]


def _base_alone(grams: Floats) -> Floats:
    """float64[R, 1 + k] weights: of the base at least 0, and 0 of the features."""
    size = grams[:, 0, 0]
    weights = np.zeros(grams[:, 0, :-1].shape)
    weights[:, 0] = np.maximum(np.divide(grams[:, 0, -1], size, out=np.zeros_like(size), where=size > 0), 0.0)
    return weights


def _solved(grams: Floats, penalties: Floats) -> Floats:
    """float64[R, 1 + k] weights of base and features; the base is not penalised, and its weight is at least 0.

    penalties: float64[R], all finite.
    """
    columns = grams[:, :-1, :-1]
    k = columns.shape[1]
    weights = np.zeros((len(grams), k))
    ridge = penalties[:, None, None] * np.diag(np.append(0.0, np.ones(k - 1)))
    with_base = columns[:, 0, 0] > 0
    weights[with_base] = _solve(columns[with_base] + ridge[with_base], grams[with_base, :-1, -1])
    # A negative weight of the base: solved again without it.
    without = ~with_base | (weights[:, 0] < 0)
    if without.any():
        weights[without, 0] = 0.0
        weights[without, 1:] = _solve(columns[without, 1:, 1:] + ridge[without, 1:, 1:], grams[without, 1:-1, -1])
    return weights


def _solve(matrices: Floats, wanted: Floats) -> Floats:
    return np.asarray(np.linalg.solve(matrices, wanted[:, :, None])[:, :, 0], dtype=np.float64)
