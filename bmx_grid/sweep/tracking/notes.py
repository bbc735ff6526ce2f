"""What is said of a setting on its page, in Markdown."""

from __future__ import annotations

import math

from bmx_grid.sweep.results import SettingResult
from bmx_grid.sweep.tracking.entries import curves_name, step_scale
from bmx_grid.wording import counted, number, point_in_words


def setting_note(result: SettingResult) -> str:
    """The numbers of a setting in a table, and how its curves and files are read."""
    kind = result.correlation
    if not math.isfinite(result.baseline) and not result.has_grid:
        return f"The metric alone on {counted(result.n_segments, 'segment')}: no correlation is defined."
    rows = [("metric alone", "", result.baseline, math.nan)]
    if math.isfinite(result.fixed_p):
        at = point_in_words(result.fixed_w, result.fixed_p)
        rows.append(("fixed point, given for the explainer", at, result.fixed, result.fixed_gain))
    if result.has_grid:
        at = point_in_words(result.grid.best_w, result.grid.best_p)
        rows.append(("best of the grid, in-sample", at, result.grid.best, result.gain))
    lines = [
        f"| | (w, p) | {kind} | gain |",
        "|---|---|---:|---:|",
        *(
            f"| {name} | {at} | {number(value, '.4f')} | {number(gain, '+.4f') if at else ''} |"
            for name, at, value, gain in rows
        ),
        "",
    ]
    if not result.has_grid:
        return "\n".join([*lines, f"{counted(result.n_segments, 'segment')}; without an explainer there is no grid."])
    scale, curves = step_scale(result), curves_name(result)
    lines += [
        f"{counted(result.grid.n_used, 'segment')} used. The best point was chosen on these segments, so that its gain "
        "is optimistic.",
        "",
        f"**Model metrics** has a curve for each w, `{curves}/w…`: {kind} over p, with {scale} · p as step: p -1.4 is "
        f"step {round(-1.4 * scale)}. `w1` is the metric alone. To see the curves of several settings in one chart, "
        "choose the chart view in the list of runs.",
        "",
        "**Artifacts**: `curves.png` (all curves with their intervals), `heat_map.png` (gain at every (w, p)), "
        "`grid.parquet` (the numbers).",
    ]
    return "\n".join(lines)
