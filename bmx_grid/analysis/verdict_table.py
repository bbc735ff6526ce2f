"""The verdicts as one table to read: a row for each boost, "helps" first, with the columns for a reader.

The terminal, the page and notebooks show this table, each in its own form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bmx_grid.analysis.base import SweepTables, each_row
from bmx_grid.analysis.verdict_rows import PAPERS_BOOST, Row, places_of, widest_verdicts
from bmx_grid.core.wording import display_name, number, pluralize
from bmx_grid.evaluations.boost_evidence import ALL
from bmx_grid.evaluations.grid_surface import PointRow
from bmx_grid.evaluations.verdicts import NOT_JUDGED
from bmx_grid.measures.resampling import CONFIDENCE

if TYPE_CHECKING:
    import pandas as pd


def verdict_table(tables: SweepTables) -> pd.DataFrame:
    """The rows of `widest_verdicts` that are judged, with further columns.

    data: the language pair, or their number. boosted: the correlation of the boosted scores, baseline + gain. at: the
    (p, w) of the paper's boost, over several language pairs from the lowest to the highest; "" of other boosts.
    not_boosted: whether w = 1, no boost, was chosen wherever it is judged. doubted: whether the interval of the gain
    excludes 0, but not after Holm's correction.
    """
    verdicts = tables.compute_once(widest_verdicts)
    judged = verdicts[verdicts["question"] != NOT_JUDGED]
    points = tables.frame("points", PointRow)
    points_of_rows = [_points_of(row, points) for row in each_row(judged)]
    leaves_0_out = (judged["gain_low"] > 0) | (judged["gain_high"] < 0)
    nothing = (judged["gain"] == 0) & (judged["gain_low"] == 0) & (judged["gain_high"] == 0)
    at_w_1 = [bool(len(of_row)) and bool((of_row["w"] == 1).all()) for of_row in points_of_rows]
    return judged.assign(
        data=_data(judged),
        boosted=judged["baseline"] + judged["gain"],
        at=[_range_of_points(of_row) for of_row in points_of_rows],
        not_boosted=nothing | np.array(at_w_1, dtype=bool),
        doubted=leaves_0_out & (judged["p_gain_holm"] > 1 - CONFIDENCE),
    )


def _data(judged: pd.DataFrame) -> list[str]:
    """The data of each verdict: a language pair, or their number, with the data set if there are several."""
    places = places_of(judged, judged)
    several = judged["dataset"].nunique() > 1
    data = []
    for row, place in zip(each_row(judged), places, strict=True):
        if row.pairs > 1:
            pairs = pluralize(row.pairs, "pair")
            place = f"{display_name(row.dataset)}, {pairs}" if several else pairs
        data.append(place or display_name(row.dataset))
    return data


def _points_of(row: Row, points: pd.DataFrame) -> pd.DataFrame:
    """The points of the paper's boost that a verdict is about; none of other boosts."""
    if row.boost != PAPERS_BOOST:
        return points[:0]
    chosen = (points["metric"] == row.metric) & (points["explainer"] == row.explainer) & (points["point"] == row.point)
    for name in ("dataset", "language_pair"):
        if getattr(row, name) != ALL:
            chosen &= points[name] == getattr(row, name)
    chosen_points: pd.DataFrame = points[chosen]
    return chosen_points


def _range_of_points(points: pd.DataFrame) -> str:
    """The p and w of boosts: "p -0.3, w 0.6", of several "p -1.9 to 0.1, w 0.2"; "" if none boosts."""
    boosting = points[points["w"] < 1]
    if boosting.empty:
        return ""
    parts = []
    for name in ("p", "w"):
        low, high = number(boosting[name].min(), "g"), number(boosting[name].max(), "g")
        parts.append(f"{name} {low}" if low == high else f"{name} {low} to {high}")
    return ", ".join(parts)
