"""External scores: a metric that is a file, so that it is in the same tables, with the same tests."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from bmx_grid.core.errors import ConfigError, DataError, DataMissingError
from bmx_grid.core.identity import identity
from bmx_grid.datasets.file_source import FileSource
from bmx_grid.datasets.imported_files import SCORE_ROLES, read_score_file
from bmx_grid.datasets.rows_of_files import file_rows, file_system_scores
from bmx_grid.metrics.base import Metric, scores_digest
from bmx_grid.words.attributions import AttributionSet
from bmx_grid.words.perturbation import Item, Role

if TYPE_CHECKING:
    from bmx_grid.datasets.segments import SegmentSet


@dataclass(frozen=True, kw_only=True)
class Imported(FileSource, Metric):
    """Scores of segments, of systems, or of both, read from a file (`datasets.imported_files` lists the layouts).

    Fields as of `FileSource`. columns: of score, id, system and language_pair; without one the score takes also that of
    the metric's name: one table may hold several metrics.
    Paths and columns are no identity: `fit` puts a digest of the scores into it.
    """

    KEY: ClassVar[str] = "metric.imported"
    ROLES: ClassVar[tuple[str, ...]] = SCORE_ROLES
    PART: ClassVar[str] = "level"

    reads: ClassVar[tuple[Role, ...]] = ("hypothesis",)

    scores: str = identity("")

    def recipe_fingerprint(self) -> dict[str, Any]:
        """Which metric it is, not its scores of single segments."""
        return {"type": "Imported", "version": self.VERSION, "name": self.name}

    @property
    def signature(self) -> str:
        return f"imported|scores:{self.scores or 'unread'}|version:{self.VERSION}"

    def fit(self, segments: SegmentSet) -> Imported:
        """This metric with the digest of its scores of these segments as its identity. Raises as `load_scores`."""
        return dataclasses.replace(self, scores=scores_digest(self.load_scores(segments)))

    def load_scores(self, segments: SegmentSet) -> AttributionSet:
        """The scores of these segments, NaN if the file declares one missing, and of their systems.

        Warns of a file in which some segments have none.
        Raises DataMissingError without a file or row of the language pair; DataError naming file, row and value
        if a row is malformed or does not fit the segments, and if all scores are missing.
        """
        by_segment = np.full(len(segments), np.nan)
        by_system: Mapping[str, float] = {}
        files = [read_score_file(path, self, segments.language_pair) for path in self.paths(segments).values()]
        # Scores of systems first: with them, a file of segments may hold no score at all.
        for file in sorted(files, key=lambda file: not file.of_systems):
            if file.of_systems:
                by_system = file_system_scores(file, segments, self)
                continue
            by_segment = file_rows(file, segments, self).value.to_numpy(dtype=np.float64)
            missing = int(np.isnan(by_segment).sum())
            if missing == len(by_segment) and not np.isfinite(list(by_system.values())).any():
                # Of the metrics of a shared task, one may have no scores of a language pair.
                kind = DataMissingError if self.has("metric") else DataError
                raise kind(
                    f"{file.path}: no segment of {segments.dataset} {segments.language_pair} has a score, all are "
                    "missing; name the right file or column."
                )
            if missing:
                warnings.warn(
                    f"{file.path}: {missing:,} of {len(by_segment):,} segments have no score. Ignored.",
                    stacklevel=2,
                )
        return AttributionSet(by_segment, {}, systems=by_system)

    def score(self, items: Sequence[Item]) -> NoReturn:
        raise ConfigError(
            f"the metric '{self.name}' is a file of scores made elsewhere, and cannot score other texts; name a metric "
            "that scores texts."
        )
