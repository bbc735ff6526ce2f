"""Correlations of a whole grid: at least 1,500 (Pearson) and 150 times (ranks) SciPy's functions point by point."""

import os
import subprocess
import sys
import tempfile
import time

from harness import ROOT, Bench

# isort: split
from scipy import stats
from settings import P, W, make_setting

from bmx_grid.core.ragged import concatenate_rows
from bmx_grid.measures.aggregation import PowerMean, shift_positive
from bmx_grid.measures.correlation import correlate_grid

EVERY = 20  # SciPy takes every 20th p; its seconds count times 20
SCIPY = {
    "pearson": (stats.pearsonr, 1500),
    "spearman": (stats.spearmanr, 150),
    "kendall": (stats.kendalltau, 150),
}
FIRST = "from bmx_grid.measures.correlation import correlate; correlate('kendall', [1, 2, 3], [1, 3, 2])"

bench = Bench(__doc__, rounds=5)
base, ground_truth, hypothesis, human = make_setting(560, 50, 1)
values, _ = shift_positive(concatenate_rows(ground_truth, hypothesis))
means = PowerMean().aggregate(values, P)


def scipy(function: object) -> list[float]:
    return [function(w * base + (1 - w) * m, human)[0] for m in means[:, ::EVERY].T for w in W]


for kind, (function, floor) in SCIPY.items():
    bench.compare(
        f"{kind}, 560 segments x 600 p x 6 w",
        {
            "ours": lambda kind=kind: correlate_grid(kind, means, base, human, W),
            "scipy": lambda function=function: scipy(function),
        },
        share={"scipy": EVERY},
        repeats={"ours": 20},
        floor=floor,
    )
with tempfile.TemporaryDirectory() as folder:
    environment = os.environ | {"NUMBA_CACHE_DIR": folder, "PYTHONPATH": str(ROOT)}
    taken = []
    for _ in range(2):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", FIRST], env=environment, check=True)
        taken.append(time.perf_counter() - start)
told = (
    f"first rank correlation of a process, with its start: {taken[0]:.1f} s compiled anew, {taken[1]:.1f} s from disk"
)
bench.row("first rank correlation", told, taken[1], seconds=taken)
sys.exit(bench.finish())
