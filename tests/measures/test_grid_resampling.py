"""Resampled grids: cross-fitted scores and what they must not see; the selection-adjusted test, its size and power."""

import itertools

import numpy as np
import pytest
from scipy import stats

from bmx_grid.measures.correlation import correlate, correlate_grid
from bmx_grid.measures.grid_resampling import (
    FOLDS_PLACE,
    SIGN_CELLS,
    GridSample,
    cross_fit,
    largest_gains,
    selection_adjusted,
    signed_sums,
)
from bmx_grid.measures.resampling import assign_folds

W = np.array([0.0, 0.4, 0.8, 1.0])


def segments(n=60, p=7, seed=0, added=0.0, clusters=None):
    """means [n, p], base, human [n] and clusters: human = base + `added` times what the means add + noise.

    clusters: how many, of unequal size, with errors that their segments share; every segment its own without.
    """
    rng = np.random.default_rng(seed)
    cluster = np.arange(n) if clusters is None else np.sort(rng.integers(0, clusters, n) ** 2 // clusters)
    base = rng.normal(size=n)[cluster] + 0.2 * rng.normal(size=n)
    beyond = rng.normal(size=n)[cluster] + 0.2 * rng.normal(size=n)
    means = 0.5 + 0.2 * base[:, None] + beyond[:, None] * np.linspace(0.05, 0.4, p) + 0.1 * rng.normal(size=(n, p))
    error = rng.normal(size=n)
    if clusters is not None:
        error = rng.normal(size=n)[cluster] + 0.3 * error
    return means, base, 0.5 * base + added * beyond + error, cluster


def sample_of(**options):
    means, base, human, cluster = segments(**options)
    return GridSample(means, base, human, W, cluster)


def test_choosing_not_to_boost_gains_nothing():
    means, base, human, cluster = segments()
    useless = 1e3 * np.random.default_rng(0).normal(size=means.shape)
    sample = GridSample(useless, base, base + 0.1 * human, [0.0, 0.5], cluster)
    assert sample.w.tolist() == [0, 0.5, 1], "not to boost is always a candidate"
    assert (cross_fit(sample) == base).all()


@pytest.mark.parametrize("clusters", [None, 12, 5])
def test_folds_keep_clusters_whole_and_are_of_nearly_equal_size(clusters):
    cluster = sample_of(n=200, clusters=clusters).cluster
    fold = assign_folds(cluster, 10, np.random.default_rng(0))
    count = cluster.max() + 1
    assert len(set(zip(cluster.tolist(), fold.tolist(), strict=True))) == count
    assert len(set(fold)) == min(10, count)
    if clusters is None:
        assert set(np.bincount(fold)) == {20}


@pytest.mark.parametrize("clusters", [None, 30])
def test_each_fold_has_the_point_that_is_best_on_the_others_in_units_of_the_base_score(clusters):
    sample = sample_of(n=100, added=0.6, clusters=clusters)
    fold = assign_folds(sample.cluster, 10, np.random.default_rng([3, FOLDS_PLACE]))
    expected, points = np.empty(100), set()
    for number in range(10):
        others = fold != number
        grid = correlate_grid("pearson", sample.means[others], sample.base[others], sample.human[others], W)
        row, column = divmod(int(grid.argmax()), len(W))
        scores = W[column] * sample.base + (1 - W[column]) * sample.means[:, row]
        scores = (scores - scores.mean()) / scores.std() * sample.base.std() + sample.base.mean()
        expected[~others] = scores[~others]
        points.add((row, column))
    np.testing.assert_allclose(cross_fit(sample, seed=3), expected, atol=1e-12)
    assert len(points) > 1, "the case can tell"


def test_a_fold_that_the_others_choose_nothing_for_has_no_point():
    """Without two different human scores outside a fold, no correlation is defined there."""
    means, base, human, _ = segments(n=30, added=0.3)
    human[10:] = 0.5
    scores = cross_fit(GridSample(means, base, human, W, np.repeat([0, 1, 2], 10)))
    assert np.isnan(scores).tolist() == [row < 10 for row in range(30)]


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
    return GridSample(2 - means - 0.5 * base[:, None], base, human - 2 * base, W, cluster)


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
    np.testing.assert_allclose(largest_gains(sample, np.packbits(signs < 0, axis=1)), expected, atol=1e-12)
    gain, p = selection_adjusted(sample, 1000)
    share = np.mean(np.array(expected) >= gain - 1e-12)
    assert abs(p - share) < 4 * np.sqrt(share * (1 - share) / 1000) + 1 / 1000


@pytest.mark.parametrize("power", [-12, 12])
def test_gains_of_means_close_to_the_metric_keep_their_digits_at_any_scale(power):
    """Scores times a power of 2 have the same digits; the gains are of the size of what the means add."""
    means, base, human, cluster = segments(n=8, added=0.3)
    means = base[:, None] + 1e-7 * (means - base[:, None])
    swapped = np.packbits(every_sign(8) < 0, axis=1)
    scale = 2.0**power
    gains = largest_gains(GridSample(means, base, human, W, cluster), swapped)
    gains_of_scaled = largest_gains(GridSample(scale * means, scale * base, human, W, cluster), swapped)
    assert 1e-10 < gains.max() < 1e-6
    np.testing.assert_allclose(gains_of_scaled, gains, rtol=1e-12)


def test_sums_of_many_clusters_are_added_up_in_parts():
    rng = np.random.default_rng(5)
    swapped = rng.random((700, 2003)) < 0.5
    assert swapped.size > 2 * SIGN_CELLS
    terms = rng.normal(size=(2003, 3))
    expected = terms.T @ np.where(swapped, -1.0, 1.0).T
    np.testing.assert_allclose(signed_sums(np.packbits(swapped, axis=1), terms), expected, atol=1e-11)


def rejected(trials, **options):
    """How often the test rejects."""
    count = 0
    for seed in range(trials):
        means, base, human, cluster = segments(seed=seed + 1000, **options)
        count += selection_adjusted(GridSample(means, base, human, W, cluster), 199, seed)[1] <= 0.05
    return count / trials


@pytest.mark.parametrize("options", [{"n": 80}, {"n": 150, "clusters": 60}], ids=["segments", "unequal clusters"])
def test_size_on_the_whole_grid(options):
    """Nothing is added: rejected in 5 % of 400 data sets, within three standard errors."""
    assert abs(rejected(400, **options) - 0.05) < 3 * np.sqrt(0.05 * 0.95 / 400)


def test_what_is_added_is_found():
    assert rejected(40, n=150, added=0.5) > 0.9


def test_where_the_base_score_is_best_nothing_is_gained():
    means, base, human, cluster = segments()
    means = np.random.default_rng(1).normal(size=means.shape) * 30
    assert selection_adjusted(GridSample(means, base, base + 0.01 * human, W, cluster), 49) == (0, 1)


NOTHING = {
    "constant judgements": lambda m, b, h, c: (m, b, h * 0, c),
    "constant base score": lambda m, b, h, c: (m, b * 0, h, c),
    "a perfect base score": lambda m, b, h, c: (m, b, 2 * b, c),
    "two clusters": lambda m, b, h, c: (m, b, h, c % 2),
    "no segment": lambda m, b, h, c: (m[:0], b[:0], h[:0], c[:0]),
}


@pytest.mark.parametrize("change", NOTHING.values(), ids=NOTHING)
def test_nothing_to_test_is_nan(change):
    means, base, human, cluster = change(*segments())
    sample = GridSample(means, base, human, W, cluster)
    assert np.isnan(selection_adjusted(sample, 19)).all()
    if not sample.baseline > 0.99:
        assert np.isnan(cross_fit(sample)).all()
