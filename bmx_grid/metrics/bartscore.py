"""BARTScore: how likely a model finds one text given another (Yuan et al., 2021), for any translation model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bmx_grid.identity import identity
from bmx_grid.metrics._seq2seq import Seq2SeqMetric, score_of
from bmx_grid.metrics.base import Floats
from bmx_grid.words.perturbation import ROLES, Item, Role

Direction = Literal["source->hypothesis", "hypothesis->source", "reference->hypothesis", "hypothesis->reference", "f"]


@dataclass(frozen=True, kw_only=True)
class BartScore(Seq2SeqMetric):
    """The mean (or sum) of the log-probabilities of the target's tokens, natural logarithms: at most 0.

    direction: which text is the target of which; f is the mean of both directions between reference and hypothesis
        (the authors call reference->hypothesis precision and hypothesis->reference recall).
    The empty target consists of its special tokens.
    """

    direction: Direction = identity("f")

    @property
    def reads(self) -> tuple[Role, ...]:
        used = ("reference", "hypothesis") if self.direction == "f" else self.direction.split("->")
        return tuple(role for role in ROLES if role in used)

    def count_texts(self, item: Item, copies: int = 1) -> int:
        """Passes of the model: two for f."""
        return copies * len(self._directions())

    def score(self, items: Sequence[Item]) -> Floats:
        if not items:
            return np.empty(0)
        found = np.zeros(len(items))
        directions = self._directions()
        for one, other in directions:
            sources, targets = ([item.text(role) for item in items] for role in (one, other))
            sums = self.sums(sources, targets, self._language(one), self._language(other), with_entropies=False)
            found += score_of(sums, entropy=False, length=self.length) / len(directions)
        return found

    def _directions(self) -> list[tuple[Role, Role]]:
        both: list[tuple[Role, Role]] = [("reference", "hypothesis"), ("hypothesis", "reference")]
        if self.direction == "f":
            return both
        (one, other) = self.direction.split("->")
        return [(_role(one), _role(other))]

    def _language(self, role: Role) -> str | None:
        return self.source_language if role == "source" else self.target_language


def _role(name: str) -> Role:
    return next(role for role in ROLES if role == name)
