"""Data sets: a reader turns its publisher's files into segments, one language pair at a time.

The files of published data sets are known by their SHA-256 sums.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, Literal, NamedTuple

from bmx_grid.core.errors import ConfigError, DataError, DataMissingError, unknown
from bmx_grid.core.identity import Component, runtime
from bmx_grid.core.storage import is_file
from bmx_grid.core.wording import escape_unprintable, first_line, join_names
from bmx_grid.datasets.segments import Segment, SegmentSet

MANIFEST = Path(__file__).with_name("manifest.tsv")
State = Literal["verified", "missing", "differs"]
# One part of a path: it cannot start with a dot, so never climbs out of its folder.
PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_TOP = re.compile(r"top:(\d+)(%?)")
ARCHIVE = "https://codeload.github.com/{repository}/tar.gz/{revision}"
REPOSITORY = re.compile(rf"{PART.pattern}/{PART.pattern}")


def how_many(asked: str, count: int, key: str) -> int:
    """How many of `count` systems are kept: all, six of them ("top:6"), or floor(.3 n) ("top:30%").

    Raises ConfigError naming `key` for another text, or a number that leaves no system.
    """
    if asked == "all":
        return count
    top = _TOP.fullmatch(str(asked))
    number = 0
    is_percentage = False
    if top is not None:
        number = int(top[1])
        is_percentage = top[2] == "%"
    if number == 0 or (is_percentage and number > 100):
        raise ConfigError(
            f"{key}={asked}: write all, top:6 for the six best systems by human score, or top:30% for the best "
            "30 percent."
        )
    if is_percentage:
        # In whole numbers: 0.29 * 100 is 28.999999999999996, which would be one system less.
        return count * number // 100
    return min(number, count)


def segments_from_lines(hypotheses: Sequence[str], sources: Sequence[str]) -> tuple[Segment, ...]:
    """Segments of lines, whose ids are the lines' numbers from 0. Raises ValueError for different numbers of lines."""
    segments = []
    for row, (hypothesis, source) in enumerate(zip(hypotheses, sources, strict=True)):
        segments.append(Segment(str(row), hypothesis, source))
    return tuple(segments)


@dataclass(frozen=True)
class Source:
    """A publisher's repository on GitHub at one revision.

    repository: owner/name. revision: a commit, tag or branch. Both become parts of paths below data_dir.
    Raises ConfigError for names that could leave data_dir.
    """

    repository: str
    revision: str

    def __post_init__(self) -> None:
        is_safe = REPOSITORY.fullmatch(self.repository) and PART.fullmatch(self.revision)
        if not is_safe:
            raise ConfigError(
                f"sources: {self.repository[:80]!r} at {self.revision[:80]!r} names no file; write owner/name and a "
                "commit, tag or branch, each part of at most 100 letters, digits, '-', '_' and '.', with a letter, a "
                "digit or '_' first."
            )

    @property
    def folder(self) -> str:
        """The folder below data_dir that the repository unpacks to: its name without the owner."""
        return self.repository.rsplit("/", 1)[-1]

    @property
    def address(self) -> str:
        """The address of the archive."""
        return ARCHIVE.format(repository=self.repository, revision=self.revision)


@dataclass(frozen=True, kw_only=True)
class DatasetReader(Component):
    """A data set that can be read one language pair at a time.

    name: of the data set in plans, tables and file names.
    language_pairs: the pairs to use, in this order; the data set may have more (`PAIRS`).
    sources: where `download` fetches the files that `needs` lists. Empty: nothing to download.
    constructed: whether texts or scores were made up: a sweep then warns that it is no evidence, and gives no advice.

    All four are runtime fields. A setting names its data set and pair itself, and the texts and
    scores that were read are in `SegmentSet.fingerprint`: narrowing the pairs or another
    data_dir must not make an attribution count as a different one.
    """

    RENAMED: ClassVar[Mapping[str, str]] = {"read": "load_segments"}
    # The pairs of the data set; empty: those of its file.
    PAIRS: ClassVar[tuple[str, ...]] = ()

    name: str = runtime()
    language_pairs: tuple[str, ...] = runtime(())
    sources: tuple[Source, ...] = runtime(())
    constructed: bool = runtime(False)

    def __post_init__(self) -> None:
        super().__post_init__()
        for pair in self.language_pairs:
            if self.PAIRS:
                self.check_pair(pair)
            times = self.language_pairs.count(pair)
            if times > 1:
                raise ConfigError(f"dataset.{self.name}.language_pairs lists '{pair}' {times} times.")

    def pairs(self, data_dir: Path) -> tuple[str, ...]:
        """The language pairs to use. Reads the files only if they decide (`tabular`)."""
        return self.language_pairs

    def needs(self, language_pair: str) -> list[str]:
        """Files below data_dir that `read` opens for this pair; empty when nothing has to be downloaded."""
        return []

    @abstractmethod
    def load_segments(self, data_dir: Path, language_pair: str) -> SegmentSet:
        """The segments of one language pair, in the order of the publisher's file.

        Raises ConfigError for a pair that the data set lacks, DataMissingError when a file does
        not exist, DataError when a file's content violates its layout.
        """

    def check_pair(self, language_pair: str) -> None:
        """Raise ConfigError when the data set has no such language pair."""
        if language_pair not in self.PAIRS:
            raise ConfigError(f"dataset.{self.name}: " + unknown("language pair", language_pair, self.PAIRS))

    def published_at(self) -> str:
        """The address of the files that `needs` names, for people; "" if unknown."""
        if not self.sources:
            return ""
        return f", from https://github.com/{self.sources[0].repository}"

    def require(self, data_dir: Path, relative: Iterable[str]) -> list[Path]:
        """The paths of these files below `data_dir`. Raises DataMissingError naming missing ones."""
        paths = [Path(data_dir) / needed for needed in relative]
        missing = [path for path in paths if not is_file(path)]
        if not missing:
            return paths
        # `download` fetches only files that it can check.
        unknown_files = unchecked_paths(str(path.relative_to(data_dir)) for path in missing)
        if not self.sources:
            way_out = "make the files as described in docs/how-to/use_published_data.md."
        elif unknown_files:
            way_out = f"put the files there by hand{self.published_at()}: their checksums are unknown."
        else:
            way_out = f"fetch the files with: python -m bmx_grid data download {self.name} data_dir={data_dir}"
        names = join_names([str(path) for path in missing])
        raise DataMissingError(
            f"data set '{self.name}': not found: {names}. Set data_dir to the folder that holds the data, or {way_out}"
        )


class Entry(NamedTuple):
    """One file: its path below data_dir, its size in bytes and its SHA-256 in hexadecimal digits."""

    path: str
    size: int
    sha256: str


@cache
def manifest() -> MappingProxyType[str, Entry]:
    """All entries by path, in file order, as they are in the pinned repositories."""
    lines = MANIFEST.read_text(encoding="utf-8").split("\n")
    entries: dict[str, Entry] = {}
    for line in lines[1:]:
        if line:
            path, size, sha256 = line.split("\t")
            entries[path] = Entry(path, int(size), sha256)
    return MappingProxyType(entries)


def unchecked_paths(paths: Iterable[str]) -> list[str]:
    """The paths without a known checksum: `download` does not fetch them, and nothing checks them."""
    return [path for path in paths if path not in manifest()]


def published_files(prefix: str) -> list[str]:
    """The manifest's paths that start with `prefix`."""
    return [path for path in manifest() if path.startswith(prefix)]


def verify(path: Path, entry: Entry) -> State:
    """Whether the file at `path` exists and has the size and the checksum of `entry`."""
    if not is_file(path):
        return "missing"
    # The size first: a file of another size need not be read.
    if path.stat().st_size != entry.size:
        return "differs"
    with path.open("rb") as content:
        sha256 = hashlib.file_digest(content, "sha256").hexdigest()
    return "verified" if sha256 == entry.sha256 else "differs"


class Published(DatasetReader):
    """A data set of files of the manifest. Files that cannot be read are not as published: the error names them."""

    RENAMED: ClassVar[Mapping[str, str]] = {"_read": "_parse_segments"}

    def load_segments(self, data_dir: Path, language_pair: str) -> SegmentSet:
        """The segments of one language pair, in the order of the publisher's file, texts unchanged."""
        self.check_pair(language_pair)
        try:
            return self._parse_segments(Path(data_dir), language_pair)
        # What parsing a damaged file may raise; a reader of published files checks them no further.
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            differing = join_names(self._differing(Path(data_dir), language_pair))
            reason = escape_unprintable(first_line(error))[:200]
            raise DataError(
                f"data set '{self.name}' {language_pair}: {differing or 'the files'} cannot be read as published "
                f"({reason}); download again: python -m bmx_grid data download {self.name} data_dir={data_dir}"
            ) from error

    def _differing(self, data_dir: Path, language_pair: str) -> list[str]:
        """The paths of the pair's files that are not as published, or without a known checksum."""
        paths = []
        for relative in dict.fromkeys(self.needs(language_pair)):
            path = data_dir / relative
            entry = manifest().get(relative)
            if entry is None or verify(path, entry) == "differs":
                paths.append(str(path))
        return paths

    def pairs(self, data_dir: Path) -> tuple[str, ...]:
        """The pairs to use, without unavailable ones, which a warning names; all pairs if all are unavailable.

        Unavailable are pairs with missing files that `download` cannot fetch, as their checksums are unknown.
        """
        absent = []
        for pair in self.language_pairs:
            if not all(is_file(Path(data_dir) / path) for path in unchecked_paths(self.needs(pair))):
                absent.append(pair)
        # With no pair left the error of `read` is clearer than a warning about all pairs.
        if not absent or len(absent) == len(self.language_pairs):
            return self.language_pairs
        names = ", ".join(absent)
        warnings.warn(
            f"data set '{self.name}': skipped {names}: files not found in {data_dir}. Copy them into that folder"
            f"{self.published_at()}.",
            stacklevel=2,
        )
        return tuple(pair for pair in self.language_pairs if pair not in absent)

    @abstractmethod
    def _parse_segments(self, data_dir: Path, language_pair: str) -> SegmentSet:
        """The segments. Raises ValueError, LookupError or the like if a file is not as published."""
