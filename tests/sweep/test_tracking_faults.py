"""Stores that refuse, hang, vanish or are not there: one sentence, one warning, and the sweep goes on."""

import errno
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import warnings
from contextlib import contextmanager, nullcontext, suppress

import pytest
from fakes import ROOT
from filelock import FileLock
from some_results import make_result
from started import Forked
from tracked import CONFIG, CURVES, HEADLINE, SCALARS, client, n_points, runs_of, started, track

from bmx_grid.sweep import mlflow_store
from bmx_grid.sweep.mlflow_runs import NOTE
from bmx_grid.sweep.tracking import MlflowTracker


@contextmanager
def server(answer):
    """The port of a local server that answers every request with these bytes, one after another; None: with nothing.

    answer: bytes, or pieces of them that need not end.
    """
    opened = []
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(50)

        def serve():
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:  # closed: the test is over
                    return
                opened.append(connection)
                if answer is not None:
                    threading.Thread(target=talk, args=(connection,), daemon=True).start()

        def talk(connection):
            """Answer, and read on until the client has closed: closing what is not read would reset its connection."""
            with suppress(OSError):
                connection.recv(65536)
                for piece in [answer] if isinstance(answer, bytes) else answer():
                    connection.sendall(piece)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):
                    pass

        threading.Thread(target=serve, daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
    for connection in opened:
        connection.close()


def page(status, body):
    # without the header a client may send its next request into a connection that is just being closed
    return f"HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


def given_up(tracker, folder):
    """Start; the one warning that the store cannot be used, in one line and without passwords."""
    with pytest.warns(UserWarning, match="MLflow cannot use") as caught:
        tracker.start("s", CONFIG, folder)
    (warning,) = [str(entry.message) for entry in caught if "MLflow cannot use" in str(entry.message)]
    assert warning.startswith(tracker.failure) and "tracking=none" in warning and warning.isprintable()
    assert "secret" not in warning + repr(tracker) + tracker.store("s", folder) and tracker.where() == ""
    return warning


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param(b"garbage garbage\r\n\r\n", "BadStatusLine", id="garbage"),
        pytest.param(page("200 OK", "<html>a wiki</html>"), "JSON", id="a page"),
        pytest.param(page("401 Unauthorized", "who are you"), "401", id="401"),
    ],
)
def test_a_server_that_answers_wrongly_is_named(tmp_path, monkeypatch, answer, message):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with server(answer) as port:
        warning = given_up(MlflowTracker(uri=f"http://me:secret@127.0.0.1:{port}"), tmp_path / "out")
    assert message in warning and f"127.0.0.1:{port}" in warning


def test_a_server_that_cannot_be_asked_for_its_runs_leaves_a_sweep_up_to_date_with_a_warning(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with server(page("401 Unauthorized", "who are you")) as port:
        tracker = MlflowTracker(uri=f"http://me:secret@127.0.0.1:{port}")
        runs = {"store": tracker.store("s", tmp_path / "out"), "sweep": "a" * 64, "runs": ["b" * 32]}
        with pytest.warns(UserWarning, match="MLflow cannot use .*401.* run the same command when the store") as caught:
            assert tracker.has_runs("s", tmp_path / "out", runs)
    assert not [entry for entry in caught if "secret" in str(entry.message)]


def test_a_database_that_another_sweep_makes_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(mlflow_store, "LOCK_SECONDS", 0.1)
    with FileLock(tmp_path / ".mlflow.db.lock"):
        warning = given_up(MlflowTracker(uri=f"sqlite:///{tmp_path / 'mlflow.db'}"), tmp_path / "out")
    assert "another sweep has been making it for 0.1 s" in warning


@pytest.mark.parametrize(
    ("listening", "message"),
    [
        pytest.param(
            lambda: server(None),
            "it did not answer within 1 s (MLFLOW_HTTP_REQUEST_TIMEOUT)",
            id="accepts and never answers",
        ),
        pytest.param(lambda: nullcontext(9), "Connection refused", id="is not there"),
    ],
)
def test_a_sweep_succeeds_with_one_warning_where_its_server_cannot_be_used(
    listening, message, swept, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
    chosen = ("metric=[sentence_bleu]", "explainer=[erasure]", "limit=3", "dataset.sample.language_pairs=[de-en]")
    with listening() as port:
        store = ("tracking=mlflow", f"tracking.uri=http://me:secret@127.0.0.1:{port}")
        with pytest.warns(UserWarning, match=re.escape(message)) as caught:
            assert swept("+sweep=quickstart", *chosen, *store) == 0
    shown = capsys.readouterr().out
    assert "not tracked: MLflow cannot use" in shown and message in shown
    assert len([entry for entry in caught if message in str(entry.message)]) == 1
    assert "secret" not in shown and "mlflow ui" not in shown and " in MLflow: " not in shown
    assert (tmp_path / "out" / "tables" / "grid.parquet").is_file() and (tmp_path / "out" / "settings.csv").is_file()


@pytest.mark.parametrize(
    ("address", "message"),
    [
        pytest.param("{here}/file/mlflow.db", "File exists", id="a file where a folder should be"),
        pytest.param("{here}/folder", "not a permanent file", id="a folder where the file should be"),
        pytest.param("{here}/text.db", "not a database", id="not a database"),
        pytest.param("{here}/100%/mlflow.db", "not a permanent file", id="a name that MLflow reads as another"),
        pytest.param("{here}/nul\0.db", "not a permanent file", id="a NUL"),
        pytest.param("/proc/mlflow.db", "No such file", id="a folder that no file can be made in"),
        pytest.param("/proc/nothing/mlflow.db", "No such file", id="a folder that cannot be made"),
        pytest.param("{here}/foreign.db", "a database of another program", id="a database of something else"),
    ],
)
def test_a_store_that_cannot_be_used_is_named(tmp_path, address, message):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.db").write_text("no database at all" * 100)
    with sqlite3.connect(tmp_path / "foreign.db") as foreign:
        foreign.execute("CREATE TABLE letters (text)")
    before = (tmp_path / "foreign.db").read_bytes()
    assert message in given_up(MlflowTracker(uri=f"sqlite:///{address.format(here=tmp_path)}"), tmp_path / "out")
    assert (tmp_path / "foreign.db").read_bytes() == before


def test_a_deleted_experiment_is_named(folder):
    track(folder, [])
    mlflow = client(folder)
    mlflow.delete_experiment(mlflow.get_experiment_by_name("tests").experiment_id)
    warning = given_up(MlflowTracker(experiment="tests"), folder)
    assert (
        "its experiment 'tests' cannot be created or was deleted" in warning and "tracking.experiment=NAME" in warning
    )


def _refused(*_given, **_options):
    from mlflow.exceptions import MlflowException

    long = "API request failed with exception HTTPConnectionPool(host='127.0.0.1', port=5000): Max retries exceeded"
    raise MlflowException(long) from ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")


def test_a_fault_in_mid_sweep_is_one_short_warning_and_the_same_command_completes(folder, monkeypatch):
    tracker = started(folder)
    with monkeypatch.context() as patch:
        patch.setattr("mlflow.MlflowClient.log_batch", _refused)
        with pytest.warns(UserWarning, match="Connection refused") as caught:
            tracker.log(make_result())
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tracker.log(make_result(metric="bleu"))
            tracker.headline({"settings": 3}, "", (), {})
            tracker.finish([])
    (warning,) = caught
    assert str(warning.message).startswith(tracker.failure) and "\n" not in str(warning.message)
    assert "HTTPConnectionPool" not in tracker.failure and tracker.where() == ""
    assert track(folder, [make_result(), make_result(metric="bleu")]).failure is None
    assert n_points(folder) == 2 * (CURVES + SCALARS) + HEADLINE


START = """
import sys, json, os
from pathlib import Path
from bmx_grid.sweep.tracking import MlflowTracker
tracker = MlflowTracker()
print("mlflow" in sys.modules, flush=True)
tracker.start("s", "seed: 0", Path(sys.argv[1]))
tracker.finish([])
print(json.dumps([tracker.failure, os.environ["MLFLOW_DISABLE_TELEMETRY"]]))
"""


@pytest.mark.processes
def test_two_sweeps_may_create_the_store_at_once_also_where_one_was_killed_while_it_did(tmp_path, forks):
    """From another working folder, in which MLflow must leave nothing, and nothing is printed."""
    store, cwd = tmp_path / "store", tmp_path / "cwd"
    cwd.mkdir()
    environment = {"PATH": "", "HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)}
    options = {"cwd": cwd, "env": environment, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command = ["-c", START, str(store / "out")]
    killed = subprocess.Popen([sys.executable, *command], **options)
    while not any(part.stat().st_size > 0 for part in store.glob(".mlflow.db.*.part")):
        assert killed.poll() is None
        time.sleep(0.01)
    killed.kill()
    assert killed.communicate() == ("False\n", "")
    assert not (store / "mlflow.db").exists() and list(store.glob(".mlflow.db.*.part"))
    for process in [Forked(forks, command, tmp_path, cwd=cwd, environment=environment) for _ in range(2)]:
        printed, errors = process.communicate(timeout=120)
        assert (process.wait(), errors) == (0, "")
        assert json.loads(printed.removeprefix("True\n")) == [None, "true"]
    assert os.listdir(cwd) == [] and not (tmp_path / "home").exists()
    assert {path.name for path in store.iterdir()} <= {"mlflow.db", ".mlflow.db.lock"}


def test_two_sweeps_may_make_the_same_tag_of_an_experiment_at_once(folder, monkeypatch):
    from sqlalchemy.orm import Session

    tracker = started(folder)
    mlflow, merge, others = client(folder), Session.merge, ["of the other"]

    def merged_after_the_other(session, tag, **options):
        merged = merge(session, tag, **options)
        if others:
            mlflow.set_experiment_tag(tag.experiment_id, tag.key, others.pop())
        return merged

    monkeypatch.setattr(Session, "merge", merged_after_the_other)
    tracker.headline({}, "of this one", (), {})
    assert tracker.failure is None and not others
    assert mlflow.get_experiment_by_name("tests").tags[NOTE] == "of this one"


LOG = """
import sys
from pathlib import Path
from some_results import make_result
from tracked import started
tracker = started(Path(sys.argv[1]))
for number in range(1000):
    tracker.log(make_result(language_pair=str(number)))
"""


@pytest.mark.processes
def test_what_was_killed_while_it_wrote_is_completed_with_every_point_once(folder, forks):
    killed = Forked(forks, ["-c", LOG, str(folder)], folder.parent)
    while n_points(folder) < 5 * (CURVES + SCALARS):
        assert killed.poll() is None, killed.printed()
        time.sleep(0.01)
    os.kill(killed.pid, signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL
    begun = len(runs_of(folder)[1])
    again = [make_result(language_pair=str(number)) for number in range(begun)]
    assert track(folder, again).failure is None
    (sweep,), settings = runs_of(folder)
    assert len(settings) == begun and {run.info.status for run in (sweep, *settings)} == {"FINISHED"}
    assert n_points(folder) == begun * (CURVES + SCALARS) + HEADLINE
