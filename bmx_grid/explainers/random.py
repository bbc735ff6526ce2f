"""Random attributions: a baseline every explanation should beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bmx_grid.core.ragged import Floats
from bmx_grid.explainers.base import Explainer
from bmx_grid.words.perturbation import Plan


@dataclass(frozen=True)
class Random(Explainer):
    """One uniform draw from [0, 1) per word; needs no scores."""

    stochastic: ClassVar[bool] = True

    def plan(self, words: tuple[str, ...], rng: np.random.Generator) -> Plan:
        """No texts; the n draws are kept in the design."""
        n = len(words)
        no_masks = np.empty((0, n), dtype=np.bool_)
        return Plan(words, keep=no_masks, design=rng.random(n))

    def attribute(self, plan: Plan, scores: Floats) -> Floats:
        """float64[n] draws in [0, 1)."""
        return np.array(plan.design, dtype=np.float64)

    def count_texts(self, n_words: int) -> int:
        """None at any length."""
        return 0
