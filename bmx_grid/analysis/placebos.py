"""Do metrics and boosts beat placebos; how far apart must two systems be for people to agree?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bmx_grid.analysis.base import PAIR, Column, Given, Table, first_by, rows_by
from bmx_grid.analysis.declared_gains import ALPHA, PREFERRED
from bmx_grid.core.wording import P_VALUE, named, written
from bmx_grid.evaluations.base import BASE
from bmx_grid.evaluations.level_rows import ThresholdRow
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


@dataclass(frozen=True, kw_only=True)
class PlaceboRow(TestRow):
    """A test against a placebo; beaten: the difference is above 0 after the correction."""

    beaten: bool


@dataclass(frozen=True)
class Placebos:
    """placebos: each metric and boost against each placebo; unbeaten, a sentence on those that beat none or not all.

    thresholds: of the metrics alone. None where a sweep has no such table.
    """

    placebos: Sequence[PlaceboRow] | None
    unbeaten: Sequence[str]
    thresholds: Sequence[ThresholdRow] | None


def compute(given: Given) -> Placebos:
    """What the tables of tests and of thresholds say."""
    placebos = _placebos(given.rows("tests", TestRow))
    alone = [row for row in given.rows("thresholds", ThresholdRow) if row.point == BASE]
    # Rows of one metric repeat with each explainer that a sweep explains it with.
    thresholds = first_by(alone, lambda row: (*row.metric_alone, row.human_name, row.probability))
    return Placebos(
        placebos=placebos if "tests" in given.frames else None,
        unbeaten=_unbeaten(placebos),
        thresholds=list(thresholds.values()) if "thresholds" in given.frames else None,
    )


def _placebos(tests: Sequence[TestRow]) -> list[PlaceboRow]:
    """The rows of one test of segment scores."""
    rows = [row for row in tests if OF_PLACEBO in row.family and row.level == "segment"]
    tests_of_rows = {row.test for row in rows}
    test = next((name for name in PREFERRED if name in tests_of_rows), "")
    placebos = []
    for row in rows:
        # One test and one statistic: other p values must not stand in one column.
        if row.test == test and row.statistic == rows[0].statistic:
            beaten = row.p_holm <= ALPHA and row.difference.value > 0
            placebos.append(PlaceboRow(**vars(row), beaten=beaten))
    return placebos


def _unbeaten(placebos: Sequence[PlaceboRow]) -> list[str]:
    """A sentence that names what does not beat every placebo; none where everything does, or nothing was tested."""
    unbeaten = [row for row in placebos if not row.beaten and math.isfinite(row.p_holm)]
    if not unbeaten:
        return []
    names = []
    by_boosted = rows_by(unbeaten, lambda row: _boosted(row.compared, row.explainer))
    for boosted, rows in by_boosted.items():
        against = dict.fromkeys(written(row.against) for row in rows)  # each once: language pairs share placebos
        names.append(f"{boosted} ({named(list(against))})")
    return [f"Not shown to beat a placebo: {named(names)}."]


def _boosted(compared: str, explainer: str) -> str:
    """A metric, or the explainer whose boost of it is meant, with the point."""
    metric, _, point = compared.partition(" at ")
    if not point:
        return written(metric)
    return f"{written(explainer)} on {written(metric)} at the point {point}"


def tables(result: Placebos) -> Iterator[Table]:
    """Placebos, and thresholds."""
    if result.placebos:
        gap = Column("difference", form="+.3f", marked="beaten")
        columns = (*PAIR, "compared", "against", "statistic", gap, Column("p_holm", "p (Holm)", P_VALUE))
        title = "Metrics and boosts against placebos"
        notes = [*result.unbeaten, OF_PLACEBOS]
        yield Table.of("placebos", title, result.placebos, columns, notes, by=PAIR, names=5)
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
