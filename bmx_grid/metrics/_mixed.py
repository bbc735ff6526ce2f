"""Metrics that are a weighted sum of parts: directions of a translation model, or other metrics."""

from __future__ import annotations

import dataclasses
import math
import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, cast

import numpy as np

from bmx_grid.errors import ConfigError
from bmx_grid.identity import digest, identity, runtime
from bmx_grid.measures.one_vs_rest import Agreement, one_vs_rest, weighted
from bmx_grid.metrics.base import Floats, Metric
from bmx_grid.words.perturbation import Item

if TYPE_CHECKING:
    from bmx_grid.segments import SegmentSet

ByRule = Literal["one_vs_rest", "equal"]
_SAID: set[str] = set()  # notes on weights that this process has shown


@dataclass(frozen=True, kw_only=True)
class Mixed(Metric):
    """A weighted sum of the scores of k parts.

    weights: one_vs_rest, by agreement with the other parts over the set it is fitted to (`measures.one_vs_rest`);
        equal, 1/k each; or k numbers, as they are.
    cache_dir: where what parts made is kept; None for this process only.
    set, fitted_on: the set it is fitted to, as a digest (identity) and as items; made by `fitted`.
    """

    weights: tuple[float, ...] | ByRule = identity("one_vs_rest")
    cache_dir: str | None = runtime(None)
    set: str = identity("")
    fitted_on: tuple[Item, ...] = runtime(())

    @property
    @abstractmethod
    def part_names(self) -> tuple[str, ...]:
        """The names of the k parts."""

    @abstractmethod
    def part_scores(self, items: Sequence[Item]) -> Floats:
        """float64[n, k] scores of the parts, higher is better, as they are summed."""

    @property
    def looks_at_a_set(self) -> bool:
        """Whether it has to be fitted before it scores."""
        return self.weights == "one_vs_rest"

    def check_weights(self, count: int, where: str) -> None:
        """Raise ConfigError for weights that are not one finite number for each of `count` parts."""
        if isinstance(self.weights, str):
            return
        if len(self.weights) != count or not all(map(math.isfinite, self.weights)) or not any(self.weights):
            raise ConfigError(
                f"{where}.weights={list(self.weights)}: expected one_vs_rest, equal, or {count} finite numbers, not "
                f"all 0, one each for {', '.join(self.part_names)}."
            )

    def fitted(self, segments: SegmentSet) -> Self:
        found = cast(Self, super().fitted(segments))
        items = tuple(segments.items(self.reads, all_references=self.reads_all_references))
        texts = [[*item.texts().values(), *item.further_references] for item in items]
        name = digest(texts)[:16] if self.looks_at_a_set else ""
        return dataclasses.replace(found, set=name, fitted_on=items)

    def agreement(self) -> Agreement:
        """The weights of the parts, with what they were made of.

        Raises ConfigError where it has to be fitted and is not, or where weights are undefined.
        """
        names = self.part_names
        if not isinstance(self.weights, str):
            return Agreement(np.array(self.weights), np.full((len(names),) * 2, np.nan), 0)
        if self.weights == "equal":
            return Agreement(np.full(len(names), 1 / len(names)), np.full((len(names),) * 2, np.nan), 0)
        self.check_fitted()
        found = one_vs_rest(self.fitted_scores(), names)
        for note in found.notes:
            said = f"{type(self).__name__.lower()} (set {self.set}): {note}."
            if said not in _SAID:
                _SAID.add(said)
                warnings.warn(said, stacklevel=2)
        return found

    def fitted_scores(self) -> Floats:
        """float64[N, k] scores of the parts for the set it is fitted to."""
        return self.part_scores(self.fitted_on)

    def check_fitted(self) -> None:
        if self.looks_at_a_set and not self.fitted_on:
            raise ConfigError(
                f"{type(self).__name__.lower()} is fitted to a whole test set, and has seen none: use it in a sweep, "
                "or choose settings that need none (weights=equal, or numbers)."
            )

    def score(self, items: Sequence[Item]) -> Floats:
        if not items:
            return np.empty(0)
        weights = self.agreement().weights  # first: it makes and keeps the parts of the whole set
        return weighted(self.part_scores(items), weights)

    def fingerprint(self) -> dict[str, Any]:
        found = super().fingerprint()
        return found if self.set else {key: value for key, value in found.items() if key != "set"}
