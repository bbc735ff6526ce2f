"""The paper's evaluation: the p x w grid of correlations with the human scores (paper 3.4 and 3.5)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from bmx_grid.boosts.base import Part
from bmx_grid.boosts.power_mean_grid import best_of_surfaces, gain_surface, scores_at
from bmx_grid.core.identity import Component, identity, runtime
from bmx_grid.core.ragged import Flags, Floats, row_minimum
from bmx_grid.evaluations.base import OF_PAIRS, ColumnValues, Evaluation, ScoredSetting, SettingRow
from bmx_grid.evaluations.boost_evidence import estimate_gain
from bmx_grid.evaluations.choose import free_of_each
from bmx_grid.evaluations.held_out import FOLDS
from bmx_grid.measures.aggregation import Aggregation, PowerMean
from bmx_grid.measures.correlation import Kind, correlate
from bmx_grid.measures.grid import (
    MAX_POINTS,
    GridInputs,
    GridResult,
    GridSpec,
    Point,
    PowerRange,
    UsedWords,
    check_points,
    check_size,
    grid_of,
    nearest_point,
    powers_of,
)
from bmx_grid.measures.grid_resampling import GridSample, cross_fit
from bmx_grid.measures.means import column_blocks

BASELINE_W = 1.0  # the weight w of the baseline that gains are relative to
CELLS_PER_SECOND = 4e7  # segments x points on one core, Pearson, with the cross-fitted points


@dataclass(frozen=True, kw_only=True)
class GridOptions(Component):
    """The points of a grid, and the computation at each.

    p: the powers, a range or a list; w: the weights of the metric, to which 1, the baseline, is added; side: whose
    words are aggregated; aggregation: the mean. fixed: the published point of each explainer, evaluated in addition to
    the grid's best; seed: draws the folds of the cross-fitted points; max_points: a larger grid is refused.
    Raises ConfigError for an empty or too large grid, and for points outside what p and w can be.
    """

    p: tuple[float, ...] | PowerRange = identity()
    w: tuple[float, ...] = identity()
    side: UsedWords = identity("both")
    correlation: Kind = identity("pearson")
    aggregation: Aggregation = identity(PowerMean())
    fixed: Mapping[str, Point] = identity()
    seed: int = identity(0)
    max_points: int = runtime(MAX_POINTS, least=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        n_powers = len(self.spec.p)
        n_weights = len(self.spec.w)
        check_size(n_powers, n_weights, self.max_points)
        check_points(self.fixed, "grid.fixed")

    @cached_property
    def spec(self) -> GridSpec:
        """The grid as numbers."""
        powers = powers_of(self.p, self.max_points)
        # Gains are relative to the baseline: it is on every grid.
        weights = (*self.w, BASELINE_W)
        return GridSpec(powers, weights, self.side, self.aggregation, self.correlation)

    def fingerprint(self) -> dict[str, Any]:
        """p and w as numbers, so that a grid has one identity however it is written."""
        points = {}
        for name, point in sorted(self.fixed.items()):
            # JSON has no infinite numbers.
            p = point.p if math.isfinite(point.p) else repr(point.p)
            points[name] = [point.w, p]
        fingerprint = super().fingerprint()
        fingerprint["p"] = list(map(repr, self.spec.p))
        fingerprint["w"] = list(self.spec.w)
        fingerprint["fixed"] = points
        return fingerprint


@dataclass(frozen=True, kw_only=True)
class OnGrid(Evaluation):
    """An evaluation that rests on a grid. grid: that of the sweep, whether or not its surface is evaluated, too."""

    grid: GridOptions = identity()


def grid_of_sweep(evaluations: Iterable[Evaluation]) -> GridOptions | None:
    """The grid that the numbers of a sweep rest on; None if no evaluation rests on one.

    Its surface need not be evaluated: boosts are chosen and judged by the correlation of their own grid.
    """
    own = None
    for evaluation in evaluations:
        if isinstance(evaluation, GridOptions):
            return evaluation
        if own is None and isinstance(evaluation, OnGrid):
            own = evaluation.grid
    return own


@dataclass(frozen=True)
class GridRow(SettingRow):
    """One row of grid.parquet: a point and its correlation with the human scores."""

    side: str
    w: float
    p: float
    correlation: float


@dataclass(frozen=True)
class PointRow(SettingRow):
    """One row of points.parquet: a point not chosen on the judged segments, and its gain.

    point: "published", at the nearest grid point, of two equally near ones the lower, which a paper chose and which is
    in-sample on the data sets of the paper; or "elsewhere", chosen on the other language pairs. w, p: the point; w = 1,
    with p NaN, is the baseline. baseline, correlation: of the baseline and of the boosted scores, NaN where undefined;
    gain: their difference.
    """

    point: str
    w: float
    p: float
    baseline: float
    correlation: float
    gain: float


NO_POINT = PointRow("published", w=math.nan, p=math.nan, baseline=math.nan, correlation=math.nan, gain=math.nan)


@dataclass(frozen=True, eq=False)
class GridOfSetting:
    """The grid of one setting.

    spec: the grid's definition. grid: the surface and its results; without attributions only the baseline. shifted:
    bool[N] whether an attribution was not above 0.
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
    def published_row(self) -> PointRow:
        """The row of the published point; NaN if it is missing."""
        return next((row for row in self.points if row.point == "published"), NO_POINT)


@dataclass(frozen=True, kw_only=True)
class GridEvaluation(GridOptions, Evaluation):
    """Correlations of s1 = w * s0 + (1 - w) * M_p with the human scores, for every p and w; fields as of `GridOptions`.

    The surface of a setting is a step of its own (`surface`), computed as the setting ends, so that it can be shown and
    tracked at once.
    """

    VERSION: ClassVar[int] = 2  # a point has the correlation of its scores, the baseline one at every p
    SCOPE: ClassVar[tuple[str, ...]] = OF_PAIRS
    ROWS: ClassVar[Mapping[str, type]] = {"grid": GridRow, "points": PointRow}

    @property
    def reads_ground_truth(self) -> bool:
        return self.side == "both"

    def cost(self, n_segments: int) -> float:
        return n_segments * len(self.spec.p) * len(self.spec.w) / CELLS_PER_SECOND

    def surface(self, setting: ScoredSetting) -> GridOfSetting:
        """Compute the grid of one setting. Raises DataError when attributions are too large to be shifted."""
        spec = self.spec
        base = setting.scores.base_scores
        shifted = np.zeros(len(base), dtype=np.bool_)
        if setting.explainer is None:
            grid = metric_alone(spec, base, setting.segments.human_scores)
            return GridOfSetting(spec, grid, shifted)
        inputs = setting.inputs(spec)
        grid = grid_of(spec, inputs)
        boosted: dict[str, Floats] = {}
        points: list[PointRow] = []
        published = self.fixed.get(setting.explainer_name)
        place = None if published is None else nearest_point(spec.p, spec.w, published.p, published.w)
        # A published point outside the grid has no row.
        if place is not None:
            w = spec.w[place[1]]
            p = spec.p[place[0]]
            boosted["published"] = scores_of_point(spec, setting, w, p)
            points.append(point_row("published", spec, setting, w, p, boosted["published"]))
        # Folds are of whole clusters; the scores of their points are brought to the scale of the baseline.
        boosted["cross_fitted"] = np.full(len(base), np.nan)
        boosted["cross_fitted"][inputs.used] = cross_fit(sample_of(spec, setting, inputs), FOLDS, self.seed)
        # Powers need positive numbers: other texts are shifted, and marked in the table of scores.
        shifted |= row_minimum(setting.scores.hypothesis) <= 0
        if spec.side != "hypothesis":
            shifted |= row_minimum(setting.scores.ground_truth) <= 0
        return GridOfSetting(spec=spec, grid=grid, shifted=shifted, boosted=boosted, points=tuple(points))

    def evaluate_scope(self, settings: Sequence[ScoredSetting]) -> list[GridOfSetting]:
        """The grids, with the points that were chosen on the other language pairs."""
        results = [setting.surface or self.surface(setting) for setting in settings]
        for place, (row, scores) in chosen_elsewhere(self.spec, settings).items():
            result = results[place]
            boosted = {**result.boosted, row.point: scores}
            results[place] = replace(result, boosted=boosted, points=(*result.points, row))
        return results

    def points(self, result: GridOfSetting) -> Mapping[str, Floats]:
        """The boosted scores of the declared points."""
        return result.boosted

    def rows(self, result: GridOfSetting) -> Mapping[str, Sequence[Any] | ColumnValues]:
        """One row per grid point, p ascending and w running fastest: the order of the paper's published grid."""
        surface = result.grid.correlation
        w = result.spec.w
        # Without an explainer the surface has no p, and no rows.
        p = result.spec.p[: len(surface)]
        columns: ColumnValues = {
            "side": [result.spec.side] * surface.size,
            "w": np.tile(w, len(p)),
            "p": np.repeat(p, len(w)),
            "correlation": surface.ravel(),
        }
        return {"grid": columns, "points": result.points}

    def segment_columns(self, result: GridOfSetting) -> ColumnValues:
        """The score at each declared point, and whether attributions were shifted for it."""
        nothing = np.full(len(result.shifted), np.nan)
        columns: dict[str, Floats | Flags] = {}
        for point in ("published", "elsewhere", "cross_fitted"):
            columns[f"boosted_{point}"] = result.boosted.get(point, nothing)
        columns["shifted"] = result.shifted
        return columns


def sample_of(spec: GridSpec, setting: ScoredSetting, inputs: GridInputs) -> GridSample:
    """The used segments of a setting as resamples read them."""
    return GridSample(
        means=inputs.means,
        base=inputs.base,
        human=inputs.human,
        w=spec.w,
        cluster=setting.codes.clusters[inputs.used],
        kind=spec.correlation,
    )


def scores_of_point(spec: GridSpec, setting: ScoredSetting, w: float, p: float) -> Floats:
    """float64[N] boosted scores of a setting at (w, p)."""
    scores = setting.scores
    return scores_at(spec, p, w, scores.base_scores, scores.ground_truth, scores.hypothesis)


def chosen_elsewhere(spec: GridSpec, settings: Sequence[ScoredSetting]) -> dict[int, tuple[PointRow, Floats]]:
    """Choose each setting's point on the other language pairs: the highest mean gain.

    Returned with boosted scores, by index.

    settings: those of one metric and explainer, of a data set. Shared clusters are removed from the other settings,
    whose grids are computed again: 492 of the 2,851 references of WMT17 occur in several language pairs. Nothing if no
    other language pair has a defined correlation, and for metrics without an explainer.
    """
    alone = any(setting.explainer is None for setting in settings)
    if alone or len(settings) < 2:
        return {}
    surfaces: list[list[Floats]] = [[] for _ in settings]
    free = free_of_each([setting.clusters for setting in settings])
    for other, setting in enumerate(settings):
        # By the setting that chooses: its means over words are computed once, for all that it chooses for.
        inputs = setting.inputs(spec)
        clusters = setting.codes.clusters[inputs.used]
        rows_of_place = {}
        for place in range(len(settings)):
            if place != other:
                rows_of_place[place] = free[place][other][inputs.used]
        # Most language pairs share nothing: their parts are all segments, the same ones.
        distinct = {rows.tobytes(): rows for rows in rows_of_place.values()}
        blocks: dict[bytes, list[Floats]] = {key: [] for key in distinct}
        for _, means in column_blocks(inputs.means):
            everyone = Part(inputs.base, means, inputs.human, clusters)
            for key, rows in distinct.items():
                blocks[key].append(gain_surface(spec.correlation, everyone.taken(rows), spec.w))
        surface_of_rows = {key: np.concatenate(found) for key, found in blocks.items()}
        for place, rows in rows_of_place.items():
            surfaces[place].append(surface_of_rows[rows.tobytes()])
    chosen = {}
    for place, surfaces_of_others in enumerate(surfaces):
        # Pairs with a constant metric on their unshared segments are ignored.
        if not any(np.isfinite(surface).any() for surface in surfaces_of_others):
            continue
        w, column = best_of_surfaces(surfaces_of_others, spec.w)
        p = spec.p[column] if column >= 0 else math.nan
        boosted = scores_of_point(spec, settings[place], w, p)
        chosen[place] = point_row("elsewhere", spec, settings[place], w, p, boosted), boosted
    return chosen


def point_row(point: str, spec: GridSpec, setting: ScoredSetting, w: float, p: float, boosted: Floats) -> PointRow:
    """The row of a point chosen on other settings, with its float64[N] boosted scores."""
    # Both correlations are of the same segments: their difference is no difference of samples.
    rows = np.array([setting.scores.base_scores, boosted, setting.segments.human_scores])
    base, scores, human = rows[:, np.isfinite(rows).all(axis=0)]
    baseline = correlate(spec.correlation, base, human)
    correlation = correlate(spec.correlation, scores, human)
    gain = estimate_gain(spec.correlation, base, scores, human).value
    return PointRow(point, w, p, baseline, correlation, gain)


def metric_alone(spec: GridSpec, base: Floats, human: Floats) -> GridResult:
    """The result of a setting without attributions: the baseline, and a grid of no p.

    base, human: float64[N] scores of the metric and of people, NaN = not rated.
    """
    rated = np.isfinite(human)
    used = rated & np.isfinite(base)
    return GridResult(
        correlation=np.empty((0, len(spec.w))),
        baseline=correlate(spec.correlation, base, human),
        n_segments=len(human),
        n_rated=int(rated.sum()),
        n_used=int(used.sum()),
    )
