"""Published data sets: the files that their readers open are known by their SHA-256 sums."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.errors import DataError
from bmx_grid.core.wording import first_line, named, visible
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.lines import text_rows
from bmx_grid.datasets.segments import SegmentSet

if TYPE_CHECKING:
    import pandas as pd

MANIFEST = Path(__file__).with_name("manifest.tsv")
State = Literal["verified", "missing", "differs"]


class Entry(NamedTuple):
    """One file: its path below data_dir, its size in bytes and its SHA-256 in hexadecimal digits."""

    path: str
    size: int
    sha256: str


@cache
def manifest() -> MappingProxyType[str, Entry]:
    """All entries by path, in file order, as they are in the pinned repositories."""
    rows = [line.split("\t") for line in MANIFEST.read_text(encoding="utf-8").split("\n")[1:] if line]
    return MappingProxyType({path: Entry(path, int(size), sha256) for path, size, sha256 in rows})


def listed(prefix: str) -> list[str]:
    """The manifest's paths that start with `prefix`."""
    return [path for path in manifest() if path.startswith(prefix)]


def verify(path: Path, entry: Entry) -> State:
    """Whether the file at `path` is there and has the size and the checksum of `entry`."""
    if not path.is_file():
        return "missing"
    if path.stat().st_size != entry.size:
        return "differs"
    with path.open("rb") as content:
        sha256 = hashlib.file_digest(content, "sha256").hexdigest()
    return "verified" if sha256 == entry.sha256 else "differs"


class Published(DatasetReader):
    """A data set of files of the manifest. Files that cannot be read are not as published: the error names them."""

    def read(self, data_dir: Path, language_pair: str) -> SegmentSet:
        """The segments of one language pair, in the order of the publisher's file, texts unchanged."""
        self.check_pair(language_pair)
        try:
            return self._read(Path(data_dir), language_pair)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            entries = {Path(data_dir) / path: manifest().get(path) for path in self.needs(language_pair)}
            wrong = [str(path) for path, entry in entries.items() if entry is None or verify(path, entry) == "differs"]
            raise DataError(
                f"data set '{self.name}' {language_pair}: {named(wrong) or 'the files'} cannot be read as published "
                f"({visible(first_line(error))[:200]}); download again: "
                f"python -m bmx_grid data download {self.name} data_dir={data_dir}"
            ) from error

    @abstractmethod
    def _read(self, data_dir: Path, language_pair: str) -> SegmentSet:
        """The segments. Raises ValueError, LookupError or the like where a file is not as published."""


def published_table(lines: Sequence[str], where: str, separator: str = "\t") -> pd.DataFrame:
    """The texts of a publisher's table whose first line has the column names."""
    return text_rows(lines[1:], lines[0].split(separator), where, 2, separator)


def finite(texts: Iterable[str]) -> NDArray[np.float64]:
    """float64[N] of numbers as texts. Raises ValueError naming one that is not a finite number."""
    texts = list(texts)
    numbers = np.array(texts, dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError(f"{texts[int(np.argmin(np.isfinite(numbers)))]!r} is not a finite number")
    return numbers
