"""What all benchmarks share: ways of doing the same work take turns in one process, and medians are compared.

A benchmark is one file with one claim:

    from harness import Bench

    bench = Bench(__doc__, rounds=5)
    bench.compare("power means", {"ours": ours, "plain": plain}, share={"plain": 6}, floor=300)
    sys.exit(bench.finish())

Every way is called once to warm up, then in turn in each round. A row shows the median and range of each way's
seconds, and the ratio of the last way to the first, both from this run; below its floor it is MISSED, and `finish`
returns 1. Seconds are CPU seconds unless `clock` says otherwise: on a shared machine, time lost to others would mostly
be lost by the longer way. Options of all benchmarks: --rounds N, --json FILE (all seconds of all rounds), --data DIR.
Importing this module sets one thread for linear algebra, unless OMP_NUM_THREADS is set, and makes bmx_grid of this
checkout, and the tests' helpers, importable; import it first.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

for _library in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_library, os.environ.get("OMP_NUM_THREADS", "1"))  # read when NumPy is imported
os.environ.setdefault("HF_HUB_OFFLINE", "1")  # benchmarks never contact a model hub
ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "experiments" / "word_level_2016")]

Way = Callable[[], object]
Clock = Callable[[], float]


class Bench:
    """One benchmark: its options, its rows, and whether its floors were reached."""

    def __init__(self, doc: str | None, rounds: int, **options: Mapping[str, object]) -> None:
        """doc: the module's docstring. options: further arguments, name -> keywords of `add_argument`."""
        parser = argparse.ArgumentParser(
            description=doc, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
        )
        parser.add_argument("--rounds", type=_at_least_one, default=rounds, help=f"default: {rounds}")
        parser.add_argument("--json", type=Path, metavar="FILE", help="write all seconds of all rounds")
        data = os.environ.get("BMX_DATA_DIR") or ROOT.parent / "shared" / "data"
        parser.add_argument("--data", type=Path, default=Path(data), help="folder of data sets")
        for name, keywords in options.items():
            parser.add_argument(f"--{name.replace('_', '-')}", **keywords)  # type: ignore[arg-type]
        self.options = parser.parse_args()
        self.rows: list[dict[str, object]] = []
        self.missed: list[str] = []
        print(f"{Path(sys.argv[0]).stem}: {(doc or '').splitlines()[0]}")
        print(f"{machine()}; {self.options.rounds} rounds, median (least to most)", flush=True)

    def measure(
        self,
        ways: Mapping[str, Way],
        *,
        share: Mapping[str, float] | None = None,
        repeats: Mapping[str, int] | None = None,
        clock: Clock = time.process_time,
    ) -> dict[str, list[float]]:
        """Seconds of each way in each round. share: a way that does one n-th of the work: its seconds times n.

        repeats: how often a way is called in each round (their median counts), for ways that are quick.
        """
        share, repeats = share or {}, repeats or {}
        for way in ways.values():
            way()
        taken: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(self.options.rounds):
            for name, way in ways.items():
                calls = [_seconds(way, clock) for _ in range(repeats.get(name, 1))]
                taken[name].append(statistics.median(calls) * share.get(name, 1))
        return taken

    def compare(
        self,
        label: str,
        ways: Mapping[str, Way],
        *,
        floor: float | None = None,
        per: float = 1,
        unit: str = "",
        share: Mapping[str, float] | None = None,
        repeats: Mapping[str, int] | None = None,
        clock: Clock = time.process_time,
        note: str = "",
    ) -> dict[str, float]:
        """Measure and print one row; the median seconds of each way.

        floor: least ratio of the last way to the first. per, unit: seconds are shown per so many of this unit.
        """
        taken = self.measure(ways, share=share, repeats=repeats, clock=clock)
        medians = {name: statistics.median(seconds) for name, seconds in taken.items()}
        first, last = next(iter(ways)), next(reversed(ways))
        ratio = medians[last] / medians[first] if len(ways) > 1 else None
        cells = [f"{name} {_range([second / per for second in seconds])}{unit}" for name, seconds in taken.items()]
        told = f"{label:<34} " + "  ".join(cells)
        if ratio is not None:
            told += f"  {ratio:,.1f}x"
        self.row(label, told + (f"  ({note})" if note else ""), ratio, floor, seconds=taken)
        return medians

    def row(
        self,
        label: str,
        told: str,
        value: float | None,
        floor: float | None = None,
        *,
        most: bool = False,
        **more: object,
    ) -> None:
        """Print a row computed elsewhere. floor: the least `value` may be; the most with `most`."""
        missed = floor is not None and value is not None and (value > floor if most else value < floor)
        if floor is not None:
            told += f"  {'at most' if most else 'floor'} {floor:g}{'  MISSED' if missed else ''}"
        print(told, flush=True)
        self.rows.append({"label": label, "value": value, "floor": floor, "missed": missed, **more})
        if missed:
            self.missed.append(label)

    def finish(self) -> int:
        """Write the JSON file; the exit status, 1 when a floor was missed."""
        if self.options.json is not None:
            found = {"benchmark": Path(sys.argv[0]).stem, "machine": machine(), "rounds": self.options.rounds}
            self.options.json.write_text(json.dumps(found | {"rows": self.rows}, indent=1) + "\n", encoding="utf-8")
        return 1 if self.missed else 0


def optional(module: str) -> Any:
    """A peer that is installed with the extra `peers`; None, with a line that says so, if it is not."""
    try:
        return importlib.import_module(module)
    except ImportError:
        print(f"{module} is not installed: pip install '.[peers]'")
        return None


def measured_table(found: Mapping[str, Any]) -> str:
    """The Markdown table of what `finish` wrote: seconds of each way, and the other ways' ratios to the first.

    Medians over rounds, in brackets the least and most. A ratio is taken within each round.
    """
    rows = [row for row in found["rows"] if "seconds" in row]
    ways = list(dict.fromkeys(way for row in rows for way in row["seconds"]))
    lines = [f"| CPU time | {' | '.join(ways)} |", f"|---|{'--:|' * len(ways)}"]
    for row in rows:
        seconds = row["seconds"]
        first = seconds[ways[0]]
        cells = [_range(first)]
        for way in ways[1:]:
            if way not in seconds:
                cells.append("")
                continue
            ratios = [theirs / ours for theirs, ours in zip(seconds[way], first, strict=True)]
            spread = f"{min(ratios):.2g} to {max(ratios):.2g}"
            cells.append(f"{statistics.median(ratios):.2g}× ({spread})")
        lines.append(f"| {row['label']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def machine() -> str:
    """Processor, cores and threads used, and the versions of Python and NumPy."""
    import numpy

    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        models = [line.partition(":")[2].strip() for line in info.read_text().splitlines() if "model name" in line]
        name = models[0] if models else name
    used = f"{name}, {os.cpu_count()} cores, OMP_NUM_THREADS={os.environ['OMP_NUM_THREADS']}"
    return f"{used}; Python {platform.python_version()}, NumPy {numpy.__version__}"


def _seconds(way: Way, clock: Clock) -> float:
    start = clock()
    way()
    return clock() - start


def _range(seconds: list[float]) -> str:
    """Median and range, in the unit that the median reads best in."""
    middle = statistics.median(seconds)
    scale, unit = next(
        ((scale, unit) for scale, unit in ((1, "s"), (1e3, "ms"), (1e6, "us")) if middle * scale >= 1), (1e6, "us")
    )
    return f"{middle * scale:.3g} {unit} ({min(seconds) * scale:.3g} to {max(seconds) * scale:.3g})"


def _at_least_one(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number}: at least 1")
    return number
