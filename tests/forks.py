"""A Python that has imported what sweeps import, and of which programs that tests start are forks.

python forks.py serve SOCKET           answers until nobody holds the other end of its standard input
python forks.py run SOCKET -m bmx_grid ARGUMENTS...    the program, as `python` would run it

A fork is alone in a new session, has the streams, the folder and the environment of who asks, and ends as every Python
does. What libraries read when they are imported (HF_*, MPL*, OMP_NUM_THREADS) is that of the tests; a test of imports,
of the interpreter's start, or of streams that are closed starts `python` itself.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LIBRARIES = (
    *("numpy", "pandas", "scipy.stats", "pyarrow.parquet", "pyarrow.dataset", "numba", "joblib", "matplotlib.figure"),
    *("matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg", "torch", "transformers", "hydra"),
    *("sacrebleu", "sqlalchemy", "alembic", "mlflow.store.tracking.sqlalchemy_store", "openai", "jinja2", "sklearn"),
    *("bmx_grid.commands.run", "bmx_grid.api.sweep"),
)
OPTIONAL = ("distributed", "accelerate", "fastapi", "uvicorn", "transformers.cli.serve")
# Threads of the allocators of pyarrow and polars, which stop while a process is forked, and one that removes files that
# polars wrote.
FORKED = {"jemalloc_bg_thd", "polars-ooc-clea"}
LENGTH = 8  # bytes of a number on the socket
SERVERS: list[subprocess.Popen] = []  # that this process began


def serve(address: str) -> dict[str, object] | None:
    """None when standard input is closed; in a fork, what it is to run."""
    import gc
    import importlib
    import select

    from bmx_grid.sweep.mlflow_store import configure_mlflow

    configure_mlflow()
    for name in LIBRARIES:
        importlib.import_module(name)
    for name in OPTIONAL:
        with suppress(ImportError):
            importlib.import_module(name)
    others = names_of_threads()[1:]
    assert set(others) <= FORKED, f"a process with these threads cannot be forked: {others}"
    gc.collect()
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        print("ready", flush=True)
        keepers = 0
        while True:
            ready, _, _ = select.select([listening, 0], [], [])
            if 0 in ready:
                return None
            connection, _ = listening.accept()
            while keepers and os.waitpid(-1, os.WNOHANG)[0]:
                keepers -= 1
            keepers += 1
            if os.fork() == 0:
                listening.close()
                return keep(connection)
            connection.close()


def names_of_threads() -> list[str]:
    """The names of the threads of this process, its main one first."""
    numbers = sorted(os.listdir("/proc/self/task"), key=int)
    return [open(f"/proc/self/task/{number}/comm").read().strip() for number in numbers]


def keep(connection: socket.socket) -> dict[str, object]:
    """Fork the program, say its number, then its status; who asks may leave, and the program ends."""
    import select
    import signal

    size, streams, _, _ = socket.recv_fds(connection, LENGTH, 3)
    asked = json.loads(connection.recv(int.from_bytes(size), socket.MSG_WAITALL))
    program = os.fork()
    if program == 0:
        connection.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        return dict(asked)
    for stream in (0, 1, 2, *streams):
        os.close(stream)
    connection.sendall(program.to_bytes(LENGTH))
    ended = os.pidfd_open(program)
    ready, _, _ = select.select([ended, connection], [], [])
    if ended not in ready:
        os.killpg(program, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(program, 0)[1])
    if ended in ready:
        connection.sendall(status.to_bytes(LENGTH, signed=True))
    os._exit(0)


def become(asked: dict) -> None:
    """Run the program as a Python that has just begun."""
    import builtins
    import importlib
    import io
    import random
    import runpy
    import signal
    import tempfile
    import types

    import numpy as np

    os.setsid()
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    for signum, handler in {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}.items():
        signal.signal(signum, handler)
    at_once = "PYTHONUNBUFFERED" in os.environ
    for number, stream in enumerate(("stdin", "stdout", "stderr")):
        raw = open(number, "wb" if number else "rb", 0 if at_once and number else -1, closefd=False)  # noqa: SIM115
        errors = "backslashreplace" if stream == "stderr" else "strict"
        of_lines = {"line_buffering": stream == "stderr" and not at_once, "write_through": at_once}
        opened = io.TextIOWrapper(raw, "utf-8", errors, **of_lines)
        setattr(sys, stream, opened)
        setattr(sys, f"__{stream}__", opened)
    tempfile.tempdir = None
    random.seed()
    np.random.seed()  # noqa: NPY002
    importlib.invalidate_caches()
    kind, name, *arguments = asked["arguments"]
    own = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = [os.getcwd() if kind == "-m" else "", *filter(None, own), *asked["path"]]
    sys.argv[:] = [kind, *arguments]
    if kind == "-m":
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    else:
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        main.__dict__["__builtins__"] = builtins
        exec(compile(name, "<string>", "exec"), main.__dict__)


class Fork:
    """A program that runs: its number, and its status when it has ended; as `subprocess.Popen`."""

    def __init__(self, address: str, arguments: list[str], streams: list[int], folder: Path, environment: dict) -> None:
        self.returncode: int | None = None
        asked = {"arguments": arguments, "folder": str(folder), "environment": environment}
        message = json.dumps(asked).encode()
        self._connection = socket.socket(socket.AF_UNIX)
        self._connection.connect(address)
        socket.send_fds(self._connection, [len(message).to_bytes(LENGTH)], streams)
        self._connection.sendall(message)
        self.pid = self._number()

    def _number(self) -> int:
        said = self._connection.recv(LENGTH, socket.MSG_WAITALL)
        assert len(said) == LENGTH, "the server of forks has ended"
        return int.from_bytes(said, signed=True)

    def wait(self, timeout: float | None = None) -> int:
        """The status, as `subprocess` gives it. Raises TimeoutError."""
        if self.returncode is None:
            self._connection.settimeout(timeout)
            self.returncode = self._number()
            self._connection.close()
        return self.returncode

    def poll(self) -> int | None:
        """The status, None as long as it runs."""
        try:
            return self.wait(0.001)
        except TimeoutError:
            return None

    def leave(self) -> None:
        """As if this process had ended: the program is killed."""
        self._connection.close()


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """The address of a server, of all processes that name the folder: it ends with the last of their blocks."""
    from filelock import FileLock

    address, users = folder / "forks", folder / "users"
    with FileLock(folder / "forks.lock"):
        try:
            using = os.open(users, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # there is none, or it has ended
            address.unlink(missing_ok=True)
            using = begin(address, users)
    try:
        yield str(address)
    finally:
        os.close(using)


def begin(address: Path, users: Path) -> int:
    """Start a server, for as long as somebody holds what is returned, or has opened `users`."""
    users.unlink(missing_ok=True)
    os.mkfifo(users)
    ends = os.open(users, os.O_RDONLY | os.O_NONBLOCK)
    using = os.open(users, os.O_WRONLY)
    paths = {"PYTHONPATH": str(Path(__file__).parent.parent)}
    command = [sys.executable, __file__, "serve", str(address)]
    pipes = {"stdin": ends, "stdout": subprocess.PIPE, "start_new_session": True}
    serving = subprocess.Popen(command, env=os.environ | paths, **pipes)
    os.close(ends)
    SERVERS.append(serving)
    assert serving.stdout.readline() == b"ready\n"
    return using


def path_of_python() -> list[str]:
    """Where Python looks for modules after the folder of the program and PYTHONPATH."""
    n_own = len([entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry])
    return sys.path[1 + n_own :]


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        behind = path_of_python()
        to_run = serve(sys.argv[2])
        if to_run is not None:
            become(to_run | {"path": behind})
    else:
        status = Fork(sys.argv[2], sys.argv[3:], [0, 1, 2], Path.cwd(), dict(os.environ)).wait()
        os._exit(status if status >= 0 else 128 - status)
