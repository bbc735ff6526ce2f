"""What an explainer is."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bmx_grid.identity import Component
from bmx_grid.perturbation import Plan


@dataclass(frozen=True)
class Explainer(Component):
    """Turns the scores of perturbed texts into one attribution per word (paper section 2.1).

    The ground truth and the hypothesis of a segment are explained one after the other, each with
    the other side unchanged. An explainer never calls a metric: it plans texts, receives their
    scores, and attributes. `rng` is made from the seed, this explainer's fingerprint, the segment's
    content and the side, so that order, subset and number of workers cannot change a result.
    """

    stochastic: ClassVar[bool] = False  # whether `plan` draws from `rng`, so that the seed is identity

    @property
    def signature(self) -> str:
        """The settings behind an attribution, in one line that travels with every number."""
        values = self.fingerprint()
        return "|".join([values.pop("type").lower(), *(f"{key}:{value}" for key, value in values.items())])

    @abstractmethod
    def plan(self, words: tuple[str, ...], rng: np.random.Generator) -> Plan:
        """The texts to score for one side of n >= 1 words.

        Raises ExplainError when the side cannot be explained (for example, too many words).
        """

    def plan_many(self, sides: Sequence[tuple[str, ...]], rngs: Sequence[np.random.Generator]) -> list[Plan]:
        """The plans of many sides, one generator each; for explainers that plan with a model, in batches."""
        return [self.plan(words, rng) for words, rng in zip(sides, rngs, strict=True)]

    def check(self) -> None:
        """Raise UnavailableError, with the remedy, when this explainer is unavailable. Plans nothing."""

    @abstractmethod
    def attribute(self, plan: Plan, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """float64[n] attributions from the float64[K] scores of the plan's K texts."""

    @abstractmethod
    def count_texts(self, n_words: int) -> int:
        """The largest number of texts that `plan` asks for on a side of `n_words` words, before repeats are removed.

        Raises ExplainError where `plan` would: a sweep finds out before anything is scored.
        """
