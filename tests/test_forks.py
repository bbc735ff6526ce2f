"""A fork of forks.py does what `python` does: what it sees, what it prints, its status, and how it is killed."""

import os
import signal
import subprocess
import sys

import pytest
from fakes import ROOT
from forks import Fork
from started import alive_in_group, wait_for, wait_until_alone

pytestmark = pytest.mark.processes

SEEN = """
import atexit, os, signal, sys, tempfile, threading, time
print(__name__, sys.argv, sys.path, os.getcwd(), os.environ["MINE"], tempfile.gettempdir(), sys.stdin.read())
print(signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM), sys.stdout.encoding, sys.stderr.errors)
print(sys.stdout.line_buffering, sys.stderr.line_buffering, sys.stdout.isatty(), sys.modules["__main__"].__name__)
print(os.getsid(0) == os.getpid() == os.getpgid(0), sys.executable, len(os.listdir("/proc/self/fd")))
atexit.register(print, "at the end")
threading.Thread(target=lambda: (time.sleep(0.1), print("of a thread"))).start()
print("to the other stream", file=sys.stderr)
sys.exit(3)
"""
PROGRAMS = {
    "what it sees": ["-c", SEEN, "a b", ""],
    "a text as its status": ["-c", "import sys; sys.exit('no')"],
    "an error": ["-c", "1 / 0"],
    "a signal": ["-c", "import os, signal; print('here', flush=True); os.kill(os.getpid(), signal.SIGTERM)"],
    "a version": ["-m", "bmx_grid", "--version"],
    "a mistake": ["-m", "bmx_grid", "compare", "nowhere.tsv"],
    "a configuration": ["-m", "bmx_grid", "+sweep=quickstart", "metric=[chrf]", "--cfg", "job"],
}


@pytest.mark.parametrize("arguments", PROGRAMS.values(), ids=PROGRAMS)
def test_a_fork_sees_prints_and_ends_as_a_new_python(arguments, forks, tmp_path):
    environment = {**os.environ, "MINE": "ä", "TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    ends = []
    for forked in (False, True):
        names = [tmp_path / f"{forked}.{stream}" for stream in ("in", "out", "err")]
        names[0].write_text("some input")
        with names[0].open() as given, names[1].open("w") as out, names[2].open("w") as err:
            if forked:
                program = Fork(forks, arguments, [given.fileno(), out.fileno(), err.fileno()], tmp_path, environment)
            else:
                streams = {"stdin": given, "stdout": out, "stderr": err}
                command = [sys.executable, *arguments]
                program = subprocess.Popen(command, cwd=tmp_path, env=environment, start_new_session=True, **streams)
            status = program.wait(60)
        # A traceback has the lines of forks.py, too.
        ends.append((status, names[1].read_text(), names[2].read_text().splitlines()[-1:]))
    assert ends[0] == ends[1]


SLEEPS = "import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', 'import time; time.sleep(600)'])"


@pytest.mark.parametrize("who", ["its group", "who asked for it"])
def test_a_killed_fork_leaves_nothing(who, forks, tmp_path):
    with open(os.devnull, "r+") as nothing:
        program = Fork(forks, ["-c", SLEEPS], [nothing.fileno()] * 3, tmp_path, dict(os.environ))
    wait_for(lambda: len(alive_in_group(program.pid)) == 2)
    if who == "its group":
        os.killpg(program.pid, signal.SIGKILL)
        assert program.wait(60) == -signal.SIGKILL
    else:
        program.leave()
    assert wait_until_alone(program.pid) == []
