"""Jobs on workers that SLURM starts: clusters of dask-jobqueue, one without devices and one with a GPU per worker."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, ClassVar

from bmx_grid.core.configure import folder_path
from bmx_grid.core.errors import ConfigError, UnavailableError, shown
from bmx_grid.core.identity import runtime
from bmx_grid.core.stopping import uninterrupted, without_interrupts
from bmx_grid.models.loading import ASSIGNED
from bmx_grid.sweep.executors.base import KEPT, Workers
from bmx_grid.sweep.executors.dask import CLOSE_SECONDS, DEVICE, Cluster, OnDask, cluster_class, quiet_dask
from bmx_grid.sweep.executors.local import THREADS

SLURM_COMMANDS = ("sbatch", "squeue", "scancel")
MAX_JOBS = 1_000
AGAIN = 3  # times in a row that ended jobs are submitted again with nothing done in between
ASK_SECONDS = 10.0  # between two questions to SLURM about its queue, which all users share
ANSWER_SECONDS = 30.0  # for a command of SLURM to answer
CONNECT_SECONDS = 30.0
WAY_OUT = "see why with `squeue`, and run the same command again, or ask for less (executor.memory, executor.walltime)"
# Keys whose values are parts of a line of the job script.
JOB_PARTS = (
    "memory",
    "walltime",
    "queue",
    "account",
    "gpu_queue",
    "gpu_type",
    "directives",
    "python",
    "interface",
    "log_dir",
)
_MEMORY = re.compile(r"[1-9]\d*(\.\d+)? ?[kKMGT](i?B)?")


@dataclass(frozen=True)
class Slurm(OnDask):
    """Jobs of SLURM, each with one worker process per core; Dask schedulers in this process give them work.

    A job that ends while there is work (its walltime, `scancel`, pre-emption) is submitted again, and its work is
    done by the others meanwhile. When the sweep ends, however it does, its jobs are cancelled.

    gpus: that many more jobs, each with one process that holds one GPU of `gpu_type`, in the partition `gpu_queue`;
    work that needs a device waits for these, all other work is done by the others.
    timeout: seconds without a running job after which a run ends; jobs may wait in SLURM's queue.
    log_dir: what the jobs print.
    """

    jobs: int = runtime(1, least=0, most=MAX_JOBS)
    cores: int = runtime(1, least=1, most=MAX_JOBS)
    memory: str = runtime("4GB")
    walltime: str = runtime("01:00:00")
    queue: str | None = runtime(None)
    account: str | None = runtime(None)
    gpus: int = runtime(0, least=0, most=MAX_JOBS)
    gpu_queue: str | None = runtime(None)
    gpu_type: str | None = runtime(None)
    directives: tuple[str, ...] = runtime(())
    prologue: tuple[str, ...] = runtime(())
    python: str | None = runtime(None)
    interface: str | None = runtime(None)
    log_dir: str | None = runtime(None)
    timeout: float = runtime(86_400.0, above=0, most=30 * 86_400)

    OPTION: ClassVar[str] = "slurm"
    NEEDS: ClassVar[tuple[str, ...]] = ("distributed", "dask_jobqueue")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.jobs + self.gpus == 0:
            raise ConfigError("executor.jobs and executor.gpus are both 0; ask for one job at least.")
        if not _MEMORY.fullmatch(self.memory):
            raise ConfigError(
                f"executor.memory: '{self.memory}' is not an amount of memory; write a number and a unit, as 500MB, "
                "16GB or 7.5GiB."
            )
        if self.devices is not None:
            raise ConfigError("executor.devices: SLURM hands out devices; write executor.gpus=N for N of them.")
        for name in JOB_PARTS:
            # A further line would be a command, which a folder named by a file could bring.
            if any(not text.isprintable() for text in _texts(getattr(self, name))):
                raise ConfigError(f"executor.{name}: {shown(getattr(self, name))} is not one line; write one line.")
        for line in self.directives:
            if line.startswith(("-J", "--job-name")):
                raise ConfigError(
                    f"executor.directives: '{line}': the sweep names its jobs, and finds them by it; leave it out."
                )

    def check(self) -> None:
        """As `OnDask.check`; and UnavailableError where SLURM's commands are missing."""
        missing = [name for name in SLURM_COMMANDS if shutil.which(name) is None]
        if missing:
            raise UnavailableError(
                f"executor=slurm: the command {missing[0]} is not found here; run this on a machine from which jobs "
                "are submitted to SLURM, or choose executor=loky."
            )
        super().check()

    @contextmanager
    def _started(self) -> Iterator[Workers]:
        self.check()
        quiet_dask()
        import distributed

        name = f"bmx_grid-{uuid.uuid4().hex[:8]}"
        clusters = dict[bool, Any]()
        clients = dict[bool, Any]()
        with ExitStack() as stack:
            stack.callback(_end, name, clusters, clients)  # whatever happens from here on
            with without_interrupts(), uninterrupted():
                for has_device, n_jobs in ((False, self.jobs), (True, self.gpus)):
                    if n_jobs == 0:
                        continue
                    clusters[has_device] = self.cluster(name, has_device=has_device)
                    clients[has_device] = distributed.Client(clusters[has_device], timeout=CONNECT_SECONDS)
                workers = _Jobs(name, self, clusters, clients)
                workers.submit()
            yield workers

    def cluster(self, name: str, *, has_device: bool) -> Any:
        """dask-jobqueue's cluster, without jobs yet. Raises ConfigError for an unknown network interface."""
        threads = self.cores if has_device else 1
        # What the user's prologue or environment sets stays.
        shares = [f'export {name}="${{{name}:-{threads}}}"' for name in THREADS]
        log_dir = None
        if self.log_dir is not None:
            log_dir = str(folder_path(self.log_dir, "executor.log_dir").absolute())
        options: dict[str, Any] = {
            "job_name": name,
            "queue": (self.gpu_queue or self.queue) if has_device else self.queue,
            "account": self.account,
            "cores": self.cores,
            "processes": 1 if has_device else self.cores,
            "memory": self.memory.replace(" ", ""),
            "walltime": self.walltime,
            "interface": self.interface,
            "protocol": "tcp://",
            "python": shlex.quote(self.python or sys.executable),
            "worker_extra_args": ["--no-dashboard"],
            "job_extra_directives": list(self.directives),
            "job_script_prologue": [*self.prologue, *shares],
            "log_directory": log_dir,
            # the address is that of its HTTP server, which warns when the usual port is taken
            "scheduler_options": {"port": 0, "dashboard": False, "dashboard_address": "127.0.0.1:0"},
        }
        if has_device:
            gres = ":".join(part for part in ("gpu", self.gpu_type, "1") if part)
            options["worker_extra_args"] += ["--nthreads", "1", "--resources", f"{DEVICE}=1"]
            options["job_extra_directives"].insert(0, f"--gres={gres}")
            options["job_script_prologue"].append(f"export {ASSIGNED}=cuda:0")
        try:
            return cluster_class("dask_jobqueue.SLURMCluster")(**options)
        except (ValueError, RuntimeError) as error:
            reason = str(error).removeprefix("Cluster failed to start: ")
            raise ConfigError(f"executor.interface: {reason}.") from error


class _Jobs(Cluster):
    """The workers in the jobs of one sweep; jobs that end are submitted again.

    name: of the jobs; clusters, clients: of those without and with a device.
    """

    def __init__(self, name: str, options: Slurm, clusters: dict[bool, Any], clients: dict[bool, Any]) -> None:
        super().__init__(clients, options.timeout, "SLURM", WAY_OUT, expected=True)
        self._name = name
        self._options = options
        self._clusters = clusters
        self._asked = time.monotonic()
        self._n_done = 0  # jobs done
        self._in_vain = 0  # how often some were submitted again since

    def submit(self) -> None:
        """Submit the jobs that are not there. Raises UnavailableError with what SLURM says."""
        for has_device, cluster in self._clusters.items():
            while len(cluster.worker_spec) < (self._options.gpus if has_device else self._options.jobs):
                cluster.worker_spec.update(cluster.new_worker_spec())
            try:
                cluster.sync(cluster._correct_state)
            except RuntimeError as error:  # what dask-jobqueue makes of a command that fails
                printed = str(error).rpartition("stderr:")[2]
                reason = " ".join(printed.split()).rstrip(".")
                raise UnavailableError(
                    f"SLURM refuses a job: {reason}. See `sinfo` for its partitions and limits, and set "
                    "executor.queue, executor.account, executor.cores, executor.memory or executor.walltime."
                ) from error

    def look(self) -> None:
        """Count the workers, and submit again what has ended.

        Raises UnavailableError when jobs end again and again with nothing done, or stay away.
        """
        super().look()
        if time.monotonic() - self._asked < ASK_SECONDS:
            return
        self._asked = time.monotonic()
        listed = _listed(self._name)
        if listed is None:  # SLURM does not answer: asked again later
            return
        n_done = sum(lane.done for lane in self.lanes)
        if n_done > self._n_done:
            self._n_done = n_done
            self._in_vain = 0
        ended = []
        for cluster in self._clusters.values():
            for name, job in cluster.workers.items():
                if str(job.job_id) not in listed:
                    ended.append((cluster, name))
        for cluster, name in ended:
            del cluster.workers[name]
        lacking = [len(cluster.worker_spec) - len(cluster.workers) for cluster in self._clusters.values()]
        if not any(lacking):
            return
        if self._in_vain < AGAIN:
            with suppress(UnavailableError):  # a controller may be away for a while
                self.submit()
                self._in_vain += 1
        elif not listed:
            raise UnavailableError(
                f"SLURM jobs were submitted again {AGAIN} times, and ended before a piece of work was done; what they "
                f"printed is in executor.log_dir ({self._options.log_dir}). {KEPT}: check executor.python, "
                "executor.prologue, executor.memory and executor.walltime, and run the same command."
            )


def _texts(value: str | tuple[str, ...] | None) -> tuple[str, ...]:
    """The texts that a key holds: none, one or several."""
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else value


def _listed(name: str) -> set[str] | None:
    """The numbers of the jobs of a name that wait or run; None when SLURM does not answer."""
    answer = _ask("squeue", "--noheader", f"--name={name}", "--format=%i %T")
    if answer is None or answer.returncode != 0:
        return None
    rows = [line.split() for line in answer.stdout.splitlines() if line.strip()]
    return {number for number, state in rows if state != "COMPLETING"}


def _ask(*command: str) -> subprocess.CompletedProcess[str] | None:
    """Run a command of SLURM's, out of reach of Ctrl-C; None when it does not answer."""
    with suppress(OSError, subprocess.TimeoutExpired):
        return subprocess.run(
            command, capture_output=True, text=True, timeout=ANSWER_SECONDS, start_new_session=True, check=False
        )
    return None


def _end(name: str, clusters: dict[bool, Any], clients: dict[bool, Any]) -> None:
    """Cancel the jobs of a name until SLURM lists none, those whose submission was under way among them, then close.

    How a scheduler ends says nothing about the work, whose error must be seen.
    """
    with uninterrupted():
        for client in clients.values():
            client.close(timeout=CLOSE_SECONDS)
        end = time.monotonic() + CLOSE_SECONDS
        _ask("scancel", f"--name={name}", f"--user={os.getuid()}")
        while _listed(name) and time.monotonic() < end:
            time.sleep(0.2)
            _ask("scancel", f"--name={name}", f"--user={os.getuid()}")
        for cluster in clusters.values():
            with suppress(TimeoutError, ValueError, AssertionError, RuntimeError):
                cluster.close(timeout=CLOSE_SECONDS)
