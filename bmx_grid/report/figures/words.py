"""Words that captions share: the points of the explainers, what was left out, the signature."""

from __future__ import annotations

import math
from collections.abc import Iterable

from bmx_grid.analysis.given import Point
from bmx_grid.analysis.run import Analysis
from bmx_grid.analysis.signature import signature


def points_in_words(analysis: Analysis, explainers: Iterable[str] | None = None) -> str:
    """Where explainers are evaluated, and by which rule these points were chosen."""
    names = list(analysis.origins) if explainers is None else list(explainers)
    told = [f"{name} {point(analysis.fixed.used.get(name))}" for name in names]
    rules = sorted({analysis.origins[name] for name in names if name in analysis.origins})
    return f"Points: {', '.join(told) or 'none'} ({'; '.join(rules) or 'no explainer'})."


def point(at: Point | None) -> str:
    """(w, p) as it is written in captions."""
    if at is None or math.isnan(at.p):
        return "(no point)"
    return f"(w\u00a0{at.w:g},\u00a0p\u00a0{at.p:g})"  # never broken over two lines


def undefined_in_words(count: int, what: str) -> str:
    """A sentence for what could not be drawn; empty when there is nothing to say."""
    return f" {count:,} {what} undefined and left out." if count > 0 else ""


def source(analysis: Analysis) -> str:
    """The last paragraph of every caption."""
    return signature(analysis)


def number(value: float, form: str) -> str:
    """A number, or n/a where it is undefined."""
    return format(value, form) if math.isfinite(value) else "n/a"
