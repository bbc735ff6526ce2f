"""System level: statistics of drawn systems equal SciPy's of the drawn list; rank ranges by hand and by plain loops."""

import itertools

import numpy as np
import pytest
from scipy import optimize, stats

from bmx_grid.measures.resampling import draws, interval
from bmx_grid.measures.systems import (
    SystemScores,
    by_mean,
    mean,
    rank_ranges,
    system_samples,
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
    found = weighted_statistics([statistic], metric, human, times)[statistic]
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("statistic", ORACLES)
def test_resamples_of_two_systems_or_of_systems_without_scores_are_undefined(statistic):
    metric, human = np.tile(np.arange(4.0), (3, 1)), np.tile([2.0, 1, 5, 3], (3, 1))
    metric[2, :2] = np.nan
    times = np.array([[2.0, 2, 0, 0], [4, 0, 0, 0], [1, 1, 1, 1]])
    assert np.isnan(weighted_statistics([statistic], metric, human, times)[statistic]).all()


@pytest.mark.parametrize("statistic", ["pearson", "spearman", "kendall"])
def test_constant_systems_are_undefined(statistic):
    value = 0.1 + 0.2
    found = weighted_statistics([statistic], np.full((1, 5), value), np.arange(5.0)[None], np.ones((1, 5)))[statistic]
    assert np.isnan(found).all()
    assert np.isnan(system_statistic(statistic, np.full(5, value), np.arange(5.0)))
    assert np.isnan(system_statistic("agreement_slope", np.ones(5), np.arange(5.0)))


def ratio(sums):
    return sums[..., 0] / sums[..., 1]


def some_systems(corpus):
    """Six segments of two systems in three clusters; statistics whose ratio of sums is the corpus score."""
    statistics = np.array([[1.0, 4], [2, 5], [3, 9], [1, 2], [5, 6], [2, 8]])
    where = np.array([0, 1, 0, 1, 0, 1]), np.array([0, 0, 1, 1, 2, 2]), 2, 3
    terms, combine = (statistics, ratio) if corpus else (by_mean(ratio(statistics)), mean)
    return SystemScores(terms, combine, *where)


ONCE = np.ones((3, 1))


def test_a_system_is_the_mean_of_its_segments_and_the_score_of_its_sums():
    means = [np.mean([1 / 4, 3 / 9, 5 / 6]), np.mean([2 / 5, 1 / 2, 2 / 8])]
    assert some_systems(corpus=False)(ONCE)[0].tolist() == pytest.approx(means)
    assert some_systems(corpus=True)(ONCE)[0].tolist() == pytest.approx([9 / 19, 5 / 15])


def test_drawn_clusters_count_as_often_as_they_were_drawn():
    weights = np.array([[2.0, 1, 0], [0, 0, 3]]).T
    assert some_systems(corpus=True)(weights).tolist() == [
        pytest.approx([(2 * 1 + 3) / (2 * 4 + 9), (2 * 2 + 1) / (2 * 5 + 2)]),
        pytest.approx([5 / 6, 2 / 8]),
    ]
    expected = [(2 / 4 + 3 / 9) / 3, (2 * 2 / 5 + 1 / 2) / 3]
    assert some_systems(corpus=False)(weights)[0].tolist() == pytest.approx(expected)


def test_intervals_hold_the_value_and_come_from_the_seed():
    rng = np.random.default_rng(1)
    human = rng.normal(size=20)
    metric = human + 0.5 * rng.normal(size=20)
    both = [lambda weights, of=of: np.tile(of, (weights.shape[1], 1)) for of in (metric, human)]

    def interval_of(seed):
        return interval(system_samples(["pearson"], *both, 20, 100, resamples=500, seed=seed)["pearson"], 20)

    low, high = interval_of(0)
    assert low < stats.pearsonr(metric, human).statistic < high < 1
    assert (low, high) == interval_of(0) != interval_of(1)


@pytest.mark.parametrize("human_of", [lambda x, noise: x + 2 * noise, lambda x, noise: x, lambda x, noise: -x + noise])
@pytest.mark.parametrize("seed", range(2))
def test_the_slope_of_agreement_has_the_highest_likelihood_of_the_drawn_pairs(seed, human_of):
    rng = np.random.default_rng(seed)
    metric = rng.normal(size=8)
    human, times = np.round(human_of(metric, rng.normal(size=8)), 1), draws(rng, 8, 1)
    pairs = [
        (abs(metric[i] - metric[j]), (1 + np.sign(metric[i] - metric[j]) * np.sign(human[i] - human[j])) / 2)
        for i, j in itertools.combinations(np.repeat(np.arange(8), times[0].astype(int)), 2)
        if i != j
    ]
    size = np.sqrt(np.mean([gap**2 for gap, _ in pairs]))

    def lost(slope):
        more = [*pairs, (size, 0.5)]
        return -sum(y * stats.logistic.logcdf(slope * x) + (1 - y) * stats.logistic.logsf(slope * x) for x, y in more)

    found = weighted_statistics(["agreement_slope"], metric[None], human[None], times)["agreement_slope"][0]
    best = optimize.minimize_scalar(lost, bracket=(-1, 1), tol=1e-12).x
    assert found == pytest.approx(best, rel=1e-5)


NAN = float("nan")


@pytest.mark.parametrize(
    ("scores", "samples", "expected"),
    [
        pytest.param(
            [3, 2, 1],
            [[3, 2, 1], [2, 3, 1]],
            [[1, 2, 3], [1, 1, 3], [2, 2, 3], [1, 1, 2]],
            id="two systems change places",
        ),
        pytest.param(
            [3, 2, 1],
            [[3, 2, 1], [2, 3, 1], [3, 1, 2]],
            [[1, 2, 3], [1, 1, 2], [2, 3, 3], [1, 1, 1]],
            id="a chain of overlaps is one cluster",
        ),
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
    found = rank_ranges(np.array(scores, dtype=float), np.array(samples, dtype=float))
    assert found.tolist() == expected


def resampled(seed=0, systems=9, resamples=1000):
    rng = np.random.default_rng(seed)
    scores = np.sort(rng.normal(size=systems))[::-1]
    return scores, scores + 0.2 * rng.normal(size=(resamples, systems))


def test_25_of_1000_are_left_out_at_each_end():
    """A plain loop over the description of Koehn (2012): sort the ranks of a system, leave out 25 at each end."""
    scores, samples = resampled()
    _, low, high, _ = rank_ranges(scores, samples)
    for system in range(len(scores)):
        ranks = sorted(stats.rankdata(-row)[system] for row in samples)
        assert (low[system], high[system]) == (ranks[25], ranks[-26])
