"""The grids of several parts of a setting are those of each part alone."""

import numpy as np
import pytest

from bmx_grid.errors import ConfigError
from bmx_grid.measures import grid_parts
from bmx_grid.measures.aggregation import PRECISION
from bmx_grid.measures.correlation import KINDS, correlate_grid
from bmx_grid.measures.grid_parts import correlate_parts

W = np.array([0.0, 0.3, 1.0])


def setting(n=60, n_p=7, *, far=0.0, spread=1.0):
    draw = np.random.default_rng(3)
    means = far + spread * draw.random((n, n_p))
    bases = draw.normal(size=(3, n))
    human = bases[0] + means[:, 2] / spread + draw.normal(size=n)
    parts = np.stack([np.arange(n) >= 0, np.arange(n) % 3 != 0, np.arange(n) < 20])
    return means, bases, human, parts


def changed(name):
    means, bases, human, parts = setting()
    if name == "means that cancel the base score":
        means[:, 1] = 40 - bases[0]
    elif name == "a part of other size":
        means[parts[2]] += 1e4
    elif name == "missing means":
        means[[3, 30], [1, 4]] = np.nan
    elif name == "missing scores":
        human[4], bases[1, 5] = np.nan, np.inf
    elif name == "missing means in no part":
        parts[:, 7], means[7], human[8] = False, np.nan, np.nan
    elif name == "constant human scores in a part":
        human[parts[2]] = 0.5
    elif name == "constant means":
        means[:, 0] = 0.1
    elif name == "two segments":
        parts[2] = np.arange(len(human)) < 2
    elif name == "no segment":
        parts[2] = False
    return means, bases, human, parts


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(setting(), id="plain"),
        pytest.param(setting(far=1e6, spread=1e-3), id="means close to each other"),
        pytest.param(setting(far=1.0, spread=1e-9), id="means equal but for rounding digits"),
        *(
            pytest.param(changed(name), id=name)
            for name in (
                "means that cancel the base score",
                "a part of other size",
                "missing means",
                "missing means in no part",
                "missing scores",
                "constant human scores in a part",
                "constant means",
                "two segments",
                "no segment",
            )
        ),
    ],
)
def test_each_part_has_the_grid_of_its_segments(kind, data):
    means, bases, human, parts = data
    found = correlate_parts(kind, means, bases, human, parts, W, PRECISION)
    for grid, base, rows in zip(found, bases, parts, strict=True):
        alone = correlate_grid(kind, means[rows], base[rows], human[rows], W, PRECISION)
        np.testing.assert_allclose(grid, alone, atol=1e-12, rtol=0)


def test_blocks_of_p_change_nothing(monkeypatch):
    whole = correlate_parts("pearson", *setting(), W)
    monkeypatch.setattr(grid_parts, "CELLS", 120)
    np.testing.assert_allclose(correlate_parts("pearson", *setting(), W), whole, atol=1e-14, rtol=0)


def test_an_unknown_correlation_is_refused():
    with pytest.raises(ConfigError, match="pearsn"):
        correlate_parts("pearsn", *setting(), W)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("kind", KINDS)
def test_rounding_takes_no_point_of_a_part_beyond_1(kind, sign):
    human, parts = np.random.default_rng(7).normal(size=40), np.array([np.arange(40) >= 0, np.arange(40) < 25])
    means, bases = np.linspace(0.1, 3, 50) * human[:, None] + 0.1, np.stack([7 * human + 0.3, 0.2 * human])
    found = correlate_parts(kind, means, bases, sign * human, parts, W)
    assert np.abs(found).max() <= 1
    np.testing.assert_allclose(found, sign)
