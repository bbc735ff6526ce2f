"""Measures of a labelling of words as OK and BAD, from statistics of each text that are summed over a corpus.

The measures that Logacheva, Lukasik and Specia (2016), "Metrics for Evaluation of Word-level Machine Translation
Quality Estimation", compare. Every one is a function of sums over texts: a corpus, a bootstrap sample, a round of
approximate randomisation or a corpus put together from the texts of several labellings is a row of weights times the
statistics of the texts.

Where the paper is ambiguous:
- MCC is printed with "TP TN + FP FN" in the numerator; it is the difference (Matthews 1975).
- Phrase F1: "the number of true positives as the sum of percentages of words with correctly predicted tags for every
  'OK' phrase" names one number for precision and recall, and not whose phrases. Here precision is the mean over
  predicted spans of the share of their words whose true label agrees, and recall the mean over true spans of the
  share of their words that were given the label.
- SeqCor is not defined in the paper. It is that of the scorer of the WMT15 task (`evaluate_wmt15`), see `statistics`.
- An F1 of a label that neither labelling has, and the MCC where one of the labellings is constant, are 0 / 0: NaN
  here, where scikit-learn returns 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bmx_grid.measures.resampling import Floats, Ints, codes, interval, resampled_sums, sums_by
from bmx_grid.measures.systems import by_mean, mean
from bmx_grid.words.tags import Labels, sums_by_text

Spans = tuple[Ints, NDArray[np.bool_], Ints]  # of each word, their labels, their texts

MEASURES = (
    "f1_ok",
    "f1_bad",
    "f1_mult",
    "mcc",
    "phrase_f1_ok",
    "phrase_f1_bad",
    "phrase_f1_mult",
    "seqcor",
    "seqcor_max",
)
THE_SIX = ("f1_bad", "f1_mult", "phrase_f1_bad", "phrase_f1_mult", "mcc", "seqcor")  # that the paper compares

PER_LABEL = 7  # statistics of each label


def statistics(gold: Labels, predicted: Labels) -> Floats:
    """float64[N, 18] the sums of each text that `measures` needs.

    Of both labels in turn, OK first: words of the label in both labellings, in the predicted one, in the true one; sums
    of the agreeing shares of predicted spans and their number, the same of true spans. Then SeqCor, its attainable
    maximum, 1 for each text with words, and the number of words.

    SeqCor of a text of n words: for each label, true and predicted spans are matched one to one by their
    largest intersection (`_matched`); the matched words count n / (2 k) each, with k words of the label in the
    true labelling, and 0 where there are none; the sum is divided by n and multiplied by the ratio of the smaller to
    the larger number of spans. A text with only one true label reaches 1/2 at most: the attainable maximum is half of
    the number of labels that it has. A text without words has no SeqCor and is left out of the mean.
    Raises ValueError when the labellings have other numbers of words.
    """
    if not gold.same_words(predicted):
        raise ValueError("two labellings of the same words must have the same numbers of words")
    row, count, agrees = gold.row_of_word(), len(gold), gold.bad == predicted.bad
    spans = of_predicted, of_gold = [_spans(labels, row) for labels in (predicted, gold)]
    columns = []
    for bad in (False, True):
        true, given = gold.bad == bad, predicted.bad == bad
        columns += [sums_by_text(words, row, count) for words in (true & given, given, true)]
        for span, label, text in spans:
            share = np.bincount(span, agrees, len(text)) / np.bincount(span, minlength=len(text))  # that agrees
            columns += [sums_by_text(part, text, count) for part in (np.where(label == bad, share, 0.0), label == bad)]
    words = np.stack([columns[2], columns[PER_LABEL + 2]])
    numbers = np.stack([np.bincount(text, minlength=count) for _, _, text in spans])
    sequences = (_matched(of_gold, of_predicted, agrees, count) / np.maximum(2 * words, 1)).sum(axis=0)
    columns.append(sequences * (numbers.min(axis=0) / np.maximum(numbers.max(axis=0), 1)))
    columns.append((words > 0).sum(axis=0) / 2)
    columns.append((gold.lengths > 0).astype(np.float64))
    columns.append(gold.lengths.astype(np.float64))
    return np.stack(columns, axis=1)


def _spans(labels: Labels, row: Ints) -> Spans:
    """int64[total] the span of each word of N texts; bool[G] the label of each span, and int64[G] its text."""
    new = (labels.bad[1:] != labels.bad[:-1]) | (row[1:] != row[:-1])
    begins = np.append(True, new)[: len(row)]
    return np.cumsum(begins) - 1, labels.bad[begins], row[begins]


def _matched(of_gold: Spans, of_predicted: Spans, agrees: NDArray[np.bool_], count: int) -> Floats:
    """float64[2, N] words of OK and BAD shared by spans of both labellings, matched one to one, the largest first.

    Of equally large intersections the one of the earlier gold span counts first, then of the earlier predicted span, as
    the arg-max of the WMT15 scorer takes them.
    """
    (gold, label, text), (predicted, *_) = of_gold, of_predicted
    width = int(predicted.max(initial=0)) + 1
    pairs, shared = np.unique(gold[agrees] * width + predicted[agrees], return_counts=True)
    order = np.lexsort((pairs, -shared))
    used, words = (np.zeros(len(text), np.bool_), np.zeros(width, np.bool_)), np.zeros((2, count))
    for pair, size in zip(pairs[order].tolist(), shared[order].tolist(), strict=True):
        left, right = divmod(pair, width)
        if not used[0][left] and not used[1][right]:
            used[0][left] = used[1][right] = True
            words[int(label[left]), text[left]] += size
    return words


def measures(sums: Floats) -> Floats:
    """float64[..., 9] of float64[..., 18] sums of `statistics`, in the order of MEASURES; NaN where undefined.

    F1 of a label is 2 PR / (P + R), 0 where only one of the labellings has the label, undefined where neither has.
    """
    ok, bad = sums[..., :PER_LABEL], sums[..., PER_LABEL : 2 * PER_LABEL]
    f1_ok, f1_bad = _f1(ok), _f1(bad)
    phrase_ok, phrase_bad = _phrase_f1(ok), _phrase_f1(bad)
    with np.errstate(invalid="ignore", divide="ignore"):
        seqcor, highest = sums[..., -4] / sums[..., -2], sums[..., -3] / sums[..., -2]
    of_words, of_phrases = (
        (f1_ok, f1_bad, f1_ok * f1_bad, _mcc(ok, bad)),
        (phrase_ok, phrase_bad, phrase_ok * phrase_bad),
    )
    return np.stack([*of_words, *of_phrases, seqcor, highest], axis=-1)


def _f1(label: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(2 * label[..., 0] / (label[..., 1] + label[..., 2]))


def _phrase_f1(label: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        precision, recall = label[..., 3] / label[..., 4], label[..., 5] / label[..., 6]
        f1 = 2 * precision * recall / (precision + recall)
    none_right = (label[..., 4] + label[..., 6] > 0) & ~(label[..., 3] + label[..., 5] > 0)
    return np.where(none_right, 0.0, f1)


def _mcc(ok: Floats, bad: Floats) -> Floats:
    true_ok, true_bad = ok[..., 0], bad[..., 0]
    missed, false_alarms = bad[..., 2] - true_bad, bad[..., 1] - true_bad
    with np.errstate(invalid="ignore", divide="ignore"):
        # The root of each factor: the product of four counts of a large corpus would lose digits.
        spread = np.sqrt(bad[..., 1]) * np.sqrt(bad[..., 2]) * np.sqrt(ok[..., 1]) * np.sqrt(ok[..., 2])
        return np.asarray((true_bad * true_ok - false_alarms * missed) / spread)


@dataclass(frozen=True)
class WordMeasure:
    """A measure with its interval.

    value: on all texts; low, high: of the bootstrap, NaN with fewer than 3 clusters or where most resamples have no
    value. n_segments: texts that count; n_left_out: texts without a value.
    """

    value: float
    low: float
    high: float
    n_segments: int
    n_left_out: int


def mean_over_segments(
    values: Floats, cluster: ArrayLike | None = None, *, resamples: int = 1000, seed: int = 0
) -> WordMeasure:
    """The mean of float64[N] values of N texts, NaN being left out: AUC, average precision and recall at top K.

    cluster: N labels of texts that are not independent of each other; each text is its own without. The interval is
    that of `resampling.interval` over whole clusters drawn with replacement.
    Raises ValueError for arrays of different lengths.
    """

    terms, used = by_mean(values), ~np.isnan(values)
    return _measures(lambda sums: mean(sums)[..., None], terms, used, cluster, resamples, seed)[0]


def label_measures(
    statistics: Floats, cluster: ArrayLike | None = None, *, resamples: int = 1000, seed: int = 0
) -> dict[str, WordMeasure]:
    """All MEASURES of a labelling with their intervals, from `statistics` float64[N, 18]; as above.

    Texts without words are left out.
    """
    of_each = _measures(measures, statistics, statistics[:, -2] > 0, cluster, resamples, seed)
    return dict(zip(MEASURES, of_each, strict=True))


def _measures(
    compute: Callable[[Floats], Floats],
    terms: Floats,
    used: NDArray[np.bool_],
    cluster: ArrayLike | None,
    resamples: int,
    seed: int,
) -> list[WordMeasure]:
    """The m measures that `compute` makes of sums over texts, float64[..., k] -> float64[..., m]."""
    labels = np.arange(len(terms)) if cluster is None else np.asarray(cluster)
    if len(labels) != len(terms):
        raise ValueError(f"{len(labels)} clusters but {len(terms)} texts")
    sums, n = sums_by(codes(labels[used]), terms[used]), int(used.sum())
    samples = resampled_sums(compute, sums, resamples, seed)
    return [
        WordMeasure(float(value), *interval(column, len(sums)), n, len(terms) - n)
        for value, column in zip(compute(sums.sum(axis=0)), samples.T, strict=True)
    ]
