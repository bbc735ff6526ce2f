"""How often people agree with a difference of two systems' scores, by the difference (Kocmi et al. 2024)."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from bmx_grid.analysis.correlations import PAIR
from bmx_grid.analysis.names import label
from bmx_grid.analysis.shared_task import OF_THRESHOLDS
from bmx_grid.core.wording import counted, file_stem, setting_label
from bmx_grid.report.figures.canvas import BLUE, PAGE, PALE, Drawing, canvas, thin_grid

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

MOST, IN_ROW = 12, 4  # metrics


def agreement_curves(thresholds: pd.DataFrame | None) -> list[Drawing]:
    """A figure per language pair, a curve per metric; none without a metric that people agree with more and more."""
    drawings = []
    for pair, rows in () if thresholds is None else thresholds.groupby(PAIR, sort=False):
        curves = rows.dropna(subset=["difference"]).groupby("metric", sort=False)
        known = {str(name): curve for name, curve in itertools.islice(curves, MOST)}
        left = rows["metric"].nunique() - len(known)
        if known:
            undefined = f" {counted(left, 'metric')} left out, without a rising curve or past {MOST}." if left else ""
            caption = f"{setting_label(*map(str, pair))}. {OF_THRESHOLDS}{undefined}"
            stem = file_stem(f"agreement_{'_'.join(map(str, pair))}")
            drawings.append(Drawing(stem, "How much is much", caption, partial(_curves, known)))
    return drawings


def _curves(metrics: dict[str, pd.DataFrame]) -> Figure:
    rows = -(-len(metrics) // IN_ROW)
    figure, axes = canvas(PAGE, 1.9 * rows, columns=min(len(metrics), IN_ROW), rows=rows, sharey=True)
    for panel, (name, curve) in zip(axes, metrics.items(), strict=False):
        gaps = np.append(0.0, curve["difference"])
        low, middle, high = (np.append(0.5, curve[f"probability{end}"]) for end in ("_low", "", "_high"))
        panel.fill_between(gaps, low, high, color=PALE, alpha=0.5, linewidth=0)
        panel.plot(gaps, middle, color=BLUE, linewidth=1.4)
        panel.set_title(label(str(name)))
        panel.set_ylim(0, 1)
        panel.locator_params(axis="x", nbins=3)
        thin_grid(panel)
    for panel in axes[len(metrics) :]:
        panel.set_visible(False)
    axes[0].set_ylabel("people agree")
    figure.supxlabel("difference of system scores", fontsize=8)
    return figure
