"""Jobs for tests of executors; functions of a module, so that other processes find them by name."""

import os
import signal
import time
from pathlib import Path

from bmx_grid.models.loading import assigned_device


def square(number: int, seconds: float = 0.0) -> int:
    time.sleep(seconds)
    return number * number


def square_noted(number: int, folder: Path) -> int:
    """The square; that it was computed is noted in `folder`."""
    (folder / str(number)).touch()
    return number * number


def where(number: int) -> tuple[int, int, str | None]:
    """The number, the process and its device; slow enough that every worker gets a job."""
    time.sleep(0.2)
    return number, os.getpid(), assigned_device()


def boom() -> None:
    raise ValueError("boom")


def killed() -> None:
    """Ends its process as the kernel does when memory runs out."""
    os.kill(os.getpid(), signal.SIGKILL)


def killed_once(mark: Path) -> str:
    """Ends the first process that runs it."""
    if not mark.exists():
        mark.touch()
        killed()
    return "done"


def process_and_sleep(mark: Path) -> None:
    """Notes its process in the file `mark`, then takes ten minutes."""
    mark.write_text(str(os.getpid()))
    time.sleep(600)


def threads() -> str | None:
    return os.environ.get("OMP_NUM_THREADS")
