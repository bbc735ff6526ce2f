"""Words that captions share: the points of the explainers, where they come from, what was left out."""

from __future__ import annotations

from collections.abc import Sequence

from bmx_grid.analysis.given import Point
from bmx_grid.analysis.names import label
from bmx_grid.analysis.run import Analysis
from bmx_grid.wording import MINUS, counted, point_in_words


def points_in_words(analysis: Analysis, explainers: Sequence[str] | None = None) -> str:
    """Where explainers are evaluated, and where these points come from."""
    return analysis.points.in_words(explainers, written=label, minus=MINUS)


def point(at: Point) -> str:
    """(w, p) as it is written in captions, never broken over two lines; w = 1 is the metric alone."""
    return f"({point_in_words(at.w, at.p, MINUS)})".replace(" ", "\u00a0")


def undefined_in_words(count: int, thing: str) -> str:
    """A sentence for what could not be drawn; empty when there is nothing to say."""
    return f" {counted(count, thing)} undefined and left out." if count > 0 else ""
