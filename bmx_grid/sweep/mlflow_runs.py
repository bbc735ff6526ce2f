"""The contents of the MLflow runs of a sweep and its settings, and their address in a browser.

MLflow keeps views of an experiment as its tags. Each sweep writes one: the runs of its settings, with their differences
and findings as columns. It is in the list "Views" of the page, by the name of the sweep.
"""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bmx_grid.core.identity import digest
from bmx_grid.core.secrets import mask_argument
from bmx_grid.core.wording import format_interval, pluralize, shorten
from bmx_grid.evaluations.base import NOTHING, Estimate
from bmx_grid.evaluations.verdicts import HELPS, HURTS
from bmx_grid.sweep.folder import RECIPES, TABLES, strip_runtime_keys
from bmx_grid.sweep.judge import SettingResult
from bmx_grid.sweep.mlflow_store import SQLITE, MetricEntry

READABLE = ("dataset", "metric", "explainer", "words", "limit", "seed")  # keys by which a reader distinguishes sweeps
# Kinds of runs, as their tag `kind` has them.
SWEEP = "sweep"
SETTING = "setting"
CURVES = "curves"  # every correlation of a setting's grid; a child of the setting's run
MOST_RUNS = 20_000  # of a sweep
LAYOUT = 7  # of the runs and their names; part of a sweep's identity, so that no run mixes two layouts
POWER = "p"  # the metric that the charts of curves have as their horizontal axis
# Characters: MLflow's limits.
LONGEST_TAG = 8000
LONGEST_NAME = 250
LONGEST_COMMAND = 5000  # characters: older servers refuse longer tags
DIGITS = 6  # of a number. MLflow's tables cut numbers off at the end: 2.8112e-09 would read as 2.8112

# Columns of the view of settings, from left to right, and their widths in pixels.
COLUMNS = {
    "tags.`verdict`": 150,
    **{f"metrics.`{name}`": 90 for name in ("gain", "gain low", "gain high", "baseline", "boosted")},
    **{f"params.`{name}`": 110 for name in ("metric", "explainer", "dataset", "language_pair")},
}
TAG = "mlflow.sharedViewState."
NOTE = "mlflow.note.content"  # MLflow shows this tag of a run or an experiment as its description, in Markdown
LONGEST_TITLE = 60  # characters of a view's

ARTIFACT_FOLDERS = ("figures", TABLES, RECIPES)  # kept as folders of artifacts
MODELS = "models"  # the folder of the recipes that help, as models of MLflow
SMALL_TABLE = 50_000  # bytes: also as CSV, which pages show

RunKey = tuple[str, str]  # the kind of a run, and the fingerprint of its setting's result; "" of the sweep's


@dataclass(frozen=True)
class Finding:
    """The finding of a sweep on one setting.

    verdict: "" without one. gain: on segments that the boost was not chosen on. baseline: the correlation of the
    baseline on the same segments.
    page: HTML for a person, "" for none.
    """

    verdict: str = ""
    gain: Estimate = NOTHING
    baseline: float = math.nan
    page: str = ""

    def run_name(self, result: SettingResult) -> str:
        """The name of a setting's run. MLflow's list shows some 25 characters: the gain, and what helps or hurts."""
        names = " · ".join((result.metric, result.explainer, result.language_pair, result.dataset))
        if not self.verdict:
            return names
        if math.isnan(self.gain.value):
            return f"{names} · {self.verdict}"
        gain = f"{self.gain.value:+.3f}"
        if self.verdict in (HELPS, HURTS):
            return f"{self.verdict} {gain} {names}"
        return f"{gain} {names} · {self.verdict}"


def sweep_identity(name: str, config: str) -> tuple[str, dict[str, str]]:
    """What makes two sweeps the same one, as SHA-256, and its readable parameters; `config` is YAML."""
    import yaml

    whole = yaml.safe_load(config)
    # Who runs a sweep elsewhere, or with other workers, finds the same runs.
    kept = strip_runtime_keys(whole)
    params: dict[str, str] = {}
    for key in READABLE:
        if key in kept:
            node = kept[key]
            text = ", ".join(node) if isinstance(node, Mapping) else str(node)
            params[key] = shorten(text, LONGEST_COMMAND)
    return digest([LAYOUT, name, yaml.safe_dump(kept, sort_keys=True)]), params


def find_runs(client: Any, experiment: str, sweep: str, *, deleted: bool = False) -> dict[RunKey, Any]:
    """The runs of a sweep. sweep: its identity, which its runs have as the tag `sweep`.

    deleted: those that were deleted, and no others.
    """
    from mlflow.entities import ViewType

    view = ViewType.DELETED_ONLY if deleted else ViewType.ACTIVE_ONLY
    wanted = f"tags.sweep = '{sweep}'"
    found = client.search_runs([experiment], wanted, run_view_type=view, max_results=MOST_RUNS)
    return {(run.data.tags["kind"], run.data.tags.get("fingerprint", "")): run for run in found}


def runs_on_server(address: str, experiment: str, sweep: str) -> set[str]:
    """The identifiers of a sweep's runs that are not deleted; none without their experiment. Raises as MLflow does."""
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=address)
    known = client.get_experiment_by_name(experiment)
    if known is None or known.lifecycle_stage != "active":
        return set()
    runs = find_runs(client, known.experiment_id, sweep)
    return {run.info.run_id for run in runs.values()}


def numbers_of(result: SettingResult, found: Finding) -> dict[str, float]:
    """The metrics of a setting's run, rounded; undefined values are left out.

    The gain is first: MLflow's page that compares runs draws the first metric.
    """
    kind = result.correlation
    grid = result.grid
    numbers = {"gain": found.gain.value, "gain low": found.gain.low, "gain high": found.gain.high}
    baseline = found.baseline if math.isfinite(found.baseline) else grid.baseline
    numbers |= {"baseline": baseline, "boosted": baseline + found.gain.value}
    if math.isfinite(result.published_row.p):
        numbers[f"published {kind}"] = result.published_row.correlation
    if result.has_grid:
        best = {kind: grid.best, "p": grid.best_p, "w": grid.best_w}
        numbers |= {f"in-sample best {name}": value for name, value in best.items()}
    return {name: round(float(value), DIGITS) for name, value in numbers.items() if math.isfinite(value)}


def curves_of(result: SettingResult, *, thin: bool = False) -> list[MetricEntry]:
    """Every defined correlation of a setting's grid. thin: only those at whole p.

    One series for each w, `pearson/w0.4`, with p in tenths as its step, which must be a whole number: of a finer grid
    only whole tenths are sent. POWER has p itself at each step, for the horizontal axis of a chart.

    Curves are sent from their largest p down: MLflow's server keeps the last point of a series apart, and would write
    that anew for every later one, which takes a third of the time.
    """
    if result.spec is None or not result.has_grid:
        return []
    powers = result.spec.p[::-1]
    curves = {POWER: powers}
    for column, weight in enumerate(result.spec.w):
        curves[f"{result.correlation}/w{weight:.12g}"] = result.grid.correlation[::-1, column].tolist()
    apart = 10 if thin else 1
    sent: list[MetricEntry] = []
    for name, values in curves.items():
        for value, power in zip(values, powers, strict=True):
            step = 10 * power
            # A power may be infinite, and ten times one in tenths is whole but for rounding.
            if math.isfinite(value) and math.isfinite(step) and abs(math.remainder(step, apart)) < 1e-6:
                sent.append((name, value, round(step)))
    return sent


def dataset_of(result: SettingResult) -> Any:
    """MLflow's entry of the segments that a setting was judged on."""
    from mlflow.entities import Dataset, DatasetInput, InputTag

    segments = result.finished.segments
    rows = {"num_rows": len(segments), "rated": segments.n_rated}
    of_segments = Dataset(
        name=f"{result.dataset} {result.language_pair}",
        digest=digest(segments.fingerprint())[:8],
        source_type="code",
        source=json.dumps({"dataset": result.dataset, "language_pair": result.language_pair}),
        profile=json.dumps(rows),
    )
    return DatasetInput(of_segments, [InputTag("mlflow.data.context", "evaluation")])


def description_of(result: SettingResult, found: Finding) -> str:
    """The findings on a setting, in Markdown."""
    kind = result.correlation
    grid = result.grid
    parts = []
    if found.verdict:
        boosted = found.baseline + found.gain.value
        gain = format_interval(found.gain.value, found.gain.low, found.gain.high, "+.3f")
        parts.append(f"**{found.verdict}**, gain {gain}: {kind} {found.baseline:.3f} → {boosted:.3f}")
    if result.has_grid:
        published = result.published_row
        points = {
            "published point": (published.p, published.w, published.correlation),
            "best point, in-sample": (grid.best_p, grid.best_w, grid.best),
        }
        table = [f"| | p | w | {kind} |", "|---|--:|--:|--:|"]
        for name, (p, w, correlation) in points.items():
            if math.isfinite(correlation):
                table.append(f"| {name} | {p:g} | {w:g} | {correlation:.4f} |")
        parts.append("\n".join(table))
    return "\n\n".join(parts)


def legal_name(name: str) -> str:
    """The name with signs that MLflow does not take replaced: it takes letters, digits and `_ - . space : /`."""
    return re.sub(r"[^\w\-. :/]", "_", name)[:LONGEST_NAME]


def point_tags(result: SettingResult) -> dict[str, str]:
    """The published point, as tags: pages that compare runs draw every parameter that differs; none without one."""
    point = result.published_row
    if not math.isfinite(point.p):
        return {}
    return {"published p": f"{point.p:g}", "published w": f"{point.w:g}"}


def parameters(result: SettingResult) -> dict[str, str]:
    """The parameters by which a reader compares settings, as text: names, grid and seed.

    The settings of metric and explainer are in the tag `signature`.
    """
    values = dict(zip(("dataset", "language_pair", "metric", "explainer"), result.names, strict=True))
    values |= {"correlation": result.correlation, "seed": str(result.parameters["seed"])}
    spec = result.spec
    if spec is not None and result.has_grid:
        values |= {"side": spec.side, "aggregation": type(spec.aggregation).__name__}
        n_powers = pluralize(len(spec.p), "value")
        values["p"] = f"{spec.p[0]:g} … {spec.p[-1]:g}, {n_powers}"
        values["w"] = ", ".join(f"{weight:.12g}" for weight in spec.w)
    return values


def source_tags(arguments: Sequence[str]) -> dict[str, str]:
    """The command as typed (`sys.argv`), without passwords, and the commit of a checkout, under MLflow's names."""
    from mlflow.tracking.context.registry import resolve_tags

    program, *rest = arguments
    path = Path(program)
    typed = shlex.quote(path.name or "python")
    if path.name == "__main__.py":
        typed = f"python -m {path.parent.name}"
    masked = [shlex.quote(mask_argument(argument)) for argument in rest]
    command = " ".join([typed, *masked])
    # Of the type LOCAL, pages show what follows the last slash: a file's name, and of a command a piece of a path.
    return {**resolve_tags(), "mlflow.source.name": command[:LONGEST_COMMAND], "mlflow.source.type": "JOB"}


def artifacts_of(files: Sequence[Path]) -> dict[Path, list[str]]:
    """The names of the artifacts of each file that exists: its own, and of a small table that as CSV.

    No page of MLflow shows Parquet. A folder is a model.
    """
    names = {}
    for path in files:
        if path.is_dir():
            names[path] = [f"{MODELS}/{path.name}"]
        if not path.is_file():
            continue
        folder = path.parent.name
        inside = Path(folder if folder in ARTIFACT_FOLDERS else "")
        names[path] = [str(inside / path.name)]
        if folder == TABLES and path.stat().st_size <= SMALL_TABLE:
            names[path].append(str(inside / f"{path.stem}.csv"))
    return names


def log_files(client: Any, run: Any, artifacts: Mapping[Path, Sequence[str]]) -> None:
    """Send files as artifacts of a run, by the names that `artifacts_of` gives."""
    import pandas as pd

    for path, names in artifacts.items():
        if path.is_dir():
            client.log_artifacts(run.info.run_id, str(path), names[0])
            continue
        inside = str(Path(names[0]).parent)
        client.log_artifact(run.info.run_id, str(path), None if inside == "." else inside)
        for name in names[1:]:
            client.log_text(run.info.run_id, pd.read_parquet(path).to_csv(index=False), name)


def views(sweep: str, name: str, created: int) -> dict[str, str]:
    """The tags of an experiment that are the views of a sweep: of its settings, and of their curves.

    sweep: its identity, which its runs have as the tag `sweep`. created: milliseconds. The largest gain is the first
    row. Curves are drawn over p.
    """
    title = f"{shorten(name, LONGEST_TITLE)} {sweep[:6]}"
    of_settings = {
        "orderByKey": "metrics.`gain`",
        "selectedColumns": list(COLUMNS),
        "columnOrder": list(COLUMNS),
        "columnWidths": COLUMNS,
    }
    over_p = {"xAxisKey": "metric", "selectedXAxisMetricKey": POWER, "lineSmoothness": 0}
    kinds: dict[str, tuple[str, dict[str, Any]]] = {
        SETTING: (title, of_settings),
        # Sorted by creation, MLflow would fold them below the runs of their settings.
        CURVES: (f"{title} curves", {"orderByKey": "tags.`mlflow.runName`", "globalLineChartConfig": over_p}),
    }
    tags = {}
    for kind, (shown, special) in kinds.items():
        state = {"searchFilter": f"tags.kind = '{kind}' and tags.sweep = '{sweep}'", "orderByAsc": False}
        state |= {"runsHiddenMode": "FIRST_20_RUNS", **special}
        saved = {"name": shown, "createdAt": created, "updatedAt": created, "state": json.dumps(state)}
        tags[f"{TAG}{view_key(sweep, kind)}"] = json.dumps(saved)
    return tags


def view_key(sweep: str, kind: str) -> str:
    """The key of a view, as its address has it."""
    return sweep[:12] if kind == SETTING else f"{sweep[:12]}{kind}"


def pages(server: str, experiment: str, sweep: str, run_id: str) -> list[str]:
    """The addresses of the view and of the sweep's own run in a browser.

    Addresses contain no user and no password: the browser prompts for them.
    """
    parts = urlsplit(server)
    host = parts.netloc.rpartition("@")[2]
    folder = parts.path.rstrip("/")
    runs = f"{parts.scheme}://{host}{folder}/#/experiments/{experiment}/runs"
    # Otherwise MLflow shows its pages for language models.
    kind = "workflowType=machine_learning"
    return [f"{runs}?viewStateShareKey={view_key(sweep, SETTING)}&{kind}", f"{runs}/{run_id}?{kind}"]


def server_command(address: str) -> str:
    """The command that shows a SQLite store, to be typed where this program runs, installed in whatever environment.

    One worker: MLflow ends and restarts those of several that take more than five seconds to start.
    """
    python = _short(sys.executable)
    if os.sep not in python:  # in the working folder itself: a shell looks for a bare name elsewhere
        python = os.path.join(os.curdir, python)
    store = f"{SQLITE}{_short(address.removeprefix(SQLITE))}"
    return shlex.join([python, "-m", "mlflow", "ui", "--workers", "1", "--backend-store-uri", store])


def _short(path: str) -> str:
    """The path, relative to the working folder if that is shorter."""
    return min(path, os.path.relpath(path), key=len)
