"""`bmx-grid compare` of one large table: memory, and about twice the time for twice the rows.

Generated scores of people and of --metrics metrics (two), ten systems, no texts. Each size runs in a process of its
own. The largest is --rows, the others a half and a quarter of it. Starting and judging cost the same for all sizes, so
that the ratio stays below 2; it is allowed 2.4 for each doubling, for caches that the larger size no longer fits.
python benchmarks/large_comparison.py --rows 1000000 is the claim of 1 GiB.
python benchmarks/large_comparison.py --rows 3000 --metrics 300 is a table of many metrics.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import ROOT, Bench

# isort: split
import numpy as np

SYSTEMS = 10
PER_DOUBLING = 2.4
GIBIBYTES = 1.0


def write_table(file: Path, rows: int, names: list[str]) -> None:
    """Scores of metrics that follow those of people, from the best metric to the worst."""
    rng = np.random.default_rng(0)
    human = rng.normal(size=rows)
    noise = np.linspace(1.0, 1.2, len(names))
    scores = human[:, None] + noise * rng.normal(size=(rows, len(names)))
    with file.open("w", encoding="utf-8") as out:
        columns = "\t".join(names)
        out.write(f"language_pair\tsegment\tsystem\tscore\t{columns}\n")
        for row in range(rows):
            values = "\t".join(f"{score:.5f}" for score in scores[row])
            out.write(f"de-en\t{row // SYSTEMS}\ts{row % SYSTEMS}\t{human[row]:.4f}\t{values}\n")


def compared(rows: int, metrics: int) -> tuple[float, float]:
    """CPU-seconds and peak memory in GiB of the command."""
    names = [f"metric_{number}" for number in range(metrics)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scores.tsv"
        write_table(file, rows, names)
        command = [sys.executable, "-m", "bmx_grid", "compare", str(file), "--metrics", *names]
        running = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}
        )
        _, status, used = os.wait4(running.pid, 0)
    if status != 0:
        raise SystemExit(f"compare of {rows} rows failed with status {os.waitstatus_to_exitcode(status)}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20


options = {"rows": {"type": int, "default": 100_000}, "metrics": {"type": int, "default": 2}}
bench = Bench(__doc__, rounds=1, **options)
before = 0.0
for part in (4, 2, 1):
    rows = bench.options.rows // part
    seconds, peak = compared(rows, bench.options.metrics)
    ratio = seconds / before if before else None
    told = f"{rows:>9,} rows: {seconds:.1f} CPU-seconds" + (f"  {ratio:.2f}x" if ratio else "")
    bench.row(f"seconds of {rows}", told, ratio, PER_DOUBLING if ratio else None, most=True)
    bench.row(f"memory of {rows}", f"{rows:>9,} rows: {peak:.2f} GiB", peak, GIBIBYTES, most=True)
    before = seconds
sys.exit(bench.finish())
