"""Scores made elsewhere: a metric that is a file, so that it stands in the same tables, with the same tests."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np

from bmx_grid.datasets.imported_files import SCORE_ROLES, ImportedFile, Reading, read_score_file
from bmx_grid.datasets.imported_matching import Matching, is_of_pair, segment_scores, system_scores
from bmx_grid.datasets.path_patterns import PathPattern
from bmx_grid.datasets.tables import MAX_BYTES
from bmx_grid.errors import ConfigError, DataError, DataMissingError, unknown
from bmx_grid.identity import RUNTIME, digest, identity, runtime
from bmx_grid.metrics.base import GivenScores, Metric
from bmx_grid.words.perturbation import Item, Role

if TYPE_CHECKING:
    from bmx_grid.segments import SegmentSet

KEY = "metric.imported"


@dataclass(frozen=True, kw_only=True)
class Imported(Metric):
    """Scores of segments, of systems, or of both, read from a file (`datasets.imported_files` says which layouts).

    file: the path, seen from where the command runs. {language_pair} and {dataset} stand for the names of what is
        evaluated; with {metric} the option stands for as many metrics as there are names in its place; {level} is seg
        and sys; * is anything. The folder of a test set of mt-metrics-eval stands for all its metrics.
    files: in place of file, metric -> path: several metrics under names of their own.
    columns: of a table, role (score, id, system, language_pair) -> column. A role that is null takes the column of its
        own name, the score also that of the metric's name: one table may hold several metrics.
    language_pairs: the one pair that the file is of, where neither it nor its path says so and there are several.
    extra: "refuse" or "ignore" rows of ids or systems that the test set does not have.
    separator, max_bytes: as for a data set (`tabular`).

    Paths and columns are no identity: `fitted` puts the scores themselves there, as a digest.
    """

    name: str = runtime("imported")
    file: str | None = runtime(None)
    files: Mapping[str, str] | None = runtime(None)
    columns: Mapping[str, str | None] = field(default_factory=dict, metadata={"role": RUNTIME})
    language_pairs: tuple[str, ...] = runtime(())
    extra: Literal["refuse", "ignore"] = runtime("refuse")
    separator: str | None = runtime(None)
    max_bytes: int = runtime(MAX_BYTES)
    scores: str = identity("")

    def recipe_fingerprint(self) -> dict[str, Any]:
        """Which metric it is, not its scores of single segments."""
        return {"type": "Imported", "version": self.VERSION, "name": self.name}

    def __post_init__(self) -> None:
        for role in self.columns:
            if role not in SCORE_ROLES:
                raise ConfigError(f"{KEY}.columns: " + unknown("role", role, SCORE_ROLES))
        if self.file is not None and self.files:
            raise ConfigError(
                f"{KEY}: both file and files are given; name one metric with file, or several with files."
            )
        if len(self.language_pairs) > 1:
            raise ConfigError(
                f"{KEY}.language_pairs names {len(self.language_pairs)} pairs, but it says which one a file is of; for "
                "several write {language_pair} in the path, or give the file a column language_pair."
            )

    @property
    def reads(self) -> tuple[Role, ...]:
        return ("hypothesis",)

    @property
    def signature(self) -> str:
        return f"imported|scores:{self.scores or 'unread'}|version:{self.VERSION}"

    def members(self, name: str, sets: Sequence[SegmentSet]) -> Mapping[str, Metric]:
        """The metrics that this option stands for; in a sweep of one language pair their files are of that one.

        Raises ConfigError when no file is named, DataMissingError when {metric} stands for nothing.
        """
        pairs = tuple(dict.fromkeys(segments.language_pair for segments in sets))
        known = dataclasses.replace(self, files=None, language_pairs=self.language_pairs or pairs[: len(pairs) == 1])
        if self.files:
            return {one: dataclasses.replace(known, name=one, file=path) for one, path in self.files.items()}
        pattern = self._pattern()
        if not pattern.has("metric"):
            return {name: dataclasses.replace(known, name=name)}
        names = pattern.metrics_of_all([(segments.dataset, segments.language_pair) for segments in sets])
        return {one: dataclasses.replace(known, name=one) for one in names}

    def check(self) -> None:
        self._pattern()

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
        pattern = self._pattern()
        pair = segments.language_pair
        paths = pattern.files(self.name, segments.dataset, pair)
        if not paths:
            raise DataMissingError(f"no file fits {pattern.text!r}")
        by_segment = np.full(len(segments), np.nan)
        by_system: Mapping[str, float] = {}
        for path in paths.values():
            file = _read(path, self.name, self._reading())
            one_pair = is_of_pair(file, pattern, self.language_pairs, pair, KEY)
            how = Matching(KEY, one_pair, self.extra == "ignore")
            if file.of_systems:
                by_system = system_scores(file, segments, how)
            else:
                by_segment = segment_scores(file, segments, how)
                _warn_of_missing(file, by_segment)
        return GivenScores(by_segment, by_system)

    def score(self, items: Sequence[Item]) -> NoReturn:
        raise ConfigError(
            f"the metric '{self.name}' is a file of scores made elsewhere, and cannot score other texts; name a metric "
            "that scores texts."
        )

    def _reading(self) -> Reading:
        return Reading(KEY, self.columns, self.separator, self.max_bytes)

    def _pattern(self) -> PathPattern:
        if self.file is None:
            raise ConfigError(
                f"{KEY}: no file is named; write {KEY}.file=scores.tsv, or {KEY}.files={{NAME: PATH}} for several."
            )
        return PathPattern(self.file, f"{KEY}.file")


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
    version = (state.st_mtime_ns, state.st_size, state.st_ino)
    columns = tuple(sorted(reading.columns.items()))
    return _read_once(path, version, metric, columns, reading.separator, reading.max_bytes)


@lru_cache(maxsize=4)  # a file is asked for by every language pair, for the plan and for the scores
def _read_once(
    path: Path,
    version: tuple[int, ...],
    metric: str,
    columns: tuple[tuple[str, str | None], ...],
    separator: str | None,
    max_bytes: int,
) -> ImportedFile:
    return read_score_file(path, metric, Reading(KEY, dict(columns), separator, max_bytes))
