"""SummEval (Fabbri et al., TACL 2021): summaries of news articles by 16 systems, judged by experts on four aspects."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

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

    PAIRS: ClassVar[tuple[str, ...]] = ("en",)  # one language
    FILES: ClassVar[tuple[str, ...]] = ("summeval/documents.jsonl", "summeval/summaries.jsonl")

    aspect: str = identity("all")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.aspect not in ("all", *ASPECTS):
            raise ConfigError(f"dataset.{self.name}.aspect: " + unknown("aspect", self.aspect, ("all", *ASPECTS)))

    def needs(self, language_pair: str) -> list[str]:
        return list(self.FILES)

    def read(self, data_dir: Path, language_pair: str) -> SegmentSet:
        self.check_pair(language_pair)
        documents, summaries = map(open_table, self.require(data_dir, self.FILES))
        articles = {str(name): texts for name, *texts in zip(*documents.take(DOCUMENT).values(), strict=True)}
        chosen = ASPECTS if self.aspect == "all" else (self.aspect,)
        segments = []
        scores = []
        for row, (name, system, summary, ratings) in enumerate(zip(*summaries.take(SUMMARY).values(), strict=True)):
            where = summaries.where(row)
            try:
                source, (first, *further) = articles[name]
                texts = {"source": source, "reference": first, "hypothesis": summary}
                if not all(isinstance(text, str) for text in (name, system, *texts.values(), *further)):
                    raise TypeError("a text is none")
                segments.append(Segment(name, system=system, further_references=tuple(further), **texts))
                scores.append([parse_number(ratings[of], where, f"the {of}", "leave it out") for of in chosen])
                if np.isnan(scores[-1]).any():
                    raise ValueError("a rating is missing")
            except (LookupError, ValueError, TypeError) as error:
                raise DataError(f"{where}: not a summary of SummEval ({exception_line(error)}).") from error
        values = np.array(scores, dtype=np.float64)
        judgements = Judgements({of: values[:, column] for column, of in enumerate(chosen)})
        return SegmentSet(self.name, language_pair, tuple(segments), judgements, str(data_dir))
