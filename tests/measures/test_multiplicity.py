"""Holm, Benjamini-Hochberg and partial conjunction against hand values, SciPy and their defining properties."""

import numpy as np
import pytest
from scipy import stats

from bmx_grid.measures.multiplicity import benjamini_hochberg, holm, partial_conjunction, partial_conjunction_p

NAN = float("nan")


@pytest.mark.parametrize(
    ("p", "by_holm", "by_bh"),
    [
        pytest.param([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02], [0.02, 0.04, 0.04, 0.02], id="four"),
        pytest.param([0.02], [0.02], [0.02], id="one test needs no adjustment"),
        pytest.param([0.6, 0.7], [1.0, 1.0], [0.7, 0.7], id="at most 1"),
        pytest.param([0.01, NAN, 0.02], [0.02, NAN, 0.02], [0.02, NAN, 0.02], id="an undefined test is not counted"),
        pytest.param([0.02, 0.02], [0.04, 0.04], [0.02, 0.02], id="equal p"),
        pytest.param([0.0, 1.0], [0.0, 1.0], [0.0, 1.0], id="the ends"),
        pytest.param([NAN], [NAN], [NAN], id="nothing defined"),
        pytest.param([], [], [], id="nothing"),
    ],
)
def test_adjusted_p_by_hand(p, by_holm, by_bh):
    np.testing.assert_allclose(holm(p), by_holm, rtol=1e-14)
    np.testing.assert_allclose(benjamini_hochberg(p), by_bh, rtol=1e-14)


def test_benjamini_hochberg_is_scipys():
    p = np.random.default_rng(0).random(50) ** 2
    np.testing.assert_allclose(benjamini_hochberg(p), stats.false_discovery_control(p), rtol=1e-14)


def test_holm_rejects_what_its_step_down_rule_rejects():
    rng = np.random.default_rng(1)
    for _ in range(50):
        p, alpha = rng.random(8) ** 3, 0.05
        rejected = np.zeros(8, dtype=bool)
        for step, index in enumerate(np.argsort(p)):
            if p[index] > alpha / (8 - step):
                break
            rejected[index] = True
        assert ((holm(p) <= alpha) == rejected).all()


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        pytest.param([0.01, 0.02, 0.5], [0.03, 0.04, 0.5], id="(n - u + 1) times the u-th smallest"),
        pytest.param([0.001, 0.03, 0.01], [0.003, 0.02, 0.03], id="in any order"),
        pytest.param([0.04, 0.041, NAN], [0.08, 0.08], id="never less than for u - 1; NaN left out"),
        pytest.param([0.5, 0.6, 0.9], [1.0, 1.0, 1.0], id="at most 1"),
        pytest.param([], [], id="nothing"),
    ],
)
def test_partial_conjunction_by_hand(p, expected):
    np.testing.assert_allclose(partial_conjunction_p(p), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("p", "count"),
    [
        pytest.param([0.001, 0.002, 0.003, 0.9], 3, id="three of four"),
        pytest.param([0.02, 0.02, 0.9], 0, id="u = 2 alone would hold at .04, but u = 1 does not at .06"),
        pytest.param([0.012, 0.02, 0.9], 2, id="two at .036 and .04"),
        pytest.param([0.04, 0.04, 0.04], 0, id="Bonferroni sees nothing"),
        pytest.param([NAN, NAN], 0, id="nothing defined"),
    ],
)
def test_number_of_real_effects(p, count):
    assert partial_conjunction(p, 0.05) == count


def test_partial_conjunction_keeps_its_level():
    """Of 6 settings 2 effects are real: "at least 3" is claimed in at most 5 % of 4,000 sets of dependent tests."""
    rng = np.random.default_rng(2)
    shared, own = rng.normal(size=(4000, 1)), rng.normal(size=(4000, 6))
    z = 0.7 * shared + np.sqrt(1 - 0.49) * own + np.array([6.0, 6, 0, 0, 0, 0])
    claimed = np.array([partial_conjunction(row) for row in stats.norm.sf(z)])
    assert (claimed >= 3).mean() < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 4000)
    assert (claimed >= 2).mean() > 0.95
