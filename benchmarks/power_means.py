"""Power means of a setting for all 600 p: at least 300 times numpy.mean(x ** p) ** (1 / p)."""

import sys

from harness import Bench

# isort: split
import numpy as np
from settings import P, make_setting

from bmx_grid.core.ragged import concatenate_rows
from bmx_grid.measures.aggregation import PowerMean, shift_positive

EVERY = 6  # the plain way takes every 6th p; its seconds count times 6


def plain(rows: list[np.ndarray]) -> object:
    return [[np.exp(np.mean(np.log(x))) if p == 0 else np.mean(x**p) ** (1 / p) for p in P[::EVERY]] for x in rows]


bench = Bench(__doc__, rounds=5)
_, ground_truth, hypothesis, _ = make_setting(560, 50, 1)
values, _ = shift_positive(concatenate_rows(ground_truth, hypothesis))
rows = values.rows()
bench.compare(
    f"560 x {len(values.values) / 560:.0f} words x 600 p",
    {"ours": lambda: PowerMean().aggregate(values, P), "plain": lambda: plain(rows)},
    share={"plain": EVERY},
    repeats={"ours": 20},
    floor=300,
)
sys.exit(bench.finish())
