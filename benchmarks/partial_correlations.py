"""Partial correlations, of one score and of four over the same metric: faster than refits with scikit-learn.

scikit-learn's KernelRidge fits the same kernels on each quarter of 15 divisions and predicts the other segments; it is
timed without the choice of a kernel, on two divisions, and its seconds count for all and for each of the two learners.
"""

import sys
from functools import partial

from harness import Bench

# isort: split
import numpy as np
from sklearn.kernel_ridge import KernelRidge

from bmx_grid.measures.kernel_ridge import N_PARTS
from bmx_grid.measures.kernels import Kernels, Nuisance
from bmx_grid.measures.partial_correlation import DIVISIONS, partial_correlations

TIMED = 2  # divisions

bench = Bench(__doc__, rounds=5)


def ours(nuisance: Nuisance, human: np.ndarray, scores: np.ndarray) -> None:
    partial_correlations("pearson", nuisance, human, scores, np.arange(len(human)), 0)


def refits(nuisance: Nuisance, human: np.ndarray, scores: np.ndarray) -> None:
    """Residuals of human scores and one score, each with a kernel of its own, as two choices have."""
    parts = np.random.default_rng(0).permutation(len(human)) % N_PARTS
    targets = np.column_stack([human, scores])
    kernel = Kernels(nuisance).mixture(1)
    for _ in range(TIMED):
        for part in range(N_PARTS):
            inner, rest = np.flatnonzero(parts == part), np.flatnonzero(parts != part)
            fitted = KernelRidge(alpha=0.3, kernel="precomputed").fit(kernel[np.ix_(inner, inner)], targets[inner])
            fitted.predict(kernel[np.ix_(rest, inner)])


for n in (560, 1000, 2000):
    rng = np.random.default_rng(0)
    core = np.round(rng.normal(size=(n, 4)), 9)
    nuisance = Nuisance(core, rng.normal(size=(n, 24)))
    human = np.sign(core[:, 0]) * np.sign(core[:, 1]) + rng.normal(size=n)
    scores = human[:, None] + core[:, :1] + rng.normal(size=(n, 4))
    ways = {
        "one score": partial(ours, nuisance, human, scores[:, :1]),
        "four scores together": partial(ours, nuisance, human, scores),
        "scikit-learn, one score": partial(refits, nuisance, human, scores[:, :1]),
    }
    bench.compare(f"{n:,} segments", ways, share={"scikit-learn, one score": 2 * DIVISIONS / TIMED}, floor=1)
sys.exit(bench.finish())
