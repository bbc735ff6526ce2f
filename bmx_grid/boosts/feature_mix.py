"""One feature of a segment's attributions, without any shift, mixed with the metric by one number."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from bmx_grid.boosts.base import Boost, FittedBoost, Part, gains, restore
from bmx_grid.boosts.power_mean_grid import AtPoint, best_mixture, power_means, side_rows
from bmx_grid.core.errors import ConfigError
from bmx_grid.core.identity import identity
from bmx_grid.core.ragged import Floats, Ragged, defined_rows, take_rows
from bmx_grid.measures.aggregation import weighted_sum
from bmx_grid.measures.correlation import Kind, size_exponent
from bmx_grid.measures.grid import PAPER_W, GridSpec
from bmx_grid.measures.nuisance import fit_term

Feature = Literal["share_negative", "mean", "sum", "spread", "power_mean", "severity"]
FeatureSide = Literal["hypothesis", "ground_truth", "both"]
Mix = Literal["linear", "z", "fixed"]

UNCERTAIN = 1e-9  # share of the largest attribution of a segment that scores of 1e-16 precision leave uncertain
LARGEST_WEIGHT = 10.0  # the largest lambda: the feature decides, and the metric breaks its ties


@dataclass(frozen=True)
class ZMixed(FittedBoost):
    """z(base) + lambda * z(feature), on the scale of the metric: base + lambda * base_sd * (feature - mean) / sd.

    lambdas: of each side, signed; all 0 = no boost. base_sd, mean, sd: of base and feature on the segments it
    was chosen on, so that a single new segment can be scored.
    """

    base_sd: float
    lambdas: tuple[float, ...]
    mean: tuple[float, ...]
    sd: tuple[float, ...]

    @property
    def keeps_base_scores(self) -> bool:
        return not any(self.lambdas)

    def _boost_scores(self, base: Floats, features: Floats) -> Floats:
        standard = (features - np.array(self.mean)) / np.array(self.sd)
        weights = [self.base_sd * weight for weight in self.lambdas]
        return weighted_sum(base, 1.0, standard, weights)

    def constants(self) -> dict[str, Any]:
        return {
            "base_sd": self.base_sd,
            "lambda": list(self.lambdas),
            "mean": list(self.mean),
            "sd": list(self.sd),
        }


@dataclass(frozen=True)
class FeatureMix(Boost):
    """A feature of the attributions, mixed in with one weight per side.

    feature: share_negative, the share of words without a positive attribution; mean; sum; spread, their standard
    deviation; power_mean, with one p, of word scores that are positive unshifted; severity, of error spans: the share
    of `cap` that their summed weights leave, (cap - min(cap, sum)) / cap. side: whose words.
    mix: "z" standardises base and feature, with the weight lambda that least squares gives (the highest Pearson's r
    if one language pair chooses), signed; with both sides one for each, since a useless word of the hypothesis and an
    uncovered word of the reference are different things. At most 10 in all.
    "linear" is the paper's w * base + (1 - w) * feature, the best w; both sides are one row of words. "fixed" is the
    same with the single w of the setting, without a choice. xCOMET's score is that of severity at w = .78 and a cap of
    25 (Guerreiro et al. 2024, TACL 12; Unbabel/COMET, xcomet_metric.py).
    Raises ConfigError for an unknown name, a p without power_mean or the reverse, a cap without severity or not above
    0, several fixed weights, and weights outside [0, 1].
    """

    feature: Feature = identity()
    side: FeatureSide = identity("both")
    mix: Mix = identity("z")
    p: float | None = identity(None)
    w: tuple[float, ...] = identity(PAPER_W)
    cap: float | None = identity(None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.cap is not None) != (self.feature == "severity"):
            raise ConfigError(
                f"feature={self.feature} with cap={self.cap}: cap belongs to feature=severity, which needs it."
            )
        if self.cap is not None and not 0 < self.cap < math.inf:
            raise ConfigError(f"cap must be a number above 0, got {self.cap}.")
        if self.mix == "fixed" and len(self.w) != 1:
            raise ConfigError(f"mix=fixed needs one w, got {len(self.w)}; write w=[0.78], or choose mix=linear.")
        if (self.p is not None) != (self.feature == "power_mean"):
            raise ConfigError(
                f"feature={self.feature} with p={self.p}: p belongs to feature=power_mean, which needs it."
            )
        if self.p is not None and not math.isfinite(self.p):
            raise ConfigError(f"p must be a finite number, got {self.p}.")
        if self.mix == "fixed":
            AtPoint(self.w[0])  # refuses numbers outside [0, 1]
        else:
            # The grid checks and sorts its weights.
            object.__setattr__(self, "w", GridSpec((0.0,), self.w).w)

    def fingerprint(self) -> dict[str, Any]:
        """The z mix has no weights, and only severity has a cap: they are left out of other fingerprints."""
        fingerprint = super().fingerprint()
        if self.mix == "z":
            del fingerprint["w"]
        if self.cap is None:
            del fingerprint["cap"]
        return fingerprint

    @property
    def fixed_fit(self) -> FittedBoost | None:
        if self.mix != "fixed":
            return None
        return AtPoint(self.w[0])

    @property
    def reads_ground_truth(self) -> bool:
        return self.side != "hypothesis"

    def names(self) -> tuple[str, ...]:
        name = self.feature if self.p is None else f"M_{self.p:g}"
        return tuple(f"{name} {side}" for side in self._sides)

    @property
    def _sides(self) -> tuple[str, ...]:
        # The other mixes have one weight, so both sides are one row of words.
        if self.side == "both" and self.mix == "z":
            return ("ground_truth", "hypothesis")
        return (self.side,)

    def features(self, truth: Ragged, hypothesis: Ragged) -> Floats:
        """float64[N, 1], or of two sides [N, 2], a row being NaN if a side is undefined.

        Raises DataError for a power mean of word scores that are not positive.
        """
        columns = []
        for side in self._sides:
            rows = side_rows(side, truth, hypothesis)
            # Only severity has a cap, and only the power mean a p.
            if self.cap is not None:
                columns.append(severity_left(rows, self.cap))
            elif self.p is None:
                columns.append(statistic(self.feature, rows))
            else:
                means = power_means(side, truth, hypothesis, np.array([self.p]))
                columns.append(means[:, 0])
        features = np.column_stack(columns)
        features[np.isnan(features).any(axis=1)] = np.nan
        return features

    def fit(self, kind: Kind, parts: Sequence[Part]) -> FittedBoost:
        if self.fixed_fit is not None:
            return self.fixed_fit
        if self.mix == "linear":
            w, *_ = best_mixture(kind, parts, self.w)
            return AtPoint(w)
        deciding = [part for part in parts if part.decides]
        return _fit_z(kind, deciding, len(self.names()))

    def from_constants(self, constants: Mapping[str, Any]) -> FittedBoost:
        if self.mix != "z":
            return AtPoint(restore(AtPoint, constants, 0).w)
        # A field cannot have the name that recipes use, a word of Python.
        fields = {"lambdas" if key == "lambda" else key: value for key, value in constants.items()}
        return restore(ZMixed, fields, len(self.names()))


def _fit_z(kind: Kind, parts: Sequence[Part], k: int) -> ZMixed:
    zeros = (0.0,) * k
    alone = ZMixed(base_sd=1.0, lambdas=zeros, mean=zeros, sd=(1.0,) * k)
    if not parts:
        return alone
    base_sd = pooled_sd([part.base for part in parts])
    sds = column_sds([part.features for part in parts])
    if not (base_sd > 0 and (sds > 0).any()):
        return alone
    terms = [(part.base, part.features, part.human) for part in parts]
    own, weights = fit_term(kind, terms)
    weights = weights * sds
    own = own * base_sd
    # over one power of two: they are on the scale of the base
    exponent = size_exponent(np.append(weights, own))
    weights = np.ldexp(weights, -exponent)
    own = float(np.ldexp(own, -exponent))
    size = float(np.sqrt(weights @ weights))
    if size == 0:
        return alone
    held_back = not size < LARGEST_WEIGHT * own
    lambdas = weights * (LARGEST_WEIGHT / size) if held_back else weights / own
    means = np.mean([part.features.mean(axis=0) for part in parts], axis=0)
    divisors = np.where(sds > 0, sds, 1.0)
    mixed = ZMixed(
        base_sd,
        lambdas=tuple(lambdas.tolist()),
        mean=tuple(means.tolist()),
        sd=tuple(divisors.tolist()),
    )
    # fit_term has found a gain already, unless the feature had to be held back.
    if held_back and not gains(kind, parts, mixed):
        return alone
    return mixed


def pooled_sd(columns: Sequence[Floats]) -> float:
    """The standard deviation within parts, which count the same; exactly 0 where every part is constant."""
    # By the range, as rounding can leave a constant column a variance above 0.
    together = np.concatenate(columns)
    # over one power of two, so that squares of tiny scores are not 0
    exponent = size_exponent(together)
    variances = []
    for column in columns:
        variance = 0.0 if np.ptp(column) == 0 else np.ldexp(column, -exponent).var()
        variances.append(variance)
    return float(np.ldexp(np.sqrt(np.mean(variances)), exponent))


def column_sds(tables: Sequence[Floats]) -> Floats:
    """float64[k] `pooled_sd` of each column of float64[n, k] tables, one per part."""
    sds = np.empty(tables[0].shape[1])
    for column in range(len(sds)):
        sds[column] = pooled_sd([table[:, column] for table in tables])
    return sds


def share_negative(rows: Ragged) -> Floats:
    """float64[N] share of the words without a positive attribution: those that the metric finds useless or harmful.

    Zeros count: n-gram metrics attribute exactly 0 to a word that matches nothing. An attribution within 1e-9 of the
    largest of its segment is 0, since whether rounding leaves it below or above is chance.
    """
    largest = _reduce_rows(np.maximum, Ragged(np.abs(rows.values), rows.offsets))
    is_low = rows.values <= np.repeat(UNCERTAIN * largest, rows.lengths)
    return row_mean(Ragged(is_low.astype(np.float64), rows.offsets))


def row_mean(rows: Ragged) -> Floats:
    """float64[N] arithmetic mean; no row is empty."""
    return _reduce_rows(np.add, rows) / rows.lengths


def spread(rows: Ragged) -> Floats:
    """float64[N] standard deviation, of all words of the segment (divided by their number); exactly 0 for one word."""
    left = rows.values - np.repeat(row_mean(rows), rows.lengths)
    # each row over a power of two, so that squares of tiny attributions are not 0
    _, exponents = np.frexp(_reduce_rows(np.maximum, Ragged(np.abs(left), rows.offsets)))
    squares = np.ldexp(left, -np.repeat(exponents, rows.lengths)) ** 2
    deviations = np.sqrt(row_mean(Ragged(squares, rows.offsets)))
    return np.asarray(np.ldexp(deviations, exponents))


def severity_left(rows: Ragged, cap: float) -> Floats:
    """float64[N] of minus the weights of error spans: (cap - min(cap, their sum)) / cap, 1 without an error.

    NaN for a row without words, or with an undefined one. Of other attributions it is their sum, capped below.
    """
    severity = np.minimum(cap, -statistic("sum", rows))
    return np.asarray((cap - severity) / cap)


def _reduce_rows(reduce: np.ufunc, rows: Ragged) -> Floats:
    """One value per row; no row is empty."""
    # reduceat takes no empty array.
    if not len(rows):
        return np.empty(0)
    return np.asarray(reduce.reduceat(rows.values, rows.offsets[:-1]), dtype=np.float64)


# Of rows that have words, with finite attributions only; `statistic` is NaN for the others.
FEATURES: dict[str, Callable[[Ragged], Floats]] = {
    "share_negative": share_negative,
    "mean": row_mean,
    "sum": partial(_reduce_rows, np.add),
    "spread": spread,
    "min": partial(_reduce_rows, np.minimum),
    "max": partial(_reduce_rows, np.maximum),
}


def statistic(name: str, rows: Ragged) -> Floats:
    """float64[N] of each row; NaN for a row without words, or with an attribution that is not finite.

    Its words are taken in ascending order, so that their order in the text changes nothing, not even rounding.
    """
    values = np.full(len(rows), np.nan)
    usable = defined_rows(rows)
    ascending = _ascending(take_rows(rows, usable))
    values[usable] = FEATURES[name](ascending)
    return values


def _ascending(rows: Ragged) -> Ragged:
    owner = np.repeat(np.arange(len(rows)), rows.lengths)
    # The last key of lexsort counts first: rows keep their places.
    order = np.lexsort((rows.values, owner))
    return Ragged(rows.values[order], rows.offsets)
