"""Signals to a sweep at moments made from a seed: as it starts, while workers start, and while they score.

inputs(seed, count)     (what is done, seconds, signal, whether standard output is closed)
answer(folder, ...)     "" where the program ended as it should; raises AssertionError otherwise
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
EARLY = 1.5  # seconds in which most of a start lies
LATE = 12.0
PATIENCE = 50.0
CHOSEN = (
    *("+sweep=quickstart", "evaluation=[grid]", "limit=6", "dataset.sample.language_pairs=[de-en]"),
    *("metric=[random]", "explainer=[lime]", "explainer.lime.num_samples=400", "tracking=none"),
    *("executor.n_jobs=2", "executor.chunk_texts=100"),
)
ENDS = {signal.SIGINT: 130, signal.SIGTERM: 143}


def inputs(seed: int, count: int) -> Iterator[tuple[str, float, signal.Signals, bool]]:
    rng = random.Random(seed)
    for _ in range(count):
        moment = rng.uniform(0.0, EARLY) if rng.random() < 0.75 else rng.uniform(EARLY, LATE)
        signum = rng.choice(tuple(ENDS))
        closed = rng.random() < 0.2
        yield f"{signum.name} after {moment:.3f} s{', standard output closed' * closed}", moment, signum, closed


def answer(folder: Path, moment: float, signum: signal.Signals, closed: bool) -> str:
    command = [sys.executable, "-m", "bmx_grid", *CHOSEN, f"output_dir={folder}/out", f"cache_dir={folder}/cache"]
    if closed:
        command = ["sh", "-c", 'exec "$@" >&-', "sh", *command]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    running = subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True, text=True, **pipes)
    time.sleep(moment)
    listens = _listens(running.pid)
    with contextlib.suppress(ProcessLookupError):  # it may have ended
        # Ctrl-C as a terminal sends it: to the workers, too
        (os.killpg if signum == signal.SIGINT else os.kill)(running.pid, signum)
    try:
        out, err = running.communicate(timeout=PATIENCE)
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
            running.communicate()
    status = running.returncode
    said = out + err
    statuses = [0, ENDS[signum]]
    if not listens:
        # the interpreter still starts: a signal ends it as any program, Ctrl-C in a traceback without a line of ours
        statuses.append(-signum)
        if moment < EARLY and "bmx_grid" not in said:
            said = ""
    if "Traceback" in said or status not in statuses or (not listens and moment >= EARLY):
        raise AssertionError(f"status {status}, {'listening' if listens else 'not yet listening'}: {out[-500:]}{err}")
    return ""


def _listens(pid: int) -> bool:
    """Whether a process has a handler for SIGTERM, or has ended: the program installs one among its first lines."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return True
    caught = re.search(r"^SigCgt:\s*([0-9a-f]+)$", status, re.MULTILINE)
    return caught is None or bool(int(caught[1], 16) >> (signal.SIGTERM - 1) & 1)
