"""The MLflow edge: a parent run per sweep, a child run per setting, the whole grid as stepped metrics.

Only the main process tracks. A repeated sweep finds its runs by their tags and completes what is missing.
"""

from __future__ import annotations

import logging
import math
import os
import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bmx_grid.errors import ConfigError, StoreError
from bmx_grid.files import replacing
from bmx_grid.stopping import uninterrupted
from bmx_grid.sweep.plan import Refused
from bmx_grid.sweep.results import SettingResult
from bmx_grid.sweep.tracking.entries import names, parameters, points, step_scale, sweep_identity

LOCK_SECONDS = 60  # for another sweep to make its run
FOLDERS = ("figures", "tables")  # of an analysis; kept as folders of artifacts
BATCH = 1000  # metrics a call: MLflow's limit
TABLES = ("config.yaml", "grid.parquet", "settings.parquet", "settings.csv")  # kept with the parent run
SQLITE = "sqlite:///"
REMEDY = "name another store (tracking.uri=sqlite:///FILE or http://HOST:PORT) or run without one (tracking=none)"


class Tracker:
    """Watches a sweep from outside: start, then log for every result, then finish. This one lets it pass.

    failure: why tracking was given up in mid-sweep, None while all is well. Results are never lost by it.
    """

    failure: str | None = None

    def start(self, name: str, config: str, output_dir: Path) -> None:
        """Open the sweep called `name`; `config` is its whole configuration as YAML.

        Raises BmxError when the store cannot be reached or written: nothing has been computed yet.
        """

    def wants_artifacts(self, result: SettingResult) -> bool:
        """Whether `log` would take this result's files: False when it has them already."""
        return False

    def log(self, result: SettingResult, figure: Path, table: Path) -> None:
        """Record a result with its figure and its grid's Parquet file. Never raises for a store that is lost."""

    def finish(self, output_dir: Path, failed: Sequence[Refused]) -> None:
        """Close the sweep with the tables in `output_dir`. Never raises for a store that is lost."""

    def record(self, numbers: Mapping[str, float], files: Sequence[Path]) -> None:
        """Give the sweep the results of its analysis. Never raises for a store that is lost."""

    def where(self) -> str:
        """What to say at the end of a sweep of how to look at the runs, from its line break on; or nothing."""
        return ""


@dataclass
class NoTracker(Tracker):
    """Tracks nothing, needs nothing."""


@dataclass
class MlflowTracker(Tracker):
    """Tracks in an MLflow store.

    uri: None for `mlflow.db` beside the output folder, `sqlite:///FILE`, or the http(s) address of a tracking
    server; experiment: the name under which runs are gathered. Raises ConfigError for another kind of address.
    """

    uri: str | None = None
    experiment: str = "bmx_grid"
    failure: str | None = field(default=None, init=False)
    _sweep: _Sweep | None = field(default=None, init=False, repr=False)
    _address: str = field(default="", init=False, repr=False)

    def __post_init__(self) -> None:
        if self.uri is not None and not self.uri.startswith((SQLITE, "http://", "https://")):
            raise ConfigError(
                f"tracking.uri: '{self.uri}' is neither {SQLITE}FILE nor the http(s):// address of an MLflow server; "
                "plain folders are no longer supported by MLflow, and other databases are reached through a server."
            )

    def start(self, name: str, config: str, output_dir: Path) -> None:
        """Find or create experiment and parent run. Raises StoreError naming the store and the way out."""
        self.failure, self._sweep = None, None
        folder = output_dir.absolute().parent
        self._address = self.uri if self.uri is not None else f"{SQLITE}{folder / 'mlflow.db'}"
        _quiet()
        try:
            with uninterrupted(), _locked(self._address) as path:  # else a run might be open that nobody knows of
                if path is not None:
                    _prepare_sqlite(path)
                artifacts = None if path is None else (path.parent / "mlruns").as_uri()
                self._sweep = _Sweep.open(self._address, self.experiment, artifacts, name, config)
        except _store_errors() as error:
            raise StoreError(f"MLflow cannot use {self._address}: {_reason(error)}; {REMEDY}.") from error

    def wants_artifacts(self, result: SettingResult) -> bool:
        """Whether the setting's run is still to be made or completed."""
        return self._sweep is not None and not self._sweep.has(result)

    def log(self, result: SettingResult, figure: Path, table: Path) -> None:
        """Make or complete the setting's run; nothing when it is complete. A lost store is warned of once."""
        self._try(lambda sweep: sweep.log(result, (figure, table)))

    def finish(self, output_dir: Path, failed: Sequence[Refused]) -> None:
        """Give the parent run its tables and status. A lost store is warned of once."""
        self._try(lambda sweep: sweep.finish([output_dir / name for name in TABLES], failed))

    def record(self, numbers: Mapping[str, float], files: Sequence[Path]) -> None:
        """Numbers as metrics of the parent run, files as its artifacts. A lost store is warned of once."""
        self._try(lambda sweep: sweep.record(numbers, files))

    def where(self) -> str:
        """How to open the runs in a browser."""
        local = self._address.startswith(SQLITE)
        return f"\n  mlflow ui --backend-store-uri {self._address}" if local else f"\n  MLflow at {self._address}"

    def _try(self, action: Callable[[_Sweep], None]) -> None:
        try:
            if self._sweep is not None:
                with uninterrupted():  # a run of MLflow's is made and closed in several calls
                    action(self._sweep)
        except _store_errors() as error:
            self._sweep = None
            self.failure = f"MLflow's store {self._address} was lost: {_reason(error)}"
            warnings.warn(
                f"{self.failure}. The sweep goes on and its tables and figures are written, but nothing more is "
                "tracked; run the same command again to complete the runs, it computes nothing twice.",
                stacklevel=3,
            )


@dataclass
class _Sweep:
    """An open parent run. `children` are the runs below it, by label and fingerprint of their setting."""

    client: Any
    address: str
    experiment_id: str
    fingerprint: str
    parent: Any
    children: dict[tuple[str, str], Any]

    @classmethod
    def open(cls, address: str, experiment: str, artifacts: str | None, name: str, config: str) -> _Sweep:
        """One search gives the parent and all children of an earlier run of the same sweep."""
        from mlflow import MlflowClient
        from mlflow.entities import Param

        client = MlflowClient(tracking_uri=address)
        experiment_id = _experiment(client, experiment, artifacts)
        fingerprint, params = sweep_identity(name, config)
        runs = client.search_runs([experiment_id], f"tags.sweep = '{fingerprint}'", max_results=10_000)
        parent = next((run for run in runs if "setting" not in run.data.tags), None)
        if parent is None:
            parent = client.create_run(experiment_id, run_name=name, tags={"sweep": fingerprint, "sweep_name": name})
        run_id = parent.info.run_id
        client.update_run(run_id, status="RUNNING")
        client.log_batch(run_id, params=[Param(*item) for item in params.items() if item[0] not in parent.data.params])
        children = {
            (run.data.tags["setting"], run.data.tags["fingerprint"]): run for run in runs if "setting" in run.data.tags
        }
        return cls(client, address, experiment_id, fingerprint, parent, children)

    def has(self, result: SettingResult) -> bool:
        """Whether the setting's run is there with everything in it."""
        child = self.children.get((result.label, result.fingerprint))
        return child is not None and child.data.tags.get("complete") == "true"

    def log(self, result: SettingResult, artifacts: Sequence[Path]) -> None:
        """Make the setting's run, or complete one that was cut off: what is repeated there is an exact duplicate."""
        from mlflow.entities import Metric, Param, RunTag

        if self.has(result):
            return
        child = self.children.get((result.label, result.fingerprint))
        if child is None:
            with _locked(self.address):  # the same sweep in another process may be about to make this run
                child = self._made_meanwhile(result) or self._create(result)
            self.children[result.label, result.fingerprint] = child
        run_id, started = child.info.run_id, child.info.start_time
        entries, n_left_out = points(result)
        metrics = [Metric(key, value, started, step) for key, value, step in entries]
        params = [Param(key, value) for key, value in parameters(result).items() if key not in child.data.params]
        spent = {"seconds": f"{result.seconds:.3f}", "texts": result.n_texts, "texts_cut": result.texts_cut}
        tags = {"non_finite": n_left_out, **spent}
        self.client.log_batch(run_id, params=params, tags=[RunTag(key, str(value)) for key, value in tags.items()])
        for first in range(0, len(metrics), BATCH):
            self.client.log_batch(run_id, metrics=metrics[first : first + BATCH])
        for path in artifacts:
            self.client.log_artifact(run_id, str(path))
        self.client.set_terminated(run_id)
        self.client.set_tag(run_id, "complete", "true")
        child.data.tags["complete"] = "true"

    def _made_meanwhile(self, result: SettingResult) -> Any:
        wanted = f"tags.sweep = '{self.fingerprint}' and tags.fingerprint = '{result.fingerprint}'"
        found = self.client.search_runs([self.experiment_id], wanted)
        return next((run for run in found if run.data.tags["setting"] == result.label), None)

    def _create(self, result: SettingResult) -> Any:
        tags = {
            "mlflow.parentRunId": self.parent.info.run_id,
            "sweep": self.fingerprint,
            "setting": result.label,
            "fingerprint": result.fingerprint,
            "signature": result.signature,
            "step": f"{step_scale(result)} x p",
            **names(result),
        }
        child = self.client.create_run(self.experiment_id, run_name=result.label, tags=tags)
        for (label, fingerprint), other in self.children.items():
            if label == result.label and fingerprint != result.fingerprint:
                self.client.set_tag(other.info.run_id, "superseded_by", child.info.run_id)
        return child

    def record(self, numbers: Mapping[str, float], files: Sequence[Path]) -> None:
        """What a repeated sweep finds unchanged is not sent again."""
        from mlflow.entities import Metric

        run_id, now = self.parent.info.run_id, int(time.time() * 1000)
        legal = {re.sub(r"[^\w\-. :/]", "_", name): value for name, value in numbers.items() if math.isfinite(value)}
        news = [
            Metric(name, value, now, 0) for name, value in legal.items() if self.parent.data.metrics.get(name) != value
        ]
        for first in range(0, len(news), BATCH):
            self.client.log_batch(run_id, metrics=news[first : first + BATCH])
        for path in files:
            self.client.log_artifact(run_id, str(path), path.parent.name if path.parent.name in FOLDERS else None)

    def finish(self, tables: Sequence[Path], failed: Sequence[Refused]) -> None:
        """Tables, a description and the status of the parent; each replaces what an earlier run left."""
        run_id = self.parent.info.run_id
        for path in tables:
            if path.is_file():
                self.client.log_artifact(run_id, str(path))
        n_logged = len({key[0] for key, run in self.children.items() if run.data.tags.get("complete") == "true"})
        note = [f"{n_logged} settings, {len(failed)} failed.", *(f"- {one.label}: {one.reason}" for one in failed)]
        self.client.set_tag(run_id, "mlflow.note.content", "\n".join(note)[:8000])
        self.client.set_tag(run_id, "failed", str(len(failed)))
        self.client.set_terminated(run_id, status="FAILED" if failed else "FINISHED")


def _experiment(client: Any, name: str, artifacts: str | None) -> str:
    """The experiment's id; created when there is none, which another machine may do at the same time."""
    from mlflow.exceptions import MlflowException

    found = client.get_experiment_by_name(name)
    if found is None:
        with suppress(MlflowException):  # "already exists": the next line finds it, or says what is wrong
            kind = {"mlflow.experimentKind": "custom_model_development"}
            return str(client.create_experiment(name, artifact_location=artifacts, tags=kind))
        found = client.get_experiment_by_name(name)
    if found is None or found.lifecycle_stage != "active":
        raise StoreError(
            f"MLflow experiment '{name}' cannot be created or was deleted: restore it (mlflow experiments restore) "
            "or choose another name (tracking.experiment=NAME)."
        )
    return str(found.experiment_id)


@contextmanager
def _locked(address: str) -> Iterator[Path | None]:
    """The file of a SQLite store, held against other sweeps that would create it too; None for a server."""
    if not address.startswith(SQLITE):
        yield None
        return
    from filelock import FileLock, Timeout

    if set("%?") & set(address):  # MLflow reads them as parts of an address and would open another file
        raise StoreError(f"MLflow cannot use {address}: its path has a % or ? in it; {REMEDY}.")
    path = Path(address.removeprefix(SQLITE)).absolute()
    if path.name == ":memory:" or (path.exists() and not path.is_file()):
        raise StoreError(f"MLflow cannot use {address}: it is no file that could be kept; {REMEDY}.")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(path.parent / f".{path.name}.lock", timeout=LOCK_SECONDS):
            yield path
    except Timeout as error:
        raise StoreError(
            f"MLflow cannot use {address}: its lock was not free for {LOCK_SECONDS} s, or cannot be made; {REMEDY}."
        ) from error


def _prepare_sqlite(path: Path) -> None:
    """Create the database, or check that it can be written, before MLflow tries: it would retry for minutes.

    MLflow builds the tables in dozens of migrations; done elsewhere and moved here in one step, a killed
    sweep cannot leave half a database.
    """
    import sqlite3
    import tempfile

    from mlflow import MlflowClient

    if path.exists() and (path.is_dir() or path.stat().st_size > 0):
        with closing(sqlite3.connect(path, timeout=20)) as database:
            database.execute("BEGIN IMMEDIATE")
            database.rollback()
        return
    with tempfile.TemporaryDirectory(prefix=".mlflow-", dir=path.parent) as folder:
        fresh = Path(folder) / path.name
        MlflowClient(tracking_uri=f"{SQLITE}{fresh}").search_experiments(max_results=1)
        with replacing(path) as part, closing(sqlite3.connect(fresh)) as made, closing(sqlite3.connect(part)) as copy:
            made.backup(copy)


def _quiet() -> None:
    """No telemetry, no messages of MLflow on the terminal, no minutes of retries; set before MLflow is imported."""
    for name in ("MLFLOW_DISABLE_TELEMETRY", "DO_NOT_TRACK", "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT"):
        os.environ.setdefault(name, "true")
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
    import mlflow  # noqa: F401  (it sets the levels of its loggers when imported)

    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _store_errors() -> tuple[type[Exception], ...]:
    import sqlite3

    from mlflow.exceptions import MlflowException
    from requests import RequestException
    from sqlalchemy.exc import SQLAlchemyError

    return MlflowException, SQLAlchemyError, sqlite3.Error, RequestException, OSError


def _reason(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return lines[0].strip().rstrip(".")[:400]
