"""What a question is given: the results table, how it is to be read, and the answers to other questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeVar, cast

from bmx_grid.analysis.table import Flags, GridTable
from bmx_grid.wording import point_in_words

if TYPE_CHECKING:
    import pandas as pd

Tie = Literal["first", "mildest"]
SegmentCounts = Mapping[tuple[str, str], int]  # (data set, language pair) to segments
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Point:
    """A (p, w) to evaluate at. With w = 1, the metric alone, p means nothing and may be NaN."""

    p: float
    w: float

    @property
    def words(self) -> str:
        """ "w 0.4, p -1.4", or "metric alone"."""
        return point_in_words(self.w, self.p)


NOWHERE = Point(float("nan"), float("nan"))


@dataclass(frozen=True)
class Options:
    """tie: the rule by which ties of best points are broken (see best.BestPoints).

    select_from: the table whose medians are evaluated; None for the analysed table itself.
    fixed: (p, w) by explainer, given; they take precedence over medians.
    segments: how many segments there are by (data set, language pair), where known: a results table does not hold it.
    seed: of the bootstrap of clusters, data set x language pair, behind intervals across settings.
    """

    tie: Tie = "first"
    select_from: GridTable | None = None
    fixed: Mapping[str, Point] = field(default_factory=dict)
    segments: SegmentCounts | None = None
    seed: int = 0


class WithFrames(Protocol):
    """All that a question needs which reads no grid: it is also asked of a sweep of metrics alone."""

    @property
    def frames(self) -> Mapping[str, pd.DataFrame]:
        """The tables of a sweep, by name (see analysis.frames)."""


@dataclass(frozen=True, eq=False)
class Frames:
    """The tables of a sweep of metrics alone."""

    frames: Mapping[str, pd.DataFrame]


@dataclass(frozen=True, eq=False)
class Given:
    """table: all settings; options: how they are analysed.

    frames: the other tables of a sweep, by name (see analysis.frames): what was tested, and what boosts reach. Empty
    for a results table alone; a question that reads one says why it has nothing to say without it.
    """

    table: GridTable
    options: Options
    frames: Mapping[str, pd.DataFrame] = field(default_factory=dict, kw_only=True)
    _answers: dict[Callable[..., Any], Any] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def is_real(self) -> Flags:
        """bool[S] settings of `table` that are not controls."""
        return ~self.table.is_control

    @cached_property
    def real(self) -> GridTable:
        """The settings that are not controls."""
        return self.table.take(self.is_real)

    def ask(self, compute: Callable[[Self], Answer]) -> Answer:
        """The Result of a question, by its `compute`; computed once."""
        if compute not in self._answers:
            self._answers[compute] = compute(self)
        return cast(Answer, self._answers[compute])
