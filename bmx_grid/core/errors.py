"""Every failure a user can meet, as one tree.

    BmxError                    a mistake that the user can fix; shown as one message, never a traceback
    ├── ConfigError             an option, key or value of the configuration
    ├── DataError               a data file, its rows or its values
    │   └── DataMissingError    the file or folder is not there; says where it was looked for
    ├── UnavailableError        a model or an optional library is unavailable; says how to get it
    ├── ExplainError            a segment that the chosen explainer cannot explain
    ├── StoreError              the attribution cache or an output cannot be read or written
    ├── ComponentError          a metric or explainer breaks its contract, or its code raises
    └── WorkerLost              a worker ended before its job did (in sweep/executors/base.py)

A message names the thing, the value and how to fix it.
"""

from __future__ import annotations

import difflib
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

MOST_OF_LINE = 500  # signs of what an exception says; all of it is in the traceback, in a sweep's log.txt
MOST_OF_MESSAGE = 1_000  # signs


class BmxError(Exception):
    """Base of every error that the user can fix. details: a traceback for the report, where there is one."""

    details: str = ""

    def __str__(self) -> str:
        """The message; of one that quotes something long the start and the end, which says the way out."""
        message = super().__str__()
        half = MOST_OF_MESSAGE // 2
        return message if len(message) <= MOST_OF_MESSAGE else f"{message[:half]} … {message[-half:]}"

    def _render_traceback_(self) -> list[str]:
        """What IPython shows in place of a traceback: the message, as on the command line."""
        return [f"{type(self).__name__}: {self}"]


class ConfigError(BmxError):
    """An option, key or value of the configuration cannot be used."""


class DataError(BmxError):
    """A data file, one of its rows or one of its values cannot be used."""


class DataMissingError(DataError):
    """A data file or folder is not there."""


class UnavailableError(BmxError):
    """A model or an optional library is unavailable here."""


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
        failure = ComponentError(exception_line(error))
        failure.details = traceback.format_exc()
        raise failure from error


def exception_line(error: BaseException) -> str:
    """The type and the first line of an exception, even of one that cannot be printed."""
    try:
        said = str(error)
    except Exception:  # the exception is a user's: its __str__ may raise anything
        said = "(its message cannot be printed)"
    line = printable(f"{type(error).__name__}: {said}"[: 2 * MOST_OF_LINE].splitlines()[0])
    return line if len(line) <= MOST_OF_LINE else f"{line[: MOST_OF_LINE - 1]}…"


def shown(value: object, most: int = 80) -> str:
    """Any value in one printable line of at most `most` characters, for messages."""
    text = printable(" ".join(repr(value).split()))
    return text if len(text) <= most else f"{text[: most - 1]}…"


def printable(text: str) -> str:
    """`text` with a question mark for each sign that no terminal shows."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def unknown(kind: str, name: object, known: Iterable[str]) -> str:
    """The message for an unknown name: the closest match, then the list of what exists, signs in quotation marks."""
    name = printable(str(name))
    names = sorted(known)
    closest = _closest(name, names)
    hint = f" Did you mean '{closest}'?" if closest else ""
    available = [known_name if any(map(str.isalnum, known_name)) else f"'{known_name}'" for known_name in names]
    return f"unknown {kind} '{name}'.{hint} Available: {', '.join(available) or 'none'}."


def close_match(name: str, known: Iterable[str | None]) -> str:
    """ " (did you mean 'NAME'?)" for the known name closest to an unknown one; "" where none is close."""
    closest = _closest(name, [known_name for known_name in known if known_name is not None])
    return f" (did you mean '{closest}'?)" if closest else ""


def _closest(name: str, known: Sequence[str]) -> str:
    """The known name that is most like a name; "" where none is half alike."""
    return next(iter(difflib.get_close_matches(name, known, n=1, cutoff=0.5)), "")
