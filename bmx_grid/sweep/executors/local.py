"""Jobs on this machine: in this process, or in processes of loky, a part of joblib."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.resource_tracker import ensure_running
from queue import Empty
from types import MappingProxyType
from typing import Any

from bmx_grid.core.errors import ConfigError
from bmx_grid.core.identity import runtime
from bmx_grid.core.memory import give_back_memory
from bmx_grid.core.stopping import block_interrupts, delay_signals, end_with_parent
from bmx_grid.models.loading import ASSIGNED, assign_device, cuda_devices
from bmx_grid.sweep.executors.base import KEPT, Executor, Job, Lane, Workers

KILLED = (
    f"a worker process was killed; most often memory ran out. {KEPT}: run the same command again with fewer processes "
    "(executor.n_jobs=1)."
)
FEW_TEXTS = 10_000  # of light metrics, thousands of which are scored per second
MAX_PROCESSES = 1_024  # each takes hundreds of megabytes; larger numbers are slips of the hand
# Libraries that start threads of their own read these when they are loaded.
_LIBRARIES = ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM", "NUMBA", "NUMEXPR")
THREADS = tuple(f"{name}_NUM_THREADS" for name in _LIBRARIES)
# Silence two warnings of loky, which break the progress bar and need no action: it replaces a worker whose memory has
# grown; and without psutil it cannot look for processes that workers started, which these workers never do.
_NO_NEWS = ("A worker stopped while some jobs were given to the executor", "Failed to kill subprocesses")


@dataclass(frozen=True)
class Sequential(Executor):
    """One job after the other in this process; on the device that is named, if any."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.devices or ()) > 1:
            raise ConfigError("executor.devices: executor=sequential uses one device; name one, or use executor=loky.")

    def run(self, jobs: Iterable[Job]) -> Iterator[Any]:
        """As `Executor.run`; no worker can be lost."""
        device = next(iter(self.devices or ()), None)  # without one a model chooses its own, as it does everywhere
        for job in jobs:
            with assign_device(device):
                result = job.work()
            yield result


@dataclass(frozen=True)
class Loky(Executor):
    """Processes on this machine: `n_jobs`, and one more for each device that runs the jobs that need one.

    n_jobs: from 1 to MAX_PROCESSES, or -1 for one per processor. Raises ConfigError for another number.
    """

    n_jobs: int = runtime(-1, least=-1, most=MAX_PROCESSES)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_jobs == 0:
            raise ConfigError("executor.n_jobs must be at least 1, or -1 for one process per CPU; got 0.")

    def choose_executor(self, n_texts: int) -> Executor:
        """This process, for one job of few texts: they are scored before processes have started."""
        few = min(self.chunk_texts, FEW_TEXTS)
        return Sequential(chunk_texts=self.chunk_texts) if n_texts <= few else self

    @contextmanager
    def _start_workers(self) -> Iterator[Workers]:
        from joblib import effective_n_jobs

        devices = self.devices if self.devices is not None else cuda_devices()
        plain = effective_n_jobs(self.n_jobs)
        for message in _NO_NEWS:
            warnings.filterwarnings("ignore", message, UserWarning)
        with ExitStack() as stack:
            lanes = [Lane(stack.enter_context(processes(plain, None)), plain)]
            for device in devices:
                submit = stack.enter_context(processes(1, device, len(devices)))
                lanes.append(Lane(submit, 1, has_device=True))
            yield Workers(lanes, KILLED)


@contextmanager
def processes(
    n_workers: int, device: str | None, n_pools: int = 1, variables: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Callable[[Callable[[], Any]], Any]]:
    """A pool's `submit`. When the block ends, no process is left; they are killed if jobs are still running.

    n_pools: number of such pools that share the processors; every process gets an equal share. variables: further ones
    of the processes' environment.
    """
    from joblib import cpu_count
    from joblib.externals.loky import ProcessPoolExecutor

    share = str(max(cpu_count() // (n_workers * n_pools), 1))
    environment = {name: os.environ.get(name, share) for name in THREADS}
    if device:
        environment[ASSIGNED] = device
    environment |= variables
    pool = ProcessPoolExecutor(n_workers, initializer=end_with_parent, initargs=(os.getpid(),), env=environment)

    def submit(work: Callable[[], Any]) -> Any:
        # The first job starts the processes: one whose parent stops in the middle of it prints a traceback to standard
        # output. Nor must the exception meet the records of the pool, in which its threads then look up in vain.
        with delay_signals():
            # Its first start lets interrupts through again (SIG_UNBLOCK), and loky starts it just before its processes.
            if os.name == "posix":
                ensure_running()
            with block_interrupts():
                return pool.submit(_work_and_give_back, work)

    try:
        yield submit
        pool.shutdown()
    finally:
        with delay_signals():
            _forget_waiting(pool)
            pool.shutdown(kill_workers=True)


def _work_and_give_back(work: Callable[[], Any]) -> Any:
    """What the job returns; the memory that it no longer uses goes back to the system.

    loky takes a growth of 300 MB for a leak, and replaces the process and its model.
    """
    try:
        return work()
    finally:
        give_back_memory()


def _forget_waiting(pool: Any) -> None:
    """Take back the jobs that no process has got yet.

    After workers are killed, loky (joblib 1.6) forgets the jobs and then looks up the numbers of waiting ones: its
    thread ends with a KeyError, and leaves its resources open.
    """
    with suppress(Empty):
        while True:
            pool._work_ids.get(block=False)
