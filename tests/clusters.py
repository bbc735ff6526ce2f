"""One small sweep for tests of clusters: its command, its tables, and how far it is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
from fakes import ROOT
from started import Forked, start

SMALL = (
    *("dataset.sample.language_pairs=[de-en]", "limit=12", "metric=[sleepy]", "explainer=[erasure,random]"),
    *("evaluation=[grid,levels]", "grid.p.step=10", "executor.chunk_texts=1", "analysis=false", "tracking=none"),
)
PATHS = f"{ROOT}{os.pathsep}{ROOT / 'tests'}"
MEASURED = ("seconds", "n_texts", "cached")  # columns of settings.parquet: of this run, not of its result


def option(folder: Path, seconds: float) -> Path:
    """A folder for --config-dir with the metric `sleepy`, which takes so many seconds for each chunk."""
    conf = folder / "conf"
    (conf / "metric").mkdir(parents=True, exist_ok=True)
    metric = f"sleepy:\n  _target_: fakes.SleepyMetric\n  seconds: {seconds}\n"
    (conf / "metric" / "sleepy.yaml").write_text(metric)
    return conf


def command(folder: Path, *overrides: str, seconds: float = 0.4) -> list[str]:
    """The command of the sweep, whose outputs and cache are in `folder`."""
    places = (f"output_dir={folder / 'out'}", f"cache_dir={folder / 'cache'}")
    conf = ("--config-dir", str(option(folder, seconds)))
    return [sys.executable, "-m", "bmx_grid", *conf, *SMALL, *places, *overrides]


def begun(
    folder: Path, *overrides: str, seconds: float = 0.4, forks: str | None = None
) -> subprocess.Popen[str] | Forked:
    """The sweep, started; as a fork of the server with this address, if there is one."""
    folder.mkdir(parents=True, exist_ok=True)
    line = command(folder, *overrides, seconds=seconds)
    running: subprocess.Popen[str] | Forked = start(line, folder) if forks is None else Forked(forks, line[1:], folder)
    return running


def ended(running: subprocess.Popen[str] | Forked, seconds: float = 240) -> tuple[int, str, str]:
    """Status, standard output and standard error of a sweep, when it has ended; without its progress."""
    out, err = running.communicate(timeout=seconds)
    lines = [line for line in err.splitlines(keepends=True) if not line.startswith("scoring: ")]
    return running.returncode, out, "".join(lines)


def planned(out: str) -> int:
    """How many texts a sweep, or its plan, says that it scores at most."""
    return int(re.search(r"at most\s+([\d,]+) texts", out)[1].replace(",", ""))


def tables(folder: Path) -> dict[str, object]:
    """Every table of the sweep by its name, without what was measured in this run."""
    by_path = {}
    for path in sorted((folder / "out").rglob("*.parquet")):
        table = pq.read_table(path)
        if path.name == "settings.parquet":
            table = table.drop_columns([name for name in MEASURED if name in table.column_names])
        by_path[path.relative_to(folder / "out").as_posix()] = [
            (name, str(table.schema.field(name).type), [repr(value) for value in table.column(name).to_pylist()])
            for name in table.column_names
        ]
    return by_path


def chunks(folder: Path) -> int:
    """How many chunks of the sweep are finished, as long as none is merged."""
    return len(list((folder / "cache").rglob("*.parts/*.parquet")))
