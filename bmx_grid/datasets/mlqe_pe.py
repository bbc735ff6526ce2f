"""MLQE-PE direct assessments, 2020 test partition (seven pairs of 1000 sentences, no references).

Fomicheva et al.: MLQE-PE: A Multilingual Quality Estimation and Post-Editing Dataset, LREC 2022.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.lines import parse_score, read_archive, split_row
from bmx_grid.errors import DataError
from bmx_grid.segments import Segment, SegmentSet

# The first column is called `index`, and `segid` in ru-en.
COLUMNS = ["original", "translation", "scores", "mean", "z_scores", "z_mean", "model_scores"]


@dataclass(frozen=True, kw_only=True)
class MlqePe(DatasetReader):
    """Human scores are `z_mean`, the mean of the annotators' standardised scores. Ids are the first column.

    Fields are not quoted although texts may begin with a quotation mark: read as quoted csv, every
    pair still has 1000 rows, but in twelve of them `z_mean` would silently be the model's score.
    """

    PAIRS: ClassVar[tuple[str, ...]] = ("en-de", "en-zh", "et-en", "ne-en", "ro-en", "ru-en", "si-en")

    def needs(self, language_pair: str) -> list[str]:
        """The archive of the pair."""
        return [f"mlqe-pe/data/direct-assessments/test/{language_pair}-test.tar.gz"]

    def read(self, data_dir: Path, language_pair: str) -> SegmentSet:
        """1000 sentences in file order, texts as they stand."""
        self.check_pair(language_pair)
        (archive,) = self.require(data_dir, self.needs(language_pair))
        member = f"test20.{language_pair.replace('-', '')}.df.short.tsv"
        lines = read_archive(archive, [member])[member]
        where = f"{archive}:{member}"
        if not lines or lines[0].split("\t")[1:] != COLUMNS:
            raise DataError(f"{where}, line 1: expected the columns index {' '.join(COLUMNS)}.")

        segments, human = [], []
        for row, line in enumerate(lines[1:], start=2):
            index, source, hypothesis, _, _, _, z_mean, _ = split_row(line, len(COLUMNS) + 1, where, row)
            segments.append(Segment(index, source, None, hypothesis))
            human.append(parse_score(z_mean, where, row))
        return SegmentSet(self.name, language_pair, tuple(segments), np.array(human, dtype=np.float64), where)
