"""Words of a text, and statistics of a text by its words: length, frequency, style.

Words are separated by single spaces, or by the rules of Unicode.

Chinese, Japanese, Thai and Khmer are written without spaces between words: split at spaces, a sentence is a few
"words", and attributions to them mean nothing. Boundaries by Unicode Standard Annex 29 need a dictionary or a model
for these scripts, which ICU has; without ICU, their characters are taken one by one. The engine is part of the
segmentation's identity, because other words are other attributions.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from bmx_grid.core.errors import ConfigError, UnavailableError, unknown
from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.words.perturbation import BLANK, Role

Name = Literal["whitespace", "unicode"]
Engine = Literal["auto", "icu", "characters"]
INSTALL = 'words=unicode with the engine "icu" needs icu4py; install it with: pip install "icu4py>=1.2"'

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

WordTuple = tuple[str, ...]


def split_words(text: str) -> tuple[str, ...]:
    """Words of `text`; the empty text has none."""
    return tuple(text.split(" ")) if text else ()


@dataclass(frozen=True)
class Segmentation:
    """A rule for words. engine: the code that applies it, with its version if that changes results.

    pieces: divides a text into segments that join to it again, blanks included; punctuation marks are words of their
    own, white space is none. None: words are separated by single spaces, as in the paper (`split_words`), and runs
    of spaces give empty words.
    """

    engine: str
    pieces: Callable[[str], Iterable[str]] | None = None

    def words(self, text: str) -> WordTuple:
        """The words of a text, as `segment` has them; the gaps take longer than the words."""
        return split_words(text) if self.pieces is None else self.segment(text)[0]

    def segment(self, text: str) -> tuple[WordTuple, WordTuple]:
        """The n words of a text, and the n + 1 pieces of text before, between and after them: together the text.

        These gaps are blanks and zero-width spaces; often empty in scripts without spaces. The empty text has no
        words and one empty gap.
        """
        if self.pieces is None:
            split = split_words(text)
            if not split:
                return (), ("",)
            inner = [" "] * (len(split) - 1)
            return split, ("", *inner, "")
        words: list[str] = []
        gaps = [""]
        for piece in self.pieces(text):
            if BLANK.sub("", piece):
                words.append(piece)
                gaps.append("")
            else:
                gaps[-1] += piece
        return tuple(words), tuple(gaps)


def segmentation(name: Name = "whitespace", language: str = "", engine: Engine = "auto") -> Segmentation:
    """The segmentation of this name.

    language: of the text ("ja", "zh"), for rules that differ between languages; "" for none. engine, of words=unicode:
    "icu", with dictionaries for Chinese, Japanese, Thai, Khmer, Lao and Burmese; "characters", the same rules, in which
    letters of scripts without spaces are words one by one (each with its marks; runs of katakana stay together);
    "auto", icu if it is installed. `Segmentation.engine` names the engine used.
    Raises ConfigError for an unknown name, UnavailableError if icu is requested and not installed.
    """
    if name not in get_args(Name):
        raise ConfigError("words: " + unknown("segmentation", name, get_args(Name)))
    if name == "whitespace":
        return Segmentation("single spaces")
    if engine != "characters":
        try:
            return _icu(language)
        except ImportError as error:
            if engine == "icu":
                raise UnavailableError(f"{INSTALL}.") from error
    from importlib import metadata

    import regex

    # WORD: boundaries by Annex 29; scripts without spaces break everywhere. V1: splits between neighbours too.
    boundary = regex.compile(r"\b", regex.WORD | regex.V1)
    version = metadata.version("regex")
    return Segmentation(f"characters (regex {version})", boundary.split)


def _icu(language: str) -> Segmentation:
    from importlib import metadata

    from icu4py.breakers import WordBreaker

    locale = language or "root"
    version = metadata.version("icu4py")

    # Iterated: `segments()` counts UTF-16 units, not characters.
    def pieces(text: str) -> Iterable[str]:
        return WordBreaker(text, locale)

    return Segmentation(f"icu4py {version} ({locale})", pieces)


@dataclass(frozen=True)
class PairWords:
    """How the texts of a language pair are segmented; small and picklable, unlike the segmentations themselves.

    source, target: language codes, for rules that differ between languages.
    """

    name: Name = "whitespace"
    engine: Engine = "auto"
    source: str = ""
    target: str = ""

    @classmethod
    def from_name(cls, name: Name, language_pair: str) -> PairWords:
        """The segmentation of this name for "en-ja", the same for every pair if languages do not matter.

        The engine is chosen now, so that every process takes the same one. Raises ConfigError for an unknown name.
        """
        if name == "whitespace":
            return cls()
        if segmentation(name).engine.startswith("icu"):
            source, _, target = language_pair.partition("-")
            return cls(name, "icu", source, target)
        # Without dictionaries the rules are those of all languages.
        return cls(name, "characters")

    @property
    def plain(self) -> bool:
        """Whether words are separated by single spaces, as in the paper."""
        return self.name == "whitespace"

    def segmentation_of(self, role: Role) -> Segmentation:
        """The segmentation of the texts of a role. Raises UnavailableError where its engine is not installed."""
        language = self.source if role == "source" else self.target
        return _known(self.name, language, self.engine)

    def words(self, role: Role, text: str) -> tuple[str, ...]:
        """The words of a text."""
        return self.segmentation_of(role).words(text)

    def rows(self, role: Role, texts: Iterable[str]) -> tuple[WordTuple, ...]:
        """The words of each text."""
        return tuple(map(self.segmentation_of(role).words, texts))

    def fingerprint(self) -> dict[str, object] | None:
        """The identity of the words of both languages; None for the paper's, so that cached results stay valid."""
        if self.plain:
            return None
        return {
            "source": {"words": self.name, "engine": self.segmentation_of("source").engine},
            "target": {"words": self.name, "engine": self.segmentation_of("hypothesis").engine},
        }


_known = functools.lru_cache(maxsize=64)(segmentation)
WHITESPACE = PairWords()


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


def _other_counts(rows: Sequence[Sequence[str]], clusters: Ints, form: Callable[[str], str]) -> Iterator[Ints]:
    """For each text int64[words] how often its words, in this form, occur in texts of other clusters."""
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
    ends = np.cumsum(lengths, dtype=np.int64)
    for length, end in zip(lengths, ends, strict=True):
        yield elsewhere[end - length : end]
