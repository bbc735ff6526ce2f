"""Words of a text, and statistics of a text by its words: length, frequency, style.

Words are separated by single spaces, or by the rules of Unicode.

Chinese, Japanese, Thai and Khmer are written without spaces between words: split at spaces, a sentence is a few
"words", and attributions to them mean nothing. Boundaries by Unicode Standard Annex 29 need a dictionary or a model
for these scripts, which ICU has; without ICU, their characters are taken one by one. The engine is part of the
segmentation's identity, because other words are other attributions.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from bmx_grid.core.errors import ConfigError, UnavailableError, unknown
from bmx_grid.core.ragged import Floats, Ints, sums_by_text
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
        return share_words(map(self.segmentation_of(role).words, texts))

    def fingerprint(self) -> dict[str, object] | None:
        """The identity of the words of both languages; None for the paper's, so that cached results stay valid."""
        if self.plain:
            return None
        return {
            "source": {"words": self.name, "engine": self.segmentation_of("source").engine},
            "target": {"words": self.name, "engine": self.segmentation_of("hypothesis").engine},
        }


def share_words(rows: Iterable[WordTuple]) -> tuple[WordTuple, ...]:
    """The same rows, in which equal words are one object: a million texts have many millions of words."""
    known: dict[str, str] = {}
    return tuple(tuple(map(known.setdefault, words, words)) for words in rows)


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
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    # Most words occur often: what only depends on the word is computed once.
    number_of: dict[str, int] = {}
    all_words = itertools.chain.from_iterable(rows)
    number = np.fromiter((number_of.setdefault(word, len(number_of)) for word in all_words), np.int64, lengths.sum())
    text = np.repeat(np.arange(len(rows)), lengths)
    elsewhere = _counts_elsewhere(_form_numbers(number_of, _bare)[number], np.repeat(clusters, lengths))
    in_texts = _counts_elsewhere(_form_numbers(number_of, str.casefold)[number], text)
    sums = functools.partial(sums_by_text, text=text, count=len(rows))
    characters, punctuation, digits, capitals = (sums(counts[number]) for counts in _character_counts(number_of))
    # A text of one empty word has no character.
    length = np.maximum(characters + lengths - 1, 1)
    different_words = np.unique(text * len(number_of) + number) // max(len(number_of), 1)
    unseen = sums(elsewhere == 0)
    filled = np.maximum(lengths, 1)
    # In the order of TEXT_STATISTICS.
    columns = [
        # Frequencies spread over powers of ten; a word that occurs nowhere else has 0.
        *_mean_least_deviation(np.log1p(elsewhere), lengths),
        unseen / filled,
        np.log(length),
        np.bincount(different_words, minlength=len(rows)) / filled,
        punctuation / length,
        digits / length,
        capitals / length,
        np.log1p(unseen),
        np.log1p(sums(in_texts == 0)),
        np.log1p(digits),
    ]
    return np.column_stack(columns)


def _bare(word: str) -> str:
    return EDGES.sub("", word.casefold()) or word


def _form_numbers(words: Iterable[str], form: Callable[[str], str]) -> Ints:
    """int64[V] a number for each of V words, equal for words of one form."""
    number_of: dict[str, int] = {}
    return np.array([number_of.setdefault(form(word), len(number_of)) for word in words], dtype=np.int64)


def _character_counts(words: Iterable[str]) -> Ints:
    """int64[4, V] characters, punctuation marks, digits and capitals of each of V words."""
    counts = [
        (len(word), len(PUNCTUATION.findall(word)), sum(map(str.isdigit, word)), sum(map(str.isupper, word)))
        for word in words
    ]
    return np.array(counts, dtype=np.int64).reshape(-1, 4).T


def _counts_elsewhere(number: Ints, cluster: Ints) -> Ints:
    """int64[total] how often the number of each word occurs in other clusters; both int64[total]."""
    # Cluster and number as one number, so that one sort counts the words of all clusters.
    in_cluster = cluster * (number.max(initial=0) + 1) + number
    _, place, count_in_cluster = np.unique(in_cluster, return_inverse=True, return_counts=True)
    return np.asarray(np.bincount(number)[number] - count_in_cluster[place])


def _mean_least_deviation(values: Floats, lengths: Ints) -> Floats:
    """float64[3, N] mean, least and standard deviation of each of N texts' values, 0 if it has none."""
    starts = np.cumsum(lengths) - lengths
    found = np.zeros((3, len(lengths)))
    # Texts of one length are one matrix.
    for length in np.unique(lengths[lengths > 0]):
        texts = np.flatnonzero(lengths == length)
        of_texts = values[starts[texts, None] + np.arange(length)]
        found[:, texts] = of_texts.mean(axis=1), of_texts.min(axis=1), of_texts.std(axis=1)
    return found
