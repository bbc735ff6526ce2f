"""Partial correlations given a nuisance, against plain refits, statsmodels and planted truths."""

import dataclasses

import numpy as np
import pytest
import scipy.stats

from bmx_grid.measures import kernel_ridge, partial_correlation
from bmx_grid.measures.kernel_ridge import (
    N_PARTS,
    RIDGES,
    _errors_from_parts,
    _errors_without_cluster,
    residuals,
)
from bmx_grid.measures.kernels import MIXTURES, Kernels, Nuisance
from bmx_grid.measures.partial_correlation import partial_correlations

N = 120


def nuisance(rng, n=N, texts=4, **more):
    return Nuisance(rng.normal(size=(n, 3)), rng.normal(size=(n, texts)), **more)


def clusters_of(n, size=1):
    return np.arange(n) // size


def extrapolated(*given):
    return [found for found, _ in partial_correlations(*given)]


def test_residuals_are_those_of_a_refit_without_each_cluster():
    rng = np.random.default_rng(0)
    inside = nuisance(rng, groups=(np.arange(N) % 5,))
    targets, clusters = rng.normal(size=(N, 2)), clusters_of(N, 3)
    for mixture in range(len(MIXTURES)):
        kernel = Kernels(inside).mixture(mixture, 0.3)
        left = _errors_without_cluster(kernel, 0.3, targets, clusters)
        for cluster in (0, 17):
            out = clusters == cluster
            fitted = np.linalg.solve(kernel[np.ix_(~out, ~out)] + 0.3 * np.eye((~out).sum()), targets[~out])
            expected = targets[out] - kernel[np.ix_(out, ~out)] @ fitted
            np.testing.assert_allclose(left[out], expected, atol=1e-6)  # conditions of up to 1e8


def test_residuals_from_parts_are_those_of_a_fit_on_each_other_part():
    rng = np.random.default_rng(13)
    inside, targets = nuisance(rng), rng.normal(size=(N, 2))
    kernel = Kernels(inside).mixture(1)
    divisions = [rng.integers(N_PARTS, size=N), np.arange(N) % (N_PARTS - 1)]  # the last part of the second is empty
    found = _errors_from_parts(kernel, 0.3, targets, divisions).reshape(2, N_PARTS - 1, N, 2)
    for errors, division in zip(found, divisions, strict=True):
        of_segment = [[] for _ in range(N)]
        for part in range(N_PARTS):
            inner = division == part
            fitted = np.linalg.solve(kernel[np.ix_(inner, inner)] + 0.3 * np.eye(inner.sum()), targets[inner])
            for row in np.flatnonzero(~inner):
                of_segment[row].append(targets[row] - kernel[row, inner] @ fitted)
        np.testing.assert_allclose(np.sort(errors, axis=0), np.sort(of_segment, axis=1).transpose(1, 0, 2), atol=1e-6)


def test_the_choice_is_the_one_with_the_smallest_error_of_left_out_segments():
    rng = np.random.default_rng(1)
    inside, targets = nuisance(rng), rng.normal(size=(N, 1))
    targets[:, 0] += np.sign(inside.core[:, 0]) * np.sign(inside.core[:, 1])
    ((choice,), kernels) = kernel_ridge._choose(inside, targets)
    kernels, losses = Kernels(inside, kernels.weights), {}
    for mixture in range(len(MIXTURES)):
        for ridge in RIDGES:
            errors = _errors_without_cluster(kernels.mixture(mixture), ridge, targets, np.arange(N))
            losses[mixture, ridge] = np.sum(errors**2)
    assert (choice.mixture, choice.ridge) == min(losses, key=losses.get)


def test_within_strata_nothing_depends_on_what_is_added_to_a_stratum():
    rng = np.random.default_rng(2)
    strata = clusters_of(N, 4)
    inside = nuisance(rng, strata=strata)
    human, scores = rng.normal(size=N), rng.normal(size=(N, 1))
    scores[:, 0] += human
    levels = 10 * rng.normal(size=(30, 2))[strata]
    (plain,) = extrapolated("pearson", inside, human, scores, strata, 0)
    (shifted,) = extrapolated("pearson", inside, human + levels[:, 0], scores + levels[:, 1:], strata, 0)
    assert plain.value == pytest.approx(shifted.value, abs=0.02)  # standard deviations of all segments choose a penalty
    assert plain.value > 0.5


def test_a_linear_nuisance_leaves_the_partial_correlation_of_least_squares():
    rng = np.random.default_rng(3)
    inside = nuisance(rng, n=900, texts=1)
    signal = rng.normal(size=900)
    human = inside.core @ [1.0, -0.5, 0.3] + signal + rng.normal(size=900)
    scores = (inside.core @ [0.2, 0.7, -1.0] + signal + rng.normal(size=900))[:, None]
    design = np.column_stack([np.ones(900), inside.core])
    left = [y - design @ np.linalg.lstsq(design, y, rcond=None)[0] for y in (human, scores[:, 0])]
    expected = scipy.stats.pearsonr(*left).statistic
    (found,) = extrapolated("pearson", inside, human, scores, clusters_of(900), 0)
    error = found.influence.std() / np.sqrt(900)
    assert found.value == pytest.approx(expected, abs=2 * error)
    # An extrapolation costs precision: that of the plain coefficient is its floor.
    assert 1 < error * np.sqrt(900) / (1 - expected**2) < 3
    assert found.explained == pytest.approx(1.34 / 3.34, abs=0.08)


@pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
def test_a_joint_effect_that_both_know_is_taken_off_and_a_signal_is_not(kind):
    rng = np.random.default_rng(4)
    inside = nuisance(rng, n=400)
    effect = np.sign(inside.core[:, 0]) * np.sign(inside.core[:, 1])
    signal = rng.normal(size=400)
    human = effect + 0.5 * signal + 0.8 * rng.normal(size=400)
    scores = np.column_stack([effect + 0.1 * rng.normal(size=400), effect + signal])
    found = partial_correlations(kind, inside, human, scores, clusters_of(400), 0)
    known, more = (low for low, _ in found)
    alone = scipy.stats.pearsonr(scores[:, 0], human).statistic
    assert alone > 0.5, "the case can tell"
    assert known.value < 0 < 0.1 < more.value, "the misfit of a learner lowers a partial correlation"
    for low, high in found:
        assert low.value < high.value, "it raises the correlation of the residuals"


@pytest.mark.parametrize("factor", [1e-200, 1e-9, 1e9, 1e140])
def test_the_scale_of_scores_changes_nothing(factor):
    rng = np.random.default_rng(5)
    inside, human = nuisance(rng), rng.normal(size=N)
    scores = human[:, None] + rng.normal(size=(N, 1))
    (plain,) = extrapolated("pearson", inside, human, scores, clusters_of(N), 0)
    (scaled,) = extrapolated("pearson", inside, human * factor, scores * factor, clusters_of(N), 0)
    assert scaled.value == pytest.approx(plain.value, abs=1e-6)  # kernels have conditions of up to 1e8


def test_the_influence_gives_the_variance_of_resampled_clusters():
    rng = np.random.default_rng(6)
    values, errors = [], []
    for _ in range(60):
        inside, human = nuisance(rng, texts=2), rng.normal(size=N)
        scores = 0.5 * human[:, None] + rng.normal(size=(N, 1))
        (found,) = extrapolated("pearson", inside, human, scores, clusters_of(N, 2), 0)
        by_cluster = np.bincount(clusters_of(N, 2), found.influence) / N
        values.append(found.value)
        errors.append(np.sqrt(np.sum(by_cluster**2)))
        assert abs(found.influence.sum()) < 1e-8
    # 60 samples know a standard deviation to about a tenth.
    assert np.std(values) == pytest.approx(np.mean(errors), rel=0.35)


def test_a_boost_that_is_the_metric_itself_has_exactly_nothing_left():
    rng = np.random.default_rng(7)
    inside, human = nuisance(rng), rng.normal(size=N)
    (found,) = extrapolated("pearson", inside, human, 3 * inside.core[:, :1] + 1, clusters_of(N), 0)
    assert found.value == 0 and not found.influence.any()


@pytest.mark.parametrize(
    ("human", "clusters"),
    [
        pytest.param(np.zeros(N), clusters_of(N), id="constant human scores"),
        pytest.param(np.arange(N) * 1.0, np.arange(N) % 11, id="eleven clusters: less than three in a quarter"),
    ],
)
def test_undefined_is_nan(human, clusters):
    (found,) = extrapolated("pearson", nuisance(np.random.default_rng(8)), human, human[:, None], clusters, 0)
    assert np.isnan(found.value) and np.isnan(found.influence).all()


def test_large_sets_are_fitted_in_blocks_of_whole_clusters(monkeypatch):
    rng = np.random.default_rng(9)
    inside, human = nuisance(rng, n=600), rng.normal(size=600)
    scores = human[:, None] + rng.normal(size=(600, 1))
    clusters = rng.permutation(clusters_of(600, 3))
    (whole,) = extrapolated("pearson", inside, human, scores, clusters, 0)
    monkeypatch.setattr(kernel_ridge, "LARGEST_FIT", 200)
    blocks = [rows for rows, _ in residuals(inside, human[:, None], clusters, [clusters % N_PARTS])]
    assert sorted(np.concatenate(blocks)) == list(range(600)) and len(blocks) == 3
    assert all(len(rows) <= 203 for rows in blocks)
    of_cluster = [set(clusters[rows]) for rows in blocks]
    assert not of_cluster[0] & of_cluster[1] and not of_cluster[1] & of_cluster[2]
    (in_blocks,) = extrapolated("pearson", inside, human, scores, clusters, 0)
    assert in_blocks.value == pytest.approx(whole.value, abs=3 * whole.influence.std() / np.sqrt(600))


def test_another_boost_beside_it_changes_nothing():
    rng = np.random.default_rng(10)
    inside, human = nuisance(rng), rng.normal(size=N)
    scores = human[:, None] + rng.normal(size=(N, 3))
    together = extrapolated("pearson", inside, human, scores, clusters_of(N), 0)
    for place, found in enumerate(together):
        (alone,) = extrapolated("pearson", inside, human, scores[:, [place]], clusters_of(N), 0)
        assert alone.value == pytest.approx(found.value, abs=1e-6)  # as above: rounding of another BLAS call


def test_more_divisions_come_nearer_to_one_value(monkeypatch):
    rng = np.random.default_rng(11)
    inside, human = nuisance(rng), rng.normal(size=N)
    scores = human[:, None] + 2 * rng.normal(size=(N, 1))
    spread = {}
    for divisions in (1, 12):
        monkeypatch.setattr(partial_correlation, "DIVISIONS", divisions)
        of_seeds = [extrapolated("pearson", inside, human, scores, clusters_of(N), seed)[0] for seed in range(8)]
        spread[divisions] = np.std([found.value for found in of_seeds])
    assert spread[12] < spread[1]


def test_other_metrics_are_controlled_for():
    rng = np.random.default_rng(12)
    inside, quality = nuisance(rng), rng.normal(size=N)
    human = quality + 0.5 * rng.normal(size=N)
    scores = (quality + 0.3 * rng.normal(size=N))[:, None]
    (alone,) = extrapolated("pearson", inside, human, scores, clusters_of(N), 0)
    with_metric = dataclasses.replace(inside, metrics=(quality + 0.01 * rng.normal(size=N))[:, None])
    (given,) = extrapolated("pearson", with_metric, human, scores, clusters_of(N), 0)
    assert alone.value > 0.6 and given.value < 0.35
