"""Agreement of error spans against plain loops that are written apart."""

import itertools
import math

import numpy as np
import pytest

from bmx_grid.measures import span_agreement as module
from bmx_grid.measures.span_agreement import agreement, agreement_with_interval, character_sums, span_sums

NAN = math.nan
NONE = np.zeros((0, 3), dtype=np.int64)


def spans(*rows):
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def drawn(rng, length=30, most=5):
    rows = [(*sorted(rng.integers(0, length + 1, size=2).tolist()), rng.integers(2)) for _ in range(rng.integers(most))]
    return spans(*rows)


def plain_characters(length, predicted, gold):
    credit = n_predicted = n_gold = 0.0
    for place in range(length):
        counts = [[0, 0], [0, 0]]  # of each side the minor and the major ones
        for side, rows in enumerate((predicted, gold)):
            for start, end, severe in rows.tolist():
                counts[side][severe] += start <= place < end
        same = [min(counts[0][severity], counts[1][severity]) for severity in (0, 1)]
        credit += sum(same) + 0.5 * min(sum(counts[0]) - sum(same), sum(counts[1]) - sum(same))
        n_predicted += sum(counts[0])
        n_gold += sum(counts[1])
    return [credit, n_predicted, credit, n_gold]


def plain_spans(predicted, gold):
    """All matchings one to one, tried one after the other."""
    predicted = [set(range(start, end)) for start, end, _ in predicted.tolist() if start < end]
    gold = [set(range(start, end)) for start, end, _ in gold.tolist() if start < end]
    best = ((-1.0, -1.0, -1.0), 0.0, 0.0)
    padded = [*gold, *[None] * len(predicted)]
    for order in set(itertools.permutations(range(len(padded)), len(predicted))):
        first = second = 0.0
        for span, place in zip(predicted, order, strict=True):
            if padded[place] is not None:
                first += len(span & padded[place]) / len(span)
                second += len(span & padded[place]) / len(padded[place])
        p = first / max(len(predicted), 1)
        r = second / max(len(gold), 1)
        worth = (round(2 * p * r / (p + r), 10) if p + r else 0.0, round(p + r, 10), round(p, 10))
        best = max(best, (worth, first, second))
    return [best[1], len(predicted), best[2], len(gold)]


@pytest.mark.parametrize("seed", range(5))
def test_sums_are_those_of_plain_loops(seed):
    rng = np.random.default_rng(seed)
    for _ in range(40):
        predicted, gold = drawn(rng, most=4), drawn(rng)
        assert character_sums(30, predicted, gold).tolist() == plain_characters(30, predicted, gold)
        np.testing.assert_allclose(span_sums(predicted, gold), plain_spans(predicted, gold), rtol=0, atol=1e-9)


# (text's length, predicted, gold) and precision, recall, F1: the cases that WMT25's scorer was tried on by hand
TOYS = {
    "the same": (10, [(2, 6, 1)], [(2, 6, 1)], (1, 1, 1)),
    "another severity": (10, [(2, 6, 0)], [(2, 6, 1)], (0.5, 0.5, 0.5)),
    "half of it": (10, [(2, 4, 1)], [(2, 6, 1)], (1, 0.5, 2 / 3)),
    "twice the same": (10, [(2, 6, 1), (2, 6, 1)], [(2, 6, 1)], (0.5, 1, 2 / 3)),
    "minor in major": (10, [(0, 4, 0), (0, 4, 1)], [(0, 4, 1)], (0.5, 1, 2 / 3)),
    "nothing right": (10, [(0, 2, 1)], [(5, 9, 1)], (0, 0, 0)),
    "none predicted": (10, [], [(5, 9, 1)], (NAN, 0, 0)),
    "none true": (10, [(5, 9, 1)], [], (0, NAN, 0)),
    "none": (10, [], [], (NAN, NAN, NAN)),
    "an omission": (10, [(3, 3, 1)], [(2, 6, 1)], (NAN, 0, 0)),
}


@pytest.mark.parametrize("case", TOYS)
def test_characters_of_toy_cases(case):
    length, predicted, gold, expected = TOYS[case]
    shares = agreement(character_sums(length, spans(*predicted), spans(*gold)))
    np.testing.assert_allclose(shares, expected, rtol=0, atol=1e-15)


def test_mpp_matches_one_to_one_and_counts_each_span_once_however_long():
    """Of two halves of a true span one is matched; ten characters of a long span count as one of a short one does."""
    predicted, gold = spans((0, 5, 1), (5, 10, 1), (20, 21, 0)), spans((0, 10, 1), (20, 21, 0))
    np.testing.assert_allclose(agreement(span_sums(predicted, gold)), [2 / 3, 0.75, 12 / 17], atol=1e-12)


def test_many_overlapping_spans_are_matched_in_bounded_time(monkeypatch):
    monkeypatch.setattr(module, "MOST_MATCHINGS", 64)
    rows = spans(*[(start, start + 30, 0) for start in range(20)])
    assert span_sums(rows, rows).tolist() == [20, 20, 20, 20]


def test_the_interval_is_over_whole_clusters():
    rng = np.random.default_rng(1)
    sums = np.stack([character_sums(30, drawn(rng), drawn(rng)) for _ in range(60)])
    values, (low, high) = agreement_with_interval(sums, np.arange(60) // 2, resamples=400)
    assert values.tolist() == agreement(sums.sum(axis=0)).tolist()
    assert low < values[2] < high
    assert np.isnan(agreement_with_interval(sums, np.zeros(60), resamples=400)[1]).all()
