"""Kendall's tau-b of one pair of lists: at least as fast as SciPy and hyper_corr (numba) at 560, 5,000 and 100,000."""

import sys

from harness import Bench, optional

# isort: split
import numpy as np
from scipy import stats

from bmx_grid.measures.correlation import correlate

SIZES = {560: 200, 5_000: 40, 100_000: 3}  # pairs of scores, and how often a way is called in each round

bench = Bench(__doc__, rounds=5)
hyper_corr = optional("hyper_corr")
rng = np.random.default_rng(0)
for n, calls in SIZES.items():
    scores = rng.normal(size=n)
    exact = scores + rng.normal(size=n)
    for name, human in {"ties": np.round(10 * exact), "no ties": exact}.items():
        ways = {
            "ours": lambda scores=scores, human=human: correlate("kendall", scores, human),
            "SciPy": lambda scores=scores, human=human: stats.kendalltau(scores, human),
        }
        expected = ways["SciPy"]().statistic
        assert abs(ways["ours"]() - expected) <= 1e-15, "the same number"
        if hyper_corr is not None:
            # without a p value, as ours
            ways["hyper_corr"] = lambda scores=scores, human=human: hyper_corr.kendalltau(scores, human, pvals=False)
        bench.compare(f"{n:,} pairs, {name}", ways, repeats=dict.fromkeys(ways, calls), floor=1)
sys.exit(bench.finish())
