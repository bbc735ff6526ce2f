"""Sweeps of a language model as a metric, from start to report: with `transformers serve`, and with a key."""

from __future__ import annotations

import contextlib
import csv
import os
import shutil
import signal
import socket
import urllib.request
from pathlib import Path

import pytest
from chat_server import ChatServer, completion, score_text
from started import Forked, wait_for, wait_until_alone
from tiny_models import tiny_chat

pytestmark = pytest.mark.processes
KEY = "sk-a-key-that-nobody-may-see"
SMALL = ("dataset=[sample]", "limit=4", "metric=[judge]", "explainer=[erasure]", "evaluation=[grid]")
PLAIN = ("analysis=false", "tracking=none")


def sweep_of(folder: Path, *arguments: str) -> list[str]:
    """The arguments of a sweep that writes below a folder."""
    folders = [f"{name}_dir={folder / name}" for name in ("output", "cache")]
    tracked = [] if "tracking=none" in arguments else [f"tracking.uri=sqlite:///{folder / 'mlflow.db'}"]
    return [*SMALL, *folders, *tracked, *arguments]


def begun(forks: str, folder: Path, template: Path, *arguments: str) -> Forked:
    """The sweep in a process of its own."""
    folder.mkdir(exist_ok=True)
    shutil.copy(template, folder / "mlflow.db")
    return Forked(forks, ["-m", "bmx_grid", *sweep_of(folder, *arguments)], folder)


@pytest.fixture
def swept(call, template):
    """swept(folder, *arguments): (exit status, what was said, output folder) of a sweep in a folder of its own.

    Its lines are wrapped, so white space is one blank.
    """

    def run(folder: Path, *arguments: str) -> tuple[int, str, Path]:
        if not (folder / "mlflow.db").exists():
            folder.mkdir(exist_ok=True)
            shutil.copy(template, folder / "mlflow.db")
        status, printed = call(*sweep_of(folder, "executor=sequential", *arguments))
        return status, " ".join(printed.split()), folder / "output"

    return run


@pytest.fixture
def served(forks, tmp_path, monkeypatch):
    """The address of `transformers serve` and the folder of a tiny chat model."""
    for needed in ("accelerate", "fastapi", "uvicorn"):
        pytest.importorskip(needed, reason=f"transformers serve needs {needed}")
    model = tiny_chat(tmp_path / "chat")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    (tmp_path / "hub").mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = "import sys; from transformers.cli.transformers import app; sys.exit(app())"
    given = ["serve", str(model), "--device", "cpu", "--host", "127.0.0.1", "--port", str(port)]
    server = Forked(forks, ["-c", program, *given], tmp_path)
    url = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{url}/health", timeout=5):
            return True
        assert server.poll() is None, server.communicate()
        return False

    try:
        wait_for(answers)
        yield f"{url}/v1", model
    finally:
        os.kill(server.pid, signal.SIGTERM)
        server.communicate(timeout=60)
        assert wait_until_alone(server.pid) == []


def test_a_sweep_with_transformers_serve_from_start_to_report(served, swept, tmp_path):
    url, model = served
    judge = (f"metric.judge.base_url={url}", f"metric.judge.model={model}", "metric.judge.prompt=plain")
    status, printed, output = swept(
        tmp_path, "dataset.sample.language_pairs=[de-en]", *judge, "metric.judge.max_tokens=1"
    )
    assert status == 0, printed
    assert "warning" not in printed and (output / "report.html").stat().st_size > 10_000
    (row,) = csv.DictReader((output / "settings.csv").open())
    assert -1 < float(row["baseline"]) < 1 and row["n_unexplained"] == "0" and f"model:{model}@" in row["signature"]


def test_a_key_is_in_no_file_and_in_nothing_that_is_said(forks, template, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)

    refused: list[str] = []

    def answer(body, turn):
        text = body["messages"][0]["content"]
        if "French" in text:
            return 400, {}, f'{{"error": {{"message": "no credit for {KEY}"}}}}'.encode()
        refused[:] = refused or [text]  # the first text, also with a reminder
        return "I cannot." if text in refused else score_text(body)

    with ChatServer(answer).running() as server:
        judge = (f"metric.judge.base_url={server.url}", "metric.judge.model=m", "metric.judge.key_variable=MY_KEY")
        sweep = begun(
            forks, tmp_path, template, "dataset.sample.language_pairs=[de-en,fr-en]", "executor.n_jobs=1", *judge
        )
        printed = "".join(sweep.communicate(timeout=300))
    assert server.keys == {f"Bearer {KEY}"} and sweep.returncode == 1
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"log.txt", "settings.csv", "report.html", "mlflow.db", "answers.sqlite"} <= {path.name for path in files}
    said = " ".join((tmp_path / "output" / "log.txt").read_text().split())
    assert "no credit for ***" in said and "1 answer could not be read, for example 'I cannot.'" in said
    assert KEY not in printed and [path for path in files if KEY.encode() in path.read_bytes()] == []


def test_two_sweeps_at_once_share_a_folder_of_answers(swept, forks, template, tmp_path):
    with ChatServer(delay=0.02).running() as server:
        judge = (f"metric.judge.base_url={server.url}", "metric.judge.model=m", "dataset.sample.language_pairs=[de-en]")
        shared = (*judge, f"metric.judge.answers={tmp_path / 'answers'}", *PLAIN)
        both = [begun(forks, tmp_path / name, template, *shared, "executor=sequential") for name in ("first", "second")]
        printed = [sweep.communicate(timeout=300) for sweep in both]
        assert [sweep.returncode for sweep in both] == [0, 0], printed
        n_asked = len(server.seen)
        assert swept(tmp_path / "third", *shared)[0] == 0 and len(server.seen) == n_asked
    tables = {(tmp_path / name / "output" / "settings.csv").read_text() for name in ("first", "second", "third")}
    assert len(tables) == 1


@pytest.mark.parametrize("limit", [4, 12], ids=["fewer answers than stop it", "more"])
def test_a_metric_without_any_score_fails_and_is_asked_again_when_the_server_is_mended(swept, tmp_path, limit):
    def cut(body, turn):
        return 200, {}, completion("The translation", finish_reason="length")

    small = ("dataset.sample.language_pairs=[de-en]", f"limit={limit}", "explainer=[]", "metric.judge.repeat=2", *PLAIN)
    with ChatServer(cut).running() as server:
        judge = (f"metric.judge.base_url={server.url}", "metric.judge.model=m", *small)
        status, printed, output = swept(tmp_path, *judge)
        assert status == 1 and "cut at max_tokens=32" in printed, printed
        log = " ".join((output / "log.txt").read_text().split())  # its lines are wrapped
        assert "'The translation' (cut at max_tokens=32)" in log
        n_before = len(server.seen)
        server.answer = lambda body, turn: score_text(body)
        status, printed, output = swept(tmp_path, *judge)
        assert status == 0 and len(server.seen) == n_before + 2 * limit, printed
        assert swept(tmp_path, *judge)[0] == 0 and len(server.seen) == n_before + 2 * limit


def test_an_explainer_without_any_explanation_fails(swept, tmp_path):
    with ChatServer(lambda body, turn: "no errors").running() as server:
        spans = [f"explainer.spans.base_url={server.url}", "explainer.spans.model=m", "limit=4"]
        chosen = ("metric=[chrf]", "explainer=[spans]", "dataset.sample.language_pairs=[de-en]", *PLAIN)
        prompt = "explainer.spans.prompt=spans_reference"
        status, printed, _ = swept(tmp_path, *chosen, *spans, prompt)
        assert (
            status == 1 and "spans has no explanation for any of 4 segments" in printed and "'no errors'" in printed
        ), printed
        server.answer = lambda body, turn: '{"errors": []}'
        n_before = len(server.seen)
        assert swept(tmp_path, *chosen, *spans, prompt)[0] == 0 and len(server.seen) == n_before + 4
