"""Scores made elsewhere: a metric that is a file, so that it stands in the same tables, with the same tests."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from bmx_grid.core.errors import ConfigError, DataError
from bmx_grid.core.identity import digest, identity
from bmx_grid.datasets.imported import FromFile, segment_scores, system_scores
from bmx_grid.datasets.imported_files import SCORE_ROLES, ImportedFile, Reading, read_score_file
from bmx_grid.metrics.base import GivenScores, Metric
from bmx_grid.words.perturbation import Item, Role

if TYPE_CHECKING:
    from bmx_grid.datasets.segments import SegmentSet


@dataclass(frozen=True, kw_only=True)
class Imported(FromFile, Metric):
    """Scores of segments, of systems, or of both, read from a file (`datasets.imported_files` says which layouts).

    Fields as of `FromFile`. columns: of score, id, system and language_pair; without one the score takes also that of
    the metric's name: one table may hold several metrics.
    Paths and columns are no identity: `fitted` puts the scores themselves there, as a digest.
    """

    KEY: ClassVar[str] = "metric.imported"
    ROLES: ClassVar[tuple[str, ...]] = SCORE_ROLES
    PART: ClassVar[str] = "level"

    scores: str = identity("")

    def recipe_fingerprint(self) -> dict[str, Any]:
        """Which metric it is, not its scores of single segments."""
        return {"type": "Imported", "version": self.VERSION, "name": self.name}

    @property
    def reads(self) -> tuple[Role, ...]:
        return ("hypothesis",)

    @property
    def signature(self) -> str:
        return f"imported|scores:{self.scores or 'unread'}|version:{self.VERSION}"

    def fitted(self, segments: SegmentSet) -> Imported:
        """This metric with the digest of its scores of these segments as its identity. Raises as `given`."""
        found = self.given(segments)
        systems = [[name, repr(score)] for name, score in sorted(found.systems.items())]
        return dataclasses.replace(self, scores=digest([repr(found.segments.tolist()), systems])[:16])

    def given(self, segments: SegmentSet) -> GivenScores:
        """The scores of these segments, NaN where the file says that there is none, and of their systems.

        Raises DataMissingError where there is no file or row of the language pair; DataError naming file, row and value
        where a row is not as it must be or does not fit the segments.
        """
        by_segment = np.full(len(segments), np.nan)
        by_system: Mapping[str, float] = {}
        for path in self.paths(segments).values():
            file = _read(path, self.name, self.reading())
            if file.of_systems:
                by_system = system_scores(file, segments, self)
            else:
                by_segment = segment_scores(file, segments, self)
                _warn_of_missing(file, by_segment)
        return GivenScores(by_segment, by_system)

    def score(self, items: Sequence[Item]) -> NoReturn:
        raise ConfigError(
            f"the metric '{self.name}' is a file of scores made elsewhere, and cannot score other texts; name a metric "
            "that scores texts."
        )


def _warn_of_missing(file: ImportedFile, scores: np.ndarray[Any, np.dtype[np.float64]]) -> None:
    missing = int(np.isnan(scores).sum())
    if missing:
        warnings.warn(
            f"{file.path}: {missing:,} of {len(scores):,} segments have no score; they are left out and counted.",
            stacklevel=2,
        )


def _read(path: Path, metric: str, reading: Reading) -> ImportedFile:
    try:
        state = path.stat()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}).") from error
    return _read_once(path, (state.st_mtime_ns, state.st_size, state.st_ino), metric, reading)


@lru_cache(maxsize=4)  # a file is asked for by every language pair, for the plan and for the scores
def _read_once(path: Path, version: tuple[int, ...], metric: str, reading: Reading) -> ImportedFile:
    return read_score_file(path, metric, reading)
