"""The interface of executors: run jobs in any process, also through anything that gives futures."""

from __future__ import annotations

import copy
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import chain
from queue import Empty, SimpleQueue
from typing import Any, ClassVar

from bmx_grid.core.errors import BmxError, ConfigError
from bmx_grid.core.identity import Component, runtime

_DEVICE = re.compile(r"cuda:\d+|mps|cpu")
KEPT = "Finished work is kept"
AHEAD = 3  # jobs submitted per worker: one runs, two wait while the main process evaluates results
LOOK_SECONDS = 1.0  # between two looks at the workers


class WorkerLost(BmxError):
    """A worker ended before its job did: killed, out of memory, or its machine is gone.

    Every executor raises this error for its kind of loss, with the way out in its message. Which of the running jobs
    was the cause is unknown, and all lose their results.
    """


@dataclass(frozen=True)
class Job:
    """One piece of work.

    work: called without arguments in any process; it and its result can be pickled (functools.partial of a function of
    a module). needs_device: whether it runs a large model, and so belongs on a device if there are any.
    """

    work: Callable[[], Any]
    needs_device: bool = False


@dataclass(frozen=True)
class Executor(Component):
    """Runs independent jobs.

    A subclass implements `run`; for workers that return futures it implements `_start_workers` only.

    chunk_texts: about how many texts one job scores; also the most that a killed process loses.
    devices: the devices to use, one worker each ("cuda:0", "cuda:1"); none with (), those of this machine with None.
    """

    RENAMED: ClassVar[Mapping[str, str]] = {"_started": "_start_workers", "kept": "keep_workers"}

    chunk_texts: int = runtime(10_000, least=1)
    devices: tuple[str, ...] | None = runtime(None)

    def __post_init__(self) -> None:
        super().__post_init__()
        devices = self.devices or ()
        for device in devices:
            if not _DEVICE.fullmatch(device) or devices.count(device) > 1:
                raise ConfigError(
                    f"executor.devices: '{device}' is unknown or repeated; write cuda:0, cuda:1, …, mps or cpu, [] for "
                    "no device, or null for all devices of this machine."
                )

    def check(self) -> None:
        """Raise BmxError, with the way out, before the sweep if this executor is not available."""

    def choose_executor(self, n_texts: int) -> Executor:
        """What scores so many texts of metrics that need no worker of their own: by default this executor."""
        return self

    def _start_workers(self) -> AbstractContextManager[Workers]:
        """The workers. When the block ends, all their processes end; if an error ends it they are killed."""
        raise NotImplementedError

    def run(self, jobs: Iterable[Job]) -> Iterator[Any]:
        """Yield the jobs' results, in the order in which they finish.

        `jobs` is read as workers get free, a few ahead: a job may depend on results that were yielded before. Errors of
        a job are raised by this iterator. Closing it ends the jobs that are still running, and leaves no process
        behind. If workers hold devices, a job with `needs_device` runs on such a worker, and finds its device's name in
        `bmx_grid.models.loading.assigned_device()`. Raises WorkerLost when a worker is lost, UnavailableError when no
        worker is available.
        """
        with self.keep_workers() as same:
            yield from same.run(jobs)

    @contextmanager
    def keep_workers(self) -> Iterator[Executor]:
        """This executor for several runs, one after the other, whose workers come with the first job.

        They stay from run to run, until the block ends or a run fails. One with a `run` of its own is as it is.
        """
        with ExitStack() as stack:
            same = copy.copy(self)
            if type(self).run is Executor.run:
                # The fields of an executor are frozen; the state of a block is not a field.
                object.__setattr__(same, "run", KeptWorkers(self._start_workers, stack).run)
            yield same


class KeptWorkers:
    """Workers that start with the first job of the first run, and stay for the next runs; the stack ends them."""

    def __init__(self, start: Callable[[], AbstractContextManager[Workers]], stack: ExitStack) -> None:
        self._start = start
        self._stack = stack
        self._workers: Workers | None = None

    def run(self, jobs: Iterable[Job]) -> Iterator[Any]:
        """As `Executor.run`."""
        remaining = iter(jobs)
        first = next(remaining, None)
        if first is None:  # no worker is started
            return
        if self._workers is None:
            self._workers = self._stack.enter_context(self._start())
        workers = self._workers
        try:
            yield from results(workers, chain([first], remaining))
        except BaseException as error:  # GeneratorExit among them: what still runs ends with this run
            lost = workers.lost(error)
            self._workers = None
            self._stack.__exit__(type(error), error, error.__traceback__)
            if lost is None:
                raise
            raise lost from error


@dataclass
class Lane:
    """One or several workers that take jobs through `submit`; has_device: whether every worker holds a device.

    submit: returns a future, as `concurrent.futures` and Dask have it.
    expected: that workers will come if missing yet, so that jobs for them wait.
    open: jobs that were submitted and are not done; done: jobs that ended; held: jobs that wait for these workers.
    """

    submit: Callable[[Callable[[], Any]], Any]
    n_workers: int
    has_device: bool = False
    expected: bool = False
    open: int = field(default=0, init=False)
    done: int = field(default=0, init=False)
    held: int = field(default=0, init=False)


class Workers:
    """Workers that were started, or found; killed: the message if a worker ended before its job did."""

    def __init__(self, lanes: Sequence[Lane], killed: str = "") -> None:
        self.lanes = lanes
        self._killed = killed

    def look(self) -> None:
        """Called every LOOK_SECONDS; may change the lanes' `n_workers`. Raises BmxError when workers stay away."""

    def result(self, future: Any) -> Any:
        """The result of a finished future. Raises the job's error."""
        return future.result()

    def lost(self, error: BaseException) -> BmxError | None:
        """The sentence for an error that came from the workers; None for one of a job."""
        return WorkerLost(self._killed) if isinstance(error, BrokenExecutor) else None


def results(workers: Workers, jobs: Iterable[Job]) -> Iterator[Any]:
    """Yield results of jobs as they finish; a job that needs a device waits for a lane with one, if any has."""
    finished: SimpleQueue[tuple[Lane, Any]] = SimpleQueue()
    held: dict[bool, deque[Job]] = {True: deque(), False: deque()}
    remaining = iter(jobs)
    has_more = True
    looked = time.monotonic()

    def job_for(lane: Lane) -> Job | None:
        """The next job of the lane's kind, or of any if no lane is of the other kind; others are held."""
        nonlocal has_more
        others = [other for other in workers.lanes if other.has_device is not lane.has_device]
        kinds = [lane.has_device]
        if not any(other.n_workers or other.expected for other in others):
            kinds.append(not lane.has_device)
        while True:
            for kind in kinds:
                if held[kind]:
                    return held[kind].popleft()
            job = next(remaining, None)
            if job is None:
                has_more = False
                return None
            held[job.needs_device].append(job)

    def submit() -> bool:
        """Submit a job to the least busy lane that has room and a job; whether there was one."""
        free = [lane for lane in workers.lanes if lane.open < AHEAD * lane.n_workers]
        for lane in sorted(free, key=lambda lane: lane.open / lane.n_workers):
            job = job_for(lane)
            if job is not None:
                lane.open += 1
                future = lane.submit(job.work)
                # called in a thread of the workers'
                future.add_done_callback(lambda future, lane=lane: finished.put((lane, future)))
                return True
        return False

    while True:
        while submit():
            pass
        for lane in workers.lanes:
            lane.held = len(held[lane.has_device])
        is_busy = any(lane.open or lane.held for lane in workers.lanes)
        if not has_more and not is_busy:
            return
        if time.monotonic() - looked >= LOOK_SECONDS:
            workers.look()
            looked = time.monotonic()
        try:
            lane, future = finished.get(timeout=LOOK_SECONDS)
        except Empty:
            continue
        lane.open -= 1
        lane.done += 1
        while submit():  # before the result is evaluated
            pass
        yield workers.result(future)
