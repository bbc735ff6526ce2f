"""Segments, and sets of them with their human scores, checked on the way in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bmx_grid.errors import DataError
from bmx_grid.identity import digest

NAME = re.compile(r"\w[\w+.,() -]{0,79}")  # of data sets and language pairs, which name files


@dataclass(frozen=True)
class Segment:
    """One translated segment. Human scores are kept apart, so that no judgement can enter an explanation."""

    id: str
    source: str | None
    reference: str | None
    hypothesis: str
    system: str | None = None
    document: str | None = None


@dataclass(frozen=True, eq=False)
class SegmentSet:
    """N segments of one language pair of one data set.

    human_scores: float64[N], higher is better; NaN where nobody rated the segment.
    origin: the file the rows came from, for messages.
    """

    dataset: str
    language_pair: str
    segments: tuple[Segment, ...]
    human_scores: NDArray[np.float64]
    origin: str = ""

    def __post_init__(self) -> None:
        where = self.origin or f"{self.dataset} {self.language_pair}"
        check_name("data set", self.dataset, where)
        check_name("language pair", self.language_pair, where)
        if len(self.segments) != len(self.human_scores):
            raise DataError(f"{where}: {len(self.segments)} segments but {len(self.human_scores)} human scores.")
        if np.isinf(self.human_scores).any():
            row = int(np.flatnonzero(np.isinf(self.human_scores))[0])
            raise DataError(
                f"{where}: the human score of segment '{self.segments[row].id}' is infinite; "
                "write a number, or leave it empty for a segment that was not rated."
            )
        seen: dict[str, int] = {}
        for row, segment in enumerate(self.segments, start=1):
            if segment.id in seen:
                raise DataError(
                    f"{where}: segment id '{segment.id}' is used by segments {seen[segment.id]} and {row}; "
                    "give every segment an id of its own."
                )
            seen[segment.id] = row

    def __len__(self) -> int:
        return len(self.segments)

    @property
    def rated(self) -> int:
        """How many segments have a human score."""
        return int(np.isfinite(self.human_scores).sum())

    @property
    def hypotheses(self) -> list[str]:
        """The N hypotheses."""
        return [segment.hypothesis for segment in self.segments]

    def has(self, reads: str) -> bool:
        """Whether every segment has the ground truth that a metric reads ("source" or "reference")."""
        return all(getattr(segment, reads) is not None for segment in self.segments)

    def ground_truths(self, reads: str) -> list[str]:
        """The N ground truths that a metric reads; call `has` first."""
        return [getattr(segment, reads) for segment in self.segments]

    def empty_texts(self) -> list[str]:
        """Ids of segments with an empty source, reference or hypothesis: kept and scored, but worth a word."""
        return [s.id for s in self.segments if "" in (s.source, s.reference, s.hypothesis)]

    def head(self, limit: int | None) -> SegmentSet:
        """The first `limit` segments (all of them for None)."""
        if limit is None or limit >= len(self):
            return self
        return SegmentSet(
            self.dataset, self.language_pair, self.segments[:limit], self.human_scores[:limit], self.origin
        )

    def fingerprint(self) -> str:
        """SHA-256 of texts, ids and human scores, in order."""
        return self._digest

    @cached_property  # every setting on these segments asks for it
    def _digest(self) -> str:
        rows = [
            (s.id, s.source, s.reference, s.hypothesis, None if np.isnan(score) else float(score).hex())
            for s, score in zip(self.segments, self.human_scores, strict=True)
        ]
        return digest([self.dataset, self.language_pair, rows])


def check_name(kind: str, name: str, where: str) -> None:
    """Refuse names that cannot be part of file names. Raises DataError naming `where`, the name and what fits."""
    if not NAME.fullmatch(name):
        raise DataError(
            f"{where}: the {kind} {name[:60]!r} cannot name files; use letters, digits and any of '-_+.,() ', at most "
            "80 characters, with a letter or digit first."
        )
