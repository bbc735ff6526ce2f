"""A language model as a metric, against a server on loopback that answers well, badly, slowly or not at all."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import signal
import socket
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from chat_server import ChatServer, completion, score_text
from pairs import rated
from started import start, wait_for, wait_until_alone

from bmx_grid.attribution.explain import explain_items
from bmx_grid.core.errors import BmxError, ConfigError, DataError, UnavailableError
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.metrics.judge import Judge
from bmx_grid.models import server as server_module
from bmx_grid.models.prompts import Prompt
from bmx_grid.models.server import Answer
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
    ("fault", "said"),
    [
        pytest.param((401, {}, b'{"error": {"message": "bad key secret-key"}}'), "401.*bad key", id="a wrong key"),
        pytest.param((500, {"Retry-After": "0.01"}, b"oops"), "500", id="a server error that stays"),
        pytest.param((200, {}, b"<html>"), "its answer is none", id="another service"),
        pytest.param((400, {}, b'{"error": {"message": "\\u001b[31m"}}'), r"\\x1b\[31m", id="control characters"),
    ],
)
def test_a_fault_that_stays_is_named_without_the_key_and_keeps_what_was_answered(judge, monkeypatch, fault, said):
    monkeypatch.setenv("OPENAI_API_KEY", " secret-key\n")  # spaces around a key are not part of it

    def answer(body, turn):
        return fault if "house 3" in body["messages"][-1]["content"] else plain(body)

    with ChatServer(answer).running() as server:
        with pytest.raises(UnavailableError, match=said) as error:
            judge(server, concurrency=1).score(ITEMS)
        assert "secret-key" not in str(error.value) and server.keys == {"Bearer secret-key"}
        n_before = len(server.seen)
        server.answer = plain
        judge(server).score(ITEMS)
    assert len(server.seen) - n_before == 3  # houses 3, 4 and 5


def test_a_server_that_is_not_there_is_named(judge):
    with pytest.raises(UnavailableError, match="no model is named"):
        Judge().check()
    with ChatServer().running() as server:
        pass
    with pytest.raises(UnavailableError, match=server.url):
        judge(server, retries=0).score(ITEMS[:1])
    with pytest.raises(UnavailableError, match="base_url=URL"):
        judge(server, retries=0).named_by_the_server()


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        pytest.param([], "disconnected|not write|reset|not connect", id="a connection that is closed"),
        pytest.param([b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", *[b" "] * 20], "Timeout", id="byte by byte"),
    ],
)
def test_what_speaks_no_http_or_never_ends_is_named(judge, monkeypatch, sent, said):
    monkeypatch.setattr(server_module, "MOST_PAUSE", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=send_slowly, args=(listening, sent), daemon=True).start()
        address = SimpleNamespace(url=f"http://127.0.0.1:{listening.getsockname()[1]}/v1")
        metric = judge(address, retries=0, timeout=0.5)
        with pytest.raises(UnavailableError, match=said):
            metric.score(ITEMS[:1])
        with pytest.raises(UnavailableError, match=said):
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

    with ChatServer(answer).running() as server, pytest.warns(UserWarning, match="can be read"):
        found = explain_items(judge(server), Erasure(), ITEMS[:3], seed=0)
    assert [bool(np.isnan(one.attributions["hypothesis"]).all()) for one in found] == [False, False, True]
    assert np.isfinite([one.base_score for one in found]).all()


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
            assert [one.text for one in judge(server).ask([(("user", "a"),)])] == [kept]
        assert judge(server, score_from=r"(\d)\Z").score(ITEMS[:1])[0] == 0.25
        assert server.seen[-1]["messages"][1]["content"] == kept


@pytest.mark.parametrize(
    ("key", "models", "said"),
    [
        pytest.param("secret-key", (200, {}, b"<html>"), "does not list its models", id="another service"),
        pytest.param("secret-ключ", "{}", "OPENAI_API_KEY: the key holds", id="other letters in the key"),
        pytest.param("secret-key", listed("mm"), "unknown model 'm'. Did you mean 'mm'", id="a close match"),
    ],
)
def test_an_error_about_the_list_of_models_has_no_key(judge, monkeypatch, key, models, said):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with ChatServer(lambda body, turn: (404, {}, b"{}"), models=models).running() as server:
        with pytest.raises(UnavailableError, match=said) as error:
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


@pytest.mark.parametrize(
    ("score", "text", "expected"),
    [
        pytest.param(r"(-?\d+(?:\.\d+)?)", "Score: 87.5 of 100", 0.875, id="a number in a sentence"),
        pytest.param(r"(\d+)", "150", math.nan, id="beyond the scale"),
        pytest.param(r"Score: (\d+)", "87", math.nan, id="no match"),
        pytest.param(r"(.*)", "inf", math.nan, id="not finite"),
        pytest.param("json:score", 'Sure: {"errors": [], "score": 40}', 0.4, id="a JSON field"),
        pytest.param("json:score", '{"score": true}', math.nan, id="no number"),
        pytest.param("json:score", "{" * 5000, math.nan, id="broken JSON"),
        pytest.param("expectation", "87", math.nan, id="no probabilities"),
    ],
)
def test_what_is_read_from_an_answer(score, text, expected):
    found = Prompt("p", "{source}{hypothesis}", score=score).score_of(Answer(text))
    assert found == pytest.approx(expected, nan_ok=True)


def test_repeated_scores_are_kept_and_the_first_counts(judge):
    with ChatServer(lambda body, turn: str(1 + turn)).running() as server:
        metric = judge(server, repeat=3)
        statistics = metric.statistics(ITEMS[:2])
        assert sorted(statistics[0]) == [0.0, 0.25, 0.5, 1.0] and statistics[0, 1] == 1.0 and len(server.seen) == 6
        assert np.array_equal(metric.score(ITEMS[:2]), statistics[:, 0])


def test_the_identity_is_the_served_model_the_prompt_and_the_sampling(judge, tmp_path):
    own = tmp_path / "mine.yaml"
    own.write_text("user: 'Rate {hypothesis} for {source}'\n")
    with ChatServer().running() as server:
        base = judge(server).fitted(rated([], "none"))
        assert base.served == "m" and "model:m|prompt:plain" in base.signature
        same = {"concurrency": 1, "timeout": 1.0, "retries": 0, "max_requests": 9, "base_url": "http://x/v1"}
        assert dataclasses.replace(base, **same).fingerprint() == base.fingerprint()
        changed = {"temperature": 1.0, "seed": 1, "max_tokens": 5, "prompt": str(own), "score_from": "([1-4])"}
        prints = [str(dataclasses.replace(base, **{key: to}).fingerprint()) for key, to in changed.items()]
        assert len({*prints, str(base.fingerprint())}) == 6
    assert judge(server, retries=0).named_by_the_server() == "m"  # as it said while it was there


def test_languages_are_named_in_english():
    prompt = Prompt.load("gemba_da")
    assert prompt.languages("zh-en") == {"source_language": "Chinese", "target_language": "English"}
    assert prompt.reads == ("source", "reference", "hypothesis")
    with pytest.raises(ConfigError, match="no pair of language codes"):
        prompt.languages("none")


@pytest.mark.parametrize(
    ("settings", "said"),
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
def test_settings_that_cannot_be(settings, said):
    with pytest.raises(BmxError, match=said) as error:
        Judge(**{"model": "m", **settings})
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("user: '{hypothesis} {referense} {source}'", "referense", id="an unknown field"),
        pytest.param("user: '{source}'", "it must have", id="no hypothesis"),
        pytest.param("user: '{source} {hypothesis'", "a brace itself is written twice", id="an open brace"),
        pytest.param("system: x", "user must be given", id="no message"),
        pytest.param("user: '{source}{hypothesis}'\nlow: 3", "unknown key 'low'", id="an unknown key"),
        pytest.param("user: '{source}{hypothesis}'\nlowest: 9\nhighest: 3", "below highest", id="an empty scale"),
    ],
)
def test_prompts_that_cannot_be(tmp_path, text, said):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises((ConfigError, DataError), match=said):
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
def test_a_killed_sweep_asks_at_most_one_batch_again(tmp_path):
    at_once, chosen = 8, ("dataset=[sample]", "dataset.sample.language_pairs=[de-en]", "limit=6", "metric=[judge]")
    plain = ("explainer=[erasure]", "evaluation=[grid]", "analysis=false", "tracking=none", "executor.n_jobs=1")
    folders = (f"output_dir={tmp_path / 'out'}", f"cache_dir={tmp_path / 'cache'}")
    with ChatServer(delay=0.1).running() as server:
        judge = ("model=m", "prompt=gemba_da_noref", f"concurrency={at_once}", f"base_url={server.url}")
        of_judge = (f"metric.judge.{setting}" for setting in judge)
        command = [sys.executable, "-m", "bmx_grid", *chosen, *of_judge, *plain, *folders]
        killed = start(command, tmp_path)
        wait_for(lambda: len(server.seen) >= 5 * at_once or killed.poll() is not None)
        os.killpg(killed.pid, signal.SIGKILL)
        killed.communicate()
        assert wait_until_alone(killed.pid) == []
        n_before = len(server.seen)
        again = start(command, tmp_path)
        out, err = again.communicate(timeout=120)
        assert again.returncode == 0, out + err
    texts = [body["messages"][-1]["content"] for body in server.seen]
    assert 5 * at_once <= n_before < len(set(texts)) and len(texts) - len(set(texts)) <= at_once
