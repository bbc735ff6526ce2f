"""A results table as arrays, every setting's grid of correlations; and all that a question is given beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.errors import DataError
from bmx_grid.core.wording import setting_label
from bmx_grid.measures.grid import Point

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

FACTORS = ("dataset", "language_pair", "metric", "explainer")
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

    def __post_init__(self) -> None:
        expected = (len(self.settings), len(self.p), len(self.w))
        if self.correlation.shape != expected:
            raise ValueError(f"correlations of shape {self.correlation.shape} for {expected} settings, p, w")
        if not (self.w == 1).any():
            raise DataError(
                f"{self.origin}: no row has w = 1, the metric alone, to which every gain is relative; add 1 to grid.w."
            )

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
    def is_control(self) -> Flags:
        """bool[S] settings of the random metric or the random explainer."""
        return np.array([CONTROL in (one.metric, one.explainer) for one in self.settings], dtype=np.bool_)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row per setting: its names, its cluster, whether it is a control, the correlation of the metric alone."""
        import pandas as pd

        frame = pd.DataFrame(self.settings, columns=list(FACTORS))
        return frame.assign(cluster=self.clusters, control=self.is_control, baseline=self.baseline)

    @property
    def n_boosted(self) -> int:
        """Correlations with w other than 1."""
        return len(self) * len(self.p) * int(self.boosted.sum())

    def names(self, factor: str) -> NDArray[np.str_]:
        """str[S] the settings' data sets, language pairs, metrics or explainers."""
        return np.array([getattr(one, factor) for one in self.settings], dtype=np.str_)

    @cached_property
    def clusters(self) -> NDArray[np.str_]:
        """str[S] data set and language pair: settings that share both share their segments and human scores."""
        return np.array([setting_label(one.dataset, one.language_pair) for one in self.settings], dtype=np.str_)

    def take(self, keep: Flags) -> GridTable:
        """The settings where `keep`, bool[S], is true."""
        settings = tuple(one for one, kept in zip(self.settings, keep, strict=True) if kept)
        return GridTable(settings, self.p, self.w, self.correlation[keep], self.side, self.left_out, self.origin)

    def where(self, **names: str) -> Flags:
        """bool[S] settings with all these names: where(metric="chrf", explainer="lime")."""
        found = np.ones(len(self), dtype=np.bool_)
        for factor, name in names.items():
            found &= self.names(factor) == name
        return found

    def factor_levels(self, factor: str) -> list[str]:
        """The names of a factor that occur, sorted."""
        return sorted({getattr(one, factor) for one in self.settings})


Answer = TypeVar("Answer")


NOWHERE = Point(float("nan"), float("nan"))


@dataclass(frozen=True)
class Options:
    """select_from: the table whose medians are evaluated; None for the analysed table itself.

    fixed: (p, w) by explainer, given; they take precedence over medians.
    seed: of the bootstrap of clusters, data set x language pair, behind intervals across settings.
    """

    select_from: GridTable | None = None
    fixed: Mapping[str, Point] = field(default_factory=dict)
    seed: int = 0


@dataclass(frozen=True)
class Basis:
    """What correlations rest on: "pearson", "spearman" or "kendall", None where it is not known; the name of the mean.

    segments: by (data set, language pair) how many segments there are; used: on how many of them correlations rest,
    those with a human score and an explanation. Both are the most of any setting, and empty where it is not known.
    """

    correlation: str | None = None
    aggregation: str | None = None
    segments: Mapping[tuple[str, str], int] = field(default_factory=dict)
    used: Mapping[tuple[str, str], int] = field(default_factory=dict)


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

    @cached_property
    def basis(self) -> Basis:
        """What the frame `settings` says of the correlations; nothing is known without it."""
        if "settings" not in self.frames:
            return Basis()
        settings = self.frames["settings"]
        correlation, aggregation = (
            str(settings[name].iloc[0]) if settings[name].nunique() == 1 else None
            for name in ("correlation", "aggregation")
        )
        most: Any = settings.groupby(list(FACTORS[:2]))[["n_segments", "n_used"]].max()
        return Basis(correlation, aggregation, most["n_segments"].to_dict(), most["n_used"].to_dict())


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
