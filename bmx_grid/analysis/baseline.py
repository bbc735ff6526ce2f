"""Is a weak metric easier to improve? Pearson's r of the gain with the baseline (paper 4.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bmx_grid.analysis.table import Floats, GridTable
from bmx_grid.measures.correlation import pearson


@dataclass(frozen=True)
class GainBaseline:
    """Pearson's r of gain and baseline over settings; NaN with fewer than 3 settings or without variance.

    all: over all settings; by_explainer: over those of each.
    """

    all: float
    by_explainer: Mapping[str, float]


def gain_baseline(table: GridTable, gain: Floats) -> GainBaseline:
    """The correlations for gains float64[S]; settings with an undefined gain are left out."""
    return GainBaseline(
        all=pearson(gain, table.baseline),
        by_explainer={
            name: pearson(gain[rows], table.baseline[rows])
            for name in table.factor_levels("explainer")
            for rows in [table.where(explainer=name)]
        },
    )
