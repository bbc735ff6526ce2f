"""What is drawn or swaps sides in a paired test: segments, systems or both, and the statistics that follow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, get_args

import numpy as np

from bmx_grid.core.errors import check_name
from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.measures.correlation import FEWEST, Coefficient, correlate
from bmx_grid.measures.correlations_of_resamples import pair_columns, pearson_of_sums, weighted_correlations
from bmx_grid.measures.resampling import (
    CELLS,
    Draw,
    fitting,
    number_of,
    ranges,
    ratio,
    seeded_draws,
    sums_by,
    swaps,
)

Unit = Literal["inputs", "systems", "both"]


def check_unit(unit: str) -> None:
    """Raise ConfigError, with the list of what exists, unless `unit` names what is swapped."""
    check_name("unit", unit, get_args(Unit))


def units_of(unit: Unit, clusters: Ints, systems: Ints) -> tuple[int, Ints]:
    """How many units there are of N rows in int64[N] clusters and systems (of both the fewer), and that of each row.

    Of both each row is a unit.
    """
    if unit == "both":
        fewer = min(number_of(clusters), number_of(systems))
        return fewer, np.arange(len(clusters))
    codes_of_unit = clusters if unit == "inputs" else systems
    return number_of(codes_of_unit), codes_of_unit


def drawn_units(
    unit: Unit, clusters: Ints, systems: Ints, draw: Draw, resamples: int, seed: int, width: int
) -> Iterator[Floats]:
    """float64[U, R] how often each unit is drawn, or whether it is swapped, of a block of resamples at a time.

    Clusters are drawn as by every other bootstrap of clusters with this seed, so that a gain has one interval wherever
    it stands; swaps, and draws of systems, have streams of their own. width, and what is not to be written to: as for
    `seeded_draws`.
    """
    swapping = draw is swaps
    cluster_stream = (1, 0) if swapping else ()
    system_stream = (int(swapping), 1)
    # nothing is drawn before a block is asked for
    of_clusters = seeded_draws(number_of(clusters), resamples, seed, width, draw=draw, stream=cluster_stream)
    of_systems = seeded_draws(number_of(systems), resamples, seed, width, draw=draw, stream=system_stream)
    if unit != "both":
        yield from of_clusters if unit == "inputs" else of_systems
        return
    for of_cluster, of_system in zip(of_clusters, of_systems, strict=True):
        by_cluster = of_cluster[clusters]
        by_system = of_system[systems]
        if swapping:
            yield (by_cluster != by_system).astype(np.float64)
        else:
            yield by_cluster * by_system


def resampled_means(
    kind: Coefficient, columns: Floats, human: Floats, unit: Ints, times: Floats, members: list[Ints]
) -> Floats:
    """float64[K, R] of float64[N, K] scores the correlation, or its mean within groups of rows.

    Units of rows count float64[U, R] times.
    """
    correlations = []
    for rows in members:
        scores = columns[rows]
        judged = human[rows]
        units = unit[rows]
        if kind == "pearson":
            correlations.append(_pearson_of_units(scores, judged, units, times))
        else:
            correlations.append(weighted_correlations(kind, scores, judged, times[units]))
    return _mean(correlations)


def _pearson_of_units(columns: Floats, human: Floats, unit: Ints, times: Floats) -> Floats:
    """float64[K, R] Pearson's r of float64[m, K] scores, from the sums of each unit, which counts float64[U, R] times.

    Where digits are lost, from the pairs.
    """
    centred = human - human.mean()
    correlations = np.empty((columns.shape[1], times.shape[1]))
    for place, column in enumerate(columns.T):
        pairs = pair_columns(column - column.mean(), centred)
        sums = sums_by(unit, pairs, len(times))
        drawn = times.T @ sums
        # the first sum is that of ones: how many pairs were drawn
        too_few = drawn[:, 0] < FEWEST
        correlations[place] = np.where(too_few, np.nan, pearson_of_sums(drawn))
    lost = np.flatnonzero(np.isnan(correlations).any(axis=0))
    for part in ranges(len(lost), fitting(CELLS, len(human))):
        some = lost[part]
        weights = times[:, some][unit]
        correlations[:, some] = weighted_correlations("pearson", columns, human, weights)
    return correlations


def after_swaps(
    kind: Coefficient, x: Floats, y: Floats, human: Floats, unit: Ints, swap: Floats, members: list[Ints]
) -> Floats:
    """float64[R] differences after float64[U, R] swaps of units: a metric then has rows of both, pooled."""
    differences = np.full(swap.shape[1], np.nan)
    if kind == "pearson" and len(members) == 1:
        # Swaps change the sums of one metric by as much as those of the other, by what the swapped units differ.
        centred = human - human.mean()
        x_sums = sums_by(unit, pair_columns(x, centred))
        y_sums = sums_by(unit, pair_columns(y, centred))
        moved = swap.T @ (y_sums - x_sums)
        of_x = pearson_of_sums(x_sums.sum(axis=0) + moved)
        of_y = pearson_of_sums(y_sums.sum(axis=0) - moved)
        differences = of_x - of_y
    lost = np.flatnonzero(np.isnan(differences))
    if len(lost):
        swapped = swap[:, lost]
        kept = 1 - swapped
        # each unit twice, with its rows of x and with those of y: a metric takes one of the two
        both = np.append(x, y)[:, None]
        judged = np.tile(human, 2)
        units = np.append(unit, unit + number_of(unit))
        groups = [np.append(rows, rows + len(x)) for rows in members]
        of_x = resampled_means(kind, both, judged, units, np.concatenate([kept, swapped]), groups)[0]
        of_y = resampled_means(kind, both, judged, units, np.concatenate([swapped, kept]), groups)[0]
        differences[lost] = of_x - of_y
    return differences


def mean_within(kind: Coefficient, scores: Floats, human: Floats, members: list[Ints]) -> float:
    """The correlation, or its mean within groups of rows."""
    correlations = [correlate(kind, scores[rows], human[rows]) for rows in members]
    return float(_mean(np.array(correlations)))


def _mean(values: Sequence[Floats] | Floats) -> Floats:
    """float64[R] the mean of arrays of that length, without what is undefined."""
    known = np.isfinite(values)
    total = np.where(known, values, 0.0).sum(axis=0)
    return ratio(total, known.sum(axis=0))
