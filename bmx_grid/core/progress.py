"""Progress of long work on standard error, by tqdm: a bar on a terminal, elsewhere a line every half minute."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from bmx_grid.core.terminal import CLEAR, say

LINE_EVERY_S = 30.0  # between progress lines where standard error is no terminal
BYTES = "B"  # the unit that is written with a prefix: 12.3MB
BAR = "{desc} {percentage:3.0f}% |{bar}| {n_fmt}/{total_fmt}, {rate_fmt}, {remaining} left"
LINE = "{desc}: {n_fmt} of {total_fmt}{unit} ({percentage:.0f}%), {rate_fmt}, {remaining} left"


class Progress:
    """Counts pieces of work against their total, with the rate and the time left; use it as a context manager.

    total: how many there are; None where that is not known, 0 for nothing to show.
    label: what is going on, at the start of every line. unit: what is counted, in the plural ("texts"), or BYTES.
    """

    def __init__(self, total: int | None, label: str = "scoring", unit: str = "texts") -> None:
        self._total, self._done, self._last_done = total, 0, 0
        self._start = self._last = time.monotonic()
        self._how: dict[str, Any] = {"unit": unit if unit == BYTES else f" {unit}", "unit_scale": True}
        self._label, self._bar = label, None
        if total != 0 and sys.stderr.isatty():
            from tqdm import tqdm

            bar_format = None if total is None else BAR
            self._bar = tqdm(total=total, desc=label, dynamic_ncols=True, bar_format=bar_format, **self._how)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def advance(self, n: int) -> None:
        """`n` more are done."""
        self._done += n
        now = time.monotonic()
        if self._bar is not None:
            self._bar.update(n)
        elif self._total != 0 and now - self._last >= LINE_EVERY_S:
            from tqdm import tqdm

            # at the rate since the last line: parts of one sweep differ a hundredfold in speed
            self._how["rate"] = (self._done - self._last_done) / (now - self._last)
            total = None if self._total is None else max(self._total, self._done)  # a total may be an estimate
            shape = {"prefix": self._label, "bar_format": None if total is None else LINE, **self._how}
            print(tqdm.format_meter(self._done, total, now - self._start, **shape), file=sys.stderr, flush=True)
            self._last, self._last_done = now, self._done

    def say(self, line: str) -> None:
        """Print a line to standard output without disturbing the bar."""
        if self._bar is not None:
            self._bar.write(line, file=sys.stdout)
        else:
            say(line)


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
