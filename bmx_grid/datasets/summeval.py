"""SummEval (Fabbri et al., TACL 2021): summaries of news articles by 16 systems, judged by experts on four aspects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from bmx_grid.core.errors import ConfigError, DataError, exception_line, unknown
from bmx_grid.core.identity import identity
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.lines import parse_number
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet
from bmx_grid.datasets.tables import open_table

DOCUMENT = ("id", "source", "references")
SUMMARY = ("id", "system", "summary", "expert_annotations")
ASPECTS = ("coherence", "consistency", "fluency", "relevance")


@dataclass(frozen=True, kw_only=True)
class SummEval(DatasetReader):
    """1,600 summaries in the order of their file; the article is the source, the first of 11 references the original.

    aspect: the human score, the mean of three experts from 1 to 5; "all" has all four, coherence as the primary one.
    Raises ConfigError for another aspect, DataError for a rating that is not a finite number.
    """

    # All texts are of one language.
    PAIRS: ClassVar[tuple[str, ...]] = ("en",)
    FILES: ClassVar[tuple[str, ...]] = ("summeval/documents.jsonl", "summeval/summaries.jsonl")

    aspect: str = identity("all")

    def __post_init__(self) -> None:
        super().__post_init__()
        known = ("all", *ASPECTS)
        if self.aspect not in known:
            raise ConfigError(f"dataset.{self.name}.aspect: " + unknown("aspect", self.aspect, known))

    def needs(self, language_pair: str) -> list[str]:
        return list(self.FILES)

    def load_segments(self, data_dir: Path, language_pair: str) -> SegmentSet:
        self.check_pair(language_pair)
        documents, summaries = map(open_table, self.require(data_dir, self.FILES))
        articles: dict[str, tuple[Any, Any]] = {}
        columns = documents.take(DOCUMENT).values()
        for name, source, references in zip(*columns, strict=True):
            articles[str(name)] = (source, references)
        aspects = ASPECTS if self.aspect == "all" else (self.aspect,)
        segments = []
        scores = []
        columns = summaries.take(SUMMARY).values()
        for row, (name, system, summary, ratings) in enumerate(zip(*columns, strict=True)):
            where = summaries.where(row)
            try:
                source, references = articles[name]
                segments.append(_segment(name, system, summary, source, references))
                scores.append(_ratings(ratings, aspects, where))
            # A damaged file may hold any type.
            except (LookupError, ValueError, TypeError) as error:
                raise DataError(f"{where}: not a summary of SummEval ({exception_line(error)}).") from error
        values = np.array(scores, dtype=np.float64)
        by_aspect = dict(zip(aspects, values.T, strict=True))
        return SegmentSet(self.name, language_pair, tuple(segments), Judgements(by_aspect), str(data_dir))


def _segment(name: Any, system: Any, summary: Any, source: Any, references: Any) -> Segment:
    """A summary and its article. Raises ValueError for an article without references, TypeError for non-texts."""
    reference, *further = references
    texts = (name, system, summary, source, reference, *further)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a text is null")
    return Segment(name, summary, source, reference, system, further_references=tuple(further))


def _ratings(ratings: Any, aspects: Sequence[str], where: str) -> list[float]:
    """The rating of each aspect. Raises ValueError if one is missing."""
    scores = []
    for aspect in aspects:
        scores.append(parse_number(ratings[aspect], where, f"the {aspect}", "leave it out"))
    if np.isnan(scores).any():
        raise ValueError("a rating is missing")
    return scores
