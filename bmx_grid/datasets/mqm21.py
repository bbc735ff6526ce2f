"""newstest2021 with expert MQM scores, en-de and zh-en: published segment scores joined with texts.

Freitag et al.: Experts, Errors, and Context, TACL 2021. The scores lie in one repository and the texts in another,
under segment numbers that were corrected in between: within a document both count in the same order, from different
starts. So each document has one shift; the right one is where the points summed from the annotations equal the
published averages of all systems, and no extra file is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.error_spans import tags_of_spans
from bmx_grid.datasets.lines import read_archive, read_lines, split_row
from bmx_grid.datasets.mqm_spans import Annotated, annotated
from bmx_grid.errors import DataError
from bmx_grid.identity import identity
from bmx_grid.judgements import Judgements
from bmx_grid.segments import Segment, SegmentSet
from bmx_grid.words.perturbation import Role
from bmx_grid.words.tags import WordTags
from bmx_grid.words.text import split_words

REFERENCE = "ref-A"
TOLERANCE = 1e-4  # averages are published with six decimals, points are sums of tenths
AGREEMENT = 0.9  # share of a document's scores that must agree at its shift
Place = tuple[str, str]  # document and source text: the key that all systems share
Published = Mapping[tuple[str, int], float]  # (system, published number) -> average, NaN if not rated


@dataclass(frozen=True, kw_only=True)
class Mqm21(DatasetReader):
    """Human scores (`mqm`) are the published averages: minus the error points, 0 best, -25 worst.

    human_systems: whether the human translations (ref-A to ref-D in en-de, ref-A and ref-B in zh-en)
        are judged systems, as in the BMX paper. Without them metrics that read a reference read ref-A; with
        them segments have no reference, because one that is itself among the hypotheses would score itself.

    Segment ids are the published numbers. Of en-de's 1002 and zh-en's 1948 segments 527 and 650 were
    annotated; the others (score `None`) have no texts and are left out. One rater judged each translation,
    so there are no individual raters beside the score. Words of source and translation that an error was marked in have
    its tag, with category and severity.
    """

    VERSION: ClassVar[int] = 2  # ids are numbers, without the system

    PAIRS: ClassVar[tuple[str, ...]] = ("en-de", "zh-en")

    human_systems: bool = identity(False)

    def needs(self, language_pair: str) -> list[str]:
        """The published scores, and the archive with the annotated texts."""
        pair = language_pair.replace("-", "")
        train = "wmt-qe-2022-data/train-dev_data/task1_word-level/train"
        return [
            f"wmt-mqm-human-evaluation/newstest2021/{pair}/mqm_newstest2021_{pair}.avg_seg_scores.tsv",
            f"{train}/{language_pair}_mqm/{language_pair}-train-2021-news.tar.gz",
        ]

    def read(self, data_dir: Path, language_pair: str) -> SegmentSet:
        """6,851 (en-de) or 8,450 (zh-en) segments of 13 systems; 8,959 or 9,750 with the human translations."""
        self.check_pair(language_pair)
        scores, archive = self.require(data_dir, self.needs(language_pair))
        published = _published(scores)
        member = f"mqm-newstest2021_{language_pair.replace('-', '')}.tsv"
        where = f"{archive}:{member}"
        judged = annotated(read_archive(archive, [member])[member], where)
        numbers = published_numbers(judged, published, f"{where} and {scores}")

        references = {(text.document, text.source): text.target for text in judged if text.system == REFERENCE}
        segments, human, kept = [], [], []
        for text in judged:
            place = text.document, text.source
            if place not in numbers or (text.system.startswith("ref-") and not self.human_systems):
                continue
            number = numbers[place]
            if (text.system, number) not in published:
                raise DataError(f"{scores}: no row for segment {number} of {text.system}.")
            reference = None if self.human_systems else references.get(place)
            segments.append(Segment(str(number), text.target, text.source, reference, text.system, text.document))
            human.append(published[text.system, number])
            kept.append(text)
        judgements = Judgements({"mqm": np.array(human, dtype=np.float64)}, tags=_tags(kept))
        everyone = tuple(dict.fromkeys(text.system for text in judged))
        return SegmentSet(self.name, language_pair, tuple(segments), judgements, str(scores), all_systems=everyone)


def _tags(texts: Sequence[Annotated]) -> dict[Role, WordTags]:
    sides: dict[Role, list[str]] = {
        "source": [one.source for one in texts],
        "hypothesis": [one.target for one in texts],
    }
    return {
        side: tags_of_spans(lines, [one.spans[side] for one in texts], list(map(split_words, lines)))[0]
        for side, lines in sides.items()
    }


def _published(path: Path) -> Published:
    """Rows are `system TAB score BLANK number`, the score perhaps `None`."""
    averages = {}
    for row, line in enumerate(read_lines(path)[1:], start=2):
        system, rest = split_row(line, 2, str(path), row)
        score, number = split_row(rest, 2, str(path), row, " ")
        try:
            # Adding 0.0 turns the published -0.000000 into 0.
            averages[system, int(number)] = float("nan") if score == "None" else float(score) + 0.0
        except ValueError as error:
            raise DataError(f"{path}, line {row}: {rest!r} is not a score and a segment number.") from error
    return averages


def published_numbers(judged: Sequence[Annotated], published: Published, where: str) -> dict[Place, int]:
    """The published number of every place that machine systems were judged on.

    Some human translations are numbered in a third way (ref-C and ref-D of en-de) and cover more
    documents: they are joined through the source text, and what the machines lack is left out.
    Raises DataError when a document finds no shift, or two, or shares numbers with another one.
    """
    systems = sorted({text.system for text in judged})
    column = {system: index for index, system in enumerate(systems)}
    size = max((number for _, number in published), default=0) + 1
    averages = np.full((size, len(systems)), np.nan)
    for (system, number), score in published.items():
        if system in column:
            averages[number, column[system]] = score

    documents: dict[str, dict[str, int]] = {}  # document -> source -> number in the annotations
    for text in judged:
        if not text.system.startswith("ref-"):
            known = documents.setdefault(text.document, {}).setdefault(text.source, text.number)
            if known != text.number:
                raise DataError(f"{where}: {text.document} has one source text as segments {known} and {text.number}.")
    points: dict[str, dict[tuple[int, int], float]] = {document: {} for document in documents}
    for text in judged:
        number_of = documents.get(text.document, {})
        if text.source in number_of:
            points[text.document][number_of[text.source], column[text.system]] = text.points

    numbers: dict[Place, int] = {}
    for document, number_of in documents.items():
        shift = _shift(points[document], averages, f"{where}: document {document}")
        numbers.update({(document, source): number + shift for source, number in number_of.items()})
    if len(set(numbers.values())) != len(numbers):
        raise DataError(f"{where}: two segments would have the same published number.")
    return numbers


def _shift(points: Mapping[tuple[int, int], float], averages: NDArray[np.float64], where: str) -> int:
    """What to add to the numbers of one document, `points` being (number, system) -> points."""
    numbers = np.array([number for number, _ in points])
    columns = np.array([column for _, column in points])
    wanted = -np.array(list(points.values()))
    shifts = np.arange(-numbers.min(), len(averages) - numbers.max())
    agree = np.abs(averages[numbers + shifts[:, None], columns] - wanted) < TOLERANCE
    share = agree.mean(axis=1) if len(shifts) else np.zeros(1)
    best = np.flatnonzero(share == share.max())
    if share.max() < AGREEMENT or len(best) != 1:
        raise DataError(
            f"{where}: at best {share.max():.0%} of the scores agree with the published averages, "
            f"in {len(best)} places; the two files are not of the same evaluation."
        )
    return int(shifts[best[0]])
