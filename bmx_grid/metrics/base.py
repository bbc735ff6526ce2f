"""What a metric is."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bmx_grid.identity import Component
from bmx_grid.perturbation import Request

Reads = Literal["source", "reference"]
Pair = tuple[str, str]


@dataclass(frozen=True)
class Metric(Component):
    """A sentence-level metric: a function of (ground truth, hypothesis), higher is better.

    The ground truth is the source or the reference, whichever `reads` names. A pair's score is the
    same alone and in any batch, and in any order (the contract tests hold every option to this).
    Subclasses stay cheap to build and to pickle: models load on the first call of `score`.
    """

    @property
    @abstractmethod
    def reads(self) -> Reads:
        """Which text is the ground truth."""

    @property
    @abstractmethod
    def signature(self) -> str:
        """The settings behind a score, in one line that travels with every number."""

    @property
    def slow(self) -> bool:
        """Whether texts go through a large model, so that a tenth of them is work enough to do at once."""
        return False

    def texts_at_once(self, most: int) -> int:
        """How many texts to score before progress is told and a result kept, where `most` suits a quick metric."""
        return max(most // 10, 1) if self.slow else most

    @property
    def texts_cut(self) -> int:
        """How many texts this process has scored without their end: those longer than the metric's model reads."""
        return 0

    @abstractmethod
    def score(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """float64[n] scores of n (ground truth, hypothesis) pairs.

        Raises UnavailableError when a model or library that the metric needs cannot be had.
        """

    def check(self) -> None:
        """Raise UnavailableError, with the remedy, when this metric cannot be had here. Scores nothing."""

    def count_texts(self, pair: Pair, copies: int = 1) -> int:
        """How many texts `copies` versions of `pair` come to, at most: more only for a metric built on another.

        Raises ExplainError when they are above the metric's own limit: found before anything is scored.
        """
        return copies

    def score_masked(self, requests: Sequence[Request]) -> list[NDArray[np.float64]] | None:
        """Scores of masked texts without writing them out, float64[K] for each request of K >= 1 texts.

        None (the default) when the metric has no such short cut: the engine then renders the texts.
        Where it is given it equals `score` on the rendered texts bit for bit.
        """
        return None
