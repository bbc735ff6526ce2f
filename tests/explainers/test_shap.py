"""SHAP against Shapley values by definition and against the library shap."""

from itertools import permutations
from math import factorial

import numpy as np
import pytest
from explaining import explained, generator, hash_scores, side

from bmx_grid.core.configure import build
from bmx_grid.core.errors import ConfigError, ExplainError
from bmx_grid.explainers.shap import Shap, draw_orders
from bmx_grid.words.perturbation import join_words

SIDES = {
    "one word": side(1),
    "seven words": side(7),
    "eight words": side(8),
    "25 words": side(25),
    "249 words": side(249),
    "empty words": ("", "a", "", "", "b", "", "", "", ""),
    "the mask as a word": ("UNKWORDZ", "b", "c", "UNKWORDZ", "e", "f", "g", "h"),
}


def value(words, kept, mask="UNKWORDZ"):
    """Score of the side with only the words at the positions `kept`."""
    return hash_scores([join_words([word if place in kept else mask for place, word in enumerate(words)])])[0]


def mean_over_orders(words, orders):
    """By definition: the mean rise of the score when a word joins those before it."""
    rises = np.zeros(len(words))
    for order in orders:
        for place, word in enumerate(order):
            rises[word] += value(words, set(order[: place + 1])) - value(words, set(order[:place]))
    return rises / len(orders)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_short_sides_get_shapley_values_by_definition(n):
    orders = list(permutations(range(n)))
    assert len(orders) == factorial(n)
    assert explained(Shap(), side(n))[1] == pytest.approx(mean_over_orders(side(n), orders), abs=1e-13)


def test_long_sides_get_the_mean_over_drawn_orders_and_their_reverses():
    drawn = draw_orders(10, 500 // 21, int(generator(0).integers(2**32))).tolist()
    assert len(drawn) == 23
    # Taking words away in an order is adding them in the reverse order.
    both = drawn + [order[::-1] for order in drawn]
    assert explained(Shap(), side(10))[1] == pytest.approx(mean_over_orders(side(10), both), abs=1e-13)


@pytest.mark.parametrize("words", SIDES.values(), ids=SIDES.keys())
def test_shap_itself_on_its_own_random_stream(words):
    state = np.random.get_state()[1].tolist()  # noqa: NPY002
    expected = explained(Shap(backend="library"), words, seed=6)[1]
    assert np.random.get_state()[1].tolist() == state  # noqa: NPY002
    assert np.abs(explained(Shap(), words, seed=6)[1] - expected).max() <= 1e-12


@pytest.mark.parametrize("n", [1, 7, 8, 40])
def test_scores_that_do_not_differ_give_exact_zeros(n):
    plan = Shap().plan(side(n), generator(0))
    assert Shap().attribute(plan, np.full(len(plan), 0.1)).tolist() == [0.0] * n


def test_sides_that_are_too_long_are_refused_with_the_way_out():
    with pytest.raises(ExplainError, match="250 words takes at least 501 .* raise it to 501 or more"):
        Shap().plan(side(250), generator(0))


@pytest.mark.parametrize("backend", ["batched", "library"])
def test_long_sides_get_one_permutation_where_that_is_asked_for(backend):
    """And as many as ever where 500 scores have room for one."""
    usual = Shap(backend=backend)
    auto = Shap(max_evals="auto", backend=backend)
    for n_words in (5, 30, 249):
        np.testing.assert_array_equal(
            auto.plan(side(n_words), generator(0)).keep, usual.plan(side(n_words), generator(0)).keep
        )
    plan = auto.plan(side(400), generator(0))
    assert len(plan) == auto.count_texts(400) == 800
    scores = plan.keep @ np.arange(400.0)  # additive: word i is worth i in any order
    np.testing.assert_allclose(auto.attribute(plan, scores), np.arange(400.0), atol=1e-9)


@pytest.mark.parametrize("value", ["often", 2])
def test_max_evals_is_a_number_or_auto(value):
    with pytest.raises(ConfigError, match="max_evals"):
        build({"_target_": "bmx_grid.explainers.shap.Shap", "max_evals": value}, Shap, "explainer.shap")
