"""Is the difference between two metrics, or two systems, real? Tests and an interval.

The tests of correlations are Williams' (Graham and Baldwin 2014) and permutation and bootstrap over inputs, systems or
both (Deutsch, Dror and Roth 2021, "A statistical analysis of summarization evaluation metrics using resampling
methods", TACL 9). Scores that are made of sums over segments, as BLEU of a corpus and means, are compared by the paired
bootstrap (Koehn 2004) and approximate randomisation (Riezler and Maxwell 2005).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.measures.agreement import members_of
from bmx_grid.measures.correlation import FEWEST, TIE, Kind, correlate
from bmx_grid.measures.resampling import (
    CELLS,
    FEWEST_CLUSTERS,
    Combine,
    Draw,
    codes,
    draws,
    fitting,
    interval,
    number_of,
    pair_columns,
    pearson_of_sums,
    ranges,
    seeded_draws,
    sums_by,
    swaps,
    weighted_correlations,
)

Unit = Literal["inputs", "systems", "both"]


def williams(r_x: float, r_y: float, r_xy: float, n: int) -> float:
    """The two-sided p value of Williams' test of r_x against r_y, two correlations with the same third variable.

    r_x, r_y: correlations of two metrics with the human scores; r_xy: of the metrics with each other; n: the number
    of segments (or systems) all three rest on. t has n - 3 degrees of freedom (Williams 1959, equation in Graham and
    Baldwin 2014, "Testing for significance of increased correlation with human judgment", EMNLP). The sign counts: a
    metric that is better when lower is negated first, which changes the sign of both its correlations.
    It takes segments as independent and scores as normal: with clusters of segments, or scores with heavy tails, a
    permutation by clusters (`compare`) is to be believed instead.
    NaN for a NaN, fewer than 4 segments, or correlations that leave nothing to test (two equal metrics, or a perfect
    correlation of all three). Raises ValueError for numbers outside [-1, 1].
    """
    from scipy.special import stdtr

    if np.isnan([r_x, r_y, r_xy]).any() or n < 4 or r_xy >= 1 - TIE:  # equal metrics differ by rounding
        return math.nan
    if max(abs(r_x), abs(r_y), abs(r_xy)) > 1:
        raise ValueError(f"correlations are between -1 and 1, not {r_x}, {r_y}, {r_xy}")
    determinant = max(1 - r_x**2 - r_y**2 - r_xy**2 + 2 * r_x * r_y * r_xy, 0.0)
    spread = 2 * (n - 1) / (n - 3) * determinant + ((r_x + r_y) / 2) ** 2 * (1 - r_xy) ** 3
    if not spread > 0:
        return math.nan
    t = (r_x - r_y) * math.sqrt((n - 1) * (1 + r_xy) / spread)
    return float(2 * stdtr(n - 3, -abs(t)))


@dataclass(frozen=True)
class Comparison:
    """Two metrics against the same human scores, or two systems.

    x, y: the statistic of each on the used segments; difference: x - y. low, high: interval of the difference from
    the bootstrap. p: of the permutation test. p_bootstrap: twice the share of resamples on the smaller side of 0; it
    says what the interval says, and is no test under a null hypothesis. n: used segments; clusters: how many clusters
    these are.
    """

    x: float
    y: float
    difference: float
    low: float
    high: float
    p: float
    p_bootstrap: float
    n: int
    clusters: int


class Drawn(NamedTuple):
    """A statistic of two metrics, with resamples and swaps of their difference.

    x, y: of either metric; samples, swapped: float64[R] differences of bootstrap samples and after swaps, none where
    undefined; units: how many are swapped or drawn; n: rows; clusters: of these.
    """

    x: float
    y: float
    samples: Floats
    swapped: Floats
    units: int
    n: int
    clusters: int


def compare(
    x: ArrayLike,
    y: ArrayLike,
    human: ArrayLike,
    cluster: ArrayLike | None = None,
    *,
    system: ArrayLike | None = None,
    group: ArrayLike | None = None,
    statistic: Kind = "pearson",
    unit: Unit = "inputs",
    resamples: int = 1000,
    seed: int = 0,
    bootstrap: bool = True,
) -> Comparison:
    """The difference of two metrics' correlations with the human scores: interval by bootstrap, p by permutation.

    x, y, human: float64[N], one row per segment (and system); a row with NaN or infinity in any of them is left out.
    cluster: N labels of segments that are not independent of each other, the inputs of a design with systems; each
    row is its own without. system: N labels. group: N labels, for the mean of the correlations within groups, of those
    where it is defined; a row that is drawn twice counts twice in its group.

    unit: what is swapped between the metrics, and drawn with replacement.
        "inputs": whole clusters (PERM-INPUTS, BOOT-INPUTS). "systems": whole systems. "both": each row is swapped if
        either its system or its cluster is, not both (PERM-BOTH as in nlpstats), and counts as often as its system
        was drawn times its cluster was (BOOT-BOTH).
        The default is "inputs": it says what another sample of segments would say of these systems, and it keeps its
        size where rows share a source or reference. "both" also asks about other systems, of which there are few.
    Scores of both metrics are standardised over the used rows before they are swapped, as in Deutsch et al. Swapping
    turns the sign of each cluster's contribution to the difference, so that the test is exact where the two metrics
    are exchangeable, and right for many clusters where only their correlations are equal.
    p = (k + 1) / (R + 1) for k of R swaps that differ as much as observed (an undefined one counts as such).
    bootstrap: false for the permutation test alone; interval and p_bootstrap are then NaN.

    NaN for interval and p with fewer than 3 units or an undefined difference. Raises ValueError for arrays of different
    lengths, a unit without systems or an unknown name, ConfigError for an unknown kind.
    """
    drawn = drawn_correlations(
        x,
        y,
        human,
        cluster,
        system=system,
        group=group,
        statistic=statistic,
        unit=unit,
        resamples=resamples,
        seed=seed,
        bootstrap=bootstrap,
    )
    return comparison_of(*drawn)


def drawn_correlations(
    x: ArrayLike,
    y: ArrayLike,
    human: ArrayLike,
    cluster: ArrayLike | None = None,
    *,
    system: ArrayLike | None = None,
    group: ArrayLike | None = None,
    statistic: Kind = "pearson",
    unit: Unit = "inputs",
    resamples: int = 1000,
    seed: int = 0,
    bootstrap: bool = True,
) -> Drawn:
    """What `compare` rests on: both correlations, with resamples and swaps of their difference. Arguments as there."""
    if unit not in get_args(Unit) or (unit != "inputs" and system is None):
        raise ValueError(f"the unit {unit!r} is not one of {', '.join(get_args(Unit))}, or needs systems")
    arrays = [np.asarray(values, dtype=np.float64) for values in (x, y, human)]
    rows = np.arange(arrays[0].size)
    labels = [np.asarray(rows if of is None else of) for of in (cluster, system, group)]
    if any(array.shape != rows.shape for array in (*arrays, *labels)):
        shapes = ", ".join(str(array.shape) for array in (*arrays, *labels))
        raise ValueError(f"scores, human scores and labels must be arrays of one length, not of shapes {shapes}")
    used = np.isfinite(arrays).all(axis=0)
    left = unit_variance(arrays[0][used])
    right = unit_variance(arrays[1][used])
    judged = arrays[2][used]
    clusters, systems = (codes(label[used]) for label in labels[:2])
    members = [np.arange(len(judged))] if group is None else members_of(codes(labels[2][used]))
    first, second = (_mean_within(statistic, scores, judged, members) for scores in (left, right))
    count, of_row = units_of(unit, clusters, systems)
    samples = [np.empty(0)]
    swapped = [np.empty(0)]
    if count >= FEWEST_CLUSTERS and not math.isnan(first - second):
        # sums of units cost nothing for each row; other resamples are written out for rows of both metrics
        width = 0 if statistic == "pearson" and unit != "both" else 2 * len(judged)
        for times in drawn_units(unit, clusters, systems, draws, resamples, seed, width) if bootstrap else ():
            both = _resampled(statistic, np.column_stack([left, right]), judged, of_row, times, members)
            samples.append(both[0] - both[1])
        for swap in drawn_units(unit, clusters, systems, swaps, resamples, seed, width):
            swapped.append(_after_swaps(statistic, left, right, judged, of_row, swap, members))
    return Drawn(
        first, second, np.concatenate(samples), np.concatenate(swapped), count, len(judged), number_of(clusters)
    )


def units_of(unit: Unit, clusters: Ints, systems: Ints) -> tuple[int, Ints]:
    """How many units there are of N rows in int64[N] clusters and systems (of both the fewer), and that of each row.

    Of both each row is a unit.
    """
    if unit == "both":
        return min(number_of(clusters), number_of(systems)), np.arange(len(clusters))
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
    of_swaps = draw is swaps
    stream = (1, 0) if of_swaps else ()
    of_clusters = seeded_draws(number_of(clusters), resamples, seed, width, draw=draw, stream=stream)
    of_systems = seeded_draws(number_of(systems), resamples, seed, width, draw=draw, stream=(int(of_swaps), 1))
    if unit != "both":
        yield from of_clusters if unit == "inputs" else of_systems
        return
    for of_cluster, of_system in zip(of_clusters, of_systems, strict=True):
        both = of_cluster[clusters], of_system[systems]
        yield (both[0] != both[1]).astype(np.float64) if draw is swaps else both[0] * both[1]


def _resampled(kind: Kind, columns: Floats, human: Floats, unit: Ints, times: Floats, members: list[Ints]) -> Floats:
    """float64[K, R] of float64[N, K] scores the correlation, or its mean within groups of rows.

    Units of rows count float64[U, R] times.
    """
    if kind != "pearson":
        return _mean([weighted_correlations(kind, columns[rows], human[rows], times[unit[rows]]) for rows in members])
    return _mean([_pearson_of_units(columns[rows], human[rows], unit[rows], times) for rows in members])


def _pearson_of_units(columns: Floats, human: Floats, unit: Ints, times: Floats) -> Floats:
    """float64[K, R] Pearson's r of float64[m, K] scores, from the sums of each unit, which counts float64[U, R] times.

    Where digits are lost, from the pairs.
    """
    centred = human - human.mean()
    correlations = np.empty((columns.shape[1], times.shape[1]))
    for place, column in enumerate(columns.T):
        pairs = pair_columns(column - column.mean(), centred)
        sums = np.stack([np.bincount(unit, values, len(times)) for values in pairs.T], axis=1)
        drawn = times.T @ sums
        correlations[place] = np.where(drawn[:, 0] < FEWEST, np.nan, pearson_of_sums(drawn))
    lost = np.flatnonzero(np.isnan(correlations).any(axis=0))
    for part in ranges(len(lost), fitting(CELLS, len(human))):
        some = lost[part]
        correlations[:, some] = weighted_correlations("pearson", columns, human, times[:, some][unit])
    return correlations


def _after_swaps(
    kind: Kind, x: Floats, y: Floats, human: Floats, unit: Ints, swap: Floats, members: list[Ints]
) -> Floats:
    """float64[R] differences after float64[U, R] swaps of units: a metric then has rows of both, pooled."""
    differences = np.full(swap.shape[1], np.nan)
    if kind == "pearson" and len(members) == 1:
        # Swaps change the sums of one metric by as much as those of the other, by what the swapped units differ.
        of_x, of_y = (sums_by(unit, pair_columns(scores, human - human.mean())) for scores in (x, y))
        moved = swap.T @ (of_y - of_x)
        differences = pearson_of_sums(of_x.sum(axis=0) + moved) - pearson_of_sums(of_y.sum(axis=0) - moved)
    lost = np.flatnonzero(np.isnan(differences))
    if len(lost):
        kept = np.concatenate([1 - swap[:, lost], swap[:, lost]])
        # each unit twice, with its rows of x and with those of y: a metric takes one of the two
        pooled = np.append(x, y)[:, None], np.tile(human, 2), np.append(unit, unit + number_of(unit))
        of_both = [np.append(rows, rows + len(x)) for rows in members]
        first, second = (_resampled(kind, *pooled, times, of_both)[0] for times in (kept, 1 - kept))
        differences[lost] = first - second
    return differences


def _mean_within(kind: Kind, scores: Floats, human: Floats, members: list[Ints]) -> float:
    """The correlation, or its mean within groups of rows."""
    return float(_mean(np.array([correlate(kind, scores[rows], human[rows]) for rows in members])))


def _mean(values: Sequence[Floats] | Floats) -> Floats:
    """float64[R] the mean of arrays of that length, without what is undefined."""
    known = np.isfinite(values)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(known, values, 0.0).sum(axis=0) / known.sum(axis=0))


def compare_sums(
    x: Floats,
    y: Floats,
    combine: Combine,
    cluster: ArrayLike | None = None,
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> Comparison:
    """Two scores that `combine` makes of sums over the same N rows, from float64[N, K] terms of these sums.

    With `systems.by_mean` and `systems.mean` two means, of agreement within each item, say. cluster: N labels of rows
    that are drawn and swapped together; each is its own without. A row with NaN or infinity is left out.
    Raises ValueError for terms or labels of other shapes.
    """
    labels = np.arange(len(x)) if cluster is None else np.asarray(cluster)
    if not x.shape == y.shape == (*labels.shape, x.shape[-1]):
        raise ValueError(
            f"terms of shapes {x.shape} and {y.shape} and labels of shape {labels.shape} are of other rows"
        )
    used = np.isfinite(x).all(axis=1) & np.isfinite(y).all(axis=1)
    unit = codes(labels[used])
    of_x, of_y = (sums_by(unit, terms[used]) for terms in (x, y))
    whole_x = of_x.sum(axis=0)
    whole_y = of_y.sum(axis=0)
    count = number_of(unit)
    samples = [np.empty(0)]
    swapped = [np.empty(0)]
    if count >= FEWEST_CLUSTERS:
        for times in seeded_draws(count, resamples, seed):
            samples.append(combine(times.T @ of_x) - combine(times.T @ of_y))
        for swap in seeded_draws(count, resamples, seed, draw=swaps, stream=(1,)):
            moved = swap.T @ (of_y - of_x)
            swapped.append(combine(whole_x + moved) - combine(whole_y - moved))
    first, second = (float(combine(whole)) for whole in (whole_x, whole_y))
    drawn = np.concatenate(samples), np.concatenate(swapped)
    return comparison_of(first, second, *drawn, count, int(used.sum()), count)


def comparison_of(
    x: float, y: float, samples: Floats, swapped: Floats, units: int, n: int, clusters: int
) -> Comparison:
    """What a comparison says, from float64[R] differences of bootstrap samples and after swaps; NaN where are none."""
    low, high = interval(samples, units)
    p = p_of_swaps(x - y, swapped)
    return Comparison(x, y, x - y, low, high, p, _p_of_resamples(samples), n, clusters)


def p_of_swaps(difference: float, swapped: Floats) -> float:
    """(k + 1) / (R + 1) for k of R swaps that differ as much as observed; an undefined one counts as such."""
    extreme = ~(np.abs(swapped) < abs(difference) - TIE)
    return (int(extreme.sum()) + 1) / (len(swapped) + 1) if len(swapped) else math.nan


def _p_of_resamples(samples: Floats) -> float:
    """Twice (k + 1) / (R + 1), for k of R resampled differences that are on the smaller side of 0."""
    if not len(samples):
        return math.nan
    known = samples[~np.isnan(samples)]
    sides = [(int((side <= TIE).sum()) + 1) / (len(known) + 1) for side in (known, -known)]
    return min(1.0, 2 * min(sides))


def unit_variance(scores: Floats) -> Floats:
    """Less their mean, over their standard deviation; only less their mean when they are constant."""
    if not len(scores):
        return scores
    left: Floats = scores - scores.mean()
    if not (scores == scores[0]).all():
        left /= left.std()
    return left


def holm(p: ArrayLike) -> Floats:
    """float64[n] p values adjusted by Holm (1979): the family-wise error rate, whatever the tests' dependence.

    The i-th smallest of n is multiplied by n - i + 1 and made no smaller than the one before, at most 1. NaN (a test
    that is undefined) stays NaN and does not count in n. Raises ValueError for numbers outside [0, 1].
    """
    p = np.asarray(p, dtype=np.float64)
    if p.ndim != 1:
        raise ValueError(f"a family of p values is one array, not of shape {p.shape}")
    tested = np.flatnonzero(~np.isnan(p))
    if ((p[tested] < 0) | (p[tested] > 1)).any():
        raise ValueError("a p value is between 0 and 1")
    order = tested[np.argsort(p[tested], kind="stable")]
    adjusted = np.full(p.shape, np.nan)
    size = len(order)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * (size - np.arange(size))), 1.0)
    return adjusted


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """float64[n] p values adjusted by Benjamini and Hochberg (1995): the false discovery rate. NaN as for `holm`."""
    from scipy.stats import false_discovery_control

    adjusted = np.array(p, dtype=np.float64)
    known = np.isfinite(adjusted)
    if known.any():
        adjusted[known] = false_discovery_control(adjusted[known])
    return adjusted
