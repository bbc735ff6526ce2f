"""Download, unpack and check the published data sets: known files, checked by SHA-256, and nothing else."""

from __future__ import annotations

import hashlib
import http.client
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from bmx_grid._version import __version__
from bmx_grid.core.errors import DataError, DataMissingError
from bmx_grid.core.storage import replacing
from bmx_grid.core.terminal import BYTES, Progress
from bmx_grid.core.wording import pluralize
from bmx_grid.datasets.archives import CHUNK, open_archive
from bmx_grid.datasets.base import DatasetReader, Entry, Source, State, manifest, unchecked_paths, verify

# How the name of the folder below data_dir begins that holds a download while it runs.
ARCHIVES = ".archives-"
# Bytes of all files of a repository together.
REPOSITORY_BYTES = 20_000_000_000
# Status codes for which retrying is useless.
FINAL = (400, 401, 403, 404, 405, 410)
# The wait doubles after each attempt.
ATTEMPTS = 5
WAIT_S = 1.0
TIMEOUT_S = 30.0


def file_states(reader: DatasetReader, data_dir: Path) -> dict[Entry, State]:
    """The state below `data_dir` of all files with known checksums that the reader's language pairs need, by path.

    Raises DataError if none has a known checksum.
    """
    needed: set[str] = set()
    for pair in reader.language_pairs:
        needed.update(reader.needs(pair))
    known = [path for path in sorted(needed) if path in manifest()]
    if needed and not known:
        way_out = f"put it there by hand{reader.published_at()}"
        raise DataError(f"data set '{reader.name}': no checksum is known of {min(needed)}; {way_out}.")
    states: dict[Entry, State] = {}
    for path in known:
        entry = manifest()[path]
        states[entry] = verify(data_dir / path, entry)
    return states


def unverifiable(reader: DatasetReader) -> list[str]:
    """The language pairs with a file without a known checksum: it cannot be fetched, and is not checked."""
    pairs = []
    for pair in reader.language_pairs:
        if unchecked_paths(reader.needs(pair)):
            pairs.append(pair)
    return pairs


def _files_to_fetch(readers: Sequence[DatasetReader], data_dir: Path) -> dict[Source, dict[str, Entry]]:
    """The files that are missing or differ, by the archive that holds them and by path; prints which will be replaced.

    Raises DataError for a file that none of its reader's archives holds.
    """
    wanted: dict[Source, dict[str, Entry]] = {}
    for reader in readers:
        for entry, state in file_states(reader, data_dir).items():
            if state == "verified":
                continue
            if state == "differs":
                print(f"{data_dir / entry.path} differs from the published file and will be replaced")
            homes = [source for source in reader.sources if entry.path.startswith(f"{source.folder}/")]
            if not homes:
                raise DataError(f"dataset.{reader.name}.sources: {entry.path} not found in any archive.")
            wanted.setdefault(homes[0], {})[entry.path] = entry
    return wanted


def download(readers: Sequence[DatasetReader], data_dir: Path) -> int:
    """Fetch missing and differing files, every archive once; return the number of files written.

    Verified files are left alone, and their archives not fetched. A file that
    differs is replaced. Raises DataMissingError when an archive is unavailable, DataError when its
    content is not as expected. An archive is deleted after use.
    """
    wanted = _files_to_fetch(readers, data_dir)
    if not wanted:
        return 0
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        # Below data_dir, which has room for data; removed with the remains of a failed download.
        temporary = tempfile.TemporaryDirectory(prefix=ARCHIVES, dir=data_dir)
    except OSError as error:
        raise DataError(f"cannot write to {data_dir}: {error.strerror}; choose another data_dir=DIR.") from error
    with temporary as folder:
        for source, entries in wanted.items():
            count = pluralize(len(entries), "file")
            revision = source.revision[:12]
            print(f"{source.repository} at {revision}: {count} from {source.address}")
            archive = Path(folder) / f"{source.folder}-{source.revision}.tar.gz"
            fetch(source.address, archive)
            unpack_archive(archive, data_dir, source.folder, entries)
            # Each at once, so that no two need room at a time.
            archive.unlink()
    return sum(map(len, wanted.values()))


def fetch(address: str, target: Path) -> None:
    """Download `address` to `target`.

    Raises DataMissingError when the server refuses, cannot be reached or redirects to an invalid address.
    """
    problem = ""
    for attempt in range(ATTEMPTS):
        if attempt > 0:
            wait = WAIT_S * 2 ** (attempt - 1)
            print(f"  {problem}; trying again in {wait:g} s", file=sys.stderr, flush=True)
            time.sleep(wait)
        try:
            return _fetch_whole(address, target)
        except urllib.error.HTTPError as error:
            error.close()
            problem = f"the server answers {error.code} {error.reason}"
            if error.code in FINAL:
                raise DataMissingError(f"{address}: {problem}.") from error
        except ValueError as error:  # the target of a redirect
            raise DataMissingError(f"{address}: the server redirects to an invalid address ({error}).") from error
        except (OSError, http.client.HTTPException) as error:
            problem = f"the connection failed ({getattr(error, 'reason', error)})"
    raise DataMissingError(
        f"{address} could not be fetched: {problem}. Is this machine offline, or behind a proxy (HTTPS_PROXY)? The "
        "archive can also be fetched elsewhere and unpacked below data_dir, one folder per repository without the "
        "revision in its name."
    )


def _fetch_whole(address: str, target: Path) -> None:
    # Identity: an archive that the server compresses once more would have another length.
    headers = {"User-Agent": f"bmx-grid/{__version__}", "Accept-Encoding": "identity"}
    request = urllib.request.Request(address, headers=headers)
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
        length = response.headers.get("Content-Length", "")
        total = int(length) if length.isdecimal() else None
        with target.open("wb") as out, Progress(total, f"  fetching {target.name}", BYTES) as progress:
            while chunk := response.read1(CHUNK):
                out.write(chunk)
                progress.advance(len(chunk))
        # A connection that is closed early ends like a complete answer.
        size = target.stat().st_size
        if total is not None and size != total:
            raise http.client.IncompleteRead(b"", total - size)


def unpack_archive(archive: Path, data_dir: Path, folder: str, wanted: Mapping[str, Entry]) -> None:
    """Write the `wanted` files (path below data_dir -> entry) of a repository archive.

    The archive has one top folder (`name-revision/`), which becomes `folder`. Members that are not
    wanted are never written. Each file is checked for size and SHA-256 before it takes its place in one step.

    Raises DataError, naming the member, when a member has an absolute path or climbs out of the
    archive (nothing of such an archive is trusted), when a wanted file is a link or a device, has
    another size or checksum, or is missing; and when the archive is damaged or unpacks to more than 20 GB.
    """
    unpacked = set()
    with open_archive(archive, REPOSITORY_BYTES) as members:
        for member, content in members:
            name = PurePosixPath(member.name)
            if name.is_absolute() or ".." in name.parts:
                raise DataError(f"{archive}: refused, the member '{name}' would be written outside of its folder.")
            path = PurePosixPath(folder, *name.parts[1:])
            entry = wanted.get(str(path))
            if entry is None:
                continue
            if content is None:
                raise DataError(f"{archive}: refused, '{name}' is a link or a device, not a file.")
            # Read only if the size is right, so that nothing larger than expected gets into memory.
            raw = content.read() if member.size == entry.size else b""
            sha256 = hashlib.sha256(raw).hexdigest()
            if sha256 != entry.sha256:
                raise DataError(
                    f"{archive}: '{name}' has {pluralize(member.size, 'byte')} and the SHA-256 {sha256}, expected "
                    f"{entry.size:,} and {entry.sha256}; the file is not the one that the readers were written for, "
                    "and was not kept."
                )
            with replacing(data_dir / entry.path) as part:
                part.write_bytes(raw)
            unpacked.add(entry.path)
    missing = sorted(set(wanted) - unpacked)
    if missing:
        raise DataError(f"{archive}: lacks {len(missing)} of {len(wanted)} wanted files, the first is {missing[0]}.")
