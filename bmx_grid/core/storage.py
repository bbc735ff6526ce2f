"""Storage of results: a folder of this machine, or an address in an object store.

A place is a `Path`, or an `Address` such as s3://bucket/prefix. Files of both appear in one step, complete or not at
all: on a file system by renaming, in an object store because an upload is visible when it has ended, not before.
fsspec and the package of a protocol are imported for addresses only.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import select
import socket
import stat
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

from bmx_grid.core.errors import ConfigError, DataError, StoreError, quote_value
from bmx_grid.core.secrets import mask_address

# Seconds per request of S3.
CONNECTS_WITHIN = 10
READS_WITHIN = 60
# Seconds that a pipe may take until it is opened for writing, and between two looks.
WAITS_FOR_WRITER = 5.0
LOOKS_EVERY = 0.05
PIPE_CHUNK = 1 << 16
MOST_OF_PIPE = 1_000_000_000  # bytes that are read from a pipe, which need not end
_S3 = ("s3", "s3a")
_MARK = "bmx_grid.txt"
_WAY_OUT = "Check the address, the network and the credentials, or choose another cache_dir."
_NAME = re.compile(r"\w[\w+.,() -]*")
ONE_SLASH = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # a protocol; a drive has one letter before the colon
_NAME_BYTES = 50  # a figure is named after a data set, a language pair, a metric and an explainer
_HOST = socket.gethostname().replace(".", "-")
T = TypeVar("T")


def check_name(kind: str, name: str, where: str) -> None:
    """Refuse names that cannot be part of file names. Raises DataError naming `where`, the name and what fits."""
    fits = _NAME.fullmatch(name) and len(name.encode()) <= _NAME_BYTES
    if not fits:
        raise DataError(
            f"{where}: the {kind} {name[:60]!r} cannot be part of file names; use letters, digits and '-_+.,() ', "
            f"at most {_NAME_BYTES} bytes in UTF-8, with a letter or digit first: file systems allow 255 for all parts."
        )


@dataclass(frozen=True, repr=False)
class Address:
    """A place in an object store. As text its secrets are masked: only `url` has them."""

    url: str

    def __truediv__(self, name: str) -> Address:
        return Address(f"{self.url.rstrip('/')}/{name}")

    def __str__(self) -> str:
        return mask_address(self.url)

    def __repr__(self) -> str:
        return f"Address({str(self)!r})"


Place = Path | Address


def place(text: str, key: str = "cache_dir") -> Place:
    """A folder's path, `~` expanded, or an address; file:///FOLDER and file:/FOLDER (RFC 8089) are paths.

    Raises ConfigError for a file: address of another machine or without a whole path, and for an address that lacks a
    slash. key: names the setting in messages.
    """
    if text.lower().startswith("file:"):
        rest = text[len("file:") :]
        folder = re.fullmatch(r"(//(localhost)?)?(/(?!/).*)?", rest, re.DOTALL | re.IGNORECASE)
        if folder is None or not folder[3]:
            raise ConfigError(
                f"{key}: {quote_value(text)} is no folder of this machine; write its whole path, as file:///FOLDER."
            )
        return Path(folder[3])
    protocol, separator, rest = text.partition("://")
    if separator:
        return Address(f"{protocol}://{rest.rstrip('/')}")
    if ONE_SLASH.match(text):
        raise ConfigError(f"{key}: {quote_value(text)} is neither a folder nor an address; write s3://BUCKET/PREFIX.")
    return expand_home(text)


def inside(folder: Path, name: str) -> Path:
    """The path of `name` below a folder: every path made from a file's content is built by this function.

    Raises StoreError if the path is outside the folder, by its name or by a link, whether or not it exists.
    """
    path = folder / name
    try:
        is_inside = path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):  # a circle of links, a zero byte
        is_inside = False
    if not is_inside:
        raise StoreError(
            f"{quote_value(str(path), 200)} leads out of {folder}; choose another folder, or remove the link or the "
            "file that names it."
        )
    return path


def below(where: Place, name: str) -> Place:
    """The place of `name` below another one. Raises StoreError if a link leads out of a folder: see `inside`."""
    return inside(where, name) if isinstance(where, Path) else where / name


def is_file(path: Path) -> bool:
    """Whether a file has this name; False also for a name that the file system refuses, as a too long one."""
    return os.path.isfile(path)


def is_folder(path: Path) -> bool:
    """Whether a folder has this name; False as for `is_file`."""
    return os.path.isdir(path)


def is_there(name: str) -> bool:
    """Whether a file or a folder has this name, in which ~ is the home folder; False as for `is_file`."""
    return os.path.exists(expand_home(name))


def expand_home(name: str | os.PathLike[str]) -> Path:
    """A path in which ~ is the home folder; the ~ of an unknown user stays, and is not found."""
    # Not Path.expanduser, which raises if the home folder is unknown.
    return Path(os.path.expanduser(name))


def check_place(where: Place) -> None:
    """Try to write a small object, always the same, to an address; a path is not looked at.

    Raises ConfigError or StoreError if writing fails.
    """
    if isinstance(where, Address):
        fs, path = _file_system(where)
        _call_store(where, "use", lambda: fs.pipe_file(f"{path}/{_MARK}", b"The cache of bmx_grid.\n"))


def files_of(folder: Place, suffix: str) -> list[Place]:
    """The sorted files of a folder with this suffix; none if the folder does not exist. Raises StoreError."""
    try:
        if isinstance(folder, Path):
            names = os.listdir(folder)
        else:
            fs, path = _file_system(folder)
            names = _call_store(folder, "list", lambda: fs.ls(path, detail=False))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(
            f"cannot read {folder}: {error.strerror}. Fix its permissions or choose another cache_dir."
        ) from error
    # An object store gives whole paths.
    last_parts = {name.rpartition("/")[2] for name in names}
    return [folder / name for name in sorted(last_parts) if name.endswith(suffix)]


@contextmanager
def open_for_arrow(file: Place) -> Iterator[Any]:
    """A file that Arrow reads. Raises FileNotFoundError; other errors of an object store as StoreError.

    A local file is opened once: from a path, pyarrow reads the size first, and another process may replace the file
    in between. A pipe, which need not end, raises OSError. An object is read at once.
    """
    import pyarrow as pa

    if isinstance(file, Path):
        check_regular(file)
        with pa.OSFile(str(file)) as source:
            yield source
        return
    fs, path = _file_system(file)
    with pa.BufferReader(_call_store(file, "read", lambda: fs.cat_file(path))) as source:
        yield source


@contextmanager
def replacing(file: Place) -> Iterator[Path]:
    """Yield a local path to write to; when the block succeeds its content becomes `file` in one step.

    Raises StoreError naming the file when it cannot be written.
    """
    if isinstance(file, Path):
        with _replacing_path(file) as part:
            yield part
        return
    fs, path = _file_system(file)
    with tempfile.TemporaryDirectory(prefix="bmx_grid-") as folder:
        name = file.url.rpartition("/")[2]
        copy = Path(folder) / name
        with _replacing_path(copy) as part:
            yield part
        _call_store(file, "write", lambda: fs.put_file(str(copy), path))


def remove(file: Place) -> None:
    """Delete a file; not an error if it is gone already. Raises StoreError."""
    if isinstance(file, Address):
        fs, path = _file_system(file)
        with suppress(FileNotFoundError):
            _call_store(file, "remove", lambda: fs.rm_file(path))
        return
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(
            f"cannot remove {file}: {error.strerror or error}. Fix the folder's permissions, or choose another "
            "cache_dir."
        ) from error


@contextmanager
def hold_lock(file: Place) -> Iterator[None]:
    """Hold the lock of a file among all processes that share its folder; of an address among those of this machine."""
    from filelock import FileLock

    if isinstance(file, Path):
        file.parent.mkdir(parents=True, exist_ok=True)
        lock_file = file.with_suffix(".lock")
    else:
        # The folder is shared by all users of a machine, whose lock files are their own.
        key = f"{Path.home()}\0{file.url}"
        name = hashlib.sha256(key.encode()).hexdigest()[:24]
        lock_file = Path(tempfile.gettempdir()) / f"bmx_grid-{name}.lock"
    with FileLock(lock_file):
        yield


def _file_system(where: Address) -> tuple[Any, str]:
    """The file system of an address and the path in it.

    Raises ConfigError for an invalid address or a missing package, StoreError if the file system cannot be made.
    """
    protocol, _, rest = where.url.partition("://")
    if not rest.strip("/") or set("?#") & set(where.url):
        raise ConfigError(
            f"cache_dir: {where} names no folder of an object store; write an address such as s3://BUCKET/PREFIX, "
            "and leave what follows ? or # to the settings of its package."
        )
    # A listing from before would miss what other processes have written since.
    options: dict[str, Any] = {"use_listings_cache": False}
    if protocol.lower() in _S3:
        options["config_kwargs"] = {"connect_timeout": CONNECTS_WITHIN, "read_timeout": READS_WITHIN}
    try:
        import fsspec

        fs, path = fsspec.core.url_to_fs(where.url, **options)
    except (ImportError, ValueError) as error:
        raise ConfigError(
            f"cache_dir: {where} cannot be used: {_reason(error)}. Install the package of its protocol (of s3://: "
            'in a checkout pip install ".[s3]"), or name a folder, or an address such as s3://BUCKET/PREFIX.'
        ) from error
    except Exception as error:  # packages of protocols raise errors of their own
        raise StoreError(f"cache_dir: {where} cannot be used: {_reason(error)}. {_WAY_OUT}") from error
    return fs, path


def _call_store(where: Address, act: str, ask: Callable[[], T]) -> T:
    """The answer of a store. Raises FileNotFoundError when reading, and StoreError for every other failure."""
    try:
        return ask()
    except Exception as error:  # packages of protocols raise errors of their own
        if isinstance(error, FileNotFoundError) and act in ("list", "read", "remove"):
            raise
        raise StoreError(f"cache_dir: cannot {act} {where}: {_reason(error)}. {_WAY_OUT}") from error


def _reason(error: BaseException) -> str:
    """What went wrong, in one line without secrets."""
    text = str(error)
    if isinstance(error, OSError) and error.strerror:
        text = error.strerror  # without the number and the file, which the message names
    line = " ".join(text.split()).rstrip(".")
    return mask_address(line[:300]) or type(error).__name__


@contextmanager
def _replacing_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to `path`; when the block succeeds it becomes `path` in one step.

    Raises StoreError naming the path when it cannot be written (no permission, disk full, a file in
    the place of a folder).
    """
    # The whole name again would not fit into the 255 bytes of a file name; the random part makes it unique.
    start = path.name[:20]
    random_part = uuid.uuid4().hex[:8]
    part = path.parent / f".{start}.{_HOST}.{os.getpid()}.{random_part}.part"
    try:
        part.parent.mkdir(parents=True, exist_ok=True)
        part.touch(exist_ok=False)
        yield part
        # To the disk before it is renamed: else a crash could leave an empty file under the final name.
        with part.open("rb+") as content:
            os.fsync(content.fileno())
        os.replace(part, path)
    except OSError as error:
        raise StoreError(
            f"cannot write {path}: {error.strerror or error}. "
            "Free some space, or choose a folder you may write to (output_dir=…, cache_dir=…, data_dir=…)."
        ) from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def check_regular(path: Path) -> None:
    """Raise OSError for all but a file: to open a pipe would wait until something writes to it."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "it is not a file")


def check_readable(path: Path) -> None:
    """Raise OSError for a device such as /dev/zero, which may give bytes for ever, and for a socket."""
    mode = path.stat().st_mode
    # A folder passes: opening it raises a clear error.
    is_readable = stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISFIFO(mode)
    if not is_readable:
        raise OSError(errno.EINVAL, "it is neither a file nor a pipe")


def read_file(path: Path) -> bytes:
    """The bytes of a file, or of a pipe that is written to (`<(zcat x.gz)`). Raises OSError, also for all else."""
    check_readable(path)
    # Opened without O_NONBLOCK, a pipe waits until somebody opens its other end, which may be never.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with open(descriptor, "rb") as file:
        if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            return file.read()
        # Until somebody writes, a read returns at once; afterwards reading waits for data.
        first = _first_of_pipe(descriptor)
        os.set_blocking(descriptor, True)
        return first + read_stream(file)


def read_stream(stream: IO[bytes]) -> bytes:
    """The bytes of a pipe. Raises OSError for one that does not end."""
    content = stream.read(MOST_OF_PIPE + 1)  # one more than allowed
    if len(content) > MOST_OF_PIPE:
        raise OSError(errno.EFBIG, f"it does not end within {MOST_OF_PIPE:,} bytes")
    return content


def _first_of_pipe(descriptor: int) -> bytes:
    """The first bytes of a pipe, once a writer has opened it. Raises OSError if nobody does."""
    changed = select.poll()
    changed.register(descriptor, select.POLLIN)  # and, unrequested, that a writer has gone
    end = time.monotonic() + WAITS_FOR_WRITER
    while True:
        try:
            first = os.read(descriptor, PIPE_CHUNK)
        except BlockingIOError:  # it is open for writing, and holds nothing yet
            return b""
        if first or changed.poll(0):
            return first
        if time.monotonic() > end:
            raise OSError(errno.ETIMEDOUT, "it is a pipe that nothing writes to")
        time.sleep(LOOKS_EVERY)


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text to `path` in one step. Raises StoreError."""
    with _replacing_path(path) as part:
        part.write_text(text, encoding="utf-8")


def remove_abandoned(folder: Path) -> None:
    """Delete the temporary files in `folder` that processes of this machine left when they were killed.

    With them go the journals that SQLite keeps while it writes one.
    """
    # Named as in `_replacing_path`: host, process and a random part from the end.
    for part in folder.glob(f".*.{_HOST}.*.part*"):
        owner = part.name.split(".")[-3]
        if owner.isdigit() and not _is_alive(int(owner)):
            with suppress(OSError):
                part.unlink(missing_ok=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)  # sends nothing
    except PermissionError:  # it is another user's
        return True
    except OSError:
        return False
    return True
