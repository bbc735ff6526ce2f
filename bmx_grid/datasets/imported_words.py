"""What a file made elsewhere says of words, carried from its own words to those that are scored.

Among these are the token probabilities of the translation systems of MLQE-PE 2020, log-probabilities of sub-words
(Fomicheva et al.: Unsupervised Quality Estimation for Neural Machine Translation, TACL 2020). The archive of direct
assessments holds, in the order of the sentences, `word-probas/mt` (the output as sub-words: pieces that end in `@@`
continue in the next one, or pieces of SentencePiece, of which `▁` begins a word) and `word-probas/word_probas` (a
log-probability per piece, and one more for the end of the sentence).
"""

from __future__ import annotations

import html
import unicodedata
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.errors import DataError, DataMissingError
from bmx_grid.core.ragged import Ragged
from bmx_grid.core.wording import counted
from bmx_grid.datasets.imported import FromFile, segment_rows
from bmx_grid.datasets.imported_files import ImportedFile
from bmx_grid.datasets.lines import check_aligned, finite_or_nan, read_archive
from bmx_grid.datasets.segments import SegmentSet
from bmx_grid.datasets.word_tags import parse_span, tags_of_spans
from bmx_grid.words.alignment import ENTITY, HYPHEN, Alignment, How, align, carry_scores
from bmx_grid.words.perturbation import Role
from bmx_grid.words.tags import EOS, Rows, WordScores
from bmx_grid.words.text import BLANK

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
SHOWN = 5  # words named in a warning
CONTINUED = "@@"
BEGINS = "▁"
END = "</s>"  # the name of the end symbol


@dataclass(frozen=True, eq=False)
class Matched:
    """What a file says of one side of N segments, on its own words and on those that are scored.

    words: of its own, low for a suspected error. attributed, attributions: the scored words that it says something of,
    and what; NaN for the segments in `refused`, which are not explained: their positions, and why.
    """

    words: WordScores | None
    attributed: Rows
    attributions: Ragged
    refused: dict[int, str]


def own_words(
    file: ImportedFile, role: Role, segments: SegmentSet, scored: Rows, option: FromFile, low_is_error: bool
) -> tuple[WordScores, dict[int, str]]:
    """What the file says of N texts on its own words, and the positions of those that are not explained.

    A file without words has a value per word of the published tags, or else per scored word; whichever fits all texts.
    Zero-width spaces that have a tag of their own may be left out. Error spans speak of the scored words.
    Raises DataError naming file, place and both counts where neither fits, and for what `segment_rows` refuses.
    """
    if "side" in file.rows:
        of_side = file.rows[file.rows.side == role].drop(columns="side")
        if of_side.empty:
            raise DataMissingError(f"{file.path} has no row of the {role}")
        file = ImportedFile(file.path, of_side, are_labels=file.are_labels)
    rows = segment_rows(file, segments, option)
    values: list[Any] = rows.value.tolist()
    tags = segments.judgements.tags.get(role)
    published = [] if tags is None else [tags.words, tuple(map(_without_blanks, tags.words))]
    if any(isinstance(value, list) for value in values):
        values, words = _of_spans(file, rows, segments.texts(role), scored), scored
    elif "words" in rows:
        words = tuple(rows.words)
        if file.are_labels and published and all(words):
            _check_published(file, rows, *published)
    else:
        words = _fitting(file, rows, [*published, scored])
    refused = {place: "it is not explained in the file" for place, value in enumerate(values) if value is None}
    words = tuple(scored[place] if place in refused and not line else line for place, line in enumerate(words))
    sign = 1.0 if low_is_error else -1.0
    signed = [
        np.full(len(line), np.nan) if value is None else sign * value + 0.0
        for value, line in zip(values, words, strict=True)
    ]
    return WordScores(words, Ragged.from_rows(signed), file.are_labels), refused


def _of_spans(file: ImportedFile, rows: pd.DataFrame, texts: Sequence[str], scored: Rows) -> list[Floats | None]:
    """Per text minus the weight of each scored word's heaviest span; None where the file does not explain it."""
    spans = [
        [parse_span(entry, text, f"{file.path}, {place}, span {number}") for number, entry in enumerate(value or (), 1)]
        for value, place, text in zip(rows.value, rows.place, texts, strict=True)
    ]
    _, scores = tags_of_spans(texts, spans, scored)
    return [None if value is None else scores[row] for row, value in enumerate(rows.value)]


def _without_blanks(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for word in words if BLANK.sub("", word))


def _check_published(file: ImportedFile, rows: pd.DataFrame, published: Rows, bare: Rows) -> None:
    """Raise DataError for labels of other words than the published tags'."""
    for words, place, *choices in zip(rows.words, rows.place, published, bare, strict=True):
        if words not in choices:
            raise DataError(
                f"{file.path}, {place}: the words {' '.join(words)[:60]!r} are not the {len(choices[0])} that have a "
                f"published tag, {' '.join(choices[0])[:60]!r}; give one label per word, or name the file of this "
                "language pair."
            )


def _fitting(file: ImportedFile, rows: pd.DataFrame, choices: Sequence[Rows]) -> Rows:
    """The first of the choices of words with as many as there are values, in every text."""
    problems = []
    for words in choices:
        counts = zip(rows.place, rows.value, words, strict=True)
        wrong = [
            (place, len(value), len(line))
            for place, value, line in counts
            if value is not None and len(value) != len(line)
        ]
        if not wrong:
            return words
        problems.append(wrong[0])
    place, values, there = problems[0]
    raise DataError(
        f"{file.path}, {place}: {counted(values, 'value')} for {counted(there, 'word')}; give one value per word, or "
        "the words as well."
    )


def carried(
    words: WordScores, scored: Rows, refused: dict[int, str], how: How, names: Sequence[str], where: str
) -> Matched:
    """The values of the file's words on the N texts' scored words that they share characters with.

    Scored words that no word of the file belongs to are left out, among them the empty words between two blanks; both
    these and words of the file without a counterpart are counted and named in a warning. `<EOS>` belongs to no text.
    A text that has less than half of its characters in common with its words gets no attributions.
    names: of the segments, for messages; where: the file. Raises DataError where most texts are such.
    """
    attributed, rows, lost, others = [], [], [], list[int]()
    for place, (tokens, line) in enumerate(zip(words.words, scored, strict=True)):
        values = words.values[place]
        if tokens and tokens[-1] == EOS and (not line or line[-1] != EOS):
            tokens, values = tokens[:-1], values[:-1]
        links = None if place in refused else align(tokens, line)
        if links is not None and links.differing > 2 * int(links.shared.sum()):
            others.append(place)
            if 2 * len(others) > len(scored):
                raise DataError(
                    f"{where}: the words of segment '{names[place]}' and of most others are not those of its text: "
                    f"{' '.join(tokens)[:60]!r}, not {' '.join(line)[:60]!r}; name the file of this language pair and "
                    "system."
                )
            links = None
        if links is None:
            attributed.append(line)
            rows.append(np.full(len(line), np.nan))
            continue
        scores = carry_scores(links, values, how)
        kept = np.isfinite(scores)
        attributed.append(tuple(word for word, known in zip(line, kept.tolist(), strict=True) if known))
        rows.append(scores[kept])
        left = [*(tokens[token] for token in links.tokens_without), *(line[word] for word in np.flatnonzero(~kept))]
        lost += [(place, word) for word in _without_blanks(left)]
    if lost:
        some = ", ".join(f"{word!r} of '{names[place]}'" for place, word in lost[:SHOWN])
        warnings.warn(
            f"{where}: of {counted(len({place for place, _ in lost}), 'segment')}, {counted(len(lost), 'word')} "
            "without a counterpart in the other tokenisation left out: "
            f"{some}{', …' if len(lost) > SHOWN else ''}",
            stacklevel=2,
        )
    refused = refused | dict.fromkeys(others, "its words in the file are mostly not those of the text")
    return Matched(words, tuple(attributed), Ragged.from_rows(rows), dict(sorted(refused.items())))


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
