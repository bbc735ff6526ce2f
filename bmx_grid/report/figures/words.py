"""Words that captions share: the points of the explainers, where they come from, what was left out."""

from __future__ import annotations

import math
from collections.abc import Iterable

from bmx_grid.analysis import shown
from bmx_grid.analysis.given import Point
from bmx_grid.analysis.run import Analysis
from bmx_grid.report.names import label

CHOSEN = {
    "here": "chosen on these same settings (in-sample)",
    "elsewhere": "chosen on another table",
    "given": "as given or published",
    "mixed": "partly as given or published, partly chosen",
}


def points_in_words(analysis: Analysis, explainers: Iterable[str] | None = None) -> str:
    """Where explainers are evaluated, and by which rule these points were chosen."""
    origins = shown.origins(analysis)
    names = list(origins) if explainers is None else list(explainers)
    told = [f"{label(name)} {point(shown.used_point(analysis, name))}" for name in names]
    rules = sorted({origins[name] for name in names if name in origins})
    return f"Points: {', '.join(told) or 'none'} ({'; '.join(rules) or 'no explainer'})."


def chosen_in_words(analysis: Analysis) -> str:
    """Where the fixed points come from, as a clause after "(w, p)"."""
    return CHOSEN[shown.chosen(analysis)]


def point(at: Point | None) -> str:
    """(w, p) as it is written in captions; w = 1 is the metric alone, whatever p."""
    if at is None or math.isnan(at.p):
        return "(no point)"
    if at.w == 1:
        return "(metric alone)"
    return f"(w\u00a0{number(at.w, 'g')},\u00a0p\u00a0{number(at.p, 'g')})"  # never broken over two lines


def undefined_in_words(count: int, what: str) -> str:
    """A sentence for what could not be drawn; empty when there is nothing to say."""
    return f" {count:,} {what} undefined and left out." if count > 0 else ""


def number(value: float, form: str) -> str:
    """A number with a true minus sign, or n/a where it is undefined. A negative one that rounds to 0 keeps its sign."""
    if not math.isfinite(value):
        return "n/a"
    return format(value + 0.0, form).replace("-", "\u2212")  # -0.0 + 0.0 is 0.0
