"""How long a sweep still scores: of each metric its own time per text, times its texts that are left."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bmx_grid.core.terminal import interval
from bmx_grid.core.wording import shorten

LONGEST_NAME = 16  # characters, so that a line of progress fits 80


@dataclass(frozen=True)
class ScoredTexts:
    """Texts that a worker scored together, and how many seconds that took it; loading: seconds before the first one."""

    metric: str
    n_texts: int
    seconds: float
    loading: float = 0.0
    worker: str = ""


@dataclass
class _Speed:
    n_texts: int = 0
    seconds: float = 0.0


@dataclass
class TimeLeft:
    """The texts left to score, by metric, without cached ones. clock: in seconds."""

    texts: Mapping[str, int]
    clock: Callable[[], float] = time.monotonic
    _left: Counter[str] = field(init=False)
    _speeds: dict[str, _Speed] = field(default_factory=dict, init=False)
    _start: float | None = field(default=None, init=False)
    _loading: float = field(default=0.0, init=False)
    _ended: dict[str, float] = field(default_factory=dict, init=False)  # when each worker was last heard of

    def __post_init__(self) -> None:
        self._left = Counter(self.texts)

    def record_scored(self, done: ScoredTexts) -> None:
        """A worker is done with these."""
        self._left[done.metric] -= done.n_texts
        now = self.clock()
        if self._start is None:
            self._start = now - done.seconds - done.loading
        self._ended[done.worker] = now
        self._loading += done.loading
        speed = self._speeds.setdefault(done.metric, _Speed())
        speed.n_texts += done.n_texts
        speed.seconds += done.seconds

    def record_dropped(self, metric: str, n_texts: int) -> None:
        """So many will not be scored."""
        self._left[metric] -= n_texts

    @property
    def untimed_metrics(self) -> list[str]:
        """The metrics with texts left and without a timed text."""
        return [metric for metric, n_texts in self._left.items() if n_texts > 0 and self._per_text(metric) is None]

    def seconds(self) -> float:
        """Until the texts of all metrics that were timed are scored."""
        of_workers = sum(n_texts * (self._per_text(metric) or 0.0) for metric, n_texts in self._left.items())
        return of_workers * self._per_second_of_a_worker()

    def describe(self) -> str:
        """The estimate as the end of a line of progress."""
        untimed = self.untimed_metrics
        seconds = self.seconds()
        if not untimed:
            return f"{interval(seconds)} left"
        names = shorten(untimed[0], LONGEST_NAME) if len(untimed) == 1 else f"{len(untimed)} metrics"
        return f"over {interval(seconds)} left, {names} untimed" if seconds else f"{names} untimed"

    def _per_text(self, metric: str) -> float | None:
        """Seconds of a worker."""
        speed = self._speeds.get(metric)
        return None if speed is None else speed.seconds / speed.n_texts

    def _per_second_of_a_worker(self) -> float:
        """Seconds of this run per second of a worker: fewer with several workers, more with evaluations."""
        now = self.clock()
        # Texts of a worker's unfinished chunk count, too.
        unfinished = sum(now - end for end in self._ended.values())
        busy = sum(speed.seconds for speed in self._speeds.values()) + self._loading + unfinished
        if self._start is None or busy <= 0:
            return 1.0
        return (now - self._start) / busy
