"""The commands' manners on a terminal, a pipe or a file: odd encodings, gone readers, plain warnings."""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bmx_grid.errors import BmxError
from bmx_grid.masking import masked_address

RESUMES = "Interrupted. What was finished is kept: the same command goes on from here."


def command(work: Callable[[], int], interrupted: str = "Interrupted.") -> int:
    """Run a command's work and return its exit status: 2 with one sentence for a mistake, 130 for Ctrl-C.

    interrupted: what is said after Ctrl-C.
    What the output's encoding lacks is written as an escape, and a reader that has gone (`| head`) is no error.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        with plain_warnings():
            status = work()
        sys.stdout.flush()
        return status
    except BmxError as error:
        print(f"error: {masked_address(str(error))}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        _mute()
        return 0
    except KeyboardInterrupt:
        print(f"\n{interrupted}", file=sys.stderr)
        return 130


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
    """Print a line at once; once nobody reads any more, print nothing, and let the work go on."""
    try:
        print(line, flush=True)
    except BrokenPipeError:
        _mute()


def _mute() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, file: Any = None, line: Any = None
) -> None:
    """Our own warnings in one plain line; those of libraries as Python prints them."""
    if category is UserWarning and "bmx_grid" in filename:
        print(f"warning: {masked_address(str(message))}", file=sys.stderr)
    else:
        sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))
