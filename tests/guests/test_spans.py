"""Error spans of a language model as attributions, against a server on loopback."""

from __future__ import annotations

import json

import numpy as np
import pytest
from chat_server import ChatServer
from fakes import HashMetric

from bmx_grid.attribution.explain import explain_items
from bmx_grid.core.errors import ConfigError, ExplainError
from bmx_grid.guests.judge.spans import ErrorSpans
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.words.perturbation import Item

ITEM = Item(source="das rote Haus brennt", hypothesis="the green house the burns")


def errors(*parts):
    return json.dumps({"errors": [{"part": part, "severity": severity} for part, severity in parts]})


@pytest.fixture
def explained(tmp_path):
    def of(*answers):
        server = ChatServer(lambda body, turn: answers[min(len(server.seen), len(answers)) - 1])
        with server.running():
            explainer = ErrorSpans(model="m", prompt="spans", base_url=server.url, answers=str(tmp_path / "answers"))
            (explanation,) = explain_items(HashMetric(), explainer, [ITEM], 0)
        return explanation.attributions, len(server.seen)

    return of


@pytest.mark.parametrize(
    ("answer", "hypothesis", "source"),
    [
        pytest.param(errors(), [0, 0, 0, 0, 0], [0, 0, 0, 0], id="no error"),
        pytest.param(errors(("green", "major")), [0, -5, 0, 0, 0], [0, 0, 0, 0], id="a word"),
        pytest.param(errors(("n house", "minor")), [0, -0.5, -0.5, 0, 0], [0, 0, 0, 0], id="parts of words"),
        pytest.param(errors(("rote", "Major")), [0, 0, 0, 0, 0], [0, -5, 0, 0], id="omitted from the source"),
        pytest.param(
            errors(("green house", "minor"), ("green", "critical")), [0, -10.5, -0.5, 0, 0], [0] * 4, id="two errors"
        ),
        pytest.param(f"Sure!\n{errors(('burns', 'minor'))}", [0, 0, 0, 0, -1], [0] * 4, id="among words"),
    ],
)
def test_words_of_a_span_share_minus_its_weight(explained, answer, hypothesis, source):
    attributions, n_requests = explained(answer)
    assert (attributions["hypothesis"].tolist(), attributions["source"].tolist(), n_requests) == (hypothesis, source, 1)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param("No errors.", id="no JSON"),
        pytest.param(errors(("blue", "minor")), id="a part of no text"),
        pytest.param(errors(("green", "awful")), id="an unknown severity"),
        pytest.param('{"errors": ["green"]}', id="no object"),
    ],
)
def test_an_answer_that_cannot_be_read_is_asked_for_again_then_nothing_is_explained(explained, answer):
    attributions, n_requests = explained(answer, errors(("green", "minor")))
    assert attributions["hypothesis"].tolist() == [0, -1, 0, 0, 0] and n_requests == 2


def test_without_an_answer_that_can_be_read_all_words_are_undefined(explained):
    with pytest.warns(UserWarning, match="1 of 1 answers are unreadable.*'I cannot'"):
        attributions, n_requests = explained("I cannot")
    assert n_requests == 2 and all(np.isnan(values).all() for values in attributions.values())


def test_a_prompt_that_does_not_fit_is_refused_by_name():
    with pytest.raises(ConfigError, match="gemba_da_noref"):
        ErrorSpans(model="m", prompt="gemba_da_noref")
    with pytest.raises(ExplainError, match="prompt spans reads the source"):
        explain_items(Chrf(), ErrorSpans(model="m", prompt="spans"), [ITEM._replace(source=None, reference="a")], 0)
