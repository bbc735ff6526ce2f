"""What tracking costs: seconds to log a setting of the paper's 3,600 points, and what that makes for all 430.

    python benchmarks/tracking.py [--settings 28] [--server http://HOST:PORT]

Logs into a fresh SQLite store in a temporary folder (or to a server), then runs the same sweep
again. Printed: opening the store, median and worst setting in seconds and in seconds of the CPU, which a busy machine
changes less, the projection, and the repeat.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # read when MLflow is imported
ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import numpy as np  # noqa: E402
from some_results import make_result  # noqa: E402

from bmx_grid.measures.grid import GridSpec  # noqa: E402
from bmx_grid.sweep.tracking import MlflowTracker  # noqa: E402

ALL_SETTINGS = 430


def seconds(action: Callable[[], object]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


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
    print(f"import mlflow                {seconds(lambda: __import__('mlflow')):8.2f} s")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        config = f"seed: {time.time_ns()}"
        tracker = MlflowTracker(uri=given.server)
        print(f"open a new store             {seconds(lambda: tracker.start('benchmark', config, out)):8.2f} s")
        spent = time.process_time()
        logs = [seconds(lambda result=result: tracker.log(result)) for result in results]
        spent = time.process_time() - spent
        tracker.finish([])
        median, worst = statistics.median(logs), max(logs)
        print(f"log a setting, median        {median:8.3f} s (worst {worst:.3f} s)")
        print(f"the same, of the CPU, mean   {spent / len(results):8.3f} s")
        print(f"all {ALL_SETTINGS} settings, projected {np.mean(logs) * ALL_SETTINGS:8.0f} s")

        def repeat() -> None:
            again = MlflowTracker(uri=given.server)
            again.start("benchmark", config, out)
            for result in results:
                again.log(result)
            again.finish([])

        print(f"the same sweep again         {seconds(repeat):8.2f} s for {len(results)} settings")


if __name__ == "__main__":
    main()
