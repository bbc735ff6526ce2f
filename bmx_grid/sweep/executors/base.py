"""What an executor is: jobs in, results out, wherever they run."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from bmx_grid.errors import BmxError, ConfigError
from bmx_grid.identity import Component, runtime

_DEVICE = re.compile(r"cuda:\d+|mps|cpu")
KEPT = "Finished work is kept"


class WorkerLost(BmxError):
    """A worker ended before its job did: killed, out of memory, or its machine is gone.

    Every executor raises this for its own kind of loss, with a message that says what to do. Which of the running
    jobs was the cause is unknown, and none of them has a result.
    """


@dataclass(frozen=True)
class Job:
    """One piece of work.

    work: called without arguments in any process; it and what it returns can be pickled (functools.partial of a
    function of a module). needs_device: whether it runs a large model, and so belongs on a device if there are any.
    """

    work: Callable[[], Any]
    needs_device: bool = False


@dataclass(frozen=True)
class Worker:
    """A process (or thread) that runs one job at a time, and the device that it holds: "cuda:1", or None."""

    name: str
    device: str | None = None


@dataclass(frozen=True)
class Executor(Component):
    """Runs independent jobs.

    A subclass says how in `run` and `workers`. `futures.results` does most of it for anything that returns futures.

    chunk_texts: about how many texts one job scores; also the most that a killed process loses.
    devices: the devices to use, one worker each ("cuda:0", "cuda:1"); none with (), those of this machine with None.
    """

    chunk_texts: int = runtime(10_000)
    devices: tuple[str, ...] | None = runtime(None)

    def __post_init__(self) -> None:
        if self.chunk_texts < 1:
            raise ConfigError(f"executor.chunk_texts must be at least 1, got {self.chunk_texts}.")
        for device in self.devices or ():
            if not _DEVICE.fullmatch(device):
                raise ConfigError(
                    f"executor.devices: '{device}' is not a device; write cuda:0, cuda:1, …, mps or cpu, [] for none, "
                    "or null for those of this machine."
                )
            if self.devices is not None and self.devices.count(device) > 1:
                raise ConfigError(f"executor.devices: {device} is named twice, and each device has one worker.")

    def check(self) -> None:
        """Raise BmxError with the way out where this executor cannot run here, before anything is begun."""

    def planned(self) -> str:
        """What will be asked of a cluster, as a line of a plan; "" where nothing is."""
        return ""

    @abstractmethod
    def run(self, jobs: Iterable[Job]) -> Iterator[Any]:
        """What the jobs return, in the order in which they finish.

        `jobs` is read as workers get free, a few ahead, and perhaps from another thread: what a job turns out to be
        may depend on results that were handed out before. A job's own exception is raised here. Closing the iterator
        ends the jobs that are still running, and leaves no process behind.
        Raises WorkerLost when a worker is lost, UnavailableError when no worker is available.
        """

    @contextmanager
    def kept(self) -> Iterator[Executor]:
        """This executor for several runs, one after the other, whose workers may stay from run to run.

        No process is left when the block ends. By default each run has workers of its own.
        """
        yield self

    @abstractmethod
    def workers(self) -> tuple[Worker, ...]:
        """The workers that `run` would use now. Raises UnavailableError when a scheduler does not answer.

        Where workers hold devices, a job with `needs_device` runs on one of these, and finds its device's name in
        `bmx_grid.devices.assigned()`.
        """
