"""What a sweep tested at the declared points of its settings: gains with intervals, p values and their correction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.analysis import fixed
from bmx_grid.analysis.given import Given
from bmx_grid.analysis.table import FACTORS, Flags, Floats, GridTable, Setting

if TYPE_CHECKING:
    import pandas as pd

ALPHA = 0.05
PUBLISHED = "published"
DECLARED = (PUBLISHED, "elsewhere")  # points that were not chosen where they are judged; the first that is there
# Of several tests of one gain the one whose p value is shown: permutations need no assumption about the scores.
PREFERRED = ("perm_inputs", "perm_both", "perm_systems", "bootstrap", "williams")
SAME = 1e-6  # how far the gain of a point and the difference that was tested may lie apart, by rounding
SURVIVES = f"it survives Holm's correction at {ALPHA:.2f} within its family".replace("0.", ".")
MARKED = f"Bold, and † in plain text: a gain above 0 where {SURVIVES}; nothing else is marked."


@dataclass(frozen=True, eq=False)
class Tested:
    """What is known of S settings at one declared point each; NaN where it is not.

    points: the point of each setting, "" without one; w, p: float64[S] where it is.
    gain, baseline: float64[S]; low, high: 95 % interval of the gain, by a bootstrap of clusters of segments.
    p_value, p_holm: of the test `test`, alone and corrected within `family`; both "" where nothing was tested.
    n, clusters: float64[S] segments and clusters behind the test.
    """

    points: Sequence[str]
    w: Floats
    p: Floats
    gain: Floats
    baseline: Floats
    low: Floats
    high: Floats
    p_value: Floats
    p_holm: Floats
    n: Floats
    clusters: Floats
    test: str
    family: str

    @property
    def survives(self) -> Flags:
        """bool[S] gains above 0 that survive the correction."""
        return np.asarray((self.p_holm <= ALPHA) & (self.gain > 0))

    @property
    def lost(self) -> Flags:
        """bool[S] gains below 0 that survive the correction: established losses."""
        return np.asarray((self.p_holm <= ALPHA) & (self.gain < 0))

    def take(self, keep: Flags) -> Tested:
        """The settings where `keep`, bool[S], is true."""
        arrays = {name: getattr(self, name)[keep] for name in NUMBERS}
        points = [one for one, kept in zip(self.points, keep, strict=True) if kept]
        return Tested(points=points, **arrays, test=self.test, family=self.family)


NUMBERS = ("w", "p", "gain", "baseline", "low", "high", "p_value", "p_holm", "n", "clusters")


def declared(given: Given) -> Tested:
    """The settings that are not controls at the declared point of their explainer: published, or chosen elsewhere.

    An explainer has one kind of point for all its settings, the first of DECLARED at which a gain of one is defined.
    """
    real = given.real
    points, tests = by_point(given.frames.get("points")), given.frames.get("tests")
    at = [""] * len(real)
    for explainer in real.factor_levels("explainer"):
        rows = np.flatnonzero(real.where(explainer=explainer)).tolist()
        for name in DECLARED:
            if any(np.isfinite(_number(points.get((name, real.settings[row])), "gain")) for row in rows):
                for row in rows:
                    at[row] = name
                break
    return _tested(real, at, points, tests)


def at_fixed(given: Given) -> Tested:
    """The settings that are not controls at the fixed points of the analysis, where the sweep tested these."""
    real, used = given.real, given.ask(fixed.compute).evaluation.used
    points, tests = by_point(given.frames.get("points")), given.frames.get("tests")
    at = [""] * len(real)
    for row, setting in enumerate(real.settings):
        point = used.get(setting.explainer)
        for name in DECLARED:
            found = points.get((name, setting))
            w, p = _number(found, "w"), _number(found, "p")
            if point is not None and w == point.w and (p == point.p or w == 1):
                at[row] = name
                break
    return _tested(real, at, points, tests)


@dataclass(frozen=True)
class GainInterval:
    """The interval of a setting's gain at its declared point.

    survives, lost: whether a gain above 0, or one below, survives the correction.
    """

    low: float
    high: float
    survives: bool
    lost: bool = False


def gains_with_intervals(frames: Mapping[str, pd.DataFrame]) -> dict[tuple[str, ...], GainInterval]:
    """By data set, language pair, metric and explainer what was tested at published points; empty without tests."""
    test, found = _of_one_test(frames.get("tests"), by_point(frames.get("points")))
    return {
        tuple(setting): GainInterval(
            _number(row, "low"),
            _number(row, "high"),
            _number(row, "p_holm") <= ALPHA and _number(row, "difference") > 0,
            _number(row, "p_holm") <= ALPHA and _number(row, "difference") < 0,
        )
        for (name, setting), row in found.items()
        if name == PUBLISHED and test
    }


Rows = Mapping[tuple[str, Setting], Mapping[str, Any]]


def by_point(frame: pd.DataFrame | None) -> Rows:
    """The rows of a frame by point and setting, the first of several."""
    found: dict[tuple[str, Setting], Mapping[str, Any]] = {}
    for row in rows_of(frame):
        found.setdefault((str(row["point"]), setting_of(row)), row)
    return found


def rows_of(frame: pd.DataFrame | None) -> Iterator[dict[str, Any]]:
    """The rows of a frame; none for None."""
    if frame is None:
        return
    for values in frame.itertuples(index=False, name=None):
        yield dict(zip(frame.columns, values, strict=True))


def setting_of(row: Mapping[str, Any]) -> Setting:
    """The setting that a row speaks of."""
    return Setting(*(str(row[factor]) for factor in FACTORS))


def _tested(table: GridTable, at: Sequence[str], points: Rows, tests: pd.DataFrame | None) -> Tested:
    """The settings of a table, each at the point of that name."""
    test, found = _of_one_test(tests, points)
    named = [points.get((name, setting)) for name, setting in zip(at, table.settings, strict=True)]
    tested = [found.get((name, setting)) for name, setting in zip(at, table.settings, strict=True)]
    families = {str(row["family"]) for row in tested if row is not None}
    of_tests = {"low": "low", "high": "high", "p_value": "p", "p_holm": "p_holm", "n": "n", "clusters": "clusters"}
    return Tested(
        points=tuple(at),
        **{name: _column(named, name) for name in ("w", "p", "gain", "baseline")},
        **{name: _column(tested, column) for name, column in of_tests.items()},
        test=test,
        family="; ".join(sorted(families)),
    )


def _of_one_test(tests: pd.DataFrame | None, points: Rows) -> tuple[str, Rows]:
    """The test of PREFERRED that is there, "" for none, and its rows by point and setting.

    Of several judgements the first counts, which is the primary one. A test of another statistic than the grid's speaks
    of another gain, whose interval must not stand beside this one: its rows are left out.
    """
    kept = [
        row
        for row in rows_of(tests)
        if row["level"] == "segment" and row["grouping"] == "none" and row["point"] in DECLARED
        if not _differs(row, points.get((str(row["point"]), setting_of(row))))
    ]
    kinds = {row["test"] for row in kept if np.isfinite(row["p"])}
    test = next((one for one in PREFERRED if one in kinds), "")
    found: dict[tuple[str, Setting], Mapping[str, Any]] = {}
    for row in kept:
        if row["test"] == test:
            found.setdefault((str(row["point"]), setting_of(row)), row)
    return test, found


def _differs(test: Mapping[str, Any], point: Mapping[str, Any] | None) -> bool:
    """Whether a test is of another gain than that of the point."""
    difference = abs(_number(test, "difference") - _number(point, "gain"))
    return bool(difference > SAME)


def _column(rows: Sequence[Mapping[str, Any] | None], name: str) -> Floats:
    return np.array([_number(row, name) for row in rows], dtype=np.float64)


def _number(row: Mapping[str, Any] | None, name: str) -> float:
    return float("nan") if row is None or row.get(name) is None else float(row[name])
