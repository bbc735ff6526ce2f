"""Do metrics and boosts beat placebos; how far apart must two systems be for people to agree?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.analysis.base import PAIR, Column, Given, Table, each_group, each_row
from bmx_grid.analysis.declared_gains import ALPHA, PREFERRED
from bmx_grid.core.wording import P_VALUE, named, written
from bmx_grid.evaluations.base import BASE, OF_METRIC
from bmx_grid.evaluations.level_rows import ThresholdRow
from bmx_grid.evaluations.significance import TestRow

if TYPE_CHECKING:
    import pandas as pd

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


def compute(given: Given) -> dict[str, Any]:
    """What the tables of tests and of thresholds say.

    placebos: each metric and boost against each placebo; beaten: the difference is above 0 after the correction.
    unbeaten: a sentence on those that beat none or not all. thresholds: of the metrics alone. None where a sweep has no
    such table.
    """
    placebos = _placebos(given.frame("tests", TestRow))
    thresholds = given.frame("thresholds", ThresholdRow)
    # Rows of one metric repeat with each explainer that a sweep explains it with.
    once = [*OF_METRIC, "human_name", "probability"]
    thresholds = thresholds[thresholds["point"] == BASE].drop_duplicates(once, ignore_index=True)
    return {
        "placebos": placebos if "tests" in given.frames else None,
        "unbeaten": _unbeaten(placebos),
        "thresholds": thresholds if "thresholds" in given.frames else None,
    }


def _placebos(tests: pd.DataFrame) -> pd.DataFrame:
    """The rows of one test of segment scores."""
    rows = tests[tests["family"].str.contains(OF_PLACEBO, regex=False) & (tests["level"] == "segment")]
    known = set(rows["test"])
    test = next((name for name in PREFERRED if name in known), "")
    # One test and one statistic: other p values must not stand in one column.
    rows = rows[(rows["test"] == test) & (rows["statistic"] == next(iter(rows["statistic"]), ""))]
    beaten = (rows["p_holm"] <= ALPHA) & (rows["difference"] > 0)
    return rows.assign(beaten=beaten).reset_index(drop=True)


def _unbeaten(placebos: pd.DataFrame) -> list[str]:
    """A sentence that names what does not beat every placebo; none where everything does, or nothing was tested."""
    unbeaten = placebos[~placebos["beaten"] & np.isfinite(placebos["p_holm"])]
    if unbeaten.empty:
        return []
    names = []
    boosted_names = [_boosted(row.compared, row.explainer) for row in each_row(unbeaten)]
    for boosted, rows in each_group(unbeaten.assign(boosted=boosted_names), "boosted"):
        against = rows["against"].map(written).unique()  # each once: language pairs share placebos
        names.append(f"{boosted} ({named(against.tolist())})")
    return [f"Not shown to beat a placebo: {named(names)}."]


def _boosted(compared: str, explainer: str) -> str:
    """A metric, or the explainer whose boost of it is meant, with the point."""
    metric, _, point = compared.partition(" at ")
    if not point:
        return written(metric)
    return f"{written(explainer)} on {written(metric)} at the point {point}"


def tables(result: Mapping[str, Any]) -> Iterator[Table]:
    """Placebos, and thresholds."""
    placebos = result["placebos"]
    if placebos is not None and len(placebos):
        gap = Column("difference", "", "+.3f", ("low", "high"), "beaten")
        columns = (*PAIR, "compared", "against", "statistic", gap, Column("p_holm", "p (Holm)", P_VALUE))
        title = "Metrics and boosts against placebos"
        notes = [*result["unbeaten"], OF_PLACEBOS]
        yield Table.of("placebos", title, placebos, columns, notes, by=PAIR, names=5)
    thresholds = result["thresholds"]
    if thresholds is not None and len(thresholds):
        thresholds = thresholds[thresholds["probability"].isin(IN_TABLE)]
        columns = (
            *PAIR,
            "metric",
            Column("probability", "people agree", ".0%", ("probability_low", "probability_high")),
            Column("difference", "", ".4g", ("low", "high")),
            Column("observed", "observed so often", ".0%"),
            Column("n_pairs", "of pairs"),
        )
        by = [*PAIR, "metric"]
        yield Table.of("thresholds", "How much is much", thresholds, columns, [OF_THRESHOLDS], by=by, names=3)
