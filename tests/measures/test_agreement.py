"""Agreement on pairs: the published example, every threshold tried one by one, permutations listed one by one."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from bmx_grid.measures.agreement import SegmentPairs, spa


def acc_eq(metric, human, groups, **options):
    pairs = SegmentPairs.from_groups(human, groups, **options)
    epsilon, only_ties = pairs.calibrate(metric)
    by_row, by_group = pairs.shares(pairs.find_agreeing(metric, epsilon))
    result = SimpleNamespace(pairs=pairs, epsilon=epsilon, only_ties=only_ties, by_row=by_row, by_group=by_group)
    result.accuracy = pairs.agreement(metric, epsilon)
    known = by_group[np.isfinite(by_group)]
    assert result.accuracy == pytest.approx(known.mean() if len(known) else np.nan, nan_ok=True)
    return result


def one_group(values):
    return np.zeros(len(values), dtype=np.int64)


def brute_force(metric, human, groups):
    """(best accuracy, smallest threshold that reaches it) of all thresholds that differ, by counting pairs."""
    apart, judged = [], []  # of each group that has pairs
    for group in np.unique(groups):
        pairs = list(itertools.combinations(np.flatnonzero(groups == group), 2))
        if pairs:
            apart.append(np.array([metric[i] - metric[j] for i, j in pairs]))
            judged.append(np.sign([human[i] - human[j] for i, j in pairs]))
    thresholds = np.unique([0.0, *np.abs(np.concatenate(apart))]).tolist()

    def accuracy(epsilon):
        shares = []
        for differences, order in zip(apart, judged, strict=True):
            ordered = np.where(abs(differences) <= epsilon, 0, np.sign(differences))
            shares.append(np.mean(ordered == order))
        return np.mean(shares)

    accuracies = [accuracy(epsilon) for epsilon in thresholds]
    best = next(place for place, value in enumerate(accuracies) if value >= max(accuracies) - 1e-12)
    return accuracies[best], thresholds[best]


def test_the_example_of_the_definition_has_its_threshold_and_accuracy():
    metric, human = np.array([0.0, 2, 6, 8]), np.array([1.0, 1, 1, 4])
    result = acc_eq(metric, human, one_group(metric))
    assert (result.epsilon, result.accuracy) == (4.0, pytest.approx(4 / 6))
    assert not result.only_ties
    # wrong are the first and third segment, which people tied, and the third and fourth, which they did not
    assert result.by_row.tolist() == pytest.approx([2 / 3, 1.0, 1 / 3, 2 / 3])


@pytest.mark.parametrize("n_groups", [1, 9])
@pytest.mark.parametrize("seed", range(10))
def test_calibration_equals_the_search_over_all_thresholds(seed, n_groups):
    rng = np.random.default_rng(seed)
    n = 30
    metric = rng.integers(0, 12, n).astype(float) if seed % 2 else rng.normal(size=n)
    human = rng.integers(0, 4, n) + (metric > np.median(metric))
    groups = rng.integers(0, n_groups, n)
    result = acc_eq(metric, human.astype(float), groups)
    accuracy, epsilon = brute_force(metric, human, groups)
    assert result.accuracy == pytest.approx(accuracy, abs=1e-12)
    assert result.epsilon == epsilon
    assert len(result.pairs.first) == result.pairs.n_pairs_of


def two_groups(larger, smaller):
    """Scores in the order of people, but for three close pairs: one in each group that people tied, one they did not.

    The threshold 2 beside 1 makes a tie of a pair of each group: right in the smaller one, wrong in the larger one.
    """
    of_group = np.arange(larger), np.arange(smaller)
    metric, human = 1000.0 * np.concatenate(of_group), np.concatenate(of_group).astype(float)
    metric[[1, 3, larger + 1]], human[[1, larger + 1]] = [1.0, 2001.5, 2.0], 0.0
    return metric, human, np.repeat([0, 1], [larger, smaller])


BY_ROUNDING = ([4.0, 0, 7, 3, 7, 1, 3, 0], [0.0, 1, 0, 2, 2, 2, 2, 1], [0, 0, 0, 0, 2, 2, 3, 3])


@pytest.mark.parametrize(
    ("arrays", "epsilon"),
    [
        pytest.param(map(np.array, BY_ROUNDING), 0.0, id="6 is better by rounding"),
        pytest.param(two_groups(700, 699), 2.0, id="2 is better than 1 by 6e-9"),
    ],
)
def test_thresholds_that_are_equal_but_for_rounding_tie(arrays, epsilon):
    assert acc_eq(*arrays).epsilon == epsilon


def test_where_ties_are_best_the_accuracy_is_the_share_of_human_ties():
    human = np.array([1.0, 1, 1, 2])
    result = acc_eq(np.array([4.0, 2, 3, 1]), human, one_group(human))  # every untied pair is ordered the wrong way
    assert result.accuracy == pytest.approx(0.5) and result.only_ties
    assert result.epsilon == 2.0  # the smallest threshold that does as well as 3, which ties every pair


def test_groups_of_one_are_undefined_and_counted():
    result = acc_eq(np.array([1.0, 2, 3]), np.array([1.0, 2, 3]), np.array([0, 0, 7]))
    assert np.isnan(result.by_group).tolist() == [False, True] and result.accuracy == 1.0
    assert np.isnan(result.by_row).tolist() == [False, False, True]
    empty = acc_eq(np.array([1.0]), np.array([1.0]), np.array([0]))
    assert np.isnan(empty.by_group).tolist() == [True] and len(empty.pairs.first) == 0
    assert np.isnan([empty.accuracy, empty.epsilon]).all() and not empty.only_ties
    assert np.isnan(acc_eq(np.empty(0), np.empty(0), np.empty(0, dtype=np.int64)).accuracy)


def test_past_the_limit_pairs_are_drawn_and_come_close():
    rng = np.random.default_rng(3)
    human = rng.integers(0, 5, 600).astype(float)
    metric = human + rng.normal(size=600) * 2
    whole = acc_eq(metric, human, one_group(metric))
    drawn = acc_eq(metric, human, one_group(metric), seed=1, max_pairs=50_000)
    assert (len(drawn.pairs.first), drawn.pairs.n_pairs_of) == (50_000, 600 * 599 // 2)
    assert drawn.accuracy == pytest.approx(whole.accuracy, abs=5 * 0.5 / 50_000**0.5)
    groups = np.repeat(np.arange(6), [2, 1, 40, 2, 1, 30])
    few = SegmentPairs.from_groups(human[: len(groups)], groups, max_pairs=50)
    of_group = np.bincount(few.group)
    assert of_group[[0, 1, 3, 4]].tolist() == [1, 0, 1, 0] and of_group[2] > of_group[5] > 10
    assert (groups[few.first] == groups[few.second]).all() and (few.first != few.second).all()
    again, other_seed = (acc_eq(metric, human, one_group(metric), seed=seed, max_pairs=50_000) for seed in (1, 2))
    assert again.accuracy == drawn.accuracy != other_seed.accuracy


def exact_p(differences):
    """The one-sided p of the paired permutation test, all exchanges listed."""
    observed = sum(differences)
    sums = [np.dot(signs, differences) for signs in itertools.product((1, -1), repeat=len(differences))]
    return np.mean([total >= observed - 1e-9 for total in sums])


@pytest.mark.parametrize(
    ("human", "metric"),
    [
        pytest.param([-3.0, 1, 2], [-0.3, 0.1, 0.2], id="exchanges that differ from the observed by rounding"),
        pytest.param([3.0, -1, -1.9], [3.0, -1, -2 + 1e-6], id="exchanges that differ by more"),
    ],
)
def test_p_values_of_exchanges_count_those_that_equal_the_observed_but_for_rounding(human, metric):
    """The differences of two systems on three items, in the same order for people and for the metric."""
    of_both = [np.column_stack([gaps, np.zeros(3)]) for gaps in (metric, human)]
    assert spa(*of_both, resamples=400, seed=1)[0] == 1.0


def test_spa_comes_to_the_exact_permutation_p_values():
    rng = np.random.default_rng(8)
    metric, human = rng.normal(size=(8, 3)), rng.normal(size=(8, 3))
    result = spa(metric, human, resamples=4000, seed=1)
    apart = [
        abs(exact_p(metric[:, i] - metric[:, j]) - exact_p(human[:, i] - human[:, j]))
        for i, j in itertools.combinations(range(3), 2)
    ]
    error = 4 * (2 * 0.25 / 4000) ** 0.5  # two p-values per pair
    assert result[0] == pytest.approx(1 - np.mean(apart), abs=error)
    assert result[2] == 3


def test_spa_of_equal_scores_is_one_and_draws_from_its_seed():
    human = np.random.default_rng(2).normal(size=(30, 5))
    assert spa(human, human, seed=4)[0] == 1.0
    metric = human + np.random.default_rng(3).normal(size=human.shape)
    assert spa(metric, human, seed=4) == spa(metric, human, seed=4) != spa(metric, human, seed=5)


def test_spa_uses_the_items_that_both_systems_share():
    human = np.array([[1.0, 2, np.nan], [3, 1, np.nan], [np.nan, np.nan, 5]])
    value, _, n_pairs = spa(human, human)
    assert (value, n_pairs) == (1.0, 1)
    value, _, n_pairs = spa(human, np.full_like(human, np.nan))
    assert np.isnan(value) and n_pairs == 0


def test_the_interval_of_spa_draws_systems():
    rng = np.random.default_rng(3)
    human = rng.normal(size=(50, 8)) + np.linspace(0, 1, 8)
    metric = human + rng.normal(size=human.shape)
    value, (low, high), _ = spa(metric, human, resamples=500)
    assert low < value < high <= 1
    without, two = spa(metric, human, resamples=0), spa(human[:, :2], human[:, :2], resamples=500)
    assert without[0] == pytest.approx(value, abs=0.02) and two[0] == 1
    assert np.isnan([without[1], two[1]]).all()
