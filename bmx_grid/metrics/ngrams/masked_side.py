"""From masks over words to masks over tokens."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from bmx_grid.words.perturbation import Item, Plan, Request
from bmx_grid.words.text import split_words

Tokens = tuple[str, ...]

MOST_CELLS = 2**20  # of one side; counting takes some 60 bytes per cell, 64 MB in all


@dataclass(frozen=True, eq=False)
class MaskedSide:
    """K texts that each show some of the same S tokens, and the tokens of the other side, which is fixed.

    visible: bool[K, S + 1]; the last column, all True, is a stop that keeps n-grams inside their text.
    """

    tokens: Sequence[str]
    visible: NDArray[np.bool_]
    fixed: Tokens
    is_hypothesis: bool


class Tokenizer:
    """From texts and words to tokens. Words are remembered, since they come back in every text.

    by_word: whether the tokens of a text are the tokens of its words, one word after the other. A text with
    line feeds is always taken as a whole, because some tokenizers join lines.
    """

    def __init__(self, tokenize: Callable[[str], Iterable[str]], by_word: bool) -> None:
        self._tokenize = tokenize
        self.by_word = by_word
        self.word = functools.lru_cache(maxsize=2**16)(self._whole)

    def text(self, text: str) -> Tokens:
        """The tokens of a text."""
        if not self.by_word or "\n" in text:
            return self._whole(text)
        return tuple(chain.from_iterable(map(self.word, split_words(text))))

    def _whole(self, text: str) -> Tokens:
        return tuple(self._tokenize(text))


def reads_word_by_word(plan: Plan, tokenizer: Tokenizer) -> bool:
    """Whether the tokens of every text of a plan with masks are those of its words and of its replacement."""
    return tokenizer.by_word and "\n" not in (plan.replacement or "") and "\n" not in "".join(plan.words)


def sides_of_items(items: Iterable[Item], tokenizer: Tokenizer) -> Iterator[MaskedSide]:
    """One side per item: the hypothesis with nothing masked, beside the reference."""
    for item in items:
        yield _shown(tokenizer.text(item.text("hypothesis")), tokenizer.text(item.text("reference")), True)


def fixed_text(request: Request) -> str:
    """The text that the perturbed one is compared with."""
    return request.item.text("reference" if request.role == "hypothesis" else "hypothesis")


def sides_of_request(request: Request, tokenizer: Tokenizer) -> Iterator[MaskedSide]:
    """The request's masks over tokens, or one side per text where the texts must be written out first.

    Masks of long texts come in several sides of at most MOST_CELLS cells each, made one after the other: whoever
    takes them in turn never holds the masks of all texts over all characters.
    """
    plan, is_hypothesis = request.plan, request.role == "hypothesis"
    fixed = tokenizer.text(fixed_text(request))
    if plan.keep is None or not reads_word_by_word(plan, tokenizer):
        for text in plan.render():
            yield _shown(tokenizer.text(text), fixed, is_hypothesis)
        return
    instead = tokenizer.word(plan.replacement) if plan.replacement else ()
    tokens: list[str] = []
    word_of_token: list[int] = []
    replaces: list[bool] = []
    for index, word in enumerate(plan.words):
        own = tokenizer.word(word)
        tokens += own + instead
        word_of_token += [index] * (len(own) + len(instead))
        replaces += [False] * len(own) + [True] * len(instead)
    columns, shown_if_hidden = np.array(word_of_token, np.intp), np.array(replaces, np.bool_)
    at_once = max(MOST_CELLS // cells_per_text(tokens, fixed), 1)
    for start in range(0, len(plan), at_once):
        keep = plan.keep[start : start + at_once]
        visible = np.ones((len(keep), len(tokens) + 1), np.bool_)
        np.not_equal(keep.take(columns, axis=1), shown_if_hidden, out=visible[:, :-1])
        yield MaskedSide(tokens, visible, fixed, is_hypothesis)


def cells_per_text(tokens: Sequence[str], fixed: Sequence[str]) -> int:
    """The cells that the counts of one masked text take: one per token and the stop, or per token of the fixed text."""
    return max(len(tokens) + 1, len(fixed))


def _shown(tokens: Tokens, fixed: Tokens, is_hypothesis: bool) -> MaskedSide:
    return MaskedSide(tokens, np.ones((1, len(tokens) + 1), np.bool_), fixed, is_hypothesis)
