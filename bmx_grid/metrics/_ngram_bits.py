"""How many n-grams masked texts share with a fixed text, where nothing moves: each text is one 64-bit integer.

A word that is replaced by tokens that the fixed text does not hold leaves a gap which no shared n-gram spans.
The n-grams that a masked text shares are then those of the whole text whose tokens all stay. With a bit for
each token, runs of n tokens that stay are found by shifting, and matches by counting bits, all texts at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from bmx_grid.metrics._ngrams import (
    NgramCounts,
    NgramTrie,
    Tokenizer,
    Tokens,
    count_ngrams,
    fixed_text,
    join_counts,
    reads_word_by_word,
    sides_of_request,
)
from bmx_grid.words.perturbation import Request

Bits = NDArray[np.uint64]

_WIDTH = 64  # tokens that a text may have


@dataclass(frozen=True, eq=False)
class _BitSide:
    """K masked texts whose n-grams stay in place or vanish. Bit i is token i of the whole text.

    tokens: of the whole text. keep: bool[K, tokens]. first: bits of the tokens that begin a word.
    instead: how many tokens replace a hidden word.
    """

    tokens: Tokens
    fixed: Tokens
    keep: NDArray[np.bool_]
    first: int
    instead: int
    is_hypothesis: bool


def count_masked(requests: Sequence[Request], tokenizer: Tokenizer, orders: int) -> tuple[NgramCounts, list[slice]]:
    """Counts of 1- to `orders`-grams for all texts of all requests, and the rows that are each request's."""
    sides = [_bit_side(request, tokenizer) for request in requests]
    walked = [index for index, side in enumerate(sides) if side is None]
    counts = _count([side for side in sides if side is not None], orders)
    if walked:
        masked_sides = (side for index in walked for side in sides_of_request(requests[index], tokenizer))
        counts = join_counts(counts, count_ngrams(masked_sides, orders))
    rows, stop = [slice(0)] * len(requests), 0
    for index in (*(index for index, side in enumerate(sides) if side is not None), *walked):
        start, stop = stop, stop + len(requests[index].plan)
        rows[index] = slice(start, stop)
    return counts, rows


def _bit_side(request: Request, tokenizer: Tokenizer) -> _BitSide | None:
    """None where n-grams may move, and where there are more tokens than bits."""
    plan = request.plan
    if plan.keep is None or not reads_word_by_word(plan, tokenizer):
        return None
    own = list(map(tokenizer.word, plan.words))
    tokens, fixed = tuple(chain.from_iterable(own)), tokenizer.text(fixed_text(request))
    if len(tokens) > _WIDTH:
        return None
    instead = tokenizer.word(plan.replacement) if plan.replacement else ()
    none_empty = all(own)
    in_place = none_empty and instead and set(instead).isdisjoint(fixed)
    if not in_place and not plan.keep.all():
        return None
    keep, first = plan.keep, (1 << len(tokens)) - 1
    if len(tokens) > len(own) or not none_empty:
        word_of_token = [word for word, its_own in enumerate(own) for _ in its_own]
        keep = keep.take(np.array(word_of_token, np.intp), axis=1)
        first = sum(1 << word_of_token.index(word) for word, its_own in enumerate(own) if its_own)
    return _BitSide(tokens, fixed, keep, first, len(instead), request.role == "hypothesis")


def _count(sides: Sequence[_BitSide], orders: int) -> NgramCounts:
    n_texts = np.array([len(side.keep) for side in sides], np.intp)
    ends = np.cumsum(n_texts)
    rows = list(map(slice, (ends - n_texts).tolist(), ends.tolist()))
    kept = _pack(sides, rows)
    matches = np.zeros((orders, len(kept)), np.intp)
    runs = kept
    for order, (known, clipped) in enumerate(_shared_ngrams(sides, orders)):
        if order:
            runs = runs & (runs >> np.uint64(1))
        matches[order] = np.bitwise_count(runs & np.repeat(known, n_texts))
        for side, bits, limit in clipped:
            found = np.bitwise_count(runs[rows[side]] & bits)
            matches[order, rows[side]] -= np.maximum(found, limit) - limit
    first = np.array([side.first for side in sides], np.uint64)
    instead = np.array([side.instead for side in sides], np.intp)
    hidden = np.repeat(np.bitwise_count(first), n_texts) - np.bitwise_count(kept & np.repeat(first, n_texts))
    masked = np.bitwise_count(kept) + np.repeat(instead, n_texts) * hidden
    fixed = np.repeat(np.array([len(side.fixed) for side in sides], np.intp), n_texts)
    is_hypothesis = np.repeat([side.is_hypothesis for side in sides], n_texts)
    return NgramCounts(matches.T, np.where(is_hypothesis, masked, fixed), np.where(is_hypothesis, fixed, masked))


def _pack(sides: Sequence[_BitSide], rows: Sequence[slice]) -> Bits:
    """uint64[P], bit i: whether token i stays."""
    spaced = np.zeros((sum(len(side.keep) for side in sides), _WIDTH), np.bool_)
    for side, place in zip(sides, rows, strict=True):
        spaced[place, : len(side.tokens)] = side.keep
    return np.packbits(spaced.ravel(), bitorder="little").view("<u8").astype(np.uint64, copy=False)


def _shared_ngrams(sides: Sequence[_BitSide], orders: int) -> Iterator[tuple[Bits, list[tuple[int, np.uint64, int]]]]:
    """Order by order: where each whole text holds n-grams of its fixed text, and those it holds too often.

    The first are bits of the tokens that begin an n-gram, uint64[sides]; the others (side, bits, limit) of
    each n-gram that the fixed text holds fewer times, namely `limit`.
    """
    trie = NgramTrie.of_sides([(side.tokens, side.fixed) for side in sides])
    sizes = [len(side.tokens) + 1 for side in sides]
    side_of_place = np.repeat(np.arange(len(sides)), sizes)
    starts = np.cumsum(sizes) - sizes
    bit_of_place = np.uint64(1) << (np.arange(len(side_of_place)) - starts.take(side_of_place)).astype(np.uint64)
    for step in trie.walk(np.maximum(trie.tokens, 0), orders):
        bits = bit_of_place.take(step.places)
        known = np.zeros(len(sides), np.uint64)
        np.add.at(known, side_of_place.take(step.places), bits)
        too_often = np.bincount(step.nodes, minlength=len(step.limits)) > step.limits
        per_node = np.zeros(len(step.limits), np.uint64)
        clipped = too_often.take(step.nodes)
        np.add.at(per_node, step.nodes[clipped], bits[clipped])
        nodes = too_often.nonzero()[0]
        owners, limits = step.owner.take(nodes).tolist(), step.limits.take(nodes).tolist()
        yield known, list(zip(owners, per_node.take(nodes), limits, strict=True))
