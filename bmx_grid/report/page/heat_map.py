"""The grids of all settings as compact text for the heat map of a page."""

from __future__ import annotations

import base64
import math
import zlib
from typing import Any

import numpy as np

from bmx_grid.analysis import shown
from bmx_grid.analysis.given import Point
from bmx_grid.analysis.names import setting_in_words
from bmx_grid.analysis.run import Analysis
from bmx_grid.analysis.table import GridTable

LEVELS = 32_767  # gains are kept as whole multiples of a setting's largest gain divided by this
UNDEFINED = -32_768


def heat_maps(analysis: Analysis) -> dict[str, Any]:
    """p, w and every setting of the table: names, baseline, best and fixed point, and its gains.

    The gains of w other than 1 are int16[W - 1, P], w slowest, in multiples of `step`; -32768 is undefined. They are
    exact to half a step: a largest gain or loss of 0.5 gives steps of 0.000015. Stored are the differences
    from one p to the next (modulo 65536), low bytes of all before high bytes of all, deflated, as base64: a quarter of
    the size. Points are [w, p, r], or null; alone: whether the best is the metric alone. first: the setting to show
    first, of those that are not controls the one that gains most.
    """
    table = analysis.table
    found = []
    for row, setting in enumerate(table.settings):
        best, fixed = shown.best_of(analysis, row), shown.fixed_of(analysis, row)
        gains, step = _quantised(table, row)
        found.append(
            {
                "names": list(setting),
                "label": setting_in_words(setting),
                "baseline": _number(float(table.baseline[row])),
                "best": _point(best.point, best.correlation),
                "alone": best.is_alone,
                "fixed": _point(fixed.point, fixed.correlation),
                "step": step,
                "gains": gains,
            }
        )
    first = shown.first_to_show(analysis)
    return {"p": table.p.tolist(), "w": table.w.tolist(), "first": first, "settings": found}


def _quantised(table: GridTable, row: int) -> tuple[str, float]:
    gains = table.gains[row][:, table.boosted].T
    defined = np.isfinite(gains)
    largest = float(np.abs(gains[defined]).max(initial=0.0))
    step = largest / LEVELS if largest > 0 else 1.0
    whole = np.where(defined, np.rint(np.where(defined, gains, 0.0) / step), UNDEFINED).astype(np.int64)
    changes = np.diff(whole, axis=1, prepend=0).astype("<u2")  # wraps, and so does the sum that undoes it
    planes = changes.reshape(-1).view(np.uint8).reshape(-1, 2).T
    return base64.b64encode(zlib.compress(planes.tobytes(), 9)).decode("ascii"), step


def _point(point: Point | None, correlation: float) -> list[float] | None:
    known = (
        point is not None and point.w != 1 and math.isfinite(correlation)
    )  # the metric alone has no place on the map
    return [point.w, point.p, correlation] if point is not None and known else None


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
