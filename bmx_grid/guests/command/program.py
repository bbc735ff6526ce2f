"""Run a program that scores texts over its standard streams: one start per process, and a restart if it ends.

The program writes one line when it starts, a JSON object with its `name`, `version` and `model`. Then it reads a JSON
object per text, with the keys `source`, `hypothesis` and `references` that the metric reads, and writes a number per
text, in the same order. An empty line ends a batch: all scores of the batch are due. It ends at the end of its input.
"""

from __future__ import annotations

import atexit
import json
import os
import queue
import shlex
import shutil
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any, NamedTuple

from bmx_grid.core.errors import ComponentError, UnavailableError, quote_value
from bmx_grid.core.stopping import block_interrupts
from bmx_grid.models.loading import ASSIGNED

IDLE_SECONDS = 60.0  # without a text to score until a program is stopped: it may hold a large model
START_SECONDS = 60.0  # at least, until the program writes its declaration
SILENT = 60.0  # seconds for which a program that wrote no declaration in time is not started again
STOP_SECONDS = 5.0  # from the end of its input until it is ended
LONGEST_LINE = 200  # signs
LAST_LINES = 5  # of the program's standard error, in a message
DECLARED = ("name", "version", "model")


class Command(NamedTuple):
    """A command line to start, and the device that the program finds in BMX_DEVICE, if any."""

    words: tuple[str, ...]
    device: str | None

    def __str__(self) -> str:
        return shlex.join(self.words)


class _Ended(Exception):
    """The program ended, or was ended because it took too long."""


@dataclass
class Program:
    """A running program, used by one thread at a time.

    declared: its declaration. asked: the time of the last request. is_late: whether it was ended after `timeout`
    seconds without output. lines: of the output, not read yet.
    """

    command: Command
    process: subprocess.Popen[bytes]
    output: queue.SimpleQueue[list[str] | None]
    errors: deque[str]
    declared: Mapping[str, str]
    timeout: float
    asked: float = 0.0
    is_late: bool = False
    has_timer: bool = False
    lines: deque[str] = field(default_factory=deque)

    @classmethod
    def start(cls, command: Command, timeout: float) -> Program:
        """Start the program and read its declaration. Raises UnavailableError if it writes none."""
        if shutil.which(command.words[0]) is None:
            raise UnavailableError(
                f"command {quote_value(command.words[0])} not found, or not executable; name the Python of the "
                "metric's environment by its full path."
            )
        environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
        # Another environment has packages of its own.
        environment.pop("PYTHONPATH", None)
        if command.device is not None:
            environment[ASSIGNED] = command.device
        with block_interrupts():
            try:
                process = subprocess.Popen(
                    command.words,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env=environment,
                    bufsize=1 << 16,
                )
            except OSError as error:
                raise UnavailableError(f"the command `{command}` cannot be started: {error.strerror}.") from error
            output: queue.SimpleQueue[list[str] | None] = queue.SimpleQueue()
            errors: deque[str] = deque(maxlen=LAST_LINES)
            assert process.stdout is not None and process.stderr is not None
            _start_thread(_read_output, process.stdout, output)
            _start_thread(_read_errors, process.stderr, errors)
        program = cls(command, process, output, errors, {}, timeout)
        try:
            program.declared = program._declaration()
        except BaseException:
            program.stop()
            raise
        return program

    def scores(self, rows: Sequence[str], batch_size: int) -> Iterator[float]:
        """Yield the scores of rows of JSON as they arrive.

        Raises _Ended, and ComponentError for a line that is no number.
        """
        _start_thread(_write_rows, self.process.stdin, rows, batch_size)
        for _ in rows:
            line = self._line(self.timeout)
            try:
                yield float(line)
            except ValueError:
                raise ComponentError(
                    f"the command `{self.command}` wrote {quote_value(line)} to standard output in place of a score. "
                    "Write other text to standard error."
                ) from None

    def stop(self) -> None:
        """End the program: at the end of its input, or by force."""
        with suppress(OSError, ValueError):
            assert self.process.stdin is not None
            self.process.stdin.close()
        for end in (self.process.terminate, self.process.kill):
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                end()
        self.process.wait()

    def last_words(self) -> str:
        """How the program ended, with the last lines of its standard error."""
        how = f"ended with status {self.process.wait()}"
        if self.is_late:
            how = f"wrote nothing for {self.timeout:g} s"
        said = " | ".join(line for line in self.errors if line)
        return f"{how}{f', its last lines: {said}' if said else ''}"

    def _line(self, timeout: float) -> str:
        """The next line of its output. Raises _Ended if there is not one in time."""
        while not self.lines:
            try:
                block = self.output.get(timeout=timeout)
            except queue.Empty:
                self.is_late = True
                self.process.kill()
                raise _Ended from None
            if block is None:
                raise _Ended
            self.lines.extend(block)
        return self.lines.popleft()

    def _declaration(self) -> dict[str, str]:
        """Parse the first line of the output. Raises UnavailableError."""
        try:
            line = self._line(max(self.timeout, START_SECONDS))
        except _Ended:
            error = UnavailableError(
                f"the command `{self.command}` {self.last_words()}, before it wrote its declaration."
            )
            if self.is_late:
                _silent[self.command, self.timeout] = time.monotonic() + SILENT, error
            raise error from None
        try:
            said = json.loads(line)
            declared = {key: said[key] for key in DECLARED}
            is_text = all(isinstance(value, str) and value for value in declared.values())
        except (ValueError, KeyError, TypeError):
            is_text = False
        if not is_text:
            raise UnavailableError(
                f"the command `{self.command}`: its first line is {quote_value(line)}. Expected a JSON object with "
                "texts, "
                '{"name": "comet", "version": "2.2.7", "model": "Unbabel/wmt22-comet-da"}.'
            )
        return declared


_running: dict[Command, Program] = {}
# Programs that wrote no declaration within a timeout: until when they are not started again, and the error.
_silent: dict[tuple[Command, float], tuple[float, UnavailableError]] = {}
_lock = threading.RLock()


def read_declaration(command: Command, timeout: float) -> Mapping[str, str]:
    """Name, version and model of the program of a command, which is started if it does not run in this process."""
    with _lock:
        program = _program(command, timeout)
        _stop_later(command, program)
        return program.declared


def score_rows(command: Command, rows: Sequence[str], batch_size: int, timeout: float, expected: str) -> list[float]:
    """A score per row of JSON.

    A program that ends is started again with the texts that it has not scored. Raises UnavailableError if it ends twice
    before it has scored another text, and if its declaration differs from `expected` (see `describe_program`).
    """
    scores: list[float] = []
    n_before = -1
    with _lock:
        while len(scores) < len(rows):
            program = _program(command, timeout)
            if expected and describe_program(program.declared) != expected:
                raise UnavailableError(
                    f"the command `{command}` is {describe_program(program.declared)} now, but was {expected} when the "
                    "sweep was planned: run the same command again."
                )
            try:
                # One by one: what came before the program ended counts.
                for score in program.scores(rows[len(scores) :], batch_size):
                    scores.append(score)
            except _Ended:
                del _running[command]
                if len(scores) == n_before:
                    row = rows[len(scores)]
                    raise UnavailableError(
                        f"the command `{command}` {program.last_words()}, twice at the same text: {quote_value(row)}. "
                        "Scored texts are kept. Run the command by itself and give it this line to see why."
                    ) from None
                n_before = len(scores)
            except BaseException:
                # Later output would be read as scores of other texts.
                _forget(command)
                raise
            _stop_later(command, program)
    return scores


def describe_program(declared: Mapping[str, str]) -> str:
    """The declaration of a program in one text: the identity of the metric."""
    return "|".join([declared["name"], f"version:{declared['version']}", f"model:{declared['model']}"])


def _stop_later(command: Command, program: Program) -> None:
    """Stop the program once it is idle: one timer per program, however often it scores."""
    program.asked = time.monotonic()
    if not program.has_timer:
        program.has_timer = True
        _start_timer(IDLE_SECONDS, command, program)


def _start_timer(seconds: float, command: Command, program: Program) -> None:
    timer = threading.Timer(seconds, _stop_if_idle, [command, program])
    timer.daemon = True
    timer.start()


def _stop_if_idle(command: Command, program: Program) -> None:
    with _lock:
        if _running.get(command) is not program:
            return
        idle = time.monotonic() - program.asked
        if idle >= IDLE_SECONDS:
            _forget(command)
        else:
            _start_timer(IDLE_SECONDS - idle, command, program)


def _program(command: Command, timeout: float) -> Program:
    program = _running.get(command)
    if program is None or program.process.poll() is not None:
        until, error = _silent.get((command, timeout), (0.0, None))
        if error is not None and time.monotonic() < until:
            raise error
        program = Program.start(command, timeout)
        _running[command] = program
    program.timeout = timeout
    return program


def _forget(command: Command) -> None:
    program = _running.pop(command, None)
    if program is not None:
        program.stop()


@atexit.register
def _stop_all() -> None:
    for command in list(_running):
        _forget(command)


def _write_rows(stream: IO[bytes], rows: Sequence[str], batch_size: int) -> None:
    """Write all rows: the program has the next batch while it writes the scores of one."""
    # A program that ended is noticed by whoever waits for its scores.
    with suppress(OSError, ValueError):
        for start in range(0, len(rows), batch_size):
            batch = rows[start : start + batch_size]
            stream.write(("\n".join(batch) + "\n\n").encode())
            stream.flush()


def _read_output(stream: IO[bytes], blocks: queue.SimpleQueue[list[str] | None]) -> None:
    """Put the lines of the output into the queue, as many at once as there are; None at the end."""
    begun = b""
    with suppress(OSError, ValueError):
        while block := os.read(stream.fileno(), 1 << 16):
            *lines, begun = (begun + block).split(b"\n")
            blocks.put([line.decode(errors="replace").strip() for line in lines])
    blocks.put(None)


def _read_errors(stream: IO[bytes], lines: deque[str]) -> None:
    with suppress(OSError, ValueError):
        for line in stream:
            lines.append(line.decode(errors="replace").strip()[:LONGEST_LINE])


def _start_thread(work: Callable[..., None], *arguments: Any) -> None:
    threading.Thread(target=work, args=arguments, name="command", daemon=True).start()
