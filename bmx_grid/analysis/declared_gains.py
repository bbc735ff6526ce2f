"""Gains at declared points, which were not chosen where they are judged, and what was tested of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bmx_grid.analysis.base import FACTORS, Given, SettingKey
from bmx_grid.evaluations.boost_evidence import ELSEWHERE, PUBLISHED
from bmx_grid.evaluations.grid_surface import PointRow
from bmx_grid.evaluations.significance import TestRow
from bmx_grid.sweep.tables import SettingsRow

if TYPE_CHECKING:
    import pandas as pd

ALPHA = 0.05
# Points that were not chosen on the segments of this sweep that judge them; the first that is there.
DECLARED_POINTS = (PUBLISHED, ELSEWHERE)
# Of several tests of one gain the one whose p value is shown: permutations need no assumption about the scores.
PREFERRED = ("perm_inputs", "perm_both", "perm_systems", "bootstrap", "williams")
SURVIVES = f"it survives Holm's correction at {ALPHA:.2f} within its family".replace("0.", ".")
MARKED = f"Bold, and † in plain text: a gain above 0 where {SURVIVES}; nothing else is marked."
SETTING = list(FACTORS)
POINT = [*FACTORS, "point"]  # the key of points.parquet
TESTED = ["test", "family", "low", "high", "p_value", "p_holm", "n", "clusters"]


def declared_points(given: Given) -> pd.DataFrame:
    """Every setting at each of its declared points: points.parquet, with what was tested of its gain there.

    Of several judgements the first counts, which is the primary one. A test of another statistic than the grid's speaks
    of another gain, whose interval must not stand beside this one: its rows are left out.
    test, family, low, high, p_value, p_holm, n, clusters: see `_tests`; None and NaN without a test. survives: a gain
    above 0 after the correction.
    """
    points = given.frame("points", PointRow)
    points = points[points["point"].isin(DECLARED_POINTS)].drop_duplicates(POINT)
    points = points[[*FACTORS, "point", "w", "p", "baseline", "correlation", "gain"]]
    settings = [SettingKey(*names) for names in points[SETTING].to_numpy().tolist()]
    points.insert(4, "cluster", [setting.cluster for setting in settings])
    points.insert(5, "control", np.array([setting.control for setting in settings], dtype=np.bool_))
    gains = points.merge(_tests(given, points), on=POINT, how="left")
    gains[["test", "family"]] = gains[["test", "family"]].where(gains["test"].notna(), None)
    # A loss can be significant, too.
    return gains.assign(survives=(gains["p_holm"] <= ALPHA) & (gains["gain"] > 0))


def _tests(given: Given, points: pd.DataFrame) -> pd.DataFrame:
    """The tests of these gains over the metric alone, all by one test: the key POINT, and TESTED.

    low, high: the 95 % interval of the gain, by a bootstrap of clusters of segments; p_value, p_holm: of the test
    `test`, alone and corrected within `family`; n, clusters: segments and clusters behind it.
    """
    tests = given.frame("tests", TestRow)
    over_metric = (tests["against"] == tests["metric"]) & (tests["level"] == "segment") & (tests["grouping"] == "none")
    tests = tests[over_metric & tests["p"].notna()].merge(points[POINT], on=POINT)
    of_grid = given.frame("settings", SettingsRow)[[*FACTORS, "correlation"]]
    tests = tests.merge(of_grid, on=SETTING, how="left")
    if tests["statistic"].nunique() == 1:
        # Without a table of settings it is that of the grid.
        tests["correlation"] = tests["correlation"].fillna(tests["statistic"])
    tests = tests[tests["statistic"] == tests["correlation"]]
    # One test for all settings: p values of different tests must not stand in one column.
    known = set(tests["test"])
    test = next((name for name in PREFERRED if name in known), None)
    tests = tests[tests["test"] == test].drop_duplicates(POINT)
    tests = tests.rename(columns={"p": "p_value"})
    # Counts stay whole numbers beside rows without a test.
    return tests[[*POINT, *TESTED]].astype({"n": object, "clusters": object})


def declared(given: Given) -> pd.DataFrame:
    """The settings that are not controls at the declared point of their explainer: published, or chosen elsewhere.

    An explainer has one kind of point for all its settings, the first of DECLARED_POINTS at which a gain of one is
    defined. An explainer without a defined gain has no rows.
    """
    gains = given.real.names[SETTING].merge(given.ask(declared_points), on=SETTING)
    defined = gains[gains["gain"].notna()]
    order = defined["point"].map(DECLARED_POINTS.index)
    first = defined.iloc[np.argsort(order.to_numpy(), kind="stable")].drop_duplicates("explainer")
    point_of_explainer = dict(zip(first["explainer"], first["point"], strict=True))
    return gains[gains["point"] == gains["explainer"].map(point_of_explainer)].reset_index(drop=True)
