"""What pages of MLflow show of a sweep: its data, its command, its images, and lists with useful columns."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from some_results import at_point, make_result, with_evaluated
from tracked import CONFIG, artifacts_of, client, files_of, history, runs_of, segments, started, track

from bmx_grid.evaluations.grid import metric_alone
from bmx_grid.masking import masked_argument
from bmx_grid.sweep.tracking import source as source_of
from bmx_grid.sweep.tracking.base import HEAT_MAP
from bmx_grid.sweep.tracking.entries import parameters, points, sweep_title
from bmx_grid.sweep.tracking.inputs import columns, inputs_of, profile
from bmx_grid.sweep.tracking.notes import setting_note
from bmx_grid.sweep.tracking.source import command, source
from bmx_grid.sweep.tracking.views import MADE, PREFIX, views


def test_data_sets_are_inputs_of_the_sweep_and_of_each_setting(folder):
    tracker = started(folder)
    tracker.reads([segments("de-en"), segments("cs-en", 5), segments("de-en")])
    for pair in ("de-en", "cs-en"):
        tracker.log(make_result(language_pair=pair), files_of(folder))
    tracker.finish("finished", [])
    (parent,), children = runs_of(folder)
    read = {one.dataset.name: one for one in parent.inputs.dataset_inputs}
    assert set(read) == {"toy · de-en", "toy · cs-en"}
    of_child = {
        run.data.params["language_pair"]: [one.dataset.name for one in run.inputs.dataset_inputs] for run in children
    }
    assert of_child == {"de-en": ["toy · de-en"], "cs-en": ["toy · cs-en"]}
    one = read["toy · cs-en"]
    assert [(tag.key, tag.value) for tag in one.tags] == [("mlflow.data.context", "evaluation")]
    assert segments("cs-en", 5).fingerprint().startswith(one.dataset.digest) and len(one.dataset.digest) == 16
    assert json.loads(one.dataset.profile) == {"num_rows": 5, "num_rated": 4}


def test_the_schema_has_what_is_known_of_each_segment():
    assert columns(segments()) == [
        {"type": "string", "name": "id", "required": True},
        {"type": "string", "name": "source", "required": True},
        {"type": "string", "name": "reference", "required": True},
        {"type": "string", "name": "hypothesis", "required": True},
        {"type": "double", "name": "da", "required": False},
    ]
    assert profile(segments(n=7)) == {"num_rows": 7, "num_rated": 6}


@pytest.mark.parametrize(
    ("origin", "shown"),
    [
        pytest.param("{here}/a.tsv", "{here}/a.tsv", id="a file"),
        pytest.param("{here}/../{name}/a.tsv", "{here}/a.tsv", id="a path with detours"),
        pytest.param("archive.tar.gz:member", "archive.tar.gz:member", id="a part of an archive"),
        pytest.param("", "", id="not known"),
    ],
)
def test_the_source_is_a_path(origin, shown, tmp_path):
    (tmp_path / "a.tsv").write_text("")
    given = segments(origin=origin.format(here=tmp_path, name=tmp_path.name))
    (found,) = inputs_of([given]).values()
    assert found.dataset.source_type == "local"
    assert json.loads(found.dataset.source) == {"uri": shown.format(here=tmp_path)}


def test_what_mlflow_reads_of_an_input(folder):
    """MLflow's own reader of the source, which its pages and `mlflow.data.get_source` use."""
    import mlflow.data

    tracker = started(folder)
    tracker.reads([segments(origin=str(folder / "grid.parquet"))])
    tracker.finish("finished", [])
    (one,) = runs_of(folder)[0][0].inputs.dataset_inputs
    assert mlflow.data.get_source(one).load() == str(folder / "grid.parquet")


def test_a_repeated_sweep_reads_the_same_data_once(folder):
    for _ in range(2):
        track(folder, [make_result()])
    (parent,), (child,) = runs_of(folder)
    assert len(parent.inputs.dataset_inputs) == len(child.inputs.dataset_inputs) == 1


@pytest.mark.parametrize(
    ("argv", "typed"),
    [
        pytest.param(
            ["/x/bmx_grid/__main__.py", "+sweep=a", "limit=5"], "python -m bmx_grid +sweep=a limit=5", id="module"
        ),
        pytest.param(["/usr/bin/bmx-grid", "metric=[chrf]"], "bmx-grid 'metric=[chrf]'", id="console script, quoted"),
        pytest.param(["study.py"], "study.py", id="a program of one's own"),
        pytest.param([""], "python", id="an interactive session"),
        pytest.param(
            ["b", "uri=http://me:secret@host:5000"], "b 'uri=http://me:***@host:5000'", id="a password in an address"
        ),
        pytest.param(["b", "metric.x.api_key=secret"], "b 'metric.x.api_key=***'", id="a password as a value"),
        pytest.param(["b", "+token=a b"], "b '+token=***'", id="a password with a blank"),
        pytest.param(["b", "metric.x={password: secret}"], "b 'metric.x={password: ***'", id="a password in a mapping"),
        pytest.param(["b", "metric.tokens=5"], "b metric.tokens=5", id="a key that only looks like one"),
    ],
)
def test_the_command_as_typed_without_passwords(argv, typed):
    assert command(argv) == typed
    assert "secret" not in typed


def test_a_masked_argument_keeps_what_is_no_secret():
    for argument in ("limit=5", "dataset.tabular.path=/a/token.tsv", "tokenizer=secret/model", "++seed=1"):
        assert masked_argument(argument) == argument


def test_command_and_commit_are_the_source_of_all_runs(folder, monkeypatch):
    monkeypatch.setattr("sys.argv", ["/x/bmx_grid/__main__.py", "seed=1"])
    track(folder, [make_result()])
    (parent,), (child,) = runs_of(folder)
    for run in (parent, child):
        assert run.data.tags["mlflow.source.name"] == "python -m bmx_grid seed=1"
        assert run.data.tags.get("mlflow.source.git.commit") == source().get("mlflow.source.git.commit")


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_commit_is_that_of_the_checkout_with_a_word_on_changes(tmp_path, monkeypatch):
    def git(*arguments):
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        return subprocess.run(
            ["git", *identity, "-C", str(tmp_path), *arguments], check=True, capture_output=True, text=True
        ).stdout.strip()

    package = tmp_path / "pkg"
    package.mkdir()
    (package / "a.py").write_text("1")
    monkeypatch.setattr(source_of, "PACKAGE", package)
    assert set(source()) == {"mlflow.source.name", "mlflow.source.type"}  # no checkout
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "x")
    clean = source()
    assert clean["mlflow.source.git.commit"] == git("rev-parse", "HEAD") and "uncommitted_changes" not in clean
    (package / "a.py").write_text("2")
    assert source()["uncommitted_changes"] == "true"
    inner = package / "inner"
    inner.mkdir()
    monkeypatch.setattr(source_of, "PACKAGE", inner)  # installed somewhere inside another project's checkout
    assert "mlflow.source.git.commit" not in source()


def test_all_settings_have_files_of_the_same_names_and_an_image(folder):
    """MLflow compares files of runs by their names."""
    track(folder, [make_result(metric="chrf"), make_result(metric="bleu")])
    for run in runs_of(folder)[1]:
        files = artifacts_of(folder, run)
        assert [name for name in files if "/" not in name] == ["curves.png", "grid.parquet", "heat_map.png"]
        assert [name.startswith("images/pearson~heat map+step+0+") for name in files if "/" in name] == [True, True]
        assert run.data.tags["mlflow.loggedImages"] == "True"


def test_images_are_named_as_mlflow_names_them(folder):
    """Not by `log_image`, whose random names would show an image twice in a run that is completed later."""
    import mlflow

    track(folder, [make_result()])
    (child,) = runs_of(folder)[1]
    ours = [name for name in artifacts_of(folder, child) if name.startswith("images/")]
    own = client(folder)
    run = own.create_run(child.info.experiment_id)
    image = mlflow.Image(str(folder / "heat.png"))
    own.log_image(run.info.run_id, image, key="pearson/heat map", step=0, timestamp=child.info.start_time)
    own.set_terminated(run.info.run_id)
    mlflow.flush_artifact_async_logging()
    theirs = artifacts_of(folder, run)

    def plain(names):
        return [re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID", name) for name in names]

    assert plain(ours) == plain(theirs)
    assert own.get_run(run.info.run_id).data.tags["mlflow.loggedImages"] == child.data.tags["mlflow.loggedImages"]


def test_a_broken_image_is_no_end_of_tracking(folder):
    (folder / "heat.png").write_bytes(b"\x89PNG\r\n\x1a\nhalf of one")
    assert track(folder, [make_result()]).failure is None
    assert artifacts_of(folder, runs_of(folder)[1][0]) == ["curves.png", "grid.parquet", HEAT_MAP]


def test_curves_have_times_that_draw_them(folder):
    """The page of a metric draws over time at first: points of one time would be a vertical line."""
    track(folder, [make_result()])
    (child,) = runs_of(folder)[1]
    points_of = client(folder).get_metric_history(child.info.run_id, "pearson/w0.4")
    assert [(one.timestamp - child.info.start_time, one.step) for one in points_of] == [(n, n - 30) for n in range(60)]


def test_lists_of_metrics_begin_with_the_gain():
    assert points(make_result())[0][0][0] == "fixed gain"
    assert points(at_point(make_result(), np.nan))[0][0][0] == "best gain"


def test_two_settings_share_their_axis_whatever_their_grids_are(folder):
    """Curves over tenths lie over each other; those over hundredths have other names, as their steps mean another p."""
    tenths, whole, fine = (-1.0, 0.1, 1.0), (-1.0, 0.0, 1.0), (-0.25, 0.0, 0.25)
    track(
        folder,
        [make_result(p=p, w=(0.0, 1.0), metric=name) for name, p in zip("abc", (tenths, whole, fine), strict=True)],
    )
    runs = {run.data.params["metric"]: run for run in runs_of(folder)[1]}
    assert [step for step, _ in history(folder, runs["a"], "pearson/w0")] == [-10, 1, 10]
    assert [step for step, _ in history(folder, runs["b"], "pearson/w0")] == [-10, 0, 10]
    assert [step for step, _ in history(folder, runs["c"], "pearson by 100 p/w0")] == [-25, 0, 25]
    assert "pearson/w0" not in runs["c"].data.metrics


def test_no_name_has_the_digits_of_a_rounding_error(folder):
    weights = (0.0, 0.1 + 0.2, 1.0)
    assert str(weights[1]) == "0.30000000000000004"
    track(folder, [make_result(w=weights)])
    (child,) = runs_of(folder)[1]
    assert "pearson/w0.3" in child.data.metrics
    everything = [*child.data.metrics, *child.data.params.values(), *child.data.tags.values(), *child.data.params]
    assert not [text for text in everything if "0000000" in text]


def test_parameters_are_what_settings_are_compared_by():
    found = parameters(make_result())
    assert list(found) == [
        *("dataset", "language_pair", "metric", "explainer", "correlation", "side", "aggregation", "p", "w", "seed"),
    ]
    assert found["p"] == "-3 … 2.9, 60 values"


def test_the_note_of_a_setting_has_its_numbers_and_how_to_read_its_curves(folder):
    result = at_point(make_result(), 0.53, p=-1.4, w=0.4)
    track(folder, [result])
    note = runs_of(folder)[1][0].data.tags["mlflow.note.content"]
    assert "| metric alone |  | 0.5000 |  |" in note
    assert "| fixed point, given for the explainer | w 0.4, p -1.4 | 0.5300 | +0.0300 |" in note
    assert "`pearson/w…`" in note and "p -1.4 is step -14" in note and "optimistic" in note


def test_the_note_of_a_metric_alone_speaks_of_no_grid():
    result = at_point(make_result(explainer="none"), np.nan)
    spec = result.evaluated["grid"].spec
    alone = with_evaluated(result, grid=metric_alone(spec, np.arange(4.0), np.array([0.0, 2.0, 1.0, 3.0])))
    assert setting_note(alone).startswith("| | (w, p) | pearson | gain |") and "without an explainer" in setting_note(
        alone
    )
    undefined = with_evaluated(result, grid=metric_alone(spec, np.ones(4), np.arange(4.0)))
    assert setting_note(undefined).endswith("no correlation is defined.")


@pytest.mark.parametrize(
    ("params", "folder", "title"),
    [
        pytest.param(
            {
                "dataset": "wmt17",
                "metric": "a, b, c, d",
                "explainer": "lime",
                "correlation": "pearson",
                "limit": "null",
            },
            "out",
            "s · wmt17 · 4 metrics · lime · pearson",
            id="many are counted",
        ),
        pytest.param(
            {"dataset": "x", "explainer": "", "limit": "20"}, "s", "s · x · first 20 segments", id="no explainer"
        ),
        pytest.param({"dataset": "x"}, "s,seed=1", "s · seed=1 · x", id="one of several sweeps"),
        pytest.param({}, "elsewhere", "s", id="nothing known"),
        pytest.param({"dataset": "y" * 400}, "s", "s · " + "y" * 246, id="too long"),
    ],
)
def test_sweeps_of_one_name_are_told_apart(params, folder, title):
    assert sweep_title("s", params, folder) == title


def test_an_experiment_has_views_of_sweeps_and_of_settings(folder):
    track(folder, [make_result()])
    mlflow = client(folder)
    tags = mlflow.get_experiment_by_name("tests").tags
    found = {view["name"]: json.loads(view["state"]) for view in map(json.loads, _views(tags).values())}
    assert set(found) == {"Sweeps", "Settings"}
    number = mlflow.get_experiment_by_name("tests").experiment_id
    (parent,), (child,) = runs_of(folder)
    for name, run in (("Sweeps", parent), ("Settings", child)):
        shown = mlflow.search_runs([number], found[name]["searchFilter"])
        assert [one.info.run_id for one in shown] == [run.info.run_id]
    known = {*(f"metrics.`{key}`" for key in child.data.metrics), *(f"params.`{key}`" for key in child.data.params)}
    assert set(found["Settings"]["selectedColumns"]) <= known


def _views(tags):
    return {key: value for key, value in tags.items() if key.startswith(PREFIX)}


def test_views_that_a_person_changed_or_deleted_stay_so(folder):
    track(folder, [])
    mlflow = client(folder)
    number = mlflow.get_experiment_by_name("tests").experiment_id
    changed, deleted = sorted(_views(mlflow.get_experiment_by_name("tests").tags))
    mlflow.set_experiment_tag(number, changed, "mine")
    mlflow.delete_experiment_tag(number, deleted)
    track(folder, [make_result()])
    assert _views(mlflow.get_experiment_by_name("tests").tags) == {changed: "mine"}


def test_an_experiment_that_was_there_before_gets_the_views_once(folder):
    client(folder).create_experiment("tests")
    track(folder, [], config=CONFIG + "evaluation: {grid: {correlation: kendall}}\n")
    tags = client(folder).get_experiment_by_name("tests").tags
    assert tags[MADE] == "1" and len(_views(tags)) == 2
    assert "baseline kendall" in next(view for view in _views(tags).values() if "Settings" in view)


def test_a_view_fits_into_a_tag():
    assert all(len(value) <= 5000 for value in views("spearman", 0).values())
