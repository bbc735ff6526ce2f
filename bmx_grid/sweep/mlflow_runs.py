"""What a run in MLflow holds of a sweep and of a setting: names, parameters, tags and points."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bmx_grid.core.identity import digest
from bmx_grid.core.secrets import masked_argument
from bmx_grid.core.wording import counted, shortened
from bmx_grid.sweep.mlflow_store import MetricEntry
from bmx_grid.sweep.output import strip_runtime_keys
from bmx_grid.sweep.results import SettingResult

READABLE = ("dataset", "metric", "explainer", "words", "limit", "seed")  # keys that a reader tells sweeps apart by
SWEEP = ""  # in place of a setting's fingerprint: the run of the sweep itself
MOST_RUNS = 10_000  # of a sweep
LAYOUT = 6  # of the runs and their names; part of a sweep's identity, so that no run mixes two layouts
# Characters: MLflow's limits.
LONGEST_TAG = 8000
LONGEST_NAME = 250
LONGEST_COMMAND = 5000  # characters: older servers refuse longer tags


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
