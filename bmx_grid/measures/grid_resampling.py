"""The worth of the whole grid of one setting: the price of choosing a point on it, and gains beyond the choice.

All of it comes from one `GridSample`. Each part draws from a generator of its own, made from the seed and the place of
the part, so that it gives the same numbers whatever else is computed.

The test of the best point pays for having looked at all of them. Null hypothesis: the explanations add nothing. The
human score is a line in the base score plus errors, and in every cluster the errors could have had the opposite sign,
whatever the attributions are. Then no mixture of base score and means correlates better with the human score than the
base score does, and any gain of the best point comes from looking at many points. The gain is compared with
the *largest* gain over the whole grid under that hypothesis (Westfall and Young 1993, "Resampling-based multiple
testing").

In a resample, the residuals of the human scores from their regression on the base score change their sign by whole
clusters at random, are made free of the base score again, and are put back (the wild cluster bootstrap with the null
hypothesis imposed: Cameron, Gelbach and Miller 2008; Freedman and Lane 1983 for permutations). So the baseline
correlation, the base scores, all means, and how the means hang together with the base score and with each other are
kept exactly; clusters may differ in size, and errors in variance. Permuting the attributions among segments instead
would also break their tie to the base score, which they explain; swapping base and boosted score would test that all
points are as good as the base score, which most are far from, and so would hardly ever reject.

A small p value means that the attributions carry something about the human score that the base score does not.
Cross-fitted scores (`cross_fit`) estimate the gain outside these segments; it may still be none. The test is
more sensitive than one of base against boosted score at a single point, whose null hypothesis, equal correlations,
leaves more to chance.

A gain that comes from a curved relation between base and human score counts as added: attributions may be a curved
function of the base score. So does length: see the placebos.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bmx_grid.core.ragged import Flags, Floats
from bmx_grid.measures.correlation import (
    TIE,
    Kind,
    correlate,
    correlate_grid,
    first_within_rounding,
    size_exponent,
    standard_deviation,
    unit,
)
from bmx_grid.measures.means import PART_CELLS, Means, column_blocks, correlate_means
from bmx_grid.measures.resampling import (
    FEWEST_CLUSTERS,
    assign_folds,
    blocks,
    codes,
    fitting,
    number_of,
    ranges,
    sums_by,
    swaps,
)

# places in the seed
SELECTION = 1
FOLDS_PLACE = 3
Packed = NDArray[np.uint8]  # of flags, eight in a byte
COPIED_CELLS = 2**26  # segments x p copied for a part at a time: 512 MiB
MOMENT_CELLS = 2**23  # segments x moments handled at a time: 64 MiB
BLEND_CELLS = 2**15  # p x resamples blended at a time: 256 KiB stay in a processor's cache
DRAWN_CELLS = 2**23  # resamples x clusters drawn at a time: 64 MiB
SIGN_CELLS = 2**19  # resamples x clusters multiplied at a time: 4 MiB stay in a processor's cache


class GridSample:
    """The used segments of one setting (`grid.grid_inputs`).

    means: float64[N, P] aggregated attributions; base, human: float64[N]; all finite. w: float64[W + 1 or W] weights of
    the base score, ascending, the last one 1 ("do not boost"); cluster: int64[N] codes, made of labels of any type.
    """

    def __init__(
        self, means: Means, base: Floats, human: Floats, w: ArrayLike, cluster: ArrayLike, kind: Kind = "pearson"
    ) -> None:
        self.means = means
        self.base = base
        self.human = human
        self.kind = kind
        self.w = np.union1d(w, [1.0])
        self.cluster = codes(cluster)

    def grids_on(self, parts: Sequence[Flags] | Flags) -> Floats:
        """float64[S, P, W] the grids of S parts of the segments, bool[N] each.

        The column w = 1, the last one, is the base score.
        """
        grids = np.empty((len(parts), self.means.shape[1], len(self.w)))
        for columns, means in column_blocks(self.means, fitting(COPIED_CELLS, len(self.base))):
            # allocated anew for each part, it would cost as much as its grid
            memory = np.empty_like(means)
            for grid, part in zip(grids, parts, strict=True):
                rows = np.flatnonzero(part)
                # with mode "raise" NumPy fills a buffer of its own first
                of_part = np.take(means, rows, axis=0, out=memory[: len(rows)], mode="clip")
                base = self.base[rows]
                human = self.human[rows]
                grid[columns] = correlate_grid(self.kind, of_part, base, human, self.w)
        return grids

    @property
    def clusters(self) -> int:
        """How many clusters there are."""
        return number_of(self.cluster)

    @cached_property
    def correlation(self) -> Floats:
        """float64[P, W] the grid of all segments."""
        return correlate_means(self.kind, self.means, self.base, self.human, self.w)

    @cached_property
    def baseline(self) -> float:
        """The correlation of the base score."""
        return correlate(self.kind, self.base, self.human)

    @property
    def enough(self) -> bool:
        """Whether there is something to resample: three clusters and a defined baseline."""
        return self.clusters >= FEWEST_CLUSTERS and not np.isnan(self.baseline)


def cross_fit(sample: GridSample, folds: int = 10, seed: int = 0) -> Floats:
    """float64[N] each segment's score at the point chosen on the folds it is not in; clusters are never divided.

    Such scores owe nothing to a segment's own human score, or to those of its cluster. Clusters are assigned to folds
    at random, the largest first, so that folds have nearly equal numbers of segments. With fewer clusters than folds
    each cluster is a fold. A point's scores are moved and scaled to the mean and standard deviation that the base score
    has over all segments, so that folds with different points are comparable; no human score enters this, and w = 1
    gives the base score itself. NaN if no point was defined, and everywhere with fewer than three clusters.
    """
    scores = np.full(len(sample.base), np.nan)
    if not sample.enough:
        return scores
    fold = assign_folds(sample.cluster, folds, np.random.default_rng([seed, FOLDS_PLACE]))
    others = [fold != number for number in range(number_of(fold))]
    best = first_within_rounding(sample.grids_on(others))
    for number in np.flatnonzero(best >= 0):
        row, column = divmod(int(best[number]), len(sample.w))
        w = sample.w[column]
        boosted = sample.base
        if w != 1:
            means = sample.means[:, row : row + 1].ravel()
            mixed = w * sample.base + (1 - w) * means
            boosted = to_scale(mixed, sample.base)
        inside = fold == number
        scores[inside] = boosted[inside]
    return scores


def to_scale(scores: Floats, like: Floats) -> Floats:
    """Scores with the mean and spread of `like`; unchanged where either has no spread."""
    spread = float(standard_deviation(scores))
    wanted = float(standard_deviation(like))
    if not (spread > 0 and wanted > 0):
        return scores
    scaled = (scores - scores.mean()) * (wanted / spread)
    return np.asarray(scaled + like.mean())


def selection_adjusted(sample: GridSample, resamples: int = 1000, seed: int = 0) -> tuple[float, float]:
    """The gain of the best point of a grid of Pearson's r, and its p value, adjusted for all points; one-sided.

    gain: of the best point (`correlation.first_within_rounding`) over the base score, 0 if that is w = 1. p: the
    share of resamples, the observed one included, whose largest gain is at least as large.
    NaN with fewer than three clusters, an undefined baseline, or one of 1 or -1, which leaves no residuals.
    """
    place = int(first_within_rounding(sample.correlation[None])[0])
    if place < 0 or not sample.enough or 1 - abs(sample.baseline) < TIE:
        return math.nan, math.nan
    row, column = divmod(place, len(sample.w))
    gain = 0.0
    if sample.w[column] != 1:
        gain = float(sample.correlation[row, column] - sample.baseline)
    rng = np.random.default_rng([seed, SELECTION])
    # Filled block by block: those of a million clusters joined from a list would be held twice.
    swapped = np.empty((resamples, -(-sample.clusters // 8)), dtype=np.uint8)
    done = 0
    for size in blocks(resamples, sample.clusters, DRAWN_CELLS):
        swapped[done : done + size] = np.packbits(swaps(rng, sample.clusters, size) > 0, axis=1)
        done += size
    largest = largest_gains(sample, swapped)
    # the observed gain is as large as itself
    as_large = 1 + int((largest >= gain - TIE).sum())
    return gain, as_large / (resamples + 1)


def signed_sums(swapped: Packed, terms: Floats) -> Floats:
    """float64[K, R] sums over C clusters of their terms, float64[C, K]; those that a resample swaps are subtracted.

    swapped: uint8[R, ceil(C / 8)], bits of `numpy.packbits`.
    """
    of_swapped = np.zeros((terms.shape[1], len(swapped)))
    for part in ranges(swapped.shape[1], fitting(SIGN_CELLS, 8 * len(swapped))):
        of_part = terms[8 * part.start : 8 * part.stop]
        flags = np.unpackbits(swapped[:, part], axis=1, count=len(of_part))
        of_swapped += of_part.T @ flags.astype(np.float64).T
    return np.asarray(terms.sum(axis=0)[:, None] - 2 * of_swapped)


def largest_gains(sample: GridSample, swapped: Packed) -> Floats:
    """float64[R] the largest gain of each resample, whose swapped clusters are packed: uint8[R, ceil(C / 8)].

    With unit vectors: the boosted score is cos * base + sin * residual mean, and the human score is r * base +
    sqrt(1 - r^2) * error, so that a point's gain is r (cos - 1) + sqrt(1 - r^2) sin * (residual mean . error).
    """
    n = len(sample.base)
    base = unit(sample.base)
    r = sample.baseline
    error = unit(sample.human) - r * base
    squares = error @ error
    # sqrt(1 - r^2)
    share = math.sqrt(float(squares))
    products = np.stack([error, base * error], axis=1)
    off_mean, off_base = signed_sums(swapped, sums_by(sample.cluster, products))
    # Signs change no square: the share of mean and base score in the flipped errors is removed again.
    length = np.sqrt(squares - off_mean**2 / n - off_base**2)
    # 0 is the gain of w = 1
    largest = np.zeros(len(swapped))
    # base and means over one power of two, so that squares of tiny scores are not 0
    largest_size = [np.abs(sample.base).max(initial=0.0)]
    largest_size += [means.max(initial=0.0) for _, means in column_blocks(sample.means)]
    exponent = size_exponent(np.array(largest_size))
    scaled_base = np.ldexp(sample.base, -exponent)
    centred = scaled_base - scaled_base.mean()
    spread = float(np.linalg.norm(centred))
    for columns, means in column_blocks(sample.means, fitting(PART_CELLS, n)):
        terms = np.empty((sample.clusters, means.shape[1]))
        along, across = np.empty((2, means.shape[1]))
        for some in ranges(means.shape[1], fitting(MOMENT_CELLS, 4 * n)):
            raw = np.ldexp(means[:, some], -exponent)
            residuals = raw - raw.mean(axis=0)
            # the means in two directions: along the base score, and across it (their residuals)
            along[some] = base @ residuals
            residuals -= base[:, None] * along[some]
            across[some] = np.sqrt(np.einsum("np,np->p", residuals, residuals))
            terms[:, some] = sums_by(sample.cluster, residuals * error[:, None])
        with_error = signed_sums(swapped, terms) / length
        for place, w in enumerate(sample.w):
            undefined = np.isnan(sample.correlation[columns, place])
            defined = np.flatnonzero(~undefined)
            if w == 1 or not len(defined):
                continue
            first = w * spread + (1 - w) * along[defined]
            rest = (1 - w) * across[defined]
            size = np.hypot(first, rest)
            scale = share * (1 - w) / size
            # 1 - cos without the digits that the difference would lose at small angles
            of_small_angle = rest**2 / (size * (size + np.abs(first)))
            lost = r * np.where(first > 0, of_small_angle, 1 - first / size)
            for some in ranges(len(defined), fitting(BLEND_CELLS, len(swapped))):
                gains = with_error[defined[some]]
                gains *= scale[some, None]
                gains -= lost[some, None]
                np.maximum(largest, gains.max(axis=0), out=largest)
    return largest
