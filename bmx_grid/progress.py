"""Progress of long work on standard error: a bar on a terminal and in notebooks, elsewhere a line every half minute."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from bmx_grid.terminal import CLEAR, say

LINE_EVERY_S = 30.0  # between progress lines where standard error is no terminal
NOTEBOOK_DELAY_S = 1.0  # shorter work shows no bar, which would leave an empty line
BYTES = "B"  # the unit that is written with a prefix: 12.3 MB
PRIOR_S = 10.0  # for so long all workers count as busy, whatever was seen: they take some seconds to start
BAR = "{desc} {percentage:3.0f}% |{bar}| {n_fmt}/{total_fmt}, {rate_fmt}"  # and the time left


class TimeLeft:
    """Seconds left of work of several kinds whose pieces differ in cost, which workers do beside each other.

    amounts: kind -> pieces to do. guesses: kind -> (group, seconds per piece of one worker), for kinds that have not
    been timed; those of one group are then taken to cost what the timed ones cost. workers: how many there are.

    A kind costs what its pieces took, without the first report, which loads models. How many workers there really are
    is the time that they report by the time that has passed: on shared processors it is less than their number.
    """

    def __init__(self, amounts: Mapping[str, float], guesses: Mapping[str, tuple[str, float]], workers: int) -> None:
        self._left, self._guesses, self._workers = dict(amounts), guesses, workers
        self._first: dict[str, tuple[float, float]] = {}  # kind -> pieces and seconds of its first report
        self._timed: dict[str, tuple[float, float]] = {}  # of all reports
        self._busy = 0.0

    def done(self, kind: str, pieces: float, seconds: float) -> None:
        """A worker did so many pieces of a kind in so many seconds."""
        self.dropped(kind, pieces)
        before = self._timed.get(kind, (0.0, 0.0))
        self._first.setdefault(kind, (pieces, seconds))
        self._timed[kind] = (before[0] + pieces, before[1] + seconds)
        self._busy += seconds

    def dropped(self, kind: str, pieces: float) -> None:
        """So many pieces of a kind will not be done."""
        self._left[kind] = max(self._left.get(kind, 0.0) - pieces, 0.0)

    def left(self, elapsed: float) -> float | None:
        """Seconds left, `elapsed` seconds after the start; None before the first report."""
        if not self._timed:
            return None
        busy = self._workers * PRIOR_S + self._busy
        return sum(left * self._cost(kind) for kind, left in self._left.items() if left) * (PRIOR_S + elapsed) / busy

    def _cost(self, kind: str) -> float:
        """Seconds per piece of one worker."""
        found = self._measured(kind)
        if found is not None:
            return found
        group, guess = self._guesses[kind]
        alike = [one for one in self._timed if self._guesses.get(one, ("", 0.0))[0] == group]
        pieces, seconds = (sum(self._timed[one][at] for one in alike) for at in (0, 1))
        return seconds / pieces if pieces else guess

    def _measured(self, kind: str) -> float | None:
        pieces, seconds = self._timed.get(kind, (0.0, 0.0))
        first = self._first.get(kind, (0.0, 0.0))
        if pieces > first[0]:
            return (seconds - first[1]) / (pieces - first[0])
        return seconds / pieces if pieces else None


class Progress:
    """Counts pieces of work against their total, with the rate and the time left; use it as a context manager.

    total: how many there are; None where that is not known, 0 for nothing to show.
    label: what is going on, at the start of every line. unit: what is counted, in the plural ("texts"), or BYTES.
    start: how many are already done. time_left: what knows the time left better than the rate does.
    """

    def __init__(
        self,
        total: int | None,
        label: str = "scoring",
        unit: str = "texts",
        start: int = 0,
        time_left: TimeLeft | None = None,
    ) -> None:
        self._total, self._label, self._unit, self._done = total, label, unit, start
        self._time_left = time_left
        self._start = self._last = time.monotonic()
        self._last_done = start
        self._bar: Any = None
        notebook = in_notebook()
        if total != 0 and (notebook or sys.stderr.isatty()):
            self._bar = _bar(notebook)(
                total=total,
                initial=start,
                unit=unit if unit == BYTES else f" {unit}",
                unit_scale=True,
                desc=label,
                dynamic_ncols=True,
                bar_format=None
                if total is None
                else BAR + (", {remaining} left" if time_left is None else "{postfix}"),
                **({"leave": False, "delay": NOTEBOOK_DELAY_S} if notebook else {}),
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def advance(self, n: int) -> None:
        """`n` more are done."""
        self._done += n
        if self._bar is not None:
            if (left := self._seconds_left()) is not None:
                self._bar.set_postfix_str(f"{_duration(left)} left", refresh=False)
            self._bar.update(n)
            return
        seconds = time.monotonic() - self._last
        if self._total != 0 and seconds >= LINE_EVERY_S:
            print(self._line(seconds), file=sys.stderr, flush=True)
            self._last += seconds
            self._last_done = self._done

    def say(self, line: str) -> None:
        """Print a line to standard output without disturbing the bar."""
        if self._bar is not None:
            self._bar.write(line, file=sys.stdout)
        else:
            say(line)

    def _line(self, seconds: float) -> str:
        """What is done, at the rate of the last `seconds`: parts of one sweep differ a hundredfold in speed."""
        done, rate = self._done, (self._done - self._last_done) / seconds
        if self._total is None:
            return f"{self._label}: {self._amount(done)}, {self._rate(rate)}"
        total = max(self._total, done)  # a total may be an estimate; 101 % would only confuse
        return f"{self._label}: {self._amount(done, total)} ({_share(done, total)}), {self._paced(rate, total)}"

    def _seconds_left(self) -> float | None:
        return None if self._time_left is None else self._time_left.left(time.monotonic() - self._start)

    def _paced(self, rate: float, total: int) -> str:
        """A rate and the time left with it, or as `time_left` knows it."""
        left = self._seconds_left()
        if left is None and rate > 0:
            left = (total - self._done) / rate
        return f"{self._rate(rate)}{'' if left is None or self._done >= total else f', {_duration(left)} left'}"

    def _amount(self, done: float, total: float | None = None) -> str:
        if self._unit == BYTES:
            return f"{done / 1e6:.1f}{'' if total is None else f' of {total / 1e6:.1f}'} MB"
        return f"{done:,}{'' if total is None else f' of {total:,}'} {self._unit}"

    def _rate(self, rate: float) -> str:
        if self._unit == BYTES:
            return f"{rate / 1e6:.2g} MB/s" if rate < 1e7 else f"{rate / 1e6:,.0f} MB/s"
        if rate >= 1:
            return f"{rate:,.0f} {self._unit}/s"
        return f"{rate * 60:.2g} {self._unit}/min"


def in_notebook() -> bool:
    """Whether a notebook shows what is written: IPython with a kernel, whose standard error is no terminal."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


def _bar(notebook: bool) -> Any:
    """tqdm's bar; in a notebook with ipywidgets the one that is a widget."""
    if notebook and importlib.util.find_spec("ipywidgets") is not None:
        from tqdm.notebook import tqdm as widget

        return widget
    from tqdm import tqdm

    return tqdm


@contextmanager
def working(label: str) -> Iterator[None]:
    """Say on a terminal what is being done, in a line that goes when it is done: for what cannot be counted."""
    shown = sys.stderr.isatty()
    if shown:
        print(f"\r{label} …", end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        if shown:
            print(CLEAR, end="", file=sys.stderr, flush=True)


def _share(done: float, total: float) -> str:
    """Parts of a hundred, of which 100 is all: 99.7 % is 99 %."""
    return f"{min(round(100 * done / total), 99 if done < total else 100)}%"


def _duration(seconds: float) -> str:
    """Hours, minutes or seconds in readable form: `2 h 05 min`, `3 min`, `40 s`, and `under 1 s`."""
    whole = round(seconds)
    if whole < 1:
        return "under 1 s"
    if whole < 60:
        return f"{whole} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60:,} h {minutes % 60:02d} min"
