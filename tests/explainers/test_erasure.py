"""Erasure by hand; the random explainer: uniform, from the generator it is given, without a score."""

import numpy as np
import pytest
from explaining import generator, side

from bmx_grid.explainers.erasure import Erasure
from bmx_grid.explainers.random import Random


@pytest.mark.parametrize(
    ("gap", "texts"),
    [
        pytest.param("double_space", ["a b c", " b c", "a  c", "a b "], id="paper: both spaces stay"),
        pytest.param("single_space", ["a b c", "b c", "a c", "a b"], id="one space goes"),
    ],
)
def test_each_word_is_left_out_once(gap, texts):
    assert Erasure(gap=gap).plan(("a", "b", "c"), generator(0)).render() == texts


def test_the_attribution_is_the_fall_of_the_score():
    plan = Erasure().plan(("a", "b", "c"), generator(0))
    attributions = Erasure().attribute(plan, np.array([0.5, 0.25, 0.75, 0.5]))
    assert attributions.tolist() == [0.25, -0.25, 0.0]


def test_it_asks_for_nothing_and_hands_out_the_generators_draws():
    plan = Random().plan(side(5), generator(7))
    assert plan.render() == []
    assert Random().attribute(plan, np.empty(0)).tolist() == generator(7).random(5).tolist()


def test_attributions_are_uniform():
    stats = pytest.importorskip("scipy.stats")
    plan = Random().plan(side(2000), generator(1))
    assert stats.kstest(Random().attribute(plan, np.empty(0)), "uniform").pvalue > 0.01
