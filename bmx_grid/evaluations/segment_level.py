"""Correlation with human judgements at segment level: over all segments, by item, by system and within documents."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.evaluations.base import Estimate, ScoredSetting
from bmx_grid.evaluations.level_rows import CorrelationRow
from bmx_grid.measures.correlation import Coefficient
from bmx_grid.measures.grouped import acc_eq_of_halves, grouped_acc_eq, grouped_correlations
from bmx_grid.measures.pairwise import pairwise_correlations
from bmx_grid.measures.resampling import number_of

CORRELATIONS: tuple[Coefficient, ...] = ("pearson", "spearman", "kendall")
PDP = "pdp"  # Pearson's r of the differences between outputs for one source
GROUPINGS = ("none", "item", "system", "document")


def segment_correlations(
    setting: ScoredSetting,
    points: Sequence[str],
    scores: Floats,
    human_name: str,
    drawn: Mapping[str, Any],
    wanted: Sequence[str] = GROUPINGS,
    statistics: Sequence[Coefficient] = CORRELATIONS,
) -> list[list[CorrelationRow]]:
    """The rows of each column of float64[n, K] scores of K points, of segments with the wanted groupings.

    drawn: `resamples` of intervals, and the `seed` of all draws. statistics: the correlations.
    """
    human = setting.segments.judgements.scores[human_name]
    rows_of_points: list[list[CorrelationRow]] = [[] for _ in points]
    for grouping, groups in _groups(setting).items():
        if grouping not in wanted:
            continue
        columns = scores
        if grouping in ("item", "system"):
            columns = _mask_unnamed(setting, scores)
        n_systems = _n_systems(setting, columns, human)
        arrays = (human, groups, setting.codes.clusters)
        # Within documents only tau-b is requested.
        kinds: Any = ["kendall"] if grouping == "document" else statistics
        correlations = grouped_correlations(kinds, columns, *arrays, **drawn)
        for point, rows, by_kind in zip(points, rows_of_points, correlations, strict=True):
            for kind, measured in by_kind.items():
                rows.append(_segment_row(point, human_name, grouping, kind, n_systems, measured))
        if grouping == "document":
            continue
        # Correlations have the metric's own sign; acc_eq compares orders, and takes higher for better.
        turned = setting.direction * columns
        agreements = grouped_acc_eq(turned, *arrays, **drawn)
        halves = acc_eq_of_halves(turned, *arrays, drawn["seed"]).tolist()
        for place, (measured, epsilon, notes) in enumerate(agreements):
            row = _segment_row(points[place], human_name, grouping, "acc_eq", n_systems, measured)
            note = "; ".join(notes)
            row = replace(row, epsilon=epsilon, calibrated_on="same data", held_out=halves[place], note=note)
            rows_of_points[place].append(row)
        if grouping == "item":
            within = correlate_within_sources(setting, points, scores, human_name, drawn)
            for rows, row in zip(rows_of_points, within, strict=True):
                rows.append(row)
    return rows_of_points


def _groups(setting: ScoredSetting) -> dict[str, Ints]:
    """int64[n] the group of each segment, by the groupings that these segments have."""
    segment_codes = setting.codes
    groups = {"none": np.zeros(len(segment_codes.items), dtype=np.int64)}
    if segment_codes.named.any():
        groups["item"] = segment_codes.items
        groups["system"] = segment_codes.systems
    # One document is all segments; with as many as items each is a group of one item.
    if 1 < number_of(segment_codes.documents) < number_of(segment_codes.items):
        groups["document"] = segment_codes.documents
    return groups


def _mask_unnamed(setting: ScoredSetting, scores: Floats) -> Floats:
    """float64[n, K] scores, NaN for segments without a system: these are no outputs to be compared with others."""
    return np.where(setting.codes.named[:, None], scores, np.nan)


def _n_systems(setting: ScoredSetting, columns: Floats, human: Floats) -> int:
    """The number of systems with a segment that people and all of the columns score."""
    used = np.isfinite(columns).all(axis=1) & np.isfinite(human)
    systems = setting.codes.systems[used & setting.codes.named]
    return len(np.unique(systems))


def _segment_row(
    point: str, human_name: str, grouping: str, statistic: str, n_systems: int, measured: Sequence[Any]
) -> CorrelationRow:
    """The row of a statistic; measured: value, ends of its interval, groups, undefined groups, and segments."""
    value, low, high, n_groups, n_undefined, n_segments = measured
    # Without grouping all segments are one group, however many are counted.
    if grouping == "none":
        n_groups = 1
        n_undefined = 0
    # PDP is of all sources together.
    if math.isnan(value):
        n_undefined = n_groups
    return CorrelationRow(
        point=point,
        human=human_name,
        level="segment",
        grouping=grouping,
        statistic=statistic,
        value=Estimate(value, low, high),
        n_segments=n_segments,
        n_systems=n_systems,
        n_groups=n_groups,
        n_undefined=n_undefined,
    )


def correlate_within_sources(
    setting: ScoredSetting, points: Sequence[str], scores: Floats, human_name: str, drawn: Mapping[str, Any]
) -> Iterator[CorrelationRow]:
    """PDP (`measures.pairwise`) of each column of float64[n, K] scores of K points; drawn: of intervals."""
    human = setting.segments.judgements.scores[human_name]
    columns = _mask_unnamed(setting, scores)
    n_systems = _n_systems(setting, columns, human)
    by_point = pairwise_correlations(columns, human, setting.codes.items, setting.codes.clusters, **drawn)
    for point, measured in zip(points, by_point, strict=True):
        yield _segment_row(point, human_name, "item", PDP, n_systems, measured)
