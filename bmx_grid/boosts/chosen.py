"""A boost that an evaluation chose for a metric and an explainer: what a recipe is written from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from bmx_grid.boosts.base import Boost, Fitted
from bmx_grid.boosts.recipe import ChosenOn
from bmx_grid.measures.correlation import Kind


class Gain(Protocol):
    """A difference of correlations with its 95 % interval; NaN where undefined."""

    @property
    def value(self) -> float: ...

    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """A boost fitted on all segments of `chosen_on`, with what such a choice gains on segments that did not choose.

    boost_name: the option of the group `boost`. gain: over the metric alone; beyond: over
    a curve of score and lengths. verdict: on such a choice; how: on which segments it was judged, in words.
    correlation: what it was chosen and judged by.
    """

    boost_name: str
    boost: Boost
    fitted: Fitted
    chosen_on: tuple[ChosenOn, ...]
    gain: Gain
    beyond: Gain
    verdict: str
    how: str
    correlation: Kind = "pearson"
