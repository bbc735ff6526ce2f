"""How well attributions rank the wrong words of a segment: AUC, average precision and recall at top K.

The measures of the shared tasks on explainable quality estimation (Fomicheva et al. 2021, "The Eval4NLP Shared Task on
Explainable Quality Estimation", section 4; Zerva et al. 2022, "Findings of the WMT 2022 Shared Task on Quality
Estimation"): computed in each segment and averaged over segments. A segment in which all words are OK or all are BAD
has nothing to rank; such segments are left out, and counted here.

A low attribution is a suspected error, as everywhere in this package: a metric would be higher without the word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bmx_grid.core.errors import ConfigError, unknown
from bmx_grid.core.ragged import Ragged
from bmx_grid.measures.correlation import TIE
from bmx_grid.measures.resampling import Floats, Ints, codes, dealt, number_of
from bmx_grid.words.tags import Labels, sums_by_text

Ties = Literal["expected", "argsort"]


@dataclass(frozen=True, eq=False)
class Ranking:
    """Measures of N segments, NaN for those left out.

    auc: probability that a BAD word has a lower attribution than an OK word, ties counting half. ap: average
    precision. recall_at_k: share of the K BAD words among the K words of the lowest attributions.
    share_bad: the share of BAD words, which a random order reaches as recall on average; words: int64[N] of all.
    Left out, each segment counted once: empty (no words), all_ok, all_bad, undefined (an attribution is NaN).
    """

    auc: Floats
    ap: Floats
    recall_at_k: Floats
    share_bad: Floats
    words: Ints
    empty: int
    all_ok: int
    all_bad: int
    undefined: int

    def measures(self) -> dict[str, Floats]:
        """float64[N] by the name of the measure."""
        return {"auc": self.auc, "ap": self.ap, "recall_at_k": self.recall_at_k}


def rank_words(gold: Labels, attributions: Ragged, ties: Ties = "expected") -> Ranking:
    """AUC, average precision and recall at top K of N segments.

    gold: the true labels; attributions: float64 per word, low for a suspected error.

    Average precision is the sum over distinct attributions of the recall gained times the precision reached, without
    interpolation (as in scikit-learn), so that tied words enter together.
    ties: which of the words that tie for the last of the K places count.
        "expected": each with the same probability; the expected recall.
        "argsort": `numpy.argsort(-attributions)[::-1][:K]`, as in the evaluation script of Eval4NLP 2021, which the
        official numbers of WMT22 were made with. Which tied words this takes is not defined: it depends on the build
        of numpy and on the processor.
    Raises ValueError when labels and attributions have other numbers of words, ConfigError for an unknown rule.
    """
    if ties not in get_args(Ties):
        raise ConfigError("ties: " + unknown("rule", ties, get_args(Ties)))
    if not np.array_equal(gold.offsets, attributions.offsets):
        raise ValueError("labels and attributions must have the same numbers of words")
    count = len(gold)
    row, words = gold.row_of_word(), gold.lengths
    bad = sums_by_text(gold.bad, row, count)
    lost = sums_by_text(np.isnan(attributions.values), row, count) > 0
    empty, all_ok, all_bad = words == 0, (bad == 0) & (words > 0), (bad == words) & (words > 0)
    undefined = lost & ~all_ok & ~all_bad
    used = ~(empty | all_ok | all_bad | undefined)

    kept, scores = used[row], np.full((3, count), np.nan)
    if kept.any():
        ranked = _ranked(row[kept], gold.bad[kept], attributions.values[kept], count)
        scores[:, used] = ranked[:, used]
    if ties == "argsort":
        scores[2] = _argsorted(gold, attributions, used)
    share = np.full(count, np.nan)
    share[used] = bad[used] / words[used]
    left_out = (int(flags.sum()) for flags in (empty, all_ok, all_bad, undefined))
    return Ranking(scores[0], scores[1], scores[2], share, words, *left_out)


def _ranked(row: Ints, bad: NDArray[np.bool_], attributions: Floats, count: int) -> Floats:
    """float64[3, N] AUC, average precision, and the recall that is expected with every order of tied words.

    Words are grouped by segment and attribution, from the most suspected on. Of whole and half numbers, so that the
    result does not depend on the order of words.
    """
    order = np.lexsort((attributions, row))
    rows, values = row[order], attributions[order]
    first = np.flatnonzero(np.append(True, (rows[1:] != rows[:-1]) | (values[1:] != values[:-1])))
    segment = rows[first]
    size = np.diff(np.append(first, len(rows))).astype(np.float64)
    wrong = np.add.reduceat(bad[order].astype(np.float64), first)
    words, all_bad = (sums_by_text(part, segment, count) for part in (size, wrong))
    before, bad_before = (  # in the earlier groups of the segment
        np.cumsum(part) - part - (np.cumsum(total) - total)[segment]
        for part, total in ((size, words), (wrong, all_bad))
    )
    ok_after = (words - all_bad)[segment] - (before - bad_before) - (size - wrong)
    won = sums_by_text(wrong * (ok_after + (size - wrong) / 2), segment, count)
    precision = sums_by_text(wrong * ((bad_before + wrong) / (before + size)), segment, count)
    places = np.clip(all_bad[segment] - before, 0, size)  # of the K that fall to the group
    hit = sums_by_text(wrong * places / size, segment, count)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.stack([won / (all_bad * (words - all_bad)), precision / all_bad, hit / all_bad])


def _argsorted(gold: Labels, attributions: Ragged, used: NDArray[np.bool_]) -> Floats:
    recall = np.full(len(gold), np.nan)
    for row in np.flatnonzero(used).tolist():
        bad = gold[row]
        places = int(bad.sum())
        recall[row] = bad[np.argsort(-attributions[row])[::-1][:places]].sum() / places
    return recall


FOLDS = 3  # a stream of random numbers of its own, whatever else the seed is used for


def best_threshold(bad: NDArray[np.bool_], values: Floats) -> float:
    """Of float64[W] attributions, those of words that are BAD at most: the threshold of the highest MCC.

    Words with a NaN attribution are left out. It lies halfway between the attributions it separates. Of cuts that are
    equally good within rounding the one that blames the fewest words is taken. NaN where no cut gives both labels, or
    the true labels are all the same.
    """
    known = ~np.isnan(values)
    bad, values = bad[known], values[known]
    order = np.argsort(values)
    ordered, hits = values[order], np.cumsum(bad[order]).astype(np.float64)
    cut = np.flatnonzero(ordered[1:] != ordered[:-1])  # the last word below each possible threshold
    if not len(cut) or hits[-1] in (0, len(bad)):
        return float("nan")
    blamed, wrong, total = cut + 1.0, hits[-1], float(len(bad))
    # (TP TN - FP FN) / sqrt(...) written with TP, the words blamed, the wrong words and all words.
    mcc = (hits[cut] * total - blamed * wrong) / np.sqrt(blamed * (total - blamed)) / np.sqrt(wrong * (total - wrong))
    best = int(np.argmax(mcc >= mcc.max() - TIE))
    below, above = float(ordered[cut[best]]), float(ordered[cut[best] + 1])
    middle = below + (above - below) / 2 if np.isfinite([below, above]).all() else below
    return middle if middle < above else below


def labels_at(attributions: Ragged, thresholds: Floats) -> tuple[Labels, NDArray[np.bool_]]:
    """BAD for words whose attribution is at most the threshold of their text, and bool[N] which texts have labels.

    thresholds: float64[N], NaN for a text that has none. One with a NaN attribution has no labels either: all are OK.
    """
    row = np.repeat(np.arange(len(attributions)), attributions.lengths)
    lost = np.bincount(row, np.isnan(attributions.values), minlength=len(attributions)) > 0
    labelled = ~np.isnan(thresholds) & ~lost
    return Labels((attributions.values <= thresholds[row]) & labelled[row], attributions.offsets), labelled


def cross_fitted_labels(
    gold: Labels, attributions: Ragged, cluster: ArrayLike | None = None, *, folds: int = 10, seed: int = 0
) -> tuple[Labels, NDArray[np.bool_]]:
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
    fold = dealt(group, folds, np.random.default_rng([seed, FOLDS]))
    others = [fold[gold.row_of_word()] != number for number in range(number_of(fold))]
    best = np.array([best_threshold(gold.bad[words], attributions.values[words]) for words in others])
    return labels_at(attributions, best[fold] if len(best) else np.empty(0))
