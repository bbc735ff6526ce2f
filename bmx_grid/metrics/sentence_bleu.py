"""Sentence BLEU as sacreBLEU computes it (Post, 2018; Papineni et al., 2002), in [0, 1]."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from bmx_grid.errors import ConfigError, UnavailableError
from bmx_grid.identity import identity
from bmx_grid.metrics._ngram_bits import count_masked
from bmx_grid.metrics._ngrams import NgramCounts, Tokenizer, count_against_all, count_ngrams, ngrams_of, sides_of_items
from bmx_grid.metrics._references import Counted
from bmx_grid.metrics.base import Floats
from bmx_grid.words.perturbation import Item, Request

_ORDERS = 4
_SMOOTH_VALUES = {"add-k": 1.0, "floor": 0.1}
_LOG_OF_ZERO = -9999999999.0  # sacrebleu.utils.my_log

# Tokenizers that do the same word by word as on the whole text. 13a pads the text with blanks, so that its
# rules see at a word's edges what they see inside a text. intl and zh do not: they treat the ends of a text
# in their own way ("5." keeps its full stop at the end only).
_BY_WORD = ("13a", "none", "char")


@dataclass(frozen=True)
class SentenceBleu(Counted):
    """sacreBLEU's sentence BLEU of the hypothesis, divided by 100, bit for bit.

    Of several references each n-gram counts as often as the one that has it most, and the length is that of the
    reference nearest in length, the shorter of two (Papineni et al., 2002).

    The defaults are the paper's SentenceBLEU: 13a tokens, orders 2 to 4 smoothed by adding 1.
    smooth_value: None means the default of the method (1 for add-k, 0.1 for floor).
    brevity: the penalty of a hypothesis of c tokens that is shorter than its reference of r: standard, exp(1 - r / c),
        or linear, c / r, which is not sacreBLEU's.
    effective_order: leave out orders that are longer than the hypothesis, as sacrebleu.sentence_bleu does.
    An empty hypothesis or reference scores 0.
    """

    SCALE: ClassVar[int] = 100

    tokenize: Literal["13a", "intl", "none", "char", "zh", "ja-mecab", "ko-mecab"] = identity("13a")
    smooth_method: Literal["add-k", "exp", "floor", "none"] = identity("add-k")
    smooth_value: float | None = identity(None)
    lowercase: bool = identity(False)
    effective_order: bool = identity(True)
    brevity: Literal["standard", "linear"] = identity("standard")

    LATER: ClassVar[dict[str, Any]] = Counted.LATER | {"brevity": "standard"}

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
    def signature(self) -> str:
        from sacrebleu import BLEU

        self.check()
        bleu = BLEU(**self.library_settings())
        name = bleu.corpus_score(["a"], [["a"]]).name  # sacreBLEU signs only after it has seen a reference
        signature = self.signed(f"{name}|{bleu.get_signature().format()}")
        return signature.replace("|version:", "|bp:linear|version:") if self.brevity == "linear" else signature

    def check(self) -> None:
        _library_tokenizer(self.tokenize)

    def score(self, items: Sequence[Item]) -> Floats:
        return self._scores(self._counts(items))

    def statistics(self, items: Sequence[Item]) -> Floats:
        """float64[n, 10]: tokens of hypothesis and reference, then matches and n-grams of the four orders."""
        return _statistics(self._counts(items))

    def combine(self, sums: Floats) -> Floats:
        """sacrebleu.BLEU's corpus score, with this option's smoothing, of summed statistics, divided by 100."""
        sums = np.asarray(sums, dtype=np.float64)
        return self._bleu(sums.reshape(-1, sums.shape[-1])).reshape(sums.shape[:-1])

    def score_masked(self, requests: Sequence[Request]) -> list[Floats] | None:
        if self.tokenize not in _BY_WORD or self.reads_several(request.item for request in requests):
            return None
        tokenizer = _tokenizer(self.tokenize, self.lowercase)
        counts, rows = count_masked(requests, tokenizer, _ORDERS)
        scores = self._scores(counts)
        return [scores[place] for place in rows]

    def _counts(self, items: Sequence[Item]) -> NgramCounts:
        tokenizer = _tokenizer(self.tokenize, self.lowercase)
        if self.reads_several(items):
            return count_against_all(
                [tokenizer.text(item.text("hypothesis")) for item in items],
                [[tokenizer.text(text) for text in self.references_of(item)] for item in items],
                _ORDERS,
            )
        return count_ngrams(sides_of_items(items, tokenizer), _ORDERS)

    def _scores(self, counts: NgramCounts) -> Floats:
        """float64[P] scores; texts of equal counts are scored once."""
        distinct, row = counts.distinct()
        return self._bleu(_statistics(distinct))[row]

    def _bleu(self, sums: Floats) -> Floats:
        """float64[P] scores, by the floating-point operations of sacrebleu.BLEU.compute_bleu in their order.

        Logarithms, exponentials and sums are Python's own, as in the library: NumPy's may differ in the last bit.
        """
        hypothesis, reference = sums[:, 0], sums[:, 1]
        correct, total = sums[:, 2 : 2 + _ORDERS].copy(), sums[:, 2 + _ORDERS :].copy()
        matched = correct.any(axis=1)
        value = 0.0 if self.smooth_value is None else self.smooth_value
        if self.smooth_method == "add-k":
            correct[:, 1:] += value
            total[:, 1:] += value
        missed = (total > 0) & (correct == 0)
        correct *= 100.0
        if self.smooth_method == "floor":
            correct[missed] = 100.0 * value
        elif self.smooth_method == "exp":
            correct[missed] = 100.0
            total[missed] *= 2.0 ** np.cumsum(missed, axis=1)[missed]
        seen = (total > 0) & (correct > 0)
        precisions = np.divide(correct, total, out=np.ones_like(correct), where=seen)
        logs = _each_distinct(math.log, precisions)
        logs[~seen] = _LOG_OF_ZERO
        orders = (total > 0).sum(axis=1).clip(min=1) if self.effective_order else np.full(len(total), _ORDERS)
        logs[np.arange(_ORDERS) >= orders[:, None]] = 0.0
        added = _each(sum, zip(*(column.tolist() for column in logs.T), strict=True), len(logs))
        short = (hypothesis > 0) & (hypothesis < reference)
        if self.brevity == "linear":
            brevity = np.divide(hypothesis, reference, out=np.ones(len(logs)), where=short)
        else:
            ratio = np.divide(reference, hypothesis, out=np.ones(len(logs)), where=short)
            brevity = _each_distinct(math.exp, 1 - ratio)
        scores = brevity * _each(math.exp, (added / orders).tolist(), len(logs))
        scores[~matched] = 0.0
        return np.asarray(scores / 100, dtype=np.float64)


def _statistics(counts: NgramCounts) -> Floats:
    columns = [counts.hypothesis[:, None], counts.reference[:, None], counts.matches]
    return np.concatenate([*columns, ngrams_of(counts.hypothesis, _ORDERS)], axis=1).astype(np.float64)


def _each(function: Callable[[Any], float], values: Iterable[Any], count: int) -> NDArray[np.float64]:
    return np.fromiter(map(function, values), np.float64, count)


def _each_distinct(function: Callable[[float], float], values: NDArray[np.float64]) -> NDArray[np.float64]:
    found, place = np.unique(values, return_inverse=True)
    return _each(function, found.tolist(), len(found))[place]


@functools.cache
def _library_tokenizer(name: str) -> Callable[[str], str]:
    """sacreBLEU's tokenizer. Raises UnavailableError when the libraries it needs are missing."""
    from sacrebleu import BLEU

    try:
        tokenizer: Callable[[str], str] = BLEU(tokenize=name).tokenizer
    except RuntimeError as error:  # what sacreBLEU raises for them
        extra = name.removesuffix("-mecab")
        raise UnavailableError(
            f"sacreBLEU's tokenizer '{name}' needs libraries that are not installed: "
            f"pip install 'sacrebleu[{extra}]', or choose another tokenizer (tokenize=13a)."
        ) from error
    return tokenizer


@functools.cache
def _tokenizer(name: str, lowercase: bool) -> Tokenizer:
    library = _library_tokenizer(name)

    def tokens(text: str) -> Sequence[str]:
        text = text.lower() if lowercase else text
        if name == "13a" and text.isalnum():
            return (text,)  # 13a splits words at punctuation only; calling the library for each new word takes longest
        return library(text.rstrip()).split()

    return Tokenizer(tokens, by_word=name in _BY_WORD)
