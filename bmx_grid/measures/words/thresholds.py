"""From attributions to labels: a threshold below which a word is BAD, chosen on words other than those it labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bmx_grid.measures.best import TIE
from bmx_grid.measures.resampling import codes, number_of
from bmx_grid.ragged import Ragged
from bmx_grid.words.tags import Labels

Floats = NDArray[np.float64]
FOLDS = 3  # a stream of random numbers of its own, whatever else the seed is used for


@dataclass(frozen=True)
class Threshold:
    """Words whose attribution is at most `value` are BAD.

    mcc: of these labels on the data it was chosen on, which is too good for any other. Both are NaN where no cut of
    the attributions gives both labels, or the true labels are all the same.
    """

    value: float
    mcc: float


def best_threshold(gold: Labels, attributions: Ragged) -> Threshold:
    """The threshold of the highest MCC over all words; words with a NaN attribution are left out.

    It lies halfway between the attributions it separates. Of cuts that are equally good within rounding the one that
    blames the fewest words is taken. Raises ValueError when labels and attributions have other numbers of words.
    """
    _check(gold, attributions)
    defined = ~np.isnan(attributions.values)
    return _best(gold.bad[defined], attributions.values[defined])


def _best(bad: NDArray[np.bool_], values: Floats) -> Threshold:
    order = np.argsort(values)
    ordered, hits = values[order], np.cumsum(bad[order]).astype(np.float64)
    cut = np.flatnonzero(ordered[1:] != ordered[:-1])  # the last word below each possible threshold
    if not len(cut) or hits[-1] in (0, len(bad)):
        return Threshold(float("nan"), float("nan"))
    blamed, wrong, total = cut + 1.0, hits[-1], float(len(bad))
    # (TP TN - FP FN) / sqrt(...) written with TP, the words blamed, the wrong words and all words.
    mcc = (hits[cut] * total - blamed * wrong) / np.sqrt(blamed * (total - blamed)) / np.sqrt(wrong * (total - wrong))
    best = int(np.argmax(mcc >= mcc.max() - TIE))
    below, above = float(ordered[cut[best]]), float(ordered[cut[best] + 1])
    middle = below + (above - below) / 2 if np.isfinite([below, above]).all() else below
    return Threshold(middle if middle < above else below, float(mcc[best]))


def labels_at(attributions: Ragged, threshold: float) -> Labels:
    """BAD for words whose attribution is at most the threshold. Raises ValueError for NaN: it decides nothing."""
    if np.isnan(threshold) or np.isnan(attributions.values).any():
        raise ValueError("a threshold and the attributions it cuts must be numbers, not NaN")
    return Labels(attributions.values <= threshold, attributions.offsets)


@dataclass(frozen=True, eq=False)
class CrossFittedLabels:
    """Labels of N texts from thresholds that were chosen without them.

    labels: all OK where `defined` is false: no threshold could be chosen on the other folds, or an attribution of the
    text is NaN. defined: bool[N]. fold: int64[N]. thresholds: float64[folds], that each fold was labelled with.
    """

    labels: Labels
    defined: NDArray[np.bool_]
    fold: NDArray[np.int64]
    thresholds: Floats


def cross_fitted_labels(
    gold: Labels, attributions: Ragged, cluster: ArrayLike | None = None, *, folds: int = 10, seed: int = 0
) -> CrossFittedLabels:
    """Each text labelled at the threshold that is best (`best_threshold`) on the folds it is not in.

    cluster: N labels of texts that are not independent of each other, never divided between folds; each text is its
    own without. Clusters are dealt at random, the largest first, so that folds have nearly equal numbers of texts.
    With fewer clusters than folds each cluster is a fold. Raises ValueError for arrays of different lengths, or fewer
    than 2 folds.
    """
    _check(gold, attributions)
    if folds < 2:
        raise ValueError(f"a fold is labelled by the others: at least 2 are needed, not {folds}")
    group = codes(np.arange(len(gold)) if cluster is None else cluster)
    if len(group) != len(gold):
        raise ValueError(f"{len(group)} clusters but {len(gold)} texts")
    fold = _deal(group, folds, np.random.default_rng([seed, FOLDS]))
    row = gold.row_of_word()
    fold_of_word = fold[row]
    lost = np.isnan(attributions.values)
    defined = np.bincount(row, lost, minlength=len(gold)) == 0
    thresholds = np.full(number_of(fold), np.nan)
    bad = np.zeros(len(lost), dtype=np.bool_)
    for number in range(len(thresholds)):
        others = (fold_of_word != number) & ~lost
        thresholds[number] = _best(gold.bad[others], attributions.values[others]).value
        bad |= (fold_of_word == number) & (attributions.values <= thresholds[number])  # NaN blames nothing
    if len(thresholds):
        defined &= ~np.isnan(thresholds[fold])
    return CrossFittedLabels(Labels(bad & defined[row], gold.offsets), defined, fold, thresholds)


def _deal(group: NDArray[np.int64], folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """int64[N] the fold of each text."""
    count = number_of(group)
    shuffled = rng.permutation(count)
    largest = shuffled[np.argsort(-np.bincount(group, minlength=count)[shuffled], kind="stable")]
    dealt = np.empty(count, dtype=np.int64)
    dealt[largest] = np.arange(count) % folds
    return dealt[group]


def _check(gold: Labels, attributions: Ragged) -> None:
    if not np.array_equal(gold.offsets, attributions.offsets):
        raise ValueError("labels and attributions must have the same numbers of words")
