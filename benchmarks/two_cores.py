"""Two processes on two cores: wall time of a sweep with a neural metric, as a share of that of one process.

    python benchmarks/two_cores.py [--sources 10] [--rounds 1] [--write]

MiniLM's BERTScore x Erasure, LIME, SHAP and Partition SHAP on the embedded sample, German to English, with an empty
cache: executor=sequential and executor=loky (one process per core, one thread each) take turns, on cores that nobody
else uses. CPU seconds are those of the main process and of each worker, among them those that replaced one whose memory
had grown. --write puts the table into README.md. Linux only.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from harness import ROOT, Bench, machine

MOST = 0.55
EXPLAINERS = ("erasure", "lime", "shap", "partition_shap")
HEADER = "| sources | texts | one process, wall s | two, wall s | share | one process, CPU-s | main | workers |"
README = Path(__file__).with_name("README.md")
BEGIN = "<!-- two_cores.py -->\n"
END = "<!-- end -->\n"
LOOK_SECONDS = 0.5  # each takes some 20 ms
TICK = 1 / os.sysconf("SC_CLK_TCK")


@dataclass
class Run:
    """Seconds of one run: wall, CPU of the main process, CPU of each worker, the busiest first."""

    wall: float = 0.0
    main: float = 0.0
    workers: list[float] = field(default_factory=list)
    texts: int = 0


def cpu_seconds() -> dict[int, tuple[int, float, str]]:
    """By process its parent, its CPU seconds without those of children, and its command line."""
    found = {}
    for place in Path("/proc").iterdir():
        if not place.name.isdigit():
            continue
        try:
            numbers = (place / "stat").read_text().rpartition(")")[2].split()
            command = (place / "cmdline").read_text()
        except OSError:  # it ended meanwhile
            continue
        found[int(place.name)] = int(numbers[1]), (int(numbers[11]) + int(numbers[12])) * TICK, command
    return found


def run(executor: tuple[str, ...], sources: int) -> Run:
    """The command in processes of its own; they are looked at every LOOK_SECONDS."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            *(sys.executable, "-m", "bmx_grid", "dataset=[sample]", "dataset.sample.language_pairs=[de-en]"),
            *("metric=[minilm_bertscore]", f"explainer=[{','.join(EXPLAINERS)}]", f"limit={sources}"),
            *("tracking=none", f"cache_dir={folder}/cache", f"output_dir={folder}/out", *executor),
        ]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        seconds: dict[int, float] = {}
        ended = threading.Event()
        began = time.perf_counter()
        pipes: dict[str, int] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        running = subprocess.Popen(command, text=True, env=environment, **pipes)

        def watch() -> None:
            while not ended.wait(LOOK_SECONDS):
                known = cpu_seconds()
                for process, (parent, used, line) in known.items():
                    if process == running.pid or (parent == running.pid and "LokyProcess" in line):
                        seconds[process] = used

        watching = threading.Thread(target=watch)
        watching.start()
        said, _ = running.communicate()
        wall = time.perf_counter() - began
        ended.set()
        watching.join()
    if running.returncode != 0:
        raise SystemExit(f"the sweep failed with status {running.returncode}:\n{said}")
    main = seconds.pop(running.pid)
    line = next(line for line in said.splitlines() if " scored in " in line)
    return Run(wall, main, sorted(seconds.values(), reverse=True), int(line.split()[0].replace(",", "")))


def row(sources: int, alone: list[Run], shared: list[Run]) -> str:
    """Medians over rounds."""
    walls = [statistics.median(run.wall for run in runs) for runs in (alone, shared)]
    main = statistics.median(run.main for run in shared)
    workers = [statistics.median(times) for times in zip(*(run.workers for run in shared), strict=True)]
    share = wall_share(alone, shared)
    cells = [f"{sources}", f"{alone[0].texts:,}", *(f"{wall:.0f}" for wall in walls), f"{share:.2f}"]
    cells += [f"{statistics.median(run.main for run in alone):.1f}", f"{main:.1f}"]
    cells.append(", ".join(f"{worker:.1f}" for worker in workers))
    return f"| {' | '.join(cells)} |"


def wall_share(alone: list[Run], shared: list[Run]) -> float:
    """Wall time of two processes as a share of that of one."""
    return statistics.median(two.wall / one.wall for one, two in zip(alone, shared, strict=True))


if __name__ == "__main__":
    asked = {"sources": {"type": int, "nargs": "+", "default": [10]}, "write": {"action": "store_true"}}
    bench = Bench(__doc__, rounds=1, **asked)
    rows = []
    print(HEADER, flush=True)
    for sources in bench.options.sources:
        alone, shared = [], []
        for _ in range(bench.options.rounds):
            alone.append(run(("executor=sequential",), sources))
            shared.append(run(("executor=loky", "executor.n_jobs=2", "executor.devices=[]"), sources))
        rows.append(row(sources, alone, shared))
        last = sources == bench.options.sources[-1]
        bench.row(f"{sources} sources", rows[-1], wall_share(alone, shared), MOST if last else None, most=True)
    if bench.options.write:
        before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN)
        table = "\n".join([HEADER, "|--:" * 8 + "|", *rows])
        after = rest.partition(END)[2]
        text = f"{before}{BEGIN}{machine()}; medians of {bench.options.rounds} rounds:\n\n{table}\n\n{END}{after}"
        README.write_text(text, encoding="utf-8")
    sys.exit(bench.finish())
