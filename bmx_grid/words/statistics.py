"""What a text is like whatever it says: how long it is, how frequent its words are, and how it is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from bmx_grid.core.ragged import Floats, Ints

EDGES = re.compile(r"^\W+|\W+$")

PUNCTUATION = re.compile(r"[^\w\s]|_")
TEXT_STATISTICS = (
    "mean_log_frequency",
    "least_log_frequency",
    "sd_log_frequency",
    "share_unseen",
    "log_characters",
    "type_token_ratio",
    "punctuation",  # this and the following two: shares of the characters
    "digits",
    "capitals",
    "count_unseen",  # this and the following: logarithms of one more than a number
    "count_unique",  # of words with their punctuation that occur in no other text, whatever its cluster
    "count_digits",
)


def log_words(*counts: Ints | Floats) -> Floats:
    """float64[N, sides] the natural logarithm of int64[N] words of each side; an empty side counts as one word."""
    words = np.maximum(np.column_stack(counts), 1)
    return np.log(words.astype(np.float64))


def text_statistics(rows: Sequence[Sequence[str]], clusters: Ints) -> Floats:
    """float64[N, 12] TEXT_STATISTICS of N texts, given by their words.

    How frequent a word is, is counted in these texts without those of the own cluster, int64[N] codes: neither case nor
    punctuation at its ends counts. An empty text has zeros.
    """
    statistics = np.zeros((len(rows), len(TEXT_STATISTICS)))
    counts = _other_counts(rows, clusters, _bare)
    counts_in_texts = _other_counts(rows, np.arange(len(rows)), str.casefold)
    for row, (words, elsewhere, in_texts) in enumerate(zip(rows, counts, counts_in_texts, strict=True)):
        if not words:
            continue
        # Frequencies spread over powers of ten; a word that occurs nowhere else has 0.
        frequency = np.log1p(elsewhere)
        text = " ".join(words)
        # A text of one empty word has no character.
        length = max(len(text), 1)
        punctuation = len(PUNCTUATION.findall(text))
        digits = sum(map(str.isdigit, text))
        capitals = sum(map(str.isupper, text))
        # In the order of TEXT_STATISTICS.
        statistics[row] = [
            frequency.mean(),
            frequency.min(),
            frequency.std(),
            np.mean(elsewhere == 0),
            np.log(length),
            len(set(words)) / len(words),
            punctuation / length,
            digits / length,
            capitals / length,
            np.log1p(np.sum(elsewhere == 0)),
            np.log1p(np.sum(in_texts == 0)),
            np.log1p(digits),
        ]
    return statistics


def _bare(word: str) -> str:
    return EDGES.sub("", word.casefold()) or word


def _other_counts(rows: Sequence[Sequence[str]], clusters: Ints, form: Callable[[str], str]) -> list[Ints]:
    """For each text int64[words] how often each of its words, in this form, occurs in texts of other clusters."""
    if not rows:
        return []
    # Of words as they are compared, and of words as they are written: most occur often, and are folded once.
    number_of_bare: dict[str, int] = {}
    number_of: dict[str, int] = {}
    numbers: list[int] = []
    for row in rows:
        for word in row:
            if word not in number_of:
                bare = form(word)
                number_of[word] = number_of_bare.setdefault(bare, len(number_of_bare))
            numbers.append(number_of[word])
    number = np.array(numbers, dtype=np.int64)
    lengths = [len(row) for row in rows]
    # Cluster and word as one number, so that one sort counts the words of all clusters.
    in_cluster = np.repeat(clusters, lengths) * len(number_of_bare) + number
    _, place, count_in_cluster = np.unique(in_cluster, return_inverse=True, return_counts=True)
    elsewhere = np.bincount(number)[number] - count_in_cluster[place]
    # Cut at the end of each text but the last.
    return np.split(elsewhere, np.cumsum(lengths)[:-1])
