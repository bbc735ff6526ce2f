"""Sentence BLEU as sacreBLEU computes it (Post, 2018; Papineni et al., 2002), in [0, 1]."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bmx_grid.errors import ConfigError, UnavailableError
from bmx_grid.identity import identity
from bmx_grid.metrics.base import Metric, Pair, Reads

Tokenizer = Literal["13a", "intl", "none", "char", "zh", "ja-mecab", "ko-mecab", "flores101", "flores200"]
Smoothing = Literal["add-k", "exp", "floor", "none"]

_PACKAGES = {"ja-mecab": "sacrebleu[ja]", "ko-mecab": "sacrebleu[ko]"}
_SMOOTH_VALUES = {"add-k": 1.0, "floor": 0.1}


@dataclass(frozen=True)
class SentenceBleu(Metric):
    """sacreBLEU's sentence BLEU of the hypothesis against one reference, divided by 100.

    The defaults are the paper's SentenceBLEU: add-1 smoothing of all orders but the first (its section 3).
    smooth_value: None stands for the default of the method (1 for add-k, 0.1 for floor).
    effective_order: leave out orders that are longer than the hypothesis, as sacrebleu.sentence_bleu does.
    An empty hypothesis or reference scores 0.
    """

    tokenize: Tokenizer = identity("13a")
    smooth_method: Smoothing = identity("add-k")
    smooth_value: float | None = identity(None)
    lowercase: bool = identity(False)
    effective_order: bool = identity(True)

    def __post_init__(self) -> None:
        default = _SMOOTH_VALUES.get(self.smooth_method)
        if self.smooth_value is None:
            # written out, so that the default given and the default left out are one identity
            object.__setattr__(self, "smooth_value", default)
        elif default is None:
            raise ConfigError(
                f"smooth_value={self.smooth_value:g}: smoothing '{self.smooth_method}' takes no value; "
                "leave smooth_value out (null), or choose smooth_method=add-k or floor."
            )
        elif not (self.smooth_value > 0 and math.isfinite(self.smooth_value)):
            raise ConfigError(
                f"smooth_value={self.smooth_value:g}: smoothing '{self.smooth_method}' needs a number above 0; "
                "for BLEU without smoothing choose smooth_method=none."
            )

    @property
    def reads(self) -> Reads:
        return "reference"

    @property
    def signature(self) -> str:
        bleu = self._library()
        name = bleu.corpus_score(["a"], [["a"]]).name  # sacreBLEU signs only after it has seen a reference
        return f"{name}|{bleu.get_signature().format()}"

    def check(self) -> None:
        self._library()

    def score(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        bleu = self._library()
        scores = [bleu.corpus_score([hypothesis], [[reference]]).score for reference, hypothesis in pairs]
        return np.array(scores, dtype=np.float64) / 100

    def _library(self) -> Any:
        return _library(self.tokenize, self.smooth_method, self.smooth_value, self.lowercase, self.effective_order)


@functools.cache
def _library(tokenize: str, method: str, value: float | None, lowercase: bool, effective_order: bool) -> Any:
    """The configured sacrebleu.BLEU, made once a process. Raises UnavailableError when its tokenizer cannot be had."""
    from sacrebleu import BLEU

    try:
        return BLEU(
            tokenize=tokenize,
            smooth_method=method,
            smooth_value=value,
            lowercase=lowercase,
            effective_order=effective_order,
        )
    except (ImportError, RuntimeError, OSError) as error:
        package = _PACKAGES.get(tokenize, "sentencepiece")
        raise UnavailableError(
            f"the tokenizer '{tokenize}' of sacreBLEU cannot be had: {str(error).strip()} "
            f"Install it with: pip install '{package}', or choose tokenize=13a."
        ) from error
