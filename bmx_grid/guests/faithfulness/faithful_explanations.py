"""Are explanations faithful to the metric, and do more faithful ones boost more?

Measures of deletion and insertion by metric and explainer with intervals; over settings the rank correlation of the
faithfulness and of the gain: of the first boost on segments that it was not chosen on, or, where no boost was judged,
at the declared point. The numbers are those of faithfulness.parquet; without it nothing is shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bmx_grid.analysis.base import (
    CONTROL,
    FACTORS,
    Column,
    Scatter,
    SweepTables,
    Table,
    each_group,
    first_row,
    pivot_estimates,
)
from bmx_grid.analysis.marked_words import FORM_OF_RHO, Relation, relation
from bmx_grid.analysis.points import gains_at_declared_points
from bmx_grid.analysis.verdict_rows import setting_verdicts
from bmx_grid.core.wording import format_interval, label, pluralize
from bmx_grid.guests.faithfulness.faithfulness import MEASURES, FaithfulnessRow
from bmx_grid.measures.resampling import cluster_mean

if TYPE_CHECKING:
    import pandas as pd

FORM = ".3f"
SHARE = "faithfulness"  # the measure without a unit, by which metrics can be compared
# The main one first: narrow terminals show the first columns only.
SHOWN = (SHARE, "comprehensiveness", "sufficiency", "random_removal")
HELD_OUT = "held-out gain"
AT_POINT = "gain at the declared point"
MOST_SETTINGS = 400  # rows of a table that is read; more are written as CSV only
NOTES = (
    "Comprehensiveness: the score that is lost as the words of the highest attributions are removed first, on average "
    "over the steps; sufficiency: the words of the lowest first; random removal: as many words in random orders. A "
    "faithful explanation has a high comprehensiveness and a low sufficiency.",
    "Faithfulness: comprehensiveness minus sufficiency, as a share of random removal; 0 of a random order.",
    "In brackets: 95 % intervals, of means by language pairs (none with fewer than 3), of a single setting by a "
    "bootstrap of clusters of segments.",
)


def compute(tables: SweepTables) -> dict[str, Any]:
    """How faithful explanations are.

    faithfulness: means over the language pairs of each metric and explainer, the highest faithfulness of a metric
    first. faithfulness_by_setting: of each setting, with its gain (NaN without one); faithfulness_gain: which gain.
    faithfulness_relation: that of faithfulness and gain over settings; None without a gain. faithfulness_in_words: a
    sentence. All empty without the evaluation.
    """
    rows = tables.frame("faithfulness", FaithfulnessRow)
    kind, gains = _gains(tables)
    by_setting = pivot_estimates(rows, [*FACTORS], "measure").merge(gains, on=[*FACTORS], how="left")
    found = None
    if by_setting["gain"].notna().any():
        # Metrics and explainers that know nothing show no more than that.
        is_control = (by_setting["metric"] == CONTROL) | (by_setting["explainer"] == CONTROL)
        real = by_setting[~is_control]
        clusters = (real["dataset"] + " " + real["language_pair"]).to_numpy()
        found = relation(real[SHARE].to_numpy(), real["gain"].to_numpy(), clusters, tables.seed)
    return {
        "faithfulness": _means(rows),
        "faithfulness_by_setting": by_setting,
        "faithfulness_gain": kind,
        "faithfulness_relation": found,
        "faithfulness_in_words": [] if found is None else [_describe_relation(found, kind)],
    }


def tables(result: Mapping[str, Any]) -> Iterator[Table]:
    """The means per metric and explainer, and every setting; no table without the evaluation."""
    means = result["faithfulness"]
    if means.empty:
        return
    columns: tuple[Any, ...] = ("metric", "explainer", *map(_measure, SHOWN), "pairs")
    notes = (*NOTES, *result["faithfulness_in_words"])
    title = "Are explanations faithful to the metric"
    yield Table.from_rows("faithfulness", title, means, columns, notes, by=["metric"], names=2, brief=True)
    by_setting = result["faithfulness_by_setting"]
    columns = (*FACTORS, *map(_measure, MEASURES), Column("gain", form="+.3f"))
    long = len(by_setting) > MOST_SETTINGS
    title = "Faithfulness and gain by setting"
    yield Table.from_rows("faithfulness_by_setting", title, by_setting, columns, NOTES, names=4, data=long)


def figures(result: Mapping[str, Any]) -> Iterator[Scatter]:
    """Faithfulness and gain of all settings; none without gains."""
    found: Relation | None = result["faithfulness_relation"]
    if found is None:
        return
    points = {}
    for explainer, rows in each_group(result["faithfulness_by_setting"], "explainer", sort=True):
        points[label(explainer)] = (rows[SHARE].to_numpy(), rows["gain"].to_numpy())
    kind = result["faithfulness_gain"]
    yield Scatter(
        stem="faithfulness_and_gain",
        title="Do more faithful explanations boost more",
        caption=_describe_relation(found, kind) + " A point is a setting; faithfulness is 0 of a random order.",
        x_label="faithfulness of the explanation",
        y_label=kind,
        points=points,
    )


def _measure(name: str) -> Column:
    return Column(name, name.replace("_", " "), FORM, (f"{name}_low", f"{name}_high"))


def _gains(tables: SweepTables) -> tuple[str, pd.DataFrame]:
    """Which gains settings have, in words, and the gains."""
    held_out = setting_verdicts(tables)
    if len(held_out):
        return HELD_OUT, held_out[[*FACTORS, "gain"]]
    if len(tables.table):
        return AT_POINT, tables.compute_once(gains_at_declared_points)[[*FACTORS, "gain"]]
    return AT_POINT, held_out[[*FACTORS, "gain"]]


def _means(rows: pd.DataFrame) -> pd.DataFrame:
    """The means of each measure over the language pairs of a metric and an explainer, and how many there are."""
    import pandas as pd

    means = []
    for names, group in each_group(rows, "metric", "explainer", "measure"):
        known = group[group["value"].notna()]
        # A single setting keeps its own interval, over segments: one cluster has none.
        if len(known) == 1:
            row = first_row(known)
            means.append((*names, row.value, row.low, row.high))
            continue
        clusters = known["dataset"] + " " + known["language_pair"]
        mean = cluster_mean(known["value"].tolist(), clusters.tolist())
        means.append((*names, mean.mean, mean.low, mean.high))
    frame = pd.DataFrame(means, columns=["metric", "explainer", "measure", "value", "low", "high"])
    if frame.empty:
        return frame
    found = pivot_estimates(frame, ["metric", "explainer"], "measure")
    once = rows.drop_duplicates([*FACTORS])
    pairs = once.groupby(["metric", "explainer"]).size().rename("pairs")
    found = found.join(pairs, on=["metric", "explainer"])
    return found.sort_values(["metric", SHARE], ascending=[True, False], kind="stable", ignore_index=True)


def _describe_relation(found: Relation, kind: str) -> str:
    """Whether more faithful explanations boost more, in a sentence."""
    over = f"over {pluralize(found.n, 'setting')} in {pluralize(found.clusters, 'language pair')}"
    if not math.isfinite(found.rho):
        return f"Whether more faithful explanations boost more is open: no correlation is defined {over}."
    lead = "Whether more faithful explanations boost more is not established"
    if found.low > 0:
        lead = "More faithful explanations boost more"
    elif found.high < 0:
        lead = "More faithful explanations boost less"
    rho = format_interval(found.rho, found.low, found.high, FORM_OF_RHO, without="(too few for an interval)")
    return f"{lead}: Spearman's rho of faithfulness and {kind} {over} is {rho}."
