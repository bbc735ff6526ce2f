"""The paper's evaluation: the p x w grid of correlations with the human scores (paper 3.4 and 3.5)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from bmx_grid.core.ragged import Flags, Floats, row_minimum
from bmx_grid.evaluations.base import OF_PAIRS, ColumnValues, Evaluation, Finished, SettingRow
from bmx_grid.evaluations.grid_options import CELLS_PER_SECOND, GridOptions
from bmx_grid.evaluations.held_out import FOLDS, free_of_each
from bmx_grid.measures.correlation import correlate, point_that_gains
from bmx_grid.measures.grid import GridInputs, GridResult, GridSpec, boosted_scores, grid_of, nearest_point
from bmx_grid.measures.grid_resampling import GridSample, cross_fit


@dataclass(frozen=True)
class GridRow(SettingRow):
    """One row of grid.parquet: a point and its correlation with the human scores."""

    side: str
    w: float
    p: float
    correlation: float


@dataclass(frozen=True)
class PointRow(SettingRow):
    """One row of points.parquet: a point that was not chosen on the segments it is judged on, and what it reaches.

    point: "published", at the nearest grid point, of two equally near ones the lower; or "elsewhere", chosen on the
    other language pairs. w, p: the point; w = 1, with p NaN, is the metric alone. baseline, correlation: of the metric
    alone and of the boosted scores, NaN where undefined; gain: their difference.
    """

    point: str
    w: float
    p: float
    baseline: float
    correlation: float
    gain: float


NO_POINT = PointRow("published", math.nan, math.nan, math.nan, math.nan, math.nan)


@dataclass(frozen=True, eq=False)
class GridOfSetting:
    """What the grid of one setting says.

    spec: what was computed. grid: the surface and what follows from it; without attributions a surface of no p, with
    the baseline alone. shifted: bool[N] whether an attribution was not above 0.
    boosted: float64[N] scores at each declared point, NaN for a segment without one: "published", "cross_fitted", which
    has a point for each fold, and "elsewhere" once the whole sweep has ended. points: those that are the same for all
    segments.
    """

    spec: GridSpec
    grid: GridResult
    shifted: Flags
    boosted: Mapping[str, Floats] = field(default_factory=dict)
    points: tuple[PointRow, ...] = ()

    @property
    def published(self) -> PointRow:
        """What the published point reaches; NaN where there is none."""
        return next((row for row in self.points if row.point == "published"), NO_POINT)


@dataclass(frozen=True, kw_only=True)
class GridEvaluation(GridOptions, Evaluation):
    """Correlations of s1 = w * s0 + (1 - w) * M_p with the human scores, for every p and w; fields as of `GridOptions`.

    The surface of a setting is computed as it ends, so that it can be shown and tracked at once.
    """

    SCOPE: ClassVar[tuple[str, ...]] = OF_PAIRS
    ROWS: ClassVar[Mapping[str, type]] = {"grid": GridRow, "points": PointRow}
    AS_IT_ENDS: ClassVar[bool] = True

    @property
    def reads_ground_truth(self) -> bool:
        return self.side == "both"

    def cost(self, n_segments: int) -> float:
        return n_segments * len(self.spec.p) * len(self.spec.w) / CELLS_PER_SECOND

    def of_setting(self, setting: Finished) -> GridOfSetting:
        """The grid of a setting alone. Raises DataError when attributions are too large to be shifted."""
        spec = self.spec
        base = setting.scores.base_scores
        shifted = np.zeros(len(base), dtype=np.bool_)
        if setting.explainer is None:
            return GridOfSetting(spec, metric_alone(spec, base, setting.segments.human_scores), shifted)
        inputs = setting.inputs(spec)
        grid = grid_of(spec, inputs)
        asked = self.fixed.get(setting.explainer_name)
        place = None if asked is None else nearest_point(spec.p, spec.w, asked.p, asked.w)
        boosted: dict[str, Floats] = {}
        points: list[PointRow] = []
        if place is not None:
            w = spec.w[place[1]]
            p = spec.p[place[0]]
            value = float(grid.correlation[place])
            boosted["published"] = scores_at(spec, setting, w, p)
            points.append(PointRow("published", w, p, grid.baseline, value, value - grid.baseline))
        boosted["cross_fitted"] = cross_fitted_points(spec, setting, inputs, self.seed)
        # Powers need positive numbers: a text with others was shifted, which the table of scores tells.
        shifted |= row_minimum(setting.scores.hypothesis) <= 0
        if spec.side != "hypothesis":
            shifted |= row_minimum(setting.scores.ground_truth) <= 0
        return GridOfSetting(spec, grid, shifted, boosted, tuple(points))

    def of_scope(self, settings: Sequence[Finished]) -> list[GridOfSetting]:
        """The grids, with the points that were chosen on the other language pairs."""
        results = []
        for setting in settings:
            known = setting.known.get(self.key)
            results.append(self.of_setting(setting) if known is None else known)
        for place, (row, scores) in chosen_elsewhere(self.spec, settings).items():
            boosted = {**results[place].boosted, row.point: scores}
            points = (*results[place].points, row)
            results[place] = replace(results[place], boosted=boosted, points=points)
        return results

    def points(self, result: GridOfSetting) -> Mapping[str, Floats]:
        """The boosted scores of the declared points."""
        return result.boosted

    def rows(self, result: GridOfSetting) -> Mapping[str, Sequence[Any] | ColumnValues]:
        """One row per grid point, p ascending and w running fastest: the order of the paper's published grid."""
        w = result.spec.w
        p = result.spec.p[: len(result.grid.correlation)]  # no rows for a metric alone
        columns: ColumnValues = {
            "side": [result.spec.side] * (len(p) * len(w)),
            "w": np.tile(w, len(p)),
            "p": np.repeat(p, len(w)),
            "correlation": result.grid.correlation.ravel(),
        }
        return {"grid": columns, "points": result.points}

    def segment_columns(self, result: GridOfSetting) -> ColumnValues:
        """The score at each declared point, and whether attributions were shifted for it."""
        nothing = np.full(len(result.shifted), np.nan)
        names = ("published", "elsewhere", "cross_fitted")
        columns = {f"boosted_{name}": result.boosted.get(name, nothing) for name in names}
        return {**columns, "shifted": result.shifted}


def sample_of(spec: GridSpec, setting: Finished, inputs: GridInputs) -> GridSample:
    """The used segments of a setting as resamples read them."""
    clusters = setting.codes.clusters[inputs.used]
    return GridSample(inputs.means, inputs.base, inputs.human, spec.w, clusters, kind=spec.correlation)


def scores_at(spec: GridSpec, setting: Finished, w: float, p: float) -> Floats:
    """float64[N] boosted scores of a setting at (w, p); with w = 1 those of the metric alone, whatever p is."""
    scores = setting.scores
    if w == 1:
        return scores.base_scores
    rows = scores.base_scores, scores.ground_truth, scores.hypothesis
    return boosted_scores(spec.aggregation, spec.side, p, w, *rows)


def cross_fitted_points(spec: GridSpec, setting: Finished, inputs: GridInputs, seed: int) -> Floats:
    """float64[N] each segment at the point that is best on the other folds: ten of whole clusters, drawn from the seed.

    Points differ in the scale of their scores: all are brought to that of the metric alone
    (`grid_resampling.cross_fit`).
    """
    boosted = np.full(len(inputs.used), np.nan)
    boosted[inputs.used] = cross_fit(sample_of(spec, setting, inputs), FOLDS, seed)
    return boosted


def chosen_elsewhere(spec: GridSpec, settings: Sequence[Finished]) -> dict[int, tuple[PointRow, Floats]]:
    """By place of a setting the point with the highest mean gain on the other language pairs, and its boosted scores.

    settings: those of one metric and explainer, of a data set. Clusters that a setting shares with the others are taken
    out of these, and their grids are computed again: 492 of the 2,851 references of WMT17 stand in several language
    pairs. Nothing where no other language pair has a defined correlation, and for metrics alone.
    """
    if len(settings) < 2 or any(setting.explainer is None for setting in settings):
        return {}
    free = free_of_each([setting.clusters for setting in settings])
    gains: list[list[Floats]] = [[] for _ in settings]
    for other, setting in enumerate(settings):
        # By the setting that chooses: its means over words are computed once, for all that it chooses for.
        judged = [place for place in range(len(settings)) if place != other]
        parts = [free[place][other] for place in judged]
        for place, surface in zip(judged, gains_on(spec, setting, parts), strict=True):
            # A pair on whose free segments the metric is constant has no say.
            if np.isfinite(surface).any():
                gains[place].append(surface)
    chosen = {}
    for place, surfaces in enumerate(gains):
        # The mean over pairs, not over segments: a large pair says no more than a small one.
        if surfaces:
            best = point_that_gains(np.sum(surfaces, axis=0) / len(surfaces), spec.w)
            w, p = (1.0, math.nan) if best is None else (spec.w[best[1]], spec.p[best[0]])
            boosted = scores_at(spec, settings[place], w, p)
            human = settings[place].segments.human_scores
            base = settings[place].scores.base_scores
            used = np.isfinite(human) & np.isfinite(base) & np.isfinite(boosted)
            alone = correlate(spec.correlation, base[used], human[used])
            value = correlate(spec.correlation, boosted[used], human[used])
            chosen[place] = PointRow("elsewhere", w, p, alone, value, value - alone), boosted
    return chosen


def gains_on(spec: GridSpec, setting: Finished, parts: Sequence[Flags]) -> Floats:
    """float64[S, P, W] correlations on each of S parts of the segments, bool[N], less that of the base score there.

    Equal parts are computed once.
    """
    inputs = setting.inputs(spec)
    sample = sample_of(spec, setting, inputs)
    # Most language pairs share nothing: their parts are all segments, the same ones.
    different = {rows.tobytes(): rows[inputs.used] for rows in parts}
    grids = dict(zip(different, sample.grids_on(list(different.values())), strict=True))
    grids_of_parts = np.stack([grids[rows.tobytes()] for rows in parts])
    gains = grids_of_parts - grids_of_parts[:, :1, -1:]  # the last weight is 1, the base score, at any power
    return np.asarray(gains[:, :, np.isin(sample.w, spec.w)])


def metric_alone(spec: GridSpec, base: Floats, human: Floats) -> GridResult:
    """The result of a setting without attributions: the baseline, and a grid of no p.

    base, human: float64[N] scores of the metric and of people, NaN = not rated.
    """
    rated = np.isfinite(human)
    return GridResult(
        correlation=np.empty((0, len(spec.w))),
        baseline=correlate(spec.correlation, base, human),
        n_segments=len(human),
        n_rated=int(rated.sum()),
        n_used=int((rated & np.isfinite(base)).sum()),
    )
