"""Parts alone, left out, and each way of weighting, against the same numbers by hand."""

import functools

import numpy as np
import pytest
from parts import ablations

from bmx_grid.measures.correlation import correlate, one_vs_rest, weighted

RNG = np.random.default_rng(4)
HUMAN = RNG.normal(size=60)
PARTS = HUMAN[:, None] * [1.0, 0.5, 0.1] + RNG.normal(size=(60, 3))
OTHER = PARTS + RNG.normal(size=(60, 3))
NAMES = ["a", "b", "c"]


def rows_of(kind="pearson"):
    return {(one.kind, one.name): one for one in ablations({"entropy": PARTS, "uniform": OTHER}, NAMES, HUMAN, kind)}


@pytest.mark.parametrize("kind", ["pearson", "kendall"])
def test_every_variant_by_hand(kind):
    of = functools.partial(correlate, kind)
    found = rows_of(kind)
    weights = one_vs_rest(PARTS, NAMES)[0]
    whole = of(weighted(PARTS, weights), HUMAN)
    assert found["whole", "all"].correlation == whole
    for column, name in enumerate(NAMES):
        assert found["alone", name].correlation == of(PARTS[:, column], HUMAN)
        assert found["alone", name].weight == weights[column]
        rest = [other for other in range(3) if other != column]
        again = one_vs_rest(PARTS[:, rest], ["x", "y"])[0]
        assert found["left out", name].correlation == of(weighted(PARTS[:, rest], again), HUMAN)
    assert found["weighting", "entropy, one_vs_rest"].correlation == whole
    assert found["weighting", "entropy, equal"].correlation == of(PARTS.mean(axis=1), HUMAN)
    other = one_vs_rest(OTHER, NAMES)[0]
    assert found["weighting", "uniform, one_vs_rest"].correlation == of(weighted(OTHER, other), HUMAN)
    assert len(found) == 1 + 3 + 3 + 4
    assert all(one.difference == one.correlation - whole for one in found.values())
