"""Which files hold the values of a metric or an explainer that was run elsewhere, by the names in their paths."""

from __future__ import annotations

import dataclasses
import glob
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from bmx_grid.core.errors import ConfigError, DataError, DataMissingError, unknown
from bmx_grid.core.identity import RUNTIME, Component, runtime
from bmx_grid.core.storage import expand_home
from bmx_grid.datasets.column_roles import first_few
from bmx_grid.datasets.lines import Decimal
from bmx_grid.datasets.segments import SegmentSet

if TYPE_CHECKING:
    import pandas as pd

# The folder of metrics in a test set of mt-metrics-eval.
TREE = "metric-scores"
# The values that a placeholder of a path can take, if they are known beforehand.
VALUES = {"level": ("seg", "sys"), "side": ("target", "source", "reference")}
_PART = re.compile(r"\{(?P<name>\w*)\}|(?P<wild>[*?]|\[[^\]/]+\])|.", re.DOTALL)
_WILD = {"*": "[^/]*", "?": "[^/]"}


@dataclass(frozen=True, eq=False)
class ImportedFile:
    """Rows of scores of segments or systems, or of word values of one side of a text each.

    rows: the columns `value` and `place` ("line 3"), and `id`, `system`, `language_pair`, `side` and `words` (a tuple)
    if the file has them; without ids rows are in the order of the sources. The values are floats, NaN if the file
    declares them missing; of words an array with a value per word (of labels -1, BAD, and 0, OK), or None for a
    text that is not explained.
    of_systems: whether scores are of whole systems. are_labels: whether word values are labels. low_is_error:
    whether a low value is a suspected error. is_numbered: whether ids are the numbers of the sources from 0.
    """

    path: Path
    rows: pd.DataFrame
    of_systems: bool = False
    are_labels: bool = False
    low_is_error: bool = True
    is_numbered: bool = False


def _metric_and_references(stem: str, segments: SegmentSet) -> tuple[str, set[str]]:
    """The name of a metric, and the references that it read: METRIC-REF, METRIC-REF.REF or METRIC-all.

    A name without references of the data set is used unchanged, also METRIC-src, which read none.
    """
    name, _, suffix = stem.rpartition("-")
    known = set(segments.references)
    read = known if suffix == "all" else set(suffix.split("."))
    if name and read and read <= known:
        return name, read
    return stem, set()


@dataclass(frozen=True, kw_only=True)
class FileSource(Component):
    """Values read from files. KEY: of its configuration; ROLES: of columns; PART: the placeholder for the files of
    one metric, "level" or "side".

    file: the path, seen from where the command runs. {language_pair} and {dataset} are the evaluated pair and data
        set; with {metric} the option becomes one metric or explainer for every name found in its place;
        {level} is seg and sys, {side} target, source or reference; * is anything. The folder of a test set of
        mt-metrics-eval means all its metrics. A metric's name ends before the reference that it read (COMET-refA); if
        the data set names its references, the scores are those by the pair's own.
    files: in place of file, name -> path: several under names of their own.
    decimal: the decimal sign of scores that are texts.
    columns: of a table, role -> column. A role that is null takes the column of its own name.
    language_pairs: the file's one pair, if neither its content nor its path names it and the sweep has several.
    extra: "refuse" or "ignore" rows of ids or systems that the test set does not have, of spans in another text than
        the segment's, as after post-editing, and of spans beyond it.
    """

    KEY: ClassVar[str]
    ROLES: ClassVar[tuple[str, ...]]
    PART: ClassVar[str]

    name: str = runtime("imported")
    file: str | None = runtime(None)
    files: Mapping[str, str] | None = runtime(None)
    decimal: Decimal = runtime(".")
    columns: Mapping[str, str | None] = field(default_factory=dict, metadata={"role": RUNTIME})
    language_pairs: tuple[str, ...] = runtime(())
    extra: Literal["refuse", "ignore"] = runtime("refuse")

    def __post_init__(self) -> None:
        super().__post_init__()
        for role in self.columns:
            if role not in self.ROLES:
                raise ConfigError(f"{self.KEY}.columns: " + unknown("role", role, self.ROLES))
        if self.file is not None and self.files:
            raise ConfigError(f"{self.KEY}: file and files are both set; use file for one, files for several.")
        if len(self.language_pairs) > 1:
            raise ConfigError(
                f"{self.KEY}.language_pairs names {len(self.language_pairs)} pairs, but must name the one pair of the "
                "file; for several write {language_pair} in the path, or give the file a column language_pair."
            )

    def expand(self, name: str, sets: Sequence[SegmentSet]) -> Mapping[str, Self]:
        """The options that this one expands to, by name; in a sweep of one language pair its files are of that one.

        name: of the option, for files that name no metric. Raises ConfigError when no file is named, DataMissingError
        when {metric} matches nothing.
        """
        pairs = tuple(dict.fromkeys(segments.language_pair for segments in sets))
        language_pairs = self.language_pairs
        if not language_pairs and len(pairs) == 1:
            language_pairs = pairs
        known = dataclasses.replace(self, files=None, language_pairs=language_pairs)
        if self.files:
            options = {}
            for label, path in self.files.items():
                options[label] = dataclasses.replace(known, name=label, file=path)
            return options
        if not self.has("metric"):
            return {name: dataclasses.replace(known, name=name)}
        labels = set()
        for segments in sets:
            for _, placeholders in self._fits(segments):
                label, _ = _metric_and_references(placeholders["metric"].strip(), segments)
                labels.add(label)
        if sets and not labels:
            raise DataMissingError(
                f"{self.KEY}.file: no file fits {self.pattern()!r} for {', '.join(pairs)} (searched {Path.cwd()}); "
                "correct the path."
            )
        return {label: dataclasses.replace(known, name=label) for label in sorted(labels)}

    def check(self) -> None:
        self.pattern()

    def pattern(self) -> str:
        """The path with its placeholders. Raises ConfigError when none is named, and for an unknown placeholder."""
        if self.file is None:
            raise ConfigError(
                f"{self.KEY}: no file is named; write {self.KEY}.file=FILE, or {self.KEY}.files={{NAME: PATH}} for "
                "several."
            )
        path = expand_home(self.file)
        text = str(path)
        if (path / TREE).is_dir():
            text = f"{path}/{TREE}/{{language_pair}}/{{metric}}.{{level}}.score"
        known = ("metric", "language_pair", "dataset", self.PART)
        for part in _PART.finditer(text):
            name = part["name"]
            if name is not None and name not in known:
                raise ConfigError(f"{self.KEY}.file: {text!r}: " + unknown("placeholder", name, known))
        return text

    def has(self, placeholder: str) -> bool:
        """Whether the path depends on this name."""
        return f"{{{placeholder}}}" in self.pattern()

    def _fits(self, segments: SegmentSet) -> list[tuple[Path, dict[str, str]]]:
        """The matching files, sorted, with the values of their other placeholders."""
        text = self.pattern()
        # A name may hold brackets or stars.
        if Path(text).exists():
            return [(Path(text), {})]
        names = {"dataset": segments.dataset, "language_pair": segments.language_pair}
        # A glob, which finds files, and a regular expression, which reads the placeholders in their paths.
        globbed = ""
        regex = ""
        for part in _PART.finditer(text):
            name = part["name"]
            if name in names:
                globbed += glob.escape(names[name])
                regex += re.escape(names[name])
            elif name:
                globbed += "*"
                # A repeated placeholder must match the same text.
                is_repeated = f"(?P<{name}>" in regex
                regex += f"(?P={name})" if is_repeated else f"(?P<{name}>[^/]+)"
            elif part["wild"]:
                globbed += part[0]
                # In a set of signs ! excludes.
                signs = part[0][1:-1].replace("!", "^", 1)
                regex += _WILD.get(part[0]) or f"[{signs}]"
            else:
                globbed += part[0]
                regex += re.escape(part[0])
        fits = []
        for path in sorted(glob.glob(globbed)):
            match = re.fullmatch(regex, path)
            if match and Path(path).is_file():
                fits.append((Path(path), match.groupdict()))
        return fits

    def paths(self, segments: SegmentSet) -> dict[str, Path]:
        """The files of these segments, by level or side, "" if the path does not name it.

        Raises DataMissingError without a file, ConfigError naming both when two files fit.
        """
        paths: dict[str, Path] = {}
        others: list[Path] = []
        for path, placeholders in self._fits(segments):
            metric = self.name
            read: set[str] = set()
            if "metric" in placeholders:
                metric, read = _metric_and_references(placeholders["metric"].strip(), segments)
            part = placeholders.get(self.PART, "")
            if metric != self.name or part not in ("", *VALUES[self.PART]):
                continue
            if not read <= set(segments.references[:1]):
                others.append(path)
                continue
            first = paths.setdefault(part, path)
            if first != path:
                pair = segments.language_pair
                raise ConfigError(f"both {first} and {path} fit {self.pattern()!r} for {pair}; choose one.")
        if not paths and others:
            standard = segments.references[0]
            raise DataMissingError(f"{others[0]} is by another reference than {standard}, the one of {segments.name}")
        if not paths:
            raise DataMissingError(f"file not found: {self.pattern()}")
        return paths

    def rows(self, file: ImportedFile, pair: str) -> pd.DataFrame:
        """The rows of the language pair: all if the file names none, and is of this pair by its path or by
        `language_pairs`.

        Raises ConfigError when the file's pair is unknown, DataMissingError when it has no row of this pair, DataError
        when it should have.
        """
        if self.language_pairs and pair not in self.language_pairs:
            raise DataMissingError(f"{file.path} is of {self.language_pairs[0]}")
        is_of_pair = bool(self.language_pairs) or self.has("language_pair")
        if "language_pair" in file.rows:
            return self._rows_of_pair(file, pair, is_of_pair)
        if is_of_pair:
            return file.rows
        raise ConfigError(
            f"{file.path} does not name its language pair: write {self.KEY}.language_pairs=[{pair}], "
            "{language_pair} in its path, or name its column of language pairs, as "
            f"{self.KEY}.columns.language_pair=NAME."
        )

    def _rows_of_pair(self, file: ImportedFile, pair: str, is_of_pair: bool) -> pd.DataFrame:
        rows = file.rows[file.rows.language_pair == pair]
        if rows.empty:
            names = first_few(file.rows.language_pair.unique().tolist())
            # A sweep skips missing files; but a pair that the user named for the file must have rows.
            kind = DataError if is_of_pair else DataMissingError
            raise kind(f"{file.path} has no row of {pair}, only of {names}; correct them, or name the right file.")
        return rows
