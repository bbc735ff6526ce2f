"""The systems of a test set as WMT printed them: rank ranges over resampled segments, and clusters that stand apart."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bmx_grid.analysis.base import Cell, Table, working
from bmx_grid.analysis.given import WithFrames
from bmx_grid.analysis.tested import rows_of
from bmx_grid.wording import file_stem

BASE = "base"
Pair = tuple[str, str]
NOTES = (
    "A range such as 1-6: the ranks of a system over bootstrap resamples of clusters of segments, without the 2.5 % at "
    "each end (Koehn 2012; Bojar et al. 2013); a rank alone where nothing can be drawn, as where people scored whole "
    "systems.",
    "These are ranks of systems; the ranks of metrics come from pairwise tests of their correlations.",
)
CLUSTERS = "Lines separate clusters of systems whose ranges by people do not overlap."


@dataclass(frozen=True, eq=False)
class RankedSystems:
    """judged: by data set and pair the human score. ranked: by the same and metric, rows of systems.parquet."""

    judged: Mapping[Pair, str] = working()
    ranked: Mapping[Pair, Mapping[str, Sequence[Mapping[str, Any]]]] = working()


def compute(given: WithFrames) -> RankedSystems:
    """The ranks by each metric alone and by the primary human score; nothing without the evaluation of levels."""
    human: dict[Pair, str] = {}
    found: dict[Pair, dict[str, list[Mapping[str, Any]]]] = {}
    explained: dict[tuple[str, ...], str] = {}
    for row in rows_of(given.frames.get("systems")):
        pair = row["dataset"], row["language_pair"]
        if row["point"] != BASE or row["human_name"] != human.setdefault(pair, row["human_name"]):
            continue
        if "rank_high" not in row or explained.setdefault((*pair, row["metric"]), row["explainer"]) != row["explainer"]:
            continue  # a table of an older version; the same for every explainer
        found.setdefault(pair, {}).setdefault(row["metric"], []).append(row)
    return RankedSystems(human, {pair: own for pair, own in found.items() if _several(own)})


def tables(result: RankedSystems) -> Sequence[Table]:
    """One table per language pair: the systems from the best to the worst by people, in clusters."""
    return [_table(pair, result.judged[pair], of_metrics) for pair, of_metrics in result.ranked.items()]


def _several(of_metrics: Mapping[str, Sequence[Mapping[str, Any]]]) -> bool:
    return any(len(rows) > 1 for rows in of_metrics.values())


def _table(pair: Pair, human: str, of_metrics: Mapping[str, Sequence[Mapping[str, Any]]]) -> Table:
    by_metric = {metric: {str(row["system"]): row for row in rows} for metric, rows in of_metrics.items()}
    people: dict[str, Mapping[str, Any]] = {}
    for rows in by_metric.values():
        for system, row in rows.items():
            people.setdefault(system, row)
    ordered = sorted(people, key=lambda name: (people[name]["human_rank"] or math.inf, name))
    groups: dict[int, list[tuple[Cell, ...]]] = {}
    for system in ordered:
        row = people[system]
        own = (by_metric[metric].get(system) for metric in by_metric)
        cells = (Cell(system), Cell(float(row["human"]), ".3f"), _ranged(row, "human_rank"))
        groups.setdefault(int(row["human_rank_cluster"]), []).append((*cells, *(_ranged(one, "rank") for one in own)))
    clustered = (CLUSTERS,) if len(groups) > 1 else ()
    title = f"{' '.join(pair)}: ranks of the systems by people and by metrics"
    header = ("system", "human score", "rank by people", *by_metric)
    body = tuple(tuple(rows) for rows in groups.values())
    return Table(
        file_stem(f"systems_{'_'.join(pair)}"), title, header, body, (f"Human score: {human}.", *clustered, *NOTES)
    )


def _ranged(row: Mapping[str, Any] | None, which: str) -> Cell:
    if row is None or not row[which]:
        return Cell(math.nan, ".0f")
    low, high = int(row[f"{which}_low"]), int(row[f"{which}_high"])
    return Cell(float(row[which]), ".0f", words=f"{low}-{high}" if high else None)
