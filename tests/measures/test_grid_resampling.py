"""Cross-fitted scores against plain loops over the same draws, and what they must not see."""

import numpy as np
import pytest
from some_grids import W, segments

from bmx_grid.core.ragged import Ragged
from bmx_grid.measures.correlation import correlate
from bmx_grid.measures.grid import GridSpec, compute_grid, grid_inputs
from bmx_grid.measures.grid_resampling import Sample, cross_fit, selection_adjusted


def sample_of(kind="pearson", **options):
    means, base, human, cluster = segments(**options)
    return Sample.of(means, base, human, W, cluster, kind=kind)


def test_choosing_not_to_boost_gains_nothing():
    means, base, human, cluster = segments()
    useless = 1e3 * np.random.default_rng(0).normal(size=means.shape)
    fit = cross_fit(Sample.of(useless, base, base + 0.1 * human, [0.0, 0.5], cluster))
    assert (fit.scores == base).all() and (fit.w == 1).all() and (fit.rows == -1).all()


def test_in_sample_gains_are_larger_than_cross_fitted_ones():
    chosen, held = [], []
    for seed in range(20):
        sample = sample_of(n=60, seed=seed)
        chosen.append(selection_adjusted(sample, 1).gain)
        held.append(correlate("pearson", cross_fit(sample).scores, sample.human) - sample.baseline)
    assert min(chosen) >= 0 and np.mean(chosen) > 0.005
    assert np.mean(held) < 0


@pytest.mark.parametrize("clusters", [None, 12, 5])
def test_folds_keep_clusters_whole_and_are_of_nearly_equal_size(clusters):
    sample = sample_of(n=200, clusters=clusters)
    found = cross_fit(sample)
    assert len(set(zip(sample.cluster.tolist(), found.fold.tolist(), strict=True))) == sample.clusters
    assert len(found.w) == len(set(found.fold)) == min(10, sample.clusters)
    if clusters is None:
        assert set(np.bincount(found.fold)) == {20}


@pytest.mark.parametrize("folds", [2, 3])
def test_so_many_folds_are_dealt_as_are_asked_for(folds):
    found = cross_fit(sample_of(n=60), folds)
    assert np.bincount(found.fold).tolist() == [60 // folds] * folds
    assert len(found.w) == folds and np.isfinite(found.scores).all()


def test_large_clusters_are_dealt_first():
    """Ten clusters of 10 and ten of 1 in ten folds: 11 segments in each."""
    means, base, human, _ = segments(n=110)
    cluster = np.append(np.repeat(np.arange(10), 10), np.arange(10, 20))
    assert (np.bincount(cross_fit(Sample.of(means, base, human, W, cluster)).fold) == 11).all()


def test_a_fold_learns_nothing_from_its_own_judgements():
    means, base, human, cluster = segments(n=80, clusters=30, added=0.4)
    before = cross_fit(Sample.of(means, base, human, W, cluster))
    for number in range(len(before.w)):
        inside = before.fold == number
        changed = np.where(inside, -5 * human + 3 * means[:, 0], human)
        after = cross_fit(Sample.of(means, base, changed, W, cluster))
        assert (after.rows[number], after.w[number]) == (before.rows[number], before.w[number])
        assert (after.scores[inside] == before.scores[inside]).all()
        assert len(set(zip(after.rows, after.w, strict=True)) | set(zip(before.rows, before.w, strict=True))) > 1


def test_cross_fitted_scores_are_the_chosen_points_in_units_of_the_base_score():
    sample = sample_of(n=100, added=0.6)
    found = cross_fit(sample)
    for number, (row, w) in enumerate(zip(found.rows, found.w, strict=True)):
        scores = w * sample.base + (1 - w) * sample.means[:, row]
        scores = (scores - scores.mean()) / scores.std() * sample.base.std() + sample.base.mean()
        inside = found.fold == number
        np.testing.assert_allclose(found.scores[inside], scores[inside], atol=1e-12)


def test_a_fold_that_the_others_choose_nothing_for_has_no_point():
    """Without two different human scores outside a fold, no correlation is defined there."""
    means, base, human, _ = segments(n=30, added=0.3)
    human[10:] = 0.5
    found = cross_fit(Sample.of(means, base, human, W, np.repeat([0, 1, 2], 10)))
    undefined = np.arange(len(found.w)) == found.fold[0]
    assert undefined.sum() == 1
    assert np.isnan(found.w).tolist() == (found.rows < 0).tolist() == undefined.tolist()
    assert np.isnan(found.scores).tolist() == [row < 10 for row in range(30)]


def test_another_seed_draws_otherwise_and_the_same_seed_alike():
    sample = sample_of(clusters=20, added=0.3)
    parts = (
        lambda seed: selection_adjusted(sample, 50, seed).null,
        lambda seed: cross_fit(sample, 4, seed).fold,
    )
    for part in parts:
        assert (part(3) == part(3)).all()
        assert (part(3) != part(4)).any()


def test_not_to_boost_is_always_a_candidate():
    means, base, human, cluster = segments()
    assert Sample.of(means, base, human, [0.0, 0.5], cluster).w.tolist() == [0, 0.5, 1]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda m, b, h, c: (m, b, h * 0, c), id="constant judgements"),
        pytest.param(lambda m, b, h, c: (m, b, h, c % 2), id="two clusters"),
        pytest.param(lambda m, b, h, c: (m[:0], b[:0], h[:0], c[:0]), id="no segment"),
    ],
)
def test_nothing_to_resample_is_nan(change):
    means, base, human, cluster = change(*segments())
    sample = Sample.of(means, base, human, W, cluster)
    assert np.isnan([*cross_fit(sample).scores, selection_adjusted(sample, 20).p]).all()


def test_the_means_are_those_of_the_grid():
    """`grid_inputs` hands out the used segments that `compute_grid` rests on."""
    rng = np.random.default_rng(0)
    rows = [Ragged.from_rows([rng.random(3) for _ in range(20)]) for _ in range(2)]
    base, human = rng.random((2, 20))
    human[4], base[9] = np.nan, np.nan
    spec = GridSpec(p=(-1.0, 0.0, 2.0))
    given = grid_inputs(spec, base, *rows, human)
    assert given.means.shape == (18, 3) and given.used.sum() == 18 and given.n_rated == 19
    sample = Sample.of(given.means, given.base, given.human, spec.w, np.arange(18))
    assert (sample.correlation == compute_grid(spec, base, *rows, human).correlation).all()
