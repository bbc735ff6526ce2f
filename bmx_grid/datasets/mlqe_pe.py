"""MLQE-PE: the 2020 test partition (seven pairs) and the test sets of WMT and of Eval4NLP 2021, without references.

Fomicheva et al.: MLQE-PE: A Multilingual Quality Estimation and Post-Editing Dataset, LREC 2022; Specia et al.:
Findings of the WMT 2021 Shared Task on Quality Estimation, WMT 2021 (nine pairs, two of them zero-shot); Fomicheva et
al.: The Eval4NLP Shared Task on Explainable Quality Estimation, Eval4NLP 2021 (four pairs). Words of source and
translation have tags, derived from post-edits, or given by people in Eval4NLP's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.errors import DataError
from bmx_grid.core.identity import identity
from bmx_grid.datasets.base import Published
from bmx_grid.datasets.judgements import Judgements
from bmx_grid.datasets.lines import ARCHIVE_BYTES, archive_members, finite, published_table, read_archive
from bmx_grid.datasets.segments import Segment, SegmentSet
from bmx_grid.datasets.word_tags import ZERO_ONE, listed_tags, rows_of_tags, rows_of_words, tags_of_lines
from bmx_grid.words.perturbation import Role
from bmx_grid.words.tags import Labels, WordTags

if TYPE_CHECKING:
    import pandas as pd

ASSESSMENTS = re.compile(r"test20\.(\w\w)(\w\w)\.df\.short\.tsv")
KINDS = ("direct-assessments", "post-editing")  # folders of the scores and of the tags
ZERO_SHOT = ("en-cs", "en-ja")
MEMBERS21 = ("test21.src", "test21.mt", "test21.da")
TAGS21 = ("test21.src-tags", "test21.tgt-tags")
SIDES21: Mapping[Role, tuple[str, str]] = {"source": ("src", "source"), "hypothesis": ("mt", "mt")}


@dataclass(frozen=True, kw_only=True)
class MlqePe(Published):
    """Direct assessments: `z_mean`, the mean of the annotators' standardised scores, and `mean`, of the raw ones.

    Each has its raters, six per segment and three in ru-en, in the published order. Ids are the first column. Words of
    source and translation have tags, derived from post-edits, where the archive of post-editing is there.

    Fields are not quoted although texts may begin with a quotation mark: read as quoted csv, every
    pair still has 1000 rows, but in twelve of them `z_mean` would silently be the model's score.
    """

    VERSION: ClassVar[int] = 2  # the raw scores and the individual raters were added
    PAIRS: ClassVar[tuple[str, ...]] = ("en-de", "en-zh", "et-en", "ne-en", "ro-en", "ru-en", "si-en")

    def needs(self, language_pair: str) -> list[str]:
        """The archive of the pair, and that of its post-edits, without which the words have no tags."""
        return [f"mlqe-pe/data/{kind}/test/{language_pair}-test.tar.gz" for kind in KINDS]

    def _read(self, data_dir: Path, language_pair: str) -> SegmentSet:
        """1000 sentences in file order."""
        of_scores, of_tags = self.needs(language_pair)
        (archive,) = self.require(data_dir, [of_scores])
        rows, where = read_assessments(archive, language_pair)
        ids = rows.iloc[:, 0]  # the column is called `index`, and `segid` in ru-en
        judgements = Judgements(
            {name: finite(rows[name]) for name in ("z_mean", "mean")},
            {"z_mean": _ratings(rows.z_scores), "mean": _ratings(rows.scores)},
            tags=mlqe_pe_test20_tags(data_dir / of_tags) if (data_dir / of_tags).is_file() else {},
        )
        segments = tuple(map(Segment, ids, rows.translation, rows.original))
        return SegmentSet(self.name, language_pair, segments, judgements, where)


class _Test21(Published):
    """Direct assessments (`da`), higher is better, of an archive of 2021. Ids are line numbers from 0."""

    def _read(self, data_dir: Path, language_pair: str) -> SegmentSet:
        """The sentences in file order."""
        (archive,) = self.require(data_dir, self.needs(language_pair))
        sources, hypotheses, scores = read_archive(archive, MEMBERS21).values()
        segments = tuple(
            Segment(str(row), hypothesis, source)
            for row, (source, hypothesis) in enumerate(zip(sources, hypotheses, strict=True))
        )
        judgements = Judgements({"da": finite(scores)}, tags=self._tags(archive, language_pair))
        return SegmentSet(self.name, language_pair, segments, judgements, str(archive))

    def _tags(self, archive: Path, language_pair: str) -> dict[Role, WordTags]:
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class MlqePe21(_Test21):
    """Standardised scores. Words have tags, derived from post-edits; they belong to the tokenised texts."""

    PAIRS: ClassVar[tuple[str, ...]] = (*MlqePe.PAIRS, *ZERO_SHOT)

    def needs(self, language_pair: str) -> list[str]:
        """The archive of the pair."""
        folder = "zero-shot/" if language_pair in ZERO_SHOT else ""
        return [f"mlqe-pe/data/test21_goldlabels/{folder}{language_pair}-test21.tar.gz"]

    def _tags(self, archive: Path, language_pair: str) -> dict[Role, WordTags]:
        return mlqe_pe_test21_tags(archive, language_pair)


@dataclass(frozen=True, kw_only=True)
class Eval4nlp21(_Test21):
    """Means of raw 0 to 100 judgements of tokenised sentences. Words have tags, given by people.

    first: keep the first `first` segments of each pair; the paper's Table 1 has 1000 of each, the
        released pairs have 1000, 1000, 1180 and 1410. None keeps all.
    """

    PAIRS: ClassVar[tuple[str, ...]] = ("ro-en", "et-en", "ru-de", "de-zh")

    first: int | None = identity(None, least=1)

    def needs(self, language_pair: str) -> list[str]:
        """The archive of the pair."""
        return [f"SharedTask2021/data/test21/{language_pair}-test21.tar.gz"]

    def _read(self, data_dir: Path, language_pair: str) -> SegmentSet:
        return super()._read(data_dir, language_pair).head(self.first)

    def _tags(self, archive: Path, language_pair: str) -> dict[Role, WordTags]:
        files = read_archive(archive, MEMBERS21, TAGS21)
        if not all(files[name] for name in TAGS21):
            return {}
        return {
            "source": tags_of_lines(files["test21.src"], files["test21.src-tags"], ZERO_ONE),
            "hypothesis": tags_of_lines(files["test21.mt"], files["test21.tgt-tags"], ZERO_ONE),
        }


def pair_of(archive: Path) -> str:
    """The language pair of an archive of direct assessments, by the names in it. Raises DataError for another file."""
    with archive_members(archive, ARCHIVE_BYTES) as members:
        for member, _ in members:
            name = ASSESSMENTS.fullmatch(PurePosixPath(member.name).name)
            if name is not None:
                return f"{name[1]}-{name[2]}"
    raise DataError(f"{archive}: holds no test20.….df.short.tsv; name an archive of direct assessments of MLQE-PE.")


def read_assessments(archive: Path, language_pair: str) -> tuple[pd.DataFrame, str]:
    """The table of direct assessments of an archive of 2020, texts as they stand, and where it is, for messages."""
    member = f"test20.{language_pair.replace('-', '')}.df.short.tsv"
    where = f"{archive}:{member}"
    return published_table(read_archive(archive, [member])[member], where), where


def read_model_scores(archive: Path, language_pair: str) -> NDArray[np.float64]:
    """float64[N] the translation system's own score of each sentence."""
    rows, _ = read_assessments(archive, language_pair)
    return finite(rows.model_scores)


def mlqe_pe_test20_tags(archive: Path) -> dict[Role, WordTags]:
    """The tags of source and hypothesis of a pair's post-editing archive of 2020.

    `test20.tags` has 2n + 1 tags for n words: gap, word, gap, …, gap; tags of gaps are not read.
    """
    names = ("test20.src", "test20.source_tags", "test20.mt", "test20.tags")
    sources, of_sources, hypotheses, of_both = read_archive(archive, names).values()
    labels = Labels.from_rows(row[1::2] for row in rows_of_tags(of_both))
    return {
        "source": tags_of_lines(sources, of_sources),
        "hypothesis": WordTags(rows_of_words(hypotheses), labels),
    }


def mlqe_pe_test21_tags(archive: Path, language_pair: str) -> dict[Role, WordTags]:
    """The tags of source and hypothesis of a pair's archive of 2021, a line per word of `test21.tok`.

    Raises DataError as `listed_tags`, ValueError for tags of other words.
    """
    tagged: dict[Role, WordTags] = {}
    for role, (ending, side) in SIDES21.items():
        text, tags = f"test21.tok.{ending}", f"task2_wordlevel_{ending}.tags"
        files = read_archive(archive, (text, tags))
        rows = listed_tags(files[tags], f"{archive}:{tags}", 1).sort_values("sentence")
        rows = rows[(rows.language_pair == language_pair) & (rows.side == side)]
        words = rows_of_words(files[text])
        if tuple(rows.words) != words:
            raise ValueError(f"the words of {tags} are not those of {text}")
        tagged[role] = WordTags(words, Labels.from_rows(rows.bad))
    return tagged


def _ratings(lists: Iterable[str]) -> NDArray[np.float64]:
    """float64[N, R] of lists as Python writes them, `[91, 90.5]`, R being the longest; NaN where one is shorter."""
    rows = [finite(text.removeprefix("[").removesuffix("]").split(",")) for text in lists]
    ratings = np.full((len(rows), max(map(len, rows), default=0)), np.nan)
    for row, values in enumerate(rows):
        ratings[row, : len(values)] = values
    return ratings
