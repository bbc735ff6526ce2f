"""WMT test sets as published in the repository of Zhao et al., ACL 2020 (ACL20-Reference-Free-MT-Evaluation).

WMT17 metrics task: seven to-English pairs of 560 directly assessed segments (Bojar, Graham, Kamran: Results of the
WMT17 Metrics Shared Task, WMT 2017). Sources are raw text; references and hypotheses are lower-cased and tokenised,
with entities (`&apos;`), which no metric expects: they are unescaped by default.

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
        return [*self._common_files(language_pair), *outputs]

    @property
    def _root(self) -> str:
        return f"ACL20-Reference-Free-MT-Evaluation/WMT{self.YEAR % 100}"

    def _common_files(self, language_pair: str) -> list[str]:
        source, target = language_pair.split("-")
        stem = f"newstest{self.YEAR}-{source}{target}"
        return [
            f"{self._root}/{self.SCORES}",
            f"{self._root}/source/{stem}-src.{source}",
            f"{self._root}/references/{stem}-ref.{target}",
        ]

    def _scores(self, data_dir: Path, language_pair: str) -> tuple[pd.DataFrame, str]:
        """The rows of a pair in the table of human scores, HUMAN as numbers, and its path."""
        path, *_ = self.require(data_dir, self._common_files(language_pair))
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
        stem = f"{self._root}/system-outputs/{language_pair}/newstest{self.YEAR}"
        outputs = [f"{stem}.{name}.{language_pair}" for name in names]
        _, *shared = self._common_files(language_pair)
        paths = self.require(data_dir, [*shared, *outputs])
        sources, references, *hypotheses = [self._lines(path) for path in paths]
        texts = {}
        for name, lines in zip(names, hypotheses, strict=True):
            texts[name] = list(zip(lines, sources, references, strict=True))
        return texts

    def _lines(self, path: Path) -> list[str]:
        return read_lines(path)


@dataclass(frozen=True, kw_only=True)
class Wmt17(_Acl20):
    """Ids are the published SIDs (line numbers from 1); human scores are standardised direct assessments (`da`).

    unescape: turn entities in all three texts into characters. False keeps the published
        text, as used by `experiments/bmx_2022`.
    Systems that produced the same string were judged once, under their names joined by `+`.
    Blanks at line ends are removed: an aligner's padding is not a word.
    """

    VERSION: ClassVar[int] = 2  # ids are SIDs, without the system

    YEAR: ClassVar[int] = 2017
    SCORES: ClassVar[str] = "DA-seglevel.csv"
    PAIRS: ClassVar[tuple[str, ...]] = ("cs-en", "de-en", "fi-en", "lv-en", "ru-en", "tr-en", "zh-en")

    unescape: bool = identity(True)

    def _parse_segments(self, data_dir: Path, language_pair: str) -> SegmentSet:
        """560 segments in the order of DA-seglevel.csv."""
        rows, where = self._scores(data_dir, language_pair)
        # Systems that produced the same string are joined by "+"; the first one's file has the text.
        first_systems = rows.SYSTEM.str.partition("+")[0]
        texts = self._texts(data_dir, language_pair, first_systems)
        segments = []
        for sid, system, first_system in zip(rows.SID, rows.SYSTEM, first_systems, strict=True):
            number = int(sid)
            lines = texts[first_system]
            # From 1: line 0 would be the last one.
            if not 1 <= number <= len(lines):
                raise LookupError(number)
            segments.append(Segment(sid, *lines[number - 1], system))
        judgements = Judgements({"da": rows.HUMAN.to_numpy()})
        return SegmentSet(self.name, language_pair, tuple(segments), judgements, where)

    def _lines(self, path: Path) -> list[str]:
        lines = [line.rstrip(" ") for line in read_lines(path)]
        if not self.unescape:
            return lines
        return [html.unescape(line) for line in lines]


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
        # Refused while the configuration is read, not once the files are. Any number of systems does for that.
        self._n_systems(100)

    def _parse_segments(self, data_dir: Path, language_pair: str) -> SegmentSet:
        """22 systems x 1,997 lines (en-de) or 16 x 2,000 (de-en), system by system from the best to the worst."""
        rows, where = self._scores(data_dir, language_pair)
        # Stable, so that of equal scores the one that the publisher lists first is kept.
        ranked = rows.sort_values("HUMAN", ascending=False, kind="stable")
        best = ranked[: self._n_systems(len(rows))]
        if best.empty:
            raise ConfigError(
                f"dataset.{self.name}.systems={self.systems} keeps none of the {len(rows)} systems "
                f"of {language_pair}; choose a higher number."
            )
        segments = []
        for system, lines in self._texts(data_dir, language_pair, best.SYSTEM).items():
            for number, texts in enumerate(lines, start=1):
                segments.append(Segment(str(number), *texts, system))
        # Only whole systems were judged.
        unrated = np.full(len(segments), np.nan)
        score_of_system = dict(zip(best.SYSTEM, best.HUMAN.tolist(), strict=True))
        judgements = Judgements({"da": unrated}, systems={"da": score_of_system})
        everyone = tuple(rows.SYSTEM)
        return SegmentSet(self.name, language_pair, tuple(segments), judgements, where, all_systems=everyone)

    def _n_systems(self, count: int) -> int:
        return how_many(self.systems, count, f"dataset.{self.name}.systems")
