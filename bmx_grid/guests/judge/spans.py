"""Error spans that a language model names, as attributions: one request per segment (after GEMBA-MQM, Kocmi 2023)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from bmx_grid.core.errors import ConfigError
from bmx_grid.core.ragged import Floats
from bmx_grid.explainers.base import Explainer
from bmx_grid.guests.judge.prompts import Answer, only_value
from bmx_grid.guests.judge.server import ServedModel
from bmx_grid.words.perturbation import Item, Plan, Role
from bmx_grid.words.tags import WEIGHTS, ErrorSpan, shares_of_spans

if TYPE_CHECKING:
    from bmx_grid.datasets.segments import SegmentSet
    from bmx_grid.words.segmentation import PairWords

SpansByRole = Mapping[Role, Sequence[ErrorSpan]]


@dataclass(frozen=True, kw_only=True)
class ErrorSpans(ServedModel, Explainer):
    """Minus the shares that a word has of the errors that touch it, 0 without one: MQM's 1 for minor, 5 for major.

    The answer is a JSON object whose `errors` are objects with `part`, characters of the hypothesis, or else of the
    source, and `severity`. An answer that holds none, or a part of neither text, is requested again with a reminder;
    then the segment is not explained.
    """

    VERSION: ClassVar[int] = 3  # the weight of an error is divided over its words
    OPTION: ClassVar[str] = "explainer.spans"
    marks_errors: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.template.names_languages:
            raise ConfigError(f"prompt {self.template.name}: it names languages, which error spans do not know.")

    def expand(self, name: str, sets: Sequence[SegmentSet]) -> dict[str, Self]:
        return {name: self.served_as(self.language_pair)}

    def plan(self, words: tuple[str, ...], rng: np.random.Generator) -> Plan:
        return Plan(words, keep=np.ones((0, len(words)), dtype=np.bool_))

    def attribute(self, plan: Plan, scores: Floats) -> Floats:
        raise NotImplementedError("error spans are read from texts, not from scores")

    def count_texts(self, n_words: int) -> int:
        return 0

    def explain(self, items: Sequence[Item], words: PairWords) -> list[Mapping[Role, Floats]]:
        spans = self.request_answers(items, _spans)
        attributions = []
        for item, item_spans in zip(items, spans, strict=True):
            attributions.append(_attributions(item, item_spans, words))
        return attributions


def _attributions(item: Item, spans: SpansByRole | None, words: PairWords) -> Mapping[Role, Floats]:
    """float64[words] by role; NaN without an answer."""
    attributions = {}
    for role, text in item.texts().items():
        text_words = words.words(role, text)
        if spans is None:
            attributions[role] = np.full(len(text_words), np.nan)
        else:
            shares = shares_of_spans(text, spans.get(role, ()), text_words)
            # The last share is of errors that touch no word.
            attributions[role] = shares[:-1]
    return attributions


def _spans(item: Item, answer: Answer) -> SpansByRole | None:
    """The spans that an answer names, by role; None if it is unreadable."""
    errors = only_value(answer.text, "errors")
    if not isinstance(errors, list):
        return None
    spans: dict[Role, list[ErrorSpan]] = {}
    for error in errors:
        if not isinstance(error, dict):
            return None
        part = error.get("part")
        severity = error.get("severity")
        if not isinstance(part, str) or not isinstance(severity, str):
            return None
        severity = severity.lower()
        role = _role_of(part, item)
        if role is None or severity not in WEIGHTS:
            return None
        start = item.text(role).find(part)
        span = ErrorSpan(start, start + len(part), severity)
        spans.setdefault(role, []).append(span)
    return spans


def _role_of(part: str, item: Item) -> Role | None:
    """The text that has this part, the hypothesis before the source; None for neither, and for no part."""
    texts = item.texts()
    roles: tuple[Role, ...] = ("hypothesis", "source")
    for role in roles:
        if part and part in texts.get(role, ""):
            return role
    return None
