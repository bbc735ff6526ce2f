"""The walk through the trie, held against counting n-grams one by one; and what lies between metric and worker."""

from collections import Counter

import cloudpickle
import numpy as np
import pytest
from pairs import score

from bmx_grid.metrics.chrf import Chrf
from bmx_grid.metrics.ngrams import counts as _ngram_counts
from bmx_grid.metrics.ngrams import trie as _ngram_trie
from bmx_grid.metrics.ngrams.counts import count_ngrams, ngrams_of
from bmx_grid.metrics.ngrams.masked_side import MaskedSide
from bmx_grid.metrics.random import RandomMetric
from bmx_grid.metrics.sentence_bleu import SentenceBleu


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
    monkeypatch.setattr(_ngram_counts, "_BLOCK_CELLS", block_cells)
    monkeypatch.setattr(_ngram_trie, "_DENSE_TABLE", dense_table)
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


@pytest.mark.parametrize("metric", [SentenceBleu(), Chrf(word_order=2), RandomMetric(seed=4)], ids=repr)
def test_metrics_travel_after_use_and_score_the_same_on_arrival(metric):
    pairs = [("a b c d", "a b d"), ("x", "")]
    before = score(metric, pairs)
    arrived = cloudpickle.loads(cloudpickle.dumps(metric))
    assert arrived == metric
    assert score(arrived, pairs).tobytes() == before.tobytes()
