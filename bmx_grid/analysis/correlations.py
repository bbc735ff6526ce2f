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
from bmx_grid.sweep.results import CeilingRow

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
        names = dict(zip(OF_METRIC, (self.dataset, self.language_pair, self.metric), strict=True))
        values = {name: estimate.value for name, estimate in self.correlations.items()}
        lows = {f"{name}_low": estimate.low for name, estimate in self.correlations.items()}
        highs = {f"{name}_high": estimate.high for name, estimate in self.correlations.items()}
        return {**names, **values, **lows, **highs, **{f"{level} rank": rank for level, rank in self.ranks.items()}}


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
    known = set(given.frames)
    return MetricsAlone(
        correlations=_correlations(given) if "correlations" in known else None,
        systems=_systems(given.rows("systems", SystemRow)) if "systems" in known else None,
        ceilings=given.rows("ceilings", CeilingRow) if "ceilings" in known else None,
    )


def tables(result: MetricsAlone) -> Iterator[Table]:
    """All metrics in brief, and per data set; what any metric can reach; systems in their clusters."""
    if result.correlations:
        title = "correlation of the metrics alone with human judgements"
        yield _table("metrics", title.capitalize(), result.correlations, brief=True)
        for dataset, rows in sorted(rows_by(result.correlations, lambda row: row.dataset).items()):
            yield _table(file_stem(f"metrics_{dataset}"), f"{dataset}: {title}", rows, brief=False)
    if result.ceilings:
        numbers = [Column(name, form=".3g") for name in ("raters", "reliability", "ceiling")]
        columns = (*PAIR, Column("human", "human score"), *numbers)
        yield Table.of("ceilings", "What any metric can reach", result.ceilings, columns, [OF_CEILINGS], names=3)
    for pair, systems in rows_by(result.systems or [], lambda row: row.pair).items():
        if len({row.system for row in systems}) > 1:
            yield _table_of_systems(pair, systems)


def _primary(rows: Sequence[Any], human: Callable[[Any], str]) -> list[Any]:
    """The rows on the metric alone and the first human score of each language pair."""
    alone = [row for row in rows if row.point == BASE]
    # Of several judgements the first is the primary one.
    first = first_by(alone, lambda row: row.pair)
    return [row for row in alone if human(row) == human(first[row.pair])]


def _correlations(given: Given) -> list[MetricRow]:
    """The correlations of all metrics, the best of a language pair first: by its rank, or its first correlation."""
    estimates: dict[tuple[str, str, str], dict[str, Estimate]] = {}
    for row in _primary(given.rows("correlations", CorrelationRow), lambda row: row.human):
        column = COLUMN_OF_STATISTIC.get((row.level, row.grouping, row.statistic))
        if column is not None:  # the same for every explainer
            estimates.setdefault(row.metric_alone, {}).setdefault(column, row.value)
    ranking = [rank for rank in given.rows("ranking", Rank) if rank.rank > 0]
    ranks = {key: rank.rank for key, rank in first_by(ranking, lambda row: (*row.metric_alone, row.level)).items()}
    known = sorted(set().union(*estimates.values()))
    ranked = {rank.level for rank in ranking}
    levels = [level for level in RANKED_LEVELS if level in ranked]
    # All rows get the same columns, so that they make one table.
    rows = []
    for names, by_column in estimates.items():
        correlations = {column: by_column.get(column, NOTHING) for column in known}
        ranks_of_metric = {level: float(ranks.get((*names, level), math.nan)) for level in levels}
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
    values = []
    for name in BRIEF_COLUMNS if brief else COLUMN_OF_STATISTIC.values():
        if not all(math.isnan(row.correlations.get(name, NOTHING).value) for row in rows):
            values.append(Column(name, form=".3f", ends=(f"{name}_low", f"{name}_high")))
    ranks = []
    for level in rows[0].ranks:
        if not all(math.isnan(row.ranks[level]) for row in rows):
            ranks.append(Column(f"{level} rank", form=".0f"))
    names = ["dataset"] * (len({row.dataset for row in rows}) > 1)
    columns = (*names, Column("language_pair", "pair"), "metric", *values, *ranks)
    notes = (OF_CORRELATIONS[0], *OF_CORRELATIONS[2:]) if brief else OF_CORRELATIONS
    return Table.of(stem, title, rows, columns, notes, by=PAIR, names=2 + len(names), brief=brief)


def _systems(systems: Sequence[SystemRow]) -> list[SystemRow]:
    """The systems of each language pair, each metric once, the best by people first."""
    alone = _primary(systems, lambda row: row.human_name)
    rows = first_by(alone, lambda row: (*row.metric_alone, row.system))
    # Rank 0 is no rank: what people did not score stands last.
    return sorted(rows.values(), key=lambda row: (row.human_rank or math.inf, row.system))


def _table_of_systems(pair: tuple[str, ...], systems: Sequence[SystemRow]) -> Table:
    """systems: a row for each metric."""
    in_order = sorted(systems, key=lambda row: (row.explainer, row.metric))
    metrics = dict.fromkeys(row.metric for row in in_order)
    rows: list[dict[str, Any]] = []
    for system, of_metrics in rows_by(systems, lambda row: row.system).items():
        first = of_metrics[0]
        ranks = dict.fromkeys(metrics, UNDEFINED)
        for row in of_metrics:
            ranks[row.metric] = _range(row.rank, row.rank_low, row.rank_high)
        people = _range(first.human_rank, first.human_rank_low, first.human_rank_high)
        rows.append(
            {"system": system, "human": first.human, "people": people, "cluster": first.human_rank_cluster, **ranks}
        )
    columns = ("system", Column("human", "human score", ".3f"), Column("people", "rank by people"), *metrics)
    # Without lines between clusters there is nothing to explain about them.
    one_cluster = len({row.human_rank_cluster for row in systems}) < 2
    notes = (f"Human score: {systems[0].human_name}.", *OF_RANKS[one_cluster:])
    title = f"{' '.join(pair)}: ranks of the systems by people and by metrics"
    stem = file_stem(f"systems_{'_'.join(pair)}")
    return Table.of(stem, title, rows, columns, notes, by=["cluster"])


def _range(rank: int, low: int, high: int) -> str:
    """A rank with its range, as "1-6"; alone where nothing could be drawn."""
    # Rank 0 stands for none.
    if not rank:
        return UNDEFINED
    return f"{low}-{high}" if high else str(rank)
