"""Masks of long texts are counted in parts, in little memory, and in either way of finding branches, alike."""

import tracemalloc

import numpy as np
import pytest
from pairs import request_of

from bmx_grid.metrics import _ngrams, _sides
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.metrics.sentence_bleu import SentenceBleu
from bmx_grid.words.perturbation import Item, Plan, Request

NEVER = 10**12  # cells of a side that is counted by what changes around its hidden words
VOCABULARY = ["a", "ab", "abc", "ba", "c.", "x", "aa", "...", "é", "b"]  # words that share many n-grams


def long_requests() -> list[Request]:
    """A text of 300 words, each deleted in turn, beside another; and a short text beside a long one."""
    rng = np.random.Generator(np.random.PCG64(11))
    words = tuple(map(str, rng.integers(1_000, 2_000, size=300)))
    other = " ".join(words[:150]) + " " + " ".join(map(str, rng.integers(1_000, 2_000, size=150)))
    plan = Plan(words, keep=np.concatenate([np.ones((1, 300), bool), ~np.eye(300, dtype=bool)]), replacement=None)
    few = Plan(words[:5], keep=rng.random((200, 5)) < 0.5, replacement=None)
    return [request_of(plan, "hypothesis", other), request_of(few, "hypothesis", other)]


@pytest.mark.parametrize(
    ("module", "limit", "value"),
    [
        pytest.param(_sides, "MOST_SIDE_CELLS", 1, id="text by text"),
        pytest.param(_sides, "MOST_SIDE_CELLS", 5_000, id="some texts at once"),
        pytest.param(_ngrams, "_BLOCK_CELLS", 1, id="a block per side"),
        pytest.param(_ngrams, "_DENSE_TABLE", 0, id="branches are searched for"),
    ],
)
@pytest.mark.parametrize("metric", [Chrf(word_order=2), SentenceBleu()], ids=["chrF++", "BLEU"])
def test_the_way_of_counting_changes_no_bit(metric, module, limit, value, monkeypatch):
    """A pair of 3,000 words took 3.3 GB: the masks of all texts over all characters, as 64-bit integers."""
    monkeypatch.setattr(_sides, "LONG_SIDE", NEVER)
    requests = long_requests()
    expected = metric.score_masked(requests)
    monkeypatch.setattr(module, limit, value)
    for scores, wanted in zip(metric.score_masked(requests), expected, strict=True):
        assert scores.tobytes() == wanted.tobytes()


def test_counting_takes_memory_for_a_part_of_the_texts_only(monkeypatch):
    monkeypatch.setattr(_sides, "LONG_SIDE", NEVER)
    monkeypatch.setattr(_sides, "MOST_SIDE_CELLS", 2**14)  # the long text has 361,500 cells, the short one 240,000
    requests = long_requests()
    Chrf().score_masked(requests)  # what stays in memory, such as tokens of words, is not counted below
    tracemalloc.start()
    try:
        Chrf().score_masked(requests)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 6e6  # 25 MB when all texts are counted at once


def few_hidden(rng: np.random.Generator) -> Request:
    """Up to 40 words, of which few or many are hidden, with a stand-in or without, beside up to 40 others."""
    words = tuple(map(str, rng.choice(VOCABULARY, rng.integers(1, 40))))
    other = " ".join(rng.choice(VOCABULARY, rng.integers(0, 40)))
    share = rng.choice([0.02, 0.1, 0.5, 0.9])
    keep = rng.random((rng.integers(1, 6), len(words))) > share
    stand_in = ["", "a", "[M]", "ab c", None][rng.integers(5)]
    role = "hypothesis" if rng.random() < 0.5 else "reference"
    if role == "hypothesis":
        item = Item(hypothesis=" ".join(words), reference=other)
    else:
        item = Item(hypothesis=other, reference=" ".join(words))
    return Request(Plan(words, keep=keep, replacement=stand_in), role, item)


METRICS = [
    pytest.param(Chrf(word_order=2), id="chrF++"),
    pytest.param(Chrf(char_order=1), id="characters alone"),
    pytest.param(SentenceBleu(), id="BLEU"),
    pytest.param(SentenceBleu(tokenize="char"), id="BLEU of characters"),
]


@pytest.mark.parametrize("metric", METRICS)
def test_what_changes_around_hidden_words_counts_as_the_texts_written_out(metric, monkeypatch):
    rng = np.random.default_rng(3)
    requests = [few_hidden(rng) for _ in range(150)]
    monkeypatch.setattr(_sides, "LONG_SIDE", 0)
    monkeypatch.setattr(_sides, "CELLS_OF_A_CHANGE", 0)
    for request, scores in zip(requests, metric.score_masked(requests), strict=True):
        assert scores.tobytes() == metric.score(request.items()).tobytes()


def test_long_texts_of_which_few_words_are_hidden_are_counted_so(monkeypatch):
    sides = []
    counted = _ngrams._changes
    monkeypatch.setattr(_ngrams, "_changes", lambda side, orders: sides.append(len(side.keep)) or counted(side, orders))
    Chrf().score_masked(long_requests())
    assert sides == [301]
