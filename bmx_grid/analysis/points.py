"""The (p, w) of settings and explainers: the best of each setting, their medians, and the one each is evaluated at.

The best point is the first of equal ones, the median is the ordinary one of p and of w separately (paper 4.2), so that
it need not be a grid point. Where a point was chosen says how numbers at it may be described.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.analysis.base import Column, Given, GridTable, Table
from bmx_grid.core.configure import load_option
from bmx_grid.core.errors import ConfigError
from bmx_grid.core.ragged import Floats
from bmx_grid.core.wording import counted, named, point_in_words
from bmx_grid.measures.correlation import beats, first_within_rounding, plateau_within_no_change
from bmx_grid.measures.grid import Point, nearest_point

if TYPE_CHECKING:
    import pandas as pd

# Leiter, Nguyen, Eger 2022, section 4.2 and Figure 5: chosen on all settings of these data sets together.
PUBLISHED = {name: Point(**point) for name, point in load_option("grid", "paper")["fixed"].items()}
PAPERS_DATASETS = frozenset(("wmt17", "eval4nlp21", "mlqe_pe"))
NOWHERE = Point(float("nan"), float("nan"))
METRIC_ALONE = Point(p=float("nan"), w=1.0)  # to decline to boost
DIGITS = 12  # of a median: the mean of 0.2 and 0.4 is 0.30000000000000004 in binary, and 0.3 to a reader


def best_points(table: GridTable) -> pd.DataFrame:
    """Every setting of a table with its best point; the words are defined in measures.correlation.

    Of equal points the first, as in the paper (`first_within_rounding`), w = 1 allowed: a setting that nothing improves
    gets the lowest p of the grid and the w of the first tied point there.
    Columns beside those of table.frame: best, best_w, best_p, gain: correlation of the best point, where it is (NaN
    without one), gain above the baseline. plateau: points of `plateau_within_no_change`. ties_baseline: no point with
    w other than 1 beats the baseline; False where that is undefined.
    """
    highest, plateau = plateau_within_no_change(table.correlation, table.w)
    highest_gain = np.where(np.isfinite(highest), highest - table.baseline, np.nan)
    places = first_within_rounding(table.correlation)
    known = places >= 0
    rows, columns = np.divmod(places, len(table.w))
    best = np.where(known, table.correlation[np.arange(len(table)), rows, columns], table.baseline)
    return table.frame.assign(
        best=best,
        best_w=np.where(known, table.w[columns], np.nan),
        best_p=np.where(known, table.p[rows], np.nan),
        gain=best - table.baseline,
        ties_baseline=np.isfinite(table.baseline) & ~beats(highest_gain),
        plateau=plateau.sum(axis=(1, 2)),
    )


def best_of_all(given: Given) -> pd.DataFrame:
    """The best points of all settings, controls among them."""
    return best_points(given.table)


def medians(best: pd.DataFrame) -> pd.DataFrame:
    """By explainer the median w and p of its best points, and how many; the metric alone where it has none.

    Controls take no part.
    """
    real = best[~best["control"]]
    known = real.dropna(subset=["best_w", "best_p"]).groupby("explainer")
    frame = known[["best_w", "best_p"]].median().map(lambda value: float(f"{value:.{DIGITS}g}"))
    frame = frame.set_axis(["w", "p"], axis=1).assign(n=known.size()).reindex(sorted(set(real["explainer"])))
    return frame.assign(n=frame["n"].fillna(0).astype(int), w=frame["w"].fillna(METRIC_ALONE.w))


def chosen_points(given: Given) -> pd.DataFrame:
    """The points of the options, else the medians of the selected table, by explainer of settings that are no controls.

    Columns: w, p: asked for, NaN without a point; used_w, used_p: the grid point they are evaluated at
    (`measures.grid.nearest_point`), p NaN for the metric alone, both NaN outside the grid; origin: where the point
    comes from and how numbers at it may be described, in words.
    """
    import pandas as pd

    real, other = given.real, given.select_from
    explainers, datasets = real.factor_levels("explainer"), real.factor_levels("dataset")
    if other is None:
        known, source = medians(given.ask(best_of_all)), "median of the best points of this table"
        judged = "in-sample (chosen where it is judged)"
    else:
        known = medians(best_points(other))
        source = f"median of the best points of {other.origin}"
        judged = _elsewhere(real, other)
    rows = []
    for name in explainers:
        if name in given.fixed:
            asked, origin = given.fixed[name], _given(name, given.fixed[name], datasets)
        elif name not in known.index:
            asked, origin = NOWHERE, f"none: {source} has no {name}"
        else:
            asked, origin = Point(known["p"][name], known["w"][name]), f"{source}, {judged}"
        used = grid_point(real, asked)
        if used is NOWHERE and asked is not NOWHERE:
            origin += f", p = {asked.p:g}, w = {asked.w:g}, which is not in this grid"
        rows.append((asked.w, asked.p, used.w, used.p, origin))
    columns = ["w", "p", "used_w", "used_p", "origin"]
    return pd.DataFrame(rows, index=pd.Index(explainers, name="explainer"), columns=columns)


def selection(given: Given) -> pd.DataFrame:
    """One row per explainer: what is selected for it, and where its settings are evaluated.

    Columns: explainer; w, p: the medians of the best points of n settings; strict_w, strict_p, strict_n: over those
    settings only that some (p, w) improves; used_w, used_p: the grid point at which settings are evaluated; origin:
    where that point comes from, in words.
    """
    found = given.ask(compute)
    used = given.ask(chosen_points)[["used_w", "used_p", "origin"]]
    frame: pd.DataFrame = found["medians"].join(found["strict_medians"].add_prefix("strict_")).join(used)
    return frame.rename_axis("explainer").reset_index()


def compute(given: Given) -> dict[str, Any]:
    """The medians of the best points; strict: over those settings only that some (p, w) improves.

    n_tied_with_baseline: settings, controls apart, that no (p, w) with w other than 1 improves.
    """
    best = given.ask(best_of_all)
    return {
        "n_tied_with_baseline": int(best["ties_baseline"][~best["control"]].sum()),
        "medians": medians(best),
        "strict_medians": medians(best.assign(best_w=best["best_w"].where(beats(best["gain"].to_numpy())))),
    }


def tables(result: Mapping[str, Any]) -> Iterator[Table]:
    """The medians by explainer."""
    frame = result["medians"].join(result["strict_medians"].add_prefix("strict ")).reset_index()
    if not len(frame):
        return
    every = [Column(name, f"median {name}", "g") for name in "wp"]
    strict = [Column(f"strict {name}", form="g") for name in "wp"]
    columns = ("explainer", *every, Column("n", "settings"), *strict, Column("strict n", "strict settings"))
    note = (
        "Medians of the best points of the settings, of equal ones the first; strict: of the settings only that some "
        "(p, w) improves. With w = 1, the metric alone, p means nothing."
    )
    yield Table.of("selection_by_explainer", "Median best points by explainer", frame, columns, [note])


def points_in_words(points: pd.DataFrame) -> str:
    """The chosen points of explainers, asked for and used, and where they come from: one sentence per origin."""
    by_origin: dict[str, list[str]] = {}
    for name, row in points.to_dict("index").items():
        asked, used = point_in_words(row["w"], row["p"]), point_in_words(row["used_w"], row["used_p"])
        shown = asked if asked == used else f"{asked} (used {used})"
        by_origin.setdefault(row["origin"], []).append(f"{name} {shown}")
    return " ".join(f"Points, {origin}: {'; '.join(shown)}." for origin, shown in by_origin.items())


def grid_point(table: GridTable, point: Point) -> Point:
    """The point of the table's grid that `point` is evaluated at; METRIC_ALONE where its w is 1, NOWHERE outside."""
    place = nearest_point(table.p, table.w, point.p, point.w)
    if place is None:
        return NOWHERE
    w = float(table.w[place[1]])
    return METRIC_ALONE if w == 1 else Point(float(table.p[place[0]]), w)


def gains_at(table: GridTable, point: Point) -> Floats:
    """float64[S] gains of all settings at one point; exactly 0 at w = 1, NaN outside the grid."""
    place = nearest_point(table.p, table.w, point.p, point.w)
    if place is None:
        return np.full(len(table), np.nan)
    if table.w[place[1]] == 1:
        return np.where(np.isnan(table.baseline), np.nan, 0.0)
    return np.asarray(table.gains[:, place[0], place[1]], dtype=np.float64)


def check_selection(table: GridTable, other: GridTable) -> None:
    """Refuse to judge points where they were chosen. Raises ConfigError naming the settings that both tables have."""
    real = set(table.take(~table.frame["control"].to_numpy()).settings)
    shared = sorted(real & set(other.settings))
    if shared:
        labels = named([setting.label for setting in shared], separator="; ")
        raise ConfigError(
            f"{table.origin}: select.from={other.origin} shares {counted(len(shared), 'setting')} with it: {labels}. "
            "Points would be judged where they were chosen: leave select.from out, or name a table without these."
        )


def _elsewhere(table: GridTable, other: GridTable) -> str:
    """How points of another table may be described: on the same data sets and language pairs, segments are the same."""
    real = other.frame[~other.frame["control"]]
    shared = sorted(set(table.frame["cluster"]) & set(real["cluster"]))
    if not shared:
        return "held out (no data set and language pair in common)"
    return f"chosen elsewhere (on the same segments: {named(shared)})"


def _given(explainer: str, point: Point, datasets: Sequence[str]) -> str:
    """How a point may be described that was given: the paper's own is in-sample on the paper's data sets."""
    if PUBLISHED.get(explainer) != point:
        return "given (what it was chosen on is not known here)"
    papers = [name for name in datasets if name in PAPERS_DATASETS]
    return f"as published ({f'in-sample on {named(papers)}' if papers else 'chosen on other data'})"
