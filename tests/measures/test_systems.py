"""System level: statistics of drawn systems equal SciPy's of the drawn list; rank ranges by hand and by plain loops."""

import itertools
import tracemalloc

import numpy as np
import pytest
from scipy import optimize, stats

from bmx_grid.measures.resampling import draws
from bmx_grid.measures.systems import (
    mean,
    mean_terms,
    rank_ranges,
    system_scores,
    system_statistic,
    weighted_statistics,
)


def accuracy(x, y, names):
    """Of pairs of different systems, copies included."""
    pairs = [(i, j) for i, j in itertools.combinations(range(len(x)), 2) if names[i] != names[j]]
    return np.mean([np.sign(x[i] - x[j]) == np.sign(y[i] - y[j]) for i, j in pairs])


ORACLES = {
    "pearson": lambda x, y, names: stats.pearsonr(x, y).statistic,
    "spearman": lambda x, y, names: stats.spearmanr(x, y).statistic,
    "kendall": lambda x, y, names: stats.kendalltau(x, y).statistic,
    "pairwise_accuracy": accuracy,
}


@pytest.mark.parametrize("statistic", ORACLES)
@pytest.mark.parametrize("ties", [False, True], ids=["no-ties", "ties"])
def test_equals_the_statistic_of_the_drawn_list(statistic, ties):
    rng = np.random.default_rng(6)
    metric, human = rng.normal(size=(40, 9)), rng.normal(size=(40, 9))
    if ties:
        metric, human = np.round(metric), np.round(human)
    times = draws(rng, 9, 40)
    expected = []
    for row in range(40):
        names = np.repeat(np.arange(9), times[row].astype(int))
        expected.append(ORACLES[statistic](metric[row][names], human[row][names], names))
    values = weighted_statistics([statistic], metric, human, times)[statistic]
    np.testing.assert_allclose(values, expected, atol=1e-12)


@pytest.mark.parametrize("statistic", ["spearman", "kendall"])
def test_two_thousand_systems_need_megabytes(statistic):
    """A table of their 2 million pairs by systems would have 30 GiB."""
    rng = np.random.default_rng(3)
    metric, human = np.round(rng.normal(size=(2, 2000)), 1)
    tracemalloc.start()
    try:
        value = system_statistic(statistic, metric, human)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert value == pytest.approx(ORACLES[statistic](metric, human, None), abs=1e-12)
    assert peak < 2**29


def test_scores_of_systems_are_made_of_few_resamples_at_a_time():
    """The same as of one resample at a time; no part has more sums of systems than 2^21."""
    rng = np.random.default_rng(4)
    systems, clusters = np.repeat(np.arange(400), 5), np.tile(np.arange(5), 400)
    seen = []

    def combine(sums):
        seen.append(sums.size)
        return mean(sums)

    scores = system_scores(mean_terms(rng.normal(size=2000)), combine, systems, clusters, 400, 5)
    weights = draws(rng, 5, 3000).T
    together = scores(weights)
    assert max(seen) <= 2**21 and len(seen) > 1
    each = np.concatenate([scores(weights[:, [row]]) for row in range(0, 3000, 500)])
    np.testing.assert_allclose(together[::500], each, atol=1e-12)


@pytest.mark.parametrize("statistic", ORACLES)
def test_resamples_of_two_systems_or_of_systems_without_scores_are_undefined(statistic):
    metric, human = np.tile(np.arange(4.0), (3, 1)), np.tile([2.0, 1, 5, 3], (3, 1))
    metric[2, :2] = np.nan
    times = np.array([[2.0, 2, 0, 0], [4, 0, 0, 0], [1, 1, 1, 1]])
    assert np.isnan(weighted_statistics([statistic], metric, human, times)[statistic]).all()
    if statistic != "pairwise_accuracy":
        assert np.isnan(system_statistic(statistic, np.full(5, 0.1 + 0.2), np.arange(5.0))), "constant"
    assert np.isnan(system_statistic("agreement_slope", np.ones(5), np.arange(5.0)))


def ratio(sums):
    return sums[..., 0] / sums[..., 1]


def some_systems(corpus):
    """Six segments of two systems in three clusters; statistics whose ratio of sums is the corpus score."""
    statistics = np.array([[1.0, 4], [2, 5], [3, 9], [1, 2], [5, 6], [2, 8]])
    where = np.array([0, 1, 0, 1, 0, 1]), np.array([0, 0, 1, 1, 2, 2]), 2, 3
    terms, combine = (statistics, ratio) if corpus else (mean_terms(ratio(statistics)), mean)
    return system_scores(terms, combine, *where)


def test_drawn_clusters_count_as_often_as_they_were_drawn():
    weights = np.array([[1.0, 1, 1], [2, 1, 0], [0, 0, 3]]).T
    assert some_systems(corpus=True)(weights).tolist() == [
        pytest.approx([9 / 19, 5 / 15]),
        pytest.approx([(2 * 1 + 3) / (2 * 4 + 9), (2 * 2 + 1) / (2 * 5 + 2)]),
        pytest.approx([5 / 6, 2 / 8]),
    ]
    expected = [
        [(1 / 4 + 3 / 9 + 5 / 6) / 3, (2 / 5 + 1 / 2 + 2 / 8) / 3],
        [(2 / 4 + 3 / 9) / 3, (2 * 2 / 5 + 1 / 2) / 3],
    ]
    np.testing.assert_allclose(some_systems(corpus=False)(weights)[:2], expected)


@pytest.mark.parametrize("human_of", [lambda x, noise: x + 2 * noise, lambda x, noise: x, lambda x, noise: -x + noise])
@pytest.mark.parametrize("seed", range(2))
def test_the_slope_of_agreement_has_the_highest_likelihood_of_the_drawn_pairs(seed, human_of):
    rng = np.random.default_rng(seed)
    metric = rng.normal(size=8)
    human, times = np.round(human_of(metric, rng.normal(size=8)), 1), draws(rng, 8, 1)
    pairs = []
    for i, j in itertools.combinations(np.repeat(np.arange(8), times[0].astype(int)), 2):
        if i != j:
            gap = metric[i] - metric[j]
            agreement = (1 + np.sign(gap) * np.sign(human[i] - human[j])) / 2
            pairs.append((abs(gap), agreement))
    size = np.sqrt(np.mean([gap**2 for gap, _ in pairs]))

    def lost(tried):
        more = [*pairs, (size, 0.5)]
        return -sum(y * stats.logistic.logcdf(tried * x) + (1 - y) * stats.logistic.logsf(tried * x) for x, y in more)

    slope = weighted_statistics(["agreement_slope"], metric[None], human[None], times)["agreement_slope"][0]
    best = optimize.minimize_scalar(lost, bracket=(-1, 1), tol=1e-12).x
    assert slope == pytest.approx(best, rel=1e-5)


NAN = float("nan")


@pytest.mark.parametrize(
    ("scores", "samples", "expected"),
    [
        pytest.param(
            [4, 3, 2, 1],
            [[4, 3, 2, 1], [2, 3, 4, 1], [4, 3, 1, 2]],
            [[1, 2, 3, 4], [1, 2, 1, 3], [3, 2, 4, 4], [1, 1, 1, 1]],
            id="a narrow range between wide ones ends no cluster",
        ),
        pytest.param(
            [2, 2, 1], [[2, 2, 1]], [[1, 1, 3], [1, 1, 3], [2, 2, 3], [1, 1, 2]], id="equal systems share ranks"
        ),
        pytest.param(
            [2, NAN, 1],
            [[2, NAN, 1], [1, 9, 2]],
            [[1, 0, 2], [1, 0, 1], [2, 0, 2], [1, 0, 1]],
            id="no score: left out",
        ),
        pytest.param(
            [2, 1],
            [[2, 1], [NAN, 5]],
            [[1, 2], [1, 2], [1, 2], [1, 2]],
            id="a resample without a system does not count",
        ),
        pytest.param([2, 1], np.empty((0, 2)), [[1, 2], [0, 0], [0, 0], [0, 0]], id="no resamples: ranks only"),
        pytest.param([NAN, NAN], [[NAN, NAN]], [[0, 0]] * 4, id="no scores"),
    ],
)
def test_rank_ranges_by_hand(scores, samples, expected):
    ranges = rank_ranges(np.array(scores, dtype=float), np.array(samples, dtype=float))
    assert ranges.tolist() == expected


def test_25_of_1000_are_left_out_at_each_end():
    """A plain loop over the description of Koehn (2012): sort the ranks of a system, leave out 25 at each end."""
    scores = np.linspace(2, -2, 9)
    samples = scores + 0.4 * np.random.default_rng(0).normal(size=(1000, 9))
    _, low, high, _ = rank_ranges(scores, samples)
    ranks = np.sort(stats.rankdata(-samples, axis=1), axis=0)
    assert (low.tolist(), high.tolist()) == (ranks[25].tolist(), ranks[-26].tolist())
