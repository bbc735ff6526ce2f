"""Gains with their intervals: of boosts on other segments than chose them, at declared points, beside plausibility."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from bmx_grid.analysis import words
from bmx_grid.analysis.gains import declared, summaries
from bmx_grid.analysis.names import SHORT_LABEL, correlation_in_words, label
from bmx_grid.analysis.questions import Analysis
from bmx_grid.analysis.table import FACTORS
from bmx_grid.analysis.verdicts import shown_verdicts
from bmx_grid.analysis.words import ALL, CHANCE, RHO
from bmx_grid.core.wording import MINUS, counted, file_stem, with_interval
from bmx_grid.evaluations.verdicts import HELPS
from bmx_grid.report.figures.canvas import (
    BLUE,
    COLUMN,
    CONTROL,
    LINES,
    MARKERS,
    ORANGE,
    PAPER,
    QUIET,
    Drawing,
    canvas,
    gain_axis,
    legend_above,
    signed,
    thin_grid,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

ROW = 0.28  # inches
MOST_ROWS = 48  # of single settings; more are shown as means
NUMBERS = ("gain", "low", "high", "survives")
MOST_BOOSTS = 48  # of one figure; more are drawn metric by metric
LENGTH, REASSIGNED = "length alone", "attributions of another segment"
MARKS = {LENGTH: ("^", ORANGE), REASSIGNED: ("x", CONTROL)}


@dataclass(frozen=True)
class Row:
    """A gain with the ends of its interval; filled: whether it is established; others: further gains by their names."""

    name: str
    gain: float
    low: float
    high: float
    filled: bool
    others: Mapping[str, float] = field(default_factory=dict)


def boosts(analysis: Analysis) -> list[Drawing]:
    """A figure of all boosts, or one per metric where they are more than 48; none without a table of boosts."""
    frame = analysis.ask(shown_verdicts)
    rows: list[Any] = frame[frame["question"] == "declared"].to_dict("records")
    verdicts = [row for row in rows if math.isfinite(row["gain"])]
    largest: dict[str, float] = {}
    for row in verdicts:
        largest[row["metric"]] = max(row["gain"], largest.get(row["metric"], -math.inf))
    verdicts.sort(key=lambda row: (-largest[row["metric"]], row["metric"], -row["gain"]))
    if len(verdicts) <= MOST_BOOSTS:
        return [_boosts(analysis, verdicts, "boosts", "What each boost gains")] if verdicts else []
    return [
        _boosts(
            analysis,
            [row for row in verdicts if row["metric"] == metric],
            f"boosts_{file_stem(metric)}",
            f"What each boost of {label(metric)} gains",
        )
        for metric in largest
    ]


def _boosts(analysis: Analysis, verdicts: Sequence[Mapping[Any, Any]], stem: str, title: str) -> Drawing:
    several = len({row["boost"] for row in verdicts}) > 1
    rows = [_row_of(row, several) for row in verdicts]
    kind = correlation_in_words(analysis.basis.correlation)
    caption = (
        f"{counted(len(rows), 'boost')}, each judged on segments it was not chosen on: {kind}, boosted minus metric "
        f"alone, with 95 % intervals. Filled: it helps, {sum(row.filled for row in rows)} of {len(rows)}. Length and "
        "attributions of another segment need no explanation."
    )
    return signed(analysis, stem, title, caption, partial(_draw, rows, f"gain in {kind}"))


def _row_of(row: Mapping[Any, Any], several: bool) -> Row:
    place = "" if row["pairs"] > 1 else f"{row['dataset']} {row['language_pair']}"
    boost = row["boost"].replace("_", " ") if several else ""
    parts = (row["metric"], row["explainer"], boost, place)
    name = " · ".join(label(part, SHORT_LABEL) for part in parts if part)
    others = {LENGTH: row["length_gain"], REASSIGNED: row["reassigned_gain"]}
    return Row(name, row["gain"], row["gain_low"], row["gain_high"], row["verdict"] == HELPS, others)


def declared_gains(analysis: Analysis) -> list[Drawing]:
    """A figure for each explainer whose gains at its declared point were tested, best first.

    More than 48 are shown as means over the language pairs of a data set and metric, with intervals by pair.
    """
    frame = analysis.ask(declared)
    if not frame["test"].notna().any():
        return []
    frame = frame[frame["gain"].notna()]
    return [_declared(analysis, str(name), gains) for name, gains in frame.groupby("explainer")]


def _declared(analysis: Analysis, explainer: str, gains: pd.DataFrame) -> Drawing:
    kind = correlation_in_words(analysis.basis.correlation)
    each, filled, names = "setting", "Filled: gains that survive Holm's correction. ", list(FACTORS[:3])
    if len(gains) > MOST_ROWS:
        each, filled, names = "data set and metric, means over language pairs with intervals by pair", "", names[::2]
        gains = summaries(gains, names, analysis.options.seed, "gain").reset_index()
        gains = gains.assign(gain=gains["mean_gain"], low=gains["mean_low"], high=gains["mean_high"], survives=False)
    rows = [
        Row(" ".join(label(row[name], SHORT_LABEL) for name in names), *(row[number] for number in NUMBERS))
        for row in gains.sort_values(["gain", *names], ascending=[False, *[True] * len(names)]).to_dict("records")
    ]
    return signed(
        analysis,
        f"gains_with_intervals_{file_stem(explainer)}",
        f"Gains of {label(explainer)} with intervals",
        f"Gain of {label(explainer)} ({kind}, boosted minus metric alone) at the declared point, one row per {each}; "
        f"lines are 95 % intervals. {filled}",
        partial(_draw, rows, f"gain in {kind}"),
    )


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
        if math.isfinite(row.low) and math.isfinite(row.high):
            ends, height = [row.low, row.high], [-place - 0.16] * 2
            axes.plot(ends, height, color=BLUE, linewidth=1.4, solid_capstyle="butt", zorder=2)
        marks = {"gain": (row.gain, "o", BLUE), **{name: (row.others[name], *MARKS[name]) for name in row.others}}
        for name, (gain, marker, colour) in marks.items():
            axes.plot(
                [gain],
                [-place - 0.16],
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


def plausibility(analysis: Analysis) -> list[Drawing]:
    """One figure of all settings with an AUC and a gain; none without word tags."""
    kept = analysis.ask(words.plausible_settings).dropna(subset=["auc", "gain"])
    if not len(kept):
        return []
    kind, of = correlation_in_words(analysis.basis.correlation), analysis.ask(words.plausibility).to_dict("index")[ALL]
    few = "(too few clusters for an interval)"
    rho = with_interval(of["rho"], of["low"], of["high"], RHO, without=few, minus=MINUS)
    left = f" {counted(of['undefined'], 'setting')} without an AUC or a gain left out." if of["undefined"] else ""
    caption = (
        f"{counted(len(kept), 'setting')}: how well the explanation finds the words of the target that people marked "
        f"(AUC, dotted: chance) and the gain at its declared point ({kind}, boosted minus metric alone). Lines are "
        f"95 % intervals by a bootstrap of clusters of segments. Spearman's ρ over settings: {rho}, its interval by a "
        f"bootstrap of {counted(of['clusters'], 'cluster')}, a data set and language pair each.{left} "
    )
    title, draw = (
        "Plausibility of explanations and what they gain",
        partial(_draw_plausibility, kept, f"gain in {kind}"),
    )
    return [signed(analysis, "plausibility", title, caption, draw)]


def _draw_plausibility(settings: pd.DataFrame, axis: str) -> Figure:
    figure, (axes,) = canvas(COLUMN, 3.0)
    for place, (name, of_explainer) in enumerate(settings.groupby("explainer")):
        colour, marker = LINES[place % len(LINES)], MARKERS[place % len(MARKERS)]
        one: Any
        for one in of_explainer.itertuples():
            look: dict[str, Any] = {"color": colour, "linewidth": 0.6, "solid_capstyle": "butt", "zorder": 2}
            axes.plot((one.auc_low, one.auc_high), (one.gain, one.gain), **look)  # nothing is drawn for NaN
            axes.plot((one.auc, one.auc), (one.low, one.high), **look)
        axes.plot(
            of_explainer["auc"],
            of_explainer["gain"],
            linestyle="none",
            marker=marker,
            markersize=4.0,
            color=colour,
            zorder=3,
            label=label(str(name)),
        )
    axes.axvline(CHANCE, color=QUIET, linewidth=0.8, linestyle=":", zorder=1)
    axes.axhline(0, color=QUIET, linewidth=0.8, zorder=1)
    thin_grid(axes, "both")
    axes.set_xlabel("AUC of the attributions against word tags of the target")
    axes.set_ylabel(axis)
    legend_above(figure, ncols=3, handletextpad=0.3, columnspacing=1.2)
    return figure
