"""Ctrl-C and SIGTERM: one way out of a process at every moment, without a traceback and without losses.

A signal becomes an exception in the main thread: KeyboardInterrupt, or Terminated for SIGTERM. That is not
enough. Libraries swallow exceptions (a bare `except`, a `__del__`, a callback from C) or replace them by their own;
an exception in the wrong line leaves a tracked run open; and a signal that arrives while the interpreter shuts
down is lost. Therefore:

- `delay_signals`: work that must not be left half done is finished before a signal is answered.
- `received_signal`: after a signal the process ends as interrupted, whatever the work raised or returned meanwhile.
- `run_process`: a separate thread sees every signal. If the exception was swallowed it is raised again, and
  after GRACE_SECONDS (HELD_SECONDS in a block of `delay_signals`) the process is ended. Nothing is
  lost: every file is written in one step.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType, SimpleNamespace
from typing import Any, NoReturn

GRACE_SECONDS = 10.0  # from the first signal until the process ends, whatever it does
HELD_SECONDS = 30.0  # the same while something must not be left half done
AGAIN_SECONDS = 1.0  # from an exception that was swallowed until it is raised again
PARENT_SECONDS = 0.5  # between two looks of a worker at its parent
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Terminated(KeyboardInterrupt):
    """SIGTERM. A KeyboardInterrupt, so that libraries let it pass as they let Ctrl-C pass."""


# What this process knows of signals: the one that arrived first; whether the sentence has been written; how many blocks
# of `delay_signals` are open; whether the work is over and the interpreter ends; and the status to leave with unless
# there was a signal, 1 as after a traceback.
_state = SimpleNamespace(signum=None, answered=False, held=0, leaving=False, status=1)


def received_signal() -> int | None:
    """The signal that arrived first since the outermost `listening` began; None when there was none."""
    signum: int | None = _state.signum
    return signum


def exit_status(error: BaseException | None = None) -> int:
    """128 + the signal's number, as shells have it: 130 for Ctrl-C, 143 for SIGTERM."""
    by_error = signal.SIGTERM if isinstance(error, Terminated) else signal.SIGINT
    return 128 + (received_signal() or by_error)


def answer_signal(sentence: str) -> None:
    """Write `sentence` to standard error, once for a signal."""
    if not _state.answered:
        _state.answered = True
        with suppress(OSError):  # whoever sent the signal may have closed the terminal
            print(f"\n{sentence}", file=sys.stderr, flush=True)


@contextmanager
def listening() -> Iterator[None]:
    """In this block SIGINT and SIGTERM raise KeyboardInterrupt and Terminated. Blocks may be nested.

    A signal that is ignored (`nohup`, a background job of a script) stays ignored. Outside the main thread, where
    Python allows no handlers, nothing changes.
    """
    before = _listen()
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


@contextmanager
def delay_signals() -> Iterator[None]:
    """A signal that arrives in this block is answered at its end. For short work that must not be left half done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    signum_before = _state.signum
    _state.held += 1
    try:
        yield
    finally:
        _state.held -= 1
    # A signal from before the block has been answered already.
    if _state.held == 0 and _state.signum is not None and signum_before is None:
        _raise(_state.signum)


@contextmanager
def block_interrupts() -> Iterator[None]:
    """Processes and threads that are started in this block never see Ctrl-C: this process answers for them.

    A terminal sends it to all processes, and each would print a traceback of its own.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_with_parent(parent: int) -> None:
    """End this process soon after the process `parent`, which started it, however that one ended."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, name="end-with-parent", daemon=True).start()


def run_process(work: Callable[[], int], last_words: str) -> NoReturn:
    """Do the work of this whole process and leave with the status it returns, or as interrupted.

    last_words: text that is written if the process has to be ended before the work has answered a signal.
    """
    _open_closed_streams()
    # Registered first, so run last: the interpreter ignores signals in its later steps. One that arrived
    # then would be lost, and the status wrong.
    atexit.register(_end, last_words)
    try:
        _listen()
        _watch(last_words)
        _state.status = work()
    except SystemExit as exit_error:
        # As Python does: a text is an error that is printed, None is success.
        code = exit_error.code
        if isinstance(code, str):
            print(code, file=sys.stderr)
        _state.status = code if isinstance(code, int) else int(code is not None)
    except KeyboardInterrupt:
        pass  # `_end` reports it
    finally:
        _state.leaving = True  # from now on a signal changes the status and raises nothing
    sys.exit(_state.status)


def _open_closed_streams() -> None:
    """Standard streams that the caller closed (`>&-`) take and give nothing.

    Python has None in their place, and the next file or pipe that is opened would have their number: output of
    a library would end up in that file.
    """
    # The system assigns the lowest free number first: until one above 2 comes, closed streams are filled.
    null = os.open(os.devnull, os.O_RDWR)
    while null <= 2:
        null = os.dup(null)
    os.close(null)
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r+", encoding="utf-8"))  # noqa: SIM115


def _end(last_words: str) -> None:
    """Leave the process, the sentence after a signal written and streams flushed."""
    if _state.signum is not None:
        answer_signal(last_words)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # closed
            stream.flush()
    status = _state.status if _state.signum is None else exit_status()
    os._exit(status)


def _listen() -> dict[signal.Signals, Any]:
    """Install the handler; the handlers that it replaces."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    handlers = {signum: signal.getsignal(signum) for signum in SIGNALS}
    # The outermost block: signals of an earlier one are over.
    if _handle not in handlers.values():
        _state.signum = None
        _state.answered = False
    replaced = {}
    for signum, handler in handlers.items():
        # None is a handler that was not installed from Python, and could not be restored.
        if handler not in (signal.SIG_IGN, _handle, None):
            signal.signal(signum, _handle)
            replaced[signum] = handler
    return replaced


def _handle(signum: int, frame: FrameType | None) -> None:
    if _state.signum is None:
        _state.signum = signum
    if _open_to_interrupts():
        _raise(_state.signum)


def _open_to_interrupts() -> bool:
    """Whether a signal may raise an exception now."""
    return _state.held == 0 and not _state.leaving and not _state.answered


def _raise(signum: int) -> NoReturn:
    raise Terminated if signum == signal.SIGTERM else KeyboardInterrupt


def _watch(last_words: str) -> None:
    """Start the thread that makes sure that a signal ends this process."""
    main_thread = threading.get_ident()
    reader, writer = os.pipe()
    # Python writes the number of each signal to this pipe as it arrives, whatever the main thread does.
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

    def watch() -> None:
        signum = 0
        while signum not in SIGNALS:
            signum = os.read(reader, 1)[0]
        start = time.monotonic()
        # The limit changes as a block of `delay_signals` begins or ends.
        while time.monotonic() - start < (HELD_SECONDS if _state.held > 0 else GRACE_SECONDS):
            time.sleep(AGAIN_SECONDS)
            if _open_to_interrupts():
                signal.pthread_kill(main_thread, signum)
        if not _state.answered:
            os.write(2, f"\n{last_words}\n".encode())
        os._exit(128 + signum)

    threading.Thread(target=watch, name="signals", daemon=True).start()
    before = sys.unraisablehook

    def quiet(caught: sys.UnraisableHookArgs) -> None:
        # Swallowed in code that no exception can leave (`__del__`, a callback from C): raised again by the thread.
        if not issubclass(caught.exc_type, KeyboardInterrupt):
            before(caught)

    sys.unraisablehook = quiet
