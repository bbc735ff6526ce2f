"""The third move of a plan: how many texts each combination needs, and which segments cannot be explained."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from bmx_grid.attribution.explain import count_texts, item_key, word_counts
from bmx_grid.core.errors import ExplainError
from bmx_grid.core.wording import counted
from bmx_grid.datasets.segments import SegmentSet
from bmx_grid.sweep.combine import Candidate, Fallen, each
from bmx_grid.words.perturbation import Item


@dataclass(frozen=True, eq=False)
class Texts:
    """What is read of N segments: the items, their keys in the store, and how many words each of their texts has.

    sizes: of N items; none where nothing is explained.
    """

    items: tuple[Item, ...]
    keys: tuple[str, ...]
    sizes: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, eq=False)
class Texted:
    """A candidate, what it reads, and how many texts each of its segments needs."""

    candidate: Candidate
    texts: Texts
    n_texts: tuple[int, ...]


def count(candidates: Sequence[Candidate | Fallen]) -> list[Texted | Fallen]:
    """Every candidate with its texts. Those of whose segments none can be explained fall; for some, there is a warning.

    Refused segments keep the metric's score, and take no part where attributions are needed.
    """
    return each(partial(_counted, known={}), candidates)


def _counted(one: Candidate, known: dict[tuple[object, ...], Texts]) -> Texted:
    """A candidate with its texts. known: those of candidates that read the same.

    Raises ExplainError where the metric refuses a text, and where no segment can be explained.
    """
    texts = _texts_of(one, known)
    n_texts, refused = _n_texts(one, texts)
    refused |= one.filling.refused
    if len(refused) == len(one.segments) > 0:
        raise ExplainError(_refusals(one.segments, refused))
    if refused:
        warnings.warn(f"{one.label}: not explained: {_refusals(one.segments, refused)}", stacklevel=2)
    return Texted(one, texts, n_texts)


def _texts_of(one: Candidate, known: dict[tuple[object, ...], Texts]) -> Texts:
    """What the metric reads of the segments, made once for all metrics that read the same."""
    metric = one.metric
    key = (*one.pair, metric.reads, metric.reads_all_references)
    if key not in known:
        items = one.segments.items(metric.reads, all_references=metric.reads_all_references)
        known[key] = Texts(items, tuple(map(item_key, items)))
    texts = known[key]
    if one.to_ask is not None and not texts.sizes:
        sizes = tuple(word_counts(item, one.words) for item in texts.items)
        texts = known[key] = Texts(texts.items, texts.keys, sizes)
    return texts


def _n_texts(one: Candidate, texts: Texts) -> tuple[tuple[int, ...], dict[int, str]]:
    """How many texts each item needs, and why the explainer refuses some. Raises ExplainError where the metric does."""
    counts: list[int] = []
    refused: dict[int, str] = {}
    for position, item in enumerate(texts.items):
        try:
            sizes = None if one.to_ask is None else texts.sizes[position]
            counts.append(count_texts(one.metric, one.to_ask, item, words=one.words, sizes=sizes))
        except ExplainError as error:
            if one.to_ask is None:  # the metric itself refuses: there is no score either
                raise
            counts.append(1)  # its own text, for the metric's score
            refused[position] = str(error)
    return tuple(counts), refused


def _refusals(segments: SegmentSet, refused: Mapping[int, str]) -> str:
    """The first segment that cannot be explained, why, and how many there are."""
    position, reason = next(iter(refused.items()))
    others = f" ({counted(len(refused) - 1, 'more segment')} likewise)" if len(refused) > 1 else ""
    return f"segment '{segments.segments[position].id}': {reason}{others}"
