"""Jobs on workers of Dask: those of a scheduler elsewhere, or of a cluster started on this machine."""

from __future__ import annotations

import importlib.util
import logging
import os
import signal
import socket
import time
import uuid
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from bmx_grid.devices import ASSIGNED, assigned, present
from bmx_grid.errors import BmxError, ConfigError, StoreError, UnavailableError
from bmx_grid.identity import runtime
from bmx_grid.stopping import uninterrupted, without_interrupts
from bmx_grid.storage.files import remove_abandoned
from bmx_grid.sweep.executors.base import KEPT, Worker, WorkerLost
from bmx_grid.sweep.executors.futures import Lane, Pool, Pooled

DEVICE, PROCESSOR = "device", "processor"  # what Dask workers declare as a resource: that they hold a device, or none
CLOSE_SECONDS = 5.0  # for the workers to end by themselves before they are killed
RESTART_SECONDS = 60.0  # for a worker of a cluster started here to come back
AGAIN_WITH_MEMORY = f"{KEPT}: run the same command again with fewer workers, or with more memory for each."


@dataclass(frozen=True)
class OnDask(Pooled):
    """Runs jobs on Dask workers, which a subclass finds or starts. A job whose worker is lost is run by another one.

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

    @property
    @abstractmethod
    def _elsewhere(self) -> bool:
        """Whether the workers may be on other machines."""

    @property
    def _shared(self) -> Path | None:
        """The folder that workers on other machines must find, too."""
        if not self._elsewhere or self.cache_dir is None or "://" in self.cache_dir:
            return None
        return Path(self.cache_dir).expanduser()

    def check(self) -> None:
        """Raise UnavailableError where a package is missing, ConfigError where workers would not find `cache_dir`."""
        if any(importlib.util.find_spec(name) is None for name in self.NEEDS):
            raise UnavailableError(
                f'executor={self.OPTION} needs packages that are not installed: pip install "bmx-grid[{self.OPTION}]".'
            )
        if self._shared is not None and not self._shared.is_absolute():
            raise ConfigError(
                f"cache_dir={self.cache_dir}: workers on other machines would take it for a folder of their own; write "
                f"the whole path of a folder that all machines share: cache_dir={self._shared.absolute()}."
            )

    @abstractmethod
    def _connected(self, mark: Path | None) -> AbstractContextManager[Pool]:
        """The cluster, which is left as it was found, or without a process, when the block ends.

        mark: a file that every worker must see.
        """

    @contextmanager
    def _started(self) -> Iterator[Pool]:
        self.check()
        quiet()
        with (
            nullcontext() if self._shared is None else _marked(self._shared) as mark,
            self._connected(mark) as cluster,
        ):
            yield cluster


@dataclass(frozen=True)
class Dask(OnDask):
    """A Dask cluster: the scheduler at `address`, or one started on this machine.

    timeout: seconds to wait for the scheduler, and for a worker when there is none.
    devices: of a cluster started here, as everywhere. Workers of a scheduler at `address` are given theirs where they
    are started: `BMX_DEVICE=cuda:0 dask worker ADDRESS --nthreads 1 --resources device=1`.
    """

    address: str | None = runtime(None)

    OPTION: ClassVar[str] = "dask"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.address is not None and self.devices:
            raise ConfigError(
                f"executor.devices: the workers of the scheduler at {self.address} are given their devices where they "
                f"are started: BMX_DEVICE=cuda:0 dask worker {self.address} --nthreads 1 --resources device=1."
            )

    @property
    def _elsewhere(self) -> bool:
        return self.address is not None

    def workers(self) -> tuple[Worker, ...]:
        """The workers of the cluster, each with one thread; those of a scheduler at `address` are asked for."""
        if self.address is None:
            from joblib import cpu_count

            devices = self.devices if self.devices is not None else present()
            plain = tuple(Worker(f"process {number}") for number in range(1, cpu_count() + 1))
            return plain + tuple(Worker(f"process of {device}", device) for device in devices)
        self.check()
        quiet()
        with self._client(self.address) as client:
            held = client.run(assigned)
            return tuple(
                Worker(f"{name}, thread {number + 1}", held.get(name))
                for name, worker in workers_of(client).items()
                for number in range(worker["nthreads"])
            )

    @contextmanager
    def _connected(self, mark: Path | None) -> Iterator[Pool]:
        with ExitStack() as stack:
            if self.address is not None:
                client = stack.enter_context(self._client(self.address))
                yield Cluster(client, self.timeout, self._absent, own=False, mark=mark)
                return
            with without_interrupts():
                cluster = start_cluster(_processes(self.workers()), {"host": "127.0.0.1"})
                stack.push(partial(_close_cluster, cluster))
            client = stack.enter_context(self._client(cluster))
            yield Cluster(client, max(self.timeout, RESTART_SECONDS), self._absent, own=True)

    def _absent(self, has_device: bool) -> BmxError:
        if self.address is None:
            return WorkerLost(f"the workers of the Dask cluster were lost and did not come back. {AGAIN_WITH_MEMORY}")
        which = " that holds a device" if has_device else ""
        return UnavailableError(
            f"the Dask scheduler at {self.address} has had no worker{which} for {self.timeout:g} seconds. "
            f"{KEPT}: start workers (dask worker {self.address}), and run the same command."
        )

    @contextmanager
    def _client(self, cluster: Any) -> Iterator[Any]:
        import distributed

        with ExitStack() as stack:
            try:
                with without_interrupts():
                    client = distributed.Client(cluster, timeout=self.timeout)
                    stack.push(partial(close_client, client))
            except (OSError, ValueError) as error:
                raise UnavailableError(
                    f"executor.address={self.address}: no Dask scheduler answers there ({error}). "
                    "Start one with `dask scheduler`, or leave the address out."
                ) from error
            yield client


class Cluster:
    """The workers of a scheduler, and whether there still are those that the jobs need.

    timeout: seconds without a worker until `absent` is raised, which is asked whether it is one with a device.
    own: whether the workers were started for this run; they then declare what they are for.
    kinds: the kinds of workers (with a device, without) that will come, where jobs wait for them.
    watch: called at every look with the workers by address, and how many jobs are done; what it raises ends the run.
    mark: a file that every worker must see.
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
        mark: Path | None = None,
    ) -> None:
        self.n_done = 0
        self._client, self._timeout, self._absent, self._watch, self._mark = client, timeout, absent, watch, mark
        self._address = client.scheduler.address
        light = {PROCESSOR: 1} if own else {}
        self.lanes: Sequence[Lane] = [
            Lane(partial(self._submit, light), 0, expected=False in kinds),
            Lane(partial(self._submit, {DEVICE: 1}), 0, has_device=True, expected=True in kinds),
        ]
        self._seen = dict.fromkeys((False, True), time.monotonic())  # when each lane had workers
        self._count()

    def look(self) -> None:
        """Count the workers, whose number may change. Raises what `absent` gives when they stay away."""
        workers = self._count()
        if self._watch is not None and workers is not None:
            self._watch(workers, self.n_done)
        now = time.monotonic()
        for lane in self.lanes:
            idle = lane.open == lane.held == 0
            if lane.n_workers > 0 or (idle and any(other.n_workers > 0 for other in self.lanes)):
                self._seen[lane.has_device] = now
            elif now - self._seen[lane.has_device] > self._timeout and not (lane.has_device and idle):
                if workers is None:  # the scheduler does not answer, and no open job was there to be cancelled
                    raise CancelledError
                raise self._absent(lane.has_device)

    def lost(self, error: BaseException) -> BmxError | None:
        """WorkerLost for a job that was tried on several workers, UnavailableError where the connection broke."""
        import distributed

        if isinstance(error, distributed.scheduler.KilledWorker):
            return WorkerLost(
                "a job was tried on several Dask workers, and each was lost; most often memory ran "
                f"out. {AGAIN_WITH_MEMORY}"
            )
        # Dask raises what it was at when the connection broke: a cancelled future, a closed stream, a failed send.
        broke = isinstance(error, CancelledError) or (isinstance(error, Exception) and not isinstance(error, BmxError))
        if not broke or (not isinstance(error, CancelledError) and self._answers()):
            return None
        return UnavailableError(
            f"the connection to the Dask scheduler at {self._address} was lost. {KEPT}: start the scheduler "
            "and its workers again, and run the same command."
        )

    def _answers(self) -> bool:
        with suppress(Exception):  # of whatever kind: no answer
            workers_of(self._client)
            return str(self._client.status) == "running"
        return False

    def _count(self) -> dict[str, Any] | None:
        threads = dict.fromkeys((False, True), 0)
        workers = None
        with suppress(OSError):  # when the scheduler is gone its jobs are cancelled: reported elsewhere, more clearly
            workers = workers_of(self._client)
            for worker in workers.values():
                threads[DEVICE in worker["resources"]] += worker["nthreads"]
        for lane in self.lanes:
            lane.n_workers = threads[lane.has_device]
        return workers

    def _submit(self, resources: dict[str, int], work: Callable[[], Any]) -> Any:
        checked = work if self._mark is None else partial(_where_shared, self._mark, work)
        return self._client.submit(checked, pure=False, resources=resources)


def quiet() -> None:
    """No log of Dask's: a lost worker or a closed connection is either made good or raises an error here."""
    import distributed  # noqa: F401  # which sets levels when it is imported, those of some parts apart

    for name in ("distributed", *logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL)


def workers_of(client: Any) -> dict[str, Any]:
    """What the scheduler knows about each worker, by its address. Raises OSError when it does not answer."""
    # Not client.scheduler_info, which answers from memory when the scheduler is gone.
    workers: dict[str, Any] = client.sync(client.scheduler.identity)["workers"]
    return workers


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


def _processes(workers: Sequence[Worker]) -> dict[str, Any]:
    """A process with one thread for each worker, as `start_cluster` takes them."""
    import distributed

    plain = {"nthreads": 1, "dashboard": False, "silence_logs": logging.CRITICAL}
    specs = {}
    for worker in workers:
        held: dict[str, Any] = {"resources": {PROCESSOR: 1}}
        if worker.device is not None:
            held = {"env": {ASSIGNED: worker.device}, "resources": {DEVICE: 1}}
        specs[worker.name] = {"cls": distributed.Nanny, "options": {**plain, **held}}
    return specs


def _close_cluster(cluster: Any, kind: type[BaseException] | None, *_: object) -> None:
    """Let the workers end; kill them when jobs are still running, or when they take too long.

    A worker that dies while Dask ends it makes Dask raise ValueError or AssertionError, for a process it has closed
    itself. How the cluster ended says nothing about the jobs: their own error must stay the one that is seen.
    """
    processes = [worker.process for worker in cluster.workers.values()]
    with uninterrupted():
        if kind is not None:
            for worker in cluster.workers.values():
                worker.auto_restart = False
            _kill(processes)
        with suppress(TimeoutError, ValueError, AssertionError):
            cluster.close(timeout=CLOSE_SECONDS)
        _kill(processes)


def _kill(processes: Sequence[Any]) -> None:
    for process in processes:
        if process is not None and process.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)


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
    """Do the work, in a worker that sees the folder of this sweep: its results would be lost elsewhere."""
    if not mark.is_file():
        raise UnavailableError(
            f"cache_dir={mark.parent}: the worker on {socket.gethostname()} does not see the same folder; name one "
            "that all machines share, and run the same command."
        )
    return work()
