"""What boosts gain on segments that did not choose them, beside length and attributions of other segments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from bmx_grid.analysis import shown
from bmx_grid.analysis.basis import Basis
from bmx_grid.analysis.beside import Reached
from bmx_grid.analysis.names import correlation_in_words, label
from bmx_grid.analysis.run import Analysis
from bmx_grid.analysis.signature import signature
from bmx_grid.analysis.verdict_rows import ShownVerdict
from bmx_grid.report.figures.canvas import PAGE, Drawing, canvas, no_change_line, thin_grid
from bmx_grid.report.figures.forest import interval
from bmx_grid.report.figures.palette import BLUE, CONTROL, GREEN, ORANGE, PAPER, QUIET
from bmx_grid.wording import counted, file_stem

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROW = 0.27  # inches
APART = 0.5  # rows between metrics
MOST_ROWS = 48  # of one figure; more are drawn metric by metric


@dataclass(frozen=True)
class Mark:
    """How a number is drawn: its name, marker and colour, the width of its interval and its height above the row."""

    name: str
    marker: str
    colour: str
    width: float
    above: float


MARKS = {
    "gain": Mark("gain", "o", BLUE, 1.4, 0.27),
    "beyond": Mark("beyond score and length", "D", GREEN, 1.0, 0.04),
    "curve_gain": Mark("curve of score and length alone", "^", ORANGE, 1.0, -0.17),
    "reassigned": Mark("attributions of another segment", "+", CONTROL, 0.0, -0.36),
}


def boost_forests(analysis: Analysis, basis: Basis) -> list[Drawing]:
    """A figure of all boosts, or one per metric where they are more than 48; none without a table of boosts."""
    rows = [row for row in shown.verdicts_of(analysis) if math.isfinite(row.gain.gain)]
    largest: dict[str, float] = {}
    for row in rows:
        largest[row.metric] = max(row.gain.gain, largest.get(row.metric, -math.inf))
    rows.sort(key=lambda row: (-largest[row.metric], row.metric, -row.gain.gain))
    if len(rows) <= MOST_ROWS:
        return [_forest(analysis, basis, rows, "boosts", "Boosts")] if rows else []
    made = []
    for metric in dict.fromkeys(row.metric for row in rows):
        own = [row for row in rows if row.metric == metric]
        made.append(_forest(analysis, basis, own, f"boosts_{file_stem(metric)}", f"Boosts of {label(metric)}"))
    return made


def _forest(analysis: Analysis, basis: Basis, rows: Sequence[ShownVerdict], stem: str, title: str) -> Drawing:
    kind = correlation_in_words(basis.correlation)
    helping = sum(row.helps for row in rows)
    caption = (
        f"{counted(len(rows), 'boost')} ({kind}, boosted minus metric alone), each judged on segments it was not "
        "chosen on, not boosting among the choices. Lines are 95 % intervals. Filled: the verdict is that it helps, "
        f"{helping} of {len(rows)}; hollow: another. Beyond score and length: with a smooth curve of both fitted to "
        "the judged segments, for metric and boost alike. The curve alone, and the same boost made of attributions of "
        "another segment, show what needs no explanation. "
    )
    return Drawing(
        stem,
        f"{title} beside score, length and attributions of other segments",
        f"{caption}{signature(analysis)}",
        partial(_draw, rows, f"gain in {kind}"),
    )


def _draw(rows: Sequence[ShownVerdict], axis: str) -> Figure:
    places = _places(rows)
    figure, (axes,) = canvas(PAGE, 0.85 + ROW * max(1 - places[-1], 3))
    for name, mark in MARKS.items():
        for at, row in zip(places, rows, strict=True):
            one = _reached(row, name)
            interval(axes, at + mark.above, one.low, one.high, mark.colour, mark.width)
            hollow = name == "gain" and not row.helps
            axes.plot(
                [one.gain],
                [at + mark.above],
                linestyle="none",
                marker=mark.marker,
                markersize=4.5 if name == "gain" else 3.6,
                color=PAPER if hollow else mark.colour,
                markeredgecolor=mark.colour,
                markeredgewidth=1.0,
                zorder=4,
                label=mark.name if at == places[0] else None,
            )
    for above, below in pairwise(places):
        if above - below > 1:
            axes.axhline((above + below) / 2, color=QUIET, linewidth=0.5)
    axes.set_yticks(places, [_label(row) for row in rows], fontsize=6.5)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(places[-1] - 0.65, 0.65)
    axes.margins(x=0.03)
    axes.locator_params(axis="x", nbins=8)
    thin_grid(axes, "x")
    no_change_line(axes)
    axes.set_xlabel(axis)
    figure.legend(loc="outside upper left", frameon=False, ncols=4, handletextpad=0.3, columnspacing=1.2)
    return figure


def _places(rows: Sequence[ShownVerdict]) -> list[float]:
    """The height of each row, downwards from 0, with room between metrics."""
    places = [0.0]
    for row, following in pairwise(rows):
        places.append(places[-1] - 1 - (APART if row.metric != following.metric else 0))
    return places


def _reached(row: ShownVerdict, name: str) -> Reached:
    return Reached(row.reassigned_gain, math.nan, math.nan) if name == "reassigned" else row.estimates[name]


def _label(row: ShownVerdict) -> str:
    scope = "" if row.pairs > 1 else f" on {row.dataset} {row.language_pair}"
    return f"{label(row.metric)}{scope} · {label(row.explainer)} · {label(row.boost).replace('_', ' ')}"
