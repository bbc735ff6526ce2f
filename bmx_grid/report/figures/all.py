"""All figures of the paper from an analysis, each as PDF and PNG, named by what they show."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bmx_grid.analysis.run import Analysis
from bmx_grid.report.figures.densities import TOGETHER, gains_by, gains_of_all_points, pairs_to_compare
from bmx_grid.report.figures.grids import correlation_over_p, rows_to_draw
from bmx_grid.report.figures.page import save, style
from bmx_grid.report.figures.selection import best_boxes, better_and_worse, better_when_left_out, ridge_bars

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDS = 3  # coefficients at each end of the paper's Figure 8


def draw_all(analysis: Analysis, folder: Path, settings: Sequence[str] = ()) -> list[Path]:
    """Draw every figure into `folder`; the files written, PDF and PNG of each.

    settings: labels "dataset language_pair metric explainer" of further settings to draw the grid of. Where the fixed
    points come from elsewhere, the figures carry the numbers of the paper's held-out ones (9, 10, 11).
    Raises ConfigError for an unknown label, StoreError when a file cannot be written.
    """
    paths = []
    for stem, draw in paper_figures(analysis, settings):
        with style():
            paths += save(draw(), folder, stem)
    return paths


def paper_figures(analysis: Analysis, settings: Sequence[str] = ()) -> Iterator[tuple[str, Callable[[], Figure]]]:
    """File name without suffix, and how it is drawn (inside `figure_page.style`), of every figure of `draw_all`."""
    grids, counts, metrics = ("fig11", "fig10", "fig9") if analysis.is_held_out else ("fig3", "fig6", "fig13")
    for row in rows_to_draw(analysis, settings):
        name = "_".join(analysis.table.settings[row]).replace("/", "-")
        yield f"{grids}_correlation_over_p_{name}", partial(correlation_over_p, analysis, row)
    yield "fig4_gain_density_by_explainer", partial(gains_of_all_points, analysis)
    if len(analysis.real) == 0:
        return
    yield "fig5_best_w_and_p_by_explainer", partial(best_boxes, analysis)
    yield f"{counts}_better_and_worse_by_explainer", partial(better_and_worse, analysis)
    yield "better_and_worse_left_out", partial(better_when_left_out, analysis)
    yield f"fig8_ridge_{ENDS}_largest_and_smallest", partial(ridge_bars, analysis, ENDS)
    yield "fig8_ridge_all", partial(ridge_bars, analysis)
    best = analysis.best_explainer
    if best is None:
        return
    yield f"fig7_{best}_gain_density_by_dataset", partial(gains_by, analysis, best, "dataset")
    pairs = analysis.real.factor_levels("language_pair")
    if len(pairs) > TOGETHER:
        some = pairs_to_compare(analysis, best)
        yield f"fig12_{best}_gain_density_by_language_pair", partial(gains_by, analysis, best, "language_pair", some)
        yield f"fig12_{best}_gain_density_by_language_pair_all", partial(gains_by, analysis, best, "language_pair")
    else:
        yield f"fig12_{best}_gain_density_by_language_pair", partial(gains_by, analysis, best, "language_pair")
    yield f"{metrics}_{best}_gain_density_by_metric", partial(gains_by, analysis, best, "metric")
