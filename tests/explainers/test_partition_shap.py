"""Partition SHAP against the library shap, on the same hierarchy of neighbouring words."""

import numpy as np
import pytest
from explaining import explained, generator, hash_scores, side

from bmx_grid.explainers.partition_shap import PartitionShap
from bmx_grid.words.perturbation import join_words


def clusters(n, parts):
    """shap's table of clusters: two children, a distance (below 0 for a part that stays whole), a size."""
    kept_whole = {(part.start, part.stop) for part in parts}
    rows = []

    def add(start, stop, inside):
        if stop - start == 1:
            return start
        inside = inside or (start, stop) in kept_whole
        middle = (start + stop) // 2
        children = add(start, middle, inside), add(middle, stop, inside)
        rows.append([*children, -1.0 if inside else 1.0, stop - start])
        return n + len(rows) - 1

    add(0, n, False)
    return np.array(rows)


@pytest.mark.parametrize(
    ("n", "max_evals", "n_parts"), [(2, 500, 2), (7, 500, 7), (26, 500, 26), (27, 500, 26), (40, 172, 16), (9, 2, 1)]
)
def test_shap_itself_on_the_same_hierarchy(n, max_evals, n_parts):
    from shap.explainers import Partition

    words = side(n)
    plan, values = explained(PartitionShap(max_evals=max_evals), words)
    assert len(plan.design) == n_parts
    assert len(plan) == PartitionShap(max_evals=max_evals).count_texts(n) <= max_evals

    def masker(mask, row):
        return (np.array([join_words([word if kept else "UNKWORDZ" for word, kept in zip(words, mask, strict=True)])]),)

    masker.clustering = clusters(n, plan.design)
    state = np.random.get_state()  # noqa: NPY002
    expected = Partition(hash_scores, masker)(np.ones((1, n)), max_evals=10**6, silent=True).values[0]
    np.random.set_state(state)  # noqa: NPY002
    assert np.abs(values - expected).max() <= 1e-12


def test_values_add_up_to_the_rise_from_the_masked_side():
    explainer = PartitionShap()
    plan = explainer.plan(side(33), generator(0))
    scores = hash_scores(plan.render())
    assert explainer.attribute(plan, scores).sum() == pytest.approx(scores[0] - scores[1], abs=1e-12)
    assert explainer.attribute(plan, np.full(len(plan), 0.1)).tolist() == [0.0] * 33


def test_one_word_and_documents():
    assert explained(PartitionShap(), side(1))[1].shape == (1,)
    assert len(explained(PartitionShap(), side(1000))[0]) <= 500
