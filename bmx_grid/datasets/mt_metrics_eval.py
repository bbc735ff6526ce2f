"""Test sets in the file layout of mt-metrics-eval: the WMT metrics tasks since 2019, or a tree of one's own.

github.com/google-research/mt-metrics-eval, README, "File organization and naming convention". Below TEST_SET/:

    sources/LP.txt  documents/LP.docs  references/LP.REF.txt  system-outputs/LP/SYSTEM.txt
    human-scores/LP.NAME.LEVEL.score  metric-scores/LP/METRIC-REF.LEVEL.score

Texts with line feeds are in files .jsonl instead of .txt: an object per line with the field source, target (of a
reference) or hypothesis.

Metric scores are read by the metric `imported`, ratings of error spans by the explainer of that name. Levels doc and
domain are not read.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from bmx_grid.core.errors import ConfigError, DataError, DataMissingError, close_match, unknown
from bmx_grid.core.identity import identity, runtime
from bmx_grid.core.storage import expand_home
from bmx_grid.core.wording import join_names
from bmx_grid.datasets.base import PART, DatasetReader
from bmx_grid.datasets.column_roles import first_few
from bmx_grid.datasets.imported_files import read_blocks
from bmx_grid.datasets.lines import check_aligned, read_lines, refuse, text_rows
from bmx_grid.datasets.rows_of_files import add_source_ids
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet
from bmx_grid.datasets.tables import open_table

# Marks a missing line, so that other lines stay aligned.
NO_TRANSLATION = "[No translation supplied]"
# How files of texts end.
TEXT_ENDINGS = (".txt", ".jsonl")
# The standard reference if it is neither the only one nor refA (mt_metrics_eval/meta_info.py).
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
# Test sets whose standard are direct assessments, although experts judged some pairs later (meta_info.py).
DIRECT_ASSESSMENTS = ("wmt19", "wmt20")
# Systems were judged by scores standardised by rater, where segments were judged by raw ones (meta_info.py).
STANDARD_OF_SYSTEMS = {"wmt-raw": "wmt-z"}


@dataclass(frozen=True, kw_only=True)
class MtMetricsEval(DatasetReader):
    """test_set: its folder, as wmt23, below `folder`, which is below data_dir unless it is an absolute path.

    language_pairs: none meaning all that have human scores, named `human` if that is set.
    reference: the name of the reference that metrics read, or pair -> name; null is the standard one of test sets up
        to WMT24, else the one called refA or ref, or the only one, and a warning names the choice. The others are
        further references: metrics that use all references read them, and segments that share one are one cluster.
    human: the human score that is the primary one; null is the standard one, which for the direct assessments of WMT19
        to WMT21 is wmt-raw for segments and wmt-z for systems. All human scores become aspects.
    human_systems: whether human translations among the system outputs are judged as systems; the reference that
        metrics read never is.
    leave_out: names of systems that are not read, such as outliers.

    Ids are line numbers from 1. Segments that nobody rated are kept, with NaN; those without a translation are left
    out. Texts are as in the files, without the ends of lines (LF or CR LF).
    """

    VERSION: ClassVar[int] = 2  # WMT19 to WMT21 are judged by the standard of each level

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

    def load_segments(self, data_dir: Path, language_pair: str) -> SegmentSet:
        """The segments of the pair, system by system in the order of their names, each in the order of the sources."""
        root = self._root(data_dir)
        # Pairs that only the reference names are checked, too: such a name is a mistake.
        named_pairs = self.reference if isinstance(self.reference, Mapping) else ()
        for pair in (language_pair, *named_pairs):
            if not _text_files(root / "sources", pair):
                raise ConfigError(f"dataset.{self.name}: " + unknown("language pair", pair, self._judged_pairs(root)))
        files = _read_texts(root, language_pair)
        standard = self._reference(language_pair, list(files.references))
        systems = self._systems(root, list(files.outputs), files.references, standard)
        ids = tuple(str(number) for number in range(1, len(files.sources) + 1))
        segments: list[Segment] = []
        for system in systems:
            segments += _segments_of(system, ids, files, standard)
        outputs = tuple(files.outputs)
        judgements = self._judgements(root / "human-scores", language_pair, segments, ids, outputs)
        references = sorted(files.references, key=lambda name: (name != standard, name))
        return SegmentSet(
            dataset=self.name,
            language_pair=language_pair,
            segments=tuple(segments),
            judgements=judgements,
            origin=str(root),
            all_ids=ids,
            all_systems=outputs,
            references=tuple(references),
        )

    def _root(self, data_dir: Path) -> Path:
        """The folder of the test set. Raises DataMissingError when none is named, or it does not exist."""
        folder = Path(data_dir) / expand_home(self.folder)
        root = folder / (self.test_set or "TEST_SET")
        if not (root / "sources").is_dir():
            test_sets = [path.parent.name for path in sorted(folder.glob("*/sources"))]
            there = join_names(test_sets, most=99) or "none"
            raise DataMissingError(
                f"data set '{self.name}': {root / 'sources'} not found ({folder} has {there}); name a test set, as "
                f"dataset.{self.name}.test_set=wmt23. mt-metrics-eval fetches them with: "
                "python -m mt_metrics_eval.mtme --download; then set "
                f"dataset.{self.name}.folder=$HOME/.mt-metrics-eval/mt-metrics-eval-v2"
            )
        return root

    def _judged_pairs(self, root: Path) -> tuple[str, ...]:
        """The pairs that have a source and human scores, those of the name `human` where any pair has them, sorted."""
        scores = root / "human-scores"
        pairs = list(_text_files(root / "sources", "*"))
        judged = [pair for pair in pairs if _are_there(scores, pair, "*")]
        if not judged:
            raise DataMissingError(
                f"{root}: no language pair has both a source and human scores; there must be sources/LP.txt and "
                "human-scores/LP.NAME.seg.score or .sys.score."
            )
        if self.human is None:
            return tuple(judged)
        named_so = [pair for pair in judged if _are_there(scores, pair, self.human)]
        # A name that no pair has is refused when it is read.
        return tuple(named_so or judged)

    def _reference(self, language_pair: str, names: list[str]) -> str | None:
        """The name of the reference that metrics read; None without references.

        Warns if it chooses among several. Raises ConfigError for an unknown name, and if none of several has a usual
        name.
        """
        key = f"dataset.{self.name}.reference"
        chosen = self.reference.get(language_pair) if isinstance(self.reference, Mapping) else self.reference
        if chosen is not None:
            if chosen not in names:
                raise ConfigError(
                    f"{key}: {language_pair}: {unknown('reference', chosen, names)} Name the one that metrics read, "
                    f"for single pairs as {key}={{PAIR: NAME}}."
                )
            return chosen
        if len(names) < 2:
            return names[0] if names else None
        standard = STANDARD_REFERENCES.get((str(self.test_set), language_pair))
        known = [name for name in (standard, "refA", "ref") if name in names]
        if not known:
            raise ConfigError(
                f"{key}: the references of {language_pair} are {first_few(names)}, and which is the standard is not "
                f"known; name the one that metrics read, as {key}={names[0]}."
            )
        another = next(name for name in names if name != known[0])
        warnings.warn(
            f"{language_pair}: of the references {first_few(names)}, metrics read {known[0]}; name another with "
            f"{key}={another}.",
            stacklevel=2,
        )
        return known[0]

    def _systems(self, root: Path, names: list[str], references: Iterable[str], standard: str | None) -> list[str]:
        """The systems that are judged. Raises ConfigError for an unknown name to leave out, or when none is left."""
        # Of all pairs: an outlier may be a system that this one does not have.
        everywhere = {path.stem for ending in TEXT_ENDINGS for path in _files(root / "system-outputs", f"*/*{ending}")}
        for name in self.leave_out:
            if name not in everywhere:
                raise ConfigError(f"dataset.{self.name}.leave_out: " + unknown("system", name, everywhere))
        # The reference that metrics read would score itself.
        people = {standard} if self.human_systems else {standard, *references}
        kept = [name for name in names if name not in people and name not in self.leave_out]
        if not kept:
            raise ConfigError(
                f"dataset.{self.name}: no system is left to judge in {root} ({', '.join(names)}). Remove some "
                "names from leave_out, or set human_systems=true if they are references."
            )
        return kept

    def _judgements(
        self, folder: Path, language_pair: str, segments: Sequence[Segment], ids: Sequence[str], outputs: Sequence[str]
    ) -> Judgements:
        """The human scores of segments and systems by name, the primary one first."""
        places = [(segment.system, segment.id) for segment in segments]
        systems = list(dict.fromkeys(segment.system for segment in segments))
        by_segment: dict[str, Any] = {}
        by_system: dict[str, dict[str, float]] = {}
        for path in _files(folder, f"{language_pair}.?*.score"):
            # Names of scores may hold dots themselves.
            stem = path.name.removeprefix(f"{language_pair}.").removesuffix(".score")
            name, _, level = stem.rpartition(".")
            if name and level == "seg":
                scores = _blocks(path, outputs, ids)
                by_segment[name] = scores.reindex(places).to_numpy(dtype=np.float64)
            elif name and level == "sys":
                # One score per system: a block of one, without an id.
                scores = _blocks(path, outputs, [""]).droplevel("id")
                by_system[name] = scores.reindex(systems).dropna().to_dict()
        names = {*by_segment, *by_system}
        if not names:
            raise DataMissingError(
                f"{folder}: no human scores of {language_pair}; there must be files as {language_pair}.mqm.seg.score."
            )
        if self.human is not None and self.human not in names:
            raise ConfigError(
                f"dataset.{self.name}.human: {language_pair}: {unknown('human score', self.human, names)} Name a "
                f"known one, or choose other pairs: dataset.{self.name}.language_pairs=[PAIR]."
            )

        standard: tuple[str, ...] = STANDARD_SCORES
        if self.test_set in DIRECT_ASSESSMENTS:
            standard = (*STANDARD_OF_SYSTEMS, *STANDARD_SCORES)

        def priority(name: str) -> tuple[bool, bool, int, str]:
            """The first choice has the smallest key."""
            rank = standard.index(name) if name in standard else len(standard)
            return name != self.human, name not in by_segment, rank, name

        unrated = np.full(len(segments), np.nan)
        scores_by_name = {}
        for name in sorted(names, key=priority):
            scores_by_name[name] = by_segment.get(name, unrated)
        of_systems = None
        # A human score that the user chose judges systems, too.
        if self.human is None:
            of_systems = STANDARD_OF_SYSTEMS.get(next(iter(scores_by_name)))
        if of_systems not in by_system:
            of_systems = None
        return Judgements(scores_by_name, systems=by_system, of_systems=of_systems)


def _files(folder: Path, pattern: str) -> list[Path]:
    paths = [path for path in folder.glob(pattern) if path.is_file()]
    return sorted(path for path in paths if not path.name.startswith("."))


def _text_files(folder: Path, pattern: str) -> dict[str, Path]:
    """The files of texts that fit, by name without the ending. Raises DataError for a name with two endings."""
    paths: dict[str, Path] = {}
    for ending in TEXT_ENDINGS:
        for path in _files(folder, f"{pattern}{ending}"):
            first = paths.setdefault(path.stem, path)
            if first != path:
                raise DataError(f"both {first} and {path} hold these texts; remove one file.")
    return dict(sorted(paths.items()))


def _lines_of(path: Path, field: str) -> list[str | None]:
    """The texts of a file, None for a reference or translation that the publisher lacks.

    field: of the objects of a file .jsonl, where such a text may be null. Raises DataError naming the line of a value
    that is no text.
    """
    values: list[Any] = []
    if path.suffix == ".jsonl":
        table = open_table(path)
        values = table.take([field])[field]
        for row, value in enumerate(values):
            is_lacking = value is None and field != "source"
            if not (isinstance(value, str) or is_lacking):
                raise DataError(f"{table.where(row)}: the field '{field}' is {str(value)[:60]!r}; write a text.")
    else:
        values += read_lines(path)
    if field == "source":
        return values
    return [None if value == NO_TRANSLATION else value for value in values]


def _are_there(folder: Path, language_pair: str, name: str) -> bool:
    """Whether there are human scores of this name, of segments or of systems."""
    return bool(_files(folder, f"{language_pair}.{name}.s*.score"))


@dataclass(frozen=True)
class _Texts:
    """The N lines of each file of a language pair.

    references, outputs: by the name of the reference or system, None for a line that was not supplied. documents,
    domains: of each line, None without a file of them.
    """

    sources: list[str | None]
    references: dict[str, list[str | None]]
    outputs: dict[str, list[str | None]]
    documents: list[str | None]
    domains: list[str | None]


def _read_texts(root: Path, language_pair: str) -> _Texts:
    """The texts of a language pair. Raises DataMissingError for one without outputs, DataError for another number of
    lines in one of the files."""
    source = _text_files(root / "sources", language_pair)[language_pair]
    references = _text_files(root / "references", f"{language_pair}.?*")
    folder = root / "system-outputs" / language_pair
    outputs = _text_files(folder, "*")
    documents = _files(root / "documents", f"{language_pair}.docs")
    if not outputs:
        raise DataMissingError(f"{folder}: outputs not found; expected files such as SYSTEM.txt.")
    lines = {source: _lines_of(source, "source")}
    lines |= {path: _lines_of(path, "target") for path in references.values()}
    lines |= {path: _lines_of(path, "hypothesis") for path in outputs.values()}
    lines_of_documents = {path: read_lines(path) for path in documents}
    files: dict[Path, Sized] = {**lines, **lines_of_documents}
    count = check_aligned({str(path): texts for path, texts in files.items()})
    document_of: list[str | None] = [None] * count
    domain_of: list[str | None] = [None] * count
    # One file, or none.
    for path, document_lines in lines_of_documents.items():
        rows = text_rows(document_lines, ["domain", "name"], str(path), separator=None)
        document_of = rows.name.tolist()
        domain_of = rows.domain.tolist()
    by_reference = {stem.removeprefix(f"{language_pair}."): lines[path] for stem, path in references.items()}
    by_system = {system: lines[path] for system, path in outputs.items()}
    return _Texts(lines[source], by_reference, by_system, document_of, domain_of)


def _segments_of(system: str, ids: Sequence[str], texts: _Texts, standard: str | None) -> list[Segment]:
    """The segments of a system, in the order of the sources, without those that have no translation.

    standard: the name of the reference that metrics read. The others are further references, but not of a system that
    is one itself.
    """
    first: Sequence[str | None] = [None] * len(ids)
    if standard is not None:
        first = texts.references[standard]
    others = [lines for name, lines in texts.references.items() if name not in (standard, system)]
    columns = (ids, texts.outputs[system], texts.sources, first, texts.documents, texts.domains, *others)
    segments = []
    for name, hypothesis, source, reference, document, domain, *further in zip(*columns, strict=True):
        if hypothesis is not None:
            supplied = tuple(text for text in further if text is not None)
            segments.append(Segment(name, hypothesis, source, reference, system, document, supplied, domain))
    return segments


def _blocks(path: Path, outputs: Sequence[str], ids: Sequence[str]) -> Any:
    """The scores of a file by system and id. Raises DataError for a system without outputs, or with more or fewer."""
    rows = read_blocks(path)

    def sentence(row: Any) -> str:
        return (
            f"{path}, {row.place}: no outputs of the system {row.system[:60]!r}"
            f"{close_match(row.system, outputs)}; correct the name, or take its rows out."
        )

    refuse(rows, ~rows.system.isin(outputs), sentence)
    rows = add_source_ids(path, rows, ids, "the test set")
    return rows.set_index(["system", "id"]).value
