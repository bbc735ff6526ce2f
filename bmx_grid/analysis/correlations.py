"""How metrics alone correlate with human judgements, by segment and by system; ranks of metrics and of systems."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bmx_grid.analysis.base import PAIR, Column, Given, Table
from bmx_grid.core.wording import UNDEFINED, file_stem
from bmx_grid.evaluations.base import BASE
from bmx_grid.evaluations.levels import Row as Correlation
from bmx_grid.evaluations.levels import SystemRow
from bmx_grid.evaluations.significance import Rank
from bmx_grid.sweep.results import CeilingRow

if TYPE_CHECKING:
    import pandas as pd

LEVELS = ["segment", "system"]
NAMES = [*PAIR, "metric"]
# level, grouping, statistic of correlations.parquet, and the name of the column
STATISTICS = {
    ("segment", "none", "pearson"): "segment r",
    ("segment", "none", "kendall"): "segment τ",
    ("segment", "item", "kendall"): "τ by item",
    ("segment", "system", "kendall"): "τ by system",
    ("segment", "none", "acc_eq"): "acc_eq",
    ("system", "none", "pearson"): "system r",
    ("system", "none", "pairwise_accuracy"): "accuracy",
    ("system", "none", "spa"): "SPA",
}
BRIEF = ("segment r", "system r")  # in the terminal, where there is no room for all
NOTES = (
    "Human score: the primary one; r: Pearson. In brackets: 95 % intervals by a bootstrap of clusters of segments, at "
    "system level of systems and clusters.",
    "τ: Kendall's tau-b; accuracy: pairs of systems ordered as people order them (Kocmi et al. 2021); SPA: "
    "soft pairwise accuracy (Thompson et al. 2024); acc_eq: pairwise accuracy with tie calibration (Deutsch et al. "
    "2023), its threshold calibrated on the same data. By item and by system: the mean "
    "of the groups with a defined value.",
    "A negative correlation belongs to a metric whose lower scores are better, as TER's are, or to one that fails.",
    "rank: metrics share a rank until one differs significantly (at .05, uncorrected) from the best of it, as the WMT "
    "metrics tasks count.",
)
OF_SYSTEMS = (
    "Lines separate clusters of systems whose ranges by people do not overlap.",
    "A range such as 1-6: the ranks of a system over bootstrap resamples of clusters of segments, without the 2.5 % at "
    "each end (Koehn 2012; Bojar et al. 2013); a rank alone where nothing can be drawn, as where people scored whole "
    "systems.",
    "These are ranks of systems; the ranks of metrics come from pairwise tests of their correlations.",
)
OF_CEILINGS = (
    "Ceiling: the square root of the reliability ICC(1,k) of the mean human score (Shrout and Fleiss 1979). A metric "
    "that knew the true quality of every segment would be expected to correlate so highly with it, and no higher."
)


def compute(given: Given) -> dict[str, Any]:
    """correlations: of each metric alone with the primary human score, a row per data set, language pair and metric.

    systems: ranks of the systems by each metric and by the primary human score; ceilings: what any metric can reach.
    """
    correlations = given.frame("correlations", Correlation)
    systems = given.frame("systems", SystemRow)
    return {
        "correlations": None if correlations is None else _correlations(given, correlations),
        "systems": None if systems is None else _systems(systems),
        "ceilings": given.frame("ceilings", CeilingRow),
    }


def tables(result: Mapping[str, Any]) -> Iterator[Table]:
    """All metrics in brief, and per data set; what any metric can reach; systems in their clusters."""
    frame = result["correlations"]
    if frame is not None and len(frame):
        title = "correlation of the metrics alone with human judgements"
        yield _table("metrics", title.capitalize(), frame, brief=True)
        for dataset, part in frame.groupby("dataset"):
            yield _table(file_stem(f"metrics_{dataset}"), f"{dataset}: {title}", part, brief=False)
    if result["ceilings"] is not None and len(result["ceilings"]):
        numbers = [Column(name, form=".3g") for name in ("raters", "reliability", "ceiling")]
        columns = (*PAIR, Column("human", "human score"), *numbers)
        yield Table.of("ceilings", "What any metric can reach", result["ceilings"], columns, [OF_CEILINGS], names=3)
    for pair, part in () if result["systems"] is None else result["systems"].groupby(PAIR, sort=False):
        if part["system"].nunique() > 1:
            yield _table_of_systems(pair, part)


def _primary(frame: pd.DataFrame, human: str) -> pd.DataFrame:
    """The rows on the metric alone and the first human score of each language pair."""
    alone = frame[frame["point"] == BASE]
    return alone[alone[human] == alone.groupby(PAIR)[human].transform("first")]


def _correlations(given: Given, correlations: pd.DataFrame) -> pd.DataFrame:
    """The columns of STATISTICS with _low and _high, and ranks by level (NaN without), the best of a pair first."""
    import pandas as pd

    rows = _primary(correlations, "human")
    keys = zip(rows["level"], rows["grouping"], rows["statistic"], strict=True)
    rows = rows.assign(name=[STATISTICS.get(key, "") for key in keys])
    rows = rows[rows["name"] != ""].drop_duplicates([*NAMES, "name"])  # the same for every explainer
    if not len(rows):
        return rows
    wide = rows.pivot(index=NAMES, columns="name", values=["value", "low", "high"])
    columns: Any = wide.columns
    wide.columns = [f"{name}_{value}".removesuffix("_value") for value, name in columns]
    known = given.frame("ranking", Rank)
    ranking = pd.DataFrame(columns=[*NAMES, "level", "rank"]) if known is None else known
    ranks = ranking[ranking["rank"] > 0].drop_duplicates([*NAMES, "level"])
    ranks = ranks.pivot(index=NAMES, columns="level", values="rank").astype(float)
    ranks = ranks.reindex(columns=LEVELS).add_suffix(" rank").dropna(axis="columns", how="all")
    first = next((name for name in STATISTICS.values() if name in wide), None)
    frame = wide.join(ranks).reset_index()
    order = frame.assign(rank=frame[ranks.columns[0]] if len(ranks.columns) else 0.0, strength=-frame[first].abs())
    return frame.loc[order.sort_values([*PAIR, "rank", "strength", "metric"]).index].reset_index(drop=True)


def _table(stem: str, title: str, frame: pd.DataFrame, *, brief: bool) -> Table:
    wanted = [name for name in (BRIEF if brief else STATISTICS.values()) if name in frame and frame[name].notna().any()]
    values = [Column(name, form=".3f", ends=(f"{name}_low", f"{name}_high")) for name in wanted]
    levels = [f"{level} rank" for level in LEVELS]
    ranks = [Column(name, form=".0f") for name in levels if name in frame and frame[name].notna().any()]
    names = ["dataset"] * (frame["dataset"].nunique() > 1)
    columns = (*names, Column("language_pair", "pair"), "metric", *values, *ranks)
    notes = (NOTES[0], *NOTES[2:]) if brief else NOTES
    return Table.of(stem, title, frame, columns, notes, by=PAIR, names=2 + len(names), brief=brief)


def _systems(systems: pd.DataFrame) -> pd.DataFrame:
    """The systems of each language pair, each metric once, the best by people first."""
    rows = _primary(systems, "human_name").drop_duplicates([*NAMES, "system"])
    order = rows["human_rank"].where(rows["human_rank"] > 0, math.inf)
    return rows.assign(order=order).sort_values(["order", "system"], kind="stable").drop(columns="order")


def _table_of_systems(pair: tuple[str, ...], part: pd.DataFrame) -> Table:
    metrics = list(dict.fromkeys(part.sort_index()["metric"]))
    part = part.assign(shown=_ranges(part, "rank"), people=_ranges(part, "human_rank"))
    ranks = part.pivot(index="system", columns="metric", values="shown").fillna(UNDEFINED)
    first = part.drop_duplicates("system")[["system", "human", "people", "human_rank_cluster"]]
    columns = ("system", Column("human", "human score", ".3f"), Column("people", "rank by people"), *metrics)
    by = ["human_rank_cluster"]
    notes = (f"Human score: {part['human_name'].iloc[0]}.", *OF_SYSTEMS[first[by[0]].nunique() < 2 :])
    title = f"{' '.join(pair)}: ranks of the systems by people and by metrics"
    stem = file_stem(f"systems_{'_'.join(pair)}")
    return Table.of(stem, title, first.join(ranks, on="system"), columns, notes, by=by)


def _ranges(rows: pd.DataFrame, name: str) -> list[str]:
    """Ranks with their ranges, as "1-6"; a rank alone where nothing could be drawn."""
    return [
        UNDEFINED if not rank else f"{low:.0f}-{high:.0f}" if high else f"{rank:.0f}"
        for rank, low, high in rows[[name, f"{name}_low", f"{name}_high"]].to_numpy()
    ]
