"""Tests of metrics at system level: every swap and draw written out in a loop, statistics by NumPy and SciPy."""

import itertools

import numpy as np
import pytest
from scipy import stats
from test_paired_tests import design, published, standardised

from bmx_grid.measures import compare_systems
from bmx_grid.measures.paired_tests import compare
from bmx_grid.measures.resampling import draws, interval_levels, swaps


def accuracy(a, b):
    pairs = list(itertools.combinations(range(len(a)), 2))
    return np.mean([np.sign(a[i] - a[j]) == np.sign(b[i] - b[j]) for i, j in pairs])


STATISTICS = {
    "pearson": lambda a, b: np.corrcoef(a, b)[0, 1],
    "spearman": lambda a, b: stats.spearmanr(a, b).statistic,
    "kendall": lambda a, b: stats.kendalltau(a, b).statistic,
    "kendall_tau_c": lambda a, b: stats.kendalltau(a, b, variant="c").statistic,
    "pairwise_accuracy": accuracy,
}


def means(values, system):
    return np.array([values[system == name].mean() for name in np.unique(system)])


def swapped_in_a_loop(unit, statistic, x, y, human, item, system, resamples):
    """Differences after swaps of the same generators: all scores of an item, of a system, or of one of the two."""
    _, (of_items, of_systems) = (part.spawn(2) for part in np.random.SeedSequence(0).spawn(2))
    by_item = swaps(np.random.default_rng(of_items), item.max() + 1, resamples)[:, item]
    by_system = swaps(np.random.default_rng(of_systems), system.max() + 1, resamples)[:, system]
    swap_of = {"inputs": by_item, "systems": by_system, "both": (by_item + by_system) % 2}
    differences = []
    for swap in swap_of[unit]:
        a = np.where(swap == 1, y, x)
        b = np.where(swap == 1, x, y)
        judged = means(human, system)
        differences.append(statistic(means(a, system), judged) - statistic(means(b, system), judged))
    return np.array(differences)


@pytest.mark.parametrize("unit", ["inputs", "systems", "both"])
@pytest.mark.parametrize("statistic", STATISTICS)
def test_swaps_are_those_of_scores_written_out(unit, statistic):
    x, y, human, item, system = design(7, 12, seed=2)
    kept = np.arange(len(x)) % 11 > 0  # systems lack some items
    x, y, human, item, system = (values[kept] for values in (x, y, human, item, system))
    left, right = standardised(x), standardised(y)
    measure = STATISTICS[statistic]
    swapped = swapped_in_a_loop(unit, measure, left, right, human, item, system, 150)
    judged = means(human, system)
    observed = measure(means(left, system), judged) - measure(means(right, system), judged)
    names = np.array([f"system {number}" for number in range(7)])[system]
    for alternative, extreme in {
        "two-sided": np.abs(swapped) >= abs(observed) - 1e-9,
        "greater": swapped >= observed - 1e-9,
        "less": swapped <= observed + 1e-9,
    }.items():
        options = {"statistic": statistic, "unit": unit, "resamples": 150, "alternative": alternative}
        found = compare_systems(x, y, human, names, item, **options)
        assert found.difference == pytest.approx(observed, abs=1e-9)
        assert found.p == (extreme.sum() + 1) / 151
    assert (found.n, found.clusters) == (kept.sum(), 12)


def test_intervals_of_inputs_are_those_of_lists_written_out():
    x, y, human, item, system = design(6, 15, seed=3)
    left, right = standardised(x), standardised(y)
    differences = []
    for times in draws(np.random.default_rng(np.random.SeedSequence(0)), 15, 100).astype(int):
        rows = np.repeat(np.arange(len(x)), times[item])
        judged = means(human[rows], system[rows])
        of_both = [stats.pearsonr(means(scores[rows], system[rows]), judged).statistic for scores in (left, right)]
        differences.append(of_both[0] - of_both[1])
    found = compare_systems(x, y, human, system, item, unit="inputs", resamples=100, confidence=0.9)
    expected = np.quantile(differences, interval_levels(15, 0.9))
    assert (found.low, found.high) == pytest.approx(tuple(expected), abs=1e-9)
    both = compare_systems(x, y, human, system, item, resamples=100)
    assert both.low < found.difference < both.high and both.high - both.low > found.high - found.low


def test_whole_systems_are_swapped_as_their_scores_are():
    """Of equally many segments: the mean of swapped segments is the swapped mean; standardisation is another one."""
    x, y, human = (matrix.ravel() for matrix in published(1234))
    system = np.repeat(np.arange(9), 5)
    item = np.tile(np.arange(5), 9)
    found = compare_systems(x, y, human, system, item, unit="systems", resamples=50)
    alone = compare(means(x, system), means(y, system), means(human, system), resamples=50)
    assert found.difference == pytest.approx(alone.difference, abs=1e-12)


@pytest.mark.parametrize("unit", ["inputs", "systems", "both"])
def test_a_true_null_is_rejected_as_often_as_its_level(unit):
    """200 tests of two equally good metrics at .2: the share rejected lies within 4 standard errors, .113."""
    rejected = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        quality = rng.normal(size=(8, 1)) + rng.normal(size=(8, 10))
        x, y = quality + rng.normal(size=(2, 8, 10))
        system, item = np.divmod(np.arange(80), 10)
        tested = compare_systems(
            x.ravel(), y.ravel(), quality.ravel(), system, item, unit=unit, resamples=60, bootstrap=False
        )
        rejected += tested.p <= 0.2
    assert abs(rejected / 200 - 0.2) < 0.113


def test_two_systems_and_other_lengths_are_no_test():
    x, y, human, item, system = design(2, 9)
    few = compare_systems(x, y, human, system, item, resamples=20)
    assert np.isnan([few.difference, few.p, few.low, few.high]).all()
    with pytest.raises(ValueError, match="arrays of one length"):
        compare_systems(x, y, human, system[1:], item)


@pytest.mark.parametrize("unit", ["inputs", "both"])
def test_p_is_that_of_all_swaps_there_are(unit):
    """Every swap of 6 inputs (64) and of 4 systems (16) listed: p agrees to 4 standard errors of 4,000 random ones."""
    x, y, human, item, system = design(4, 6, seed=9)
    left, right = standardised(x), standardised(y)
    judged = means(human, system)

    def difference(swap):
        a = np.where(swap, right, left)
        b = np.where(swap, left, right)
        return np.corrcoef(means(a, system), judged)[0, 1] - np.corrcoef(means(b, system), judged)[0, 1]

    of_systems = itertools.product([False, True], repeat=4) if unit == "both" else [(False,) * 4]
    listed = []
    for by_system, by_item in itertools.product(of_systems, itertools.product([False, True], repeat=6)):
        listed.append(difference(np.array(by_item)[item] != np.array(by_system)[system]))
    observed = difference(np.zeros(len(x), dtype=bool))
    exact = np.mean(np.abs(listed) >= abs(observed) - 1e-9)
    found = compare_systems(x, y, human, system, item, unit=unit, resamples=4000, bootstrap=False)
    assert 0.05 < exact < 0.95
    assert abs(found.p - exact) < 4 * np.sqrt(exact * (1 - exact) / 4000) + 1 / 4001


def test_published_scores_of_systems_tie_as_they_are():
    """A system's score in each of its rows: means of other numbers of equal scores are not rounded apart."""
    x, y, _, item, system = design(6, 30, seed=4)
    published = np.array([0.1, 0.1, 0.7, 0.7, 0.3, 0.9])
    kept = (np.arange(len(x)) * 7) % 13 > system
    x, y, item, system = (values[kept] for values in (x, y, item, system))
    found = compare_systems(x, y, published[system], system, item, statistic="kendall", resamples=40)
    expected = [stats.kendalltau(means(scores, system), published).statistic for scores in (x, y)]
    assert (found.x, found.y) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("unit", ["inputs", "systems", "both"])
def test_hostile_scores_end_in_numbers_or_nan(unit):
    x, y, human, item, system = design(5, 9, seed=6)
    usual = compare_systems(x, y, human, system, item, unit=unit, resamples=60)
    for scale in (1e-300, 1e140):
        scaled = compare_systems(scale * x, y, human / scale, system, item, unit=unit, resamples=60)
        assert scaled.p == usual.p
        assert scaled.difference == pytest.approx(usual.difference, abs=1e-9)
    constant = compare_systems(np.ones(len(x)), y, human, system, item, unit=unit, resamples=60)
    assert np.isnan([constant.difference, constant.p, constant.low, constant.high]).all()
    single = compare_systems(x, y, human, np.zeros(len(x)), item, unit=unit, resamples=60)
    assert np.isnan([single.difference, single.p, single.low, single.high]).all()
    holes = np.where(np.arange(len(x)) % 4 == 1, np.nan, x)
    with_holes = compare_systems(holes, y, human, system, item, unit=unit, resamples=60)
    kept = np.isfinite(holes)
    without = [values[kept] for values in (x, y, human, system, item)]
    assert with_holes == compare_systems(*without, unit=unit, resamples=60)
    tied = compare_systems(x, x, human, system, item, unit=unit, resamples=60)
    assert (tied.difference, tied.p) == (0.0, 1.0)
