"""What a sweep says while it is planned and while it runs."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self

from bmx_grid.terminal import say

LINE_EVERY = 30.0  # seconds between progress lines where output is not a terminal


class Progress:
    """Counts scored texts against their total, with rate and time left, on standard error.

    Lines of finished settings go to standard output through `say`, above the bar.
    """

    def __init__(self, total: int) -> None:
        self._total, self._done = total, 0
        self._start = self._last = time.monotonic()
        self._bar: Any = None
        if total > 0 and sys.stderr.isatty():
            from tqdm import tqdm

            self._bar = tqdm(total=total, unit=" texts", unit_scale=True, desc="scoring", dynamic_ncols=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def advance(self, n_texts: int) -> None:
        """`n_texts` more have been scored."""
        self._done += n_texts
        if self._bar is not None:
            self._bar.update(n_texts)
        elif time.monotonic() - self._last >= LINE_EVERY:
            self._last = time.monotonic()
            rate = self._done / (self._last - self._start)
            left = max(self._total - self._done, 0) / rate if rate > 0 else float("inf")
            print(
                f"scoring: {self._done:,} of {self._total:,} texts, {rate:,.0f} texts/s, {left:,.0f} s left",
                file=sys.stderr,
                flush=True,
            )

    def say(self, line: str) -> None:
        """Print a line without disturbing the bar."""
        if self._bar is not None:
            self._bar.write(line, file=sys.stdout)
        else:
            say(line)
