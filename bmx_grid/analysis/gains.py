"""Gains at one (w, p) per explainer (paper 4.3 to 4.5): what was tested of them, and their summaries.

Settings of one data set and language pair share segments and human scores: intervals and tests count these clusters,
not settings. 15 of 18 settings on six language pairs are 5 of 6 pairs; the sign test gives p = .109, not .004.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bmx_grid.analysis.base import (
    CONTROL,
    FACTORS,
    Column,
    Given,
    GridTable,
    SettingKey,
    Table,
    first_by,
    rows_by,
    with_keys,
)
from bmx_grid.analysis.points import (
    BestPoint,
    ChosenPoint,
    Median,
    best_of_all,
    chosen_points,
    gains_at,
    points_in_words,
)
from bmx_grid.core.wording import P_VALUE
from bmx_grid.evaluations.base import Estimate
from bmx_grid.evaluations.boost_evidence import ALL, ELSEWHERE, PUBLISHED
from bmx_grid.evaluations.grid_surface import PointRow
from bmx_grid.evaluations.significance import TestRow
from bmx_grid.measures.correlation import better, correlate, worse
from bmx_grid.measures.grid import Point
from bmx_grid.measures.resampling import BOOTSTRAPPED, cluster_mean

ALPHA = 0.05
DECLARED_POINTS = (PUBLISHED, ELSEWHERE)  # points that were not chosen where they are judged; the first that is there
# Of several tests of one gain the one whose p value is shown: permutations need no assumption about the scores.
PREFERRED = ("perm_inputs", "perm_both", "perm_systems", "bootstrap", "williams")
SAME = 1e-6  # how far the gain of a point and the difference that was tested may lie apart, by rounding
SURVIVES = f"it survives Holm's correction at {ALPHA:.2f} within its family".replace("0.", ".")
MARKED = f"Bold, and † in plain text: a gain above 0 where {SURVIVES}; nothing else is marked."
COUNTED = "Better: gain above 1e-5; equal or worse: gain of 0 or less; between: a gain up to 1e-5."
CLUSTERED = (
    "In brackets: 95 % interval of the mean gain over the language pairs of all data sets: by Student's t, from "
    f"{BOOTSTRAPPED} pairs on by a bootstrap of them (none with fewer than 3)."
)
SIGN_TEST = "Above 0: pairs whose mean gain is; sign test p: one-sided, of these counts."
SUMMARY_COLUMNS = (
    "n",
    "better",
    Column("worse", "equal or worse"),
    Column("unchanged", "between"),
    "undefined",
    Column("mean_gain", "mean gain", "+.5f", ("mean_low", "mean_high")),
    Column("clusters", "pairs"),
    Column("clusters_better", "above 0"),
    Column("sign_p", "sign test p", P_VALUE),
)


class Gain(NamedTuple):
    """A gain of a setting, NaN where undefined, above the correlation of the metric alone."""

    setting: SettingKey
    baseline: float
    gain: float


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What some settings gain.

    n: settings with a defined gain; undefined: the others, counted in nothing else. better, worse: as in `correlation`,
    a gain above 1e-5, and one of 0 or less; unchanged: the rest; positive: better and unchanged.
    max_gain, mean_gain, mean_baseline: over the n settings; NaN if there are none.
    mean_low, mean_high: 95 % interval of the mean gain over clusters (`cluster_mean`), NaN with fewer than 3. clusters:
    how many there are; clusters_better: those with a mean gain above 0; sign_p: the one-sided sign test of these.
    """

    n: int
    better: int
    worse: int
    unchanged: int
    undefined: int
    positive: int
    max_gain: float
    mean_gain: float
    mean_baseline: float
    mean_low: float
    mean_high: float
    clusters: int
    clusters_better: int
    sign_p: float

    @property
    def mean(self) -> Estimate:
        """The mean gain."""
        return Estimate(self.mean_gain, self.mean_low, self.mean_high)


@dataclass(frozen=True, kw_only=True)
class FixedSummary(Summary, ChosenPoint):
    """What the settings of an explainer gain at its point; of all settings there is none."""


@dataclass(frozen=True)
class DeclaredPoint:
    """A setting at one of its declared points; fields as of `PointRow`."""

    dataset: str
    language_pair: str
    metric: str
    explainer: str
    cluster: str
    control: bool
    point: str
    w: float
    p: float
    baseline: float
    correlation: float
    gain: float


@dataclass(frozen=True)
class GainTest:
    """What was tested of a gain; None and NaN where nothing was.

    low, high: its 95 % interval, by a bootstrap of clusters of segments; p_value, p_holm: of the test `test`, alone and
    corrected within `family`; n, clusters: segments and clusters behind it; survives: above 0 after the correction.
    """

    test: str | None = None
    family: str | None = None
    low: float = math.nan
    high: float = math.nan
    p_value: float = math.nan
    p_holm: float = math.nan
    n: float = math.nan
    clusters: float = math.nan
    survives: bool = False


@dataclass(frozen=True)
class DeclaredGain(GainTest, DeclaredPoint):
    """A setting at one of its declared points, with what was tested of its gain there."""

    @property
    def setting(self) -> SettingKey:
        """The names of its setting."""
        return SettingKey(self.dataset, self.language_pair, self.metric, self.explainer)


@dataclass(frozen=True, kw_only=True)
class SettingAtPoints(BestPoint):
    """A setting with its best point, and at the point of its explainer; controls have none.

    fixed: correlation at fixed_w, fixed_p, the grid point that is used; fixed_gain, and where the sweep tested this
    point its 95 % interval; fixed_gain_p, fixed_gain_p_holm: of that test, alone and corrected; survives: a gain
    above 0 that survives.
    """

    fixed: float
    fixed_w: float
    fixed_p: float
    fixed_gain: Estimate
    fixed_gain_p: float
    fixed_gain_p_holm: float
    survives: bool


def summarise(settings: Sequence[Gain], seed: int = 0) -> Summary:
    """The summary of the gains of some settings. seed: of the bootstrap."""
    defined = [row for row in settings if not math.isnan(row.gain)]
    gains = np.array([row.gain for row in defined])
    n = len(gains)
    n_better = int(better(gains).sum())
    n_worse = int(worse(gains).sum())
    # Language pairs are what could be drawn again, not settings, which share segments.
    mean = cluster_mean(gains, [row.setting.cluster for row in defined], seed=seed)
    return Summary(
        n=n,
        better=n_better,
        worse=n_worse,
        unchanged=n - n_better - n_worse,
        undefined=len(settings) - n,
        positive=n - n_worse,
        max_gain=max(gains.tolist(), default=math.nan),
        mean_gain=mean.mean,
        mean_baseline=float(np.mean([row.baseline for row in defined])) if n else math.nan,
        mean_low=mean.low,
        mean_high=mean.high,
        clusters=mean.clusters,
        clusters_better=mean.positive,
        sign_p=mean.p,
    )


def summaries(settings: Sequence[Gain], factor: str, seed: int) -> dict[str, Summary]:
    """A summary of the settings of each name of a factor."""
    groups = rows_by(settings, lambda row: getattr(row.setting, factor))
    return {name: summarise(rows, seed) for name, rows in sorted(groups.items())}


def declared_points(given: Given) -> list[DeclaredGain]:
    """Every setting at each of its declared points.

    Of several judgements the first counts, which is the primary one. A test of another statistic than the grid's speaks
    of another gain, whose interval must not stand beside this one: its rows are left out.
    """
    rows = [row for row in given.rows("points", PointRow) if row.point in DECLARED_POINTS]
    points = first_by(rows, lambda row: (*row.setting_names, row.point))
    tests: dict[str, dict[Any, TestRow]] = {}
    for test in given.rows("tests", TestRow):
        key = (*test.setting_names, test.point)
        over_metric = test.against == test.metric and test.level == "segment" and test.grouping == "none"
        if not over_metric or key not in points or math.isnan(test.p):
            continue
        if not abs(test.difference.value - points[key].gain) > SAME:  # an undefined gain is no other one
            tests.setdefault(test.test, {}).setdefault(key, test)
    # One test for all settings: p values of different tests must not stand in one column.
    shown = next((tests[name] for name in PREFERRED if name in tests), {})
    gains = []
    for key, row in points.items():
        setting = SettingKey(*row.setting_names)
        tested = _tested(shown[key], row.gain) if key in shown else GainTest()
        gains.append(DeclaredGain(**vars(row), **vars(tested), cluster=setting.cluster, control=setting.control))
    return gains


def _tested(test: TestRow, gain: float) -> GainTest:
    ends = test.difference.low, test.difference.high
    # A loss can be significant, too.
    survives = test.p_holm <= ALPHA and gain > 0
    return GainTest(test.test, test.family, *ends, test.p, test.p_holm, test.n, test.clusters, survives)


def declared(given: Given) -> list[DeclaredGain]:
    """The settings that are not controls at the declared point of their explainer: published, or chosen elsewhere.

    An explainer has one kind of point for all its settings, the first of DECLARED_POINTS at which a gain of one is
    defined.
    """
    by_setting = rows_by(given.ask(declared_points), lambda row: row.setting)
    points: list[DeclaredGain] = []
    for setting in given.real.settings:
        points += by_setting.get(setting, [])
    defined = [row for row in points if not math.isnan(row.gain)]
    defined.sort(key=lambda row: DECLARED_POINTS.index(row.point))
    first = first_by(defined, lambda row: row.explainer)
    return [row for row in points if row.explainer in first and row.point == first[row.explainer].point]


def at_points(given: Given) -> list[SettingAtPoints]:
    """Every setting, with its best point and at the point of its explainer."""
    points = given.ask(chosen_points)
    # the metric alone is the same point whatever its p
    tested = first_by(given.ask(declared_points), lambda row: (row.setting, row.w, None if row.w == 1 else row.p))
    rows = []
    for best, there in zip(given.ask(best_of_all), gains_of(given.table, points), strict=True):
        w = p = gain = math.nan
        if not best.control:
            w = points[best.explainer].used_w
            p = points[best.explainer].used_p
            gain = there.gain
        test = tested.get((best.setting_names, w, None if w == 1 else p), GainTest())
        rows.append(
            SettingAtPoints(
                **vars(best),
                fixed=best.baseline + gain,
                fixed_w=w,
                fixed_p=p,
                fixed_gain=Estimate(gain, test.low, test.high),
                fixed_gain_p=test.p_value,
                fixed_gain_p_holm=test.p_holm,
                survives=test.survives,
            )
        )
    return rows


def gains_of(table: GridTable, points: Mapping[str, Median | ChosenPoint]) -> list[Gain]:
    """The gains of the settings of a table, each at the point of its explainer; NaN without one."""
    gains = np.full(len(table), np.nan)
    explainers = np.array([setting.explainer for setting in table.settings], dtype=object)
    for explainer, point in points.items():
        rows = explainers == explainer
        gains[rows] = gains_at(table, Point(point.p, point.w))[rows]
    return list(map(Gain, table.settings, table.baseline.tolist(), gains.tolist()))


def real_at_points(given: Given) -> list[SettingAtPoints]:
    """The settings that are not controls, at the points of their explainers."""
    return [row for row in given.ask(at_points) if not row.control]


def real_gains(given: Given) -> list[Gain]:
    """The gains of these there."""
    rows = given.ask(real_at_points)
    return [Gain(SettingKey(*row.setting_names), row.baseline, row.fixed_gain.value) for row in rows]


def gains_by_explainer(given: Given) -> dict[str, FixedSummary]:
    """By explainer its point and a summary of its settings there."""
    points = given.ask(chosen_points)
    rows = summaries(given.ask(real_gains), "explainer", given.seed)
    return {name: FixedSummary(**vars(points[name]), **vars(row)) for name, row in rows.items()}


def overview(given: Given) -> dict[str, FixedSummary]:
    """The same, and the summary of all settings; empty without settings."""
    rows = given.ask(gains_by_explainer)
    settings = given.ask(real_gains)
    if not settings:
        return rows
    # Explainers have different points: all settings together have none.
    nowhere: dict[str, Any] = {**dict.fromkeys(("w", "p", "used_w", "used_p"), math.nan), "origin": None}
    of_all = summarise(settings, given.seed)
    return {**rows, ALL: FixedSummary(**nowhere, **vars(of_all))}


@dataclass(frozen=True)
class Gains:
    """Gains at the point of each explainer, by explainer, by factor and name; and of control settings.

    fixed: by explainer its point and a summary; fixed_by: by factor, explainer and name.
    gain_baseline_pearson: Pearson's r of the gain with the baseline, of all and by explainer: is a weak metric easier
    to improve? The gain is coupled to the baseline, so that noise alone makes this negative; gain_baseline_oldham: the
    same with the mean of baseline and boosted correlation (Oldham 1962), which noise in both does not move.
    controls: summaries of the control settings, read at the points of the real explainers: at the median of its own
    best points, which is mostly w = 1, the random explainer would gain nothing by construction. Best of the grid: of
    the gains at the best point of each setting of a metric that is no control. judged: whether boosts have verdicts.
    """

    fixed: Mapping[str, FixedSummary]
    fixed_by: Mapping[str, Mapping[str, Mapping[str, Summary]]]
    gain_baseline_pearson: Mapping[str, float]
    gain_baseline_oldham: Mapping[str, float]
    controls: Mapping[str, Mapping[str, Summary]]
    judged: bool
    points: str


def compute(given: Given) -> Gains:
    """What the settings gain at the points of their explainers."""
    settings = given.ask(real_gains)
    by_explainer = dict(sorted(rows_by(settings, lambda row: row.setting.explainer).items()))
    fixed_by: dict[str, dict[str, dict[str, Summary]]] = {}
    for factor in FACTORS[:3]:
        for explainer, rows in by_explainer.items():
            fixed_by.setdefault(factor, {})[explainer] = summaries(rows, factor, given.seed)
    groups = {**by_explainer, "all": settings}
    return Gains(
        fixed=given.ask(gains_by_explainer),
        fixed_by=fixed_by,
        gain_baseline_pearson={name: _of_baseline(rows, 0.0) for name, rows in groups.items()},
        gain_baseline_oldham={name: _of_baseline(rows, 0.5) for name, rows in groups.items()},
        controls=_controls(given),
        judged=given.judged,
        points=points_in_words(given.ask(chosen_points)),
    )


def _of_baseline(settings: Sequence[Gain], part: float) -> float:
    """Pearson's r of the gain with the baseline plus this part of the gain."""
    gains = [row.gain for row in settings]
    levels = [row.baseline + part * row.gain for row in settings]
    return correlate("pearson", gains, levels)


def _controls(given: Given) -> dict[str, dict[str, Summary]]:
    points = given.ask(chosen_points)
    seed = given.seed
    # Where both are random there is nothing that either could be a control of.
    random = given.table.where(lambda setting: setting.explainer == CONTROL != setting.metric)
    random_metric = given.table.where(lambda setting: setting.metric == CONTROL != setting.explainer)
    controls = {}
    if len(random):
        at_points = {}
        for name, point in points.items():
            gains = gains_of(random, {CONTROL: point})
            at_points[name] = summarise(gains, seed)
        controls["random explainer"] = at_points
        best = [row for row in given.ask(best_of_all) if row.metric != CONTROL]
        gains = [Gain(SettingKey(*row.setting_names), row.baseline, row.gain) for row in best]
        controls["best of the grid"] = summaries(gains, "explainer", seed)
    if len(random_metric):
        controls["random metric"] = summaries(gains_of(random_metric, points), "explainer", seed)
    return {control: rows for control, rows in controls.items() if rows}


def tables(result: Gains) -> Iterator[Table]:
    """Gains by data set, language pair and metric, where boosts have no verdicts; control settings."""
    notes = (COUNTED, f"{CLUSTERED} {SIGN_TEST}", result.points)
    by_factor = with_keys(result.fixed_by, "factor", "explainer", "name")
    controls = with_keys(result.controls, "control", "explainer")
    if by_factor and not result.judged:
        columns = ("factor", "name", "explainer", *SUMMARY_COLUMNS, Column("mean_baseline", "mean baseline", ".4f"))
        title = "Gains at the fixed points by data set, language pair and metric"
        yield Table.of("gains_by_factor", title, by_factor, columns, notes, by=["factor"], names=3)
    if controls:
        note = (
            "Random explainer: attributions drawn at random for real metrics, at the points of the real explainers. "
            "Random metric: real explainers with a metric that is noise, at their points. Best of the grid: at the "
            "best point of each setting, chosen where it is judged, the metric alone among them; what random "
            "attributions reach there is found by looking at the whole grid, not by an explanation."
        )
        of_controls = ("control", "explainer", *SUMMARY_COLUMNS)
        notes = (note, *notes[:2])
        yield Table.of("controls", "Control settings", controls, of_controls, notes, by=["control"], names=2)
