"""Jobs through anything that returns futures: a pool of processes, a cluster."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from bmx_grid.errors import BmxError
from bmx_grid.identity import runtime
from bmx_grid.sweep.executors.base import Executor, Job, Worker

AHEAD = 3  # jobs that are submitted for each worker: one runs, two wait while results are evaluated here
HELD = 256  # jobs that wait for a kind of worker that is busy, so that the other kind is not idle behind them
LOOK_SECONDS = 1.0  # between two looks at the workers of a pool


@dataclass
class Lane:
    """One or several workers that take jobs through `submit`; has_device: whether each of them holds a device.

    submit: returns a future, as `concurrent.futures` and Dask have it.
    expected: that workers will come where there are none yet, so that jobs for them wait.
    open: jobs that were submitted and are not done; held: jobs that wait for these workers.
    """

    submit: Callable[[Callable[[], Any]], Any]
    n_workers: int
    has_device: bool = False
    expected: bool = False
    open: int = field(default=0, init=False)
    held: int = field(default=0, init=False)

    @property
    def has_room(self) -> bool:
        """Whether another job should be submitted."""
        return self.open < AHEAD * self.n_workers


class Pool(Protocol):
    """Workers that were started, or found."""

    lanes: Sequence[Lane]
    n_done: int  # jobs that ended

    def look(self) -> None:
        """Count the workers, once in LOOK_SECONDS. Raises BmxError when they stay away."""

    def lost(self, error: BaseException) -> BmxError | None:
        """The sentence for an error that came from the pool; None for one of a job."""


@dataclass(frozen=True)
class Pooled(Executor):
    """An executor whose workers are started, or connected to, with its first job."""

    @abstractmethod
    def _started(self) -> AbstractContextManager[Pool]:
        """The workers. When the block ends no process of them is left; where an error ends it they are killed."""

    def run(self, jobs: Iterable[Job]) -> Iterator[Any]:
        """As `Executor.run` says."""
        with self.kept() as same:
            yield from same.run(jobs)

    @contextmanager
    def kept(self) -> Iterator[Executor]:
        """This executor, whose workers come with the first job and stay until the block ends or a run fails."""
        with ExitStack() as stack:
            yield _Kept(self.chunk_texts, self.devices, self, stack, [])


@dataclass(frozen=True)
class _Kept(Executor):
    """An executor inside its `kept`. pools: the pool that was started, if any."""

    executor: Any = runtime(None)
    stack: Any = runtime(None)
    pools: Any = runtime(None)

    def workers(self) -> tuple[Worker, ...]:
        """Those of the executor."""
        workers: tuple[Worker, ...] = self.executor.workers()
        return workers

    def run(self, jobs: Iterable[Job]) -> Iterator[Any]:
        """As `Executor.run` says."""
        remaining = iter(jobs)
        first = next(remaining, None)
        if first is None:  # no worker is started
            return
        if not self.pools:
            self.pools.append(self.stack.enter_context(self.executor._started()))
        (pool,) = self.pools
        try:
            for result in results(pool.lanes, chain([first], remaining), pool.look):
                pool.n_done += 1
                yield result
        except BaseException as error:  # GeneratorExit among them: what still runs ends with this run
            lost = pool.lost(error)
            self.pools.clear()
            self.stack.__exit__(type(error), error, error.__traceback__)
            if lost is None:
                raise
            raise lost from error


def results(lanes: Sequence[Lane], jobs: Iterable[Job], look: Callable[[], None] | None = None) -> Iterator[Any]:
    """What the jobs return, as they finish; a job that needs a device waits for a lane that has one, if any has.

    look: called every LOOK_SECONDS; what it raises ends the run. It may change the lanes' `n_workers`.
    """
    feeder = _Feeder(lanes, jobs)
    looked = time.monotonic()
    while feeder.fill():
        if look is not None and time.monotonic() - looked >= LOOK_SECONDS:
            look()
            looked = time.monotonic()
            continue
        try:
            lane, future = feeder.finished.get(timeout=LOOK_SECONDS)
        except Empty:
            continue
        lane.open -= 1
        feeder.fill()  # before the result is evaluated
        yield future.result()


class _Feeder:
    """Keeps lanes full of jobs; finished: futures that are done, each with its lane."""

    def __init__(self, lanes: Sequence[Lane], jobs: Iterable[Job]) -> None:
        self.finished: SimpleQueue[tuple[Lane, Any]] = SimpleQueue()
        self._lanes, self._jobs, self._more = lanes, iter(jobs), True
        self._held: dict[bool, deque[Job]] = {True: deque(), False: deque()}

    def fill(self) -> bool:
        """Submit jobs until there is no room or no job left; whether a result is still to come."""
        while (ready := self._next()) is not None:
            job, lane = ready
            lane.open += 1
            lane.submit(job.work).add_done_callback(partial(self._done, lane))
        for lane in self._lanes:
            lane.held = len(self._held[lane.has_device])
        return self._more or any(lane.open for lane in self._lanes) or any(self._held.values())

    def _done(self, lane: Lane, future: Any) -> None:  # in a thread of the pool's
        self.finished.put((lane, future))

    def _next(self) -> tuple[Job, Lane] | None:
        for kind, held in self._held.items():
            if held and (lane := self._lane(kind)) is not None:
                return held.popleft(), lane
        while self._more and sum(map(len, self._held.values())) < HELD and any(lane.has_room for lane in self._lanes):
            job = next(self._jobs, None)
            if job is None:
                self._more = False
            elif (lane := self._lane(job.needs_device)) is not None:
                return job, lane
            else:
                self._held[job.needs_device].append(job)
        return None

    def _lane(self, needs_device: bool) -> Lane | None:
        """The least busy lane of a kind; any kind where there is only one. None when all are full."""
        for kind in (needs_device, not needs_device):
            lanes = [lane for lane in self._lanes if lane.has_device is kind]
            staffed = [lane for lane in lanes if lane.n_workers > 0]
            if staffed:
                least = min(staffed, key=lambda lane: lane.open / lane.n_workers)
                return least if least.has_room else None
            if any(lane.expected for lane in lanes):
                return None
        return None
