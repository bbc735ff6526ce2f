"""Compressed files, read as a stream that ends at a limit: a small file may unpack to more than the memory holds."""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

from bmx_grid.core.errors import DataError, DataMissingError
from bmx_grid.core.wording import pluralize
from bmx_grid.datasets.lines import decode_lines

GZIP = b"\x1f\x8b"
CHUNK = 1 << 20
# Bytes that the headers before one member may have.
HEADERS = 1 << 20
# Bytes of one text in a publisher's archive; the largest known has 7 million.
MEMBER_BYTES = 200_000_000
# Bytes of all members of such an archive together.
ARCHIVE_BYTES = 2_000_000_000
# What reading a damaged archive may raise.
DAMAGED = (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error, ValueError, OverflowError)


def gunzip(raw: bytes, where: str, limit: int, way_out: str) -> bytes:
    """The unpacked bytes. Raises DataError for a damaged file, or one that unpacks to more than `limit` bytes.

    where: the name of the file, for messages. way_out: the advice in the message when the limit is exceeded.
    """
    try:
        with gzip.open(io.BytesIO(raw)) as unpacked:
            # One byte more than is allowed, never all: a small file may unpack to more than the memory holds.
            content = unpacked.read(limit + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{where}: damaged gzip file ({error}); copy or compress it again.") from error
    if len(content) > limit:
        raise DataError(f"{where}: {len(raw):,} bytes unpack to more than {limit:,}; {way_out}")
    return content


Members = Iterator[tuple[tarfile.TarInfo, IO[bytes] | None]]


@contextmanager
def open_archive(path: Path, limit: int) -> Iterator[Members]:
    """The members of a tar.gz in their order, each with its content if it is a file, to be read before the next.

    limit: bytes of all members together. Raises DataError, also for errors while a member's content is read in this
    block, when the archive is damaged, cannot be opened or unpacks to more.
    """
    try:
        with gzip.open(path) as unpacked:
            stream = _Limited(unpacked, path)
            with tarfile.open(fileobj=stream, mode="r|") as archive:
                yield _members(archive, stream, limit)
    except DAMAGED as error:
        raise DataError(f"{path}: damaged archive ({error}); download it again.") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error}).") from error


class _Limited(io.RawIOBase):
    """Reads a member up to its header's length, and headers of a limited length: tarfile takes hours for long ones."""

    def __init__(self, stream: gzip.GzipFile, path: Path) -> None:
        self._stream = stream
        self.path = path
        self.left = HEADERS

    def readinto(self, buffer: Any) -> int:
        # Never more than a piece, even if all is requested: the limit is checked after each piece.
        content = self._stream.read(min(len(buffer), CHUNK))
        self.left -= len(content)
        if self.left < 0:
            raise DataError(f"{self.path}: refused, a header of more than {HEADERS:,} bytes; download it again.")
        buffer[: len(content)] = content
        return len(content)


def _members(archive: tarfile.TarFile, stream: _Limited, limit: int) -> Members:
    total = 0
    for member in archive:
        total += member.size
        if total > limit:
            raise DataError(
                f"{stream.path}: refused, the archive unpacks to more than {limit:,} bytes; download it again."
            )
        # A stream cannot be wound on: the content is read even if nobody uses it. A damaged header may name a
        # size below 0.
        stream.left = max(member.size, 0) + HEADERS
        content = archive.extractfile(member) if member.isfile() else None
        yield member, content


def read_archive(path: Path, names: Sequence[str], optional: Sequence[str] = ()) -> dict[str, list[str]]:
    """The lines of the archive members whose base names are `names`, in this order, read without unpacking to disk.

    optional: names of further members, which the archive may lack.

    Base names that start with `._` are resource forks of the publisher's Mac and are passed over.
    Raises DataMissingError when the archive lacks a member, DataError when it is damaged or larger than the limits of
    this module.
    """
    wanted = (*names, *optional)
    files: dict[str, list[str]] = {}
    with open_archive(path, ARCHIVE_BYTES) as members:
        for member, content in members:
            base = PurePosixPath(member.name).name
            if content is None or base not in wanted:
                continue
            if member.size > MEMBER_BYTES:
                size = f"{pluralize(member.size, 'byte')}, more than {MEMBER_BYTES:,}"
                raise DataError(f"{path}: refused, '{member.name}' has {size}; download it again.")
            files[base] = decode_lines(content.read(), f"{path}:{member.name}")
    missing = [name for name in names if name not in files]
    if missing:
        raise DataMissingError(f"{path}: holds no {', '.join(missing)}; is it the archive of another partition?")
    return {name: files.get(name, []) for name in wanted}
