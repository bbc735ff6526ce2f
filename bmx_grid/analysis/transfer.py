"""Transfer: the point for a setting comes from settings of other data sets, language pairs or metrics.

Each data set (language pair, metric) is left out in turn; the median best (p, w) of the others is evaluated on it.

None of this is "held out": settings of different metrics rest on the same segments and human scores, those of different
language pairs share sources or references (492 of the 2,851 references of WMT17 occur in several pairs), and a results
table, which has no segments, cannot tell what different data sets share. It answers whether parameters carry over.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bmx_grid.analysis.base import FACTORS, Column, Given, Table
from bmx_grid.analysis.gains import CLUSTERED, gains_of, summaries
from bmx_grid.analysis.points import best_of_all, medians

if TYPE_CHECKING:
    import pandas as pd

LEFT_OUT = FACTORS[:3]
READ = (
    "In-sample: at the median of the best points of all settings of the explainer; transfer: at that of the other data "
    "sets (language pairs, metrics), where there are several. Optimism: in-sample minus transfer mean gain of these."
)
WHY = (
    "Not held out: metrics share all segments and human scores, language pairs share sources or references. A sweep "
    "takes these out (point 'elsewhere')."
)


def moved_gains(given: Given) -> pd.DataFrame:
    """The settings that are not controls, once per factor of which their explainer has several names.

    Columns: factor: what was left out; transfer_gain: at the medians of the best points of its other names;
    in_sample_gain: at the medians of all.
    """
    import pandas as pd

    real, best = given.real, given.ask(best_of_all)
    best = best[~best["control"]].reset_index(drop=True)
    best["in_sample_gain"] = gains_of(real, best["explainer"], medians(best))
    parts = []
    for factor in LEFT_OUT:
        part = best.assign(factor=factor, transfer_gain=math.nan)
        for name in real.factor_levels(factor):
            left, others = best[factor] == name, medians(best[best[factor] != name])
            part.loc[left, "transfer_gain"] = gains_of(real, best["explainer"], others)[left]
        parts.append(part[best.groupby("explainer")[factor].transform("nunique") > 1])
    return pd.concat(parts, ignore_index=True)


def compute(given: Given) -> dict[str, Any]:
    """leave_one_out: by factor and explainer the summary in transfer, and of the same settings in-sample.

    optimism: in-sample mean gain minus mean gain in transfer: what judging where one selected hides.
    """
    moved, seed = moved_gains(given), given.seed
    both = moved["transfer_gain"].notna() & moved["in_sample_gain"].notna()
    judged = moved.assign(**{name: moved[name].where(both) for name in ("transfer_gain", "in_sample_gain")})
    frame = summaries(judged, ["factor", "explainer"], seed, "transfer_gain")
    inside = summaries(judged, ["factor", "explainer"], seed, "in_sample_gain")
    frame = frame.join(inside[["better", "mean_gain", "mean_low", "mean_high"]].add_prefix("in_sample_"))
    return {"leave_one_out": frame.assign(optimism=frame["in_sample_mean_gain"] - frame["mean_gain"])}


def tables(result: Mapping[str, Any]) -> Iterator[Table]:
    """In-sample and transferred gains with the optimism between them."""
    frame = result["leave_one_out"].reset_index()
    if not len(frame):
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
    yield Table.of("transfer", title, frame, columns, (READ, WHY, CLUSTERED), by=["factor"], names=2)
