"""The selection-adjusted test: the arithmetic against resampled judgements, its size, its power."""

import dataclasses
import itertools

import numpy as np
import pytest
from scipy import stats
from some_grids import W, segments

from bmx_grid.measures.aggregation import PRECISION
from bmx_grid.measures.correlation import correlate, correlate_grid
from bmx_grid.measures.grid_resampling import Sample, _largest_gains, _one_by_one, selection_adjusted


def sample_of(*args, kind="pearson", **options):
    means, base, human, cluster = segments(*args, **options)
    return Sample.of(means, base, human, W, cluster, kind=kind)


def every_sign(clusters):
    return np.array(list(itertools.product([-1.0, 1.0], repeat=clusters)))


def flipped(sample, signs):
    """Human scores with the residuals' signs flipped by cluster, their tie to the base score as it was."""
    line = stats.linregress(sample.base, sample.human)
    fit = line.intercept + line.slope * sample.base
    error = sample.human - fit
    new = error * signs[sample.cluster]
    again = stats.linregress(sample.base, new)
    new = new - again.intercept - again.slope * sample.base
    return fit + new * np.linalg.norm(error) / np.linalg.norm(new)


def of_a_metric_that_is_wrong(n=8):
    """Means, and people, against the base score: where the means turn it round, the correlation rises."""
    means, base, human, cluster = segments(n=n, added=0.3)
    return Sample.of(2 - means - 0.5 * base[:, None], base, human - 2 * base, W, cluster)


@pytest.mark.parametrize(
    "sample",
    [
        pytest.param(sample_of(n=8, added=0.3), id="segments"),
        pytest.param(sample_of(n=40, clusters=6, added=0.3), id="clusters"),
        pytest.param(of_a_metric_that_is_wrong(), id="a negative correlation"),
    ],
)
def test_largest_gains_are_those_of_the_grids_of_flipped_judgements(sample):
    signs = every_sign(sample.clusters)
    expected = []
    for row in signs:
        human = flipped(sample, row)
        alone = correlate("pearson", sample.base, human)
        assert alone == pytest.approx(sample.baseline, abs=1e-12)  # the baseline is kept
        expected.append(np.nanmax(correlate_grid("pearson", sample.means, sample.base, human, W)) - alone)
    np.testing.assert_allclose(_largest_gains(sample, signs), expected, atol=1e-12)


@pytest.mark.parametrize("power", [-12, 12])
def test_gains_of_means_close_to_the_metric_keep_their_digits_at_any_scale(power):
    """Scores times a power of 2 have the same digits; the gains are of the size of what the means add."""
    means, base, human, cluster = segments(n=8, added=0.3)
    means = base[:, None] + 1e-7 * (means - base[:, None])
    signs = every_sign(8)
    one, other = (
        _largest_gains(Sample.of(scale * means, scale * base, human, W, cluster), signs) for scale in (1, 2.0**power)
    )
    assert 1e-10 < one.max() < 1e-6
    np.testing.assert_allclose(other, one, rtol=1e-12)


@pytest.mark.parametrize("kind", ["spearman", "kendall"])
@pytest.mark.parametrize("clusters", [12, 5], ids=["segments", "clusters"])
def test_largest_gains_of_rank_correlations_are_those_of_flipped_ranks(kind, clusters):
    sample = sample_of(n=12, clusters=clusters, added=0.5, kind=kind)
    ranked = dataclasses.replace(sample, base=stats.rankdata(sample.base), human=stats.rankdata(sample.human))
    signs = np.random.default_rng(4).choice([-1.0, 1.0], size=(20, sample.clusters))
    signs = signs[np.abs(signs.sum(axis=1)) < sample.clusters]  # all of one sign change nothing but the direction
    expected = []
    for row in signs:
        human = flipped(ranked, row)
        alone = correlate(kind, sample.base, human)
        expected.append(np.nanmax(correlate_grid(kind, sample.means, sample.base, human, W, PRECISION)) - alone)
    np.testing.assert_allclose(_one_by_one(sample, signs), expected, atol=1e-12)


def test_unflipped_judgements_give_the_observed_gain():
    sample = sample_of(added=0.5)
    assert _largest_gains(sample, np.ones((1, 60)))[0] == pytest.approx(selection_adjusted(sample, 9).gain, abs=1e-13)


def test_p_is_that_of_all_flips():
    sample = sample_of(n=40, clusters=9, added=0.4, seed=3)
    gain = sample.correlation.max() - sample.baseline
    expected = np.mean(_largest_gains(sample, every_sign(sample.clusters)) >= gain - 1e-12)
    assert 0.01 < expected < 0.5
    found = selection_adjusted(sample, 4000).p
    assert abs(found - expected) < 4 * np.sqrt(expected * (1 - expected) / 4000) + 1 / 4000


def rejected(trials, *, by_row=False, level=0.05, **options):
    """How often the test rejects."""
    count = 0
    for seed in range(trials):
        means, base, human, cluster = segments(seed=seed + 1000, **options)
        unit = np.arange(len(base)) if by_row else cluster
        count += selection_adjusted(Sample.of(means, base, human, W, unit), 199, seed).p <= level
    return count / trials


@pytest.mark.parametrize("options", [{"n": 80}, {"n": 150, "clusters": 60}], ids=["segments", "unequal clusters"])
def test_size_on_the_whole_grid(options):
    """Nothing is added: rejected in 5 % of 800 data sets, within three standard errors."""
    assert abs(rejected(800, **options) - 0.05) < 3 * np.sqrt(0.05 * 0.95 / 800)


def test_flipping_rows_instead_of_clusters_rejects_too_often():
    assert rejected(150, n=150, clusters=60, by_row=True) > 0.15


def test_size_when_errors_grow_with_the_score():
    """Errors of unequal size, where permuting residuals would not keep the size."""
    rng, count = np.random.default_rng(0), 0
    for seed in range(500):
        means, base, _, cluster = segments(n=80, seed=seed)
        human = 0.5 * base + rng.normal(size=80) * np.exp(0.7 * base)
        count += selection_adjusted(Sample.of(means, base, human, W, cluster), 199, seed).p <= 0.05
    assert abs(count / 500 - 0.05) < 3 * np.sqrt(0.05 * 0.95 / 500)


def test_what_is_added_is_found():
    assert rejected(40, n=150, added=0.5) > 0.9


@pytest.mark.parametrize("kind", ["spearman", "kendall"])
def test_rank_correlations(kind):
    added = selection_adjusted(sample_of(n=80, added=0.8, kind=kind), 99)
    assert added.p == 0.01 and added.gain > np.quantile(added.null, 0.95) > 0
    nothing = [selection_adjusted(sample_of(n=40, seed=seed, kind=kind), 49).p for seed in range(40)]
    assert np.mean(np.array(nothing) <= 0.2) < 0.2 + 3 * np.sqrt(0.16 / 40)


def test_where_the_base_score_is_best_nothing_is_gained():
    means, base, human, cluster = segments()
    means = np.random.default_rng(1).normal(size=means.shape) * 30
    found = selection_adjusted(Sample.of(means, base, base + 0.01 * human, W, cluster), 49)
    assert (found.gain, found.row, found.w, found.p) == (0, -1, 1, 1)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda m, b, h, c: (m, b, h * 0, c), id="constant judgements"),
        pytest.param(lambda m, b, h, c: (m, b * 0, h, c), id="constant base score"),
        pytest.param(lambda m, b, h, c: (m, b, 2 * b, c), id="a perfect base score"),
        pytest.param(lambda m, b, h, c: (m, b, h, c % 2), id="two clusters"),
        pytest.param(lambda m, b, h, c: (m[:0], b[:0], h[:0], c[:0]), id="no segment"),
    ],
)
def test_nothing_to_test_is_nan(change):
    means, base, human, cluster = change(*segments())
    found = selection_adjusted(Sample.of(means, base, human, W, cluster), 19)
    assert np.isnan([found.p, found.gain]).all()
    assert found.row == -1
