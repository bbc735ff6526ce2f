"""Permutation tests and intervals of every two of m metrics by Pearson's r, on 1,000 segments: shared between pairs.

One by one is `paired_tests.compare`; SciPy's way is `permutation_test` alone, without an interval. Both are timed on
a few pairs, whose seconds count for all.
"""

import itertools
import sys
from functools import partial

from harness import Bench

# isort: split
import numpy as np
from scipy.stats import permutation_test

from bmx_grid.measures.paired_family import compare_metrics
from bmx_grid.measures.paired_tests import compare

N = 1000
RESAMPLES = 1000
TIMED = 3  # pairs

bench = Bench(__doc__, rounds=5)


def together(columns: np.ndarray, human: np.ndarray, pairs: list[tuple[int, int]]) -> None:
    compare_metrics(columns, human, np.arange(N), pairs, resamples=RESAMPLES, seed=0)


def one_by_one(columns: np.ndarray, human: np.ndarray, pairs: list[tuple[int, int]]) -> None:
    for left, right in pairs[:TIMED]:
        compare(columns[:, left], columns[:, right], human, resamples=RESAMPLES)


def scipy_tests(columns: np.ndarray, human: np.ndarray, pairs: list[tuple[int, int]]) -> None:
    standard = (columns - columns.mean(axis=0)) / columns.std(axis=0)
    judged = (human - human.mean()) / human.std()

    def difference(left: np.ndarray, right: np.ndarray, axis: int = -1) -> np.ndarray:
        correlations = []
        for scores in (left, right):
            centred = scores - scores.mean(axis=axis, keepdims=True)
            correlations.append((centred @ judged) / (N * centred.std(axis=axis)))
        return correlations[0] - correlations[1]

    for left, right in pairs[:TIMED]:
        data = (standard[:, left], standard[:, right])
        permutation_test(data, difference, permutation_type="samples", vectorized=True, n_resamples=RESAMPLES, rng=0)


for m in (8, 40):
    rng = np.random.default_rng(0)
    human = rng.normal(size=N)
    columns = human[:, None] + rng.normal(size=(N, m))
    pairs = list(itertools.combinations(range(m), 2))
    ways = {"together": together, "one by one": one_by_one, "SciPy": scipy_tests}
    bench.compare(
        f"{m} metrics, {len(pairs)} pairs",
        {name: partial(way, columns, human, pairs) for name, way in ways.items()},
        share={"one by one": len(pairs) / TIMED, "SciPy": len(pairs) / TIMED},
        floor=2,
    )
sys.exit(bench.finish())
