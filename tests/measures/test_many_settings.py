"""Adjusted p values by hand; means over settings, their sign test and intervals, by hand and by SciPy."""

import numpy as np
import pytest
from scipy import stats

from bmx_grid.measures.multiple_tests import benjamini_hochberg, holm, select_repeats
from bmx_grid.measures.resampling import BOOTSTRAPPED, cluster_mean, interval_kind, interval_levels

NAN = float("nan")


@pytest.mark.parametrize(
    ("p", "by_holm", "by_bh"),
    [
        pytest.param([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02], [0.02, 0.04, 0.04, 0.02], id="four"),
        pytest.param([0.6, 0.7], [1.0, 1.0], [0.7, 0.7], id="at most 1"),
        pytest.param([0.01, NAN, 0.02], [0.02, NAN, 0.02], [0.02, NAN, 0.02], id="an undefined test is not counted"),
        pytest.param([0.02, 0.02], [0.04, 0.04], [0.02, 0.02], id="equal p"),
        pytest.param([NAN], [NAN], [NAN], id="nothing defined"),
        pytest.param([], [], [], id="nothing"),
    ],
)
def test_adjusted_p_by_hand(p, by_holm, by_bh):
    np.testing.assert_allclose(holm(p), by_holm, rtol=1e-14)
    np.testing.assert_allclose(benjamini_hochberg(p), by_bh, rtol=1e-14)


@pytest.mark.parametrize(
    ("values", "cluster", "p"),
    [
        pytest.param([1, 2, 3, 4, 5, -6], "abcdef", 7 / 64, id="5 of 6"),
        pytest.param([1, 1, 1, 1, -9], "aaaab", 3 / 4, id="15 settings of one pair are one toss"),
        pytest.param([1, 2, 0, 1e-13, 3], "abcde", 1 / 8, id="no change is no toss"),
        pytest.param([1, 2, NAN, 3], "abcd", 1 / 8, id="undefined is no toss"),
        pytest.param([0, NAN], "ab", NAN, id="no toss at all"),
        pytest.param([], "", NAN, id="nothing"),
    ],
)
def test_the_sign_test_tosses_each_cluster_once(values, cluster, p):
    assert cluster_mean(values, list(cluster)).p == pytest.approx(p, nan_ok=True)


def test_mean_of_settings_not_of_clusters():
    result = cluster_mean([1.0, 1.0, 4.0, NAN, 3.0], list("aabbc"))
    assert result.mean == pytest.approx(9 / 4)
    assert [result.n, result.clusters, result.positive] == [4, 3, 3]


def test_few_clusters_have_the_t_interval_of_their_means():
    """Clusters of one size: SciPy's interval of the three means; that settings of a cluster differ changes nothing."""
    means = np.array([1.0, 2.0, 6.0])
    expected = stats.ttest_1samp(means, 0).confidence_interval(0.95)
    for spread in (0.0, 0.7):
        result = cluster_mean(np.concatenate([means - spread, means + spread]), list("abcabc"))
        assert (result.low, result.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_the_interval_of_many_clusters_is_that_of_all_resamples():
    """Half of the clusters are 0, half are 1: a resample's mean is binomial."""
    result = cluster_mean(np.arange(BOOTSTRAPPED) % 2, np.arange(BOOTSTRAPPED), resamples=40_000)
    ends = stats.binom.ppf(interval_levels(BOOTSTRAPPED), BOOTSTRAPPED, 0.5) / BOOTSTRAPPED
    assert (result.low, result.high) == pytest.approx(tuple(ends))


@pytest.mark.parametrize(
    ("clusters", "kind"),
    [(0, ""), (2, ""), (3, "Student's t"), (11, "Student's t"), (12, "bootstrap"), (18, "bootstrap")],
)
def test_the_kind_of_interval_is_named(clusters, kind):
    assert interval_kind(clusters) == kind
    of_seeds = [cluster_mean(np.arange(clusters) ** 2, np.arange(clusters), seed=seed) for seed in (1, 2)]
    assert np.isnan(of_seeds[0].low) == (kind == "")
    assert (of_seeds[0].low != of_seeds[1].low) == (kind in ("bootstrap", "")), "Student's t draws nothing"


# p values of a family, resamples of each, the places of tests that are repeated, their resamples
# With R resamples the smallest p is 1 / (R + 1): times the size of the family it must not be above .05.
FAMILIES = [
    pytest.param([1 / 1001] * 50, 1000, [], 4000, id="50 / 1001 is below .05"),
    pytest.param([1 / 1001] * 51, 1000, range(51), 4080, id="51 / 1001 is above"),
    pytest.param([0.5, 10 / 1001, 11 / 1001] * 17, 1000, range(1, 51, 3), 4080, id="up to ten times the smallest"),
    pytest.param([1 / 1001] * 50 + [np.nan] * 9, 1000, [], 4000, id="an undefined test is no comparison"),
    pytest.param([1 / 41, 1 / 41, np.nan, 0.9], 40, [0, 1], 240, id="NaN is not repeated"),
    pytest.param([1 / 41] * 5000, 40, range(5000), 200_000, id="at most 200,000"),
    pytest.param([], 40, [], 0, id="no test"),
]


@pytest.mark.parametrize(("p", "resamples", "repeated", "count"), FAMILIES)
def test_near_tests_of_a_large_family_are_repeated(p, resamples, repeated, count):
    found, found_count = select_repeats(p, resamples)
    assert np.flatnonzero(found).tolist() == list(repeated)
    assert found_count == count
