"""The random explainer: uniform, from the generator it is given, without a score."""

import numpy as np
import pytest
from explaining import generator, side

from bmx_grid.explainers.random import Random


def test_it_asks_for_nothing_and_hands_out_the_generators_draws():
    plan = Random().plan(side(5), generator(7))
    assert plan.render() == []
    assert Random().attribute(plan, np.empty(0)).tolist() == generator(7).random(5).tolist()


def test_attributions_are_uniform():
    stats = pytest.importorskip("scipy.stats")
    plan = Random().plan(side(2000), generator(1))
    assert stats.kstest(Random().attribute(plan, np.empty(0)), "uniform").pvalue > 0.01
