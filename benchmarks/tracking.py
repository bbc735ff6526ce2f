"""What tracking costs: seconds of the CPU to log a setting of the paper's 3,600 points and to add its verdict.

    python benchmarks/tracking.py [--settings 28] [--server http://HOST:PORT]

Into fresh SQLite stores in a temporary folder, in one run by two ways that take turns: points by MLflow's own
`log_batch`, and in one transaction, as sweeps do it. With a server only by `log_batch`. Then the same sweep again.
Printed: opening the store, seconds of the CPU and of the clock per setting, the projection to the paper's 430
settings, and what the stores take.
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
from bmx_grid.sweep import tracking  # noqa: E402
from bmx_grid.sweep.results import SettingResult  # noqa: E402
from bmx_grid.sweep.tracking import AT_ONCE, MetricEntry, MlflowTracker  # noqa: E402

ALL_SETTINGS = 430
GAIN = Estimate(0.01, -0.02, 0.04)


def by_log_batch(address: str, run_id: str, entries: Sequence[MetricEntry], times: Sequence[int]) -> None:
    """What `insert_points` does, by MLflow's client."""
    from mlflow import MlflowClient
    from mlflow.entities import Metric

    metrics = [Metric(key, value, when, step) for (key, value, step), when in zip(entries, times, strict=True)]
    client = MlflowClient(address)
    for start in range(0, len(metrics), AT_ONCE):
        client.log_batch(run_id, metrics=metrics[start : start + AT_ONCE])


class Way:
    """A store that is filled in one way, and what each setting took: (seconds of the CPU, of the clock)."""

    def __init__(self, name: str, insert: object, uri: str | None, folder: Path, config: str) -> None:
        self.name, self.insert, self.folder, self.config = name, insert, folder, config
        self.spent: list[tuple[float, float]] = []
        self.tracker = MlflowTracker(uri=uri)
        start = time.perf_counter()
        self.tracker.start("benchmark", config, folder / "out")
        print(f"{name}: open a new store {time.perf_counter() - start:.1f} s")

    def log(self, result: SettingResult) -> None:
        """A setting and its verdict, as a sweep does it."""
        tracking.insert_points = self.insert  # type: ignore[assignment]
        start = (time.process_time(), time.perf_counter())
        self.tracker.log(result)
        self.tracker.judge(result, "no gain shown", GAIN)
        self.spent.append((time.process_time() - start[0], time.perf_counter() - start[1]))

    def report(self) -> float:
        """Print what a setting took; the median in seconds of the CPU."""
        self.tracker.finish([])
        if self.tracker.failure is not None:
            raise SystemExit(self.tracker.failure)
        processor, clock = np.median(self.spent, axis=0)
        line = f"{self.name}: a setting {processor:.3f} CPU-s, {clock:.3f} s (medians of {len(self.spent)})"
        line += f"; {ALL_SETTINGS} settings {processor * ALL_SETTINGS:.0f} CPU-s"
        store = self.folder / "mlflow.db"
        if store.is_file():
            line += f"; {store.stat().st_size / len(self.spent) / 1e6:.2f} MB per setting"
        print(line)
        return float(processor)


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
        ways = [Way("log_batch", by_log_batch, given.server, Path(folder, "before"), config)]
        if given.server is None:
            ways.append(Way("one transaction", tracking.insert_points, None, Path(folder, "after"), config))
        for result in results:
            for way in ways:
                way.log(result)
        medians = [way.report() for way in ways]
        if len(medians) > 1:
            print(f"ratio {medians[0] / medians[1]:.1f}")
        last = ways[-1]
        start = time.perf_counter()
        again = Way("the same sweep again", last.insert, given.server, last.folder, config)
        for result in results:
            again.log(result)
        again.tracker.finish([])
        print(f"the same sweep again: {time.perf_counter() - start:.2f} s for {len(results)} settings")


if __name__ == "__main__":
    main()
