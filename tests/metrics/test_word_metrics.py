"""WER, PER and word matches: the lecture's examples, plain loops, empty texts, corpus scores."""

import numpy as np
import pytest

from bmx_grid.core.configure import build, load_option
from bmx_grid.metrics._ter import edits
from bmx_grid.metrics.base import Metric
from bmx_grid.metrics.words import Rouge, Wer, WordMatch
from bmx_grid.words.perturbation import Item

REFERENCE = "Israeli officials are responsible for airport security"
A = "Israeli officials responsibility of airport safety"
B = "airport security Israeli officials are responsible"


def item(hypothesis: str, reference: str = REFERENCE) -> Item:
    return Item(reference=reference, hypothesis=hypothesis)


@pytest.mark.parametrize(
    ("metric", "a", "b"),
    [
        (Wer(), 4 / 7, 5 / 7),
        (Wer(ordered=False), 4 / 7, 1 / 7),
        (WordMatch(measure="precision"), 3 / 6, 6 / 6),
        (WordMatch(measure="recall"), 3 / 7, 6 / 7),
        (WordMatch(), 6 / 13, 12 / 13),
    ],
    ids=["WER", "PER", "precision", "recall", "F1"],
)
def test_the_examples_of_the_lecture(metric, a, b):
    assert metric.score([item(A), item(B)]).tolist() == pytest.approx([a, b], abs=1e-15)
    sums = metric.statistics([item(A), item(B)]).sum(axis=0)
    assert metric.combine(sums) == pytest.approx(
        np.average([a, b], weights=[6, 6]) if "precision" in metric.signature else (a + b) / 2
    )


@pytest.mark.parametrize(
    ("hypothesis", "reference", "wer", "per", "f1"),
    [
        ("", "", 0, 0, 1),
        ("a", "", 1, 1, 0),
        ("", "a b", 1, 1, 0),
        ("b a", "a b", 1, 0, 1),
        ("a a a", "a", 2, 2, 0.5),
        ("A b", "a b", 0.5, 0.5, 0.5),
    ],
)
def test_empty_repeated_and_reordered_words(hypothesis, reference, wer, per, f1):
    pair = [item(hypothesis, reference)]
    scores = [metric.score(pair)[0] for metric in (Wer(), Wer(ordered=False), WordMatch())]
    assert scores == pytest.approx([wer, per, f1])


@pytest.mark.parametrize(
    ("hypothesis", "reference", "match", "overlap"),
    [
        pytest.param("the cat sat .", "a cat sat .", 3 / 4, 3 / 4, id="separate marks: the same"),
        pytest.param("the cat", "the cat.", 1 / 2, 4 / 5, id="a mark at the end is a word to chrF++ only"),
        pytest.param('"no" he said', "no he said", 2 / 3, 4 / 7, id='one mark comes off: "no and " are two words'),
        pytest.param("", "", 1, 0, id="two empty texts"),
    ],
)
def test_word_match_and_word_overlap_differ_in_punctuation_and_empty_texts(hypothesis, reference, match, overlap):
    metrics = [build(load_option("metric", name), Metric, name) for name in ("word_match", "word_overlap")]
    scores = [metric.score([item(hypothesis, reference)])[0] for metric in metrics]
    assert scores == pytest.approx([match, overlap], abs=1e-15)


@pytest.mark.parametrize(
    ("variant", "hypothesis", "expected"),
    [
        pytest.param("rouge1", "the cat sat", 2 * (2 / 3) * (2 / 4) / (2 / 3 + 2 / 4), id="2 of 3 words, of 4"),
        pytest.param("rouge2", "the cat sat", 2 * (1 / 2) * (1 / 3) / (1 / 2 + 1 / 3), id="one of two pairs, of three"),
        pytest.param("rougeL", "cat the down", 2 * (2 / 3) * (2 / 4) / (2 / 3 + 2 / 4), id="in order"),
        pytest.param("rougeL", "", 0.0, id="no words"),
    ],
)
def test_rouge_is_f1_as_by_hand(variant, hypothesis, expected):
    pair = Item(reference="the cat lay down", hypothesis=hypothesis, further_references=(hypothesis,))  # not read
    assert Rouge(variant=variant).score([pair])[0] == pytest.approx(expected, abs=1e-12)


def hard_pairs(count):
    """Words with many ways to shift them: few different ones, blocks that changed places, sides of unlike lengths."""
    rng = np.random.default_rng(4)
    for number in range(count):
        truth = [
            str(word) for word in rng.integers(0, (3, 30, 6)[number % 3], rng.integers(0, (12, 40, 100)[number % 3]))
        ]
        text = list(truth)
        if number % 3 == 2:
            text = [str(word) for word in rng.integers(0, 6, rng.integers(0, 8))]
        for _ in range(rng.integers(0, 4)):
            start, size, to = rng.integers(0, len(text) + 1, 3)
            run = text[start : start + size]
            rest = text[:start] + text[start + size :]
            text = rest[:to] + run + rest[to:]
        yield [word for word in text if rng.random() < 0.9], truth


def test_edits_with_shifts_are_sacrebleus():
    from sacrebleu.metrics.lib_ter import translation_edit_rate

    pairs = [*hard_pairs(240), ([], []), (["a"], []), ([], ["a", "b"]), (["a"] * 60, ["a"] * 3)]
    distances = edits(*zip(*pairs, strict=True))
    assert distances.tolist() == [translation_edit_rate(text, truth)[0] for text, truth in pairs]
    assert distances.tolist() == [int(edits([text], [truth])[0]) for text, truth in pairs], "alone as in a batch"
    assert len(edits([], [])) == 0
