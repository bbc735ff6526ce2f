"""Jobs on workers of a Dask scheduler."""

from __future__ import annotations

import importlib.util
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from bmx_grid.core.errors import BmxError, ConfigError, UnavailableError
from bmx_grid.core.identity import runtime
from bmx_grid.core.stopping import uninterrupted, without_interrupts
from bmx_grid.sweep.executors.base import KEPT, Lane, Pool, Pooled, WorkerLost

DEVICE, PROCESSOR = "device", "processor"  # what Dask workers declare as a resource: that they hold a device, or none
CLOSE_SECONDS = 5.0  # for a connection to end by itself


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

    def check(self) -> None:
        """Raise UnavailableError where a package is missing, ConfigError where workers would not find `cache_dir`."""
        if any(importlib.util.find_spec(name) is None for name in self.NEEDS):
            raise UnavailableError(
                f'executor={self.OPTION} needs packages that are not installed: pip install "bmx-grid[{self.OPTION}]".'
            )
        if self.cache_dir is None or "://" in self.cache_dir:
            return
        folder = Path(self.cache_dir).expanduser()
        if not folder.is_absolute():
            raise ConfigError(
                f"cache_dir={self.cache_dir}: workers on other machines would take it for a folder of their own; write "
                f"the whole path of a folder that all machines share: cache_dir={folder.absolute()}."
            )


@dataclass(frozen=True)
class Dask(OnDask):
    """The Dask cluster of the scheduler at `address`.

    timeout: seconds to wait for the scheduler, and for a worker when there is none.
    Workers are given their devices where they are started:
    `BMX_DEVICE=cuda:0 dask worker ADDRESS --nthreads 1 --resources device=1`.
    """

    address: str | None = runtime(None)

    OPTION: ClassVar[str] = "dask"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.devices:
            raise ConfigError(
                "executor.devices: the workers of a Dask scheduler are given their devices where they are started: "
                f"BMX_DEVICE=cuda:0 dask worker {self.address or 'ADDRESS'} --nthreads 1 --resources device=1."
            )

    def check(self) -> None:
        """As `OnDask.check`; and ConfigError without an address."""
        if self.address is None:
            raise ConfigError(
                "executor=dask needs the address of a scheduler: executor.address=tcp://HOST:8786. Start one with "
                "`dask scheduler`, or use executor=loky for the processors of this machine."
            )
        super().check()

    @contextmanager
    def _started(self) -> Iterator[Pool]:
        with self._client() as client:
            cluster = Cluster(client, self.timeout, self._absent)
            yield Pool(cluster.lanes, cluster.lost, cluster.look)

    def _absent(self, has_device: bool) -> BmxError:
        which = " that holds a device" if has_device else ""
        return UnavailableError(
            f"the Dask scheduler at {self.address} has had no worker{which} for {self.timeout:g} seconds. "
            f"{KEPT}: start workers (dask worker {self.address}), and run the same command."
        )

    @contextmanager
    def _client(self) -> Iterator[Any]:
        self.check()
        quiet()
        import distributed

        try:
            with without_interrupts():
                client = distributed.Client(self.address, timeout=self.timeout)
        except (OSError, ValueError) as error:
            raise UnavailableError(
                f"executor.address={self.address}: no Dask scheduler answers there ({error}). "
                "Start one with `dask scheduler`, or use executor=loky."
            ) from error
        try:
            yield client
        finally:
            close_client(client)


class Cluster:
    """The workers of a scheduler, and whether there still are those that the jobs need.

    timeout: seconds without a worker until `absent` is raised, which is asked whether it is one with a device.
    kinds: the kinds of workers (with a device, without) that will come, and declare what they are for; jobs wait for
    them. Without any, jobs that need no device run anywhere.
    watch: called at every look with the workers by address, and how many jobs are done; what it raises ends the run.
    """

    def __init__(
        self,
        client: Any,
        timeout: float,
        absent: Callable[[bool], BmxError],
        *,
        kinds: Sequence[bool] = (),
        watch: Callable[[dict[str, Any], int], None] | None = None,
    ) -> None:
        self._client, self._timeout, self._absent, self._watch = client, timeout, absent, watch
        self._address = client.scheduler.address
        light = {PROCESSOR: 1} if kinds else {}
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
            self._watch(workers, sum(lane.done for lane in self.lanes))
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
                "a job was tried on several Dask workers, and each was lost; most often memory ran out. "
                f"{KEPT}: run the same command again with fewer workers, or with more memory for each."
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
        workers = None
        for lane in self.lanes:
            lane.n_workers = 0
        with suppress(OSError):  # when the scheduler is gone its jobs are cancelled: reported elsewhere, more clearly
            workers = workers_of(self._client)
            for worker in workers.values():
                self.lanes[DEVICE in worker["resources"]].n_workers += worker["nthreads"]
        return workers

    def _submit(self, resources: dict[str, int], work: Callable[[], Any]) -> Any:
        return self._client.submit(work, pure=False, resources=resources)


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


def close_client(client: Any) -> None:
    """Let a client go."""
    with uninterrupted():
        client.close(timeout=CLOSE_SECONDS)
