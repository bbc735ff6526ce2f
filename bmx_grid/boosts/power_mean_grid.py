"""The paper's boost: w * base + (1 - w) * M_p, the best (w, p) of a grid."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from bmx_grid.boosts.base import Boost, FittedBoost, Part, restore
from bmx_grid.core.errors import ConfigError, DataError
from bmx_grid.core.identity import identity
from bmx_grid.core.ragged import Floats, Ragged, concatenate_rows, defined_rows, take_rows
from bmx_grid.measures.aggregation import Aggregation, PowerMean
from bmx_grid.measures.correlation import Kind, correlate, point_that_gains
from bmx_grid.measures.grid import (
    PAPER_P,
    PAPER_W,
    GridSpec,
    PowerRange,
    UsedWords,
    means_of,
    powers_of,
)
from bmx_grid.measures.means import Means, correlate_means, means_in_their_rows

Shift = Literal["paper", "none"]
SIDE_IN_WORDS = {"hypothesis": "hypothesis", "ground_truth": "ground truth", "both": "two sides"}


@dataclass(frozen=True)
class AtPoint(FittedBoost):
    """w * base + (1 - w) * feature; w = 1, with p NaN, is no boost.

    p: of the power mean that the feature is; None for one without p. column: the place of the feature among others.
    """

    w: float
    p: float | None = None
    column: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.w <= 1:
            raise ConfigError(f"w: {self.w:g} is outside [0, 1]; w is the share of the base score.")

    @property
    def keeps_base_scores(self) -> bool:
        return self.w == 1

    def _boost_scores(self, base: Floats, features: Floats) -> Floats:
        return np.asarray(self.w * base + (1 - self.w) * features[:, self.column])

    def constants(self) -> dict[str, Any]:
        return {"w": self.w} if self.p is None else {"w": self.w, "p": None if self.keeps_base_scores else self.p}


@dataclass(frozen=True)
class PowerMeanGrid(Boost):
    """The point (w, p) with the highest mean gain, of all p and w; of equal ones the first, p ascending, w fastest.

    p: the powers, a range or a list; w: the weights of the metric; side: whose words are aggregated; aggregation:
    the mean.
    shift: "paper" makes the attributions of a segment positive as section 3.4 of the paper does; "none" takes word
    scores as they are, which have to be positive (token probabilities).
    The features are the means M_p for every p, bit for bit those of the evaluation `grid`.
    Raises ConfigError for an empty or too large grid, and for an aggregation other than the power mean without shift.
    """

    p: tuple[float, ...] | PowerRange = identity(PAPER_P)
    w: tuple[float, ...] = identity(PAPER_W)
    side: UsedWords = identity("both")
    shift: Shift = identity("paper")
    aggregation: Aggregation = identity(PowerMean())

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shift == "none" and type(self.aggregation) is not PowerMean:
            raise ConfigError("shift=none requires the power mean. Set shift=paper, or choose that aggregation.")
        object.__setattr__(self, "w", self.spec.w)

    @cached_property
    def spec(self) -> GridSpec:
        """The grid as numbers."""
        return GridSpec(powers_of(self.p), self.w, self.side, self.aggregation)

    def __getstate__(self) -> dict[str, Any]:
        """Without the numbers of the grid, which are larger than their inputs."""
        return {key: value for key, value in self.__dict__.items() if key != "spec"}

    def fingerprint(self) -> dict[str, Any]:
        """p as numbers, so that a grid has one identity however it is written."""
        return {**super().fingerprint(), "p": list(map(repr, self.spec.p))}

    @property
    def reads_ground_truth(self) -> bool:
        return self.side != "hypothesis"

    def names(self) -> tuple[str, ...]:
        return tuple(f"M_{p:g}" for p in self.spec.p)

    def features(self, truth: Ragged, hypothesis: Ragged) -> Means:
        """float64[N, P] means, in parts if they are too many to be held.

        Raises DataError for attributions too large to be shifted, or not positive unshifted.
        """
        if self.shift == "none":
            return power_means(self.side, truth, hypothesis, np.array(self.spec.p))
        return means_of(self.spec, truth, hypothesis)

    def fit(self, kind: Kind, parts: Sequence[Part]) -> AtPoint:
        w, column = best_mixture(kind, parts, self.w)
        return AtPoint(w, self.spec.p[column] if column >= 0 else math.nan, column)

    def from_constants(self, constants: Mapping[str, Any]) -> AtPoint:
        """Raises ConfigError for a w outside [0, 1], or a p that is not on the grid."""
        point = restore(AtPoint, constants, 0)
        if point.keeps_base_scores:
            return AtPoint(1.0, math.nan, -1)
        if point.p not in self.spec.p:
            ends = f"{self.spec.p[0]:g} to {self.spec.p[-1]:g}"
            raise ConfigError(
                f"constants.p: {point.p} is not on the grid of this boost, {len(self.spec.p):,} powers from {ends}."
            )
        return AtPoint(point.w, point.p, self.spec.p.index(point.p))


def scores_at(spec: GridSpec, p: float, w: float, base: Floats, truth: Ragged, hypothesis: Ragged) -> Floats:
    """float64[N] scores w * base + (1 - w) * M_p at one point; with w = 1 the base scores, whatever p is.

    NaN if a segment has no word on the aggregated side or an attribution that is not finite.
    Raises ConfigError for a NaN p or a w outside [0, 1].
    """
    if w == 1:
        return base
    boost = PowerMeanGrid((p,), (w,), spec.side, aggregation=spec.aggregation)
    return boost.apply(base, truth, hypothesis, AtPoint(w, p), together=True)


def best_mixture(kind: Kind, parts: Sequence[Part], w: Sequence[float]) -> tuple[float, int]:
    """(w, column) with the highest mean gain of w * base + (1 - w) * feature; (1, -1) if none gains.

    The rule of `correlation.point_that_gains`; parts without a defined correlation are ignored.
    """
    return best_of_surfaces([gain_surface(kind, part, w) for part in parts], w)


def gain_surface(kind: Kind, part: Part, w: Sequence[float]) -> Floats:
    """float64[k, W] gains of w * base + (1 - w) * feature over the base, on the segments of a part."""
    surface = correlate_means(kind, part.features, part.base, part.human, w)
    surface -= correlate(kind, part.base, part.human)
    return surface


def best_of_surfaces(surfaces: Sequence[Floats], w: Sequence[float]) -> tuple[float, int]:
    """(w, column) with the highest mean of the parts' gains; (1, -1) if none gains (`best_mixture`).

    surfaces: of each part float64[k, W] gains, as `gain_surface` makes them.
    """
    defined = [surface for surface in surfaces if np.isfinite(surface).any()]
    if not defined:
        return 1.0, -1
    # The mean over parts, not over segments: a large one weighs no more than a small one.
    place = point_that_gains(np.sum(defined, axis=0) / len(defined), w)
    return (1.0, -1) if place is None else (w[place[1]], place[0])


def power_means(side: str, truth: Ragged, hypothesis: Ragged, p: Floats) -> Means:
    """float64[N, P] power means of positive word scores as they are, without a shift.

    NaN for a row without words, or with a score that is not finite. Raises DataError naming the row and the value that
    is not above 0.
    """
    rows = side_rows(side, truth, hypothesis)
    usable = defined_rows(rows)
    kept = take_rows(rows, usable)
    wrong = kept.values <= 0
    if wrong.any():
        word = int(np.argmax(wrong))
        row = int(np.flatnonzero(usable)[np.searchsorted(kept.offsets, word, side="right") - 1])
        raise DataError(
            f"row {row}: a word score of {kept.values[word]:g} of the {SIDE_IN_WORDS[side]} is not above 0, and a "
            "power mean without shift is defined for positive word scores only, such as token probabilities; for "
            "attributions with a sign choose shift=paper, or another feature."
        )
    return means_in_their_rows(PowerMean(), kept, p, usable)


def side_rows(side: str, truth: Ragged, hypothesis: Ragged) -> Ragged:
    """The words of one side, or those of both in one row."""
    if side == "both":
        return concatenate_rows(truth, hypothesis)
    return hypothesis if side == "hypothesis" else truth
