"""What a terminal, or a file in its place, shows: progress with rates that make sense, and errors in one sentence."""

import io
import os
import sys

import numpy as np
import pytest

from bmx_grid.core import terminal as module
from bmx_grid.core.terminal import BYTES, CLEAR, LINE_EVERY_S, Progress, command, command_line, say, working


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """clock[0] is the time in seconds."""
    now = [1000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize(
    ("total", "unit", "done", "seconds", "line"),
    [
        pytest.param(
            60_000, "texts", 9_000, 30, "scoring: 9.00k of 60.0k texts (15%), 300 texts/s, 02:50 left", id="of"
        ),
        pytest.param(None, "texts", 12_000, 40, "scoring: 12.0k texts [00:40, 300 texts/s]", id="no total"),
        pytest.param(100, "texts", 0, 31, "scoring: 0.00 of 100 texts (0%), ? texts/s, ? left", id="nothing yet"),
        pytest.param(100, "texts", 120, 60, "scoring: 120 of 120 texts (100%), 2.00 texts/s, 00:00 left", id="more"),
        pytest.param(2 * 10**8, BYTES, 6 * 10**7, 30, "scoring: 60.0M of 200MB (30%), 2.00MB/s, 01:10 left", id="B"),
    ],
)
def test_a_line_of_progress_has_share_rate_and_time_left(clock, capsys, total, unit, done, seconds, line):
    with Progress(total, unit=unit) as progress:
        clock[0] += seconds
        progress.advance(done)
    assert capsys.readouterr().err == f"{line}\n"


def test_lines_come_now_and_then_with_the_rate_since_the_last(clock, capsys):
    with Progress(1_000_000, "fitting", "rows") as progress:
        for _ in range(2 * int(LINE_EVERY_S)):  # 100 rows/s, then 10
            clock[0] += 1
            progress.advance(100 if clock[0] <= 1000 + LINE_EVERY_S else 10)
    assert capsys.readouterr().err.splitlines() == [
        "fitting: 3.00k of 1.00M rows (0%), 100 rows/s, 2:46:10 left",
        "fitting: 3.30k of 1.00M rows (0%), 10.0 rows/s, 27:41:10 left",
    ]


def test_what_will_not_be_done_is_no_part_of_the_total_and_of_the_time_left(clock, capsys):
    with Progress(100_000) as progress:
        progress.drop(40_000)
        clock[0] += 30
        progress.advance(30_000)
    assert capsys.readouterr().err == "scoring: 30.0k of 60.0k texts (50%), 1.00k texts/s, 00:30 left\n"


def test_nothing_to_do_is_said_by_nothing(clock, capsys):
    with Progress(0) as progress:
        clock[0] += 100
        progress.advance(0)
        progress.say("a line")
    assert capsys.readouterr() == ("a line\n", "")


def test_nothing_is_said_to_a_standard_output_that_somebody_closed(monkeypatch):
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stdout", closed)
    say("a line")


def test_on_a_terminal_a_bar_of_tqdm(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with Progress(200, "fetching", BYTES) as progress:
        progress.advance(100)
        progress.drop(50)
        progress.advance(50)
        progress.say("above the bar")
    shown = sys.stderr.getvalue()
    assert "fetching" in shown and "/200" in shown and "150/150" in shown
    assert capsys.readouterr().out == "above the bar\n"


def test_what_cannot_be_counted_is_said_on_a_terminal_and_goes(monkeypatch, capsys):
    with working("analysis"):
        pass
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys, "stderr", Terminal())
    with working("analysis"):
        assert sys.stderr.getvalue() == "\ranalysis …"
    assert sys.stderr.getvalue() == f"\ranalysis …{CLEAR}"


def test_too_little_memory_is_one_sentence(capsys):
    """An option can ask for an array that no machine holds; numpy then raises MemoryError."""

    def work():
        np.empty((1 << 29, 1 << 28))
        return 0

    assert command(work) == 1
    sentence = capsys.readouterr().err
    assert sentence.startswith("error: not enough memory: Unable to allocate") and sentence.count("\n") == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux that is always full")
@pytest.mark.parametrize(
    ("write", "status", "message"),
    [
        pytest.param(print, 1, "error: the output cannot be written: No space left on device; send it elsewhere.\n"),
        pytest.param(say, 0, "warning: the output cannot be written: No space left on device; the work continues.\n"),
    ],
    ids=["a result", "a message of a sweep"],
)
def test_a_full_disk_behind_the_output_is_one_sentence(write, status, message, monkeypatch, capsys):
    def work():
        for _ in range(2):
            write("x" * 100_000)
        return 0

    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert command(work) == status
        assert capsys.readouterr().err == message


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        pytest.param(["/x/bmx_grid/__main__.py", "metric=[a,b]"], "python -m bmx_grid 'metric=[a,b]'", id="a module"),
        pytest.param(["/bin/bmx-grid", "run", "limit=5"], "bmx-grid run limit=5", id="a command"),
        pytest.param(["/bin/bmx-grid", "tracking.password=x"], "bmx-grid 'tracking.password=***'", id="a secret"),
        pytest.param(["/lib/ipykernel_launcher.py", "-f", "k"], "ipykernel_launcher.py", id="a notebook"),
    ],
)
def test_the_command_that_runs_can_be_pasted_and_shows_no_secret(arguments, line, monkeypatch):
    monkeypatch.setattr(sys, "argv", arguments)
    assert command_line() == line
