"""ACES (Amrhein et al. 2022) and SPAN-ACES (Moghe et al. 2024): a good translation and one with an error.

The data are CC BY-NC-SA 4.0 and never in this package: users download them (docs/how-to/use_contrastive_pairs.md).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from bmx_grid.core.errors import DataError
from bmx_grid.core.identity import identity
from bmx_grid.core.ragged import Labels
from bmx_grid.core.wording import pluralize
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet
from bmx_grid.datasets.table_file import TableFile
from bmx_grid.datasets.tables import open_table
from bmx_grid.words.perturbation import Role
from bmx_grid.words.segmentation import split_words
from bmx_grid.words.tags import ErrorSpan, WordTags, tags_of_spans

COLUMNS = ("source", "good-translation", "incorrect-translation", "reference", "phenomena", "langpair")
ANNOTATED = "incorrect-translation-annotated"
ID = "ID"  # a column that some copies have; else the number of the row
GOOD, INCORRECT = "good", "incorrect"  # the names of the systems
OPENING, CLOSE = "<v>", "</v>"
SEVERITY = "major"  # of all errors: the data name none


@dataclass(frozen=True, kw_only=True)
class Aces(DatasetReader):
    """Each row has two segments of one id: of the system "good" with the human score 1, of "incorrect" with 0.

    The phenomenon is the domain of both. spans: reads span_aces.jsonl in place of challenge_set.jsonl, whose incorrect
    translations have word tags: BAD between <v> and </v>. An omission has no BAD word. An annotation of another text
    than the incorrect translation has no tags, and a warning counts it.
    language_pairs: () reads all pairs of the file. Raises DataError for a text that is not there, and for marks that
    do not match.
    """

    spans: bool = identity(True)

    FILES: ClassVar[Mapping[bool, str]] = {False: "aces/challenge_set.jsonl", True: "aces/span_aces.jsonl"}

    def needs(self, language_pair: str) -> list[str]:
        return [self.FILES[self.spans]]

    def published_at(self) -> str:
        return ", from the data set nikitam/ACES of the Hugging Face hub"

    def pairs(self, data_dir: Path) -> tuple[str, ...]:
        if self.language_pairs:
            return self.language_pairs
        table = self._table(data_dir)
        return tuple(sorted(set(_texts(table, "langpair"))))

    def _table(self, data_dir: Path) -> TableFile:
        (path,) = self.require(data_dir, self.needs(""))
        return open_table(path)

    def load_segments(self, data_dir: Path, language_pair: str) -> SegmentSet:
        table = self._table(data_dir)
        columns = {name: _texts(table, name) for name in COLUMNS}
        annotated = _texts(table, ANNOTATED) if self.spans else [""] * len(table)
        ids = [str(value) for value in table.take([ID])[ID]] if ID in table.names else list(map(str, range(len(table))))
        segments: list[Segment] = []
        marked: list[tuple[str, str, str]] = []
        for row, pair in enumerate(columns["langpair"]):
            if pair != language_pair:
                continue
            for system, column in ((GOOD, "good-translation"), (INCORRECT, "incorrect-translation")):
                text = columns[column][row]
                segment = Segment(
                    ids[row],
                    text,
                    columns["source"][row],
                    columns["reference"][row],
                    system,
                    domain=columns["phenomena"][row],
                )
                segments.append(segment)
                marked.append((text, annotated[row] if system == INCORRECT else text, table.where(row)))
        if not segments:
            known = ", ".join(sorted(set(columns["langpair"]))[:8])
            raise DataError(f"{table.path}: no row of the language pair {language_pair}; the first pairs are {known}.")
        human = np.array([float(segment.system == GOOD) for segment in segments])
        tags: dict[Role, WordTags] = {}
        if self.spans:
            tags["hypothesis"] = _tags(marked, f"{table.path}: {language_pair}")
        return SegmentSet(
            self.name, language_pair, tuple(segments), Judgements({"good": human}, tags=tags), str(table.path)
        )


def _texts(table: TableFile, name: str) -> list[str]:
    """The texts of a column. Raises DataError for a value that is no text."""
    values = table.take([name])[name]
    for row, value in enumerate(values):
        if not isinstance(value, str):
            raise DataError(f"{table.where(row)}: '{name}' is {value!r}, not a text; download the file again.")
    return values


def _tags(marked: Sequence[tuple[str, str, str]], origin: str) -> WordTags:
    """The tags of texts, from their annotated texts and where these are; no words where it is one of another text."""
    texts = []
    spans = []
    words: list[Sequence[str]] = []
    n_others = 0
    for text, annotated, where in marked:
        plain, found = _spans(annotated, where)
        is_omission = all(start == end for start, end in found)
        # Where words are missing, the publisher marks their place in the good translation.
        is_other = plain != text and not (found and is_omission)
        n_others += is_other
        texts.append(text)
        spans.append([] if is_other or is_omission else [ErrorSpan(start, end, SEVERITY) for start, end in found])
        words.append(() if is_other else split_words(text))
    if n_others:
        warnings.warn(
            f"{origin}: {pluralize(n_others, 'annotation')} of another text than the incorrect translation: not used.",
            stacklevel=4,
        )
    tags, _ = tags_of_spans(texts, spans, words)
    # Category and severity are not the publisher's.
    return WordTags(tags.words, Labels(tags.labels.bad, tags.labels.offsets))


def _spans(annotated: str, where: str) -> tuple[str, list[tuple[int, int]]]:
    """The text without marks, and the start and end of each span."""
    plain = ""
    spans = []
    for number, part in enumerate(_parts(annotated, where)):
        # Every second part is between marks.
        if number % 2:
            spans.append((len(plain), len(plain) + len(part)))
        plain += part
    return plain, spans


def _parts(annotated: str, where: str) -> Iterator[str]:
    """What is outside of and between marks, in turn. Raises DataError for marks that do not match."""
    rest: Any = annotated
    while True:
        outside, opened, rest = rest.partition(OPENING)
        if CLOSE in outside:
            raise DataError(f"{where}: {CLOSE} without {OPENING} in {annotated[:60]!r}; download the file again.")
        yield outside
        if not opened:
            return
        inside, closed, rest = rest.partition(CLOSE)
        if not closed or OPENING in inside:
            raise DataError(f"{where}: {OPENING} without {CLOSE} in {annotated[:60]!r}; download the file again.")
        yield inside
