"""How well words are labelled OK and BAD, or ranked by attributions: measures of texts and of corpora.

A low attribution is a suspected error, as everywhere in this package: a metric would be higher without the word.
Rankings (AUC, average precision, recall at top K) are those of the shared tasks on explainable quality estimation
(Fomicheva et al. 2021, "The Eval4NLP Shared Task on Explainable Quality Estimation", section 4; Zerva et al. 2022,
"Findings of the WMT 2022 Shared Task on Quality Estimation"): computed in each segment and averaged over segments. A
segment in which all words are OK or all are BAD cannot be ranked; such segments are left out and counted.

The measures of labellings are those that Logacheva, Lukasik and Specia (2016), "Metrics for Evaluation of Word-level
Machine Translation Quality Estimation", compare. All are functions of sums over texts: a corpus, a bootstrap
sample, a round of approximate randomisation or a corpus put together from the texts of several labellings is a row of
weights times the statistics of the texts.

Decisions on ambiguous definitions of the paper:
- MCC is printed with "TP TN + FP FN" in the numerator; it is the difference (Matthews 1975).
- Phrase F1: "the number of true positives as the sum of percentages of words with correctly predicted tags for every
  'OK' phrase" names one number for precision and recall, and not whose phrases. In this module precision is the mean
  over predicted spans of the share of their words whose true label agrees, and recall the mean over true spans of
  the share of their words that got the label.
- SeqCor is not defined in the paper. It is that of the scorer of the WMT15 task (`evaluate_wmt15`), see `statistics`.
- An F1 of a label that neither labelling has, and the MCC if one labelling is constant, are 0 / 0: NaN
  in this package, 0 in scikit-learn.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from bmx_grid.core.errors import ConfigError, unknown
from bmx_grid.core.ragged import Flags, Floats, Ints, Labels, Ragged, sums_by_text
from bmx_grid.measures.resampling import (
    Combine,
    codes,
    interval,
    labels_of_rows,
    ratio,
    resampled_sums,
    sums_by,
)
from bmx_grid.measures.span_agreement import agreement
from bmx_grid.measures.systems import mean, mean_terms

Ties = Literal["expected", "argsort"]
LabelRows = Labels | Iterable[ArrayLike]
Spans = tuple[Ints, Flags, Ints]  # of each word, their labels, their texts

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


def statistics(gold: LabelRows, predicted: LabelRows) -> Floats:
    """Count what word-level measures need, per text.

    A measure of a corpus is a function of the summed rows, so that texts can be resampled (see `label_measures`).

    Args:
        gold: True labels: `Labels`, or N lists with 1 for BAD and 0 for OK.
        predicted: Predicted labels of the same words, in the same form.

    Returns:
        float64[N, 18]: One row per text. Columns 0-6 for OK, 7-13 for BAD: words with the label in both labellings,
            in the predicted and in the true one; summed agreeing shares and number of predicted spans; the same of true
            spans. Then SeqCor, its attainable maximum, 1 for a text with words, and the number of words.

        SeqCor follows the WMT15 scorer. Per label, true and predicted spans are matched one to one by their largest
        intersection. The matched words are divided by twice the true words of the label, summed over labels, and
        multiplied by the ratio of the smaller to the larger number of spans.

    Raises:
        ValueError: The labellings differ in their numbers of words, or a label is neither 0 nor 1.

    Example:
        >>> from bmx_grid.measures import statistics
        >>> counts = statistics([[0, 1, 0]], [[0, 1, 1]])
        >>> counts.shape
        (1, 18)
        >>> counts[0, 7:10]  # BAD words in both labellings, in the predicted and in the true one
        array([1., 2., 1.])
    """
    gold = Labels.of(gold)
    predicted = Labels.of(predicted)
    if not gold.same_words(predicted):
        raise ValueError("two labellings of the same words must have the same numbers of words")
    row = gold.row_of_word()
    count = len(gold)
    agrees = gold.bad == predicted.bad
    of_predicted = _spans(predicted, row)
    of_gold = _spans(gold, row)
    spans = (of_predicted, of_gold)
    columns = []
    for bad in (False, True):
        in_gold = gold.bad == bad
        in_predicted = predicted.bad == bad
        columns.append(sums_by_text(in_gold & in_predicted, row, count))
        columns.append(sums_by_text(in_predicted, row, count))
        columns.append(sums_by_text(in_gold, row, count))
        for span, label, text in spans:
            agreeing = np.bincount(span, agrees, len(text))
            share = agreeing / np.bincount(span, minlength=len(text))
            of_label = label == bad
            credit = np.where(of_label, share, 0.0)
            columns.append(sums_by_text(credit, text, count))
            columns.append(sums_by_text(of_label, text, count))
    # of the true labelling, OK and BAD: the third column of either label
    words = np.stack([columns[2], columns[PER_LABEL + 2]])
    matched = _match_spans(of_gold, of_predicted, agrees, count)
    # n / (2 k) for each matched word, divided by n: 0 if the label has no words
    shares = matched / np.maximum(2 * words, 1)
    sequences = shares.sum(axis=0)
    numbers = np.stack([np.bincount(text, minlength=count) for _, _, text in spans])
    fewer = numbers.min(axis=0)
    more = np.maximum(numbers.max(axis=0), 1)
    columns.append(sequences * (fewer / more))
    columns.append((words > 0).sum(axis=0) / 2)
    columns.append((gold.lengths > 0).astype(np.float64))
    columns.append(gold.lengths.astype(np.float64))
    return np.stack(columns, axis=1)


def _spans(labels: Labels, row: Ints) -> Spans:
    """int64[total] the span of each word of N texts; bool[G] the label of each span, and int64[G] its text."""
    new_label = labels.bad[1:] != labels.bad[:-1]
    new_text = np.diff(row) > 0
    # cut, as an empty row has no first word
    begins = np.append(True, new_label | new_text)[: len(row)]
    span = np.cumsum(begins) - 1
    return span, labels.bad[begins], row[begins]


def _match_spans(of_gold: Spans, of_predicted: Spans, agrees: Flags, count: int) -> Floats:
    """float64[2, N] words of OK and BAD shared by spans of both labellings, matched one to one, the largest first.

    Of equally large intersections the one of the earlier gold span counts first, then of the earlier predicted span, as
    the arg-max of the WMT15 scorer takes them.
    """
    gold, label, text = of_gold
    predicted, _, _ = of_predicted
    # a pair of spans as one number, so that its words are counted by sorting
    width = int(predicted.max(initial=0)) + 1
    pair_of_word = gold[agrees] * width + predicted[agrees]
    pairs, shared = np.unique(pair_of_word, return_counts=True)
    order = np.lexsort((pairs, -shared))
    used_gold = np.zeros(len(text), np.bool_)
    used_predicted = np.zeros(width, np.bool_)
    words = np.zeros((2, count))
    pairs = pairs[order]
    shared = shared[order]
    for pair, size in zip(pairs.tolist(), shared.tolist(), strict=True):
        left, right = divmod(pair, width)
        if used_gold[left] or used_predicted[right]:
            continue
        used_gold[left] = True
        used_predicted[right] = True
        words[int(label[left]), text[left]] += size
    return words


def measures(sums: Floats) -> Floats:
    """float64[..., 9] of float64[..., 18] sums of `statistics`, in the order of MEASURES; NaN where undefined.

    F1 of a label is 2 PR / (P + R), 0 where only one of the labellings has the label, undefined where neither has.
    """
    ok = sums[..., :PER_LABEL]
    bad = sums[..., PER_LABEL : 2 * PER_LABEL]
    f1_ok = _f1(ok)
    f1_bad = _f1(bad)
    phrase_ok = _phrase_f1(ok)
    phrase_bad = _phrase_f1(bad)
    seqcor_sum, highest_sum, texts, _ = np.moveaxis(sums[..., 2 * PER_LABEL :], -1, 0)
    seqcor = ratio(seqcor_sum, texts)
    highest = ratio(highest_sum, texts)
    of_words = (f1_ok, f1_bad, f1_ok * f1_bad, _mcc(ok, bad))
    of_phrases = (phrase_ok, phrase_bad, phrase_ok * phrase_bad)
    return np.stack([*of_words, *of_phrases, seqcor, highest], axis=-1)


def _f1(label: Floats) -> Floats:
    """F1 of a label, from its words in both labellings, in the predicted one and in the true one."""
    common, predicted, true = np.moveaxis(label[..., :3], -1, 0)
    # 2 P R / (P + R), written without P and R, which are 0 / 0 if one side has no word of the label
    return ratio(2 * common, predicted + true)


def _phrase_f1(label: Floats) -> Floats:
    # credits and numbers of predicted and true spans, as of error spans in a text
    precision_recall_f1 = agreement(label[..., 3:])
    return np.asarray(precision_recall_f1[..., 2])


def _mcc(ok: Floats, bad: Floats) -> Floats:
    """(TP TN - FP FN) / sqrt(predicted BAD x true BAD x predicted OK x true OK), from the words of both labels."""
    common_ok, predicted_ok, true_ok = np.moveaxis(ok[..., :3], -1, 0)
    common_bad, predicted_bad, true_bad = np.moveaxis(bad[..., :3], -1, 0)
    missed = true_bad - common_bad
    false_alarms = predicted_bad - common_bad
    difference = common_bad * common_ok - false_alarms * missed
    # The root of each factor: the product of four counts of a large corpus would lose digits.
    of_bad = np.sqrt(predicted_bad) * np.sqrt(true_bad)
    spread = of_bad * np.sqrt(predicted_ok) * np.sqrt(true_ok)
    return ratio(difference, spread)


class WordMeasure(NamedTuple):
    """A word-level measure over texts, with its 95 % interval.

    Attributes:
        value: The measure; NaN if undefined.
        low: Lower end of the bootstrap interval over clusters; NaN with fewer than 3.
        high: Upper end of the interval.
        n_segments: Number of texts that are counted.
        n_left_out: Number of texts without a value.
    """

    value: float
    low: float
    high: float
    n_segments: int
    n_left_out: int


def mean_over_segments(
    values: ArrayLike, cluster: ArrayLike | None = None, *, resamples: int = 1000, seed: int = 0
) -> WordMeasure:
    """The mean of float64[N] values of N texts, NaN being left out: AUC, average precision and recall at top K.

    Its interval is NaN with fewer than 3 clusters or where most resamples have no value.

    cluster: N labels of texts that are not independent of each other; each text is its own without. The interval is
    that of `resampling.interval` over whole clusters drawn with replacement.
    Raises ValueError for arrays of different lengths.
    """

    def as_column(sums: Floats) -> Floats:
        return mean(sums)[..., None]

    of_texts = np.asarray(values, dtype=np.float64)
    [measure] = _measures(as_column, mean_terms(of_texts), ~np.isnan(of_texts), cluster, resamples, seed)
    return measure


def label_measures(
    statistics: ArrayLike, cluster: ArrayLike | None = None, *, resamples: int = 1000, seed: int = 0
) -> dict[str, WordMeasure]:
    """Compute F1, MCC, phrase F1 and SeqCor of word labels, with 95 % intervals.

    The measures are those that Logacheva, Lukasik and Specia (2016) compare. An F1 is 0 if only one labelling has the
    label, and NaN if neither has. The MCC is NaN if a labelling is constant.

    Args:
        statistics: float64[N, 18], result of `statistics`. Texts without words are ignored.
        cluster: N labels of texts that are resampled together. Default: each text is its own cluster.
        resamples: Number of bootstrap resamples.
        seed: Seed of the resampling.

    Returns:
        dict[str, WordMeasure]: `f1_ok`, `f1_bad`, `f1_mult` (their product), `mcc`, `phrase_f1_ok`, `phrase_f1_bad`,
            `phrase_f1_mult`, `seqcor` and `seqcor_max` (its attainable maximum).

    Raises:
        ValueError: `cluster` differs in length.

    Example:
        >>> from bmx_grid.measures import label_measures, statistics
        >>> values = label_measures(statistics([[0, 1, 0]], [[0, 1, 1]]))
        >>> round(values["f1_bad"].value, 3), round(values["mcc"].value, 3)
        (0.667, 0.5)
    """
    terms = np.asarray(statistics, dtype=np.float64)
    has_words = terms[:, -2] > 0
    values = _measures(measures, terms, has_words, cluster, resamples, seed)
    return dict(zip(MEASURES, values, strict=True))


def _measures(
    compute: Combine,
    terms: Floats,
    used: Flags,
    cluster: ArrayLike | None,
    resamples: int,
    seed: int,
) -> list[WordMeasure]:
    """The m measures that `compute` makes of sums over texts, float64[..., k] -> float64[..., m]."""
    labels = labels_of_rows(cluster, len(terms))
    if len(labels) != len(terms):
        raise ValueError(f"{len(labels)} clusters but {len(terms)} texts")
    sums = sums_by(codes(labels[used]), terms[used])
    values = compute(sums.sum(axis=0))
    samples = resampled_sums(compute, sums, resamples, seed)
    n = int(used.sum())
    rows = []
    for value, resampled in zip(values, samples.T, strict=True):
        low, high = interval(resampled, len(sums))
        rows.append(WordMeasure(float(value), low, high, n_segments=n, n_left_out=len(terms) - n))
    return rows


def rank_words(
    gold: LabelRows, attributions: Ragged | Iterable[ArrayLike], ties: Ties = "expected"
) -> dict[str, Floats]:
    """Score how well word attributions rank translation errors, per text.

    These are the measures of the Eval4NLP 2021 and WMT22 shared tasks on explainable quality estimation (Fomicheva et
    al. 2021; Zerva et al. 2022). A low attribution marks a suspected error.

    Args:
        gold: True labels: `Labels`, or N lists with 1 for BAD and 0 for OK.
        attributions: `Ragged`, or N lists of floats, one per word; low for a suspected error.
        ties: Order of tied words at the K-th place. `"expected"`: expected recall over all orders. `"argsort"`: the
            order of the Eval4NLP script, which depends on the NumPy build and the processor.

    Returns:
        dict[str, float64[N]]: `auc`: probability that a BAD word has a lower attribution than an OK word, ties counting
            half. `ap`: average precision without interpolation, as in scikit-learn. `recall_at_k`: share of the K BAD
            words among the K lowest attributions. NaN for a text without words, with one label only, or with a NaN
            attribution.

    Raises:
        ConfigError: `ties` is unknown.
        ValueError: Labels and attributions differ in their numbers of words, or a label is neither 0 nor 1.

    Example:
        >>> from bmx_grid.measures import rank_words
        >>> ranked = rank_words([[0, 1, 0], [1, 0]], [[0.3, -0.1, 0.2], [0.1, 0.1]])
        >>> ranked["auc"], ranked["recall_at_k"]
        (array([1. , 0.5]), array([1. , 0.5]))
    """
    if ties not in get_args(Ties):
        raise ConfigError("ties: " + unknown("rule", ties, get_args(Ties)))
    gold = Labels.of(gold)
    attributions = Ragged.of(attributions)
    if not np.array_equal(gold.offsets, attributions.offsets):
        raise ValueError("labels and attributions must have the same numbers of words")
    row = gold.row_of_word()
    count = len(gold)
    bad = sums_by_text(gold.bad, row, count)
    has_both = (bad > 0) & (bad < gold.lengths)
    used = has_both & ~has_nan(attributions, row)
    kept = used[row]
    scores = np.full((3, count), np.nan)
    if kept.any():
        ranked = _ranking_measures(row[kept], gold.bad[kept], attributions.values[kept], count)
        scores[:, used] = ranked[:, used]
    if ties == "argsort":
        scores[2] = _argsort_recall(gold, attributions, used)
    return dict(zip(("auc", "ap", "recall_at_k"), scores, strict=True))


def _ranking_measures(row: Ints, bad: Flags, attributions: Floats, count: int) -> Floats:
    """float64[3, N] AUC, average precision, and the recall that is expected with every order of tied words.

    Words are grouped by segment and attribution, from the most suspected on. Of whole and half numbers, so that the
    result does not depend on the order of words.
    """
    order = np.lexsort((attributions, row))
    rows = row[order]
    values = attributions[order]
    new_segment = np.diff(rows) > 0
    new_value = values[1:] != values[:-1]
    first = np.flatnonzero(np.append(True, new_segment | new_value))
    # of each group: its segment, its words, its BAD words and its OK words
    segment = rows[first]
    bounds = np.append(first, len(rows))
    size = np.diff(bounds).astype(np.float64)
    ordered_bad = bad[order].astype(np.float64)
    wrong = np.add.reduceat(ordered_bad, first)
    right = size - wrong
    words = sums_by_text(size, segment, count)
    all_bad = sums_by_text(wrong, segment, count)
    all_ok = words - all_bad
    before = _before(size, words, segment)
    bad_before = _before(wrong, all_bad, segment)
    # AUC: a BAD word wins over each OK word after its group, and half over each OK word of its group.
    ok_after = all_ok[segment] - (before - bad_before) - right
    wins = wrong * (ok_after + right / 2)
    won = sums_by_text(wins, segment, count)
    # average precision: the precision at the end of each group, for each BAD word that it adds
    reached = (bad_before + wrong) / (before + size)
    precision = sums_by_text(wrong * reached, segment, count)
    # how many of the K places fall to the group
    places = np.clip(all_bad[segment] - before, 0, size)
    hit = sums_by_text(wrong * places / size, segment, count)
    auc = ratio(won, all_bad * all_ok)
    average_precision = ratio(precision, all_bad)
    recall = ratio(hit, all_bad)
    return np.stack([auc, average_precision, recall])


def _before(part: Floats, total: Floats, segment: Ints) -> Floats:
    """float64[G] the sum over the earlier groups of its segment; part: of each group; total: of each segment."""
    before_group = np.cumsum(part) - part
    before_segment = np.cumsum(total) - total
    return before_group - before_segment[segment]


def _argsort_recall(gold: Labels, attributions: Ragged, used: Flags) -> Floats:
    """float64[N] the recall at K of the used texts in the order of Eval4NLP's script."""
    recall = np.full(len(gold), np.nan)
    for row in np.flatnonzero(used).tolist():
        bad = gold[row]
        places = int(bad.sum())
        # the script's order to the letter: which of tied words come first rests on it
        order = np.argsort(-attributions[row])[::-1]
        recall[row] = bad[order[:places]].sum() / places
    return recall


def has_nan(attributions: Ragged, row: Ints) -> Flags:
    """bool[N] the texts that have a NaN attribution; row: int64[total] the text of each word."""
    missing = sums_by_text(np.isnan(attributions.values), row, len(attributions))
    return missing > 0
