"""Pearson's r of pairwise differences within sources, against loops over pairs."""

import itertools

import numpy as np
import pytest
from scipy.stats import rankdata

from bmx_grid.measures.pairwise import PairedSources, pairwise_correlations

RNG = np.random.default_rng(8)
ITEMS = np.repeat(np.arange(12), [1, 2, 3, 4, 2, 1, 5, 2, 3, 2, 2, 3])
HUMAN = RNG.normal(size=len(ITEMS))
SCORES = HUMAN[:, None] * [1.0, -0.2] + RNG.normal(size=(len(ITEMS), 2))


def by_pairs(scores, human, times):
    """Over both orders of each pair, each source as often as it counts."""
    left, right = [], []
    for item in range(12):
        rows = np.flatnonzero(item == ITEMS)
        for i, j in itertools.permutations(rows, 2):
            left += [scores[i] - scores[j]] * times[item]
            right += [human[i] - human[j]] * times[item]
    return np.corrcoef(left, right)[0, 1]


@pytest.mark.parametrize("kind", ["pearson", "spearman"])
def test_it_is_pearsons_r_of_all_differences_of_outputs_for_one_source(kind):
    sources = PairedSources.from_codes(kind, HUMAN, ITEMS, ITEMS)
    assert len(sources.first) == 10, "two sources have one output"
    times = RNG.integers(0, 3, size=12)
    drawn = np.column_stack([np.ones(len(ITEMS)), times[ITEMS]]).astype(float)
    correlations = sources.correlations(SCORES, drawn[sources.first])
    transform = (lambda values: values) if kind == "pearson" else rankdata
    for place, scores in enumerate(SCORES.T):
        expected = [by_pairs(transform(scores), transform(HUMAN), counts) for counts in (np.ones(12, dtype=int), times)]
        np.testing.assert_allclose(correlations[place], expected, atol=1e-12)


def test_what_a_source_has_in_common_cancels():
    shifted = HUMAN + 100 * ITEMS
    sources = PairedSources.from_codes("pearson", shifted, ITEMS, ITEMS)
    assert sources.correlations(HUMAN[:, None], np.ones((10, 1)))[0, 0] == pytest.approx(1)
    assert np.isnan(sources.correlations(ITEMS[:, None] * 1.0, np.ones((10, 1)))[0, 0])


def test_a_source_in_several_clusters_is_left_out():
    clusters = ITEMS.copy()
    clusters[ITEMS == 3] = [3, 3, 3, 99]
    assert len(PairedSources.from_codes("pearson", HUMAN, ITEMS, clusters).first) == 9


def test_its_interval_holds_the_truth_and_unrated_segments_are_left_out():
    rng = np.random.default_rng(1)
    items = np.repeat(np.arange(60), 4)
    held = 0
    for _ in range(100):
        human = rng.normal(size=240)
        scores = human[:, None] + rng.normal(size=(240, 2))
        ((_, low, high, *_), _) = pairwise_correlations(scores, human, items, items, 200, 3)
        held += low < np.sqrt(0.5) < high
    assert 88 <= held <= 100, "of 95 % intervals; three standard errors are 6.5"
    human[:4] = scores[4:7, 1] = np.nan
    value, _, _, *counts = pairwise_correlations(scores, human, items, items)[0]
    known = np.isfinite(human) & np.isfinite(scores).all(axis=1)
    differences = [
        (scores[i, 0] - scores[j, 0], human[i] - human[j])
        for i, j in itertools.permutations(np.flatnonzero(known), 2)
        if items[i] == items[j]
    ]
    assert value == pytest.approx(np.corrcoef(np.array(differences).T)[0, 1], abs=1e-12)
    assert counts == [59, 1, 233]
