"""Transfer: the point for a setting comes from settings of other data sets, language pairs or metrics.

Each data set (language pair, metric) is left out in turn; the median best (p, w) of the others is evaluated on it.

None of this is "held out": settings of different metrics rest on the same segments and human scores, those of different
language pairs share sources or references (492 of the 2,851 references of WMT17 occur in several pairs), and a results
table, which has no segments, cannot tell what different data sets share. It answers whether parameters carry over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bmx_grid.analysis.base import FACTORS, Column, Given, Table, each_group
from bmx_grid.analysis.gains import CLUSTERED, gains_of, stacked, summarise
from bmx_grid.analysis.points import best_of_all, medians

if TYPE_CHECKING:
    import pandas as pd

LEFT_OUT = FACTORS[:3]
OF_TRANSFER = (
    "In-sample: at the median of the best points of all settings of the explainer; transfer: at that of the other data "
    "sets (language pairs, metrics), where there are several. Optimism: in-sample minus transfer mean gain of these."
)
WHY = (
    "Not held out: metrics share all segments and human scores, language pairs share sources or references. A sweep "
    "takes these out (point 'elsewhere')."
)


def moved_gains(given: Given, factor: str) -> pd.DataFrame:
    """Of the settings that are not controls (GAIN_COLUMNS) the gain in transfer, and in_sample.

    In transfer: at the medians of the best points of the other names of the factor; in-sample: at those of all.
    """
    real = given.real
    best = given.ask(best_of_all)
    best = best[~best["control"]]
    moved = gains_of(real, medians(best))
    moved["in_sample"] = moved["gain"]
    for name in real.factor_levels(factor):
        gains = gains_of(real, medians(best[best[factor] != name]))
        moved["gain"] = moved["gain"].mask(moved[factor] == name, gains["gain"])
    return moved


def compute(given: Given) -> dict[str, pd.DataFrame]:
    """leave_one_out: by factor, of which it has several names, and explainer what points of the others gain.

    A summary of the gains in transfer, and of those of the same settings in-sample. optimism: in-sample mean gain minus
    mean gain in transfer: what judging where one selected hides.
    """
    import pandas as pd

    leave_one_out = {}
    for factor in LEFT_OUT:
        rows = {}
        for explainer, gains in each_group(moved_gains(given, factor), "explainer", sort=True):
            # With one name there is nothing to transfer from.
            if gains[factor].nunique() > 1:
                rows[explainer] = _transfer(gains, given.seed)
        leave_one_out[factor] = pd.DataFrame.from_dict(rows, orient="index").rename_axis("explainer")
    return {"leave_one_out": stacked(leave_one_out, "factor")}


def _transfer(gains: pd.DataFrame, seed: int) -> dict[str, Any]:
    """Settings are judged if both gains are defined; the others are counted as undefined."""
    # One undefined gain takes out the other: the optimism compares the same settings.
    undefined = gains["gain"].isna() | gains["in_sample"].isna()
    moved = summarise(gains.assign(gain=gains["gain"].mask(undefined)), seed)
    inside = summarise(gains.assign(gain=gains["in_sample"].mask(undefined)), seed)
    return {
        **moved,
        "in_sample_better": inside["better"],
        "in_sample_mean_gain": inside["mean_gain"],
        "in_sample_mean_low": inside["mean_low"],
        "in_sample_mean_high": inside["mean_high"],
        "optimism": inside["mean_gain"] - moved["mean_gain"],
    }


def tables(result: Mapping[str, pd.DataFrame]) -> Iterator[Table]:
    """In-sample and transferred gains with the optimism between them."""
    rows = result["leave_one_out"].reset_index()
    if rows.empty:
        return
    columns = (
        Column("factor", "left out"),
        "explainer",
        Column("n", "settings"),
        Column("in_sample_better", "in-sample better"),
        Column("in_sample_mean_gain", "in-sample mean gain", "+.5f"),
        Column("better", "transfer better"),
        Column("mean_gain", "transfer mean gain", "+.5f", ("mean_low", "mean_high")),
        Column("optimism", form="+.5f"),
    )
    title = "Transfer: points chosen on the other data sets, language pairs or metrics"
    notes = (OF_TRANSFER, WHY, CLUSTERED)
    yield Table.of("transfer", title, rows, columns, notes, by=["factor"], names=2)
