"""Is the difference between two metrics' correlations with the same human scores real? Tests and an interval.

The tests are Williams' (Graham and Baldwin 2014) and permutation and bootstrap over inputs, systems or both (Deutsch,
Dror and Roth 2021, "A statistical analysis of summarization evaluation metrics using resampling methods", TACL 9).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypedDict, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bmx_grid.measures.best import TIE
from bmx_grid.measures.correlation import Kind, check_kind
from bmx_grid.measures.paired_rows import PairedRows, Statistic, Unit
from bmx_grid.measures.resampling import (
    FEWEST_CLUSTERS,
    blocks,
    bounds,
    codes,
    draws,
    interval_levels,
    number_of,
    swaps,
)

Floats = NDArray[np.float64]
Alternative = Literal["two-sided", "greater"]


def williams(r_x: float, r_y: float, r_xy: float, n: int, alternative: Alternative = "two-sided") -> float:
    """The p value of Williams' test of r_x against r_y, two correlations with the same third variable.

    r_x, r_y: correlations of two metrics with the human scores; r_xy: of the metrics with each other; n: the number
    of segments (or systems) all three rest on. t has n - 3 degrees of freedom (Williams 1959, equation in Graham and
    Baldwin 2014, "Testing for significance of increased correlation with human judgment", EMNLP). "greater" asks
    whether r_x is greater. The sign counts: a metric that is better when lower is negated first, which changes the
    sign of both its correlations.
    It takes segments as independent and scores as normal: with clusters of segments, or scores with heavy tails, a
    permutation by clusters (`compare`) is to be believed instead.
    NaN for a NaN, fewer than 4 segments, or correlations that leave nothing to test (two equal metrics, or a perfect
    correlation of all three). Raises ValueError for numbers outside [-1, 1] or an unknown alternative.
    """
    from scipy.special import stdtr

    _check_alternative(alternative)
    found = np.array([r_x, r_y, r_xy], dtype=np.float64)
    if np.isnan(found).any() or n < 4 or r_xy >= 1 - TIE:  # equal metrics differ by rounding
        return float("nan")
    if (np.abs(found) > 1).any():
        raise ValueError(f"correlations are between -1 and 1, not {r_x}, {r_y}, {r_xy}")
    determinant = max(1 - r_x**2 - r_y**2 - r_xy**2 + 2 * r_x * r_y * r_xy, 0.0)
    spread = 2 * (n - 1) / (n - 3) * determinant + ((r_x + r_y) / 2) ** 2 * (1 - r_xy) ** 3
    if not spread > 0:
        return float("nan")
    t = (r_x - r_y) * math.sqrt((n - 1) * (1 + r_xy) / spread)
    upper = float(stdtr(n - 3, -abs(t)))
    if alternative == "two-sided":
        return 2 * upper
    return upper if t >= 0 else 1 - upper


@dataclass(frozen=True)
class Comparison:
    """Two metrics against the same human scores.

    x, y: the statistic of each on the used segments; difference: x - y. low, high: interval of the difference from
    the bootstrap. p: of the permutation test. p_bootstrap: from the resamples on the other side of 0 (twice the smaller
    side where two-sided); it says what the interval says, and is no test under a null hypothesis. n: used segments;
    clusters, systems: how many of each (0 systems where none were given). resamples: of each of the two; undefined:
    resamples of the bootstrap without a value, left out; seed: of both.
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
    systems: int
    resamples: int
    undefined: int
    seed: int


class _Found(TypedDict):
    difference: float
    low: float
    high: float
    p: float
    p_bootstrap: float
    undefined: int


def compare(
    x: ArrayLike,
    y: ArrayLike,
    human: ArrayLike,
    cluster: ArrayLike | None = None,
    *,
    system: ArrayLike | None = None,
    item: ArrayLike | None = None,
    statistic: Kind | Statistic = "pearson",
    unit: Unit = "inputs",
    alternative: Alternative = "two-sided",
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
    exact: bool = False,
    bootstrap: bool = True,
) -> Comparison:
    """The difference of two metrics' correlations with the human scores: interval by bootstrap, p by permutation.

    x, y, human: float64[N], one row per segment (and system); a row with NaN or infinity in any of them is left out.
    cluster: N labels of segments that are not independent of each other, the inputs of a design with systems; each
    row is its own without. system: N labels; item: N labels of what was translated, the clusters without.
    statistic: "pearson", "spearman", "kendall" (over all rows, no grouping), or a function of scores, human scores,
    system codes and item codes (whole numbers from 0 on) of any number of rows. Such a function is called in a loop,
    with a system or cluster that was drawn twice under two codes.

    unit: what is swapped between the metrics, and drawn with replacement.
        "inputs": whole clusters (PERM-INPUTS, BOOT-INPUTS). "systems": whole systems. "both": each row is swapped if
        either its system or its cluster is, not both (PERM-BOTH as in nlpstats), and counts as often as its system
        was drawn times its cluster was (BOOT-BOTH). "single": single scores are swapped (as in mt-metrics-eval), which
        takes rows as independent; the interval is that of "inputs".
        The default is "inputs": it says what another sample of segments would say of these systems, and it keeps its
        size where rows share a source or reference. "both" also asks about other systems, of which there are few.
    Scores of both metrics are standardised over the used rows before they are swapped, as in Deutsch et al. Swapping
    turns the sign of each cluster's contribution to the difference, so that the test is exact where the two metrics
    are exchangeable, and right for many clusters where only their correlations are equal.
    p = (k + 1) / (R + 1) for k of R swaps that differ as much as observed (an undefined one counts as such).
    alternative: "greater" asks whether x is better. exact: all swaps and all draws are enumerated instead of drawn.
    bootstrap: false for the permutation test alone; interval and p_bootstrap are then NaN.

    NaN for interval and p with fewer than 3 units or an undefined difference. Raises ValueError for arrays of different
    lengths, a unit without systems, an unknown name or a number of resamples below 1, ConfigError for an unknown kind.
    """
    _check_alternative(alternative)
    if unit not in get_args(Unit) or (unit in ("systems", "both") and system is None):
        raise ValueError(f"the unit {unit!r} is not one of {', '.join(get_args(Unit))}, or needs systems")
    if resamples < 1:
        raise ValueError(f"at least one resample is needed, not {resamples}")
    if isinstance(statistic, str):
        check_kind(statistic)
    rows = PairedRows.of(x, y, human, cluster, system, item)
    units = {"inputs": rows.clusters, "systems": rows.systems, "both": min(rows.clusters, rows.systems)}
    count = units.get(unit, rows.clusters)
    first, second = (rows.statistic(statistic, scores) for scores in (rows.x, rows.y))
    samples, swapped = None, None
    if count >= FEWEST_CLUSTERS and not math.isnan(first - second):
        drawing, swapping = (None, None) if exact else _generators(seed)
        samples = rows.bootstrapped(statistic, unit, resamples, drawing) if bootstrap else None
        swapped = rows.permuted(statistic, unit, resamples, swapping)
    found = _intervals_and_p(first - second, samples, swapped, alternative, interval_levels(confidence, count), exact)
    counts = {"n": len(rows.human), "clusters": rows.clusters, "systems": rows.systems}
    return Comparison(first, second, **found, **counts, resamples=resamples, seed=seed)


def compare_means(
    x: ArrayLike,
    y: ArrayLike,
    cluster: ArrayLike | None = None,
    *,
    alternative: Alternative = "two-sided",
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Comparison:
    """The difference of two means over the same groups: agreement within each item, say, averaged over items.

    x, y: float64[G], a statistic of each metric in each group; groups where one is undefined are left out. cluster: G
    labels of groups that are drawn and swapped together; each is its own without. To swap the scores of a whole group
    is to swap its two statistics, so that this is `compare` by "inputs" with the grouped statistic, without its loop.
    Raises ValueError for arrays of different lengths, an unknown alternative, or a number of resamples below 1.
    """
    _check_alternative(alternative)
    if resamples < 1:
        raise ValueError(f"at least one resample is needed, not {resamples}")
    one, other = (np.asarray(values, dtype=np.float64) for values in (x, y))
    labels = np.arange(len(one)) if cluster is None else np.asarray(cluster)
    if not one.shape == other.shape == labels.shape or one.ndim != 1:
        raise ValueError(f"shapes {one.shape}, {other.shape} and {labels.shape} are not those of one list of groups")
    used = np.isfinite(one) & np.isfinite(other)
    one, other, group_of = one[used], other[used], codes(labels[used])
    count = number_of(group_of)
    first, second = (float(values.mean()) if len(values) else np.nan for values in (one, other))
    samples, swapped = None, None
    if count >= FEWEST_CLUSTERS:
        drawing, swapping = _generators(seed)
        sums, sizes = np.bincount(group_of, one - other), np.bincount(group_of)
        parts = [draws(drawing, count, size) for size in blocks(resamples, count)]
        samples = np.concatenate([(part @ sums) / (part @ sizes) for part in parts])
        signs = (1 - 2 * swaps(swapping, count, size) for size in blocks(resamples, count))
        swapped = np.concatenate([part @ sums for part in signs]) / len(one)
    found = _intervals_and_p(first - second, samples, swapped, alternative, interval_levels(confidence, count))
    return Comparison(first, second, **found, n=len(one), clusters=count, systems=0, resamples=resamples, seed=seed)


def permutation_p(swapped: Floats, difference: float, alternative: Alternative, exact: bool) -> float:
    """p of a difference among float64[R] those after swaps: (k + 1) / (R + 1), of all swaps (exact) k / R.

    k: swaps that differ as much as observed; an undefined one counts as such.
    """
    if alternative == "two-sided":
        swapped, difference = np.abs(swapped), abs(difference)
    extreme = int((~(swapped < difference - TIE)).sum())  # NaN included
    return extreme / len(swapped) if exact else (extreme + 1) / (len(swapped) + 1)


def _generators(seed: int) -> tuple[np.random.Generator, np.random.Generator]:
    """Of draws and of swaps, which do not depend on each other."""
    drawing, swapping = (np.random.default_rng(part) for part in np.random.SeedSequence(seed).spawn(2))
    return drawing, swapping


def _intervals_and_p(
    difference: float,
    samples: Floats | None,
    swapped: Floats | None,
    alternative: Alternative,
    levels: tuple[float, float],
    exact: bool = False,
) -> _Found:
    """What a comparison says of its difference, from bootstrap samples and swaps; NaN where there are none."""
    found = _Found(difference=difference, low=np.nan, high=np.nan, p=np.nan, p_bootstrap=np.nan, undefined=0)
    if samples is not None:
        low, high = bounds(samples, levels)
        missing = np.isnan(samples)
        found |= {"low": float(low), "high": float(high), "undefined": int(missing.sum())}
        found["p_bootstrap"] = _p_of_resamples(samples[~missing], alternative)
    if swapped is not None:
        found["p"] = permutation_p(swapped, difference, alternative, exact)
    return found


def _p_of_resamples(samples: Floats, alternative: Alternative) -> float:
    """(k + 1) / (R + 1) for k of R resampled differences that are not above 0; two-sided twice the smaller side."""
    sides = [(int((side <= TIE).sum()) + 1) / (len(samples) + 1) for side in (samples, -samples)]
    return sides[0] if alternative == "greater" else min(1.0, 2 * min(sides))


def _check_alternative(alternative: str) -> None:
    if alternative not in get_args(Alternative):
        raise ValueError(f"the alternative {alternative!r} is not one of {', '.join(get_args(Alternative))}")
