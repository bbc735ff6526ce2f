"""How many n-grams masked texts share with a fixed text: clipped counts for thousands of masks at once.

The n-grams of the fixed side form a trie whose nodes are numbered order by order. A masked text walks down
from each of its tokens while the trie has a branch; most walks end after a few steps, so that every order
looks at fewer places than the one before. All texts of a block walk together, as flat arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bmx_grid.metrics._masked_side import MaskedSide

Ints = NDArray[np.intp]

_BLOCK_CELLS = 2**18  # mask cells that walk together: enough to hide the cost of a call, few enough for the cache
_DENSE_TABLE = 2**22  # entries; branches of longer texts are searched for instead
_STOP = -1  # stands after the last slot of every text


@dataclass(frozen=True, eq=False)
class NgramCounts:
    """What n-gram metrics are made of, for P pairs of hypothesis and reference.

    matches: int[P, orders] n-grams of the hypothesis in the reference, each at most as often as the
        reference holds it (Papineni et al., 2002, section 2.1).
    hypothesis, reference: int[P, orders] n-grams of each order in each of them.
    """

    matches: Ints
    hypothesis: Ints
    reference: Ints


def count_ngrams(sides: Sequence[MaskedSide], orders: int) -> NgramCounts:
    """Counts of 1- to `orders`-grams for all texts of all sides, in order."""
    found = [_walk(block, orders) for block in _blocks(sides)]
    empty = np.empty((0, orders), np.intp)
    matches = np.concatenate([empty, *(counts for counts, _ in found)])
    masked = _totals(np.concatenate([empty[:, 0], *(lengths for _, lengths in found)]), orders)
    n_texts = [len(side.visible) for side in sides]
    fixed = _totals(np.repeat(np.array([len(side.fixed) for side in sides], np.intp), n_texts), orders)
    is_hypothesis = np.repeat(np.array([side.is_hypothesis for side in sides], np.bool_), n_texts)[:, None]
    return NgramCounts(matches, np.where(is_hypothesis, masked, fixed), np.where(is_hypothesis, fixed, masked))


def _totals(lengths: Ints, orders: int) -> Ints:
    totals: Ints = np.maximum(lengths[:, None] - np.arange(orders), 0)
    return totals


def _blocks(sides: Sequence[MaskedSide]) -> Iterator[Sequence[MaskedSide]]:
    start = cells = 0
    for stop, side in enumerate(sides):
        if cells and cells + side.visible.size > _BLOCK_CELLS:
            yield sides[start:stop]
            start, cells = stop, 0
        cells += side.visible.size
    if start < len(sides):
        yield sides[start:]


def _walk(sides: Sequence[MaskedSide], orders: int) -> tuple[Ints, Ints]:
    """int[P, orders] clipped matches and int[P] lengths of the P masked texts of one block.

    Node 0 is a token that the two sides do not share, or a branch that the trie does not have. `owner` says
    which side a node of the present order belongs to, `column` which branch of its parent a token takes.
    """
    slot_nodes, fixed, owner, column = _number_shared_tokens(sides)
    n_texts = np.array([len(side.visible) for side in sides])
    side_of_text = np.repeat(np.arange(len(sides)), n_texts)
    shown = np.concatenate([side.visible.ravel() for side in sides])
    walk = np.concatenate([np.tile(nodes, len(side.visible)) for nodes, side in zip(slot_nodes, sides, strict=True)])
    walk = walk[shown]
    stops = (walk == _STOP).nonzero()[0]
    walk[stops] = 0
    lengths = np.diff(stops, prepend=-1) - 1
    text = np.repeat(np.arange(len(lengths)), lengths + 1)

    width = int(column.max()) + 1
    walk_column, fixed_column = column.take(walk), column.take(fixed)
    places, fixed_places = walk.nonzero()[0], fixed.nonzero()[0]
    nodes, fixed_nodes = walk.take(places), fixed.take(fixed_places)
    matches = np.zeros((len(side_of_text), orders), np.intp)
    for order in range(1, orders + 1):
        limits = np.bincount(fixed_nodes, minlength=len(owner))
        per_side = np.bincount(owner[1:], minlength=len(sides))
        matches[:, order - 1] = _clip(nodes, text.take(places), limits, per_side, side_of_text)
        if order == orders or not len(places):
            break
        next_column = fixed_column.take(fixed_places + order)
        alive = next_column.nonzero()[0]
        fixed_places = fixed_places.take(alive)
        keys, inverse = np.unique(fixed_nodes.take(alive) * width + next_column.take(alive), return_inverse=True)
        fixed_nodes = inverse + 1
        nodes = _branch(keys, len(owner) * width, nodes * width + walk_column.take(places + order))
        owner = np.concatenate([owner[:1], owner.take(keys // width)])
        alive = nodes.nonzero()[0]
        places, nodes = places.take(alive), nodes.take(alive)
    return matches, lengths


def _number_shared_tokens(sides: Sequence[MaskedSide]) -> tuple[list[Ints], Ints, Ints, Ints]:
    """Number the tokens that a masked and its fixed side share: 1, 2, ... over the whole block.

    Returns the numbers at each side's slots and stop; those of all fixed sides one after the other, with
    stops; the side that owns each number (0, which nobody owns, is given to the first); its number within
    that side.
    """
    slot_nodes, fixed, owner, column = [], [], [0], [0]
    for index, side in enumerate(sides):
        shared = set(side.tokens).intersection(side.fixed)
        nodes = dict(zip(shared, range(len(owner), len(owner) + len(shared)), strict=True))
        owner += [index] * len(shared)
        column += range(1, len(shared) + 1)
        slot_nodes.append(np.array([*(nodes.get(token, 0) for token in side.tokens), _STOP], np.intp))
        fixed += [nodes.get(token, 0) for token in side.fixed]
        fixed.append(0)
    return slot_nodes, np.array(fixed, np.intp), np.array(owner, np.intp), np.array(column, np.intp)


def _branch(keys: Ints, size: int, wanted: Ints) -> Ints:
    """The node (1, 2, ...) that each of the `wanted` branches leads to, 0 where it is not among the sorted `keys`."""
    if size <= _DENSE_TABLE:
        table = np.zeros(size, np.intp)
        table[keys] = np.arange(1, len(keys) + 1)
        return table.take(wanted)
    found = np.searchsorted(keys, wanted)
    return np.where(np.append(keys, -1).take(found) == wanted, found + 1, 0)


def _clip(nodes: Ints, text: Ints, limits: Ints, per_side: Ints, side_of_text: Ints) -> Ints:
    """int[P] matches of one order: every text's count of each node of its side, at most the node's limit.

    nodes, text: node and text of each match. limits: of each node. per_side: nodes that a side owns; they are
    neighbours, so that each text has a row of neighbouring cells, one a node of its side.
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
