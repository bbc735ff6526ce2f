"""Writing files so that a killed process leaves the old file or the new one, never half of one."""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bmx_grid.errors import StoreError

_HOST = socket.gethostname().replace(".", "-")
_ATTEMPTS = 100  # attempts to make a file in a folder that other processes remove when it is empty


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; when the block succeeds it becomes `path` in one step.

    Raises StoreError naming the path when it cannot be written (no permission, disk full, a file in
    the place of a folder).
    """
    # The whole name again would not fit into the 255 bytes of a file name; the random part makes it unique.
    part = path.parent / f".{path.name[:20]}.{_HOST}.{os.getpid()}.{uuid.uuid4().hex[:8]}.part"
    try:
        _reserve(part)
        yield part
        with part.open("rb+") as written:
            os.fsync(written.fileno())
        os.replace(part, path)
    except OSError as error:
        raise StoreError(
            f"cannot write {path}: {error.strerror or error}. "
            "Free some space, or choose a folder you may write to (output_dir=…, cache_dir=…)."
        ) from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _reserve(part: Path) -> None:
    """Make the folder and the empty file: another process may remove the folder as long as nothing is in it."""
    for _ in range(_ATTEMPTS):
        part.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            part.touch(exist_ok=False)
            return
    part.touch(exist_ok=False)


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text to `path` in one step. Raises StoreError."""
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


def remove_abandoned(folder: Path) -> None:
    """Delete the temporary files in `folder` that processes of this machine left when they were killed.

    With them go the journals that SQLite keeps while it writes one.
    """
    for part in folder.glob(f".*.{_HOST}.*.part*"):
        owner = part.name.split(".")[-3]
        if owner.isdigit() and not _alive(int(owner)):
            with suppress(OSError):
                part.unlink(missing_ok=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
