"""Correlation over p, a line for each w, of single settings (the paper's Figures 3 and 11)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.analysis.given import Point
from bmx_grid.analysis.run import Analysis
from bmx_grid.errors import ConfigError, unknown
from bmx_grid.report.figures.grid import draw_curves
from bmx_grid.report.figures.page import empty, page
from bmx_grid.report.figures.words import number, point, source, undefined_in_words
from bmx_grid.wording import setting_label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAST_REACH = 0.005  # of the second frame, above and below the metric alone


def rows_to_draw(analysis: Analysis, asked: Sequence[str] = ()) -> list[int]:
    """Rows of the table: the setting with the largest best gain, the one with the smallest, then those asked for.

    asked: labels "dataset language_pair metric explainer". Of settings that nothing improves the smallest is the one
    that loses most at its fixed point. Controls are drawn only where there is nothing else. Raises ConfigError for
    an unknown label.
    """
    table = analysis.table
    labels = [one.label for one in table.settings]
    for label in asked:
        if label not in labels:
            raise ConfigError(unknown("setting", label, labels))
    use = ~table.is_control if len(analysis.real) > 0 else np.ones(len(table), dtype=np.bool_)
    fixed = np.zeros(len(table))
    if len(analysis.real) > 0:
        fixed[use] = np.nan_to_num(analysis.fixed.gain, nan=0.0)
    gain = analysis.best.gain
    rows = np.flatnonzero(use & np.isfinite(gain)).tolist()
    ordered = sorted(rows, key=lambda row: (gain[row], fixed[row], labels[row]))
    ends = [ordered[-1], ordered[0]] if ordered else []
    return list(dict.fromkeys([*ends, *(labels.index(label) for label in asked)]))


def correlation_over_p(analysis: Analysis, row: int) -> Figure:
    """The grid of one setting, its best point and its fixed one."""
    table, best = analysis.table, analysis.best
    setting, correlation = table.settings[row], table.correlation[row]
    baseline = float(table.baseline[row])
    parts = [f"Correlation with human scores over p; w = 1, in black, is the metric alone: {number(baseline, '.4f')}."]
    at, fixed = analysis.fixed.used.get(setting.explainer), math.nan
    if not table.is_control[row]:
        fixed = float(analysis.fixed.correlation[analysis.real.settings.index(setting)])
    top = float(best.correlation[row])
    if math.isfinite(best.p[row]):
        shared = f", {best.plateau[row]:,} points within 1e-5 of the highest below w = 1"
        parts.append(
            f"Best, rule '{best.tie}': {number(top, '.4f')} at {point(Point(best.p[row], best.w[row]))}, gain "
            f"{number(float(best.gain[row]), '+.4f')}{shared}."
        )
    else:
        parts.append(f"No (w, p) improves it by more than 1e-5 (rule '{best.tie}').")
    if math.isfinite(fixed):
        origin = analysis.origins[setting.explainer]
        parts.append(f"Fixed {point(at)}, {origin}: {fixed:.4f}, gain {fixed - baseline:+.4f}.")
    undefined = int(np.isnan(correlation).sum())
    caption = [" ".join(parts) + undefined_in_words(undefined, "points"), source(analysis)]
    figure, (whole, near) = page(3.3, caption, columns=2)
    for axes in (whole, near):
        draw_curves(axes, table.p, table.w.tolist(), correlation)
        if math.isfinite(fixed) and at is not None:
            mark: dict[str, Any] = {"marker": "x", "markersize": 7, "markeredgewidth": 1.8, "linestyle": "none"}
            axes.plot([at.p], [fixed], color="black", label="fixed (w, p)", zorder=9, **mark)
        if math.isfinite(best.p[row]) and math.isfinite(top):
            mark = {"marker": "*", "markersize": 11, "markeredgecolor": "black", "linestyle": "none"}
            axes.plot([best.p[row]], [top], color="#FFD700", label="best (w, p)", zorder=10, **mark)
        axes.set_xlabel("p of the power mean")
        axes.grid(True, color="#DDDDDD", linewidth=0.6)
        axes.margins(x=0.01)
    if undefined == correlation.size:
        empty(whole, "no defined correlation")
    if math.isfinite(baseline):
        reach = max(float(best.gain[row]), LEAST_REACH) if math.isfinite(best.gain[row]) else LEAST_REACH
        near.set_ylim(baseline - 2 * reach, baseline + 1.5 * reach)
    figure.suptitle(setting_label(*setting), x=0.012, ha="left", fontsize=9.5)
    near.set_title("near the metric alone", loc="left", fontsize=8.5)
    whole.set_ylabel("correlation with human scores")
    near.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=7.5, handlelength=2.8)
    return figure
