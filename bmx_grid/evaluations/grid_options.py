"""What a p x w grid is computed with: the constants that the grid hands to all that rests on it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bmx_grid.core.identity import Component, identity, runtime
from bmx_grid.evaluations.base import Evaluation
from bmx_grid.measures.aggregation import Aggregation, PowerMean
from bmx_grid.measures.correlation import Kind as Correlation
from bmx_grid.measures.grid import (
    MAX_POINTS,
    GridSpec,
    Point,
    PowerRange,
    UsedWords,
    check_points,
    check_size,
    powers_of,
)

BASELINE_W = 1.0  # the weight w of the baseline that gains are relative to
CELLS_PER_SECOND = 4e7  # segments x points on one core, Pearson, with the cross-fitted points


@dataclass(frozen=True, kw_only=True)
class GridOptions(Component):
    """The points of a grid, and what is computed at each.

    p: the powers, a range or a list; w: the weights of the metric, to which 1, the metric alone, is added; side: whose
    words are aggregated; aggregation: the mean. fixed: the published point of each explainer, evaluated beside the
    grid's best; seed: draws the folds of the cross-fitted points; max_points: a larger grid is refused.
    Raises ConfigError for an empty or too large grid, and for points outside what p and w can be.
    """

    p: tuple[float, ...] | PowerRange = identity()
    w: tuple[float, ...] = identity()
    side: UsedWords = identity("both")
    correlation: Correlation = identity("pearson")
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
        # Gains are relative to the metric alone: it is on every grid.
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
    """An evaluation that rests on a grid. grid: that of the sweep, whether or not its surface is evaluated as well."""

    grid: GridOptions = identity()


def grid_of_sweep(evaluations: Iterable[Evaluation]) -> GridOptions | None:
    """The grid that the numbers of a sweep rest on; None where no evaluation rests on one.

    Its surface need not be evaluated: boosts are chosen and judged by the correlation of their own grid.
    """
    own = None
    for evaluation in evaluations:
        if isinstance(evaluation, GridOptions):
            return evaluation
        if own is None and isinstance(evaluation, OnGrid):
            own = evaluation.grid
    return own
