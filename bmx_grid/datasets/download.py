"""Download, unpack and check the published data sets: known files, checked by SHA-256, and nothing else."""

from __future__ import annotations

import hashlib
import http.client
import os
import sys
import tarfile
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from bmx_grid._version import __version__
from bmx_grid.core.errors import DataError, DataMissingError
from bmx_grid.core.progress import BYTES, Progress
from bmx_grid.core.wording import counted
from bmx_grid.datasets.base import DatasetReader, Source, check_address
from bmx_grid.datasets.lines import CHUNK, archive_members
from bmx_grid.datasets.published import Entry, State, manifest, verify

ARCHIVES = ".archives"  # below data_dir; holds a download while it runs
ARCHIVE_BYTES = 20_000_000_000  # of all files of a repository together
FINAL = (400, 401, 403, 404, 405, 410)  # status codes for which retrying is useless


class Retry(NamedTuple):
    """attempts: how many may fail; the wait doubles after each, from wait_s seconds."""

    attempts: int = 5
    wait_s: float = 1.0
    timeout_s: float = 30.0


def check(reader: DatasetReader, data_dir: Path) -> dict[Entry, State]:
    """The state below `data_dir` of all files that the reader's language pairs need, by path, sorted.

    Raises DataError for a file of which no checksum is known.
    """
    states: dict[Entry, State] = {}
    for path in sorted({path for pair in reader.language_pairs for path in reader.needs(pair)}):
        if path not in manifest():
            raise DataError(f"data set '{reader.name}': no checksum is known of {path}; put it there by hand.")
        states[manifest()[path]] = verify(data_dir / path, manifest()[path])
    return states


def download(
    readers: Sequence[DatasetReader], data_dir: Path, *, retry: Retry | None = None, say: Callable[[str], None] = print
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
            with suppress(OSError):  # another download is running
                archive.parent.rmdir()
    return sum(map(len, wanted.values()))


def fetch(address: str, target: Path, retry: Retry | None = None) -> None:
    """Download `address` to `target`, which appears in one step when complete.

    Raises ConfigError for an address that is malformed or not http(s), DataMissingError when the server refuses, cannot
    be reached or redirects to an invalid address, DataError when `target` cannot be written.
    """
    check_address(address, "the archive")
    retry = retry or Retry()
    problem = ""
    for attempt in range(retry.attempts):
        if attempt > 0:
            wait = retry.wait_s * 2 ** (attempt - 1)
            print(f"  {problem}; trying again in {wait:g} s", file=sys.stderr, flush=True)
            time.sleep(wait)
        try:
            return _fetch_whole(address, target, retry.timeout_s)
        except urllib.error.HTTPError as error:
            error.close()
            problem = f"the server answers {error.code} {error.reason}"
            if error.code in FINAL:
                raise DataMissingError(f"{address}: {problem}.") from error
        except ValueError as error:  # the target of a redirect: the address itself was checked
            raise DataMissingError(f"{address}: the server redirects to an invalid address ({error}).") from error
        except (OSError, http.client.HTTPException) as error:
            problem = f"the connection failed ({getattr(error, 'reason', error)})"
    raise DataMissingError(
        f"{address} could not be fetched: {problem}. Is this machine offline, or behind a proxy (HTTPS_PROXY)? The "
        "archive can also be fetched elsewhere and unpacked below data_dir, one folder per repository without the "
        "revision in its name."
    )


def _fetch_whole(address: str, target: Path, timeout_s: float) -> None:
    headers = {"User-Agent": f"bmx-grid/{__version__}", "Accept-Encoding": "identity"}
    with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=timeout_s) as response:
        length = response.headers.get("Content-Length", "")
        total = int(length) if length.isdecimal() else None
        with _replacing(target) as part, Progress(total, f"  fetching {target.name}", BYTES) as progress:
            with part.open("wb") as out:
                while chunk := response.read1(CHUNK):
                    out.write(chunk)
                    progress.advance(len(chunk))
            if total is not None and part.stat().st_size != total:
                raise http.client.IncompleteRead(b"", total - part.stat().st_size)


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """A file to write to, which becomes `path` in one step. Raises DataError where it cannot be written."""
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.touch()
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror or error}; choose another data_dir=DIR.") from error
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def unpack(archive: Path, data_dir: Path, folder: str, wanted: Mapping[str, Entry]) -> None:
    """Write the `wanted` files (path below data_dir -> entry) of a repository archive.

    The archive has one top folder (`name-revision/`), which becomes `folder`. Members that are not
    wanted are never written. Each file is checked for size and SHA-256 before it takes its place in one step.

    Raises DataError, naming the member, when a member has an absolute path or climbs out of the
    archive (nothing of such an archive is trusted), when a wanted file is a link or a device, has
    another size or checksum, or is not there; and when the archive is damaged or unpacks to more than 20 GB.
    """
    unpacked = set()
    with archive_members(archive, ARCHIVE_BYTES) as members:
        for member, opened in members:
            name = PurePosixPath(member.name)
            if name.is_absolute() or ".." in name.parts:
                raise DataError(f"{archive}: refused, the member '{name}' would be written outside of its folder.")
            entry = wanted.get(str(PurePosixPath(folder, *name.parts[1:])))
            if entry is None:
                continue
            if not member.isfile():
                raise DataError(f"{archive}: refused, '{name}' is a link or a device, not a file.")
            if member.size != entry.size:
                raise DataError(f"{archive}: '{name}' has {counted(member.size, 'byte')}, expected {entry.size:,}.")
            _write_checked(opened, member, data_dir / entry.path, entry)
            unpacked.add(entry.path)
    missing = sorted(set(wanted) - unpacked)
    if missing:
        raise DataError(f"{archive}: lacks {len(missing)} of {len(wanted)} wanted files, the first is {missing[0]}.")


def _write_checked(archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path, entry: Entry) -> None:
    content = archive.extractfile(member)
    assert content is not None  # it is a file
    raw = content.read()
    sha256 = hashlib.sha256(raw).hexdigest()
    if sha256 != entry.sha256:
        raise DataError(
            f"'{entry.path}' in the archive has SHA-256 {sha256}, expected {entry.sha256}; the file is not the one "
            "that the readers were written for, and was not kept."
        )
    with _replacing(path) as part:
        part.write_bytes(raw)
