"""Jobs on workers of Dask, wherever these come from."""

from __future__ import annotations

import importlib.util
import logging
import os
import socket
import time
import uuid
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, ClassVar

from bmx_grid.errors import BmxError, ConfigError, StoreError, UnavailableError
from bmx_grid.identity import runtime
from bmx_grid.stopping import uninterrupted
from bmx_grid.storage.files import remove_abandoned
from bmx_grid.sweep.executors.base import KEPT, Executor, Job, WorkerLost
from bmx_grid.sweep.executors.futures import Lane, results

DEVICE, PROCESSOR = "device", "processor"  # what Dask workers declare as a resource: that they hold a device, or none
LOOK_SECONDS = 1.0  # between two looks at the workers of a cluster
CLOSE_SECONDS = 5.0  # for the workers to end by themselves before they are killed
AGAIN_WITH_MEMORY = f"{KEPT}: run the same command again with fewer workers, or with more memory for each."


@dataclass(frozen=True)
class OnDask(Executor):
    """Runs jobs on Dask workers; a subclass says how to get at them.

    timeout: seconds without any worker after which a run ends.
    cache_dir: of the sweep; workers on other machines must find the same folder there.
    """

    timeout: float = runtime(10.0)
    cache_dir: str | None = runtime(None)

    OPTION: ClassVar[str]
    NEEDS: ClassVar[tuple[str, ...]] = ("distributed",)
    LONGEST: ClassVar[float] = 3600

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.timeout <= self.LONGEST:
            raise ConfigError(
                f"executor.timeout must be above 0 seconds and at most {self.LONGEST:g}, got {self.timeout:g}."
            )

    def check(self) -> None:
        """Raise UnavailableError where a package is missing, ConfigError where workers would not find `cache_dir`."""
        if any(importlib.util.find_spec(name) is None for name in self.NEEDS):
            raise UnavailableError(
                f'executor={self.OPTION} needs packages that are not installed: pip install "bmx-grid[{self.OPTION}]".'
            )
        if self._elsewhere and self.cache_dir is not None and not _absolute(self.cache_dir):
            raise ConfigError(
                f"cache_dir={self.cache_dir}: workers on other machines would take it for a folder of their own; write "
                f"the whole path of a folder that all machines share: cache_dir={Path(self.cache_dir).absolute()}."
            )

    @property
    @abstractmethod
    def _elsewhere(self) -> bool:
        """Whether the workers may be on other machines."""

    @abstractmethod
    def _connected(self) -> AbstractContextManager[Cluster]:
        """The cluster, which is left as it was found, or without a process, when the block ends."""

    def run(self, jobs: Iterable[Job]) -> Iterator[Any]:
        """As `Executor.run` says. A job whose worker is lost is run again by another, four times at most."""
        with self.kept() as same:
            yield from same.run(jobs)

    @contextmanager
    def kept(self) -> Iterator[Executor]:
        """This executor, connected with the first job, until the block ends or a run fails."""
        with _Connection(self) as connection:
            yield _Kept(self.chunk_texts, self.devices, self, connection)


class _Connection:
    """A cluster for several runs; a context manager that closes it."""

    def __init__(self, executor: OnDask) -> None:
        self._executor = executor
        self._stack = ExitStack()
        self._cluster: Cluster | None = None

    def __enter__(self) -> _Connection:
        return self

    def cluster(self) -> Cluster:
        """The cluster; it is connected where it is not."""
        if self._cluster is None:
            self._executor.check()
            quiet()
            folder = self._executor.cache_dir
            shared = self._executor._elsewhere and folder is not None and "://" not in folder
            mark = self._stack.enter_context(_marked(Path(str(folder)).expanduser())) if shared else None
            self._cluster = self._stack.enter_context(self._executor._connected())
            self._cluster.mark = mark
        return self._cluster

    def __exit__(self, *error: Any) -> None:
        stack, self._stack, self._cluster = self._stack, ExitStack(), None
        stack.__exit__(*error)


@dataclass(frozen=True)
class _Kept(Executor):
    """An executor inside its `kept`."""

    of: Any = runtime(None)
    connection: Any = runtime(None)

    def workers(self) -> Any:
        """Those of the executor."""
        return self.of.workers()

    def run(self, jobs: Iterable[Job]) -> Iterator[Any]:
        """As `Executor.run` says."""
        remaining = iter(jobs)
        first = list(islice(remaining, 1))
        if not first:  # no worker is asked for
            return
        try:
            yield from self._run(chain(first, remaining))
        except BaseException as error:  # GeneratorExit among them: what still runs ends with this run
            self.connection.__exit__(type(error), error, error.__traceback__)
            raise

    def _run(self, jobs: Iterable[Job]) -> Iterator[Any]:
        cluster: Cluster = self.connection.cluster()
        import distributed

        try:
            for result in results(cluster.lanes, jobs, cluster.look, LOOK_SECONDS):
                cluster.n_done += 1
                yield result
        except distributed.scheduler.KilledWorker as error:
            raise WorkerLost(
                "a job was tried on several Dask workers, and each was lost; most often memory ran "
                f"out. {AGAIN_WITH_MEMORY}"
            ) from error
        except Exception as error:
            # Dask raises what it was at when the connection broke: a cancelled future, a closed stream, a failed send.
            if not isinstance(error, CancelledError) and (isinstance(error, BmxError) or not cluster.is_lost()):
                raise
            raise UnavailableError(
                f"the connection to the Dask scheduler at {cluster.address} was lost. {KEPT}: start the scheduler "
                "and its workers again, and run the same command."
            ) from error

    @contextmanager
    def kept(self) -> Iterator[Executor]:
        """Itself."""
        yield self


class Cluster:
    """A cluster's lanes, and whether it still has the workers that its jobs need.

    timeout: seconds without a worker until `absent` is raised, which is asked whether it is one with a device.
    own: whether the workers were started for this run; they then declare what they are for.
    kinds: the kinds of workers (with a device, without) that will come, where jobs wait for them.
    watch: called at every look with the workers by address, and how many jobs are done; what it raises ends the run.
    """

    def __init__(
        self,
        client: Any,
        timeout: float,
        absent: Callable[[bool], BmxError],
        *,
        own: bool,
        kinds: Sequence[bool] = (),
        watch: Callable[[dict[str, Any], int], None] | None = None,
    ) -> None:
        self.address = client.scheduler.address
        self.mark: Path | None = None  # a file that every worker must see
        self.n_done = 0
        self._client, self._timeout, self._absent, self._watch = client, timeout, absent, watch
        light = {PROCESSOR: 1} if own else {}
        self.lanes = [
            Lane(self._submit(light), 0, expected=False in kinds),
            Lane(self._submit({DEVICE: 1}), 0, has_device=True, expected=True in kinds),
        ]
        self._seen = dict.fromkeys((False, True), time.monotonic())  # when each lane had workers
        self._count()

    def is_lost(self) -> bool:
        """Whether the scheduler does not answer any more."""
        try:
            workers_of(self._client)
        except Exception:  # of whatever kind: no answer
            return True
        return str(self._client.status) != "running"

    def look(self) -> None:
        """Count the workers, whose number may change. Raises what `absent` gives when they stay away."""
        found = self._count()
        if self._watch is not None and found is not None:
            self._watch(found, self.n_done)
        now = time.monotonic()
        for lane in self.lanes:
            idle = lane.open == lane.held == 0
            if lane.n_workers > 0 or (idle and any(other.n_workers > 0 for other in self.lanes)):
                self._seen[lane.has_device] = now
            elif now - self._seen[lane.has_device] > self._timeout and not (lane.has_device and idle):
                if found is None:  # the scheduler does not answer, and no open job was there to be cancelled
                    raise CancelledError
                raise self._absent(lane.has_device)

    def _count(self) -> dict[str, Any] | None:
        threads = dict.fromkeys((False, True), 0)
        found = None
        with suppress(OSError):  # when the scheduler is gone its jobs are cancelled: reported elsewhere, more clearly
            found = workers_of(self._client)
            for worker in found.values():
                threads[DEVICE in worker["resources"]] += worker["nthreads"]
        for lane in self.lanes:
            lane.n_workers = threads[lane.has_device]
        return found

    def _submit(self, resources: dict[str, int]) -> Callable[[Callable[[], Any]], Any]:
        def submit(work: Callable[[], Any]) -> Any:
            own = work if self.mark is None else partial(_where_shared, self.mark, work)
            return self._client.submit(own, pure=False, resources=resources)

        return submit


def quiet() -> None:
    """No log of Dask's: a lost worker or a closed connection is either made good or raises an error here."""
    import distributed  # noqa: F401  # which sets levels when it is imported, those of some parts apart

    for name in ("distributed", *logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL)


def workers_of(client: Any) -> dict[str, Any]:
    """What the scheduler knows about each worker, by its address. Raises OSError when it does not answer."""
    # Not client.scheduler_info, which answers from memory when the scheduler is gone.
    found: dict[str, Any] = client.sync(client.scheduler.identity)["workers"]
    return found


def close_client(client: Any, *_: object) -> None:
    """Let a client go."""
    with uninterrupted():
        client.close(timeout=CLOSE_SECONDS)


def start_cluster(workers: dict[str, Any], scheduler: dict[str, Any]) -> Any:
    """A scheduler in this process, and workers: name -> {"cls": …, "options": …}."""
    import distributed

    options = {
        "port": 0,
        "protocol": "tcp://",
        "dashboard": False,
        "dashboard_address": "127.0.0.1:0",  # of its HTTP server, which warns when the usual port is taken
        **scheduler,
    }
    return distributed.SpecCluster(
        scheduler={"cls": distributed.Scheduler, "options": options}, workers=workers, silence_logs=logging.CRITICAL
    )


@contextmanager
def _marked(folder: Path) -> Iterator[Path]:
    """A file in `folder` by which workers see that it is the same one. Named so that `remove_abandoned` knows it."""
    host = socket.gethostname().replace(".", "-")
    mark = folder / f".shared.{host}.{os.getpid()}.{uuid.uuid4().hex[:8]}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        remove_abandoned(folder)
        mark.touch()
    except OSError as error:
        raise StoreError(f"cannot write {mark}: {error.strerror or error}. Choose another cache_dir.") from error
    try:
        yield mark
    finally:
        with suppress(OSError):
            mark.unlink(missing_ok=True)


def _where_shared(mark: Path, work: Callable[[], Any]) -> Any:
    """Do the work, in a worker that sees the folder of this sweep: what it finds out would be lost elsewhere."""
    if not mark.is_file():
        raise UnavailableError(
            f"cache_dir={mark.parent}: the worker on {socket.gethostname()} does not see the same folder; name one "
            "that all machines share, and run the same command."
        )
    return work()


def _absolute(folder: str) -> bool:
    return "://" in folder or Path(folder).expanduser().is_absolute()
