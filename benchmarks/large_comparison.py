"""`bmx-grid compare` of one large table: memory, and about twice the time for twice the rows.

Generated scores of two metrics and of people, ten systems, no texts. Each size runs in a process of its own. The
largest is --rows, the others a half and a quarter of it. Starting and judging cost the same for all sizes, so that the
ratio stays below 2; it is allowed 2.4 for each doubling, for caches that the larger size no longer fits.
python benchmarks/large_comparison.py --rows 1000000 is the claim of 1 GiB.
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


def write_table(file: Path, rows: int) -> None:
    """Scores of two metrics that follow those of people, a better one and a worse one."""
    rng = np.random.default_rng(0)
    human = rng.normal(size=rows)
    better = human + rng.normal(size=rows)
    worse = human + 1.2 * rng.normal(size=rows)
    with file.open("w", encoding="utf-8") as out:
        out.write("language_pair\tsegment\tsystem\tscore\tmetric_a\tmetric_b\n")
        for row in range(rows):
            names = f"de-en\t{row // SYSTEMS}\ts{row % SYSTEMS}"
            out.write(f"{names}\t{human[row]:.4f}\t{better[row]:.5f}\t{worse[row]:.5f}\n")


def compared(rows: int) -> tuple[float, float]:
    """CPU-seconds and peak memory in GiB of the command."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scores.tsv"
        write_table(file, rows)
        command = [sys.executable, "-m", "bmx_grid", "compare", str(file), "--metrics", "metric_a", "metric_b"]
        running = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}
        )
        _, status, used = os.wait4(running.pid, 0)
    if status != 0:
        raise SystemExit(f"compare of {rows} rows failed with status {os.waitstatus_to_exitcode(status)}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20


bench = Bench(__doc__, rounds=1, rows={"type": int, "default": 100_000})
before = 0.0
for part in (4, 2, 1):
    rows = bench.options.rows // part
    seconds, peak = compared(rows)
    ratio = seconds / before if before else None
    told = f"{rows:>9,} rows: {seconds:.1f} CPU-seconds" + (f"  {ratio:.2f}x" if ratio else "")
    bench.row(f"seconds of {rows}", told, ratio, PER_DOUBLING if ratio else None, most=True)
    bench.row(f"memory of {rows}", f"{rows:>9,} rows: {peak:.2f} GiB", peak, GIBIBYTES, most=True)
    before = seconds
sys.exit(bench.finish())
