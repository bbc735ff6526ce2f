"""How metrics alone correlate with human judgements, by segment and by system; ranks of metrics and of systems."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.analysis.base import Cell, Column, Table
from bmx_grid.analysis.table import Frames
from bmx_grid.core.wording import file_stem
from bmx_grid.measures.multiplicity import partial_conjunction

if TYPE_CHECKING:
    import pandas as pd

LEVEL = 0.05
BASE = "base"  # the point of comparisons of metrics alone
P = ("p", "p_holm", "p_bh")  # of a test: uncorrected, and corrected in its family
PAIR = ["dataset", "language_pair"]
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
HALVES = "acc_eq, ε of other half"
SHOWN = (*list(STATISTICS.values())[:5], HALVES, *list(STATISTICS.values())[5:])
BRIEF = ("segment r", "system r")  # in the terminal, where there is no room for all
NOTES = (
    "Human score: the primary one; r: Pearson. In brackets: 95 % intervals by a bootstrap of clusters of segments, at "
    "system level of systems and clusters.",
    "τ: Kendall's tau-b; accuracy: pairs of systems ordered as people order them (Kocmi et al. 2021); SPA: "
    "soft pairwise accuracy (Thompson et al. 2024); acc_eq: pairwise accuracy with tie calibration (Deutsch et al. "
    "2023), its threshold ε calibrated on the same data, or on the other half of them. By item and by system: the mean "
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


def compute(given: Frames) -> dict[str, Any]:
    """correlations: of each metric alone with the primary human score, a row per data set, language pair and metric.

    systems: ranks of the systems by each metric and by the primary human score; ceilings: what any metric can reach;
    families: counts of every family of tests.
    """
    frames = given.frames
    return {
        "correlations": _correlations(given) if "correlations" in frames else None,
        "systems": _systems(frames["systems"]) if "systems" in frames else None,
        "ceilings": frames.get("ceilings"),
        "families": _families(frames["tests"]) if "tests" in frames else None,
    }


def tables(result: Mapping[str, Any]) -> Iterator[Table]:
    """All metrics in brief, and per data set; what any metric can reach; systems in their clusters; tests."""
    frame = result["correlations"]
    if frame is not None and len(frame):
        title = "correlation of the metrics alone with human judgements"
        yield _table("metrics", title.capitalize(), frame, brief=True)
        for dataset, part in frame.groupby("dataset"):
            yield _table(file_stem(f"metrics_{dataset}"), f"{dataset}: {title}", part, brief=False)
    if result["ceilings"] is not None and len(result["ceilings"]):
        columns = (
            "dataset",
            "language_pair",
            Column("human", "human score"),
            Column("raters", "raters per segment", ".3g"),
            Column("reliability", "reliability ICC(1,k)", ".3f"),
            Column("ceiling", form=".3f"),
        )
        yield Table.of("ceilings", "What any metric can reach", result["ceilings"], columns, [OF_CEILINGS], names=3)
    if result["systems"] is not None:
        for pair, part in result["systems"].groupby(PAIR, sort=False):
            if part["system"].nunique() > 1:
                yield _table_of_systems(" ".join(pair), "_".join(pair), part)
    if result["families"] is not None and len(result["families"]):
        yield _table_of_families(result["families"])


def _primary(frame: pd.DataFrame, human: str) -> pd.DataFrame:
    """The rows on the metric alone and the first human score of each language pair."""
    alone = frame[frame["point"] == BASE]
    return alone[alone[human] == alone.groupby(PAIR)[human].transform("first")]


def _correlations(given: Frames) -> pd.DataFrame:
    """The columns of STATISTICS with _low and _high, and ranks by level (NaN without), the best of a pair first."""
    import pandas as pd

    rows = _primary(given.frames["correlations"], "human")
    keys = zip(rows["level"], rows["grouping"], rows["statistic"], strict=True)
    rows = rows.assign(name=[STATISTICS.get(key, "") for key in keys])
    rows = rows[rows["name"] != ""]
    rows = rows.drop_duplicates([*NAMES, "name"])  # the same for every explainer
    if "held_out" in rows:
        halves = rows[rows["name"] == "acc_eq"].assign(name=HALVES, low=math.nan, high=math.nan)
        rows = pd.concat([rows, halves.assign(value=halves["held_out"])])
    wide = rows.pivot(index=NAMES, columns="name", values=["value", "low", "high"])
    ends = {"value": "", "low": "_low", "high": "_high"}
    columns: Any = wide.columns
    wide.columns = [f"{name}{ends[value]}" for value, name in columns]
    ranking = given.frames.get("ranking", pd.DataFrame(columns=[*NAMES, "level", "rank"]))
    ranks = (
        ranking[ranking["rank"] > 0]
        .drop_duplicates([*NAMES, "level"])
        .pivot(index=NAMES, columns="level", values="rank")
    )
    ranks = ranks.reindex(columns=LEVELS).add_suffix(" rank").dropna(axis="columns", how="all")
    frame = wide.join(ranks.astype(float))
    first = next((name for name in STATISTICS.values() if name in frame), None)
    order = frame.assign(rank=frame[ranks.columns[0]] if len(ranks.columns) else 0.0, strength=-frame[first].abs())
    return frame.loc[order.sort_values([*PAIR, "rank", "strength", "metric"]).index].reset_index()


def _table(stem: str, title: str, frame: pd.DataFrame, *, brief: bool) -> Table:
    wanted = [name for name in (BRIEF if brief else SHOWN) if name in frame and frame[name].notna().any()]
    values = [Column(name, form=".3f", ends=(f"{name}_low", f"{name}_high")) for name in wanted]
    levels = [f"{level} rank" for level in LEVELS]
    ranks = [Column(name, form=".0f") for name in levels if name in frame and frame[name].notna().any()]
    names = ["dataset"] * (frame["dataset"].nunique() > 1)
    columns = (*names, Column("language_pair", "pair"), "metric", *values, *ranks)
    notes = (NOTES[0], *NOTES[2:]) if brief else NOTES
    return Table.of(stem, title, frame, columns, notes, by=PAIR, names=2 + len(names), brief=brief)


def _systems(systems: pd.DataFrame) -> pd.DataFrame:
    """The systems of each language pair, each metric once, the best by people first."""
    if "rank_high" not in systems:  # of an older version
        return systems[:0]
    rows = _primary(systems, "human_name").drop_duplicates([*NAMES, "system"])
    order = rows["human_rank"].where(rows["human_rank"] > 0, math.inf)
    return rows.assign(order=order).sort_values(["order", "system"], kind="stable").drop(columns="order")


def _table_of_systems(pair: str, stem: str, part: pd.DataFrame) -> Table:
    metrics = list(dict.fromkeys(part.sort_index()["metric"]))
    groups: dict[int, list[tuple[Cell, ...]]] = {}
    for system, rows in part.groupby("system", sort=False):
        by_metric = {row["metric"]: row for row in rows.to_dict("records")}
        first = rows.to_dict("records")[0]
        ranks = [_range(by_metric.get(name), "rank") for name in metrics]
        cells = (Cell(str(system)), Cell(float(first["human"]), ".3f"), _range(first, "human_rank"), *ranks)
        groups.setdefault(int(first["human_rank_cluster"]), []).append(cells)
    header = ("system", "human score", "rank by people", *metrics)
    notes = (f"Human score: {part['human_name'].iloc[0]}.", *OF_SYSTEMS[len(groups) < 2 :])
    title = f"{pair}: ranks of the systems by people and by metrics"
    return Table(file_stem(f"systems_{stem}"), title, header, tuple(map(tuple, groups.values())), notes)


def _range(row: Mapping[Any, Any] | None, name: str) -> Cell:
    if row is None or not row[name]:
        return Cell(math.nan, ".0f")
    low, high = int(row[f"{name}_low"]), int(row[f"{name}_high"])
    return Cell(float(row[name]), ".0f", words=f"{low}-{high}" if high else None)


def _families(tests: pd.DataFrame) -> pd.DataFrame:
    """Of each family of tests: n, defined comparisons; real, holm, fdr: with p below .05, uncorrected and corrected.

    Of boosts gains are counted, of metrics against each other differences of either sign. at_least: in how many the
    difference is real, with 95 % confidence (partial conjunction by Bonferroni, which needs no independence).
    """
    import pandas as pd

    of_metrics, gains = tests["point"] == BASE, tests["difference"] > 0
    one_tailed = tests["p"].where(
        of_metrics | (tests["alternative"] == "greater"), np.where(gains, tests["p"] / 2, 1 - tests["p"] / 2)
    )
    counted = of_metrics | gains
    flags = {name: (tests[column] < LEVEL) & counted for name, column in zip(("real", "holm", "fdr"), P, strict=True)}
    frame = pd.DataFrame({"family": tests["family"], "n": tests["p"].notna(), **flags})
    counts = frame.groupby("family", sort=False).sum()
    at_least = one_tailed.groupby(tests["family"]).apply(partial_conjunction)
    return counts.assign(at_least=at_least).reset_index()


def _table_of_families(families: pd.DataFrame) -> Table:
    notes = (
        "Counted are gains of boosts, and differences of either sign between metrics, with p below .05: uncorrected, "
        "after Holm's correction (no false one, with 95 % confidence) and Benjamini and Hochberg's (at most 5 % false "
        "ones, on average).",
        "At least: in so many comparisons the difference is real, with 95 % confidence; it does not say in which "
        "(partial conjunction, Dror et al. 2017, by Bonferroni).",
    )
    headers = {"n": "comparisons", "real": "p < .05", "holm": "Holm", "fdr": "BH", "at_least": "at least"}
    columns = ("family", *(Column(name, header, ",") for name, header in headers.items()))
    return Table.of("families", "Families of tests", families, columns, notes)
