"""Is the difference of two metrics at the level of systems real? Tests and intervals over segments, systems or both.

A system's score is the mean of its segments' scores. PERM-INPUTS, PERM-SYSTEMS and PERM-BOTH of Deutsch, Dror and Roth
(2021) swap the standardised scores of segments between the metrics, and make the scores of systems anew: swaps of whole
systems alone (`paired_tests.compare` of system scores) see few systems only. They recommend PERM-BOTH for tests, and
BOOT-BOTH for intervals.
"""

from __future__ import annotations

import math
from typing import Any, get_args

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
    by_mean,
    mean,
    system_samples,
    system_scores,
    weighted_statistics,
)


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
    """The difference of two metrics' statistics of system scores: interval by bootstrap, p by permutation.

    x, y, human: float64[N], a row per segment and system, higher is better; a row with NaN or infinity in any of them
    is left out. system: N labels. cluster: N labels of segments that are not independent, the inputs; each row is its
    own without, which is right only where systems share no segment.
    statistic: of systems' mean scores, "pairwise_accuracy" as well. unit: what is swapped and drawn, "inputs" (whole
    clusters), "systems", or "both", as for `paired_tests.compare`; so are alternative and confidence.
    `clusters` of the result counts clusters of segments. NaN for interval and p with fewer than 3 units or systems.
    Raises ValueError for arrays of different lengths, ConfigError for an unknown name.
    """
    check_known("statistic", statistic, get_args(Statistic))
    check_unit(unit)
    check_conclusion(alternative, confidence)
    (left, right, judged), (systems, clusters) = judged_rows(x, y, human, system, cluster)
    sizes = (number_of(systems), number_of(clusters))
    n_systems, n_clusters = sizes
    # Published scores of systems stand in each of their rows: less the first one, their mean is not rounded.
    first_rows = np.unique(systems, return_index=True)[1]
    published = judged[first_rows]
    columns = (left, right, judged - published[systems])
    scores_of = [system_scores(by_mean(column), mean, systems, clusters, *sizes) for column in columns]
    people_above = scores_of[2]
    scores_of[2] = lambda weights: published + people_above(weights)
    whole_x, whole_y, whole_human = (scores(np.ones((n_clusters, 1))) for scores in scores_of)
    alone = np.ones((1, n_systems))

    def statistics_of(metric: Floats, people: Floats, times: Floats) -> Floats:
        return weighted_statistics([statistic], metric, people, times)[statistic]

    first = float(statistics_of(whole_x, whole_human, alone)[0])
    second = float(statistics_of(whole_y, whole_human, alone)[0])
    n_units, unit_of_row = units_of(unit, clusters, systems)
    samples = [np.empty(0)]
    swapped = [np.empty(0)]
    can_be_drawn = n_units >= FEWEST_CLUSTERS and n_systems >= FEWEST_SYSTEMS
    if can_be_drawn and not math.isnan(first - second):
        # What a swap adds to the mean of one metric it takes from that of the other.
        n_of_system = np.bincount(systems)
        moves = _sums_of_units((right - left) / n_of_system[systems], systems, unit_of_row)
        for swap in drawn_units(unit, clusters, systems, swaps, resamples, seed, len(judged)):
            moved = (moves @ swap).T
            ones = np.ones(moved.shape)
            people = np.broadcast_to(whole_human, moved.shape)
            of_x = statistics_of(whole_x + moved, people, ones)
            of_y = statistics_of(whole_y - moved, people, ones)
            swapped.append(of_x - of_y)
        if bootstrap and unit == "both":
            # The same seed draws the same systems and clusters for both metrics.
            of_x, of_y = (
                system_samples([statistic], metric, scores_of[2], *sizes, resamples=resamples, seed=seed)[statistic]
                for metric in scores_of[:2]
            )
            samples.append(of_x - of_y)
        elif bootstrap:
            for times in drawn_units(unit, clusters, systems, draws, resamples, seed, len(judged)):
                by_system = np.ones((times.shape[1], n_systems))
                by_cluster = np.ones((n_clusters, times.shape[1]))
                if unit == "systems":
                    by_system = times.T
                else:
                    by_cluster = times
                metric_x, metric_y, people = (scores(by_cluster) for scores in scores_of)
                samples.append(statistics_of(metric_x, people, by_system) - statistics_of(metric_y, people, by_system))
    drawn = Drawn(
        x=first,
        y=second,
        samples=np.concatenate(samples),
        swapped=np.concatenate(swapped),
        units=n_units,
        n=len(judged),
        clusters=n_clusters,
    )
    return comparison_of(drawn, alternative, confidence)


def _sums_of_units(values: Floats, systems: Ints, units: Ints) -> Any:
    """[S, U] sums of float64[N] values by system and unit: a sparse matrix, as a unit may be a row."""
    from scipy.sparse import coo_array

    return coo_array((values, (systems, units))).tocsr()
