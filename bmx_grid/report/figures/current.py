"""Whether a figure on disk is complete and shows the wanted result, found without a drawing library."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

PNG = b"\x89PNG\r\n\x1a\n"
KEY = "Fingerprint"  # of the PNG's text that says which result it shows
ENDS = {".pdf": (b"%PDF", b"%%EOF"), ".svg": (b"<?xml", b"</svg>")}


def stamped(stamp: str) -> str:
    """The keyword of a PDF or SVG file that says which result it shows."""
    return f"{KEY}:{stamp}"


def is_current(file: Path, stamp: str) -> bool:
    """Whether `file` (.png, .pdf, .svg) is a whole figure with this stamp; False where it cannot be read."""
    try:
        content = file.read_bytes()
    except OSError:  # absent, or not readable: the drawing that follows reports what is wrong
        return False
    if file.suffix == ".png":
        return _png_is_current(content, stamp)
    first, last = ENDS[file.suffix]
    whole = content.startswith(first) and content.rstrip().endswith(last)
    return whole and stamped(stamp).encode() in content


def _png_is_current(content: bytes, stamp: str) -> bool:
    """Reads the chunks directly, checksums included: a sweep in which nothing is new needs no drawing library."""
    expected = KEY.encode() + b"\0" + stamp.encode()
    place, kind, found = len(PNG), b"", False
    while content.startswith(PNG) and place + 12 <= len(content) and kind != b"IEND":
        size, kind = struct.unpack_from(">I4s", content, place)
        inside = content[place + 8 : place + 8 + size]
        if content[place + 8 + size : place + 12 + size] != struct.pack(">I", zlib.crc32(kind + inside)):
            return False
        found |= kind == b"tEXt" and inside == expected
        place += size + 12
    return found and kind == b"IEND" and place == len(content)
