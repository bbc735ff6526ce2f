"""Marked words from attributions: the threshold that agrees best with people, chosen on other segments."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from bmx_grid.core.ragged import Flags, Floats, Labels, Ragged
from bmx_grid.measures.correlation import TIE
from bmx_grid.measures.resampling import (
    assign_folds,
    codes,
    number_of,
)
from bmx_grid.measures.word_measures import has_nan

FOLDS_STREAM = 3  # a stream of random numbers of its own, whatever else the seed is used for


def best_threshold(bad: Flags, values: Floats) -> float:
    """The threshold of the highest MCC: float64[W] attributions up to it are BAD.

    Words with a NaN attribution are left out. It lies halfway between the attributions it separates. Of cuts that are
    equally good within rounding the one that blames the fewest words is taken. NaN if no cut gives both labels, or
    if the true labels are all the same.
    """
    known = ~np.isnan(values)
    bad = bad[known]
    values = values[known]
    order = np.argsort(values)
    ordered = values[order]
    hits = np.cumsum(bad[order]).astype(np.float64)
    # the last word below each possible threshold
    cut = np.flatnonzero(ordered[1:] != ordered[:-1])
    if not len(cut):
        return math.nan
    wrong = hits[-1]
    total = float(len(bad))
    if wrong in (0.0, total):
        return math.nan
    blamed = cut + 1.0
    # (TP TN - FP FN) / sqrt(...) written with TP, the words blamed, the wrong words and all words.
    difference = hits[cut] * total - blamed * wrong
    of_predicted = np.sqrt(blamed * (total - blamed))
    of_gold = np.sqrt(wrong * (total - wrong))
    mcc = difference / of_predicted / of_gold
    as_high = mcc >= mcc.max() - TIE
    best = int(np.argmax(as_high))
    last = cut[best]
    below = float(ordered[last])
    above = float(ordered[last + 1])
    if not np.isfinite([below, above]).all():
        return below
    middle = below + (above - below) / 2
    # two neighbouring numbers have no middle: it is rounded to one of the two
    return middle if middle < above else below


def labels_at(attributions: Ragged, thresholds: Floats) -> tuple[Labels, Flags]:
    """BAD for words whose attribution is at most the threshold of their text, and bool[N] which texts have labels.

    thresholds: float64[N], NaN for a text that has none. One with a NaN attribution has no labels either: all are OK.
    """
    count = len(attributions)
    row = np.repeat(np.arange(count), attributions.lengths)
    labelled = ~np.isnan(thresholds) & ~has_nan(attributions, row)
    bad = attributions.values <= thresholds[row]
    return Labels(bad & labelled[row], attributions.offsets), labelled


def cross_fitted_labels(
    gold: Labels, attributions: Ragged, cluster: ArrayLike | None = None, *, folds: int = 10, seed: int = 0
) -> tuple[Labels, Flags]:
    """`labels_at` the threshold that is best for each text on the folds it is not in.

    cluster: N labels of texts that are not independent of each other, never divided between folds; each text is its
    own without. Raises ValueError for arrays of different lengths, or fewer than 2 folds.
    """
    if not np.array_equal(gold.offsets, attributions.offsets):
        raise ValueError("labels and attributions must have the same numbers of words")
    if folds < 2:
        raise ValueError(f"a fold is labelled by the others: at least 2 are needed, not {folds}")
    group = codes(np.arange(len(gold)) if cluster is None else cluster)
    if len(group) != len(gold):
        raise ValueError(f"{len(group)} clusters but {len(gold)} texts")
    fold = assign_folds(group, folds, np.random.default_rng([seed, FOLDS_STREAM]))
    fold_of_word = fold[gold.row_of_word()]
    best = np.empty(number_of(fold))
    for number in range(len(best)):
        others = fold_of_word != number
        best[number] = best_threshold(gold.bad[others], attributions.values[others])
    return labels_at(attributions, best[fold])
