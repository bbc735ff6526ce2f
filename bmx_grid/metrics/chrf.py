"""chrF and chrF++ as sacreBLEU computes them (Popović, 2015 and 2017), in [0, 1]."""

from __future__ import annotations

import functools
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from bmx_grid.core.errors import ConfigError
from bmx_grid.core.identity import identity
from bmx_grid.core.ragged import Floats
from bmx_grid.metrics._ngrams import count_ngrams, ngrams_of
from bmx_grid.metrics._pair_counts import count_pairs
from bmx_grid.metrics._sides import Indices, Tokenizer, sides_of_request
from bmx_grid.metrics.base import Counted
from bmx_grid.words.perturbation import Item, Request

_EPSILON = 1e-16  # as in sacrebleu.CHRF
_LONGEST = 100  # n-grams: time and memory grow with each order, and sentences share none of hundreds of tokens
_MOST_BETA = 1_000  # beyond, the score is the recall to six digits


@dataclass(frozen=True)
class Chrf(Counted):
    """sacreBLEU's chrF of the hypothesis, divided by 100, bit for bit; of several references the best one counts.

    char_order, word_order: longest n-grams of characters and of words (word_order=2 is chrF++; 0 = none of them, so
    that char_order=0, word_order=1, beta=1 is the F1 of words: `word_overlap`, which separates punctuation marks from
    words; `words.WordMatch` does not).
    beta: how many times recall counts as much as precision.
    An empty hypothesis or reference scores 0.
    """

    SCALE: ClassVar[int] = 100

    REMOVED_FIELDS: ClassVar[Mapping[str, Any]] = {"whitespace": False, "eps_smoothing": False}

    char_order: int = identity(6, least=0, most=_LONGEST)
    word_order: int = identity(0, least=0, most=_LONGEST)
    beta: int = identity(2, least=1, most=_MOST_BETA)
    lowercase: bool = identity(False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.char_order == self.word_order == 0:
            raise ConfigError("char_order=0 and word_order=0 leave nothing to count; the usual char_order is 6.")

    @property
    def signature(self) -> str:
        from sacrebleu import CHRF

        return self.sacrebleu_signature(CHRF(**self.library_settings()))

    def statistics(self, items: Sequence[Item]) -> Floats:
        """float64[n, 3 * orders]: matches, n-grams of the reference and of the hypothesis, order by order."""

        def count(single: Sequence[Item]) -> Floats:
            def counts(tokenizer: Tokenizer, orders: int) -> Indices:
                return count_pairs(tokenizer.pairs(single), orders)

            return self._statistics(counts)

        return self.best_reference_rows(items, count, self.combine)

    def combine(self, sums: Floats) -> Floats:
        """sacrebleu.CHRF's corpus score of summed statistics, by its floating-point operations in their order."""
        sums = np.asarray(sums, dtype=np.float64)
        *shape, n_columns = sums.shape
        by_kind = sums.reshape(*shape, 3, n_columns // 3)
        # kinds first, then orders, so that all else is computed for each order at once
        matches, reference, hypothesis = np.moveaxis(by_kind, (-2, -1), (0, 1))
        precision = _share(matches, hypothesis)
        recall = _share(matches, reference)
        counted = (hypothesis > 0) & (reference > 0)
        orders = counted.sum(axis=0).clip(min=1)
        # order after order, since NumPy's own sum may add in another order
        summed_precision = functools.reduce(np.add, np.where(counted, precision, 0.0))
        summed_recall = functools.reduce(np.add, np.where(counted, recall, 0.0))
        mean_precision = summed_precision / orders
        mean_recall = summed_recall / orders
        factor = float(self.beta**2)
        below = factor * mean_precision + mean_recall
        above = (1 + factor) * mean_precision * mean_recall
        shares = np.divide(above, below, out=np.zeros(below.shape), where=below > 0)
        # the library's score is in percent: times 100 and back may change the last bit
        return np.asarray(100 * shares / 100)

    def score_masked(self, requests: Sequence[Request]) -> list[Floats] | None:
        if self.reads_several(request.item for request in requests):
            return None
        if not requests:
            return []

        def counts(tokenizer: Tokenizer, orders: int) -> Indices:
            sides = (sides_of_request(request, tokenizer, orders) for request in requests)
            return count_ngrams(chain.from_iterable(sides), orders)

        scores = self.combine(self._statistics(counts))
        ends = np.cumsum([len(request.plan) for request in requests])
        return np.split(scores, ends[:-1])

    def _statistics(self, counts_of: Callable[[Tokenizer, int], Indices]) -> Floats:
        """`statistics` of what `counts_of` a tokenizer and the longest n-grams counts (`count_ngrams`)."""
        matches = []
        hypotheses = []
        references = []
        for tokenizer_of, orders in ((_characters, self.char_order), (_words, self.word_order)):
            if orders > 0:
                tokenizer = tokenizer_of(self.lowercase)
                counts = counts_of(tokenizer, orders)
                matches.append(counts[2:])
                hypotheses.append(ngrams_of(counts[0], orders))
                references.append(ngrams_of(counts[1], orders))
        reference = np.concatenate(references)
        # as sacreBLEU: if the reference has no n-gram of an order, those of the hypothesis do not count
        hypothesis = np.where(reference > 0, np.concatenate(hypotheses), 0)
        rows = np.concatenate([*matches, reference, hypothesis])
        return rows.T.astype(np.float64)


def _share(part: Floats, whole: Floats) -> Floats:
    """part / whole, and a little more than 0 if whole is 0."""
    shares = np.full(part.shape, _EPSILON)
    np.divide(part, whole, out=shares, where=whole > 0)
    return shares


@functools.cache
def _characters(lowercase: bool) -> Tokenizer:
    def characters(text: str) -> str:
        cased = text.lower() if lowercase else text
        return "".join(cased.split())

    return Tokenizer(characters, by_word=True, of_text=characters)


@functools.cache
def _words(lowercase: bool) -> Tokenizer:
    """Words as in chrF++: one punctuation mark is split off, the last one or else the first one."""

    def split(text: str) -> Iterator[str]:
        cased = text.lower() if lowercase else text
        for word in cased.split():
            if len(word) == 1:
                yield word
            elif word[-1] in string.punctuation:
                yield from (word[:-1], word[-1])
            elif word[0] in string.punctuation:
                yield from (word[0], word[1:])
            else:
                yield word

    return Tokenizer(split, by_word=True)
