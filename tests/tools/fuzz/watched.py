"""What a command of a stranger's files may not do: change files outside, run code, call anybody."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Any

from bmx_grid.core.terminal import command

SMALL = (
    *("dataset=[sample]", "dataset.sample.language_pairs=[de-en]", "limit=4", "metric=[chrf]", "explainer=[erasure]"),
    *("evaluation=[grid]", "grid.p.step=10", "grid.w=[0,1]", "executor=sequential", "analysis=false"),
)
MINE = "words of my own\n"


class Listener:
    """A server on this machine that nobody may call; `calls` counts who did."""

    def __init__(self) -> None:
        self.calls = 0
        outer = self

        class Handler(BaseRequestHandler):
            def handle(self) -> None:
                outer.calls += 1

        self.server = ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


class Watch:
    """What this process does that nobody may make it do: connections, and commands that name the stranger's mark."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.is_on = False
        sys.addaudithook(self._note)

    def _note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.is_on:
            return
        if event == "socket.connect" and isinstance(arguments[1], tuple):
            self.seen.append(f"connected to {arguments[1]}")
        elif event == "socket.getaddrinfo" and arguments[0] not in (None, "localhost", "127.0.0.1"):
            self.seen.append(f"asked for {arguments[0]}")
        elif event in ("os.system", "subprocess.Popen", "os.exec", "os.posix_spawn") and "RAN" in repr(arguments):
            self.seen.append(f"{event} {arguments!r:.200}")


_listener: list[Listener] = []
_watch: list[Watch] = []


@dataclass
class Place:
    """The folders of a case."""

    root: Path

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def outside(self) -> Path:
        return self.root / "outside"

    def make(self) -> None:
        (self.outside / "home").mkdir(parents=True)
        self.work.mkdir()
        for name in ("mine.txt", "home/.bashrc", "home/.netrc", "config.yaml", "settings.parquet"):
            (self.outside / name).write_text(MINE)

    def state(self) -> dict[str, bytes]:
        """Every file outside, and its content."""
        return {
            str(path.relative_to(self.outside)): path.read_bytes()
            for path in sorted(self.outside.rglob("*"))
            if path.is_file() and not path.is_symlink()
        }


def listening_port() -> int:
    """The port that nobody may call."""
    return _listener[0].port


def start_watch() -> None:
    """Listen, and look at what this process does from here on."""
    if not _watch:
        _watch.append(Watch())
        _listener.append(Listener())


def guarded(work: Callable[[], str], place: Place) -> str:
    """The refusal of the work. Raises AssertionError for whatever it did outside."""
    watch, listener = _watch[0], _listener[0]
    before, calls = place.state(), listener.calls
    environment, folder, path = dict(os.environ), Path.cwd(), list(sys.path)
    os.environ |= {"HOME": str(place.outside / "home"), "MLFLOW_TRACKING_TOKEN": "s3cret", "PYTHONPATH": ""}
    os.chdir(place.work)
    sys.path.insert(0, str(place.work))
    watch.seen.clear()
    watch.is_on = True
    try:
        said = work()
    finally:
        watch.is_on = False
        os.chdir(folder)
        sys.path[:] = path
        os.environ.clear()
        os.environ |= environment
        sys.modules.pop("hostile", None)
    after = place.state()
    changed = [name for name, raw in before.items() if after.get(name) != raw]
    # Libraries keep what they found out about this machine in the home folder.
    new = [name for name in after.keys() - before.keys() if not name.startswith(("home/", "theirs/"))]
    wrong = [f"changed outside: {changed}"] if changed else []
    wrong += [f"new outside: {new}"] if new else []
    wrong += watch.seen
    wrong += ["the listener was called"] if listener.calls > calls else []
    wrong += ["foreign code ran"] if (place.root / "RAN").exists() or (place.work / "RAN").exists() else []
    if wrong:
        raise AssertionError("; ".join(wrong) + f" ({said or 'accepted'})")
    return said


def commanded(work: Callable[[], int]) -> str:
    """The refusal of a command, "" where it did its work. Raises AssertionError for anything else."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = command(work)
    said = err.buffer.getvalue().decode()
    printed = out.buffer.getvalue().decode()
    if "Traceback" in said + printed or status not in (0, 1, 2) or "\x1b" in said + printed:
        raise AssertionError(f"status {status}: {said[-1500:]}{printed[-500:]}")
    if status == 0:
        return ""
    refusal = said.partition("error: ")[2].removesuffix("\n")
    if status == 2:
        return refusal
    # Settings that failed are named with their reasons.
    lines = [line for line in (said + printed).splitlines() if "fail" in line.lower() or "error" in line.lower()]
    if not lines:
        raise AssertionError(f"status 1 without a reason: {said}{printed[-800:]}")
    return lines[0].strip() + " Check log.txt."


def swept(*overrides: str) -> str:
    from bmx_grid.commands.run import compose_and_run

    return commanded(lambda: compose_and_run(overrides))
