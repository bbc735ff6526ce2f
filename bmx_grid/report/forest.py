"""Gains with their intervals: of boosts on other segments than chose them, and of settings at declared points."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from bmx_grid.analysis.base import FACTORS
from bmx_grid.analysis.gains import declared
from bmx_grid.analysis.questions import Analysis
from bmx_grid.analysis.verdicts import shown_verdicts
from bmx_grid.core.wording import SHORT_LABEL, counted, file_stem, label
from bmx_grid.evaluations.verdicts import HELPS
from bmx_grid.report.canvas import (
    BLUE,
    COLUMN,
    CONTROL,
    ORANGE,
    PAPER,
    Drawing,
    canvas,
    correlation_of,
    gain_axis,
    legend_above,
    signed,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

ROW = 0.28  # inches
MOST_ROWS = 48  # of one figure; more go on in further ones
LENGTH, REASSIGNED = "length alone", "attributions of another segment"
MARKS = {"gain": ("o", 4.5, BLUE), LENGTH: ("^", 3.8, ORANGE), REASSIGNED: ("x", 3.8, CONTROL)}


def boosts(analysis: Analysis) -> Iterator[Drawing]:
    """All boosts, those of the metric with the largest gain first; none without a table of boosts."""
    frame = analysis.ask(shown_verdicts)
    frame = frame[frame["question"] == "declared"]
    if not len(frame) or frame["gain"].isna().all():
        return
    frame = frame.dropna(subset=["gain"]).assign(largest=frame.groupby("metric")["gain"].transform("max"))
    frame = frame.sort_values(["largest", "metric", "gain"], ascending=[False, True, False])
    boost = frame["boost"].str.replace("_", " ") if frame["boost"].nunique() > 1 else ""
    pair = (frame["dataset"] + " " + frame["language_pair"]).where(frame["pairs"] == 1, "")
    names = frame[["metric", "explainer"]].assign(boost=boost, pair=pair)
    shown = {"gain_low": "low", "gain_high": "high", "length_gain": LENGTH, "reassigned_gain": REASSIGNED}
    rows = frame[["gain", *shown]].rename(columns=shown).assign(filled=frame["verdict"] == HELPS)
    caption = (
        f"{counted(len(rows), 'boost')}, each judged on segments it was not chosen on: {correlation_of(analysis)}, "
        f"boosted minus metric alone, with 95 % intervals. Filled: it helps, {rows['filled'].sum()} of {len(rows)}. "
        "Length and attributions of another segment need no explanation."
    )
    yield from _drawings(analysis, names, rows, "boosts", "What each boost gains", caption)


def declared_gains(analysis: Analysis) -> Iterator[Drawing]:
    """For each explainer its gains at its declared point, best first, where they were tested."""
    frame = analysis.ask(declared)
    if not frame["test"].notna().any():
        return
    frame = frame[frame["gain"].notna()].sort_values(["gain", *FACTORS], ascending=[False, True, True, True, True])
    explainer: Any
    for explainer, gains in frame.groupby("explainer"):
        caption = (
            f"Gain of {label(explainer)} ({correlation_of(analysis)}, boosted minus metric alone) at the declared "
            "point, one row per setting; lines are 95 % intervals. Filled: gains that survive Holm's correction."
        )
        stem, title = f"gains_with_intervals_{file_stem(explainer)}", f"Gains of {label(explainer)} with intervals"
        rows = gains[["gain", "low", "high"]].assign(filled=gains["survives"])
        yield from _drawings(analysis, gains[list(FACTORS[:3])], rows, stem, title, caption)


def _drawings(
    analysis: Analysis, names: pd.DataFrame, rows: pd.DataFrame, stem: str, title: str, caption: str
) -> Iterator[Drawing]:
    """One figure, or several of MOST_ROWS rows each. names: the parts of the name of each row."""
    labels = [" · ".join(label(part, SHORT_LABEL) for part in parts if part) for parts in names.to_numpy()]
    for start in range(0, len(rows), MOST_ROWS):
        number = start // MOST_ROWS + 1
        part = ("", "") if number == 1 else (f"_{number}", f", part {number}")
        shown = slice(start, start + MOST_ROWS)
        draw = partial(_draw, labels[shown], rows[shown], f"gain in {correlation_of(analysis)}")
        yield signed(analysis, f"{stem}{part[0]}", f"{title}{part[1]}", caption, draw)


def _draw(names: Sequence[str], rows: pd.DataFrame, axis: str) -> Figure:
    """Names stand above their rows, so that the figure fits a column and a phone."""
    figure, (axes,) = canvas(COLUMN, 0.7 + ROW * max(len(rows), 3))
    for place, (name, row) in enumerate(zip(names, rows.to_dict("records"), strict=True)):
        axes.text(
            0.01,
            -place + 0.3,
            name,
            transform=axes.get_yaxis_transform(),
            fontsize=6.5,
            va="center",
            zorder=1.6,
            bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.6},
            in_layout=False,
        )
        height = -place - 0.16
        # nothing is drawn for NaN
        axes.plot([row["low"], row["high"]], [height] * 2, color=BLUE, linewidth=1.4, solid_capstyle="butt", zorder=2)
        for kind, (marker, size, colour) in MARKS.items():
            axes.plot(
                [row.get(kind, math.nan)],
                [height],
                linestyle="none",
                marker=marker,
                markersize=size,
                color=PAPER if kind == "gain" and not row["filled"] else colour,
                markeredgecolor=colour,
                markeredgewidth=1.0,
                zorder=4 if kind == "gain" else 3,
                label=kind if place == 0 else None,
            )
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_ylim(-len(rows) + 0.5, 0.55)
    axes.margins(x=0.03)
    gain_axis(axes, axis)
    if LENGTH in rows:
        legend_above(figure, ncols=3, fontsize=6.5, handletextpad=0.1, columnspacing=0.9)
    return figure
