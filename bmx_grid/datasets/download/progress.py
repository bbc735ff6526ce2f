"""Progress of a download: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType

LINE_EVERY_S = 10.0


class Progress:
    """Counts bytes of `label`, from `start` up to `total` (None: not known); use as a context."""

    def __init__(self, label: str, start: int, total: int | None) -> None:
        from tqdm import tqdm

        self._label = label
        self._done, self._total = start, total
        self._said = time.monotonic()
        self._bar = tqdm(
            total=total, initial=start, unit="B", unit_scale=True, desc="  fetching", disable=not sys.stderr.isatty()
        )

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()

    def add(self, count: int) -> None:
        """Note `count` more bytes."""
        self._done += count
        self._bar.update(count)
        now = time.monotonic()
        if self._bar.disable and now - self._said >= LINE_EVERY_S:
            self._said = now
            share = f" of {self._total / 1e6:.1f} ({self._done / self._total:.0%})" if self._total else ""
            print(f"  {self._label}: {self._done / 1e6:.1f}{share} MB", file=sys.stderr, flush=True)
