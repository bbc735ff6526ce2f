"""A metric with an explainer: explanations of items in parts, of which boosts are made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bmx_grid.attribution.explain import Explanation, attributed_roles, count_texts, explain_items
from bmx_grid.attribution.store import AttributionSet
from bmx_grid.configure import check_seed
from bmx_grid.errors import ConfigError, ExplainError
from bmx_grid.explainers.base import Explainer
from bmx_grid.metrics.base import Metric
from bmx_grid.ragged import Ragged
from bmx_grid.wording import counted
from bmx_grid.words.perturbation import Item


@dataclass(frozen=True)
class Explained:
    """Explains the scores of a metric.

    seed: of the explainer's draws. max_texts: the most texts for one item.
    Raises ConfigError for a negative seed or a max_texts below 1.
    """

    metric: Metric
    explainer: Explainer
    seed: int = 0
    max_texts: int = 100_000

    def __post_init__(self) -> None:
        check_seed(self.seed)
        if self.max_texts < 1:
            raise ConfigError(f"max_texts must be at least 1, got {self.max_texts}.")

    @property
    def drawn_with(self) -> int | None:
        """The seed where something is random, else None: part of every signature."""
        return self.seed if self.explainer.stochastic else None

    def check(self) -> None:
        """Raise UnavailableError, with the remedy, when metric or explainer are unavailable here."""
        self.metric.check()
        self.explainer.check()

    def count_texts(self, item: Item, copies: int = 1) -> int:
        """The most texts of the innermost metric that `copies` versions of `item` need, repeats counted again.

        Raises ExplainError above max_texts.
        """
        found = count_texts(self.metric, self.explainer, item, copies)
        if found > self.max_texts:
            raise ExplainError(
                f"{counted(found, 'text')} would be scored for this segment, above max_texts = {self.max_texts:,}: "
                "choose an explainer or settings that ask for fewer texts, or raise max_texts of the boosted metric."
            )
        return found

    def explain(self, items: Sequence[Item], texts_at_once: int) -> Iterator[list[Explanation]]:
        """The explanations of items, in parts of at most `texts_at_once` texts (but at least one item).

        An item's explanation is the same in any part. Texts that items of one part share are scored once.
        Raises ExplainError, before anything is scored, for the first item above max_texts.
        """
        for part in self._parts(items, texts_at_once):
            yield explain_items(self.metric, self.explainer, part, self.seed)

    def _parts(self, items: Sequence[Item], texts_at_once: int) -> list[list[Item]]:
        parts: list[list[Item]] = []
        room = 0
        for item in items:
            size = self.count_texts(item)
            if size > room:
                parts.append([])
                room = texts_at_once
            parts[-1].append(item)
            room -= size
        return parts

    def attributions(self, explanations: Sequence[Explanation]) -> AttributionSet:
        """Base scores and attributions of n explained items, as arrays."""
        base = np.array([one.base_score for one in explanations], dtype=np.float64)
        roles = attributed_roles(self.metric, self.explainer)
        return AttributionSet(
            base, {role: Ragged.from_rows(one.attributions[role] for one in explanations) for role in roles}
        )
