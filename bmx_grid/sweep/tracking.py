"""Tracking watches a sweep from outside, which never depends on it: in MLflow a run for it and one for each setting.

Only the main process tracks. A repeated sweep finds its runs by their tags and completes what is missing, so nothing is
there twice. Whatever goes wrong with a store is one warning, and the sweep goes on without it.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from bmx_grid._version import __version__
from bmx_grid.core.errors import ConfigError, StoreError
from bmx_grid.core.identity import RUNTIME, runtime
from bmx_grid.core.stopping import uninterrupted
from bmx_grid.core.wording import shortened
from bmx_grid.evaluations.base import Estimate
from bmx_grid.sweep.folder import RECIPES, TABLES
from bmx_grid.sweep.judge import SettingResult
from bmx_grid.sweep.mlflow_runs import (
    LONGEST_NAME,
    LONGEST_TAG,
    SWEEP,
    find_runs,
    legal_name,
    pages,
    parameters,
    point_tags,
    points,
    runs_on_server,
    server_command,
    source_tags,
    sweep_identity,
    view,
)
from bmx_grid.sweep.mlflow_store import (
    SQLITE,
    TRIES,
    MetricEntry,
    active_runs,
    bounded_answers,
    check_artifact,
    experiment_id,
    prepared,
    quiet,
    reason_of,
    send_metrics,
    shown_address,
)
from bmx_grid.sweep.settings import NotRun

LONGEST_WAIT = 3600.0
ARTIFACT_FOLDERS = ("figures", TABLES, RECIPES)  # kept as folders of artifacts
TAGS_AT_ONCE = 100  # of a call: MLflow's limit
OWN_SERVER = "http://127.0.0.1:5000"  # where MLflow's server listens unless told otherwise
DIGITS = 6  # of a gain
SMALL_TABLE = 50_000  # bytes: also as CSV, which pages show
LOST = (
    "The sweep goes on and its tables and figures are written, but nothing more is tracked; run the same command again "
    "to complete the runs (nothing is computed twice), name another store (tracking.uri=sqlite:///FILE or "
    "http://HOST:PORT), or run without one (tracking=none)."
)

TRACKED_ELSEWHERE = (
    "Its tables and figures are in output_dir. To keep them in MLflow, name another experiment "
    "(tracking.experiment=NAME) or another store (tracking.uri=sqlite:///FILE)."
)


@dataclass
class Tracker:
    """Watches a sweep: start, then log for every result, then judge and headline, then finish.

    This one tracks nothing. No method raises for a store that is lost, refuses or does not answer: it warns once, in
    one line, keeps the reason in `failure`, and lets the sweep go on.

    failure: why tracking was given up, None while all is well.
    """

    failure: str | None = field(default=None, init=False)

    def store(self, output_dir: Path) -> str:
        """Which store a sweep is tracked in, by address and experiment, to compare with another run's; "" for none."""
        return ""

    def identify_runs(self, output_dir: Path) -> dict[str, Any]:
        """What `has_runs` finds the runs of this sweep by if it is repeated; nothing if nothing is tracked."""
        return {}

    def has_runs(self, output_dir: Path, runs: Any) -> bool:
        """Whether the store still has the runs that `identify_runs` gave; also if nothing is tracked."""
        return True

    def start(self, name: str, config: str, output_dir: Path) -> None:
        """Open the sweep called `name`; `config` is its whole configuration as YAML, without passwords."""

    def log(self, result: SettingResult) -> None:
        """Record a result, with every correlation of its grid."""

    def judge(self, result: SettingResult, verdict: str, gain: Estimate) -> None:
        """Add to a logged result the verdict on its setting, and the gain with its interval where they are known."""

    def headline(
        self,
        numbers: Mapping[str, float],
        note: str,
        files: Sequence[Path],
        answers: Sequence[str],
        counts: Mapping[str, float] | None = None,
    ) -> None:
        """What the analysis found, a summary in Markdown for a person, and the sweep's files.

        numbers: to compare sweeps by; counts: of settings, which are no results. Files below `tables/`, `figures/` or
        `recipes/` keep that folder. Undefined numbers (NaN) and files that do not exist are left out. answers: the
        sentences that answer the sweep's question, as plain text.
        """

    def finish(self, failed: Sequence[NotRun], error: BaseException | None = None) -> None:
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
    tried twice; curves: whether every correlation of a grid is sent, or those at whole p ("thin"): a tenth of the
    paper's, of which all are in grid.parquet, an artifact of the sweep's run.
    Raises ConfigError for a time outside (0, 3600].
    """

    uri: str | None = field(default=None, repr=False, metadata={"role": RUNTIME})  # it may hold a password
    experiment: str = runtime("bmx_grid")
    timeout: float = runtime(30.0)
    curves: Literal["all", "thin"] = runtime("all")

    def __post_init__(self) -> None:
        if not 0 < self.timeout <= LONGEST_WAIT:
            raise ConfigError(f"tracking.timeout: {self.timeout} is outside (0, {LONGEST_WAIT:g}] seconds.")
        self._address = self._sweep = self._note = ""
        self._client: Any = None  # None when there is nothing to track to
        self._of_sweep: Any = None
        # Runs of settings by the fingerprint of their result, and those that were deleted.
        self._settings: dict[str, Any] = {}
        self._deleted: dict[str, Any] = {}

    def store(self, output_dir: Path) -> str:
        address = self._resolve(output_dir)
        store = f"{shown_address(address)} {self.experiment}"
        if address.startswith(SQLITE) and not Path(address.removeprefix(SQLITE)).is_file():
            return f"missing: {store}"
        return store

    def identify_runs(self, output_dir: Path) -> dict[str, Any]:
        """The store and the identifiers of the runs; nothing if the store was given up."""
        if self.failure is not None:
            return {}
        runs = [self._of_sweep, *self._settings.values()]
        ids = sorted(run.info.run_id for run in runs)
        return {"store": self.store(output_dir), "sweep": self._sweep, "runs": ids}

    def has_runs(self, output_dir: Path, runs: Any) -> bool:
        """Whether none of the runs was deleted. If a server does not answer, one warning, and they count as there."""
        is_of_store = isinstance(runs, Mapping) and runs.get("store") == self.store(output_dir)
        if not is_of_store or not isinstance(runs.get("runs"), list):
            return False
        wanted = set(map(str, runs["runs"]))
        self._address = self._resolve(output_dir)
        if self._address.startswith(SQLITE):
            return wanted <= active_runs(self._address)
        try:
            with bounded_answers(TRIES * self.timeout):
                quiet(self.timeout)
                return wanted <= runs_on_server(self._address, self.experiment, str(runs.get("sweep")))
        except Exception as error:  # whatever a server answers, the sweep is up to date without it
            warnings.warn(
                f"MLflow cannot use {shown_address(self._address)}: {reason_of(error, self.timeout)}. Runs that were "
                "deleted there are not tracked again; run the same command when it answers.",
                stacklevel=2,
            )
            return True

    def start(self, name: str, config: str, output_dir: Path) -> None:
        """Find or make the run of the sweep."""
        self.failure = None
        self._client = None
        self._note = ""
        self._address = self._resolve(output_dir)
        self._try(lambda: self._open(name, config))

    def _open(self, name: str, config: str) -> None:
        """Two searches give the runs of the sweep and of its settings that an earlier run of the same sweep made.

        One that was deleted is restored if it is needed, so that nothing is there twice whoever restores it later.
        """
        quiet(self.timeout)
        from mlflow import MlflowClient
        from mlflow.entities import Param, RunTag

        artifacts = prepared(self._address) if self._address.startswith(SQLITE) else None
        client = MlflowClient(tracking_uri=self._address)
        self._sweep, params = sweep_identity(name, config)
        experiment = experiment_id(client, self.experiment, artifacts)
        self._settings = find_runs(client, experiment, self._sweep)
        self._deleted = find_runs(client, experiment, self._sweep, deleted=True)
        self._client = client
        self._of_sweep = self._settings.pop(SWEEP, None) or self._restored(SWEEP)
        if self._of_sweep is None:
            parts = [params[key] for key in ("dataset", "metric", "explainer") if key in params]
            title = " · ".join([name, *parts])
            tags = {"sweep": self._sweep, "sweep_name": name, "kind": "sweep"}
            self._of_sweep = client.create_run(experiment, run_name=shortened(title, LONGEST_NAME), tags=tags)
        run_id = self._of_sweep.info.run_id
        client.update_run(run_id, status="RUNNING")
        tags = {"version": __version__, **source_tags(sys.argv)}
        all_params = [Param(*item) for item in params.items()]
        all_tags = [RunTag(*item) for item in tags.items()]
        client.log_batch(run_id, params=all_params, tags=all_tags)
        key, value = view(self._sweep, name, self._of_sweep.info.start_time)
        client.set_experiment_tag(experiment, key, value)

    def _restored(self, fingerprint: str) -> Any:
        """The deleted run of this fingerprint, deleted no longer; None if there was none."""
        run = self._deleted.pop(fingerprint, None)
        if run is not None:
            self._client.restore_run(run.info.run_id)
        return run

    def log(self, result: SettingResult) -> None:
        """Make or complete the setting's run; nothing when it is complete."""
        if self._client is not None:
            self._try(lambda: self._log(result))

    def _log(self, result: SettingResult) -> None:
        from mlflow.entities import Param

        run = self._settings.get(result.fingerprint) or self._restored(result.fingerprint)
        if run is None:
            tags = {
                "sweep": self._sweep,
                "kind": "setting",
                "setting": result.label,
                "fingerprint": result.fingerprint,
                "signature": result.signature[:LONGEST_TAG],
                "seconds": f"{result.spent.seconds:.3f}",
                "texts": str(result.spent.n_texts),
                **point_tags(result),
                **source_tags(sys.argv),
            }
            run = self._client.create_run(self._of_sweep.info.experiment_id, run_name=result.label, tags=tags)
        self._settings[result.fingerprint] = run
        if run.info.status == "FINISHED":
            return
        params = [Param(*item) for item in parameters(result).items()]
        self._client.log_batch(run.info.run_id, params=params)
        # Times follow from the run's, so that what is repeated after an interrupt is an exact duplicate.
        send_metrics(self._client, run, points(result, thin=self.curves == "thin"), run.info.start_time)
        self._client.set_terminated(run.info.run_id)

    def judge(self, result: SettingResult, verdict: str, gain: Estimate) -> None:
        """The tag `verdict` and the metrics `gain`, `gain low` and `gain high` of the setting's run."""
        if self._client is not None:
            numbers = {"gain": gain.value, "gain low": gain.low, "gain high": gain.high}
            # MLflow's tables cut numbers off at the end: 2.8112e-09 would read as 2.8112
            numbers = {name: round(value, DIGITS) for name, value in numbers.items()}
            self._try(lambda: self._update(self._settings[result.fingerprint], numbers, {"verdict": verdict}))

    def headline(
        self,
        numbers: Mapping[str, float],
        note: str,
        files: Sequence[Path],
        answers: Sequence[str],
        counts: Mapping[str, float] | None = None,
    ) -> None:
        """Metrics, description, files, the tag `answer` and a tag for each count of the sweep's run."""
        self._note = note
        if self._client is not None:
            tags = {name: f"{value:.0f}" for name, value in (counts or {}).items()}
            if answers:
                tags["answer"] = shortened("\n".join(answers), LONGEST_TAG)
            self._try(lambda: self._update(self._of_sweep, numbers, tags))
        if self._client is not None:
            self._try(lambda: self._keep(files))

    def _update(self, run: Any, numbers: Mapping[str, float], tags: Mapping[str, str]) -> None:
        """The numbers and tags of a run that are new or have changed."""
        from mlflow.entities import RunTag

        changed: list[MetricEntry] = []
        for name, value in numbers.items():
            key = legal_name(name)
            if math.isfinite(value) and run.data.metrics.get(key) != value:
                changed.append((key, float(value), 0))
        new = []
        for name, text in tags.items():
            key = legal_name(name)
            if run.data.tags.get(key) != text:
                new.append(RunTag(key, text))
        if changed:
            send_metrics(self._client, run, changed, int(time.time() * 1000))
        for start in range(0, len(new), TAGS_AT_ONCE):
            self._client.log_batch(run.info.run_id, tags=new[start : start + TAGS_AT_ONCE])

    def _keep(self, files: Sequence[Path]) -> None:
        """Files as artifacts of the sweep's run; small tables also as CSV, because no page shows Parquet.

        Where the store would have them elsewhere than in its own folder, none is kept, with a warning.
        """
        import pandas as pd

        info = self._of_sweep.info
        run_id = info.run_id
        there = [path for path in files if path.is_file()]
        try:
            for path in there:
                folder = path.parent.name if path.parent.name in ARTIFACT_FOLDERS else "."
                for name in (path.name, f"{path.stem}.csv"):
                    check_artifact(self._address, info.artifact_uri, f"{folder}/{name}")
        except StoreError as error:
            store = shown_address(self._address)
            warnings.warn(f"MLflow keeps no files of this sweep in {store}: {error}. {TRACKED_ELSEWHERE}", stacklevel=3)
            return
        for path in there:
            folder = path.parent.name
            self._client.log_artifact(run_id, str(path), folder if folder in ARTIFACT_FOLDERS else None)
            if folder == TABLES and path.stat().st_size <= SMALL_TABLE:
                text = pd.read_parquet(path).to_csv(index=False)
                self._client.log_text(run_id, text, f"{TABLES}/{path.stem}.csv")

    def finish(self, failed: Sequence[NotRun], error: BaseException | None = None) -> None:
        """Close the runs: FINISHED, FAILED (also when settings failed), or KILLED by Ctrl-C, a signal or an exit."""
        if self._client is not None:
            self._try(lambda: self._finish(failed, error))
        self._client = None

    def _finish(self, failed: Sequence[NotRun], error: BaseException | None) -> None:
        run_id = self._of_sweep.info.run_id
        experiment = self._of_sweep.info.experiment_id
        status = "FAILED" if failed else "FINISHED"
        if error is not None:
            status = "FAILED" if isinstance(error, Exception) else "KILLED"
            wanted = f"tags.sweep = '{self._sweep}' and tags.kind = 'setting' and attributes.status = 'RUNNING'"
            for run in self._client.search_runs([experiment], wanted):
                self._client.set_terminated(run.info.run_id, status=status)
        failures = [f"- failed: {refused.label}: {refused.reason}" for refused in failed]
        note = "\n".join([self._note, "", *failures]).strip()
        self._client.set_tag(run_id, "mlflow.note.content", shortened(note, LONGEST_TAG))
        self._client.set_terminated(run_id, status=status)

    def where(self) -> str:
        """How to open the runs in a browser; nothing where the store was given up."""
        if self.failure is not None:
            return ""
        is_server = self._address.startswith(("http://", "https://"))
        if not is_server and not self._address.startswith(SQLITE):
            return f"\n  MLflow at {shown_address(self._address)}"
        info = self._of_sweep.info
        server = self._address if is_server else OWN_SERVER
        settings, sweep = pages(server, info.experiment_id, self._sweep, info.run_id)
        command = "" if is_server else f"\n  {server_command(self._address)}"
        return f"{command}\n  settings in MLflow: {settings}\n  sweep in MLflow: {sweep}"

    def _resolve(self, output_dir: Path) -> str:
        if self.uri is not None:
            return self.uri
        database = output_dir.absolute().parent / "mlflow.db"
        return f"{SQLITE}{database}"

    def _try(self, work: Callable[[], None]) -> None:
        """Do it, or give the store up; a signal waits for a write to a local database, not for a server."""
        is_local = self._address.startswith(SQLITE)
        try:
            with uninterrupted() if is_local else bounded_answers(TRIES * self.timeout):
                work()
        except Exception as error:  # the sweep must not end with its tracker, whatever happens to that
            reason = reason_of(error, self.timeout)
            self._client = None
            self.failure = f"MLflow cannot use {shown_address(self._address)}: {reason}"
            warnings.warn(f"{self.failure}. {LOST}", stacklevel=3)
