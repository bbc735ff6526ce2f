"""The page of one setting: the heat map of its grid, and segments with the attributions of their words."""

from __future__ import annotations

import numpy as np

from bmx_grid.analysis.examples import movers
from bmx_grid.core.pages import printable
from bmx_grid.core.wording import correlation_in_words, setting_in_words
from bmx_grid.report.html import example_parts, page_templates
from bmx_grid.report.maps import MapScale, map_of
from bmx_grid.sweep.judge import SettingResult


def setting_page(result: SettingResult) -> str:
    """The page as HTML, which needs no other file and no network; "" without a grid."""
    if result.spec is None or not result.has_grid:
        return ""
    grid = result.grid
    scale = MapScale(np.array(result.spec.p), np.array(result.spec.w), result.gain)
    name = setting_in_words(result.names)
    points = {row.point: (row.w, row.p) for row in result.points}
    best = (grid.best_w, grid.best_p, grid.best)
    template = page_templates().get_template("setting.html.jinja")
    page = template.render(
        title=name,
        scale=scale,
        correlation=correlation_in_words(result.correlation),
        map=map_of(scale, name, grid.correlation - grid.baseline, grid.baseline, best, points),
        examples=[example_parts(example) for example in movers(result)],
    )
    return printable(page)
