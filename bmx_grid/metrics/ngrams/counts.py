"""How many n-grams masked texts share with a fixed text: clipped counts for thousands of masks at once."""

from __future__ import annotations

import functools
import math
import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bmx_grid.metrics.ngrams.masked_side import MaskedSide, cells_per_text
from bmx_grid.metrics.ngrams.trie import STOP, Ints, NgramTrie

_BLOCK_CELLS = 2**16  # mask cells processed together: enough to hide the cost of a call, few enough to reuse memory


@dataclass(frozen=True, eq=False)
class NgramCounts:
    """What n-gram metrics are made of, for P pairs of hypothesis and reference.

    matches: int[P, orders] n-grams of the hypothesis in the reference, each at most as often as the
        reference holds it (Papineni et al., 2002, section 2.1).
    hypothesis, reference: int[P] tokens of each of them.
    """

    matches: Ints
    hypothesis: Ints
    reference: Ints

    def distinct(self) -> tuple[NgramCounts, Ints]:
        """The counts that differ, and int[P]: which of them each pair has. Masked texts share most of theirs."""
        columns = [self.hypothesis, self.reference, *self.matches.T]
        sizes = [int(column.max(initial=0)) + 1 for column in columns]
        if math.prod(sizes) > np.iinfo(np.int64).max:
            return self, np.arange(len(self.matches))
        keys, row = np.unique(np.ravel_multi_index(tuple(columns), sizes), return_inverse=True)
        hypothesis, reference, *matches = np.unravel_index(keys, sizes)
        return NgramCounts(np.stack(matches, axis=1), hypothesis, reference), row


def count_ngrams(sides: Iterable[MaskedSide], orders: int) -> NgramCounts:
    """Counts of 1- to `orders`-grams for all texts of all sides, in order; sides are taken as they are needed."""
    nothing = np.empty(0, np.intp)
    return join_counts(
        NgramCounts(np.empty((0, orders), np.intp), nothing, nothing),
        *(_count_block(block, orders) for block in _blocks(sides)),
    )


def count_against_all(
    hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]], orders: int
) -> NgramCounts:
    """Counts of tokenised texts against several references each, with clipped counts over all of them.

    An n-gram counts at most as often as in the reference that has it most; the reference's length is the one nearest
    to the hypothesis', the shorter of two equally near (Papineni et al., 2002, sections 2.1 and 2.2).
    """
    matches = np.zeros((len(hypotheses), orders), np.intp)
    lengths = np.zeros(len(hypotheses), np.intp)
    for row, (hypothesis, known) in enumerate(zip(hypotheses, references, strict=True)):
        lengths[row] = min((abs(len(one) - len(hypothesis)), len(one)) for one in known)[1]
        for order in range(orders):
            most: Counter[tuple[str, ...]] = functools.reduce(operator.or_, (_ngrams(one, order + 1) for one in known))
            matches[row, order] = (_ngrams(hypothesis, order + 1) & most).total()
    return NgramCounts(matches, np.array([len(one) for one in hypotheses], np.intp), lengths)


def _ngrams(tokens: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(tokens[start:] for start in range(order)), strict=False))


def join_counts(*parts: NgramCounts) -> NgramCounts:
    """The parts, concatenated."""
    return NgramCounts(
        np.concatenate([part.matches for part in parts]),
        np.concatenate([part.hypothesis for part in parts]),
        np.concatenate([part.reference for part in parts]),
    )


def ngrams_of(lengths: Ints, orders: int) -> Ints:
    """int[P, orders]: how many n-grams of each order int[P] tokens make."""
    totals: Ints = np.maximum(lengths[:, None] - np.arange(orders), 0)
    return totals


def _blocks(sides: Iterable[MaskedSide]) -> Iterator[Sequence[MaskedSide]]:
    block: list[MaskedSide] = []
    cells = 0
    for side in sides:
        own = len(side.visible) * cells_per_text(side.tokens, side.fixed)
        if cells and cells + own > _BLOCK_CELLS:
            yield block
            block, cells = [], 0
        block.append(side)
        cells += own
    if block:
        yield block


def _count_block(sides: Sequence[MaskedSide], orders: int) -> NgramCounts:
    matches, masked = _walk(sides, orders)
    n_texts = [len(side.visible) for side in sides]
    fixed = np.repeat(np.array([len(side.fixed) for side in sides], np.intp), n_texts)
    is_hypothesis = np.repeat(np.array([side.is_hypothesis for side in sides], np.bool_), n_texts)
    return NgramCounts(matches, np.where(is_hypothesis, masked, fixed), np.where(is_hypothesis, fixed, masked))


def _walk(sides: Sequence[MaskedSide], orders: int) -> tuple[Ints, Ints]:
    """int[P, orders] clipped matches and int[P] lengths of the P masked texts of one block."""
    trie = NgramTrie.of_sides([(side.tokens, side.fixed) for side in sides])
    side_of_text = np.repeat(np.arange(len(sides)), [len(side.visible) for side in sides])
    ends = np.cumsum([side.visible.shape[1] for side in sides])
    own = [trie.tokens[end - side.visible.shape[1] : end] for side, end in zip(sides, ends.tolist(), strict=True)]
    shown = np.concatenate([side.visible.ravel() for side in sides])
    walk = np.concatenate([np.tile(tokens, len(side.visible)) for tokens, side in zip(own, sides, strict=True)])[shown]
    stops = (walk == STOP).nonzero()[0]
    walk[stops] = 0
    lengths = np.diff(stops, prepend=-1) - 1
    text = np.repeat(np.arange(len(lengths)), lengths + 1)
    matches = np.zeros((len(side_of_text), orders), np.intp)
    for order, step in enumerate(trie.walk(walk, orders)):
        per_side = np.bincount(step.owner[1:], minlength=len(sides))
        matches[:, order] = _clip(step.nodes, text.take(step.places), step.limits, per_side, side_of_text)
    return matches, lengths


def _clip(nodes: Ints, text: Ints, limits: Ints, per_side: Ints, side_of_text: Ints) -> Ints:
    """int[P] matches of one order: every text's count of each node of its side, at most the node's limit.

    nodes, text: node and text of each match. limits: of each node. per_side: nodes that a side owns; they are
    neighbours, so that each text has a row of neighbouring cells, one per node of its side.
    """
    per_text = per_side.take(side_of_text)
    end = np.cumsum(per_text)
    start = end - per_text
    to_cell = start - (np.cumsum(per_side) - per_side + 1).take(side_of_text)
    counts = np.bincount(nodes + to_cell.take(text), minlength=int(per_text.sum()))
    limit = limits.take(np.arange(len(counts)) - np.repeat(to_cell, per_text))
    total = np.concatenate([[0], np.cumsum(np.minimum(counts, limit))])
    matches: Ints = total.take(end) - total.take(start)
    return matches
