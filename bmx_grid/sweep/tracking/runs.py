"""The runs of one sweep in an MLflow store: a parent, a child for each setting, and one for the analysis.

A repeated sweep finds its runs by their tags and completes what is missing, so nothing is there twice.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bmx_grid._version import __version__
from bmx_grid.errors import StoreError
from bmx_grid.identity import digest
from bmx_grid.segments import SegmentSet
from bmx_grid.sweep.results import SettingResult
from bmx_grid.sweep.settings import Refused
from bmx_grid.sweep.tracking.artifacts import add_image, laid_out
from bmx_grid.sweep.tracking.base import HEAT_MAP, Status
from bmx_grid.sweep.tracking.database import NO_ANALYSIS, files_are_there, held
from bmx_grid.sweep.tracking.entries import (
    curves_name,
    finite,
    parameters,
    points,
    step_scale,
    sweep_identity,
    sweep_title,
)
from bmx_grid.sweep.tracking.inputs import inputs_of
from bmx_grid.sweep.tracking.notes import setting_note
from bmx_grid.sweep.tracking.source import source
from bmx_grid.sweep.tracking.views import MADE, views
from bmx_grid.wording import counted

ALL_AT_ONCE, OTHERS_AT_ONCE = 1000, 100  # entries of a call, and of these parameters or tags: MLflow's limits
LONGEST_TAG = 8000  # characters: MLflow's limit
FOLDERS = ("figures", "tables", "recipes")  # kept as folders of artifacts


@dataclass
class SweepRuns:
    """The runs of a sweep; `open` comes first. `lock_seconds`: for another process to let go of the store.

    settings: the runs of settings, by label and fingerprint; analyses: those of analyses, by fingerprint.
    inputs: by data set and language pair.
    """

    client: Any
    address: str
    lock_seconds: float
    experiment_id: str = ""
    fingerprint: str = ""
    parent: Any = None
    settings: dict[tuple[str, str], Any] = field(default_factory=dict)
    analyses: dict[str, Any] = field(default_factory=dict)
    note: str = ""
    analysis_run: str = NO_ANALYSIS
    source: dict[str, str] = field(default_factory=dict)
    inputs: dict[tuple[str, str], Any] = field(default_factory=dict)

    def open(self, experiment: str, artifacts: str | None, name: str, config: str, folder: str = "") -> None:
        """Find or make the parent; one search gives it and all children of an earlier run of the same sweep.

        artifacts: where the files of a new experiment go; None for where the server keeps them. folder: the name of
        the sweep's own folder.
        """
        from mlflow.entities import Param, RunTag

        self.source = source()
        self.fingerprint, params = sweep_identity(name, config)
        self.experiment_id = _experiment(self.client, experiment, artifacts, params.get("correlation", "pearson"))
        runs = self.client.search_runs([self.experiment_id], f"tags.sweep = '{self.fingerprint}'", max_results=10_000)
        for run in runs:
            tags = run.data.tags
            if tags.get("kind") == "setting":
                self.settings[tags["setting"], tags["fingerprint"]] = run
            elif tags.get("kind") == "analysis":
                self.analyses[tags["fingerprint"]] = run
            else:
                self.parent = run
        if self.parent is None:
            tags = {"sweep": self.fingerprint, "sweep_name": name, "kind": "sweep"}
            title = sweep_title(name, params, folder)
            self.parent = self.client.create_run(self.experiment_id, run_name=title, tags=tags)
        run_id = self.parent.info.run_id
        self.client.update_run(run_id, status="RUNNING")
        told = {"version": __version__, **self.source}
        self.client.log_batch(
            run_id,
            params=[Param(*item) for item in params.items() if item[0] not in self.parent.data.params],
            tags=[RunTag(*item) for item in told.items()],
        )

    def read(self, sets: Iterable[SegmentSet]) -> None:
        """Log the segments as inputs of the parent; those that it has already are not there twice."""
        self.inputs = inputs_of(sets)
        if self.inputs:
            self.client.log_inputs(self.parent.info.run_id, datasets=list(self.inputs.values()))

    def has(self, result: SettingResult) -> bool:
        """Whether the setting's run is there with everything in it."""
        return _is_complete(self.settings.get((result.label, result.fingerprint)))

    def log(self, result: SettingResult, files: Mapping[str, Path]) -> None:
        """Make the setting's run, or complete one that was interrupted: what is repeated is an exact duplicate."""
        key = (result.label, result.fingerprint)
        if key not in self.settings:
            tags = {
                "setting": result.label,
                "fingerprint": result.fingerprint,
                "signature": result.signature[:LONGEST_TAG],
                "step": f"{step_scale(result)} x p",
                "mlflow.note.content": setting_note(result)[:LONGEST_TAG],
            }
            self.settings[key] = self._child("setting", result.label, tags)
        run = self.settings[key]
        self._supersede([other for (label, _), other in self.settings.items() if label == result.label], run)
        if _is_complete(run):
            return
        if (read := self.inputs.get(result.names[:2])) is not None:
            self.client.log_inputs(run.info.run_id, datasets=[read])
        entries, n_left_out = points(result)
        spent = {"seconds": f"{result.seconds:.3f}", "texts": result.n_texts, "texts_truncated": result.n_truncated}
        drawn = {"mlflow.loggedImages": "True"} if HEAT_MAP in files else {}  # the pages look for images only then
        found = {"non_finite": n_left_out, **spent, **drawn}
        self._fill(run, entries, parameters(result), found, files, f"{curves_name(result)}/heat map")

    def headline(self, numbers: Mapping[str, float], note: str, files: Sequence[Path]) -> None:
        """Numbers, note, tables and recipes of the parent. Numbers that are there already are not sent again."""
        self.note = note
        known = self.parent.data.metrics
        news = {name: value for name, value in finite(numbers).items() if known.get(name) != value}
        self._send_batches(
            self.parent.info.run_id, _metrics([(name, value, 0) for name, value in news.items()], _now())
        )
        with laid_out(_in_folders(files)) as folder:
            self._send(self.parent.info.run_id, folder)

    def analysis(self, numbers: Mapping[str, float], files: Sequence[Path]) -> None:
        """A separate run, made again when the numbers or a JSON file among the files differ from those it has.

        Drawings and pages do not count: they carry dates.
        """
        sent = finite(numbers)
        contents = [digest(path.read_text(encoding="utf-8")) for path in files if path.suffix == ".json"]
        fingerprint = digest([sorted(sent.items()), contents])
        if fingerprint not in self.analyses:
            self.analyses[fingerprint] = self._child("analysis", "analysis", {"fingerprint": fingerprint})
        run = self.analyses[fingerprint]
        self._supersede(self.analyses.values(), run)
        if not _is_complete(run):
            self._fill(run, [(name, value, 0) for name, value in sent.items()], {}, {}, _in_folders(files))
        self.analysis_run = run.info.run_id

    def finish(self, status: Status, failed: Sequence[Refused]) -> None:
        """Close what is still open, then the parent with its note; each replaces what an earlier run left."""
        from mlflow.entities import RunTag

        if self.parent is None:
            return
        ended = "KILLED" if status == "killed" else "FAILED"
        for run in (*self.settings.values(), *self.analyses.values()):
            if run.data.tags.get("complete") != "true" and run.info.status == "RUNNING":
                self.client.set_terminated(run.info.run_id, status=ended)
        n_complete = len({label for (label, _), run in self.settings.items() if _is_complete(run)})
        note = [self.note or f"{counted(n_complete, 'setting')} tracked, {len(failed)} failed.", ""]
        note += [f"- failed: {one.label}: {one.reason}" for one in failed]
        text = "\n".join(note).strip()
        tags = {
            "mlflow.note.content": text if len(text) <= LONGEST_TAG else f"{text[: LONGEST_TAG - 2]} …",
            "failed": str(len(failed)),
            "analysis": self.analysis_run,
        }
        self.client.log_batch(self.parent.info.run_id, tags=[RunTag(*item) for item in tags.items()])
        well = status == "finished" and not failed
        self.client.set_terminated(self.parent.info.run_id, status="FINISHED" if well else ended)

    def _child(self, kind: str, name: str, tags: Mapping[str, str]) -> Any:
        """A new run below the parent, or the same one that another process has just made."""
        with held(self.address, self.lock_seconds):  # the same sweep in another process may be about to make this run
            wanted = f"tags.sweep = '{self.fingerprint}' and tags.fingerprint = '{tags['fingerprint']}'"
            found = self.client.search_runs([self.experiment_id], wanted)
            same = (run for run in found if run.data.tags.get("kind") == kind and run.info.run_name == name)
            if (run := next(same, None)) is not None:
                return run
            parent = {"mlflow.parentRunId": self.parent.info.run_id, "sweep": self.fingerprint, "kind": kind}
            return self.client.create_run(self.experiment_id, run_name=name, tags={**parent, **tags, **self.source})

    def _supersede(self, others: Iterable[Any], run: Any) -> None:
        """Mark which of several runs for the same thing holds the present result; it may be an earlier one again."""
        run_id = run.info.run_id
        for other in others:
            if other is not run and other.data.tags.get("superseded_by") != run_id:
                self.client.set_tag(other.info.run_id, "superseded_by", run_id)
                other.data.tags["superseded_by"] = run_id
        if run.data.tags.pop("superseded_by", None) is not None:
            self.client.delete_tag(run_id, "superseded_by")

    def _fill(
        self,
        run: Any,
        entries: Sequence[tuple[str, float, int]],
        params: Mapping[str, str],
        tags: Mapping[str, object],
        files: Mapping[str, Path],
        image: str = "",
    ) -> None:
        """Everything of a child, then the mark that it is complete.

        Times follow from the run's, so that what is repeated is an exact duplicate.
        image: the name of the chart that shows the heat map.
        """
        from mlflow.entities import Param, RunTag

        run_id = run.info.run_id
        new = [Param(key, value) for key, value in params.items() if key not in run.data.params]
        marks = [RunTag(key, str(value)) for key, value in tags.items()]
        self._send_batches(run_id, _metrics(entries, run.info.start_time), new, marks)
        with laid_out(files) as folder:
            if (folder / HEAT_MAP).exists():
                add_image(folder, folder / HEAT_MAP, image, run_id, run.info.start_time)
            self._send(run_id, folder)
        self.client.set_terminated(run_id)
        self.client.set_tag(run_id, "complete", "true")
        run.data.tags["complete"] = "true"

    def _send_batches(
        self, run_id: str, metrics: Sequence[Any], params: Sequence[Any] = (), tags: Sequence[Any] = ()
    ) -> None:
        """All of these in as few calls as MLflow allows."""
        while metrics or params or tags:
            some, params = params[:OTHERS_AT_ONCE], params[OTHERS_AT_ONCE:]
            marks, tags = tags[:OTHERS_AT_ONCE], tags[OTHERS_AT_ONCE:]
            room = ALL_AT_ONCE - len(some) - len(marks)
            now, metrics = metrics[:room], metrics[room:]
            self.client.log_batch(run_id, metrics=now, params=some, tags=marks)

    def _send(self, run_id: str, folder: Path) -> None:
        if any(folder.iterdir()):
            self.client.log_artifacts(run_id, str(folder))


def _in_folders(files: Sequence[Path]) -> dict[str, Path]:
    """Files of a sweep by their names in the store: as on disk, those of FOLDERS below their folder."""
    return {f"{path.parent.name}/{path.name}" if path.parent.name in FOLDERS else path.name: path for path in files}


def _is_complete(run: Any) -> bool:
    """Whether a run was filled to its end, and its folder of files, where it is on this machine, is still there."""
    return run is not None and run.data.tags.get("complete") == "true" and files_are_there(run.info.artifact_uri)


def _metrics(entries: Sequence[tuple[str, float, int]], when: int) -> list[Any]:
    """Points a millisecond apart per step, the first of them at `when`.

    MLflow's page of a metric draws over time until it is set to steps: points of one time are a vertical line there.
    """
    from mlflow.entities import Metric

    first = min((step for _, _, step in entries), default=0)
    return [Metric(key, value, when + step - first, step) for key, value, step in entries]


def _now() -> int:
    return int(time.time() * 1000)


def _experiment(client: Any, name: str, artifacts: str | None, kind: str) -> str:
    """The experiment's id; created when there is none, which another machine may do at the same time.

    Its views show settings with the correlation `kind`, that of the first sweep.
    """
    from mlflow.exceptions import MlflowException

    found = client.get_experiment_by_name(name)
    if found is None:
        with suppress(MlflowException):  # "already exists": the next line finds it, or says what is wrong
            tags = {"mlflow.experimentKind": "custom_model_development", **views(kind, _now())}
            return str(client.create_experiment(name, artifact_location=artifacts, tags=tags))
        found = client.get_experiment_by_name(name)
    if found is None or found.lifecycle_stage != "active":
        raise StoreError(
            f"MLflow experiment {name!a} cannot be created or was deleted: restore it (mlflow experiments restore) "
            "or choose another name (tracking.experiment=NAME)."
        )
    if MADE not in found.tags:  # an experiment of an earlier version, or of a person
        for key, value in views(kind, _now()).items():
            client.set_experiment_tag(found.experiment_id, key, value)
    return str(found.experiment_id)
