"""The contents of files, by digest: the keys of whatever a process keeps in memory of a file.

A file that is overwritten in place is another one, whatever its size and its times say.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Hashable
from pathlib import Path

# Nanoseconds. Clocks of file systems tick every few milliseconds, and that of a server may be late: a file that was
# changed so shortly before it was read may be changed again without another time.
SETTLES_WITHIN = 2_000_000_000

# path -> what the system said of the file when it was read, and the digest of its content
_KNOWN: dict[Path, tuple[Hashable, str]] = {}


def file_digest(path: Path) -> str:
    """SHA-256 of a file's content, 64 hexadecimal digits; read again if it may have changed. Raises OSError.

    The system's time of the last change of a file's state cannot be set back, unlike that of its content.
    """
    path = path.absolute()
    now = time.time_ns()
    with path.open("rb") as file:
        state = os.fstat(file.fileno())
        version = (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
        known = _KNOWN.get(path)
        if known is not None and known[0] == version:
            return known[1]
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if now - state.st_ctime_ns > SETTLES_WITHIN:
        _KNOWN[path] = (version, digest)
    else:
        _KNOWN.pop(path, None)
    return digest


def file_version(path: Path) -> Hashable:
    """What tells a file from what it was before: its digest; of a pipe, which is read once, its number and time.

    Raises OSError, and ValueError for a name that is no path.
    """
    state = path.stat()
    if stat.S_ISREG(state.st_mode):
        return file_digest(path)
    return (state.st_ino, state.st_mtime_ns)
