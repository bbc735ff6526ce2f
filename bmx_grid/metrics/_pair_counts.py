"""Counts of n-grams that two whole texts share, of many pairs at once: metrics score corpora and segments by them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import numpy as np

from bmx_grid.metrics._sides import Indices

Pair = tuple[Sequence[str], Sequence[str]]

_BLOCK_TOKENS = 2**13  # of pairs counted together: enough to hide the cost of a call, few enough for a fast cache
_DENSE_TABLE = 2**22  # entries; of longer texts equal n-grams are found by sorting


def count_pairs(pairs: Iterable[Pair], orders: int) -> Indices:
    """int[2 + orders, P] of P pairs of a hypothesis and a reference: their tokens, then matches of each order.

    A text is a sequence of tokens, or a str whose characters are tokens. Matches are n-grams of the hypothesis in the
    reference, each at most as often as the reference holds it (Papineni et al., 2002, section 2.1). Pairs are taken as
    they are needed.
    """
    counts = [np.empty((2 + orders, 0), np.intp)]
    for block in _blocks(pairs):
        hypotheses, references = zip(*block, strict=True)
        lengths = np.array([list(map(len, hypotheses)), list(map(len, references))], np.intp)
        numbers = _numbers([*hypotheses, *references])
        matches = _matches(numbers, lengths, orders)
        counts.append(np.concatenate([lengths, matches]))
    return np.concatenate(counts, axis=1)


def _blocks(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    """The pairs in their order, some _BLOCK_TOKENS tokens at a time."""
    block: list[Pair] = []
    tokens = 0
    for pair in pairs:
        block.append(pair)
        tokens += len(pair[0]) + len(pair[1])
        if tokens >= _BLOCK_TOKENS:
            yield block
            block = []
            tokens = 0
    if block:
        yield block


def _numbers(texts: Sequence[Sequence[str]]) -> Indices:
    """A number from 0 on for each token of all texts, the same for equal ones; no gap between numbers."""
    if all(isinstance(text, str) for text in texts):
        characters = "".join(map(str, texts)).encode("utf-32-le", "surrogatepass")
        codes = np.frombuffer(characters, np.dtype("<u4"))
        known = np.unique(codes)
        table = np.empty(int(known.max(initial=0)) + 1, np.intp)
        table[known] = np.arange(len(known))
        return table.take(codes)
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(token, len(numbers)) for token in chain.from_iterable(texts)], np.intp)


def _matches(numbers: Indices, lengths: Indices, orders: int) -> Indices:
    """int[orders, B] matches of B pairs. numbers: of the tokens of hypotheses, then references; lengths: int[2, B]."""
    n_pairs = lengths.shape[1]
    n_hypothesis, n_reference = lengths.sum(axis=1).tolist()
    pair = np.repeat(np.arange(2 * n_pairs) % n_pairs, lengths.ravel())
    # a token of a pair is the same token wherever it is in the pair
    n_numbers = int(numbers.max(initial=0)) + 1
    token = pair * n_numbers + numbers
    token, hypothesis_token = _equal(token[n_hypothesis:], token[:n_hypothesis], n_pairs * n_numbers)
    reference_pair = pair[n_hypothesis:]
    reference_ends = np.cumsum(lengths[1])
    # the distinct tokens of all references are numbered from 1 on, and so are those of each reference: its columns
    is_distinct = np.zeros(n_reference, np.bool_)
    is_distinct[token] = True
    rank = np.cumsum(is_distinct)
    before_pair = np.append(rank, 0)[reference_ends - lengths[1] - 1]
    column_of = rank - before_pair.take(reference_pair)
    # Each reference is followed by the column 0, which no hypothesis has: no n-gram beyond an end is shared. All
    # places but those of hypotheses stay, as they are few and then need not be looked up.
    width = int(column_of.max(initial=0)) + 2
    places = np.arange(n_reference) + reference_pair
    n_places = n_reference + n_pairs
    column = np.zeros(n_places + orders, np.intp)
    column[places] = column_of.take(token)
    start = np.repeat(np.arange(n_pairs), lengths[1] + 1)
    first_place = reference_ends - lengths[1] + np.arange(n_pairs)
    # The last column ends the hypotheses, and is that of tokens that their references lack: references have none.
    hypothesis_place = np.arange(n_hypothesis) + pair[:n_hypothesis]
    hypothesis_column = np.full(n_hypothesis + n_pairs + orders, width - 1)
    # the place -1, of such a token, is the last one
    hypothesis_column[hypothesis_place] = np.append(column_of, width - 1)[hypothesis_token]
    hypothesis_start = pair[:n_hypothesis]
    matches = np.zeros((orders, n_pairs), np.intp)
    for order in range(orders):
        # An n-gram is the number of its first tokens, at first of its pair, and the column of its last one.
        ngram = start * width + column[order : order + n_places]
        hypothesis_ngram = hypothesis_start * width + hypothesis_column.take(hypothesis_place + order)
        start, hypothesis_start = _equal(ngram, hypothesis_ngram, n_places * width)
        shared = (hypothesis_start >= 0).nonzero()[0]
        if not len(shared):
            break
        hypothesis_place = hypothesis_place.take(shared)
        hypothesis_start = hypothesis_start.take(shared)
        limits = np.bincount(start, minlength=n_places)
        counts = np.bincount(hypothesis_start, minlength=n_places)
        matches[order] = np.add.reduceat(np.minimum(counts, limits), first_place)
    return matches


def _equal(keys: Indices, others: Indices, size: int) -> tuple[Indices, Indices]:
    """For each of N keys the place of a key that all equal ones share; the same for other keys, -1 for unknown ones.

    Keys are from 0 to below `size`.
    """
    if size <= _DENSE_TABLE:
        # only entries written below are read from the uninitialised memory
        table = np.empty(size, np.intp)
        table[others] = -1
        # of equal keys one place remains
        table[keys] = np.arange(len(keys))
        return table.take(keys), table.take(others)
    known, first, number = np.unique(keys, return_index=True, return_inverse=True)
    # the number after the last one is looked up too: -1 is no key
    number_of_other = np.searchsorted(known, others)
    is_known = np.append(known, -1).take(number_of_other) == others
    place_of_other = np.append(first, -1).take(number_of_other)
    return first.take(number), np.where(is_known, place_of_other, -1)
