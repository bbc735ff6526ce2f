"""Publishers' text files as lines: UTF-8, split at line feeds only, nothing unquoted, nothing stripped."""

from __future__ import annotations

import gzip
import math
import tarfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from bmx_grid.errors import DataError


def decode_lines(raw: bytes, where: str) -> list[str]:
    """The lines of UTF-8 text, without the line feeds; a byte-order mark at the very start is dropped.

    Only the line feed ends a line: U+2028, U+0085 and form feeds occur inside sentences, where
    `str.splitlines` would cut. Raises DataError with the line of a byte that is not UTF-8.
    """
    try:
        lines = raw.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        row = raw[: error.start].count(b"\n") + 1
        raise DataError(
            f"{where}, line {row}: byte 0x{raw[error.start]:02x} is not UTF-8; save the file as UTF-8."
        ) from error
    if lines[-1] == "":
        lines.pop()
    return lines


def read_bytes(path: Path) -> bytes:
    """The bytes of a file. Raises DataError when it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error}).") from error


def read_lines(path: Path) -> list[str]:
    """The lines of a file, as `decode_lines`."""
    return decode_lines(read_bytes(path), str(path))


def read_archive(path: Path, names: Sequence[str]) -> dict[str, list[str]]:
    """The lines of the archive members whose base names are `names`, read without unpacking to disk.

    Base names that start with `._` are resource forks of the publisher's Mac and are passed over.
    Raises DataError when the archive is damaged or lacks a member.
    """
    found: dict[str, list[str]] = {}
    try:
        with tarfile.open(path, "r:gz") as archive:
            for member in archive:
                base = PurePosixPath(member.name).name
                if base in names and not base.startswith("._") and member.isfile():
                    content = archive.extractfile(member)
                    if content is not None:
                        found[base] = decode_lines(content.read(), f"{path}:{member.name}")
    except (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error, OSError) as error:
        raise DataError(f"{path}: damaged archive ({error}); download it again.") from error
    missing = [name for name in names if name not in found]
    if missing:
        raise DataError(f"{path}: holds no {', '.join(missing)}; is it the archive of another partition?")
    return found


def split_row(line: str, count: int, where: str, row: int, separator: str = "\t") -> list[str]:
    """The `count` fields of a line. Raises DataError with the row when there are more or fewer."""
    fields = line.split(separator)
    if len(fields) != count:
        raise DataError(f"{where}, line {row}: {len(fields)} fields, expected {count}: {line[:80]!r}")
    return fields


def parse_score(text: str, where: str, row: int) -> float:
    """A finite human score. Raises DataError with file, row and value."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(f"{where}, line {row}: the human score {text!r} is not a number.")
    return value


def check_aligned(files: Mapping[str, Sequence[str]]) -> int:
    """The common number of lines. Raises DataError naming each file's count when they differ."""
    if len({len(lines) for lines in files.values()}) != 1:
        counts = ", ".join(f"{name} has {len(lines)} lines" for name, lines in files.items())
        raise DataError(f"files that belong together have different lengths: {counts}.")
    return len(next(iter(files.values())))
