"""The SQLite file of an MLflow store: made in one step, held against other sweeps, read without MLflow."""

from __future__ import annotations

import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from glob import escape
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from bmx_grid.errors import StoreError
from bmx_grid.storage.files import remove_abandoned, replacing

SQLITE = "sqlite:///"
OTHERS_SECONDS = 180.0  # for others to make the database: seconds of work, a minute where four share a busy core
NO_ANALYSIS = "none"  # the parent's tag where it would name the run of its analysis
BUSY_SECONDS = 20.0  # for another process to end its transaction; MLflow waits equally long
REMEDY = "name another store (tracking.uri=sqlite:///FILE or http://HOST:PORT) or run without one (tracking=none)"


def shown(address: str) -> str:
    """An address as it appears in messages: very long ones are shortened in the middle."""
    return address if len(address) <= 300 else f"{address[:200]} … {address[-60:]}"


def path_of(address: str) -> Path | None:
    """The file of a SQLite store; None for a server. Raises StoreError for a name that MLflow would read as another."""
    if not address.startswith(SQLITE):
        return None
    if re.search("[%?\x00-\x1f\x7f\ud800-\udfff]", address):
        raise StoreError(
            f"MLflow cannot use {shown(address)!a}: its path has a %, a ? or an unprintable character in it; {REMEDY}."
        )
    return Path(address.removeprefix(SQLITE)).absolute()


@contextmanager
def held(address: str, seconds: float = OTHERS_SECONDS) -> Iterator[Path | None]:
    """The file of a SQLite store, held against other sweeps that would write the same; None for a server.

    Raises StoreError when it can be no file, or is not free within `seconds`; OSError when its folder cannot be made.
    """
    path = path_of(address)
    if path is None:
        yield None
        return
    from filelock import FileLock, Timeout

    if path.name in ("", ":memory:") or (path.exists() and not path.is_file()):
        raise StoreError(f"MLflow cannot use {shown(address)}: it is not a permanent file; {REMEDY}.")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(path.parent / f".{path.name}.lock", timeout=seconds):
            yield path
    except Timeout as error:
        raise StoreError(
            f"MLflow cannot use {shown(address)}: its lock was not free for {seconds:g} s, or cannot be made; {REMEDY}."
        ) from error


def prepare(path: Path) -> None:
    """Create the database, or check that it is MLflow's and can be written; the caller holds it.

    MLflow builds the tables in dozens of migrations; done elsewhere and moved here in one step, a killed sweep
    cannot leave half a database. The check comes before MLflow tries, because MLflow would retry for minutes.
    Raises sqlite3.Error, OSError, StoreError.
    """
    from mlflow import MlflowClient

    _clean(path)
    if path.exists() and path.stat().st_size > 0:
        with closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as database:
            database.execute("BEGIN IMMEDIATE")
            tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            database.rollback()
        if tables and not {"experiments", "runs"} <= tables:
            raise StoreError(f"MLflow cannot use {path}: it is a database of another program; {REMEDY}.")
        if tables:
            return
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.new-", dir=path.parent) as folder:
        fresh = Path(folder) / path.name
        MlflowClient(tracking_uri=f"{SQLITE}{fresh}").search_experiments(max_results=1)
        with replacing(path) as part, closing(sqlite3.connect(fresh)) as made, closing(sqlite3.connect(part)) as copy:
            made.backup(copy)


def _clean(path: Path) -> None:
    """Remove what processes left that were killed while they made this database.

    Whoever makes it holds it, as the caller does now: so the owners of all such folders are gone.
    """
    remove_abandoned(path.parent)
    ours = re.compile(rf"\.{re.escape(path.name)}\.new-\w{{8}}")
    for folder in path.parent.glob(".*"):
        # Older versions named the folder without the database that was made in it.
        older = re.fullmatch(r"\.mlflow-\w{8}", folder.name) and (folder / path.name).exists()
        if (ours.fullmatch(folder.name) or older) and folder.is_dir() and not folder.is_symlink():
            shutil.rmtree(folder, ignore_errors=True)
    for journal in path.parent.glob(f".{escape(path.name)}.*.part-journal"):
        if not journal.with_name(journal.name.removesuffix("-journal")).exists():
            with suppress(OSError):
                journal.unlink(missing_ok=True)


def holds_complete(path: Path, experiment: str, sweep: str, version: str, settings: Mapping[str, str]) -> bool:
    """Whether the database has a finished run of the sweep with all its settings, none deleted, their files there.

    Reads three tables of MLflow's with sqlite3, which takes milliseconds where importing MLflow takes seconds.
    A database that is gone, locked or of another shape has no such run.
    """
    if not path.is_file():
        return False
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=1)) as database:
            runs, tags = _runs(database, experiment, sweep)
    except sqlite3.Error:
        return False
    whole = {run for run, (status, folder) in runs.items() if status == "FINISHED" and files_are_there(folder)}
    parents = [run for run in whole if tags[run].get("kind") == "sweep" and tags[run].get("version") == version]
    if len(parents) != 1 or tags[parents[0]].get("failed") != "0":
        return False
    finished = {run for run in whole if tags[run].get("complete") == "true" and "superseded_by" not in tags[run]}
    analysis = tags[parents[0]].get("analysis")
    if analysis not in (NO_ANALYSIS, *finished):
        return False
    kept = {tags[run].get("setting"): tags[run].get("fingerprint") for run in finished}
    return all(kept.get(label) == fingerprint for label, fingerprint in settings.items())


def _runs(
    database: sqlite3.Connection, experiment: str, sweep: str
) -> tuple[dict[str, tuple[str, str]], dict[str, dict[str, str]]]:
    """Status and artifact folder of the sweep's runs that are not deleted, and their tags, by run."""
    chosen = (
        "FROM runs JOIN experiments USING (experiment_id) JOIN tags AS sweep ON sweep.run_uuid = runs.run_uuid "
        "WHERE sweep.key = 'sweep' AND sweep.value = ? AND experiments.name = ? "
        "AND runs.lifecycle_stage = 'active' AND experiments.lifecycle_stage = 'active'"
    )
    rows = database.execute(f"SELECT runs.run_uuid, runs.status, runs.artifact_uri {chosen}", (sweep, experiment))
    runs = {run: (status, folder) for run, status, folder in rows}
    tags: dict[str, dict[str, str]] = {run: {} for run in runs}
    wanted = f"SELECT run_uuid, key, value FROM tags WHERE run_uuid IN (SELECT runs.run_uuid {chosen})"
    for run, key, value in database.execute(wanted, (sweep, experiment)):
        tags[run][key] = value
    return runs, tags


def files_are_there(artifacts: str) -> bool:
    """Whether the folder of a run's files is there; True for one that is not on this machine."""
    parts = urlsplit(artifacts)
    return parts.scheme not in ("", "file") or Path(unquote(parts.path)).is_dir()
