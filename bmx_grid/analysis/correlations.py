"""How metrics alone correlate with human judgements, by segment and by system; ranks of metrics and of systems."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bmx_grid.analysis.base import PAIR, Column, Given, Table, WideRow, first_by, highest_first, rows_by
from bmx_grid.core.wording import UNDEFINED, file_stem
from bmx_grid.evaluations.base import BASE, NOTHING, OF_METRIC, Estimate
from bmx_grid.evaluations.level_rows import CorrelationRow, SystemRow
from bmx_grid.evaluations.significance import Rank
from bmx_grid.sweep.tables import CeilingRow

PEOPLE = "human_"  # how rows of further human scores begin, before the name of the score
RANKED_LEVELS = ("segment", "system")
# level, grouping, statistic of correlations.parquet, and the name of the column
COLUMN_OF_STATISTIC = {
    ("segment", "none", "pearson"): "segment r",
    ("segment", "item", "pdp"): "PDP",
    ("segment", "none", "kendall"): "segment τ",
    ("segment", "item", "kendall"): "τ by item",
    ("segment", "system", "kendall"): "τ by system",
    ("segment", "document", "kendall"): "τ by document",
    ("segment", "none", "acc_eq"): "acc_eq",
    ("system", "none", "pearson"): "system r",
    ("system", "none", "pairwise_accuracy"): "accuracy",
    ("system", "none", "spa"): "SPA",
}
BRIEF_COLUMNS = ("segment r", "PDP", "system r")  # in the terminal, where there is no room for all
OF_CORRELATIONS = (
    "Human score: the primary one; r: Pearson; PDP: Pearson's r of the differences between outputs for one source "
    "(DiIanni and Deutsch 2025). In brackets: 95 % intervals by a bootstrap of clusters of segments, at system level "
    "of systems and clusters.",
    "τ: Kendall's tau-b; accuracy: pairs of systems ordered as people order them (Kocmi et al. 2021); SPA: "
    "soft pairwise accuracy (Thompson et al. 2024); acc_eq: pairwise accuracy with tie calibration (Deutsch et al. "
    "2023), its threshold calibrated on the same data. By item, system and document: the "
    "mean of the groups with a defined value.",
    "A negative correlation belongs to a metric whose lower scores are better, as TER's are, or to one that fails.",
    "rank: metrics share a rank until one differs significantly (at .05, uncorrected) from the best of it, as the WMT "
    "metrics tasks count.",
)
OF_RANKS = (
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


@dataclass(frozen=True)
class MetricRow(WideRow):
    """A metric alone on a language pair. correlations: by their columns of COLUMN_OF_STATISTIC; ranks: by level.

    All rows have the same ones, undefined where a metric has none.
    """

    dataset: str
    language_pair: str
    metric: str
    correlations: Mapping[str, Estimate]
    ranks: Mapping[str, float]

    @property
    def is_human(self) -> bool:
        """Whether it is a further human score (`metrics.human`), which is what metrics can be expected to reach."""
        return self.metric.startswith(PEOPLE)

    @property
    def columns(self) -> dict[str, Any]:
        """The names, all correlations, then the ends of their intervals, and ranks."""
        names = (self.dataset, self.language_pair, self.metric)
        columns: dict[str, Any] = dict(zip(OF_METRIC, names, strict=True))
        # The ends stand behind all values, as two blocks.
        for name, estimate in self.correlations.items():
            columns[name] = estimate.value
        for name, estimate in self.correlations.items():
            columns[f"{name}_low"] = estimate.low
        for name, estimate in self.correlations.items():
            columns[f"{name}_high"] = estimate.high
        for level, rank in self.ranks.items():
            columns[f"{level} rank"] = rank
        return columns


@dataclass(frozen=True)
class MetricsAlone:
    """correlations: of each metric alone with the primary human score, a row per data set, language pair and metric.

    systems: ranks of the systems by each metric and by the primary human score; ceilings: what any metric can reach.
    None where a sweep has no such table.
    """

    correlations: Sequence[MetricRow] | None
    systems: Sequence[SystemRow] | None
    ceilings: Sequence[CeilingRow] | None


def compute(given: Given) -> MetricsAlone:
    """How metrics alone agree with people."""
    correlations = None
    systems = None
    ceilings = None
    if "correlations" in given.frames:
        correlations = _correlations(given)
    if "systems" in given.frames:
        systems = _systems(given.rows("systems", SystemRow))
    if "ceilings" in given.frames:
        ceilings = given.rows("ceilings", CeilingRow)
    return MetricsAlone(correlations, systems, ceilings)


def tables(result: MetricsAlone) -> Iterator[Table]:
    """All metrics in brief, and per data set; what any metric can reach; systems in their clusters."""
    if result.correlations:
        title = "correlation of the metrics alone with human judgements"
        yield _table("metrics", title.capitalize(), result.correlations, brief=True)
        by_dataset = rows_by(result.correlations, lambda row: row.dataset)
        for dataset, rows in sorted(by_dataset.items()):
            stem = file_stem(f"metrics_{dataset}")
            yield _table(stem, f"{dataset}: {title}", rows, brief=False)
    if result.ceilings:
        numbers = [Column(name, form=".3g") for name in ("raters", "reliability", "ceiling")]
        columns = (*PAIR, Column("human", "human score"), *numbers)
        yield Table.of("ceilings", "What any metric can reach", result.ceilings, columns, [OF_CEILINGS], names=3)
    by_pair = rows_by(result.systems or [], lambda row: row.pair)
    for pair, rows_of_pair in by_pair.items():
        systems = {row.system for row in rows_of_pair}
        if len(systems) > 1:
            yield _table_of_systems(pair, rows_of_pair)


def _primary(rows: Sequence[Any], human: Callable[[Any], str], level: Callable[[Any], str]) -> list[Any]:
    """The rows on the metric alone and the first human score of each language pair and level."""
    alone = [row for row in rows if row.point == BASE]
    # Of several judgements the first is the primary one of its level.
    primary: dict[tuple[str, ...], str] = {}
    for row in alone:
        primary.setdefault((*row.pair, level(row)), human(row))
    return [row for row in alone if human(row) == primary[(*row.pair, level(row))]]


def _correlations(given: Given) -> list[MetricRow]:
    """The correlations of all metrics, the best of a language pair first: by its rank, or its first correlation."""
    estimates: dict[tuple[str, str, str], dict[str, Estimate]] = {}
    rows_of_table = given.rows("correlations", CorrelationRow)
    for row in _primary(rows_of_table, lambda row: row.human, lambda row: row.level):
        column = COLUMN_OF_STATISTIC.get((row.level, row.grouping, row.statistic))
        if column is not None:
            # A metric alone is the same with every explainer: its first row counts.
            estimates.setdefault(row.metric_alone, {}).setdefault(column, row.value)
    known = sorted(set().union(*estimates.values()))
    ranks: dict[tuple[str, ...], float] = {}
    for rank in given.rows("ranking", Rank):
        # Rank 0 stands for none.
        if rank.rank > 0:
            ranks.setdefault((*rank.metric_alone, rank.level), float(rank.rank))
    ranked = {level for *_, level in ranks}
    levels = [level for level in RANKED_LEVELS if level in ranked]
    # All rows get the same columns, so that they make one table.
    rows = []
    for names, by_column in estimates.items():
        correlations = {column: by_column.get(column, NOTHING) for column in known}
        ranks_of_metric = {level: ranks.get((*names, level), math.nan) for level in levels}
        rows.append(MetricRow(*names, correlations, ranks_of_metric))
    first = next((column for column in COLUMN_OF_STATISTIC.values() if column in known), "")

    def order(row: MetricRow) -> tuple[Any, ...]:
        rank = next(iter(row.ranks.values()), 0.0)
        # The sign says which way a metric counts, as TER counts errors, not how well.
        strength = highest_first(abs(row.correlations[first].value))
        return row.dataset, row.language_pair, highest_first(-rank), strength, row.metric

    return sorted(rows, key=order)


def _table(stem: str, title: str, rows: Sequence[MetricRow], *, brief: bool) -> Table:
    # Columns without a defined number in these rows are left out: each data set has other judgements.
    numbers = []
    for name in BRIEF_COLUMNS if brief else COLUMN_OF_STATISTIC.values():
        values = [row.correlations.get(name, NOTHING).value for row in rows]
        if not all(map(math.isnan, values)):
            ends = (f"{name}_low", f"{name}_high")
            numbers.append(Column(name, form=".3f", ends=ends))
    for level in rows[0].ranks:
        if not all(math.isnan(row.ranks[level]) for row in rows):
            numbers.append(Column(f"{level} rank", form=".0f"))
    names: list[str | Column] = [Column("language_pair", "pair"), "metric"]
    datasets = {row.dataset for row in rows}
    if len(datasets) > 1:
        names.insert(0, "dataset")
    # In brief there are no columns that the second note explains.
    notes = (OF_CORRELATIONS[0], *OF_CORRELATIONS[2:]) if brief else OF_CORRELATIONS
    columns = [*names, *numbers]
    return Table.of(stem, title, rows, columns, notes, by=PAIR, names=len(names), brief=brief)


def _systems(systems: Sequence[SystemRow]) -> list[SystemRow]:
    """The systems of each language pair, each metric once, the best by people first."""
    alone = _primary(systems, lambda row: row.human_name, lambda row: "system")
    rows = first_by(alone, lambda row: (*row.metric_alone, row.system))

    def order(row: SystemRow) -> tuple[float, str]:
        # Rank 0 is no rank: what people did not score stands last.
        return row.human_rank or math.inf, row.system

    return sorted(rows.values(), key=order)


def _table_of_systems(pair: tuple[str, ...], systems: Sequence[SystemRow]) -> Table:
    """systems: a row for each metric."""
    in_order = sorted(systems, key=lambda row: (row.explainer, row.metric))
    metrics = dict.fromkeys(row.metric for row in in_order)
    rows: list[dict[str, Any]] = []
    by_system = rows_by(systems, lambda row: row.system)
    for system, of_metrics in by_system.items():
        first = of_metrics[0]
        ranks = dict.fromkeys(metrics, UNDEFINED)
        for row in of_metrics:
            ranks[row.metric] = _range(row.rank, row.rank_low, row.rank_high)
        row_of_system = {
            "system": system,
            "human": first.human,
            "people": _range(first.human_rank, first.human_rank_low, first.human_rank_high),
            "cluster": first.human_rank_cluster,
        }
        rows.append({**row_of_system, **ranks})
    columns = ("system", Column("human", "human score", ".3f"), Column("people", "rank by people"), *metrics)
    notes = [f"Human score: {systems[0].human_name}.", *OF_RANKS]
    clusters = {row.human_rank_cluster for row in systems}
    # Without lines between clusters there is nothing to explain about them.
    if len(clusters) < 2:
        notes.remove(OF_RANKS[0])
    title = f"{' '.join(pair)}: ranks of the systems by people and by metrics"
    stem = file_stem(f"systems_{'_'.join(pair)}")
    return Table.of(stem, title, rows, columns, notes, by=["cluster"])


def _range(rank: int, low: int, high: int) -> str:
    """A rank with its range, as "1-6"; alone where nothing could be drawn."""
    # Rank 0 stands for none.
    if rank == 0:
        return UNDEFINED
    if high == 0:
        return str(rank)
    return f"{low}-{high}"
