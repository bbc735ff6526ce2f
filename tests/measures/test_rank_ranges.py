"""Rank ranges and clusters of systems, by hand and against a plain loop."""

import itertools

import numpy as np
import pytest
from scipy import stats

from bmx_grid.measures.systems import rank_ranges

NONE = float("nan")


@pytest.mark.parametrize(
    ("scores", "samples", "expected"),
    [
        pytest.param(
            [3, 2, 1],
            [[3, 2, 1], [2, 3, 1]],
            [[1, 2, 3], [1, 1, 3], [2, 2, 3], [1, 1, 2]],
            id="two systems change places",
        ),
        pytest.param([1, 2, 3], [[1, 2, 3]], [[3, 2, 1], [3, 2, 1], [3, 2, 1], [3, 2, 1]], id="all apart"),
        pytest.param(
            [3, 2, 1],
            [[3, 2, 1], [2, 3, 1], [3, 1, 2]],
            [[1, 2, 3], [1, 1, 2], [2, 3, 3], [1, 1, 1]],
            id="a chain of overlaps is one cluster",
        ),
        pytest.param(
            [4, 3, 2, 1],
            [[4, 3, 2, 1], [2, 3, 4, 1], [4, 3, 1, 2]],
            [[1, 2, 3, 4], [1, 2, 1, 3], [3, 2, 4, 4], [1, 1, 1, 1]],
            id="a narrow range between wide ones ends no cluster",
        ),
        pytest.param(
            [2, 2, 1], [[2, 2, 1]], [[1, 1, 3], [1, 1, 3], [2, 2, 3], [1, 1, 2]], id="equal systems share ranks"
        ),
        pytest.param(
            [2, NONE, 1],
            [[2, NONE, 1], [1, 9, 2]],
            [[1, 0, 2], [1, 0, 1], [2, 0, 2], [1, 0, 1]],
            id="no score: left out",
        ),
        pytest.param(
            [2, 1],
            [[2, 1], [NONE, 5]],
            [[1, 2], [1, 2], [1, 2], [1, 2]],
            id="a resample without a system does not count",
        ),
        pytest.param([2, 1], np.empty((0, 2)), [[1, 2], [0, 0], [0, 0], [0, 0]], id="no resamples: ranks only"),
        pytest.param([NONE, NONE], [[NONE, NONE]], [[0, 0]] * 4, id="no scores"),
        pytest.param([], np.empty((5, 0)), [[]] * 4, id="no systems"),
    ],
)
def test_by_hand(scores, samples, expected):
    found = rank_ranges(np.array(scores, dtype=float), np.array(samples, dtype=float))
    assert found.tolist() == expected


def resampled(seed=0, systems=9, resamples=1000):
    rng = np.random.default_rng(seed)
    scores = np.sort(rng.normal(size=systems))[::-1]
    return scores, scores + 0.2 * rng.normal(size=(resamples, systems))


def test_25_of_1000_are_left_out_at_each_end():
    """A plain loop over the description of Koehn (2012): sort the ranks of a system, leave out 25 at each end."""
    scores, samples = resampled()
    _, low, high, _ = rank_ranges(scores, samples)
    for system in range(len(scores)):
        ranks = sorted(stats.rankdata(-row)[system] for row in samples)
        assert (low[system], high[system]) == (ranks[25], ranks[-26])


def test_clusters_do_not_overlap_and_cannot_be_split():
    for seed in range(20):
        scores, samples = resampled(seed)
        _, low, high, cluster = rank_ranges(scores, samples)
        numbers = range(1, cluster.max() + 1)
        ends = [(low[cluster == one].min(), high[cluster == one].max()) for one in numbers]
        assert all(before[1] < after[0] for before, after in itertools.pairwise(ends))
        for one in numbers:
            own = np.flatnonzero(cluster == one)
            for cut in np.unique(low[own])[1:]:
                assert high[own[low[own] < cut]].max() >= cut, "a cluster that could be two"


def test_turning_the_signs_turns_the_ranks_round():
    scores, samples = resampled()
    samples = np.round(samples, 1)  # with ties
    (_, low, high, _), (_, turned_low, turned_high, _) = rank_ranges(scores, samples), rank_ranges(-scores, -samples)
    count = len(scores) + 1
    assert (low == count - turned_high).all() and (high == count - turned_low).all()
