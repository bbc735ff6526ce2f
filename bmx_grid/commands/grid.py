"""The keys below `grid` -> what is computed for each setting, and the points evaluated beside the best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from bmx_grid.configure import build, convert
from bmx_grid.errors import ConfigError
from bmx_grid.measures.aggregation import Aggregation
from bmx_grid.measures.grid import MAX_POINTS, GridSpec, check_size, p_values


@dataclass(frozen=True)
class Range:
    """The values of p: start, start + step, … below stop."""

    start: float
    stop: float
    step: float


@dataclass(frozen=True)
class Point:
    """One point of the grid."""

    w: float
    p: float


@dataclass(frozen=True)
class GridKeys:
    """The keys below `grid` with their types; each is described in configs/grid/paper.yaml."""

    p: Range
    w: tuple[float, ...]
    side: Literal["both", "hypothesis"]
    correlation: Literal["pearson", "spearman", "kendall"]
    fixed: dict[str, Point]
    max_points: int = MAX_POINTS


def read_grid(config: Mapping[str, Any]) -> tuple[GridSpec, dict[str, tuple[float, float]]]:
    """The grid to compute, and the (w, p) evaluated beside the best of each explainer, by its name.

    config: the composed configuration, of which `grid` and `aggregation` are read.
    Raises ConfigError for an unknown or missing key, a value that does not fit, too large a grid, or a fixed point
    outside it.
    """
    aggregation = build(config.get("aggregation"), Aggregation, "aggregation")
    keys: GridKeys = convert(config.get("grid"), GridKeys, "grid")
    if keys.max_points < 1:
        raise ConfigError(f"grid.max_points must be at least 1, got {keys.max_points}.")
    p = p_values(keys.p.start, keys.p.stop, keys.p.step, keys.max_points)
    check_size(len(p), len(set(keys.w)), keys.max_points)
    spec = GridSpec(tuple(p.tolist()), keys.w, keys.side, aggregation, keys.correlation)
    for name, point in keys.fixed.items():
        try:
            GridSpec((point.p,), (point.w,))
        except ConfigError as error:
            raise ConfigError(f"grid.fixed.{name}: {error}") from error
    return spec, {name: (point.w, point.p) for name, point in keys.fixed.items()}
