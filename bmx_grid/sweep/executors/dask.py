"""Jobs on workers of a Dask scheduler."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import signal
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bmx_grid.core.configure import folder_path
from bmx_grid.core.errors import BmxError, ConfigError, UnavailableError
from bmx_grid.core.identity import runtime
from bmx_grid.core.stopping import block_interrupts, delay_signals
from bmx_grid.core.storage import place
from bmx_grid.models.loading import ASSIGNED
from bmx_grid.sweep.executors.base import KEPT, Executor, Lane, WorkerLost, Workers
from bmx_grid.sweep.executors.local import THREADS

DEVICE = "device"  # what workers that hold a device declare as a resource
FETCH_SECONDS = 10.0  # until a result that does not come makes us look at the workers
CONNECT_SECONDS = 30.0  # to a scheduler of our own
CLOSE_SECONDS = 5.0  # for a connection to end by itself


@dataclass(frozen=True)
class Dask(Executor):
    """The Dask cluster of the scheduler at `address`, or one of the class `cluster`, which lives as long as the sweep.

    A job whose worker is lost is run by another one.
    cluster: the full name of the class, as "dask_jobqueue.SLURMCluster", "dask_jobqueue.PBSCluster" or
        "distributed.LocalCluster"; cluster_options: its arguments.
    jobs: of a batch system; one that ends is submitted again while there is work, and the end of the sweep cancels all.
    device_jobs: that many more jobs, of one process that holds one device; device_options: their further
        cluster_options. Work that needs a device waits for these.
    log_dir: the folder of the jobs' output.
    timeout: seconds to wait for the scheduler, and for a worker when there is not one; jobs may wait in a queue.
    cache_dir: of the sweep; workers on other machines must find the same folder there.
    Workers at an address get their devices at their start:
    `BMX_DEVICE=cuda:0 dask worker ADDRESS --nthreads 1 --resources device=1`.
    """

    address: str | None = runtime(None)
    cluster: str | None = runtime(None)
    cluster_options: Mapping[str, Any] | None = runtime(None)
    jobs: int = runtime(1, least=0, most=1_000)
    device_jobs: int = runtime(0, least=0, most=1_000)
    device_options: Mapping[str, Any] | None = runtime(None)
    log_dir: str | None = runtime(None)
    timeout: float = runtime(10.0, above=0, most=30 * 86_400)
    cache_dir: str | None = runtime(None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.devices:
            raise ConfigError(
                "executor.devices has no effect on running workers. Start a worker with its device: BMX_DEVICE=cuda:0 "
                f"dask worker {self.address or 'ADDRESS'} --nthreads 1 --resources device=1. For jobs, set "
                "executor.device_jobs=N."
            )
        if self.jobs + self.device_jobs == 0:
            raise ConfigError("executor.jobs and executor.device_jobs are both 0; set executor.jobs=1 or more.")

    def check(self) -> None:
        """Raise UnavailableError if a package is missing, ConfigError for what cannot be a cluster or its cache_dir."""
        if (self.address is None) == (self.cluster is None):
            raise ConfigError(
                "executor=dask needs the address of a scheduler, executor.address=tcp://HOST:8786 (start one with "
                "`dask scheduler`), or else a class of clusters, executor.cluster=dask_jobqueue.SLURMCluster; for the "
                "processors of this machine use executor=loky."
            )
        needed = {"distributed": "dask"}
        if self.cluster is not None and self.cluster.startswith("dask_jobqueue."):
            needed["dask_jobqueue"] = "slurm"
        for package, extra in needed.items():
            if importlib.util.find_spec(package) is None:
                raise UnavailableError(
                    f"executor: {package} is not installed: in a checkout, pip install '.[{extra}]'."
                )
        folder = None if self.cache_dir is None else place(self.cache_dir)
        if isinstance(folder, Path) and not folder.is_absolute():
            raise ConfigError(
                f"cache_dir={self.cache_dir}: workers on other machines would use a folder of their own; write "
                f"the absolute path of a shared folder: cache_dir={folder.absolute()}."
            )

    @contextmanager
    def _start_workers(self) -> Iterator[Workers]:
        self.check()
        quiet_dask()
        with ExitStack() as stack:
            with block_interrupts():
                clients = self._clients(stack)
            where = f"the Dask scheduler at {self.address}"
            way_out = f"start workers (dask worker {self.address}), and run the same command"
            if self.cluster is not None:
                where = self.cluster
                way_out = "see why in its queue, reduce the request, or set executor.timeout, and run the same command"
            yield Cluster(clients, self.timeout, where, way_out, expected=self.device_jobs > 0)

    def _clients(self, stack: ExitStack) -> dict[bool, Any]:
        """Clients of the workers without and with a device, closed with the stack; of one scheduler the same."""
        if self.address is not None:
            client = _connect(self.address, self.timeout, stack)
            return {False: client, True: client}
        clients = {}
        for has_device, n_jobs in ((False, self.jobs), (True, self.device_jobs)):
            if n_jobs:
                cluster = self.own_cluster(has_device=has_device)
                stack.callback(_close, cluster)
                clients[has_device] = _connect(cluster.scheduler_address, CONNECT_SECONDS, stack)
        if self.device_jobs == 0:
            clients[True] = clients[False]
        return clients

    def own_cluster(self, *, has_device: bool = False) -> Any:
        """A cluster of the class `cluster`, with its jobs submitted.

        Raises ConfigError for another class, and UnavailableError with the message of a batch system.
        """
        kind = cluster_class(str(self.cluster))
        is_batch = hasattr(kind, "job_cls")
        options = dict(self.cluster_options or {})
        if is_batch:
            options = self._batch_options(options, has_device=has_device)
        elif has_device:
            raise ConfigError(f"executor.device_jobs: {self.cluster} has no jobs; set executor.device_jobs=0.")
        cluster = None
        try:
            cluster = kind(**options)
            if is_batch:
                n_jobs = self.device_jobs if has_device else self.jobs
                # `scale` would hide the batch system's error.
                for _ in range(n_jobs):
                    cluster.worker_spec.update(cluster.new_worker_spec())
                cluster.sync(cluster._correct_state)
                cluster.adapt(minimum_jobs=n_jobs, maximum_jobs=n_jobs)  # submits again what ends
        except (TypeError, ValueError, RuntimeError, OSError) as error:
            if cluster is not None:
                _close(cluster)
            if isinstance(error, FileNotFoundError):
                raise UnavailableError(
                    f"executor.cluster={self.cluster}: command {error.filename} not found; run this on a machine "
                    "that can submit jobs, or choose executor=loky."
                ) from error
            text = str(error).rpartition("stderr:")[2]
            reason = " ".join(text.split())[:300].rstrip(".")
            raise ConfigError(
                f"executor.cluster={self.cluster}: {reason}; correct executor.cluster_options."
            ) from error
        return cluster

    def _batch_options(self, options: dict[str, Any], *, has_device: bool) -> dict[str, Any]:
        """The arguments of a cluster of dask-jobqueue: one process per core, or one with a device."""
        if has_device:
            options |= self.device_options or {}
        cores = options.get("cores", 1)
        options.setdefault("processes", 1 if has_device else cores)
        # The address is that of its HTTP server, which warns if the usual port is taken.
        options.setdefault("scheduler_options", {"dashboard": False, "dashboard_address": "127.0.0.1:0"})
        if self.log_dir is not None:
            options.setdefault("log_directory", str(folder_path(self.log_dir, "executor.log_dir").absolute()))
        arguments = ["--no-dashboard"]
        # Variables of the user's prologue or environment have precedence.
        share = cores if has_device else 1
        prologue = [f'export {name}="${{{name}:-{share}}}"' for name in THREADS]
        if has_device:
            arguments += ["--nthreads", "1", "--resources", f"{DEVICE}=1"]
            prologue.append(f"export {ASSIGNED}=cuda:0")
        options["worker_extra_args"] = [*options.get("worker_extra_args", []), *arguments]
        options["job_script_prologue"] = [*options.get("job_script_prologue", []), *prologue]
        return options


def _connect(address: str, timeout: float, stack: ExitStack) -> Any:
    """A client of a scheduler, closed with the stack. Raises UnavailableError if none answers."""
    import distributed

    try:
        client = distributed.Client(address, timeout=timeout)
    except (OSError, ValueError) as error:
        raise UnavailableError(
            f"executor.address={address}: no Dask scheduler answers ({error}). "
            "Start one with `dask scheduler`, or use executor=loky."
        ) from error
    stack.callback(_close, client)
    return client


def _close(opened: Any) -> None:
    """Close a client or a cluster and cancel its jobs; errors are ignored, since the work is done or lost before."""
    with delay_signals(), suppress(TimeoutError, ValueError, AssertionError, RuntimeError, OSError):
        opened.close(timeout=CLOSE_SECONDS)


def cluster_class(name: str) -> Any:
    """The class of a full name. Raises ConfigError if there is not one.

    When dask-jobqueue is imported, it makes Ctrl-C end the process with status 0: kept from that here.
    """
    module, _, last = name.rpartition(".")
    install = signal.signal
    signal.signal = lambda *_: None
    try:
        return getattr(importlib.import_module(module), last)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"executor.cluster={name}: {error}; name a class of Dask clusters that is installed, as "
            "distributed.LocalCluster or dask_jobqueue.SLURMCluster."
        ) from error
    finally:
        signal.signal = install


class Cluster(Workers):
    """Dask's workers, watched for the ones that the jobs need.

    clients: of the schedulers whose workers hold no device, and whose hold one; mostly the same.
    timeout: seconds without a worker before an error with the way out.
    expected: whether workers of each kind will come.
    """

    def __init__(
        self, clients: dict[bool, Any], timeout: float, where: str, way_out: str, *, expected: bool = False
    ) -> None:
        self._clients = clients
        self._timeout = timeout
        self._where = where
        self._way_out = way_out
        lanes = []
        for has_device, client in clients.items():
            resources = {DEVICE: 1} if has_device else {}
            # Dask runs equal calls once: pure=False makes it run every call.
            submit = partial(client.submit, pure=False, resources=resources)
            lanes.append(Lane(submit, 0, has_device, expected))
        super().__init__(lanes)
        self._seen = dict.fromkeys((False, True), time.monotonic())  # when each lane had workers
        self._count()

    def look(self) -> None:
        """Count the workers, whose number may change. Raises UnavailableError when they stay away."""
        answers = self._count()
        now = time.monotonic()
        for lane in self.lanes:
            is_idle = lane.open == lane.held == 0
            others_work = any(other.n_workers > 0 for other in self.lanes)
            waited = now - self._seen[lane.has_device]
            if lane.n_workers > 0 or (is_idle and others_work):
                self._seen[lane.has_device] = now
            elif waited > self._timeout and not (lane.has_device and is_idle):
                if not answers:  # and no open job was left to cancel
                    raise CancelledError
                kind = "worker that holds a device" if lane.has_device else "worker"
                raise UnavailableError(
                    f"{self._where} has had no {kind} for {self._timeout:g} seconds. {KEPT}: {self._way_out}."
                )

    def result(self, future: Any) -> Any:
        """The result of a future; a result lost with its worker is computed again by another worker."""
        while True:
            try:
                return future.result(timeout=FETCH_SECONDS)
            except TimeoutError:
                if future.status == "error":  # of the job itself
                    raise
                self.look()

    def lost(self, error: BaseException) -> BmxError | None:
        """WorkerLost for a job that was tried on several workers, UnavailableError if the connection broke."""
        import distributed

        if isinstance(error, distributed.scheduler.KilledWorker):
            return WorkerLost(
                "a job was tried on several Dask workers, and each was lost; most often memory ran out. "
                f"{KEPT}: run the same command again with fewer workers, or with more memory for each."
            )
        # When the connection breaks, Dask raises an error of its current step: a cancelled future, a closed stream, a
        # failed send.
        is_cancelled = isinstance(error, CancelledError)
        if not is_cancelled and (not isinstance(error, Exception) or isinstance(error, BmxError) or self._answers()):
            return None
        address = next(iter(self._clients.values())).scheduler.address
        return UnavailableError(
            f"the connection to the Dask scheduler at {address} was lost. {KEPT}: start the scheduler and its workers "
            "again, and run the same command."
        )

    def _answers(self) -> bool:
        with suppress(Exception):  # of whatever kind: no answer
            return self._count() and all(str(client.status) == "running" for client in self._clients.values())
        return False

    def _count(self) -> bool:
        """Count the workers of each lane; whether the schedulers answer."""
        for lane in self.lanes:
            lane.n_workers = 0
        with suppress(OSError):  # when the scheduler is gone its jobs are cancelled: reported elsewhere, more clearly
            for lane in self.lanes:
                for worker in workers_of(self._clients[lane.has_device]).values():
                    if (DEVICE in worker["resources"]) == lane.has_device:
                        lane.n_workers += worker["nthreads"]  # each thread takes a job
            return True
        return False


def quiet_dask() -> None:
    """Silence Dask's log: a lost worker or a closed connection is replaced, or raises an error."""
    import distributed  # noqa: F401  # which sets levels when it is imported, those of some parts apart

    for name in ("distributed", *logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL)


def workers_of(client: Any) -> dict[str, Any]:
    """Ask the scheduler for its workers, by their address. Raises OSError when it does not answer."""
    # Not client.scheduler_info, which answers from memory when the scheduler is gone.
    workers: dict[str, Any] = client.sync(client.scheduler.identity)["workers"]
    return workers
