"""Gains with their intervals: of boosts on other segments than chose them, and of settings at declared points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from bmx_grid.analysis.gains import declared
from bmx_grid.analysis.names import SHORT_LABEL, label
from bmx_grid.analysis.questions import Analysis
from bmx_grid.analysis.table import FACTORS
from bmx_grid.analysis.verdicts import shown_verdicts
from bmx_grid.core.wording import counted, file_stem
from bmx_grid.evaluations.verdicts import HELPS
from bmx_grid.report.figures.canvas import (
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
    from matplotlib.figure import Figure

ROW = 0.28  # inches
MOST_ROWS = 48  # of one figure; more go on in further ones
LENGTH, REASSIGNED = "length alone", "attributions of another segment"
MARKS = {"gain": ("o", BLUE), LENGTH: ("^", ORANGE), REASSIGNED: ("x", CONTROL)}


@dataclass(frozen=True)
class Row:
    """A gain with the ends of its interval; filled: whether it is established; others: further gains by their names."""

    name: str
    gain: float
    low: float
    high: float
    filled: bool
    others: Mapping[str, float] = field(default_factory=dict)


def boosts(analysis: Analysis) -> Iterator[Drawing]:
    """All boosts, those of the metric with the largest gain first; none without a table of boosts."""
    frame = analysis.ask(shown_verdicts)
    frame = frame[frame["question"] == "declared"].dropna(subset=["gain"]) if len(frame) else frame
    if not len(frame):
        return
    frame = frame.assign(largest=frame.groupby("metric")["gain"].transform("max"))
    frame = frame.sort_values(["largest", "metric", "gain"], ascending=[False, True, False])
    several = frame["boost"].nunique() > 1
    rows = []
    for row in frame.to_dict("records"):
        place = "" if row["pairs"] > 1 else f"{row['dataset']} {row['language_pair']}"
        boost = row["boost"].replace("_", " ") if several else ""
        others = {LENGTH: row["length_gain"], REASSIGNED: row["reassigned_gain"]}
        name = _name(row["metric"], row["explainer"], boost, place)
        rows.append(Row(name, row["gain"], row["gain_low"], row["gain_high"], row["verdict"] == HELPS, others))
    caption = (
        f"{counted(len(rows), 'boost')}, each judged on segments it was not chosen on: {correlation_of(analysis)}, "
        f"boosted minus metric alone, with 95 % intervals. Filled: it helps, {sum(row.filled for row in rows)} of "
        f"{len(rows)}. Length and attributions of another segment need no explanation."
    )
    yield from _drawings(analysis, rows, "boosts", "What each boost gains", caption)


def declared_gains(analysis: Analysis) -> Iterator[Drawing]:
    """For each explainer its gains at its declared point, best first, where they were tested."""
    frame = analysis.ask(declared)
    if not frame["test"].notna().any():
        return
    columns = ["gain", "low", "high", "survives"]
    frame = frame[frame["gain"].notna()].sort_values(["gain", *FACTORS], ascending=[False, True, True, True, True])
    explainer: Any
    for explainer, gains in frame.groupby("explainer"):
        names = [_name(*of_setting) for of_setting in gains[list(FACTORS[:3])].to_numpy()]
        rows = [Row(name, *values) for name, values in zip(names, gains[columns].to_numpy(), strict=True)]
        caption = (
            f"Gain of {label(explainer)} ({correlation_of(analysis)}, boosted minus metric alone) at the declared "
            "point, one row per setting; lines are 95 % intervals. Filled: gains that survive Holm's correction."
        )
        stem, title = f"gains_with_intervals_{file_stem(explainer)}", f"Gains of {label(explainer)} with intervals"
        yield from _drawings(analysis, rows, stem, title, caption)


def _name(*parts: str) -> str:
    return " · ".join(label(part, SHORT_LABEL) for part in parts if part)


def _drawings(analysis: Analysis, rows: Sequence[Row], stem: str, title: str, caption: str) -> Iterator[Drawing]:
    """One figure, or several of MOST_ROWS rows each."""
    for start in range(0, len(rows), MOST_ROWS):
        number = start // MOST_ROWS + 1
        part = ("", "") if number == 1 else (f"_{number}", f", part {number}")
        draw = partial(_draw, rows[start : start + MOST_ROWS], f"gain in {correlation_of(analysis)}")
        yield signed(analysis, f"{stem}{part[0]}", f"{title}{part[1]}", caption, draw)


def _draw(rows: Sequence[Row], axis: str) -> Figure:
    """Names stand above their rows, so that the figure fits a column and a phone."""
    figure, (axes,) = canvas(COLUMN, 0.7 + ROW * max(len(rows), 3))
    for place, row in enumerate(rows):
        axes.text(
            0.01,
            -place + 0.3,
            row.name,
            transform=axes.get_yaxis_transform(),
            fontsize=6.5,
            va="center",
            zorder=1.6,
            bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.6},
            in_layout=False,
        )
        height = -place - 0.16
        # nothing is drawn for NaN
        axes.plot([row.low, row.high], [height] * 2, color=BLUE, linewidth=1.4, solid_capstyle="butt", zorder=2)
        for name, gain in {"gain": row.gain, **row.others}.items():
            marker, colour = MARKS[name]
            axes.plot(
                [gain],
                [height],
                linestyle="none",
                marker=marker,
                markersize=4.5 if name == "gain" else 3.8,
                color=PAPER if name == "gain" and not row.filled else colour,
                markeredgecolor=colour,
                markeredgewidth=1.0,
                zorder=4 if name == "gain" else 3,
                label=name if place == 0 else None,
            )
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_ylim(-len(rows) + 0.5, 0.55)
    axes.margins(x=0.03)
    gain_axis(axes, axis)
    if rows[0].others:
        legend_above(figure, ncols=3, fontsize=6.5, handletextpad=0.1, columnspacing=0.9)
    return figure
