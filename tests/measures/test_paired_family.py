"""Metrics that are compared together: the numbers of comparisons one by one, and of swaps written out."""

import math

import numpy as np
import pytest

from bmx_grid.measures.paired_family import compare_metrics
from bmx_grid.measures.paired_tests import compare
from bmx_grid.measures.resampling import seeded_draws, swaps

N = 300
RNG = np.random.default_rng(0)
HUMAN = RNG.normal(size=N)
CLUSTERS = np.arange(N) // 2
OUTLIER = np.zeros(N)
OUTLIER[[3, 5]] = 1e6, 1.0
BETTER = HUMAN + RNG.normal(size=N)
# Columns: three metrics, a copy of one, a constant one, and one whose resamples lose digits.
COLUMNS = np.column_stack([BETTER, HUMAN + 2 * RNG.normal(size=N), RNG.normal(size=N), BETTER, np.ones(N), OUTLIER])
PAIRS = [(left, right) for left in range(COLUMNS.shape[1]) for right in range(left)]


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_metrics_together_have_the_numbers_of_each_pair(alternative):
    options = {"resamples": 300, "seed": 1, "alternative": alternative, "confidence": 0.9}
    together = compare_metrics(COLUMNS, HUMAN, CLUSTERS, PAIRS, **options)
    for (left, right), found in zip(PAIRS, together, strict=True):
        alone = compare(COLUMNS[:, left], COLUMNS[:, right], HUMAN, CLUSTERS, **options)
        expected = pytest.approx(vars(alone), abs=1e-12, nan_ok=True)  # rounding of products of other shapes
        assert vars(found) == expected, (left, right)


def test_p_counts_swaps_that_are_written_out():
    resamples = 99
    (found,) = compare_metrics(COLUMNS, HUMAN, CLUSTERS, [(0, 1)], resamples=resamples, seed=2, bootstrap=False)
    standard = (COLUMNS[:, :2] - COLUMNS[:, :2].mean(axis=0)) / COLUMNS[:, :2].std(axis=0)
    (swapped,) = seeded_draws(int(CLUSTERS.max()) + 1, resamples, 2, draw=swaps, stream=(1, 0))
    extreme = 0
    for swap in swapped.T.astype(bool):
        first = np.where(swap[CLUSTERS], standard[:, 1], standard[:, 0])
        second = np.where(swap[CLUSTERS], standard[:, 0], standard[:, 1])
        difference = np.corrcoef(first, HUMAN)[0, 1] - np.corrcoef(second, HUMAN)[0, 1]
        extreme += abs(difference) >= abs(found.difference)
    assert found.p == (extreme + 1) / (resamples + 1)
    assert math.isnan(found.low)


def test_progress_reaches_the_number_of_pairs(monkeypatch):
    # Several blocks of draws, of which none is a whole number of pairs.
    monkeypatch.setattr("bmx_grid.measures.resampling.CELLS", 150 * 70)
    steps = []
    compare_metrics(COLUMNS, HUMAN, CLUSTERS, PAIRS, resamples=200, seed=3, advance=steps.append)
    assert len(steps) > 2 and min(steps) >= 0 and sum(steps) == len(PAIRS)


def test_two_clusters_have_no_test():
    (found,) = compare_metrics(COLUMNS, HUMAN, np.arange(N) % 2, [(0, 1)], resamples=40, seed=0)
    assert math.isnan(found.p) and math.isnan(found.low) and found.difference > 0
