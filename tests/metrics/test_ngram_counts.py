"""The walk through the trie, held against counting n-grams one by one; and what lies between metric and worker."""

import tracemalloc
from collections import Counter

import numpy as np
import pytest
from pairs import request_of

from bmx_grid.metrics import _ngrams
from bmx_grid.metrics._ngrams import MaskedSide, count_ngrams, ngrams_of
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.metrics.sentence_bleu import SentenceBleu
from bmx_grid.words.perturbation import Plan, Request


def grams(tokens: list[str], order: int) -> Counter:
    return Counter(tuple(tokens[start : start + order]) for start in range(len(tokens) - order + 1))


def random_sides(vocabulary: int) -> list[MaskedSide]:
    rng = np.random.Generator(np.random.PCG64(5))
    sides = []
    for number in range(30):
        tokens, fixed = (
            tuple(str(token) for token in rng.integers(vocabulary, size=rng.integers(0, 30))) for _ in range(2)
        )
        visible = rng.random((rng.integers(0, 8), len(tokens) + 1)) < 0.8
        visible[:, -1] = True
        sides.append(MaskedSide(tokens, visible, fixed, is_hypothesis=number % 2 == 0))
    return sides


@pytest.mark.parametrize("vocabulary", [1, 3, 12])
@pytest.mark.parametrize(
    ("block_cells", "dense_table"),
    [
        pytest.param(2**18, 2**22, id="one-block"),
        pytest.param(1, 2**22, id="a-block-a-side"),
        pytest.param(200, 0, id="long-texts-searched"),
    ],
)
def test_counts_are_those_of_counting_one_by_one(monkeypatch, vocabulary, block_cells, dense_table):
    monkeypatch.setattr(_ngrams, "_BLOCK_CELLS", block_cells)
    monkeypatch.setattr(_ngrams, "_DENSE_TABLE", dense_table)
    sides = random_sides(vocabulary)
    expected = []
    for side in sides:
        for row in side.visible[:, :-1]:
            shown = [token for token, seen in zip(side.tokens, row, strict=True) if seen]
            both = (shown, list(side.fixed)) if side.is_hypothesis else (list(side.fixed), shown)
            for order in range(1, 6):
                counts = [grams(tokens, order) for tokens in both]
                expected.append([(counts[0] & counts[1]).total(), counts[0].total(), counts[1].total()])
    found = count_ngrams(sides, 5)
    totals = [ngrams_of(lengths, 5) for lengths in (found.hypothesis, found.reference)]
    assert np.stack([found.matches, *totals], axis=-1).reshape(-1, 3).tolist() == expected


def long_requests() -> list[Request]:
    """A text of 300 words, each deleted in turn, beside another; and a short text beside a long one."""
    rng = np.random.Generator(np.random.PCG64(11))
    words = tuple(map(str, rng.integers(1_000, 2_000, size=300)))
    other = " ".join(words[:150]) + " " + " ".join(map(str, rng.integers(1_000, 2_000, size=150)))
    plan = Plan(words, keep=np.concatenate([np.ones((1, 300), bool), ~np.eye(300, dtype=bool)]), replacement=None)
    few = Plan(words[:5], keep=rng.random((200, 5)) < 0.5, replacement=None)
    return [request_of(plan, "hypothesis", other), request_of(few, "hypothesis", other)]


@pytest.mark.parametrize("metric", [Chrf(word_order=2), SentenceBleu()], ids=["chrF++", "BLEU"])
def test_the_masks_of_a_long_text_are_counted_in_parts_with_the_same_scores(metric, monkeypatch):
    """A pair of 3,000 words took 3.3 GB: the masks of all texts over all characters, as 64-bit integers."""
    requests = long_requests()
    expected = metric.score_masked(requests)
    for cells in (1, 5_000):
        monkeypatch.setattr(_ngrams, "MOST_CELLS", cells)
        for found, wanted in zip(metric.score_masked(requests), expected, strict=True):
            assert found.tobytes() == wanted.tobytes()


def test_counting_takes_memory_for_a_part_of_the_texts_only(monkeypatch):
    monkeypatch.setattr(_ngrams, "MOST_CELLS", 2**14)  # the long text has 361,500 cells, the short one 240,000
    requests = long_requests()
    Chrf().score_masked(requests)  # what stays in memory, such as tokens of words, is not counted below
    tracemalloc.start()
    try:
        Chrf().score_masked(requests)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 6e6  # 25 MB when all texts are counted at once
