"""Perturbed texts: what an explainer plans and what the scoring engine renders.

Explainers speak in masks (which words are kept); text is written here and nowhere else. A metric
that can score masks directly reads them from the same objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bmx_grid.text import join_words

Side = Literal["ground_truth", "hypothesis"]


@dataclass(frozen=True, eq=False)
class Plan:
    """The perturbed texts of one side of one segment (K texts, n words).

    words: the n words of the unperturbed side.
    keep: bool[K, n], True where the word stays; None when `texts` holds the texts themselves.
    replacement: what stands for a word that does not stay. "" leaves its two spaces (the paper's
        Erasure), None takes the word and one space away.
    texts: the K texts, for explainers whose perturbations are no masks.
    design: whatever the explainer needs to turn scores into attributions; nobody else reads it.
    """

    words: tuple[str, ...]
    keep: NDArray[np.bool_] | None = None
    replacement: str | None = None
    texts: Sequence[str] | None = None
    design: Any = None

    def __post_init__(self) -> None:
        if (self.keep is None) == (self.texts is None):
            raise ValueError("a plan has either masks (keep) or texts")
        if self.keep is not None and self.keep.shape[1:] != (len(self.words),):
            raise ValueError(f"masks of shape {self.keep.shape} do not fit {len(self.words)} words")

    def __len__(self) -> int:
        texts = self.keep if self.keep is not None else self.texts
        return len(texts) if texts is not None else 0

    def render(self) -> list[str]:
        """The K perturbed texts, in order."""
        if self.texts is not None:
            return list(self.texts)
        assert self.keep is not None
        if self.replacement is None:
            return [join_words(list(compress(self.words, row))) for row in self.keep.tolist()]
        gone = self.replacement
        return [
            join_words([word if kept else gone for word, kept in zip(self.words, row, strict=True)])
            for row in self.keep.tolist()
        ]


@dataclass(frozen=True, eq=False)
class Request:
    """Score all texts of `plan` on `side`, against the text of the other side as it stands."""

    plan: Plan
    side: Side
    other: str

    def pairs(self) -> list[tuple[str, str]]:
        """The K (ground truth, hypothesis) pairs."""
        if self.side == "ground_truth":
            return [(text, self.other) for text in self.plan.render()]
        return [(self.other, text) for text in self.plan.render()]
