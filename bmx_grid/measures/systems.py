"""System level: the score of each system, its correlation with people, and intervals over systems and segments.

The interval resamples both systems and clusters of segments (BOOT-BOTH of Deutsch, Dror & Roth 2021): the systems of a
test set are a sample of systems as its segments are one of segments. If people scored whole systems only, their
scores stay as they are while the metric's are recomputed from the segments drawn.

Rank ranges and clusters are as WMT printed them. Segments are drawn with replacement, systems are ranked by the scores
of each resample, and the 2.5 % of resamples with the lowest and the highest ranks of a system are left out: the range
of the others, as 1-6, is its rank range (Koehn 2012, Simulating human judgment in machine translation evaluation
campaigns, IWSLT). Systems are grouped in clusters that do not overlap: the worst rank of each system in a cluster is
above the best rank of each system of the next one (Bojar et al. 2013, Findings of WMT). Later campaigns, as WMT24,
print ranges that count significant pairwise wins and losses instead. The ranks of metrics in ranking.parquet come from
pairwise tests, too, and are another thing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from bmx_grid.core.errors import check_known
from bmx_grid.core.ragged import Flags, Floats, Ints
from bmx_grid.measures.correlation import TIE, size_exponent
from bmx_grid.measures.correlations_of_resamples import pearson_two_pass
from bmx_grid.measures.resampling import (
    CACHED_CELLS,
    CELLS,
    FEWEST_CLUSTERS,
    Combine,
    codes,
    draws,
    fitting,
    interval,
    ranges,
    ratio,
    resampled_sums,
    seeded_draws,
    sums_by,
)

Statistic = Literal["pearson", "spearman", "kendall", "kendall_tau_c", "pairwise_accuracy", "agreement_slope"]
FEWEST_SYSTEMS = 3  # different ones, in a resample that counts


def mean_terms(scores: ArrayLike) -> Floats:
    """float64[N, 2] terms whose sums `mean` makes the mean of the scores of."""
    values = np.asarray(scores, dtype=np.float64)
    return np.stack([values, np.ones(len(values))], axis=1)


def mean(sums: Floats) -> Floats:
    """float64[...] means from float64[..., 2] sums of `mean_terms`; NaN of none."""
    return ratio(sums[..., 0], sums[..., 1])


def system_score(
    terms: Floats, combine: Combine, cluster: ArrayLike, resamples: int = 1000, seed: int = 0
) -> tuple[float, float, float]:
    """The score of a system that `combine` makes of the sums of N segments' terms, and the ends of its interval.

    terms: float64[N, k], statistics of a corpus score or those of `mean_terms`. cluster: N labels of segments that are
    drawn together. Raises ValueError for another number of labels.
    """
    score = float(combine(terms.sum(axis=0)))
    sums = sums_by(codes(cluster), terms)
    samples = resampled_sums(combine, sums, resamples, seed)
    return score, *interval(samples, len(sums))


def system_scores(
    terms: Floats, combine: Combine, systems: Ints, clusters: Ints, n_systems: int, n_clusters: int
) -> Callable[[Floats], Floats]:
    """What makes float64[B, S] scores of S systems of float64[C, B] weights of C clusters; NaN without segments.

    terms: float64[n, k] statistics of a corpus score, or those of `mean_terms`, of the systems' n segments, of whose
    sums `combine` makes a score. systems, clusters: int64[n] codes; n_systems, n_clusters: how many there are.
    """
    from scipy.sparse import coo_array

    # the last sum counts segments
    values = np.column_stack([terms, np.ones(len(terms))])
    k = values.shape[1]
    # A sparse matrix from weights of clusters to sums of systems: a resample is then one product.
    rows = systems[:, None] * k + np.arange(k)
    place = (rows.ravel(), np.repeat(clusters, k))
    shape = (n_systems * k, n_clusters)
    of_clusters = coo_array((values.ravel(), place), shape=shape).tocsr()
    # systems of the same segments: a plain product is faster
    if 4 * of_clusters.nnz > n_systems * k * n_clusters:
        of_clusters = of_clusters.toarray()

    def scores(weights: Floats) -> Floats:
        # as many resamples at a time as leave the sums of all systems in few megabytes
        parts = [np.empty((0, n_systems))]
        for some in ranges(weights.shape[1], fitting(CELLS, n_systems * k)):
            parts.append(scores_of(weights[:, some]))
        return np.concatenate(parts)

    def scores_of(weights: Floats) -> Floats:
        products = (of_clusters @ weights).T
        sums = np.asarray(products.reshape(weights.shape[1], n_systems, k))
        has_segments = sums[..., -1] > 0
        with np.errstate(invalid="ignore", divide="ignore"):
            combined = combine(sums[..., :-1])
        return np.where(has_segments, combined, np.nan)

    return scores


def system_statistic(statistic: Statistic, metric: Floats, human: Floats) -> float:
    """The statistic of float64[S] scores of systems; those with NaN are left out.

    NaN with fewer than three systems (two for the accuracy), or if one side of a correlation is constant.
    """
    fewest = 2 if statistic == "pairwise_accuracy" else FEWEST_SYSTEMS
    once = np.ones((1, len(metric)))
    values = weighted_statistics([statistic], metric[None], human[None], once, fewest)
    return float(values[statistic][0])


def system_samples(
    statistics: Sequence[Statistic],
    metric: Callable[[Floats], Floats],
    human: Callable[[Floats], Floats],
    n_systems: int,
    n_clusters: int,
    *,
    resamples: int,
    seed: int,
) -> dict[Statistic, Floats]:
    """float64[B] each statistic over resampled systems and clusters of segments.

    metric, human: float64[C, B] weights of clusters -> float64[B, S] scores of systems. NaN in resamples with fewer
    than three different systems; none (B = 0) with fewer than three systems or clusters. The same seed draws the same
    for every metric of the same systems and clusters: differences of two metrics' samples are paired.
    """
    if n_systems < FEWEST_SYSTEMS or n_clusters < FEWEST_CLUSTERS or not resamples:
        return {statistic: np.empty(0) for statistic in statistics}
    # A stream of its own, so that the draws of clusters are those of every other bootstrap with this seed.
    of_systems = np.random.default_rng([seed, 1])
    values: dict[Statistic, list[Floats]] = {statistic: [] for statistic in statistics}
    for weights in seeded_draws(n_clusters, resamples, seed, n_systems**2):
        times = draws(of_systems, n_systems, weights.shape[1])
        drawn = weighted_statistics(statistics, metric(weights), human(weights), times)
        for statistic in statistics:
            values[statistic].append(drawn[statistic])
    return {statistic: np.concatenate(blocks) for statistic, blocks in values.items()}


def weighted_statistics(
    statistics: Sequence[Statistic], metric: Floats, human: Floats, times: Floats, fewest: int = FEWEST_SYSTEMS
) -> dict[Statistic, Floats]:
    """float64[B] each statistic of each row of float64[B, S] scores, with the system drawn `times`.

    Copies of one system tie on both sides for the correlations, and are no pair for the accuracy. Systems with NaN are
    left out; NaN with fewer than `fewest` different systems, or a constant side. The accuracy is the share of the pairs
    that metric and people order alike (Kocmi et al. 2021): a tie agrees with a tie only.
    Raises ConfigError for an unknown statistic.
    """
    for statistic in statistics:
        check_known("statistic", statistic, get_args(Statistic))
    parts = []
    # as many rows at a time as leave all pairs of systems in a cache
    for some in ranges(len(times), fitting(CACHED_CELLS, times.shape[1] ** 2)):
        parts.append(_statistics_of(statistics, metric[some], human[some], times[some], fewest))
    values: dict[Statistic, Floats] = {}
    for statistic in statistics:
        values[statistic] = np.concatenate([part[statistic] for part in parts])
    return values


def _statistics_of(
    statistics: Sequence[Statistic], metric: Floats, human: Floats, times: Floats, fewest: int
) -> dict[Statistic, Floats]:
    """What `weighted_statistics` gives, of as many rows as fit into a cache."""
    scored = np.isfinite(metric) & np.isfinite(human)
    # systems by resamples from now on: sums over systems add up long rows
    times = np.where(scored, times, 0.0).T.copy()
    metric = np.where(times > 0, metric.T, 0.0)
    human = np.where(times > 0, human.T, 0.0)
    first, second = np.triu_indices(len(times), 1)
    gaps = metric[first] - metric[second]
    by_metric = np.sign(gaps)
    by_human = np.sign(human[first] - human[second])
    pairs = times[first] * times[second]
    values: dict[Statistic, Floats] = {}
    for statistic in statistics:
        if statistic == "pearson":
            values[statistic] = pearson_two_pass(metric, human, times)
        elif statistic == "spearman":
            # the mean rank of the drawn list is the same for all: a rank less it is half the net number below
            metric_ranks = _net_below(metric, times)
            human_ranks = _net_below(human, times)
            values[statistic] = pearson_two_pass(metric_ranks, human_ranks, times)
        elif statistic == "kendall":
            # tau-b: concordant less discordant pairs, over the root of the pairs that do not tie on either side
            net = (pairs * by_metric * by_human).sum(axis=0)
            untied_metric = (pairs * np.abs(by_metric)).sum(axis=0)
            untied_human = (pairs * np.abs(by_human)).sum(axis=0)
            values[statistic] = ratio(net, np.sqrt(untied_metric * untied_human))
        elif statistic == "kendall_tau_c":
            net = (pairs * by_metric * by_human).sum(axis=0)
            fewer = np.minimum(_n_different(metric, times), _n_different(human, times))
            values[statistic] = ratio(2 * net * fewer, times.sum(axis=0) ** 2 * (fewer - 1))
        elif statistic == "agreement_slope":
            # if all drawn systems tie by the metric, the pairs that were not drawn are infinitely far apart: the
            # slope is NaN in the end
            with np.errstate(invalid="ignore", divide="ignore"):
                values[statistic] = agreement_slopes(gaps, by_human, pairs)
        else:
            alike = (pairs * (by_metric == by_human)).sum(axis=0)
            values[statistic] = ratio(alike, pairs.sum(axis=0))
    enough = np.count_nonzero(times, axis=0) >= fewest
    for statistic in statistics:
        # a correlation is above 1 by rounding only; a slope has no bound
        bound = np.inf if statistic == "agreement_slope" else 1.0
        bounded = np.clip(values[statistic], -bound, bound)
        values[statistic] = np.where(enough, bounded, np.nan)
    return values


STEEPEST = 2.0**10  # slope for differences of mean square 1


def agreement_slopes(gaps: Floats, order: Floats, weights: Floats) -> Floats:
    """float64[B] slope b of the probability 1 / (1 + exp(-b d)) that people prefer the system that scores d higher.

    gaps: float64[P, B] differences of P pairs of systems by the metric; order: their signs by people, of whom a
    tie (0) is half an agreement; weights: float64[P, B]. Maximum likelihood with one more pair, of the root mean square
    difference, on which people are divided: it keeps the slope finite if they always agree. NaN if all gaps are 0.
    (Kocmi et al. 2024, "Navigating the Metrics Maze", report by difference how often people agree.)
    """
    exponent = size_exponent(gaps.ravel())
    gaps = np.ldexp(gaps, -exponent)
    squares = (weights * gaps**2).sum(axis=0)
    size = np.sqrt(ratio(squares, weights.sum(axis=0)))
    apart = ratio(np.abs(gaps), size)
    agree = (1 + np.sign(gaps) * order) / 2
    low = np.full(len(size), -STEEPEST)
    high = np.full(len(size), STEEPEST)
    # The derivative of the log likelihood falls with the slope: each turn halves the bracket of its only root.
    for _ in range(60):
        slope = (low + high) / 2
        expected = expit(slope * apart)
        of_pairs = weights * apart * (agree - expected)
        # the pair on which people are divided: half an agreement at a distance of 1
        derivative = of_pairs.sum(axis=0) + 0.5 - expit(slope)
        more = derivative > 0
        low = np.where(more, slope, low)
        high = np.where(more, high, slope)
    slope = (low + high) / 2
    # a slope is one over differences
    slope_of_gaps = np.ldexp(ratio(slope, size), -exponent)
    return np.where(size > 0, slope_of_gaps, np.nan)


def expit(values: Floats) -> Floats:
    """1 / (1 + exp(-x)), without an overflow."""
    return np.asarray(0.5 + 0.5 * np.tanh(values / 2))


def _n_different(scores: Floats, times: Floats) -> Ints:
    """int64[B] how many different scores the drawn systems have, of float64[S, B] finite scores."""
    ordered = np.sort(np.where(times > 0, scores, np.inf), axis=0)
    is_last = np.isfinite(ordered)
    is_last[:-1] &= ordered[1:] != ordered[:-1]
    return np.asarray(np.count_nonzero(is_last, axis=0))


def _net_below(scores: Floats, times: Floats) -> Floats:
    """float64[S, B] drawn systems with a lower score less those with a higher one, of float64[S, B] scores."""
    # By rank: a table of pairs by systems has 30 GiB of 2,000 systems.
    order = np.argsort(scores, axis=0)
    ordered = np.take_along_axis(scores, order, axis=0)
    drawn = np.take_along_axis(times, order, axis=0)
    up_to = np.cumsum(drawn, axis=0)
    # equal scores are one run: scores before the run are below, scores after it are above
    begins = np.ones(scores.shape, dtype=np.bool_)
    begins[1:] = ordered[1:] != ordered[:-1]
    ends = np.ones(scores.shape, dtype=np.bool_)
    ends[:-1] = begins[1:]
    before_run = np.maximum.accumulate(np.where(begins, up_to - drawn, 0.0), axis=0)
    last_of_run = np.where(ends, up_to, np.inf)[::-1]
    up_to_run = np.minimum.accumulate(last_of_run, axis=0)[::-1]
    net = before_run - (drawn.sum(axis=0) - up_to_run)
    by_system = np.empty(scores.shape)
    np.put_along_axis(by_system, order, net, axis=0)
    return by_system


TAIL = 0.025  # of the resamples, at each end


def rank_ranges(scores: Floats, samples: Floats) -> Ints:
    """Rank systems, with rank ranges and clusters from resampled scores.

    Ranges are those of WMT before 2024: 2.5 % of the resamples are cut off at each end (Koehn 2012). Systems of
    different clusters have ranges that do not overlap (Bojar et al. 2013).

    Args:
        scores: float64[S], scores of S systems, higher is better. A system with NaN gets 0 in all rows.
        samples: float64[B, S], scores in B resamples. A resample with NaN for another system is ignored.

    Returns:
        int64[4, S]: Rank (equal scores share the best rank), best and worst rank of the range, and cluster, counted
            from 1 (best). Range and cluster are 0 without resamples.

    Raises:
        ValueError: The shapes do not match.

    Example:
        >>> import numpy as np
        >>> from bmx_grid.measures import rank_ranges
        >>> scores = np.array([3.0, 2.0, 1.0])
        >>> samples = np.array([[3.0, 2.0, 1.0], [3.0, 1.0, 2.0]])
        >>> rank_ranges(scores, samples)
        array([[1, 2, 3],
               [1, 2, 2],
               [1, 3, 3],
               [1, 2, 2]])
    """
    from scipy.stats import rankdata

    if scores.ndim != 1 or samples.shape[1:] != scores.shape:
        raise ValueError(f"scores of shape {scores.shape} and resamples of shape {samples.shape}")
    known = np.flatnonzero(np.isfinite(scores))
    table = np.zeros((4, len(scores)), dtype=np.int64)
    ranked = scores[known]
    is_lower = ranked[:, None] < ranked
    table[0, known] = 1 + is_lower.sum(axis=1)
    drawn = samples[:, known]
    drawn = drawn[np.isfinite(drawn).all(axis=1)]
    if not len(drawn) or not len(known):
        return table
    # Of systems that are equal in a resample the lower end counts the best rank that they share, the upper the worst.
    best = rankdata(-drawn, "min", axis=1).astype(np.int64)
    worst = rankdata(-drawn, "max", axis=1).astype(np.int64)
    left_out = int(TAIL * len(drawn))
    low = np.sort(best, axis=0)[left_out]
    last_kept = len(drawn) - 1 - left_out
    high = np.sort(worst, axis=0)[last_kept]
    table[1:, known] = low, high, _clusters(low, high)
    return table


LEVEL = 0.05  # of a win
OUTLYING = 2.5  # deviations from the median that make an outlier


def ranges_by_wins(scores: Floats) -> Ints:
    """int64[5, S] wins, losses, the ends of the rank range and cluster of S systems, as WMT24 ranks them by people.

    scores: float64[I, S] of systems on I items, NaN if missing. A system wins over another one if a
    one-sided Wilcoxon signed-rank test of their common items has p below .05. Its range is from 1 and its losses to
    S less its wins, of S systems that have an item in common with another one; the others have 0 throughout.
    """
    from scipy.stats import wilcoxon

    scored_systems = np.isfinite(scores).sum(axis=1)
    exponent = size_exponent(scores.ravel())
    shared = np.ldexp(scores[scored_systems > 1], -exponent)
    known = np.flatnonzero(np.isfinite(shared).any(axis=0))
    table = np.zeros((5, scores.shape[1]), dtype=np.int64)
    for winner, loser in itertools.permutations(known.tolist(), 2):
        gaps = shared[:, winner] - shared[:, loser]
        # ties are left out, as by Wilcoxon
        gaps = gaps[np.isfinite(gaps) & (np.abs(gaps) > TIE)]
        if not len(gaps):
            continue
        p = wilcoxon(gaps, alternative="greater").pvalue
        if p < LEVEL:
            table[0, winner] += 1
            table[1, loser] += 1
    if len(known):
        wins, losses = table[:2, known]
        best = losses + 1
        worst = len(known) - wins
        table[2:, known] = best, worst, _clusters(best, worst)
    return table


def outliers(scores: Floats) -> Flags:
    """Find systems whose human score is far from the median.

    An outlier is more than 2.5 deviations from the median; the deviation is 1.483 times the median absolute deviation
    (Mathur, Baldwin and Cohn 2020).

    Args:
        scores: float64[S], human scores of S systems; NaN is ignored.

    Returns:
        bool[S]: True for outliers. No system is an outlier with fewer than 3 scores or if the deviation is 0.

    Example:
        >>> import numpy as np
        >>> from bmx_grid.measures import outliers
        >>> outliers(np.array([1.0, 2.0, 3.0, 4.0, 100.0]))
        array([False, False, False, False,  True])
    """
    known = scores[np.isfinite(scores)]
    if len(known) < FEWEST_SYSTEMS:
        return np.zeros(len(scores), dtype=np.bool_)
    median = np.median(known)
    # 1.483 makes it the standard deviation of normal scores
    absolute = np.abs(known - median)
    deviation = 1.483 * float(np.median(absolute))
    far = np.abs(scores - median) > OUTLYING * deviation
    return np.asarray(far & (deviation > 0))


def _clusters(low: Ints, high: Ints) -> Ints:
    """The number of each system's cluster: a new one begins if no range so far reaches the next best rank."""
    order = np.lexsort((high, low))
    reached = np.maximum.accumulate(high[order])
    starts = low[order]
    begins = np.append(True, starts[1:] > reached[:-1])
    number = np.empty(len(low), dtype=np.int64)
    number[order] = np.cumsum(begins)
    return number
