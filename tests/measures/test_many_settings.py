"""Adjusted p values by hand; means over settings, their sign test and intervals, by hand and by SciPy."""

import numpy as np
import pytest
from scipy import stats

from bmx_grid.measures.multiple_tests import benjamini_hochberg, holm
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
