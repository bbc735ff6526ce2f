"""What the whole grid of one setting is worth: intervals, the price of choosing a point on it, gains beyond the choice.

All of it comes from one `Sample`. Each part draws from a generator of its own, made from the seed and the part's place,
so that it gives the same numbers whatever is asked beside it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bmx_grid.measures.at_a_time import fitting, ranges, sizes
from bmx_grid.measures.best import first_within_rounding
from bmx_grid.measures.resampling import bounds, draws, interval_levels, number_of
from bmx_grid.measures.weighted_grids import Sample, grids

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BANDS, SPLITS, FOLDS = 0, 2, 3  # places in the seed; 1 is the selection-adjusted test's
KEPT_CELLS = 2**24  # points x resamples kept at a time: 128 MiB


@dataclass(frozen=True, eq=False)
class Bands:
    """Intervals of a grid by the bootstrap of clusters: of each point alone, not of all at once or of the best.

    low, high: float64[P, W] of the correlation; gain_low, gain_high: float64[P, W] of the gain over the base score,
    0 at w = 1; baseline_low, baseline_high: of the baseline; undefined: int[P, W] resamples without a value.
    """

    low: Floats
    high: Floats
    gain_low: Floats
    gain_high: Floats
    baseline_low: float
    baseline_high: float
    undefined: Ints


@dataclass(frozen=True, eq=False)
class Splits:
    """The cross-fitted gain: a point chosen on one half of the clusters, judged on the other.

    gains: float64[S] of each split, both directions averaged; NaN where one is undefined. mean; low, high: the range
    of 95 % of the splits, which is the spread over ways to split these segments, not a confidence interval.
    abstained: share of the halves that chose w = 1, "do not boost", which gains 0. undefined: NaN splits.
    """

    gains: Floats
    mean: float
    low: float
    high: float
    abstained: float
    undefined: int


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """Boosted scores that owe nothing to a segment's own human score, or to those of its cluster.

    scores: float64[N] at the point chosen on the other folds. A point's scores are moved and scaled to the mean and
    standard deviation that the base score has over all segments, so that folds with different points are comparable;
    no human score enters this, and w = 1 gives the base score itself. fold: int[N]; rows: int[K] the place of the
    chosen p, -1 for w = 1 or nothing defined; w: float64[K] the chosen w, NaN where nothing was defined.
    """

    scores: Floats
    fold: Ints
    rows: Ints
    w: Floats


def bootstrap_bands(sample: Sample, resamples: int = 1000, seed: int = 0, confidence: float = 0.95) -> Bands:
    """Intervals of every point's correlation and gain, from clusters drawn with replacement.

    Expanded percentile intervals (`resampling.interval_levels`). Undefined resamples are left out and counted.
    """
    shape = sample.means.shape[1], int(sample.given.sum())
    low, high, gain_low, gain_high = (np.full(shape, np.nan) for _ in range(4))
    undefined = np.full(shape, resamples)
    if not sample.enough:
        return Bands(low, high, gain_low, gain_high, np.nan, np.nan, undefined)
    levels = interval_levels(confidence, sample.clusters)
    ends: tuple[Floats, Floats] = np.array(np.nan), np.array(np.nan)
    for here in ranges(shape[0], fitting(KEPT_CELLS, resamples * len(sample.w))):
        part = sample.part(here)
        rng = np.random.default_rng([seed, BANDS])
        found = [grids(part, draws(rng, sample.clusters, size)) for size in sizes(resamples, sample.weight_block)]
        baseline = np.concatenate([alone for _, alone in found])
        ends = bounds(baseline, levels)
        for column, place in enumerate(np.flatnonzero(sample.given)):
            values = np.concatenate([grid[place] for grid, _ in found], axis=1)
            undefined[here, column] = np.isnan(values).sum(axis=1)
            low[here, column], high[here, column] = bounds(values, levels)
            values -= baseline
            gain_low[here, column], gain_high[here, column] = bounds(values, levels)
    return Bands(low, high, gain_low, gain_high, float(ends[0]), float(ends[1]), undefined)


def split_gains(sample: Sample, splits: int = 100, seed: int = 0) -> Splits:
    """The gain of a point chosen on a random half of the clusters, on the other half; `splits` times, both ways.

    The point is chosen by `best.first_within_rounding` with w = 1 allowed, whether or not it is part of the grid.
    """
    if not sample.enough or splits < 1:
        return Splits(np.full(splits, np.nan), np.nan, np.nan, np.nan, np.nan, splits)
    half = halves(sample.clusters, splits, seed)
    both, alone = grids(sample, np.concatenate([half, 1 - half]))
    found = [(both[:, :, own], alone[own]) for own in (slice(splits), slice(splits, None))]
    gains, abstained = np.zeros((2, splits)), 0
    for direction, ((chosen_on, _), (judged_on, baseline)) in enumerate((found, found[::-1])):
        rows, columns = _choose(chosen_on)
        abstained += int((sample.w[columns] == 1).sum())
        gains[direction] = judged_on[columns, rows, np.arange(splits)] - baseline
        gains[direction, rows < 0] = np.nan
    mean = gains.mean(axis=0)
    defined = mean[~np.isnan(mean)]
    low, high = np.quantile(defined, [0.025, 0.975]) if len(defined) else (np.nan, np.nan)
    return Splits(
        gains=mean,
        mean=float(defined.mean()) if len(defined) else float("nan"),
        low=float(low),
        high=float(high),
        abstained=abstained / (2 * splits),
        undefined=splits - len(defined),
    )


def halves(clusters: int, splits: int, seed: int = 0) -> Floats:
    """float64[S, C] of 0 and 1: a random half of the clusters, in each split."""
    rng = np.random.default_rng([seed, SPLITS])
    half = np.zeros((splits, clusters))
    for row in half:
        row[rng.permutation(clusters)[: clusters // 2]] = 1
    return half


def cross_fit(sample: Sample, folds: int = 10, seed: int = 0) -> CrossFitted:
    """Each segment's score at the point chosen on the folds it is not in; clusters are never divided.

    Clusters are dealt to the folds at random, the largest first, so that folds have nearly equal numbers of segments.
    With fewer clusters than folds each cluster is a fold. NaN scores where nothing was defined, and all of them with
    fewer than three clusters.
    """
    n, fold = len(sample.base), folds_of(sample, folds, seed)
    count = number_of(fold)
    if count < 2:
        return CrossFitted(np.full(n, np.nan), fold, np.empty(0, dtype=np.int64), np.empty(0))
    dealt = fold[sample.order[sample.starts]]
    rows, columns = _choose(grids(sample, (dealt != np.arange(count)[:, None]).astype(np.float64))[0])
    w = np.where(rows < 0, np.nan, sample.w[columns])
    scores = np.full(n, np.nan)
    for number in np.flatnonzero(rows >= 0):
        inside = fold == number
        boosted = sample.base if w[number] == 1 else _in_units_of_base(sample, rows[number], w[number])
        scores[inside] = boosted[inside]
    return CrossFitted(scores, fold, np.where(w == 1, -1, rows), w)


def folds_of(sample: Sample, folds: int = 10, seed: int = 0) -> Ints:
    """int[N] the fold of each segment: that of its cluster, as `cross_fit` deals them; 0 where nothing is resampled."""
    folds = min(folds, sample.clusters)
    if not sample.enough:
        return np.zeros(len(sample.base), dtype=np.int64)
    rng = np.random.default_rng([seed, FOLDS])
    shuffled = rng.permutation(sample.clusters)
    largest = shuffled[np.argsort(-np.bincount(sample.cluster)[shuffled], kind="stable")]
    dealt = np.empty(sample.clusters, dtype=np.int64)
    dealt[largest] = np.arange(sample.clusters) % folds
    return dealt[sample.cluster]


def _choose(found: Floats) -> tuple[Ints, Ints]:
    """Rows and columns of the best points of R grids float64[W, P, R]; -1 and 0 where nothing is defined."""
    count = len(found)
    best = first_within_rounding(np.ascontiguousarray(found.transpose(2, 1, 0)))
    rows, columns = np.divmod(best, count)
    return np.where(best < 0, -1, rows), np.where(best < 0, 0, columns)


def _in_units_of_base(sample: Sample, row: int, w: float) -> Floats:
    scores = w * sample.base + (1 - w) * sample.means[:, row]
    scores -= scores.mean()
    return scores * float(sample.base.std() / scores.std()) + float(sample.base.mean())
