"""Plausibility beside gain: does an explanation that finds the words people marked boost more?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from bmx_grid.analysis import shown
from bmx_grid.analysis.basis import Basis
from bmx_grid.analysis.names import correlation_in_words, label
from bmx_grid.analysis.plausibility import ALL, RHO, Plausible
from bmx_grid.analysis.run import Analysis
from bmx_grid.analysis.signature import signature
from bmx_grid.analysis.words import CHANCE
from bmx_grid.report.figures.canvas import COLUMN, LINES, MARKERS, QUIET, Drawing, canvas, thin_grid
from bmx_grid.wording import MINUS, counted, with_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plausibility(analysis: Analysis, basis: Basis) -> list[Drawing]:
    """One figure of all settings with an AUC and a gain; none without word tags."""
    found = shown.plausibility_of(analysis)
    kept = [one for one in found.plausible if math.isfinite(one.auc) and math.isfinite(one.gain)]
    if not kept:
        return []
    kind, of = correlation_in_words(basis.correlation), found.plausibility[ALL]
    rho = with_interval(of.rho, of.low, of.high, RHO, without="(too few clusters for an interval)", minus=MINUS)
    left = f" {counted(of.undefined, 'setting')} without an AUC or a gain left out." if of.undefined else ""
    caption = (
        f"{counted(len(kept), 'setting')}: how well the explanation finds the words of the target that people marked "
        f"(AUC, dotted: chance) and the gain at its declared point ({kind}, boosted minus metric alone). Lines are "
        f"95 % intervals by a bootstrap of clusters of segments. Spearman's ρ over settings: {rho}, its interval by a "
        f"bootstrap of the {counted(of.clusters, 'data set and language pair', 'data sets and language pairs')}.{left} "
    )
    return [
        Drawing(
            "plausibility",
            "Plausibility of explanations and what they gain",
            f"{caption}{signature(analysis)}",
            partial(_draw, kept, f"gain in {kind}"),
        )
    ]


def _draw(settings: Sequence[Plausible], axis: str) -> Figure:
    figure, (axes,) = canvas(COLUMN, 3.0)
    names = sorted({one.names[3] for one in settings})
    for at, name in enumerate(names):
        colour, marker = LINES[at % len(LINES)], MARKERS[at % len(MARKERS)]
        own = [one for one in settings if one.names[3] == name]
        for one in own:
            for ends, where in (
                ((one.auc_low, one.auc_high), "x"),
                ((one.gain_low, one.gain_high), "y"),
            ):
                if not all(map(math.isfinite, ends)):
                    continue
                x, y = (ends, (one.gain, one.gain)) if where == "x" else ((one.auc, one.auc), ends)
                axes.plot(x, y, color=colour, linewidth=0.6, solid_capstyle="butt", zorder=2)
        axes.plot(
            [one.auc for one in own],
            [one.gain for one in own],
            linestyle="none",
            marker=marker,
            markersize=4.0,
            color=colour,
            zorder=3,
            label=label(name),
        )
    axes.axvline(CHANCE, color=QUIET, linewidth=0.8, linestyle=":", zorder=1)
    axes.axhline(0, color=QUIET, linewidth=0.8, zorder=1)
    thin_grid(axes, "both")
    axes.set_xlabel("AUC of the attributions against word tags of the target")
    axes.set_ylabel(axis)
    figure.legend(loc="outside upper left", frameon=False, ncols=3, handletextpad=0.3, columnspacing=1.2)
    return figure
