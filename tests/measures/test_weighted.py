"""Correlations of resamples from weights equal SciPy's of the list that was drawn, copies written out."""

import numpy as np
import pytest
from scipy import stats

from bmx_grid.measures.weighted import CELLS, draws, interval, weighted_correlation

SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}


def drawn_list(values, weights):
    return np.repeat(values, weights.astype(int))


@pytest.mark.parametrize("kind", SCIPY)
@pytest.mark.parametrize("ties", [False, True], ids=["no-ties", "ties"])
def test_equals_the_correlation_of_the_drawn_list(kind, ties):
    rng = np.random.default_rng(1)
    x = rng.normal(size=50)
    y = x + rng.normal(size=50)
    if ties:
        x, y = np.round(x), np.round(2 * y)
    weights = np.concatenate(list(draws(50, 30, rng)))
    expected = [SCIPY[kind](drawn_list(x, row), drawn_list(y, row)).statistic for row in weights]
    np.testing.assert_allclose(weighted_correlation(kind, x, y, weights), expected, atol=1e-12)


@pytest.mark.parametrize("kind", SCIPY)
@pytest.mark.parametrize(
    ("weights", "why"),
    [
        pytest.param([5, 0, 0, 0], "one segment", id="one-segment"),
        pytest.param([3, 2, 0, 0], "two segments", id="two-segments"),
        pytest.param([1, 1, 1, 0], "the human scores are equal", id="constant-side"),
        pytest.param([0, 0, 0, 0], "nothing", id="nothing-drawn"),
    ],
)
def test_undefined_resamples_are_nan(kind, weights, why):
    x, y = np.array([1.0, 2, 3, 4]), np.array([0.1 + 0.2, 0.1 + 0.2, 0.1 + 0.2, 7])
    assert np.isnan(weighted_correlation(kind, x, y, np.array([weights], dtype=float))).all(), why


@pytest.mark.parametrize("kind", SCIPY)
def test_constant_scores_and_no_scores_are_nan(kind):
    weights = np.ones((2, 4))
    assert np.isnan(weighted_correlation(kind, np.ones(4), np.arange(4.0), weights)).all()
    assert np.isnan(weighted_correlation(kind, np.empty(0), np.empty(0), np.ones((2, 0)))).all()


def test_a_resample_that_missed_nearly_all_variance_keeps_its_digits():
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.normal(size=40) * 1e-8, [1e6]])
    y = np.concatenate([x[:40] + rng.normal(size=40) * 1e-8, [1e6]])
    weights = np.concatenate(list(draws(41, 20, rng)))
    weights[:, -1] = 0
    expected = [stats.pearsonr(drawn_list(x, row), drawn_list(y, row)).statistic for row in weights]
    np.testing.assert_allclose(weighted_correlation("pearson", x, y, weights), expected, atol=1e-9)


def test_draws_come_in_blocks_that_hold_all_resamples():
    blocks = list(draws(10, 7, np.random.default_rng(0), width=CELLS // 3))
    assert [len(block) for block in blocks] == [3, 3, 1]
    assert np.concatenate(blocks).sum(axis=1).tolist() == [10.0] * 7


def test_the_interval_leaves_out_what_is_undefined_and_ends_where_most_is():
    values = np.append(np.arange(1, 1001.0), [np.nan] * 100)
    assert interval(values) == pytest.approx((25.975, 975.025))
    assert np.isnan(interval(np.append(values, [np.nan] * 900))).all()
