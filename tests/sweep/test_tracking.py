"""The MLflow edge: every point once, whatever is repeated, cut off or lost."""

import dataclasses
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from some_results import P, W, make_result, with_grid

from bmx_grid.configure import build, load_option
from bmx_grid.errors import ConfigError, StoreError
from bmx_grid.sweep.plan import Refused
from bmx_grid.sweep.tracking.entries import points, step_scale, sweep_identity
from bmx_grid.sweep.tracking.base import NoTracker, Tracker
from bmx_grid.sweep.tracking.mlflow import MlflowTracker

ROOT = Path(__file__).resolve().parents[2]
CONFIG = "name: s\ndataset: {toy: {}}\nmetric: {chrf: {}, bleu: {}}\nseed: 0\nexecutor: {n_jobs: 2}\noutput_dir: here\n"
SCALARS = 12 + 4  # numbers about the grid, and the fixed point's
HEADLINE = 1  # numbers of the parent run, as `track` gives them


@pytest.fixture(scope="session")
def template(tmp_path_factory):
    """A fresh database, made once: MLflow takes seconds for it."""
    folder = tmp_path_factory.mktemp("template")
    MlflowTracker().start("template", CONFIG, folder / "out")
    return folder / "mlflow.db"


@pytest.fixture
def folder(template, tmp_path):
    """An output folder with a store beside it, and a figure and a table to log."""
    shutil.copy(template, tmp_path / "mlflow.db")
    (tmp_path / "out").mkdir()
    for name in ("grid.parquet", "figure.png", "setting.parquet"):
        (tmp_path / "out" / name).write_bytes(b"content of " + name.encode())
    return tmp_path / "out"


def files_of(folder):
    """The files of a setting."""
    return folder / "figure.png", folder / "setting.parquet"


def track(folder, results, failed=(), config=CONFIG, name="s", **options):
    """One run of a sweep with these results."""
    tracker = MlflowTracker(experiment="tests", **options)
    tracker.start(name, config, folder)
    for result in results:
        tracker.log(result, files_of(folder))
    tracker.headline({"settings": len(results)}, "All is well.", [folder / "grid.parquet"])
    tracker.finish("finished", list(failed))
    return tracker


def client(folder):
    from mlflow import MlflowClient

    return MlflowClient(f"sqlite:///{folder.parent / 'mlflow.db'}")


def runs_of(folder):
    """Parents and children, oldest first."""
    mlflow = client(folder)
    found = mlflow.search_runs([mlflow.get_experiment_by_name("tests").experiment_id], order_by=["start_time ASC"])
    parents = [run for run in found if "mlflow.parentRunId" not in run.data.tags]
    return parents, [run for run in found if "mlflow.parentRunId" in run.data.tags]


def history(folder, run, key):
    return [(one.step, one.value) for one in client(folder).get_metric_history(run.info.run_id, key)]


def n_points(folder):
    """All points in the store, counted past MLflow."""
    import sqlite3

    with sqlite3.connect(folder.parent / "mlflow.db") as database:
        return database.execute("SELECT COUNT(*) FROM metrics").fetchone()[0]


def test_a_sweep_is_a_parent_run_with_a_child_for_each_setting(folder):
    results = [make_result(metric=name) for name in ("chrf", "bleu")]
    track(folder, results)
    (parent,), children = runs_of(folder)
    assert parent.data.params == {"dataset": "toy", "metric": "chrf, bleu", "seed": "0"}
    assert {run.data.tags["mlflow.parentRunId"] for run in children} == {parent.info.run_id}
    assert {run.info.run_name for run in children} == {result.label for result in results}
    assert {run.info.status for run in (parent, *children)} == {"FINISHED"}
    child = next(run for run in children if run.data.params["metric"] == "chrf")
    assert child.data.params["explainer.batched"] == "true"
    assert child.data.params["grid.w"] == "0, 0.4, 1"
    assert child.data.tags["signature"] == results[0].signature
    assert child.data.tags["language_pair"] == "de-en"
    names = [item.path for item in client(folder).list_artifacts(child.info.run_id)]
    assert sorted(names) == ["figure.png", "setting.parquet"]
    assert [item.path for item in client(folder).list_artifacts(parent.info.run_id)] == ["grid.parquet"]


def test_every_grid_point_is_there_once_at_its_step(folder):
    result = make_result()
    track(folder, [result])
    (child,) = runs_of(folder)[1]
    for column, name in enumerate(("pearson/w0", "pearson/w0.4", "pearson/w1")):
        kept = dict(history(folder, child, name))
        assert kept == dict(zip(range(-30, 30), result.grid.correlation[:, column], strict=True))
    assert n_points(folder) == len(P) * len(W) + SCALARS + HEADLINE
    assert child.data.metrics["best pearson"] == result.grid.best
    assert child.data.metrics["best p"] == result.grid.best_p
    assert child.data.metrics["fixed gain"] == result.fixed - 0.5


def test_steps_are_stored_as_integers(folder):
    import sqlite3

    track(folder, [make_result()])
    with sqlite3.connect(folder.parent / "mlflow.db") as database:
        assert database.execute("SELECT DISTINCT typeof(step) FROM metrics").fetchall() == [("integer",)]


def test_the_papers_grid_has_its_3600_points_and_600_steps():
    paper = make_result(p=tuple((np.arange(-300, 300) / 10).tolist()), w=(0.0, 0.2, 0.4, 0.6, 0.8, 1.0))
    sent, n_left_out = points(paper)
    curves = [entry for entry in sent if entry[0].startswith("pearson/")]
    assert (len(curves), n_left_out) == (3600, 0)
    assert {step for _, _, step in curves} == set(range(-300, 300))
    assert {name for name, _, _ in curves} == {f"pearson/w{w}" for w in ("0", "0.2", "0.4", "0.6", "0.8", "1")}


@pytest.mark.parametrize(
    ("p", "scale"),
    [
        pytest.param(P, 10, id="tenths"),
        pytest.param((-1.0, 0.0, 1.0), 10, id="whole numbers keep the tenths"),
        pytest.param((-0.25, 0.0, 0.25), 100, id="quarters need hundredths"),
        pytest.param((-np.inf, 0.1, np.inf), 10, id="infinite p have no step"),
    ],
)
def test_no_two_p_share_a_step(p, scale):
    result = make_result(p=p)
    assert step_scale(result) == scale
    steps = [step for name, _, step in points(result)[0] if name == "pearson/w0"]
    assert steps == [round(one * scale) for one in p if np.isfinite(one)]


def test_non_finite_values_are_counted_and_not_sent(folder):
    holes = make_result().grid.correlation.copy()
    holes[:7, 0] = np.nan
    holes[0, 1] = np.inf
    track(folder, [with_grid(make_result(), correlation=holes, length_control=np.nan)])
    (child,) = runs_of(folder)[1]
    assert child.data.tags["non_finite"] == "9"
    assert len(history(folder, child, "pearson/w0")) == len(P) - 7
    assert n_points(folder) == len(P) * len(W) + SCALARS + HEADLINE - 9


def test_an_explainer_without_a_fixed_point_has_no_fixed_numbers():
    result = dataclasses.replace(make_result(), fixed=np.nan, fixed_p=np.nan, fixed_w=np.nan)
    sent, n_left_out = points(result)
    assert n_left_out == 0
    assert not [name for name, _, _ in sent if name.startswith("fixed")]


def test_a_repeated_sweep_adds_nothing(folder):
    results = [make_result(metric=name) for name in ("chrf", "bleu")]
    track(folder, results)
    before = n_points(folder)
    again = MlflowTracker(experiment="tests")
    again.start("s", CONFIG.replace("n_jobs: 2", "n_jobs: 7").replace("here", "there"), folder)
    assert not any(again.wants_artifacts(result) for result in results)
    for result in results:
        again.log(dataclasses.replace(result, seconds=0.1, n_texts=0, cached=True), [folder / "none"])
    again.headline({"settings": 2}, "All is well.", [folder / "grid.parquet"])
    again.finish("finished", [])
    parents, children = runs_of(folder)
    assert (len(parents), len(children), n_points(folder)) == (1, 2, before)
    assert {run.data.tags["texts"] for run in children} == {"800"}


def test_the_same_sweep_twice_at_the_same_time_makes_each_run_once(folder):
    result = make_result()
    artifact = folder.parent / "artifact.txt"
    artifact.write_text("x")
    one, other = (MlflowTracker(experiment="tests") for _ in range(2))
    for tracker in (one, other):
        tracker.start("s", CONFIG, folder)
    for tracker in (one, other):
        assert tracker.wants_artifacts(result)
        tracker.log(result, [artifact])
        tracker.finish("finished", [])
        assert tracker.failure is None
    parents, children = runs_of(folder)
    assert (len(parents), len(children)) == (1, 1)
    sent, _ = points(result)
    assert n_points(folder) == len(sent)


@pytest.mark.parametrize("call", range(7))
def test_a_run_that_was_cut_off_is_completed_in_place(folder, monkeypatch, call):
    """Killed at the first, second, ... call to the store: the same points in the end, and one run."""
    from mlflow import MlflowClient

    result = make_result()
    monkeypatch.setattr("bmx_grid.sweep.tracking.runs.METRICS_AT_ONCE", 80)
    calls = []

    def cut(method):
        def wrapped(*args, **kwargs):
            calls.append(method)
            if len(calls) > call:
                raise KeyboardInterrupt
            return method(*args, **kwargs)

        return wrapped

    tracker = MlflowTracker(experiment="tests")
    tracker.start("s", CONFIG, folder)
    with monkeypatch.context() as patch:
        for name in ("log_batch", "log_artifact", "set_terminated"):
            patch.setattr(MlflowClient, name, cut(getattr(MlflowClient, name)))
        with pytest.raises(KeyboardInterrupt):
            tracker.log(result, files_of(folder))
    assert runs_of(folder)[1][0].data.tags.get("complete") is None
    track(folder, [dataclasses.replace(result, seconds=0.01, cached=True)])
    (child,) = runs_of(folder)[1]
    assert (child.data.tags["complete"], child.info.status) == ("true", "FINISHED")
    assert n_points(folder) == len(P) * len(W) + SCALARS + HEADLINE
    assert len(client(folder).list_artifacts(child.info.run_id)) == 2


def test_a_setting_with_another_result_gets_a_new_run_and_marks_the_old_one(folder):
    track(folder, [make_result(seed=0)])
    track(folder, [make_result(seed=1)])
    (parent,), (old, new) = runs_of(folder)
    assert old.data.tags["superseded_by"] == new.info.run_id
    assert "superseded_by" not in new.data.tags
    assert parent.data.tags["mlflow.note.content"] == "All is well."


def test_another_sweep_has_a_parent_and_children_of_its_own(folder):
    track(folder, [make_result()])
    track(folder, [make_result()], config=CONFIG.replace("seed: 0", "seed: 1"))
    parents, children = runs_of(folder)
    assert {run.data.tags["mlflow.parentRunId"] for run in children} == {run.info.run_id for run in parents}
    assert len(parents) == len(children) == 2


def test_failures_are_told_and_forgotten_when_mended(folder):
    track(folder, [make_result()], failed=[Refused("toy · comet", "comet is not installed")])
    (parent,), _ = runs_of(folder)
    assert (parent.info.status, parent.data.tags["failed"]) == ("FAILED", "1")
    assert "- failed: toy · comet: comet is not installed" in parent.data.tags["mlflow.note.content"]
    track(folder, [make_result()])
    (parent,), _ = runs_of(folder)
    assert (parent.info.status, parent.data.tags["failed"]) == ("FINISHED", "0")
    assert "comet" not in parent.data.tags["mlflow.note.content"]


def test_a_sweep_is_the_same_wherever_and_however_it_is_run():
    same = CONFIG.replace("n_jobs: 2", "n_jobs: 9").replace("here", "there") + "on_error: stop\n"
    assert sweep_identity("s", CONFIG) == sweep_identity("s", same)
    for other in (("t", CONFIG), ("s", CONFIG.replace("seed: 0", "seed: null"))):
        assert sweep_identity("s", CONFIG)[0] != sweep_identity(*other)[0]


def test_one_search_a_sweep(folder, monkeypatch):
    from mlflow import MlflowClient

    results = [make_result(seed=seed, language_pair=f"{seed}") for seed in range(3)]
    track(folder, results)
    searches = []
    search = MlflowClient.search_runs
    monkeypatch.setattr(MlflowClient, "search_runs", lambda *a, **k: searches.append(a) or search(*a, **k))
    track(folder, results)
    assert len(searches) == 1


@pytest.mark.parametrize(
    "address",
    [
        pytest.param("sqlite:///{here}/file/mlflow.db", id="a file where a folder should be"),
        pytest.param("sqlite:///{here}/folder", id="a folder where the file should be"),
        pytest.param("sqlite:///{here}/text.db", id="not a database"),
        pytest.param("sqlite:///:memory:", id="no file"),
        pytest.param("sqlite:///{here}/pipe", id="a pipe"),
        pytest.param("sqlite:///{here}/100%/mlflow.db", id="a name that MLflow reads as another"),
        pytest.param("http://127.0.0.1:{port}", id="a server that does not answer"),
    ],
)
def test_a_store_that_cannot_be_used_is_named_with_the_way_out(tmp_path, address, monkeypatch):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "text.db").write_text("no database at all" * 100)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = address.format(here=tmp_path, port=port)
    start = time.monotonic()
    with pytest.raises(StoreError) as caught:
        MlflowTracker(uri=address).start("s", CONFIG, tmp_path / "out")
    assert address in str(caught.value)
    assert "tracking=none" in str(caught.value)
    assert time.monotonic() - start < 20


@pytest.mark.parametrize("uri", ["mlruns", "file:///tmp/x", "postgresql://host/db", ""])
def test_other_kinds_of_address_are_refused(uri):
    with pytest.raises(ConfigError, match="tracking.uri"):
        MlflowTracker(uri=uri)


def test_a_deleted_experiment_is_named(folder):
    track(folder, [])
    mlflow = client(folder)
    mlflow.delete_experiment(mlflow.get_experiment_by_name("tests").experiment_id)
    with pytest.raises(StoreError, match=r"'tests'.*tracking.experiment="):
        track(folder, [])


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


def test_no_tracking_writes_nothing(tmp_path):
    tracker = NoTracker()
    tracker.start("s", CONFIG, tmp_path / "out")
    assert not tracker.wants_artifacts(make_result())
    tracker.log(make_result(), [tmp_path / "figure.png"])
    tracker.headline({"settings": 1}, "", [])
    tracker.analysis({"a": 1.0}, [])
    tracker.finish("finished", [])
    assert not tracker.is_complete("s", CONFIG, tmp_path / "out", {})
    assert (tracker.where(), tracker.failure) == ("", None)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("name", "kind"), [("mlflow", MlflowTracker), ("none", NoTracker)])
def test_the_options_build(name, kind):
    assert build(load_option("tracking", name), Tracker, "tracking") == kind()


START = """
import sys, json
from pathlib import Path
from bmx_grid.sweep.tracking.mlflow import MlflowTracker
tracker = MlflowTracker()
assert "mlflow" not in sys.modules
tracker.start("s", "seed: 0", Path(sys.argv[1]))
tracker.finish("finished", [])
import os
print(json.dumps([tracker.failure, os.environ["MLFLOW_DISABLE_TELEMETRY"]]))
"""


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


def test_a_database_cut_off_while_it_was_made_is_no_obstacle(tmp_path, monkeypatch):
    from mlflow import MlflowClient

    def killed(*_args, **_options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, "search_experiments", killed)
        with pytest.raises(KeyboardInterrupt):
            MlflowTracker().start("s", CONFIG, tmp_path / "out")
    assert not (tmp_path / "mlflow.db").exists()
