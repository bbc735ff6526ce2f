"""Progress of long work on standard error, by tqdm: a bar on a terminal and in notebooks, elsewhere a line every half
minute."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from bmx_grid.core.terminal import CLEAR, say

LINE_EVERY_S = 30.0  # between progress lines where standard error is no terminal
NOTEBOOK_DELAY_S = 1.0  # shorter work shows no bar, which would leave an empty line
BYTES = "B"  # the unit that is written with a prefix: 12.3MB
BAR = "{desc} {percentage:3.0f}% |{bar}| {n_fmt}/{total_fmt}, {rate_fmt}, {remaining} left"
LINE = "{desc}: {n_fmt} of {total_fmt}{unit} ({percentage:.0f}%), {rate_fmt}, {remaining} left"


class Progress:
    """Counts pieces of work against their total, with the rate and the time left; use it as a context manager.

    total: how many there are; None where that is not known, 0 for nothing to show.
    label: what is going on, at the start of every line. unit: what is counted, in the plural ("texts"), or BYTES.
    """

    def __init__(self, total: int | None, label: str = "scoring", unit: str = "texts") -> None:
        self._total, self._label, self._done = total, label, 0
        self._unit = unit if unit == BYTES else f" {unit}"
        self._start = self._last = time.monotonic()
        self._last_done = 0
        self._bar: Any = None
        notebook = in_notebook()
        if total != 0 and (notebook or sys.stderr.isatty()):
            self._bar = _bar(notebook)(
                total=total,
                unit=self._unit,
                unit_scale=True,
                desc=label,
                dynamic_ncols=True,
                bar_format=None if total is None else BAR,
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
        now = time.monotonic()
        if self._bar is not None:
            self._bar.update(n)
        elif self._total != 0 and now - self._last >= LINE_EVERY_S:
            print(self._line(now), file=sys.stderr, flush=True)
            self._last, self._last_done = now, self._done

    def _line(self, now: float) -> str:
        """What is done, at the rate since the last line: parts of one sweep differ a hundredfold in speed."""
        from tqdm import tqdm

        line: str = tqdm.format_meter(
            self._done,
            None if self._total is None else max(self._total, self._done),  # a total may be an estimate
            now - self._start,
            prefix=self._label,
            unit=self._unit,
            unit_scale=True,
            rate=(self._done - self._last_done) / (now - self._last),
            bar_format=None if self._total is None else LINE,
        )
        return line

    def say(self, line: str) -> None:
        """Print a line to standard output without disturbing the bar."""
        if self._bar is not None:
            self._bar.write(line, file=sys.stdout)
        else:
            say(line)


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
