"""What tracking costs: seconds of the CPU to log a setting of the paper's 3,600 points and to add its verdict.

    python benchmarks/tracking.py [--settings 28] [--server http://HOST:PORT]

Into a fresh SQLite store in a temporary folder, or to a server. Then the same sweep again.
Printed: opening the store, seconds of the CPU and of the clock per setting, the projection to the paper's 430
settings, and what the store takes.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # read when MLflow is imported
ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import numpy as np  # noqa: E402
from some_results import make_result  # noqa: E402

from bmx_grid.evaluations.base import Estimate  # noqa: E402
from bmx_grid.measures.grid import GridSpec  # noqa: E402
from bmx_grid.sweep.judge import SettingResult  # noqa: E402
from bmx_grid.sweep.tracking import MlflowTracker  # noqa: E402

ALL_SETTINGS = 430
GAIN = Estimate(0.01, -0.02, 0.04)


def logged(tracker: MlflowTracker, results: Sequence[SettingResult]) -> list[tuple[float, float]]:
    """Seconds of the CPU and of the clock for each setting and its verdict, logged as a sweep does it."""
    spent = []
    for result in results:
        start = (time.process_time(), time.perf_counter())
        tracker.log(result)
        tracker.judge(result, "no gain shown", GAIN)
        spent.append((time.process_time() - start[0], time.perf_counter() - start[1]))
    tracker.finish([])
    if tracker.failure is not None:
        raise SystemExit(tracker.failure)
    return spent


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--settings", type=int, default=28)
    arguments.add_argument("--server", default=None)
    given = arguments.parse_args()
    spec = GridSpec()
    results = [
        make_result(seed=number, language_pair=f"{number:03}", p=spec.p, w=spec.w) for number in range(given.settings)
    ]
    config = f"seed: {time.time_ns()}"
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out")
        tracker = MlflowTracker(uri=given.server)
        start = time.perf_counter()
        tracker.start("benchmark", config, out)
        print(f"open a new store {time.perf_counter() - start:.1f} s")
        processor, clock = np.median(logged(tracker, results), axis=0)
        line = f"a setting {processor:.3f} CPU-s, {clock:.3f} s (medians of {len(results)})"
        line += f"; {ALL_SETTINGS} settings {processor * ALL_SETTINGS:.0f} CPU-s"
        store = Path(folder, "mlflow.db")
        if store.is_file():
            line += f"; {store.stat().st_size / len(results) / 1e6:.2f} MB per setting"
        print(line)
        start = time.perf_counter()
        again = MlflowTracker(uri=given.server)
        again.start("benchmark", config, out)
        logged(again, results)
        print(f"the same sweep again: {time.perf_counter() - start:.2f} s for {len(results)} settings")


if __name__ == "__main__":
    main()
