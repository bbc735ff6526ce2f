"""How commands behave on a terminal, a pipe or a file: odd encodings, closed pipes, signals, plain warnings, progress.

Progress of long work goes to standard error, by tqdm: a bar on a terminal, otherwise a line every half minute.
"""

from __future__ import annotations

import argparse
import errno
import io
import os
import shlex
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, Self

from bmx_grid.core.errors import BmxError, printable
from bmx_grid.core.secrets import mask_address, mask_argument
from bmx_grid.core.stopping import answer_signal, exit_status, listening, received_signal
from bmx_grid.core.wording import escape_lines, shorten

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})  # of an output stream
CLEAR = "\r\x1b[K"  # to the left, and clear the line
LINE_EVERY_S = 30.0  # between progress lines where standard error is no terminal
LONGEST_MISTAKE = 600  # characters of a message on arguments
BYTES = "B"  # the unit that is written with a prefix: 12.3MB
BAR = "{desc} {percentage:3.0f}% |{bar}| {n_fmt}/{total_fmt}"
LINE = "{desc}: {n_fmt} of {total_fmt}{unit} ({percentage:.0f}%)"
BY_RATE = ", {rate_fmt}, {remaining} left"  # of pieces of work that take equally long
FULL_ERROR = "HYDRA_FULL_ERROR"  # an environment variable: 1 shows where in the code a mistake was found
RESUMES = "Interrupted. Finished work is kept: run the same command again to continue."


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        # It repeats arguments, which may be of any length.
        super().error(shorten(printable(message), LONGEST_MISTAKE))


def parser(name: str, doc: str | None) -> argparse.ArgumentParser:
    """The parser of a command, whose help is its module's docstring: before the first empty line, and after it."""
    description, _, epilog = str(doc).partition("\n\n")
    return _Parser(
        prog=f"bmx-grid {name}",
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,  # the lines stay as they are in the docstring
    )


def command(work: Callable[[], int | None], interrupted: str = "Interrupted.") -> int:
    """Run a command's work and return its exit status: that of the work, 0 if it returns none.

    2 with one sentence for a mistake, 1 with one when the memory does not suffice or the output cannot be written, 130
    after Ctrl-C, 143 after SIGTERM.

    interrupted: the line printed after a signal. Once one has arrived, this is how the command ends, whatever the work
    returned or raised: libraries swallow the interrupt or raise an error of their own in its place.
    Characters that the output's encoding lacks are escaped, and a closed pipe (`| head`) is not an error.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    with listening():
        try:
            status = _status(work)
        except BaseException as error:
            if not isinstance(error, KeyboardInterrupt) and received_signal() is None:
                raise
            answer_signal(interrupted)
            return exit_status(error)
        if received_signal() is not None:
            answer_signal(interrupted)
            return exit_status()
        return status


def say_error(sentence: str) -> None:
    """Print a mistake to standard error, in one printable line without secrets."""
    print(f"error: {printable(mask_address(sentence))}", file=sys.stderr)


def _status(work: Callable[[], int | None]) -> int:
    """Do the work; the status to leave with. After a signal no mistake is printed: `command` reports the signal."""
    try:
        with plain_warnings():
            status = work() or 0
        # Before Python ends: now a closed pipe or a full disk can still be answered.
        sys.stdout.flush()
        return status
    except BmxError as error:
        if os.environ.get(FULL_ERROR) == "1":
            traceback.print_exc()
        if received_signal() is None:
            say_error(str(error))
        return 2
    except MemoryError as error:
        if received_signal() is None:
            reason = str(error) or "an array is too large"
            print(f"error: not enough memory: {reason}.", file=sys.stderr)
        return 1
    except BrokenPipeError:
        _mute()
        return 0
    except OSError as error:
        # Without a file name it is of standard output. A file that cannot be written is a StoreError, which names it.
        if error.errno not in FULL or error.filename is not None:
            raise
        _mute()
        print(f"error: the output cannot be written: {error.strerror}; send it elsewhere.", file=sys.stderr)
        return 1


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Our own warnings in one plain line each, in this block."""
    before = warnings.showwarning
    warnings.showwarning = _show_warning
    try:
        yield
    finally:
        warnings.showwarning = before


def say(line: str) -> None:
    """Print lines at once; after the pipe was closed or the disk is full print nothing, and let the work continue."""
    # Somebody's metric may have closed it.
    if getattr(sys.stdout, "closed", False):
        return
    try:
        print(escape_lines(line), flush=True)
    except BrokenPipeError:
        _mute()
    except OSError as error:
        if error.errno not in FULL:
            raise
        _mute()
        print(f"warning: the output cannot be written: {error.strerror}; the work continues.", file=sys.stderr)


def _mute() -> None:
    """Discard standard output from now on, its buffer included, which Python writes as it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())


def _show_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, file: Any = None, line: Any = None
) -> None:
    """Our own warnings in one plain line; those of libraries as Python prints them."""
    if category is UserWarning and "bmx_grid" in filename:
        print(f"warning: {escape_lines(mask_address(str(message)))}", file=sys.stderr)
    else:
        sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))


class Progress:
    """Counts pieces of work against their total, with the rate and the time left; use it as a context manager.

    total: number of pieces; None if unknown, 0 for nothing to show.
    label: name of the work, at the start of every line. unit: of the pieces, in the plural ("texts"), or BYTES.
    time_left: the end of every line, if pieces take differently long; None for the rate and the time from it.
    """

    def __init__(
        self,
        total: int | None,
        label: str = "scoring",
        unit: str = "texts",
        time_left: Callable[[], str] | None = None,
    ) -> None:
        self._time_left = time_left
        self._total = total
        self._done = 0
        self._last_done = 0
        self._start = time.monotonic()
        self._last = self._start
        if unit != BYTES:
            unit = f" {unit}"  # tqdm writes it directly behind the number
        self._units: dict[str, Any] = {"unit": unit, "unit_scale": True}
        self._label = label
        self._bar = None
        if total != 0 and sys.stderr.isatty():
            from tqdm import tqdm

            bar_format = None if total is None else self._format(BAR)
            self._bar = tqdm(total=total, desc=label, dynamic_ncols=True, bar_format=bar_format, **self._units)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def advance(self, n: int) -> None:
        """`n` more are done."""
        self._done += n
        now = time.monotonic()
        if self._bar is not None:
            if self._time_left is not None:
                self._bar.bar_format = self._format(BAR)
            self._bar.update(n)
        elif self._total != 0 and now - self._last >= LINE_EVERY_S:
            from tqdm import tqdm

            # The rate since the last line: parts of one sweep differ a hundredfold in speed.
            rate = (self._done - self._last_done) / (now - self._last)
            total = None
            line_format = None
            if self._total is not None:
                total = max(self._total, self._done)  # it may be an estimate
                line_format = self._format(LINE)
            line = tqdm.format_meter(
                self._done,
                total,
                now - self._start,
                prefix=self._label,
                rate=rate,
                bar_format=line_format,
                **self._units,
            )
            print(line, file=sys.stderr, flush=True)
            self._last = now
            self._last_done = self._done

    def _format(self, begin: str) -> str:
        """The format of a bar or a line, with its end."""
        if self._time_left is None:
            return begin + BY_RATE
        end = self._time_left().replace("{", "{{").replace("}", "}}")
        return f"{begin}, {end}"

    def drop(self, n: int) -> None:
        """`n` that are not done will not be done: they are no part of the total, nor of the time left."""
        if self._total is not None:
            self._total = max(self._total - n, self._done)
        if self._bar is not None and self._total is not None:
            self._bar.total = self._total
            self._bar.refresh()

    def say(self, line: str) -> None:
        """Print a line to standard output without disturbing the bar."""
        if self._bar is not None:
            self._bar.write(escape_lines(line), file=sys.stdout)
        else:
            say(line)


def interval(seconds: float) -> str:
    """A time as progress shows it: 02:50, 1:02:50."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"


@contextmanager
def working(label: str) -> Iterator[None]:
    """Show uncountable work on a terminal, in a line that disappears at the end."""
    shown = sys.stderr.isatty()
    if shown:
        print(f"\r{label} …", end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        if shown:
            print(CLEAR, end="", file=sys.stderr, flush=True)


def command_line() -> str:
    """The command that runs, to be pasted, without its secrets; in a notebook or another program only its file."""
    program = Path(sys.argv[0])
    arguments = map(mask_argument, sys.argv[1:])
    if program.name == "__main__.py":
        return shlex.join(["python", "-m", program.parent.name, *arguments])
    return shlex.join([program.name, *arguments]) if program.name == "bmx-grid" else program.name
