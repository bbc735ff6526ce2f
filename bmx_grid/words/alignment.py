"""How tags and scores get from one tokenisation of a text to another.

Publishers give tags to tokens (Moses tokens, escaped entities, sub-words, split Latin words), and metrics score texts
whose words are separated otherwise. Both are the same characters in the same order, apart from blanks. If they are
not, the characters that differ are counted and the words that have none in common with the other side are named;
no tag or score moves to a neighbour.
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
from typing import Literal, get_args

import numpy as np

from bmx_grid.core.errors import ConfigError, unknown
from bmx_grid.core.ragged import Flags, Floats, Ints, Labels, Ragged
from bmx_grid.words.perturbation import BLANK
from bmx_grid.words.tags import WordTags

How = Literal["mean", "sum", "min", "max"]
ENTITY = re.compile(r"&(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});")
HYPHEN = "@-@"  # the Moses tokeniser's hyphen inside a word


@dataclass(frozen=True, eq=False)
class Alignment:
    """Which of m tokens of one tokenisation share characters with which of n words of another.

    token, word: int64[L], one entry per linked pair, in order; shared: int64[L] the characters that they share.
    tokens, words: m and n. differing: characters of either side that the other lacks.
    replaced: punctuation marks and symbols that were matched by their place only, as the same number of other
    signs is between matching characters (one quotation mark for another).
    """

    token: Ints
    word: Ints
    shared: Ints
    tokens: int
    words: int
    differing: int
    replaced: int

    @property
    def exact(self) -> bool:
        """Whether both sides have the same characters."""
        return self.differing == 0 and self.replaced == 0

    @property
    def tokens_without(self) -> list[int]:
        """The tokens that are linked to no word."""
        return sorted(set(range(self.tokens)) - set(self.token.tolist()))

    @property
    def words_without(self) -> list[int]:
        """The words that are linked to no token, the empty ones between two blanks among them."""
        return sorted(set(range(self.words)) - set(self.word.tolist()))


def align(tokens: Sequence[str], words: Sequence[str]) -> Alignment:
    """Match the characters of two tokenisations of a text, in order.

    Blanks and zero-width spaces do not count. If the sides do not agree as they are, entities (`&quot;`) are taken
    as the character they encode and `@-@` as a hyphen, of the tokens, of the words or of both; characters of
    equal compatibility form (NFKC) match.
    Characters that one side lacks are found as by `difflib`, the longest common run first.
    """
    # A text may hold "&amp;" itself: as they are first, then the entities of one side, of the other, of both. Where
    # none agrees, the characters are compared in the last form.
    for unescape_tokens, unescape_words in ((False, False), (True, False), (False, True), (True, True)):
        left = [_fold_word(token, unescape_tokens) for token in tokens]
        right = [_fold_word(word, unescape_words) for word in words]
        if "".join(left) == "".join(right):
            break
    shared, replaced = _match_characters(left, right)
    matched = sum(shared.values())
    characters = sum(map(len, left)) + sum(map(len, right))
    # Pairs come in order: both texts are read from left to right.
    return Alignment(
        token=np.array([token for token, _ in shared], dtype=np.int64),
        word=np.array([word for _, word in shared], dtype=np.int64),
        shared=np.array(list(shared.values()), dtype=np.int64),
        tokens=len(tokens),
        words=len(words),
        differing=characters - 2 * matched,
        replaced=replaced,
    )


# Kept, as words come again and again.
@functools.lru_cache(maxsize=2**16)
def _fold_word(word: str, unescape: bool) -> str:
    """The characters of a word that are compared, in their compatibility form."""
    text = BLANK.sub("", word)
    if unescape and text == HYPHEN:
        text = "-"
    elif unescape:
        text = ENTITY.sub(_character, text)
    return unicodedata.normalize("NFKC", text)


def _character(entity: re.Match[str]) -> str:
    return html.unescape(entity.group())


def _match_characters(left: Sequence[str], right: Sequence[str]) -> tuple[dict[tuple[int, int], int], int]:
    """By token and word the number of matched characters, and the number of pairs that were replaced one by one."""
    token_of = _places_of_characters(left)
    word_of = _places_of_characters(right)
    first_text = "".join(left)
    second_text = "".join(right)
    if first_text == second_text:
        return Counter(zip(token_of, word_of, strict=True)), 0
    shared: Counter[tuple[int, int]] = Counter()
    replaced = 0
    # autojunk would treat the frequent characters of a text of 200 or more as noise and not match them
    matcher = difflib.SequenceMatcher(None, first_text, second_text, autojunk=False)
    for kind, first, last, start, end in matcher.get_opcodes():
        is_replaced = False
        if kind == "replace":
            left = first_text[first:last]
            right = second_text[start:end]
            # As many characters, without letters and digits.
            is_replaced = len(left) == len(right) and not any(map(str.isalnum, left + right))
        if is_replaced:
            replaced += last - first
        if is_replaced or kind == "equal":
            shared.update(zip(token_of[first:last], word_of[start:end], strict=True))
    return shared, replaced


def _places_of_characters(words: Sequence[str]) -> list[int]:
    """The word that each character of the words is in."""
    places: list[int] = []
    for place, word in enumerate(words):
        places += [place] * len(word)
    return places


def carry_labels(alignment: Alignment, bad: Flags) -> tuple[Flags, Flags]:
    """Labels of m tokens as labels of n words: a word is BAD if any token that it shares characters with is.

    Returns bool[n] labels and bool[n] whether a word's label is known: it is linked to a token.
    Raises ValueError for another number of labels than of tokens.
    """
    highest = carry_scores(alignment, np.asarray(bad, dtype=np.float64), "max")
    return highest > 0, ~np.isnan(highest)


def carry_scores(alignment: Alignment, scores: Floats, how: How = "mean") -> Floats:
    """Scores of m tokens as scores of n words, NaN for words that are linked to no token.

    how: of the linked tokens' scores the mean weighted by shared characters, the sum, the smallest or the largest. A
    token that is divided between several words passes its whole score to every word.
    Raises ValueError for another number of scores than of tokens, ConfigError for an unknown way.
    """
    if len(scores) != alignment.tokens:
        raise ValueError(f"{len(scores)} values for {alignment.tokens} tokens")
    if how not in get_args(How):
        raise ConfigError("scores of several tokens: " + unknown("way", how, get_args(How)))
    # One value per linked pair: a token of several words occurs several times.
    values = np.asarray(scores, dtype=np.float64)[alignment.token]
    word = alignment.word
    count = alignment.words
    known = np.bincount(word, minlength=count) > 0
    if how == "min":
        carried = np.full(count, np.inf)
        np.minimum.at(carried, word, values)
    elif how == "max":
        carried = np.full(count, -np.inf)
        np.maximum.at(carried, word, values)
    elif how == "sum":
        carried = _sums(word, values, count)
    else:
        weights = alignment.shared.astype(np.float64)
        carried = _sums(word, weights * values, count)
        carried[known] /= _sums(word, weights, count)[known]
    carried[~known] = np.nan
    return carried


def _sums(word: Ints, values: Floats, count: int) -> Floats:
    """float64[count] the sum of the values of each word."""
    # Of no pairs at all bincount counts in integers.
    return np.bincount(word, values, minlength=count).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Carried:
    """Tags of N texts carried to the words that were scored.

    labels: of the scored words; known: bool[total], false for words that no tag was carried to, whose label is OK by
    default and must not count. lost: (text, token) of tokens with a tag that share no
    character with the scored text; untagged: (text, word) of scored words that are not empty and have no tag.
    differing: texts whose characters are not the same on both sides.
    """

    labels: Labels
    known: Flags
    lost: tuple[tuple[int, int], ...]
    untagged: tuple[tuple[int, int], ...]
    differing: tuple[int, ...]

    def only_known(self, attributions: Ragged) -> tuple[Labels, Ragged]:
        """Labels, and attributions of the scored words, without the words whose label is not known."""
        # How many known words come before each word: the new offsets are those at the old ones.
        before = np.concatenate([[0], np.cumsum(self.known)]).astype(np.int64)
        offsets = before[self.labels.offsets]
        labels = Labels(self.labels.bad[self.known], offsets)
        return labels, Ragged(attributions.values[self.known], offsets)


def carry_tags(tags: WordTags, words: Sequence[Sequence[str]]) -> Carried:
    """The tags of N texts on the words of the same texts as they were scored.

    Raises ValueError for another number of texts.
    """
    labels: list[Flags] = []
    known: list[Flags] = []
    lost: list[tuple[int, int]] = []
    untagged: list[tuple[int, int]] = []
    differing: list[int] = []
    for row, (tokens, scored) in enumerate(zip(tags.words, words, strict=True)):
        alignment = align(tokens, scored)
        bad, is_known = carry_labels(alignment, tags.labels[row])
        labels.append(bad)
        known.append(is_known)
        for token in alignment.tokens_without:
            lost.append((row, token))
        for word in alignment.words_without:
            # The empty word between two spaces has no tag.
            if scored[word].strip():
                untagged.append((row, word))
        if not alignment.exact:
            differing.append(row)
    return Carried(
        labels=Labels.from_rows(labels),
        known=Labels.from_rows(known).bad,
        lost=tuple(lost),
        untagged=tuple(untagged),
        differing=tuple(differing),
    )
