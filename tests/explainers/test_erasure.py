"""Erasure, by hand."""

import numpy as np
import pytest
from explaining import generator

from bmx_grid.explainers.erasure import Erasure


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
    found = Erasure().attribute(plan, np.array([0.5, 0.25, 0.75, 0.5]))
    assert found.tolist() == [0.25, -0.25, 0.0]
