"""The numbers that the BMX paper is about, in sentences: medians of best points, the regression, shifted segments."""

from __future__ import annotations

import math
from collections.abc import Iterator

from bmx_grid.analysis.base import CONTROLS, SweepTables, each_group, each_row
from bmx_grid.analysis.factors import regression
from bmx_grid.analysis.points import PUBLISHED_POINTS, selection
from bmx_grid.core.wording import display_name, join_names, number, pluralize

MOSTLY = 0.5  # of the segments


def compare_with_paper(tables: SweepTables) -> Iterator[str]:
    """The medians of the best points compared with the paper's, and the ridge regression; empty without a grid."""
    if not len(tables.table):
        return
    parts = []
    for row in each_row(tables.compute_once(selection)):
        paper = PUBLISHED_POINTS.get(row.explainer)
        beside = "" if paper is None else f" (paper p {paper.p:g}, w {paper.w:g})"
        parts.append(f"{display_name(row.explainer)} p {number(row.p)}, w {number(row.w)}{beside}")
    if parts:
        yield f"Medians of the best points, in-sample: {'; '.join(parts)}."
    fit = tables.compute_once(regression)["ridge"]
    if math.isfinite(fit["r2"]):
        settings = pluralize(fit["n"], "setting")
        intercept = number(fit["intercept"], "+.4f")
        yield f"Ridge regression of the gains of {settings}: intercept {intercept}, R² {fit['r2']:.2f}."


def describe_shifted_points(tables: SweepTables) -> Iterator[str]:
    """The explainers and metrics with most segments shifted."""
    settings = tables.settings
    real = settings[~(settings["metric"].isin(CONTROLS) | settings["explainer"].isin(CONTROLS))]
    parts = []
    for (explainer, metric), rows in each_group(real, "explainer", "metric"):
        least, most = rows["share_shifted"].min(), rows["share_shifted"].max()
        if least > MOSTLY:
            share = f"{least:.0%}" if f"{least:.0%}" == f"{most:.0%}" else f"{least * 100:.0f} to {most:.0%}"
            parts.append(f"{display_name(explainer)} on {display_name(metric)} {share}")
    if parts:
        shifted = join_names(parts, most=6)
        yield f"At p ≤ -1 the power mean of shifted segments is a function of their length: {shifted}."
