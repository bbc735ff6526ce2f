"""What a run in MLflow holds of a sweep and of a setting, and where a person sees it.

MLflow keeps views of an experiment as its tags. One is written for each sweep: the runs of its settings, with what
tells them apart and what was found as columns. It is in the list "Views" of the page, by the name of the sweep.
"""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bmx_grid.core.identity import digest
from bmx_grid.core.secrets import masked_argument
from bmx_grid.core.wording import counted, shortened
from bmx_grid.sweep.folder import strip_runtime_keys
from bmx_grid.sweep.judge import SettingResult
from bmx_grid.sweep.mlflow_store import SQLITE, MetricEntry

READABLE = ("dataset", "metric", "explainer", "words", "limit", "seed")  # keys that a reader tells sweeps apart by
SWEEP = ""  # in place of a setting's fingerprint: the run of the sweep itself
MOST_RUNS = 10_000  # of a sweep
LAYOUT = 6  # of the runs and their names; part of a sweep's identity, so that no run mixes two layouts
# Characters: MLflow's limits.
LONGEST_TAG = 8000
LONGEST_NAME = 250
LONGEST_COMMAND = 5000  # characters: older servers refuse longer tags

# Columns of a view, from left to right, and their widths in pixels.
COLUMNS = {
    **{"params.`dataset`": 90, "params.`language_pair`": 110, "params.`metric`": 130, "params.`explainer`": 90},
    **{"metrics.`gain`": 85, "metrics.`gain low`": 85, "metrics.`gain high`": 85},
    **{"tags.`verdict`": 180},
}
TAG = "mlflow.sharedViewState."
LONGEST_TITLE = 60  # characters of a view's


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
            params[key] = shortened(text, LONGEST_COMMAND)
    return digest([LAYOUT, name, yaml.safe_dump(kept, sort_keys=True)]), params


def find_runs(client: Any, experiment: str, sweep: str, *, deleted: bool = False) -> dict[str, Any]:
    """The runs of a sweep by the fingerprint of their result; its own run, which has none, by SWEEP.

    sweep: its identity, which its runs have as the tag `sweep`. deleted: those that were deleted, and no others.
    """
    from mlflow.entities import ViewType

    view = ViewType.DELETED_ONLY if deleted else ViewType.ACTIVE_ONLY
    wanted = f"tags.sweep = '{sweep}'"
    runs = {}
    for run in client.search_runs([experiment], wanted, run_view_type=view, max_results=MOST_RUNS):
        is_setting = run.data.tags.get("kind") == "setting"
        runs[run.data.tags["fingerprint"] if is_setting else SWEEP] = run
    return runs


def runs_on_server(address: str, experiment: str, sweep: str) -> set[str]:
    """The identifiers of a sweep's runs that are not deleted; none without their experiment. Raises as MLflow does."""
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=address)
    known = client.get_experiment_by_name(experiment)
    if known is None or known.lifecycle_stage != "active":
        return set()
    runs = find_runs(client, known.experiment_id, sweep)
    return {run.info.run_id for run in runs.values()}


def points(result: SettingResult, *, thin: bool = False) -> list[MetricEntry]:
    """What is sent of a result; values that are not finite are left out. thin: of the grid only whole p.

    The grid is one series for each w, `pearson/w0.4`, with p in tenths as its step, which must be a whole number: of a
    finer grid only whole tenths are sent. The numbers about the grid are logged at step 0 and have no `/` in their
    names: MLflow's page of a run's metrics shows groups before single numbers, so the curves come first there. The
    numbers are sent first. They are correlations: gains are those of verdicts (`judge`). The published point is left
    out where the explainer has none. Its correlation is first: MLflow's page that compares runs draws the first metric.

    Curves are sent from their largest p down: MLflow's server keeps the last point of a series apart, and would write
    that anew for every later one, which takes a third of the time.
    """
    kind = result.correlation
    point = result.published
    grid = result.grid
    numbers: dict[str, float] = {}
    if math.isfinite(point.p):
        numbers[f"published {kind}"] = point.correlation
    if result.has_grid:
        best = {kind: grid.best, "p": grid.best_p, "w": grid.best_w}
        numbers |= {f"in-sample best {name}": value for name, value in best.items()}
    numbers[f"metric alone {kind}"] = grid.baseline
    entries = [(name, float(value), 0.0) for name, value in numbers.items()]
    if result.spec is not None and result.has_grid:
        steps = [10 * power for power in result.spec.p[::-1]]
        curves = grid.correlation[::-1].T.tolist()
        for weight, curve in zip(result.spec.w, curves, strict=True):
            series = f"{kind}/w{weight:.12g}"
            entries += [(series, value, step) for value, step in zip(curve, steps, strict=True)]
    apart = 10 if thin else 1
    sent: list[MetricEntry] = []
    for name, value, step in entries:
        # A power may be infinite, and ten times one in tenths is whole but for rounding.
        if math.isfinite(value) and math.isfinite(step) and abs(math.remainder(step, apart)) < 1e-6:
            sent.append((name, value, round(step)))
    return sent


def legal_name(name: str) -> str:
    """The name with signs that MLflow does not take replaced: it takes letters, digits and `_ - . space : /`."""
    return re.sub(r"[^\w\-. :/]", "_", name)[:LONGEST_NAME]


def point_tags(result: SettingResult) -> dict[str, str]:
    """The published point, as tags: pages that compare runs draw every parameter that differs; none without one."""
    point = result.published
    if not math.isfinite(point.p):
        return {}
    return {"published p": f"{point.p:g}", "published w": f"{point.w:g}"}


def parameters(result: SettingResult) -> dict[str, str]:
    """What a reader compares settings by, as text: names, grid and seed.

    The settings of metric and explainer are in the tag `signature`.
    """
    values = dict(zip(("dataset", "language_pair", "metric", "explainer"), result.names, strict=True))
    values |= {"correlation": result.correlation, "seed": str(result.parameters["seed"])}
    spec = result.spec
    if spec is not None and result.has_grid:
        values |= {"side": spec.side, "aggregation": type(spec.aggregation).__name__}
        n_powers = counted(len(spec.p), "value")
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
    masked = [shlex.quote(masked_argument(argument)) for argument in rest]
    command = " ".join([typed, *masked])
    # Of the type LOCAL, pages show what follows the last slash: a file's name, and of a command a piece of a path.
    return {**resolve_tags(), "mlflow.source.name": command[:LONGEST_COMMAND], "mlflow.source.type": "JOB"}


def view(sweep: str, name: str, created: int) -> tuple[str, str]:
    """The tag of an experiment that is the view of a sweep: its key and its value.

    sweep: its identity, which its runs have as the tag `sweep`. created: milliseconds. The largest gain is the first
    row. Charts are left to MLflow, which draws the series of groups first: correlation over p, one chart for each w.
    """
    state = {
        "searchFilter": f"tags.kind = 'setting' and tags.sweep = '{sweep}'",
        "orderByKey": "metrics.`gain`",
        "orderByAsc": False,
        "selectedColumns": list(COLUMNS),
        "columnOrder": list(COLUMNS),
        "columnWidths": COLUMNS,
        "runsHiddenMode": "FIRST_20_RUNS",
    }
    title = f"{shortened(name, LONGEST_TITLE)} {sweep[:6]}"
    saved = {"name": title, "createdAt": created, "updatedAt": created, "state": json.dumps(state)}
    return f"{TAG}{_key(sweep)}", json.dumps(saved)


def pages(server: str, experiment: str, sweep: str, run_id: str) -> list[str]:
    """The addresses of the view and of the sweep's own run in a browser.

    They have no user and no password, for which the browser asks.
    """
    parts = urlsplit(server)
    host = parts.netloc.rpartition("@")[2]
    folder = parts.path.rstrip("/")
    runs = f"{parts.scheme}://{host}{folder}/#/experiments/{experiment}/runs"
    # MLflow's own first page is for language models; this type has the runs
    view_of_settings = f"{runs}?viewStateShareKey={_key(sweep)}&workflowType=machine_learning"
    return [view_of_settings, f"{runs}/{run_id}"]


def server_command(address: str) -> str:
    """The command that shows a SQLite store, to be typed where this program runs, installed in whatever environment.

    One worker: MLflow ends and restarts those of several that take more than five seconds to start.
    """
    python = _short(sys.executable)
    if os.sep not in python:  # in the working folder itself: a shell looks for a bare name elsewhere
        python = os.path.join(os.curdir, python)
    store = f"{SQLITE}{_short(address.removeprefix(SQLITE))}"
    return shlex.join([python, "-m", "mlflow", "ui", "--workers", "1", "--backend-store-uri", store])


def _key(sweep: str) -> str:
    return sweep[:12]


def _short(path: str) -> str:
    """The path, relative to the working folder where that is shorter."""
    return min(path, os.path.relpath(path), key=len)
