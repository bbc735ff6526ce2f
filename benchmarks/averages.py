"""The best average of up to three of m metrics, for every metric on ten folds: at most 3 CPU-s for 40, 20 for 100.

SciPy's way correlates each average by itself, as a loop over `itertools.combinations` does; it is timed on one fold of
one metric, and its seconds count for all.
"""

import itertools
import sys

from harness import Bench

# isort: split
import numpy as np
from scipy import stats

from bmx_grid.boosts.base import Part
from bmx_grid.boosts.controls import fit_average

N, FOLDS = 560, 10
MOST = {10: None, 20: None, 40: 3.0, 100: 20.0}  # seconds, by the number of metrics
SCIPY_UP_TO = 40

bench = Bench(__doc__, rounds=5)
rng = np.random.default_rng(0)
rows = np.arange(N)
human = rng.normal(size=N)


def choose_all(scores: np.ndarray) -> None:
    """Each metric chooses among all of them, on the other folds of each fold."""
    names = [f"metric {number:03d}" for number in range(scores.shape[1])]
    known: dict[str, object] = {}
    for place, own in enumerate(names):
        others = tuple(name for name in names if name != own)
        part = Part(scores[:, place], np.delete(scores, place, axis=1), human, rows)
        for fold in range(FOLDS):
            fit_average(others, "pearson", [part.taken(rows % FOLDS != fold)], own=own, known=known)


def loop(scores: np.ndarray) -> float:
    """The best correlation of an average on one fold."""
    inside = rows % FOLDS != 0
    standard = stats.zscore(scores[inside])
    places = range(scores.shape[1])
    subsets = itertools.chain.from_iterable(itertools.combinations(places, size) for size in (1, 2, 3))
    return max(stats.pearsonr(standard[:, subset].mean(axis=1), human[inside])[0] for subset in subsets)


for m, most in MOST.items():
    scores = human[:, None] + rng.normal(size=(N, m)) * rng.uniform(1, 4, size=m)
    ways = {"ours": lambda scores=scores: choose_all(scores)}
    if m <= SCIPY_UP_TO:
        ways["SciPy, one by one"] = lambda scores=scores: loop(scores)
    medians = bench.compare(f"{m} metrics", ways, share={"SciPy, one by one": m * FOLDS})
    if most is not None:
        bench.row(f"{m} metrics: limit", f"{m} metrics", medians["ours"], most, most=True)
sys.exit(bench.finish())
