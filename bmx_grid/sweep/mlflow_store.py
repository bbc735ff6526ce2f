"""MLflow's store: a database is made and checked before MLflow opens it, and each error is one line."""

from __future__ import annotations

import logging
import os
import re
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bmx_grid.core.errors import StoreError
from bmx_grid.core.secrets import mask_address
from bmx_grid.core.storage import inside, remove_abandoned, replacing
from bmx_grid.core.wording import escape_unprintable

MetricEntry = tuple[str, float, int]  # of a metric of MLflow's: name, value, step

SQLITE = "sqlite:///"
AT_ONCE = 1000  # metrics of a call: MLflow's limit
ARTIFACTS = "mlruns"  # the folder of artifacts next to a database
LOCK_SECONDS = 180.0  # for another sweep to make the database: seconds of work, a minute where four share a busy core
BUSY_SECONDS = 20.0  # for another process to end its transaction; MLflow waits equally long
TIMEOUT = "MLFLOW_HTTP_REQUEST_TIMEOUT"
# MLflow's own settings. A user's values stay.
SETTINGS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    # MLflow would try a server that does not answer for a quarter of an hour.
    TIMEOUT: "30",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_RESPECT_RETRY_AFTER_HEADER": "false",
    # A kept connection would be of a database that was thrown away, if another one was begun at its address since.
    "MLFLOW_SQLALCHEMYSTORE_POOLCLASS": "NullPool",
}
ACTIVE_RUNS = """
    SELECT run_uuid FROM runs JOIN experiments USING (experiment_id)
    WHERE runs.lifecycle_stage = 'active' AND experiments.lifecycle_stage = 'active'
"""
LOST = (
    "The sweep continues and its tables and figures are written, but nothing more is tracked; run the same command "
    "again to complete the runs (nothing is computed twice), name another store (tracking.uri=sqlite:///FILE or "
    "http://HOST:PORT), or run without one (tracking=none)."
)

TRACKED_ELSEWHERE = (
    "Its tables and figures are in output_dir. To keep them in MLflow, name another experiment "
    "(tracking.experiment=NAME) or another store (tracking.uri=sqlite:///FILE)."
)


def send_metrics(client: Any, run: Any, entries: Sequence[MetricEntry], when: int) -> None:
    """Send metrics of a run in as few calls as MLflow allows; those that the run has already stay as they are.

    when: milliseconds of the first step; every later step is one later, because MLflow's page of a metric draws over
    time until it is set to steps, and points of one time would be a vertical line.
    """
    from mlflow.entities import Metric

    first = min((step for *_, step in entries), default=0)
    metrics = [Metric(key, value, when + step - first, step) for key, value, step in entries]
    for start in range(0, len(metrics), AT_ONCE):
        client.log_batch(run.info.run_id, metrics=metrics[start : start + AT_ONCE])


def active_runs(address: str) -> set[str]:
    """The runs in a SQLite store that are not deleted, by their identifiers; none if it cannot be read.

    MLflow itself takes seconds to import, which a sweep that is up to date does not have to wait for.
    """
    path = Path(address.removeprefix(SQLITE)).absolute()
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=BUSY_SECONDS)) as database:
            return {run for (run,) in database.execute(ACTIVE_RUNS)}
    except sqlite3.Error:
        return set()


def experiment_id(client: Any, name: str, artifacts: str | None) -> str:
    """The experiment's id; created when there is not one, which another machine may do at the same time."""
    from mlflow.exceptions import MlflowException

    with suppress(MlflowException):  # "already exists": the next line finds it, or raises the real error
        tags = {"mlflow.experimentKind": "custom_model_development"}
        client.create_experiment(name, artifact_location=artifacts, tags=tags)
    experiment = client.get_experiment_by_name(name)
    if experiment is None or experiment.lifecycle_stage != "active":
        raise StoreError(
            f"its experiment {name!a} cannot be created or was deleted: restore it (mlflow experiments restore) or "
            "choose another name (tracking.experiment=NAME)"
        )
    return str(experiment.experiment_id)


def set_experiment_tag(client: Any, experiment: str, key: str, value: str) -> None:
    """Set a tag of an experiment, once more if another sweep made the same tag meanwhile.

    MLflow looks for the tag and then inserts it, so that of two sweeps which do so at once the second is refused.
    """
    from mlflow.exceptions import MlflowException

    try:
        client.set_experiment_tag(experiment, key, value)
    except MlflowException as error:
        if "IntegrityError" not in str(error):
            raise
        client.set_experiment_tag(experiment, key, value)


def prepare_database(address: str) -> str:
    """Create a missing SQLite store, check that it is MLflow's and writable; return the place of its artifacts.

    It is created in one step: MLflow builds its tables in dozens of migrations, and a sweep killed meanwhile would
    leave an incomplete store. The check comes before MLflow, which would retry for minutes.
    Raises sqlite3.Error, OSError, StoreError.
    """
    from mlflow import MlflowClient

    path = Path(address.removeprefix(SQLITE)).absolute()
    is_read_as_another = re.search("[%?\x00-\x1f\x7f\ud800-\udfff]", address) is not None
    is_no_file = path.name in ("", ":memory:") or (path.exists() and not path.is_file())
    if is_read_as_another or is_no_file:
        raise StoreError("it is not a permanent file, or its path has a %, a ? or an unprintable character in it")
    path.parent.mkdir(parents=True, exist_ok=True)
    with _alone(path):
        remove_abandoned(path.parent)
        if not path.exists() or path.stat().st_size == 0:
            with replacing(path) as part:
                MlflowClient(tracking_uri=f"{SQLITE}{part}").search_experiments(max_results=1)
        with closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as database:
            database.execute("BEGIN IMMEDIATE")
            rows = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            tables = {name for (name,) in rows}
    if tables and not {"experiments", "runs"} <= tables:
        raise StoreError("it is a database of another program")
    return (path.parent / ARTIFACTS).as_uri()


def check_artifact(address: str, artifacts: str, name: str) -> None:
    """Raise StoreError unless an artifact goes to the store's server, or below its own folder.

    artifacts: the folder of the run's artifacts by the store. A database may come from a stranger, and name any folder
    of this machine, or a server. The own folder is mlruns/ next to a SQLite file, and of other stores that in the
    current folder, as in MLflow.
    """
    from mlflow.utils.file_utils import local_file_uri_to_path

    is_database = address.startswith(SQLITE)
    is_local = urlsplit(artifacts).scheme in ("", "file")
    beside = Path(address.removeprefix(SQLITE)).absolute().parent if is_database else Path.cwd()
    elsewhere = f"its artifacts would go to {shown_address(artifacts)}, not below {beside / ARTIFACTS}"
    if not is_local:
        if is_database:
            raise StoreError(elsewhere)
        return
    folder = Path(local_file_uri_to_path(artifacts))  # type: ignore[no-untyped-call]
    try:
        target = inside(beside, str(folder.absolute() / name)).resolve()
    except StoreError as error:
        raise StoreError(elsewhere) from error
    # Compared with the folder's own path: the folder itself may be a link.
    if not target.is_relative_to(beside.resolve() / ARTIFACTS):
        raise StoreError(elsewhere)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """No other sweep makes this database in this block. Raises OSError, StoreError."""
    from filelock import FileLock, Timeout

    with tempfile.TemporaryFile(dir=path.parent):
        pass  # if no file can be made, the lock would wait as if another sweep held it
    lock = FileLock(path.parent / f".{path.name}.lock", timeout=LOCK_SECONDS)
    with suppress(Timeout):
        lock.acquire()
    if not lock.is_locked:
        raise StoreError(f"another sweep has been making it for {LOCK_SECONDS:g} s ({lock.lock_file})")
    try:
        yield
    finally:
        lock.release()


def configure_mlflow() -> None:
    """Set what SETTINGS has and the environment lacks, and silence MLflow on the terminal."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    import mlflow  # noqa: F401  (it sets the levels of its loggers when imported)

    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def reason_of(error: BaseException) -> str:
    """The reason of a store's failure, in one line without passwords: the system's error, else the first line."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, TimeoutError):
            return f"it did not answer within {os.environ.get(TIMEOUT, SETTINGS[TIMEOUT])} s ({TIMEOUT})"
        if isinstance(cause, StoreError):
            return str(cause)
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        cause = cause.__cause__ or cause.__context__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    first_line = lines[0] if lines else ""
    if not first_line:
        first_line = type(error).__name__
    elif not isinstance(error, StoreError | sqlite3.Error):
        # Messages of MLflow and its libraries are often a bare key or number: the class explains them.
        first_line = f"{type(error).__name__}: {first_line}"
    return mask_address(first_line.rstrip("."))[:400]


def shown_address(address: str) -> str:
    """An address as it appears in messages: in one line, without passwords, and shortened in the middle."""
    masked = escape_unprintable(mask_address(address))
    if len(masked) <= 300:
        return masked
    return f"{masked[:200]} … {masked[-60:]}"
