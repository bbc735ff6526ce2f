"""What an evaluation is: from a finished setting to the rows of one table."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from bmx_grid.attribution.store import AttributionSet
from bmx_grid.explainers.base import Explainer
from bmx_grid.identity import Component
from bmx_grid.metrics.base import Metric
from bmx_grid.perturbation import Item
from bmx_grid.segments import SegmentSet

Floats = NDArray[np.float64]
Kind = Literal["text", "number", "count", "flag"]
Columns = Mapping[str, Sequence[Any] | NDArray[Any]]
NAMES = ("dataset", "language_pair", "metric", "explainer")  # the first columns of every table of settings


@dataclass(frozen=True, eq=False)
class Finished:
    """A finished setting: N segments with their judgements, what a metric scored and an explainer attributed.

    items: N, the texts that the metric read. scores: float64[N] of the metric alone, and the attributions by role
    (no roles without an explainer).
    """

    segments: SegmentSet
    metric_name: str
    explainer_name: str
    metric: Metric
    explainer: Explainer | None
    items: tuple[Item, ...]
    scores: AttributionSet

    @property
    def names(self) -> tuple[str, str, str, str]:
        """Data set, language pair, metric, explainer."""
        return self.segments.dataset, self.segments.language_pair, self.metric_name, self.explainer_name


@dataclass(frozen=True)
class Evaluation(Component):
    """Evaluates each finished setting. The rows of all settings of a sweep make one table.

    It reads stored scores and attributions only: a cached sweep is evaluated anew without a metric call. Results
    depend on the setting and on the identity fields of the evaluation, and on nothing else.

    TABLE: the name of the table, written as TABLE.parquet; COLUMNS: its columns beside NAMES, and what they hold.
    """

    TABLE: ClassVar[str]
    COLUMNS: ClassVar[Mapping[str, Kind]]

    @abstractmethod
    def evaluate(self, setting: Finished) -> Any:
        """The result of a setting, of any type, from which `rows` and the report make tables and figures.

        Raises DataError where the setting cannot be evaluated; undefined numbers are NaN, and counted.
        """

    @abstractmethod
    def rows(self, result: Any) -> Columns:
        """The rows of a result: for each of COLUMNS as many values."""

    def segment_columns(self, result: Any) -> Columns:
        """What a result says of each of the N segments, for the table of scores; nothing by default."""
        return {}

    def cost(self, n_segments: int) -> float:
        """Roughly how many seconds a setting of this many segments takes on one core."""
        return 0.0


def check_rows(evaluation: Evaluation, columns: Columns) -> int:
    """How many rows there are. Raises ValueError when the columns are not those declared, or uneven."""
    if tuple(columns) != tuple(evaluation.COLUMNS):
        raise ValueError(
            f"evaluation {type(evaluation).__name__}: its rows have the columns {', '.join(columns) or 'none'}, "
            f"declared are {', '.join(evaluation.COLUMNS)}."
        )
    counts = {len(column) for column in columns.values()}
    if len(counts) > 1:
        raise ValueError(f"evaluation {type(evaluation).__name__}: columns of {sorted(counts)} rows in one table.")
    return counts.pop() if counts else 0
