"""What shared tasks decide by: placebos, how much is much, one ranking over tasks, outliers, systems by people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bmx_grid.analysis.base import PAIR, Column, Given, Table
from bmx_grid.analysis.gains import ALPHA, PREFERRED
from bmx_grid.core.wording import P_VALUE, file_stem, named, setting_label, written
from bmx_grid.evaluations.base import BASE

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
OF_OUTLIERS = "Pearson's r of system scores. What changes much without one system says little of the others."
OF_TASKS = (
    "The weighted mean over tasks. Metrics share a rank until a permutation test of means tells them apart (.05)."
)
OF_PEOPLE = (
    "Wins and losses: one-sided Wilcoxon signed-rank tests of common items, at .05; range: from 1 and the losses to "
    "all systems less the wins. Lines separate clusters. Outlier: more than 2.5 median absolute deviations (times "
    "1.483) from the median (Mathur et al. 2020)."
)


def compute(given: Given) -> dict[str, Any]:
    """placebos: each metric and boost against each placebo; unbeaten, a sentence on those that beat none or not all.

    thresholds, task_ranking, human_ranking, outliers: of the metrics alone, as their evaluations wrote them.
    """
    frames = given.frames
    placebos = _placebos(frames["tests"]) if "tests" in frames else None
    result: dict[str, Any] = {"placebos": placebos, "unbeaten": [] if placebos is None else _unbeaten(placebos)}
    for name in ("thresholds", "task_ranking", "human_ranking", "outliers"):
        frame = frames.get(name)
        if frame is not None and "point" in frame:
            frame = frame[frame["point"] == BASE].drop_duplicates([*PAIR, "metric", "human_name", "probability"])
        result[name] = frame
    return result


def _placebos(tests: pd.DataFrame) -> pd.DataFrame:
    """The rows of one test of segment scores; `beaten`: the difference is above 0 after the correction."""
    rows = tests[tests["family"].str.contains(OF_PLACEBO) & (tests["level"] == "segment")]
    test = next((name for name in PREFERRED if (rows["test"] == name).any()), "")
    rows = rows[(rows["test"] == test) & (rows["statistic"] == rows["statistic"].iloc[:1].squeeze())]
    return rows.assign(beaten=(rows["p_holm"] <= ALPHA) & (rows["difference"] > 0))


def _unbeaten(placebos: pd.DataFrame) -> list[str]:
    """A sentence that names what does not beat every placebo; none where everything does, or nothing was tested."""
    left = placebos[~placebos["beaten"] & placebos["p_holm"].notna()]
    by = [left["compared"], left["explainer"]]
    names = {
        _boosted(*map(str, which)): named([written(name) for name in dict.fromkeys(rows["against"])])
        for which, rows in left.groupby(by, sort=False)
    }
    if not names:
        return []
    return [f"Not shown to beat a placebo: {named([f'{metric} ({against})' for metric, against in names.items()])}."]


def _boosted(compared: str, explainer: str) -> str:
    """A metric, or the explainer whose boost of it is meant, with the point."""
    metric, _, point = compared.partition(" at ")
    return f"{written(explainer)} on {written(metric)} at the point {point}" if point else written(metric)


def tables(result: Mapping[str, Any]) -> Iterator[Table]:
    """Placebos, one ranking over tasks, outliers, systems by people for each language pair, and thresholds."""
    frame = result["placebos"]
    if frame is not None and len(frame):
        gap = Column("difference", form="+.3f", ends=("low", "high"), marked="beaten")
        columns = (*PAIR, "compared", "against", "statistic", gap, Column("p_holm", "p (Holm)", P_VALUE))
        title = "Metrics and boosts against placebos"
        yield Table.of("placebos", title, frame, columns, [*result["unbeaten"], OF_PLACEBOS], by=PAIR, names=5)
    frame = result["task_ranking"]
    if frame is not None and len(frame):
        frame = frame.sort_values("value", ascending=False, kind="stable")
        columns = ("metric", Column("value", "mean", ".3f"), Column("rank", form=".0f"))
        left = int(frame["n_left_out"].iloc[0])
        notes = [f"Tasks: {frame['tasks'].iloc[0]}; left out, as undefined or not of every metric: {left}.", OF_TASKS]
        yield Table.of("task_ranking", "One ranking over all tasks", frame, columns, notes, by=["rank"], brief=True)
    frame = result["outliers"]
    if frame is not None and (frame["n_outliers"] > 0).any():
        frame = frame[frame["n_outliers"] > 0].drop_duplicates([*PAIR, "metric"])
        r = (Column("pearson", "r", ".3f"), Column("pearson_without", "r without them", ".3f"))
        columns = (*PAIR, "metric", Column("systems", "outliers"), Column("n_systems", "systems"), *r)
        yield Table.of("outliers", "System level without outliers", frame, columns, [OF_OUTLIERS], by=PAIR, names=4)
    frame = result["human_ranking"]
    for pair, rows in () if frame is None else frame[frame["rank_high"] > 0].groupby(PAIR, sort=False):
        rows = rows.assign(range=rows["rank_low"].astype(str) + "-" + rows["rank_high"].astype(str))
        rows = rows.assign(far=rows["outlier"].map({True: "outlier", False: ""}))
        columns = ("system", "range", Column("far", "outlier"), Column("human", "human score", ".3f"), "wins", "losses")
        rows = rows.sort_values(["cluster", "rank_low", "rank_high", "human"], ascending=[True, True, True, False])
        title = f"{setting_label(*pair)}: systems ranked by people"
        yield Table.of(
            file_stem(f"people_{'_'.join(pair)}"), title, rows, columns, [OF_PEOPLE], by=["cluster"], names=3
        )
    frame = result["thresholds"]
    if frame is not None and len(frame):
        frame = frame[frame["probability"].isin(IN_TABLE)]
        columns = (
            *PAIR,
            "metric",
            Column("probability", "people agree", ".0%", ("probability_low", "probability_high")),
            Column("difference", form=".4g", ends=("low", "high")),
            Column("observed", "observed so often", ".0%"),
            Column("n_pairs", "of pairs"),
        )
        by = [*PAIR, "metric"]
        yield Table.of("thresholds", "How much is much", frame, columns, [OF_THRESHOLDS], by=by, names=3)
