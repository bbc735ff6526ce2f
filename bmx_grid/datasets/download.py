"""Download the files of a data set from its publishers, checked file by file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bmx_grid.datasets.base import DatasetReader, Source
from bmx_grid.datasets.fetch import Retry, fetch
from bmx_grid.datasets.manifest import Entry, State, manifest, verify
from bmx_grid.datasets.unpack import unpack
from bmx_grid.errors import DataError

ARCHIVES = ".archives"  # below data_dir; holds a download while it lasts


@dataclass(frozen=True)
class Check:
    """What verification found: for each needed file its entry and state."""

    states: tuple[tuple[Entry, State], ...]

    def paths(self, state: State) -> list[str]:
        """The files in that state, sorted."""
        return [entry.path for entry, found in self.states if found == state]

    @property
    def size(self) -> int:
        """Bytes of the verified files together."""
        return sum(entry.size for entry, found in self.states if found == "verified")


def needed(reader: DatasetReader, pairs: Sequence[str]) -> dict[str, Entry]:
    """Path -> manifest entry of all files that these pairs need, sorted.

    Raises DataError for a file of which no checksum is known.
    """
    paths = sorted({path for pair in pairs for path in reader.needs(pair)})
    unknown = [path for path in paths if path not in manifest()]
    if unknown:
        raise DataError(f"data set '{reader.name}': no checksum is known of {unknown[0]}; put it there by hand.")
    return {path: manifest()[path] for path in paths}


def check(reader: DatasetReader, data_dir: Path, pairs: Sequence[str]) -> Check:
    """Compare the files below `data_dir` with sizes and checksums."""
    entries = needed(reader, pairs)
    return Check(tuple((entry, verify(data_dir / path, entry)) for path, entry in entries.items()))


def download(
    reader: DatasetReader,
    data_dir: Path,
    pairs: Sequence[str],
    *,
    retry: Retry | None = None,
    say: Callable[[str], None] = print,
) -> int:
    """Fetch what is missing or differs, one archive a source; return the number of files written.

    Files that are there and verified are left alone, and their archives not fetched. A file that
    differs is replaced. Raises DataMissingError when an archive cannot be had, DataError when its
    content is not what is expected; an archive with unexpected content is deleted.
    """
    states = check(reader, data_dir, pairs)
    wanted = {entry.path: entry for entry, state in states.states if state != "verified"}
    for path in states.paths("differs"):
        say(f"  {data_dir / path} differs from the published file and is replaced")
    written = 0
    for source in reader.sources:
        part = {path: entry for path, entry in wanted.items() if path.startswith(f"{source.folder}/")}
        if part:
            written += _from_source(source, data_dir, part, retry, say)
    left = [path for path in wanted if not any(path.startswith(f"{source.folder}/") for source in reader.sources)]
    if left:
        raise DataError(
            f"data set '{reader.name}': none of its sources holds {left[0]}; see dataset.{reader.name}.sources."
        )
    return written


def _from_source(
    source: Source, data_dir: Path, wanted: dict[str, Entry], retry: Retry | None, say: Callable[[str], None]
) -> int:
    archive = data_dir / ARCHIVES / f"{source.folder}-{source.revision}.tar.gz"
    say(f"{source.repository} at {source.revision[:12]}: {len(wanted)} files from {source.address}")
    fetch(source.address, archive, retry)
    try:
        unpack(archive, data_dir, source.folder, wanted)
    finally:
        archive.unlink(missing_ok=True)
        if not any(archive.parent.iterdir()):
            archive.parent.rmdir()
    return len(wanted)
