"""WMT test sets as they lie in the repository of Zhao et al., ACL 2020 (ACL20-Reference-Free-MT-Evaluation).

WMT17 metrics task: seven to-English pairs of 560 directly assessed segments (Bojar, Graham, Kamran: Results of the
WMT17 Metrics Shared Task, WMT 2017). Sources are raw text; references and hypotheses are lower-cased and tokenised
there, with entities (`&apos;`), which no metric expects: they are unescaped by default.

WMT19 metrics task, system level, en-de and de-en: whole test sets, and one human score per system (Ma, Wei, Bojar,
Graham: Results of the WMT19 Metrics Shared Task, WMT 2019). All texts are raw: cased and not tokenised.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.best_systems import how_many
from bmx_grid.datasets.download.manifest import listed
from bmx_grid.datasets.lines import check_aligned, parse_score, read_lines, split_row
from bmx_grid.errors import ConfigError, DataError
from bmx_grid.identity import identity
from bmx_grid.judgements import Judgements
from bmx_grid.segments import Segment, SegmentSet

HEADER17 = ["LP", "DATA", "SYSTEM", "SID", "HUMAN"]
HEADER19 = ["LP", "HUMAN", "SYSTEM"]


class _Acl20(DatasetReader):
    """A data set of one year of the repository. YEAR: of four digits; SCORES: the name of its table of human scores."""

    YEAR: ClassVar[int]
    SCORES: ClassVar[str]

    def needs(self, language_pair: str) -> list[str]:
        """The score table, source, reference and all system outputs of the pair."""
        outputs = listed(f"{self._root}/system-outputs/{language_pair}/")
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

    def _output(self, language_pair: str, system: str) -> str:
        """The translations of a system, whose name may hold dots, dashes and underscores."""
        return f"{self._root}/system-outputs/{language_pair}/newstest{self.YEAR}.{system}.{language_pair}"


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

    def read(self, data_dir: Path, language_pair: str) -> SegmentSet:
        """560 segments in the order of DA-seglevel.csv."""
        self.check_pair(language_pair)
        scores, source, reference = self.require(data_dir, self._shared(language_pair))
        judgements = _judgements(scores, language_pair)
        # Systems that produced the same string are joined by "+"; the first one's file has the text.
        wanted = sorted({system.split("+")[0] for system, _, _ in judgements})
        outputs = self.require(data_dir, [self._output(language_pair, system) for system in wanted])
        texts = {str(path): self._lines(path) for path in (source, reference, *outputs)}
        count = check_aligned(texts)
        by_system = dict(zip(wanted, map(str, outputs), strict=True))

        segments = []
        for system, sid, _ in judgements:
            if not 1 <= sid <= count:
                raise DataError(f"{scores}: {language_pair} SID {sid} is outside the {count} lines of {source}.")
            hypothesis = texts[by_system[system.split("+")[0]]][sid - 1]
            source_text, reference_text = texts[str(source)][sid - 1], texts[str(reference)][sid - 1]
            segments.append(Segment(str(sid), hypothesis, source_text, reference_text, system))
        human = Judgements({"da": np.array([score for _, _, score in judgements], dtype=np.float64)})
        return SegmentSet(self.name, language_pair, tuple(segments), human, str(scores))

    def _lines(self, path: Path) -> list[str]:
        lines = [line.rstrip(" ") for line in read_lines(path)]
        return [html.unescape(line) for line in lines] if self.unescape else lines


def _judgements(path: Path, language_pair: str) -> list[tuple[str, int, float]]:
    """(system, sid, human score) of one pair."""
    found = []
    for row, (_, _, system, sid, score) in _rows_of_pair(path, HEADER17, language_pair):
        if not sid.isdecimal():
            raise DataError(f"{path}, line {row}: SID {sid!r} is not a line number.")
        found.append((system, int(sid), parse_score(score, str(path), row)))
    return found


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

    def read(self, data_dir: Path, language_pair: str) -> SegmentSet:
        """22 systems x 1,997 lines (en-de) or 16 x 2,000 (de-en), system by system from the best to the worst."""
        self.check_pair(language_pair)
        scores, source, reference = self.require(data_dir, self._shared(language_pair))
        human = _human_scores(scores, language_pair)
        best = sorted(human, key=lambda system: -human[system])[: self._kept(len(human))]
        if not best:
            raise ConfigError(
                f"dataset.{self.name}.systems={self.systems} keeps none of the {len(human)} systems "
                f"of {language_pair}; ask for more."
            )
        outputs = self.require(data_dir, [self._output(language_pair, system) for system in best])
        texts = {str(path): read_lines(path) for path in (source, reference, *outputs)}
        count = check_aligned(texts)
        sources, references = texts[str(source)], texts[str(reference)]
        segments = tuple(
            Segment(str(line + 1), texts[str(path)][line], sources[line], references[line], system)
            for system, path in zip(best, outputs, strict=True)
            for line in range(count)
        )
        judged = Judgements(
            {"da": np.full(len(segments), np.nan)}, systems={"da": {system: human[system] for system in best}}
        )
        return SegmentSet(self.name, language_pair, segments, judged, str(scores), all_systems=tuple(human))

    def _kept(self, count: int) -> int:
        return how_many(self.systems, count, f"dataset.{self.name}.systems")


def _human_scores(path: Path, language_pair: str) -> dict[str, float]:
    """System -> human score of one pair, in the order of the table."""
    found: dict[str, float] = {}
    for row, (_, score, system) in _rows_of_pair(path, HEADER19, language_pair):
        if system in found:
            raise DataError(f"{path}, line {row}: {language_pair} has a second score of the system '{system}'.")
        found[system] = parse_score(score, str(path), row)
    return found


def _rows_of_pair(path: Path, header: Sequence[str], language_pair: str) -> Iterator[tuple[int, list[str]]]:
    """(line from 1, fields) of each row of one pair in a table that is called csv, but separated by blanks.

    Raises DataError for another header, a row with another number of fields, and a table without a row of the pair.
    """
    lines = read_lines(path)
    if not lines or lines[0].split() != list(header):
        raise DataError(f"{path}, line 1: expected the header '{' '.join(header)}', got {''.join(lines[:1])[:80]!r}.")
    place = list(header).index("LP")
    found = False
    for row, line in enumerate(lines[1:], start=2):
        fields = split_row(line, len(header), str(path), row, " ")
        if fields[place] == language_pair:
            found = True
            yield row, fields
    if not found:
        raise DataError(f"{path}: no row for {language_pair}.")
