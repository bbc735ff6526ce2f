"""Test sets in the file layout of mt-metrics-eval: the WMT metrics tasks since 2019, or a tree of one's own.

github.com/google-research/mt-metrics-eval, README, "File organization and naming convention". Below TEST_SET/:

    sources/LP.txt  documents/LP.docs  references/LP.REF.txt  system-outputs/LP/SYSTEM.txt
    human-scores/LP.NAME.LEVEL.score  metric-scores/LP/METRIC-REF.LEVEL.score

Metric scores are read by the metric `imported`, ratings of error spans by the explainer of that name. Levels doc and
domain are not read.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bmx_grid.core.errors import ConfigError, DataMissingError, close_match, unknown
from bmx_grid.core.identity import identity, runtime
from bmx_grid.core.wording import named
from bmx_grid.datasets.base import PART, DatasetReader
from bmx_grid.datasets.imported_files import read_blocks
from bmx_grid.datasets.lines import check_aligned, read_crlf_lines, refuse, text_rows
from bmx_grid.datasets.scores_of_files import with_ids
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet
from bmx_grid.datasets.tables import first_few

NO_TRANSLATION = "[No translation supplied]"  # stands for a missing line, so that the others stay aligned
# The standard reference where it is neither the only one nor refA (mt_metrics_eval/meta_info.py).
STANDARD_REFERENCES = {
    ("wmt21.news", "en-de"): "refC",
    ("wmt21.news", "zh-en"): "refB",
    ("wmt21.tedtalks", "zh-en"): "refB",
    ("wmt22", "cs-en"): "refB",
    ("wmt22", "en-cs"): "refB",
    ("wmt23", "he-en"): "refB",
    ("wmt23", "en-he"): "refB",
    ("wmt24", "en-de"): "refB",
}
# Which human score is the standard one of a pair that has several: experts' before others, as in meta_info.py.
STANDARD_SCORES = ("mqm", "esa", "da-sqm", "wmt", "wmt-appraise", "wmt-raw", "wmt-z")


@dataclass(frozen=True, kw_only=True)
class MtMetricsEval(DatasetReader):
    """test_set: its folder, as wmt23, below `folder`, which is below data_dir unless it is an absolute path.

    language_pairs: none meaning all that have human scores, those of the name `human` where it is given.
    reference: the name of the reference that metrics read, or pair -> name; null is the standard one of test sets up
        to WMT23, else the one called refA or ref, or the only one, and a warning names the choice. The others are
        further references: metrics that ask for all read them, and segments that share one are one cluster.
    human: the human score that is the primary one; null is the standard one. All that there are become aspects.
    human_systems: whether human translations among the system outputs are judged as systems; the reference that
        metrics read never is.
    leave_out: names of systems that are not read, such as outliers.

    Ids are line numbers from 1. Segments that nobody rated are kept, with NaN; those without a translation are left
    out. Texts are as in the files, but for CR before a line feed.
    """

    folder: str = runtime("mt-metrics-eval-v2")
    test_set: str | None = identity(None)
    reference: Mapping[str, str] | str | None = identity(None)
    human: str | None = identity(None)
    human_systems: bool = identity(False)
    leave_out: tuple[str, ...] = identity(())

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.test_set is not None and not PART.fullmatch(self.test_set):
            raise ConfigError(f"dataset.{self.name}.test_set is {self.test_set[:60]!r}; name a folder, such as wmt23.")

    def pairs(self, data_dir: Path) -> tuple[str, ...]:
        """The pairs given, or else those with a source and human scores, sorted. Raises DataMissingError for none."""
        return self.language_pairs or self._judged_pairs(self._root(data_dir))

    def read(self, data_dir: Path, language_pair: str) -> SegmentSet:
        """The segments of the pair, system by system in the order of their names, each in the order of the sources."""
        root = self._root(data_dir)
        for pair in (language_pair, *(self.reference if isinstance(self.reference, Mapping) else ())):
            if not (root / "sources" / f"{pair}.txt").is_file():
                raise ConfigError(f"dataset.{self.name}: " + unknown("language pair", pair, self._judged_pairs(root)))
        source = root / "sources" / f"{language_pair}.txt"
        references = _files(root / "references", f"{language_pair}.?*.txt")
        outputs = _files(root / "system-outputs" / language_pair, "*.txt")
        documents = _files(root / "documents", f"{language_pair}.docs")
        if not outputs:
            raise DataMissingError(f"{root / 'system-outputs' / language_pair}: there are no outputs, as SYSTEM.txt.")
        lines = {path: read_crlf_lines(path) for path in (source, *references, *outputs, *documents)}
        count = check_aligned({str(path): texts for path, texts in lines.items()})
        of_references = {path.stem.removeprefix(f"{language_pair}."): _supplied(lines[path]) for path in references}
        of_outputs = {path.stem: _supplied(lines[path]) for path in outputs}
        standard = self._reference(language_pair, list(of_references))
        systems = self._systems(root, list(of_outputs), of_references, standard)
        first = of_references.pop(standard) if standard else [None] * count
        document_of: list[str | None] = [None] * count
        domain_of: list[str | None] = [None] * count
        for path in documents:
            rows = text_rows(lines[path], ["domain", "name"], str(path), separator=None)
            document_of = rows.name.tolist()
            domain_of = rows.domain.tolist()
        ids = tuple(str(line) for line in range(1, count + 1))
        segments = []
        for system in systems:
            others = [texts for name, texts in of_references.items() if name != system]
            columns = zip(ids, of_outputs[system], lines[source], first, document_of, domain_of, *others, strict=True)
            for name, text, source_text, reference, document, domain, *further in columns:
                kept = tuple(text for text in further if text is not None)
                if text is not None:
                    segments.append(Segment(name, text, source_text, reference, system, document, kept, domain))
        judgements = self._judgements(root / "human-scores", language_pair, segments, ids, list(of_outputs))
        return SegmentSet(self.name, language_pair, tuple(segments), judgements, str(root), ids, tuple(of_outputs))

    def _root(self, data_dir: Path) -> Path:
        """The folder of the test set. Raises DataMissingError when none is named, or it is not there."""
        folder = Path(data_dir) / Path(self.folder).expanduser()
        root = folder / (self.test_set or "TEST_SET")
        if not (root / "sources").is_dir():
            there = named([path.parent.name for path in sorted(folder.glob("*/sources"))], most=99) or "none"
            raise DataMissingError(
                f"data set '{self.name}': there is no {root / 'sources'} ({folder} has {there}); name a test set, as "
                f"dataset.{self.name}.test_set=wmt23. mt-metrics-eval fetches them with: "
                "python -m mt_metrics_eval.mtme --download; then set "
                f"dataset.{self.name}.folder=$HOME/.mt-metrics-eval/mt-metrics-eval-v2"
            )
        return root

    def _judged_pairs(self, root: Path) -> tuple[str, ...]:
        sources = _files(root / "sources", "*.txt")
        scores = root / "human-scores"
        pairs = tuple(path.stem for path in sources if _files(scores, f"{path.stem}.*.s*.score"))
        if self.human is not None:  # a name that no pair has is refused where it is read
            pairs = tuple(pair for pair in pairs if _files(scores, f"{pair}.{self.human}.s*.score")) or pairs
        if not pairs:
            raise DataMissingError(
                f"{root}: no language pair has both a source and human scores; there must be sources/LP.txt and "
                "human-scores/LP.NAME.seg.score or .sys.score."
            )
        return pairs

    def _reference(self, language_pair: str, names: list[str]) -> str | None:
        """The name of the reference that metrics read; None where there is none.

        Warns of a choice among several that nobody named. Raises ConfigError for a name that there is not, and where
        none of several has a usual name.
        """
        key = f"dataset.{self.name}.reference"
        chosen = self.reference.get(language_pair) if isinstance(self.reference, Mapping) else self.reference
        if chosen is not None and chosen not in names:
            raise ConfigError(
                f"{key}: {language_pair}: {unknown('reference', chosen, names)} Name the one that metrics read, for "
                f"single pairs as {key}={{PAIR: NAME}}."
            )
        if chosen is not None or len(names) < 2:
            return chosen or next(iter(names), None)
        standard = STANDARD_REFERENCES.get((str(self.test_set), language_pair))
        known = [name for name in (standard, "refA", "ref") if name in names]
        if not known:
            raise ConfigError(
                f"{key}: the references of {language_pair} are {first_few(names)}, and which is the standard is not "
                f"known; name the one that metrics read, as {key}={names[0]}."
            )
        warnings.warn(
            f"{language_pair}: of the references {first_few(names)}, metrics read {known[0]}; name another with "
            f"{key}={next(name for name in names if name != known[0])}.",
            stacklevel=2,
        )
        return known[0]

    def _systems(self, root: Path, names: list[str], references: Iterable[str], standard: str | None) -> list[str]:
        """The systems that are judged. Raises ConfigError for an unknown name to leave out, or when none is left."""
        everywhere = {path.stem for path in _files(root / "system-outputs", "*/*.txt")}
        for name in self.leave_out:
            if name not in everywhere:
                raise ConfigError(f"dataset.{self.name}.leave_out: " + unknown("system", name, everywhere))
        people = {standard} if self.human_systems else {standard, *references}
        kept = [name for name in names if name not in people and name not in self.leave_out]
        if not kept:
            raise ConfigError(
                f"dataset.{self.name}: none of the systems {', '.join(names)} in {root} is left to judge; take some "
                "of them out of leave_out, or set human_systems=true if they are references."
            )
        return kept

    def _judgements(
        self, folder: Path, language_pair: str, segments: Sequence[Segment], ids: Sequence[str], outputs: Sequence[str]
    ) -> Judgements:
        """The human scores of segments and systems by name, the primary one first."""
        places = [(segment.system, segment.id) for segment in segments]
        systems = list(dict.fromkeys(system for system, _ in places))
        by_segment: dict[str, Any] = {}
        by_system: dict[str, dict[str, float]] = {}
        for path in _files(folder, f"{language_pair}.?*.score"):
            name, _, level = path.name.removeprefix(f"{language_pair}.").removesuffix(".score").rpartition(".")
            if name and level == "seg":
                by_segment[name] = _blocks(path, outputs, ids).reindex(places).to_numpy(dtype=np.float64)
            elif name and level == "sys":
                scores = _blocks(path, outputs, [""]).droplevel("id")
                by_system[name] = scores.reindex(systems).dropna().to_dict()
        names = {*by_segment, *by_system}
        if not names:
            raise DataMissingError(
                f"{folder}: no human scores of {language_pair}; there must be files as {language_pair}.mqm.seg.score."
            )
        if self.human is not None and self.human not in names:
            raise ConfigError(
                f"dataset.{self.name}.human: {language_pair}: {unknown('human score', self.human, names)} Name one of "
                f"these, or choose other pairs: dataset.{self.name}.language_pairs=[PAIR]."
            )
        rank = {name: place for place, name in enumerate(STANDARD_SCORES)}
        ordered = sorted(
            names, key=lambda name: (name != self.human, name not in by_segment, rank.get(name, len(rank)), name)
        )
        unrated = np.full(len(segments), np.nan)
        return Judgements({name: by_segment.get(name, unrated) for name in ordered}, systems=by_system)


def _files(folder: Path, pattern: str) -> list[Path]:
    """The files that fit, by name, without hidden ones."""
    return sorted(path for path in folder.glob(pattern) if path.is_file() and not path.name.startswith("."))


def _supplied(texts: Sequence[str]) -> list[str | None]:
    return [None if text == NO_TRANSLATION else text for text in texts]


def _blocks(path: Path, outputs: Sequence[str], ids: Sequence[str]) -> Any:
    """The scores of a file by system and id. Raises DataError for a system without outputs, or with more or fewer."""
    rows = read_blocks(path)
    refuse(
        rows,
        ~rows.system.isin(outputs),
        lambda row: (
            f"{path}, {row.place}: no outputs of the system {row.system[:60]!r}"
            f"{close_match(row.system, outputs)}; correct the name, or take its rows out."
        ),
    )
    rows = with_ids(path, rows, ids, "the test set")
    return rows.set_index(["system", "id"]).value
