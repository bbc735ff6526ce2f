"""What is tracked of a result, as names and values; the tracker only sends it."""

from __future__ import annotations

import math
import posixpath
import re
from collections.abc import Iterable, Mapping

import numpy as np

from bmx_grid.identity import digest
from bmx_grid.measures.grid import GridResult
from bmx_grid.sweep.output import RUNTIME_KEYS
from bmx_grid.sweep.results import SettingResult
from bmx_grid.wording import counted

LAYOUT = 3  # of the runs and their names; part of a sweep's identity, so that no run mixes two layouts
LONGEST_NAME = 250  # characters: MLflow's limit
NAMED = 3  # data sets, metrics or explainers with their names in a sweep's title
TENTHS = 10  # steps for each 1 of p, where its values are tenths


def sweep_identity(name: str, config: str) -> tuple[str, dict[str, str]]:
    """What makes two sweeps the same one, as SHA-256, and its readable parameters; `config` is YAML."""
    import yaml

    kept = {key: node for key, node in yaml.safe_load(config).items() if key not in RUNTIME_KEYS}
    chosen = {key: kept[key] for key in ("dataset", "metric", "explainer") if key in kept}
    grid = (kept.get("evaluation") or {}).get("grid") or {}
    chosen |= {key: grid[key] for key in ("correlation", "side") if key in grid}
    chosen |= {key: kept[key] for key in ("words", "limit", "seed") if key in kept}
    params = {key: ", ".join(node) if isinstance(node, Mapping) else as_text(node) for key, node in chosen.items()}
    return digest([LAYOUT, name, yaml.safe_dump(kept, sort_keys=True)]), params


def sweep_title(name: str, params: Mapping[str, str], folder: str) -> str:
    """The name of a sweep's run, which tells it from others: "quickstart · sample · chrf · lime, shap · pearson".

    params: of `sweep_identity`. folder: the name of its output folder; that of one of several sweeps (--multirun) is
    the sweep's name and what varies.
    """
    varied = folder.removeprefix(f"{name},") if folder.startswith(f"{name},") else ""
    named = [
        counted(len(found), thing) if len(found) > NAMED else ", ".join(found)
        for key, thing in (("dataset", "data set"), ("metric", "metric"), ("explainer", "explainer"))
        if (found := [one for one in params.get(key, "").split(", ") if one])
    ]
    limited = [f"first {params['limit']} segments"] if params.get("limit", "null") != "null" else []
    kind = [params["correlation"]] if "correlation" in params else []
    return " · ".join(part for part in (name, varied, *named, *kind, *limited) if part)[:LONGEST_NAME]


def points(result: SettingResult) -> tuple[list[tuple[str, float, int]], int]:
    """What is sent of a result as (metric name, value, step), and how many values, not finite, are left out.

    The grid is one series for each w, `pearson/w0.4`, with `step_scale` times p as its step. The series of a grid finer
    than tenths of p have names of their own, so that no chart draws two scales on one axis. The numbers about the grid
    are logged at step 0 and have no `/` in their names: MLflow's page of a run's metrics shows groups before single
    numbers, so the curves come first there. They are sent first: lists of metrics and comparisons begin with the gain,
    where a curve would stand for its last point, that of the largest p. The fixed point is left out, uncounted, where
    the explainer has none; without a grid there is only the correlation of the metric alone.
    """
    kind, grid = result.correlation, _grid(result)
    numbers: dict[str, float] = {}
    if math.isfinite(result.fixed_p):
        fixed = {"gain": result.fixed_gain, kind: result.fixed, "p": result.fixed_p, "w": result.fixed_w}
        numbers |= {f"fixed {key}": value for key, value in fixed.items()}
    if grid is not None:
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
    entries: list[tuple[str, float, int | None]] = [(key, float(value), 0) for key, value in numbers.items()]
    if grid is not None:
        scale = step_scale(result)
        steps = [round(power * scale) if math.isfinite(power) else None for power in result.p]
        names = legal_names(f"{curves_name(result)}/w{weight:.12g}" for weight in result.w)
        entries += [
            (name, float(value), step)
            for column, name in enumerate(names)
            for step, value in zip(steps, grid.correlation[:, column], strict=True)
        ]
    sent = [(key, value, step) for key, value, step in entries if math.isfinite(value) and step is not None]
    return sent, len(entries) - len(sent)


def step_scale(result: SettingResult) -> int:
    """10, so that steps are tenths of p (a step must be a whole number); a higher power of ten for a finer grid."""
    powers = np.array([power for power in result.p if math.isfinite(power)], dtype=np.float64)
    scale = TENTHS
    while scale < 10**9 and np.abs(powers * scale - np.rint(powers * scale)).max(initial=0) > 1e-6:
        scale *= 10
    return scale


def curves_name(result: SettingResult) -> str:
    """The group of a grid's curves: the correlation, and where steps are not tenths of p also what they are."""
    scale = step_scale(result)
    return result.correlation if scale == TENTHS else f"{result.correlation} by {scale} p"


def _grid(result: SettingResult) -> GridResult | None:
    """The grid of a result that has one: a metric alone has none."""
    return result.grid if result.has_grid else None


def parameters(result: SettingResult) -> dict[str, str]:
    """What a reader compares settings by, as text under names that MLflow takes: names, grid and seed.

    The settings of metric and explainer are in the tag `signature`.
    """
    found = dict(zip(("dataset", "language_pair", "metric", "explainer"), result.names, strict=True))
    found |= {"correlation": result.correlation}
    if _grid(result) is not None:
        found |= {
            "side": result.side,
            "aggregation": result.aggregation,
            "p": f"{result.p[0]:g} … {result.p[-1]:g}, {counted(len(result.p), 'value')}",
            "w": ", ".join(f"{weight:.12g}" for weight in result.w),
        }
    found |= {key: as_text(value) for key, value in result.parameters.items() if "." not in key and key != "segments"}
    return dict(zip(legal_names(found), found.values(), strict=True))


def finite(numbers: Mapping[str, float]) -> dict[str, float]:
    """The defined ones of the numbers under names that MLflow takes."""
    kept = {name: float(value) for name, value in numbers.items() if math.isfinite(value)}
    return dict(zip(legal_names(kept), kept.values(), strict=True))


def legal_names(given: Iterable[str]) -> list[str]:
    """The names in a form that MLflow accepts, one for one and all different.

    It takes letters, digits, `_ - . space : /`, at most 250, in a form that could be a path below a folder. A
    number with the digits of a rounding error, 0.30000000000000004, is written as 0.3.
    """
    found: list[str] = []
    taken: set[str] = set()
    for name in given:
        plain = re.sub(r"\d+\.\d{12,}(?:[eE][+-]?\d+)?", lambda number: f"{float(number[0]):.12g}", name)
        plain = re.sub(r"[^\w\-. :/]", "_", plain)[:LONGEST_NAME] or "_"
        if plain.startswith((".", "/")) or posixpath.normpath(plain) != plain:
            plain = f"_{plain.replace('/', '_')}"[:LONGEST_NAME]
        unique, number = plain, 1
        while unique in taken:
            number += 1
            unique = f"{plain[: LONGEST_NAME - 12]} {number}"
        taken.add(unique)
        found.append(unique)
    return found


def as_text(value: object) -> str:
    """A value as YAML writes it, not as Python does."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
