"""All 430 grids of the paper, made-up data of its size, Pearson: at most 8 CPU-seconds."""

import statistics
import sys
import time

from harness import Bench

# isort: split
from settings import make_setting

from bmx_grid.measures.grid import GridSpec, compute_grid

bench = Bench(__doc__, rounds=1, settings={"type": int, "default": 430})
count = bench.options.settings
totals = []
compute_grid(GridSpec(), *make_setting(760, 48, 0))
for _ in range(bench.options.rounds):
    taken, words = [], 0
    for seed in range(count):
        data = make_setting(760, 48, seed)
        words += len(data[1].values) + len(data[2].values)
        start = time.process_time()
        compute_grid(GridSpec(), *data)
        taken.append(time.process_time() - start)
    totals.append(sum(taken))
whole = statistics.median(totals)
told = (
    f"{count} grids, {words * 600 / 1e9:.1f} G word x p: {whole:.2f} CPU-seconds, {whole / count * 1e3:.1f} ms per grid"
)
bench.row("whole grids", told, whole, 8 * count / 430, most=True, seconds=totals)
sys.exit(bench.finish())
