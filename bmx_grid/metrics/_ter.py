"""The edits of TER (Snover et al. 2006) as sacreBLEU counts them, compiled: a greedy search of shifts and a beam.

sacreBLEU follows Tercom: of all runs of words that a hypothesis has elsewhere than the reference, the shift that saves
the most edits is made, then the next one, until none saves any. Edit distances are computed within a beam around the
diagonal. Which of equally good shifts is made, and when the search gives up, decides results: all is done in its order.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from bmx_grid.core.ragged import Ints
from bmx_grid.measures.ordered import compile_kernel

# as in Tercom
LONGEST_SHIFT = 10  # words
FARTHEST_SHIFT = 50  # words
MOST_SHIFTS = 1000  # that are tried for a pair
BEAM = 25  # words on each side of the diagonal
UNREACHED = 10**16
# The edit in a cell of the edit matrix: nothing yet, a word of the reference added, one of the hypothesis deleted,
# a pair of words taken, the same or not.
NOTHING, ADDED, DELETED, SAME, OTHER = range(5)


def edits(hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> Ints:
    """int64[n] edits, shifts included, that make the words of n hypotheses those of their references.

    -1 if the beam reaches no end, for which sacreBLEU raises an error. Equal numbers of references and hypotheses
    are not checked.
    """
    numbers: dict[str, int] = {}
    sides = []
    for texts in (hypotheses, references):
        flat = [numbers.setdefault(word, len(numbers)) for word in itertools.chain.from_iterable(texts)]
        offsets = np.cumsum([0, *map(len, texts)])
        sides += [np.array(flat, dtype=np.int64), offsets.astype(np.int64)]
    counts = np.empty(len(hypotheses), dtype=np.int64)
    compile_kernel(_edits)(*sides, counts)
    return counts


def _edits(words: Ints, word_offsets: Ints, truths: Ints, truth_offsets: Ints, counts: Ints) -> None:
    """`edits` of all pairs, whose words are numbers, into `counts`; one function, as it is compiled."""
    for pair in range(len(counts)):
        truth = truths[truth_offsets[pair] : truth_offsets[pair + 1]]
        text = words[word_offsets[pair] : word_offsets[pair + 1]].copy()
        m = len(truth)
        n = len(text)
        if m == 0:
            counts[pair] = n
            continue
        ratio = m / n if n else 1.0
        width = int(np.ceil(ratio / 2 + BEAM)) if ratio / 2 > BEAM else BEAM
        cost = np.full((n + 1, m + 1), UNREACHED, dtype=np.int64)
        done = np.full((n + 1, m + 1), NOTHING, dtype=np.int8)
        cost[0] = np.arange(m + 1)
        done[0] = ADDED
        above = np.empty(m + 1, dtype=np.int64)
        row = np.empty(m + 1, dtype=np.int64)
        shifted = np.empty_like(text)
        best_text = np.empty_like(text)
        partner = np.empty(m, dtype=np.int64)  # of each word of the reference, in the hypothesis
        truth_wrong = np.empty(m, dtype=np.int64)
        text_wrong = np.empty(n, dtype=np.int64)
        n_shifts = 0
        n_tried = 0
        known = 0  # rows of the edit matrix that hold for the text as it is now
        failed = False
        while True:
            for i in range(known + 1, n + 1):
                cost[i] = UNREACHED
                done[i] = NOTHING
                middle = int(np.floor(i * ratio))
                last = m + 1 if i == n else min(m + 1, middle + width)
                for j in range(max(0, middle - width), last):
                    if j == 0:
                        cost[i, 0] = cost[i - 1, 0] + 1
                        done[i, 0] = DELETED
                        continue
                    # of equal costs the first one counts
                    same = text[i - 1] == truth[j - 1]
                    taken = cost[i - 1, j - 1] + (0 if same else 1)
                    if taken < cost[i, j]:
                        cost[i, j] = taken
                        done[i, j] = SAME if same else OTHER
                    if cost[i - 1, j] + 1 < cost[i, j]:
                        cost[i, j] = cost[i - 1, j] + 1
                        done[i, j] = DELETED
                    if cost[i, j - 1] + 1 < cost[i, j]:
                        cost[i, j] = cost[i, j - 1] + 1
                        done[i, j] = ADDED
            # back from the last cell: which words are paired, and which are wrong
            i = n
            j = m
            while i > 0 or j > 0:
                step = done[i, j]
                if step == NOTHING:
                    failed = True
                    break
                if step != DELETED:
                    partner[j - 1] = i - 1
                    truth_wrong[j - 1] = step != SAME
                if step != ADDED:
                    text_wrong[i - 1] = step != SAME
                if step != ADDED:
                    i -= 1
                if step != DELETED:
                    j -= 1
            if failed:
                break
            best_saved = -UNREACHED
            best_length = 0
            best_start = 0
            best_target = 0
            for start in range(n):
                for goal in range(max(0, start - FARTHEST_SHIFT), min(m, start + FARTHEST_SHIFT + 1)):
                    if n_tried >= MOST_SHIFTS:
                        break
                    length = 0
                    while length < LONGEST_SHIFT and text[start + length] == truth[goal + length]:
                        length += 1
                        # only a wrong run moves, only to a wrong place, and never within itself
                        is_wrong = text_wrong[start : start + length].any()
                        is_wrong = is_wrong and truth_wrong[goal : goal + length].any()
                        if is_wrong and not start <= partner[goal] < start + length:
                            before = -1
                            for offset in range(-1, length):
                                if goal + offset >= m:
                                    break
                                target = 0 if goal + offset == -1 else partner[goal + offset] + 1
                                if target == before:
                                    continue
                                before = target
                                # the words without the run, which is inserted before the target
                                place = target - length if target > start + length else min(target, n - length)
                                k = 0
                                for left in range(n - length + 1):
                                    if left == place:
                                        for inner in range(length):
                                            shifted[k] = text[start + inner]
                                            k += 1
                                    if left < n - length:
                                        shifted[k] = text[left if left < start else left + length]
                                        k += 1
                                unchanged = min(start, place)
                                # the rows up to the first moved word stay as they are: only the rest is computed
                                above[:] = cost[unchanged]
                                for i in range(unchanged + 1, n + 1):
                                    row[:] = UNREACHED
                                    middle = int(np.floor(i * ratio))
                                    last = m + 1 if i == n else min(m + 1, middle + width)
                                    for j in range(max(0, middle - width), last):
                                        if j == 0:
                                            row[0] = above[0] + 1
                                            continue
                                        least = above[j - 1] + (0 if shifted[i - 1] == truth[j - 1] else 1)
                                        row[j] = min(row[j], least, above[j] + 1, row[j - 1] + 1)
                                    above[:] = row
                                if above[m] >= UNREACHED:
                                    failed = True
                                n_tried += 1
                                saved = cost[n, m] - above[m]
                                better = saved > best_saved
                                if saved == best_saved:
                                    better = length > best_length
                                    if length == best_length:
                                        better = start < best_start or (start == best_start and target < best_target)
                                if better:
                                    best_saved = saved
                                    best_length = length
                                    best_start = start
                                    best_target = target
                                    best_text[:] = shifted
                                    known = unchanged
                            if n_tried >= MOST_SHIFTS:
                                break
                        if start + length == n or goal + length == m:
                            break
            if failed or n_tried >= MOST_SHIFTS or best_saved <= 0:
                break
            n_shifts += 1
            text[:] = best_text
        counts[pair] = -1 if failed else n_shifts + cost[n, m]
