"""Boosts: features of a segment's attributions, and constants chosen on rated segments that mix them in.

Everything that depends on texts or attributions is in `features`, computed once per setting. `fit` sees rows of it, so
that hundreds of selections (folds, other language pairs, reassigned attributions) cost arithmetic only.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np

from bmx_grid.core.configure import convert
from bmx_grid.core.errors import ConfigError, quote_value
from bmx_grid.core.identity import Component
from bmx_grid.core.ragged import Flags, Floats, Ints, Ragged
from bmx_grid.core.renamed import AcceptsOldNames, old_names
from bmx_grid.measures.correlation import FEWEST, Kind, beats, correlate
from bmx_grid.measures.means import join_means, take_means

Features = Any  # float64[n, k] for any boost; for a power-mean grid of many segments `measures.means.MeansInParts`


@dataclass(frozen=True, eq=False)
class Part:
    """Segments of one language pair for choosing a boost; all numbers finite.

    base: float64[n] the scores that the boost is added to; features: float64[n, k]; human: float64[n]; clusters:
    int64[n] codes, the same for a cluster in every part.
    """

    base: Floats
    features: Features
    human: Floats
    clusters: Ints

    @property
    def decides(self) -> bool:
        """Whether a correlation with the human scores can be defined; other parts are ignored."""
        return len(self.human) >= FEWEST and bool(np.ptp(self.human) > 0)

    def taken(self, rows: Flags) -> Part:
        """The segments where bool[n] rows is true."""
        # Features are large: no copy if all are taken.
        features = self.features if rows.all() else take_means(self.features, rows)
        return Part(self.base[rows], features, self.human[rows], self.clusters[rows])


class FittedBoost(AcceptsOldNames, ABC):
    """A chosen boost: a frozen dataclass of plain numbers."""

    RENAMED: ClassVar[Mapping[str, str]] = {"abstains": "keeps_base_scores", "_boosted": "_boost_scores"}

    @property
    @abstractmethod
    def keeps_base_scores(self) -> bool:
        """Whether "do not boost" was chosen: `scores` are then the base scores, bit for bit, whatever the features."""

    def scores(self, base: Floats, features: Features) -> Floats:
        """float64[N] from float64[N] base scores and float64[N, k] features; NaN if a used feature is NaN.

        Each score depends on its own base score and features only: it is the same, bit for bit, in any batch.
        """
        if self.keeps_base_scores:
            return base.copy()
        return self._boost_scores(base, features)

    def _boost_scores(self, base: Floats, features: Floats) -> Floats:
        """The scores with a boost."""
        raise NotImplementedError

    @abstractmethod
    def constants(self) -> dict[str, Any]:
        """The numbers for a recipe: JSON numbers, null, and lists of numbers or names."""


Constants = TypeVar("Constants", bound=FittedBoost)
__getattr__ = old_names(__name__, {"Fitted": "FittedBoost"})


# The best choice on some parts, which count the same however many segments they have; deterministic. "No boost" is one
# choice: without a gain in the mean correlation of the parts the result abstains.
Fit = Callable[[Kind, Sequence[Part]], FittedBoost]


@dataclass(frozen=True)
class Boost(Component, ABC):
    """An option of the group `boost`: features that are made of attributions, and how they are mixed in."""

    RENAMED: ClassVar[Mapping[str, str]] = {
        "fixed": "fixed_fit",
        "restored": "from_constants",
        "of_attributions": "attribution_mask",
    }

    @abstractmethod
    def fit(self, kind: Kind, parts: Sequence[Part]) -> FittedBoost:
        """The best choice on these parts, as every `Fit`."""

    @property
    def fixed_fit(self) -> FittedBoost | None:
        """The constants of a boost without a choice; None, the default, if `fit` chooses."""
        return None

    @property
    def reads_ground_truth(self) -> bool:
        """Whether its features need attributions of words outside the hypothesis."""
        return True

    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of the k features."""

    @abstractmethod
    def from_constants(self, constants: Mapping[str, Any]) -> FittedBoost:
        """The inverse of `Fitted.constants`, bit for bit. Raises ConfigError for constants that are not of this."""

    @abstractmethod
    def features(self, truth: Ragged, hypothesis: Ragged) -> Features:
        """float64[N, k] features of N segments, from their attributions of ground truth and hypothesis.

        Rows are NaN if undefined: a needed side has no word, or an attribution is not finite.
        Raises DataError if the boost cannot be computed from such attributions at all.
        """

    def apply(
        self,
        base: Floats,
        truth: Ragged,
        hypothesis: Ragged,
        fitted: FittedBoost | None = None,
        *,
        together: bool = False,
    ) -> Floats:
        """float64[N] boosted scores of N segments, from their base scores and attributions.

        fitted: the chosen constants; None for a boost without a choice. together: features that differ by
        their rounding are equal, as in a grid; else each score depends on its own segment only.
        NaN if a used feature is NaN. Raises DataError as `features`.
        """
        chosen = self.fixed_fit if fitted is None else fitted
        assert chosen is not None, "a boost that makes a choice needs its constants"
        if chosen.keeps_base_scores:
            return base.copy()
        features = self.features(truth, hypothesis)
        if together:
            features = join_means(features)
        return chosen.scores(base, features)

    def attribution_mask(self) -> tuple[bool, ...]:
        """Which of the k features are made of attributions; the others are a segment's own, whoever attributes."""
        return (True,) * len(self.names())


def mean_gain(kind: Kind, parts: Sequence[Part], fitted: FittedBoost) -> float:
    """The mean gain in correlation over the base, of the parts that decide (`Part.decides`).

    NaN if none decides, or if a gain is undefined.
    """
    part_gains = []
    for part in parts:
        if part.decides:
            boosted = fitted.scores(part.base, part.features)
            with_boost = correlate(kind, boosted, part.human)
            without = correlate(kind, part.base, part.human)
            part_gains.append(with_boost - without)
    return float(np.mean(part_gains)) if part_gains else math.nan


def gains(kind: Kind, parts: Sequence[Part], fitted: FittedBoost) -> bool:
    """Whether a fitted boost gains by more than rounding on the parts it was chosen on."""
    gain = np.array([mean_gain(kind, parts, fitted)])
    return bool(beats(gain)[0])


def restore(kind: type[Constants], constants: Any, count: int) -> Constants:
    """The chosen boost that has these constants, with `count` values in its lists.

    Raises ConfigError naming the key, the value and what is expected.
    """
    fitted: Constants = convert(constants, kind, "constants")
    for key, value in vars(fitted).items():
        values = [value]
        if isinstance(value, tuple):
            values = list(value)
            if len(values) != count:
                raise ConfigError(f"constants.{key}: expected a list of {count}, got {quote_value(values, 60)}.")
        # Lists may hold names.
        numbers = [number for number in values if isinstance(number, float)]
        is_power = key == "p"  # the minimum and the maximum are power means, too
        if not all(map(math.isfinite, numbers)) and not (is_power and not any(map(math.isnan, numbers))):
            raise ConfigError(f"constants.{key}: expected finite numbers, got {quote_value(value, 60)}.")
        if key.endswith(("sd", "sds")) and min(numbers) <= 0:
            raise ConfigError(f"constants.{key}: standard deviations are above 0, got {quote_value(value, 60)}.")
    return fitted
