"""OK and BAD of words, and how tags and scores get from one tokenisation of a text to another.

Publishers give tags to tokens (Moses tokens, escaped entities, sub-words, split Latin words), and metrics score texts
whose words are separated otherwise. Both are the same characters in the same order, apart from blanks. Where they are
not, the characters that differ are counted and the words that have none in common with the other side are named;
nothing is moved to a neighbour.

Spans have a start and an end, the end excluded, counted in characters of the text from 0, as in xCOMET (Guerreiro et
al. 2024, TACL 12) and MQM. A word is BAD if any of its characters is inside a span.
"""

from __future__ import annotations

import difflib
import functools
import hashlib
import html
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from bmx_grid.core.errors import ConfigError, unknown
from bmx_grid.core.ragged import Flags, Floats, Ints, Labels, Ragged
from bmx_grid.words.perturbation import BLANK

How = Literal["mean", "sum", "min", "max"]
Rows = tuple[tuple[str, ...], ...]
EOS = "<EOS>"  # the last token of every sentence in WMT22's word-level data
ENTITY = re.compile(r"&(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});")
HYPHEN = "@-@"  # the Moses tokeniser's hyphen inside a word
# Points of one error as in MQM (Freitag et al. 2021) for neutral to major, and 10 for critical as in later MQM data.
WEIGHTS: Mapping[str, float] = {"neutral": 0.0, "minor": 1.0, "major": 5.0, "critical": 10.0}


@dataclass(frozen=True, eq=False)
class WordTags:
    """Published tags of one side (source or hypothesis) of N segments.

    words: N rows of words as the publisher separated them, which need not be the words of the scored text
    (`carry_tags`). labels: a tag per word.
    category, severity: of the error that a word is part of, "" for OK; None where the publisher names none.
    Raises ValueError unless all have the same numbers of words: readers compare them first, where they know the file.
    """

    words: Rows
    labels: Labels
    category: Rows | None = None
    severity: Rows | None = None

    def __post_init__(self) -> None:
        counts = self.labels.lengths.tolist()
        for rows in (self.words, self.category, self.severity):
            if rows is not None and [len(row) for row in rows] != counts:
                raise ValueError("tags, words, categories and severities must have the same numbers of words")

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: Iterable[int]) -> WordTags:
        """The tags of these texts, in their order."""
        chosen = list(rows)
        words = tuple(self.words[row] for row in chosen)
        labels = Labels.from_rows(self.labels[row] for row in chosen)
        category = None
        severity = None
        if self.category is not None:
            category = tuple(self.category[row] for row in chosen)
        if self.severity is not None:
            severity = tuple(self.severity[row] for row in chosen)
        return WordTags(words, labels, category, severity)

    def fingerprint(self) -> dict[str, object]:
        """SHA-256 of words, tags, categories and severities."""
        tags = hashlib.sha256(self.labels.bad.tobytes()).hexdigest()
        digests: dict[str, object] = {"words": _digest(self.words), "tags": tags}
        if self.category is not None:
            digests["category"] = _digest(self.category)
        if self.severity is not None:
            digests["severity"] = _digest(self.severity)
        return digests


@dataclass(frozen=True, eq=False)
class WordScores:
    """What an explanation made elsewhere says of the words of one side of N segments, on words of its own.

    words: N rows of words as the file separates them, `<EOS>` among them where it has one. values: a score per word,
    low for a suspected error, NaN where the file says nothing of the word or of its whole text; for labels -1 (BAD) and
    0 (OK). are_labels: whether they are labels.
    """

    words: Rows
    values: Ragged
    are_labels: bool

    def __len__(self) -> int:
        return len(self.words)

    @property
    def labels(self) -> Labels:
        """BAD where a value is below 0. Raises ValueError for scores, which need a threshold."""
        if not self.are_labels:
            raise ValueError("scores have no labels without a threshold")
        return Labels(self.values.values < 0, self.values.offsets)


def _digest(rows: Sequence[Sequence[str]]) -> str:
    text = "\n".join("\0".join(row) for row in rows)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


@dataclass(frozen=True)
class ErrorSpan:
    """Characters start to end (excluded) of a text. severity: in lower case; category: "" where none is given."""

    start: int
    end: int
    severity: str
    category: str = ""


UNTOUCHED = ErrorSpan(0, 0, severity="")  # in place of the span of a word that none touches


def tags_of_spans(
    texts: Sequence[str], spans: Sequence[Sequence[ErrorSpan]], words: Sequence[Sequence[str]]
) -> tuple[WordTags, Ragged]:
    """Tags of the words of N texts, and their scores: minus the weight of a word's heaviest span, 0 outside all.

    Category and severity are those of the heaviest span, of equally heavy ones the first. Spans that touch no word
    (empty ones, which mark an omission, and blanks) say nothing. words: of each text, in order.
    Raises KeyError for a severity without a weight, ValueError for words that are not in their text.
    """
    bad = []
    categories = []
    severities = []
    scores = []
    for text, spans_of_text, words_of_text in zip(texts, spans, words, strict=True):
        heaviest = _heaviest(text, spans_of_text, words_of_text)
        bad.append([span is not UNTOUCHED for span in heaviest])
        categories.append(tuple(span.category for span in heaviest))
        severities.append(tuple(span.severity for span in heaviest))
        scores.append([_score(span) for span in heaviest])
    rows = tuple(map(tuple, words))
    tags = WordTags(rows, Labels.from_rows(bad), tuple(categories), tuple(severities))
    return tags, Ragged.from_rows(scores)


def _score(span: ErrorSpan) -> float:
    """Minus the weight of the span that a word is in, 0 for UNTOUCHED."""
    if span is UNTOUCHED:
        return 0.0
    # 0.0 minus, so that an error without weight scores 0.0 and not -0.0.
    return 0.0 - WEIGHTS[span.severity]


def shares_of_spans(
    text: str, spans: Sequence[ErrorSpan], words: Sequence[str], weights: Mapping[str, float] = WEIGHTS
) -> Floats:
    """float64[n + 1] minus the weights of spans by word, so that their sum counts each span once, however long it is.

    A span's weight is divided equally over the words that it touches. The last value is minus the weight of the spans
    that touch no word: omissions, and blanks. words: the n words of the text, in order.
    Raises KeyError for a severity without a weight, ValueError for a word that is not in its text.
    """
    count = len(words)
    shares = np.zeros(count + 1)
    if not spans:
        return shares
    starts = np.zeros(count, dtype=np.int64)
    ends = np.zeros(count, dtype=np.int64)
    end = 0
    for index, word in enumerate(words):
        start = text.index(word, end)
        end = start + len(word)
        starts[index] = start
        ends[index] = end
    for span in spans:
        # The part of each word that is in the span has a length above 0 where it touches.
        first = np.maximum(starts, span.start)
        last = np.minimum(ends, span.end)
        touched = np.flatnonzero(first < last)
        if len(touched) == 0:
            touched = np.array([count])
        shares[touched] -= weights[span.severity] / len(touched)
    return shares


def _heaviest(text: str, spans: Sequence[ErrorSpan], words: Sequence[str]) -> list[ErrorSpan]:
    """The heaviest span that touches each word, or UNTOUCHED. Raises ValueError for a word that is not in its text."""
    # Most texts have no span, and need no search for their words.
    if not spans:
        return [UNTOUCHED] * len(words)
    heaviest: list[ErrorSpan] = []
    end = 0
    for word in words:
        # From the end of the word before: a word that comes twice is found at its own place.
        start = text.index(word, end)
        end = start + len(word)
        touching = [span for span in spans if max(start, span.start) < min(end, span.end)]
        # Of equally heavy ones the first.
        span = max(touching, key=lambda span: WEIGHTS[span.severity], default=UNTOUCHED)
        heaviest.append(span)
    return heaviest


@dataclass(frozen=True, eq=False)
class Alignment:
    """Which of m tokens of one tokenisation share characters with which of n words of another.

    token, word: int64[L], one entry per linked pair, in order; shared: int64[L] the characters that they share.
    tokens, words: m and n. differing: characters of either side that the other lacks.
    replaced: punctuation marks and symbols that were matched by their place only, where the same number of others
    stands between matching characters (one quotation mark for another).
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

    Blanks and zero-width spaces do not count. Where the sides do not agree as they are, entities (`&quot;`) are taken
    as the character they stand for and `@-@` as a hyphen, of the tokens, of the words or of both; characters of
    equal compatibility form (NFKC) match.
    Characters that one side lacks are found as by `difflib`, the longest common run first.
    """
    # A text may hold "&amp;" itself: as they are first, then the entities of one side, of the other, of both. Where
    # none of these agrees, the characters are compared as in the last one.
    for unescape_tokens, unescape_words in ((False, False), (True, False), (False, True), (True, True)):
        left = [_folded(token, unescape_tokens) for token in tokens]
        right = [_folded(word, unescape_words) for word in words]
        if "".join(left) == "".join(right):
            break
    shared, replaced = _matched(left, right)
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
def _folded(word: str, unescape: bool) -> str:
    """The characters of a word that are compared, in their compatibility form."""
    text = BLANK.sub("", word)
    if unescape and text == HYPHEN:
        text = "-"
    elif unescape:
        text = ENTITY.sub(_character, text)
    return unicodedata.normalize("NFKC", text)


def _character(entity: re.Match[str]) -> str:
    """The character that an entity stands for."""
    return html.unescape(entity.group())


def _matched(left: Sequence[str], right: Sequence[str]) -> tuple[dict[tuple[int, int], int], int]:
    """By token and word how many characters were matched, and how many pairs of them were replaced one by one."""
    token_of = _places_of_characters(left)
    word_of = _places_of_characters(right)
    first_text = "".join(left)
    second_text = "".join(right)
    if first_text == second_text:
        return Counter(zip(token_of, word_of, strict=True)), 0
    shared: Counter[tuple[int, int]] = Counter()
    replaced = 0
    # autojunk would take the frequent characters of a text of 200 or more for noise, and match none of them
    matcher = difflib.SequenceMatcher(None, first_text, second_text, autojunk=False)
    for kind, first, last, start, end in matcher.get_opcodes():
        is_replaced = False
        if kind == "replace":
            is_replaced = _are_as_many_signs(first_text[first:last], second_text[start:end])
        if is_replaced:
            replaced += last - first
        if is_replaced or kind == "equal":
            shared.update(zip(token_of[first:last], word_of[start:end], strict=True))
    return shared, replaced


def _are_as_many_signs(left: str, right: str) -> bool:
    """Whether two texts have as many characters, none of them a letter or a digit."""
    return len(left) == len(right) and not any(map(str.isalnum, left + right))


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
    token that is divided between several words gives each of them its whole score.
    Raises ValueError for another number of scores than of tokens, ConfigError for an unknown way.
    """
    if len(scores) != alignment.tokens:
        raise ValueError(f"{len(scores)} values for {alignment.tokens} tokens")
    if how not in get_args(How):
        raise ConfigError("scores of several tokens: " + unknown("way", how, get_args(How)))
    # One value per linked pair: a token of several words stands there several times.
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
