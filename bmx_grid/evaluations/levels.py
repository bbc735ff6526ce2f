"""Correlation with human judgements at segment and system level: correlations.parquet and systems.parquet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from bmx_grid.errors import ConfigError
from bmx_grid.evaluations.agreement import OfPoint, Places, Row, SystemRow, SystemScore, segment_rows
from bmx_grid.evaluations.base import OF_METRIC, Each, Evaluation, Finished, here, in_groups, seconds
from bmx_grid.identity import identity

SECONDS_PER_SEGMENT = 6e-4  # with 1,000 resamples


@dataclass(frozen=True)
class LevelsOfSetting:
    """All rows of one setting."""

    correlations: tuple[Row, ...] = ()
    systems: tuple[SystemRow, ...] = ()


@dataclass(frozen=True, kw_only=True)
class LevelsEvaluation(Evaluation):
    """How well a metric, and each boosted point, agrees with each human judgement, segment by segment and by system.

    Segments: Pearson's r, Spearman's rho, Kendall's tau-b and acc_eq, over all segments, by item (mean over the items
    of the correlation between systems) and by system; intervals draw clusters of segments. Systems: the same
    correlations, pairwise accuracy and soft pairwise accuracy; intervals draw systems and clusters of segments.
    Correlations of a metric whose lower scores are better keep their sign; agreements turn it.

    resamples: of each bootstrap, and permutations of soft pairwise accuracy; seed: of all draws.
    system_score: what the metric says of a system. "mean": the mean over the rated segments; "corpus": the score of its
    summed statistics, where the metric has them; "auto": as people's scores were made, the mean where they are means of
    rated segments, else the corpus score. systems.parquet has both.
    It also ranks the systems, by the metric and by people, with rank ranges and clusters over resampled segments.
    A judgement of systems only has no rows of segments; segments without a named system have no groups and no systems.
    Raises ConfigError for a negative number of resamples.
    """

    VERSION: ClassVar[int] = 2  # ranks of systems were added
    ROWS: ClassVar[Mapping[str, type]] = {"correlations": Row, "systems": SystemRow}

    resamples: int = identity(1000)
    seed: int = identity(0)
    system_score: SystemScore = identity("auto")

    def __post_init__(self) -> None:
        if self.resamples < 0:
            raise ConfigError(f"evaluation.levels.resamples={self.resamples}: write 0 for no intervals, or 1000.")

    def cost(self, n_segments: int) -> float:
        return seconds(n_segments, SECONDS_PER_SEGMENT, self.resamples)

    def evaluate(self, settings: Sequence[Finished], each: Each = here) -> list[LevelsOfSetting]:
        """The rows of the metric alone and of every declared point."""
        return in_groups(self._of_metric, settings, OF_METRIC, each)

    def _of_metric(self, settings: Sequence[Finished]) -> list[LevelsOfSetting]:
        """Of one metric with each explainer: the metric alone is the same for all of them, and computed once."""
        return [self._of_setting(setting) for setting in settings]

    def _of_setting(self, setting: Finished) -> LevelsOfSetting:
        places, points = Places(setting), list(setting.points)
        correlations: list[Row] = []
        systems: list[SystemRow] = []
        drawn = {"resamples": self.resamples, "seed": self.seed}
        aspects = list(setting.segments.judgements.aspects)
        of_segments = {human: segment_rows(setting, places, points, human, **drawn) for human in aspects}
        for point in points:
            for human in aspects:
                one = OfPoint(setting, places, point, human, system_score=self.system_score, **drawn)
                correlations += of_segments[human][point]
                correlations += one.system_rows()
                systems += one.systems_table()
        return LevelsOfSetting(tuple(correlations), tuple(systems))
