"""Verdicts on given scores: of `boost` at a point or by a recipe."""

from __future__ import annotations

import numpy as np
import pytest
from some_recipe import recipe

import bmx_grid as bmx
from bmx_grid.boosts.recipe import write_recipe
from bmx_grid.core.errors import ConfigError

N = 300


def segments(seed: int = 0):
    """Scores, human scores that are a curve of them with a quality that they miss, that quality, and word counts."""
    rng = np.random.default_rng(seed)
    score, quality, noise = rng.normal(size=(3, N))
    return score, np.exp(0.8 * score) + quality + noise, quality, rng.integers(5, 40, size=N)


def rows(level, words, seed=1):
    rng = np.random.default_rng(seed)
    return [level[at] * np.exp(0.1 * rng.normal(size=words[at])) for at in range(N)]


@pytest.mark.parametrize(
    ("knows", "label"),
    [
        pytest.param("curve", "explained by length or score", id="the-curve-of-the-score-only"),
        pytest.param("quality", "helps", id="what-the-metric-misses"),
        pytest.param("opposite", "hurts", id="the-opposite-of-it"),
    ],
)
def test_a_point_is_judged_beside_score_and_length(knows, label):
    score, human, quality, words = segments()
    level = {"curve": np.exp(0.8 * score), "quality": np.exp(0.8 * quality), "opposite": np.exp(-0.8 * quality)}[knows]
    found = bmx.boost(score, rows(level, words), human, p=1, w=0.5).verdict
    assert found.label == label, found.because


def test_a_point_without_human_scores_or_a_grid_has_no_verdict():
    score, human, quality, words = segments()
    attributions = rows(np.exp(quality), words)
    with pytest.raises(ConfigError, match="human"):
        _ = bmx.boost(score, attributions, p=1, w=0.5).verdict
    with pytest.raises(ConfigError, match="p and w"):
        _ = bmx.boost(score, attributions, human).verdict


def test_a_recipe_boosts_given_attributions(tmp_path):
    known = recipe()
    write_recipe(tmp_path / "mine.json", known)
    score, human, quality, words = segments()
    sides = {"ground_truth": rows(np.exp(quality), words), "hypothesis": rows(np.exp(quality), words, seed=2)}
    found = bmx.boost(score, sides, human, recipe=tmp_path / "mine.json")
    expected = known.fitted().scores(score, known.boost.features(found.ground_truth, found.hypothesis))
    np.testing.assert_array_equal(found.scores, expected)
    assert found.verdict.label


def test_what_is_no_recipe_is_refused():
    with pytest.raises(ConfigError, match="recipe: expected a path, got 5"):
        bmx.boost([0.1, 0.2], [[1.0], [2.0]], recipe=5)


def test_a_recipe_with_a_point_is_refused():
    with pytest.raises(ConfigError, match="recipe"):
        bmx.boost([0.1, 0.2], [[1.0], [2.0]], recipe="minilm_bertscore-erasure-learned", p=1, w=0.5)
