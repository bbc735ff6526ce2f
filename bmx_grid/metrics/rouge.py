"""ROUGE (Lin, 2004): words, pairs of words or the longest common subsequence that a text shares with a reference."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bmx_grid.core.errors import UnavailableError
from bmx_grid.core.identity import identity
from bmx_grid.metrics.base import Floats, OfReferences
from bmx_grid.words.perturbation import Item, Role


@dataclass(frozen=True, kw_only=True)
class Rouge(OfReferences):
    """The F1 of the package rouge-score, 0 to 1, of the best reference.

    variant: rouge1, rouge2 or rougeL. stemmed: words are compared by Porter's stems.
    Texts are lower-cased and split at all but letters and digits of ASCII, as the package does.
    """

    variant: Literal["rouge1", "rouge2", "rougeL"] = identity("rougeL")
    stemmed: bool = identity(False)

    @property
    def reads(self) -> tuple[Role, ...]:
        return ("reference", "hypothesis")

    @property
    def signature(self) -> str:
        stemmed = "yes" if self.stemmed else "no"
        return f"{self.variant}|nrefs:{self.nrefs}|stemmed:{stemmed}|version:{self.VERSION}"

    def check(self) -> None:
        _scorer(self.variant, self.stemmed)

    def score(self, items: Sequence[Item]) -> Floats:
        scorer = _scorer(self.variant, self.stemmed)
        found = [scorer.score_multi(self.references_of(item), item.text("hypothesis")) for item in items]
        return np.array([one[self.variant].fmeasure for one in found], dtype=np.float64)


@functools.cache
def _scorer(variant: str, stemmed: bool) -> Any:
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ModuleNotFoundError as error:
        raise UnavailableError("metric rouge needs the package rouge-score: pip install 'bmx-grid[rouge]'.") from error
    return RougeScorer([variant], use_stemmer=stemmed)
