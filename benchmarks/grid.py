"""What the grid costs: power means, correlations and whole settings, beside the plain way, in one run on one core.

    python benchmarks/grid.py

One line a row: work, ours and the plain way (median CPU times), their ratio and its floor. The plain way runs on a
slice of p where it says so and is scaled up. Exit status 1 when a floor is missed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[threads] = "1"  # before NumPy loads: ratios are those of one core

import numpy as np  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scipy import stats  # noqa: E402

from bmx_grid.measures.aggregation import PowerMean, shift_positive  # noqa: E402
from bmx_grid.measures.correlation import correlate_grid  # noqa: E402
from bmx_grid.measures.grid import GridSpec, compute_grid  # noqa: E402
from bmx_grid.ragged import Ragged, concatenate_rows  # noqa: E402

P, W = np.array(GridSpec().p), np.array(GridSpec().w)
SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
SETTINGS, SETTINGS_CPU_SECONDS = 430, 8.0
COLD = "from bmx_grid.measures.correlation import kendall; kendall([1, 2, 3], [1, 3, 2])"
Setting = tuple[np.ndarray, Ragged, Ragged, np.ndarray]


def make_setting(segments: int, words: float, seed: int) -> Setting:
    """Base scores, attributions of both sides, human scores: lognormal lengths, half of the segments shifted."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=segments)
    human = np.round(quality + rng.normal(size=segments), 2)
    base = 0.4 + 0.1 * quality + rng.normal(0, 0.05, segments)
    shared = np.where(rng.random(segments) < 0.5, 0.5, 0.02)
    sides = []
    for _ in range(2):
        lengths = np.maximum(1, np.round(rng.lognormal(np.log(words / 2) - 0.1, 0.45, segments))).astype(int)
        values = rng.normal(np.repeat(shared + 0.01 * quality, lengths), 0.05)
        sides.append(Ragged(values, np.concatenate([[0], np.cumsum(lengths)])))
    return base, sides[0], sides[1], human


def seconds(work: Callable[[], object], repeats: int, clock: Callable[[], float] = time.process_time) -> list[float]:
    """CPU seconds by default: on a shared machine, time lost to others would mostly be lost by the longer way."""
    taken = []
    for _ in range(repeats):
        start = clock()
        work()
        taken.append(clock() - start)
    return taken


def compare(
    work: str, ours: Callable[[], object], plain: Callable[[], object], part: int, told: str, floor: int
) -> bool:
    """Print one row. `plain` does one `part`-th of the work. The two ways take turns, so that both meet the noise."""
    ours()
    quick, slow = [], []
    for _ in range(5):
        quick += seconds(ours, 20)
        slow += seconds(plain, 1)
    mine, theirs = float(np.median(quick)), float(np.median(slow)) * part
    ratio = theirs / mine
    print(
        f"{work:<44} {mine * 1e3:9.3f} ms {theirs * 1e3:10.0f} ms {ratio:8.0f}x  floor {floor}x"
        f"{'' if ratio >= floor else '  MISSED'}  ({told})",
        flush=True,
    )
    return ratio >= floor


def plain_power_means(rows: list[np.ndarray], powers: np.ndarray) -> list[list[float]]:
    return [[np.exp(np.mean(np.log(x))) if p == 0 else np.mean(x**p) ** (1 / p) for p in powers] for x in rows]


def main() -> int:
    print(f"{'work':<44} {'ours':>12} {'plain way':>13} {'ratio':>9}")
    base, ground_truth, hypothesis, human = make_setting(560, 50, 1)
    values, _ = shift_positive(concatenate_rows(ground_truth, hypothesis))
    means, rows = PowerMean().aggregate(values, P), values.rows()
    part = 6
    held = compare(
        f"power means, 560 x {len(values.values) / 560:.0f} words x 600 p",
        lambda: PowerMean().aggregate(values, P),
        lambda: plain_power_means(rows, P[::part]),
        part,
        "numpy.mean(x**p) ** (1/p) on every 6th p, x 6",
        300,
    )
    part = 20
    for kind, floor in (("pearson", 1500), ("spearman", 150), ("kendall", 150)):
        held &= compare(
            f"{kind}, 560 segments x 600 p x 6 w",
            lambda kind=kind: correlate_grid(kind, means, base, human, W),
            lambda kind=kind: [SCIPY[kind](w * base + (1 - w) * m, human)[0] for m in means[:, ::part].T for w in W],
            part,
            f"scipy.stats.{SCIPY[kind].__name__} on every 20th p, x 20",
            floor,
        )
    taken, words = [], 0
    for seed in range(SETTINGS):
        data = make_setting(760, 48, seed)
        words += len(data[1].values) + len(data[2].values)
        start = time.process_time()
        compute_grid(GridSpec(), *data)
        taken.append(time.process_time() - start)
    whole = sum(taken)
    print(
        f"{SETTINGS} whole grids, {words * 600 / 1e9:.1f} G word*p, Pearson: {whole:.2f} CPU-seconds (all of them run; "
        f"median {np.median(taken) * 1e3:.1f} ms a setting), at most {SETTINGS_CPU_SECONDS:g}"
        f"{'' if whole <= SETTINGS_CPU_SECONDS else '  MISSED'}"
    )
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder, "PYTHONPATH": str(ROOT)}
        cold, warm = (
            seconds(
                lambda: subprocess.run([sys.executable, "-c", COLD], env=environment, check=True), 1, time.perf_counter
            )[0]
            for _ in range(2)
        )
    print(f"first rank correlation of a process, start included: {cold:.1f} s compiled anew, {warm:.1f} s from disk")
    return 0 if held and whole <= SETTINGS_CPU_SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
