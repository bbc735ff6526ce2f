"""Inverse document frequencies of tokens, as bert-score weighs them (Zhang et al., 2020, section 3)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from bmx_grid.core.errors import ConfigError
from bmx_grid.core.identity import digest
from bmx_grid.core.ragged import Floats
from bmx_grid.models.encoding import TokenIds
from bmx_grid.models.loading import LoadedModel

if TYPE_CHECKING:
    from bmx_grid.datasets.segments import SegmentSet

TextsToIds = Callable[[Sequence[str]], TokenIds]


# Of each loaded model the weights that were computed last, and the texts and limit of length that they are for.
_last_weights: WeakKeyDictionary[LoadedModel, tuple[tuple[str, ...], int | None, Floats]] = WeakKeyDictionary()


def idf_of_texts(loaded: LoadedModel, texts: tuple[str, ...], max_length: int | None, tokens: TextsToIds) -> Floats:
    """`idf_weights` of the texts, tokenised by `tokens`; computed once, not for every batch."""
    known = _last_weights.get(loaded)
    if known is not None and known[:2] == (texts, max_length):
        return known[2]
    weights = idf_weights(len(loaded.tokenizer), tokens(texts))
    _last_weights[loaded] = (texts, max_length, weights)
    return weights


def idf_weights(n_tokens: int, ids_of_texts: TokenIds) -> Floats:
    """float64[V] weights of a vocabulary of V tokens: log((N + 1) / (n + 1)) of a token in n of N texts.

    Raises ConfigError without texts.
    """
    if not ids_of_texts:
        raise ConfigError(
            "idf=true weighs tokens by the ground truths of a whole set, and no set is known. Use it in a sweep, or "
            'name the texts: settings={"metric.idf": True, "metric.idf_texts": references}.'
        )
    n_texts_with_token = np.zeros(n_tokens)
    for ids in ids_of_texts:
        n_texts_with_token[list(set(ids))] += 1
    return np.log((len(ids_of_texts) + 1) / (n_texts_with_token + 1))


def texts_of_set(segments: SegmentSet, texts_of_segments: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The ground truths of a set, each text of an id once: several systems have the same ones."""
    # a dictionary as an ordered set
    texts: dict[tuple[str, str], None] = {}
    for segment, texts_of_segment in zip(segments.segments, texts_of_segments, strict=True):
        for text in texts_of_segment:
            texts[segment.id, text] = None
    return tuple(text for _, text in texts)


@functools.lru_cache(maxsize=8)
def digest_of_texts(texts: tuple[str, ...]) -> str:
    """16 digits for these texts in any order."""
    return digest(sorted(texts))[:16]
