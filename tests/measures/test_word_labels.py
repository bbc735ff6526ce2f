"""Measures of OK and BAD labels against values by hand, scikit-learn and plain loops."""

import numpy as np
import pytest
from sklearn.metrics import f1_score, matthews_corrcoef

from bmx_grid.measures.word_labels import MEASURES, Spans, matched, measures, measures_of, statistics
from bmx_grid.words.tags import Labels

NAN = float("nan")


def harmonic(a, b):
    return 2 * a * b / (a + b)


def labels(*rows):
    """From rows as "OOB": OK, OK, BAD."""
    return Labels.from_rows([[sign == "B" for sign in row] for row in rows])


def spans_of(row, bad):
    """Plain loop: start and end of the runs of one label."""
    found, start = [], 0
    for place in range(1, len(row) + 1):
        if place == len(row) or row[place] != row[start]:
            if row[start] == bad:
                found.append((start, place))
            start = place
    return found


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
        count = sum(one == bad for one in gold)
        total += words * (len(gold) / (2 * count) if count else 0)
    numbers = [len(spans_of(row, False)) + len(spans_of(row, True)) for row in (gold, predicted)]
    return total / len(gold) * min(numbers) / max(numbers)


def slow_phrase_f1(gold, predicted, bad):
    right = [[], []]
    for mine, other in zip(gold, predicted, strict=True):
        for place, (own, against) in enumerate(((other, mine), (mine, other))):
            for start, end in spans_of(own, bad):
                right[place].append(np.mean([against[i] == bad for i in range(start, end)]))
    if not right[0] + right[1]:
        return NAN
    precision, recall = (np.mean(one) if one else 0.0 for one in right)
    return 0.0 if precision + recall == 0 else 2 * precision * recall / (precision + recall)


def random_labels(rng, texts=60):
    lengths = rng.integers(1, 15, texts)
    return Labels.from_rows(rng.random(n) < rng.choice([0.1, 0.4, 0.9]) for n in lengths)


def test_the_spans_of_the_worked_case():
    spans = Spans.of(labels("OOBOBOOOB"))
    assert spans.of_text(0, bad=False) == [(0, 2), (3, 4), (5, 8)]
    assert spans.of_text(0, bad=True) == [(2, 3), (4, 5), (8, 9)]


def test_spans_end_with_their_text():
    spans = Spans.of(labels("BB", "", "BO", "B"))
    assert [spans.of_text(row, bad=True) for row in range(4)] == [[(0, 2)], [], [(0, 1)], [(0, 1)]]
    assert spans.of_text(2, bad=False) == [(1, 2)]
    assert spans.counts(True).tolist() == [1, 0, 1, 1]


# f1_ok, f1_bad, f1_mult, mcc, phrase_f1_ok, phrase_f1_bad, phrase_f1_mult, seqcor, seqcor_max
BY_HAND = [
    pytest.param(["OOBOBOOOB"], ["OOBOBOOOB"], [1, 1, 1, 1, 1, 1, 1, 1, 1], id="perfect"),
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
    pytest.param(["OOO"], ["BBB"], [0, 0, 0, NAN, 0, 0, 0, 0, 0.5], id="nothing-right"),
    pytest.param(["B", "O"], ["B", "B"], [0, 2 / 3, 0, NAN, 0, 2 / 3, 0, 0.25, 0.5], id="one-word-sentences"),
    # The second sentence has no words: no spans, no part in SeqCor's mean.
    pytest.param(["BO", ""], ["BO", ""], [1, 1, 1, 1, 1, 1, 1, 1, 1], id="a-sentence-without-words"),
    pytest.param([], [], [NAN] * 9, id="no-sentences"),
    pytest.param([""], [""], [NAN] * 9, id="only-a-sentence-without-words"),
    # Corpus sums, not means of sentences: BAD 1 of 4 predicted, 1 of 1 found.
    pytest.param(
        ["BO", "OO", "OO"], ["BB", "BB", "OO"], [4 / 7, 0.4, 8 / 35, None, None, None, None, None, 2 / 3], id="sums"
    ),
]


@pytest.mark.parametrize(("gold", "predicted", "expected"), BY_HAND)
def test_values_by_hand(gold, predicted, expected):
    found = measures_of(labels(*gold), labels(*predicted))
    assert list(found) == list(MEASURES)
    for value, wanted in zip(found.values(), expected, strict=True):
        if wanted is not None:
            assert value == pytest.approx(wanted, nan_ok=True, abs=1e-15)


def test_equal_overlaps_are_matched_from_the_left():
    # (0,4) shares two words with both; if it took (2,6), nothing would be left for (4,6).
    assert matched([(0, 4), (4, 6)], [(0, 2), (2, 6)]) == 2 + 2
    assert matched([(0, 4), (4, 6)], [(2, 6)]) == 2
    # The largest first, although 2 + 2 with the others would be more than 3.
    assert matched([(0, 2), (2, 7)], [(0, 5), (5, 7)]) == 3 + 0


@pytest.mark.parametrize("seed", range(3))
def test_like_plain_loops_and_sklearn(seed):
    rng = np.random.default_rng(seed)
    gold = random_labels(rng)
    predicted = Labels(gold.bad ^ (rng.random(len(gold.bad)) < 0.3), gold.offsets)
    found = measures_of(gold, predicted)
    assert found["f1_bad"] == pytest.approx(f1_score(gold.bad, predicted.bad))
    assert found["f1_ok"] == pytest.approx(f1_score(~gold.bad, ~predicted.bad))
    assert found["f1_mult"] == pytest.approx(found["f1_bad"] * found["f1_ok"])
    assert found["mcc"] == pytest.approx(matthews_corrcoef(gold.bad, predicted.bad))
    rows = [[row.tolist() for row in one.rows()] for one in (gold, predicted)]
    for name, bad in (("ok", False), ("bad", True)):
        assert found[f"phrase_f1_{name}"] == pytest.approx(slow_phrase_f1(*rows, bad))
    assert found["phrase_f1_mult"] == pytest.approx(found["phrase_f1_ok"] * found["phrase_f1_bad"])
    each = [slow_seqcor(*pair) for pair in zip(*rows, strict=True)]
    assert statistics(gold, predicted)[:, -4] == pytest.approx(each)
    assert found["seqcor"] == pytest.approx(np.mean(each))
    assert found["seqcor_max"] == pytest.approx(measures_of(gold, gold)["seqcor"])


def test_a_corpus_of_repeated_texts_is_a_product_of_weights():
    rng = np.random.default_rng(3)
    gold, predicted = (random_labels(np.random.default_rng(3)) for _ in range(2))
    predicted = Labels(gold.bad ^ (rng.random(len(gold.bad)) < 0.3), gold.offsets)
    times = rng.integers(0, 3, len(gold))
    rows = np.repeat(np.arange(len(gold)), times).tolist()
    drawn = [Labels.from_rows(one[row] for row in rows) for one in (gold, predicted)]
    found = measures(times @ statistics(gold, predicted))
    assert found == pytest.approx(list(measures_of(*drawn).values()))


def test_large_corpora_keep_their_MCC():
    sums = statistics(labels("OOBB", "OB"), labels("OBBB", "OB")).sum(axis=0)
    assert measures(sums * 1e80)[MEASURES.index("mcc")] == pytest.approx(measures(sums)[MEASURES.index("mcc")])


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.9])
def test_all_bad_is_a_function_of_the_share_of_errors(rate):
    gold = Labels.from_rows([np.arange(100) < 100 * rate] * 4)
    found = measures_of(gold, Labels(np.ones(400, bool), gold.offsets))
    assert found["f1_bad"] == pytest.approx(2 * rate / (1 + rate))
