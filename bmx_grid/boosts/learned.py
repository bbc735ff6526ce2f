"""A ridge regression of the human scores on the metric, the lengths and statistics of the attributions."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bmx_grid.boosts.base import Boost, FittedBoost, Part, gains, restore
from bmx_grid.boosts.feature_mix import FEATURES, statistic
from bmx_grid.core.errors import ConfigError
from bmx_grid.core.identity import identity
from bmx_grid.core.ragged import Floats, Ints, Ragged
from bmx_grid.measures.aggregation import weighted_sum
from bmx_grid.measures.correlation import Kind, average_ranks, below_one, size_exponent
from bmx_grid.measures.resampling import codes, number_of
from bmx_grid.words.segmentation import log_words


@dataclass(frozen=True)
class Linear(FittedBoost):
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
        zeros = (0.0,) * len(features)
        ones = (1.0,) * len(features)
        return cls(tuple(features), own=1.0, base_mean=0.0, weights=zeros, means=zeros, sds=ones)

    @property
    def keeps_base_scores(self) -> bool:
        return self.own == 1 and not any(self.weights)

    def _boost_scores(self, base: Floats, features: Floats) -> Floats:
        standard = (features - np.array(self.means)) / np.array(self.sds)
        mixed = weighted_sum(base, self.own, standard, self.weights)
        return mixed + (1 - self.own) * self.base_mean

    def constants(self) -> dict[str, Any]:
        constants = {}
        for key, value in vars(self).items():
            # JSON has lists only.
            constants[key] = list(value) if isinstance(value, tuple) else value
        return constants


SIDES = ("ground_truth", "hypothesis")
RIDGE_PENALTIES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)  # the variance of the human scores is 1


@dataclass(frozen=True)
class Learned(Boost):
    """Ridge on the base, log words of each side, and per side share_negative, mean, sum, spread, min and max.

    The base is free, but its weight is at least 0; the other columns have a standard deviation of 1 on the segments
    it is chosen on, and are penalised. penalties: to choose from, in units of the variance of the human scores, by
    the squared error on `folds` folds of whole clusters; equal ones decide for the larger. "No boost" is the largest
    one, so that a feature has to predict other clusters to be used. Language pairs are centred, have human scores
    (for a rank correlation their average ranks) of variance 1, and count the same.
    Folds take turns in the order of the clusters' codes: nothing is drawn.
    Raises ConfigError for fewer than two folds, no penalty, or one that is not above 0.
    """

    penalties: tuple[float, ...] = identity(RIDGE_PENALTIES)
    folds: int = identity(5, least=2)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.penalties or not all(0 < penalty < np.inf for penalty in self.penalties):
            raise ConfigError(f"penalties must be finite numbers above 0, at least one, got {list(self.penalties)}.")
        # Ascending, so that the last of equal ones is the largest (`_chosen_penalty`).
        ladder = sorted({float(penalty) for penalty in self.penalties})
        object.__setattr__(self, "penalties", tuple(ladder))

    def names(self) -> tuple[str, ...]:
        names = [f"log_words {side}" for side in SIDES]
        names += [f"{name} {side}" for side, name in itertools.product(SIDES, FEATURES)]
        return tuple(names)

    def features(self, truth: Ragged, hypothesis: Ragged) -> Floats:
        """float64[N, 14]; a row is NaN if a side has no word or an attribution that is not finite."""
        columns = [log_words(truth.lengths, hypothesis.lengths)]
        columns += [statistic(name, rows) for rows, name in itertools.product((truth, hypothesis), FEATURES)]
        features = np.column_stack(columns)
        features[np.isnan(features).any(axis=1)] = np.nan
        return features

    def attribution_mask(self) -> tuple[bool, ...]:
        """All but the lengths."""
        return tuple(not name.startswith("log_words") for name in self.names())

    def fit(self, kind: Kind, parts: Sequence[Part]) -> Linear:
        return fit_ridge(self, kind, parts)[0]

    def from_constants(self, constants: Mapping[str, Any]) -> Linear:
        """Raises ConfigError for constants of other features, or with an sd of 0."""
        names = self.names()
        fitted = restore(Linear, constants, len(names))
        if fitted.features != names:
            raise ConfigError(
                f"constants.features: expected {list(names)}, in this order; got {list(fitted.features)}."
            )
        return fitted


def fit_ridge(spec: Learned, kind: Kind, parts: Sequence[Part]) -> tuple[Linear, float]:
    """The regression with the penalty that predicts other clusters best, and that penalty; infinity for no boost."""
    alone = Linear.alone(spec.names()), np.inf
    deciding = [part for part in parts if part.decides]
    if not deciding:
        return alone
    columns, means, sds = _standard(kind, deciding)
    # Codes of all parts together: a cluster is in the same fold in every part.
    clusters = codes(np.concatenate([part.clusters for part in deciding]))
    ends = np.cumsum([len(rows) for rows in columns])
    fold_of = np.split(clusters % spec.folds, ends[:-1])
    n_folds = min(spec.folds, number_of(clusters))
    penalty = _chosen_penalty(spec, columns, fold_of, n_folds)
    if penalty == np.inf:
        return alone
    covariances = _covariances([(rows.T @ rows)[None] for rows in columns])
    weights = _solve_ridge(covariances, np.array([penalty]))[0]
    covariance = covariances[0, :-1, :-1]
    spread = float(np.sqrt(weights @ covariance @ weights))
    base_spread = float(np.sqrt(covariance[0, 0]))
    if not (spread > 0 and base_spread > 0):
        return alone
    # The boosted score has the spread of the base on the parts.
    scaled = np.asarray(weights * (base_spread / spread))
    base_sd = float(sds[0])
    fitted = Linear(
        spec.names(),
        own=float(scaled[0]),
        base_mean=float(means[0]),
        weights=tuple((scaled[1:] * base_sd).tolist()),
        means=tuple(means[1:].tolist()),
        sds=tuple(sds[1:].tolist()),
    )
    if not gains(kind, deciding, fitted):
        return alone
    return fitted, penalty


def _standard(kind: Kind, parts: Sequence[Part]) -> tuple[list[Floats], Floats, Floats]:
    """What covariances are computed from, and the means and standard deviations float64[1 + k] of base and features.

    For each part float64[n, 1 + m]: ones, then base, features and human score with mean 0 and, within parts, standard
    deviation 1. A constant column is 0, and its standard deviation 1. parts: those that decide: human scores vary.
    """
    as_given = [np.column_stack([part.base, part.features]) for part in parts]
    # over powers of two, so that squares of tiny scores are not 0
    exponents = size_exponent(np.concatenate(as_given))
    raw = [np.ldexp(rows, -exponents) for rows in as_given]
    centres = [rows.mean(axis=0) for rows in raw]
    # The range shows whether a column varies: rounding can leave a constant one a variance above 0.
    varies = [np.ptp(rows, axis=0) > 0 for rows in raw]
    variances = []
    for rows, varying in zip(raw, varies, strict=True):
        variances.append(np.where(varying, rows.var(axis=0), 0.0))
    variance = np.mean(variances, axis=0)
    scaled_sds = np.sqrt(np.where(variance > 0, variance, 1.0))
    columns = []
    for part, rows, centre, varying in zip(parts, raw, centres, varies, strict=True):
        target = below_one(part.human) if kind == "pearson" else average_ranks(part.human)
        standard_target = (target - target.mean()) / target.std()
        standard = np.where(varying, (rows - centre) / scaled_sds, 0.0)
        columns.append(np.column_stack([np.ones(len(rows)), standard, standard_target]))
    means = np.ldexp(np.mean(centres, axis=0), exponents)
    sds = np.where(variance > 0, np.ldexp(scaled_sds, exponents), 1.0)
    return columns, means, sds


def _covariances(sums: Sequence[Floats]) -> Floats:
    """float64[R, m, m] the mean over parts of the covariances, from float64[R, 1 + m, 1 + m] sums of products of each.

    The first column is the ones: its products are the number of segments, and the sums of the columns. R: problems
    that are solved at once. Parts without a segment are left out.
    """
    total = np.zeros_like(sums[0][:, 1:, 1:])
    n_parts = np.zeros(len(sums[0]))
    for products in sums:
        n_segments = products[:, 0, 0]
        known = n_segments > 0
        share = np.divide(1.0, n_segments, out=np.zeros_like(n_segments), where=known)
        means = products[:, 0, 1:] * share[:, None]
        mean_products = products[:, 1:, 1:] * share[:, None, None]
        total += mean_products - means[:, :, None] * means[:, None, :]
        n_parts += known
    return np.asarray(total / np.maximum(n_parts, 1.0)[:, None, None])


def _chosen_penalty(spec: Learned, columns: Sequence[Floats], fold_of: Sequence[Ints], folds: int) -> float:
    """The penalty with the lowest squared error on left-out folds; infinity (the base alone) if none beats that.

    columns: of each part, as `_standard` makes them. fold_of: the fold of each segment of each part.
    """
    if folds < 2:
        return np.inf
    sums = []
    for rows, fold_of_row in zip(columns, fold_of, strict=True):
        rows_of_folds = [rows[fold_of_row == fold] for fold in range(folds)]
        sums.append(np.array([fold_rows.T @ fold_rows for fold_rows in rows_of_folds]))
    left_out = _covariances(sums)
    # Sums of products add up, so that each fold's training data are those of all others.
    others = 1.0 - np.eye(folds)
    training = _covariances([np.tensordot(others, part_sums, axes=1) for part_sums in sums])
    # By penalty, then by fold: the infinite penalty, the base without a boost, is last.
    penalty_of = np.repeat(spec.penalties, folds)
    training_of = np.tile(training, (len(spec.penalties), 1, 1))
    solved = np.concatenate([_solve_ridge(training_of, penalty_of), _base_alone(training)])
    # With -1 for the human score, w' C w is the variance of the residuals.
    weights = np.column_stack([solved, np.full(len(solved), -1.0)])
    ladder = [*spec.penalties, np.inf]
    left_out_of = np.tile(left_out, (len(ladder), 1, 1))
    products = np.matmul(left_out_of, weights[:, :, None])[:, :, 0]
    residuals = np.einsum("ri,ri->r", products, weights)
    # The residual variance in each fold, summed.
    errors = residuals.reshape(len(ladder), folds).sum(axis=1)
    # argmin takes the first of equal errors: from the end, the larger penalty.
    from_the_end = int(np.argmin(errors[::-1]))
    return ladder[len(ladder) - 1 - from_the_end]


def _base_alone(covariances: Floats) -> Floats:
    """float64[R, 1 + k] weights of R problems: of the base its slope, at least 0, and 0 of the features.

    covariances: float64[R, 2 + k, 2 + k] of the base, the features and, last, the human score.
    """
    variance = covariances[:, 0, 0]
    with_human = covariances[:, 0, -1]
    slopes = np.divide(with_human, variance, out=np.zeros_like(variance), where=variance > 0)
    weights = np.zeros_like(covariances[:, 0, :-1])
    weights[:, 0] = np.maximum(slopes, 0.0)
    return weights


def _solve_ridge(covariances: Floats, penalties: Floats) -> Floats:
    """float64[R, 1 + k] weights of base and features; the base is not penalised, and its weight is at least 0.

    penalties: float64[R], all finite.
    """
    columns = covariances[:, :-1, :-1]
    with_human = covariances[:, :-1, -1]
    k = columns.shape[1]
    weights = np.zeros((len(covariances), k))
    penalised = np.append(0.0, np.ones(k - 1))
    ridge = columns + penalties[:, None, None] * np.diag(penalised)
    # A base that is constant has no weight: its row of the matrix is 0, and cannot be solved.
    with_base = columns[:, 0, 0] > 0
    weights[with_base] = _solve(ridge[with_base], with_human[with_base])
    # A negative weight of the base: solved again without it.
    without = ~with_base | (weights[:, 0] < 0)
    if without.any():
        features_alone = ridge[without, 1:, 1:]
        weights[without, 0] = 0.0
        weights[without, 1:] = _solve(features_alone, with_human[without, 1:])
    return weights


def _solve(matrices: Floats, targets: Floats) -> Floats:
    """float64[R, k] solutions of R systems of k equations."""
    # As R matrices of one column: `solve` would take float64[R, k] for one matrix.
    solutions = np.linalg.solve(matrices, targets[:, :, None])
    return np.asarray(solutions[:, :, 0], dtype=np.float64)
