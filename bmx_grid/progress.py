"""Progress of long work on standard error: a bar on a terminal and in notebooks, elsewhere a line every half minute."""

from __future__ import annotations

import importlib.util
import sys
import time
from types import TracebackType
from typing import Any, Self

from bmx_grid.terminal import say

LINE_EVERY_S = 30.0  # between progress lines where standard error is no terminal
NOTEBOOK_DELAY_S = 1.0  # shorter work shows no bar, which would leave an empty line
BYTES = "B"  # the unit that is written with a prefix: 12.3 MB


class Progress:
    """Counts pieces of work against their total, with the rate and the time left; use it as a context manager.

    total: how many there are; None where that is not known, 0 for nothing to show.
    label: what is going on, at the start of every line. unit: what is counted, in the plural ("texts"), or BYTES.
    start: how many are already done.
    """

    def __init__(self, total: int | None, label: str = "scoring", unit: str = "texts", start: int = 0) -> None:
        self._total, self._label, self._unit, self._done = total, label, unit, start
        self._last, self._last_done = time.monotonic(), start
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
        left = f", {_duration((total - done) / rate)} left" if rate > 0 and done < total else ""
        return f"{self._label}: {self._amount(done, total)} ({done / total:.0%}), {self._rate(rate)}{left}"

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


def _duration(seconds: float) -> str:
    """Hours, minutes or seconds in readable form: `2 h 05 min`, `3 min`, `40 s`, and `under 1 s`."""
    whole = round(seconds)
    if whole < 1:
        return "under 1 s"
    if whole < 60:
        return f"{whole} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60:,} h {minutes % 60:02d} min"
