"""The embedded sample: four language pairs that come with the package, for trying the tool and for tests.

The sample is constructed. Sources, references and hypotheses were written for this project, and the
scores are the writer's graded judgement, not a rating campaign: no conclusion about a metric can rest
on them. SAMPLE.md beside this file says more. Licence: Apache-2.0, as the project.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.tabular import Tabular
from bmx_grid.segments import SegmentSet

FILE = Path(__file__).with_name("sample.tsv")


@dataclass(frozen=True, kw_only=True)
class Sample(DatasetReader):
    """48 segments per pair, source and reference; the human score, `score` (0 to 100), is the writer's of the texts.

    Nothing is downloaded and no data_dir is needed: `read` opens the file that lies in the package.
    """

    PAIRS: ClassVar[tuple[str, ...]] = ("de-en", "fr-en", "es-en", "en-de")

    def read(self, data_dir: Path, language_pair: str) -> SegmentSet:
        """The segments of one pair in file order; `data_dir` is not looked at."""
        self.check_pair(language_pair)
        return Tabular(name=self.name, path=str(FILE)).read(data_dir, language_pair)
