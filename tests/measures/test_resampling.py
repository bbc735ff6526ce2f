"""Draws, swaps, interval levels, and weighted correlations against SciPy on repeated pairs."""

import numpy as np
import pytest
from scipy import stats

from bmx_grid.measures import correlations_of_resamples, ordered, resampling
from bmx_grid.measures.correlations_of_resamples import (
    pair_columns,
    pearson_of_sums,
    pearson_two_pass,
    weighted_correlations,
)
from bmx_grid.measures.resampling import draws, interval, interval_levels, seeded_draws

SCIPY = {
    "pearson": lambda x, y: stats.pearsonr(x, y)[0],
    "spearman": lambda x, y: stats.spearmanr(x, y)[0],
    "kendall": lambda x, y: stats.kendalltau(x, y)[0],
}


def weighted_correlation(kind, x, human, weights):
    """Of one column, with a row of weights for each resample."""
    return weighted_correlations(kind, x[:, None], human, weights.T)[0]


@pytest.mark.parametrize(
    ("units", "lower"),
    [
        pytest.param(10**7, 0.025, id="very many: the plain percentile interval"),
        pytest.param(18, stats.norm.cdf(stats.t.ppf(0.025, 17) * np.sqrt(18 / 17)), id="18: Hesterberg's levels"),
        pytest.param(1, 0.0, id="one: everything"),
    ],
)
def test_levels_widen_for_few_units(units, lower):
    assert interval_levels(units) == pytest.approx((lower, 1 - lower), abs=1e-7)


@pytest.mark.parametrize(
    ("samples", "units", "known"),
    [
        pytest.param([1.0, 2, 3, 4, 5], 18, 5, id="all defined"),
        pytest.param([1, 2, 3, np.nan, np.nan], 18, 3, id="most are"),
        pytest.param([1, 2, np.nan, np.nan, np.nan], 18, 0, id="most are not"),
        pytest.param([], 18, 0, id="none"),
        pytest.param([1.0, 2, 3], 2, 0, id="two units"),
    ],
)
def test_intervals_leave_undefined_resamples_out(samples, units, known):
    ends = np.quantile(samples[:known], interval_levels(units)) if known else [np.nan] * 2
    np.testing.assert_allclose(interval(np.array(samples), units), ends)


@pytest.mark.parametrize("kind", SCIPY)
@pytest.mark.parametrize("values", [pytest.param(4, id="many ties"), pytest.param(10_000, id="few ties")])
def test_weights_are_repetitions(kind, values, monkeypatch):
    """Of each column as if it were alone, however many resamples are handled at a time."""
    rng = np.random.default_rng(3)
    columns, human = rng.integers(0, values, (30, 3)).astype(float), rng.integers(0, values, 30).astype(float)
    columns[3, 2], weights = np.nan, draws(rng, 30, 40)
    monkeypatch.setattr(correlations_of_resamples, "CACHED_CELLS", 7 * 30)
    correlations = weighted_correlations(kind, columns, human, weights.T)
    for column, of_column in zip(columns.T[:2], correlations, strict=False):
        expected = [SCIPY[kind](np.repeat(column, row), np.repeat(human, row)) for row in weights.astype(int)]
        np.testing.assert_allclose(of_column, expected, atol=1e-12)
    assert np.isnan(correlations[2]).all(), "a column that is not finite"


@pytest.mark.parametrize("kind", ["kendall", "spearman"])
def test_compiled_kernels_stay_inside_their_arrays(kind, monkeypatch):
    """Python raises IndexError where compiled code writes to memory that is not its own."""
    monkeypatch.setattr(ordered, "compile_kernel", lambda function: function)
    rng = np.random.default_rng(3)
    x, human = rng.integers(0, 9, (2, 17)).astype(float)
    # A full block of resamples, and the beginning of another one.
    weights = draws(rng, 17, ordered.LANES + 5)
    expected = [SCIPY[kind](np.repeat(x, row), np.repeat(human, row)) for row in weights.astype(int)]
    np.testing.assert_allclose(weighted_correlation(kind, x, human, weights), expected, atol=1e-12)


@pytest.mark.parametrize("kind", SCIPY)
@pytest.mark.parametrize(
    ("x", "weights"),
    [
        pytest.param([1.0, 1, 1, 5], [1, 1, 1, 0], id="constant without the last"),
        pytest.param([0.1, 0.1, 0.1, 5], [2, 3, 5, 0], id="constant, and its mean rounds"),
        pytest.param([1.0, 2, 3, 4], [1, 1, 0, 0], id="two pairs"),
        pytest.param([1.0, 2, 3, 4], [0, 0, 0, 0], id="no pair"),
    ],
)
def test_undefined_resamples_are_nan(kind, x, weights):
    correlations = weighted_correlation(kind, np.array(x), np.array([3.0, 1, 2, 5]), np.array([weights], dtype=float))
    assert np.isnan(correlations).all()


def test_a_resample_that_missed_nearly_all_variance_keeps_its_digits():
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.normal(size=40) * 1e-8, [1e6]])
    y = np.concatenate([x[:40] + rng.normal(size=40) * 1e-8, [1e6]])
    weights = draws(rng, 41, 20)
    weights[:, -1] = 0
    expected = [stats.pearsonr(np.repeat(x, row), np.repeat(y, row)).statistic for row in weights.astype(int)]
    np.testing.assert_allclose(weighted_correlation("pearson", x, y, weights), expected, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-160, 1e-90, 1e90])
def test_sums_whose_product_has_no_number_are_left_to_the_pairs(scale):
    """The product of both variances is 0 or infinite: no digit of such a quotient is right."""
    x, human = np.array([-1.0, 0.0, 1.0]), np.array([-1.0, 1.0, 0.0])
    sums = [pair_columns(factor * x, factor * human).sum(axis=0) for factor in (1.0, scale)]
    correlation, undefined = pearson_of_sums(np.stack(sums))
    assert correlation == pytest.approx(0.5)
    assert np.isnan(undefined)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("way", [*SCIPY, "sums", "two passes"])
def test_rounding_takes_no_correlation_beyond_1(way, sign):
    rng = np.random.default_rng(6)
    for n in (5, 12, 30):
        x, times = rng.normal(size=n), draws(rng, n, 400).T
        y = sign * (0.3 * x + 0.1)
        if way == "sums":
            correlations = pearson_of_sums(times.T @ pair_columns(x - x.mean(), y - y.mean()))
        elif way == "two passes":
            x_of_resamples = np.broadcast_to(x[:, None], times.shape)
            y_of_resamples = np.broadcast_to(y[:, None], times.shape)
            correlations = pearson_two_pass(x_of_resamples, y_of_resamples, times)
        else:
            correlations = weighted_correlations(way, x[:, None], y, times)
        defined = correlations[~np.isnan(correlations)]
        assert np.abs(defined).max() <= 1
        np.testing.assert_allclose(defined, sign)


def test_seeded_draws_are_those_of_the_seed_in_blocks_of_any_size(monkeypatch):
    expected = draws(np.random.default_rng(3), 10, 50).T
    (kept,) = seeded_draws(10, 50, 3)
    assert (kept == expected).all()
    with pytest.raises(ValueError, match="read-only"):
        kept[0] = 1
    assert not (next(seeded_draws(10, 50, 3, stream=(1,))) == expected).all()
    monkeypatch.setattr(resampling, "CELLS", 200)
    parts = list(seeded_draws(10, 50, 3, width=20))
    assert [part.shape for part in parts] == [(10, 10)] * 5
    assert (np.concatenate(parts, axis=1) == expected).all()
