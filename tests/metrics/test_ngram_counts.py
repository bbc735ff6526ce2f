"""Long texts are counted in parts, in little memory, and in either way of finding equal n-grams, alike."""

import tracemalloc
from collections import Counter

import numpy as np
import pytest
from pairs import request_of

from bmx_grid.metrics import _ngrams, _pair_counts, _sides
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


ORDERS = 4
# Words in place of characters, and characters of one to four bytes, one of them half of a pair of surrogates.
TOKENS = [pytest.param(VOCABULARY, id="words"), pytest.param(list("aaabcé中\U0001f600\ud83d"), id="characters")]


def counted_by_definition(hypothesis, reference) -> list[int]:
    """Tokens of both, and the sizes of the multisets of n-grams that both have."""
    counts = [len(hypothesis), len(reference)]
    for order in range(1, ORDERS + 1):
        ngrams = [
            Counter(tuple(text[place : place + order]) for place in range(len(text) - order + 1))
            for text in (hypothesis, reference)
        ]
        counts.append((ngrams[0] & ngrams[1]).total())
    return counts


@pytest.mark.parametrize("tokens", TOKENS)
@pytest.mark.parametrize(
    ("limit", "value"),
    [
        pytest.param("_BLOCK_TOKENS", 2**13, id="as it is"),
        pytest.param("_BLOCK_TOKENS", 1, id="pair by pair"),
        pytest.param("_BLOCK_TOKENS", 40, id="some pairs at once"),
        pytest.param("_DENSE_TABLE", 0, id="equal n-grams are sorted"),
    ],
)
def test_pairs_of_whole_texts_count_as_by_definition(tokens, limit, value, monkeypatch):
    """Texts of 0 to 12 tokens, so that some are empty, shorter than the longest n-gram, or of nothing shared."""
    monkeypatch.setattr(_pair_counts, limit, value)
    rng = np.random.default_rng(5)
    pairs = []
    for _ in range(120):
        drawn = [tuple(map(str, rng.choice(tokens, rng.integers(0, 13)))) for _ in range(2)]
        # a str has its characters for tokens
        pairs.append(("".join(drawn[0]), "".join(drawn[1])) if max(map(len, tokens)) == 1 else tuple(drawn))
    expected = [counted_by_definition(*pair) for pair in pairs]
    assert _pair_counts.count_pairs(pairs, ORDERS).T.tolist() == expected


def test_no_pairs_and_pairs_without_tokens_are_counted():
    assert _pair_counts.count_pairs([], ORDERS).shape == (2 + ORDERS, 0)
    assert _pair_counts.count_pairs([("", "")], ORDERS).T.tolist() == [[0] * (2 + ORDERS)]


def test_many_pairs_take_the_memory_of_a_block():
    """Pairs are taken as they are needed: 20,000 of them hold 36 MB of n-grams' numbers if counted at once."""
    text = "the quick brown fox jumps over the lazy dog"
    pairs = ((text, text) for _ in range(20_000))
    tracemalloc.start()
    try:
        _pair_counts.count_pairs(pairs, ORDERS)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8e6  # the counts themselves are 1.9 MB, in parts and as a whole
