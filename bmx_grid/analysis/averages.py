"""Averages over the language pairs of a data set and metric: the last row of a table of results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bmx_grid.analysis.table import Flags, Floats, GridTable


@dataclass(frozen=True)
class Average:
    """Arithmetic means over n language pairs; NaN where a pair is undefined or the explainer did not run on it, so
    that all numbers of a row rest on the same pairs.

    baseline: of the metric alone, each pair as its first explainer has it; fixed, best: by explainer, at its fixed
    point and at each pair's own best point; fixed_gain, best_gain: above the explainer's own baselines.
    """

    n: int
    baseline: float
    fixed: Mapping[str, float]
    fixed_gain: Mapping[str, float]
    best: Mapping[str, float]
    best_gain: Mapping[str, float]


def averages(table: GridTable, fixed: Floats, best: Floats) -> dict[tuple[str, str], Average]:
    """By (data set, metric); fixed, best: float64[S] correlations of the table's settings."""
    found = {}
    for dataset in table.factor_levels("dataset"):
        part = table.take(table.where(dataset=dataset))
        for metric in part.factor_levels("metric"):
            rows = table.where(dataset=dataset, metric=metric)
            pairs = table.names("language_pair")[rows]
            _, first = np.unique(pairs, return_index=True)
            explainers = sorted(set(table.names("explainer")[rows].tolist()))
            own = {name: rows & table.where(explainer=name) for name in explainers}
            found[dataset, metric] = Average(
                n=len(first),
                baseline=float(table.baseline[rows][first].mean()),
                fixed=_means(fixed, own, len(first)),
                fixed_gain=_means(fixed - table.baseline, own, len(first)),
                best=_means(best, own, len(first)),
                best_gain=_means(best - table.baseline, own, len(first)),
            )
    return found


def _means(values: Floats, rows: Mapping[str, Flags], expected: int) -> dict[str, float]:
    return {name: float(values[of].mean()) if of.sum() == expected else float("nan") for name, of in rows.items()}
