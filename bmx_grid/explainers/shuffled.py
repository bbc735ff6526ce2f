"""The randomised-model check: attributions of the same metric with shuffled weights (Adebayo and others 2018)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bmx_grid.core.errors import ConfigError
from bmx_grid.core.identity import identity
from bmx_grid.core.ragged import Floats
from bmx_grid.explainers.base import Explainer
from bmx_grid.words.perturbation import Plan


@dataclass(frozen=True, kw_only=True)
class ShuffledModel(Explainer):
    """What another explainer attributes of a metric whose model has lost all that it learnt: a placebo.

    The metric's own scores stay as they are. A boost that gains as much by these attributions has not gained by an
    explanation of the metric. In a sweep it is an explainer among others, with verdicts of its own.

    explainer: the other one. seed: of the permutation of the weights.
    """

    explainer: Explainer = identity()
    seed: int = identity(0, least=0, most=2**63 - 1)

    def __post_init__(self) -> None:
        super().__post_init__()
        reads_texts = type(self.explainer).explain is not Explainer.explain
        if self.explainer.is_imported or reads_texts:
            name = type(self.explainer).__name__
            raise ConfigError(f"explainer: {name} does not call the metric; choose another, such as erasure or lime.")

    @property
    def stochastic(self) -> bool:  # type: ignore[override]  # of the other explainer, not of the class
        return self.explainer.stochastic

    @property
    def writes_texts(self) -> bool:  # type: ignore[override]
        return self.explainer.writes_texts

    def check(self) -> None:
        self.explainer.check()

    def pretrained_models(self) -> tuple[tuple[str, str | None], ...]:
        return self.explainer.pretrained_models()

    @property
    def weight_shuffle_seed(self) -> int | None:
        return self.seed

    def plan(self, words: tuple[str, ...], rng: np.random.Generator) -> Plan:
        return self.explainer.plan(words, rng)

    def attribute(self, plan: Plan, scores: Floats) -> Floats:
        return self.explainer.attribute(plan, scores)

    def count_texts(self, n_words: int) -> int:
        return self.explainer.count_texts(n_words)
