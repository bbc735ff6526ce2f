"""An analysis as plain keys and values, for analysis.json; undefined numbers are null."""

from __future__ import annotations

import dataclasses
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from bmx_grid.analysis.density import Density
from bmx_grid.analysis.fixed import FixedEvaluation
from bmx_grid.analysis.gains import GainSummary
from bmx_grid.analysis.medians import Median
from bmx_grid.analysis.regression import RidgeFit
from bmx_grid.analysis.run import Analysis
from bmx_grid.analysis.table import GridTable
from bmx_grid.analysis.transfer import HeldOut

Plain = dict[str, Any]


def to_json(analysis: Analysis) -> str:
    """The text of analysis.json: a line for each key of the first two levels, numbers in full, NaN as null."""
    lines = []
    for key, value in plain(analysis).items():
        if isinstance(value, dict) and value:
            inner = ",\n".join(f"  {_compact(name)}: {_compact(one)}" for name, one in value.items())
            lines.append(f" {_compact(key)}: {{\n{inner}\n }}")
        else:
            lines.append(f" {_compact(key)}: {_compact(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def numbers(analysis: Analysis) -> dict[str, float]:
    """The selection, its evaluation and the regression as flat names and numbers, for a tracking server."""
    whole = plain(analysis)
    chosen = ("n_settings", "medians", "strict_medians", "fixed", "ridge", "gain_baseline_pearson", "leave_one_out")
    return dict(_leaves("", {name: whole[name] for name in chosen}))


def _leaves(path: str, value: Any) -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name != "by":
                yield from _leaves(f"{path}/{name}" if path else str(name), inner)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, float(value)


def plain(analysis: Analysis) -> Plain:
    """The keys of analysis.json; those that name an explainer hold no controls, `controls` and `settings` do."""
    table, real = analysis.table, analysis.real
    found = {
        "n_settings": len(table),
        "n_correlations": table.n_boosted,
        "n_settings_without_controls": len(real),
        "n_undefined": int(np.isnan(table.correlation[:, :, table.boosted]).sum()),
        "left_out": [dataclasses.asdict(one) for one in table.left_out],
        "grid": _grid(table),
        "tie": analysis.options.tie,
        "n_tied_with_baseline": analysis.n_tied,
        "medians": {name: dataclasses.asdict(one) for name, one in analysis.medians.items()},
        "strict_medians": {name: dataclasses.asdict(one) for name, one in analysis.strict_medians.items()},
        "metric_medians": _by_pair(analysis.metric_medians),
        "beating_medians": _by_pair(analysis.beating_medians),
        "fixed": _fixed(analysis),
        "fixed_by": {factor: _summaries(groups) for factor, groups in analysis.fixed.by.items()},
        "best_explainer": analysis.best_explainer,
        "averages": _averages(analysis),
        "ridge": _ridge(analysis.ridge),
        "gain_baseline_pearson": {"all": analysis.gain_baseline.all, **analysis.gain_baseline.by_explainer},
        "leave_one_out": _held_out(analysis.leave_one_out),
        "nested": _held_out(analysis.nested),
        "controls": {
            f"random_{name}": None if one is None else _evaluation(one)
            for name, one in (("explainer", analysis.controls.explainer), ("metric", analysis.controls.metric))
        },
        "densities": {
            "grid": _densities(analysis.densities.grid),
            "fixed": {name: _densities(factors) for name, factors in analysis.densities.fixed.items()},
        },
        "settings": _settings(analysis),
    }
    defined: Plain = _defined(found)
    return defined


def _grid(table: GridTable) -> Plain:
    p, w = table.p.tolist(), table.w.tolist()
    return {"p_first": p[0], "p_last": p[-1], "n_p": len(p), "w": w, "side": table.side}


def _fixed(analysis: Analysis) -> Plain:
    evaluation = analysis.fixed
    found = {}
    for name, summary in evaluation.by["explainer"].items():
        point, used = evaluation.points.get(name), evaluation.used.get(name)
        found[name] = {
            "w": None if point is None else point.w,
            "p": None if point is None else point.p,
            "used_w": None if used is None else used.w,
            "used_p": None if used is None else used.p,
            "origin": analysis.origins[name],
            **_summary(summary),
            "by": {factor: _summaries(groups) for factor, groups in evaluation.by_explainer[name].items()},
        }
    return found


def _evaluation(evaluation: FixedEvaluation) -> Plain:
    points = {name: dataclasses.asdict(point) for name, point in evaluation.used.items()}
    return {**_summary(evaluation.all), "used": points, "by_explainer": _summaries(evaluation.by["explainer"])}


def _summary(summary: GainSummary) -> Plain:
    return {**dataclasses.asdict(summary), "positive": summary.positive}


def _summaries(groups: Mapping[str, GainSummary]) -> Plain:
    return {name: _summary(summary) for name, summary in groups.items()}


def _by_pair(medians: Mapping[tuple[str, str], Median]) -> Plain:
    found: Plain = {}
    for (metric, explainer), one in medians.items():
        found.setdefault(metric, {})[explainer] = dataclasses.asdict(one)
    return found


def _averages(analysis: Analysis) -> Plain:
    found: Plain = {}
    for (dataset, metric), one in analysis.averages.items():
        found.setdefault(dataset, {})[metric] = dataclasses.asdict(one)
    return found


def _ridge(fit: RidgeFit) -> Plain:
    """Coefficients by name, largest first; a name that two factors share is written factor:name."""
    shared = Counter(name for _, name in fit.coefficients)
    named = {
        (f"{factor}:{name}" if shared[name] > 1 else name): value for (factor, name), value in fit.coefficients.items()
    }
    return {"alpha": fit.alpha, "intercept": fit.intercept, "n": fit.n, "r2": fit.r2, "coefficients": named}


def _held_out(factors: Mapping[str, Mapping[str, HeldOut]]) -> Plain:
    return {factor: {name: _held(one) for name, one in found.items()} for factor, found in factors.items()}


def _held(one: HeldOut) -> Plain:
    return {
        **_summary(one.summary),
        "in_sample_better": one.in_sample.better,
        "in_sample_mean_gain": one.in_sample.mean_gain,
        "optimism": one.optimism,
        "folds": {
            fold.name: {"w": fold.point.w, "p": fold.point.p, "rule": fold.rule, **_summary(fold.gains)}
            for fold in one.folds
        },
    }


def _densities(factors: Mapping[str, Mapping[str, Density]]) -> Plain:
    return {factor: {name: _density(one) for name, one in found.items()} for factor, found in factors.items()}


def _density(one: Density) -> Plain:
    """x is given by its ends; the curve to 4 digits, enough to draw."""
    return {
        "n": one.n,
        "mean": one.mean,
        "mean_baseline": one.mean_baseline,
        "share_positive": one.share_positive,
        "bandwidth": one.bandwidth,
        "x_first": float(one.x[0]) if len(one.x) else None,
        "x_last": float(one.x[-1]) if len(one.x) else None,
        "density": [float(f"{value:.4g}") for value in one.density.tolist()],
    }


def _settings(analysis: Analysis) -> Plain:
    table, best = analysis.table, analysis.best
    fixed = np.full(len(table), np.nan)
    fixed[~table.is_control] = analysis.fixed.correlation
    return {
        setting.label: {
            **setting._asdict(),
            "control": bool(table.is_control[row]),
            "baseline": float(table.baseline[row]),
            "best": float(best.correlation[row]),
            "best_w": float(best.w[row]),
            "best_p": float(best.p[row]),
            "gain": float(best.gain[row]),
            "ties_baseline": bool(best.ties_baseline[row]),
            "plateau": int(best.plateau[row]),
            "plateau_p": best.plateau_p[row].tolist(),
            "fixed": float(fixed[row]),
            "fixed_gain": float(fixed[row] - table.baseline[row]),
        }
        for row, setting in enumerate(table.settings)
    }


def _defined(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _defined(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_defined(one) for one in value]
    return value


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
