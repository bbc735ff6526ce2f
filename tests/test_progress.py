"""Progress where standard error is no terminal: lines now and then, with rates and times that make sense."""

import io
import sys
import types

import pytest

from bmx_grid import progress as module
from bmx_grid.progress import BYTES, LINE_EVERY_S, PRIOR_S, Progress, TimeLeft, working
from bmx_grid.terminal import plain_warnings


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
        pytest.param(9001, "texts", 0, 9000, 30, "scoring: 9,000 of 9,001 texts (99%), 300 texts/s, under 1 s left",
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


def test_the_time_left_is_right_from_the_first_minute_where_settings_differ_a_hundredfold(clock, capsys):
    """Two workers score 1,200 texts of a model (0.5 s each), which come first, then 100,000 light ones (2 ms)."""
    left = TimeLeft({"slow": 1200, "quick": 100_000}, {"slow": ("model", 0.1), "quick": ("light", 0.002)}, workers=2)
    with Progress(101_200, time_left=left) as progress:
        for _ in range(8):  # a report of 20 texts every 5 seconds: 10 seconds of one of two workers
            clock[0] += 5
            left.done("slow", 20, 10.0)
            progress.advance(20)
    truth = (1200 * 0.5 + 100_000 * 0.002) / 2 - 30
    assert truth == 370
    (line,) = capsys.readouterr().err.splitlines()
    assert line == "scoring: 120 of 101,200 texts (0%), 4 texts/s, 6 min left"  # at that rate it would be 7 hours


@pytest.mark.parametrize(
    ("reports", "elapsed", "seconds"),
    [
        pytest.param([], 30, None, id="nothing-is-known"),
        pytest.param([("a", 10, 10.0)], 0, 90 * 1.0 * PRIOR_S / (2 * PRIOR_S + 10) + 50 * PRIOR_S / (2 * PRIOR_S + 10),
                     id="kinds-of-one-group-cost-alike-until-they-are-timed"),
        pytest.param([("a", 10, 90.0), *[("a", 10, 10.0)] * 8], 75, (10 * 1.0 + 50 * 170 / 90) * 85 / (20 + 170),
                     id="the-first-report-loads-a-model-and-does-not-count"),
        pytest.param([("a", 200, 100.0), ("b", 50, 5.0)], 45, 0.0, id="more-than-was-said-is-no-time-below-0"),
    ],
)  # fmt: skip
def test_the_time_left_of_kinds(reports, elapsed, seconds):
    left = TimeLeft({"a": 100, "b": 50}, {"a": ("model", 7.0), "b": ("model", 7.0)}, workers=2)
    for report in reports:
        left.done(*report)
    assert left.left(elapsed) == (None if seconds is None else pytest.approx(seconds))


def test_work_that_will_not_be_done_takes_no_time():
    left = TimeLeft({"a": 100, "b": 50}, {"a": ("light", 1.0), "b": ("light", 1.0)}, workers=1)
    left.done("a", 100, 100.0)
    assert left.left(100) > 0
    left.dropped("b", 50)
    assert left.left(100) == 0


def rendered(text):
    """The lines of a terminal after this output: carriage returns and the clearing of a line are obeyed."""
    lines, at = [""], 0
    for sign in text.replace("\x1b[K", "\0"):
        if sign == "\n":
            lines, at = [*lines, ""], 0
        elif sign == "\r":
            at = 0
        elif sign == "\0":
            lines[-1] = lines[-1][:at]
        else:
            lines[-1] = lines[-1][:at] + sign + lines[-1][at + 1 :]
            at += 1
    return [line.rstrip() for line in lines]


def test_what_cannot_be_counted_is_said_on_a_terminal_and_goes(monkeypatch, capsys):
    with working("analysis"):
        pass
    assert capsys.readouterr() == ("", "")

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    with working("analysis"):
        assert rendered(sys.stderr.getvalue()) == ["analysis …"]
    assert rendered(sys.stderr.getvalue()) == [""]


def test_no_warning_stands_in_the_line_of_a_bar(monkeypatch):
    import logging
    import warnings

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with plain_warnings(), Progress(200) as progress:
        handler = logging.StreamHandler()  # as those of libraries, made while the work runs
        progress.advance(20)
        warnings.warn("of a library", DeprecationWarning, stacklevel=1)
        handler.emit(logging.LogRecord("transformers", logging.WARNING, "", 1, "told by a logger", (), None))
        progress.advance(20)
        print("several", "parts", file=sys.stderr)
        progress.advance(160)
    assert sys.stderr is screen, "the stream is as before"
    lines = rendered(screen.getvalue())
    warned = [line for line in lines if "of a library" in line or "logger" in line or "parts" in line]
    assert [line.startswith("scoring") for line in warned] == [False] * len(warned)
    assert {"told by a logger", "several parts"} <= set(lines)
    assert any(line.startswith("scoring") and "200/200" in line for line in lines)
