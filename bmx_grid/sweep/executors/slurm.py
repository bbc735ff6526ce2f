"""Jobs on workers that SLURM starts, through dask-jobqueue."""

from __future__ import annotations

import logging
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import uuid
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from bmx_grid.core.devices import ASSIGNED
from bmx_grid.core.errors import BmxError, ConfigError, UnavailableError
from bmx_grid.core.identity import runtime
from bmx_grid.core.stopping import uninterrupted, without_interrupts
from bmx_grid.core.wording import counted
from bmx_grid.sweep.executors.base import KEPT, Pool
from bmx_grid.sweep.executors.dask import CLOSE_SECONDS, DEVICE, PROCESSOR, Cluster, OnDask, close_client, quiet
from bmx_grid.sweep.executors.local import THREADS

COMMANDS = ("sbatch", "squeue", "scancel")
MAX_JOBS = 1_000
AGAIN = 3  # times in a row that ended jobs are submitted again with nothing done in between
ASK_SECONDS = 10.0  # between two questions to SLURM about its queue, which all users share
ANSWER_SECONDS = 30.0  # for a command of SLURM to answer
CONNECT_SECONDS = 30.0
_MEMORY = re.compile(r"[1-9]\d*(\.\d+)? ?[kKMGT](i?B)?")


@dataclass(frozen=True)
class Slurm(OnDask):
    """Jobs of SLURM, each with one worker process per core; a Dask scheduler in this process gives them work.

    A job that ends while there is work (its walltime, `scancel`, pre-emption) is submitted again, and its work is
    done by the others meanwhile. When the sweep ends, however it does, its jobs are cancelled.

    gpus: that many more jobs, each with one process that holds one GPU of `gpu_type`, in the partition `gpu_queue`;
    work that needs a device waits for these, all other work is done by the others.
    timeout: seconds without a running job after which a run ends; jobs may wait in SLURM's queue.
    log_dir: what the jobs print.
    """

    jobs: int = runtime(1)
    cores: int = runtime(1)
    memory: str = runtime("4GB")
    walltime: str = runtime("01:00:00")
    queue: str | None = runtime(None)
    account: str | None = runtime(None)
    gpus: int = runtime(0)
    gpu_queue: str | None = runtime(None)
    gpu_type: str | None = runtime(None)
    directives: tuple[str, ...] = runtime(())
    prologue: tuple[str, ...] = runtime(())
    python: str | None = runtime(None)
    interface: str | None = runtime(None)
    log_dir: str | None = runtime(None)
    timeout: float = runtime(86_400.0)

    OPTION: ClassVar[str] = "slurm"
    NEEDS: ClassVar[tuple[str, ...]] = ("distributed", "dask_jobqueue")
    LONGEST: ClassVar[float] = 30 * 86_400

    def __post_init__(self) -> None:
        super().__post_init__()
        for key, least in (("jobs", 0), ("gpus", 0), ("cores", 1)):
            if not least <= (number := getattr(self, key)) <= MAX_JOBS:
                raise ConfigError(f"executor.{key} must be from {least} to {MAX_JOBS:,}, got {number!r:.20}.")
        if self.jobs + self.gpus == 0:
            raise ConfigError("executor.jobs and executor.gpus are both 0; ask for one job at least.")
        if not _MEMORY.fullmatch(self.memory):
            raise ConfigError(
                f"executor.memory: '{self.memory}' is not an amount of memory; write a number and a unit, as 500MB, "
                "16GB or 7.5GiB."
            )
        if self.devices is not None:
            raise ConfigError("executor.devices: SLURM hands out devices; write executor.gpus=N for N of them.")
        for line in self.directives:
            if line.startswith(("-J", "--job-name")):
                raise ConfigError(
                    f"executor.directives: '{line}': the sweep names its jobs, and finds them by it; leave it out."
                )

    def check(self) -> None:
        """As `OnDask.check`; and UnavailableError where SLURM's commands are missing."""
        missing = [name for name in COMMANDS if shutil.which(name) is None]
        if missing:
            raise UnavailableError(
                f"executor=slurm: the command {missing[0]} is not found here; run this on a machine from which jobs "
                "are submitted to SLURM, or choose executor=loky."
            )
        super().check()

    def planned(self) -> str:
        """The jobs that are submitted, in one line."""
        each = f"of {counted(self.cores, 'core')}, {self.memory} and {self.walltime}"
        kinds = [f"{counted(self.jobs, 'job')}{_where(self.queue)}"] if self.jobs else []
        if self.gpus:
            kinds.append(f"{counted(self.gpus, 'job')} with a GPU{_where(self.gpu_queue or self.queue)}")
        return f"SLURM: {' and '.join(kinds)}, {each} each: {counted(self.jobs * self.cores + self.gpus, 'worker')}"

    @contextmanager
    def _started(self) -> Iterator[Pool]:
        self.check()
        quiet()
        import distributed

        name = f"bmx_grid-{uuid.uuid4().hex[:8]}"
        with ExitStack() as stack:
            stack.callback(_cancel, name)  # whatever happens from here on
            with without_interrupts(), uninterrupted():
                cluster = self._cluster()
                stack.callback(_close_cluster, cluster, name)
                client = distributed.Client(cluster, timeout=CONNECT_SECONDS)
                stack.callback(close_client, client)
                cluster.worker_spec.update(self._jobs(name))
                queue = _Queue(cluster, name, self.log_dir)
                queue.submit()
            kinds = [has_device for has_device, number in ((False, self.jobs), (True, self.gpus)) if number]
            workers = Cluster(client, self.timeout, partial(self._absent, queue), kinds=kinds, watch=queue.look)
            yield Pool(workers.lanes, workers.lost, workers.look)

    def _cluster(self) -> Any:
        """A scheduler in this process. Raises ConfigError for an unknown interface, with those that there are."""
        import distributed

        options = {
            "port": 0,
            "protocol": "tcp://",
            "dashboard": False,
            "dashboard_address": "127.0.0.1:0",  # of its HTTP server, which warns when the usual port is taken
            "interface": self.interface,
        }
        scheduler = {"cls": distributed.Scheduler, "options": options}
        try:
            return distributed.SpecCluster(scheduler=scheduler, silence_logs=logging.CRITICAL)
        except (ValueError, RuntimeError) as error:
            reason = str(error).removeprefix("Cluster failed to start: ")
            raise ConfigError(f"executor.interface: {reason}.") from error

    def _jobs(self, name: str) -> dict[str, Any]:
        """What dask-jobqueue submits, by the name of its worker."""
        job = _job_class()
        plain = self._options(name, self.queue, threads=1)
        plain |= {"processes": self.cores, "worker_extra_args": _resources(PROCESSOR)}
        found = {f"job-{number}": {"cls": job, "options": plain} for number in range(1, self.jobs + 1)}
        device = self._options(name, self.gpu_queue or self.queue, threads=self.cores)
        gres = ":".join(part for part in ("gpu", self.gpu_type, "1") if part)
        device |= {
            "processes": 1,
            "worker_extra_args": ["--nthreads", "1", *_resources(DEVICE)],
            "job_extra_directives": [f"--gres={gres}", *self.directives],
            "job_script_prologue": [*device["job_script_prologue"], f"export {ASSIGNED}=cuda:0"],
        }
        return found | {f"gpu-{number}": {"cls": job, "options": device} for number in range(1, self.gpus + 1)}

    def _options(self, name: str, queue: str | None, threads: int) -> dict[str, Any]:
        shares = [f'export {one}="${{{one}:-{threads}}}"' for one in THREADS]
        return {
            "job_name": name,
            "queue": queue,
            "account": self.account,
            "cores": self.cores,
            "memory": self.memory.replace(" ", ""),
            "walltime": self.walltime,
            "interface": self.interface,
            "protocol": "tcp://",
            "python": shlex.quote(self.python or sys.executable),
            "job_extra_directives": list(self.directives),
            "job_script_prologue": [*self.prologue, *shares],
            "log_directory": None if self.log_dir is None else str(Path(self.log_dir).expanduser().absolute()),
        }

    def _absent(self, queue: _Queue, has_device: bool) -> BmxError:
        which = " with a GPU" if has_device else ""
        return UnavailableError(
            f"no SLURM job{which} has been running for {self.timeout:g} seconds ({queue.state()}). {KEPT}: run the "
            "same command again, or ask for less (executor.memory, executor.walltime)."
        )


class _Queue:
    """The jobs of one sweep in SLURM's queue: those that end are submitted again."""

    def __init__(self, cluster: Any, name: str, log_dir: str | None) -> None:
        self._cluster, self._name, self._log_dir = cluster, name, log_dir
        self._asked = time.monotonic()
        self._n_done = self._in_vain = 0  # jobs done; how often some were submitted again since
        self._pending: list[str] = []  # SLURM's reasons for the jobs that wait
        self._warned = False

    def submit(self) -> None:
        """Submit the jobs that are not there. Raises UnavailableError with what SLURM says."""
        try:
            self._cluster.sync(self._cluster._correct_state)
        except RuntimeError as error:  # what dask-jobqueue makes of a command that fails
            raise UnavailableError(
                f"SLURM refuses a job: {_said(str(error))}. See `sinfo` for its partitions and limits, and set "
                "executor.queue, executor.account, executor.cores, executor.memory or executor.walltime."
            ) from error

    def look(self, workers: Mapping[str, Any], n_done: int) -> None:
        """Submit again what has ended. Raises UnavailableError when jobs end again and again with nothing done."""
        if time.monotonic() - self._asked < ASK_SECONDS:
            return
        self._asked = time.monotonic()
        listed = _listed(self._name)
        if listed is None:  # SLURM does not answer: asked again later
            return
        self._pending = [reason for state, reason in listed.values() if state == "PENDING" and reason != "None"]
        if self._pending and not workers and not self._warned:
            self._warned = True
            warnings.warn(f"executor=slurm: no job is running: {self.state()}", stacklevel=2)
        if n_done > self._n_done:
            self._n_done, self._in_vain = n_done, 0
        for name, job in list(self._cluster.workers.items()):
            if str(job.job_id) not in listed:
                del self._cluster.workers[name]
        if len(self._cluster.workers) == len(self._cluster.worker_spec):
            return
        if self._in_vain < AGAIN:
            with suppress(UnavailableError):  # a controller may be away for a while
                self.submit()
                self._in_vain += 1
        elif not listed:
            raise UnavailableError(
                f"SLURM jobs were submitted again {AGAIN} times, and ended before a piece of work was done; what they "
                f"printed is in executor.log_dir ({self._log_dir}). {KEPT}: check executor.python, executor.prologue, "
                "executor.memory and executor.walltime, and run the same command."
            )

    def state(self) -> str:
        """What the jobs wait for, in a few words."""
        reasons = {reason: self._pending.count(reason) for reason in self._pending}
        waiting = [f"{counted(number, 'job')} pending, {reason}" for reason, number in reasons.items()]
        return "; ".join(waiting) or "none is pending"


def _job_class() -> Any:
    """Of dask-jobqueue, which when it is imported makes Ctrl-C end the process with status 0: kept from that here."""
    own = signal.signal
    signal.signal = lambda *_: None
    try:
        from dask_jobqueue.slurm import SLURMJob
    finally:
        signal.signal = own
    return SLURMJob


def _where(queue: str | None) -> str:
    return "" if queue is None else f" in {queue}"


def _resources(name: str) -> list[str]:
    return ["--no-dashboard", "--resources", f"{name}=1"]


def _said(text: str) -> str:
    """What a command of SLURM's says last, without its own name."""
    lines = [line.strip() for line in text.rpartition("stderr:")[2].splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("Try ")]
    return re.sub(r"^(\w+: )*(allocation failure: )?", "", lines[-1]).rstrip(".") if lines else "it gave no reason"


def _listed(name: str) -> dict[str, tuple[str, str]] | None:
    """State and reason of the jobs of a name that wait or run, by their number; None when SLURM does not answer."""
    asked = _ask("squeue", "--noheader", f"--name={name}", "--format=%i %T %r")
    if asked is None or asked.returncode != 0:
        return None
    rows = [line.split(maxsplit=2) for line in asked.stdout.splitlines() if line.strip()]
    return {row[0]: (row[1], row[-1]) for row in rows if row[1] != "COMPLETING"}


def _ask(*command: str) -> subprocess.CompletedProcess[str] | None:
    """Run a command of SLURM's, out of reach of Ctrl-C; None when it does not answer."""
    with suppress(OSError, subprocess.TimeoutExpired):
        return subprocess.run(
            command, capture_output=True, text=True, timeout=ANSWER_SECONDS, start_new_session=True, check=False
        )
    return None


def _cancel(name: str) -> None:
    """Cancel the jobs of a name, until SLURM lists none; those whose submission was still under way among them."""
    with uninterrupted():
        end = time.monotonic() + CLOSE_SECONDS
        _ask("scancel", f"--name={name}", f"--user={os.getuid()}")
        while _listed(name) and time.monotonic() < end:
            time.sleep(0.2)
            _ask("scancel", f"--name={name}", f"--user={os.getuid()}")


def _close_cluster(cluster: Any, name: str) -> None:
    """Cancel the jobs, then close the scheduler. How it ends says nothing about the work, whose error must be seen."""
    with uninterrupted():
        _cancel(name)
        with suppress(TimeoutError, ValueError, AssertionError, RuntimeError):
            cluster.close(timeout=CLOSE_SECONDS)
