"""What shared tasks decide by: placebos, how much is much, one ranking over tasks, outliers, systems by people."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bmx_grid.analysis.base import PAIR, Column, Given, Table, first_by, highest_first, rows_by
from bmx_grid.analysis.gains import ALPHA, PREFERRED
from bmx_grid.core.wording import P_VALUE, file_stem, named, setting_label, written
from bmx_grid.evaluations.base import BASE
from bmx_grid.evaluations.levels import ThresholdRow
from bmx_grid.evaluations.rows_of_guests import HumanRank, TaskRank, WithoutOutliers
from bmx_grid.evaluations.significance import TestRow

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
OF_OUTLIERS = "Pearson's r of system scores. What changes much without one system says little of the others."
OF_TASKS = (
    "The weighted mean over tasks. Metrics share a rank until a permutation test of means tells them apart (.05)."
)
OF_PEOPLE = (
    "Wins and losses: one-sided Wilcoxon signed-rank tests of common items, at .05; range: from 1 and the losses to "
    "all systems less the wins. Lines separate clusters. Outlier: more than 2.5 median absolute deviations (times "
    "1.483) from the median (Mathur et al. 2020)."
)


@dataclass(frozen=True, kw_only=True)
class PlaceboRow(TestRow):
    """A test against a placebo; beaten: the difference is above 0 after the correction."""

    beaten: bool


@dataclass(frozen=True)
class SharedTask:
    """placebos: each metric and boost against each placebo; unbeaten, a sentence on those that beat none or not all.

    thresholds, task_ranking, human_ranking, outliers: of the metrics alone, as their evaluations wrote them. None where
    a sweep has no such table.
    """

    placebos: Sequence[PlaceboRow] | None
    unbeaten: Sequence[str]
    thresholds: Sequence[ThresholdRow] | None
    task_ranking: Sequence[TaskRank] | None
    human_ranking: Sequence[HumanRank] | None
    outliers: Sequence[WithoutOutliers] | None


def compute(given: Given) -> SharedTask:
    """What the tables of shared tasks say."""
    placebos = _placebos(given.rows("tests", TestRow))
    alone = [row for row in given.rows("thresholds", ThresholdRow) if row.point == BASE]
    thresholds = first_by(alone, lambda row: (*row.metric_alone, row.human_name, row.probability))
    known = set(given.frames)
    return SharedTask(
        placebos=placebos if "tests" in known else None,
        unbeaten=_unbeaten(placebos),
        thresholds=list(thresholds.values()) if "thresholds" in known else None,
        task_ranking=given.rows("task_ranking", TaskRank) if "task_ranking" in known else None,
        human_ranking=given.rows("human_ranking", HumanRank) if "human_ranking" in known else None,
        outliers=given.rows("outliers", WithoutOutliers) if "outliers" in known else None,
    )


def _placebos(tests: Sequence[TestRow]) -> list[PlaceboRow]:
    """The rows of one test of segment scores."""
    rows = [row for row in tests if OF_PLACEBO in row.family and row.level == "segment"]
    test = next((name for name in PREFERRED if any(row.test == name for row in rows)), "")
    rows = [row for row in rows if row.test == test and row.statistic == rows[0].statistic]
    return [PlaceboRow(**vars(row), beaten=row.p_holm <= ALPHA and row.difference.value > 0) for row in rows]


def _unbeaten(placebos: Sequence[PlaceboRow]) -> list[str]:
    """A sentence that names what does not beat every placebo; none where everything does, or nothing was tested."""
    against: dict[str, dict[str, None]] = {}
    for row in placebos:
        if not row.beaten and math.isfinite(row.p_holm):
            against.setdefault(_boosted(row.compared, row.explainer), {})[written(row.against)] = None
    names = [f"{metric} ({named(list(placebos))})" for metric, placebos in against.items()]
    return [f"Not shown to beat a placebo: {named(names)}."] if names else []


def _boosted(compared: str, explainer: str) -> str:
    """A metric, or the explainer whose boost of it is meant, with the point."""
    metric, _, point = compared.partition(" at ")
    return f"{written(explainer)} on {written(metric)} at the point {point}" if point else written(metric)


def tables(result: SharedTask) -> Iterator[Table]:
    """Placebos, one ranking over tasks, outliers, systems by people for each language pair, and thresholds."""
    if result.placebos:
        gap = Column("difference", form="+.3f", marked="beaten")
        columns = (*PAIR, "compared", "against", "statistic", gap, Column("p_holm", "p (Holm)", P_VALUE))
        title = "Metrics and boosts against placebos"
        yield Table.of("placebos", title, result.placebos, columns, [*result.unbeaten, OF_PLACEBOS], by=PAIR, names=5)
    if result.task_ranking:
        yield _of_tasks(result.task_ranking)
    yield from _of_outliers(result.outliers or [])
    ranked = [row for row in result.human_ranking or [] if row.rank_high > 0]
    for pair, rows in rows_by(ranked, lambda row: row.pair).items():
        yield _of_people(pair, rows)
    if result.thresholds:
        thresholds = [row for row in result.thresholds if row.probability in IN_TABLE]
        columns = (
            *PAIR,
            "metric",
            Column("probability", "people agree", ".0%", ("probability_low", "probability_high")),
            Column("difference", form=".4g"),
            Column("observed", "observed so often", ".0%"),
            Column("n_pairs", "of pairs"),
        )
        by = [*PAIR, "metric"]
        yield Table.of("thresholds", "How much is much", thresholds, columns, [OF_THRESHOLDS], by=by, names=3)


def _of_tasks(ranking: Sequence[TaskRank]) -> Table:
    ranking = sorted(ranking, key=lambda row: highest_first(row.value))
    columns = ("metric", Column("value", "mean", ".3f"), Column("rank", form=".0f"))
    left = ranking[0].n_left_out
    notes = [f"Tasks: {ranking[0].tasks}; left out, as undefined or not of every metric: {left}.", OF_TASKS]
    return Table.of("task_ranking", "One ranking over all tasks", ranking, columns, notes, by=["rank"], brief=True)


def _of_outliers(outliers: Sequence[WithoutOutliers]) -> Iterator[Table]:
    """Each metric once, whatever its explainer, where there are outliers."""
    rows = first_by([row for row in outliers if row.n_outliers > 0], lambda row: row.metric_alone)
    if rows:
        r = (Column("pearson", "r", ".3f"), Column("pearson_without", "r without them", ".3f"))
        columns = (*PAIR, "metric", Column("systems", "outliers"), Column("n_systems", "systems"), *r)
        title = "System level without outliers"
        yield Table.of("outliers", title, list(rows.values()), columns, [OF_OUTLIERS], by=PAIR, names=4)


@dataclass(frozen=True, kw_only=True)
class ShownRank(HumanRank):
    """A system as the table shows it: its range of ranks, and "outlier" where it is one."""

    range: str
    far: str


def _of_people(pair: tuple[str, str], ranks: Sequence[HumanRank]) -> Table:
    ranks = sorted(ranks, key=lambda row: (row.cluster, row.rank_low, row.rank_high, highest_first(row.human)))
    rows = [
        ShownRank(**vars(row), range=f"{row.rank_low}-{row.rank_high}", far="outlier" if row.outlier else "")
        for row in ranks
    ]
    columns = ("system", "range", Column("far", "outlier"), Column("human", "human score", ".3f"), "wins", "losses")
    title = f"{setting_label(*pair)}: systems ranked by people"
    stem = file_stem(f"people_{'_'.join(pair)}")
    return Table.of(stem, title, rows, columns, [OF_PEOPLE], by=["cluster"], names=3)
