"""A results table as arrays, every setting's grid of correlations; and all that a question is given beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.wording import setting_label
from bmx_grid.measures.grid import Point

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Answer = TypeVar("Answer")

FACTORS = ("dataset", "language_pair", "metric", "explainer")
PAIR = list(FACTORS[:2])  # settings that share both share their segments and human scores
CONTROL = "random"  # the random metric and the random explainer: shown apart, never selected from


class Setting(NamedTuple):
    """What identifies the rows of a table: data set x language pair x metric x explainer."""

    dataset: str
    language_pair: str
    metric: str
    explainer: str

    @property
    def label(self) -> str:
        """ "data set · language pair · metric · explainer"."""
        return setting_label(*self)


@dataclass(frozen=True, eq=False)
class GridTable:
    """S settings over one grid of P powers and W weights, sorted by data set, explainer, metric, language pair.

    p: float64[P] and w: float64[W], ascending, without repeats; 1 is among w.
    correlation: float64[S, P, W], NaN where undefined.
    side: whose words were aggregated, "both" or "hypothesis".
    left_out: what else the table held, a clause each; origin: the file, for messages.
    """

    settings: tuple[Setting, ...]
    p: Floats
    w: Floats
    correlation: Floats
    side: str
    left_out: tuple[str, ...] = ()
    origin: str = "the table"

    def __len__(self) -> int:
        return len(self.settings)

    @cached_property
    def baseline(self) -> Floats:
        """float64[S] correlation of the metric alone, from the first defined row with w = 1; NaN without one."""
        alone = self.correlation[:, :, self.w == 1][:, :, 0]
        first = np.argmax(~np.isnan(alone), axis=1)
        return np.asarray(alone[np.arange(len(alone)), first], dtype=np.float64)

    @cached_property
    def boosted(self) -> Flags:
        """bool[W] which weights are not the metric alone."""
        return np.asarray(self.w != 1)

    @cached_property
    def gains(self) -> Floats:
        """float64[S, P, W] correlation above the baseline of the setting."""
        return np.asarray(self.correlation - self.baseline[:, None, None], dtype=np.float64)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row per setting: its names, its cluster, whether it is a control, the correlation of the metric alone.

        cluster: data set and language pair; control: a setting of the random metric or the random explainer.
        """
        import pandas as pd

        frame = pd.DataFrame(self.settings, columns=list(FACTORS))
        control = (frame[["metric", "explainer"]] == CONTROL).any(axis=1)
        clusters = [setting_label(*names) for names in frame[PAIR].to_numpy()]
        return frame.assign(cluster=clusters, control=control, baseline=self.baseline)

    @property
    def n_boosted(self) -> int:
        """Correlations with w other than 1."""
        return len(self) * len(self.p) * int(self.boosted.sum())

    def take(self, keep: Flags) -> GridTable:
        """The settings where `keep`, bool[S], is true."""
        settings = tuple(self.settings[row] for row in np.flatnonzero(keep))
        return GridTable(settings, self.p, self.w, self.correlation[keep], self.side, self.left_out, self.origin)

    def factor_levels(self, factor: str) -> list[str]:
        """The names of a factor that occur, sorted."""
        return sorted({getattr(setting, factor) for setting in self.settings})


@dataclass(frozen=True)
class Options:
    """select_from: the table whose medians are evaluated; None for the analysed table itself.

    fixed: (p, w) by explainer; they take precedence over medians.
    seed: of the bootstrap of clusters, data set x language pair, behind intervals across settings.
    """

    select_from: GridTable | None = None
    fixed: Mapping[str, Point] = field(default_factory=dict)
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Frames:
    """frames: the tables of a sweep, by name (see analysis.load): all that questions about metrics alone read."""

    frames: Mapping[str, pd.DataFrame]
    _answers: dict[Callable[..., Any], Any] = field(default_factory=dict, init=False, repr=False)

    def ask(self, compute: Callable[[Self], Answer]) -> Answer:
        """What a function of this makes of it; computed once."""
        if compute not in self._answers:
            self._answers[compute] = compute(self)
        return cast(Answer, self._answers[compute])

    def shared(self, name: str) -> str | None:
        """What all settings share: their "correlation" or "aggregation". None where they differ or it is not known."""
        values = set(self.frames["settings"][name]) if "settings" in self.frames else set()
        return str(values.pop()) if len(values) == 1 else None


@dataclass(frozen=True, eq=False)
class Given(Frames):
    """table: all settings; options: how they are analysed. frames is empty for a results table alone: a question that
    reads one says why it has nothing to say without it."""

    table: GridTable
    options: Options

    @cached_property
    def real(self) -> GridTable:
        """The settings that are not controls."""
        return self.table.take(~self.table.frame["control"].to_numpy())
