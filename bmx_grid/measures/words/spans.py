"""Spans: the longest runs of words of a text with the same label, and how the spans of two labellings overlap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bmx_grid.words.tags import Labels, sums_by_text

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Spans:
    """The G spans of the labels of N texts, in order.

    start, end: int64[G] of words, counted over all texts, the end excluded. bad: bool[G] the label of the span; row:
    int64[G] its text. offsets: int64[N + 1], text i has the spans offsets[i] to offsets[i + 1].
    """

    start: Ints
    end: Ints
    bad: NDArray[np.bool_]
    row: Ints
    offsets: Ints

    @classmethod
    def of(cls, labels: Labels) -> Spans:
        """The spans of labels; a text without words has none."""
        bad, text = labels.bad, labels.row_of_word()
        new = np.append(True, (bad[1:] != bad[:-1]) | (text[1:] != text[:-1])) if len(bad) else np.empty(0, np.bool_)
        start = np.flatnonzero(new).astype(np.int64)
        end = np.append(start[1:], len(bad)).astype(np.int64) if len(bad) else start
        row = text[start]
        offsets = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(labels)))]).astype(np.int64)
        return cls(start, end, bad[start], row, offsets)

    def share(self, agrees: NDArray[np.bool_]) -> Floats:
        """float64[G] the share of the words of each span for which bool[total] `agrees` is true."""
        if not len(self.start):
            return np.empty(0)
        found: Floats = np.add.reduceat(agrees.astype(np.float64), self.start) / (self.end - self.start)
        return found

    def counts(self, bad: bool) -> Floats:
        """float64[N] the number of spans of one label."""
        return sums_by_text(self.bad == bad, self.row, len(self.offsets) - 1)

    def summed(self, values: Floats, bad: bool) -> Floats:
        """float64[N] the sum of float64[G] values over the spans of one label."""
        return sums_by_text(np.where(self.bad == bad, values, 0.0), self.row, len(self.offsets) - 1)

    def of_text(self, row: int, bad: bool) -> list[tuple[int, int]]:
        """Start and end of the spans of one label in one text, counted from the text's first word."""
        here = range(self.offsets[row], self.offsets[row + 1])
        first = int(self.start[here.start]) if len(here) else 0
        return [(int(self.start[one]) - first, int(self.end[one]) - first) for one in here if self.bad[one] == bad]


def matched(gold: list[tuple[int, int]], predicted: list[tuple[int, int]]) -> int:
    """Words shared by spans of two labellings that are matched one to one, the largest intersection first.

    Both lists are in order and each without overlaps. Of equally large intersections the one of the earlier gold span
    counts first, then of the earlier predicted span, as the arg-max of the WMT15 scorer takes them.
    """
    overlaps: list[tuple[int, int, int]] = []
    one = other = 0
    while one < len(gold) and other < len(predicted):
        shared = min(gold[one][1], predicted[other][1]) - max(gold[one][0], predicted[other][0])
        if shared > 0:
            overlaps.append((-shared, one, other))
        if gold[one][1] <= predicted[other][1]:
            one += 1
        else:
            other += 1
    overlaps.sort()
    used_gold, used_predicted, total = set[int](), set[int](), 0
    for negative, left, right in overlaps:
        if left not in used_gold and right not in used_predicted:
            used_gold.add(left)
            used_predicted.add(right)
            total -= negative
    return total
