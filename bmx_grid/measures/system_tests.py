"""Is the difference of two metrics at the level of systems real? Tests and intervals over segments, systems or both.

A system's score is the mean of its segments' scores. PERM-INPUTS, PERM-SYSTEMS and PERM-BOTH of Deutsch, Dror and Roth
(2021) swap the standardised scores of segments between the metrics, and make the scores of systems anew: swaps of whole
systems (`paired_tests.compare` of system scores) only see few systems. They recommend PERM-BOTH for tests, and
BOOT-BOTH for intervals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike

from bmx_grid.core.errors import check_known
from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.measures.correlations_of_resamples import Unit, check_unit, drawn_units, units_of
from bmx_grid.measures.paired_tests import (
    Alternative,
    Comparison,
    Drawn,
    check_conclusion,
    comparison_of,
    judged_rows,
)
from bmx_grid.measures.resampling import (
    CONFIDENCE,
    FEWEST_CLUSTERS,
    draws,
    number_of,
    swaps,
)
from bmx_grid.measures.systems import (
    FEWEST_SYSTEMS,
    Statistic,
    mean,
    mean_terms,
    system_samples,
    system_scores,
    weighted_statistics,
)

SystemScores = Callable[[Floats], Floats]  # float64[C, R] weights of clusters -> float64[R, S] scores of systems


def compare_systems(
    x: ArrayLike,
    y: ArrayLike,
    human: ArrayLike,
    system: ArrayLike,
    cluster: ArrayLike | None = None,
    *,
    statistic: Statistic = "pearson",
    unit: Unit = "both",
    resamples: int = 1000,
    seed: int = 0,
    bootstrap: bool = True,
    alternative: Alternative = "two-sided",
    confidence: float = CONFIDENCE,
) -> Comparison:
    """Test whether two metrics differ at system level.

    The score of a system is the mean of its standardised segment scores. Permutations swap segment scores between the
    metrics: PERM-INPUTS, PERM-SYSTEMS and PERM-BOTH of Deutsch, Dror and Roth (2021), who recommend PERM-BOTH.

    Args:
        x: float64[N], scores of the first metric, one row per segment and system, higher is better.
        y: float64[N], scores of the second metric.
        human: float64[N], human scores. A row with NaN or infinity in x, y or human is ignored.
        system: N labels of systems.
        cluster: N labels of rows that are not independent, such as the source. Default: each row is its own cluster,
            which is right only if systems share no segment.
        statistic: Statistic of the system scores: `"pearson"`, `"spearman"`, `"kendall"`, `"kendall_tau_c"`,
            `"pairwise_accuracy"` or `"agreement_slope"`.
        unit: Unit that is swapped and resampled: `"inputs"` (clusters), `"systems"` or `"both"`, as in `compare`.
        resamples: Number of permutations and of bootstrap resamples.
        seed: Seed of all random draws.
        bootstrap: If false, skip the interval and `p_bootstrap`.
        alternative: `"two-sided"`, `"greater"` (x is better) or `"less"`.
        confidence: Level of the interval. Default: 0.95 for 95 %.

    Returns:
        Comparison: Both statistics, their difference with its interval, and p-values. `clusters` counts clusters of
            segments. Interval and p-values are NaN with fewer than 3 systems or 3 units.

    Raises:
        ConfigError: `statistic`, `unit` or `alternative` is unknown.
        ValueError: The arrays differ in length, or `confidence` is outside (0, 1).

    Example:
        >>> import numpy as np
        >>> from bmx_grid.measures import compare_systems
        >>> rng = np.random.default_rng(0)
        >>> source, system = np.divmod(np.arange(400), 8)
        >>> human = system + rng.normal(size=400)
        >>> x, y = human + rng.normal(size=400), rng.normal(size=400)
        >>> result = compare_systems(x, y, human, system, source, resamples=200)
        >>> result.x > result.y, result.low < result.difference < result.high, result.clusters
        (True, True, 50)
    """
    from scipy.sparse import coo_array

    check_known("statistic", statistic, get_args(Statistic))
    check_unit(unit)
    check_conclusion(alternative, confidence)
    (left, right, judged), (systems, clusters) = judged_rows(x, y, human, system, cluster)
    n_systems = number_of(systems)
    scores_of = _system_scores(left, right, judged, systems, clusters)
    whole_x, whole_y, whole_human = (scores(np.ones((number_of(clusters), 1))) for scores in scores_of)
    alone = np.ones((1, n_systems))
    first = float(weighted_statistics([statistic], whole_x, whole_human, alone)[statistic][0])
    second = float(weighted_statistics([statistic], whole_y, whole_human, alone)[statistic][0])
    n_units, unit_of_row = units_of(unit, clusters, systems)
    samples = [np.empty(0)]
    swapped = [np.empty(0)]
    can_be_drawn = n_units >= FEWEST_CLUSTERS and n_systems >= FEWEST_SYSTEMS
    if can_be_drawn and not math.isnan(first - second):
        # A swap takes from the mean of one metric as much as it adds to the other's: sparse, as a unit may be a row.
        moved = (right - left) / np.bincount(systems)[systems]
        moves = coo_array((moved, (systems, unit_of_row))).tocsr()
        for swap in drawn_units(unit, clusters, systems, swaps, resamples, seed, len(judged)):
            swapped.append(_after_swaps(statistic, (whole_x, whole_y, whole_human), (moves @ swap).T))
        if bootstrap:
            samples += _samples(statistic, unit, scores_of, systems, clusters, resamples, seed)
    drawn = Drawn(
        x=first,
        y=second,
        samples=np.concatenate(samples),
        swapped=np.concatenate(swapped),
        units=n_units,
        n=len(judged),
        clusters=number_of(clusters),
    )
    return comparison_of(drawn, alternative, confidence)


def _system_scores(left: Floats, right: Floats, human: Floats, systems: Ints, clusters: Ints) -> list[SystemScores]:
    """Of both metrics and of people the mean scores of systems, of float64[N] scores of their segments."""
    sizes = (number_of(systems), number_of(clusters))
    # Published scores of systems are repeated in all their rows: less the first one, their mean is not rounded.
    _, first_rows = np.unique(systems, return_index=True)
    published = human[first_rows]
    columns = (left, right, human - published[systems])
    x, y, people_above = (system_scores(mean_terms(column), mean, systems, clusters, *sizes) for column in columns)
    return [x, y, lambda weights: published + people_above(weights)]


def _after_swaps(statistic: Statistic, wholes: tuple[Floats, Floats, Floats], moved: Floats) -> Floats:
    """float64[R] differences after float64[R, S] moves of systems' means from one metric to the other."""
    whole_x, whole_y, whole_human = wholes
    once = np.ones(moved.shape)
    people = np.broadcast_to(whole_human, moved.shape)
    x = weighted_statistics([statistic], whole_x + moved, people, once)[statistic]
    return np.asarray(x - weighted_statistics([statistic], whole_y - moved, people, once)[statistic])


def _samples(
    statistic: Statistic,
    unit: Unit,
    scores_of: Sequence[SystemScores],
    systems: Ints,
    clusters: Ints,
    resamples: int,
    seed: int,
) -> Iterator[Floats]:
    """float64[R] differences of a block of bootstrap samples at a time."""
    n_systems = number_of(systems)
    n_clusters = number_of(clusters)
    if unit == "both":
        of_metrics = []
        for metric in scores_of[:2]:
            # The same seed draws the same systems and clusters for both metrics.
            drawn = system_samples(
                [statistic], metric, scores_of[2], n_systems, n_clusters, resamples=resamples, seed=seed
            )
            of_metrics.append(drawn[statistic])
        yield of_metrics[0] - of_metrics[1]
        return
    for times in drawn_units(unit, clusters, systems, draws, resamples, seed, len(systems)):
        by_system = np.ones((times.shape[1], n_systems))
        by_cluster = np.ones((n_clusters, times.shape[1]))
        if unit == "systems":
            by_system = times.T
        else:
            by_cluster = times
        x, y, people = (scores(by_cluster) for scores in scores_of)
        of_x = weighted_statistics([statistic], x, people, by_system)[statistic]
        yield of_x - weighted_statistics([statistic], y, people, by_system)[statistic]
