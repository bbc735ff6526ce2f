"""One feature of a segment's attributions, without any shift, mixed with the metric by one number."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from bmx_grid.boosts.base import Boost, Fitted, Part, gains, restore
from bmx_grid.boosts.power_mean_grid import AtPoint, best_mixture, power_means, side_rows
from bmx_grid.core.errors import ConfigError
from bmx_grid.core.identity import identity
from bmx_grid.core.ragged import Floats, Ragged, defined_rows, take_rows
from bmx_grid.measures.aggregation import weighted_sum
from bmx_grid.measures.correlation import Kind
from bmx_grid.measures.grid import PAPER_W, GridSpec
from bmx_grid.measures.nuisance import fit_term

Feature = Literal["share_negative", "mean", "sum", "spread", "power_mean", "severity"]
FeatureSide = Literal["hypothesis", "ground_truth", "both"]
Mix = Literal["linear", "z", "fixed"]

UNCERTAIN = 1e-9  # share of the largest attribution of a segment that scores of 1e-16 precision leave uncertain
LARGEST_WEIGHT = 10.0  # the largest lambda: the feature decides, and the metric breaks its ties


@dataclass(frozen=True)
class ZMixed(Fitted):
    """z(base) + lambda * z(feature), on the scale of the metric: base + lambda * base_sd * (feature - mean) / sd.

    lambdas: of each side, signed; all 0 = no boost. base_sd, mean, sd: of base and feature on the segments it
    was chosen on, so that a single new segment can be scored.
    """

    base_sd: float
    lambdas: tuple[float, ...]
    mean: tuple[float, ...]
    sd: tuple[float, ...]

    @property
    def abstains(self) -> bool:
        return not any(self.lambdas)

    def _boosted(self, base: Floats, features: Floats) -> Floats:
        standard = (features - np.array(self.mean)) / np.array(self.sd)
        return weighted_sum(base, 1.0, standard, [self.base_sd * weight for weight in self.lambdas])

    def constants(self) -> dict[str, Any]:
        lists = {"lambda": list(self.lambdas), "mean": list(self.mean), "sd": list(self.sd)}
        return {"base_sd": self.base_sd, **lists}


@dataclass(frozen=True)
class FeatureMix(Boost):
    """A feature of the attributions, mixed in with one weight per side.

    feature: share_negative, the share of words without a positive attribution; mean; sum; spread, their standard
    deviation; power_mean, with one p, of word scores that are positive as they are; severity, of error spans: the share
    of `cap` that their summed weights leave, (cap - min(cap, sum)) / cap. side: whose words.
    mix: "z" standardises base and feature, with the weight lambda that least squares gives (the highest Pearson's r
    where one language pair chooses), signed; with both sides one for each, since a word of the hypothesis that helps
    nothing and a word of the reference that is not covered are different things. At most 10 in all.
    "linear" is the paper's w * base + (1 - w) * feature, the best w; both sides are one row of words. "fixed" is the
    same with the one w that is given: nothing is chosen. xCOMET's score is that of severity at w = .78 and a cap of 25
    (Guerreiro et al. 2024, TACL 12; Unbabel/COMET, xcomet_metric.py).
    Raises ConfigError for an unknown name, a p without power_mean or the reverse, a cap without severity or not above
    0, weights outside [0, 1], and several fixed ones.
    """

    feature: Feature = identity()
    side: FeatureSide = identity("both")
    mix: Mix = identity("z")
    p: float | None = identity(None)
    w: tuple[float, ...] = identity(PAPER_W)
    cap: float | None = identity(None)

    def __post_init__(self) -> None:
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
        object.__setattr__(self, "w", self.w if self.mix == "fixed" else GridSpec((0.0,), self.w).w)

    def fingerprint(self) -> dict[str, Any]:
        """The weights of the linear mix are none of the z mix, and the cap is one of severity only."""
        unused = ["w"] if self.mix == "z" else []
        unused += ["cap"] if self.cap is None else []
        return {key: value for key, value in super().fingerprint().items() if key not in unused}

    @property
    def fixed(self) -> Fitted | None:
        return AtPoint(self.w[0]) if self.mix == "fixed" else None

    @property
    def reads_ground_truth(self) -> bool:
        return self.side != "hypothesis"

    def names(self) -> tuple[str, ...]:
        name = self.feature if self.p is None else f"M_{self.p:g}"
        return tuple(f"{name} {side}" for side in self._sides)

    @property
    def _sides(self) -> tuple[str, ...]:
        return ("ground_truth", "hypothesis") if self.side == "both" and self.mix == "z" else (self.side,)

    def features(self, truth: Ragged, hypothesis: Ragged) -> Floats:
        """float64[N, 1], or of two sides [N, 2], a row being NaN where one of them is undefined.

        Raises DataError for a power mean of word scores that are not positive.
        """
        columns = []
        for side in self._sides:
            if self.cap is not None:
                columns.append(severity_left(side_rows(side, truth, hypothesis), self.cap))
            elif self.p is None:
                columns.append(statistic(self.feature, side_rows(side, truth, hypothesis)))
            else:
                columns.append(power_means(side, truth, hypothesis, np.array([self.p]))[:, 0])
        features = np.column_stack(columns)
        features[np.isnan(features).any(axis=1)] = np.nan
        return features

    def fit(self, kind: Kind, parts: Sequence[Part]) -> Fitted:
        if self.fixed is not None:
            return self.fixed
        if self.mix == "linear":
            return AtPoint(best_mixture(kind, parts, self.w)[0])
        return _fit_z(kind, [part for part in parts if part.decides], len(self.names()))

    def restored(self, constants: Mapping[str, Any]) -> Fitted:
        if self.mix != "z":
            return AtPoint(restore(AtPoint, constants, 0).w)
        named = {"lambdas" if key == "lambda" else key: value for key, value in constants.items()}
        return restore(ZMixed, named, len(self.names()))


def _fit_z(kind: Kind, parts: Sequence[Part], k: int) -> ZMixed:
    alone = ZMixed(1.0, (0.0,) * k, (0.0,) * k, (1.0,) * k)
    if not parts:
        return alone
    base_sd = within_sd([part.base for part in parts])
    sds = np.empty(k)
    for column in range(k):
        sds[column] = within_sd([part.features[:, column] for part in parts])
    if not (base_sd > 0 and (sds > 0).any()):
        return alone
    own, weights = fit_term(kind, [(part.base, part.features, part.human) for part in parts])
    weights = weights * sds
    own = own * base_sd
    size = float(np.sqrt(weights @ weights))
    if size == 0:
        return alone
    ratios = weights / own if size < LARGEST_WEIGHT * own else weights * (LARGEST_WEIGHT / size)
    means = np.mean([part.features.mean(axis=0) for part in parts], axis=0)
    mixed = ZMixed(base_sd, tuple(ratios.tolist()), tuple(means.tolist()), tuple(np.where(sds > 0, sds, 1.0).tolist()))
    # fit_term has found a gain already, unless the feature had to be held back
    return mixed if size < LARGEST_WEIGHT * own or gains(kind, parts, mixed) else alone


def within_sd(columns: Sequence[Floats]) -> float:
    """The standard deviation within parts, which count the same; exactly 0 where every part is constant."""
    return float(np.sqrt(np.mean([0.0 if np.ptp(column) == 0 else column.var() for column in columns])))


def share_negative(rows: Ragged) -> Floats:
    """float64[N] share of the words without a positive attribution: those that the metric finds useless or harmful.

    Zeros count: n-gram metrics attribute exactly 0 to a word that matches nothing. An attribution within 1e-9 of the
    largest of its segment is 0, since whether rounding leaves it below or above is chance.
    """
    largest = _over_rows(np.maximum, Ragged(np.abs(rows.values), rows.offsets))
    low = rows.values <= np.repeat(UNCERTAIN * largest, rows.lengths)
    return _over_rows(np.add, Ragged(low.astype(np.float64), rows.offsets)) / rows.lengths


def row_mean(rows: Ragged) -> Floats:
    """float64[N] arithmetic mean."""
    return _over_rows(np.add, rows) / rows.lengths


def spread(rows: Ragged) -> Floats:
    """float64[N] standard deviation, of all words of the segment (divided by their number); exactly 0 for one word."""
    squares = (rows.values - np.repeat(row_mean(rows), rows.lengths)) ** 2
    return np.sqrt(row_mean(Ragged(squares, rows.offsets)))


def severity_left(rows: Ragged, cap: float) -> Floats:
    """float64[N] of minus the weights of error spans: (cap - min(cap, their sum)) / cap, 1 without an error.

    NaN for a row without words, or with an undefined one. Of other attributions it is their sum, capped below.
    """
    return np.asarray((cap - np.minimum(cap, -statistic("sum", rows))) / cap)


def _over_rows(reduce: np.ufunc, rows: Ragged) -> Floats:
    """One value per row; no row is empty."""
    return np.asarray(reduce.reduceat(rows.values, rows.offsets[:-1]) if len(rows) else [], dtype=np.float64)


FEATURES: dict[str, Callable[[Ragged], Floats]] = {
    "share_negative": share_negative,
    "mean": row_mean,
    "sum": partial(_over_rows, np.add),
    "spread": spread,
    "min": partial(_over_rows, np.minimum),
    "max": partial(_over_rows, np.maximum),
}


def statistic(name: str, rows: Ragged) -> Floats:
    """float64[N] of each row; NaN for a row without words, or with an attribution that is not finite.

    Its words are taken in ascending order, so that their order in the text changes nothing, not even rounding.
    """
    values = np.full(len(rows), np.nan)
    usable = defined_rows(rows)
    values[usable] = FEATURES[name](_ascending(take_rows(rows, usable)))
    return values


def _ascending(rows: Ragged) -> Ragged:
    owner = np.repeat(np.arange(len(rows)), rows.lengths)
    # The last key of lexsort counts first: rows stay where they are.
    return Ragged(rows.values[np.lexsort((rows.values, owner))], rows.offsets)
