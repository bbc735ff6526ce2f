"""Placebos: what the number of words, and the metric's own score, give without any explanation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bmx_grid.boosts.base import Candidate, Fitted, Floats, Part
from bmx_grid.boosts.learned import Linear, read_linear
from bmx_grid.errors import ConfigError
from bmx_grid.measures.correlation import Kind
from bmx_grid.measures.nuisance import CurveTerms
from bmx_grid.measures.placebos import Selected, WithTerm, fit_term
from bmx_grid.measures.resampling import codes, number_of


@dataclass(frozen=True)
class _OfWords(Candidate):
    """A candidate whose features are the log words of some texts."""

    roles: tuple[str, ...]

    def names(self) -> tuple[str, ...]:
        return tuple(f"log_words {role}" for role in self.roles)


@dataclass(frozen=True)
class Length(_OfWords):
    """A linear term in log words, fitted by `measures.placebos.fit_term`."""

    def fit(self, kind: Kind, parts: Sequence[Part]) -> Linear:
        if not parts:
            return Linear.alone(self.names())
        found = fit_term(kind, [Selected(part.base, part.features, part.human) for part in parts])
        weights, k = tuple(map(float, found.weights)), len(self.roles)
        return Linear(self.names(), float(found.own), 0.0, weights, (0.0,) * k, (1.0,) * k)

    def restored(self, constants: Mapping[str, Any]) -> Linear:
        return read_linear(constants, self.names())


@dataclass(frozen=True, eq=False)
class OnCurve(Fitted):
    """Scores on a smooth curve of base score and log words; the curve is None for no boost."""

    curve: CurveTerms | None
    weights: WithTerm

    @property
    def abstains(self) -> bool:
        return self.curve is None

    def scores(self, base: Floats, features: Floats) -> Floats:
        if self.curve is None:
            return base.copy()
        return self.weights.scores(base, self.curve.columns(base, features)[:, 1:])

    def constants(self) -> dict[str, Any]:
        return {"own": self.weights.own, "weights": self.weights.weights.tolist()}


@dataclass(frozen=True)
class Curve(_OfWords):
    """A smooth curve of the metric's own score and of log words (`measures.nuisance`), fitted by `fit_term`."""

    def fit(self, kind: Kind, parts: Sequence[Part]) -> OnCurve:
        alone = OnCurve(None, WithTerm(1.0, np.empty(0)))
        if not parts:
            return alone
        base, words, clusters = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("base", "features", "clusters")
        )
        curve = CurveTerms.of(base, words, number_of(codes(clusters)))
        terms = [Selected(part.base, curve.columns(part.base, part.features)[:, 1:], part.human) for part in parts]
        found = fit_term(kind, terms)
        return OnCurve(curve, found) if found.weights.any() else alone

    def restored(self, constants: Mapping[str, Any]) -> OnCurve:
        raise ConfigError("the curve is a placebo, of which there are no recipes.")
