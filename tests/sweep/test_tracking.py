"""What is tracked of a sweep: every correlation once, whatever is repeated or interrupted."""

import contextlib
import dataclasses
import itertools
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import urllib.request
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import mlflow
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from filelock import FileLock
from some_results import make_result, with_evaluated, with_grid, without_point
from started import PATIENCE, Forked, free_port, wait_for, wait_until_alone
from tracked import (
    CONFIG,
    CURVES,
    FOUND,
    HEADLINE,
    SCALARS,
    address,
    all_runs,
    client,
    copy_store,
    n_points,
    runs_of,
    started,
    track,
)

from bmx_grid.core.configure import build, load_option
from bmx_grid.core.errors import StoreError
from bmx_grid.evaluations.base import Estimate
from bmx_grid.evaluations.grid_surface import metric_alone
from bmx_grid.evaluations.verdicts import DISTANCE, LEGEND
from bmx_grid.sweep import mlflow_store
from bmx_grid.sweep.folder import LOCK
from bmx_grid.sweep.judge import Spent
from bmx_grid.sweep.mlflow_runs import (
    Finding,
    curves_of,
    description_of,
    numbers_of,
    pages,
    parameters,
    server_command,
    source_tags,
    sweep_identity,
)
from bmx_grid.sweep.mlflow_store import check_artifact
from bmx_grid.sweep.settings import NotRun
from bmx_grid.sweep.tables import write_parquet
from bmx_grid.sweep.tracking import SQLITE, MlflowTracker, Tracker

PAPER = {"p": tuple((np.arange(-300, 300) / 10).tolist()), "w": (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)}


@pytest.fixture(scope="module")
def kept(template, tmp_path_factory):
    """The folder of a sweep with the metrics chrf and bleu, tracked with three files, and its tracker; only read."""
    folder = tmp_path_factory.mktemp("kept") / "out"
    (folder / "tables").mkdir(parents=True)
    shutil.copy(template, folder.parent / "mlflow.db")
    (folder / "grid.parquet").write_bytes(b"content")
    tracker = track(folder, [make_result(metric=name) for name in ("chrf", "bleu")])
    headline(folder)
    return folder, tracker


@pytest.fixture
def tracked(kept, folder):
    """The folder of the same sweep in a store of the test's own."""
    (folder.parent / "mlflow.db").unlink()
    copy_store(kept[0], folder)
    return folder


def of_chrf(runs):
    """The run of a setting with chrf."""
    (run,) = [run for run in runs if run.data.params["metric"] == "chrf"]
    return run


def test_a_sweep_is_a_run_beside_one_for_each_setting(folder, monkeypatch):
    monkeypatch.setattr("sys.argv", ["/x/bmx_grid/__main__.py", "seed=1", "api_key=secret"])
    results = [make_result(metric=name) for name in ("chrf", "bleu")]
    track(folder, results)
    (parent,), children = runs_of(folder)
    assert parent.data.params == {"dataset": "toy", "metric": "chrf, bleu", "seed": "0"}
    assert parent.info.run_name == "sweep s · toy · chrf, bleu"
    assert parent.data.tags["mlflow.note.content"] == "All is well."
    # MLflow opens a table with all runs below another one hidden.
    assert not [run for run in children if "mlflow.parentRunId" in run.data.tags]
    assert {run.data.tags["sweep"] for run in children} == {parent.data.tags["sweep"]}
    assert {run.info.run_name for run in children} == {
        "helps +0.250 chrf · lime · de-en · toy",
        "helps +0.250 bleu · lime · de-en · toy",
    }
    assert {run.info.status for run in (parent, *children)} == {"FINISHED"}
    child = next(run for run in children if run.data.params["metric"] == "chrf")
    assert child.data.params["w"] == "0, 0.4, 1" and child.data.params["p"] == "-3 … 2.9, 60 values"
    assert child.data.params["language_pair"] == "de-en"
    assert child.data.tags["signature"] == results[0].signature
    for run in (parent, child):
        assert run.data.tags["mlflow.source.name"] == "python -m bmx_grid seed=1 'api_key=***'"
    assert [entry.path for entry in client(folder).list_artifacts(parent.info.run_id)] == ["grid.parquet"]


def test_every_grid_point_is_there_once_at_its_step(kept):
    folder, _ = kept
    result = make_result()
    setting = of_chrf(runs_of(folder)[1])
    parents = {run.data.tags["mlflow.parentRunId"]: run for run in all_runs(folder, "curves")}
    curves = parents[setting.info.run_id]
    assert len(parents) == 2 and curves.info.status == "FINISHED"
    for column, name in enumerate(("pearson/w0", "pearson/w0.4", "pearson/w1")):
        history = client(folder).get_metric_history(curves.info.run_id, name)
        curve = zip(range(-30, 30), result.grid.correlation[:, column], strict=True)
        assert [(point.step, point.value) for point in history] == list(curve)
        assert [point.timestamp - curves.info.start_time for point in history] == list(range(60)), (
            "pages draw over time"
        )
    powers = client(folder).get_metric_history(curves.info.run_id, "p")
    assert [point.value for point in powers] == list(result.spec.p), "the axis of the curves"
    assert n_points(folder) == 2 * (CURVES + SCALARS) + HEADLINE + 1, "the mean gain once more, as it has changed"


def test_the_overview_of_a_setting_has_what_was_found_and_no_point_of_a_curve(kept):
    folder, _ = kept
    result = make_result()
    setting = of_chrf(runs_of(folder)[1])
    names = ["gain", "gain low", "gain high", "baseline", "boosted", "published pearson"]
    names += ["in-sample best pearson", "in-sample best p", "in-sample best w"]
    assert list(setting.data.metrics) == names, "pages that compare runs draw the first"
    metrics = setting.data.metrics
    assert (metrics["gain"], metrics["gain low"], metrics["gain high"], metrics["boosted"]) == (
        0.25,
        0.125,
        0.375,
        0.75,
    )
    assert metrics["baseline"] == 0.5
    assert metrics["in-sample best pearson"] == pytest.approx(result.grid.best, abs=1e-6)
    assert metrics["in-sample best p"] == result.grid.best_p
    assert metrics["published pearson"] == pytest.approx(result.published_row.correlation, abs=1e-6)
    assert (setting.data.tags["published p"], setting.data.tags["published w"]) == ("-1.4", "0.4")
    note = setting.data.tags["mlflow.note.content"]
    assert note.startswith("**helps**, gain +0.250 [+0.125, +0.375]: pearson 0.500 → 0.750")
    assert f"| published point | -1.4 | 0.4 | {result.published_row.correlation:.4f} |" in note
    assert f"| {result.grid.best:.4f} |" in note
    (dataset,) = [entry.dataset for entry in setting.inputs.dataset_inputs]
    assert (dataset.name, len(dataset.digest)) == ("toy de-en", 8)
    assert json.loads(dataset.profile) == {"num_rows": 40, "rated": 39}
    assert mlflow_artifact(folder, setting, "setting.html").read_text() == "<p>a page</p>"


@pytest.mark.parametrize(
    ("found", "name"),
    [
        (Finding("helps", Estimate(0.0333, 0.02, 0.04)), "helps +0.033 chrf · lime · de-en · toy"),
        (Finding("hurts", Estimate(-0.0333, -0.04, -0.02)), "hurts -0.033 chrf · lime · de-en · toy"),
        (Finding("no gain shown", Estimate(0.002, -0.1, 0.1)), "+0.002 chrf · lime · de-en · toy · no gain shown"),
        (Finding("too little data"), "chrf · lime · de-en · toy · too little data"),
        (Finding(), "chrf · lime · de-en · toy"),
    ],
)
def test_the_name_of_a_setting_begins_with_what_was_found(found, name):
    assert found.run_name(make_result()) == name


def test_the_papers_grid_has_all_of_its_points(folder):
    """More than MLflow takes at once: it refuses a call with 1,001 entries."""
    sent = curves_of(make_result(**PAPER))
    curves = [entry for entry in sent if "/" in entry[0]]
    assert (len(curves), len(sent)) == (3600, 4200)
    assert {step for _, _, step in curves} == set(range(-300, 300))
    assert {name for name, _, _ in curves} == {f"pearson/w{w}" for w in ("0", "0.2", "0.4", "0.6", "0.8", "1")}
    assert track(folder, [make_result(**PAPER)]).failure is None
    assert n_points(folder) == 4200 + SCALARS + HEADLINE


def test_thin_curves_are_those_at_whole_p(folder):
    track(folder, [make_result(**PAPER)], curves="thin")
    assert n_points(folder) == 420 + SCALARS + HEADLINE
    sent = curves_of(make_result(**PAPER), thin=True)
    assert {step for name, _, step in sent if name == "pearson/w0"} == {10 * p for p in range(-30, 30)}
    assert set(sent) <= set(curves_of(make_result(**PAPER)))


@pytest.mark.parametrize(
    ("p", "steps"),
    [((-1.0, 0.0, 1.0), [-10, 0, 10]), ((-0.25, 0.0, 0.25), [0]), ((0.1 + 0.2, 0.4), [3, 4]), ((0.1, np.inf), [1])],
    ids=["whole", "quarters", "a rounding error", "infinite"],
)
def test_steps_are_whole_tenths_of_p(p, steps):
    assert sorted(step for name, _, step in curves_of(make_result(p=p)) if name == "pearson/w0") == steps


def test_what_is_undefined_is_not_sent():
    holes = make_result().grid.correlation.copy()
    holes[:7, 0], holes[0, 1] = np.nan, np.inf
    assert len(curves_of(with_grid(make_result(), correlation=holes))) == CURVES - 8
    without_best = numbers_of(with_grid(make_result(), best_p=np.nan), Finding())
    assert set(without_best) == {"baseline", "published pearson", "in-sample best pearson", "in-sample best w"}
    assert not [name for name in numbers_of(without_point(make_result()), FOUND) if name.startswith("published")]
    base, human = np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 1.0, 3.0, 2.0])
    result = without_point(make_result(explainer="none"))
    alone = with_evaluated(result, grid=metric_alone(result.evaluated["grid"].spec, base, human))
    expected = np.corrcoef(base, human)[0, 1]
    assert curves_of(alone) == []
    assert numbers_of(alone, Finding()) == {"baseline": pytest.approx(expected, abs=1e-6)}
    assert description_of(alone, Finding()) == ""
    assert not {"p", "w", "side"} & set(parameters(alone))


def test_a_repeated_sweep_adds_nothing(folder):
    results = [make_result(metric=name) for name in ("chrf", "bleu")]
    track(folder, results)
    before = n_points(folder)
    again = dataclasses.replace(results[0], spent=Spent(0.1), cached=True)
    track(folder, [again, results[1]], config=CONFIG.replace("n_jobs: 2", "n_jobs: 7").replace("here", "there"))
    parents, children = runs_of(folder)
    assert (len(parents), len(children), n_points(folder)) == (1, 2, before)
    assert {run.data.tags["texts"] for run in children} == {"800"}
    track(folder, [make_result()], config=CONFIG.replace("seed: 0", "seed: 1"))
    parents, children = runs_of(folder)
    assert (len(parents), len(children)) == (2, 3), "another sweep has runs of its own"


CALLS = {"parameters": ("log_batch", "params"), "points": ("log_batch", "metrics"), "end": ("set_terminated", None)}


@pytest.mark.parametrize(
    ("call", "part", "error"),
    [
        pytest.param(*CALLS["parameters"], KeyboardInterrupt, id="parameters-Ctrl-C"),
        pytest.param(*CALLS["points"], SystemExit, id="points-exit"),
        pytest.param(*CALLS["end"], KeyboardInterrupt, id="end-Ctrl-C"),
    ],
)
def test_a_run_that_was_cut_off_is_closed_and_completed_in_place(folder, monkeypatch, call, part, error):
    def interrupted(*arguments, **options):
        if part is None or part in options:
            raise error
        method(*arguments, **options)

    tracker = started(folder)
    tracker.log(make_result(metric="bleu"))
    method = getattr(mlflow.MlflowClient, call)
    with monkeypatch.context() as patch:
        patch.setattr(f"mlflow.MlflowClient.{call}", interrupted)
        with pytest.raises(error) as caught:
            tracker.log(make_result())
    tracker.finish([NotRun("failed", "s", "stopped")], caught.value)
    (parent,), children = runs_of(folder)
    assert sorted(run.info.status for run in (parent, *children)) == ["FINISHED", "KILLED", "KILLED"]
    assert "RUNNING" not in {run.info.status for run in all_runs(folder, "curves")}
    track(folder, [make_result(metric="bleu"), dataclasses.replace(make_result(), spent=Spent(0.01), cached=True)])
    (parent,), children = runs_of(folder)
    assert {run.info.status for run in (parent, *children)} == {"FINISHED"} and len(children) == 2
    assert {run.info.status for run in all_runs(folder, "curves")} == {"FINISHED"}
    assert n_points(folder) == 2 * (CURVES + SCALARS) + HEADLINE


def delete_runs(folder, kinds=("sweep", "setting", "curves")):
    """Delete runs of these kinds in MLflow; their identifiers."""
    runs = list(itertools.chain(*(all_runs(folder, kind) for kind in kinds)))
    for run in runs:
        client(folder).delete_run(run.info.run_id)
    return [run.info.run_id for run in runs]


def begin_store_anew(folder, template):
    """Another database at the same address, in which somebody else's sweep was tracked."""
    (folder.parent / "mlflow.db").unlink()
    shutil.copy(template, folder.parent / "mlflow.db")
    track(folder, [make_result(metric="ter")], config=CONFIG.replace("seed: 0", "seed: 9"))


def delete_and_restore(folder):
    for run_id in delete_runs(folder):
        client(folder).restore_run(run_id)


def delete_experiment(folder):
    mlflow = client(folder)
    mlflow.delete_experiment(mlflow.get_experiment_by_name("tests").experiment_id)


@pytest.mark.parametrize(
    ("change", "is_whole"),
    [
        pytest.param(lambda folder: None, True, id="nothing"),
        pytest.param(delete_runs, False, id="all runs are deleted"),
        pytest.param(lambda folder: delete_runs(folder, ["setting"]), False, id="those of settings are deleted"),
        pytest.param(lambda folder: delete_runs(folder, ["sweep"]), False, id="that of the sweep is deleted"),
        pytest.param(lambda folder: delete_runs(folder, ["curves"]), False, id="those of curves are deleted"),
        pytest.param(delete_and_restore, True, id="all are deleted and restored"),
        pytest.param(delete_experiment, False, id="the experiment is deleted"),
        pytest.param(None, False, id="the database was begun anew"),
    ],
)
def test_a_repeated_sweep_knows_whether_its_runs_are_still_in_the_store(
    kept, tracked, template, monkeypatch, change, is_whole
):
    """Whether it looks into the database, or asks for the runs as it asks a server."""
    folder = tracked
    runs = json.loads(json.dumps(kept[1].identify_runs("s", kept[0])))  # as from a stamp
    runs["store"] = MlflowTracker(experiment="tests").store("s", folder)
    assert len(runs["runs"]) == 5
    if change is None:
        begin_store_anew(folder, template)
    else:
        change(folder)
    for beginning in (SQLITE, "no address begins with this"):
        monkeypatch.setattr("bmx_grid.sweep.tracking.SQLITE", beginning)
        assert MlflowTracker(address(folder), "tests").has_runs("s", folder, runs) is is_whole, beginning
        assert not MlflowTracker(address(folder), "others").has_runs("s", folder, runs), beginning


@pytest.mark.parametrize("runs", [None, {}, "sqlite:///mlflow.db tests", {"runs": 3}, [1]])
def test_a_stamp_without_runs_is_of_a_sweep_that_was_not_tracked(folder, runs):
    assert not MlflowTracker(experiment="tests").has_runs("s", folder, runs)
    assert Tracker().has_runs("s", folder, runs)


@pytest.mark.parametrize("kinds", [["sweep", "setting", "curves"], ["setting"], ["sweep"], ["curves"]])
def test_deleted_runs_are_restored_by_the_same_sweep_and_none_is_there_twice(tracked, kinds):
    folder = tracked
    results = [make_result(metric=name) for name in ("chrf", "bleu")]
    track(folder, results)
    before = n_points(folder)
    deleted = delete_runs(folder, kinds)
    assert track(folder, results).failure is None
    (sweep,), settings = runs_of(folder)
    assert {run.data.params["metric"] for run in settings} == {"chrf", "bleu"} and len(settings) == 2
    assert {run.info.status for run in (sweep, *settings)} == {"FINISHED"}
    curves = all_runs(folder, "curves")
    assert set(deleted) <= {run.info.run_id for run in (sweep, *settings, *curves)} and len(curves) == 2
    assert n_points(folder) == before, "no point is sent twice"


def test_a_sweep_whose_runs_were_deleted_is_not_up_to_date(swept, template, tmp_path, capsys):
    shutil.copy(template, tmp_path / "mlflow.db")
    parts = ("metric=[chrf]", "explainer=[erasure]", "dataset.sample.language_pairs=[de-en]", "limit=4")
    command = ("+sweep=quickstart", *parts, "evaluation=[grid]", "tracking=mlflow", "tracking.experiment=tests")
    for deleted, is_up_to_date in ((False, False), (False, True), (True, False), (False, True)):
        if deleted:
            delete_runs(tmp_path / "out")
        assert swept(*command) == 0
        assert ("is up to date" in capsys.readouterr().out) is is_up_to_date
        sweeps, settings = runs_of(tmp_path / "out")
        assert (len(sweeps), len(settings)) == (1, 1)


def test_points_of_which_a_part_was_sent_are_completed_and_never_twice(folder, monkeypatch):
    """The third call with points is interrupted: two calls have arrived, and the next sweep adds the others."""
    at_once = 100
    monkeypatch.setattr(mlflow_store, "AT_ONCE", at_once)
    result = make_result()
    tracker = started(folder)
    send = mlflow.MlflowClient.log_batch
    sent = []

    def third_is_interrupted(client, run_id, **data):
        sent.extend(data.get("metrics", ()))
        if len(sent) > 2 * at_once:
            raise KeyboardInterrupt
        send(client, run_id, **data)

    with monkeypatch.context() as patch:
        patch.setattr("mlflow.MlflowClient.log_batch", third_is_interrupted)
        with pytest.raises(KeyboardInterrupt) as caught:
            tracker.log(result)
    tracker.finish([], caught.value)
    assert n_points(folder) == 2 * at_once
    tracker = started(folder)
    tracker.log(result)
    tracker.finish([])
    (curves,) = all_runs(folder, "curves")
    assert tracker.failure is None and n_points(folder) == CURVES > 2 * at_once
    history = client(folder).get_metric_history(curves.info.run_id, "pearson/w0.4")
    assert [(point.step, point.value) for point in sorted(history, key=lambda point: point.step)] == list(
        zip(range(-30, 30), result.grid.correlation[:, 1], strict=True)
    )


def test_failures_are_told_and_forgotten_when_mended(folder):
    track(folder, [make_result()], failed=[NotRun("failed", "toy · comet", "comet is not installed")])
    (parent,), _ = runs_of(folder)
    assert parent.info.status == "FAILED"
    assert "- failed: toy · comet: comet is not installed" in parent.data.tags["mlflow.note.content"]
    track(folder, [make_result()])
    (parent,), _ = runs_of(folder)
    assert parent.info.status == "FINISHED" and "comet" not in parent.data.tags["mlflow.note.content"]
    many = [NotRun("failed", f"setting {number}", "out of memory" * 9) for number in range(200)]
    assert track(folder, [], failed=many).failure is None
    assert len(runs_of(folder)[0][0].data.tags["mlflow.note.content"]) <= 8000
    started(folder).finish([NotRun("failed", "s", "stopped by ValueError")], ValueError())
    (parent,), _ = runs_of(folder)
    note = "- failed: s: stopped by ValueError"
    assert (parent.info.status, parent.data.tags["mlflow.note.content"]) == ("FAILED", note)


def test_numbers_and_files_of_the_analysis_are_the_sweeps_and_updated_not_doubled(folder):
    (folder / "tables").mkdir()
    (folder / "report.html").write_text("{}")
    write_parquet(pa.table({"name": ["chrf"], "coefficient": [0.5]}), folder / "tables" / "ridge.parquet")
    for better in (3.0, 3.0, 4.0):
        tracker = started(folder)
        analysis = {"medians/lime/p": -1.4, "ridge/a+b (c)": 0.5, "undefined": float("nan"), "mean_gain": better / 10}
        files = [folder / "tables" / "ridge.parquet", folder / "report.html", folder / "none.csv"]
        tracker.headline(analysis, f"**{better:g}** of 5", files, {"fixed/better": f"{better:g}"})
        tracker.finish([])
        assert tracker.failure is None
    (parent,), _ = runs_of(folder)
    assert parent.data.metrics == {"mean_gain": 0.4, "medians/lime/p": -1.4, "ridge/a_b _c_": 0.5}
    assert parent.data.tags["fixed/better"] == "4", "a count is no metric"
    assert parent.data.tags["mlflow.note.content"] == "**4** of 5"
    assert n_points(folder) == 4
    listed = [entry.path for folder_of in (None, "tables") for entry in client(folder).list_artifacts(
        parent.info.run_id, folder_of)]  # fmt: skip
    assert sorted(listed) == ["report.html", "tables", "tables/ridge.csv", "tables/ridge.parquet"]
    csv_file = mlflow_artifact(folder, parent, "tables/ridge.csv")
    assert csv_file.read_text() == "name,coefficient\nchrf,0.5\n", "pages show it"


def headline(folder):
    """A sweep with two files is tracked."""
    (folder / "tables").mkdir(exist_ok=True)
    (folder / ".bashrc").write_text("theirs")
    write_parquet(pa.table({"name": ["chrf"]}), folder / "tables" / "ridge.parquet")
    tracker = started(folder)
    tracker.headline({"mean_gain": 0.3}, "", [folder / "tables" / "ridge.parquet", folder / ".bashrc"], {})
    tracker.finish([])
    return tracker


STORES = {
    "a run's folder": "UPDATE runs SET artifact_uri = '{home}'",
    "a run's folder as an address": "UPDATE runs SET artifact_uri = 'file://{home}'",
    "a way out of its folder": "UPDATE runs SET artifact_uri = artifact_uri || '/../../../../../home'",
    "a link": None,
    "a link for all": None,
    "a link for a file": None,
    "a store elsewhere": "UPDATE runs SET artifact_uri = 's3://theirs/x'",
    "a server": "UPDATE runs SET artifact_uri = 'http://127.0.0.1:1/x'",
}


@pytest.mark.parametrize("kind", STORES)
def test_a_database_of_somebody_else_chooses_no_folder(kind, tracked, tmp_path, monkeypatch):
    """It said where artifacts go, and a file of the user's was overwritten."""
    folder = tracked
    home = tmp_path / "home"  # below the database's folder, but not its own
    (home / "tables").mkdir(parents=True)
    (home / ".bashrc").write_text("mine")
    monkeypatch.chdir(tmp_path)
    (parent,), _ = runs_of(folder)
    artifacts = Path(urlsplit(parent.info.artifact_uri).path)
    if kind == "a link":
        shutil.rmtree(artifacts)
        artifacts.symlink_to(home)
    elif kind == "a link for all":
        shutil.move(tmp_path / "mlruns", tmp_path / "theirs")
        (tmp_path / "mlruns").symlink_to(home)
    elif kind == "a link for a file":
        (artifacts / ".bashrc").unlink()
        (artifacts / ".bashrc").symlink_to(home / ".bashrc")
    else:
        database = sqlite3.connect(address(folder).removeprefix("sqlite:///"))
        with contextlib.closing(database), database:
            database.execute(STORES[kind].format(home=home))
    with pytest.warns(
        UserWarning, match=r"its artifacts would go to .*, not below .*/mlruns.*tracking\.experiment=NAME"
    ):
        tracker = headline(folder)
    assert tracker.failure is None, "numbers are tracked all the same"
    assert [path.name for path in home.rglob("*") if path.is_file()] == [".bashrc"]
    assert (home / ".bashrc").read_text() == "mine"


@pytest.mark.parametrize(
    ("store", "artifacts", "goes"),
    [
        pytest.param("http://HOST:5000", "mlflow-artifacts:/1/a/artifacts", True, id="through the server"),
        pytest.param("http://HOST:5000", "s3://bucket/1", True, id="to the server's own store"),
        pytest.param("http://HOST:5000", "/home/me", False, id="a server names a folder here"),
        pytest.param("http://HOST:5000", "file:///home/me", False, id="as an address"),
        pytest.param("http://HOST:5000", "./mlruns/1/a/artifacts", True, id="MLflow's own folder"),
        pytest.param("postgresql://HOST/x", "./mlruns/../../x", False, id="and out of it"),
    ],
)
def test_a_server_chooses_no_folder_here_but_mlflows_own(store, artifacts, goes, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with contextlib.nullcontext() if goes else pytest.raises(StoreError, match="its artifacts would go to"):
        check_artifact(store, artifacts, "report.html")


def mlflow_artifact(folder, run, path):
    """A file among the artifacts of a run."""
    from mlflow.artifacts import download_artifacts

    return Path(download_artifacts(run_id=run.info.run_id, artifact_path=path, tracking_uri=address(folder)))


def test_what_was_found_is_the_settings_and_updated_not_doubled(folder):
    result, undefined = make_result(), make_result(metric="bleu")
    for verdict, gain in (("hurts", -0.25), ("hurts", -0.25), ("helps", 0.5)):
        found = Finding(verdict, Estimate(gain, gain - 0.1, 2.8e-9), 0.5)
        tracker = started(folder)
        for logged in (result, undefined):
            tracker.log(logged)
        tracker.judge(result, lambda found=found: found)
        tracker.judge(undefined, lambda: Finding("too little data"))
        tracker.finish([])
        assert tracker.failure is None
    runs = {run.data.params["metric"]: run for run in runs_of(folder)[1]}
    judged = {metric: run.data for metric, run in runs.items()}
    assert judged["chrf"].tags["verdict"] == "helps" and judged["bleu"].tags["verdict"] == "too little data"
    assert runs["chrf"].info.run_name == "helps +0.500 chrf · lime · de-en · toy"
    # 2.8e-09 is read as 2.8 where a narrow column cuts it off.
    gains = {name: value for name, value in judged["chrf"].metrics.items() if name.startswith("gain")}
    assert gains == {"gain": 0.5, "gain low": 0.4, "gain high": 0.0}
    assert not [name for name in judged["bleu"].metrics if name.startswith("gain")]
    changed, unknown = 3, 4
    assert n_points(folder) == 2 * (CURVES + SCALARS) + changed - unknown
    assert len(runs["chrf"].inputs.dataset_inputs) == 1


def test_the_printed_page_shows_settings_with_names_gain_and_verdict(kept):
    """MLflow reads a view of an experiment from a tag whose key is in the address."""
    folder, tracker = kept
    (parent,), settings_of_sweep = runs_of(folder)
    child = settings_of_sweep[0]
    settings, sweep = [line.split(": ")[1] for line in tracker.where().splitlines() if " in MLflow: " in line]
    (key,) = parse_qs(urlsplit(settings.replace("#", "")).query)["viewStateShareKey"]
    experiment = client(folder).get_experiment(child.info.experiment_id)
    view = json.loads(experiment.tags[f"mlflow.sharedViewState.{key}"])
    assert view["name"].startswith("s ") and settings.startswith("http://127.0.0.1:5000/#/experiments/")
    state = json.loads(view["state"])
    selected = client(folder).search_runs([experiment.experiment_id], state["searchFilter"])
    of_sweep = {run.info.run_id for run in settings_of_sweep}
    assert {run.info.run_id for run in selected} == of_sweep, "the settings of this sweep, and no other run"
    assert sweep.endswith(f"/runs/{parent.info.run_id}?workflowType=machine_learning")
    columns = {column.replace("`", "") for column in state["selectedColumns"]}
    assert {f"params.{name}" for name in ("dataset", "language_pair", "metric", "explainer")} <= columns
    assert {"metrics.gain", "metrics.gain low", "metrics.gain high", "tags.verdict"} <= columns


def test_a_sweep_tracks_its_medians_and_the_verdict_on_each_setting(swept, template, tmp_path, blank_figures):
    shutil.copy(template, tmp_path / "mlflow.db")
    parts = ("metric=[chrf]", "explainer=[erasure]", "dataset.sample.language_pairs=[de-en,fr-en]", "limit=24")
    tracked = ("tracking=mlflow", "tracking.experiment=tests", "analysis=true", "evaluation=[grid,boosts]")
    tracked += ("evaluation.boosts.resamples=100", "evaluation.boosts.draws=1")
    assert swept("+sweep=quickstart", *parts, *tracked) == 0
    (sweep,), settings = runs_of(tmp_path / "out")
    selection = pd.read_parquet(tmp_path / "out" / "tables" / "selection.parquet")
    selected = selection.set_index("explainer").loc["erasure"]
    metrics = sweep.data.metrics
    assert (metrics["medians/erasure/p"], metrics["medians/erasure/w"]) == (selected["p"], selected["w"])
    assert not [name for name in metrics if name.startswith("ridge")], "of two settings nothing is regressed"
    assert (sweep.data.tags["settings"], sweep.data.tags["settings failed"]) == ("2", "0")
    csv_table = pd.read_csv(mlflow_artifact(tmp_path / "out", sweep, "tables/selection.csv"))
    pd.testing.assert_frame_equal(csv_table, selection, check_dtype=False)
    verdicts = pd.read_parquet(tmp_path / "out" / "tables" / "verdicts.parquet")
    judged = verdicts[verdicts["point"].isin(DISTANCE) & (verdicts["language_pair"] != "all")].set_index(
        "language_pair"
    )
    assert {run.data.params["language_pair"] for run in settings} == set(judged.index) == {"de-en", "fr-en"}
    for run in settings:
        row = judged.loc[run.data.params["language_pair"]]
        assert run.data.tags["verdict"] == row["verdict"]
        assert f"{row['verdict']}: {LEGEND[row['verdict']]}." in sweep.data.tags["mlflow.note.content"]
        assert run.data.metrics["gain"] == pytest.approx(row["gain"], abs=1e-6)
        assert run.data.metrics["gain low"] <= run.data.metrics["gain"] <= run.data.metrics["gain high"]


def test_the_page_of_a_server_has_no_password():
    settings, sweep = pages("https://me:secret@host:5000/mlflow/", "7", "a" * 64, "b1")
    assert settings.startswith("https://host:5000/mlflow/#/experiments/7/runs?viewStateShareKey=aaaa")
    assert sweep == "https://host:5000/mlflow/#/experiments/7/runs/b1?workflowType=machine_learning"


@pytest.mark.parametrize(
    ("where", "python", "typed"),
    [
        ("/home/me", "/home/me/.venv/bin/python", ".venv/bin/python"),
        ("/home/me/.venv/bin", "/home/me/.venv/bin/python", "./python"),
        ("/a/b/c/d/e/f", "/usr/bin/python3", "/usr/bin/python3"),
        ("/home/me", "/home/me/my env/bin/python", "'my env/bin/python'"),
    ],
    ids=["relative", "in the working folder", "absolute is shorter", "quoted"],
)
def test_the_printed_command_names_the_python_that_has_mlflow(monkeypatch, where, python, typed):
    monkeypatch.setattr("sys.executable", python)
    monkeypatch.setattr("os.getcwd", lambda: where)
    command = server_command(f"sqlite:///{where}/my outputs/mlflow.db")
    assert command == f"{typed} -m mlflow ui --workers 1 --backend-store-uri 'sqlite:///my outputs/mlflow.db'"


@pytest.mark.processes
def test_the_printed_command_shows_the_sweep(swept, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chosen = ("metric=[chrf]", "explainer=[]", "evaluation=[levels]", "limit=4", "tracking=mlflow")
    assert swept("dataset=[sample]", "dataset.sample.language_pairs=[de-en]", *chosen, out="outputs/small") == 0
    printed = capsys.readouterr().out
    (command,) = [line.strip() for line in printed.splitlines() if " -m mlflow ui " in line]
    port = free_port()
    # MLflow's own processes inherit the output and outlive their parent: a file cannot keep a reader waiting as a pipe
    # does, and the whole group is ended.
    with (tmp_path / "said by mlflow").open("w") as out:
        of_shell = {"shell": True, "start_new_session": True, "stdout": out, "stderr": out}
        server = subprocess.Popen(f"{command} --port {port}", **of_shell)
    try:
        wait_for(lambda: server.poll() is not None or is_answered(f"http://127.0.0.1:{port}/health"), seconds=300)
        assert server.poll() is None, (tmp_path / "said by mlflow").read_text()
        names = f"http://127.0.0.1:{port}/api/2.0/mlflow/experiments/get-by-name?experiment_name=custom"
        with urllib.request.urlopen(names, timeout=60) as answer:
            experiment = json.load(answer)["experiment"]["experiment_id"]
        assert f"/#/experiments/{experiment}/runs" in printed, "the links are of this store"
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        left = wait_until_alone(server.pid)
        if left:
            os.killpg(server.pid, signal.SIGKILL)
        server.wait()
    assert left == [], "they end when they are told to"


@pytest.mark.processes
def test_of_the_same_command_twice_at_once_the_second_waits_and_nothing_is_there_twice(forks, template, tmp_path):
    shutil.copy(template, tmp_path / "mlflow.db")
    chosen = ["+sweep=quickstart", "metric=[chrf]", "explainer=[erasure]", "dataset.sample.language_pairs=[de-en]"]
    folders = [f"output_dir={tmp_path / 'out'}", f"cache_dir={tmp_path / 'cache'}", "tracking.experiment=tests"]
    command = ["-m", "bmx_grid", *chosen, *folders, "evaluation=[grid]", "executor=sequential"]
    with FileLock(tmp_path / "out" / LOCK):
        both = [Forked(forks, command, tmp_path) for _ in range(2)]
        for running in both:
            wait_for(lambda running=running: "another run is writing to" in running.printed()[0])
    ended = [running.communicate(timeout=15 * PATIENCE)[0] for running in both]
    assert [running.returncode for running in both] == [0, 0]
    assert sorted("is up to date" in out for out in ended) == [False, True]
    assert sorted("\n0 texts scored" in f"\n{out}" for out in ended) == [False, True]
    sweeps, settings = runs_of(tmp_path / "out")
    assert (len(sweeps), len(settings), len(all_runs(tmp_path / "out", "curves"))) == (1, 1, 1)


def is_answered(url):
    """Whether a server answers there."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def test_no_tracking_writes_nothing(tmp_path):
    tracker = Tracker()
    tracker.start("s", CONFIG, tmp_path / "out")
    tracker.log(make_result())
    tracker.judge(make_result(), lambda: 1 / 0)
    tracker.headline({"settings": 1}, "", (), {})
    tracker.finish([])
    assert (tracker.store("s", tmp_path / "out"), tracker.where(), tracker.failure) == ("", "", None)
    assert not list(tmp_path.iterdir())
    for name, kind in (("mlflow", MlflowTracker), ("none", Tracker)):
        assert build(load_option("tracking", name), Tracker, "tracking") == kind()


@pytest.mark.parametrize(
    ("given", "environment", "experiment"),
    [
        ({}, {}, "s"),
        ({}, {"MLFLOW_EXPERIMENT_NAME": "theirs"}, "theirs"),
        ({"experiment": "mine"}, {"MLFLOW_EXPERIMENT_NAME": "theirs"}, "mine"),
    ],
    ids=["the sweep's name", "the environment's", "the configuration's"],
)
def test_store_and_experiment_are_the_configurations_else_the_environments(
    folder, template, tmp_path, monkeypatch, given, environment, experiment
):
    elsewhere = f"sqlite:///{tmp_path / 'elsewhere.db'}"
    for name, value in {**environment, "MLFLOW_TRACKING_URI": elsewhere}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)  # so that the shortest path of the store is known
    shutil.copy(template, tmp_path / "elsewhere.db")
    tracker = MlflowTracker(**given)
    tracker.start("s", CONFIG, folder)
    tracker.finish([])
    assert tracker.failure is None and "sqlite:///elsewhere.db" in tracker.where()
    assert mlflow.MlflowClient(elsewhere).get_experiment_by_name(experiment) is not None


def test_a_sweep_and_its_store_are_the_same_wherever_and_however_it_is_run(folder):
    same = CONFIG.replace("n_jobs: 2", "n_jobs: 9").replace("here", "there") + "on_error: stop\n"
    assert sweep_identity("s", CONFIG) == sweep_identity("s", same)
    for other_sweep in (("t", CONFIG), ("s", CONFIG.replace("seed: 0", "seed: null"))):
        assert sweep_identity("s", CONFIG)[0] != sweep_identity(*other_sweep)[0]
    known = MlflowTracker(experiment="tests").store("s", folder)
    assert MlflowTracker(experiment="others").store("s", folder) != known
    (folder.parent / "mlflow.db").unlink()
    assert MlflowTracker(experiment="tests").store("s", folder) not in ("", known)
    for argv, typed in (
        (["/usr/bin/bmx-grid", "metric=[chrf]"], "bmx-grid 'metric=[chrf]'"),
        ([""], "python"),
        (["b", "uri=http://me:secret@host:5000"], "b 'uri=http://me:***@host:5000'"),
    ):
        assert source_tags(argv)["mlflow.source.name"] == typed
