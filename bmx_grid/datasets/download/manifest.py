"""The files that the readers open, with sizes and SHA-256 sums, as they are in the pinned repositories."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal

MANIFEST = Path(__file__).with_name("manifest.tsv")
State = Literal["verified", "missing", "differs"]


@dataclass(frozen=True)
class Entry:
    """One file: its path below data_dir, its size in bytes and its SHA-256 in hexadecimal digits."""

    path: str
    size: int
    sha256: str


@cache
def manifest() -> MappingProxyType[str, Entry]:
    """All entries by path, in file order."""
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
        found = hashlib.file_digest(content, "sha256").hexdigest()
    return "verified" if found == entry.sha256 else "differs"
