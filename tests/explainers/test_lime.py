"""LIME against the library lime: same masks, same texts, same coefficients."""

from itertools import combinations

import numpy as np
import pytest
from explaining import generator, hash_scores, side
from fakes import HashMetric

from bmx_grid.attribution.explain import explain_items
from bmx_grid.core.identity import digest
from bmx_grid.explainers.lime import Lime, draw_masks, solve
from bmx_grid.explainers.shap import Shap
from bmx_grid.words.perturbation import Item, Plan, join_words
from bmx_grid.words.segmentation import split_words


def lime_itself(text, score, seed, width, alpha):
    """lime's texts and its coefficients by position, from one ordinary call of the library."""
    from lime.lime_text import LimeTextExplainer
    from sklearn.linear_model import Ridge

    asked = []

    def predict(texts):
        asked.extend(texts)
        return score(texts)[:, None]

    settings = {"split_expression": " ", "bow": False, "class_names": ["score"], "kernel_width": width}
    explainer = LimeTextExplainer(**settings, random_state=np.random.RandomState(seed))
    n = len(split_words(text))
    asked_for = {"labels": (0,), "num_features": n, "num_samples": 100, "model_regressor": Ridge(alpha=alpha)}
    explanation = explainer.explain_instance(text, predict, **asked_for)
    coefficients = np.zeros(n)
    for word, coefficient in explanation.as_map()[0]:
        coefficients[word] = coefficient
    return asked, coefficients


@pytest.mark.parametrize(
    ("n", "width", "alpha"),
    [*((n, 25.0, 1.0) for n in (1, 7, 60, 130)), (12, 60.0, 1.0), (12, 25.0, 3.0)],
)
def test_lime_itself_on_its_own_random_stream(n, width, alpha):
    words = side(n)
    texts, expected = lime_itself(join_words(words), hash_scores, n, width, alpha)
    keep = np.array([[a == b for a, b in zip(words, split_words(text), strict=True)] for text in texts])
    plan = Plan(words, keep=keep, replacement="UNKWORDZ")
    assert plan.render() == texts
    coefficients = Lime(kernel_width=width, alpha=alpha).attribute(plan, hash_scores(texts))
    assert np.abs(coefficients - expected).max() <= 1e-12


@pytest.mark.parametrize("backend", ["lime", "shap"])
def test_the_libraries_explain_the_same_items_as_the_batched_engines(backend):
    kind = {"lime": Lime, "shap": Shap}[backend]
    items = [Item(source="UNKWORDZ a  b 1 a", hypothesis=" ".join(side(n))) for n in (1, 6, 30)]
    batched, by_library = kind(), kind(backend="library")
    assert digest(batched.fingerprint()) != digest(by_library.fingerprint())
    expected = explain_items(HashMetric(), batched, items, seed=3)
    explanations = explain_items(HashMetric(), by_library, items, seed=3)
    for explanation, of_engine in zip(explanations, expected, strict=True):
        for role, values in explanation.attributions.items():
            assert np.abs(values - of_engine.attributions[role]).max() <= 1e-12


def test_identities_are_those_of_older_caches():
    assert digest(Lime().fingerprint()).startswith("42e9c4d32add")
    assert digest(Shap().fingerprint()).startswith("005ed209e43d")


def test_the_dual_and_the_normal_equations_agree_where_they_meet():
    keep = draw_masks(40, 40, generator(2))
    scores = hash_scores(map(str, range(40)))
    doubled = np.repeat(keep, 2, axis=1)  # 80 columns: the dual; a word given twice shares its coefficient
    halves = solve(doubled, scores, 25.0, 1.0).reshape(40, 2)
    assert halves[:, 0] == pytest.approx(halves[:, 1], abs=1e-13)
    assert halves.sum(axis=1) == pytest.approx(solve(keep, scores, 25.0, 0.5), abs=1e-12)


@pytest.mark.parametrize(("n", "score"), [(1, 0.1), (25, 97.3), (150, 1 / 3)])
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
