"""Grids of resamples by matrix products equal the grids of the resampled segments themselves."""

import numpy as np
import pytest
from some_grids import W, segments

from bmx_grid.core.errors import ConfigError
from bmx_grid.measures import weighted_grids
from bmx_grid.measures.correlation import KINDS, correlate, correlate_grid
from bmx_grid.measures.resampling import draws
from bmx_grid.measures.weighted_grids import Sample, grids


def by_hand(sample, weights):
    """float64[W, P, R] and float64[R], one resample at a time."""
    found, alone = [], []
    for row in weights:
        rows = np.repeat(np.arange(len(sample.base)), row[sample.cluster].astype(int))
        given = sample.base[rows], sample.human[rows]
        found.append(correlate_grid(sample.kind, sample.means[rows], *given, sample.w, sample.precision).T)
        alone.append(correlate(sample.kind, *given))
    return np.stack(found, axis=2), np.array(alone)


def check(sample, weights, tolerance=1e-12):
    found, alone = grids(sample, weights)
    expected, baseline = by_hand(sample, weights)
    np.testing.assert_allclose(found, expected, atol=tolerance)  # NaN at the same places
    np.testing.assert_allclose(alone, baseline, atol=tolerance)
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("clusters", [None, 15])
def test_weights_are_repetitions(kind, clusters):
    sample = Sample.of(*segments(clusters=clusters)[:3], W, segments(clusters=clusters)[3], kind=kind)
    check(sample, draws(np.random.default_rng(1), sample.clusters, 8))


def test_halves_are_subsets():
    sample = Sample.of(*segments()[:3], W, segments()[3])
    half = (np.arange(sample.clusters) % 2 == 0).astype(float)[None]
    found = grids(sample, half)[0][:, :, 0].T
    even = [array[::2] for array in (sample.means, sample.base, sample.human)]
    np.testing.assert_allclose(found, correlate_grid("pearson", *even, W), atol=1e-13)


def test_one_segment_carries_all_variance():
    """At w = 0 a resample without it keeps all digits of what is left, nine orders of magnitude smaller."""
    means, base, human, cluster = segments(n=40)
    means = 1e-9 * (1 + 0.05 * means)
    means[3] = np.linspace(0.1, 1, means.shape[1])
    sample = Sample.of(means, base, human, W, cluster)
    weights = draws(np.random.default_rng(2), 40, 60)
    assert 10 < (weights[:, 3] == 0).sum() < 40
    found = check(sample, weights, tolerance=1e-9)
    assert np.isfinite(found).all()


def test_such_resamples_are_not_computed_one_by_one(monkeypatch):
    """Centred at their median, the means of most segments stay exact where a few are far away: no detour is needed."""
    monkeypatch.setattr(weighted_grids, "_again", lambda *_: pytest.fail("recomputed one by one"))
    means, base, human, cluster = segments(n=40)
    means = 1 + 1e-6 * means
    means[3] = 2
    grids(Sample.of(means, base, human, W, cluster, precision=0.0), draws(np.random.default_rng(2), 40, 60))


def test_half_of_the_segments_are_outliers():
    """No centre is close to all that a resample may consist of: these points are recomputed."""
    means, base, human, cluster = segments(n=12)
    means = np.where(np.arange(12)[:, None] < 7, 1e-9 * means, 1 + 1e-9 * means)
    sample = Sample.of(means, base, human, W, cluster, precision=0.0)
    weights = np.stack([(cluster < 7), (cluster >= 7)]).astype(float)
    check(sample, weights, tolerance=1e-7)


def test_resamples_of_next_to_equal_base_scores():
    """They are far from the mean of all base scores: their moments have no digits left, those of all else do."""
    means, base, human, cluster = segments(n=24)
    near = cluster < 12
    base, means = near + 1e-8 * base, 1e-8 * means
    human = np.where(near, 1e-5, 1.0) * (human - np.where(near, human[near].mean(), human[~near].mean()))
    sample = Sample.of(means, base, human, W, cluster, precision=0.0)
    weights = np.zeros((20, 24))
    weights[:, near] = draws(np.random.default_rng(6), 12, 20)
    check(sample, weights, tolerance=1e-9)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda means, base, human: (means * 0 + 0.3, base, human), id="constant means"),
        pytest.param(
            lambda means, base, human: (0.3 * (1 + 1e-15 * means), base, human), id="means that differ by rounding"
        ),
        pytest.param(lambda means, base, human: (means, base, (np.arange(60) == 0) * 1.0), id="one human differs"),
        pytest.param(lambda means, base, human: (means, (np.arange(60) == 0) * 1.0, human), id="one base differs"),
        pytest.param(lambda means, base, human: (means * 1e-12, base, human * 1e12), id="scales far apart"),
    ],
)
def test_what_is_undefined_and_what_is_not(change):
    means, base, human, cluster = segments()
    means, base, human = change(means, base, human)
    sample = Sample.of(means, base, human, W, cluster)
    check(sample, draws(np.random.default_rng(3), 60, 40), tolerance=1e-9)


def test_blocks_change_nothing(monkeypatch):
    means, base, human, cluster = segments(clusters=20)
    sample = Sample.of(means, base, human, W, cluster)
    weights = draws(np.random.default_rng(4), sample.clusters, 9)
    whole = grids(sample, weights)[0]
    monkeypatch.setattr(weighted_grids, "MOMENT_CELLS", 4 * 60 * 2)
    monkeypatch.setattr(weighted_grids, "WEIGHT_CELLS", 2 * sample.clusters)
    assert len(list(sample.column_blocks())) == 4
    np.testing.assert_allclose(grids(sample, weights)[0], whole, atol=1e-13)
    np.testing.assert_allclose(grids(sample, weights, slice(3, 6))[0], whole[:, 3:6], atol=1e-13)


def test_of_no_segments_there_are_no_clusters():
    sample = Sample.of(np.empty((0, 2)), [], [], W, [])
    assert sample.clusters == 0 and not sample.enough


@pytest.mark.parametrize("sign", [1, -1])
def test_no_resample_correlates_beyond_1(sign):
    means, base, _, cluster = segments(n=40)
    sample = Sample.of(3 * base[:, None] + means[:, :1] * 0 + 0.1, base, sign * (7 * base + 0.3), W, cluster)
    for found in grids(sample, draws(np.random.default_rng(5), 40, 300)):
        assert np.abs(found).max() <= 1
        np.testing.assert_allclose(found, sign)


def test_not_to_boost_is_always_a_candidate():
    means, base, human, cluster = segments()
    sample = Sample.of(means, base, human, [0.0, 0.5], cluster)
    assert sample.w.tolist() == [0, 0.5, 1]


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        pytest.param({"base": np.zeros(3)}, ValueError, "shapes", id="another length"),
        pytest.param({"means": np.zeros(60)}, ValueError, "shapes", id="means of one p without an axis"),
        pytest.param({"means": np.zeros((60, 0))}, ValueError, "shapes", id="no p"),
        pytest.param({"human": np.full(60, np.nan)}, ValueError, "finite", id="unrated"),
        pytest.param({"w": [0.5, 0.2]}, ValueError, "ascending", id="descending w"),
        pytest.param({"w": [0.5, 1.2]}, ValueError, "ascending", id="w above 1"),
        pytest.param({"kind": "cosine"}, ConfigError, "cosine", id="an unknown kind"),
    ],
)
def test_what_cannot_be_resampled_is_refused(change, error, match):
    given = dict(zip(("means", "base", "human", "cluster"), segments(), strict=True))
    with pytest.raises(error, match=match):
        Sample.of(**(given | {"w": W} | change))
