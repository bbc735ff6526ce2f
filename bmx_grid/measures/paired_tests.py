"""Is the difference between two metrics, or two systems, real? Tests and an interval.

The tests of correlations are Williams' (Graham and Baldwin 2014) and permutation and bootstrap over inputs, systems or
both (Deutsch, Dror and Roth 2021, "A statistical analysis of summarization evaluation metrics using resampling
methods", TACL 9). Scores that are made of sums over segments, as BLEU of a corpus and means, are compared by the paired
bootstrap (Koehn 2004) and approximate randomisation (Riezler and Maxwell 2005).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from bmx_grid.core.errors import check_known
from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.measures.agreement import members_of
from bmx_grid.measures.correlation import TIE, Coefficient, below_one, check_coefficient
from bmx_grid.measures.correlations_of_resamples import (
    Unit,
    check_unit,
    drawn_units,
    mean_within,
    prepare_resamples,
    prepare_swaps,
    units_of,
)
from bmx_grid.measures.resampling import (
    CONFIDENCE,
    FEWEST_CLUSTERS,
    Combine,
    check_confidence,
    codes,
    draws,
    interval,
    labels_of_rows,
    number_of,
    seeded_draws,
    sums_by,
    swaps,
)

Alternative = Literal["two-sided", "greater", "less"]


def check_conclusion(alternative: str, confidence: float) -> None:
    """Raise ConfigError for an unknown alternative, ValueError for a confidence that is not between 0 and 1."""
    check_known("alternative", alternative, get_args(Alternative))
    check_confidence(confidence)


def williams(r_x: float, r_y: float, r_xy: float, n: int, alternative: Alternative = "two-sided") -> float:
    """Run Williams' test of two correlations that share a variable.

    t has n - 3 degrees of freedom (Williams 1959; equation in Graham and Baldwin 2014). The test assumes independent
    segments and normal scores. With clusters or heavy tails, use the permutation test of `compare` instead.

    Args:
        r_x: Correlation of the first metric with the human scores. Negate metrics for which lower is better before
            computing correlations.
        r_y: Correlation of the second metric with the human scores.
        r_xy: Correlation of the two metrics with each other.
        n: Number of segments (or systems) behind all three correlations.
        alternative: `"two-sided"`, `"greater"` (r_x is higher) or `"less"`.

    Returns:
        float: p-value. NaN if a correlation is NaN, with fewer than 4 segments, for equal metrics, and if all three
            correlations are perfect.

    Raises:
        ConfigError: `alternative` is unknown.
        ValueError: A correlation is outside [-1, 1].

    Example:
        >>> from bmx_grid.measures import williams
        >>> round(williams(0.6, 0.4, 0.5, n=100), 3)
        0.016
    """
    from scipy.special import stdtr

    check_known("alternative", alternative, get_args(Alternative))
    if n < 4 or np.isnan([r_x, r_y, r_xy]).any():
        return math.nan
    # equal metrics differ by rounding
    if r_xy >= 1 - TIE:
        return math.nan
    if max(abs(r_x), abs(r_y), abs(r_xy)) > 1:
        raise ValueError(f"correlations are between -1 and 1, not {r_x}, {r_y}, {r_xy}")
    # t = (r_x - r_y) sqrt((n - 1) (1 + r_xy) / spread), where K is the determinant of the three correlations and
    # spread = 2 K (n - 1) / (n - 3) + ((r_x + r_y) / 2)^2 (1 - r_xy)^3.
    determinant = 1 - r_x**2 - r_y**2 - r_xy**2 + 2 * r_x * r_y * r_xy
    scale = 2 * (n - 1) / (n - 3)
    mean_r = (r_x + r_y) / 2
    spread = scale * max(determinant, 0.0) + mean_r**2 * (1 - r_xy) ** 3
    if not spread > 0:
        return math.nan
    squared_factor = (n - 1) * (1 + r_xy) / spread
    t = (r_x - r_y) * math.sqrt(squared_factor)
    if alternative == "two-sided":
        return float(2 * stdtr(n - 3, -abs(t)))
    return float(stdtr(n - 3, -t if alternative == "greater" else t))


@dataclass(frozen=True)
class Comparison:
    """Two metrics compared on the same human scores, or two systems.

    Attributes:
        x: Statistic of the first metric on the used segments.
        y: Statistic of the second metric.
        difference: x - y.
        low: Lower end of the bootstrap interval of the difference; NaN with fewer than 3 units.
        high: Upper end of the interval.
        p: p-value of the permutation test, (k + 1) / (R + 1).
        p_bootstrap: Twice the share of resamples on the smaller side of 0; of a one-sided alternative, the share on
            the opposite side. It restates the interval and tests no null hypothesis.
        n: Number of used segments.
        clusters: Number of clusters of the used segments.
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

    x, y: of either metric; samples, swapped: float64[R] differences of bootstrap samples and after swaps, without
    undefined ones; units: how many are swapped or drawn; n: rows; clusters: their number. size: of the statistic, 1 for
    a correlation: differences that differ by TIE times it are equal.
    """

    x: float
    y: float
    samples: Floats
    swapped: Floats
    units: int
    n: int
    clusters: int
    size: float = 1.0


def compare(
    x: ArrayLike,
    y: ArrayLike,
    human: ArrayLike,
    cluster: ArrayLike | None = None,
    *,
    system: ArrayLike | None = None,
    group: ArrayLike | None = None,
    statistic: Coefficient = "pearson",
    unit: Unit = "inputs",
    resamples: int = 1000,
    seed: int = 0,
    bootstrap: bool = True,
    alternative: Alternative = "two-sided",
    confidence: float = CONFIDENCE,
) -> Comparison:
    """Test whether two metrics correlate differently with human scores.

    Permutations swap the standardised scores of the two metrics (Deutsch, Dror and Roth 2021). The test is exact for
    exchangeable metrics and asymptotically valid, in the number of clusters, for metrics with equal correlations.

    Args:
        x: float64[N], scores of the first metric.
        y: float64[N], scores of the second metric.
        human: float64[N], human scores. A row with NaN or infinity in x, y or human is ignored.
        cluster: N labels of rows that are not independent, such as the source. Default: each row is its own cluster.
        system: N labels of systems; required by `unit="systems"` and `unit="both"`.
        group: N labels. If set, the statistic is the mean of the correlations within groups.
        statistic: `"pearson"`, `"spearman"`, `"kendall"` or `"kendall_tau_c"`.
        unit: Unit that is swapped and resampled. `"inputs"`: clusters (PERM-INPUTS, BOOT-INPUTS), which generalises
            to new segments of the same systems. `"systems"`: systems. `"both"`: a row is swapped if its system or
            its cluster is, not both (PERM-BOTH), and its weight is the product of the two draws (BOOT-BOTH).
        resamples: Number R of permutations and of bootstrap resamples.
        seed: Seed of all random draws.
        bootstrap: If false, skip the interval and `p_bootstrap`.
        alternative: `"two-sided"`, `"greater"` (x correlates better) or `"less"`. Choose it before you see the scores.
        confidence: Level of the interval. Default: 0.95 for 95 %.

    Returns:
        Comparison: Both statistics, their difference with its interval, and p-values. Interval and p-values are NaN
            with fewer than 3 units or if the difference is undefined.

    Raises:
        ConfigError: `statistic`, `unit` or `alternative` is unknown.
        ValueError: The arrays differ in length, `unit` needs systems, or `confidence` is outside (0, 1).

    Example:
        >>> import numpy as np
        >>> from bmx_grid.measures import compare
        >>> rng = np.random.default_rng(0)
        >>> human = rng.normal(size=200)
        >>> result = compare(human + rng.normal(size=200), human + 3 * rng.normal(size=200), human, resamples=200)
        >>> result.low < result.difference < result.high, result.p < 0.05, result.n
        (True, True, 200)
    """
    check_conclusion(alternative, confidence)
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
    return comparison_of(drawn, alternative, confidence)


def judged_rows(
    x: ArrayLike, y: ArrayLike, human: ArrayLike, *labels: ArrayLike | None
) -> tuple[list[Floats], list[Ints]]:
    """The n of N rows whose scores are finite: float64[n] both metrics and human scores, int64[n] codes of each label.

    Metrics have a variance of 1. Labels that are None become one label per row. Raises ValueError for other lengths.
    """
    scores = [np.asarray(values, dtype=np.float64) for values in (x, y, human)]
    rows = np.arange(scores[0].size)
    labels_of_all = [labels_of_rows(names, len(rows)) for names in labels]
    shapes = [array.shape for array in (*scores, *labels_of_all)]
    if any(shape != rows.shape for shape in shapes):
        listed = ", ".join(map(str, shapes))
        raise ValueError(f"scores, human scores and labels must be arrays of one length, not of shapes {listed}")
    used = np.isfinite(scores).all(axis=0)
    left = unit_variance(scores[0][used])
    right = unit_variance(scores[1][used])
    judged = below_one(scores[2][used])
    return [left, right, judged], [codes(names[used]) for names in labels_of_all]


def drawn_correlations(
    x: ArrayLike,
    y: ArrayLike,
    human: ArrayLike,
    cluster: ArrayLike | None = None,
    *,
    system: ArrayLike | None = None,
    group: ArrayLike | None = None,
    statistic: Coefficient = "pearson",
    unit: Unit = "inputs",
    resamples: int = 1000,
    seed: int = 0,
    bootstrap: bool = True,
) -> Drawn:
    """The basis of `compare`: both correlations, with resamples and swaps of their difference. Same arguments."""
    check_coefficient(statistic)
    check_unit(unit)
    if unit != "inputs" and system is None:
        raise ValueError(f"unit={unit!r} swaps systems. Add their labels: system=[...], or choose unit='inputs'.")
    (left, right, judged), (clusters, systems, groups) = judged_rows(x, y, human, cluster, system, group)
    members = [np.arange(len(judged))]
    if group is not None:
        members = members_of(groups)
    first = mean_within(statistic, left, judged, members)
    second = mean_within(statistic, right, judged, members)
    count, of_row = units_of(unit, clusters, systems)
    samples = [np.empty(0)]
    swapped = [np.empty(0)]
    if count >= FEWEST_CLUSTERS and not math.isnan(first - second):
        # sums of units cost nothing for each row; other resamples are written out for rows of both metrics
        summed = statistic == "pearson" and unit != "both"
        width = 0 if summed else 2 * len(judged)
        if bootstrap:
            correlations_of = prepare_resamples(statistic, np.column_stack([left, right]), judged, of_row, members)
            for times in drawn_units(unit, clusters, systems, draws, resamples, seed, width):
                of_left, of_right = correlations_of(times)
                samples.append(of_left - of_right)
        differences_of = prepare_swaps(statistic, left, right, judged, of_row, members)
        for swap in drawn_units(unit, clusters, systems, swaps, resamples, seed, width):
            swapped.append(differences_of(swap))
    return Drawn(
        x=first,
        y=second,
        samples=np.concatenate(samples),
        swapped=np.concatenate(swapped),
        units=count,
        n=len(judged),
        clusters=number_of(clusters),
    )


def compare_sums(
    x: Floats,
    y: Floats,
    combine: Combine,
    cluster: ArrayLike | None = None,
    *,
    resamples: int = 1000,
    seed: int = 0,
    alternative: Alternative = "two-sided",
    confidence: float = CONFIDENCE,
) -> Comparison:
    """Test whether two scores differ that are computed from sums over segments.

    BLEU of a corpus is such a score, as are means. The interval is a paired bootstrap (Koehn 2004), the test is
    approximate randomisation (Riezler and Maxwell 2005).

    Args:
        x: float64[N, K], terms of the first score, one row per segment.
        y: float64[N, K], terms of the second score. A row with NaN or infinity in x or y is ignored.
        combine: Function from sums float64[..., K] to scores float64[...].
        cluster: N labels of rows that are swapped and resampled together. Default: each row is its own cluster.
        resamples: Number of permutations and of bootstrap resamples.
        seed: Seed of all random draws.
        alternative: `"two-sided"`, `"greater"` (x is higher) or `"less"`.
        confidence: Level of the interval. Default: 0.95 for 95 %.

    Returns:
        Comparison: Both scores, their difference with its interval, and p-values. Interval and p-values are NaN with
            fewer than 3 clusters.

    Raises:
        ConfigError: `alternative` is unknown.
        ValueError: The shapes differ, or `confidence` is outside (0, 1).

    Example:
        >>> import numpy as np
        >>> from bmx_grid.measures import compare_sums
        >>> def share(sums):
        ...     return sums[..., 0] / sums[..., 1]
        >>> x = np.array([[3, 4], [2, 4], [4, 4], [1, 2]])
        >>> y = np.array([[1, 4], [2, 4], [3, 4], [1, 2]])
        >>> result = compare_sums(x, y, share)
        >>> round(result.x, 3), round(result.y, 3), round(result.difference, 3)
        (0.714, 0.5, 0.214)
    """
    check_conclusion(alternative, confidence)
    labels = labels_of_rows(cluster, len(x))
    if not x.shape == y.shape == (*labels.shape, x.shape[-1]):
        raise ValueError(
            f"terms of shapes {x.shape} and {y.shape} and labels of shape {labels.shape} are of other rows"
        )
    has_x = np.isfinite(x).all(axis=1)
    has_y = np.isfinite(y).all(axis=1)
    used = has_x & has_y
    unit = codes(labels[used])
    of_x = sums_by(unit, x[used])
    of_y = sums_by(unit, y[used])
    whole_x = of_x.sum(axis=0)
    whole_y = of_y.sum(axis=0)
    count = number_of(unit)
    samples = [np.empty(0)]
    swapped = [np.empty(0)]
    if count >= FEWEST_CLUSTERS:
        for times in seeded_draws(count, resamples, seed):
            drawn_x = combine(times.T @ of_x)
            drawn_y = combine(times.T @ of_y)
            samples.append(drawn_x - drawn_y)
        for swap in seeded_draws(count, resamples, seed, draw=swaps, stream=(1,)):
            # a swap takes from the sums of one score as much as it adds to the other's
            moved = swap.T @ (of_y - of_x)
            swapped_x = combine(whole_x + moved)
            swapped_y = combine(whole_y - moved)
            swapped.append(swapped_x - swapped_y)
    first = float(combine(whole_x))
    second = float(combine(whole_y))
    swapped_differences = np.concatenate(swapped)
    sizes = np.abs(np.append(swapped_differences, [first, second]))
    drawn = Drawn(
        x=first,
        y=second,
        samples=np.concatenate(samples),
        swapped=swapped_differences,
        units=count,
        n=int(used.sum()),
        clusters=count,
        size=float(sizes[np.isfinite(sizes)].max(initial=0.0)),
    )
    return comparison_of(drawn, alternative, confidence)


def comparison_of(drawn: Drawn, alternative: Alternative = "two-sided", confidence: float = CONFIDENCE) -> Comparison:
    """The difference, its interval and its p values; NaN without draws or swaps."""
    difference = drawn.x - drawn.y
    low, high = interval(drawn.samples, drawn.units, confidence)
    return Comparison(
        x=drawn.x,
        y=drawn.y,
        difference=difference,
        low=low,
        high=high,
        p=p_of_swaps(difference, drawn.swapped, drawn.size, alternative),
        p_bootstrap=_p_of_resamples(drawn.samples, drawn.size, alternative),
        n=drawn.n,
        clusters=drawn.clusters,
    )


def strength(differences: Floats, alternative: Alternative) -> Floats:
    """How far each difference speaks for the alternative."""
    if alternative == "two-sided":
        return np.abs(differences)
    return -differences if alternative == "less" else differences


def p_of_swaps(difference: float, swapped: Floats, size: float = 1.0, alternative: Alternative = "two-sided") -> float:
    """(k + 1) / (R + 1) for k of R swaps that differ as much as observed; an undefined one counts as such.

    size: of the statistic, 1 for a correlation.
    """
    if not len(swapped):
        return math.nan
    (observed,) = strength(np.array([difference]), alternative)
    smaller = strength(swapped, alternative) < observed - TIE * size
    # those that are not smaller, as a NaN is not
    extreme = int((~smaller).sum())
    return (extreme + 1) / (len(swapped) + 1)


def _p_of_resamples(samples: Floats, size: float, alternative: Alternative) -> float:
    """Twice (k + 1) / (R + 1), for k of R resampled differences that are on the smaller side of 0.

    Of a one-sided alternative once, for those that are on the other side.
    """
    if not len(samples):
        return math.nan
    known = samples[~np.isnan(samples)]
    below = int((known <= TIE * size).sum())
    above = int((known >= -TIE * size).sum())
    if alternative == "two-sided":
        share = (min(below, above) + 1) / (len(known) + 1)
        return min(1.0, 2 * share)
    against = below if alternative == "greater" else above
    return (against + 1) / (len(known) + 1)


def unit_variance(scores: Floats) -> Floats:
    """Less their mean, over their standard deviation; 0, but for rounding, when they are constant."""
    if not len(scores):
        return scores
    scaled = below_one(scores)
    left: Floats = scaled - scaled.mean()
    if not (scores == scores[0]).all():
        left /= left.std()
    return left
