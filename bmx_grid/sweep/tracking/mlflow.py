"""The MLflow edge of a sweep: opens the store, limits its waiting, gives up with one warning when the store is lost.

Only the main process tracks. `runs` defines what is in a run, `database` what is special about SQLite.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import math
import os
import shlex
import socket
import sqlite3
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bmx_grid._version import __version__
from bmx_grid.errors import ConfigError, StoreError
from bmx_grid.identity import runtime
from bmx_grid.masking import masked_address
from bmx_grid.segments import SegmentSet
from bmx_grid.sweep.results import SettingResult
from bmx_grid.sweep.settings import Refused
from bmx_grid.sweep.tracking.attendant import Attendant, Unanswered
from bmx_grid.sweep.tracking.base import Status, Tracker, ending
from bmx_grid.sweep.tracking.database import (
    OTHERS_SECONDS,
    REMEDY,
    SQLITE,
    held,
    holds_complete,
    path_of,
    prepare,
    shown,
)
from bmx_grid.sweep.tracking.entries import sweep_identity
from bmx_grid.sweep.tracking.runs import ALL_AT_ONCE, SweepRuns

KILLED_SECONDS = 3.0  # to close the runs after an interrupt
SECONDS_PER_CALL = 1.0  # more for each full call of a large grid; a server was measured at .3 s
LONGEST_WAIT = 3600.0
NO_ROUTE = (errno.ENETUNREACH, errno.EHOSTUNREACH)
LOST = (
    "The sweep goes on and its tables and figures are written, but nothing more is tracked; "
    "run the same command again to complete the runs; nothing is computed twice."
)


@dataclass
class MlflowTracker(Tracker):
    """Tracks in an MLflow store.

    uri: None for `mlflow.db` beside the output folder, `sqlite:///FILE`, or the http(s) address of a tracking server;
    experiment: the name under which runs are gathered; timeout: seconds that the start, each setting and the end wait
    for the store at most. Raises ConfigError for another kind of address or a time outside (0, 3600].
    """

    uri: str | None = runtime(None)
    experiment: str = runtime("bmx_grid")
    timeout: float = runtime(30.0)
    failure: str | None = field(default=None, init=False)
    _runs: SweepRuns | None = field(default=None, init=False, repr=False, compare=False)
    _attendant: Attendant | None = field(default=None, init=False, repr=False, compare=False)
    _address: str = field(default="", init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not (math.isfinite(self.timeout) and 0 < self.timeout <= LONGEST_WAIT):
            raise ConfigError(f"tracking.timeout: {self.timeout} is outside (0, {LONGEST_WAIT:g}] seconds.")
        if self.uri is not None:
            _check_address(self.uri)

    def __repr__(self) -> str:
        uri = None if self.uri is None else masked_address(self.uri)
        return f"MlflowTracker(uri={uri!r}, experiment={self.experiment!r}, timeout={self.timeout!r})"

    def is_complete(self, name: str, config: str, output_dir: Path, settings: Mapping[str, str]) -> bool:
        """Whether nothing is left to track, read from a SQLite store without MLflow; a server is not asked."""
        self._address = self._resolve(output_dir)
        with contextlib.suppress(StoreError):  # an address that cannot be used is reported by `start`
            path = path_of(self._address)
            sweep, _ = sweep_identity(name, config)
            return path is not None and holds_complete(path, self.experiment, sweep, __version__, settings)
        return False

    def start(self, name: str, config: str, output_dir: Path) -> None:
        """Find or create experiment and parent run; a server that cannot be reached or is silent is given up.

        Raises StoreError naming the store and the way out, when a file cannot be used or a server answers wrongly.
        """
        self.failure, self._runs = None, None
        self._address = address = self._resolve(output_dir)
        _quiet(self.timeout)
        self._attendant = attendant = Attendant()
        seconds, opened = self.timeout, list[SweepRuns]()
        try:
            with held(address) as path:
                if path is not None:
                    prepare(path)
                    seconds = max(self.timeout, OTHERS_SECONDS)
            artifacts = None if path is None else (path.parent / "mlruns").as_uri()

            def work() -> None:
                from mlflow import MlflowClient

                runs = SweepRuns(_Checked(MlflowClient(tracking_uri=address), attendant), address, self.timeout)
                runs.client.get_experiment_by_name(self.experiment)  # MLflow opens the store: no waiting for the lock
                opened.append(runs)
                with held(address):
                    runs.open(self.experiment, artifacts, name, config, output_dir.name)

            attendant.run(work, seconds)
            self._runs = opened[0]
        except StoreError:
            raise
        except Exception as error:  # MLflow raises many kinds of errors for what a server answers
            unreachable = None if address.startswith(SQLITE) else _unreachable(error)
            if unreachable is not None:
                self._give_up(f"MLflow's server {self._shown()} cannot be reached ({unreachable})")
            elif _is_silence(error):
                self._give_up(f"MLflow's store {self._shown()} did not answer within {seconds:g} s")
            else:
                raise StoreError(f"MLflow cannot use {self._shown()}: {_reason(error)}; {REMEDY}.") from error
        except BaseException as error:  # Ctrl-C or a signal: the caller has nothing to finish yet
            self._runs = opened[0] if opened else None
            self.finish(ending(error), [])
            raise
        finally:
            if self._runs is None:
                attendant.dismiss()

    def reads(self, sets: Iterable[SegmentSet]) -> None:
        """Data sets as inputs of the parent, and later each setting's own."""
        self._try(lambda runs: runs.read(sets), self.timeout)

    def wants_artifacts(self, result: SettingResult) -> bool:
        """Whether the setting's run is still to be made or completed."""
        return self._runs is not None and not self._runs.has(result)

    def log(self, result: SettingResult, files: Mapping[str, Path]) -> None:
        """Make or complete the setting's run; nothing when it is complete."""
        n_calls = len(result.p) * len(result.w) // ALL_AT_ONCE
        self._try(lambda runs: runs.log(result, files), self.timeout + SECONDS_PER_CALL * n_calls)

    def headline(self, numbers: Mapping[str, float], note: str, files: Sequence[Path] = ()) -> None:
        """Metrics, note and files of the parent run."""
        self._try(lambda runs: runs.headline(numbers, note, files), self.timeout)

    def analysis(self, numbers: Mapping[str, float], files: Sequence[Path]) -> None:
        """A child run called `analysis`; made anew when the numbers or a JSON file among the files have changed."""
        self._try(lambda runs: runs.analysis(numbers, files), self.timeout)

    def finish(self, status: Status, failed: Sequence[Refused]) -> None:
        """Close the runs: FINISHED, FAILED (also when settings failed) or KILLED."""
        seconds = min(self.timeout, KILLED_SECONDS) if status == "killed" else self.timeout
        try:
            self._try(lambda runs: runs.finish(status, failed), seconds)
        except BaseException as error:  # Ctrl-C or a signal, while the runs are closed
            ended = ending(error)
            self._try(lambda runs: runs.finish(ended, failed), min(self.timeout, KILLED_SECONDS))
            raise
        finally:
            self._runs = None
            if self._attendant is not None:
                self._attendant.dismiss()
                self._attendant = None

    def where(self) -> str:
        """How to open the runs in a browser; nothing where the store was given up."""
        if self.failure is not None:
            return ""
        if self._address.startswith(SQLITE):
            return f"\n  mlflow ui --backend-store-uri {shlex.quote(self._address)}"
        return f"\n  MLflow at {self._shown()}"

    def _resolve(self, output_dir: Path) -> str:
        return self.uri if self.uri is not None else f"{SQLITE}{output_dir.absolute().parent / 'mlflow.db'}"

    def _shown(self) -> str:
        return shown(masked_address(self._address))

    def _try(self, work: Callable[[SweepRuns], None], seconds: float) -> None:
        if (runs := self._runs) is None or self._attendant is None:
            return
        try:
            self._attendant.run(lambda: work(runs), seconds)
        except Exception as error:  # the sweep must not end with its tracker, whatever happens to that
            if _is_silence(error):
                self._give_up(f"MLflow's store {self._shown()} did not answer within {seconds:g} s")
            elif (unreachable := _unreachable(error)) is not None:
                self._give_up(f"MLflow's server {self._shown()} can no longer be reached ({unreachable})")
            else:
                self._give_up(f"MLflow's store {self._shown()} was lost: {_reason(error)}")

    def _give_up(self, failure: str) -> None:
        self._runs, self.failure = None, failure
        warnings.warn(f"{failure}. {LOST}", stacklevel=4)


class _Checked:
    """A client whose methods stop once the action that calls them is abandoned."""

    def __init__(self, client: Any, attendant: Attendant) -> None:
        self._client, self._attendant = client, attendant

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        def call(*given: Any, **options: Any) -> Any:
            self._attendant.check()
            return method(*given, **options)

        return call


def _check_address(uri: str) -> None:
    """Raises ConfigError for what is not an address of a store; passwords are masked in the message."""
    told = f"tracking.uri: {shown(masked_address(uri))!a}"
    if not uri.startswith((SQLITE, "http://", "https://")):
        raise ConfigError(
            f"{told} is neither {SQLITE}FILE nor the http(s):// address of an MLflow server; "
            "plain folders are no longer supported by MLflow, and other databases are reached through a server."
        )
    if uri.startswith(SQLITE):
        return
    try:
        parts = urlsplit(uri)
        usable = bool(parts.hostname) and (parts.port is None or parts.port > 0) and "@" not in parts.path
    except ValueError:  # a port or an IPv6 address that is none
        usable = False
    if not usable or not uri.isprintable() or " " in uri or parts.query or parts.fragment:
        raise ConfigError(
            f"{told} is not an address http(s)://HOST:PORT. Give user and password in the environment "
            "(MLFLOW_TRACKING_USERNAME, MLFLOW_TRACKING_PASSWORD), or with %-escapes for characters such as / and #."
        )


def _quiet(timeout: float) -> None:
    """No telemetry, no messages of MLflow on the terminal, no minutes of retries; set before MLflow is imported."""
    for name in ("MLFLOW_DISABLE_TELEMETRY", "DO_NOT_TRACK", "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT"):
        os.environ.setdefault(name, "true")
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", str(math.ceil(timeout) + 1))
    import mlflow  # noqa: F401  (it sets the levels of its loggers when imported)

    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _is_silence(error: BaseException) -> bool:
    """Whether an error comes from a store that did not answer, as opposed to one that refused."""
    return any(isinstance(one, Unanswered | TimeoutError) for one in _causes(error))


def _unreachable(error: BaseException) -> str | None:
    """Why there is no connection to a server: nothing listens there, or no such host. None where one answered."""
    for one in _causes(error):
        if isinstance(one, ConnectionRefusedError | socket.gaierror) or getattr(one, "errno", None) in NO_ROUTE:
            return getattr(one, "strerror", None) or type(one).__name__
    return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _reason(error: Exception) -> str:
    """The error's first line, with its type where the text alone may say little, without passwords."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    plain = isinstance(error, StoreError | OSError | sqlite3.Error) or type(error).__module__.startswith("mlflow.")
    if not plain or not lines:
        lines = [": ".join([type(error).__name__, *lines[:1]])]
    return masked_address(lines[0].rstrip("."))[:400]
