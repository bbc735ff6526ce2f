"""The random metric: chance, but the same chance every time."""

import numpy as np
import pytest
from pairs import score
from scipy import stats

from bmx_grid.metrics.random_scores import RandomMetric

PAIRS = [(f"ground truth {row // 100}", f"hypothesis {row % 100}") for row in range(10_000)]


def test_scores_are_uniform_and_uncorrelated_with_their_neighbours():
    scores = score(RandomMetric(seed=0), PAIRS)
    assert 0 <= scores.min() < scores.max() < 1
    assert stats.kstest(scores, "uniform").pvalue > 0.01
    assert abs(np.corrcoef(scores[1:], scores[:-1])[0, 1]) < 0.03


def test_scores_are_a_function_of_seed_and_texts_alone():
    scores = score(RandomMetric(seed=3), PAIRS)
    assert scores[5000:5010].tolist() == score(RandomMetric(seed=3), PAIRS[5000:5010]).tolist()
    assert scores[::-1].tolist() == score(RandomMetric(seed=3), PAIRS[::-1]).tolist()
    # written down once: another number means that cached results no longer hold, so VERSION must be raised
    assert score(RandomMetric(seed=0), [("a", "b"), ("", "")]).tolist() == [0.09285070057450806, 0.03714038269645281]


@pytest.mark.parametrize(
    ("case", "other_case"),
    [
        pytest.param((0, "ab", "c"), (0, "a", "bc"), id="where-the-texts-part"),
        pytest.param((0, "a", "b"), (0, "b", "a"), id="which-is-which"),
        pytest.param((0, "a", "b"), (1, "a", "b"), id="seed"),
        pytest.param((1, "a", "b"), (-1, "a", "b"), id="sign-of-the-seed"),
        pytest.param((0, "a", "b"), (0, "a", "b "), id="a-blank"),
        pytest.param((0, "", ""), (0, "", "\ud800"), id="half-a-character"),
    ],
)
def test_anything_that_differs_draws_anew(case, other_case):
    first, second = (score(RandomMetric(seed), [(truth, hypothesis)]) for seed, truth, hypothesis in (case, other_case))
    assert first.tolist() != second.tolist()
