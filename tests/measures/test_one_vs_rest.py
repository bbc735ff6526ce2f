"""Weights by agreement, by hand: eq. 3 on small matrices, with what is caught."""

import numpy as np
import pytest
from scipy import stats

from bmx_grid.core.errors import ConfigError
from bmx_grid.measures.one_vs_rest import one_vs_rest, weighted

A = np.array([1.0, 2.0, 3.0, 4.0])
B = np.array([1.0, 3.0, 2.0, 4.0])  # r with A: 0.8
C = np.array([2.0, 1.0, 4.0, 3.0])  # r with A: 0.6; with B: 0


def columns(*given):
    return np.column_stack(given)


def test_weights_are_sums_of_correlations_divided_by_their_sum():
    found = one_vs_rest(columns(A, B, C), "abc")
    raw = np.array([0.8 + 0.6, 0.8 + 0.0, 0.6 + 0.0])
    assert found.weights.tolist() == pytest.approx((raw / raw.sum()).tolist(), abs=1e-12)
    assert found.correlations[0].tolist()[1:] == pytest.approx([0.8, 0.6], abs=1e-12)
    assert np.isnan(np.diag(found.correlations)).all()
    assert (found.rows, found.notes) == (4, ())


def test_a_direction_that_disagrees_keeps_its_negative_weight():
    found = one_vs_rest(columns(A, B, -A), "abc")
    raw = np.array([0.8 - 1, 0.8 - 0.8, -1 - 0.8])
    assert raw.sum() < 0  # so this is also the case of a negative sum
    assert found.weights.tolist() == pytest.approx((raw / np.abs(raw).sum()).tolist(), abs=1e-12)
    assert any("would reverse the ranking" in note for note in found.notes)
    assert any("correlate negatively" in note and "c (-1.800)" in note for note in found.notes)


def test_weights_whose_sum_is_rounding_are_not_divided_by_it():
    """Two directions at right angles, and the one between the first and the opposite of the second: the sum is 0."""
    sums = []
    for seed in range(30):
        centred = stats.zscore(np.random.default_rng(seed).normal(size=(9, 2)))
        one, other = np.linalg.qr(centred)[0].T
        found = one_vs_rest(columns(one, other, one - other), "abc")
        sums.append(np.nansum(found.correlations))
        assert np.abs(found.weights).sum() == pytest.approx(1)
        assert any("would reverse the ranking" in note for note in found.notes)
    assert np.abs(sums).max() < 1e-12 and max(sums) > 0, "the cases can tell"


def test_one_direction_has_all_the_weight_and_nothing_to_agree_with():
    found = one_vs_rest(columns(A), "a")
    assert (found.weights.tolist(), found.rows, found.notes) == ([1.0], 4, ())
    assert found.correlations.shape == (1, 1) and np.isnan(found.correlations).all()


def test_a_constant_direction_has_no_say():
    with_it = one_vs_rest(columns(A, np.full(4, 0.1), B, C), "akbc")
    without = one_vs_rest(columns(A, B, C), "abc")
    assert with_it.weights[1] == 0
    assert with_it.weights[[0, 2, 3]].tolist() == pytest.approx(without.weights.tolist(), abs=1e-12)
    assert with_it.notes == ("k: the same score for all 4 segments, so no correlation: weight 0",)
    assert np.isnan(with_it.correlations[1]).all()


def test_rows_without_a_score_are_left_out():
    gap = np.array([np.nan, 5.0])
    found = one_vs_rest(columns(np.append(A, 9.0), np.append(B, gap[0]), np.append(C, 1.0)), "abc")
    assert found.rows == 4
    assert found.weights.tolist() == one_vs_rest(columns(A, B, C), "abc").weights.tolist()


def test_scale_and_shift_of_a_column_change_no_weight():
    found = one_vs_rest(columns(A, 100 * B - 7, C), "abc")
    assert found.weights.tolist() == pytest.approx(one_vs_rest(columns(A, B, C), "abc").weights.tolist(), abs=1e-12)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param(columns(A, B)[:2], "at least 3 segments with all scores, and there are 2", id="too few"),
        pytest.param(columns(np.ones(4), np.ones(4)), "do not correlate with each other at all", id="all constant"),
    ],
)
def test_weights_that_are_undefined_are_refused(given, message):
    with pytest.raises(ConfigError, match=message):
        one_vs_rest(given, "ab")


def test_a_sum_is_the_same_alone_and_a_column_of_weight_zero_has_no_say():
    rng = np.random.default_rng(0)
    scores, weights = rng.normal(size=(50, 3)), np.array([0.2, 0.0, 0.8])
    scores[3, 1] = np.nan
    together = weighted(scores, weights)
    assert together.tolist() == [weighted(row[None], weights)[0] for row in scores]
    assert np.isfinite(together).all()
    assert np.isnan(weighted(scores, np.full(3, 1 / 3))[3])
