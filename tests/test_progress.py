"""Progress where standard error is no terminal: lines now and then, with rates and times that make sense."""

import io
import sys
import types

import pytest

from bmx_grid import progress as module
from bmx_grid.progress import BYTES, LINE_EVERY_S, Progress


@pytest.fixture
def clock(monkeypatch):
    """clock[0] is the time in seconds."""
    now = [1000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize(
    ("total", "unit", "start", "done", "seconds", "line"),
    [
        pytest.param(
            60_000, "texts", 0, 12_000, 40, "scoring: 12,000 of 60,000 texts (20%), 300 texts/s, 3 min left", id="texts"
        ),
        pytest.param(
            None, "texts", 0, 12_000, 40, "scoring: 12,000 texts, 300 texts/s", id="no-total-so-no-share-and-no-time"
        ),
        pytest.param(
            100, "texts", 0, 2, 60, "scoring: 2 of 100 texts (2%), 2 texts/min, 49 min left", id="slower-than-1-per-s"
        ),
        pytest.param(
            10_000, "texts", 0, 1, 30, "scoring: 1 of 10,000 texts (0%), 2 texts/min, 83 h 20 min left", id="days"
        ),
        pytest.param(100, "texts", 0, 0, 31, "scoring: 0 of 100 texts (0%), 0 texts/min", id="nothing-yet-no-time"),
        pytest.param(
            100, "texts", 0, 100, 50, "scoring: 100 of 100 texts (100%), 2 texts/s", id="all-done"
        ),
        pytest.param(
            100, "texts", 0, 120, 50, "scoring: 120 of 120 texts (100%), 2 texts/s", id="more-than-said"
        ),
        pytest.param(
            200_000_000, BYTES, 50_000_000, 60_000_000, 30,
            "scoring: 110.0 of 200.0 MB (55%), 2 MB/s, 45 s left", id="resumed-download-counts-its-own-rate",
        ),
        pytest.param(None, BYTES, 0, 60_000, 30, "scoring: 0.1 MB, 0.002 MB/s", id="slow-download-of-unknown-size"),
        pytest.param(
            10**10, BYTES, 0, 6 * 10**9, 30, "scoring: 6000.0 of 10000.0 MB (60%), 200 MB/s, 20 s left", id="fast"
        ),
        pytest.param(9001, "texts", 0, 9000, 30, "scoring: 9,000 of 9,001 texts (100%), 300 texts/s, under 1 s left",
                     id="nearly-done"),
    ],
)  # fmt: skip
def test_a_line(clock, capsys, total, unit, start, done, seconds, line):
    with Progress(total, unit=unit, start=start) as progress:
        clock[0] += seconds
        progress.advance(done)
    assert capsys.readouterr().err == f"{line}\n"


def test_lines_come_now_and_then_with_the_rate_since_the_last(clock, capsys):
    with Progress(1_000_000, "fitting", "rows") as progress:
        for _ in range(2 * int(LINE_EVERY_S)):  # 100 rows/s, then 10
            clock[0] += 1
            progress.advance(100 if clock[0] <= 1000 + LINE_EVERY_S else 10)
    assert capsys.readouterr().err.splitlines() == [
        "fitting: 3,000 of 1,000,000 rows (0%), 100 rows/s, 2 h 46 min left",
        "fitting: 3,300 of 1,000,000 rows (0%), 10 rows/s, 27 h 41 min left",
    ]


def test_nothing_to_do_is_said_by_nothing(clock, capsys):
    with Progress(0) as progress:
        clock[0] += 100
        progress.advance(0)
        progress.say("a line")
    assert capsys.readouterr() == ("a line\n", "")


def test_on_a_terminal_a_bar_of_tqdm(monkeypatch, capsys):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    with Progress(200, "fetching", BYTES, start=50) as progress:
        progress.advance(150)
        progress.say("above the bar")
    shown = sys.stderr.getvalue()
    assert "fetching" in shown and "200/200" in shown
    assert capsys.readouterr().out == "above the bar\n"


def test_a_notebook_has_a_bar_of_long_work_and_nothing_of_short_work(monkeypatch, capsys):
    monkeypatch.setattr(module, "in_notebook", lambda: True)
    with Progress(50, label="quick") as progress:
        progress.advance(50)
    assert capsys.readouterr().err.strip() == ""
    monkeypatch.setattr(module, "NOTEBOOK_DELAY_S", 0)
    with Progress(50, label="slow") as progress:
        progress.advance(50)
    assert "slow" in (shown := capsys.readouterr().err)
    assert shown.splitlines()[-1].strip() == "", "the bar goes when the work is done"


@pytest.mark.parametrize(
    ("shell", "found"),
    [(None, False), (types.SimpleNamespace(), False), (types.SimpleNamespace(kernel=object()), True)],
    ids=["python", "ipython on a terminal", "a kernel"],
)
def test_a_notebook_is_an_ipython_with_a_kernel(monkeypatch, shell, found):
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    assert module.in_notebook() is found
