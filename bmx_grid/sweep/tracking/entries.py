"""What is tracked of a sweep and its results, as names and values; the tracker only sends it."""

from __future__ import annotations

import json
import math
import posixpath
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from bmx_grid.identity import digest
from bmx_grid.masking import masked_argument
from bmx_grid.segments import SegmentSet
from bmx_grid.sweep.output import RUNTIME_KEYS
from bmx_grid.sweep.results import SettingResult
from bmx_grid.wording import counted, number, point_in_words, setting_label

LAYOUT = 4  # of the runs and their names; part of a sweep's identity, so that no run mixes two layouts
CHECKOUT = Path(__file__).resolve().parents[3]  # the folder of the package, where it is not installed
GIT_SECONDS = 5.0  # for git to answer
LONGEST_COMMAND = 5000  # characters: older servers refuse longer tags
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
    numbers, so the curves come first there. The numbers are sent first: lists of metrics and comparisons begin with the
    gain, where a curve would stand for its last point, that of the largest p. The fixed point is left out, uncounted,
    where the explainer has none; without a grid there is only the correlation of the metric alone.

    Curves are sent from their largest p down: MLflow keeps the last point of a series apart, and would write that anew
    for every later one, which takes a third of the time. The curve of w = 1, the metric alone, is flat: its two
    ends are sent.
    """
    kind = result.correlation
    numbers: dict[str, float] = {}
    if math.isfinite(result.fixed_p):
        fixed = {"gain": result.fixed_gain, kind: result.fixed, "p": result.fixed_p, "w": result.fixed_w}
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
    if result.has_grid:
        steps = np.asarray(result.p, dtype=np.float64) * step_scale(result)
        names = legal_names(f"{curves_name(result)}/w{weight:.12g}" for weight in result.w)
        for name, weight, curve in zip(names, result.w, result.grid.correlation.T, strict=True):
            sent_down = slice(None, None, -1 if weight != 1 else min(1 - len(steps), -1))
            entries += [
                (name, float(value), step) for value, step in zip(curve[sent_down], steps[sent_down], strict=True)
            ]
    sent = [(key, value, round(step)) for key, value, step in entries if math.isfinite(value) and math.isfinite(step)]
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


def parameters(result: SettingResult) -> dict[str, str]:
    """What a reader compares settings by, as text under names that MLflow takes: names, grid and seed.

    The settings of metric and explainer are in the tag `signature`.
    """
    found = dict(zip(("dataset", "language_pair", "metric", "explainer"), result.names, strict=True))
    found |= {"correlation": result.correlation}
    if result.has_grid:
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


def setting_note(result: SettingResult) -> str:
    """The numbers of a setting in Markdown, and how its curves are read."""
    lines = [f"- metric alone: {result.correlation} {number(result.baseline, '.4f')}"]
    if math.isfinite(result.fixed_p):
        lines.append(_point_line("fixed point of the explainer", result.fixed_w, result.fixed_p, result.fixed_gain))
    if not result.has_grid:
        return "\n".join([*lines, f"- {counted(result.n_segments, 'segment')}; no explainer, no grid"])
    grid, scale = result.grid, step_scale(result)
    lines.append(_point_line("best of the grid, in-sample and so optimistic", grid.best_w, grid.best_p, result.gain))
    lines.append(f"- {counted(grid.n_used, 'segment')} used")
    curves = (
        f"**Model metrics** has a curve for each w, `{curves_name(result)}/w…`: {result.correlation} over p, with "
        f"{scale} · p as step: p -1.4 is step {round(-1.4 * scale)}. `w1` is the metric alone. To see the curves of "
        "several settings in one chart, choose the chart view in the list of runs."
    )
    return "\n".join([*lines, "", curves])


def _point_line(name: str, w: float, p: float, gain: float) -> str:
    return f"- {name}, {point_in_words(w, p)}: gain {number(gain, '+.4f')}"


def input_of(segments: SegmentSet) -> Any:
    """A language pair of a data set as an MLflow DatasetInput: name, digest, where it was read, and its sizes.

    MLflow itself would make it from a DataFrame, and hash that again; all it needs is known already.
    """
    from mlflow.entities import Dataset, DatasetInput, InputTag

    path = Path(segments.origin)
    source = str(path.resolve()) if segments.origin and path.exists() else segments.origin
    sizes = {"num_rows": len(segments), "num_rated": segments.rated, "num_systems": len(segments.systems)}
    dataset = Dataset(
        name=setting_label(segments.dataset, segments.language_pair)[:LONGEST_NAME],
        digest=segments.fingerprint()[:16],  # MLflow takes 36 characters
        source_type="local",
        source=json.dumps({"uri": source}, ensure_ascii=False),
        profile=json.dumps({**sizes, "human_scores": list(segments.judgements.scores)}, ensure_ascii=False),
    )
    return DatasetInput(dataset, [InputTag("mlflow.data.context", "evaluation")])


def source(arguments: Sequence[str] | None = None) -> dict[str, str]:
    """The command of this process as typed, without passwords, and the commit of its code, under MLflow's names.

    arguments: `sys.argv` for None. The commit is there where the package lies in its own checkout;
    `uncommitted_changes` is set where the package differs from it.
    """
    program, *rest = sys.argv if arguments is None else arguments
    path = Path(program)
    typed = f"python -m {path.parent.name}" if path.name == "__main__.py" else shlex.quote(path.name or "python")
    command = " ".join([typed, *(shlex.quote(masked_argument(argument)) for argument in rest)])
    # Of the type LOCAL, pages show what follows the last slash: a file's name, and of a command a piece of a path.
    tags = {"mlflow.source.name": command[:LONGEST_COMMAND], "mlflow.source.type": "JOB"}
    if (CHECKOUT / ".git").exists():
        with suppress(OSError, subprocess.SubprocessError):
            tags["mlflow.source.git.commit"] = _git("rev-parse", "HEAD").strip()
            if _git("status", "--porcelain", "--untracked-files=no", "--", "bmx_grid"):
                tags["uncommitted_changes"] = "true"
    return tags


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(CHECKOUT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=GIT_SECONDS, check=True).stdout
