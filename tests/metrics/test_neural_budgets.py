"""Pairs score the same alone and with any number of tokens in a pass."""

import pytest
from neural import EMPTY, PAIRS
from pairs import score

from bmx_grid.metrics.encoders import BertScore, SentenceEmbedding
from bmx_grid.metrics.xmoverscore import XMoverScore

pytestmark = pytest.mark.filterwarnings("ignore:model '.*tokens:UserWarning")
SOME = [*PAIRS, *EMPTY, *((hypothesis, truth) for truth, hypothesis in PAIRS)]
METRICS = {BertScore: {"layer": 2}, SentenceEmbedding: {}, XMoverScore: {"layer": 2, "language_model": "gpt2"}}


@pytest.mark.parametrize("kind", METRICS)
def test_the_budget_does_not_change_scores(tiny_model, kind):
    settings = {name: tiny_model(value) if name == "language_model" else value for name, value in METRICS[kind].items()}
    expected = [score(kind(model=tiny_model("bert"), **settings), [pair])[0] for pair in SOME]
    for batch_tokens in (1, 40, 100_000):
        found = score(kind(model=tiny_model("bert"), batch_tokens=batch_tokens, **settings), SOME)
        assert found.tolist() == pytest.approx(expected, abs=1e-5)
