"""Masks of long texts are counted in parts, in little memory, and in either way of finding branches, alike."""

import tracemalloc

import numpy as np
import pytest
from pairs import request_of

from bmx_grid.metrics import _ngrams
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.metrics.sentence_bleu import SentenceBleu
from bmx_grid.words.perturbation import Plan, Request


def long_requests() -> list[Request]:
    """A text of 300 words, each deleted in turn, beside another; and a short text beside a long one."""
    rng = np.random.Generator(np.random.PCG64(11))
    words = tuple(map(str, rng.integers(1_000, 2_000, size=300)))
    other = " ".join(words[:150]) + " " + " ".join(map(str, rng.integers(1_000, 2_000, size=150)))
    plan = Plan(words, keep=np.concatenate([np.ones((1, 300), bool), ~np.eye(300, dtype=bool)]), replacement=None)
    few = Plan(words[:5], keep=rng.random((200, 5)) < 0.5, replacement=None)
    return [request_of(plan, "hypothesis", other), request_of(few, "hypothesis", other)]


@pytest.mark.parametrize(
    ("limit", "value"),
    [
        pytest.param("MOST_CELLS", 1, id="text by text"),
        pytest.param("MOST_CELLS", 5_000, id="some texts at once"),
        pytest.param("_BLOCK_CELLS", 1, id="a block per side"),
        pytest.param("_DENSE_TABLE", 0, id="branches are searched for"),
    ],
)
@pytest.mark.parametrize("metric", [Chrf(word_order=2), SentenceBleu()], ids=["chrF++", "BLEU"])
def test_the_way_of_counting_changes_no_bit(metric, limit, value, monkeypatch):
    """A pair of 3,000 words took 3.3 GB: the masks of all texts over all characters, as 64-bit integers."""
    requests = long_requests()
    expected = metric.score_masked(requests)
    monkeypatch.setattr(_ngrams, limit, value)
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
