"""Every failure a user can meet, as one tree.

    BmxError                    a mistake that the user can fix; shown as one message, never a traceback
    ├── ConfigError             an option, key or value of the configuration
    ├── DataError               a data file, its rows or its values
    │   └── DataMissingError    the file or folder does not exist; the message names where it was searched
    ├── UnavailableError        a model or an optional library is unavailable; the message names how to get it
    ├── ExplainError            a segment that the chosen explainer cannot explain
    ├── StoreError              the attribution cache or an output cannot be read or written
    ├── ComponentError          a metric or explainer breaks its contract, or its code raises
    └── WorkerLost              a worker ended before its job did (in sweep/executors/base.py)

A message names the thing, the value and how to fix it.
"""

from __future__ import annotations

import difflib
import os
import sysconfig
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from bmx_grid.core.wording import escape_lines

ALLOWED_PACKAGES = "BMX_ALLOWED_PACKAGES"  # the environment variable that names packages of the user
MOST_OF_LINE = 500  # characters of an exception's text; the traceback in a sweep's log.txt has all of it
MOST_OF_MESSAGE = 1_000  # signs
# The folders of Python and of what pip installs; modules that are part of Python itself have no folder.
_LIBRARIES = ("<frozen", *{sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


class BmxError(Exception):
    """Base class of all errors that a user can fix.

    The message names the thing, the value and the fix. The command line and notebooks print it without a traceback.

    Attributes:
        details: Traceback of the user's own code that failed; empty for all other errors.

    Example:
        >>> import bmx_grid as bmx
        >>> try:
        ...     bmx.load("chrff")
        ... except bmx.BmxError as error:
        ...     print(type(error).__name__)
        ConfigError
    """

    details: str = ""

    def __str__(self) -> str:
        """The message; of a long one the start and the end, which holds the way out."""
        message = escape_lines(super().__str__())
        if len(message) <= MOST_OF_MESSAGE:
            return message
        half = MOST_OF_MESSAGE // 2
        return f"{message[:half]} … {message[-half:]}"

    def _render_traceback_(self) -> list[str]:
        """What IPython shows in place of a traceback: the message, as on the command line."""
        return [f"{type(self).__name__}: {self}"]


class ConfigError(BmxError):
    """An option, key or value of the configuration cannot be used."""


class DataError(BmxError):
    """A data file, one of its rows or one of its values cannot be used."""


class DataMissingError(DataError):
    """A data file or folder does not exist."""


class UnavailableError(BmxError):
    """A model or an optional library is unavailable."""


class ExplainError(BmxError):
    """A segment cannot be explained by the chosen explainer."""


class StoreError(BmxError):
    """The attribution cache or an output cannot be read or written."""


class ComponentError(BmxError):
    """A metric, an explainer or another component breaks its contract, or its code raises."""


@contextmanager
def component_errors() -> Iterator[None]:
    """Raise ComponentError for any exception of this block, `sys.exit` included; not for BmxErrors and interrupts."""
    try:
        yield
    except (BmxError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise component_error(error) from error


def component_error(error: BaseException, message: str = "") -> ComponentError:
    """A ComponentError, to be raised from an exception of somebody's code: it names their file and line.

    message: replaces the exception's own text.
    """
    place = _own_line(error)
    if message:
        message = f"{place}: {message}" if place else message
    else:
        message = f"{exception_line(error)} ({place})" if place else exception_line(error)
    failure = ComponentError(message)
    failure.details = "".join(traceback.format_exception(error))
    return failure


def _own_line(error: BaseException) -> str:
    """The innermost line of the user's own code that an exception came through: "m.py, line 3, in score"; or ""."""
    innermost = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        if _is_own(frame):
            path = Path(frame.f_code.co_filename)
            # the shortest path that opens the file from the current folder
            if path.is_relative_to(Path.cwd()):
                path = path.relative_to(Path.cwd())
            innermost = f"{path}, line {line}, in {frame.f_code.co_name}"
    return innermost


def _is_own(frame: FrameType) -> bool:
    """Whether a frame is of the user's own code: neither of this package, nor of Python, nor of a library."""
    package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    if package == "bmx_grid":
        return False
    # An installed package of the user is where libraries are.
    if package in os.environ.get(ALLOWED_PACKAGES, "").split(","):
        return True
    file = frame.f_code.co_filename
    return not file.startswith(_LIBRARIES)


def exception_line(error: BaseException) -> str:
    """The type and the first line of an exception, even of one that cannot be printed."""
    try:
        message = str(error)
    except Exception:  # the exception is a user's: its __str__ may raise anything
        message = "(its message cannot be printed)"
    # Cut before it is split: a message may be of any length.
    start = f"{type(error).__name__}: {message}"[: 2 * MOST_OF_LINE]
    return _truncate(printable(start.splitlines()[0]), MOST_OF_LINE)


def quote_value(value: object, most: int = 80) -> str:
    """Any value in one printable line of at most `most` characters, for messages."""
    text = " ".join(text_of(value, repr).split())
    return _truncate(printable(text), most)


def text_of(value: object, write: Callable[[object], str] = str) -> str:
    """Any value as `write` writes it, even one that cannot be printed."""
    try:
        return write(value)
    except Exception:  # the value is a user's: its __repr__ may raise anything
        return f"a {type(value).__name__} (it cannot be printed)"


def _truncate(line: str, most: int) -> str:
    """The line; of one with more than `most` characters the start, and an ellipsis."""
    if len(line) <= most:
        return line
    return f"{line[: most - 1]}…"


def printable(text: str) -> str:
    """`text` with a question mark for each sign that no terminal shows."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def unknown(kind: str, name: object, known: Iterable[str]) -> str:
    """The message for an unknown name: the closest match, then the list of what exists, signs in quotation marks."""
    name = printable(str(name))
    names = sorted(known)
    closest = _closest(name, names)
    hint = f" Did you mean '{closest}'?" if closest else ""
    parts = name.split(",")
    if len(parts) > 1 and all(part in names for part in parts):
        hint = f" Separate names by blanks: {' '.join(parts)}."
    available = []
    for known_name in names:
        is_sign = not any(map(str.isalnum, known_name))  # it would be lost between the commas
        available.append(f"'{known_name}'" if is_sign else known_name)
    return f"unknown {kind} '{name}'.{hint} Available: {', '.join(available) or 'none'}."


def check_known(kind: str, name: object, known: Iterable[str]) -> None:
    """Raise ConfigError with the closest match unless a name is known."""
    names = list(known)
    if name not in names:
        raise ConfigError(unknown(kind, name, names))


def close_match(name: str, known: Iterable[str | None]) -> str:
    """ " (did you mean 'NAME'?)" for the known name closest to an unknown one; "" if none is close."""
    names = [known_name for known_name in known if known_name is not None]
    closest = _closest(name, names)
    return f" (did you mean '{closest}'?)" if closest else ""


def _closest(name: str, known: Sequence[str]) -> str:
    """The known name that is most like a name, or else the shortest one that holds it; "" if neither exists."""
    matches = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    if matches:
        return matches[0]
    holding = [longer for longer in known if len(name) > 2 and name.lower() in longer.lower()]
    return min(holding, key=len, default="")
