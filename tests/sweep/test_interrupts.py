"""Ctrl-C and SIGTERM at any moment: the status, one sentence, nothing lost, nothing left."""

import itertools
import os
import random
import shutil
import signal
import sqlite3
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest
from started import PATIENCE, Forked, alive_in_group, start, wait_for, wait_until_alone

from bmx_grid.commands.run import compose_and_run
from bmx_grid.core.stopping import GRACE_SECONDS, HELD_SECONDS
from bmx_grid.core.terminal import RESUMES

pytestmark = pytest.mark.processes
MOMENTS = int(os.environ.get("BMX_KILLS", "2"))  # one of each signal
MORE = "BMX_KILLS" in os.environ  # also while a new Python imports, which takes half of the time
USUAL_SECONDS = 6.0 if MORE else 3.0  # of the sweep
STATUS = {signal.SIGINT: 130, signal.SIGTERM: 143}
CHOSEN = (
    *("+sweep=quickstart", "evaluation=[grid]", "limit=6", "dataset.sample.language_pairs=[de-en]"),
    # The analysis draws a single figure of a control, and ten of another metric.
    *("metric=[random]", "explainer=[erasure,lime]", "explainer.lime.num_samples=40"),
    *("executor.n_jobs=2", "executor.chunk_texts=100"),
)


def command(folder: Path) -> list[str]:
    folders = (f"output_dir={folder / 'out'}", f"cache_dir={folder / 'cache'}")
    return [sys.executable, "-m", "bmx_grid", *CHOSEN, *folders]


def in_shared_memory() -> set[str]:
    folder = Path("/dev/shm")
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()


def interrupted(forks: str, folder: Path, signum: signal.Signals, moment: float) -> list[str] | None:
    """Start the sweep, interrupt it after `moment` seconds; what is wrong then. None when the sweep was faster."""
    shared = in_shared_memory()
    running = start(command(folder), folder) if MORE else Forked(forks, command(folder)[1:], folder)
    time.sleep(moment)
    # Ctrl-C as a terminal sends it: to the workers, too. A fork that has ended is gone.
    with suppress(ProcessLookupError):
        (os.killpg if signum == signal.SIGINT else os.kill)(running.pid, signum)
    sent = time.monotonic()
    out, err = running.communicate(timeout=HELD_SECONDS + 3 * PATIENCE)
    took = time.monotonic() - sent
    if running.returncode == 0 and "written to" in out:
        return None
    wrong = []
    if running.returncode != STATUS[signum]:
        wrong.append(f"status {running.returncode}")
    messages = [line for line in err.splitlines() if not line.startswith("scoring: ")]  # progress on a slow machine
    if messages != ["", RESUMES]:
        wrong.append(f"said {err!r}")
    if took > HELD_SECONDS + PATIENCE:
        wrong.append(f"took {took:.1f} s")
    if left := wait_until_alone(running.pid):
        wrong.append(f"still running: {left}")
    if files := [path.name for path in (folder / "tmp").iterdir()]:
        wrong.append(f"temporary files: {files}")
    if left := {name for name in in_shared_memory() - shared if str(running.pid) in name}:
        wrong.append(f"in shared memory: {left}")
    if open_runs := still_running_in_mlflow(folder / "mlflow.db"):
        wrong.append(f"open runs in MLflow: {open_runs}")
    return wrong


def still_running_in_mlflow(store: Path) -> list[str]:
    if not store.exists():
        return []
    with closing(sqlite3.connect(store)) as database:
        return [name for (name,) in database.execute("select name from runs where status = 'RUNNING'")]


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_at_random_moments_one_sentence_and_nothing_is_lost(forks, tmp_path, template):
    uninterrupted = tmp_path / "alone"
    assert compose_and_run([*command(uninterrupted)[3:], "analysis=false", "tracking=none"]) == 0
    grid = (uninterrupted / "out" / "tables" / "grid.parquet").read_bytes()
    draw, signals = random.Random(2), itertools.cycle(STATUS)
    wrong, n_interrupted, n_started = [], 0, 0
    while n_interrupted < MOMENTS:
        folder = tmp_path / str(n_started)
        folder.mkdir()
        shutil.copy(template, folder / "mlflow.db")  # in place of the seconds that making it takes
        for _ in range(3):  # the same command goes on each time, until it is left alone
            moment, signum = draw.uniform(0.3, 0.9 * USUAL_SECONDS), next(signals)
            faults = interrupted(forks, folder, signum, moment)
            n_started += 1
            if faults is None:
                break
            n_interrupted += 1
            wrong += [f"{signum.name} after {moment:.2f} s: {fault}" for fault in faults]
            if n_interrupted == MOMENTS:
                break
        again = Forked(forks, command(folder)[1:], folder)
        out, err = again.communicate()
        if again.returncode != 0 or (folder / "out" / "tables" / "grid.parquet").read_bytes() != grid:
            wrong.append(f"the same command did not go on as if nothing had happened: {out}{err}")
        assert n_started < 5 * MOMENTS, "the sweep ends before it can be interrupted"
    assert not wrong, "\n".join(wrong)


SWALLOWED = {
    "a bare except": "try:\n        busy()\n    except:\n        pass",
    "a finaliser": "class A:\n        def __del__(self):\n            busy()\n    a = A()\n    del a",
    "another error in its place": "try:\n        busy()\n    except KeyboardInterrupt:\n        raise ImportError('x')",
    "the end of the work": "busy(); import os; os.stat('/')\n    return 0",
    "the end of the interpreter": "import atexit\n    atexit.register(busy)\n    return 0",
    "an act that must not be left half done": "from bmx_grid.core.stopping import delay_signals\n"
    "    with delay_signals():\n        busy()\n    raise AssertionError('not reached')",
}
PROGRAM = """
import sys, time
from bmx_grid.core import stopping
from bmx_grid.core.stopping import run_process
from bmx_grid.core.terminal import command
stopping.GRACE_SECONDS = {grace}

def busy():  # until a while after the first signal, however late that comes
    print("ready", flush=True)
    end = later = time.monotonic() + 120
    while time.monotonic() < end:
        if stopping.received_signal() is None:
            later = time.monotonic() + 1.5 * stopping.AGAIN_SECONDS
        else:
            end = min(end, later)
        time.sleep(0.001)

def work():
    {body}
    busy()
    return 0

run_process(lambda: command(work, "Stopped."), "Stopped.")
"""


def program(body: str, grace: float = GRACE_SECONDS) -> list[str]:
    return [sys.executable, "-c", PROGRAM.replace("{body}", body).replace("{grace}", str(grace))]


def ends_of(
    programs: dict[str, tuple[str, signal.Signals, int]], folder: Path, grace: float = GRACE_SECONDS
) -> dict[str, tuple[int, str]]:
    """Status and stderr by name of programs (body, signal, how often it is sent), run at once: they mostly wait."""
    lines = {name: program(body, grace) for name, (body, _, _) in programs.items()}
    running = {name: start(line, folder) for name, line in lines.items()}
    for process in running.values():
        assert process.stdout.readline() == "ready\n"
    for turn in range(2):
        for name, (_, signum, times) in programs.items():
            if turn < times:
                os.kill(running[name].pid, signum)
        time.sleep(0.05)
    errors = {name: process.communicate(timeout=GRACE_SECONDS + 3 * PATIENCE)[1] for name, process in running.items()}
    return {name: (process.returncode, errors[name]) for name, process in running.items()}


def test_what_libraries_do_to_an_interrupt_does_not_matter(tmp_path):
    """Half of them get two signals, one after the other."""
    turns = zip(SWALLOWED.items(), itertools.cycle(itertools.product(STATUS, (1, 2))), strict=False)
    programs = {name: (body, signum, times) for (name, body), (signum, times) in turns}
    expected = {name: (STATUS[signum], "\nStopped.\n") for name, (_, signum, _) in programs.items()}
    assert ends_of(programs, tmp_path) == expected


STUBBORN = {
    "the work goes on": "while True:\n        try: busy()\n        except KeyboardInterrupt: pass",
    "a thread never ends": "import threading\n    threading.Thread(target=time.sleep, args=(60,)).start()\n    busy()",
}


def test_a_process_that_does_not_end_is_ended_and_without_a_signal_the_status_is_that_of_the_work(tmp_path):
    ends = ends_of({name: (body, signal.SIGINT, 1) for name, body in STUBBORN.items()}, tmp_path, grace=2.0)
    assert ends == dict.fromkeys(STUBBORN, (130, "\nStopped.\n"))
    for body, status in (("return 3", 3), ("sys.exit(4)", 4), ("raise ValueError('boom')", 1)):
        running = start(program(body), tmp_path)
        _, err = running.communicate()
        assert running.returncode == status
        assert ("ValueError: boom" in err) is (status == 1)


def test_workers_end_when_their_parent_is_killed(forks, tmp_path):
    running = Forked(forks, [*command(tmp_path)[1:], "tracking=none"], tmp_path)
    wait_for(lambda: len(alive_in_group(running.pid)) >= 3)
    os.kill(running.pid, signal.SIGKILL)
    running.communicate()
    assert wait_until_alone(running.pid) == []


WORKERS = {
    "a worker is started": """
    from joblib.externals.loky.backend import fork_exec as module
    fork = module.fork_exec
    def interrupted(*given, **more):  # between the start of a process and what it is to run
        pid = fork(*given, **more)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)  # another thread takes the signal, which is raised when this one runs again
        return pid
    module.fork_exec = interrupted
    run(1)""",
    "jobs wait in the pool": "threading.Timer(3, os.kill, (os.getpid(), signal.SIGINT)).start(); run(20)",
}
USING_LOKY = """import os, signal, threading, time
    from functools import partial
    from bmx_grid.sweep.executors.base import Job
    from bmx_grid.sweep.executors.local import Loky
    def run(n_jobs):
        list(Loky(n_jobs=2).run(Job(partial(time.sleep, 60)) for _ in range(n_jobs)))
    """


@pytest.mark.parametrize("body", WORKERS.values(), ids=WORKERS)
def test_an_interrupt_of_workers_is_one_sentence(body, tmp_path):
    running = start(program(USING_LOKY + body), tmp_path)
    assert running.communicate() == ("", "\nStopped.\n")
    assert running.returncode == STATUS[signal.SIGINT]
    assert wait_until_alone(running.pid) == []


def test_an_interrupt_before_anything_has_begun_is_one_sentence(tmp_path):
    """While modules of ours are imported, and while the process prepares to answer signals."""
    (tmp_path / "difflib.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nwhile True: pass\n")
    importing = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from bmx_grid.__main__ import main; main()"
    preparing = PROGRAM.replace("{body}", "pass").replace("{grace}", "2").replace("run_process(lambda", "{}(lambda", 1)
    preparing = preparing.replace("{}(", "stopping._watch = lambda _: stopping._handle(2, None)\nrun_process(", 1)
    for code, message in ((importing, "\nInterrupted.\n"), (preparing, "\nStopped.\n")):
        running = start([sys.executable, "-c", code], tmp_path)
        assert running.communicate() == ("", message)
        assert running.returncode == STATUS[signal.SIGINT]
