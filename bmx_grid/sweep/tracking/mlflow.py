"""Tracking in MLflow: a run of the sweep, and below it a run for each setting. Only the main process tracks.

A repeated sweep finds its runs by their tags and completes what is missing, so nothing is there twice. A server that
does not answer is given up after MLflow's own timeout and retries, a database that is locked after SQLite's.
"""

from __future__ import annotations

import errno
import logging
import math
import os
import re
import shlex
import socket
import sqlite3
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from bmx_grid._version import __version__
from bmx_grid.errors import ConfigError, StoreError
from bmx_grid.identity import runtime
from bmx_grid.masking import masked_address
from bmx_grid.segments import SegmentSet
from bmx_grid.stopping import uninterrupted
from bmx_grid.storage.files import remove_abandoned, replacing
from bmx_grid.sweep.results import SettingResult
from bmx_grid.sweep.settings import Refused
from bmx_grid.sweep.tracking.base import Status, Tracker
from bmx_grid.sweep.tracking.entries import (
    finite,
    input_of,
    parameters,
    points,
    setting_note,
    source,
    step_scale,
    sweep_identity,
    sweep_title,
)
from bmx_grid.wording import counted, shortened

SQLITE = "sqlite:///"
LONGEST_WAIT = 3600.0
LOCK_SECONDS = 180.0  # for another sweep to make the database: seconds of work, a minute where four share a busy core
BUSY_SECONDS = 20.0  # for another process to end its transaction; MLflow waits equally long
ALL_AT_ONCE, PARAMS_AT_ONCE = 1000, 100  # entries of a call, and of these parameters: MLflow's limits
LONGEST_TAG = 8000  # characters: MLflow's limit
FOLDERS = ("figures", "tables", "recipes")  # kept as folders of artifacts
# MLflow's own first page is for language models; this one has the runs.
RUNS = "http://127.0.0.1:5000/#/experiments/{}/runs?workflowType=machine_learning"
NO_ROUTE = (errno.ENETUNREACH, errno.EHOSTUNREACH)
REMEDY = "name another store (tracking.uri=sqlite:///FILE or http://HOST:PORT) or run without one (tracking=none)"
LOST = (
    "The sweep goes on and its tables and figures are written, but nothing more is tracked; "
    "run the same command again to complete the runs; nothing is computed twice."
)


@dataclass
class MlflowTracker(Tracker):
    """Tracks in an MLflow store.

    uri: None for `mlflow.db` beside the output folder, `sqlite:///FILE`, or the http(s) address of a tracking server;
    experiment: the name under which runs are gathered; timeout: seconds that a request to a server may take, which is
    tried twice. Raises ConfigError for another kind of address or a time outside (0, 3600].
    """

    uri: str | None = runtime(None)
    experiment: str = runtime("bmx_grid")
    timeout: float = runtime(30.0)
    _address: str = field(default="", init=False, repr=False, compare=False)
    _client: Any = field(default=None, init=False, repr=False, compare=False)  # None when there is nothing to track to
    _sweep: str = field(default="", init=False, repr=False, compare=False)
    _parent: Any = field(default=None, init=False, repr=False, compare=False)
    _settings: Any = field(default=None, init=False, repr=False, compare=False)  # runs by label and fingerprint
    _inputs: Any = field(default=None, init=False, repr=False, compare=False)
    _source: Any = field(default=None, init=False, repr=False, compare=False)
    _note: str = field(default="", init=False, repr=False, compare=False)

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
        sweep, _ = sweep_identity(name, config)
        runs: list[dict[str, str]] = []
        with suppress(StoreError, sqlite3.Error):  # what is wrong with the store is reported by `start`
            if (path := _path_of(self._address)) is not None and path.is_file():
                runs = _finished_runs(path, self.experiment, sweep)
        tracked = {(run.get("setting"), run.get("fingerprint")) for run in runs}
        whole = any(run.get("kind") == "sweep" and run.get("version") == __version__ for run in runs)
        return whole and tracked >= set(settings.items())

    def start(self, name: str, config: str, output_dir: Path) -> None:
        """Find or create experiment and parent run; a server that cannot be reached or is silent is given up.

        Raises StoreError naming the store and the way out, when a file cannot be used or a server answers wrongly.
        """
        self.failure, self._client, self._note = None, None, ""
        self._address = self._resolve(output_dir)
        path = _path_of(self._address)
        _quiet(self.timeout)
        try:
            if path is None:
                self._open(name, config, output_dir, None)
            else:
                with _locked(path), uninterrupted():
                    _prepare(path)
                    self._open(name, config, output_dir, (path.parent / "mlruns").as_uri())
        except StoreError:
            raise
        except Exception as error:  # MLflow raises many kinds of errors for what a server answers
            silence = _no_answer(error, self.timeout) if path is None else None
            if silence is None:
                raise StoreError(f"MLflow cannot use {self._shown()}: {_reason(error)}; {REMEDY}.") from error
            self._give_up(f"MLflow's server {self._shown()} {silence}")

    def _open(self, name: str, config: str, output_dir: Path, artifacts: str | None) -> None:
        """Find or make the parent; one search gives it and all runs below it of an earlier run of the same sweep.

        artifacts: where the files of a new experiment go; None for where the server keeps them.
        """
        from mlflow import MlflowClient
        from mlflow.entities import Param, RunTag

        client = MlflowClient(tracking_uri=self._address)
        self._source, self._inputs = source(), {}
        self._sweep, params = sweep_identity(name, config)
        experiment = _experiment(client, self.experiment, artifacts)
        self._parent, self._settings = None, defaultdict[str, dict[str, Any]](dict)
        for run in client.search_runs([experiment], f"tags.sweep = '{self._sweep}'", max_results=10_000):
            if run.data.tags.get("kind") == "setting":
                self._settings[run.data.tags["setting"]][run.data.tags["fingerprint"]] = run
            else:
                self._parent = run
        self._client = client
        if self._parent is None:
            tags = {"sweep": self._sweep, "sweep_name": name, "kind": "sweep"}
            self._parent = client.create_run(experiment, run_name=sweep_title(name, params, output_dir.name), tags=tags)
        client.update_run(self._parent.info.run_id, status="RUNNING")
        client.log_batch(
            self._parent.info.run_id,
            params=[Param(*item) for item in params.items() if item[0] not in self._parent.data.params],
            tags=[RunTag(*item) for item in {"version": __version__, **self._source}.items()],
        )

    def reads(self, sets: Iterable[SegmentSet]) -> None:
        """Data sets as inputs of the parent, and later each setting's own."""
        self._try(lambda: self._read(sets))

    def _read(self, sets: Iterable[SegmentSet]) -> None:
        for segments in sets:
            key = segments.dataset, segments.language_pair
            if key not in self._inputs:
                self._inputs[key] = input_of(segments)
        if self._inputs:
            self._client.log_inputs(self._parent.info.run_id, datasets=list(self._inputs.values()))

    def log(self, result: SettingResult) -> None:
        """Make or complete the setting's run; nothing when it is complete."""
        self._try(lambda: self._log(result))

    def _log(self, result: SettingResult) -> None:
        runs = self._settings[result.label]
        entries, n_left_out = points(result)
        if result.fingerprint not in runs:
            tags = {
                "mlflow.parentRunId": self._parent.info.run_id,
                "mlflow.note.content": setting_note(result),
                "sweep": self._sweep,
                "kind": "setting",
                "setting": result.label,
                "fingerprint": result.fingerprint,
                "signature": result.signature[:LONGEST_TAG],
                "step": f"{step_scale(result)} x p",
                "non_finite": str(n_left_out),
                "seconds": f"{result.seconds:.3f}",
                "texts": str(result.n_texts),
                "texts_truncated": str(result.n_truncated),
            }
            experiment = self._parent.info.experiment_id
            runs[result.fingerprint] = self._client.create_run(
                experiment, run_name=result.label, tags={**tags, **self._source}
            )
        run = runs[result.fingerprint]
        self._supersede(runs.values(), run)
        if run.info.status == "FINISHED":
            return
        if (data := self._inputs.get(result.names[:2])) is not None:
            self._client.log_inputs(run.info.run_id, datasets=[data])
        # Times follow from the run's, so that what is repeated after an interrupt is an exact duplicate.
        self._send(run, entries, run.info.start_time, parameters(result))
        self._client.set_terminated(run.info.run_id)

    def _supersede(self, runs: Iterable[Any], present: Any) -> None:
        """Mark which of several runs of a setting holds the present result; it may be an earlier one again."""
        for run in runs:
            by = "" if run is present else present.info.run_id
            if run.data.tags.get("superseded_by", "") != by:
                self._client.set_tag(run.info.run_id, "superseded_by", by)
                run.data.tags["superseded_by"] = by

    def analysis(self, numbers: Mapping[str, float], files: Sequence[Path]) -> None:
        """Metrics and files of the parent run."""
        self._try(lambda: self._add(numbers, files))

    def headline(
        self, numbers: Mapping[str, float], note: str, files: Sequence[Path] = (), answers: Sequence[str] = ()
    ) -> None:
        """Metrics, description, files and the tag `answer` of the parent run."""
        self._note = note
        self._try(lambda: self._add(numbers, files, "\n".join(answers)))

    def _add(self, numbers: Mapping[str, float], files: Sequence[Path], answer: str = "") -> None:
        """Numbers that changed, and files, of the parent run."""
        known, run_id = self._parent.data.metrics, self._parent.info.run_id
        changed = [(name, value, 0) for name, value in finite(numbers).items() if known.get(name) != value]
        self._send(self._parent, changed, int(time.time() * 1000))
        if answer:
            self._client.set_tag(run_id, "answer", shortened(answer, LONGEST_TAG))
        for path in files:
            if path.is_file():
                folder = path.parent.name
                self._client.log_artifact(run_id, str(path), folder if folder in FOLDERS else None)

    def finish(self, status: Status, failed: Sequence[Refused]) -> None:
        """Close the runs: FINISHED, FAILED (also when settings failed) or KILLED."""
        self._try(lambda: self._finish(status, failed))
        self._client = None

    def _finish(self, status: Status, failed: Sequence[Refused]) -> None:
        from mlflow.entities import RunTag

        run_id, experiment = self._parent.info.run_id, self._parent.info.experiment_id
        ended = {"finished": "FAILED" if failed else "FINISHED", "failed": "FAILED", "killed": "KILLED"}[status]
        if status != "finished":
            wanted = f"tags.sweep = '{self._sweep}' and tags.kind = 'setting' and attributes.status = 'RUNNING'"
            for run in self._client.search_runs([experiment], wanted):
                self._client.set_terminated(run.info.run_id, status=ended)
        note = [self._note or f"{counted(len(self._settings), 'setting')} tracked, {len(failed)} failed.", ""]
        note += [f"- failed: {refused.label}: {refused.reason}" for refused in failed]
        tags = {"mlflow.note.content": shortened("\n".join(note).strip(), LONGEST_TAG), "failed": str(len(failed))}
        self._client.log_batch(run_id, tags=[RunTag(*item) for item in tags.items()])
        self._client.set_terminated(run_id, status=ended)

    def where(self) -> str:
        """How to open the runs in a browser; nothing where the store was given up."""
        if self.failure is not None:
            return ""
        if self._address.startswith(SQLITE):
            command = f"\n  mlflow ui --backend-store-uri {shlex.quote(self._address)}"
            return command if self._parent is None else f"{command}\n  {RUNS.format(self._parent.info.experiment_id)}"
        return f"\n  MLflow at {self._shown()}"

    def _send(
        self, run: Any, entries: Sequence[tuple[str, float, int]], when: int, params: Mapping[str, str] | None = None
    ) -> None:
        """Metrics and parameters in as few calls as MLflow allows.

        when: milliseconds of the first step; every later step is one later, because MLflow's page of a metric draws
        over time until it is set to steps, and points of one time are a vertical line there.
        """
        from mlflow.entities import Metric, Param

        first = min((step for *_, step in entries), default=0)
        metrics = [Metric(key, value, when + step - first, step) for key, value, step in entries]
        rest = [Param(*item) for item in (params or {}).items() if item[0] not in run.data.params]
        while metrics or rest:
            some, rest = rest[:PARAMS_AT_ONCE], rest[PARAMS_AT_ONCE:]
            room = ALL_AT_ONCE - len(some)
            self._client.log_batch(run.info.run_id, metrics=metrics[:room], params=some)
            metrics = metrics[room:]

    def _resolve(self, output_dir: Path) -> str:
        return self.uri if self.uri is not None else f"{SQLITE}{output_dir.absolute().parent / 'mlflow.db'}"

    def _shown(self) -> str:
        return _shown(masked_address(self._address))

    def _try(self, work: Callable[[], None]) -> None:
        """Do it, if the store is there; a signal waits for a write to a local database, not for a server."""
        if self._client is None:
            return
        try:
            with uninterrupted() if self._address.startswith(SQLITE) else nullcontext():
                work()
        except Exception as error:  # the sweep must not end with its tracker, whatever happens to that
            lost = f"was lost: {_reason(error)}"
            self._give_up(f"MLflow's store {self._shown()} {_no_answer(error, self.timeout) or lost}")

    def _give_up(self, failure: str) -> None:
        self._client, self.failure = None, failure
        warnings.warn(f"{failure}. {LOST}", stacklevel=4)


def _experiment(client: Any, name: str, artifacts: str | None) -> str:
    """The experiment's id; created when there is none, which another machine may do at the same time."""
    from mlflow.exceptions import MlflowException

    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        with suppress(MlflowException):  # "already exists": the next line finds it, or says what is wrong
            tags = {"mlflow.experimentKind": "custom_model_development"}
            client.create_experiment(name, artifact_location=artifacts, tags=tags)
        experiment = client.get_experiment_by_name(name)
    if experiment is None or experiment.lifecycle_stage != "active":
        raise StoreError(
            f"MLflow experiment {name!a} cannot be created or was deleted: restore it (mlflow experiments restore) "
            "or choose another name (tracking.experiment=NAME)."
        )
    return str(experiment.experiment_id)


def _check_address(uri: str) -> None:
    """Raises ConfigError for what is not an address of a store; passwords are masked in the message."""
    option = f"tracking.uri: {_shown(masked_address(uri))!a}"
    if not uri.startswith((SQLITE, "http://", "https://")):
        raise ConfigError(
            f"{option} is neither {SQLITE}FILE nor the http(s):// address of an MLflow server; "
            "plain folders are no longer supported by MLflow, and other databases are reached through a server."
        )
    if uri.startswith(SQLITE):
        return
    try:
        parts = urlsplit(uri)
        usable = bool(parts.hostname) and (parts.port is None or parts.port > 0) and "@" not in parts.path
    except ValueError:  # a malformed port or IPv6 address
        usable = False
    if not usable or not uri.isprintable() or " " in uri or parts.query or parts.fragment:
        raise ConfigError(
            f"{option} is not an address http(s)://HOST:PORT. Give user and password in the environment "
            "(MLFLOW_TRACKING_USERNAME, MLFLOW_TRACKING_PASSWORD), or with %-escapes for characters such as / and #."
        )


def _path_of(address: str) -> Path | None:
    """The file of a SQLite store; None for a server. Raises StoreError for a name that MLflow would read as another."""
    if not address.startswith(SQLITE):
        return None
    path = Path(address.removeprefix(SQLITE)).absolute()
    if re.search("[%?\x00-\x1f\x7f\ud800-\udfff]", address):
        raise StoreError(
            f"MLflow cannot use {_shown(address)!a}: its path has a %, a ? or an unprintable character in it; {REMEDY}."
        )
    return path


def _locked(path: Path) -> Any:
    """The lock of a SQLite store against other sweeps that would make or open it. Raises StoreError, OSError."""
    from filelock import FileLock

    if path.name in ("", ":memory:") or (path.exists() and not path.is_file()):
        raise StoreError(f"MLflow cannot use {_shown(str(path))}: it is not a permanent file; {REMEDY}.")
    path.parent.mkdir(parents=True, exist_ok=True)
    return FileLock(path.parent / f".{path.name}.lock", timeout=LOCK_SECONDS)


def _prepare(path: Path) -> None:
    """Create the database in one step, or check that it is MLflow's and can be written; the caller has locked it.

    MLflow builds its tables in dozens of migrations: a sweep killed meanwhile must not leave half of them. The check
    comes before MLflow tries, because MLflow would retry for minutes. Raises sqlite3.Error, OSError, StoreError.
    """
    from mlflow import MlflowClient

    remove_abandoned(path.parent)
    if not path.exists() or path.stat().st_size == 0:
        with replacing(path) as part:
            MlflowClient(tracking_uri=f"{SQLITE}{part}").search_experiments(max_results=1)
        return
    with closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as database:
        database.execute("BEGIN IMMEDIATE")
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if tables and not {"experiments", "runs"} <= tables:
        raise StoreError(f"MLflow cannot use {path}: it is a database of another program; {REMEDY}.")


def _finished_runs(path: Path, experiment: str, sweep: str) -> list[dict[str, str]]:
    """The tags of the sweep's present runs that are finished, not deleted, with their files, or none, there.

    Reads MLflow's tables with sqlite3, which takes milliseconds where importing MLflow takes seconds.
    """
    query = (
        "SELECT runs.run_uuid, runs.artifact_uri, tags.key, tags.value FROM runs "
        "JOIN experiments USING (experiment_id) JOIN tags USING (run_uuid) JOIN tags AS sweep USING (run_uuid) "
        "WHERE sweep.key = 'sweep' AND sweep.value = ? AND experiments.name = ? AND runs.status = 'FINISHED' "
        "AND runs.lifecycle_stage = 'active' AND experiments.lifecycle_stage = 'active'"
    )
    runs: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=1)) as database:
        for run, artifacts, key, value in database.execute(query, (sweep, experiment)):
            runs[run, artifacts][key] = value
    return [
        tags
        for (_, artifacts), tags in runs.items()
        if not tags.get("superseded_by") and (tags.get("kind") != "sweep" or _has_files(artifacts))
    ]


def _has_files(artifacts: str) -> bool:
    """Whether the folder of a run's files is there; True for one that is not on this machine."""
    parts = urlsplit(artifacts)
    return parts.scheme not in ("", "file") or Path(unquote(parts.path)).is_dir()


def _quiet(timeout: float) -> None:
    """No telemetry, no messages of MLflow on the terminal, no minutes of retries; set before MLflow is imported."""
    for name in ("MLFLOW_DISABLE_TELEMETRY", "DO_NOT_TRACK", "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT"):
        os.environ.setdefault(name, "true")
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
    os.environ.setdefault("MLFLOW_HTTP_RESPECT_RETRY_AFTER_HEADER", "false")
    os.environ["MLFLOW_HTTP_REQUEST_TIMEOUT"] = str(math.ceil(timeout))
    import mlflow  # noqa: F401  (it sets the levels of its loggers when imported)

    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _no_answer(error: BaseException | None, timeout: float) -> str | None:
    """What is said of a store that did not answer, or is not there; None where it answered."""
    while error is not None:
        if isinstance(error, TimeoutError):
            return f"did not answer within {timeout:g} s"
        if isinstance(error, ConnectionRefusedError | socket.gaierror) or getattr(error, "errno", None) in NO_ROUTE:
            return f"cannot be reached ({getattr(error, 'strerror', None) or type(error).__name__})"
        error = error.__cause__ or error.__context__
    return None


def _reason(error: Exception) -> str:
    """The error's first line, with its type where the text alone may say little, without passwords."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    plain = isinstance(error, OSError | sqlite3.Error) or type(error).__module__.startswith("mlflow.")
    if not plain or not lines:
        lines = [": ".join([type(error).__name__, *lines[:1]])]
    return masked_address(lines[0].rstrip("."))[:400]


def _shown(address: str) -> str:
    """An address as it appears in messages: very long ones are shortened in the middle."""
    return address if len(address) <= 300 else f"{address[:200]} … {address[-60:]}"
