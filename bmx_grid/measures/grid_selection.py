"""The test of the best point of a grid that pays for having looked at all of them.

Null hypothesis: the explanations add nothing. The human score is a line in the base score plus errors, and in every
cluster the errors could have had the opposite sign, whatever the attributions are. Then no mixture of base score and
means correlates better with the human score than the base score does, and whatever the best point of the grid gains
was gained by looking at many. The gain is compared with the *largest* gain over the whole grid under that hypothesis
(Westfall and Young 1993, "Resampling-based multiple testing").

What is resampled: the residuals of the human scores from their regression on the base score change their sign by whole
clusters at random, are made free of the base score again, and are put back (the wild cluster bootstrap with the null
hypothesis imposed: Cameron, Gelbach and Miller 2008; Freedman and Lane 1983 for permutations). So the baseline
correlation, the base scores, all means, and how the means hang together with the base score and with each other are
kept exactly; clusters may differ in size, and errors in variance. Permuting the attributions among segments instead
would also break their tie to the base score, which they explain; swapping base and boosted score would test that all
points are as good as the base score, which most are far from, and so would hardly ever reject.

A small p value says that the attributions carry something about the human score that the base score does not. How large
the gain is outside these segments is what the cross-fitted gain says (`grid_resampling.split_gains`); it may still be
none. The test is more sensitive than one of base against boosted score at a single point, whose null hypothesis, equal
correlations, leaves more to chance.

A gain that comes from a curved relation between base and human score counts as added: attributions may be a curved
function of the base score. So does length: see the placebos.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bmx_grid.measures.at_a_time import fitting, ranges, sizes
from bmx_grid.measures.best import TIE, first_within_rounding
from bmx_grid.measures.correlation import correlate
from bmx_grid.measures.resampling import bounds, swaps
from bmx_grid.measures.weighted_grids import BLEND_CELLS, Sample

Floats = NDArray[np.float64]

SELECTION = 1  # the place in the seed


@dataclass(frozen=True, eq=False)
class SelectionAdjusted:
    """The best point of a grid against the largest gain that chance finds on it.

    gain: of the best point (`best.first_within_rounding`) over the base score, 0 where that is w = 1; row: the place
    of its p, -1 for w = 1; w. p: the share of resamples, the observed one included, whose largest gain is at least as
    large: the best point's p value, adjusted for all points. null: float64[R] these largest gains, ascending.
    critical: their 95 % quantile, which a gain must exceed. NaN where nothing is defined.
    """

    gain: float
    row: int
    w: float
    p: float
    null: Floats
    critical: float

    def adjusted(self, gain: Floats) -> Floats:
        """The p values of any gains on this grid, adjusted for all points; NaN stays NaN."""
        above = len(self.null) - np.searchsorted(self.null, np.asarray(gain) - TIE)
        return np.where(np.isnan(gain) | math.isnan(self.p), np.nan, (above + 1) / (len(self.null) + 1))


def selection_adjusted(sample: Sample, resamples: int = 1000, seed: int = 0) -> SelectionAdjusted:
    """The selection-adjusted test of one setting's grid, w = 1 among the points; one-sided.

    NaN with fewer than three clusters, an undefined baseline, or one of 1 or -1, which leaves no residuals.
    """
    at = int(first_within_rounding(sample.correlation[None])[0])
    if at < 0 or not sample.enough or 1 - abs(sample.baseline) < TIE:
        return SelectionAdjusted(np.nan, -1, np.nan, np.nan, np.full(resamples, np.nan), np.nan)
    row, column = divmod(at, len(sample.w))
    boosts = sample.w[column] != 1
    gain = float(sample.correlation[row, column] - sample.baseline) if boosts else 0.0
    rng = np.random.default_rng([seed, SELECTION])
    found = []
    for size in sizes(resamples, sample.weight_block):
        signs = 1 - 2 * swaps(rng, sample.clusters, size)
        found.append(_largest_gains(sample, signs) if sample.kind == "pearson" else _one_by_one(sample, signs))
    null = np.sort(np.concatenate(found))
    p = (int((null >= gain - TIE).sum()) + 1) / (resamples + 1)
    critical = float(bounds(null, (0.95, 0.95))[0])
    return SelectionAdjusted(gain, row if boosts else -1, float(sample.w[column]), p, null, critical)


def _largest_gains(sample: Sample, signs: Floats) -> Floats:
    """float64[R] the largest gain of each resample, for float64[R, C] signs of the clusters.

    With unit vectors: the boosted score is cos * base + sin * residual mean, and the human score is r * base +
    sqrt(1 - r^2) * error, so that a point's gain is r (cos - 1) + sqrt(1 - r^2) sin * (residual mean . error).
    """
    n = len(sample.base)
    base = _unit(sample.base)
    human = _unit(sample.human)
    r = sample.baseline
    error = human - r * base
    share = math.sqrt(float(error @ error))
    sums = sample.by_cluster(np.stack([error, base * error], axis=1))
    off_mean, off_base = signs @ sums.T[0], signs @ sums.T[1]
    # Signs change no square: what the flipped errors have of the mean and of the base score is taken out again.
    length = np.sqrt(error @ error - off_mean**2 / n - off_base**2)
    largest = np.zeros(len(signs))  # w = 1
    spread = float(np.linalg.norm(sample.base - sample.base.mean()))
    for columns in sample.column_blocks:
        means = sample.means[:, columns] - sample.means[:, columns].mean(axis=0)
        along = base @ means
        means -= base[:, None] * along
        across = np.sqrt(np.einsum("np,np->p", means, means))
        terms = sample.by_cluster(means * error[:, None])
        with_error = terms.T @ signs.T / length
        for place, w in enumerate(sample.w):
            defined = np.flatnonzero(~np.isnan(sample.correlation[columns, place]))
            if w == 1 or not len(defined):
                continue
            first, rest = w * spread + (1 - w) * along[defined], (1 - w) * across[defined]
            size = np.hypot(first, rest)
            scale = share * (1 - w) / size
            # r (cos - 1) without the digits that 1 - cos loses for small angles
            less = np.where(first > 0, rest**2 / (size * (size + np.abs(first))), 1 - first / size)
            lost = r * less
            for some in ranges(len(defined), fitting(BLEND_CELLS, len(signs))):
                gains = with_error[defined[some]]
                gains *= scale[some, None]
                gains -= lost[some, None]
                np.maximum(largest, gains.max(axis=0), out=largest)
    return largest


def _one_by_one(sample: Sample, signs: Floats) -> Floats:
    """The same for rank correlations, with the residuals of the ranks, and a whole grid for each resample."""
    from scipy.stats import rankdata

    base, human = _unit(rankdata(sample.base)), _unit(rankdata(sample.human))
    along = float(base @ human)
    error = human - along * base
    largest = np.zeros(len(signs))
    for place, flips in enumerate(signs):
        flipped = error * flips[sample.cluster]
        flipped -= flipped.mean()
        flipped -= (base @ flipped) * base
        flipped *= math.sqrt(float(error @ error) / float(flipped @ flipped))
        score = along * base + flipped
        grid = sample.correlation_with(score)
        gains = grid - correlate(sample.kind, sample.base, score)
        largest[place] = np.nanmax(gains[:, sample.w != 1], initial=0.0)
    return largest


def _unit(values: Floats) -> Floats:
    left: Floats = values - values.mean()
    left /= np.sqrt(left @ left)
    return left
