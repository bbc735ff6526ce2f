"""The same text in two tokenisations: words of one matched with words of the other by their characters.

Publishers give tags to tokens (Moses tokens, escaped entities, sub-words, split Latin words), and metrics score texts
whose words are separated otherwise. Both are the same characters in the same order, apart from blanks. Where they are
not, the characters that differ are counted and the words that have none in common with the other side are named;
nothing is moved to a neighbour.
"""

from __future__ import annotations

import difflib
import functools
import html
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.errors import ConfigError, unknown
from bmx_grid.core.ragged import Ragged
from bmx_grid.words.tags import Labels, WordTags
from bmx_grid.words.text import BLANK

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
How = Literal["mean", "sum", "min", "max"]

ENTITY = re.compile(r"&(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});")
HYPHEN = "@-@"  # the Moses tokeniser's hyphen inside a word


@dataclass(frozen=True, eq=False)
class Alignment:
    """Which of m tokens of one tokenisation share characters with which of n words of another.

    token, word: int64[L], one entry per linked pair, in order; shared: int64[L] the characters that they share.
    tokens, words: m and n. tokens_without, words_without: those that are linked to nothing, words without any
    character (the empty ones between two blanks) among them. differing: characters of either side that the other lacks.
    replaced: punctuation marks and symbols that were matched by their place only, where the same number of others
    stands between matching characters (one quotation mark for another).
    """

    token: Ints
    word: Ints
    shared: Ints
    tokens: int
    words: int
    tokens_without: tuple[int, ...]
    words_without: tuple[int, ...]
    differing: int
    replaced: int

    @property
    def exact(self) -> bool:
        """Whether both sides have the same characters."""
        return self.differing == 0 and self.replaced == 0


def align(tokens: Sequence[str], words: Sequence[str]) -> Alignment:
    """Match the characters of two tokenisations of a text, in order.

    Blanks and zero-width spaces do not count. Where the sides do not agree as they are, entities (`&quot;`) are taken
    as the character they stand for and `@-@` as a hyphen, of the tokens, of the words or of both; characters of
    equal compatibility form (NFKC) match.
    Characters that one side lacks are found as by `difflib`, the longest common run first.
    """
    for escaped in ((False, False), (True, False), (False, True), (True, True)):  # a text may hold "&amp;" itself
        left, right = (
            [_folded(word, how) for word in side] for side, how in zip((tokens, words), escaped, strict=True)
        )
        equal = "".join(left) == "".join(right)
        if equal:
            break
    shared, replaced = (_overlaps(left, right), 0) if equal else _matched(left, right)
    # they come in order: both texts are read from left to right
    of_token, of_word = [token for token, _ in shared], [word for _, word in shared]
    linked = set(of_token), set(of_word)
    numbers = list(shared.values())
    return Alignment(
        token=np.array(of_token, dtype=np.int64),
        word=np.array(of_word, dtype=np.int64),
        shared=np.array(numbers, dtype=np.int64),
        tokens=len(tokens),
        words=len(words),
        tokens_without=tuple(place for place in range(len(tokens)) if place not in linked[0]),
        words_without=tuple(place for place in range(len(words)) if place not in linked[1]),
        differing=sum(map(len, left)) + sum(map(len, right)) - 2 * sum(numbers),
        replaced=replaced,
    )


@functools.lru_cache(maxsize=2**16)
def _folded(word: str, unescape: bool) -> str:
    """The characters of a word that are compared, in their compatibility form; kept, as words come again and again."""
    text = BLANK.sub("", word)
    if unescape:
        text = "-" if text == HYPHEN else ENTITY.sub(lambda found: html.unescape(found.group()), text)
    return unicodedata.normalize("NFKC", text)


def _overlaps(left: Sequence[str], right: Sequence[str]) -> dict[tuple[int, int], int]:
    """By token and word how many characters they share, where both sides have the same characters."""
    shared: dict[tuple[int, int], int] = {}
    ends, reached, place = [*accumulate(map(len, right))], 0, 0
    for token, end in enumerate(accumulate(map(len, left))):
        while reached < end:
            if ends[place] > reached:
                last = min(end, ends[place])
                shared[token, place] = last - reached
                reached = last
            place += ends[place] <= reached
    return shared


def _matched(left: Sequence[str], right: Sequence[str]) -> tuple[dict[tuple[int, int], int], int]:
    """By token and word how many characters were matched, and how many pairs of them were replaced one by one."""
    token_of, word_of = ([place for place, word in enumerate(side) for _ in word] for side in (left, right))
    one, other = "".join(left), "".join(right)
    shared: Counter[tuple[int, int]] = Counter()
    replaced = 0
    for kind, first, last, start, end in difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        signs = one[first:last] + other[start:end]
        same_signs = kind == "replace" and last - first == end - start and not any(map(str.isalnum, signs))
        if kind == "equal" or same_signs:
            shared.update(zip(token_of[first:last], word_of[start:end], strict=True))
            replaced += last - first if kind == "replace" else 0
    return shared, replaced


def carry_labels(alignment: Alignment, bad: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Labels of m tokens as labels of n words: a word is BAD if any token that it shares characters with is.

    Returns bool[n] labels and bool[n] whether a word's label is known: it is linked to a token.
    Raises ValueError for another number of labels than of tokens.
    """
    known = _known(alignment, len(bad))
    labels = np.zeros(alignment.words, dtype=np.bool_)
    labels[alignment.word[np.asarray(bad, dtype=np.bool_)[alignment.token]]] = True
    return labels, known


def carry_scores(alignment: Alignment, scores: Floats, how: How = "mean") -> Floats:
    """Scores of m tokens as scores of n words, NaN for words that are linked to no token.

    how: of the linked tokens' scores the mean weighted by shared characters, the sum, the smallest or the largest. A
    token that is divided between several words gives each of them its whole score.
    Raises ValueError for another number of scores than of tokens, ConfigError for an unknown way.
    """
    known = _known(alignment, len(scores))
    if how not in get_args(How):
        raise ConfigError("scores of several tokens: " + unknown("way", how, get_args(How)))
    values = np.asarray(scores, dtype=np.float64)[alignment.token]
    if how in ("min", "max"):
        carried = np.full(alignment.words, np.inf if how == "min" else -np.inf)
        (np.minimum if how == "min" else np.maximum).at(carried, alignment.word, values)
    else:
        weights = alignment.shared.astype(np.float64) if how == "mean" else np.ones(len(values))
        carried = np.bincount(alignment.word, weights * values, minlength=alignment.words).astype(np.float64)
        if how == "mean":
            carried[known] /= np.bincount(alignment.word, weights, minlength=alignment.words)[known]
    carried[~known] = np.nan
    return carried


def _known(alignment: Alignment, count: int) -> NDArray[np.bool_]:
    """bool[n] whether a word is linked to a token. Raises ValueError unless there are `count` tokens."""
    if count != alignment.tokens:
        raise ValueError(f"{count} values for {alignment.tokens} tokens")
    known = np.zeros(alignment.words, dtype=np.bool_)
    known[alignment.word] = True
    return known


@dataclass(frozen=True, eq=False)
class Carried:
    """Tags of N texts carried to the words that were scored.

    labels: of the scored words; known: bool[total], false for words that no tag was carried to, whose label is OK by
    default and must not count. alignments: of the N texts. lost: (text, token) of tokens with a tag that share no
    character with the scored text; untagged: (text, word) of scored words that are not empty and have no tag.
    differing: texts whose characters are not the same on both sides.
    """

    labels: Labels
    known: NDArray[np.bool_]
    alignments: tuple[Alignment, ...]
    lost: tuple[tuple[int, int], ...]
    untagged: tuple[tuple[int, int], ...]
    differing: tuple[int, ...]

    def only_known(self, attributions: Ragged) -> tuple[Labels, Ragged]:
        """Labels, and attributions of the scored words, without the words whose label is not known."""
        kept = Labels(self.known, self.labels.offsets)
        offsets = np.concatenate([[0], np.cumsum([int(row.sum()) for row in kept.rows()])]).astype(np.int64)
        return Labels(self.labels.bad[self.known], offsets), Ragged(attributions.values[self.known], offsets)


def carry_tags(tags: WordTags, words: Sequence[Sequence[str]]) -> Carried:
    """The tags of N texts on the words of the same texts as they were scored.

    Raises ValueError for another number of texts.
    """
    alignments = tuple(align(own, scored) for own, scored in zip(tags.words, words, strict=True))
    rows = [carry_labels(one, tags.labels[row]) for row, one in enumerate(alignments)]
    known = Labels.from_rows(known for _, known in rows)
    untagged = tuple(
        (row, place) for row, one in enumerate(alignments) for place in one.words_without if words[row][place].strip()
    )
    return Carried(
        labels=Labels.from_rows(bad for bad, _ in rows),
        known=known.bad,
        alignments=alignments,
        lost=tuple((row, place) for row, one in enumerate(alignments) for place in one.tokens_without),
        untagged=untagged,
        differing=tuple(row for row, one in enumerate(alignments) if not one.exact),
    )
