"""The grids of all settings as compact text for the heat map of a page."""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np

from bmx_grid.analysis.run import Analysis
from bmx_grid.analysis.table import Floats, GridTable

LEVELS = 32_767  # gains are kept as whole multiples of a setting's largest gain divided by this
UNDEFINED = -32_768


def heat_maps(analysis: Analysis) -> dict[str, Any]:
    """p, w and every setting of the table: names, baseline, best and fixed point, and its gains.

    The gains of w other than 1 are base64 of little-endian int16[P, W - 1], p slowest, in multiples of `step`;
    -32768 is undefined. They are exact to half a step: a largest gain or loss of 0.5 gives steps of 0.000015.
    Points are [w, p, r], or null. first: the setting to show first, of those that are no controls the one that gains
    most.
    """
    table, best = analysis.table, analysis.best
    fixed = fixed_correlations(analysis)
    found = []
    for row, setting in enumerate(table.settings):
        point = analysis.fixed.used.get(setting.explainer)
        at = (math.nan, math.nan) if point is None else (point.w, point.p)
        gains, step = _quantised(table, row)
        found.append(
            {
                "names": list(setting),
                "baseline": float(table.baseline[row]),
                "best": _point(best.w[row], best.p[row], best.correlation[row]),
                "fixed": _point(*at, fixed[row]),
                "step": step,
                "gains": gains,
            }
        )
    promise = np.where(table.is_control, -np.inf, np.where(np.isnan(best.gain), 0.0, best.gain))
    return {"p": table.p.tolist(), "w": table.w.tolist(), "first": int(np.argmax(promise)), "settings": found}


def fixed_correlations(analysis: Analysis) -> Floats:
    """float64[S] correlations of all settings of the table at the points evaluated; NaN for controls."""
    found = np.full(len(analysis.table), np.nan)
    found[~analysis.table.is_control] = analysis.fixed.correlation
    return found


def _quantised(table: GridTable, row: int) -> tuple[str, float]:
    gains = table.gains[row][:, table.boosted]
    defined = np.isfinite(gains)
    largest = float(np.abs(gains[defined]).max(initial=0.0))
    step = largest / LEVELS if largest > 0 else 1.0
    whole = np.where(defined, np.rint(np.where(defined, gains, 0.0) / step), UNDEFINED)
    return base64.b64encode(whole.astype("<i2").tobytes()).decode("ascii"), step


def _point(w: float, p: float, correlation: float) -> list[float] | None:
    point = [float(w), float(p), float(correlation)]
    return point if all(math.isfinite(value) for value in point) else None
