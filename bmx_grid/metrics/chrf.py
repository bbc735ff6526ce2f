"""chrF and chrF++ as sacreBLEU computes them (Popović, 2015 and 2017), in [0, 1]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.errors import ConfigError
from bmx_grid.identity import identity
from bmx_grid.metrics.base import Metric, Pair, Reads


@dataclass(frozen=True)
class Chrf(Metric):
    """sacreBLEU's chrF of the hypothesis against one reference, divided by 100.

    char_order, word_order: longest n-grams of characters and of words (word_order=2 is chrF++).
    beta: how many times recall counts as much as precision.
    whitespace: count blanks as characters.
    eps_smoothing: smooth orders without n-grams as chrF++.py, NLTK and Moses do, instead of leaving them out.
    An empty hypothesis or reference scores 0 (below 1e-16 with eps_smoothing).
    """

    char_order: int = identity(6)
    word_order: int = identity(0)
    beta: int = identity(2)
    lowercase: bool = identity(False)
    whitespace: bool = identity(False)
    eps_smoothing: bool = identity(False)

    def __post_init__(self) -> None:
        for name, value, least in (("char_order", self.char_order, 1), ("word_order", self.word_order, 0)):
            if value < least:
                raise ConfigError(f"{name}={value}: the longest n-gram must be at least {least}.")
        if self.beta < 1:
            raise ConfigError(f"beta={self.beta}: recall must count at least once; chrF's usual value is 2.")

    @property
    def reads(self) -> Reads:
        return "reference"

    @property
    def signature(self) -> str:
        chrf = self._library()
        name = chrf.corpus_score(["a"], [["a"]]).name  # sacreBLEU signs only after it has seen a reference
        return f"{name}|{chrf.get_signature().format()}"

    def score(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        known: dict[str, Any] = {}  # a library object holds the n-grams of its reference
        scores = []
        for reference, hypothesis in pairs:
            if reference not in known:
                known[reference] = self._library(references=[[reference]])
            scores.append(known[reference].corpus_score([hypothesis], None).score)
        return np.array(scores, dtype=np.float64) / 100

    def _library(self, **more: Any) -> Any:
        from sacrebleu import CHRF

        return CHRF(**self.settings(), **more)
