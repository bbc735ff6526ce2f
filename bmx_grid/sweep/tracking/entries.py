"""What of a result is tracked, as names and values; the tracker only carries it."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from bmx_grid.identity import digest
from bmx_grid.sweep.results import SettingResult

# Keys of the configuration that change where and how a sweep is run, not what it finds.
RUNTIME_KEYS = frozenset(("executor", "tracking", "data_dir", "cache_dir", "output_dir", "dry_run", "on_error"))


def sweep_identity(name: str, config: str) -> tuple[str, dict[str, str]]:
    """What makes two sweeps the same one, as SHA-256, and its readable parameters; `config` is YAML."""
    import yaml

    kept = {key: node for key, node in yaml.safe_load(config).items() if key not in RUNTIME_KEYS}
    chosen = {key: kept[key] for key in ("dataset", "metric", "explainer", "seed", "limit") if key in kept}
    params = {key: ", ".join(node) if isinstance(node, Mapping) else as_text(node) for key, node in chosen.items()}
    return digest([name, yaml.safe_dump(kept, sort_keys=True)]), params


def points(result: SettingResult) -> tuple[list[tuple[str, float, int]], int]:
    """What is sent of a result as (metric name, value, step), and how many values were not finite and are not.

    The grid is one series for each w, `pearson/w0.4`, with `step_scale` times p as its step; the numbers about
    it stand at step 0. The fixed point is left out, uncounted, where the explainer has none.
    """
    grid, kind, scale = result.grid, result.correlation, step_scale(result)
    steps = [round(power * scale) if math.isfinite(power) else None for power in result.p]
    entries = [
        (f"{kind}/w{weight:.12g}", float(value), step)
        for column, weight in enumerate(result.w)
        for step, value in zip(steps, grid.correlation[:, column], strict=True)
    ]
    numbers: dict[str, float] = {
        f"baseline/{kind}": grid.baseline,
        f"best/{kind}": grid.best,
        "best/p": grid.best_p,
        "best/w": grid.best_w,
        "best/gain": result.gain,
        "best/plateau": grid.plateau,
        "check/share_shifted": grid.share_shifted,
        "check/length_control": grid.length_control,
        "check/segments": grid.n_segments,
        "check/rated": grid.n_rated,
        "check/used": grid.n_used,
        "check/undefined": grid.n_undefined,
    }
    if math.isfinite(result.fixed_p):
        fixed = {kind: result.fixed, "p": result.fixed_p, "w": result.fixed_w, "gain": result.fixed_gain}
        numbers.update({f"fixed/{key}": value for key, value in fixed.items()})
    entries += [(key, float(value), 0) for key, value in numbers.items()]
    sent = [(key, value, step) for key, value, step in entries if math.isfinite(value) and step is not None]
    return sent, len(entries) - len(sent)


def step_scale(result: SettingResult) -> int:
    """10, so that steps are tenths of p (a step must be a whole number); a higher power of ten for a finer grid."""
    powers = np.array([power for power in result.p if math.isfinite(power)], dtype=np.float64)
    scale = 10
    while scale < 10**9 and np.abs(powers * scale - np.rint(powers * scale)).max(initial=0) > 1e-6:
        scale *= 10
    return scale


def names(result: SettingResult) -> dict[str, str]:
    """Data set, language pair, metric and explainer under these names."""
    return dict(zip(("dataset", "language_pair", "metric", "explainer"), result.names, strict=True))


def parameters(result: SettingResult) -> dict[str, str]:
    """The readable settings behind a result, as text."""
    grid = {
        "side": result.side,
        "correlation": result.correlation,
        "aggregation": result.aggregation,
        "grid.p": f"{result.p[0]:g} … {result.p[-1]:g}, {len(result.p)} values",
        "grid.w": ", ".join(f"{weight:.12g}" for weight in result.w),
    }
    return {**names(result), **grid, **{key: as_text(value) for key, value in result.parameters.items()}}


def as_text(value: object) -> str:
    """A value as YAML writes it, not as Python does."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
