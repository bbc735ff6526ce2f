"""ROUGE by its package, on one reference and on several."""

import pytest

from bmx_grid.metrics.words import Rouge
from bmx_grid.words.perturbation import Item


@pytest.mark.parametrize(
    ("variant", "hypothesis", "expected"),
    [
        pytest.param("rouge1", "the cat sat", 2 * (2 / 3) * (2 / 4) / (2 / 3 + 2 / 4), id="2 of 3 words, of 4"),
        pytest.param("rouge2", "the cat sat", 2 * (1 / 2) * (1 / 3) / (1 / 2 + 1 / 3), id="one of two pairs, of three"),
        pytest.param("rougeL", "cat the down", 2 * (2 / 3) * (2 / 4) / (2 / 3 + 2 / 4), id="in order"),
        pytest.param("rougeL", "", 0.0, id="no words"),
    ],
)
def test_scores_are_f1_as_by_hand(variant, hypothesis, expected):
    item = Item(reference="the cat lay down", hypothesis=hypothesis)
    assert Rouge(variant=variant).score([item])[0] == pytest.approx(expected, abs=1e-12)


def test_of_several_references_the_best_counts():
    item = Item(reference="a dog", hypothesis="the cat", further_references=("the cat", "no"))
    assert Rouge(references="all").score([item])[0] == 1.0
    assert Rouge().score([item])[0] == 0.0
