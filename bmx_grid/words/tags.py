"""OK and BAD of words: labels of many texts as one flat array, and published tags with the words they were given to."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bmx_grid.core.ragged import Ragged, RaggedArray

Side = Literal["source", "reference", "hypothesis"]
Rows = tuple[tuple[str, ...], ...]
EOS = "<EOS>"  # the last token of every sentence in WMT22's word-level data


class Labels(RaggedArray[np.bool_]):
    """Labels of the words of N texts: true is BAD."""

    DTYPE = np.bool_

    @property
    def bad(self) -> NDArray[np.bool_]:
        """bool[total] the labels of all texts."""
        return self.values

    def row_of_word(self) -> NDArray[np.int64]:
        """int64[total] the text that each word belongs to."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def same_words(self, other: Labels) -> bool:
        """Whether both label the same numbers of words."""
        return np.array_equal(self.offsets, other.offsets)


@dataclass(frozen=True, eq=False)
class WordTags:
    """Published tags of one side (source or hypothesis) of N segments.

    words: N rows of words as the publisher separated them, which need not be the words of the scored text
    (`alignment` carries tags from one to the other). labels: a tag per word.
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

        def part(values: Rows | None) -> Rows | None:
            return None if values is None else tuple(values[row] for row in chosen)

        words = tuple(self.words[row] for row in chosen)
        labels = Labels.from_rows(self.labels[row] for row in chosen)
        return WordTags(words, labels, part(self.category), part(self.severity))

    def fingerprint(self) -> dict[str, object]:
        """SHA-256 of words, tags, categories and severities."""
        found: dict[str, object] = {
            "words": _digest(self.words),
            "tags": hashlib.sha256(self.labels.bad.tobytes()).hexdigest(),
        }
        for name, rows in (("category", self.category), ("severity", self.severity)):
            if rows is not None:
                found[name] = _digest(rows)
        return found


@dataclass(frozen=True, eq=False)
class WordScores:
    """What an explanation made elsewhere says of the words of one side of N segments, on words of its own.

    words: N rows of words as the file separates them, `<EOS>` among them where it has one. values: a score per word,
    low for a suspected error, NaN where the file says nothing of the word or of its whole text; for labels -1 (BAD) and
    0 (OK). are_labels: whether they are labels.
    Raises ValueError unless both have the same numbers of words.
    """

    words: Rows
    values: Ragged
    are_labels: bool

    def __post_init__(self) -> None:
        if [len(row) for row in self.words] != self.values.lengths.tolist():
            raise ValueError("word scores and their words must have the same numbers")

    def __len__(self) -> int:
        return len(self.words)

    @property
    def labels(self) -> Labels:
        """BAD where a value is below 0. Raises ValueError for scores, which need a threshold."""
        if not self.are_labels:
            raise ValueError("scores have no labels without a threshold")
        return Labels(self.values.values < 0, self.values.offsets)


def sums_by_text(values: ArrayLike, text: NDArray[np.int64], count: int) -> NDArray[np.float64]:
    """float64[count] the sum of the values of each text; text: the number of the text that each value belongs to."""
    return np.bincount(text, np.asarray(values, dtype=np.float64), minlength=count).astype(np.float64)


def _digest(rows: Sequence[Sequence[str]]) -> str:
    text = "\n".join("\0".join(row) for row in rows)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
