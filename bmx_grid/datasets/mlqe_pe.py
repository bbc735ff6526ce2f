"""MLQE-PE: the 2020 test partition (seven pairs) and the test sets of WMT and of Eval4NLP 2021, without references.

Fomicheva et al.: MLQE-PE: A Multilingual Quality Estimation and Post-Editing Dataset, LREC 2022; Specia et al.:
Findings of the WMT 2021 Shared Task on Quality Estimation, WMT 2021 (nine pairs, two of them zero-shot); Fomicheva et
al.: The Eval4NLP Shared Task on Explainable Quality Estimation, Eval4NLP 2021 (four pairs). Words of source and
translation have tags, derived from post-edits, or made by people in Eval4NLP's.

The archive of direct assessments of 2020 also holds, in the order of the sentences, `word-probas/mt` (the output as
sub-words: pieces that end in `@@` continue in the next one, or pieces of SentencePiece, of which `▁` begins a word) and
`word-probas/word_probas` (a log-probability per piece, and one more for the end of the sentence; Fomicheva et al.:
Unsupervised Quality Estimation for Neural Machine Translation, TACL 2020).
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bmx_grid.core.errors import DataError
from bmx_grid.core.identity import identity
from bmx_grid.core.ragged import Floats, Labels, Ragged
from bmx_grid.datasets.archives import read_archive
from bmx_grid.datasets.base import Published, segments_from_lines
from bmx_grid.datasets.lines import (
    ZERO_ONE,
    check_aligned,
    finite,
    finite_or_nan,
    listed_tags,
    published_table,
    rows_of_tags,
    rows_of_words,
    tags_of_lines,
)
from bmx_grid.datasets.long_ratings import rating_matrix
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet
from bmx_grid.words.alignment import ENTITY, HYPHEN, Alignment, How, align, carry_scores
from bmx_grid.words.perturbation import Role
from bmx_grid.words.tags import Rows, WordTags

if TYPE_CHECKING:
    import pandas as pd

# Folders of the scores and of the tags.
KIND_FOLDERS = ("direct-assessments", "post-editing")
ZERO_SHOT = ("en-cs", "en-ja", "km-en", "ps-en")
MEMBERS21 = ("test21.src", "test21.mt", "test21.da")
TAGS21 = ("test21.src-tags", "test21.tgt-tags")
CONTINUED = "@@"
BEGINS = "▁"
# The name of the end symbol.
END = "</s>"
# Pieces of these characters count together.
JOINED = re.compile(rf"{ENTITY.pattern}|(?<!\S){HYPHEN}(?!\S)")
SIDES21: Mapping[Role, tuple[str, str]] = {"source": ("src", "source"), "hypothesis": ("mt", "mt")}


@dataclass(frozen=True, kw_only=True)
class MlqePe(Published):
    """Direct assessments: `z_mean`, the mean of the annotators' standardised scores, and `mean`, of the raw ones.

    Both have individual raters, six per segment and three in ru-en, in the published order. Ids are the first column.
    Words of source and translation have tags, derived from post-edits, if the archive of post-editing exists.

    skip: number of first segments of each pair to leave out, because something was chosen on them.

    Fields are not quoted although texts may begin with a quotation mark: read as quoted csv, every
    pair still has 1000 rows, but in twelve of them `z_mean` would silently be the model's score.
    """

    VERSION: ClassVar[int] = 2  # the raw scores and the individual raters were added
    PAIRS: ClassVar[tuple[str, ...]] = ("en-de", "en-zh", "et-en", "ne-en", "ro-en", "ru-en", "si-en")

    # At most 997 of 1000: a correlation needs three.
    skip: int = identity(0, added_later=True, least=0, most=997)

    def needs(self, language_pair: str) -> list[str]:
        """The archive of the pair, and that of its post-edits, without which the words have no tags."""
        return [f"mlqe-pe/data/{kind}/test/{language_pair}-test.tar.gz" for kind in KIND_FOLDERS]

    def _parse_segments(self, data_dir: Path, language_pair: str) -> SegmentSet:
        scores_path, tags_path = self.needs(language_pair)
        (archive,) = self.require(data_dir, [scores_path])
        rows, where = read_assessments(archive, language_pair)
        # By its place: the column is called `index`, and `segid` in ru-en.
        ids = rows.iloc[:, 0]
        scores = {name: finite(rows[name]) for name in ("z_mean", "mean")}
        # Lists as Python writes them, [91, 90.5].
        raters = {
            "z_mean": rating_matrix(map(json.loads, rows.z_scores)),
            "mean": rating_matrix(map(json.loads, rows.scores)),
        }
        tags: dict[Role, WordTags] = {}
        if (data_dir / tags_path).is_file():
            tags = mlqe_pe_test20_tags(data_dir / tags_path)
        judgements = Judgements(scores, raters, tags=tags)
        segments = tuple(map(Segment, ids, rows.translation, rows.original))
        everything = SegmentSet(self.name, language_pair, segments, judgements, where)
        if not self.skip:
            return everything
        return everything.take(range(self.skip, len(everything)))


@dataclass(frozen=True, kw_only=True)
class MlqePe21(Published):
    """Standardised direct assessments (`da`), higher is better. Ids are line numbers from 0.

    Words have tags, derived from post-edits; they belong to the tokenised texts.
    """

    PAIRS: ClassVar[tuple[str, ...]] = (*MlqePe.PAIRS, *ZERO_SHOT)

    def needs(self, language_pair: str) -> list[str]:
        """The archive of the pair."""
        folder = "zero-shot/" if language_pair in ZERO_SHOT else ""
        return [f"mlqe-pe/data/test21_goldlabels/{folder}{language_pair}-test21.tar.gz"]

    def _parse_segments(self, data_dir: Path, language_pair: str) -> SegmentSet:
        (archive,) = self.require(data_dir, self.needs(language_pair))
        sources, hypotheses, scores = read_archive(archive, MEMBERS21).values()
        segments = segments_from_lines(hypotheses, sources)
        tags = self._tags(archive, language_pair)
        judgements = Judgements({"da": finite(scores)}, tags=tags)
        return SegmentSet(self.name, language_pair, segments, judgements, str(archive))

    def _tags(self, archive: Path, language_pair: str) -> dict[Role, WordTags]:
        """A line per word of `test21.tok`. Raises DataError as `listed_tags`, ValueError for tags of other words."""
        tagged: dict[Role, WordTags] = {}
        for role, (ending, side) in SIDES21.items():
            text = f"test21.tok.{ending}"
            tags = f"task2_wordlevel_{ending}.tags"
            files = read_archive(archive, (text, tags))
            rows = listed_tags(files[tags], f"{archive}:{tags}", 1).sort_values("sentence")
            is_asked = (rows.language_pair == language_pair) & (rows.side == side)
            rows = rows[is_asked]
            words = rows_of_words(files[text])
            if tuple(rows.words) != words:
                raise ValueError(f"the words of {tags} are not those of {text}")
            tagged[role] = WordTags(words, Labels.from_rows(rows.bad))
        return tagged


@dataclass(frozen=True, kw_only=True)
class Eval4nlp21(MlqePe21):
    """Means (`da`) of raw 0 to 100 judgements of tokenised sentences. Words have tags, given by people.

    first: keep the first `first` segments of each pair; the paper's Table 1 has 1000 of each, the
        released pairs have 1000, 1000, 1180 and 1410. None keeps all.
    """

    PAIRS: ClassVar[tuple[str, ...]] = ("ro-en", "et-en", "ru-de", "de-zh")

    first: int | None = identity(None, least=1)

    def needs(self, language_pair: str) -> list[str]:
        """The archive of the pair."""
        return [f"SharedTask2021/data/test21/{language_pair}-test21.tar.gz"]

    def _parse_segments(self, data_dir: Path, language_pair: str) -> SegmentSet:
        return super()._parse_segments(data_dir, language_pair).head(self.first)

    def _tags(self, archive: Path, language_pair: str) -> dict[Role, WordTags]:
        files = read_archive(archive, MEMBERS21, TAGS21)
        if not all(files[name] for name in TAGS21):
            return {}
        return {
            "source": tags_of_lines(files["test21.src"], files["test21.src-tags"], ZERO_ONE),
            "hypothesis": tags_of_lines(files["test21.mt"], files["test21.tgt-tags"], ZERO_ONE),
        }


def read_assessments(archive: Path, language_pair: str) -> tuple[pd.DataFrame, str]:
    """The table of direct assessments of an archive of 2020, texts unchanged, and its path, for messages."""
    pair = language_pair.replace("-", "")
    member = f"test20.{pair}.df.short.tsv"
    where = f"{archive}:{member}"
    lines = read_archive(archive, [member])[member]
    return published_table(lines, where), where


def read_model_scores(archive: Path, language_pair: str) -> Floats:
    """float64[N] the translation system's own score of each sentence. Raises DataError if they are not published."""
    rows, where = read_assessments(archive, language_pair)
    try:
        return finite(rows["model_scores"])
    except (ValueError, LookupError) as error:
        raise DataError(f"{where}: holds no model_scores as published ({error}); download it again.") from error


def read_sub_words(archive: Path, language_pair: str) -> tuple[Rows, Ragged]:
    """The sub-words of a pair's sentences, END as the last one, and their log-probabilities.

    Raises DataError naming file, line and both counts unless a line has one value more than sub-words, and for a value
    that is not a number.
    """
    pair = language_pair.replace("-", "")
    pieces_name = f"mt.test20.{pair}"
    values_name = f"word_probas.test20.{pair}"
    files = read_archive(archive, (pieces_name, values_name))
    check_aligned({f"{archive}:{name}": lines for name, lines in files.items()})
    pieces: list[tuple[str, ...]] = []
    rows: list[list[float]] = []
    lines = zip(files[pieces_name], files[values_name], strict=True)
    for number, (text, written) in enumerate(lines, start=1):
        parts = (*text.split(), END)
        values = [finite_or_nan(value) for value in written.split()]
        if len(values) != len(parts) or np.isnan(values).any():
            raise DataError(
                f"{archive}:{values_name}, line {number}: expected {len(parts)} log-probabilities, one per sub-word of "
                f"{pieces_name} and one for the end of the sentence, got {written[:80]!r}; download the archive again."
            )
        pieces.append(parts)
        rows.append(values)
    return tuple(pieces), Ragged.from_rows(rows)


def word_probabilities(
    pieces: Sequence[Sequence[str]], log_probabilities: Ragged, words: Sequence[Sequence[str]], how: How = "sum"
) -> tuple[Ragged, list[int]]:
    """The log-probabilities of the words of N texts, from those of the sub-words that share characters with them.

    They are low for a suspected error, as attributions are; a sub-word that is part of several words counts in every
    one. Also returned: the sentences whose sub-words differ from the characters of the text, which was translated again
    (punctuation aside, which some texts lost): all their words have NaN.

    pieces, log_probabilities: of `read_sub_words`. words: of the same texts, in any tokenisation: tokens of
    `test20.mt`, or the words of the translation as it was scored. how: over the sub-words of a word, the sum (the
    probability of the whole word), the mean, the smallest (its least probable part) or the largest. Pieces without
    characters of their own count with the word they belong to. The end symbol belongs to no word. Raises
    ValueError for another number of texts.
    """
    rows = []
    others = []
    for row, (parts, line) in enumerate(zip(pieces, words, strict=True)):
        # Without the end symbol.
        units, unit_of_piece = _units(parts[:-1])
        by_unit = align(units, line)
        if not by_unit.exact and _letters(units) != _letters(line):
            others.append(row)
            rows.append(np.full(len(line), np.nan))
            continue
        by_piece = _align_pieces(by_unit, unit_of_piece)
        rows.append(carry_scores(by_piece, log_probabilities[row][:-1], how))
    return Ragged.from_rows(rows), others


def _align_pieces(by_unit: Alignment, unit_of_piece: Sequence[int]) -> Alignment:
    """The alignment of the pieces that units are made of: each is linked to all words of its unit."""
    is_of_link = np.array(unit_of_piece, dtype=np.int64)[:, None] == by_unit.token
    piece, link = np.nonzero(is_of_link)
    # In a mean the pieces of a word count alike, however many characters they have.
    shared = np.ones_like(piece)
    return replace(by_unit, token=piece, word=by_unit.word[link], shared=shared, tokens=len(unit_of_piece))


def _letters(words: Sequence[str]) -> str:
    """All characters but punctuation, symbols and blanks: some texts lost their quotation marks."""
    text = unicodedata.normalize("NFKC", html.unescape("".join(words)))
    # The first letter of a category is its class: punctuation, symbols, separators, and control characters.
    return "".join(sign for sign in text if unicodedata.category(sign)[0] not in "PSZC")


def _units(pieces: Sequence[str]) -> tuple[list[str], list[int]]:
    """The texts of the units that pieces make up, without marks, and the unit of each piece.

    A piece is a unit of its own but for those of one entity (`&#@@ 124@@ ;`), those of `@-@`, and a separate `▁`, which
    belongs to what follows it.
    """
    if any(BEGINS in piece for piece in pieces):
        texts = [piece.replace(BEGINS, "") for piece in pieces]
        # All but those behind a separate mark, whose text is empty.
        starts_unit = [before != "" for before in [None, *texts[:-1]]]
    else:
        texts = [piece.removesuffix(CONTINUED) for piece in pieces]
        starts_unit = _starts_of_units(pieces, texts)
    units: list[str] = []
    unit_of_piece = []
    for text, is_start in zip(texts, starts_unit, strict=True):
        if is_start:
            units.append("")
        units[-1] += text
        unit_of_piece.append(len(units) - 1)
    return units, unit_of_piece


def _starts_of_units(pieces: Sequence[str], texts: Sequence[str]) -> list[bool]:
    """Whether each piece that may be continued by `@@` starts a unit. texts: of the pieces, without the marks."""
    starts: list[int] = []
    sentence = ""
    for piece, text in zip(pieces, texts, strict=True):
        starts.append(len(sentence))
        sentence += text if piece.endswith(CONTINUED) else f"{text} "
    joined = [match.span() for match in JOINED.finditer(sentence)]
    starts_unit = []
    for start in starts:
        # A piece that starts inside a match continues the unit before it.
        is_inside = any(first < start < last for first, last in joined)
        starts_unit.append(not is_inside)
    return starts_unit


def mlqe_pe_test20_tags(archive: Path) -> dict[Role, WordTags]:
    """The tags of source and hypothesis of a pair's post-editing archive of 2020.

    `test20.tags` has 2n + 1 tags for n words: gap, word, gap, …, gap; tags of gaps are not read.
    """
    names = ("test20.src", "test20.source_tags", "test20.mt", "test20.tags")
    sources, source_tags, hypotheses, tags = read_archive(archive, names).values()
    # Every second one, from the first word on.
    labels = Labels.from_rows(row[1::2] for row in rows_of_tags(tags))
    return {
        "source": tags_of_lines(sources, source_tags),
        "hypothesis": WordTags(rows_of_words(hypotheses), labels),
    }
