"""Explanations are functions of their texts: alone, in any order, in any batch."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from fakes import HashMetric

from bmx_grid.attribution.engine import score_pairs, score_requests
from bmx_grid.attribution.explain import count_texts, explain_pairs, explanation_identity, pair_key
from bmx_grid.errors import BmxError
from bmx_grid.explainers.base import Explainer
from bmx_grid.identity import identity
from bmx_grid.perturbation import Plan, Request

PAIRS = [(f"a b{number % 7} c d", f"e f{number} g")[::1] for number in range(30)] + [("", "x"), ("x", ""), ("y", "y")]


@dataclass(frozen=True)
class Halves(Explainer):
    """A made-up stochastic explainer: each word's mean score over random masks that keep it."""

    stochastic: ClassVar[bool] = True
    samples: int = identity(6)

    def plan(self, words, rng):
        return Plan(words, keep=rng.random((self.samples, len(words))) < 0.5, replacement="UNKWORDZ")

    def attribute(self, plan, scores):
        return scores @ plan.keep / len(scores)

    def count_texts(self, n_words):
        return self.samples


def same(one, other):
    return (
        one.key == other.key
        and one.base_score == other.base_score
        and one.ground_truth.tobytes() == other.ground_truth.tobytes()
        and one.hypothesis.tobytes() == other.hypothesis.tobytes()
    )


def test_alone_in_any_order_and_in_any_batch_the_same():
    whole = explain_pairs(HashMetric(), Halves(), PAIRS, seed=0)
    backwards = explain_pairs(HashMetric(), Halves(), PAIRS[::-1], seed=0)[::-1]
    for pair, one, other in zip(PAIRS, whole, backwards, strict=True):
        assert same(one, other)
        assert same(one, explain_pairs(HashMetric(), Halves(), [pair], seed=0)[0])


def test_the_seed_and_the_explainers_settings_reach_the_draws():
    one, other, more = (
        explain_pairs(HashMetric(), explainer, PAIRS[:1], seed=seed)[0]
        for explainer, seed in [(Halves(), 0), (Halves(), 1), (Halves(samples=7), 0)]
    )
    assert not np.array_equal(one.ground_truth, other.ground_truth)
    assert not np.array_equal(one.ground_truth, more.ground_truth)


def test_an_empty_side_has_no_attributions_and_the_other_side_has():
    empty_first, empty_second = explain_pairs(HashMetric(), Halves(), [("", "x y"), ("x y", "")], seed=0)
    assert (len(empty_first.ground_truth), len(empty_first.hypothesis)) == (0, 2)
    assert (len(empty_second.ground_truth), len(empty_second.hypothesis)) == (2, 0)


def test_the_seed_is_identity_only_where_something_is_drawn():
    class Still(Halves):
        stochastic = False

    assert explanation_identity(HashMetric(), Halves(), 3)["seed"] == 3
    assert explanation_identity(HashMetric(), Still(), 3)["seed"] is None


def test_texts_are_counted_before_anything_is_scored():
    assert count_texts(HashMetric(), Halves(), ("a b", "c d e")) == 13
    assert count_texts(HashMetric(), Halves(), ("", "c d e")) == 7


def test_keys_tell_where_one_text_ends_and_the_other_begins():
    assert pair_key("a b", "c") != pair_key("a", "b c")


def test_each_distinct_text_is_scored_once(tmp_path):
    metric = HashMetric(log=str(tmp_path / "calls"))
    scores = score_pairs(metric, [("a", "b"), ("c", "d"), ("a", "b")])
    assert scores[0] == scores[2] != scores[1]
    assert (tmp_path / "calls").read_text() == "2\n"


def test_requests_without_texts_are_not_passed_on():
    class Masked(HashMetric):
        def score_masked(self, requests):
            assert all(len(request.plan) > 0 for request in requests)
            return [np.ones(len(request.plan)) for request in requests]

    nothing = Request(Plan(("a",), keep=np.empty((0, 1), np.bool_)), "hypothesis", "x")
    something = Request(Plan(("a",), keep=np.ones((2, 1), np.bool_)), "hypothesis", "x")
    for metric in (Masked(), HashMetric()):
        scores = score_requests(metric, [nothing, something, nothing])
        assert [len(one) for one in scores] == [0, 2, 0]
        assert [len(one) for one in score_requests(metric, [nothing])] == [0]


def test_requests_come_back_in_order_and_length():
    plans = [Plan(("a", "b"), keep=np.array([[True, False]])), Plan(("c",), texts=["c", "d", "c"])]
    scores = score_requests(
        HashMetric(), [Request(plans[0], "hypothesis", "x"), Request(plans[1], "ground_truth", "x")]
    )
    expected = HashMetric().score([("x", "a"), ("c", "x"), ("d", "x"), ("c", "x")])
    assert [list(one) for one in scores] == [[expected[0]], [expected[1], expected[2], expected[3]]]


@pytest.mark.parametrize(
    ("replacement", "expected"),
    [
        pytest.param("UNK", "a UNK c", id="replaced"),
        pytest.param("", "a  c", id="deleted, two spaces stay"),
        pytest.param(None, "a c", id="deleted with one space"),
    ],
)
def test_masked_words_are_written_as_the_plan_says(replacement, expected):
    plan = Plan(("a", "b", "c"), keep=np.array([[True, False, True]]), replacement=replacement)
    assert plan.render() == [expected]


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        pytest.param([1.0], "2 pairs were scored, but", id="too few"),
        pytest.param([1.0, float("nan")], "no score for ground truth 'c' and hypothesis 'd'", id="nan"),
    ],
)
def test_a_metric_that_answers_wrongly_is_named(scores, message):
    class Wrong(HashMetric):
        def score(self, pairs):
            return np.array(scores)

    with pytest.raises(BmxError, match=message):
        score_pairs(Wrong(), [("a", "b"), ("c", "d")])
