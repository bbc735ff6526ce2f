"""The n-grams of texts as tries, and where others hold them too: many pairs of texts at once, as flat arrays.

The nodes of all tries are numbered together, 1, 2, ... order by order. A text walks down from each of its
tokens while its trie has a branch; most walks end after a few steps, so that every order looks at fewer places
than the one before. Node 0 is a token that the two texts do not share, or a branch that the trie does not have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.intp]

STOP = -1  # follows the last token of a text

_DENSE_TABLE = 2**22  # entries; branches of longer texts are searched for instead


@dataclass(frozen=True, eq=False)
class TrieStep:
    """The n-grams of one order.

    places, nodes: where in the walk an n-gram of the fixed text begins, and which one.
    limits: how often its fixed text holds each node. owner: the pair of texts that each node belongs to
    (0, which belongs to none, is given to the first); its nodes are neighbours.
    """

    places: Ints
    nodes: Ints
    limits: Ints
    owner: Ints


@dataclass(frozen=True, eq=False)
class NgramTrie:
    """One trie per pair of texts, of the n-grams of its fixed text.

    tokens: nodes of the tokens of all other texts, one text after the other, each followed by STOP.
    fixed: nodes of the tokens of all fixed texts, each text followed by 0.
    owner: as in TrieStep, of the tokens' nodes. column: the branch, 1, 2, ... of each trie, that a token takes.
    """

    tokens: Ints
    fixed: Ints
    owner: Ints
    column: Ints

    @classmethod
    def of_sides(cls, sides: Sequence[tuple[Sequence[str], Sequence[str]]]) -> NgramTrie:
        """Number the tokens that each (text, fixed text) shares."""
        tokens: list[int] = []
        fixed: list[int] = []
        owner, column = [0], [0]
        for index, (own, theirs) in enumerate(sides):
            shared = set(own).intersection(theirs)
            nodes = dict(zip(shared, range(len(owner), len(owner) + len(shared)), strict=True))
            owner += [index] * len(shared)
            column += range(1, len(shared) + 1)
            tokens += [nodes.get(token, 0) for token in own]
            tokens.append(STOP)
            fixed += [nodes.get(token, 0) for token in theirs]
            fixed.append(0)
        return cls(*(np.array(values, np.intp) for values in (tokens, fixed, owner, column)))

    def walk(self, walk: Ints, orders: int) -> Iterator[TrieStep]:
        """The orders 1, 2, ... up to `orders`, or to the last that is shared. A 0 in `walk` ends n-grams there."""
        owner = self.owner
        width = int(self.column.max()) + 1
        walk_column, fixed_column = self.column.take(walk), self.column.take(self.fixed)
        places, fixed_places = walk.nonzero()[0], self.fixed.nonzero()[0]
        nodes, fixed_nodes = walk.take(places), self.fixed.take(fixed_places)
        for order in range(1, orders + 1):
            yield TrieStep(places, nodes, np.bincount(fixed_nodes, minlength=len(owner)), owner)
            if order == orders or not len(places):
                return
            next_column = fixed_column.take(fixed_places + order)
            alive = next_column.nonzero()[0]
            fixed_places = fixed_places.take(alive)
            keys, inverse = np.unique(fixed_nodes.take(alive) * width + next_column.take(alive), return_inverse=True)
            fixed_nodes = inverse + 1
            nodes = _branch(keys, len(owner) * width, nodes * width + walk_column.take(places + order))
            owner = np.concatenate([owner[:1], owner.take(keys // width)])
            alive = nodes.nonzero()[0]
            places, nodes = places.take(alive), nodes.take(alive)


def _branch(keys: Ints, size: int, wanted: Ints) -> Ints:
    """The node (1, 2, ...) that each of the `wanted` branches leads to, 0 where it is not among the sorted `keys`."""
    if size <= _DENSE_TABLE:
        table = np.zeros(size, np.intp)
        table[keys] = np.arange(1, len(keys) + 1)
        return table.take(wanted)
    found = np.searchsorted(keys, wanted)
    return np.where(np.append(keys, -1).take(found) == wanted, found + 1, 0)
