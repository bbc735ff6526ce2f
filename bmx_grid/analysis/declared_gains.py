"""Gains at declared points, which were not chosen where they are judged, and what was tested of them."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from bmx_grid.analysis.base import Given, SettingKey, first_by, rows_by
from bmx_grid.evaluations.boost_evidence import ELSEWHERE, PUBLISHED
from bmx_grid.evaluations.grid_surface import PointRow
from bmx_grid.evaluations.significance import TestRow

ALPHA = 0.05
# Points that were not chosen on the segments of this sweep that judge them; the first that is there.
DECLARED_POINTS = (PUBLISHED, ELSEWHERE)
# Of several tests of one gain the one whose p value is shown: permutations need no assumption about the scores.
PREFERRED = ("perm_inputs", "perm_both", "perm_systems", "bootstrap", "williams")
SURVIVES = f"it survives Holm's correction at {ALPHA:.2f} within its family".replace("0.", ".")
MARKED = f"Bold, and † in plain text: a gain above 0 where {SURVIVES}; nothing else is marked."


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


def declared_points(given: Given) -> list[DeclaredGain]:
    """Every setting at each of its declared points.

    Of several judgements the first counts, which is the primary one. A test of another statistic than the grid's speaks
    of another gain, whose interval must not stand beside this one: its rows are left out.
    """
    rows = [row for row in given.rows("points", PointRow) if row.point in DECLARED_POINTS]
    points = first_by(rows, lambda row: (*row.setting_names, row.point))
    tests = _tests_of_points(given, points)
    gains = []
    for key, row in points.items():
        setting = SettingKey(*row.setting_names)
        tested = GainTest()
        if key in tests:
            tested = _tested(tests[key], row.gain)
        gains.append(DeclaredGain(**vars(row), **vars(tested), cluster=setting.cluster, control=setting.control))
    return gains


def _tests_of_points(given: Given, points: Collection[Any]) -> dict[Any, TestRow]:
    """The tests of these gains over the metric alone, all by one test, by the keys of the points."""
    tests = []
    for row in given.rows("tests", TestRow):
        over_metric = row.against == row.metric and row.level == "segment" and row.grouping == "none"
        if over_metric and _key(row) in points and not math.isnan(row.p):
            tests.append(row)
    correlations = {row.setting_names: row.correlation for row in given.settings}
    statistics = {row.statistic for row in tests}
    if len(statistics) == 1:
        # Without a table of settings it is that of the grid.
        correlations = {row.setting_names: row.statistic for row in tests} | correlations
    by_test: dict[str, dict[Any, TestRow]] = {}
    for row in tests:
        if row.statistic == correlations.get(row.setting_names):
            by_test.setdefault(row.test, {}).setdefault(_key(row), row)
    # One test for all settings: p values of different tests must not stand in one column.
    for name in PREFERRED:
        if name in by_test:
            return by_test[name]
    return {}


def _key(row: TestRow) -> tuple[str, ...]:
    """The setting and the point of a test."""
    return (*row.setting_names, row.point)


def _tested(row: TestRow, gain: float) -> GainTest:
    return GainTest(
        test=row.test,
        family=row.family,
        low=row.difference.low,
        high=row.difference.high,
        p_value=row.p,
        p_holm=row.p_holm,
        n=row.n,
        clusters=row.clusters,
        # A loss can be significant, too.
        survives=row.p_holm <= ALPHA and gain > 0,
    )


def declared(given: Given) -> list[DeclaredGain]:
    """The settings that are not controls at the declared point of their explainer: published, or chosen elsewhere.

    An explainer has one kind of point for all its settings, the first of DECLARED_POINTS at which a gain of one is
    defined.
    """
    by_setting = rows_by(given.ask(declared_points), lambda row: row.setting)
    gains: list[DeclaredGain] = []
    for setting in given.real.settings:
        gains += by_setting.get(setting, [])
    defined = [row for row in gains if not math.isnan(row.gain)]
    defined.sort(key=lambda row: DECLARED_POINTS.index(row.point))
    point_of = {name: row.point for name, row in first_by(defined, lambda row: row.explainer).items()}
    # An explainer without a defined gain has no point, and no rows.
    return [row for row in gains if row.point == point_of.get(row.explainer)]
