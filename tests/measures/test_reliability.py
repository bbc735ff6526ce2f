"""Reliability of mean ratings against published and hand-made values."""

import numpy as np
import pytest

from bmx_grid.measures.annotators import reliability

# Shrout & Fleiss (1979), table 2: six targets, four judges; ICC(1,1) = .17 and ICC(1,4) = .44 in their table 4.
SHROUT_FLEISS = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float)


def test_the_published_example():
    found = reliability(SHROUT_FLEISS)
    assert (round(found.icc_1, 2), round(found.icc_k, 2)) == (0.17, 0.44)
    assert found.ceiling == pytest.approx(found.icc_k**0.5)
    assert (found.k, found.n_segments, found.n_repeated) == (pytest.approx(4), 6, 6)


def test_columns_are_no_persons():
    rng = np.random.default_rng(0)
    assert reliability(rng.permuted(SHROUT_FLEISS, axis=1)).icc_k == pytest.approx(reliability(SHROUT_FLEISS).icc_k)


def test_different_numbers_of_ratings_by_hand():
    ratings = np.array([[1.0, 3, np.nan], [4, 5, 9], [np.nan, 8, np.nan], [np.nan] * 3])
    # means 2, 6, 8 of k = 2, 3, 1; grand mean (1+3+4+5+9+8)/6 = 5
    within = (2 + 14) / (6 - 3)
    between = (2 * 9 + 3 * 1 + 1 * 9) / 2
    n0 = (6 - (4 + 9 + 1) / 6) / 2
    k = 3 / (1 / 2 + 1 / 3 + 1)
    true = (between - within) / n0
    found = reliability(ratings)
    assert found.icc_k == pytest.approx(true / (true + within / k))
    assert found.icc_1 == pytest.approx(true / (true + within))
    assert (found.k, found.n_segments, found.n_repeated) == (pytest.approx(k), 3, 2)


def test_the_ceiling_is_the_correlation_of_the_true_scores():
    rng = np.random.default_rng(1)
    true = rng.normal(size=100_000)
    ratings = true[:, None] + 1.5 * rng.normal(size=(100_000, 4))
    ratings[:, 1:][rng.random((100_000, 3)) < 0.3] = np.nan
    found = reliability(ratings)
    reached = np.corrcoef(true, np.nanmean(ratings, axis=1))[0, 1]
    assert found.ceiling == pytest.approx(reached, abs=0.005)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_scale_of_ratings_does_not_matter(scale):
    one, other = reliability(SHROUT_FLEISS), reliability(scale * np.asarray(SHROUT_FLEISS))
    assert (other.icc_k, other.icc_1, other.ceiling) == pytest.approx((one.icc_k, one.icc_1, one.ceiling))


def test_disagreement_below_chance_has_no_reliability():
    found = reliability([[1, 9], [9, 2], [1, 8.5]])
    assert found.icc_k < 0
    assert found.ceiling == 0


@pytest.mark.parametrize(
    "ratings",
    [
        pytest.param(np.full((5, 3), np.nan), id="nobody-rated"),
        pytest.param(np.ones((5, 3)), id="all-equal"),
        pytest.param([[1.0, np.nan], [np.nan, 2], [3, np.nan]], id="nobody-twice"),
        pytest.param([[1.0, 2]], id="one-segment"),
        pytest.param(np.empty((0, 3)), id="no-segments"),
    ],
)
def test_undefined_is_nan(ratings):
    found = reliability(ratings)
    assert np.isnan([found.icc_k, found.icc_1, found.ceiling]).all()
