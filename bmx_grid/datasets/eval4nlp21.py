"""Eval4NLP 2021 shared task on explainable quality estimation, test set (four pairs, no references).

Fomicheva et al.: The Eval4NLP Shared Task on Explainable Quality Estimation, Eval4NLP 2021.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.lines import check_aligned, read_archive
from bmx_grid.datasets.mlqe_pe import MEMBERS21, da_members
from bmx_grid.datasets.word_tags import ZERO_ONE, tags_of_lines
from bmx_grid.errors import ConfigError
from bmx_grid.identity import identity
from bmx_grid.judgements import Judgements
from bmx_grid.segments import SegmentSet
from bmx_grid.words.perturbation import Role
from bmx_grid.words.tags import WordTags

SIDES: tuple[Role, ...] = ("source", "hypothesis")
TAGGED = ("test21.src", "test21.mt")
TAGS = ("test21.src-tags", "test21.tgt-tags")


@dataclass(frozen=True, kw_only=True)
class Eval4nlp21(DatasetReader):
    """Tokenised sentences; human scores (`da`) are means of raw 0 to 100 judgements. Ids are line numbers from 0.
    Words of source and translation have tags, given by people.

    first: keep the first `first` segments of each pair; the paper's Table 1 has 1000 of each, the
        released pairs have 1000, 1000, 1180 and 1410. None keeps all.
    """

    PAIRS: ClassVar[tuple[str, ...]] = ("ro-en", "et-en", "ru-de", "de-zh")

    first: int | None = identity(None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.first is not None and self.first < 1:
            raise ConfigError(f"dataset.{self.name}.first is {self.first}; give a number from 1, or null for all.")

    def needs(self, language_pair: str) -> list[str]:
        """The archive of the pair."""
        return [f"SharedTask2021/data/test21/{language_pair}-test21.tar.gz"]

    def read(self, data_dir: Path, language_pair: str) -> SegmentSet:
        """The sentences in file order, texts unchanged."""
        self.check_pair(language_pair)
        (archive,) = self.require(data_dir, self.needs(language_pair))
        members = read_archive(archive, MEMBERS21, TAGS)
        segments, human = da_members(members, archive)
        tags = _tags(members, archive) if all(name in members for name in TAGS) else {}
        found = SegmentSet(self.name, language_pair, segments, Judgements({"da": human}, tags=tags), str(archive))
        return found.head(self.first)


def _tags(members: Mapping[str, list[str]], archive: Path) -> dict[Role, WordTags]:
    """The tags of source and hypothesis, given by people. Raises DataError where they do not fit the words."""
    check_aligned({f"{archive}:{name}": members[name] for name in (*TAGGED, *TAGS)})
    parts = zip(SIDES, TAGGED, TAGS, strict=True)
    return {
        side: tags_of_lines(members[text], members[tags], f"{archive}:{tags}", ZERO_ONE) for side, text, tags in parts
    }
