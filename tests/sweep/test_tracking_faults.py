"""Stores that refuse, hang, vanish or are not there: one sentence, one warning, and the sweep goes on."""

import errno
import json
import os
import re
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

import pytest
from fakes import ROOT, composed
from some_results import make_result
from tracked import CONFIG, CURVES, HEADLINE, SCALARS, n_points, segments, started, track

from bmx_grid.commands.sweep import run
from bmx_grid.core.errors import ConfigError, StoreError
from bmx_grid.sweep.tracking import MlflowTracker


@contextmanager
def server(answer):
    """The port of a local server that answers every request with these bytes, one after another; None: with nothing."""
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
                    threading.Thread(target=reply, args=(connection,), daemon=True).start()

        def reply(connection):
            try:
                connection.recv(65536)
                connection.sendall(answer)
                connection.close()
            except OSError:  # the client has gone
                return

        threading.Thread(target=serve, daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
    for connection in opened:
        connection.close()


@contextmanager
def nobody():
    """The port of a server that is not running."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # held, and not listened at, so that no other process opens it
        yield held.getsockname()[1]


def page(status, body, header=""):
    return f"HTTP/1.1 {status}\r\n{header}Content-Length: {len(body)}\r\n\r\n{body}".encode()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        pytest.param(b"garbage garbage\r\n\r\n", "BadStatusLine", id="garbage"),
        pytest.param(page("200 OK", "<html>a wiki</html>"), "JSON", id="a page"),
        pytest.param(page("200 OK", '{"experiment": 5}'), "", id="JSON of another kind"),
        pytest.param(page("500 Internal Server Error", "broken"), "500", id="500"),
        pytest.param(page("401 Unauthorized", "who are you"), "401", id="401"),
        pytest.param(page("429 Too Many Requests", "", "Retry-After: 3600\r\n"), "429", id="come back in an hour"),
    ],
)
def test_a_server_that_answers_wrongly_is_named_before_anything_is_computed(tmp_path, monkeypatch, answer, said):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with server(answer) as port, pytest.raises(StoreError, match=rf"127\.0\.0\.1:{port}.*tracking=none") as caught:
        MlflowTracker(uri=f"http://me:secret@127.0.0.1:{port}", timeout=20.0).start("s", CONFIG, tmp_path / "out")
    assert said in str(caught.value)
    assert "secret" not in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("listening", "said"),
    [
        pytest.param(lambda: server(None), "did not answer within 1 s", id="accepts and never answers"),
        pytest.param(nobody, "cannot be reached (Connection refused)", id="is not there"),
    ],
)
def test_a_sweep_succeeds_with_one_warning_where_its_server_cannot_be_used(
    listening, said, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    chosen = ("metric=[sentence_bleu]", "explainer=[erasure]", "limit=3", "dataset.sample.language_pairs=[de-en]")
    folders = (f"output_dir={tmp_path / 'out'}", f"cache_dir={tmp_path / 'cache'}", "executor=sequential")
    with listening() as port:
        uri = f"http://me:secret@127.0.0.1:{port}"
        store = (f"tracking.uri={uri}", "tracking.timeout=1", "analysis=false", "evaluation=[grid]")
        with pytest.warns(UserWarning, match=re.escape(said)) as caught:
            assert run(composed("+sweep=quickstart", *chosen, *folders, *store)) == 0
    shown = capsys.readouterr().out
    assert "not tracked: MLflow's" in shown and said in shown
    warned = [str(warning.message) for warning in caught if said in str(warning.message)]
    assert len(warned) == 1 and "\n" not in warned[0]
    assert "secret" not in shown + warned[0] and "mlflow ui" not in shown
    assert (tmp_path / "out" / "tables" / "grid.parquet").is_file() and (tmp_path / "out" / "settings.csv").is_file()


def test_a_server_is_not_asked_which_store_it_is(tmp_path):
    tracker = MlflowTracker(uri="http://me:secret@127.0.0.1:9")
    assert tracker.store(tmp_path) == "http://me:***@127.0.0.1:9 bmx_grid"
    assert tracker.where() == "\n  MLflow at http://me:***@127.0.0.1:9"
    assert "secret" not in repr(tracker)


# fmt: off
OTHER_KINDS = [
    "mlruns", "file:///tmp/x", "postgresql://me:secret@host/db", "", "http://", "http://:5000", "http://host:port",
    "http://me:sec/secret@host", "http://me:secret#x@host:5000", "http://me:my secret@host",
    "http://host:5000?token=secret", "http://host/\nsecret", "HTTP://me:secret@host",
]
# fmt: on


@pytest.mark.parametrize("uri", OTHER_KINDS)
def test_other_kinds_of_address_are_refused_without_their_password(uri):
    with pytest.raises(ConfigError, match=r"tracking\.uri") as caught:
        MlflowTracker(uri=uri)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value) or "\n" in uri


@pytest.mark.parametrize(
    "address",
    [
        pytest.param("sqlite:///{here}/file/mlflow.db", id="a file where a folder should be"),
        pytest.param("sqlite:///{here}/folder", id="a folder where the file should be"),
        pytest.param("sqlite:///{here}/text.db", id="not a database"),
        pytest.param("sqlite:///:memory:", id="no file"),
        pytest.param("sqlite:///{here}/pipe", id="a pipe"),
        pytest.param("sqlite:///{here}/100%/mlflow.db", id="a name that MLflow reads as another"),
        pytest.param("sqlite:///{here}/what?.db", id="a question mark"),
        pytest.param("sqlite:///{here}/nul\0.db", id="a NUL"),
        pytest.param("sqlite:///{here}/\udcff.db", id="half a character"),
        pytest.param("sqlite:///{here}/" + "x" * 6000, id="a name of 6,000 characters"),
        pytest.param("sqlite:///", id="no name"),
        pytest.param("sqlite:////proc/nothing/mlflow.db", id="a folder that cannot be made"),
        pytest.param("sqlite:////sys/mlflow.db", id="a file that cannot be made"),
        pytest.param("sqlite:///{here}/foreign.db", id="a database of something else"),
    ],
)
def test_a_store_that_cannot_be_used_is_named_with_the_way_out(tmp_path, address):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "text.db").write_text("no database at all" * 100)
    with sqlite3.connect(tmp_path / "foreign.db") as foreign:
        foreign.execute("CREATE TABLE letters (text)")
    before = (tmp_path / "foreign.db").read_bytes()
    address = address.format(here=tmp_path)
    with pytest.raises(StoreError) as caught:
        MlflowTracker(uri=address).start("s", CONFIG, tmp_path / "out")
    told = str(caught.value)
    assert address.removeprefix("sqlite:///")[:100] in told or not address.isprintable()
    assert "tracking=none" in told and told.isprintable() and len(told) < 800
    assert (tmp_path / "foreign.db").read_bytes() == before


def _refused(*_given, **_options):
    from mlflow.exceptions import MlflowException

    long = "API request failed with exception HTTPConnectionPool(host='127.0.0.1', port=5000): Max retries exceeded"
    raise MlflowException(long) from ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")


def _full_store(*_given, **_options):
    from mlflow.exceptions import MlflowException

    raise MlflowException("(sqlite3.OperationalError) database or disk is full\n[SQL: INSERT INTO metrics ...]")


def _full_disk(*_given, **_options):
    raise OSError(errno.ENOSPC, "No space left on device")


def _silent(*_given, **_options):
    raise TimeoutError("timed out")


@pytest.mark.parametrize(
    ("call", "fault", "said"),
    [
        pytest.param("log_batch", _refused, "reached (Connection refused)", id="server ended"),
        pytest.param("log_inputs", _refused, "reached (Connection refused)", id="before its points"),
        pytest.param("log_batch", _full_store, "database or disk is full", id="store full"),
        pytest.param("create_run", _full_disk, "No space left", id="disk full"),
        pytest.param("set_terminated", _silent, "did not answer within 30 s", id="silent"),
    ],
)
def test_a_fault_in_mid_sweep_is_one_short_warning_and_the_same_command_completes(
    folder, monkeypatch, call, fault, said
):
    tracker = started(folder, sets=[segments()])
    with monkeypatch.context() as patch:
        patch.setattr(f"mlflow.MlflowClient.{call}", fault)
        with pytest.warns(UserWarning, match=re.escape(said)) as caught:
            tracker.log(make_result())
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tracker.log(make_result(metric="bleu"))
            tracker.headline({"settings": 3}, "", [])
            tracker.finish("finished", [])
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
assert "mlflow" not in sys.modules
tracker.start("s", "seed: 0", Path(sys.argv[1]))
tracker.finish("finished", [])
print(json.dumps([tracker.failure, os.environ["MLFLOW_DISABLE_TELEMETRY"]]))
"""


@pytest.mark.processes
def test_two_sweeps_may_create_the_store_at_once_and_nothing_is_printed(tmp_path):
    """Also from another working folder, in which MLflow must leave nothing."""
    cwd = tmp_path / "cwd"
    cwd.mkdir()
    environment = {"PATH": "", "HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)}
    options = {"cwd": cwd, "env": environment, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command = [sys.executable, "-c", START]
    both = [subprocess.Popen([*command, str(tmp_path / "store" / name)], **options) for name in ("one", "two")]
    for process in both:
        shown, told = process.communicate(timeout=120)
        assert process.returncode == 0, told
        assert json.loads(shown) == [None, "true"]
        assert told == ""
    assert not list(cwd.iterdir())
    assert not Path(tmp_path / "home").exists()
    assert {path.name for path in (tmp_path / "store").iterdir()} <= {"mlflow.db", ".mlflow.db.lock"}


@pytest.mark.processes
def test_a_process_killed_while_it_makes_the_database_leaves_nothing_for_long(tmp_path):
    environment = {"PATH": "", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", START, str(tmp_path / "out")]
    running = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    while not any(part.stat().st_size > 0 for part in tmp_path.glob(".mlflow.db.*.part")):
        assert running.poll() is None
        time.sleep(0.01)
    running.kill()
    running.wait()
    assert not (tmp_path / "mlflow.db").exists()
    assert list(tmp_path.glob(".mlflow.db.*.part"))
    assert subprocess.run(command, env=environment, check=False, stdout=subprocess.DEVNULL).returncode == 0
    assert {path.name for path in tmp_path.iterdir()} == {"mlflow.db", ".mlflow.db.lock"}
