"""Partition SHAP: Owen values over a hierarchy of neighbouring words (Owen 1977; the partition explainer of `shap`).

Follows `shap` 0.51: a side is halved, its halves are halved, down to single words; the value of a part is its mean rise
of the score, each other half on its way down being visible or hidden. shap descends first to the parts whose scores
differ most, until `max_evals` is reached; this explainer halves the largest part first, so that all masks are planned
at once. Words that are not separated share the value of their part, as in shap. On the same hierarchy both find the
same to about 1e-15.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from bmx_grid.core.identity import identity
from bmx_grid.core.ragged import Flags, Floats, Ints
from bmx_grid.explainers.base import Explainer
from bmx_grid.words.perturbation import Plan

_MOST_EVALS = 1_000_000  # per side: each is a text to score


@dataclass(frozen=True, eq=False)
class WordRange:
    """Neighbouring words start..stop - 1 in C contexts: other parts on the way down, visible or hidden.

    contexts: bool[C, n] masks of the contexts, without these words.
    without, having: int64[C] rows of the plan's masks without and with these words.
    """

    start: int
    stop: int
    contexts: Flags
    without: Ints
    having: Ints

    def __len__(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True)
class PartitionShap(Explainer):
    """Attribution of word i = its Owen value; they add up to the score minus that of a fully masked side.

    max_evals: the most texts per side, and at least the two ends: all words are separated up to 26 words at 500.
    mask: the text in place of a hidden word.
    """

    max_evals: int = identity(500, least=2, most=_MOST_EVALS)
    mask: str = identity("UNKWORDZ")

    def plan(self, words: tuple[str, ...], rng: np.random.Generator) -> Plan:
        """The side unchanged, fully masked, and each part with and without the others on its way down."""
        keep, parts = hierarchy(len(words), self.max_evals)
        return Plan(words, keep=keep, replacement=self.mask, design=parts)

    def attribute(self, plan: Plan, scores: Floats) -> Floats:
        """float64[n] Owen values, from the float64[K] scores of the plan."""
        values = np.empty(len(plan.words))
        for part in plan.design:
            rises = scores[part.having] - scores[part.without]
            value = float(np.mean(rises))
            values[part.start : part.stop] = value / len(part)
        return values

    def count_texts(self, n_words: int) -> int:
        """At most max_evals: about 2/3 of n^2 if all words are separated."""
        keep, _ = hierarchy(n_words, self.max_evals)
        return len(keep)


@lru_cache(maxsize=256)
def hierarchy(n: int, most: int) -> tuple[Flags, Sequence[WordRange]]:
    """bool[K, n] masks, K at most `most`, and the parts that they separate. Read-only: kept for the next side.

    The largest part is halved first, of parts of one size the first.
    """
    nothing = np.zeros((1, n), dtype=np.bool_)
    masks = [~nothing, nothing]
    n_masks = 2
    whole = WordRange(0, n, nothing, without=np.array([1]), having=np.array([0]))
    parts = [whole]
    while True:
        sizes = [len(part) for part in parts]
        place = sizes.index(max(sizes))
        part = parts[place]
        n_contexts = len(part.contexts)
        if len(part) == 1 or n_masks + 2 * n_contexts > most:
            break
        # New texts: in each context one half without the other. Both halves and none are the texts of the part itself.
        middle = (part.start + part.stop) // 2
        left = part.contexts.copy()
        right = part.contexts.copy()
        left[:, part.start : middle] = True
        right[:, middle : part.stop] = True
        with_left = np.arange(n_masks, n_masks + n_contexts)
        with_right = with_left + n_contexts
        # Each half is met in every context twice: with the other half hidden and visible.
        first = WordRange(
            part.start,
            middle,
            contexts=np.concatenate([part.contexts, right]),
            without=np.concatenate([part.without, with_right]),
            having=np.concatenate([with_left, part.having]),
        )
        second = WordRange(
            middle,
            part.stop,
            contexts=np.concatenate([part.contexts, left]),
            without=np.concatenate([part.without, with_left]),
            having=np.concatenate([with_right, part.having]),
        )
        parts[place : place + 1] = [first, second]
        masks += [left, right]
        n_masks += 2 * n_contexts
    keep = np.concatenate(masks)
    keep.flags.writeable = False
    return keep, parts
