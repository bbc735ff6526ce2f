"""What the tests of a setting find: rows, ranks, its grid; and what is made of the tests of all settings together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bmx_grid.evaluations.base import Floats
from bmx_grid.measures.grid_resampling import SelectionAdjusted, Splits
from bmx_grid.measures.multiplicity import benjamini_hochberg, holm

LEVEL = 0.05  # of the tests that part the ranks of metrics, and of corrected p values


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of tests.parquet: one comparison and one test of it, with the explainer that it speaks of."""

    explainer: str
    compared: str
    against: str
    point: str
    human: str
    level: str
    grouping: str
    statistic: str
    difference: float
    low: float
    high: float
    test: str
    alternative: str
    p: float
    p_holm: float = float("nan")
    p_bh: float = float("nan")
    family: str
    n: int
    clusters: int
    resamples: int
    seed: int


@dataclass(frozen=True)
class SelectionRow:
    """One row of selection.parquet: what the best point of a grid is worth.

    best_w, best_p, best_gain: the point and its gain on the segments it was chosen on; p_selection_adjusted: of the
    highest gain of the grid. cross_fitted_gain, low, high: the mean over `splits` halves of the clusters, each judged
    at the point that is best on the other half; share_unboosted: of these the share at the metric alone.
    """

    best_w: float
    best_p: float
    best_gain: float
    p_selection_adjusted: float
    cross_fitted_gain: float
    low: float
    high: float
    share_unboosted: float
    splits: int
    clusters: int


@dataclass(frozen=True)
class Rank:
    """One row of ranking.parquet: a metric, whatever its explainer, among those of its language pair.

    value: its correlation, with its sign, as in correlations.parquet: one of a metric whose lower scores are better, as
    TER's, is negative. rank: 1 is the best; 0 where nothing was tested.
    """

    explainer: str
    level: str
    statistic: str
    value: float
    rank: int
    n: int


@dataclass(frozen=True, eq=False)
class Band:
    """95 % intervals at one w, for every p: low, high float64[P] of the correlation, gain_low, gain_high of the gain.

    Each holds for its p alone.
    """

    w: float
    low: Floats
    high: Floats
    gain_low: Floats
    gain_high: Floats


@dataclass(frozen=True, eq=False)
class WholeGrid:
    """What the grid of a setting is worth: its best point (w, p) tested for the choice, the cross-fitted gain, and a
    band for the figure, at the w of the published point (of the best one where none is published)."""

    point: tuple[float, float]
    selection: SelectionAdjusted
    splits: Splits
    band: Band
    n: int
    clusters: int


@dataclass(frozen=True, eq=False)
class TestsOfSetting:
    """rows: the tests; grid: of the whole grid, None without one; ranks: of its metric, in one setting of each."""

    rows: tuple[Row, ...]
    grid: WholeGrid | None
    ranks: tuple[Rank, ...] = ()


def significance_ranks(values: Sequence[float], p_of: Mapping[tuple[int, int], float]) -> list[int]:
    """The rank of each metric, by the rule of the WMT metrics tasks (Freitag et al. 2022).

    From the highest value down, metrics share a rank until one differs significantly (at .05) from any of them: it has
    the next rank, and so on. A metric has rank 0 where its value is undefined, or each of its p values. p_of: by two
    indices, in either order.
    """
    tested = {at for pair, p in p_of.items() if np.isfinite(p) for at in pair}
    ranks = [0] * len(values)
    group: list[int] = []
    rank = 1
    for at in sorted((at for at in tested if np.isfinite(values[at])), key=lambda at: (-values[at], at)):
        if any(p_of.get((other, at), p_of.get((at, other), np.nan)) < LEVEL for other in group):
            rank, group = rank + 1, []
        group.append(at)
        ranks[at] = rank
    return ranks


def adjusted(rows: Sequence[Sequence[Row]]) -> list[tuple[Row, ...]]:
    """The rows with p values adjusted within their families, and how many comparisons there are in the name."""
    families: dict[str, list[tuple[int, int]]] = {}
    for setting, own in enumerate(rows):
        for place, row in enumerate(own):
            families.setdefault(row.family, []).append((setting, place))
    found = [list(own) for own in rows]
    for family, members in families.items():
        p = np.array([rows[setting][place].p for setting, place in members])
        size = int(np.isfinite(p).sum())
        for (setting, place), first, second in zip(members, holm(p), benjamini_hochberg(p), strict=True):
            name = f"{family}: {size} comparison{'' if size == 1 else 's'}"
            row = rows[setting][place]
            found[setting][place] = replace(row, family=name, p_holm=float(first), p_bh=float(second))
    return [tuple(own) for own in found]
