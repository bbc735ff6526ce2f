"""Explanations: what they depend on, which texts they ask for, and what a metric answers wrongly."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from fakes import HashMetric
from pairs import explain, items, request_of, score, truth_of

from bmx_grid.attribution.explain import (
    _generator,
    count_texts,
    explain_items,
    explanation_identity,
    item_key,
    score_items,
    score_requests,
)
from bmx_grid.core.errors import BmxError, ExplainError
from bmx_grid.core.identity import identity
from bmx_grid.explainers.base import Explainer
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.explainers.input_marginalization import InputMarginalization
from bmx_grid.explainers.lime import Lime
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.words.perturbation import Item, Plan

PAIRS = [("a b0 c d", "e f0 g"), ("a b1 c d", "e f1 g"), ("", "x"), ("x", ""), ("y", "y")]


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


def test_the_seed_and_the_explainers_settings_reach_the_draws():
    first, other_seed, more_samples = (
        explain(HashMetric(), explainer, PAIRS[:1], seed=seed)[0]
        for explainer, seed in [(Halves(), 0), (Halves(), 1), (Halves(samples=7), 0)]
    )
    assert not np.array_equal(truth_of(first), truth_of(other_seed))
    assert not np.array_equal(truth_of(first), truth_of(more_samples))
    text = " ".join(f"w{number}" for number in range(12))
    explanation = explain_items(Trio(), Halves(samples=40), [Item(text, text, text)], seed=0)[0]
    sides = [tuple(values.tolist()) for values in explanation.attributions.values()]
    assert len(set(sides)) == 3, "or equal texts would be masked alike on all sides"


def test_an_empty_side_has_no_attributions_and_the_other_side_has():
    empty_first, empty_second = explain(HashMetric(), Halves(), [("", "x y"), ("x y", "")], seed=0)
    assert (len(truth_of(empty_first)), len(empty_first.attributions["hypothesis"])) == (0, 2)
    assert (len(truth_of(empty_second)), len(empty_second.attributions["hypothesis"])) == (2, 0)


def test_keys_seeds_and_counts_say_what_an_explanation_depends_on_and_takes():
    class Still(Halves):
        stochastic = False

    assert explanation_identity(HashMetric(), Halves(), 3)["seed"] == 3
    assert explanation_identity(HashMetric(), Still(), 3)["seed"] is None
    assert item_key(Item("a b", None, "c")) != item_key(Item("a", None, "b c"))
    assert count_texts(HashMetric(), Halves(), Item("a b", None, "c d e")) == 13
    assert count_texts(HashMetric(), Halves(), Item("", None, "c d e")) == 7
    assert [count_texts(HashMetric(), None, Item("a b", None, "c d e"), copies) for copies in (1, 4)] == [1, 4]


def test_each_distinct_text_is_scored_once(tmp_path):
    metric = HashMetric(log=str(tmp_path / "calls"))
    scores = score_items(metric, items([("a", "b"), ("c", "d"), ("a", "b")], "source"))
    assert scores[0] == scores[2] != scores[1]
    assert (tmp_path / "calls").read_text() == "2\n"


def test_requests_without_texts_are_not_passed_on():
    class Masked(HashMetric):
        def score_masked(self, requests):
            assert all(len(request.plan) > 0 for request in requests)
            return [np.ones(len(request.plan)) for request in requests]

    nothing = request_of(Plan(("a",), keep=np.empty((0, 1), np.bool_)), "hypothesis", "x", "source")
    something = request_of(Plan(("a",), keep=np.ones((2, 1), np.bool_)), "hypothesis", "x", "source")
    for metric in (Masked(), HashMetric()):
        scores = score_requests(metric, [nothing, something, nothing])
        assert [len(of_request) for of_request in scores] == [0, 2, 0]
        assert [len(of_request) for of_request in score_requests(metric, [nothing])] == [0]


@pytest.mark.parametrize(
    ("explainer", "n_words", "is_refused"),
    [
        pytest.param(Erasure(), 23_169, False, id="n (n + 1) cells below 2^29"),
        pytest.param(Erasure(), 23_170, True, id="n (n + 1) cells above 2^29"),
        pytest.param(Erasure(), 100_000, True, id="9.3 GiB of masks"),
        pytest.param(Lime(num_samples=1000), 100_000, False, id="as many texts at any length"),
        pytest.param(InputMarginalization(), 3_000, True, id="written texts are as long as their characters"),
    ],
)
def test_a_text_whose_perturbed_texts_need_too_much_memory_is_refused_before_they_are_planned(
    explainer, n_words, is_refused, monkeypatch
):
    monkeypatch.setattr(Erasure, "plan", None)
    item = Item(reference="word", hypothesis=" ".join(["word"] * n_words))
    if not is_refused:
        assert count_texts(Chrf(), explainer, item) > 0
        return
    with pytest.raises(ExplainError, match=rf"the hypothesis has {n_words:,} words, whose .* above 512: split it"):
        count_texts(Chrf(), explainer, item)


@pytest.mark.parametrize("most", [1, 20, 60, 10**9])
def test_texts_are_written_out_in_parts_of_so_many_characters(most, monkeypatch):
    """Each score is that of its own text, so the parts are scored as the whole is; a part may be one text longer."""
    seen = []

    class Watched(HashMetric):
        def score(self, pairs):
            seen.append(sum(len(pair.hypothesis) + 1 for pair in pairs))
            return super().score(pairs)

    whole = explain(HashMetric(), Halves(samples=9), PAIRS, seed=0)
    monkeypatch.setattr("bmx_grid.attribution.explain.MOST_CHARACTERS", most)
    parts = explain(Watched(), Halves(samples=9), PAIRS, seed=0)
    for of_part, of_whole in zip(parts, whole, strict=True):
        assert of_part.base_score == of_whole.base_score
        for role, values in of_whole.attributions.items():
            assert of_part.attributions[role].tolist() == values.tolist()
    assert (len(seen) == 1) == (most == 10**9)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        pytest.param([1.0], "expected 2 real numbers, got 1", id="too few"),
        pytest.param([1.0, float("nan")], "no score for source 'c' and hypothesis 'd'", id="nan"),
    ],
)
def test_a_metric_that_answers_wrongly_is_named(scores, message):
    class Wrong(HashMetric):
        def score(self, pairs):
            return np.array(scores)

    with pytest.raises(BmxError, match=message):
        score_items(Wrong(), items([("a", "b"), ("c", "d")], "source"))


class Trio(HashMetric):
    """A metric that reads all three texts."""

    @property
    def reads(self):
        return ("source", "reference", "hypothesis")

    def score(self, items):
        return np.array([float(len("|".join(item.texts().values()))) for item in items])


def test_every_text_that_a_metric_reads_gets_attributions():
    explanation = explain_items(Trio(), Erasure(), [Item("a bb", "ccc", "dddd e f")], seed=0)[0]
    assert {role: values.tolist() for role, values in explanation.attributions.items()} == {
        "source": [1.0, 2.0],
        "reference": [3.0],
        "hypothesis": [4.0, 1.0, 1.0],
    }
    assert explanation.n_texts == 1 + (1 + 2) + (1 + 1) + (1 + 3)  # the item; Erasure asks for each text whole, too


def test_what_the_explainer_refuses_keeps_its_score_and_the_others_their_attributions():
    class Short(Halves):
        def count_texts(self, n_words):
            if n_words > 2:
                raise ExplainError(f"{n_words} words are more than 2")
            return super().count_texts(n_words)

    pairs = items([("a b", "c"), ("a b c", "d e")], "source")
    with pytest.raises(ExplainError, match="3 words are more than 2"):
        count_texts(HashMetric(), Short(), pairs[1])
    explained, refused = explain_items(HashMetric(), Short(), pairs, seed=0, skip_refused=True)
    (alone,) = explain_items(HashMetric(), Short(), pairs[:1], seed=0)
    assert (explained.key, explained.base_score) == (alone.key, alone.base_score)
    assert truth_of(explained).tolist() == truth_of(alone).tolist()
    assert refused.base_score == score(HashMetric(), [("a b c", "d e")])[0]
    assert np.isnan(refused.attributions["source"]).tolist() == [True] * 3
    assert np.isnan(refused.attributions["hypothesis"]).tolist() == [True] * 2


@pytest.mark.parametrize(
    ("item", "role", "draw"),
    [
        pytest.param(Item(reference="a b", hypothesis="c"), "reference", 509656268, id="the only ground truth"),
        pytest.param(Item(source="a b", hypothesis="c"), "source", 509656268, id="the same, whichever it is"),
        pytest.param(Item(source="a b", hypothesis="c"), "hypothesis", 208837241, id="hypothesis"),
        pytest.param(Item(source="a b", reference="d", hypothesis="c"), "source", 508436136, id="one of three texts"),
    ],
)
def test_draws_stay_what_they_are_so_that_cached_attributions_are_found_again(item, role, draw):
    assert _generator(7, "{}", item, role).integers(1 << 30) == draw


@pytest.mark.parametrize("explainer", [None, Erasure()], ids=["metric-alone", "explained"])
def test_statistics_of_the_unperturbed_texts_are_kept_where_a_metric_has_its_own(explainer):
    explanations = explain_items(Chrf(), explainer, items(PAIRS), seed=0)
    expected = Chrf().statistics(items(PAIRS))
    assert np.array([explanation.statistics for explanation in explanations]).tolist() == expected.tolist()
    assert [explanation.base_score for explanation in explanations] == Chrf().score(items(PAIRS)).tolist()
    assert explain_items(Chrf(), explainer, [], seed=0) == []
    assert explain_items(HashMetric(), explainer, items(PAIRS, "source"), seed=0)[0].statistics is None
