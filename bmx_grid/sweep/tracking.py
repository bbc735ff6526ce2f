"""Tracking watches a sweep from outside, which never depends on it: in MLflow a run, and below it one per setting.

Only the main process tracks. A repeated sweep finds its runs by their tags and completes what is missing, so nothing is
there twice. Whatever goes wrong with a store is one warning, and the sweep goes on without it.
"""

from __future__ import annotations

import logging
import math
import os
import re
import shlex
import sqlite3
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bmx_grid._version import __version__
from bmx_grid.core.errors import ConfigError, StoreError
from bmx_grid.core.identity import RUNTIME, digest, runtime
from bmx_grid.core.stopping import uninterrupted
from bmx_grid.core.storage import remove_abandoned, replacing
from bmx_grid.core.wording import counted, masked_address, masked_argument, shortened, visible
from bmx_grid.sweep.mlflow_answers import bounded_answers
from bmx_grid.sweep.output import RUNTIME_KEYS
from bmx_grid.sweep.results import SettingResult
from bmx_grid.sweep.settings import Refused

Entry = tuple[str, float, int]  # of a metric of MLflow's: name, value, step

LAYOUT = 5  # of the runs and their names; part of a sweep's identity, so that no run mixes two layouts
SQLITE = "sqlite:///"
LONGEST_WAIT = 3600.0
LOCK_SECONDS = 180.0  # for another sweep to make the database: seconds of work, a minute where four share a busy core
BUSY_SECONDS = 20.0  # for another process to end its transaction; MLflow waits equally long
TRIES = 2  # of a request to a server
AT_ONCE = 1000  # metrics of a call: MLflow's limit
LONGEST_TAG, LONGEST_NAME = 8000, 250  # characters: MLflow's limits
LONGEST_COMMAND = 5000  # characters: older servers refuse longer tags
FOLDERS = ("figures", "tables", "recipes")  # kept as folders of artifacts
LOST = (
    "The sweep goes on and its tables and figures are written, but nothing more is tracked; run the same command again "
    "to complete the runs (nothing is computed twice), name another store (tracking.uri=sqlite:///FILE or "
    "http://HOST:PORT), or run without one (tracking=none)."
)


@dataclass
class Tracker:
    """Watches a sweep: start, then log for every result, then headline, then finish.

    This one tracks nothing. No method raises for a store that is lost, refuses or does not answer: it warns once, in
    one line, keeps the reason in `failure`, and lets the sweep go on.

    failure: why tracking was given up, None while all is well.
    """

    failure: str | None = field(default=None, init=False)

    def store(self, output_dir: Path) -> str:
        """Which store a sweep is tracked in, by address and experiment, to compare with another run's; "" for none."""
        return ""

    def start(self, name: str, config: str, output_dir: Path) -> None:
        """Open the sweep called `name`; `config` is its whole configuration as YAML, without passwords."""

    def log(self, result: SettingResult) -> None:
        """Record a result, with every correlation of its grid."""

    def headline(self, numbers: Mapping[str, float], note: str, files: Sequence[Path], answers: Sequence[str]) -> None:
        """Numbers about the whole sweep and its analysis, a summary in Markdown for a person, and the sweep's files.

        Files below `tables/`, `figures/` or `recipes/` keep that folder. Undefined numbers (NaN) and files that do not
        exist are left out. answers: the sentences that answer the sweep's question, as plain text.
        """

    def finish(self, failed: Sequence[Refused], error: BaseException | None = None) -> None:
        """Close the sweep, which had these failures; settings whose recording was interrupted are closed with it.

        error: what ended the sweep before its time.
        """

    def where(self) -> str:
        """How to look at the runs, a line break first, for the end of a sweep's output; or nothing."""
        return ""


@dataclass
class MlflowTracker(Tracker):
    """Tracks in an MLflow store.

    uri: None for `mlflow.db` beside the output folder, `sqlite:///FILE`, or the http(s) address of a tracking server;
    experiment: the name under which runs are gathered; timeout: seconds that a request to a server may take, which is
    tried twice. Raises ConfigError for a time outside (0, 3600].
    """

    uri: str | None = field(default=None, repr=False, metadata={"role": RUNTIME})  # it may hold a password
    experiment: str = runtime("bmx_grid")
    timeout: float = runtime(30.0)

    def __post_init__(self) -> None:
        if not 0 < self.timeout <= LONGEST_WAIT:
            raise ConfigError(f"tracking.timeout: {self.timeout} is outside (0, {LONGEST_WAIT:g}] seconds.")
        self._address = self._sweep = self._note = ""
        self._client: Any = None  # None when there is nothing to track to
        self._parent: Any = None
        self._settings: dict[str, Any] = {}  # runs by fingerprint of their result

    def store(self, output_dir: Path) -> str:
        address = self._resolve(output_dir)
        is_missing = address.startswith(SQLITE) and not Path(address.removeprefix(SQLITE)).is_file()
        return f"{'missing: ' if is_missing else ''}{_shown(address)} {self.experiment}"

    def start(self, name: str, config: str, output_dir: Path) -> None:
        """Find or make the run of the sweep."""
        self.failure, self._client, self._note = None, None, ""
        self._address = self._resolve(output_dir)
        self._try(lambda: self._open(name, config))

    def _open(self, name: str, config: str) -> None:
        """One search gives the parent and all runs below it of an earlier run of the same sweep."""
        _quiet(self.timeout)
        from mlflow import MlflowClient
        from mlflow.entities import Param, RunTag

        artifacts = _prepared(self._address) if self._address.startswith(SQLITE) else None
        client = MlflowClient(tracking_uri=self._address)
        self._sweep, params = sweep_identity(name, config)
        experiment = _experiment(client, self.experiment, artifacts)
        self._parent, self._settings = None, {}
        for run in client.search_runs([experiment], f"tags.sweep = '{self._sweep}'", max_results=10_000):
            if run.data.tags.get("kind") == "setting":
                self._settings[run.data.tags["fingerprint"]] = run
            else:
                self._parent = run
        if self._parent is None:
            title = " · ".join([name, *(params[key] for key in ("dataset", "metric", "explainer") if key in params)])
            tags = {"sweep": self._sweep, "sweep_name": name, "kind": "sweep"}
            self._parent = client.create_run(experiment, run_name=shortened(title, LONGEST_NAME), tags=tags)
        run_id = self._parent.info.run_id
        client.update_run(run_id, status="RUNNING")
        tags = {"version": __version__, **source(sys.argv)}
        client.log_batch(
            run_id, params=[Param(*item) for item in params.items()], tags=[RunTag(*item) for item in tags.items()]
        )
        self._client = client

    def log(self, result: SettingResult) -> None:
        """Make or complete the setting's run; nothing when it is complete."""
        if self._client is not None:
            self._try(lambda: self._log(result))

    def _log(self, result: SettingResult) -> None:
        from mlflow.entities import Param

        run = self._settings.get(result.fingerprint)
        if run is None:
            tags = {
                "mlflow.parentRunId": self._parent.info.run_id,
                "sweep": self._sweep,
                "kind": "setting",
                "setting": result.label,
                "fingerprint": result.fingerprint,
                "signature": result.signature[:LONGEST_TAG],
                "seconds": f"{result.spent.seconds:.3f}",
                "texts": str(result.spent.n_texts),
                **source(sys.argv),
            }
            run = self._client.create_run(self._parent.info.experiment_id, run_name=result.label, tags=tags)
            self._settings[result.fingerprint] = run
        if run.info.status == "FINISHED":
            return
        self._client.log_batch(run.info.run_id, params=[Param(*item) for item in parameters(result).items()])
        # Times follow from the run's, so that what is repeated after an interrupt is an exact duplicate.
        self._send(run, points(result), run.info.start_time)
        self._client.set_terminated(run.info.run_id)

    def headline(self, numbers: Mapping[str, float], note: str, files: Sequence[Path], answers: Sequence[str]) -> None:
        """Metrics, description, files and the tag `answer` of the parent run."""
        self._note = note
        if self._client is not None:
            self._try(lambda: self._add(numbers, files, "\n".join(answers)))

    def _add(self, numbers: Mapping[str, float], files: Sequence[Path], answer: str) -> None:
        """Numbers that changed, files and answer of the parent run."""
        known, run_id = self._parent.data.metrics, self._parent.info.run_id
        # MLflow's names take letters, digits and `_ - . space : /`
        legal = {name: re.sub(r"[^\w\-. :/]", "_", name)[:LONGEST_NAME] for name in numbers}
        named = {legal[name]: float(value) for name, value in numbers.items() if math.isfinite(value)}
        changed = [(name, value, 0) for name, value in named.items() if known.get(name) != value]
        self._send(self._parent, changed, int(time.time() * 1000))
        if answer:
            self._client.set_tag(run_id, "answer", shortened(answer, LONGEST_TAG))
        for path in files:
            if path.is_file():
                folder = path.parent.name
                self._client.log_artifact(run_id, str(path), folder if folder in FOLDERS else None)

    def finish(self, failed: Sequence[Refused], error: BaseException | None = None) -> None:
        """Close the runs: FINISHED, FAILED (also when settings failed), or KILLED by Ctrl-C, a signal or an exit."""
        if self._client is not None:
            self._try(lambda: self._finish(failed, error))
        self._client = None

    def _finish(self, failed: Sequence[Refused], error: BaseException | None) -> None:
        run_id, experiment = self._parent.info.run_id, self._parent.info.experiment_id
        status = "FAILED" if failed else "FINISHED"
        if error is not None:
            status = "FAILED" if isinstance(error, Exception) else "KILLED"
            wanted = f"tags.sweep = '{self._sweep}' and tags.kind = 'setting' and attributes.status = 'RUNNING'"
            for run in self._client.search_runs([experiment], wanted):
                self._client.set_terminated(run.info.run_id, status=status)
        note = [self._note, "", *(f"- failed: {refused.label}: {refused.reason}" for refused in failed)]
        self._client.set_tag(run_id, "mlflow.note.content", shortened("\n".join(note).strip(), LONGEST_TAG))
        self._client.set_terminated(run_id, status=status)

    def where(self) -> str:
        """How to open the runs in a browser; nothing where the store was given up."""
        if self.failure is not None:
            return ""
        if not self._address.startswith(SQLITE):
            return f"\n  MLflow at {_shown(self._address)}"
        # MLflow's own first page is for language models; this one has the runs
        experiment = self._parent.info.experiment_id
        page = f"http://127.0.0.1:5000/#/experiments/{experiment}/runs?workflowType=machine_learning"
        return f"\n  mlflow ui --backend-store-uri {shlex.quote(self._address)}\n  {page}"

    def _send(self, run: Any, entries: Sequence[Entry], when: int) -> None:
        """Metrics in as few calls as MLflow allows.

        when: milliseconds of the first step; every later step is one later, because MLflow's page of a metric draws
        over time until it is set to steps, and points of one time are a vertical line there.
        """
        from mlflow.entities import Metric

        first = min((step for *_, step in entries), default=0)
        metrics = [Metric(key, value, when + step - first, step) for key, value, step in entries]
        for start in range(0, len(metrics), AT_ONCE):
            self._client.log_batch(run.info.run_id, metrics=metrics[start : start + AT_ONCE])

    def _resolve(self, output_dir: Path) -> str:
        return self.uri if self.uri is not None else f"{SQLITE}{output_dir.absolute().parent / 'mlflow.db'}"

    def _try(self, work: Callable[[], None]) -> None:
        """Do it, or give the store up; a signal waits for a write to a local database, not for a server."""
        is_local = self._address.startswith(SQLITE)
        try:
            with uninterrupted() if is_local else bounded_answers(TRIES * self.timeout):
                work()
        except Exception as error:  # the sweep must not end with its tracker, whatever happens to that
            reason = _reason(error, self.timeout)
            self._client, self.failure = None, f"MLflow cannot use {_shown(self._address)}: {reason}"
            warnings.warn(f"{self.failure}. {LOST}", stacklevel=3)


def sweep_identity(name: str, config: str) -> tuple[str, dict[str, str]]:
    """What makes two sweeps the same one, as SHA-256, and its readable parameters; `config` is YAML."""
    import yaml

    kept = {key: node for key, node in yaml.safe_load(config).items() if key not in RUNTIME_KEYS}
    chosen = {key: kept[key] for key in ("dataset", "metric", "explainer", "words", "limit", "seed") if key in kept}
    params = {key: ", ".join(node) if isinstance(node, Mapping) else str(node) for key, node in chosen.items()}
    params = {key: shortened(text, LONGEST_COMMAND) for key, text in params.items()}
    return digest([LAYOUT, name, yaml.safe_dump(kept, sort_keys=True)]), params


def points(result: SettingResult) -> list[Entry]:
    """What is sent of a result; values that are not finite are left out.

    The grid is one series for each w, `pearson/w0.4`, with p in tenths as its step, which must be a whole number: of a
    finer grid only whole tenths are sent. The numbers about the grid are logged at step 0 and have no `/` in their
    names: MLflow's page of a run's metrics shows groups before single numbers, so the curves come first there. The
    numbers are sent first. They are correlations: gains have intervals, and are among the numbers of the sweep. The
    fixed point is left out where the explainer has none.

    Curves are sent from their largest p down: MLflow keeps the last point of a series apart, and would write that anew
    for every later one, which takes a third of the time.
    """
    kind, point, grid = result.correlation, result.published, result.grid
    numbers: dict[str, float] = {}
    if math.isfinite(point.p):
        numbers |= {f"fixed {kind}": point.correlation, "fixed p": point.p, "fixed w": point.w}
    if result.has_grid:
        numbers |= {f"best {kind}": grid.best, "best p": grid.best_p, "best w": grid.best_w}
    numbers[f"baseline {kind}"] = grid.baseline
    entries = [(name, float(value), 0.0) for name, value in numbers.items()]
    if result.spec is not None and result.has_grid:
        steps = [10 * power for power in result.spec.p[::-1]]
        for weight, curve in zip(result.spec.w, grid.correlation[::-1].T.tolist(), strict=True):
            entries += [(f"{kind}/w{weight:.12g}", value, step) for value, step in zip(curve, steps, strict=True)]
    finite = [entry for entry in entries if math.isfinite(entry[1]) and math.isfinite(entry[2])]
    return [(name, value, round(step)) for name, value, step in finite if abs(step - round(step)) < 1e-6]


def parameters(result: SettingResult) -> dict[str, str]:
    """What a reader compares settings by, as text: names, grid and seed.

    The settings of metric and explainer are in the tag `signature`.
    """
    values = dict(zip(("dataset", "language_pair", "metric", "explainer"), result.names, strict=True))
    values |= {"correlation": result.correlation, "seed": str(result.parameters["seed"])}
    spec = result.spec
    if spec is not None and result.has_grid:
        values |= {"side": spec.side, "aggregation": type(spec.aggregation).__name__}
        values["p"] = f"{spec.p[0]:g} … {spec.p[-1]:g}, {counted(len(spec.p), 'value')}"
        values["w"] = ", ".join(f"{weight:.12g}" for weight in spec.w)
    return values


def source(arguments: Sequence[str]) -> dict[str, str]:
    """The command as typed (`sys.argv`), without passwords, and the commit of a checkout, under MLflow's names."""
    from mlflow.tracking.context.registry import resolve_tags

    program, *rest = arguments
    path = Path(program)
    typed = f"python -m {path.parent.name}" if path.name == "__main__.py" else shlex.quote(path.name or "python")
    command = " ".join([typed, *(shlex.quote(masked_argument(argument)) for argument in rest)])
    # Of the type LOCAL, pages show what follows the last slash: a file's name, and of a command a piece of a path.
    return {**resolve_tags(), "mlflow.source.name": command[:LONGEST_COMMAND], "mlflow.source.type": "JOB"}


def _experiment(client: Any, name: str, artifacts: str | None) -> str:
    """The experiment's id; created when there is none, which another machine may do at the same time."""
    from mlflow.exceptions import MlflowException

    with suppress(MlflowException):  # "already exists": the next line finds it, or says what is wrong
        tags = {"mlflow.experimentKind": "custom_model_development"}
        client.create_experiment(name, artifact_location=artifacts, tags=tags)
    experiment = client.get_experiment_by_name(name)
    if experiment is None or experiment.lifecycle_stage != "active":
        raise StoreError(
            f"its experiment {name!a} cannot be created or was deleted: restore it (mlflow experiments restore) or "
            "choose another name (tracking.experiment=NAME)"
        )
    return str(experiment.experiment_id)


def _prepared(address: str) -> str:
    """Make sure that a SQLite store is there, MLflow's, and can be written; where its artifacts go.

    It is created in one step: MLflow builds its tables in dozens of migrations, and a sweep killed meanwhile must not
    leave half of them. It is checked before MLflow tries, because MLflow would retry for minutes.
    Raises sqlite3.Error, OSError, StoreError.
    """
    from mlflow import MlflowClient

    path = Path(address.removeprefix(SQLITE)).absolute()
    is_read_as_another = re.search("[%?\x00-\x1f\x7f\ud800-\udfff]", address) is not None
    if is_read_as_another or path.name in ("", ":memory:") or (path.exists() and not path.is_file()):
        raise StoreError("it is not a permanent file, or its path has a %, a ? or an unprintable character in it")
    path.parent.mkdir(parents=True, exist_ok=True)
    with _alone(path):
        remove_abandoned(path.parent)
        if not path.exists() or path.stat().st_size == 0:
            with replacing(path) as part:
                MlflowClient(tracking_uri=f"{SQLITE}{part}").search_experiments(max_results=1)
        with closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as database:
            database.execute("BEGIN IMMEDIATE")
            tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if tables and not {"experiments", "runs"} <= tables:
        raise StoreError("it is a database of another program")
    return (path.parent / "mlruns").as_uri()


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """No other sweep makes this database in this block. Raises OSError, StoreError."""
    from filelock import FileLock, Timeout

    with tempfile.TemporaryFile(dir=path.parent):
        pass  # where no file can be made, the lock would wait as if another sweep held it
    lock = FileLock(path.parent / f".{path.name}.lock", timeout=LOCK_SECONDS)
    with suppress(Timeout):
        lock.acquire()
    if not lock.is_locked:
        raise StoreError(f"another sweep has been making it for {LOCK_SECONDS:g} s ({lock.lock_file})")
    try:
        yield
    finally:
        lock.release()


def _quiet(timeout: float) -> None:
    """No telemetry, no messages of MLflow on the terminal, no minutes of retries; set before MLflow is imported."""
    for name in ("MLFLOW_DISABLE_TELEMETRY", "DO_NOT_TRACK", "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT"):
        os.environ.setdefault(name, "true")
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", str(TRIES - 1))
    os.environ.setdefault("MLFLOW_HTTP_RESPECT_RETRY_AFTER_HEADER", "false")
    os.environ["MLFLOW_HTTP_REQUEST_TIMEOUT"] = str(math.ceil(timeout))
    import mlflow  # noqa: F401  (it sets the levels of its loggers when imported)

    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _reason(error: BaseException, timeout: float) -> str:
    """Why a store cannot be used, in one line without passwords: what the system said, else the error's first line."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, TimeoutError):
            return f"it did not answer within {timeout:g} s"
        if isinstance(cause, StoreError):
            return str(cause)
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        cause = cause.__cause__ or cause.__context__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines or not isinstance(error, StoreError | sqlite3.Error):
        lines = [": ".join([type(error).__name__, *lines[:1]])]
    return masked_address(lines[0].rstrip("."))[:400]


def _shown(address: str) -> str:
    """An address as it appears in messages: in one line, without passwords, and shortened in the middle."""
    masked = visible(masked_address(address))
    return masked if len(masked) <= 300 else f"{masked[:200]} … {masked[-60:]}"
