"""Translation edit rate as sacreBLEU computes it (Snover et al., 2006): edits per reference word, lower is better."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bmx_grid.identity import identity
from bmx_grid.metrics._references import Counted
from bmx_grid.metrics.base import Floats
from bmx_grid.words.perturbation import Item


@dataclass(frozen=True)
class Ter(Counted):
    """sacreBLEU's TER of the hypothesis, divided by 100, bit for bit; 0 is best.

    Of several references: the fewest edits, per word of their mean length (Snover et al., 2006).

    normalized: split punctuation off as Tercom does. no_punct: remove punctuation. asian_support: both for Chinese and
    Japanese characters, too. case_sensitive: do not lowercase.
    The score keeps TER's own direction: correlations with human scores are negative where the metric is good.
    An empty reference scores 1 with any words against it, and 0 with none.
    """

    SCALE: ClassVar[int] = 100

    normalized: bool = identity(False)
    no_punct: bool = identity(False)
    asian_support: bool = identity(False)
    case_sensitive: bool = identity(False)

    @property
    def higher_is_better(self) -> bool:
        return False

    @property
    def signature(self) -> str:
        from sacrebleu import TER

        ter = TER(**self.library_settings())
        name = ter.corpus_score(["a"], [["a"]]).name  # sacreBLEU signs only after it has seen a reference
        return self.signed(f"{name}|{ter.get_signature().format()}")

    def statistics(self, items: Sequence[Item]) -> Floats:
        """float64[n, 2]: edits, and words of the reference."""
        from sacrebleu.metrics.lib_ter import translation_edit_rate

        words = _words(**self.library_settings())
        found = []
        for item in items:
            hypothesis = words(item.text("hypothesis"))
            each = [translation_edit_rate(hypothesis, words(truth)) for truth in self.references_of(item)]
            found.append((min(edits for edits, _ in each), sum(length for _, length in each) / len(each)))
        return np.array(found, dtype=np.float64).reshape(-1, 2)

    def combine(self, sums: Floats) -> Floats:
        """sacrebleu.TER's corpus score of summed statistics, divided by 100."""
        sums = np.asarray(sums, dtype=np.float64)
        edits, words = sums[..., 0], sums[..., 1]
        without_words = np.asarray(edits > 0, dtype=np.float64)
        return np.asarray(100 * np.divide(edits, words, out=without_words, where=words > 0) / 100)


@functools.cache
def _words(normalized: bool, no_punct: bool, asian_support: bool, case_sensitive: bool) -> Callable[[str], list[str]]:
    from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer

    tokenizer = TercomTokenizer(normalized, no_punct, asian_support, case_sensitive)
    return lambda text: tokenizer(text.rstrip()).split()
