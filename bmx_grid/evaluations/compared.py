"""Two metrics' scores of the same segments, or of the same systems, as tests compare them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bmx_grid.evaluations.base import BASE, Finished, Floats
from bmx_grid.evaluations.levels import SegmentCodes, SystemLevel
from bmx_grid.measures.significance import Unit

UNITS: Mapping[str, Unit] = {"perm_both": "both", "perm_inputs": "inputs", "perm_systems": "systems"}


@dataclass(frozen=True, eq=False)
class Scores:
    """Two metrics' scores of n segments, or of n systems, with the human scores and what is swapped as one."""

    x: Floats
    y: Floats
    human: Floats
    cluster: np.ndarray[Any, Any]
    system: np.ndarray[Any, Any] | None

    @property
    def n(self) -> int:
        return int(np.isfinite(self.x + self.y + self.human).sum())

    def unit(self, test: str) -> Unit:
        """What a test swaps; of one system there is nothing but the inputs, and each system score is an input."""
        return UNITS.get(test, "inputs") if self.system is not None else "inputs"

    def used(self) -> tuple[Floats, Floats]:
        """The two metrics' scores where all three are defined."""
        rows = np.isfinite(self.x) & np.isfinite(self.y) & np.isfinite(self.human)
        return self.x[rows], self.y[rows]


def scores_of(setting: Finished, x: Floats, y: Floats) -> Scores:
    clusters = np.unique(np.asarray(setting.clusters, dtype=np.str_), return_inverse=True)[1]
    named = [str(segment.system) for segment in setting.segments.segments]
    systems = np.unique(named, return_inverse=True)[1] if len(setting.segments.systems) > 1 else None
    return Scores(x, y, setting.segments.human_scores, clusters, systems)


def segment_scores(settings: Sequence[Finished]) -> list[Scores]:
    """The scores of each metric alone, higher is better, by segment."""
    turned = [one.scores.base_scores * (1 if one.metric.higher_is_better else -1) for one in settings]
    return [scores_of(setting, scores, scores) for setting, scores in zip(settings, turned, strict=True)]


def system_scores(settings: Sequence[Finished]) -> list[Scores]:
    """The same by system, as the evaluation of levels has them; a system is swapped and drawn as a whole."""
    found = []
    for setting in settings:
        level = SystemLevel(setting, SegmentCodes(setting), BASE, setting.segments.human_name)
        found.append(Scores(level.scores, level.scores, level.human, np.arange(len(level.names)), None))
    return found
