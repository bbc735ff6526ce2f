"""OK and BAD of words, and the error spans that they may come from.

Spans have a start and an end, the end excluded, counted in characters of the text from 0, as in xCOMET (Guerreiro et
al. 2024, TACL 12) and MQM. A word is BAD if any of its characters is inside a span.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from bmx_grid.core.errors import DataError, unknown
from bmx_grid.core.ragged import Floats, Labels, Ragged
from bmx_grid.core.wording import pluralize

Rows = tuple[tuple[str, ...], ...]
EOS = "<EOS>"  # the last token of every sentence in WMT22's word-level data
# Points of one error as in MQM (Freitag et al. 2021) for neutral to major, and 10 for critical as in later MQM data.
WEIGHTS: Mapping[str, float] = {"neutral": 0.0, "minor": 1.0, "major": 5.0, "critical": 10.0}
# Further names that publishers use.
SEVERITIES = {"undecided": "neutral", "trivial": "neutral"}


@dataclass(frozen=True, eq=False)
class WordTags:
    """Published tags of one side (source or hypothesis) of N segments.

    words: N rows of words as the publisher separated them, which need not be the words of the scored text
    (`carry_tags`). labels: a tag per word.
    category, severity: of the error that a word is part of, "" for OK; None if the publisher names none.
    Raises ValueError unless all have the same numbers of words: readers compare them first and name the file.
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
        """The tags of the rows, in their order."""
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
    """An external explanation's scores of the words of one side of N segments, on words of its own.

    words: N rows of words as the file separates them, `<EOS>` included if it has one. values: a score per word,
    low for a suspected error, NaN if the file has no score of the word or of its whole text; for labels -1 (BAD) and
    0 (OK). are_labels: whether they are labels.
    """

    words: Rows
    values: Ragged
    are_labels: bool

    def __len__(self) -> int:
        return len(self.words)

    @property
    def labels(self) -> Labels:
        """BAD for a value below 0. Raises ValueError for scores, which need a threshold."""
        if not self.are_labels:
            raise ValueError("scores have no labels without a threshold")
        return Labels(self.values.values < 0, self.values.offsets)


def _digest(rows: Sequence[Sequence[str]]) -> str:
    text = "\n".join("\0".join(row) for row in rows)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


@dataclass(frozen=True)
class ErrorSpan:
    """Characters start to end (excluded) of a text. severity: in lower case; category: "" if missing."""

    start: int
    end: int
    severity: str
    category: str = ""


def checked_span(
    start: Any, end: Any, severity: Any, where: str, text: str | None = None, category: Any = ""
) -> ErrorSpan:
    """One checked span. text: None if unknown. Raises DataError naming the row and the value."""
    name = str(severity).strip().lower()
    name = SEVERITIES.get(name, name)
    if name not in WEIGHTS:
        raise DataError(f"{where}: " + unknown("severity", str(severity)[:40], list(WEIGHTS)))
    try:
        # As texts, since int() would cut a fraction off.
        first = int(str(start))
        last = int(str(end))
    except ValueError as error:
        raise DataError(
            f"{where}: the span {start!r} to {end!r} has no whole numbers; count characters from 0."
        ) from error
    if not 0 <= first <= last:
        raise DataError(f"{where}: a span from {first} to {last}; its start must be 0 or more, and not after its end.")
    check_within(last, text, where)
    category_name = "" if category is None else str(category)
    return ErrorSpan(first, last, name, category_name)


def check_within(end: int, text: str | None, where: str) -> None:
    """Raise DataError for a span that ends beyond its text, if that is known."""
    if text is not None and end > len(text):
        raise DataError(
            f"{where}: a span ends at {end}, but the text has {pluralize(len(text), 'character')}: {text[:60]!r}; "
            "correct it, name the file of the texts, or skip such rows: extra=ignore."
        )


def severities(spans: Iterable[Sequence[ErrorSpan]]) -> Mapping[str, int]:
    """How many spans of each severity there are, and `omission` those without extent."""
    count: Counter[str] = Counter()
    for span in chain.from_iterable(spans):
        count[span.severity] += 1
        count["omission"] += span.start == span.end
    return count


UNTOUCHED = ErrorSpan(0, 0, severity="")  # in place of the span of a word that none touches


def tags_of_spans(
    texts: Sequence[str], spans: Sequence[Sequence[ErrorSpan]], words: Sequence[Sequence[str]]
) -> tuple[WordTags, Ragged]:
    """Tags of the words of N texts, and their scores: minus the weight of a word's heaviest span, 0 outside all.

    Category and severity are those of the heaviest span, of equally heavy ones the first. Spans that touch no word
    (empty ones, which mark an omission, and blanks) are ignored. words: of each text, in order.
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
        # A span touches a word if they share at least one character.
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
    weighed = [(span.start, span.end, span) for span in spans if span.start < span.end]
    heaviest: list[ErrorSpan] = []
    end = 0
    for word in words:
        # From the end of the word before: a word that occurs twice is found at its own place.
        start = text.index(word, end)
        end = start + len(word)
        touching = [span for first, last, span in weighed if first < end and start < last]
        # Of equally heavy ones the first.
        span = max(touching, key=lambda span: WEIGHTS[span.severity]) if touching else UNTOUCHED
        heaviest.append(span)
    return heaviest
