"""What every option of configs/explainer promises. A new YAML file is covered without a line here."""

import dataclasses

import numpy as np
import pytest
from fakes import HashMetric
from pairs import explain, request_of, truth_of

from bmx_grid.attribution.explain import count_texts, explain_items, score_requests
from bmx_grid.core.configure import build, load_option, options
from bmx_grid.explainers.base import Explainer
from bmx_grid.words.perturbation import Item

SIDES = {
    "one word": ("one",),
    "two words": ("one", "two"),
    "repeated words": ("no", "no", "no", "yes"),
    "seven words": tuple("abcdefg"),
    "eight words": tuple("abcdefgh"),
    "an empty word": ("two", "", "spaces"),
    "unusual characters": ("Größe", "漢字", "\N{ZERO WIDTH SPACE}", "\N{NO-BREAK SPACE}", "&amp;", "\\1", "a.b"),
    "the mask as a word": ("UNKWORDZ", "x", "[MASK]"),
    "forty words": tuple(f"w{number}" for number in range(40)),
}


# `imported` reads a file and `spans` asks a server: they plan no texts, and have tests of their own.
@pytest.fixture(scope="module", params=[name for name in options("explainer") if name not in ("imported", "spans")])
def explainer(request, tiny_model) -> Explainer:
    """The option as it is; where it names a model, with a small one in its place."""
    settings = load_option("explainer", request.param, 0)
    if "model" in settings:
        settings |= {"model": tiny_model("bert"), "revision": None}
    return build(settings, Explainer, f"explainer.{request.param}")


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def attributions(explainer: Explainer, words: tuple[str, ...], seed: int = 0) -> np.ndarray:
    plan = explainer.plan(words, generator(seed))
    scores = score_requests(HashMetric(), [request_of(plan, "hypothesis", "ground truth", "source")])[0]
    return explainer.attribute(plan, scores)


@pytest.mark.parametrize("words", SIDES.values(), ids=SIDES)
def test_one_finite_float64_a_word_and_the_same_bits_from_the_same_generator(explainer, words):
    values = attributions(explainer, words)
    assert values.dtype == np.float64
    assert values.shape == (len(words),)
    assert np.isfinite(values).all()
    assert attributions(explainer, words).tobytes() == values.tobytes()


@pytest.mark.parametrize("words", SIDES.values(), ids=SIDES)
def test_the_plan_asks_for_as_many_texts_as_it_announced(explainer, words):
    plan = explainer.plan(words, generator())
    announced = explainer.count_texts(len(words))
    assert len(plan) == len(plan.render())
    # How many texts a model proposes is known at most.
    assert len(plan) <= announced if hasattr(explainer, "model") else len(plan) == announced


def test_the_seed_matters_exactly_where_it_is_said_to(explainer):
    words = SIDES["forty words"]
    same = attributions(explainer, words, 0).tobytes() == attributions(explainer, words, 1).tobytes()
    assert same is not explainer.stochastic


def test_the_global_generator_is_left_alone(explainer):
    before = np.random.get_state()[1].tobytes()  # noqa: NPY002
    attributions(explainer, SIDES["forty words"])
    assert np.random.get_state()[1].tobytes() == before  # noqa: NPY002


def test_pairs_are_explained_alike_alone_together_and_in_any_order(explainer):
    pairs = [("a b c", "d e f g"), ("h", "i j k l m n o p q r"), ("a b c", "x"), ("", "y z"), ("z", "")]
    together = explain(HashMetric(), explainer, pairs, seed=3)
    backwards = explain(HashMetric(), explainer, pairs[::-1], seed=3)[::-1]
    for pair, *explanations in zip(pairs, together, backwards, strict=True):
        (alone,) = explain(HashMetric(), explainer, [pair], seed=3)
        for explanation in explanations:
            assert (explanation.key, explanation.base_score) == (alone.key, alone.base_score)
            assert truth_of(explanation).tobytes() == truth_of(alone).tobytes()
            assert explanation.attributions["hypothesis"].tobytes() == alone.attributions["hypothesis"].tobytes()


def test_one_side_alone_has_the_attributions_that_it_has_beside_the_other(explainer):
    item = Item(source="ein kleines Haus", hypothesis="a small house")
    one_side = dataclasses.replace(explainer, sides="hypothesis")
    both, alone = (explain_items(HashMetric(), variant, [item], seed=1)[0] for variant in (explainer, one_side))
    assert set(both.attributions) == {"source", "hypothesis"} and set(alone.attributions) == {"hypothesis"}
    assert alone.attributions["hypothesis"].tobytes() == both.attributions["hypothesis"].tobytes()
    assert alone.base_score == both.base_score
    n_texts = explainer.count_texts(3)
    assert count_texts(HashMetric(), explainer, item) == 1 + 2 * n_texts
    assert count_texts(HashMetric(), one_side, item) == 1 + n_texts
    assert "sides" not in explainer.fingerprint(), "what is stored of both sides is found again"
    assert one_side.fingerprint()["sides"] == ("hypothesis",)
