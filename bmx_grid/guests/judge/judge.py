"""A language model that is requested a score: GEMBA (Kocmi and Federmann, 2023), G-Eval (Liu et al., 2023)."""

from __future__ import annotations

import dataclasses
import functools
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from bmx_grid.core.identity import identity, runtime
from bmx_grid.core.ragged import Floats
from bmx_grid.guests.judge.prompts import Answer, Prompt
from bmx_grid.guests.judge.server import ServedModel
from bmx_grid.metrics.base import Cost, Metric
from bmx_grid.words.perturbation import Item, Role

if TYPE_CHECKING:
    from bmx_grid.datasets.segments import SegmentSet


@dataclass(frozen=True, kw_only=True)
class Judge(ServedModel, Metric):
    """A score from 0 to 1, read from the answer of a language model to a prompt about an item.

    score_from: how an answer is read, null for the prompt's own way: `number`, its only one, the scale's end behind it
    aside
    (87/100); a regular expression that matches once, and whose group is the number; `json:FIELD`; or `expectation`: the
    mean of the scale's numbers among the most probable tokens, weighted by their probabilities, where these are single
    tokens and the server sends log probabilities.
    context: how many sentences before a segment, of its document, the prompt has, with their translations by the same
    system. Explainers never perturb them. A set without documents has the judge without context, with its identity.
    repeat: how often a text is scored; its score is their mean, or with average=median their median. Every gain is
    shown with the variation of the correlations over repetitions.

    Thoughts (`<think>…</think>`) are no part of an answer. One with several numbers, or with a number beyond the scale,
    is not read. It is requested once more with a reminder; then the score is NaN. So it is of a refusal.
    """

    VERSION: ClassVar[int] = 2
    OPTION: ClassVar[str] = "metric.judge"
    cost: ClassVar[Cost] = "model"
    may_be_undefined: ClassVar[bool] = True
    has_side_effects: ClassVar[bool] = True

    score_from: str | None = runtime(None)
    context: int = identity(0, added_later=True, least=0, most=1000)
    repeat: int = runtime(1, least=1, most=1000)
    average: Literal["mean", "median"] = runtime("mean")

    @functools.cached_property
    def template(self) -> Prompt:
        """The prompt, with the way its answers are read."""
        template = Prompt.load(self.prompt)
        if self.score_from is None:
            return template
        return dataclasses.replace(template, score=self.score_from)

    def fingerprint(self) -> dict[str, Any]:
        fingerprint = super().fingerprint()
        if self.repeat > 1:
            fingerprint |= {"repeats": self.repeat, "average": self.average}
        return fingerprint

    @property
    def reads(self) -> tuple[Role, ...]:
        return self.template.reads

    @property
    def reads_all_references(self) -> bool:
        return "references" in self.template.fields

    @property
    def reads_further(self) -> Mapping[str, int]:
        further = dict(super().reads_further)
        if self.context:
            further["context"] = self.context
        return further

    @property
    def signature(self) -> str:
        return f"{super().signature}|context:{self.context}" if self.context else super().signature

    def fit(self, segments: SegmentSet) -> Self:
        """The judge with the model's name from the server, and the languages of the prompt.

        Raises ConfigError for a pair whose languages the prompt cannot name.
        """
        self.template.languages(segments.language_pair)
        judge = self
        if self.context and not any(segment.document for segment in segments.segments):
            warnings.warn(
                f"{segments.name}: context={self.context} has no effect, as no segment has a document. Name the column "
                "of documents: dataset.NAME.columns.document=COLUMN.",
                stacklevel=2,
            )
            judge = dataclasses.replace(self, context=0)
        return judge.served_as(segments.language_pair)

    def set_languages(self, language_pair: str) -> Self:
        if not self.template.names_languages:
            return self
        self.template.languages(language_pair)
        return dataclasses.replace(self, language_pair=language_pair)

    @property
    def has_statistics(self) -> bool:
        return self.repeat > 1

    def count_texts(self, item: Item, copies: int = 1) -> int:
        return copies * self.repeat

    def statistics(self, items: Sequence[Item]) -> Floats:
        """float64[n, 2 + repeat]: the score, a 1, then that of each repetition; undefined ones take no part in sums."""
        turns = self._turns(items)
        return np.column_stack([self._average_turns(turns), np.ones(len(items)), *turns])

    def score(self, items: Sequence[Item]) -> Floats:
        """float64[n] scores, NaN if no answer holds one."""
        return self._average_turns(self._turns(items))

    def _turns(self, items: Sequence[Item]) -> Floats:
        """float64[repeat, n] scores of each repetition."""
        # NumPy makes NaN of None.
        turns = [
            np.array(self.request_answers(items, self._score_of, turn), dtype=np.float64) for turn in range(self.repeat)
        ]
        return np.stack(turns)

    def _average_turns(self, turns: Floats) -> Floats:
        """float64[n] means or medians over the repetitions that have a score; NaN if none has."""
        if self.repeat == 1:
            return np.asarray(turns[0])
        average = np.nanmean if self.average == "mean" else np.nanmedian
        scores = np.full(turns.shape[1], np.nan)
        known = ~np.isnan(turns).all(axis=0)
        scores[known] = average(turns[:, known], axis=0)
        return scores

    def _score_of(self, item: Item, answer: Answer) -> float | None:
        score = self.template.score_of(answer)
        if math.isnan(score):
            return None
        return score
