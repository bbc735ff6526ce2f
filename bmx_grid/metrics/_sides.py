"""The texts whose n-grams are counted: tokens, and those visible in each perturbed text."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.ragged import Flags
from bmx_grid.words.perturbation import Item, Plan, Request
from bmx_grid.words.segmentation import split_words

Indices = NDArray[np.intp]
Tokens = tuple[str, ...]
MOST_SIDE_CELLS = 2**20  # of one side; counting takes some 60 bytes per cell, 64 MB in all
LONG_SIDE = 2**15  # cells, from which on it can be quicker to count only around the hidden words
CELLS_OF_A_CHANGE = 4  # how much longer a token takes that is counted by what changes around it


@dataclass(frozen=True, eq=False)
class SideTokens:
    """The S tokens that K texts are made of, and those of the fixed text that they are compared with.

    is_hypothesis: whether the K texts are hypotheses.
    """

    tokens: Sequence[str]
    fixed: Tokens
    is_hypothesis: bool


@dataclass(frozen=True, eq=False)
class MaskedSide(SideTokens):
    """K texts that each show some of the tokens.

    visible: bool[K, S + 1]; the last column, all True, is a stop that keeps n-grams inside their text.
    """

    visible: Flags


@dataclass(frozen=True, eq=False)
class ChangedSide(SideTokens):
    """K texts that are one whole text with few words hidden: each word's tokens, then those of its replacement.

    word: int[S] the word of each token. is_stand_in: bool[S]. keep: bool[K, words].
    """

    word: Indices
    is_stand_in: Flags
    keep: Flags


CountedSide = MaskedSide | ChangedSide


class Tokenizer:
    """From texts and words to tokens. Words are remembered, since they come back in every text.

    by_word: whether the tokens of a text are the tokens of its words, one word after the other. A text with
    line feeds is always taken as a whole, because some tokenizers join lines. of_text: the same tokens of a whole text,
    if there is a quicker way than by words.
    """

    def __init__(
        self,
        tokenize: Callable[[str], Iterable[str]],
        by_word: bool,
        of_text: Callable[[str], Sequence[str]] | None = None,
    ) -> None:
        self._tokenize = tokenize
        self._of_text = of_text
        self.by_word = by_word
        self.word = functools.lru_cache(maxsize=2**16)(self._whole)

    def text(self, text: str) -> Tokens:
        """The tokens of a text."""
        if not self.by_word or "\n" in text:
            return self._whole(text)
        return tuple(chain.from_iterable(map(self.word, split_words(text))))

    def pairs(self, items: Iterable[Item]) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
        """The tokens of the hypothesis and the reference of each item."""
        for item in items:
            yield self._sequence(item.text("hypothesis")), self._sequence(item.text("reference"))

    def _sequence(self, text: str) -> Sequence[str]:
        return self.text(text) if self._of_text is None else self._of_text(text)

    def _whole(self, text: str) -> Tokens:
        return tuple(self._tokenize(text))


def tokens_of_words(plan: Plan, tokenizer: Tokenizer) -> tuple[list[Tokens], Tokens] | None:
    """The tokens of each word of a plan with masks, and those in place of a hidden one.

    None if the texts must be written out: they have other tokens than their words.
    """
    if plan.keep is None or not tokenizer.by_word:
        return None
    replacement = plan.replacement or ""
    if "\n" in "".join([replacement, *plan.words]):
        return None
    instead = tokenizer.word(replacement) if replacement else ()
    return list(map(tokenizer.word, plan.words)), instead


def fixed_text(request: Request) -> str:
    """The text that the perturbed one is compared with."""
    if request.role == "hypothesis":
        return request.item.text("reference")
    return request.item.text("hypothesis")


def sides_of_request(request: Request, tokenizer: Tokenizer, orders: int) -> Iterator[CountedSide]:
    """The request's masks over tokens, or one side per text if the texts must be written out first.

    Masks of long texts come in several sides of at most MOST_SIDE_CELLS cells each, made one after the other: whoever
    takes them in turn never holds the masks of all texts over all characters. If few words of a long text are
    hidden, only the n-grams around them are counted. orders: of the longest n-grams.
    """
    plan = request.plan
    is_hypothesis = request.role == "hypothesis"
    fixed = tokenizer.text(fixed_text(request))
    known = tokens_of_words(plan, tokenizer)
    if plan.keep is None or known is None:
        for text in plan.render():
            yield _unmasked_side(tokenizer.text(text), fixed, is_hypothesis)
        return
    # Each word's tokens are followed by those of its replacement: a mask shows the first or the second.
    tokens_by_word, instead = known
    tokens = list(chain.from_iterable(word_tokens + instead for word_tokens in tokens_by_word))
    n_tokens = np.array([len(word_tokens) for word_tokens in tokens_by_word], np.intp)
    sizes = n_tokens + len(instead)
    word_of_token = np.repeat(np.arange(len(sizes)), sizes)
    first_of_stand_in = np.cumsum(sizes) - len(instead)
    is_stand_in = np.arange(len(tokens)) >= first_of_stand_in.take(word_of_token)
    if _few_are_hidden(plan.keep, n_tokens, len(tokens), orders):
        yield ChangedSide(tokens, fixed, is_hypothesis, word_of_token, is_stand_in, plan.keep)
        return
    at_once = max(MOST_SIDE_CELLS // cells_per_text(tokens, fixed), 1)
    for start in range(0, len(plan), at_once):
        keep = plan.keep[start : start + at_once]
        visible = np.ones((len(keep), len(tokens) + 1), np.bool_)
        # a kept word's own tokens are visible, and a hidden word's replacement
        np.not_equal(keep.take(word_of_token, axis=1), is_stand_in, out=visible[:, :-1])
        yield MaskedSide(tokens, fixed, is_hypothesis, visible)


def cells_per_text(tokens: Sequence[str], fixed: Sequence[str]) -> int:
    """The cells that the counts of one masked text take: one per token and the stop, or per token of the fixed text."""
    return max(len(tokens) + 1, len(fixed))


def _unmasked_side(tokens: Tokens, fixed: Tokens, is_hypothesis: bool) -> MaskedSide:
    """A side of one text with nothing masked."""
    visible = np.ones((1, len(tokens) + 1), np.bool_)
    return MaskedSide(tokens, fixed, is_hypothesis, visible)


def _few_are_hidden(keep: Flags, tokens_of_word: Indices, n_tokens: int, orders: int) -> bool:
    """Whether it is quicker to count what changes around the hidden words than all texts as a whole."""
    cells = len(keep) * (n_tokens + 1)
    if cells < LONG_SIDE:
        return False
    times_hidden = len(keep) - keep.sum(axis=0)
    tokens_around = tokens_of_word + 2 * orders
    # twice: the tokens removed and the tokens added
    changes = int(times_hidden @ (2 * tokens_around))
    return CELLS_OF_A_CHANGE * changes < cells
