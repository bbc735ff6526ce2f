"""Download the files of a data set from its publishers, checked file by file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from bmx_grid.datasets.base import DatasetReader, Source
from bmx_grid.datasets.download.fetch import Retry, fetch
from bmx_grid.datasets.download.manifest import Entry, State, manifest, verify
from bmx_grid.datasets.download.unpack import unpack
from bmx_grid.errors import DataError
from bmx_grid.wording import counted

ARCHIVES = ".archives"  # below data_dir; holds a download while it runs


def check(reader: DatasetReader, data_dir: Path) -> dict[Entry, State]:
    """The state below `data_dir` of all files that the reader's language pairs need, by path, sorted.

    Raises DataError for a file of which no checksum is known.
    """
    states: dict[Entry, State] = {}
    for path in sorted({path for pair in reader.downloadable() for path in reader.needs(pair)}):
        if path not in manifest():
            raise DataError(f"data set '{reader.name}': no checksum is known of {path}; put it there by hand.")
        states[manifest()[path]] = verify(data_dir / path, manifest()[path])
    return states


def download(
    readers: Sequence[DatasetReader],
    data_dir: Path,
    *,
    retry: Retry | None = None,
    say: Callable[[str], None] = print,
) -> int:
    """Fetch what is missing or differs, each archive once; return the number of files written.

    Files that are there and verified are left alone, and their archives not fetched. A file that
    differs is replaced. Raises DataMissingError when an archive is unavailable, DataError when its
    content is not what is expected. An archive is deleted after use.
    """
    wanted: dict[Source, dict[str, Entry]] = {}
    for reader in readers:
        for entry, state in check(reader, data_dir).items():
            if state == "verified":
                continue
            if state == "differs":
                say(f"{data_dir / entry.path} differs from the published file and will be replaced")
            homes = [source for source in reader.sources if entry.path.startswith(f"{source.folder}/")]
            if not homes:
                raise DataError(f"dataset.{reader.name}.sources: none of them holds {entry.path}.")
            wanted.setdefault(homes[0], {})[entry.path] = entry
    for source, entries in wanted.items():
        archive = data_dir / ARCHIVES / f"{source.folder}-{source.revision}.tar.gz"
        say(f"{source.repository} at {source.revision[:12]}: {counted(len(entries), 'file')} from {source.address}")
        fetch(source.address, archive, retry)
        try:
            unpack(archive, data_dir, source.folder, entries)
        finally:
            archive.unlink(missing_ok=True)
            if not any(archive.parent.iterdir()):
                archive.parent.rmdir()
    return sum(map(len, wanted.values()))
