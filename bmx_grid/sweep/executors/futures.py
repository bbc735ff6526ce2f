"""Jobs through anything that returns futures: a pool of processes, a cluster."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from bmx_grid.sweep.executors.base import Job

AHEAD = 2  # jobs that are submitted for each worker: one runs, one waits
HELD = 256  # jobs that wait for a kind of worker that is busy, so that the other kind is not idle behind them


class Future(Protocol):
    """The part of concurrent.futures.Future that is used; Dask's future has it, too."""

    def result(self) -> Any:
        """What the job returned. Raises what it raised."""

    def add_done_callback(self, fn: Callable[[Any], object], /) -> None:
        """Call `fn` with this future when it is done, from any thread."""


@dataclass
class Lane:
    """One or several workers that take jobs through `submit`; has_device: whether each of them holds a device.

    expected: that workers will come where there are none yet, so that jobs for them wait.
    open: jobs that were submitted and are not done; held: jobs that wait for these workers.
    """

    submit: Callable[[Callable[[], Any]], Future]
    n_workers: int
    has_device: bool = False
    expected: bool = False
    open: int = field(default=0, init=False)
    held: int = field(default=0, init=False)

    @property
    def has_room(self) -> bool:
        """Whether another job should be submitted."""
        return self.open < AHEAD * self.n_workers


def results(
    lanes: Sequence[Lane], jobs: Iterable[Job], watch: Callable[[], None] | None = None, every: float = 1.0
) -> Iterator[Any]:
    """What the jobs return, as they finish; a job that needs a device waits for a lane that has one, if any has.

    watch: called every `every` seconds; what it raises ends the run. It may change the lanes' `n_workers`.
    """
    feeder = _Feeder(lanes, jobs)
    watched = time.monotonic()
    try:
        feeder.fill()
        while feeder.busy():
            if watch is not None and time.monotonic() - watched >= every:
                watch()
                feeder.fill()
                watched = time.monotonic()
            try:
                done = feeder.finished.get(timeout=every if watch is not None else None)
            except Empty:
                continue
            if isinstance(done, BaseException):
                raise done
            feeder.taken()
            yield done.result()
    finally:
        feeder.closed = True


class _Feeder:
    """Keeps the lanes full: from the thread that asks for results, and from those in which futures are finished."""

    def __init__(self, lanes: Sequence[Lane], jobs: Iterable[Job]) -> None:
        self.finished: SimpleQueue[Future | BaseException] = SimpleQueue()
        self.closed = False
        self._lanes = {kind: [lane for lane in lanes if lane.has_device is kind] for kind in (True, False)}
        self._jobs = iter(jobs)
        self._more = True
        self._held: dict[bool, deque[Job]] = {True: deque(), False: deque()}
        self._unfinished = 0
        self._filling = False
        self._lock = threading.RLock()

    def busy(self) -> bool:
        """Whether a result is still to come, or a job still waits for a worker to appear."""
        with self._lock:
            return self._unfinished > 0 or self._more or any(self._held.values())

    def taken(self) -> None:
        """One result was taken from `finished`."""
        with self._lock:
            self._unfinished -= 1

    def fill(self) -> None:
        """Submit jobs until there is no room or no job left."""
        with self._lock:
            if self._filling:  # a future that was done at once calls back from within the loop below
                return
            self._filling = True
            try:
                while not self.closed and (found := self._next()) is not None:
                    job, lane = found
                    future = lane.submit(job.work)
                    lane.open += 1
                    self._unfinished += 1
                    future.add_done_callback(partial(self._done, lane))
            finally:
                self._filling = False
                for kind, lanes in self._lanes.items():
                    for lane in lanes:
                        lane.held = len(self._held[kind])

    def _done(self, lane: Lane, future: Future) -> None:
        try:
            with self._lock:
                lane.open -= 1
                self.fill()
        except BaseException as error:  # of the jobs' iterator, or of a pool that is lost: for the thread that asks
            self.finished.put(error)
        # After `fill`: else the last open result could be taken before the next job was submitted.
        self.finished.put(future)

    def _next(self) -> tuple[Job, Lane] | None:
        for kind, held in self._held.items():
            if held and (lane := self._lane(kind)) is not None:
                return held.popleft(), lane
        while self._more and sum(map(len, self._held.values())) < HELD and self._has_room():
            try:
                job = next(self._jobs)
            except StopIteration:
                self._more = False
                break
            lane = self._lane(job.needs_device)
            if lane is not None:
                return job, lane
            self._held[job.needs_device].append(job)
        return None

    def _has_room(self) -> bool:
        return any(lane.has_room for lanes in self._lanes.values() for lane in lanes)

    def _lane(self, needs_device: bool) -> Lane | None:
        """The least busy lane of a kind; any kind where there is only one. None when all are full."""
        for kind in (needs_device, not needs_device):
            staffed = [lane for lane in self._lanes[kind] if lane.n_workers > 0]
            if staffed:
                lane = min(staffed, key=lambda one: one.open / one.n_workers)
                return lane if lane.has_room else None
            if any(lane.expected for lane in self._lanes[kind]):
                return None
        return None
