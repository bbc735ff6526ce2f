"""Which measure needs the fewest samples to tell two shares of errors apart (Logacheva et al. 2016, Algorithm 1).

N corpora are sampled with e1 errors and N with e2 (`sampling`), and a measure's values on both are compared by an
unpaired t-test. The p value is averaged over many repetitions, and corrected by Bonferroni for the number of pairs of
thresholds; the smallest N at which it is below alpha is the measure's number of samples.

Ambiguities: the paper corrects for an unnamed number of tests, here the pairs of thresholds ("10 p-values for each
metric"); the average is corrected, not the p values averaged, which at most 1 after the correction would be lower.
Here the samples of a smaller N are the first ones of the next larger N.

The number of samples is a step function with few steps, on which measures tie. Beside it stands what it follows from:
the effect size, the difference of the means in standard deviations (Cohen's d), and the number of samples at which
80 % of the tests would be significant.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sampling import Erring, Ints, sampled_sums

from bmx_grid.measures.word_measures import MEASURES, THE_SIX, measures

Floats = NDArray[np.float64]

SIZES = (100, 200, 500, 1000, 2000, 5000, 10_000)  # the paper's
SHARES = (30.0, 30.01, 30.05, 30.1, 30.2)  # percent of the words
SAMPLING = 5  # a stream of random numbers of its own, whatever else the seed is used for
POWER = 0.8


@dataclass(frozen=True, eq=False)
class Moments:
    """Means and variances of M measures on the first n of the samples of each of R batches, for T thresholds.

    mean, variance: float64[R, T, S, M] for S sizes n. measures, sizes: the names of M and the S numbers.
    """

    mean: Floats
    variance: Floats
    measures: tuple[str, ...]
    sizes: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Discrimination:
    """Tests of P pairs of thresholds, averaged over R repetitions.

    pairs: the two thresholds of each. p, p_error: float64[P, S, M] average p values, uncorrected, and their standard
    errors. significant: float64[P, S, M] the share of repetitions that are significant after the correction.
    effect, effect_error: float64[P, M] standardised difference of means, positive where fewer errors have the higher
    value, at the largest size, and its standard error; effects: float64[R, P, M] those of the repetitions.
    """

    pairs: tuple[tuple[int, int], ...]
    p: Floats
    p_error: Floats
    significant: Floats
    effects: Floats
    measures: tuple[str, ...]
    sizes: tuple[int, ...]
    alpha: float

    @property
    def effect(self) -> Floats:
        """float64[P, M]."""
        found: Floats = self.effects.mean(axis=0)
        return found

    @property
    def effect_error(self) -> Floats:
        """float64[P, M] standard errors over repetitions."""
        return _error(self.effects)

    @property
    def level(self) -> float:
        """What an average p value must be below: alpha divided by the number of pairs."""
        return self.alpha / len(self.pairs)

    def fewest(self, p: Floats | None = None) -> Ints:
        """int64[P, M] the smallest size whose average p value is below `level`; 0 where none is.

        p: other average p values, such as ends of their intervals.
        """
        below = (self.p if p is None else p) < self.level
        first = np.array(self.sizes)[below.argmax(axis=1)]
        return np.where(below.any(axis=1), first, 0).astype(np.int64)

    def needed(self, effect: Floats) -> Floats:
        """The number of samples of each threshold at which POWER of the tests are significant (normal approximation).

        inf where the effect is 0 or of the wrong sign.
        """
        from scipy.stats import norm

        sigmas = norm.isf(self.level / 2) + norm.ppf(POWER)
        with np.errstate(divide="ignore"):
            found: Floats = np.where(effect > 0, 2 * (sigmas / np.maximum(effect, 0)) ** 2, np.inf)
        return found


def sample_moments(
    pool: Erring,
    errors: Ints,
    names: Sequence[str] = THE_SIX,
    *,
    sizes: Sequence[int] = SIZES,
    repeats: int = 1000,
    first: int = 0,
    seed: int = 0,
    threads: int = 1,
    advance: Callable[[int], object] | None = None,
) -> Moments:
    """Sample `repeats` batches of corpora and keep the moments of their measures; the same on any number of threads.

    first: the number of the first batch; each batch has its own stream of the seed, so that more can be added later.
    errors: int64[T] of `sampling.errors_at`; sizes: ascending; advance: called with 1 after every batch.
    Raises ValueError for sizes below 2 or not ascending, DataError as `sampled_sums`.
    """
    if not sizes or sizes[0] < 2 or any(a >= b for a, b in itertools.pairwise(sizes)):
        raise ValueError(f"sizes must be ascending, at least 2: {list(sizes)}")
    chosen = [MEASURES.index(name) for name in names]
    shape = (repeats, len(errors), len(sizes), len(chosen))
    mean, variance = np.empty(shape), np.empty(shape)

    def batch(number: int) -> None:
        rng = np.random.default_rng([seed, SAMPLING, first + number])
        found = measures(sampled_sums(pool, errors, sizes[-1], rng))[..., chosen]
        for place, size in enumerate(sizes):
            mean[number, :, place] = found[:size].mean(axis=0)
            variance[number, :, place] = found[:size].var(axis=0, ddof=1)

    with ThreadPoolExecutor(threads) as workers:
        for _ in workers.map(batch, range(repeats)):
            if advance is not None:
                advance(1)
    return Moments(mean, variance, tuple(names), tuple(sizes))


def discrimination(moments: Moments, alpha: float = 0.05) -> Discrimination:
    """Compare every two thresholds, each from another batch: the corpora of one batch grow from one another.

    Raises ValueError for fewer batches than thresholds.
    """
    from scipy.stats import ttest_ind_from_stats

    repeats, thresholds = moments.mean.shape[:2]
    if repeats < thresholds:
        raise ValueError(f"{repeats} repetitions for {thresholds} thresholds: each needs a batch of its own")
    apart = repeats // thresholds
    mean, spread = (
        np.stack([np.roll(values[:, one], one * apart, axis=0) for one in range(thresholds)], axis=1)
        for values in (moments.mean, np.sqrt(moments.variance))
    )
    sizes = np.array(moments.sizes)[:, None]
    pairs = tuple(itertools.combinations(range(thresholds), 2))
    level = alpha / len(pairs)
    p, p_error, significant, effects = [], [], [], []
    for first, second in pairs:
        with np.errstate(invalid="ignore", divide="ignore"):
            tested = ttest_ind_from_stats(
                mean[:, first], spread[:, first], sizes, mean[:, second], spread[:, second], sizes
            )
            pooled = np.sqrt((spread[:, first, -1] ** 2 + spread[:, second, -1] ** 2) / 2)
            effects.append((mean[:, first, -1] - mean[:, second, -1]) / pooled)
        p.append(tested.pvalue.mean(axis=0))
        p_error.append(_error(tested.pvalue))
        significant.append((tested.pvalue < level).mean(axis=0))
    return Discrimination(
        pairs,
        np.stack(p),
        np.stack(p_error),
        np.stack(significant),
        np.stack(effects, axis=1),
        moments.measures,
        moments.sizes,
        alpha,
    )


def _error(values: Floats) -> Floats:
    """Standard errors of means over the first axis."""
    found: Floats = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return found
