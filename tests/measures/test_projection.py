"""Correlations of many segments under resamples, as linear in the weights."""

import numpy as np
import pytest

from bmx_grid.measures import grouped
from bmx_grid.measures.correlations_of_resamples import weighted_correlations
from bmx_grid.measures.projection import influences
from bmx_grid.measures.resampling import BUNDLES, MOST_UNITS, bundle_clusters

KINDS = ("pearson", "spearman", "kendall")
RNG = np.random.default_rng(3)
HUMAN = RNG.normal(size=400).round(1)  # with ties
SCORES = (HUMAN / 2 + RNG.normal(size=400)).round(1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_projection_is_the_slope_in_the_weight_of_each_pair(kind):
    moves = influences(kind, SCORES, HUMAN)
    more = 1e-5
    times = np.ones((400, 4))
    for column, place in enumerate((0, 5, 77)):
        times[place, column + 1] += more
    reached = weighted_correlations(kind, SCORES[:, None], HUMAN, times)[0]
    assert np.allclose((reached[1:] - reached[0]) / more, moves[[0, 5, 77]], rtol=1e-3, atol=1e-7)
    assert abs(moves.sum()) < 1e-12
    assert np.isnan(influences(kind, np.ones(400), HUMAN)).all()


def test_intervals_of_many_segments_are_those_of_few(monkeypatch):
    """Projected and computed in each resample, in all segments and within groups of one cluster or of several."""
    human = RNG.normal(size=3000)
    scores = np.column_stack([human / 2 + RNG.normal(size=3000), RNG.normal(size=3000)])
    clusters = np.arange(3000) // 4
    monkeypatch.setattr(grouped, "FEWEST_PROJECTED", 500)
    for groups in (np.zeros(3000, np.int64), np.arange(3000) % 3, clusters):
        exact = grouped.grouped_correlations(KINDS, scores, human, groups, clusters, 300, 0)
        with monkeypatch.context() as patch:
            patch.setattr(grouped, "MOST_EXACT", 1)
            linear = grouped.grouped_correlations(KINDS, scores, human, groups, clusters, 300, 0)
        for of_exact, of_linear in zip(exact, linear, strict=True):
            for kind in KINDS:
                assert of_exact[kind][0] == of_linear[kind][0]
                assert np.allclose(of_exact[kind], of_linear[kind], atol=0.004), kind


def test_bundles_are_of_many_clusters_only():
    few = np.arange(MOST_UNITS)
    assert bundle_clusters(few) is few
    many = bundle_clusters(np.arange(MOST_UNITS + 1).repeat(2))
    assert many.max() == BUNDLES - 1 and (many[::2] == many[1::2]).all()
    assert np.ptp(np.bincount(many)) <= 2


def test_projected_intervals_hold_the_truth_about_19_times_in_20(monkeypatch):
    """200 data sets of 1,000 clusters of two segments, normal scores that share a part within a cluster."""
    monkeypatch.setattr(grouped, "MOST_EXACT", 1)
    rng = np.random.default_rng(7)
    clusters = np.arange(2000) // 2
    one_group = np.zeros(2000, np.int64)
    # of two normal variables with correlation .5
    truth = {"pearson": 0.5, "spearman": 6 / np.pi * np.arcsin(0.25), "kendall": 1 / 3}
    held = dict.fromkeys(KINDS, 0)
    for _ in range(200):
        # half of the variance lies between clusters
        parts = rng.normal(size=(2, 1000))[:, clusters] + rng.normal(size=(2, 2000))
        human = parts[0]
        scores = parts[0] / 2 + parts[1] * np.sqrt(0.75)
        # The same seed, so that clusters are drawn once for all data sets.
        results = grouped.grouped_correlations(KINDS, scores[:, None], human, one_group, clusters, 500, 0)[0]
        for kind in KINDS:
            _, low, high, *_ = results[kind]
            held[kind] += low < truth[kind] < high
    for kind in KINDS:
        assert 0.93 <= held[kind] / 200 <= 0.97, (kind, held)
