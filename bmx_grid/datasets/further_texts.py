"""Further texts of segments, which metrics read and explainers never perturb: a function for each field of items."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from bmx_grid.words.perturbation import Sentence


class Texts(Protocol):
    """A segment, as these functions read it."""

    @property
    def source(self) -> str | None: ...
    @property
    def hypothesis(self) -> str: ...
    @property
    def further_references(self) -> tuple[str, ...]: ...
    @property
    def system(self) -> str | None: ...
    @property
    def document(self) -> str | None: ...


def further_references(segments: Sequence[Texts], most: int) -> list[tuple[str, ...]]:
    """The references of each segment after the first."""
    return [segment.further_references[:most] for segment in segments]


def context(segments: Sequence[Texts], most: int) -> list[tuple[Sentence, ...]]:
    """Source and translation of the sentences before each segment in its document, the nearest first.

    The translations are those of the same system, in the order of the data set. A segment without a document has none.
    """
    before: dict[tuple[str, str | None], list[Sentence]] = {}
    contexts: list[tuple[Sentence, ...]] = []
    for segment in segments:
        if not segment.document:
            contexts.append(())
            continue
        sentences = before.setdefault((segment.document, segment.system), [])
        contexts.append(tuple(sentences[: -most - 1 : -1]))
        sentences.append((segment.source, segment.hypothesis))
    return contexts


FURTHER_TEXTS: Mapping[str, Callable[[Sequence[Texts], int], list[Any]]] = {
    "further_references": further_references,
    "context": context,
}
