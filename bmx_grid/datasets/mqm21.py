"""newstest2021 with expert MQM scores, en-de and zh-en: published segment scores joined with texts.

Freitag et al.: Experts, Errors, and Context, TACL 2021. The scores lie in one repository and the
texts in another, under segment numbers that were corrected in between; `mqm21_numbers` finds the
translation of one numbering into the other from the scores themselves, so no extra file is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.error_spans import tags_of_spans
from bmx_grid.datasets.lines import read_archive, read_lines, split_row
from bmx_grid.datasets.mqm21_numbers import Judged, published_numbers
from bmx_grid.datasets.mqm_spans import annotated
from bmx_grid.errors import DataError
from bmx_grid.identity import identity
from bmx_grid.judgements import Judgements
from bmx_grid.segments import Segment, SegmentSet
from bmx_grid.words.perturbation import Role
from bmx_grid.words.tags import WordTags

COLUMNS = ["system", "doc", "doc_id", "seg_id", "rater", "source", "target", "category", "severity"]
REFERENCE = "ref-A"


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
        lines = read_archive(archive, [member])[member]
        judged = _judged(lines, f"{archive}:{member}")
        marked = list(annotated(lines, f"{archive}:{member}").values())
        numbers = published_numbers(judged, published, f"{archive}:{member} and {scores}")

        translations = {one.place: one.target for one in judged if one.system == REFERENCE}
        segments, human, errors = [], [], []
        for one, own in zip(judged, marked, strict=True):
            number = numbers.get(one.place)
            if number is None or (one.system.startswith("ref-") and not self.human_systems):
                continue
            if (one.system, number) not in published:
                raise DataError(f"{scores}: no row for segment {number} of {one.system}.")
            reference = None if self.human_systems else translations.get(one.place)
            segments.append(Segment(str(number), one.target, one.source, reference, one.system, one.document))
            human.append(published[one.system, number])
            errors.append(own)
        tags: dict[Role, WordTags] = {
            "source": tags_of_spans([one.source for one in errors], [one.spans["source"] for one in errors]).tags,
            "hypothesis": tags_of_spans(
                [one.target for one in errors], [one.spans["hypothesis"] for one in errors]
            ).tags,
        }
        judgements = Judgements({"mqm": np.array(human, dtype=np.float64)}, tags=tags)
        everyone = tuple(dict.fromkeys(one.system for one in judged))
        return SegmentSet(self.name, language_pair, tuple(segments), judgements, str(scores), all_systems=everyone)


def _published(path: Path) -> dict[tuple[str, int], float]:
    """(system, number) -> average score, NaN for `None`. Rows are `system TAB score BLANK number`."""
    found = {}
    for row, line in enumerate(read_lines(path)[1:], start=2):
        system, rest = split_row(line, 2, str(path), row)
        score, number = split_row(rest, 2, str(path), row, " ")
        try:
            # Adding 0.0 turns the published -0.000000 into 0.
            found[system, int(number)] = float("nan") if score == "None" else float(score) + 0.0
        except ValueError as error:
            raise DataError(f"{path}, line {row}: {rest!r} is not a score and a segment number.") from error
    return found


def _judged(lines: list[str], where: str) -> list[Judged]:
    """One entry for each system and segment, in order of first appearance; error points are summed.

    A segment has a row for each error, the span marked by <v> and </v> in the source or the target.
    Three zh-en targets differ in blanks between their rows; the first row's is taken.
    """
    if not lines or lines[0].split("\t")[: len(COLUMNS)] != COLUMNS:
        raise DataError(f"{where}, line 1: expected the columns {' '.join(COLUMNS)}.")
    found: dict[tuple[str, str, str], Judged] = {}
    for row, line in enumerate(lines[1:], start=2):
        fields = line.split("\t")
        if len(fields) not in (len(COLUMNS), len(COLUMNS) + 1):  # a last column, `comments`, may be left out
            raise DataError(f"{where}, line {row}: {len(fields)} fields, expected {len(COLUMNS)}: {line[:80]!r}")
        system, document, _, number, _, source, target, category, severity = fields[: len(COLUMNS)]
        if not number.isdecimal():
            raise DataError(f"{where}, line {row}: the seg_id {number!r} is not a number.")
        key = (system, document, number)
        one = found.get(key)
        if one is None:
            name = system.removeprefix("hyp.").replace("ref.", "ref-")
            one = found[key] = Judged(name, document, int(number), _unmarked(source), _unmarked(target))
        one.points += _points(category, severity)
    return list(found.values())


def _points(category: str, severity: str) -> float:
    """Points of one error (Freitag et al. 2021, section 3): 25, 5, 1 or 0.1."""
    if severity == "No-error":
        return 0.0
    if category.startswith("Non_translation"):
        return 25.0
    if severity == "Major":
        return 5.0
    return 0.1 if category == "Fluency/Punctuation" else 1.0


def _unmarked(text: str) -> str:
    return text.replace("<v>", "").replace("</v>", "").strip(" ")
