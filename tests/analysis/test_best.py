"""The best point of a setting under both tie rules."""

import numpy as np
import pytest
from some_tables import P, W, flat, lime, peaked

from bmx_grid.analysis.best import best_points


def surface(changes):
    """A flat surface below the baseline with the given values at (p, w)."""
    found = flat()
    for (p, w), value in changes.items():
        found[int(np.argmin(np.abs(P - p))), int(np.argmin(np.abs(W - w)))] = value
    return found


EDGE = {(p, 0.5): 0.6 for p in P[P <= -1.0]}


@pytest.mark.parametrize(
    ("one", "first", "mildest", "plateau", "tied"),
    [
        pytest.param(peaked(-1.3), (-1.3, 0.5), (-1.3, 0.5), 1, False, id="a single peak"),
        pytest.param(flat(), (-2.0, 1.0), None, 80, True, id="nothing improves: first invents the lowest p"),
        pytest.param(flat(0.5, 0.5), (-2.0, 0.0), None, 80, True, id="everything equals the baseline"),
        pytest.param(surface({(0.3, 0.5): 0.5}), (-2.0, 1.0), None, 1, True, id="a point as good as the metric"),
        pytest.param(surface({(0.3, 0.5): 0.500005}), (0.3, 0.5), None, 1, False, id="better by less than 1e-5"),
        pytest.param(surface(EDGE), (-2.0, 0.5), (-1.0, 0.5), 11, False, id="a plateau up to the end of the grid"),
        pytest.param(
            surface({(-1.5, 0.5): 0.6, (-1.5, 0.0): 0.6}), (-1.5, 0.0), (-1.5, 0.5), 2, False, id="equal at two w"
        ),
        pytest.param(
            surface({(0.5, 0.5): 0.6, (1.5, 0.5): 0.6}), (0.5, 0.5), (1.5, 0.5), 2, False, id="equally far from p = 1"
        ),
        pytest.param(
            surface({(-1.5, 0.5): 0.6, (0.5, 0.5): 0.599995}), (-1.5, 0.5), (0.5, 0.5), 2, False, id="within 1e-5"
        ),
    ],
)
def test_tie_rules(one, first, mildest, plateau, tied):
    table = lime([one])
    paper, ours = best_points(table, "first"), best_points(table, "mildest")
    assert (paper.p[0], paper.w[0]) == first
    assert paper.correlation[0] == one.max()
    if mildest is None:
        assert np.isnan([ours.p[0], ours.w[0]]).all()
        assert (ours.correlation[0], ours.gain[0]) == (0.5, 0.0)
    else:
        assert (ours.p[0], ours.w[0]) == mildest
        assert ours.correlation[0] == pytest.approx(one.max(), abs=1e-5)
    assert paper.plateau[0] == ours.plateau[0] == plateau
    assert bool(paper.ties_baseline[0]) is tied


def test_undefined_points_are_never_best():
    one = peaked(-1.3)
    one[int(np.argmin(np.abs(P + 1.3))), 1] = np.nan
    for tie, p in (("first", -1.4), ("mildest", -1.2)):
        assert best_points(lime([one]), tie).p[0] == p


def test_the_range_of_the_plateau():
    assert best_points(lime([surface(EDGE)])).plateau_p.tolist() == [[-2.0, -1.0]]


def test_only_the_metric_alone_is_defined():
    one = flat()
    one[:, :2] = np.nan
    found = best_points(lime([one]), "mildest")
    assert found.plateau[0] == 0
    assert np.isnan([found.p[0], found.w[0], *found.plateau_p[0]]).all()
    assert found.ties_baseline[0]


@pytest.mark.parametrize("tie", ["first", "mildest"])
def test_the_best_gain_is_the_best_correlation_less_the_baseline(tie):
    found = best_points(lime([peaked(-1.0, gain=0.5, baseline=0.2), peaked(0.5, gain=0.1, baseline=-0.3)]), tie)
    assert found.correlation.tolist() == pytest.approx([0.7, -0.2])
    assert found.gain.tolist() == pytest.approx([0.5, 0.1])
    assert found.take(np.array([False, True])).gain.tolist() == found.gain[1:].tolist()
