"""Commands started by tests, in a group of processes of their own, and what is left of it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from fakes import ROOT
from forks import Fork

PATIENCE = 20.0  # seconds that a process which ends has, on a busy machine, beyond those that it is given


def start(arguments: list[str], folder: Path) -> subprocess.Popen:
    """A process in a group of its own, as a shell makes it, with a folder of its own for temporary files."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}

    def heed() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # ignored where these tests run in the background of a script

    more = {"start_new_session": True, "preexec_fn": heed}
    return subprocess.Popen(arguments, cwd=ROOT, env=environment_of(folder), **more, **pipes)


def environment_of(folder: Path) -> dict[str, str]:
    """That of the tests, with a folder for temporary files in `folder`."""
    (folder / "tmp").mkdir(parents=True, exist_ok=True)
    paths = f"{ROOT}{os.pathsep}{ROOT / 'tests'}"
    return {**os.environ, "PYTHONPATH": paths, "TMPDIR": str(folder / "tmp")}


class Forked(Fork):
    """A process as `start` starts it, without the seconds of its imports: a fork, which prints to files."""

    def __init__(
        self,
        forks: str,
        arguments: list[str],
        folder: Path,
        *,
        cwd: Path = ROOT,
        environment: dict[str, str] | None = None,
    ) -> None:
        self._files = [tempfile.TemporaryFile() for _ in range(2)]  # noqa: SIM115
        known = environment_of(folder) if environment is None else environment
        with open(os.devnull) as nothing:
            streams = [nothing.fileno(), *(file.fileno() for file in self._files)]
            super().__init__(forks, arguments, streams, cwd, known)

    def printed(self) -> tuple[str, str]:
        """Standard output and error so far. The place in a file is the program's, so it stays."""
        out, err = (os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode() for file in self._files)
        return out, err

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Standard output and error when it has ended. Raises TimeoutError."""
        self.wait(timeout)
        return self.printed()


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def alive_in_group(group: int) -> list[str]:
    """What still runs in a process group, zombies left out."""
    commands = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[2]) == group and fields[0] != "Z":
                commands.append((entry / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return commands


def wait_until_alone(group: int, seconds: float = 5.0 + PATIENCE) -> list[str]:
    end = time.monotonic() + seconds
    while (left := alive_in_group(group)) and time.monotonic() < end:
        time.sleep(0.1)
    return left


def wait_for(condition: Callable[[], bool], seconds: float = 120) -> None:
    """Wait until `condition` is true. Raises AssertionError when it stays false."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.1)
