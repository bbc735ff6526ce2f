"""MLQE-PE: the 2020 test partition (seven pairs) and the test set of WMT 2021 (nine pairs, two of them zero-shot).

1000 sentences per pair, no references. Fomicheva et al.: MLQE-PE: A Multilingual Quality Estimation and Post-Editing
Dataset, LREC 2022; Specia et al.: Findings of the WMT 2021 Shared Task on Quality Estimation, WMT 2021. Words of source
and translation have tags, OK and BAD, derived from post-edits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.lines import check_aligned, parse_score, parse_scores, read_archive, split_row
from bmx_grid.datasets.word_tags import (
    OK_BAD,
    listed_labels,
    of_segments,
    rows_of_tags,
    rows_of_words,
    tags_of_lines,
)
from bmx_grid.errors import DataError
from bmx_grid.judgements import Judgements
from bmx_grid.segments import Segment, SegmentSet
from bmx_grid.wording import counted
from bmx_grid.words.perturbation import Role
from bmx_grid.words.tags import Labels, WordTags

# The first column is called `index`, and `segid` in ru-en.
COLUMNS = ["original", "translation", "scores", "mean", "z_scores", "z_mean", "model_scores"]
KINDS = ("direct-assessments", "post-editing")  # folders of the scores and of the tags
ZERO_SHOT = ("en-cs", "en-ja")
MEMBERS21 = ("test21.src", "test21.mt", "test21.da")
SIDES21: Mapping[Role, tuple[str, str]] = {"source": ("src", "source"), "hypothesis": ("mt", "mt")}


@dataclass(frozen=True, kw_only=True)
class MlqePe(DatasetReader):
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

    def read(self, data_dir: Path, language_pair: str) -> SegmentSet:
        """1000 sentences in file order, texts unchanged."""
        self.check_pair(language_pair)
        of_scores, of_tags = self.needs(language_pair)
        (archive,) = self.require(data_dir, [of_scores])
        member = f"test20.{language_pair.replace('-', '')}.df.short.tsv"
        lines = read_archive(archive, [member])[member]
        where = f"{archive}:{member}"
        tagged = Path(data_dir) / of_tags
        if not lines or lines[0].split("\t")[1:] != COLUMNS:
            raise DataError(f"{where}, line 1: expected the columns index {' '.join(COLUMNS)}.")

        segments: list[Segment] = []
        scores: dict[str, list[float]] = {"z_mean": [], "mean": []}
        raters: dict[str, list[list[float]]] = {"z_mean": [], "mean": []}
        for row, line in enumerate(lines[1:], start=2):
            index, source, hypothesis, raw, mean, z, z_mean, _ = split_row(line, len(COLUMNS) + 1, where, row)
            segments.append(Segment(index, hypothesis, source))
            for name, score, ratings in (("z_mean", z_mean, z), ("mean", mean, raw)):
                scores[name].append(parse_score(score, where, row))
                raters[name].append(_ratings(ratings, where, row))
        judgements = Judgements(
            {name: np.array(values, dtype=np.float64) for name, values in scores.items()},
            {name: _padded(rows) for name, rows in raters.items()},
            tags=of_segments(mlqe_pe_test20_tags(tagged), len(segments), tagged, where) if tagged.is_file() else {},
        )
        return SegmentSet(self.name, language_pair, tuple(segments), judgements, where)


@dataclass(frozen=True, kw_only=True)
class MlqePe21(DatasetReader):
    """Standardised direct assessments (`da`), higher is better. Ids are line numbers from 0.

    Words of source and translation have tags, derived from post-edits; they belong to the tokenised texts.
    """

    PAIRS: ClassVar[tuple[str, ...]] = (*MlqePe.PAIRS, *ZERO_SHOT)

    def needs(self, language_pair: str) -> list[str]:
        """The archive of the pair."""
        folder = "zero-shot/" if language_pair in ZERO_SHOT else ""
        return [f"mlqe-pe/data/test21_goldlabels/{folder}{language_pair}-test21.tar.gz"]

    def read(self, data_dir: Path, language_pair: str) -> SegmentSet:
        """The sentences in file order, texts unchanged."""
        self.check_pair(language_pair)
        (archive,) = self.require(data_dir, self.needs(language_pair))
        members = read_archive(archive, MEMBERS21)
        segments, human = da_members(members, archive)
        judgements = Judgements({"da": human}, tags=mlqe_pe_test21_tags(archive, language_pair))
        return SegmentSet(self.name, language_pair, segments, judgements, str(archive))


def da_members(members: Mapping[str, list[str]], archive: Path) -> tuple[tuple[Segment, ...], NDArray[np.float64]]:
    """The sentences of an archive with test21.src, .mt and .da, ids from 0, and their direct assessments."""
    check_aligned({f"{archive}:{name}": members[name] for name in MEMBERS21})
    sources, hypotheses, scores = (members[name] for name in MEMBERS21)
    rows = enumerate(zip(sources, hypotheses, strict=True))
    segments = tuple(Segment(str(row), hypothesis, source) for row, (source, hypothesis) in rows)
    return segments, parse_scores(scores, f"{archive}:test21.da")


def mlqe_pe_test20_tags(archive: Path) -> dict[Role, WordTags]:
    """The tags of source and hypothesis of a pair's post-editing archive of 2020.

    `test20.tags` has 2n + 1 tags for n words: gap, word, gap, …, gap; tags of gaps are not read. Raises DataError
    naming file, line and both counts where tags do not fit the words.
    """
    names = ("test20.src", "test20.source_tags", "test20.mt", "test20.tags")
    files = read_archive(archive, names)
    where = {name: f"{archive}:{name}" for name in names}
    check_aligned({where[name]: files[name] for name in names})
    hypotheses = rows_of_words(files["test20.mt"])
    of_both = rows_of_tags(files["test20.tags"], where["test20.tags"], OK_BAD)
    for row, (words, tags) in enumerate(zip(hypotheses, of_both, strict=True), start=1):
        if len(tags) != 2 * len(words) + 1:
            raise DataError(
                f"{where['test20.tags']}, line {row}: {counted(len(tags), 'tag')} for {counted(len(words), 'word')} of "
                f"test20.mt, expected 2n + 1 = {2 * len(words) + 1} (gap, word, gap, …); correct the line, or download "
                "the archive again."
            )
    sources = tags_of_lines(files["test20.src"], files["test20.source_tags"], where["test20.source_tags"], OK_BAD)
    return {"source": sources, "hypothesis": WordTags(hypotheses, Labels.from_rows(tags[1::2] for tags in of_both))}


def mlqe_pe_test21_tags(archive: Path, language_pair: str) -> dict[Role, WordTags]:
    """The tags of source and hypothesis of a pair's archive of 2021, a line per word of `test21.tok`.

    Raises DataError for a row of another language pair or side, words or sentences that are missing, doubled or out
    of order, and words that are not those of the tokenised text.
    """
    found: dict[Role, WordTags] = {}
    for side, (ending, column) in SIDES21.items():
        text, tags = f"test21.tok.{ending}", f"task2_wordlevel_{ending}.tags"
        files = read_archive(archive, (text, tags))
        words = rows_of_words(files[text])
        expected = (language_pair, "REFERENCE", column)
        labels = listed_labels(files[tags], f"{archive}:{tags}", 1, words, f"{archive}:{text}", expected)
        found[side] = WordTags(words, labels)
    return found


def _ratings(text: str, where: str, row: int) -> list[float]:
    """The numbers of a list as Python writes it, `[91, 90.5]`. Raises DataError with the row."""
    if not (text.startswith("[") and text.endswith("]")):
        raise DataError(f"{where}, line {row}: {text[:80]!r} is not a list of ratings like [91, 90.5].")
    return [parse_score(part, where, row) for part in text[1:-1].split(",") if part.strip()]


def _padded(rows: list[list[float]]) -> NDArray[np.float64]:
    """float64[N, R], R being the longest row; NaN where a row is shorter."""
    ratings = np.full((len(rows), max(map(len, rows), default=0)), np.nan)
    for place, values in enumerate(rows):
        ratings[place, : len(values)] = values
    return ratings
