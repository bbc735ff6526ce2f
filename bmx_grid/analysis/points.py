"""The (p, w) of settings and explainers: the best of each setting, their medians, and the one each is evaluated at.

The best point is the first of equal ones, the median is the ordinary one of p and of w separately (paper 4.2), so that
it need not be a grid point. Where a point was chosen says how numbers at it may be described.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bmx_grid.analysis.base import Column, Given, GridTable, SettingKey, Table, rows_by
from bmx_grid.core.configure import load_option
from bmx_grid.core.errors import ConfigError
from bmx_grid.core.ragged import Floats
from bmx_grid.core.wording import counted, named, point_in_words, written
from bmx_grid.evaluations.base import SettingRow
from bmx_grid.evaluations.boost_evidence import PUBLISHED
from bmx_grid.evaluations.grid_surface import PointRow
from bmx_grid.measures.correlation import TIE, beats, first_within_rounding, plateau_within_no_change
from bmx_grid.measures.grid import Point, nearest_point

# Leiter, Nguyen, Eger 2022, section 4.2 and Figure 5: chosen on all settings of these data sets together.
PUBLISHED_POINTS = {name: Point(**point) for name, point in load_option("grid", "paper")["fixed"].items()}
PAPERS_DATASETS = frozenset(("wmt17", "eval4nlp21", "mlqe_pe"))
NOWHERE = Point(float("nan"), float("nan"))
NO_BOOST = Point(p=float("nan"), w=1.0)
DIGITS_OF_MEDIANS = 12  # of a median: the mean of 0.2 and 0.4 is 0.30000000000000004 in binary, and 0.3 to a reader


@dataclass(frozen=True, kw_only=True)
class BestPoint(SettingRow):
    """A setting of a table with its best point; the words are defined in measures.correlation.

    Of equal points the first, as in the paper (`first_within_rounding`), w = 1 allowed: a setting that nothing improves
    gets the lowest p of the grid and the w of the first tied point there.
    baseline: correlation of the metric alone; best, best_w, best_p, gain: correlation of the best point, where it is
    (NaN without one), gain above the baseline. ties_baseline: no point with w other than 1 beats the baseline; False
    where that is undefined. plateau: points of `plateau_within_no_change`.
    """

    control: bool
    baseline: float
    best: float
    best_w: float
    best_p: float
    gain: float
    ties_baseline: bool
    plateau: int

    @property
    def setting(self) -> SettingKey:
        """The names of its setting."""
        return SettingKey(*self.setting_names)


@dataclass(frozen=True)
class Median:
    """The median w and p of the best points of n settings; the metric alone without one."""

    w: float
    p: float
    n: int


@dataclass(frozen=True)
class ChosenPoint:
    """The point of an explainer.

    w, p: asked for, NaN without a point; used_w, used_p: the grid point its settings are evaluated at
    (`measures.grid.nearest_point`), p NaN for the metric alone, both NaN outside the grid; origin: where the point
    comes from and how numbers at it may be described, in words.
    """

    w: float
    p: float
    used_w: float
    used_p: float
    origin: str


@dataclass(frozen=True)
class Selection:
    """One row of selection.parquet: what is selected for an explainer, and where its settings are evaluated.

    w, p: the medians of the best points of n settings; strict: of those only that some (p, w) improves. used_w, used_p,
    origin: as of `ChosenPoint`.
    """

    explainer: str
    w: float
    p: float
    n: int
    strict_w: float
    strict_p: float
    strict_n: int
    used_w: float
    used_p: float
    origin: str


@dataclass(frozen=True)
class Medians:
    """The medians of the best points, by explainer; strict: over those settings only that some (p, w) improves.

    n_tied_with_baseline: settings, controls apart, that no (p, w) with w other than 1 improves.
    """

    n_tied_with_baseline: int
    medians: Mapping[str, Median]
    strict_medians: Mapping[str, Median]


def best_points(table: GridTable) -> list[BestPoint]:
    """Every setting of a table with its best point."""
    if not len(table):
        return []
    # Of points with w other than 1: the first best point below may be the metric alone.
    highest, plateau = plateau_within_no_change(table.correlation, table.w)
    highest_gain = np.where(np.isfinite(highest), highest - table.baseline, np.nan)
    tied = np.isfinite(table.baseline) & ~beats(highest_gain)
    places = first_within_rounding(table.correlation)
    rows = []
    for row, setting in enumerate(table.settings):
        baseline = float(table.baseline[row])
        best = baseline
        w = math.nan
        p = math.nan
        # The place in the flat grid, whose rows are powers; -1 where all is undefined.
        place = int(places[row])
        if place >= 0:
            power, weight = divmod(place, len(table.w))
            best = float(table.correlation[row, power, weight])
            p = float(table.p[power])
            w = float(table.w[weight])
        best_point = BestPoint(
            **setting._asdict(),
            control=setting.control,
            baseline=baseline,
            best=best,
            best_w=w,
            best_p=p,
            gain=best - baseline,
            ties_baseline=bool(tied[row]),
            plateau=int(plateau[row].sum()),
        )
        rows.append(best_point)
    return rows


def best_of_all(given: Given) -> list[BestPoint]:
    """The best points of all settings, controls among them."""
    return best_points(given.table)


def medians(best: Sequence[BestPoint], *, strict: bool = False) -> dict[str, Median]:
    """By explainer the medians of its best points; strict: of those only that are better than the metric alone.

    Controls take no part.
    """
    real = [row for row in best if not row.control]
    by_explainer = rows_by(real, lambda row: row.explainer)
    medians_by_explainer = {}
    for explainer, rows in sorted(by_explainer.items()):
        known = [row for row in rows if math.isfinite(row.best_w)]
        if strict:
            known = [row for row in known if row.gain > TIE]
        w = NO_BOOST.w
        p = NO_BOOST.p
        if known:
            w = _median([row.best_w for row in known])
            p = _median([row.best_p for row in known])
        medians_by_explainer[explainer] = Median(w, p, len(known))
    return medians_by_explainer


def _median(values: Sequence[float]) -> float:
    # Between -inf and inf there is no middle: NaN.
    with np.errstate(invalid="ignore"):
        median = np.median(values)
    return float(f"{median:.{DIGITS_OF_MEDIANS}g}")


def chosen_points(given: Given) -> dict[str, ChosenPoint]:
    """The points of the options, else the medians of the selected table, by explainer; controls have none."""
    real = given.real
    other = given.select_from
    datasets = real.factor_levels("dataset")
    # Where a point was chosen decides what its numbers may be called.
    if other is None:
        known = medians(given.ask(best_of_all))
        source = "median of the best points of this table"
        judged = "in-sample (chosen where it is judged)"
    else:
        known = medians(best_points(other))
        source = f"median of the best points of {other.origin}"
        judged = _elsewhere(real, other)
    points = {}
    for name in real.factor_levels("explainer"):
        if name in given.fixed:
            asked = given.fixed[name]
            origin = _given(name, asked, grid_point(real, asked), datasets)
        elif name not in known:
            asked = NOWHERE
            origin = f"none: {source} has no {name}"
        else:
            asked = Point(known[name].p, known[name].w)
            origin = f"{source}, {judged}"
        used = grid_point(real, asked)
        if used is NOWHERE and asked is not NOWHERE:
            origin += f", p = {asked.p:g}, w = {asked.w:g}, which is not in this grid"
        points[name] = ChosenPoint(asked.w, asked.p, used.w, used.p, origin)
    return points


def selection(given: Given) -> list[Selection]:
    """What is selected for each explainer, and where its settings are evaluated."""
    points = given.ask(chosen_points)
    result = given.ask(compute)
    rows = []
    for name, median in result.medians.items():
        strict = result.strict_medians[name]
        point = points[name]
        row = Selection(
            explainer=name,
            w=median.w,
            p=median.p,
            n=median.n,
            strict_w=strict.w,
            strict_p=strict.p,
            strict_n=strict.n,
            used_w=point.used_w,
            used_p=point.used_p,
            origin=point.origin,
        )
        rows.append(row)
    return rows


def compute(given: Given) -> Medians:
    """The medians of the best points."""
    best = given.ask(best_of_all)
    tied = sum(row.ties_baseline for row in best if not row.control)
    return Medians(tied, medians(best), medians(best, strict=True))


def tables(result: Medians) -> Iterator[Table]:
    """The medians by explainer."""
    if not result.medians:
        return
    rows = []
    for name, row in result.medians.items():
        strict = result.strict_medians[name]
        beside = {"strict w": strict.w, "strict p": strict.p, "strict n": strict.n}
        rows.append({"explainer": name, **vars(row), **beside})
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
        "(p, w) improves. With w = 1, the metric alone, p means nothing."
    )
    yield Table.of("selection_by_explainer", "Median best points by explainer", rows, columns, [note])


def in_sample_on(given: Given, explainer: str, datasets: Sequence[str]) -> list[str]:
    """On which of some data sets the published point of an explainer was chosen: those of its paper.

    None where the sweep's point is another one than the paper's.
    """
    papers = PUBLISHED_POINTS.get(explainer)
    if papers is None:
        return []
    used = grid_point(given.table, papers)
    for row in given.rows("points", PointRow):
        is_published = row.explainer == explainer and row.point == PUBLISHED
        # The sweep may have a point of its own (grid.fixed).
        if is_published and Point(p=row.p, w=row.w) != used:
            return []
    return [name for name in datasets if name in PAPERS_DATASETS]


def in_sample_in_words(given: Given) -> str:
    """Which gains at published points are in-sample, in a sentence; "" where none is."""
    rows = [row for row in given.rows("points", PointRow) if row.point == PUBLISHED]
    datasets = sorted({row.dataset for row in rows})
    explainers = sorted({row.explainer for row in rows})
    chosen_on = {name: in_sample_on(given, name, datasets) for name in explainers}
    in_sample = [written(name) for name in explainers if chosen_on[name]]
    if not in_sample:
        return ""
    papers = named([name for name in datasets if name in PAPERS_DATASETS])
    return f"The published point of {named(in_sample)} was chosen on {papers}: gains at it are in-sample there."


def points_in_words(points: Mapping[str, ChosenPoint]) -> str:
    """The chosen points of explainers, asked for and used, and where they come from: one sentence per origin."""
    by_origin: dict[str, list[str]] = {}
    for name, point in points.items():
        shown = point_in_words(point.w, point.p)
        used = point_in_words(point.used_w, point.used_p)
        if used != shown:
            shown += f" (used {used})"
        by_origin.setdefault(point.origin, []).append(f"{name} {shown}")
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
    # The metric alone gains nothing by definition; rows with w = 1 may differ over p by rounding.
    if table.w[column] == 1:
        return np.where(np.isnan(table.baseline), np.nan, 0.0)
    return np.asarray(table.gains[:, row, column], dtype=np.float64)


def correlation_at(table: GridTable, row: int, point: Point) -> float:
    """The correlation of one setting at a point, as it was computed; NaN outside the grid."""
    place = nearest_point(table.p, table.w, point.p, point.w)
    if place is None:
        return math.nan
    # The metric alone may be undefined at some p only.
    if table.w[place[1]] == 1:
        return float(table.baseline[row])
    return float(table.correlation[row][place])


def check_selection(table: GridTable, other: GridTable) -> None:
    """Refuse to judge points where they were chosen. Raises ConfigError naming the settings that both tables have."""
    shared = sorted(set(table.real.settings) & set(other.settings))
    if shared:
        labels = named([setting.label for setting in shared], separator="; ")
        raise ConfigError(
            f"{table.origin}: select.from={other.origin} shares {counted(len(shared), 'setting')} with it: {labels}. "
            "Points would be judged where they were chosen: leave select.from out, or name a table without these."
        )


def _elsewhere(table: GridTable, other: GridTable) -> str:
    """How points of another table may be described: on the same data sets and language pairs, segments are the same."""
    clusters = {setting.cluster for setting in table.settings}
    clusters_of_other = {setting.cluster for setting in other.real.settings}
    shared = sorted(clusters & clusters_of_other)
    if not shared:
        return "held out (no data set and language pair in common)"
    return f"chosen elsewhere (on the same segments: {named(shared)})"


def _given(explainer: str, point: Point, used: Point, datasets: Sequence[str]) -> str:
    """How a point may be described that was given: the paper's own is in-sample on the paper's data sets."""
    is_there = used in (point, NO_BOOST, NOWHERE)  # else its nearest neighbour is used
    if PUBLISHED_POINTS.get(explainer) != point:
        origin = "given" if is_there else "nearest to the given one"
        return f"{origin} (what it was chosen on is not known here)"
    papers = [name for name in datasets if name in PAPERS_DATASETS]
    source = f"in-sample on {named(papers)}" if papers else "chosen on other data"
    origin = "as published" if is_there else "nearest to the published one"
    return f"{origin} ({source})"


def point_name(explainer: str, w: float, p: float) -> str:
    """The point at which an explainer was evaluated: "the published point", or "w 0.3, p -1" for any other."""
    if PUBLISHED_POINTS.get(explainer) == Point(p=p, w=w):
        return "the published point"
    return point_in_words(w, p)
