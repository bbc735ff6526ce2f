"""Scores that are linear in the base and the features, with the mean and the spread of the base they were chosen on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bmx_grid.boosts.base import Fitted, Floats, read_constants
from bmx_grid.errors import ConfigError
from bmx_grid.measures.aggregation import weighted_sum

NUMBERS = ("own", "base_mean")
LISTS = ("weights", "means", "sds")


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

    def scores(self, base: Floats, features: Floats) -> Floats:
        if self.abstains:
            return base.copy()
        standard = (features - np.array(self.means)) / np.array(self.sds)
        return weighted_sum(base, self.own, standard, self.weights) + (1 - self.own) * self.base_mean

    def constants(self) -> dict[str, Any]:
        numbers = {"own": self.own, "base_mean": self.base_mean}
        return {"features": list(self.features), **numbers, **{key: list(getattr(self, key)) for key in LISTS}}


def read_linear(constants: Mapping[str, Any], features: Sequence[str]) -> Linear:
    """The inverse of `Linear.constants`. Raises ConfigError for constants of other features, or with an sd of 0."""
    given = dict(constants) if isinstance(constants, Mapping) else {}
    named = given.pop("features", None)
    if named != list(features):
        raise ConfigError(f"constants.features: expected {list(features)}, in this order; got {named!r}.")
    found = read_constants(given, NUMBERS, dict.fromkeys(LISTS, len(features)))
    if any(sd <= 0 for sd in found["sds"]):
        raise ConfigError(f"constants.sds: standard deviations are above 0, got {list(found['sds'])}.")
    return Linear(tuple(features), **found)
