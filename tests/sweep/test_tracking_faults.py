"""Stores that refuse, hang, vanish or are not there: one sentence, one warning, and the sweep goes on."""

import errno
import functools
import json
import os
import re
import shutil
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
from some_results import P, W, make_result
from tracked import CONFIG, HEADLINE, SCALARS, artifacts_of, files_of, n_points, runs_of, segments, started, track

from bmx_grid.commands.sweep import run
from bmx_grid.errors import ConfigError, StoreError
from bmx_grid.sweep.tracking.mlflow import MlflowTracker
from bmx_grid.terminal import masked_address


@contextmanager
def server(answer, pause=0.0):
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
                for byte in answer:
                    connection.sendall(bytes([byte]))
                    time.sleep(pause)
                connection.close()
            except OSError:  # the client has gone
                return

        threading.Thread(target=serve, daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
    for connection in opened:
        connection.close()


def page(status, body, header=""):
    return f"HTTP/1.1 {status}\r\n{header}Content-Length: {len(body)}\r\n\r\n{body}".encode()


@pytest.mark.parametrize(
    ("answer", "pause"),
    [
        pytest.param(None, 0.0, id="nothing"),
        pytest.param(page("200 OK", "{}" + " " * 500), 0.2, id="a byte from time to time"),
        pytest.param(page("429 Too Many Requests", "", "Retry-After: 3600\r\n"), 0.0, id="come back in an hour"),
    ],
)
def test_a_server_that_never_answers_is_given_up_with_one_warning(tmp_path, answer, pause):
    with server(answer, pause) as port:
        tracker = MlflowTracker(uri=f"http://me:secret@127.0.0.1:{port}", timeout=1.0)
        begin = time.monotonic()
        with pytest.warns(UserWarning, match="did not answer") as caught:
            tracker.start("s", CONFIG, tmp_path / "out")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert not tracker.wants_artifacts(make_result())
            tracker.log(make_result(), {})
            tracker.headline({"a": 1.0}, "", [])
            tracker.analysis({"a": 1.0}, [])
            tracker.finish("finished", [])
        assert time.monotonic() - begin < 60  # most of it is the import of MLflow, which a busy machine draws out
    (warning,) = caught
    assert "did not answer within 1 s" in tracker.failure
    assert str(warning.message).startswith(tracker.failure) and "\n" not in str(warning.message)
    assert "secret" not in str(warning.message) + tracker.where() + repr(tracker)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        pytest.param(b"garbage garbage\r\n\r\n", "BadStatusLine", id="garbage"),
        pytest.param(page("200 OK", "<html>a wiki</html>"), "JSON", id="a page"),
        pytest.param(page("200 OK", '{"experiment": 5}'), "", id="JSON of another kind"),
        pytest.param(page("500 Internal Server Error", "broken"), "500", id="500"),
        pytest.param(page("401 Unauthorized", "who are you"), "401", id="401"),
    ],
)
def test_a_server_that_answers_wrongly_is_named_before_anything_is_computed(tmp_path, monkeypatch, answer, said):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with server(answer) as port, pytest.raises(StoreError, match=rf"127\.0\.0\.1:{port}.*tracking=none") as caught:
        MlflowTracker(uri=f"http://me:secret@127.0.0.1:{port}", timeout=20.0).start("s", CONFIG, tmp_path / "out")
    assert said in str(caught.value)
    assert "secret" not in str(caught.value) and "\n" not in str(caught.value)


@contextmanager
def nobody():
    """The port of a server that is not running."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # held, and not listened at, so that no other process opens it
        yield held.getsockname()[1]


@pytest.mark.parametrize(
    ("listening", "said"),
    [
        pytest.param(lambda: server(None), "did not answer within 1 s", id="accepts and never answers"),
        pytest.param(nobody, "cannot be reached (Connection refused)", id="is not there"),
    ],
)
def test_a_sweep_succeeds_with_a_warning_where_its_server_cannot_be_used(
    listening, said, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    chosen = ("metric=[sentence_bleu]", "explainer=[erasure]", "limit=3", "dataset.sample.language_pairs=[de-en]")
    folders = (f"output_dir={tmp_path / 'out'}", f"cache_dir={tmp_path / 'cache'}", "executor=sequential")
    with listening() as port:
        store = (f"tracking.uri=http://127.0.0.1:{port}", "tracking.timeout=1", "analysis=false", "evaluation=[grid]")
        start = time.monotonic()
        with pytest.warns(UserWarning, match=re.escape(said)):
            assert run(composed("+sweep=quickstart", *chosen, *folders, *store)) == 0
        assert time.monotonic() - start < 120
    shown = capsys.readouterr().out
    assert "not tracked: MLflow's" in shown and said in shown
    assert "failed" not in shown
    assert (tmp_path / "out" / "tables" / "grid.parquet").is_file() and (tmp_path / "out" / "settings.csv").is_file()


def test_a_store_that_hangs_in_mid_sweep_is_waited_for_once(folder, monkeypatch):
    """And the action that was given up ends with the call that hung, when the store comes back."""
    from mlflow import MlflowClient

    back = threading.Event()
    send = MlflowClient.log_batch
    tracker = started(folder, timeout=0.5)
    monkeypatch.setattr(MlflowClient, "log_batch", lambda *given, **options: back.wait(300) and send(*given, **options))
    begin = time.monotonic()
    with pytest.warns(UserWarning, match=r"did not answer within 0\.5 s"):
        tracker.log(make_result(), files_of(folder))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tracker.log(make_result(metric="bleu"), files_of(folder))
        tracker.finish("finished", [])
    assert time.monotonic() - begin < 60
    back.set()
    time.sleep(0.5)
    monkeypatch.undo()
    assert not [run for run in runs_of(folder)[1] if "complete" in run.data.tags or artifacts_of(folder, run)]
    assert track(folder, [make_result()]).failure is None
    assert n_points(folder) == len(P) * len(W) + SCALARS + HEADLINE


def test_a_large_grid_has_more_time_than_a_small_one(folder, monkeypatch):
    waited = []
    tracker = started(folder)
    monkeypatch.setattr(tracker._attendant, "run", lambda work, seconds: waited.append(seconds))
    for n_points_of_p in (60, 60_000):
        tracker.log(make_result(p=tuple(range(n_points_of_p))), {})
    assert waited == [30.0, 30.0 + 180.0]


def test_somebody_who_ends_a_sweep_does_not_wait_for_a_store_that_hangs(folder, monkeypatch):
    from mlflow import MlflowClient

    back = threading.Event()
    tracker = started(folder)
    monkeypatch.setattr(MlflowClient, "set_terminated", lambda *_args, **_options: back.wait(300))
    begin = time.monotonic()
    with pytest.warns(UserWarning, match="did not answer within 3 s"):
        tracker.finish("killed", [])
    assert time.monotonic() - begin < 60
    back.set()


def test_another_process_that_keeps_the_store_is_an_end_of_tracking_not_of_the_sweep(folder):
    from filelock import FileLock

    tracker = started(folder, timeout=0.5)
    with FileLock(folder.parent / ".mlflow.db.lock"), pytest.warns(UserWarning, match="not answer|not free"):
        tracker.log(make_result(), files_of(folder))
    assert tracker.failure is not None


@pytest.mark.parametrize("timeout", [0.0, -1.0, float("nan"), float("inf"), 4000.0])
def test_a_time_that_is_none_is_refused(timeout):
    with pytest.raises(ConfigError, match=r"tracking\.timeout"):
        MlflowTracker(timeout=timeout)


@pytest.mark.parametrize(
    "uri",
    [
        "mlruns",
        "file:///tmp/x",
        "postgresql://me:secret@host/db",
        "",
        "http://",
        "http://:5000",
        "http://host:port",
        "http://host:99999",
        "http://me:sec/secret@host",
        "http://me:secret#x@host:5000",
        "http://me:my secret@host",
        "http://host:5000?token=secret",
        "http://host/\nsecret",
        "HTTP://me:secret@host",
    ],
)
def test_other_kinds_of_address_are_refused_without_their_password(uri):
    with pytest.raises(ConfigError, match=r"tracking\.uri") as caught:
        MlflowTracker(uri=uri)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value) or "\n" in uri


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("http://host:5000", "http://host:5000"),
        ("https://me:secret@host:5000/x", "https://me:***@host:5000/x"),
        ("http://token@host", "http://***@host"),
        ("http://me:p@ss:w/rd@host", "http://me:***@host"),
        ("http://me:my secret@host", "http://me:***@host"),
        ("postgresql+psycopg2://me:secret@host/db", "postgresql+psycopg2://me:***@host/db"),
        ("http://host/x?token=secret&a=b", "http://host/x?token=***&a=b"),
        ("sqlite:////home/me@work/mlflow.db", "sqlite:////home/me@work/mlflow.db"),
        ("uri: 'http://me:secret@host', b: me@work", "uri: 'http://me:***@host', b: me@work"),
        ("tried http://a:secret@b and https://c:secret@d", "tried http://a:***@b and https://c:***@d"),
        ("no address: me@work", "no address: me@work"),
        ("", ""),
    ],
)
def test_passwords_in_addresses_are_masked(text, masked):
    assert masked_address(text) == masked


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
        pytest.param("sqlite:///{here}/line\n.db", id="a line break"),
        pytest.param("sqlite:///{here}/\udcff.db", id="half a character"),
        pytest.param("sqlite:///{here}/" + "x" * 6000, id="a name of 6,000 characters"),
        pytest.param("sqlite:///{here}/" + "x/" * 3000 + "mlflow.db", id="a path of 6,000 characters"),
        pytest.param("sqlite:///", id="no name"),
        pytest.param("sqlite:////proc/nothing/mlflow.db", id="a folder that cannot be made"),
        pytest.param("sqlite:////sys/mlflow.db", id="a file that cannot be made"),
        pytest.param("sqlite:///{here}/foreign.db", id="a database of something else"),
    ],
)
def test_a_store_that_cannot_be_used_is_named_with_the_way_out(tmp_path, address, monkeypatch):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "text.db").write_text("no database at all" * 100)
    with sqlite3.connect(tmp_path / "foreign.db") as foreign:
        foreign.execute("CREATE TABLE letters (text)")
    before = (tmp_path / "foreign.db").read_bytes()
    address = address.format(here=tmp_path)
    start = time.monotonic()
    with pytest.raises(StoreError) as caught:
        MlflowTracker(uri=address).start("s", CONFIG, tmp_path / "out")
    told = str(caught.value)
    assert address.removeprefix("sqlite:///")[:100] in told or not address.isprintable()
    assert "tracking=none" in told and told.isprintable() and len(told) < 800
    assert time.monotonic() - start < 90
    assert (tmp_path / "foreign.db").read_bytes() == before


def test_a_database_that_cannot_be_written_is_named(folder, monkeypatch):
    """Read-only, as it is to a person; root may write all files, so the answer of SQLite is made up."""
    import bmx_grid.sweep.tracking.database as database

    class Closed(sqlite3.Connection):
        def execute(self, statement, *given):
            raise sqlite3.OperationalError("attempt to write a readonly database")

    closed = functools.partial(sqlite3.connect, factory=Closed)
    monkeypatch.setattr(database.sqlite3, "connect", closed)
    with pytest.raises(StoreError, match=r"mlflow\.db: attempt to write a readonly database; .*tracking=none"):
        started(folder)


def test_a_store_lost_in_mid_sweep_is_warned_of_once_and_loses_nothing_else(folder, monkeypatch):
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

    def lost(*_args, **_options):
        raise MlflowException("the server went away\nwith a long story")

    results = [make_result(language_pair=pair) for pair in ("a", "b", "c")]
    tracker = MlflowTracker(experiment="tests")
    tracker.start("s", CONFIG, folder)
    tracker.log(results[0], files_of(folder))
    monkeypatch.setattr(MlflowClient, "log_batch", lost)
    with pytest.warns(UserWarning, match="the server went away"):
        tracker.log(results[1], files_of(folder))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tracker.log(results[2], files_of(folder))
        tracker.headline({"settings": 3}, "", [])
        tracker.analysis({"a": 1.0}, [])
        tracker.finish("finished", [])
    assert not any(tracker.wants_artifacts(result) for result in results)
    assert tracker.failure is not None
    assert "long story" not in tracker.failure
    monkeypatch.undo()
    track(folder, results)
    assert n_points(folder) == 3 * (len(P) * len(W) + SCALARS) + HEADLINE


def _refused(*_given, **_options):
    from mlflow.exceptions import MlflowException

    long = "API request failed with exception HTTPConnectionPool(host='127.0.0.1', port=5000): Max retries exceeded"
    raise MlflowException(long) from ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")


def _full_store(*_given, **_options):
    from mlflow.exceptions import MlflowException

    raise MlflowException("(sqlite3.OperationalError) database or disk is full\n[SQL: INSERT INTO metrics ...]")


def _full_disk(*_given, **_options):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    ("where", "fault", "said"),
    [
        pytest.param("mlflow.MlflowClient.log_batch", _refused, "reached (Connection refused)", id="server ended"),
        pytest.param(
            "mlflow.MlflowClient.log_inputs", _refused, "reached (Connection refused)", id="before its points"
        ),
        pytest.param("mlflow.MlflowClient.log_batch", _full_store, "database or disk is full", id="store full"),
        pytest.param("mlflow.MlflowClient.log_artifacts", _full_disk, "No space left", id="disk of the files full"),
        pytest.param(
            "bmx_grid.sweep.tracking.artifacts.shutil.copyfile", _full_disk, "No space left", id="own disk full"
        ),
    ],
)
def test_a_fault_in_mid_sweep_is_one_short_warning_and_the_same_command_completes(
    folder, monkeypatch, where, fault, said
):
    tracker = started(folder)
    tracker.reads([segments()])
    with monkeypatch.context() as patch:
        patch.setattr(where, fault)
        with pytest.warns(UserWarning, match=re.escape(said)) as caught:
            tracker.log(make_result(), files_of(folder))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tracker.log(make_result(metric="bleu"), files_of(folder))
            tracker.finish("finished", [])
    (warning,) = caught
    assert "\n" not in str(warning.message) and "HTTPConnectionPool" not in str(warning.message)
    assert track(folder, [make_result(), make_result(metric="bleu")]).failure is None
    assert n_points(folder) == 2 * (len(P) * len(W) + SCALARS) + HEADLINE


START = """
import sys, json
from pathlib import Path
from bmx_grid.sweep.tracking.mlflow import MlflowTracker
tracker = MlflowTracker()
assert "mlflow" not in sys.modules
tracker.start("s", "seed: 0", Path(sys.argv[1]))
tracker.finish("finished", [])
import os
import re
print(json.dumps([tracker.failure, os.environ["MLFLOW_DISABLE_TELEMETRY"]]))
"""


@pytest.mark.processes
def test_two_sweeps_may_create_the_store_at_once_and_nothing_is_printed(tmp_path):
    """Also from another working folder, in which MLflow must leave nothing."""
    cwd = tmp_path / "cwd"
    cwd.mkdir()
    environment = {"PATH": "", "HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", START]
    both = [
        subprocess.Popen(
            [*command, str(tmp_path / "store" / name)],
            cwd=cwd,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in ("one", "two")
    ]
    for process in both:
        shown, told = process.communicate(timeout=120)
        assert process.returncode == 0, told
        assert json.loads(shown) == [None, "true"]
        assert told == ""
    assert not list(cwd.iterdir())
    assert not Path(tmp_path / "home").exists()
    assert {path.name for path in (tmp_path / "store").iterdir()} <= {"mlflow.db", ".mlflow.db.lock"}


def test_what_killed_processes_left_is_removed(folder, tmp_path):
    """Whoever makes the database holds it: what lies there when it is held belongs to nobody."""
    ours = [tmp_path / ".mlflow.db.new-a1b2_c3d", tmp_path / ".mlflow-a1b2c3d4"]
    theirs = [tmp_path / ".other.db.new-a1b2c3d4", tmp_path / ".mlflow-0b2c3d4e", tmp_path / ".mlflow.db.newer"]
    for left in (*ours, *theirs):
        left.mkdir()
    (ours[1] / "mlflow.db").write_text("half")
    (theirs[1] / "other.db").write_text("half")
    (tmp_path / ".mlflow.db.host.1.abc.part-journal").write_text("half")
    (tmp_path / ".mlflow-note").write_text("a file")
    started(folder)
    kept = {path.name for path in tmp_path.iterdir()}
    assert kept == {"out", "mlflow.db", ".mlflow.db.lock", ".mlflow-note", *(path.name for path in theirs)}


KILLED = """
import os, signal, sys
from pathlib import Path
from mlflow import MlflowClient
from bmx_grid.sweep.tracking.mlflow import MlflowTracker
MlflowClient.search_experiments = lambda *_args, **_options: os.kill(os.getpid(), signal.SIGKILL)
MlflowTracker().start("s", "seed: 0", Path(sys.argv[1]))
"""


@pytest.mark.processes
def test_a_process_killed_while_it_makes_the_database_leaves_nothing_for_long(template, tmp_path):
    environment = {"PATH": "", "PYTHONPATH": str(ROOT)}
    ended = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "out")], env=environment, check=False)
    assert ended.returncode == -9
    assert not (tmp_path / "mlflow.db").exists()
    assert list(tmp_path.glob(".mlflow.db.new-*"))
    shutil.copy(template, tmp_path / "mlflow.db")  # in place of the seconds that making it takes
    started(tmp_path / "out")
    assert {path.name for path in tmp_path.iterdir()} == {"mlflow.db", ".mlflow.db.lock"}
