"""Tracking watches a sweep from outside, which never depends on it: in MLflow a run, and below it one per setting.

Only the main process tracks. A repeated sweep finds its runs by their tags and completes what is missing, so nothing is
there twice. A server that does not answer is given up after MLflow's own timeout and retries, a database that is locked
after SQLite's.
"""

from __future__ import annotations

import errno
import json
import logging
import math
import os
import posixpath
import re
import shlex
import socket
import sqlite3
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from bmx_grid._version import __version__
from bmx_grid.core.errors import ConfigError, StoreError
from bmx_grid.core.identity import digest, runtime
from bmx_grid.core.masking import masked_address, masked_argument
from bmx_grid.core.stopping import uninterrupted
from bmx_grid.core.storage import remove_abandoned, replacing
from bmx_grid.core.wording import counted, setting_label, shortened
from bmx_grid.datasets.segments import SegmentSet
from bmx_grid.sweep.output import RUNTIME_KEYS
from bmx_grid.sweep.results import SettingResult
from bmx_grid.sweep.settings import Refused

Status = Literal["finished", "failed", "killed"]
Entry = tuple[str, float, int]  # of a metric of MLflow's: name, value, step

LAYOUT = 4  # of the runs and their names; part of a sweep's identity, so that no run mixes two layouts
SQLITE = "sqlite:///"
SERVER = re.compile(r"https?://([^\s/?#@]*@)?([^\s/?#@:\[\]]+|\[[\da-fA-F:.]+\])(:\d{1,5})?(/[^\s?#@]*)?")
LONGEST_WAIT = 3600.0
LOCK_SECONDS = 180.0  # for another sweep to make the database: seconds of work, a minute where four share a busy core
BUSY_SECONDS = 20.0  # for another process to end its transaction; MLflow waits equally long
ALL_AT_ONCE, PARAMS_AT_ONCE = 1000, 100  # entries of a call, and of these parameters: MLflow's limits
LONGEST_TAG, LONGEST_NAME = 8000, 250  # characters: MLflow's limits
LONGEST_COMMAND = 5000  # characters: older servers refuse longer tags
NAMED = 3  # data sets, metrics or explainers with their names in a sweep's title
TENTHS = 10  # steps for each 1 of p, where its values are tenths
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
class Tracker:
    """Watches a sweep: start, then log for every result, then headline, then finish.

    This one tracks nothing. After `start` no method raises for a store that is lost or does not answer: it warns
    once, in one line, keeps the reason in `failure`, and lets the sweep go on.

    failure: why tracking was given up, None while all is well.
    """

    failure: str | None = field(default=None, init=False)

    def store(self, output_dir: Path) -> str:
        """Which store a sweep is tracked in, by address and experiment, to compare with another run's; "" for none."""
        return ""

    def start(self, name: str, config: str, output_dir: Path, sets: Iterable[SegmentSet] = ()) -> None:
        """Open the sweep called `name`; `config` is its whole configuration as YAML, without passwords.

        sets: the segments that it reads, of each language pair of each data set; repeated ones count once.
        Raises BmxError when the store refuses or cannot be written: nothing has been computed yet. A store that
        cannot be reached, or does not answer in time, is given up with a warning instead.
        """

    def log(self, result: SettingResult) -> None:
        """Record a result, with every correlation of its grid."""

    def headline(
        self, numbers: Mapping[str, float], note: str, files: Sequence[Path] = (), answers: Sequence[str] = ()
    ) -> None:
        """Numbers about the whole sweep and its analysis, a summary in Markdown for a person, and the sweep's files.

        Files below `tables/`, `figures/` or `recipes/` keep that folder. Undefined numbers (NaN) and files that do not
        exist are left out. answers: the sentences that answer the sweep's question, as plain text.
        """

    def finish(self, status: Status, failed: Sequence[Refused]) -> None:
        """Close the sweep; settings whose recording was interrupted are closed with it.

        status: "finished" (also when settings failed: `failed` names them), "failed" when an error ended the sweep,
        "killed" when a person or the system ended it.
        """

    def where(self) -> str:
        """How to look at the runs, a line break first, for the end of a sweep's output; or nothing."""
        return ""


def ending(error: BaseException | None) -> Status:
    """The status of a sweep that `error` ended: "killed" for Ctrl-C, a signal or an exit, "failed" for other errors."""
    if error is None:
        return "finished"
    return "failed" if isinstance(error, Exception) else "killed"


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
        uri = self.uri
        if uri is not None and not uri.startswith(SQLITE) and not (SERVER.fullmatch(uri) and uri.isprintable()):
            raise ConfigError(
                f"tracking.uri: {_shown(masked_address(uri))!a} is neither {SQLITE}FILE nor the address "
                "http(s)://HOST:PORT of an MLflow server, through which other databases are reached. Give user and "
                "password in the environment (MLFLOW_TRACKING_USERNAME, MLFLOW_TRACKING_PASSWORD), or with %-escapes "
                "for characters such as / and #."
            )

    def __repr__(self) -> str:
        uri = None if self.uri is None else masked_address(self.uri)
        return f"MlflowTracker(uri={uri!r}, experiment={self.experiment!r}, timeout={self.timeout!r})"

    def store(self, output_dir: Path) -> str:
        self._address = self._resolve(output_dir)
        is_missing = self._address.startswith(SQLITE) and not Path(self._address.removeprefix(SQLITE)).is_file()
        return f"{'missing: ' if is_missing else ''}{self._shown()} {self.experiment}"

    def start(self, name: str, config: str, output_dir: Path, sets: Iterable[SegmentSet] = ()) -> None:
        self.failure, self._client, self._note = None, None, ""
        self._address = self._resolve(output_dir)
        is_file = self._address.startswith(SQLITE)
        _quiet(self.timeout)
        try:
            with _prepared(self._address) if is_file else nullcontext() as artifacts:
                self._open(name, config, output_dir.name, sets, artifacts)
        except StoreError:
            raise
        except Exception as error:  # MLflow raises many kinds of errors for what a server answers
            silence = None if is_file else _no_answer(error, self.timeout)
            if silence is None:
                raise StoreError(f"MLflow cannot use {self._shown()}: {_reason(error)}; {REMEDY}.") from error
            self._give_up(f"MLflow's server {self._shown()} {silence}")

    def _open(self, name: str, config: str, folder: str, sets: Iterable[SegmentSet], artifacts: str | None) -> None:
        """Find or make the parent; one search gives it and all runs below it of an earlier run of the same sweep.

        artifacts: where the files of a new experiment go; None for where the server keeps them.
        """
        from mlflow import MlflowClient
        from mlflow.entities import Param, RunTag

        client = MlflowClient(tracking_uri=self._address)
        self._source = source(sys.argv)
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
            self._parent = client.create_run(experiment, run_name=sweep_title(name, params, folder), tags=tags)
        client.update_run(self._parent.info.run_id, status="RUNNING")
        client.log_batch(
            self._parent.info.run_id,
            params=[Param(*item) for item in params.items() if item[0] not in self._parent.data.params],
            tags=[RunTag(*item) for item in {"version": __version__, **self._source}.items()],
        )
        by_pair = {(segments.dataset, segments.language_pair): segments for segments in sets}
        self._inputs = {pair: _input_of(segments) for pair, segments in by_pair.items()}
        if self._inputs:
            client.log_inputs(self._parent.info.run_id, datasets=list(self._inputs.values()))

    def log(self, result: SettingResult) -> None:
        """Make or complete the setting's run; nothing when it is complete."""
        self._try(lambda: self._log(result))

    def _log(self, result: SettingResult) -> None:
        runs = self._settings[result.label]
        entries, n_left_out = points(result)
        if result.fingerprint not in runs:
            tags = {
                "mlflow.parentRunId": self._parent.info.run_id,
                "sweep": self._sweep,
                "kind": "setting",
                "setting": result.label,
                "fingerprint": result.fingerprint,
                "signature": result.signature[:LONGEST_TAG],
                "step": f"{step_scale(result)} x p",
                "non_finite": str(n_left_out),
                "seconds": f"{result.spent.seconds:.3f}",
                "texts": str(result.spent.n_texts),
                "texts_truncated": str(result.spent.n_truncated),
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

    def headline(
        self, numbers: Mapping[str, float], note: str, files: Sequence[Path] = (), answers: Sequence[str] = ()
    ) -> None:
        """Metrics, description, files and the tag `answer` of the parent run."""
        self._note = note
        self._try(lambda: self._add(numbers, files, "\n".join(answers)))

    def _add(self, numbers: Mapping[str, float], files: Sequence[Path], answer: str) -> None:
        """Numbers that changed, files and answer of the parent run."""
        known, run_id = self._parent.data.metrics, self._parent.info.run_id
        named = zip(legal_names(numbers), map(float, numbers.values()), strict=True)
        changed = [(name, value, 0) for name, value in named if math.isfinite(value) and known.get(name) != value]
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
        run_id, experiment = self._parent.info.run_id, self._parent.info.experiment_id
        ended = {"finished": "FAILED" if failed else "FINISHED", "failed": "FAILED", "killed": "KILLED"}[status]
        if status != "finished":
            wanted = f"tags.sweep = '{self._sweep}' and tags.kind = 'setting' and attributes.status = 'RUNNING'"
            for run in self._client.search_runs([experiment], wanted):
                self._client.set_terminated(run.info.run_id, status=ended)
        note = [self._note or f"{counted(len(self._settings), 'setting')} tracked, {len(failed)} failed.", ""]
        note += [f"- failed: {refused.label}: {refused.reason}" for refused in failed]
        self._client.set_tag(run_id, "mlflow.note.content", shortened("\n".join(note).strip(), LONGEST_TAG))
        self._client.set_tag(run_id, "failed", str(len(failed)))
        self._client.set_terminated(run_id, status=ended)

    def where(self) -> str:
        """How to open the runs in a browser; nothing where the store was given up."""
        if self.failure is not None:
            return ""
        if self._address.startswith(SQLITE):
            command = f"\n  mlflow ui --backend-store-uri {shlex.quote(self._address)}"
            return command if self._parent is None else f"{command}\n  {RUNS.format(self._parent.info.experiment_id)}"
        return f"\n  MLflow at {self._shown()}"

    def _send(self, run: Any, entries: Sequence[Entry], when: int, params: Mapping[str, str] | None = None) -> None:
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


def sweep_identity(name: str, config: str) -> tuple[str, dict[str, str]]:
    """What makes two sweeps the same one, as SHA-256, and its readable parameters; `config` is YAML."""
    import yaml

    kept = {key: node for key, node in yaml.safe_load(config).items() if key not in RUNTIME_KEYS}
    chosen = {key: kept[key] for key in ("dataset", "metric", "explainer") if key in kept}
    grid = (kept.get("evaluation") or {}).get("grid") or {}
    chosen |= {key: grid[key] for key in ("correlation", "side") if key in grid}
    chosen |= {key: kept[key] for key in ("words", "limit", "seed") if key in kept}
    params = {key: ", ".join(node) if isinstance(node, Mapping) else _as_text(node) for key, node in chosen.items()}
    return digest([LAYOUT, name, yaml.safe_dump(kept, sort_keys=True)]), params


def sweep_title(name: str, params: Mapping[str, str], folder: str) -> str:
    """The name of a sweep's run, which tells it from others: "quickstart · sample · chrf · lime, shap · pearson".

    params: of `sweep_identity`. folder: the name of its output folder; that of one of several sweeps (--multirun) is
    the sweep's name and what varies.
    """
    parts = [name, folder.removeprefix(f"{name},") if folder.startswith(f"{name},") else ""]
    for key, thing in (("dataset", "data set"), ("metric", "metric"), ("explainer", "explainer")):
        names = params.get(key, "")
        count = len(names.split(", "))
        parts.append(counted(count, thing) if count > NAMED else names)
    parts.append(params.get("correlation", ""))
    if params.get("limit", "null") != "null":
        parts.append(f"first {params['limit']} segments")
    return " · ".join(part for part in parts if part)[:LONGEST_NAME]


def points(result: SettingResult) -> tuple[list[Entry], int]:
    """What is sent of a result, and how many values, not finite, are left out.

    The grid is one series for each w, `pearson/w0.4`, with `step_scale` times p as its step. The series of a grid finer
    than tenths of p have names of their own, so that no chart draws two scales on one axis. The numbers about the grid
    are logged at step 0 and have no `/` in their names: MLflow's page of a run's metrics shows groups before single
    numbers, so the curves come first there. The numbers are sent first: lists of metrics and comparisons begin with the
    gain, where a curve would stand for its last point, that of the largest p. The fixed point is left out, uncounted,
    where the explainer has none; without a grid there is only the correlation of the metric alone.

    Curves are sent from their largest p down: MLflow keeps the last point of a series apart, and would write that anew
    for every later one, which takes a third of the time. The curve of w = 1, the metric alone, is flat: its two
    ends are sent.
    """
    kind = result.correlation
    numbers: dict[str, float] = {}
    point = result.published
    if math.isfinite(point.p):
        fixed = {"gain": result.fixed_gain, kind: point.correlation, "p": point.p, "w": point.w}
        numbers |= {f"fixed {key}": value for key, value in fixed.items()}
    if result.has_grid:
        grid = result.grid
        numbers |= {
            "best gain": result.gain,
            f"best {kind}": grid.best,
            "best p": grid.best_p,
            "best w": grid.best_w,
            "best plateau": grid.plateau,
            "share shifted": grid.share_shifted,
            "length control": grid.length_control,
            "segments": grid.n_segments,
            "segments rated": grid.n_rated,
            "segments used": grid.n_used,
            "undefined points": grid.n_undefined,
        }
    numbers[f"baseline {kind}"] = result.baseline
    entries: list[tuple[str, float, float]] = [(key, float(value), 0) for key, value in numbers.items()]
    if result.spec is not None and result.has_grid:
        scale, weights = step_scale(result), result.spec.w
        steps = np.asarray(result.spec.p, dtype=np.float64) * scale
        group = kind if scale == TENTHS else f"{kind} by {scale} p"
        names = legal_names(f"{group}/w{weight:.12g}" for weight in weights)
        for name, weight, curve in zip(names, weights, result.grid.correlation.T, strict=True):
            sent_down = slice(None, None, -1 if weight != 1 else min(1 - len(steps), -1))
            entries += [
                (name, float(value), step) for value, step in zip(curve[sent_down], steps[sent_down], strict=True)
            ]
    sent = [(key, value, round(step)) for key, value, step in entries if math.isfinite(value) and math.isfinite(step)]
    return sent, len(entries) - len(sent)


def step_scale(result: SettingResult) -> int:
    """10, so that steps are tenths of p (a step must be a whole number); a higher power of ten for a finer grid."""
    p = () if result.spec is None else result.spec.p
    powers = np.array([power for power in p if math.isfinite(power)], dtype=np.float64)
    scale = TENTHS
    while scale < 10**9 and np.abs(powers * scale - np.rint(powers * scale)).max(initial=0) > 1e-6:
        scale *= 10
    return scale


def parameters(result: SettingResult) -> dict[str, str]:
    """What a reader compares settings by, as text under names that MLflow takes: names, grid and seed.

    The settings of metric and explainer are in the tag `signature`.
    """
    values = dict(zip(("dataset", "language_pair", "metric", "explainer"), result.names, strict=True))
    values |= {"correlation": result.correlation}
    spec = result.spec
    if spec is not None and result.has_grid:
        values |= {
            "side": spec.side,
            "aggregation": type(spec.aggregation).__name__,
            "p": f"{spec.p[0]:g} … {spec.p[-1]:g}, {counted(len(spec.p), 'value')}",
            "w": ", ".join(f"{weight:.12g}" for weight in spec.w),
        }
    values |= {key: _as_text(value) for key, value in result.parameters.items() if "." not in key and key != "segments"}
    return dict(zip(legal_names(values), values.values(), strict=True))


def legal_names(names: Iterable[str]) -> list[str]:
    """The names in a form that MLflow accepts, one for one and all different.

    It takes letters, digits, `_ - . space : /`, at most 250, in a form that could be a path below a folder.
    """
    legal: list[str] = []
    for name in names:
        plain = re.sub(r"[^\w\-. :/]", "_", name)[: LONGEST_NAME - 12] or "_"
        if plain.startswith((".", "/")) or posixpath.normpath(plain) != plain:
            plain = f"_{plain.replace('/', '_')}"
        unique, number = plain, 1
        while unique in legal:
            number += 1
            unique = f"{plain} {number}"
        legal.append(unique)
    return legal


def _as_text(value: object) -> str:
    """A value as YAML writes it, not as Python does."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _input_of(segments: SegmentSet) -> Any:
    """A language pair of a data set as an MLflow DatasetInput: name, digest, where it was read, and its sizes.

    MLflow itself would make it from a DataFrame, and hash that again; all it needs is known already.
    """
    from mlflow.entities import Dataset, DatasetInput, InputTag

    path = Path(segments.origin)
    address = str(path.resolve()) if segments.origin and path.exists() else segments.origin
    sizes = {"num_rows": len(segments), "num_rated": segments.rated, "num_systems": len(segments.systems)}
    dataset = Dataset(
        name=setting_label(segments.dataset, segments.language_pair)[:LONGEST_NAME],
        digest=segments.fingerprint()[:16],  # MLflow takes 36 characters
        source_type="local",
        source=json.dumps({"uri": address}, ensure_ascii=False),
        profile=json.dumps({**sizes, "human_scores": list(segments.judgements.scores)}, ensure_ascii=False),
    )
    return DatasetInput(dataset, [InputTag("mlflow.data.context", "evaluation")])


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


@contextmanager
def _prepared(address: str) -> Iterator[str]:
    """A SQLite store that is MLflow's and can be written, locked against other sweeps; where its artifacts go.

    It is created in one step: MLflow builds its tables in dozens of migrations, and a sweep killed meanwhile must not
    leave half of them. It is checked before MLflow tries, because MLflow would retry for minutes.
    Raises sqlite3.Error, OSError, StoreError.
    """
    from filelock import FileLock
    from mlflow import MlflowClient

    path = Path(address.removeprefix(SQLITE)).absolute()
    if re.search("[%?\x00-\x1f\x7f\ud800-\udfff]", address):  # MLflow would read another name
        raise StoreError(
            f"MLflow cannot use {_shown(address)!a}: its path has a %, a ? or an unprintable character in it; {REMEDY}."
        )
    if path.name in ("", ":memory:") or (path.exists() and not path.is_file()):
        raise StoreError(f"MLflow cannot use {_shown(str(path))}: it is not a permanent file; {REMEDY}.")
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.parent / f".{path.name}.lock", timeout=LOCK_SECONDS), uninterrupted():
        remove_abandoned(path.parent)
        if not path.exists() or path.stat().st_size == 0:
            with replacing(path) as part:
                MlflowClient(tracking_uri=f"{SQLITE}{part}").search_experiments(max_results=1)
        with closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as database:
            database.execute("BEGIN IMMEDIATE")
            tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if tables and not {"experiments", "runs"} <= tables:
            raise StoreError(f"MLflow cannot use {path}: it is a database of another program; {REMEDY}.")
        yield (path.parent / "mlruns").as_uri()


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
