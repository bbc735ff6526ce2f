"""WMT test sets as they lie in the repository of Zhao et al., ACL 2020 (ACL20-Reference-Free-MT-Evaluation).

WMT17 metrics task: seven to-English pairs of 560 directly assessed segments (Bojar, Graham, Kamran: Results of the
WMT17 Metrics Shared Task, WMT 2017). Sources are raw text; references and hypotheses are lower-cased and tokenised
there, with entities (`&apos;`), which no metric expects: they are unescaped by default.

WMT19 metrics task, system level, en-de and de-en: whole test sets, and one human score per system (Ma, Wei, Bojar,
Graham: Results of the WMT19 Metrics Shared Task, WMT 2019). All texts are raw: cased and not tokenised.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bmx_grid.core.errors import ConfigError
from bmx_grid.core.identity import identity
from bmx_grid.datasets.base import Published, how_many, published_files
from bmx_grid.datasets.lines import finite, published_table, read_lines
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet

if TYPE_CHECKING:
    import pandas as pd


class _Acl20(Published):
    """A data set of one year of the repository. YEAR: of four digits; SCORES: the name of its table of human scores,
    which is called csv, but separated by blanks."""

    YEAR: ClassVar[int]
    SCORES: ClassVar[str]

    def needs(self, language_pair: str) -> list[str]:
        """The score table, source, reference and all system outputs of the pair."""
        outputs = published_files(f"{self._root}/system-outputs/{language_pair}/")
        return [*self._shared(language_pair), *outputs]

    @property
    def _root(self) -> str:
        return f"ACL20-Reference-Free-MT-Evaluation/WMT{self.YEAR % 100}"

    def _shared(self, language_pair: str) -> list[str]:
        """The score table, the source and the reference."""
        source, target = language_pair.split("-")
        stem = f"newstest{self.YEAR}-{source}{target}"
        texts = (f"source/{stem}-src.{source}", f"references/{stem}-ref.{target}")
        return [f"{self._root}/{name}" for name in (self.SCORES, *texts)]

    def _scores(self, data_dir: Path, language_pair: str) -> tuple[pd.DataFrame, str]:
        """The rows of a pair in the table of human scores, HUMAN as numbers, and its path."""
        path, *_ = self.require(data_dir, self._shared(language_pair))
        rows = published_table(read_lines(path), str(path), " ")
        rows = rows[rows["LP"] == language_pair]
        if rows.empty:
            raise ValueError(f"no row for {language_pair}")
        return rows.assign(HUMAN=finite(rows.HUMAN)), str(path)

    def _texts(
        self, data_dir: Path, language_pair: str, systems: Iterable[str]
    ) -> dict[str, list[tuple[str, str, str]]]:
        """Per system hypothesis, source and reference of each line. Names of systems may hold dots and dashes."""
        names = list(dict.fromkeys(systems))
        folder = f"{self._root}/system-outputs/{language_pair}"
        outputs = [f"{folder}/newstest{self.YEAR}.{name}.{language_pair}" for name in names]
        paths = self.require(data_dir, [*self._shared(language_pair)[1:], *outputs])
        source, reference, *texts = [self._lines(path) for path in paths]
        return {
            name: list(zip(lines, source, reference, strict=True)) for name, lines in zip(names, texts, strict=True)
        }

    def _lines(self, path: Path) -> list[str]:
        return read_lines(path)


@dataclass(frozen=True, kw_only=True)
class Wmt17(_Acl20):
    """Ids are the published SIDs (line numbers from 1); human scores are standardised direct assessments (`da`).

    unescape: turn entities in all three texts into the characters they stand for. False keeps the published
        text, which the numbers of `experiments/bmx_2022` were measured on.
    Systems that produced the same string were judged once, under their names joined by `+`.
    Blanks at line ends are removed: an aligner's padding is not a word.
    """

    VERSION: ClassVar[int] = 2  # ids are SIDs, without the system

    YEAR: ClassVar[int] = 2017
    SCORES: ClassVar[str] = "DA-seglevel.csv"
    PAIRS: ClassVar[tuple[str, ...]] = ("cs-en", "de-en", "fi-en", "lv-en", "ru-en", "tr-en", "zh-en")

    unescape: bool = identity(True)

    def _read(self, data_dir: Path, language_pair: str) -> SegmentSet:
        """560 segments in the order of DA-seglevel.csv."""
        rows, where = self._scores(data_dir, language_pair)
        # Systems that produced the same string are joined by "+"; the first one's file has the text.
        texts = self._texts(data_dir, language_pair, rows.SYSTEM.str.partition("+")[0])
        by_line = {name: dict(enumerate(lines, start=1)) for name, lines in texts.items()}
        segments = tuple(
            Segment(sid, *by_line[system.split("+")[0]][int(sid)], system)
            for sid, system in zip(rows.SID, rows.SYSTEM, strict=True)
        )
        return SegmentSet(self.name, language_pair, segments, Judgements({"da": rows.HUMAN.to_numpy()}), where)

    def _lines(self, path: Path) -> list[str]:
        lines = [line.rstrip(" ") for line in read_lines(path)]
        return [html.unescape(line) for line in lines] if self.unescape else lines


@dataclass(frozen=True, kw_only=True)
class Wmt19(_Acl20):
    """Ids are line numbers from 1; systems have standardised direct assessments (`da`), segments have none.

    systems: "all", or the best by human score: "top:6" for six of them, "top:30%" for floor(.3 n). Of systems with
        equal scores the one that the publisher lists first is kept.
    Raises ConfigError for another text, or a number that leaves no system.
    """

    YEAR: ClassVar[int] = 2019
    SCORES: ClassVar[str] = "DA-syslevel.csv"
    PAIRS: ClassVar[tuple[str, ...]] = ("en-de", "de-en")

    systems: str = identity("all")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._kept(100)  # refused while the configuration is read, not once the files are

    def _read(self, data_dir: Path, language_pair: str) -> SegmentSet:
        """22 systems x 1,997 lines (en-de) or 16 x 2,000 (de-en), system by system from the best to the worst."""
        rows, where = self._scores(data_dir, language_pair)
        best = rows.sort_values("HUMAN", ascending=False, kind="stable")[: self._kept(len(rows))]
        if best.empty:
            raise ConfigError(
                f"dataset.{self.name}.systems={self.systems} keeps none of the {len(rows)} systems "
                f"of {language_pair}; ask for more."
            )
        outputs = []
        for system, lines in self._texts(data_dir, language_pair, best.SYSTEM).items():
            for line, texts in enumerate(lines, start=1):
                outputs.append(Segment(str(line), *texts, system))
        segments = tuple(outputs)
        judged = Judgements(
            {"da": np.full(len(segments), np.nan)},
            systems={"da": dict(zip(best.SYSTEM, best.HUMAN.tolist(), strict=True))},
        )
        return SegmentSet(self.name, language_pair, segments, judged, where, all_systems=tuple(rows.SYSTEM))

    def _kept(self, count: int) -> int:
        return how_many(self.systems, count, f"dataset.{self.name}.systems")
