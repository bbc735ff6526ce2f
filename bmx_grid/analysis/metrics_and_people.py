"""How metrics agree with people: correlations, ranks of metrics and of systems, placebos, and differences of systems.

Do metrics and boosts beat placebos; how far apart must two systems be for people to agree?
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.analysis.base import PAIR, Column, SweepTables, Table, each_group, each_row, pivot_estimates
from bmx_grid.analysis.points import ALPHA, PREFERRED
from bmx_grid.core.wording import P_VALUE, UNDEFINED, display_name, file_stem, join_names
from bmx_grid.evaluations.base import BASE, OF_METRIC
from bmx_grid.evaluations.level_rows import CorrelationRow, SystemRow, ThresholdRow
from bmx_grid.evaluations.significance import Rank, TestRow
from bmx_grid.sweep.tables import CeilingRow

if TYPE_CHECKING:
    import pandas as pd

# How metrics begin that are further human scores (`metrics.human`): what metrics can be expected to reach.
PEOPLE = "human_"
RANKS = {"segment rank": "segment", "system rank": "system"}  # columns, and the levels they are of
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
BRIEF_COLUMNS = ("segment r", "PDP", "system r")  # in the terminal, if the table is too wide
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
    "each end (Koehn 2012; Bojar et al. 2013); a single rank if nothing can be drawn, as for human scores of whole "
    "systems.",
    "These are ranks of systems; the ranks of metrics come from pairwise tests of their correlations.",
)
OF_CEILINGS = (
    "Ceiling: the square root of the reliability ICC(1,k) of the mean human score (Shrout and Fleiss 1979). A metric "
    "that knew the true quality of every segment would be expected to correlate so highly with it, and no higher."
)

IN_TABLE = (0.6, 0.75, 0.9, 0.95)  # thresholds.parquet has more
OF_PLACEBO = "against placebo"  # in the names of families of tests
OF_PLACEBOS = (
    "Placebos cannot know which translation is better: sentinels see one side or the lengths only (Perrella et al. "
    f"2024), random scores see nothing. Marked: the difference survives Holm's correction at {ALPHA:g}."
)
OF_THRESHOLDS = (
    "How far apart the scores of two systems must be for people to prefer the higher one so often (a logistic curve; "
    "Kocmi et al. 2024), with 95 % intervals by a bootstrap of systems and clusters of segments."
)


def compute(tables: SweepTables) -> dict[str, Any]:
    """The agreement of metrics with human scores.

    correlations: of each unboosted metric with the primary human score, a row per data set, language pair and metric.
    systems: ranks of the systems by each metric and by the primary human score; ceilings: the highest possible
    correlations. placebos: each metric and boost against each placebo; beaten: the difference is above 0 after the
    correction. unbeaten: a sentence on those that beat none or not all. thresholds: of the metrics without an
    explainer. None if a sweep has no such table.
    """
    frames = tables.frames
    return {
        "correlations": _correlations(tables) if "correlations" in frames else None,
        "systems": _systems(tables.frame("systems", SystemRow)) if "systems" in frames else None,
        "ceilings": tables.frame("ceilings", CeilingRow) if "ceilings" in frames else None,
        "placebos": tables.compute_once(placebos) if "tests" in frames else None,
        "unbeaten": tables.compute_once(describe_unbeaten_placebos),
        "thresholds": _thresholds(tables.frame("thresholds", ThresholdRow)) if "thresholds" in frames else None,
    }


def tables(result: Mapping[str, Any]) -> Iterator[Table]:
    """All metrics in brief, and by data set; ceilings; systems in their clusters; placebos; thresholds."""
    correlations = result["correlations"]
    if correlations is not None and len(correlations):
        title = "correlation of the unboosted metrics with human scores"
        yield _table("metrics", title.capitalize(), correlations, brief=True)
        for dataset, rows in each_group(correlations, "dataset", sort=True):
            stem = file_stem(f"metrics_{dataset}")
            yield _table(stem, f"{dataset}: {title}", rows, brief=False)
    ceilings = result["ceilings"]
    if ceilings is not None and len(ceilings):
        numbers = [Column(name, form=".3g") for name in ("raters", "reliability", "ceiling")]
        columns = (*PAIR, Column("human", "human score"), *numbers)
        yield Table.from_rows("ceilings", "What any metric can reach", ceilings, columns, [OF_CEILINGS], names=3)
    if result["systems"] is not None:
        for pair, systems in each_group(result["systems"], *PAIR):
            if systems["system"].nunique() > 1:
                yield _table_of_systems(pair, systems)
    if result["placebos"] is not None and len(result["placebos"]):
        yield _table_of_placebos(result["placebos"], result["unbeaten"])
    if result["thresholds"] is not None and len(result["thresholds"]):
        yield _table_of_thresholds(result["thresholds"])


def _primary(rows: pd.DataFrame, human: str, *level: str) -> pd.DataFrame:
    """The rows on the baseline and the first human score of each language pair and level."""
    alone = rows[rows["point"] == BASE]
    # Of several judgements the first is the primary one of its level.
    primary = alone.groupby([*PAIR, *level])[human].transform("first")
    return alone[alone[human] == primary]


def _correlations(tables: SweepTables) -> pd.DataFrame:
    """The correlations of all metrics, the best of a language pair first: by its rank, or its first correlation.

    OF_METRIC, then by the names of COLUMN_OF_STATISTIC all values, then the ends of their intervals; ranks by level.
    """
    rows = _primary(tables.frame("correlations", CorrelationRow), "human", "level")
    statistics = rows[["level", "grouping", "statistic"]].itertuples(index=False, name=None)
    rows = rows.assign(column=[COLUMN_OF_STATISTIC.get(names, "") for names in statistics])
    # A metric without an explainer is the same with every explainer: its first row counts.
    metrics = pivot_estimates(rows[rows["column"] != ""], [*OF_METRIC], "column")
    # Rank 0 represents none.
    ranking = tables.frame("ranking", Rank)
    ranking = ranking[ranking["rank"] > 0].drop_duplicates([*OF_METRIC, "level"])
    for name, level in RANKS.items():
        ranks_of_level = ranking[ranking["level"] == level].set_index([*OF_METRIC])["rank"].astype(float)
        if len(ranks_of_level):
            metrics = metrics.join(ranks_of_level.rename(name), on=[*OF_METRIC])
    first = next((name for name in COLUMN_OF_STATISTIC.values() if name in metrics), None)
    if first is None:
        return metrics
    ranks = [name for name in RANKS if name in metrics]
    # The sign is the direction of a metric, as TER counts errors, not its quality.
    order = metrics.assign(strength=-metrics[first].abs())
    order = order.sort_values([*PAIR, *ranks[:1], "strength", "metric"])
    return metrics.loc[order.index].reset_index(drop=True)


def _table(stem: str, title: str, rows: pd.DataFrame, *, brief: bool) -> Table:
    # Columns without a defined number in these rows are left out: each data set has other judgements.
    known = set(rows.columns[rows.notna().any()])
    numbers = []
    for name in BRIEF_COLUMNS if brief else COLUMN_OF_STATISTIC.values():
        if name in known:
            numbers.append(Column(name, form=".3f", ends=(f"{name}_low", f"{name}_high")))
    numbers += [Column(name, form=".0f") for name in RANKS if name in known]
    names: list[str | Column] = [Column("language_pair", "pair"), "metric"]
    if rows["dataset"].nunique() > 1:
        names.insert(0, "dataset")
    # In brief, the columns of the second note are missing.
    notes = (OF_CORRELATIONS[0], *OF_CORRELATIONS[2:]) if brief else OF_CORRELATIONS
    columns = [*names, *numbers]
    return Table.from_rows(stem, title, rows, columns, notes, by=PAIR, names=len(names), brief=brief)


def _systems(systems: pd.DataFrame) -> pd.DataFrame:
    """The systems of each language pair, each metric once, the best by people first."""
    alone = _primary(systems, "human_name").drop_duplicates([*OF_METRIC, "system"])
    # Rank 0 is no rank: a system without human score is the last one.
    order = alone.assign(place=alone["human_rank"].replace(0, math.inf)).sort_values(["place", "system"])
    return alone.loc[order.index].reset_index(drop=True)


def _table_of_systems(pair: tuple[str, ...], systems: pd.DataFrame) -> Table:
    """systems: a row for each metric."""
    metrics = systems.sort_values(["explainer", "metric"])["metric"].unique().tolist()
    ranks = systems.assign(shown=_ranges(systems, "rank")).pivot(index="system", columns="metric", values="shown")
    first = systems.drop_duplicates("system")
    rows = first[["system", "human"]].assign(people=_ranges(first, "human_rank"), cluster=first["human_rank_cluster"])
    rows[metrics] = ranks.loc[first["system"], metrics].fillna(UNDEFINED).to_numpy()
    columns = ("system", Column("human", "human score", ".3f"), Column("people", "rank by people"), *metrics)
    notes = [f"Human score: {systems['human_name'].iloc[0]}.", *OF_RANKS]
    # Without lines between clusters no note on them is needed.
    if rows["cluster"].nunique() < 2:
        notes.remove(OF_RANKS[0])
    title = f"{' '.join(pair)}: ranks of the systems by people and by metrics"
    stem = file_stem(f"systems_{'_'.join(pair)}")
    return Table.from_rows(stem, title, rows, columns, notes, by=["cluster"])


def _ranges(systems: pd.DataFrame, rank: str) -> list[str]:
    """Ranks with their ranges, as "1-6"; without a range if nothing could be drawn."""
    ranges = []
    for place, low, high in systems[[rank, f"{rank}_low", f"{rank}_high"]].itertuples(index=False):
        text = f"{low}-{high}" if high else str(place)
        # Rank 0 represents none.
        ranges.append(text if place else UNDEFINED)
    return ranges


def placebos(tables: SweepTables) -> pd.DataFrame:
    """The rows of tests.parquet against placebos, of one test of segment scores; beaten: as in `compute`."""
    tests = tables.frame("tests", TestRow)
    rows = tests[tests["family"].str.contains(OF_PLACEBO, regex=False) & (tests["level"] == "segment")]
    known = set(rows["test"])
    test = next((name for name in PREFERRED if name in known), "")
    # One test and one statistic: other p values must not share a column.
    rows = rows[(rows["test"] == test) & (rows["statistic"] == next(iter(rows["statistic"]), ""))]
    beaten = (rows["p_holm"] <= ALPHA) & (rows["difference"] > 0)
    return rows.assign(beaten=beaten).reset_index(drop=True)


def describe_unbeaten_placebos(tables: SweepTables) -> list[str]:
    """A sentence that names what does not beat every placebo; none where everything does, or nothing was tested."""
    tests = tables.compute_once(placebos)
    tests = tests[~tests["beaten"] & np.isfinite(tests["p_holm"])]
    if tests.empty:
        return []
    names = []
    boosted_names = [_compared_name(row.compared, row.explainer) for row in each_row(tests)]
    for boosted, rows in each_group(tests.assign(boosted=boosted_names), "boosted"):
        against = rows["against"].map(display_name).unique()  # without duplicates: language pairs share placebos
        names.append(f"{boosted} ({join_names(against.tolist())})")
    return [f"Not shown to beat a placebo: {join_names(names)}."]


def _compared_name(compared: str, explainer: str) -> str:
    """A metric, or the explainer whose boost of it is meant, with the point."""
    metric, _, point = compared.partition(" at ")
    if not point:
        return display_name(metric)
    return f"{display_name(explainer)} on {display_name(metric)} at the point {point}"


def _table_of_placebos(tests: pd.DataFrame, sentences: Sequence[str]) -> Table:
    gap = Column("difference", "", "+.3f", ("low", "high"), "beaten")
    columns = (*PAIR, "compared", "against", "statistic", gap, Column("p_holm", "p (Holm)", P_VALUE))
    title = "Metrics and boosts against placebos"
    return Table.from_rows("placebos", title, tests, columns, [*sentences, OF_PLACEBOS], by=PAIR, names=5)


def _thresholds(thresholds: pd.DataFrame) -> pd.DataFrame:
    """Those of the metrics without an explainer."""
    # Rows of one metric repeat with each explainer that a sweep explains it with.
    once = [*OF_METRIC, "human_name", "probability"]
    return thresholds[thresholds["point"] == BASE].drop_duplicates(once, ignore_index=True)


def _table_of_thresholds(thresholds: pd.DataFrame) -> Table:
    shown = thresholds[thresholds["probability"].isin(IN_TABLE)]
    columns = (
        *PAIR,
        "metric",
        Column("probability", "people agree", ".0%", ("probability_low", "probability_high")),
        Column("difference", "", ".4g", ("low", "high")),
        Column("observed", "observed so often", ".0%"),
        Column("n_pairs", "of pairs"),
    )
    by = [*PAIR, "metric"]
    return Table.from_rows("thresholds", "How much is much", shown, columns, [OF_THRESHOLDS], by=by, names=3)
