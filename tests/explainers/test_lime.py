"""LIME against the library lime: same masks, same texts, same coefficients."""

from itertools import combinations

import numpy as np
import pytest
from explaining import generator, hash_scores, side

from bmx_grid.explainers.lime import Lime, draw_masks, solve
from bmx_grid.words.perturbation import Plan
from bmx_grid.words.text import join_words, split_words


def lime_itself(text, score, seed, **options):
    """lime's texts and its coefficients by position, from one ordinary call of the library."""
    from lime.lime_text import LimeTextExplainer

    asked = []

    def predict(texts):
        asked.extend(texts)
        return score(texts)[:, None]

    explainer = LimeTextExplainer(
        split_expression=" ", bow=False, class_names=["score"], random_state=np.random.RandomState(seed), **options
    )
    n = len(split_words(text))
    found = explainer.explain_instance(text, predict, labels=(0,), num_features=n, num_samples=100)
    coefficients = np.zeros(n)
    for word, coefficient in found.as_map()[0]:
        coefficients[word] = coefficient
    return asked, coefficients


@pytest.mark.parametrize("n", [1, 2, 5, 7, 25, 60, 120, 130])
def test_lime_itself_on_its_own_random_stream(n):
    words = side(n)
    texts, expected = lime_itself(join_words(words), hash_scores, seed=n)
    keep = np.array([[a == b for a, b in zip(words, split_words(text), strict=True)] for text in texts])
    plan = Plan(words, keep=keep, replacement="UNKWORDZ")
    assert plan.render() == texts
    assert np.abs(Lime().attribute(plan, hash_scores(texts)) - expected).max() <= 1e-12


def test_another_kernel_width_reaches_both_alike():
    words = side(12)
    texts, expected = lime_itself(join_words(words), hash_scores, seed=3, kernel_width=60)
    keep = np.array([[a == b for a, b in zip(words, split_words(text), strict=True)] for text in texts])
    found = Lime(kernel_width=60.0).attribute(Plan(words, keep=keep, replacement="UNKWORDZ"), hash_scores(texts))
    assert np.abs(found - expected).max() <= 1e-12


@pytest.fixture(scope="module")
def real_sides(data_dir):
    """(words, sentence BLEU of texts in their place) of 60 segments of WMT17."""
    from sacrebleu.metrics import BLEU

    from bmx_grid.core.configure import build, load_option
    from bmx_grid.datasets.base import DatasetReader

    bleu = BLEU(smooth_method="add-k", effective_order=True)
    reader = build(load_option("dataset", "wmt17"), DatasetReader, "dataset.wmt17")
    segments = reader.read(data_dir, "zh-en").segments[:30] + reader.read(data_dir, "cs-en").segments[:30]

    def scorer(reference):
        return lambda texts: np.array([bleu.sentence_score(text, [reference]).score for text in texts]) / 100

    return [(split_words(segment.hypothesis), scorer(segment.reference)) for segment in segments]


def test_lime_itself_on_its_own_random_stream_on_real_segments(real_sides):
    worst = 0.0
    for row, (words, score) in enumerate(real_sides):
        scored = []

        def keeping(texts, score=score, scored=scored):
            scored.append(score(texts))
            return scored[-1]

        texts, expected = lime_itself(join_words(words), keeping, seed=row)
        keep = np.array([[part != "UNKWORDZ" for part in split_words(text)] for text in texts])
        plan = Plan(words, keep=keep, replacement="UNKWORDZ")
        assert plan.render() == texts
        worst = max(worst, np.abs(Lime().attribute(plan, scored[0]) - expected).max())
    assert worst <= 1e-12


def test_the_solution_is_that_of_the_normal_equations_with_intercept():
    keep = draw_masks(4, 30, generator(1))
    scores = hash_scores(map(str, range(30)))
    weights = np.sqrt(np.exp(-((100 * (1 - np.sqrt(keep.mean(axis=1)))) ** 2) / 25**2))
    design = np.column_stack([np.ones(30), keep])
    penalty = np.diag([0.0, 2.0, 2.0, 2.0, 2.0])
    expected = np.linalg.solve(design.T @ (weights[:, None] * design) + penalty, design.T @ (weights * scores))
    assert solve(keep, scores, 25.0, 2.0) == pytest.approx(expected[1:], abs=1e-12)


def test_the_dual_and_the_normal_equations_agree_where_they_meet():
    keep = draw_masks(40, 40, generator(2))
    scores = hash_scores(map(str, range(40)))
    doubled = np.repeat(keep, 2, axis=1)  # 80 columns: the dual; a word given twice shares its coefficient
    halves = solve(doubled, scores, 25.0, 1.0).reshape(40, 2)
    assert halves[:, 0] == pytest.approx(halves[:, 1], abs=1e-13)
    assert halves.sum(axis=1) == pytest.approx(solve(keep, scores, 25.0, 0.5), abs=1e-12)


@pytest.mark.parametrize("n", [1, 5, 25, 150])
@pytest.mark.parametrize("score", [0.0, 0.1, 1 / 3, 97.3])
def test_scores_that_do_not_differ_give_exact_zeros(n, score):
    plan = Lime().plan(side(n), generator(0))
    assert Lime().attribute(plan, np.full(100, score)).tolist() == [0.0] * n


def test_sizes_are_uniform_like_limes():
    stats = pytest.importorskip("scipy.stats")
    n, samples = 10, 20_000
    ours = np.bincount(n - draw_masks(n, samples + 1, generator(4))[1:].sum(axis=1), minlength=n + 1)
    assert ours[0] == 0
    assert stats.chisquare(ours[1:]).pvalue > 0.01
    theirs = np.bincount(np.random.RandomState(4).randint(1, n + 1, samples), minlength=n + 1)  # as lime draws
    assert stats.chi2_contingency([ours[1:], theirs[1:]]).pvalue > 0.01


def test_every_subset_of_one_size_is_as_likely():
    stats = pytest.importorskip("scipy.stats")
    masks = draw_masks(6, 20_001, generator(5))[1:]
    hidden = [tuple(np.flatnonzero(~row)) for row in masks if row.sum() == 4]
    counts = [hidden.count(pair) for pair in combinations(range(6), 2)]
    assert sum(counts) == len(hidden)
    assert stats.chisquare(counts).pvalue > 0.01
