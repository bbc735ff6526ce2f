"""Transfer: the point for a setting comes from settings of other data sets, language pairs or metrics.

Each data set (language pair, metric) is left out in turn; the median best (p, w) of the others is evaluated on it.

None of this is "held out": settings of different metrics rest on the same segments and human scores, those of different
language pairs share sources or references (492 of the 2,851 references of WMT17 occur in several pairs), and a results
table, which has no segments, cannot tell what different data sets share. It answers whether parameters carry over.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bmx_grid.analysis.base import FACTORS, Column, Given, Table, rows_by, with_keys
from bmx_grid.analysis.gain_summaries import CLUSTERED, Gain, Summary, summarise
from bmx_grid.analysis.gains import gains_of
from bmx_grid.analysis.points import best_of_all, medians

LEFT_OUT = FACTORS[:3]
OF_TRANSFER = (
    "In-sample: at the median of the best points of all settings of the explainer; transfer: at that of the other data "
    "sets (language pairs, metrics), where there are several. Optimism: in-sample minus transfer mean gain of these."
)
WHY = (
    "Not held out: metrics share all segments and human scores, language pairs share sources or references. A sweep "
    "takes these out (point 'elsewhere')."
)


@dataclass(frozen=True, kw_only=True)
class Transfer(Summary):
    """The summary of gains in transfer, and of the same settings in-sample.

    optimism: in-sample mean gain minus mean gain in transfer: what judging where one selected hides.
    """

    in_sample_better: int
    in_sample_mean_gain: float
    in_sample_mean_low: float
    in_sample_mean_high: float
    optimism: float


@dataclass(frozen=True)
class LeftOut:
    """leave_one_out: by factor, of which it has several names, and explainer what points of the others gain."""

    leave_one_out: Mapping[str, Mapping[str, Transfer]]


def moved_gains(given: Given, factor: str) -> list[tuple[Gain, Gain]]:
    """Of the settings that are not controls the gain in transfer, and in-sample.

    In transfer: at the medians of the best points of the other names of the factor; in-sample: at those of all.
    """
    real = given.real
    best = [row for row in given.ask(best_of_all) if not row.control]
    gains_without = {}
    for name in real.factor_levels(factor):
        of_others = [row for row in best if getattr(row, factor) != name]
        gains_without[name] = gains_of(real, medians(of_others))
    moved = []
    for place, setting in enumerate(real.settings):
        gains = gains_without[getattr(setting, factor)]
        moved.append(gains[place])
    in_sample = gains_of(real, medians(best))
    return list(zip(moved, in_sample, strict=True))


def compute(given: Given) -> LeftOut:
    """The gains of points that were chosen on other data sets, language pairs and metrics."""
    leave_one_out: dict[str, dict[str, Transfer]] = {}
    for factor in LEFT_OUT:
        by_explainer = rows_by(moved_gains(given, factor), lambda both: both[0].setting.explainer)
        for explainer, pairs in sorted(by_explainer.items()):
            names = {getattr(moved.setting, factor) for moved, _ in pairs}
            # With one name there is nothing to transfer from.
            if len(names) > 1:
                leave_one_out.setdefault(factor, {})[explainer] = _transfer(pairs, given.seed)
    return LeftOut(leave_one_out)


def _transfer(pairs: Sequence[tuple[Gain, Gain]], seed: int) -> Transfer:
    """Settings are judged where both gains are defined; the others are counted as undefined."""
    of_transfer = []
    in_sample = []
    for transferred, there in pairs:
        # One undefined gain takes out the other: the optimism compares the same settings.
        undefined = math.isnan(transferred.gain + there.gain)
        of_transfer.append(transferred._replace(gain=math.nan) if undefined else transferred)
        in_sample.append(there._replace(gain=math.nan) if undefined else there)
    moved = summarise(of_transfer, seed)
    inside = summarise(in_sample, seed)
    return Transfer(
        **vars(moved),
        in_sample_better=inside.better,
        in_sample_mean_gain=inside.mean_gain,
        in_sample_mean_low=inside.mean_low,
        in_sample_mean_high=inside.mean_high,
        optimism=inside.mean_gain - moved.mean_gain,
    )


def tables(result: LeftOut) -> Iterator[Table]:
    """In-sample and transferred gains with the optimism between them."""
    rows = with_keys(result.leave_one_out, "factor", "explainer")
    if not rows:
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
