"""Measures of labelled and ranked words by hand, by scikit-learn and by plain loops; thresholds and their folds."""

import itertools

import numpy as np
import pytest
from plain_sampling import measures_of
from sklearn.metrics import average_precision_score, f1_score, matthews_corrcoef, roc_auc_score

import bmx_grid.measures as front_door
from bmx_grid.core.ragged import Labels, Ragged
from bmx_grid.measures.resampling import assign_folds, interval_levels, seeded_draws
from bmx_grid.measures.word_measures import (
    MEASURES,
    label_measures,
    mean_over_segments,
    measures,
    rank_words,
    statistics,
)
from bmx_grid.measures.word_thresholds import FOLDS_STREAM, best_threshold, cross_fitted_labels, labels_at

NAN = float("nan")


def harmonic(a, b):
    return 2 * a * b / (a + b)


def labels(*rows):
    """From rows as "OOB": OK, OK, BAD."""
    return Labels.from_rows([[sign == "B" for sign in row] for row in rows])


def spans_of(row, bad):
    """Plain loop: start and end of the runs of one label."""
    spans, start = [], 0
    for place in range(1, len(row) + 1):
        if place == len(row) or row[place] != row[start]:
            if row[start] == bad:
                spans.append((start, place))
            start = place
    return spans


def slow_seqcor(gold, predicted):
    """One sentence, as the WMT15 task scored it: the largest overlap is taken until none is left."""
    total = 0.0
    for bad in (False, True):
        mine, theirs = spans_of(gold, bad), spans_of(predicted, bad)
        overlap = np.array([[max(0, min(a[1], b[1]) - max(a[0], b[0])) for b in theirs] for a in mine])
        words = 0
        while overlap.size and overlap.max() > 0:
            row, column = np.unravel_index(overlap.argmax(), overlap.shape)
            words += overlap[row, column]
            overlap[row, :] = 0
            overlap[:, column] = 0
        count = sum(label == bad for label in gold)
        total += words * (len(gold) / (2 * count) if count else 0)
    numbers = [len(spans_of(row, False)) + len(spans_of(row, True)) for row in (gold, predicted)]
    return total / len(gold) * min(numbers) / max(numbers)


def slow_phrase_f1(gold, predicted, bad):
    """Harmonic mean of how much of the predicted spans is right and of how much of the true spans is predicted."""

    def shares_right(spans_in, against):
        return [
            np.mean([labels[place] == bad for place in range(start, end)])
            for row, labels in zip(spans_in, against, strict=True)
            for start, end in spans_of(row, bad)
        ]

    of_predicted, of_true = shares_right(predicted, gold), shares_right(gold, predicted)
    if not of_predicted + of_true:
        return NAN
    precision = np.mean(of_predicted) if of_predicted else 0.0
    recall = np.mean(of_true) if of_true else 0.0
    return 0.0 if precision + recall == 0 else harmonic(precision, recall)


def random_labels(rng, texts=60):
    lengths = rng.integers(1, 15, texts)
    return Labels.from_rows(rng.random(n) < rng.choice([0.1, 0.4, 0.9]) for n in lengths)


# f1_ok, f1_bad, f1_mult, mcc, phrase_f1_ok, phrase_f1_bad, phrase_f1_mult, seqcor, seqcor_max
BY_HAND = [
    # OK: 5 of 6 and 6 right; spans (0,4) 3/4, (5,7) 1 against (0,2) 1, (3,4) 1, (5,8) 2/3.
    # BAD: 2 of 3 and 3 right; spans (4,5) 1, (7,9) 1/2 against 0, 1, 1. SeqCor: (4/12 + 2/6) * 4/6.
    pytest.param(
        ["OOBOBOOOB"],
        ["OOOOBOOBB"],
        [5 / 6, 2 / 3, 5 / 9, 0.5, harmonic(7 / 8, 8 / 9), harmonic(3 / 4, 2 / 3), None, 4 / 9, 1],
        id="partly-right",
    ),
    # One span of 9 words: 6 of 9 right, every OK span found; SeqCor matches the three words of (5,8): 3/12 * 1/6.
    pytest.param(
        ["OOBOBOOOB"], ["OOOOOOOOO"], [0.8, 0, 0, NAN, 0.8, 0, 0, 1 / 24, 1], id="all-good-has-no-MCC-and-no-bad-spans"
    ),
    pytest.param(["OOO"], ["OOO"], [1, NAN, NAN, NAN, 1, NAN, NAN, 0.5, 0.5], id="nobody-says-BAD"),
    pytest.param(["B", "O"], ["B", "B"], [0, 2 / 3, 0, NAN, 0, 2 / 3, 0, 0.25, 0.5], id="one-word-sentences"),
    # The second sentence has no words: no spans, no part in SeqCor's mean.
    pytest.param(["BO", ""], ["BO", ""], [1, 1, 1, 1, 1, 1, 1, 1, 1], id="a-sentence-without-words"),
    # Corpus sums, not means of sentences: BAD 1 of 4 predicted, 1 of 1 found.
    pytest.param(
        ["BO", "OO", "OO"], ["BB", "BB", "OO"], [4 / 7, 0.4, 8 / 35, None, None, None, None, None, 2 / 3], id="sums"
    ),
]


@pytest.mark.parametrize(("gold", "predicted", "expected"), BY_HAND)
def test_measures_of_labels_are_those_by_hand(gold, predicted, expected):
    values = measures_of(labels(*gold), labels(*predicted))
    assert list(values) == list(MEASURES)
    for value, wanted in zip(values.values(), expected, strict=True):
        if wanted is not None:
            assert value == pytest.approx(wanted, nan_ok=True, abs=1e-15)


@pytest.mark.parametrize("seed", range(3))
def test_like_plain_loops_and_sklearn(seed):
    rng = np.random.default_rng(seed)
    gold = random_labels(rng)
    predicted = Labels(gold.bad ^ (rng.random(len(gold.bad)) < 0.3), gold.offsets)
    values = measures_of(gold, predicted)
    assert values["f1_bad"] == pytest.approx(f1_score(gold.bad, predicted.bad))
    assert values["f1_ok"] == pytest.approx(f1_score(~gold.bad, ~predicted.bad))
    assert values["f1_mult"] == pytest.approx(values["f1_bad"] * values["f1_ok"])
    assert values["mcc"] == pytest.approx(matthews_corrcoef(gold.bad, predicted.bad))
    rows = [[row.tolist() for row in labelling.rows()] for labelling in (gold, predicted)]
    for name, bad in (("ok", False), ("bad", True)):
        assert values[f"phrase_f1_{name}"] == pytest.approx(slow_phrase_f1(*rows, bad))
    assert values["phrase_f1_mult"] == pytest.approx(values["phrase_f1_ok"] * values["phrase_f1_bad"])
    each = [slow_seqcor(*pair) for pair in zip(*rows, strict=True)]
    assert statistics(gold, predicted)[:, -4] == pytest.approx(each)
    assert values["seqcor"] == pytest.approx(np.mean(each))
    assert values["seqcor_max"] == pytest.approx(measures_of(gold, gold)["seqcor"])
    of_many = measures(1e80 * statistics(gold, predicted).sum(axis=0))
    assert of_many == pytest.approx(list(values.values())), "large corpora keep their digits"


def words(tags, attributions):
    return Labels.from_rows(tags), Ragged.from_rows([np.array(row, float) for row in attributions])


def some_segments(rng, decimals):
    lengths = rng.integers(2, 12, 80)
    tags = [rng.random(n) < 0.35 for n in lengths]
    return words(tags, [np.round(rng.normal(size=n) - tag, decimals) for n, tag in zip(lengths, tags, strict=True)])


@pytest.mark.parametrize("decimals", [0, 8], ids=["ties", "distinct"])
def test_auc_and_average_precision_like_sklearn(decimals):
    gold, attributions = some_segments(np.random.default_rng(0), decimals)
    measured = rank_words(gold, attributions)
    for row, bad in enumerate(gold.rows()):
        if bad.all() or not bad.any():
            assert np.isnan([per_segment[row] for per_segment in measured.values()]).all()
            continue
        assert measured["auc"][row] == pytest.approx(roc_auc_score(bad, -attributions[row]))
        assert measured["ap"][row] == pytest.approx(average_precision_score(bad, -attributions[row]))


def test_the_expected_recall_is_the_mean_over_all_orders_of_tied_words():
    rng = np.random.default_rng(1)
    for _ in range(30):
        bad, values = rng.random(6) < 0.5, rng.integers(0, 3, 6).astype(float)
        if bad.all() or not bad.any():
            continue
        orders = [np.array(order) for order in itertools.permutations(range(6))]
        recalls = [bad[order][np.argsort(values[order], kind="stable")][: bad.sum()].mean() for order in orders]
        assert rank_words(*words([bad], [values]))["recall_at_k"][0] == pytest.approx(np.mean(recalls))


def test_what_cannot_be_ranked_is_left_out():
    gold, attributions = words(
        [[0, 0], [1, 1], [], [1, 0], [0, 1], [0, 0]],
        [[1, 2], [1, 2], [], [np.nan, 1], [2, 1], [np.nan, 1]],
    )
    measured = rank_words(gold, attributions)
    for values in measured.values():
        np.testing.assert_array_equal(values, [np.nan] * 4 + [1, np.nan])  # a low attribution is a suspected error
    assert len(rank_words(*words([], []))["auc"]) == 0


def test_the_bootstrap_of_labels_equals_a_plain_loop():
    rng = np.random.default_rng(0)
    gold = random_labels(rng)
    predicted = Labels(gold.bad ^ (rng.random(len(gold.bad)) < 0.2), gold.offsets)
    cluster = np.arange(len(gold)) // 3
    intervals = label_measures(statistics(gold, predicted), cluster, resamples=20, seed=2)
    (times,) = seeded_draws(cluster.max() + 1, 20, 2)
    drawn = []
    for column in times.T:
        rows = np.repeat(np.arange(len(gold)), column[cluster].astype(int)).tolist()
        drawn_gold = Labels.from_rows(gold[row] for row in rows)
        drawn.append(measures_of(drawn_gold, Labels.from_rows(predicted[row] for row in rows)))
    for name in MEASURES:
        ends = np.quantile([values[name] for values in drawn], interval_levels(int(cluster.max()) + 1))
        expected = (measures_of(gold, predicted)[name], *ends, len(gold), 0)
        assert intervals[name] == pytest.approx(expected)


def test_the_bootstrap_of_means():
    values = np.array([0.2, np.nan, 0.4, 0.9, 0.1, np.nan, 0.5])
    value, low, high, *counts = mean_over_segments(values, ["a", "x", "a", "b", "c", "y", "d"], resamples=200, seed=1)
    assert value == pytest.approx(np.nanmean(values)) and counts == [5, 2]
    assert low < value < high
    again = mean_over_segments(values[[0, 2, 3, 4, 6]], list("aabcd"), resamples=200, seed=1)
    assert again[1:3] == (low, high), "clusters that only hold what is left out do not count"


def test_the_best_threshold_is_the_best_of_all_cuts():
    rng = np.random.default_rng(4)
    for _ in range(10):
        gold = random_labels(rng, 6)
        values = np.round(rng.normal(size=len(gold.bad)) - gold.bad, 1)
        cuts = [matthews_corrcoef(gold.bad, values <= cut) for cut in np.unique(values)[:-1]]
        chosen = values <= best_threshold(gold.bad, values)
        assert matthews_corrcoef(gold.bad, chosen) == pytest.approx(max(cuts))
        best = np.unique(values)[:-1][np.array(cuts) >= max(cuts) - 1e-12]
        assert chosen.sum() == (values <= best[0]).sum()  # of equally good cuts the one that blames fewest
    for values, bad in (([1.0, 1.0], [0, 1]), ([1.0, 2.0], [0, 0]), ([np.nan, 2.0], [1, 0]), ([], [])):
        assert np.isnan(best_threshold(np.array(bad, dtype=bool), np.array(values))), "no cut, or one label"
    for low, high in ((1.0, np.nextafter(1.0, 2)), (-np.inf, 3.0)):
        assert low <= best_threshold(np.array([True, False]), np.array([low, high])) < high


@pytest.mark.parametrize(
    ("words", "bad", "threshold"),
    [
        pytest.param([1, 2, 6], [1, 1, 1], 0.5, id="the first of cuts that differ by rounding"),
        pytest.param([50, 7, 179], [31, 3, 44], 1.5, id="the second is better by 4e-9"),
    ],
)
def test_cuts_that_are_equal_but_for_rounding_tie(words, bad, threshold):
    """Groups of words of one attribution each, 0, 1 and 2, the BAD ones first."""
    labels = np.concatenate([np.arange(size) < wrong for size, wrong in zip(words, bad, strict=True)])
    assert best_threshold(labels, np.repeat([0.0, 1.0, 2.0], words)) == threshold


def test_a_text_without_a_threshold_or_with_an_unknown_attribution_has_no_labels():
    attributions = Ragged(np.array([np.nan, 0.1, 0.1, 0.1]), np.array([0, 2, 3, 4]))
    labels, known = labels_at(attributions, np.array([0.5, np.nan, 0.5]))
    assert known.tolist() == [False, False, True]
    assert labels.bad.tolist() == [False, False, False, True]


def test_cross_fitted_labels_are_those_of_thresholds_from_the_other_folds():
    rng = np.random.default_rng(6)
    gold = random_labels(rng, 30)
    attributions = Ragged(rng.normal(size=len(gold.bad)) - gold.bad, gold.offsets)
    attributions.values[0] = np.nan
    cluster = np.arange(30) // 2
    labels, known = cross_fitted_labels(gold, attributions, cluster, folds=4, seed=3)
    assert not known[0] and known[1:].all() and not labels[0].any()
    fold = assign_folds(cluster, 4, np.random.default_rng([3, FOLDS_STREAM]))
    for number in range(4):
        words = fold[gold.row_of_word()] != number
        threshold = best_threshold(gold.bad[words], attributions.values[words])
        for row in np.flatnonzero((fold == number) & known).tolist():
            assert labels[row].tolist() == (attributions[row] <= threshold).tolist()


def test_word_measures_take_lists():
    """The values are scikit-learn's, of each text; lists of whole numbers, flags and arrays are the same labels."""
    gold = [[0, 1, 1, 0], [1, 0], [], [0, 0]]
    suspected = [[0, 1, 0, 0], [1, 1], [], [0, 1]]
    attributions = [[0.5, -0.2, 0.1, 0.3], [0.1, 0.4], [], [0.2, 0.1]]
    ranked = front_door.rank_words(gold, attributions)
    assert ranked["auc"][:2].tolist() == [roc_auc_score(gold[row], -np.array(attributions[row])) for row in (0, 1)]
    assert np.isnan(ranked["auc"][2:]).all()
    rows = front_door.statistics(gold, suspected)
    by_name = front_door.label_measures(rows.tolist(), resamples=0)
    flat = [list(itertools.chain.from_iterable(texts)) for texts in (gold, suspected)]
    assert by_name["f1_bad"].value == pytest.approx(f1_score(*flat), abs=1e-12)
    assert by_name["mcc"].value == pytest.approx(matthews_corrcoef(*flat), abs=1e-12)
    flags = [np.array(row, dtype=bool) for row in gold]
    for same in (flags, front_door.Labels.from_rows(flags), [np.array(row, dtype=float) for row in gold]):
        assert front_door.statistics(same, suspected).tolist() == rows.tolist()
        assert front_door.rank_words(same, front_door.Ragged.from_rows(attributions))["ap"][0] == ranked["ap"][0]
    assert mean_over_segments([0.5, NAN, 1.0], resamples=0).value == 0.75


@pytest.mark.parametrize("row", [["OK", "BAD"], [0, 2], [NAN, 1.0], [None, 1]], ids=["texts", "2", "nan", "none"])
def test_labels_that_are_not_0_or_1_are_refused(row):
    """Every one of them is true to NumPy, the text OK included."""
    with pytest.raises(ValueError, match="row 1 of labels is .*write 1 for BAD and 0 for OK"):
        rank_words([[0, 1], row], [[0.1, 0.2], [0.1, 0.2]])
