"""Best, plateau, better and worse: one definition each, and its borders."""

import numpy as np
import pytest

from bmx_grid.core.ragged import Ragged
from bmx_grid.measures.best import (
    NO_CHANGE,
    TIE,
    beats,
    better,
    first_within_rounding,
    plateau_within_no_change,
    worse,
)
from bmx_grid.measures.grid import GridSpec, compute_grid

NAN = float("nan")
P, W = np.array([-1.0, 0.0, 1.0, 2.0]), np.array([0.0, 0.5, 1.0])


def surface(changes, alone=0.5, other=0.4):
    """float64[1, P, W]: `other` below w = 1, `alone` at w = 1, and the given values at (p, w)."""
    found = np.full((1, len(P), len(W)), other)
    found[:, :, W == 1] = alone
    for (p, w), value in changes.items():
        found[0, int(np.flatnonzero(p == P)[0]), int(np.flatnonzero(w == W)[0])] = value
    return found


def at(index):
    return None if index < 0 else (P[index // len(W)], W[index % len(W)])


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({(0, 0.5): 0.6}, (0, 0.5), id="a peak"),
        pytest.param({(0, 0.5): 0.6, (1, 0.0): 0.6}, (0, 0.5), id="equal: the lower p"),
        pytest.param({(0, 0.5): 0.6, (0, 0.0): 0.6}, (0, 0.0), id="equal: w is fastest"),
        pytest.param({(0, 0.5): 0.6, (1, 0.5): 0.6 + TIE / 2}, (0, 0.5), id="higher by less than rounding: the first"),
        pytest.param({(0, 0.5): 0.6, (1, 0.5): 0.6 + 2 * TIE}, (1, 0.5), id="higher by more than rounding"),
        pytest.param({}, (-1, 1.0), id="nothing improves: the metric alone, at the lowest p"),
        pytest.param({(0, 0.5): 0.5 - TIE / 2, (-1, 1.0): NAN}, (0, 0.5), id="as good as the metric, and before it"),
        pytest.param({(-1, 0.5): NAN, (1, 0.5): 0.6}, (1, 0.5), id="undefined points are passed over"),
    ],
)
def test_best_is_the_first_within_rounding(changes, expected):
    assert at(first_within_rounding(surface(changes))[0]) == expected


def test_nothing_defined_has_no_best_point():
    nothing = np.full((2, len(P), len(W)), NAN)
    assert first_within_rounding(nothing).tolist() == [-1, -1]
    plateau = plateau_within_no_change(nothing, W)
    assert not plateau.members.any()
    assert np.isneginf(plateau.highest).all()


@pytest.mark.parametrize(
    ("changes", "size"),
    [
        pytest.param({(0, 0.5): 0.6}, 1, id="a peak"),
        pytest.param({}, 8, id="flat: every point but w = 1"),
        pytest.param({(0, 0.5): 0.6, (2, 0.5): 0.6 - 0.9e-5}, 2, id="within 1e-5"),
        pytest.param({(0, 0.5): 0.6, (2, 0.5): 0.6 - 1.1e-5}, 1, id="beyond 1e-5"),
    ],
)
def test_plateau(changes, size):
    plateau = plateau_within_no_change(surface(changes, alone=0.9), W)
    assert plateau.members.sum() == size
    assert not plateau.members[:, :, W == 1].any()


@pytest.mark.parametrize(
    ("gain", "expected"),
    [
        pytest.param(0.0, (False, False, True), id="none"),
        pytest.param(-1e-9, (False, False, True), id="a loss"),
        pytest.param(TIE, (False, False, False), id="rounding"),
        pytest.param(2e-12, (True, False, False), id="above rounding"),
        pytest.param(NO_CHANGE, (True, False, False), id="1e-5"),
        pytest.param(1.1e-5, (True, True, False), id="above 1e-5"),
        pytest.param(NAN, (False, False, False), id="undefined"),
    ],
)
def test_beats_better_and_worse(gain, expected):
    assert tuple(bool(said(np.array(gain))) for said in (beats, better, worse)) == expected


def test_a_setting_breaks_ties_of_rounding_as_stated():
    """Where the base score is a third of the one word, every (p, w) orders segments alike: all are equal but for
    rounding, and the exact maximum is a matter of luck."""
    exact = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        word = rng.uniform(0.1, 1, 30)
        one_word = Ragged.from_rows([np.array([value]) for value in word])
        spec = GridSpec(p=(-2.0, -1.0, 1.0), w=(0.0, 0.2, 0.4, 0.6, 0.8, 1.0), side="hypothesis")
        found = compute_grid(spec, word / 3, one_word, one_word, word + 0.1 * rng.normal(size=30))
        assert np.ptp(found.correlation) < TIE
        assert (found.best_p, found.best_w) == (-2.0, 0.0)
        assert found.plateau == 15
        exact.append(int(np.argmax(found.correlation)))
    assert any(exact), "the test needs grids whose exact maximum is not the first point"
