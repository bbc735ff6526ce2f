"""SummEval (Fabbri et al., TACL 2021): summaries of news articles by 16 systems, judged by experts on four aspects."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from bmx_grid.datasets.base import DatasetReader
from bmx_grid.errors import ConfigError, DataError, exception_line, unknown
from bmx_grid.identity import identity
from bmx_grid.judgements import Judgements
from bmx_grid.segments import Segment, SegmentSet

ASPECTS = ("coherence", "consistency", "fluency", "relevance")


@dataclass(frozen=True, kw_only=True)
class SummEval(DatasetReader):
    """1,600 summaries in the order of their file; the article is the source, the first of 11 references the original.

    aspect: the human score, the mean of three experts from 1 to 5; "all" has all four, coherence as the primary one.
    Raises ConfigError for another aspect.
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

    def missing_message(self, data_dir: Path, missing: Any) -> str:
        return (
            f"data set '{self.name}': {', '.join(map(str, missing))} is not there. It is written from the annotations "
            "of github.com/Yale-LILY/SummEval: a JSON object per line, documents with id, source and references, "
            "summaries with id, system, summary and expert_annotations. Set data_dir to the folder of summeval/."
        )

    def read(self, data_dir: Path, language_pair: str) -> SegmentSet:
        self.check_pair(language_pair)
        documents, summaries = (_rows(path) for path in self.require(data_dir, self.FILES))
        articles = {row["id"]: row for row in documents.values()}
        chosen = ASPECTS if self.aspect == "all" else (self.aspect,)
        segments, scores = [], []
        for where, row in summaries.items():
            try:
                article = articles[row["id"]]
                first, *further = article["references"]
                texts = {"source": article["source"], "reference": first, "hypothesis": row["summary"]}
                if not all(isinstance(text, str) for text in (*texts.values(), *further, row["system"])):
                    raise TypeError("a text is none")
                segments.append(Segment(row["id"], system=row["system"], further_references=tuple(further), **texts))
                scores.append([float(row["expert_annotations"][name]) for name in chosen])
            except (LookupError, ValueError, TypeError) as error:
                raise DataError(f"{where}: not a summary of SummEval ({exception_line(error)}).") from error
        values = np.array(scores, dtype=np.float64).reshape(-1, len(chosen))
        judgements = Judgements({name: values[:, column] for column, name in enumerate(chosen)})
        return SegmentSet(self.name, language_pair, tuple(segments), judgements, str(data_dir))


def _rows(path: Path) -> Mapping[str, dict[str, Any]]:
    """The objects of a JSON lines file, by where they stand. Raises DataError naming the line."""
    rows: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        where = f"{path}, line {number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{where}: no JSON ({exception_line(error)}).") from error
        if not isinstance(row, dict) or "id" not in row:
            raise DataError(f"{where}: no object with an id.")
        rows[where] = row
    return rows
