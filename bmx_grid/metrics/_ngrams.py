"""Counts of n-grams that two texts share, also of one text with words hidden, without writing it out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bmx_grid.metrics._sides import ChangedSide, CountedSide, Indices, MaskedSide, SideTokens, cells_per_text

STOP = -1  # follows the last token of a text

_DENSE_TABLE = 2**22  # entries; branches of longer texts are searched for instead


# The n-grams of one order: `places` and `nodes`, where in the walk an n-gram of the fixed text begins, and which one;
# `limits`, how often its fixed text holds each node; `owner`, the pair of texts that each node belongs to (0, which
# belongs to none, is given to the first), whose nodes are neighbours.
TrieStep = tuple[Indices, Indices, Indices, Indices]


@dataclass(frozen=True, eq=False)
class NgramTrie:
    """One trie per pair of texts, of the n-grams of its fixed text.

    tokens: nodes of the tokens of all other texts, one text after the other, each followed by STOP.
    fixed: nodes of the tokens of all fixed texts, each text followed by 0.
    owner: as in `TrieStep`, of the tokens' nodes. column: the branch, 1, 2, ... of each trie, that a token takes.
    """

    tokens: Indices
    fixed: Indices
    owner: Indices
    column: Indices

    @classmethod
    def from_sides(cls, sides: Sequence[SideTokens]) -> NgramTrie:
        """Number the tokens that each side shares with its fixed text."""
        tokens: list[int] = []
        fixed: list[int] = []
        owner = [0]
        column = [0]
        for index, side in enumerate(sides):
            # no other token can be part of a match: all others are node 0, which ends n-grams
            shared = set(side.tokens).intersection(side.fixed)
            nodes = {token: node for node, token in enumerate(shared, start=len(owner))}
            owner += [index] * len(shared)
            column += range(1, len(shared) + 1)
            tokens += [nodes.get(token, 0) for token in side.tokens]
            tokens.append(STOP)
            fixed += [nodes.get(token, 0) for token in side.fixed]
            fixed.append(0)
        fields = (tokens, fixed, owner, column)
        return cls(*[np.array(values, np.intp) for values in fields])

    def walk(self, walk: Indices, orders: int) -> Iterator[TrieStep]:
        """The shared n-grams of the orders 1, 2, ... up to `orders`, or to the last that is shared.

        walk: nodes of the tokens of other texts. A 0 ends n-grams; one follows the last token.
        """
        owner = self.owner
        width = int(self.column.max()) + 1
        walk_column = self.column.take(walk)
        fixed_column = self.column.take(self.fixed)
        places = walk.nonzero()[0]
        fixed_places = self.fixed.nonzero()[0]
        nodes = walk.take(places)
        fixed_nodes = self.fixed.take(fixed_places)
        for order in range(1, orders + 1):
            yield places, nodes, np.bincount(fixed_nodes, minlength=len(owner)), owner
            if order == orders or not len(places):
                return
            next_column = fixed_column.take(fixed_places + order)
            alive = next_column.nonzero()[0]
            fixed_places = fixed_places.take(alive)
            # A longer n-gram is the node of its first tokens and the branch that its last one takes, in one number.
            branches = fixed_nodes.take(alive) * width + next_column.take(alive)
            keys, inverse = np.unique(branches, return_inverse=True)
            fixed_nodes = inverse + 1  # 0 stays the node that ends n-grams
            wanted = nodes * width + walk_column.take(places + order)
            nodes = _branch(keys, len(owner) * width, wanted)
            parents = keys // width
            owner = np.concatenate([owner[:1], owner.take(parents)])
            alive = nodes.nonzero()[0]
            places = places.take(alive)
            nodes = nodes.take(alive)


def _branch(keys: Indices, size: int, wanted: Indices) -> Indices:
    """The nodes (1, 2, ...) that the `wanted` branches lead to, 0 if a branch is not among the sorted `keys`."""
    if size <= _DENSE_TABLE:
        table = np.zeros(size, np.intp)
        table[keys] = np.arange(1, len(keys) + 1)
        return table.take(wanted)
    places = np.searchsorted(keys, wanted)
    # the place after the last key is looked up, too: its -1 is no branch
    is_known = np.append(keys, -1).take(places) == wanted
    return np.where(is_known, places + 1, 0)


_BLOCK_CELLS = 2**16  # mask cells processed together: enough to hide the cost of a call, few enough to reuse memory


def count_ngrams(sides: Iterable[CountedSide], orders: int) -> Indices:
    """int[2 + orders, P] of all texts of all sides, in order: tokens of hypothesis and reference, then matches.

    Matches are n-grams of the hypothesis in the reference, of each order from 1 on, each at most as often as the
    reference holds it (Papineni et al., 2002, section 2.1). Sides are taken as they are needed.
    """
    counts = [np.empty((2 + orders, 0), np.intp)]
    for block in _blocks(sides):
        block_sides: Sequence[CountedSide]
        if isinstance(block, ChangedSide):
            block_sides = [block]
            n_texts = [len(block.keep)]
            matches, lengths = _changes(block, orders)
        else:
            block_sides = block
            n_texts = [len(side.visible) for side in block]
            matches, lengths = _walk(block, orders)
        counts.append(add_lengths(block_sides, n_texts, lengths, matches))
    return np.concatenate(counts, axis=1)


def add_lengths(
    sides: Sequence[SideTokens], n_texts: Sequence[int] | Indices, masked: Indices, matches: Indices
) -> Indices:
    """int[2 + orders, P] counts of P texts, `n_texts` of each side, from int[P] tokens and int[orders, P]."""
    fixed = np.repeat([len(side.fixed) for side in sides], n_texts)
    is_hypothesis = np.repeat([side.is_hypothesis for side in sides], n_texts)
    lengths = np.where(is_hypothesis, (masked, fixed), (fixed, masked))
    return np.concatenate([lengths, matches])


def ngrams_of(lengths: Indices, orders: int) -> Indices:
    """int[orders, P]: how many n-grams of each order int[P] tokens make."""
    tokens_before = np.arange(orders)[:, None]  # of the last token of an n-gram
    totals: Indices = np.maximum(lengths - tokens_before, 0)
    return totals


def _blocks(sides: Iterable[CountedSide]) -> Iterator[Sequence[MaskedSide] | ChangedSide]:
    """The sides in their order, those with masks in blocks of some _BLOCK_CELLS cells."""
    block: list[MaskedSide] = []
    cells = 0
    for side in sides:
        if isinstance(side, ChangedSide):
            if block:
                yield block
            yield side
            block = []
            cells = 0
            continue
        side_cells = len(side.visible) * cells_per_text(side.tokens, side.fixed)
        if cells and cells + side_cells > _BLOCK_CELLS:
            yield block
            block = []
            cells = 0
        block.append(side)
        cells += side_cells
    if block:
        yield block


def _walk(sides: Sequence[MaskedSide], orders: int) -> tuple[Indices, Indices]:
    """int[orders, P] clipped matches and int[P] lengths of the P masked texts of one block."""
    trie = NgramTrie.from_sides(sides)
    n_texts = [len(side.visible) for side in sides]
    side_of_text = np.repeat(np.arange(len(sides)), n_texts)
    ends = np.cumsum([side.visible.shape[1] for side in sides])
    shown = np.concatenate([side.visible.ravel() for side in sides])
    # the nodes of a side are repeated for its texts; the visible ones are kept
    nodes_of_side = np.split(trie.tokens, ends[:-1])
    walk = np.concatenate(list(map(np.tile, nodes_of_side, n_texts)))
    walk = walk[shown]
    stops = (walk == STOP).nonzero()[0]
    walk[stops] = 0
    lengths = np.diff(stops, prepend=-1) - 1
    text = np.repeat(np.arange(len(lengths)), lengths + 1)
    matches = np.zeros((orders, len(side_of_text)), np.intp)
    for order, (places, nodes, limits, owner) in enumerate(trie.walk(walk, orders)):
        # without node 0, whose owner has no meaning
        per_side = np.bincount(owner[1:], minlength=len(sides))
        matches[order] = _clip(nodes, text.take(places), limits, per_side, side_of_text)
    return matches, lengths


def _clip(nodes: Indices, text: Indices, limits: Indices, per_side: Indices, side_of_text: Indices) -> Indices:
    """int[P] matches of one order: every text's count of each node of its side, at most the node's limit.

    nodes, text: node and text of each match. limits: of each node. per_side: nodes that a side owns; they are
    neighbours, so that each text has a row of neighbouring cells, one per node of its side.
    """
    per_text = per_side.take(side_of_text)
    end = np.cumsum(per_text)
    start = end - per_text
    first_node = np.cumsum(per_side) - per_side + 1  # of each side; node 0 belongs to none
    to_cell = start - first_node.take(side_of_text)
    counts = np.bincount(nodes + to_cell.take(text), minlength=int(per_text.sum()))
    limit = limits.take(np.arange(len(counts)) - np.repeat(to_cell, per_text))
    clipped = np.minimum(counts, limit)
    # a running sum, since a text whose side owns no node has no cells
    total = np.concatenate([[0], np.cumsum(clipped)])
    matches: Indices = total.take(end) - total.take(start)
    return matches


# Long texts with few hidden words: an n-gram differs from the whole text's only if it touches a hidden word
# or spans the gap. So the whole text is counted once. Around the hidden words, n - 1 tokens to each side, the n-grams
# of the whole text are taken off and those of the text without the words are added: those of neither cancel out.
def _changes(side: ChangedSide, orders: int) -> tuple[Indices, Indices]:
    """As `_walk`, of one side."""
    n_texts = len(side.keep)
    trie = NgramTrie.from_sides([side])
    nodes = np.maximum(trie.tokens, 0)  # the last one, a stop, ends n-grams
    # places of the whole text's tokens, and of the stop
    is_stand_in = np.append(side.is_stand_in, False)
    in_whole = (~is_stand_in).nonzero()[0]
    first, last, text = _windows(side, in_whole, orders)

    stop = len(side.tokens)
    window_places, window_text = _add_stops(first, last, text, stop)
    hides_word = is_stand_in[window_places]
    word = np.append(side.word, 0)[window_places]
    was_shown = ~hides_word
    is_shown = side.keep[window_text, word] != hides_word
    is_shown |= window_places == stop  # whatever the mask of word 0 is, which only fills its place
    before = window_places[was_shown]
    after = window_places[is_shown]
    text_before = window_text[was_shown]
    text_after = window_text[is_shown]
    walk = nodes[np.concatenate([in_whole, before, after])]
    text_of_place = np.concatenate([text_before, text_after])
    sign = np.repeat([-1, 1], [len(before), len(after)])

    difference = np.bincount(text_after, minlength=n_texts)
    difference -= np.bincount(text_before, minlength=n_texts)
    lengths = len(in_whole) - 1 + difference
    matches = np.zeros((orders, n_texts), np.intp)
    for order, (places, at_node, limits, _) in enumerate(trie.walk(walk, orders)):
        n_of_whole = int(np.searchsorted(places, len(in_whole)))  # places of the whole text come first
        n_nodes = len(limits)
        counts = np.bincount(at_node[:n_of_whole], minlength=n_nodes)
        clipped = np.minimum(counts, limits)
        matches[order] = clipped.sum()
        changed = places[n_of_whole:] - len(in_whole)
        # a text and a node in one number: changes are summed for each pair before they are clipped
        text_and_node = text_of_place[changed] * n_nodes + at_node[n_of_whole:]
        keys, key = np.unique(text_and_node, return_inverse=True)
        change = np.bincount(key, sign[changed], minlength=len(keys)).astype(np.intp)
        changed_text, node = np.divmod(keys, n_nodes)
        gained = np.minimum(counts[node] + change, limits[node]) - clipped[node]
        matches[order] += np.bincount(changed_text, gained, minlength=n_texts).astype(np.intp)
    return matches, lengths


def _windows(side: ChangedSide, in_whole: Indices, orders: int) -> tuple[Indices, Indices, Indices]:
    """The first and the last place of each window, and its text: hidden words and the tokens within reach of an n-gram.

    in_whole: places of the whole text's tokens, and of the stop. Windows of one text that overlap are one.
    """
    n_whole = len(in_whole) - 1
    word_of_token = side.word[in_whole[:-1]]
    n_words = side.keep.shape[1]
    first_token = np.searchsorted(word_of_token, np.arange(n_words))
    end_token = np.searchsorted(word_of_token, np.arange(n_words), side="right")
    text, word = (~side.keep).nonzero()
    reach = max(orders - 1, 1)  # one at least, for the replacement of a word without tokens
    start = np.maximum(first_token[word] - reach, 0)
    end = np.minimum(end_token[word] + reach, n_whole)

    is_new = np.ones(len(text), np.bool_)
    is_other_text = text[1:] != text[:-1]
    is_apart = start[1:] > end[:-1]
    is_new[1:] = is_other_text | is_apart
    is_last = np.append(is_new[1:], True)[: len(text)]
    start = start[is_new]
    end = end[is_last]
    # no token is beyond an end of the text: a window at an end reaches to the first or the last place of all
    first_place = np.where(start == 0, 0, in_whole[start])
    last_token = len(side.tokens) - 1
    last_place = np.where(end == n_whole, last_token, in_whole[end - 1])
    return first_place, last_place, text[is_new]


def _add_stops(first: Indices, last: Indices, text: Indices, stop: int) -> tuple[Indices, Indices]:
    """All places from `first` to `last` of each window, followed by `stop`; and the text of each place."""
    sizes = last - first + 2  # the last place, and the stop
    ends = np.cumsum(sizes)
    # one running number over all windows, moved to where each window is
    shift = first - (ends - sizes)
    places = np.arange(sizes.sum()) + np.repeat(shift, sizes)
    places[ends - 1] = stop
    return places, np.repeat(text, sizes)
