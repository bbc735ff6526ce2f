"""Compressed files, read as a stream that ends at a limit: a small file may unpack to more than the memory holds."""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bmx_grid.errors import DataError

CHUNK = 1 << 20
HEADERS = 1 << 20  # bytes that the headers before one member may have; longer ones would be read into memory
DAMAGED = (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error, ValueError, OverflowError)
GZIP = b"\x1f\x8b"


def gunzip(raw: bytes, where: str, limit: int, way_out: str) -> bytes:
    """The unpacked bytes. Raises DataError for a damaged file, or one that unpacks to more than `limit` bytes.

    way_out: the advice in the message when the limit is exceeded.
    """
    chunks, size = [], 0
    try:
        with gzip.open(io.BytesIO(raw)) as unpacked:
            while chunk := unpacked.read(CHUNK):
                size += len(chunk)
                if size > limit:
                    raise DataError(f"{where}: {len(raw):,} bytes unpack to more than {limit:,}; {way_out}")
                chunks.append(chunk)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{where}: damaged gzip file ({error}); copy or compress it again.") from error
    return b"".join(chunks)


@contextmanager
def archive_members(path: Path, limit: int) -> Iterator[Iterator[tuple[tarfile.TarInfo, tarfile.TarFile]]]:
    """The members of a tar.gz one after the other, each with the archive to extract it from before the next.

    limit: bytes of all members together. Raises DataError, also for errors while a member's content is read in this
    block, when the archive is damaged, cannot be opened or unpacks to more.
    """
    try:
        with gzip.open(path) as unpacked:
            stream = _Limited(unpacked, limit, path)
            with tarfile.open(fileobj=stream, mode="r|") as archive:
                yield _each(archive, stream)
    except tarfile.FilterError as error:
        raise DataError(f"{path}: refused, a member is unsafe ({error}).") from error
    except DAMAGED as error:
        raise DataError(f"{path}: damaged archive ({error}); download it again.") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error}).") from error


class _Limited(io.RawIOBase):
    """Reads from a stream until a total is reached, and at most an allowance until the next call of `allow`."""

    def __init__(self, stream: gzip.GzipFile, limit: int, path: Path) -> None:
        self._stream, self._left, self._path, self._limit = stream, limit, path, limit
        self._allowed = HEADERS

    def allow(self, size: int) -> None:
        """Let a member of this size, and the headers of the next one, be read."""
        self._allowed = max(size, 0) + HEADERS

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        found = self._stream.read(size if 0 <= size < CHUNK else CHUNK)
        self._left -= len(found)
        self._allowed -= len(found)
        if self._left < 0:
            raise DataError(
                f"{self._path}: refused, the archive unpacks to more than {self._limit:,} bytes; download it again."
            )
        if self._allowed < 0:
            raise DataError(
                f"{self._path}: refused, the headers of a member have more than {HEADERS:,} bytes; download it again."
            )
        return found


def _each(archive: tarfile.TarFile, stream: _Limited) -> Iterator[tuple[tarfile.TarInfo, tarfile.TarFile]]:
    for member in archive:
        stream.allow(member.size)
        yield member, archive
        archive.members.clear()  # type: ignore[attr-defined]  # a list that only grows, of a stream that is read once
