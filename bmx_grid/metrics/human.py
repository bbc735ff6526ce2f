"""People as a metric: a further human score of a data set, in the same tables and tests as metrics (a ceiling)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NoReturn, Self

import numpy as np

from bmx_grid.core.errors import ConfigError, DataMissingError
from bmx_grid.core.identity import identity
from bmx_grid.metrics.base import Metric, scores_digest
from bmx_grid.words.attributions import AttributionSet
from bmx_grid.words.perturbation import Item, Role

if TYPE_CHECKING:
    from bmx_grid.datasets.segments import SegmentSet


@dataclass(frozen=True, kw_only=True)
class Human(Metric):
    """A second human score of the segments, such as another round of MQM, against which the primary one is correlated.

    aspect: its name. In a sweep the option expands to every human score that is not the primary one of its data set.
    The agreement of two people bounds that of metrics: a metric above this row agrees with the raters, or with their
    method, more than with the quality of the texts. It is no metric to be averaged with others.
    scores: a digest, set by `fit`.
    """

    can_be_explained: ClassVar[bool] = False
    may_be_undefined: ClassVar[bool] = True
    is_human: ClassVar[bool] = True
    reads: ClassVar[tuple[Role, ...]] = ("hypothesis",)

    aspect: str = identity("")
    scores: str = identity("")

    @property
    def signature(self) -> str:
        return f"human|aspect:{self.aspect}|scores:{self.scores or 'unread'}|version:{self.VERSION}"

    def expand(self, name: str, sets: Sequence[SegmentSet]) -> Mapping[str, Self]:
        """One for each further human score of any set, as `human_esa`."""
        members = {}
        for segments in sets:
            for aspect in segments.judgements.aspects[1:]:
                members[f"{name}_{aspect}"] = dataclasses.replace(self, aspect=aspect)
        return members

    def fit(self, segments: SegmentSet) -> Self:
        """This human score with a digest of its values on these segments as its identity. Raises as `load_scores`."""
        return dataclasses.replace(self, scores=scores_digest(self.load_scores(segments)))

    def load_scores(self, segments: SegmentSet) -> AttributionSet:
        """The human scores of the segments, NaN for unrated ones, and of whole systems.

        Raises DataMissingError for a set without this human score in addition to its primary one.
        """
        judgements = segments.judgements
        # the first aspect is the primary score, which metrics are judged by
        if self.aspect not in judgements.aspects[1:]:
            raise DataMissingError(f"human score '{self.aspect}' not found, or it is the primary one")
        segment_scores = np.array(judgements.scores[self.aspect])
        system_scores = judgements.systems.get(self.aspect, {})
        return AttributionSet(segment_scores, {}, systems=system_scores)

    def score(self, items: Sequence[Item]) -> NoReturn:
        raise ConfigError("metric 'human' holds the human scores of a data set; use it in a sweep, not on other texts.")
