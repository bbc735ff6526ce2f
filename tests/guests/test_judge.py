"""A language model as a metric, against a server on loopback that answers well, badly, slowly or not at all."""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import json
import math
import os
import signal
import socket
import threading
import time
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from chat_server import ChatServer, completion, score_text
from pairs import rated
from started import Forked, wait_for, wait_until_alone

import bmx_grid
from bmx_grid.attribution.explain import explain_items
from bmx_grid.commands.score import main as score_command
from bmx_grid.core.errors import BmxError, ConfigError, DataError, UnavailableError
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.guests.judge import client as client_module
from bmx_grid.guests.judge.judge import Judge
from bmx_grid.guests.judge.prompts import Prompt
from bmx_grid.guests.judge.server import Answer
from bmx_grid.words.perturbation import Item

ITEMS = [Item(source=f"ein Haus {n}", reference=f"a house {n}", hypothesis=f"one house {n}") for n in range(6)]


@pytest.fixture
def judge(tmp_path):
    def made(server, **settings):
        known = {"model": "m", "prompt": "plain", "answers": str(tmp_path / "answers"), "retries": 2}
        return Judge(base_url=server.url, **(known | settings))

    return made


def listed(name, **more):
    """A list with one model, as a server sends it."""
    return json.dumps({"object": "list", "data": [{"id": name, "object": "model", **more}]})


def plain(body, turn=0):
    """1 to 5, as the plain prompt asks for."""
    return str(1 + int(score_text(body)) % 5)


def test_scores_are_the_numbers_of_the_answers_from_0_to_1(judge):
    with ChatServer(plain).running() as server:
        scores = judge(server).score(ITEMS)
    bodies = sorted(server.seen, key=lambda body: body["messages"][-1]["content"])  # house 0, house 1, ...
    assert scores.tolist() == [(int(plain(body)) - 1) / 4 for body in bodies] and len(bodies) == 6
    assert {(body["temperature"], body["seed"], body["max_tokens"], body["model"]) for body in server.seen} == {
        (0.0, 0, 32, "m")
    }


def test_what_was_answered_is_not_asked_again(judge):
    with ChatServer(plain).running() as server:
        first = judge(server).score(ITEMS[:4])
        second = judge(server).score(ITEMS)
        assert np.array_equal(first, second[:4]) and len(server.seen) == 6
        judge(server, temperature=0.5).score(ITEMS[:1])
    assert len(server.seen) == 7


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param((429, {"Retry-After": "0.01"}, b'{"error": {"message": "slow down"}}'), id="too many requests"),
        pytest.param((200, {}, b'{"choices": ['), id="wrong JSON"),
        pytest.param((200, {}, b"{}"), id="no choice"),
        pytest.param((200, {"Content-Length": "900"}, b'{"choices"'), id="half an answer"),
    ],
)
def test_a_fault_that_passes_costs_a_request_and_no_score(judge, fault):
    with ChatServer(lambda body, turn: fault if turn == 0 else plain(body)).running() as server:
        scores = judge(server).score(ITEMS)
    assert np.isfinite(scores).all() and len(server.seen) == 12


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        pytest.param(
            (401, {}, b'{"error": {"message": "bad key secret-key"}}'), "401.*set OPENAI_API_KEY", id="a wrong key"
        ),
        pytest.param((500, {"Retry-After": "0.01"}, b"oops"), "500", id="a server error that stays"),
        pytest.param((200, {}, b"<html>"), "its answer is unusable", id="another service"),
        pytest.param((400, {}, b'{"error": {"message": "\\u001b[31m"}}'), r"\\x1b\[31m", id="control characters"),
    ],
)
def test_a_fault_that_stays_is_named_without_the_key_and_keeps_what_was_answered(judge, monkeypatch, fault, message):
    monkeypatch.setenv("OPENAI_API_KEY", " secret-key\n")  # spaces around a key are not part of it

    def answer(body, turn):
        return fault if "house 3" in body["messages"][-1]["content"] else plain(body)

    with ChatServer(answer).running() as server:
        with pytest.raises(UnavailableError, match=message) as error:
            judge(server, concurrency=1).score(ITEMS)
        assert "secret-key" not in str(error.value) and server.keys == {"Bearer secret-key"}
        n_before = len(server.seen)
        server.answer = plain
        judge(server).score(ITEMS)
    assert len(server.seen) - n_before == 3  # houses 3, 4 and 5


def test_a_server_that_is_not_there_is_named(judge):
    with pytest.raises(UnavailableError, match="no model is named: .*in score --set metric.model=NAME"):
        Judge().check()
    with ChatServer().running() as server:
        pass
    with pytest.raises(UnavailableError, match=server.url):
        judge(server, retries=0).score(ITEMS[:1])
    with pytest.raises(UnavailableError, match="base_url=URL"):
        judge(server, retries=0).named_by_the_server()


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        pytest.param([], "disconnected|not write|reset|not connect", id="a connection that is closed"),
        pytest.param([b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", *[b" "] * 20], "Timeout", id="byte by byte"),
    ],
)
def test_what_speaks_no_http_or_never_ends_is_named(judge, monkeypatch, sent, message):
    monkeypatch.setattr(client_module, "MOST_PAUSE", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=send_slowly, args=(listening, sent), daemon=True).start()
        address = SimpleNamespace(url=f"http://127.0.0.1:{listening.getsockname()[1]}/v1")
        metric = judge(address, retries=0, timeout=0.5)
        with pytest.raises(UnavailableError, match=message):
            metric.score(ITEMS[:1])
        with pytest.raises(UnavailableError, match=message):
            metric.check()


def send_slowly(listening, sent):
    """Answer each connection with these bytes, one part every tenth of a second, until no more come."""
    with contextlib.suppress(OSError):
        while True:
            connection, _ = listening.accept()
            with contextlib.suppress(OSError), connection:
                for part in sent:
                    connection.sendall(part)
                    time.sleep(0.1)


def test_a_server_is_asked_once_for_its_name(judge, monkeypatch):
    refused = (401, {}, b"")
    with ChatServer(lambda body, turn: refused, models=refused).running() as server:
        with pytest.raises(UnavailableError, match="401"):
            judge(server, retries=0).check()
        server.models = listed("m", root="weights")
        with pytest.raises(UnavailableError, match="401"):
            judge(server, retries=0).check()
        monkeypatch.setenv("OPENAI_API_KEY", "another-key")
        assert judge(server).named_by_the_server() == "weights"
        server.models = listed("m", root="others")
        assert judge(server).named_by_the_server() == "weights"


@pytest.mark.parametrize("models", [listed("n"), (500, {}, b"oops")], ids=["others are loaded", "no list"])
def test_a_model_that_is_in_no_list_is_named_in_an_answer(judge, models):
    named = json.dumps(json.loads(completion("4")) | {"model": "m@main"}).encode()
    with ChatServer(lambda body, turn: (200, {}, named), models=models).running() as server:
        assert judge(server, retries=0).named_by_the_server() == "m@main"
        assert [body["max_tokens"] for body in server.seen] == [1]


def test_an_answer_without_a_score_is_asked_for_again_then_undefined_and_counted(judge):
    def answer(body, turn):
        text = body["messages"][-1]["content"] if len(body["messages"]) == 1 else body["messages"][0]["content"]
        if "house 1" in text:
            return "I cannot say." if len(body["messages"]) == 1 else "Score: 4"
        if "house 3" in text:
            return (200, {}, completion(None))  # a refusal
        return "As a language model …" if "house 2" in text else plain(body)

    with ChatServer(answer).running() as server, pytest.warns(UserWarning, match="2 of 6 answers.*As a language model"):
        scores = judge(server).score(ITEMS)
    assert scores[1] == 0.75 and np.flatnonzero(np.isnan(scores)).tolist() == [2, 3]
    assert len(server.seen) == 9


def test_an_item_with_a_text_that_got_no_score_is_not_explained(judge):
    def answer(body, turn):
        return "no" if "Text: one  2" in body["messages"][0]["content"] else plain(body)

    with ChatServer(answer).running() as server, pytest.warns(UserWarning, match="answers are unreadable"):
        explanations = explain_items(judge(server), Erasure(), ITEMS[:3], seed=0)
    assert [bool(np.isnan(explanation.attributions["hypothesis"]).all()) for explanation in explanations] == [
        False,
        False,
        True,
    ]
    assert np.isfinite([explanation.base_score for explanation in explanations]).all()


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        pytest.param("4 \ud800", "4 ?", id="half a surrogate"),
        pytest.param("4" + "x" * 1_500_000, "4" + "x" * 999_999, id="a huge answer"),
    ],
)
def test_any_text_is_read_kept_and_sent_back_with_the_reminder(judge, text, kept):
    def answer(body, turn):
        return (200, {}, completion(text)) if len(body["messages"]) == 1 else "2"

    with ChatServer(answer).running() as server:
        for _ in range(2):
            assert judge(server, score_from=r"(\d)\Z").score(ITEMS[:1])[0] == 0.25
        assert server.seen[-1]["messages"][1]["content"] == kept and len(server.seen) == 2


@pytest.mark.parametrize(
    ("key", "models", "message"),
    [
        pytest.param("secret-key", (200, {}, b"<html>"), "does not list its models", id="another service"),
        pytest.param("secret-ключ", "{}", "OPENAI_API_KEY: the key holds", id="other letters in the key"),
        pytest.param("secret-key", listed("mm"), "unknown model 'm'. Did you mean 'mm'", id="a close match"),
    ],
)
def test_an_error_about_the_list_of_models_has_no_key(judge, monkeypatch, key, models, message):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with ChatServer(lambda body, turn: (404, {}, b"{}"), models=models).running() as server:
        with pytest.raises(UnavailableError, match=message) as error:
            judge(server, retries=0).check()
        assert "secret" not in str(error.value)


def test_requests_are_sent_at_once(judge):
    with ChatServer(plain, delay=0.05).running() as server:
        judge(server, concurrency=4).score([item._replace(hypothesis=f"{n}") for n, item in enumerate(ITEMS * 4)])
    assert server.most_at_once == 4


def test_the_expectation_is_over_the_tokens_of_the_scale(judge):
    top = [("4", math.log(0.5)), ("2", math.log(0.25)), ("the", math.log(0.2)), ("9", math.log(0.05))]
    with ChatServer(lambda body, turn: (200, {}, completion("4", [top]))).running() as server:
        scores = judge(server, score_from="expectation").score(ITEMS[:1])
    assert scores[0] == pytest.approx(((4 * 0.5 + 2 * 0.25) / 0.75 - 1) / 4, abs=1e-12)
    assert server.seen[0]["logprobs"] is True and server.seen[0]["top_logprobs"] == 20


PERCENT = "user: 'Rate {hypothesis} for {reference}'"  # 0 to 100


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("87", 0.87, id="a number"),
        pytest.param(" 87.5\n", 0.875, id="a fraction"),
        pytest.param("Score: 87.", 0.87, id="a sentence"),
        pytest.param("**87**", 0.87, id="Markdown"),
        pytest.param('{"score": 87}', 0.87, id="JSON that was not asked for"),
        pytest.param("<score>87</score>", 0.87, id="XML"),
        pytest.param("I would say (87).", 0.87, id="in parentheses"),
        pytest.param("100", 1.0, id="the end of the scale"),
        pytest.param("0", 0.0, id="zero is a number"),
        pytest.param("87/100", 0.87, id="the scale's end after a slash"),
        pytest.param("Score: 87 / 100.", 0.87, id="and with blanks"),
        pytest.param("I give it 87 out of 100!", 0.87, id="and in words"),
        pytest.param("100/100", 1.0, id="twice the end"),
        pytest.param("<think>I would say 70 or 80 …</think>\n\n90", 0.9, id="thoughts"),
        pytest.param("I would say 70 …</think> 90", 0.9, id="thoughts whose start is in the prompt"),
        pytest.param("<THINKING>70</THINKING>90", 0.9, id="thoughts by another name"),
        pytest.param("<think>One of 70 and 80: 90", math.nan, id="unfinished thoughts"),
        pytest.param("<think>70", math.nan, id="one number in unfinished thoughts"),
        pytest.param("<think>70</think> <think>80", math.nan, id="thoughts again, unfinished"),
        pytest.param("On a scale from 0 to 100, I would rate this translation 87.", math.nan, id="the scale repeated"),
        pytest.param("Between 80 and 90", math.nan, id="two numbers"),
        pytest.param("87. So 87.", math.nan, id="one number twice"),
        pytest.param("1. 87", math.nan, id="the number of a list"),
        pytest.param("80-90", math.nan, id="a range"),
        pytest.param("87/120", math.nan, id="the end of another scale"),
        pytest.param("87/1000", math.nan, id="a longer one"),
        pytest.param("101", math.nan, id="beyond the scale"),
        pytest.param("-5", math.nan, id="below the scale, not 5"),
        pytest.param("\u22125", math.nan, id="with a true minus"),
        pytest.param("1e1", math.nan, id="an exponent, not 1"),
        pytest.param("1,000", math.nan, id="thousands, not 1"),
        pytest.param("87,5", math.nan, id="a decimal comma, or two numbers"),
        pytest.param("90%", math.nan, id="per cent, of whatever scale"),
        pytest.param("v2", math.nan, id="a name"),
        pytest.param("f(1)", math.nan, id="code"),
        pytest.param("4\u00bd", math.nan, id="a half more"),
        pytest.param("9" * 400, math.nan, id="beyond floats"),
        pytest.param("nan", math.nan, id="no number by name"),
        pytest.param("eighty-seven", math.nan, id="in words"),
        pytest.param("", math.nan, id="nothing"),
    ],
)
def test_an_answer_is_read_where_it_says_one_number_of_the_scale(judge, tmp_path, text, expected):
    (tmp_path / "percent.yaml").write_text(PERCENT)
    with ChatServer(lambda body, turn: (200, {}, completion(text))).running() as server:
        metric = judge(server, prompt=str(tmp_path / "percent.yaml"))
        with (
            contextlib.nullcontext()
            if math.isfinite(expected)
            else pytest.warns(UserWarning, match="answers are unreadable")
        ):
            assert metric.score(ITEMS[:1])[0] == pytest.approx(expected, nan_ok=True)
    assert len(server.seen) == (1 if math.isfinite(expected) else 2)  # with the reminder


@pytest.mark.filterwarnings("ignore:.*answers are unreadable")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("4", 0.75, id="a digit"),
        pytest.param("4/5", 0.75, id="of five"),
        pytest.param("50", math.nan, id="50 is not 5"),
        pytest.param("101", math.nan, id="101 is not 1"),
        pytest.param("From 1 to 5: 4", math.nan, id="the scale repeated"),
        pytest.param("<script>alert(1)</script> no number", math.nan, id="a number in code"),
    ],
)
def test_a_digit_is_read_where_it_is_no_piece_of_a_number(judge, text, expected):
    with ChatServer(lambda body, turn: text).running() as server:
        assert judge(server).score(ITEMS[:1])[0] == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(
    ("score", "text", "expected"),
    [
        pytest.param(r"(-?\d+(?:\.\d+)?)", "Score: 87.5", 0.875, id="a number in a sentence"),
        pytest.param(r"(\d+)", "150", math.nan, id="beyond the scale"),
        pytest.param(r"(\d+)", "80 or 90", math.nan, id="two matches"),
        pytest.param(r"(\d+)", "87.5", math.nan, id="a piece of a fraction"),
        pytest.param(r"(\d+)", "-5", math.nan, id="a number below the scale"),
        pytest.param("([1-5])", "50", math.nan, id="the start of a number"),
        pytest.param(r"(\d)\Z", "87", math.nan, id="the end of a number"),
        pytest.param(r"Score: (\d+)", "From 0 to 100. Score: 87", 0.87, id="one match among numbers"),
        pytest.param(r"Score: (\d+)", "<think>Score: 70</think>Score: 87", 0.87, id="thoughts"),
        pytest.param(r"Score: (\d+)", "87", math.nan, id="no match"),
        pytest.param(r"(.*)", "inf", math.nan, id="not finite"),
        pytest.param("json:score", 'Sure: {"errors": [], "score": 40}', 0.4, id="a JSON field"),
        pytest.param("json:score", '{"errors": []} {"score": "40"}', 0.4, id="in the second object"),
        pytest.param("json:score", '{"score": 0} {"score": 40}', math.nan, id="the form repeated"),
        pytest.param("json:score", '<think>{"score": 0}</think> {"score": 40}', 0.4, id="a JSON field after thoughts"),
        pytest.param("json:score", '{"score": true}', math.nan, id="no number"),
        pytest.param("json:score", '{"score": "1_0"}', math.nan, id="a number of Python's"),
        pytest.param("json:score", "{" * 5000, math.nan, id="broken JSON"),
        pytest.param("json:score", '{"a":' * 150_000, math.nan, id="JSON nested too deeply"),
        pytest.param("expectation", "87", math.nan, id="no probabilities"),
    ],
)
def test_an_expression_or_a_field_finds_the_one_score_of_an_answer(score, text, expected):
    read = Prompt("p", "{source}{hypothesis}", score=score).score_of(Answer(text))
    assert read == pytest.approx(expected, nan_ok=True)


@pytest.mark.filterwarnings("ignore:.*answers are unreadable")
@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        pytest.param(["4"], 0.75, id="a token"),
        pytest.param(["Score", ":", " 4", "."], 0.75, id="in a sentence"),
        pytest.param(["4", "/", "5"], 0.75, id="before the scale's end"),
        pytest.param(["<think>", "2", "?</think>", "4"], 0.75, id="after thoughts"),
        pytest.param(["1", " to ", "5", ": ", "4"], math.nan, id="the scale repeated"),
        pytest.param(["4", "0"], math.nan, id="a piece of a number"),
        pytest.param(["9"], math.nan, id="beyond the scale"),
        pytest.param(["The"], math.nan, id="a word with numbers among its alternatives"),
    ],
)
def test_an_expectation_is_that_of_the_token_of_the_number(judge, tokens, expected):
    places = [[(token, 0.0), *((alternative, -900.0) for alternative in "15")] for token in tokens]
    reply = (200, {}, completion("".join(tokens), places))
    with ChatServer(lambda body, turn: reply).running() as server:
        scores = judge(server, score_from="expectation").score(ITEMS[:1])
    assert scores[0] == pytest.approx(expected, nan_ok=True)


MANY = [Item(reference=f"a house {n}", hypothesis=f"one house {n}") for n in range(100)]
CUT = (200, {}, completion("I\x1b[31m would rate " + "this " * 200, finish_reason="length"))


def test_a_metric_stops_after_twenty_unread_answers_and_asks_again_when_the_server_is_mended(judge):
    with ChatServer(lambda body, turn: CUT).running() as server:
        with pytest.raises(UnavailableError, match="20 answers in a row") as error:
            judge(server, concurrency=4).score(MANY)
        sentence = str(error.value)
        assert all(
            word in sentence for word in ("max_tokens", "thinking", "logprobs", "llama.cpp", "'I\\x1b[31m would")
        )
        assert sentence.isprintable() and len(sentence) < 700 and len(server.seen) <= 2 * (20 + 4)
        n_before = len(server.seen)
        server.answer = plain
        assert np.isfinite(judge(server).score(MANY)).all() and len(server.seen) == n_before + 100


def test_unread_answers_in_a_row_are_counted_over_calls(judge):
    with ChatServer(lambda body, turn: CUT).running() as server:
        metric = judge(server, concurrency=1, max_tokens=7)
        with pytest.warns(UserWarning, match=r"cut at max_tokens=7"):
            assert np.isnan(metric.score(MANY[:19])).all()
        server.answer = lambda body, turn: plain(body) if "house 19" in body["messages"][0]["content"] else CUT
        with pytest.warns(UserWarning, match="19 of 20"):  # one that is read begins the count anew
            metric.score(MANY[19:39])
        with pytest.raises(UnavailableError, match="20 answers in a row"):
            metric.score(MANY[39:40])


def test_an_expectation_without_log_probabilities_says_which_servers_send_them(judge):
    sentence = (
        "'4' .without token log probabilities: vLLM and llama.cpp's server send them, `transformers serve` does not"
    )
    with ChatServer(lambda body, turn: "4").running() as server, pytest.warns(UserWarning, match=sentence):
        assert np.isnan(judge(server, score_from="expectation").score(ITEMS[:1])[0])


def endless(piece):
    while True:
        yield piece


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        pytest.param(lambda: (200, {}, endless(b" " * 65536)), "longer than 8,000,000 bytes", id="endless"),
        pytest.param(lambda: (400, {}, endless(b"x" * 65536)), "longer than 8,000,000 bytes", id="an endless error"),
        pytest.param(lambda: (500, {}, endless(b"x" * 65536)), "longer than 8,000,000 bytes", id="one to try again"),
        pytest.param(lambda: (200, {}, b" " * 8_000_001), "longer than 8,000,000 bytes", id="large"),
        pytest.param(
            lambda: (200, {"Content-Encoding": "gzip"}, gzip.compress(b" " * 50_000_000)),
            r"compression \(gzip\)",
            id="compressed",
        ),
    ],
)
def test_an_answer_of_any_size_is_not_read(judge, reply, message):
    with ChatServer(lambda body, turn: reply(), models=reply()).running() as server:
        with pytest.raises(UnavailableError, match=message):
            judge(server).score(ITEMS[:1])
        with pytest.raises(UnavailableError, match=message):
            judge(server).check()
        assert server.n_bytes < 60_000_000 and len(server.seen) == 1


@pytest.mark.parametrize("status", [301, 307, 308])
def test_a_redirect_to_another_server_is_refused_and_named(judge, monkeypatch, status):
    monkeypatch.setenv("OPENAI_API_KEY", "secret-key")
    with ChatServer(plain).running() as elsewhere, ChatServer().running() as server:
        redirect = (status, {"Location": f"{elsewhere.url}/chat/completions"}, b"")
        server.answer, server.models = lambda body, turn: redirect, redirect
        sentence = f"{server.url[:-3]} redirects to {elsewhere.url[:-3]}, which would get the texts"  # another port
        with pytest.raises(UnavailableError, match=sentence):
            judge(server).score(ITEMS[:1])
        with pytest.raises(UnavailableError, match=sentence):
            judge(server).check()
        server.answer = lambda body, turn: (status, {"Location": f"https{server.url[4:]}/x"}, b"")
        with pytest.raises(UnavailableError, match="redirects to https://127.0.0.1"):  # another scheme
            judge(server).score(ITEMS[:1])
    assert elsewhere.seen == [] and elsewhere.keys == set()


def test_a_redirect_on_the_same_server_is_followed(judge):
    again = (307, {"Location": "/v1/chat/completions?again"}, b"")
    with ChatServer(lambda body, turn: again if turn == 0 else plain(body)).running() as server:
        assert np.isfinite(judge(server).score(ITEMS[:1])).all() and len(server.seen) == 2


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("message", ["secret, then -key", "c2VjcmV0LWtleQ=="], ids=["in pieces", "Base64"])
def test_what_a_server_says_of_a_refused_key_is_not_shown(judge, monkeypatch, status, message):
    monkeypatch.setenv("OPENAI_API_KEY", "secret-key")
    fault = (status, {}, json.dumps({"error": {"message": f"bad key: {message}"}}).encode())
    with ChatServer(lambda body, turn: fault, models=fault).running() as server:
        for ask in (lambda: judge(server).score(ITEMS[:1]), judge(server, retries=0).check):
            with pytest.raises(UnavailableError, match=f"{status}.*set OPENAI_API_KEY") as error:
                ask()
            assert "bad key" not in str(error.value) and message not in str(error.value)


def test_a_key_in_an_answer_is_not_shown(judge, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret-key")
    echo = ChatServer(lambda body, turn: "the secret-key")
    with echo.running() as server, pytest.warns(UserWarning, match=r"'the \*\*\*'"):
        judge(server).score(ITEMS[:1])


@pytest.mark.parametrize(
    ("base_url", "key", "warned"),
    [
        pytest.param("http://elsewhere.invalid/v1", "secret-key", True, id="http beyond this machine"),
        pytest.param("http://elsewhere.invalid/v1", "", False, id="without a key"),
        pytest.param("https://elsewhere.invalid/v1", "secret-key", False, id="https"),
        pytest.param("http://127.0.0.2:9/v1", "secret-key", False, id="this machine"),
        pytest.param("http://localhost.elsewhere.invalid/v1", "secret-key", True, id="a name like this machine's"),
    ],
)
def test_a_key_that_others_can_read_is_warned_of(monkeypatch, base_url, key, warned):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with warnings.catch_warnings(record=True) as caught, contextlib.suppress(UnavailableError):
        warnings.simplefilter("always")
        Judge(model="m", base_url=base_url, prompt="plain", retries=0, timeout=5).check()
    assert any("OPENAI_API_KEY are sent unencrypted" in str(warning.message) for warning in caught) == warned


@pytest.mark.parametrize(("average", "expected"), [("mean", 0.25), ("median", 0.0)])
def test_repeated_scores_are_averaged_and_kept(average, expected, judge):
    """Answers 1, 1, 1 and 5 on a scale of 1 to 5."""
    with ChatServer(lambda body, turn: "1115"[turn]).running() as server:
        metric = judge(server, repeat=4, average=average)
        statistics = metric.statistics(ITEMS[:1])
        assert statistics[0, :2].tolist() == [expected, 1.0]
        assert sorted(statistics[0, 2:].tolist()) == [0.0, 0.0, 0.0, 1.0]
        assert metric.score(ITEMS[:1]).tolist() == [expected]
        assert len(server.seen) == 4 and metric.count_texts(ITEMS[0], 10) == 40


def test_repetitions_without_a_score_take_no_part():
    turns = np.array([[math.nan, math.nan], [0.5, math.nan], [1.0, math.nan]])
    metric = Judge(model="m", prompt="plain", repeat=3)
    assert metric._average_turns(turns)[0] == 0.75 and np.isnan(metric._average_turns(turns)[1])


def test_sampling_that_is_null_is_not_sent(judge):
    """Models of 2025 and later refuse temperature 0, and ask for max_completion_tokens."""
    with ChatServer(lambda body, turn: "1").running() as server:
        settings = {"temperature": None, "max_tokens": None, "seed": None, "max_completion_tokens": 500}
        metric = judge(server, **settings, extra_body={"reasoning_effort": "low"})
        metric.score(ITEMS[:1])
        assert set(server.seen[-1]) == {"model", "messages", "max_completion_tokens", "reasoning_effort"}
        assert "|max_completion_tokens:500|extra_body:{" in metric.signature and "temperature" not in metric.signature
        assert "at most 1,000 written" in metric.budget(2, 100)
        assert "any number written" in dataclasses.replace(metric, max_completion_tokens=None).budget(2, 100)
    with pytest.raises(ConfigError, match=r"extra_body: model has a key of its own; write metric.judge.model=VALUE"):
        judge(server, extra_body={"model": "other"})


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param('{"errors": []}', 1.0, id="no error"),
        pytest.param('{"errors": [{"severity": "minor"}, {"severity": "Major"}]}', 1 - 6 / 25, id="minor and major"),
        pytest.param('{"errors": [{"severity": "critical"}, {"severity": "minor"}]}', 0.0, id="25 points at most"),
        pytest.param('{"errors": [{"severity": "grave"}]}', math.nan, id="another severity"),
        pytest.param('{"errors": ["minor"]}', math.nan, id="no object"),
        pytest.param("no errors", math.nan, id="no list"),
    ],
)
def test_a_list_of_errors_is_a_score(answer, expected):
    """MQM's points (Freitag et al. 2021), 25 at most."""
    assert Prompt.load("gemba_mqm").score_of(Answer(answer)) == pytest.approx(expected, nan_ok=True)


def test_the_identity_is_the_served_model_the_prompt_and_the_sampling(judge, tmp_path):
    prompt = tmp_path / "mine.yaml"
    prompt.write_text("user: 'Rate {hypothesis} for {source}'\n")
    with ChatServer().running() as server:
        base = judge(server).fit(rated([], "none"))
        assert base.served == "m" and "model:m|prompt:plain" in base.signature
        same = {"concurrency": 1, "timeout": 1.0, "retries": 0, "max_requests": 9, "base_url": "http://x/v1"}
        assert dataclasses.replace(base, **same).fingerprint() == base.fingerprint()
        changed = {"temperature": 1.0, "seed": 1, "max_tokens": 5, "prompt": str(prompt), "score_from": "([1-4])"}
        prints = [str(dataclasses.replace(base, **{key: value}).fingerprint()) for key, value in changed.items()]
        assert len({*prints, str(base.fingerprint())}) == 6
    assert judge(server, retries=0).named_by_the_server() == "m"  # as it said while it was there


def test_languages_are_named_in_english():
    prompt = Prompt.load("gemba_da")
    assert prompt.languages("zh-en") == {"source_language": "Chinese", "target_language": "English"}
    assert prompt.reads == ("source", "reference", "hypothesis")
    for pair, reason in {
        "none": r"the language pair is unknown: set it \(score --language-pair de-en",
        "deen": "'deen' is no pair of language codes such as de-en",
        "xx-en": "'xx' of 'xx-en' is not the code of one",
        "German-English": "'German' of 'German-English' is not the code",
    }.items():
        with pytest.raises(ConfigError, match=reason):
            prompt.languages(pair)


def test_score_names_the_languages_of_its_texts(tmp_path, capsys):
    files = []
    for role, text in (("source", "ein Haus"), ("reference", "a house"), ("hypothesis", "one house 3")):
        (tmp_path / role).write_text(f"{text}\n")
        files += [f"--{role}", str(tmp_path / role)]
    with ChatServer(lambda body, turn=0: "50").running() as server:
        settings = (f"metric.base_url={server.url}", "metric.model=m", f"metric.answers={tmp_path / 'kept'}")
        command = ["--metric", "judge", "-q", *files, *(part for item in settings for part in ("--set", item))]
        assert score_command(command) == 2
        assert "the language pair is unknown: set it (score --language-pair de-en" in capsys.readouterr().err
        assert score_command([*command, "--language-pair", "deutsch"]) == 2
        assert "language_pair: 'deutsch' is no language pair; write the codes" in capsys.readouterr().err
        assert score_command([*command, "--language-pair", "de-xx"]) == 2
        assert "'xx' of 'de-xx' is not the code of one" in capsys.readouterr().err
        assert not server.seen
        assert score_command([*command, "--language-pair", "de-en", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["scores"][0]["score"] == 0.5
        (body,) = server.seen
        assert "from German to English" in body["messages"][-1]["content"]
        loaded = bmx_grid.load(
            "judge", None, settings=dict(item.split("=", 1) for item in settings), language_pair="fr-en"
        )
        assert loaded.score(["one house"], references=["a house"], sources=["une maison"]).tolist() == [0.5]
    assert "from French to English" in server.seen[1]["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        pytest.param({"base_url": "http://me:secret@host/v1"}, "without a user name", id="a password in the address"),
        pytest.param({"base_url": "localhost:8000"}, "base_url", id="no scheme"),
        pytest.param({"base_url": "http://[host/v1"}, "base_url", id="half an address"),
        pytest.param({"base_url": "http://host:99999/v1"}, "base_url", id="no port"),
        pytest.param({"base_url": "http://host/v1?key=secret"}, "and query", id="a key in the address"),
        pytest.param({"prompt": "gemba"}, "Did you mean", id="an unknown prompt"),
        pytest.param({"prompt": "missing.yaml"}, "missing.yaml", id="no such file"),
        pytest.param({"score_from": "("}, "no regular expression", id="a broken expression"),
        pytest.param({"score_from": "5"}, "0 groups", id="an expression without a group"),
        pytest.param({"answers": "s3://bucket"}, "no folder", id="answers in an object store"),
    ],
)
def test_settings_that_cannot_be_are_refused_without_showing_secrets(settings, message):
    with pytest.raises(BmxError, match=message) as error:
        Judge(**{"model": "m", **settings})
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("user: '{hypothesis} {referense} {source}'", "referense", id="an unknown field"),
        pytest.param("user: '{source}'", "it must have", id="no hypothesis"),
        pytest.param("user: '{source} {hypothesis'", "a brace itself is written twice", id="an open brace"),
        pytest.param("system: x", "user must be given", id="no message"),
        pytest.param("user: '{source}{hypothesis}'\nlow: 3", "unknown key 'low'", id="an unknown key"),
        pytest.param("user: '{source}{hypothesis}'\nlowest: 9\nhighest: 3", "below highest", id="an empty scale"),
    ],
)
def test_prompts_that_cannot_be_are_refused(tmp_path, text, message):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises((ConfigError, DataError), match=message):
        Judge(model="m", prompt=str(path))


def test_a_budget_is_told_and_kept():
    judge = Judge(model="m", prompt="plain", max_requests=2000)
    n = len(judge.template.system + judge.template.user)
    assert judge.budget(1000, 400_000 - 1000 * n) == (
        "1,000 requests and at most as many reminders; without these about 100,000 tokens read and at most 32,000 "
        "written"
    )
    with pytest.raises(ConfigError, match=r"may send 2,002 requests .* \(1,001, and a reminder.*max_requests is 2,000"):
        judge.budget(1001, 0)


@pytest.mark.processes
def test_a_killed_sweep_asks_at_most_one_batch_again(forks, tmp_path):
    at_once, chosen = 8, ("dataset=[sample]", "dataset.sample.language_pairs=[de-en]", "limit=6", "metric=[judge]")
    plain = ("explainer=[erasure]", "evaluation=[grid]", "analysis=false", "tracking=none", "executor.n_jobs=1")
    folders = (f"output_dir={tmp_path / 'out'}", f"cache_dir={tmp_path / 'cache'}")
    with ChatServer(delay=0.1).running() as server:
        judge = ("model=m", "prompt=gemba_da_noref", f"concurrency={at_once}", f"base_url={server.url}")
        of_judge = (f"metric.judge.{setting}" for setting in judge)
        command = ["-m", "bmx_grid", *chosen, *of_judge, *plain, *folders]
        killed = Forked(forks, command, tmp_path)
        wait_for(lambda: len(server.seen) >= 5 * at_once or killed.poll() is not None)
        os.killpg(killed.pid, signal.SIGKILL)
        killed.communicate()
        assert wait_until_alone(killed.pid) == []
        n_before = len(server.seen)
        again = Forked(forks, command, tmp_path)
        out, err = again.communicate(timeout=120)
        assert again.returncode == 0, out + err
    texts = [body["messages"][-1]["content"] for body in server.seen]
    assert 5 * at_once <= n_before < len(set(texts)) and len(texts) - len(set(texts)) <= at_once
