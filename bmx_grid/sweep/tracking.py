"""Track a sweep in MLflow, with a run for it and one for each setting. The sweep never depends on its tracking.

Only the main process tracks. A repeated sweep finds its runs by their tags and completes missing ones, so nothing is
duplicated. Every failure of a store is one warning, and the sweep continues without it.
"""

from __future__ import annotations

import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from bmx_grid._version import __version__
from bmx_grid.core.errors import StoreError
from bmx_grid.core.identity import RUNTIME, runtime
from bmx_grid.core.stopping import delay_signals
from bmx_grid.core.wording import shorten
from bmx_grid.sweep.judge import SettingResult
from bmx_grid.sweep.mlflow_runs import (
    CURVES,
    DIGITS,
    LONGEST_NAME,
    LONGEST_TAG,
    NOTE,
    SETTING,
    SWEEP,
    Finding,
    RunKey,
    artifacts_of,
    curves_of,
    dataset_of,
    description_of,
    find_runs,
    legal_name,
    log_files,
    numbers_of,
    pages,
    parameters,
    point_tags,
    runs_on_server,
    server_command,
    source_tags,
    sweep_identity,
    views,
)
from bmx_grid.sweep.mlflow_store import (
    LOST,
    SQLITE,
    TRACKED_ELSEWHERE,
    MetricEntry,
    active_runs,
    check_artifact,
    configure_mlflow,
    experiment_id,
    prepare_database,
    reason_of,
    send_metrics,
    set_experiment_tag,
    shown_address,
)
from bmx_grid.sweep.settings import NotRun

TAGS_AT_ONCE = 100  # of a call: MLflow's limit
OWN_SERVER = "http://127.0.0.1:5000"  # where MLflow's server listens by default
LONGEST_NOTE = 5000  # characters of an experiment's: MLflow's limit
PAGE = "setting.html"  # of a setting: the page for a person


@dataclass
class Tracker:
    """Watches a sweep: start, then log for every result, then judge and headline, then finish.

    The base class tracks nothing. No method raises for a store that is lost, refuses or does not answer: it warns once,
    in one line, keeps the reason in `failure`, and lets the sweep go on.

    failure: why tracking was abandoned; None while it works.
    """

    failure: str | None = field(default=None, init=False)

    def store(self, name: str, output_dir: Path) -> str:
        """The store of a sweep of this name, by address and experiment, to compare with another run's; "" for none."""
        return ""

    def identify_runs(self, name: str, output_dir: Path) -> dict[str, Any]:
        """What `has_runs` finds the runs of this sweep by if it is repeated; nothing if nothing is tracked."""
        return {}

    def has_runs(self, name: str, output_dir: Path, runs: Any) -> bool:
        """Whether the store still has the runs that `identify_runs` gave; also if nothing is tracked."""
        return True

    def start(self, name: str, config: str, output_dir: Path) -> None:
        """Open the sweep called `name`; `config` is its whole configuration as YAML, without passwords."""

    def log(self, result: SettingResult) -> None:
        """Record a result, with every correlation of its grid."""

    def judge(self, result: SettingResult, find: Callable[[], Finding]) -> None:
        """Add the finding of a setting to its logged result; find: called if it is wanted."""

    def headline(self, numbers: Mapping[str, float], note: str, files: Sequence[Path], tags: Mapping[str, str]) -> None:
        """Log the analysis: numbers, a summary in Markdown for a person, and the sweep's files.

        numbers: to compare sweeps by, rounded. tags: further facts. Files below `tables/`, `figures/` or `recipes/`
        keep that folder; folders are models. Undefined numbers (NaN) and files that do not exist are left out.
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

    uri: None for the environment's MLFLOW_TRACKING_URI, else for `mlflow.db` next to the output folder;
    `sqlite:///FILE` or the http(s) address of a tracking server. experiment: the name under which runs are gathered;
    None for the environment's MLFLOW_EXPERIMENT_NAME, else the name of the sweep. curves: whether every correlation of
    a grid is sent, or those at whole p ("thin"), a tenth of the paper's; grid.parquet, an artifact of the sweep's run,
    has all.
    """

    uri: str | None = field(default=None, repr=False, metadata={"role": RUNTIME})  # it may hold a password
    experiment: str | None = runtime(None)
    curves: Literal["all", "thin"] = runtime("all")

    def __post_init__(self) -> None:
        self._address = self._experiment = self._sweep = self._note = ""
        self._is_warned = False
        self._client: Any = None  # None without a store
        self._runs: dict[RunKey, Any] = {}
        self._deleted: dict[RunKey, Any] = {}

    def store(self, name: str, output_dir: Path) -> str:
        address = self._resolve(output_dir)
        store = f"{shown_address(address)} {self._experiment_name(name)}"
        if address.startswith(SQLITE) and not Path(address.removeprefix(SQLITE)).is_file():
            return f"missing: {store}"
        return store

    def identify_runs(self, name: str, output_dir: Path) -> dict[str, Any]:
        """The store and the identifiers of the runs; empty if the store was abandoned."""
        if self.failure is not None:
            return {}
        ids = sorted(run.info.run_id for run in self._runs.values())
        return {"store": self.store(name, output_dir), "sweep": self._sweep, "runs": ids}

    def has_runs(self, name: str, output_dir: Path, runs: Any) -> bool:
        """Whether no run was deleted. If a server does not answer, warns once and returns True."""
        is_of_store = isinstance(runs, Mapping) and runs.get("store") == self.store(name, output_dir)
        if not is_of_store or not isinstance(runs.get("runs"), list):
            return False
        wanted = set(map(str, runs["runs"]))
        self._address = self._resolve(output_dir)
        if self._address.startswith(SQLITE):
            return wanted <= active_runs(self._address)
        try:
            configure_mlflow()
            return wanted <= runs_on_server(self._address, self._experiment_name(name), str(runs.get("sweep")))
        except Exception as error:  # whatever a server answers, the sweep is up to date without it
            warnings.warn(
                f"MLflow cannot use {shown_address(self._address)}: {reason_of(error)}. Deleted "
                "runs are not tracked again; run the same command when the store answers.",
                stacklevel=2,
            )
            return True

    def start(self, name: str, config: str, output_dir: Path) -> None:
        """Find or make the run of the sweep."""
        self.failure = None
        self._client = None
        self._note = ""
        self._is_warned = False
        self._address = self._resolve(output_dir)
        self._try(lambda: self._open(name, config))

    def _open(self, name: str, config: str) -> None:
        """Two searches give the runs of the sweep and of its settings that an earlier run of the same sweep made.

        One that was deleted is restored if it is needed, so that nothing is duplicated whoever restores it later.
        """
        configure_mlflow()
        from mlflow import MlflowClient

        artifacts = prepare_database(self._address) if self._address.startswith(SQLITE) else None
        client = MlflowClient(tracking_uri=self._address)
        self._sweep, params = sweep_identity(name, config)
        self._experiment = experiment_id(client, self._experiment_name(name), artifacts)
        self._runs = find_runs(client, self._experiment, self._sweep)
        self._deleted = find_runs(client, self._experiment, self._sweep, deleted=True)
        self._client = client
        parts = [params[key] for key in ("dataset", "metric", "explainer") if key in params]
        title = " · ".join([f"sweep {name}", *parts])
        of_sweep = self._run((SWEEP, ""), title, {"sweep_name": name})
        client.update_run(of_sweep.info.run_id, status="RUNNING")
        self._send(of_sweep, params, {"version": __version__, **source_tags(sys.argv)})
        for key, value in views(self._sweep, name, of_sweep.info.start_time).items():
            set_experiment_tag(client, self._experiment, key, value)

    def _run(self, key: RunKey, name: str, tags: Mapping[str, str]) -> Any:
        """The run of this key: the existing one, the deleted one, which is restored, or a new one."""
        run = self._runs.get(key)
        if run is None and key in self._deleted:
            run = self._deleted.pop(key)
            self._client.restore_run(run.info.run_id)
        if run is None:
            kind, fingerprint = key
            all_tags = {"sweep": self._sweep, "kind": kind, **tags}
            if fingerprint:
                all_tags["fingerprint"] = fingerprint
            run = self._client.create_run(self._experiment, run_name=shorten(name, LONGEST_NAME), tags=all_tags)
        self._runs[key] = run
        return run

    def log(self, result: SettingResult) -> None:
        """Make or complete the setting's run and its curves; nothing when they are complete."""
        self._if_open(lambda: self._log(result))

    def _log(self, result: SettingResult) -> None:
        tags = {
            "setting": result.label,
            "signature": result.signature[:LONGEST_TAG],
            "seconds": f"{result.spent.seconds:.3f}",
            "texts": str(result.spent.n_texts),
            **point_tags(result),
            **source_tags(sys.argv),
        }
        run = self._run((SETTING, result.fingerprint), result.label, tags)
        is_new = run.info.status != "FINISHED"
        if is_new:
            self._send(run, parameters(result), {})
        points = curves_of(result, thin=self.curves == "thin")
        if points:
            self._log_curves(result, points, run.info.run_id)
        if is_new:
            self._client.set_terminated(run.info.run_id)

    def _log_curves(self, result: SettingResult, points: Sequence[MetricEntry], parent: str) -> None:
        """Log a setting's curves in a run of their own: MLflow's page of the setting would show their last points."""
        name = f"curves of {result.label}"
        run = self._run((CURVES, result.fingerprint), name, {"mlflow.parentRunId": parent})
        if run.info.status != "FINISHED":
            # Times follow from the run's, so that repeated entries after an interrupt are exact duplicates.
            send_metrics(self._client, run, points, run.info.start_time)
            self._client.set_terminated(run.info.run_id)

    def judge(self, result: SettingResult, find: Callable[[], Finding]) -> None:
        """The metrics, the tag `verdict`, the description, the data set and the page of the setting's run."""
        if self._client is not None:
            found = find()
            self._try(lambda: self._judge(result, found))

    def _judge(self, result: SettingResult, found: Finding) -> None:
        run = self._runs[SETTING, result.fingerprint]
        tags = {NOTE: description_of(result, found)}
        if found.verdict:
            tags["verdict"] = found.verdict
        self._update(run, numbers_of(result, found), tags)
        name = found.run_name(result)
        if run.info.run_name != name:
            self._client.update_run(run.info.run_id, name=shorten(name, LONGEST_NAME))
        if not run.inputs.dataset_inputs:
            self._client.log_inputs(run.info.run_id, datasets=[dataset_of(result)])
        if found.page and self._may_keep(run, [PAGE]):
            self._client.log_text(run.info.run_id, found.page, PAGE)

    def headline(self, numbers: Mapping[str, float], note: str, files: Sequence[Path], tags: Mapping[str, str]) -> None:
        """Metrics, description, files and tags of the sweep's run.

        The experiment has the same description: its page shows the first line, and the others with a click.
        """
        self._note = note
        rounded = {name: float(f"{value:.{DIGITS}g}") for name, value in numbers.items()}
        self._if_open(lambda: self._update(self._runs[SWEEP, ""], rounded, tags))
        if note:
            text = shorten(note, LONGEST_NOTE)
            self._if_open(lambda: set_experiment_tag(self._client, self._experiment, NOTE, text))
        self._if_open(lambda: self._keep(files))

    def _update(self, run: Any, numbers: Mapping[str, float], tags: Mapping[str, str]) -> None:
        """Log the numbers and tags of a run that are new or have changed."""
        changed: list[MetricEntry] = []
        for name, value in numbers.items():
            key = legal_name(name)
            if math.isfinite(value) and run.data.metrics.get(key) != value:
                changed.append((key, float(value), 0))
        if changed:
            send_metrics(self._client, run, changed, int(time.time() * 1000))
        new = {}
        for name, text in tags.items():
            key = legal_name(name)
            if run.data.tags.get(key) != text:
                new[key] = text
        self._send(run, {}, new)

    def _send(self, run: Any, params: Mapping[str, str], tags: Mapping[str, str]) -> None:
        """Send parameters and tags of a run, in as few calls as MLflow allows."""
        from mlflow.entities import Param, RunTag

        if params:
            self._client.log_batch(run.info.run_id, params=[Param(*item) for item in params.items()])
        all_tags = [RunTag(*item) for item in tags.items()]
        for start in range(0, len(all_tags), TAGS_AT_ONCE):
            self._client.log_batch(run.info.run_id, tags=all_tags[start : start + TAGS_AT_ONCE])

    def _keep(self, files: Sequence[Path]) -> None:
        """Log files as artifacts of the sweep's run."""
        run = self._runs[SWEEP, ""]
        kept = artifacts_of(files)
        if self._may_keep(run, [name for names in kept.values() for name in names]):
            log_files(self._client, run, kept)

    def _may_keep(self, run: Any, names: Sequence[str]) -> bool:
        """Whether artifacts of `names` go to the store's own folder; one warning per sweep if they do not."""
        try:
            for name in names:
                check_artifact(self._address, run.info.artifact_uri, name)
        except StoreError as error:
            if not self._is_warned:
                self._is_warned = True
                store = shown_address(self._address)
                text = f"MLflow keeps no files of this sweep in {store}: {error}. {TRACKED_ELSEWHERE}"
                warnings.warn(text, stacklevel=4)
            return False
        return True

    def finish(self, failed: Sequence[NotRun], error: BaseException | None = None) -> None:
        """Close the runs: FINISHED, FAILED (also when settings failed), or KILLED by Ctrl-C, a signal or an exit."""
        self._if_open(lambda: self._finish(failed, error))
        self._client = None

    def _finish(self, failed: Sequence[NotRun], error: BaseException | None) -> None:
        run_id = self._runs[SWEEP, ""].info.run_id
        status = "FAILED" if failed else "FINISHED"
        if error is not None:
            status = "FAILED" if isinstance(error, Exception) else "KILLED"
            wanted = f"tags.sweep = '{self._sweep}' and attributes.status = 'RUNNING'"
            for run in self._client.search_runs([self._experiment], wanted):
                self._client.set_terminated(run.info.run_id, status=status)
        failures = [f"- failed: {refused.label}: {refused.reason}" for refused in failed]
        note = "\n".join([self._note, "", *failures]).strip()
        self._client.set_tag(run_id, NOTE, shorten(note, LONGEST_TAG))
        self._client.set_terminated(run_id, status=status)

    def where(self) -> str:
        """How to open the runs in a browser; "" if the store was abandoned."""
        if self.failure is not None:
            return ""
        is_server = self._address.startswith(("http://", "https://"))
        if not is_server and not self._address.startswith(SQLITE):
            return f"\n  MLflow at {shown_address(self._address)}"
        run_id = self._runs[SWEEP, ""].info.run_id
        server = self._address if is_server else OWN_SERVER
        settings, sweep = pages(server, self._experiment, self._sweep, run_id)
        command = "" if is_server else f"\n  {server_command(self._address)}"
        return f"{command}\n  settings in MLflow: {settings}\n  sweep in MLflow: {sweep}"

    def _experiment_name(self, name: str) -> str:
        """The experiment of a sweep of this name."""
        return self.experiment or os.environ.get("MLFLOW_EXPERIMENT_NAME") or name

    def _resolve(self, output_dir: Path) -> str:
        address = self.uri or os.environ.get("MLFLOW_TRACKING_URI")
        if address:
            return address
        database = output_dir.absolute().parent / "mlflow.db"
        return f"{SQLITE}{database}"

    def _if_open(self, work: Callable[[], None]) -> None:
        """`_try`, unless the store was abandoned."""
        if self._client is not None:
            self._try(work)

    def _try(self, work: Callable[[], None]) -> None:
        """Run the work, or abandon the store; a signal waits for a write to a local database, not for a server."""
        is_local = self._address.startswith(SQLITE)
        try:
            with delay_signals() if is_local else nullcontext():
                work()
        except Exception as error:  # the sweep must not end with its tracker, whatever happens to that
            self._client = None
            self.failure = f"MLflow cannot use {shown_address(self._address)}: {reason_of(error)}"
            warnings.warn(f"{self.failure}. {LOST}", stacklevel=3)
