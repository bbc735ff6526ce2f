"""Token probabilities of the translation systems of MLQE-PE 2020: log-probabilities of sub-words.

Fomicheva et al.: Unsupervised Quality Estimation for Neural Machine Translation, TACL 2020. The archive of direct
assessments holds, in the order of the sentences, `word-probas/mt` (the output as sub-words: pieces that end in `@@`
continue in the next one, or pieces of SentencePiece, of which `▁` begins a word) and `word-probas/word_probas` (a
log-probability per piece, and one more for the end of the sentence).
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.errors import DataError
from bmx_grid.core.ragged import Ragged
from bmx_grid.datasets.lines import check_aligned, finite_or_nan, read_archive
from bmx_grid.words.alignment import ENTITY, HYPHEN, Alignment, How, align, carry_scores
from bmx_grid.words.tags import Rows

Floats = NDArray[np.float64]

CONTINUED = "@@"
BEGINS = "▁"
END = "</s>"  # the name of the end symbol


@dataclass(frozen=True, eq=False)
class SubWords:
    """The output of a system for N sentences.

    pieces: sub-words as written in the file; log_probabilities: one per piece; end: float64[N] of the end symbol.
    """

    pieces: Rows
    log_probabilities: Ragged
    end: Floats

    def take(self, rows: Sequence[int]) -> SubWords:
        """The sub-words of these sentences, in their order."""
        kept = Ragged.from_rows(self.log_probabilities[row] for row in rows)
        return SubWords(tuple(self.pieces[row] for row in rows), kept, self.end[list(rows)])

    def with_end(self) -> tuple[Rows, Ragged]:
        """Pieces and log-probabilities with the end symbol as the last piece of every sentence."""
        pieces = tuple((*own, END) for own in self.pieces)
        rows = zip(self.log_probabilities.rows(), self.end.tolist(), strict=True)
        return pieces, Ragged.from_rows(np.append(own, end) for own, end in rows)


def read_sub_words(archive: Path, language_pair: str) -> SubWords:
    """The sub-words of a pair's archive of direct assessments.

    Raises DataError naming file, line and both counts where there is not one value more than sub-words, and for a
    value that is not a number.
    """
    pair = language_pair.replace("-", "")
    names = (f"mt.test20.{pair}", f"word_probas.test20.{pair}")
    files = read_archive(archive, names)
    where = f"{archive}:{names[1]}"
    check_aligned({f"{archive}:{name}": files[name] for name in names})
    pieces = tuple(tuple(line.split()) for line in files[names[0]])
    rows, ends = [], []
    for row, (line, own) in enumerate(zip(files[names[1]], pieces, strict=True), start=1):
        values = [finite_or_nan(text) for text in line.split()]
        if len(values) != len(own) + 1 or np.isnan(values).any():
            raise DataError(
                f"{where}, line {row}: expected {len(own) + 1} log-probabilities, one per sub-word of {names[0]} and "
                f"one for the end of the sentence, got {line[:80]!r}; download the archive again."
            )
        rows.append(np.array(values[:-1]))
        ends.append(values[-1])
    return SubWords(pieces, Ragged.from_rows(rows), np.array(ends))


def word_probabilities(
    sub_words: SubWords, words: Sequence[Sequence[str]], how: How = "sum"
) -> tuple[Ragged, list[int]]:
    """The log-probabilities of the words of N texts, from those of the sub-words that share characters with them.

    They are low for a suspected error, as attributions are; a sub-word that is part of more than one word counts in
    each. Beside them the sentences whose sub-words are not the characters of the text, which was translated again
    (punctuation aside, which some texts lost): all of their words have NaN.

    words: of the same texts, however they are separated: tokens of `test20.mt`, or the words of the translation as it
    was scored. how: over the sub-words of a word, the sum (the probability of the whole word), the mean, the smallest
    (its least probable part) or the largest. Pieces without characters of their own count with the word they belong
    to: a separate `▁` with what follows it, the pieces of an entity (`&#@@ 124@@ ;`) with each other. The end symbol
    belongs to no word. Raises ValueError for another number of texts.
    """
    rows, other = [], []
    for row, (pieces, own) in enumerate(zip(sub_words.pieces, words, strict=True)):
        units, members = _units(pieces)
        by_unit = align(units, own)
        if not by_unit.exact and _letters(units) != _letters(own):
            other.append(row)
            rows.append(np.full(len(own), np.nan))
            continue
        by_piece = _expanded(by_unit, members, len(pieces))
        rows.append(carry_scores(by_piece, sub_words.log_probabilities[row], how))
    return Ragged.from_rows(rows), other


def _letters(words: Sequence[str]) -> str:
    """All characters but punctuation, symbols and blanks: some texts lost their quotation marks."""
    text = unicodedata.normalize("NFKC", html.unescape("".join(words)))
    return "".join(sign for sign in text if unicodedata.category(sign)[0] not in "PSZC")


def _units(pieces: Sequence[str]) -> tuple[list[str], list[list[int]]]:
    """Texts without the marks of sub-words, and the pieces that each is made of: those of one entity together."""
    if any(BEGINS in piece for piece in pieces):
        members = _with_what_follows([piece.replace(BEGINS, "") for piece in pieces])
        return ["".join(pieces[place] for place in unit).replace(BEGINS, "") for unit in members], members
    members, first = [], 0
    for place, piece in enumerate(pieces):
        if not piece.endswith(CONTINUED) or place == len(pieces) - 1:
            word = [part.removesuffix(CONTINUED) for part in pieces[first : place + 1]]
            members += [[first + part for part in group] for group in _groups(word)]
            first = place + 1
    return ["".join(pieces[place].removesuffix(CONTINUED) for place in unit) for unit in members], members


def _groups(parts: list[str]) -> list[list[int]]:
    """The parts of one word, those that an entity is spread over in one group; the whole word if it is `@-@`."""
    word, ends = "".join(parts), list(accumulate(map(len, parts)))
    joined = {end for end in ends[:-1] for found in ENTITY.finditer(word) if found.start() < end < found.end()}
    groups: list[list[int]] = [[0]]
    for place in range(1, len(parts)):
        if word == HYPHEN or ends[place - 1] in joined:
            groups[-1].append(place)
        else:
            groups.append([place])
    return groups


def _with_what_follows(texts: Sequence[str]) -> list[list[int]]:
    """Places in groups: those without a text with the next one that has some."""
    groups: list[list[int]] = [[]]
    for place, text in enumerate(texts):
        groups[-1].append(place)
        if text and place < len(texts) - 1:
            groups.append([])
    return groups


def _expanded(by_unit: Alignment, members: list[list[int]], pieces: int) -> Alignment:
    """Links of units as links of the pieces in them, each counting once."""
    units = zip(by_unit.token.tolist(), by_unit.word.tolist(), strict=True)
    links = np.array(sorted((piece, word) for unit, word in units for piece in members[unit]), dtype=np.int64)
    token, word = links.reshape(-1, 2).T
    without = tuple(np.setdiff1d(np.arange(pieces), token).tolist())
    return replace(
        by_unit, token=token, word=word, shared=np.ones(len(token), np.int64), tokens=pieces, tokens_without=without
    )
