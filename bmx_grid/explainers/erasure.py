"""Erasure: how much the score falls when a word is removed (paper, section 3.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from bmx_grid.core.identity import identity
from bmx_grid.core.ragged import Floats
from bmx_grid.explainers.base import Explainer
from bmx_grid.words.perturbation import Plan


@dataclass(frozen=True)
class Erasure(Explainer):
    """Attribution of word i = score of the unchanged side - score of the side without word i.

    gap: "double_space" deletes the word and leaves both its spaces, as the paper's code does;
        "single_space" removes one space with it.
    """

    gap: Literal["double_space", "single_space"] = identity("double_space")

    def plan(self, words: tuple[str, ...], rng: np.random.Generator) -> Plan:
        """n + 1 texts: the unchanged side, then the side without one word, for all n words in turn."""
        n = len(words)
        keep = np.ones((n + 1, n), dtype=np.bool_)
        np.fill_diagonal(keep[1:], False)
        # the empty text in place of a word leaves both spaces around it
        replacement = "" if self.gap == "double_space" else None
        return Plan(words, keep=keep, replacement=replacement)

    def attribute(self, plan: Plan, scores: Floats) -> Floats:
        """float64[n] falls of the score, from the float64[n + 1] scores of the plan."""
        return np.asarray(scores[0] - scores[1:], dtype=np.float64)

    def count_texts(self, n_words: int) -> int:
        """The side itself and one text per word."""
        return n_words + 1
