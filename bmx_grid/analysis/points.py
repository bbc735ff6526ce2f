"""The (p, w) of settings and explainers: the best of each setting, their medians, and those each is evaluated at.

The best point is the first of equal ones, the median is the ordinary one of p and of w separately (paper 4.2), so that
it need not be a grid point. The origin of a point decides how numbers at it may be described.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.analysis.base import FACTORS, Column, GridTable, SettingKey, SweepTables, Table, each_row
from bmx_grid.core.configure import load_option
from bmx_grid.core.errors import ConfigError
from bmx_grid.core.ragged import Floats
from bmx_grid.core.wording import display_name, join_names, pluralize, point_in_words
from bmx_grid.evaluations.boost_evidence import ELSEWHERE, PUBLISHED
from bmx_grid.evaluations.grid_surface import PointRow
from bmx_grid.evaluations.significance import TestRow
from bmx_grid.measures.correlation import TIE, beats, first_within_rounding, plateau_within_no_change
from bmx_grid.measures.grid import Point, nearest_point
from bmx_grid.sweep.tables import SettingsRow

if TYPE_CHECKING:
    import pandas as pd

# Leiter, Nguyen, Eger 2022, section 4.2 and Figure 5: chosen on all settings of the three data sets together.
PUBLISHED_POINTS = {name: Point(**point) for name, point in load_option("grid", "paper")["fixed"].items()}
PAPERS_DATASETS = frozenset(("wmt17", "eval4nlp21", "mlqe_pe"))
NOWHERE = Point(float("nan"), float("nan"))
NO_BOOST = Point(p=float("nan"), w=1.0)
ALPHA = 0.05
# Points that were not chosen on the judged segments of this sweep; the first available one counts.
DECLARED_POINTS = (PUBLISHED, ELSEWHERE)
POINT_NAMES = {PUBLISHED: "published point", ELSEWHERE: "point chosen on other language pairs"}
# Of several tests of one gain the one whose p value is shown: permutations need no assumption about the scores.
PREFERRED = ("perm_inputs", "perm_both", "perm_systems", "bootstrap", "williams")
SURVIVES = f"it survives Holm's correction at {ALPHA:.2f} within its family".replace("0.", ".")
MARKED = f"Bold, and † in plain text: a gain above 0 where {SURVIVES}; nothing else is marked."
POINT = [*FACTORS, "point"]  # the key of points.parquet
OF_TESTS = ["test", "family", "low", "high", "p_value", "p_holm", "n", "clusters"]
DIGITS_OF_MEDIANS = 12  # of a median: the mean of 0.2 and 0.4 is 0.30000000000000004 in binary, and 0.3 to a reader


def best_points(table: GridTable) -> pd.DataFrame:
    """Every setting of a table with its best point, a row each; the words are defined in measures.correlation.

    Of equal points the first, as in the paper (`first_within_rounding`), w = 1 allowed: a setting that nothing improves
    gets the lowest p of the grid and the w of its first tied point.
    baseline: correlation of the baseline; best, best_w, best_p, gain: correlation of the best point, its place (NaN
    without one), gain above the baseline. ties_baseline: no point with w other than 1 beats the baseline; False if that
    is undefined. plateau: points of `plateau_within_no_change`.
    """
    # Of points with w other than 1: the first best point below may be the baseline.
    highest, plateau = plateau_within_no_change(table.correlation, table.w)
    highest_gain = np.where(np.isfinite(highest), highest - table.baseline, np.nan)
    # The place in the flat grid, whose rows are powers; -1 if all is undefined.
    place = first_within_rounding(table.correlation)
    power, weight = np.divmod(place, len(table.w))
    rows = np.arange(len(table))
    best = np.where(place < 0, table.baseline, table.correlation[rows, power, weight])
    return table.names.assign(
        baseline=table.baseline,
        best=best,
        best_w=np.where(place < 0, np.nan, table.w[weight]),
        best_p=np.where(place < 0, np.nan, table.p[power]),
        gain=best - table.baseline,
        ties_baseline=np.isfinite(table.baseline) & ~beats(highest_gain),
        plateau=plateau.sum(axis=(1, 2)),
    )


def best_of_all(tables: SweepTables) -> pd.DataFrame:
    """The best points of all settings, controls among them."""
    return best_points(tables.table)


def medians(best: pd.DataFrame, *, strict: bool = False) -> pd.DataFrame:
    """The medians of the n best points of each explainer: w and p; the baseline without one. Controls are left out.

    strict: only of points that are better than the baseline.
    """
    real = best[~best["control"]]
    known = real[np.isfinite(real["best_w"])]
    if strict:
        known = known[known["gain"] > TIE]
    groups = known.groupby("explainer")
    found: pd.DataFrame = groups[["best_w", "best_p"]].median().map(_round_median)
    found = found.set_axis(["w", "p"], axis=1).assign(n=groups.size())
    # An explainer without a known point is not boosted.
    found = found.reindex(sorted(set(real["explainer"])))
    return found.fillna({"w": NO_BOOST.w, "n": 0}).astype({"n": np.int64})


def _round_median(median: float) -> float:
    return float(f"{median:.{DIGITS_OF_MEDIANS}g}")


def chosen_points(tables: SweepTables) -> pd.DataFrame:
    """The point of each explainer's settings: of the options, else the medians of the selected table.

    w, p: requested, NaN without a point; used_w, used_p: the grid point (`measures.grid.nearest_point`), p NaN for the
    baseline, both NaN outside the grid; origin: the source of the point, and the wording that numbers at it allow.
    Controls have none.
    """
    import pandas as pd

    real = tables.non_controls
    other = tables.select_from
    datasets = real.factor_levels("dataset")
    # The origin of a point decides the wording of its numbers.
    if other is None:
        known = medians(tables.compute_once(best_of_all))
        source = "median of the best points of this table"
        judged = "in-sample"
    else:
        known = medians(best_points(other))
        source = f"median of the best points of {other.origin}"
        judged = _describe_selected_points(real, other)
    rows = {}
    for name in real.factor_levels("explainer"):
        if name in tables.fixed:
            asked = tables.fixed[name]
            origin = _describe_fixed_point(name, asked, grid_point(real, asked), datasets)
        elif name not in known.index:
            asked = NOWHERE
            origin = f"none: {source} has no {name}"
        else:
            asked = Point(p=float(known["p"][name]), w=float(known["w"][name]))
            origin = f"{source}, {judged}"
        used = grid_point(real, asked)
        if used is NOWHERE and asked is not NOWHERE:
            origin += f", p = {asked.p:g}, w = {asked.w:g}, which is not in this grid"
        rows[name] = (asked.w, asked.p, used.w, used.p, origin)
    return pd.DataFrame.from_dict(rows, orient="index", columns=["w", "p", "used_w", "used_p", "origin"])


def selection(tables: SweepTables) -> pd.DataFrame:
    """selection.parquet: of each explainer the medians, the strict ones, the point that is used, and its origin."""
    result = tables.compute_once(compute)
    found: pd.DataFrame = result["medians"]
    strict = result["strict_medians"].add_prefix("strict_")
    used = tables.compute_once(chosen_points)[["used_w", "used_p", "origin"]]
    return found.join(strict).join(used).rename_axis("explainer").reset_index()


def compute(tables: SweepTables) -> dict[str, Any]:
    """The medians of the best points; strict: of the settings only that some (p, w) improves.

    n_tied_with_baseline: settings, controls apart, that no (p, w) with w other than 1 improves.
    """
    best = tables.compute_once(best_of_all)
    tied = best["ties_baseline"] & ~best["control"]
    return {
        "n_tied_with_baseline": int(tied.sum()),
        "medians": medians(best),
        "strict_medians": medians(best, strict=True),
    }


def tables(result: Mapping[str, Any]) -> Iterator[Table]:
    """The medians by explainer."""
    rows = result["medians"].join(result["strict_medians"].add_prefix("strict "))
    if rows.empty:
        return
    columns = (
        "explainer",
        Column("w", "median w", "g"),
        Column("p", "median p", "g"),
        Column("n", "settings"),
        Column("strict w", form="g"),
        Column("strict p", form="g"),
        Column("strict n", "strict settings"),
    )
    note = (
        "Medians of the best points of the settings, of equal ones the first; strict: of the settings only that some "
        "(p, w) improves. With w = 1, the baseline, p means nothing."
    )
    title = "Median best points by explainer"
    yield Table.from_rows("selection_by_explainer", title, rows.rename_axis("explainer").reset_index(), columns, [note])


def published_points(tables: SweepTables) -> pd.DataFrame:
    """The settings at the published points of their explainers, of points.parquet."""
    points = tables.frame("points", PointRow)
    return points[points["point"] == PUBLISHED]


def declared_points(tables: SweepTables) -> pd.DataFrame:
    """Every setting at its declared points: points.parquet, with the tests of the gains.

    Of several judgements the first counts, which is the primary one. A test of another statistic than the grid's is
    about another gain, whose interval does not belong to this one: its rows are left out.
    test, family, low, high, p_value, p_holm, n, clusters: see `_tests_of_gains`; None and NaN without a test. survives:
    a gain above 0 after the correction.
    """
    points = tables.frame("points", PointRow)
    points = points[points["point"].isin(DECLARED_POINTS)].drop_duplicates(POINT)
    points = points[[*FACTORS, "point", "w", "p", "baseline", "correlation", "gain"]]
    settings = [SettingKey(*names) for names in points[[*FACTORS]].to_numpy().tolist()]
    points.insert(4, "cluster", [setting.cluster for setting in settings])
    points.insert(5, "control", np.array([setting.control for setting in settings], dtype=np.bool_))
    gains = points.merge(_tests_of_gains(tables, points), on=POINT, how="left")
    gains[["test", "family"]] = gains[["test", "family"]].where(gains["test"].notna(), None)
    # A loss can be significant, too.
    return gains.assign(survives=(gains["p_holm"] <= ALPHA) & (gains["gain"] > 0))


def _tests_of_gains(tables: SweepTables, points: pd.DataFrame) -> pd.DataFrame:
    """The tests of gains over the baseline at points, all by one test: the key POINT, and OF_TESTS.

    low, high: the 95 % interval of the gain, by a bootstrap of clusters of segments; p_value, p_holm: of the test
    `test`, uncorrected and corrected within `family`; n, clusters: segments and clusters behind it.
    """
    tests = tables.frame("tests", TestRow)
    over_metric = (tests["against"] == tests["metric"]) & (tests["level"] == "segment") & (tests["grouping"] == "none")
    tests = tests[over_metric & tests["p"].notna()].merge(points[POINT], on=POINT)
    of_grid = tables.frame("settings", SettingsRow)[[*FACTORS, "correlation"]]
    tests = tests.merge(of_grid, on=[*FACTORS], how="left")
    if tests["statistic"].nunique() == 1:
        # Without a table of settings it is that of the grid.
        tests["correlation"] = tests["correlation"].fillna(tests["statistic"])
    tests = tests[tests["statistic"] == tests["correlation"]]
    # One test for all settings: p values of different tests must not share a column.
    known = set(tests["test"])
    test = next((name for name in PREFERRED if name in known), None)
    tests = tests[tests["test"] == test].drop_duplicates(POINT)
    tests = tests.rename(columns={"p": "p_value"})
    # Counts stay whole numbers if other rows lack a test.
    return tests[[*POINT, *OF_TESTS]].astype({"n": object, "clusters": object})


def gains_at_declared_points(tables: SweepTables) -> pd.DataFrame:
    """The settings that are not controls at the declared point of their explainer: published, or chosen elsewhere.

    An explainer has one kind of point for all its settings, the first of DECLARED_POINTS at which a gain of one is
    defined. An explainer without a defined gain has no rows.
    """
    gains = tables.non_controls.names[[*FACTORS]].merge(tables.compute_once(declared_points), on=[*FACTORS])
    defined = gains[gains["gain"].notna()]
    order = defined["point"].map(DECLARED_POINTS.index)
    first = defined.iloc[np.argsort(order.to_numpy(), kind="stable")].drop_duplicates("explainer")
    point_of_explainer = dict(zip(first["explainer"], first["point"], strict=True))
    return gains[gains["point"] == gains["explainer"].map(point_of_explainer)].reset_index(drop=True)


def datasets_in_sample(tables: SweepTables, explainer: str, datasets: Sequence[str]) -> list[str]:
    """The data sets among `datasets` on which the published point of an explainer was chosen.

    None if the sweep's point is another one than the paper's.
    """
    papers = PUBLISHED_POINTS.get(explainer)
    if papers is None:
        return []
    used = grid_point(tables.table, papers)
    rows = published_points(tables)
    for row in each_row(rows[rows["explainer"] == explainer]):
        # The sweep may have a point of its own (grid.fixed).
        if Point(p=row.p, w=row.w) != used:
            return []
    return [name for name in datasets if name in PAPERS_DATASETS]


def describe_in_sample_gains(tables: SweepTables) -> str:
    """Which gains at published points are in-sample, in a sentence; "" if none is."""
    rows = published_points(tables)
    datasets = sorted(set(rows["dataset"]))
    explainers = sorted(set(rows["explainer"]))
    chosen_on = {name: datasets_in_sample(tables, name, datasets) for name in explainers}
    in_sample = [display_name(name) for name in explainers if chosen_on[name]]
    if not in_sample:
        return ""
    papers = join_names([name for name in datasets if name in PAPERS_DATASETS])
    return f"The published point of {join_names(in_sample)} was chosen on {papers}: gains at it are in-sample there."


def points_in_words(points: pd.DataFrame) -> str:
    """Describe the chosen points, requested and used, in one sentence per origin."""
    by_origin: dict[str, list[str]] = {}
    for point in each_row(points):
        shown = point_in_words(point.w, point.p)
        used = point_in_words(point.used_w, point.used_p)
        if used != shown:
            shown += f" (used {used})"
        by_origin.setdefault(point.origin, []).append(f"{point.Index} {shown}")
    sentences = [f"Points, {origin}: {'; '.join(shown)}." for origin, shown in by_origin.items()]
    return " ".join(sentences)


def grid_point(table: GridTable, point: Point) -> Point:
    """The point of the table's grid that `point` is evaluated at; NO_BOOST where its w is 1, NOWHERE outside."""
    place = nearest_point(table.p, table.w, point.p, point.w)
    if place is None:
        return NOWHERE
    row, column = place
    w = float(table.w[column])
    if w == 1:
        return NO_BOOST
    return Point(p=float(table.p[row]), w=w)


def gains_at(table: GridTable, point: Point) -> Floats:
    """float64[S] gains of all settings at one point; exactly 0 at w = 1, NaN outside the grid."""
    place = nearest_point(table.p, table.w, point.p, point.w)
    if place is None:
        return np.full(len(table), np.nan)
    row, column = place
    # The baseline gains nothing by definition; rows with w = 1 may differ over p by rounding.
    if table.w[column] == 1:
        return np.where(np.isnan(table.baseline), np.nan, 0.0)
    return np.asarray(table.gains[:, row, column], dtype=np.float64)


def correlations_at(table: GridTable, point: Point) -> Floats:
    """float64[S] correlations of all settings at one point, as they were computed; NaN outside the grid."""
    place = nearest_point(table.p, table.w, point.p, point.w)
    if place is None:
        return np.full(len(table), np.nan)
    row, column = place
    # The baseline may be undefined at some p only.
    if table.w[column] == 1:
        return table.baseline
    return np.asarray(table.correlation[:, row, column], dtype=np.float64)


def check_selection(table: GridTable, other: GridTable) -> None:
    """Raise ConfigError that names the settings of both tables: points are judged on other settings only."""
    shared = sorted(set(table.non_controls.settings) & set(other.settings))
    if shared:
        labels = join_names([setting.label for setting in shared], separator="; ")
        raise ConfigError(
            f"{table.origin}: select.from={other.origin} shares {pluralize(len(shared), 'setting')} with it: {labels}. "
            "Points would be judged in-sample: leave select.from out, or name a table without these settings."
        )


def _describe_selected_points(table: GridTable, other: GridTable) -> str:
    """How points of another table may be described: on the same data sets and language pairs, segments are the same."""
    clusters = {setting.cluster for setting in table.settings}
    clusters_of_other = {setting.cluster for setting in other.non_controls.settings}
    shared = sorted(clusters & clusters_of_other)
    if not shared:
        return "held out (no data set and language pair in common)"
    return f"chosen elsewhere (on the same segments: {join_names(shared)})"


def _describe_fixed_point(explainer: str, point: Point, used: Point, datasets: Sequence[str]) -> str:
    """Describe a point that the user set: the paper's own is in-sample on the paper's data sets."""
    is_there = used in (point, NO_BOOST, NOWHERE)  # else its nearest neighbour is used
    if PUBLISHED_POINTS.get(explainer) != point:
        origin = "given" if is_there else "nearest to the given one"
        return f"{origin} (chosen on unknown data)"
    papers = [name for name in datasets if name in PAPERS_DATASETS]
    source = f"in-sample on {join_names(papers)}" if papers else "chosen on other data"
    origin = "published" if is_there else "nearest to the published one"
    return f"{origin} ({source})"


def evaluation_point_name(tables: SweepTables) -> str:
    """The name of the points at which the settings are evaluated."""
    return "published point" if tables.fixed else "median point"


def point_name(explainer: str, w: float, p: float) -> str:
    """The point at which an explainer was evaluated: "the published point", or "w 0.3, p -1" for any other."""
    if PUBLISHED_POINTS.get(explainer) == Point(p=p, w=w):
        return "the published point"
    return point_in_words(w, p)
