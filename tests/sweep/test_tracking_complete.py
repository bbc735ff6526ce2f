"""Whether a tracked sweep is complete, found in milliseconds and never wrongly."""

import json
import shutil
import subprocess
import sys

import pytest
from fakes import ROOT
from some_results import make_result
from tracked import CONFIG, analyses_of, client, files_of, runs_of, started, track

from bmx_grid.sweep.settings import Refused
from bmx_grid.sweep.tracking.mlflow import MlflowTracker


@pytest.fixture
def complete(folder):
    """A finished sweep of two settings with an analysis, and what `is_complete` is asked for."""
    results = [make_result(metric=name) for name in ("chrf", "bleu")]
    tracker = started(folder)
    for result in results:
        tracker.log(result, files_of(folder))
    (folder / "analysis.json").write_text("{}")
    tracker.analysis({"a": 1.0}, [folder / "analysis.json"])
    tracker.headline({"settings": 2.0}, "", [folder / "grid.parquet"])
    tracker.finish("finished", [])
    return {result.label: result.fingerprint for result in results}


def test_a_complete_sweep_is_recognised_without_mlflow(folder, complete):
    """In a fresh process, and nothing is written."""
    code = (
        "import sys, json; from pathlib import Path; from bmx_grid.sweep.tracking.mlflow import MlflowTracker\n"
        "config, out, settings = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])\n"
        "found = MlflowTracker(experiment='tests').is_complete('s', config, out, settings)\n"
        "print(found, sorted({'mlflow', 'sqlalchemy', 'requests'} & set(sys.modules)))"
    )
    before = (folder.parent / "mlflow.db").read_bytes()
    shown = subprocess.run(
        [sys.executable, "-c", code, CONFIG.replace("n_jobs: 2", "n_jobs: 5"), str(folder), json.dumps(complete)],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "", "PYTHONPATH": str(ROOT)},
    ).stdout
    assert shown.strip() == "True []"
    assert (folder.parent / "mlflow.db").read_bytes() == before


def test_a_sweep_without_an_analysis_can_be_complete(folder):
    result = make_result()
    track(folder, [result])
    found = MlflowTracker(experiment="tests").is_complete("s", CONFIG, folder, {result.label: result.fingerprint})
    assert found


def _delete(folder, run):
    client(folder).delete_run(run.info.run_id)


def _gone(folder):
    (folder.parent / "mlflow.db").unlink()


def _not_a_database(folder):
    (folder.parent / "mlflow.db").write_text("nothing of the kind" * 100)


def _parent_deleted(folder):
    _delete(folder, runs_of(folder)[0][0])


def _setting_deleted(folder):
    _delete(folder, runs_of(folder)[1][0])


def _analysis_deleted(folder):
    _delete(folder, analyses_of(folder)[0])


def _experiment_deleted(folder):
    client(folder).delete_experiment(client(folder).get_experiment_by_name("tests").experiment_id)


def _files_deleted(folder):
    shutil.rmtree(folder.parent / "mlruns")


def _running(folder):
    started(folder)


def _one_failed(folder):
    tracker = started(folder)
    tracker.finish("finished", [Refused("x", "y")])


def _older_version(folder):
    client(folder).set_tag(runs_of(folder)[0][0].info.run_id, "version", "0.0.1")


@pytest.mark.parametrize(
    "harm",
    [
        _gone,
        _not_a_database,
        _parent_deleted,
        _setting_deleted,
        _analysis_deleted,
        _experiment_deleted,
        _files_deleted,
        _running,
        _one_failed,
        _older_version,
    ],
    ids=lambda harm: harm.__name__[1:].replace("_", " "),
)
def test_a_sweep_that_lacks_something_is_not_complete(folder, complete, harm):
    tracker = MlflowTracker(experiment="tests")
    assert tracker.is_complete("s", CONFIG, folder, complete)
    harm(folder)
    assert not tracker.is_complete("s", CONFIG, folder, complete)


@pytest.mark.parametrize(
    ("name", "config", "experiment", "more"),
    [
        pytest.param("t", CONFIG, "tests", {}, id="another name"),
        pytest.param("s", CONFIG + "limit: 3\n", "tests", {}, id="another configuration"),
        pytest.param("s", CONFIG, "others", {}, id="another experiment"),
        pytest.param("s", CONFIG, "tests", {"a further setting": "1"}, id="a further setting"),
        pytest.param("s", CONFIG, "tests", {make_result().label: "1"}, id="another result"),
    ],
)
def test_another_sweep_is_not_complete(folder, complete, name, config, experiment, more):
    assert not MlflowTracker(experiment=experiment).is_complete(name, config, folder, {**complete, **more})


def test_a_server_is_not_asked(tmp_path):
    tracker = MlflowTracker(uri="http://127.0.0.1:9")
    assert not tracker.is_complete("s", CONFIG, tmp_path, {})
    assert tracker.where() == "\n  MLflow at http://127.0.0.1:9"
