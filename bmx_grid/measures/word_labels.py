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

from bmx_grid.measures.resampling import codes, interval, resampled_sums, sums_by
from bmx_grid.measures.systems import by_mean, mean
from bmx_grid.words.tags import Labels, sums_by_text

Floats = NDArray[np.float64]

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
    largest intersection (`spans.matched`); the matched words count n / (2 k) each, with k words of the label in the
    true labelling, and 0 where there are none; the sum is divided by n and multiplied by the ratio of the smaller to
    the larger number of spans. A text with only one true label reaches 1/2 at most: the attainable maximum is half of
    the number of labels that it has. A text without words has no SeqCor and is left out of the mean.
    Raises ValueError when the labellings have other numbers of words.
    """
    if not gold.same_words(predicted):
        raise ValueError("two labellings of the same words must have the same numbers of words")
    row, count = gold.row_of_word(), len(gold)
    of_gold, of_predicted = Spans.of(gold), Spans.of(predicted)
    agrees = gold.bad == predicted.bad
    share_gold, share_predicted = of_gold.share(agrees), of_predicted.share(agrees)
    columns = []
    for bad in (False, True):
        true, given = gold.bad == bad, predicted.bad == bad
        columns += [sums_by_text(words, row, count) for words in (true & given, given, true)]
        for spans, share in ((of_predicted, share_predicted), (of_gold, share_gold)):
            columns += [spans.summed(share, bad), spans.counts(bad)]
    of_label = np.stack([columns[2], columns[PER_LABEL + 2]])
    columns.append(_sequence_correlations(of_gold, of_predicted, of_label))
    columns.append((of_label > 0).sum(axis=0) / 2)
    columns.append((gold.lengths > 0).astype(np.float64))
    columns.append(gold.lengths.astype(np.float64))
    return np.stack(columns, axis=1)


def _sequence_correlations(gold: Spans, predicted: Spans, of_label: Floats) -> Floats:
    """float64[N]; of_label: float64[2, N] true words of OK and of BAD. 0 for a text without words."""
    found = np.zeros(of_label.shape[1])
    spans = np.stack([np.diff(gold.offsets), np.diff(predicted.offsets)])
    for row in np.flatnonzero(spans[0]).tolist():
        for bad in (False, True):
            words = of_label[int(bad), row]
            if words:
                found[row] += matched(gold.of_text(row, bad), predicted.of_text(row, bad)) / (2 * words)
    ratio: Floats = spans.min(axis=0) / np.maximum(spans.max(axis=0), 1)
    found *= ratio
    return found


def measures(sums: Floats) -> Floats:
    """float64[..., 9] of float64[..., 18] sums of `statistics`, in the order of MEASURES; NaN where undefined.

    F1 of a label is 2 PR / (P + R), 0 where only one of the labellings has the label, undefined where neither has.
    """
    ok, bad = sums[..., :PER_LABEL], sums[..., PER_LABEL : 2 * PER_LABEL]
    f1_ok, f1_bad = _f1(ok), _f1(bad)
    phrase_ok, phrase_bad = _phrase_f1(ok), _phrase_f1(bad)
    with np.errstate(invalid="ignore", divide="ignore"):
        seqcor, highest = sums[..., -4] / sums[..., -2], sums[..., -3] / sums[..., -2]
    found: Floats = np.stack(
        [
            *(f1_ok, f1_bad, f1_ok * f1_bad, _mcc(ok, bad)),
            *(phrase_ok, phrase_bad, phrase_ok * phrase_bad, seqcor, highest),
        ],
        axis=-1,
    )
    return found


def measures_of(gold: Labels, predicted: Labels) -> dict[str, float]:
    """The measures of one labelling of a corpus, by name."""
    found = measures(statistics(gold, predicted).sum(axis=0))
    return dict(zip(MEASURES, found.tolist(), strict=True))


def _f1(label: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = 2 * label[..., 0] / (label[..., 1] + label[..., 2])
    return found


def _phrase_f1(label: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        precision, recall = label[..., 3] / label[..., 4], label[..., 5] / label[..., 6]
        found: Floats = 2 * precision * recall / (precision + recall)
    none_right = (label[..., 4] + label[..., 6] > 0) & ~(label[..., 3] + label[..., 5] > 0)
    return np.where(none_right, 0.0, found)


def _mcc(ok: Floats, bad: Floats) -> Floats:
    true_ok, true_bad = ok[..., 0], bad[..., 0]
    missed, false_alarms = bad[..., 2] - true_bad, bad[..., 1] - true_bad
    with np.errstate(invalid="ignore", divide="ignore"):
        # The root of each factor: the product of four counts of a large corpus would lose digits.
        spread = np.sqrt(bad[..., 1]) * np.sqrt(bad[..., 2]) * np.sqrt(ok[..., 1]) * np.sqrt(ok[..., 2])
        found: Floats = (true_bad * true_ok - false_alarms * missed) / spread
    return found


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


@dataclass(frozen=True)
class WordMeasure:
    """A measure with its interval.

    value: on all texts; low, high: of the bootstrap, NaN with fewer than 3 clusters or where most resamples have no
    value. n_segments: texts that count; n_left_out: texts without a value; clusters: that the counting texts are in.
    """

    value: float
    low: float
    high: float
    n_segments: int
    n_left_out: int
    clusters: int


def mean_over_segments(
    values: Floats, cluster: ArrayLike | None = None, *, resamples: int = 1000, seed: int = 0
) -> WordMeasure:
    """The mean of float64[N] values of N texts, NaN being left out: AUC, average precision and recall at top K.

    cluster: N labels of texts that are not independent of each other; each text is its own without. The interval is
    that of `resampling.interval` over whole clusters drawn with replacement.
    Raises ValueError for arrays of different lengths.
    """

    def means(sums: Floats) -> Floats:
        return mean(sums)[..., None]

    return _measures(means, by_mean(values), ~np.isnan(values), cluster, resamples, seed)[0]


def label_measures(
    statistics: Floats, cluster: ArrayLike | None = None, *, resamples: int = 1000, seed: int = 0
) -> dict[str, WordMeasure]:
    """All MEASURES of a labelling with their intervals, from `statistics` float64[N, 18]; as above.

    Texts without words are left out.
    """
    found = _measures(measures, statistics, statistics[:, -2] > 0, cluster, resamples, seed)
    return dict(zip(MEASURES, found, strict=True))


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
        WordMeasure(float(value), *interval(column, len(sums)), n, len(terms) - n, len(sums))
        for value, column in zip(compute(sums.sum(axis=0)), samples.T, strict=True)
    ]
