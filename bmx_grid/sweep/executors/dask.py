"""Jobs on a Dask cluster: that of a scheduler elsewhere, or one on this machine."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from bmx_grid.devices import ASSIGNED, assigned, present
from bmx_grid.errors import BmxError, ConfigError, UnavailableError
from bmx_grid.identity import runtime
from bmx_grid.stopping import uninterrupted, without_interrupts
from bmx_grid.sweep.executors.base import KEPT, Worker, WorkerLost
from bmx_grid.sweep.executors.on_dask import (
    AGAIN_WITH_MEMORY,
    CLOSE_SECONDS,
    DEVICE,
    PROCESSOR,
    Cluster,
    OnDask,
    close_client,
    quiet,
    start_cluster,
    workers_of,
)

RESTART_SECONDS = 60.0  # for a worker of a cluster started here to come back


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
        with self._client(self.address) as client:
            held = client.run(assigned)
            return tuple(
                Worker(f"{name}, thread {number + 1}", held.get(name))
                for name, worker in workers_of(client).items()
                for number in range(worker["nthreads"])
            )

    @contextmanager
    def _connected(self) -> Iterator[Cluster]:
        if self.address is not None:
            with self._client(self.address) as client:
                yield Cluster(client, self.timeout, self._absent, own=False)
            return
        with ExitStack() as stack:
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
    def _client(self, place: Any) -> Iterator[Any]:
        import distributed

        quiet()
        with ExitStack() as stack:
            try:
                with without_interrupts():
                    client = distributed.Client(place, timeout=self.timeout)
                    stack.push(partial(close_client, client))
            except (OSError, ValueError) as error:
                raise UnavailableError(
                    f"executor.address={self.address}: no Dask scheduler answers there ({error}). "
                    "Start one with `dask scheduler`, or leave the address out."
                ) from error
            yield client


def _processes(workers: Sequence[Worker]) -> dict[str, Any]:
    """A process with one thread for each worker, as `start_cluster` takes them."""
    import distributed

    def options(worker: Worker) -> dict[str, Any]:
        plain = {"nthreads": 1, "dashboard": False, "silence_logs": logging.CRITICAL}
        if worker.device is None:
            return {**plain, "resources": {PROCESSOR: 1}}
        return {**plain, "env": {ASSIGNED: worker.device}, "resources": {DEVICE: 1}}

    return {worker.name: {"cls": distributed.Nanny, "options": options(worker)} for worker in workers}


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


def _kill(processes: Iterable[Any]) -> None:
    for process in processes:
        if process is not None and process.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
