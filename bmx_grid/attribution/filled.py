"""Scores and explanations that are read from files: they fill the slot of a setting, and all else reads the slot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bmx_grid.attribution.contracts import check_explainer, real_numbers
from bmx_grid.attribution.store import AttributionSet, Slot
from bmx_grid.core.errors import ComponentError
from bmx_grid.explainers.base import Explainer, GivenWords
from bmx_grid.metrics.base import GivenScores, Metric

if TYPE_CHECKING:
    from bmx_grid.datasets.segments import SegmentSet
    from bmx_grid.words.segmentation import PairWords


@dataclass(frozen=True, eq=False)
class Filling:
    """What files fill of the slot of N segments: the scores of the metric, its explanations, both or nothing."""

    scores: GivenScores | None = None
    words: GivenWords | None = None

    def explains(self, explainer: Explainer, metric_name: str) -> bool:
        """Whether an explainer is one of this metric: the words of one submission do not explain another's scores."""
        if self.scores is None:
            return True
        return explainer.of_metric in (None, metric_name)

    def left_to(self, explainer: Explainer | None) -> Explainer | None:
        """The explainer that is still to be asked, if so."""
        return explainer if self.words is None else None

    @property
    def refused(self) -> Mapping[int, str]:
        """Positions of segments that the files do not explain, and why."""
        return {} if self.words is None else self.words.refused

    def of(self, slot: Slot) -> Slot:
        """The slot with what files fill of it."""
        if self.scores is None and self.words is None:
            return slot
        return FilledSlot(slot.parts, slot.identity, slot.reads, slot.explained, self)


NOTHING_FILLED = Filling()


@dataclass(frozen=True, eq=False)
class FilledSlot(Slot):
    """A slot that files fill in part or as a whole; the rest is in the store."""

    filling: Filling

    @property
    def stored(self) -> Slot:
        return Slot(self.parts, self.identity, self.reads, self.explained)

    def missing(self, keys: Sequence[str]) -> list[int]:
        """As of `Slot`: nothing where the scores are from a file."""
        if self.filling.scores is not None:
            return []
        return super().missing(keys)

    def load(self, keys: Sequence[str]) -> AttributionSet:
        """As of `Slot`. keys: of all segments that the files were read for, in their order."""
        scores = self.filling.scores
        words = self.filling.words
        loaded = super().load(keys) if scores is None else AttributionSet(scores.segments, {})
        if words is None:
            return loaded
        return replace(loaded, by_role=words.attributions)

    @property
    def told(self) -> Mapping[str, Any]:
        scores = self.filling.scores
        words = self.filling.words
        fields: dict[str, Any] = {}
        if scores is not None:
            fields["systems"] = scores.systems
        if words is not None:
            fields["words"] = words.words
            fields["attributed"] = words.attributed
        return fields

    def lacking(self, loaded: AttributionSet) -> str:
        """As of `Slot`: a file of scores of whole systems has none of segments."""
        if self.filling.scores is not None:
            return ""
        return super().lacking(loaded)


def scores_from_file(metric: Metric, segments: SegmentSet) -> Filling:
    """What `Metric.given` returns or raises. Raises ComponentError for scores that they cannot be."""
    scores = metric.given(segments)
    if scores is None:
        return NOTHING_FILLED
    real_numbers(metric, "scores of a file", scores.segments, len(segments))
    system_scores = list(scores.systems.values())
    real_numbers(metric, "scores of a file", system_scores, len(system_scores))
    return Filling(scores)


def words_from_file(explainer: Explainer, segments: SegmentSet, words: PairWords) -> tuple[Explainer, GivenWords]:
    """What `Explainer.given` returns or raises. Raises ComponentError unless there is one attribution per word."""
    imported = explainer.given(segments, words)
    if imported is None:
        raise ComponentError(f"{type(explainer).__name__}.given: expected explanations, got None.")
    known, explanations = imported
    check_explainer(known)
    for role, rows in explanations.attributions.items():
        n_words = [len(row) for row in explanations.attributed[role]]
        if rows.lengths.tolist() != n_words:
            raise ComponentError(f"{known.signature}: given: expected one attribution per word of each {role}.")
    return known, explanations
