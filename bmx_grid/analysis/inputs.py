"""What a question is given: the results table, how it is to be read, the tables of its sweep, and other answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeVar, cast

from bmx_grid.analysis.table import GridTable

if TYPE_CHECKING:
    import pandas as pd

Tie = Literal["first", "mildest"]
Answer = TypeVar("Answer")


class Point(NamedTuple):
    """A (p, w) to evaluate at. With w = 1, the metric alone, p means nothing and may be NaN."""

    p: float
    w: float


NOWHERE = Point(float("nan"), float("nan"))


@dataclass(frozen=True)
class Options:
    """tie: the rule by which ties of best points are broken (see points.best_points).

    select_from: the table whose medians are evaluated; None for the analysed table itself.
    fixed: (p, w) by explainer, given; they take precedence over medians.
    seed: of the bootstrap of clusters, data set x language pair, behind intervals across settings.
    """

    tie: Tie = "first"
    select_from: GridTable | None = None
    fixed: Mapping[str, Point] = field(default_factory=dict)
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Frames:
    """frames: the tables of a sweep, by name (see analysis.frames): all that questions about metrics alone read."""

    frames: Mapping[str, pd.DataFrame]
    _answers: dict[Callable[..., Any], Any] = field(default_factory=dict, init=False, repr=False)

    def ask(self, compute: Callable[[Self], Answer]) -> Answer:
        """What a function of this makes of it; computed once."""
        if compute not in self._answers:
            self._answers[compute] = compute(self)
        return cast(Answer, self._answers[compute])


@dataclass(frozen=True, eq=False)
class Given(Frames):
    """table: all settings; options: how they are analysed. frames is empty for a results table alone: a question that
    reads one says why it has nothing to say without it."""

    table: GridTable
    options: Options

    @cached_property
    def real(self) -> GridTable:
        """The settings that are not controls."""
        return self.table.take(~self.table.is_control)
