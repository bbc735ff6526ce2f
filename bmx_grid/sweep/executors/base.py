"""Where chunks of work run: joblib's back-ends behind one small protocol."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from bmx_grid.errors import ConfigError, UnavailableError
from bmx_grid.identity import Component, runtime


@dataclass(frozen=True)
class Executor(Component):
    """Runs independent jobs and hands their results back as they come.

    chunk_texts: about how many texts one job scores; also what a killed process loses at most.
    """

    chunk_texts: int = runtime(10_000)

    def __post_init__(self) -> None:
        if self.chunk_texts < 1:
            raise ConfigError(f"executor.chunk_texts must be at least 1, got {self.chunk_texts}.")

    @abstractmethod
    def _workers(self) -> int:
        """How many jobs run at once; joblib's -1 for all processors."""

    def _backend(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def run(self, jobs: Iterable[Any]) -> Iterator[Any]:
        """Results of joblib's delayed `jobs`, in the order in which they finish; `jobs` is read as workers get free."""
        from joblib import Parallel

        with self._backend():
            yield from Parallel(n_jobs=self._workers(), return_as="generator_unordered", pre_dispatch="2*n_jobs")(jobs)


@dataclass(frozen=True)
class Loky(Executor):
    """Processes on this machine."""

    n_jobs: int = runtime(-1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_jobs == 0:
            raise ConfigError("executor.n_jobs must be a number of processes, or -1 for one a processor; got 0.")

    def _workers(self) -> int:
        return self.n_jobs


@dataclass(frozen=True)
class Sequential(Executor):
    """One job after the other in this process."""

    def _workers(self) -> int:
        return 1


@dataclass(frozen=True)
class Dask(Executor):
    """A Dask cluster: the scheduler at `address`, or one started on this machine. timeout: seconds to wait for it."""

    address: str | None = runtime(None)
    timeout: float = runtime(10.0)

    def _workers(self) -> int:
        return -1

    @contextmanager
    def _backend(self) -> Iterator[None]:
        try:
            import distributed
        except ModuleNotFoundError as error:
            raise UnavailableError('executor=dask needs Dask: pip install "bmx-grid[dask]".') from error
        from joblib import parallel_config

        try:
            at = {"address": self.address, "timeout": self.timeout}
            own = {"dashboard_address": None}
            client = distributed.Client(**(own if self.address is None else at))
        except (OSError, ValueError) as error:
            raise UnavailableError(
                f"executor.address={self.address}: no Dask scheduler answers there ({error}). "
                "Start one with `dask scheduler`, or leave the address out."
            ) from error
        with client, parallel_config("dask"):
            yield
