"""What is tracked of a sweep: every correlation once, whatever is repeated or interrupted."""

import dataclasses
import json

import numpy as np
import pytest
from some_results import P, make_result, with_evaluated, with_grid, without_point
from tracked import (
    CONFIG,
    CURVES,
    HEADLINE,
    SCALARS,
    artifacts_of,
    client,
    history,
    n_points,
    runs_of,
    segments,
    started,
    track,
)

from bmx_grid.core.configure import build, load_option
from bmx_grid.core.errors import StoreError
from bmx_grid.evaluations.grid import metric_alone
from bmx_grid.sweep.results import Spent
from bmx_grid.sweep.settings import Refused
from bmx_grid.sweep.tracking import (
    MlflowTracker,
    Tracker,
    ending,
    legal_names,
    parameters,
    points,
    source,
    step_scale,
    sweep_identity,
    sweep_title,
)

PAPER = {"p": tuple((np.arange(-300, 300) / 10).tolist()), "w": (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)}


def test_a_sweep_is_a_parent_run_with_a_child_for_each_setting(folder, monkeypatch):
    monkeypatch.setattr("sys.argv", ["/x/bmx_grid/__main__.py", "seed=1", "api_key=secret"])
    results = [make_result(metric=name) for name in ("chrf", "bleu")]
    track(folder, results)
    (parent,), children = runs_of(folder)
    assert parent.data.params == {"dataset": "toy", "metric": "chrf, bleu", "seed": "0"}
    assert parent.info.run_name == "s · toy · chrf, bleu"
    assert parent.data.tags["mlflow.note.content"] == "All is well."
    assert parent.data.tags["answer"] == "LIME helps.\nSo-so."
    assert {run.data.tags["mlflow.parentRunId"] for run in children} == {parent.info.run_id}
    assert {run.info.run_name for run in children} == {result.label for result in results}
    assert {run.info.status for run in (parent, *children)} == {"FINISHED"}
    child = next(run for run in children if run.data.params["metric"] == "chrf")
    assert child.data.params["w"] == "0, 0.4, 1" and child.data.params["p"] == "-3 … 2.9, 60 values"
    assert child.data.params["language_pair"] == "de-en"
    assert child.data.tags["signature"] == results[0].signature
    for run in (parent, child):
        assert run.data.tags["mlflow.source.name"] == "python -m bmx_grid seed=1 'api_key=***'"
        assert run.data.tags.get("mlflow.source.git.commit") == source(["x"]).get("mlflow.source.git.commit")
    assert artifacts_of(folder, parent) == ["grid.parquet"]


def test_every_grid_point_is_there_once_at_its_step(folder):
    result = make_result()
    track(folder, [result])
    (child,) = runs_of(folder)[1]
    assert history(folder, child, "pearson/w1") == [(-30, 0.5), (29, 0.5)]
    for column, name in enumerate(("pearson/w0", "pearson/w0.4")):
        curve = zip(range(-30, 30), result.grid.correlation[:, column], strict=True)
        assert history(folder, child, name) == list(curve)
    assert n_points(folder) == CURVES + SCALARS + HEADLINE
    assert child.data.metrics["best pearson"] == result.grid.best
    assert child.data.metrics["best p"] == result.grid.best_p
    assert child.data.metrics["fixed gain"] == result.published.correlation - 0.5
    times = client(folder).get_metric_history(child.info.run_id, "pearson/w0.4")  # pages draw over time at first
    assert [point.timestamp - child.info.start_time for point in times] == list(range(60))
    assert {type(point.step) for point in times} == {int}


def test_the_papers_grid_has_its_3000_boosted_points_and_600_steps(folder):
    """More parameters than MLflow takes at once: it refuses a call with 1,001 entries or 101 parameters."""
    paper = make_result(**PAPER)
    sent, n_left_out = points(paper)
    curves = [entry for entry in sent if "/" in entry[0]]
    assert (len(curves), n_left_out, sent[0][0]) == (3002, 0, "fixed gain")
    assert {step for _, _, step in curves} == set(range(-300, 300))
    assert {name for name, _, _ in curves} == {f"pearson/w{w}" for w in ("0", "0.2", "0.4", "0.6", "0.8", "1")}
    many = dataclasses.replace(paper, parameters={f"field_{number}": number for number in range(230)})
    assert track(folder, [many]).failure is None
    assert n_points(folder) == 3002 + SCALARS + HEADLINE
    assert runs_of(folder)[1][0].data.params["field_229"] == "229"


@pytest.mark.parametrize(
    ("p", "scale"),
    [
        pytest.param(P, 10, id="tenths"),
        pytest.param((-1.0, 0.0, 1.0), 10, id="whole numbers keep the tenths"),
        pytest.param((-0.25, 0.0, 0.25), 100, id="quarters need hundredths, under another name"),
        pytest.param((0.1 + 0.2, 0.4, 0.5), 10, id="a rounding error needs no finer step"),
        pytest.param((-np.inf, 0.1, np.inf), 10, id="infinite p have no step"),
    ],
)
def test_no_two_p_share_a_step(p, scale):
    result = make_result(p=p)
    assert step_scale(result) == scale
    curve = "pearson/w0" if scale == 10 else f"pearson by {scale} p/w0"
    steps = [step for name, _, step in points(result)[0] if name == curve]
    assert sorted(steps) == [round(power * scale) for power in p if np.isfinite(power)]


def test_non_finite_values_are_counted_and_not_sent(folder):
    holes = make_result().grid.correlation.copy()
    holes[:7, 0] = np.nan
    holes[0, 1] = np.inf
    track(folder, [with_grid(make_result(), correlation=holes, length_control=np.nan)])
    (child,) = runs_of(folder)[1]
    assert child.data.tags["non_finite"] == "9"
    assert len(history(folder, child, "pearson/w0")) == len(P) - 7
    assert n_points(folder) == CURVES + SCALARS + HEADLINE - 9


def test_a_setting_without_a_fixed_point_or_without_a_grid(folder):
    unpublished = without_point(make_result())
    sent, n_left_out = points(unpublished)
    assert (n_left_out, sent[0][0]) == (0, "best gain")
    assert not [name for name, _, _ in sent if name.startswith("fixed")]
    base, human = np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 1.0, 3.0, 2.0])
    result = without_point(make_result(explainer="none"))
    alone = with_evaluated(result, grid=metric_alone(result.evaluated["grid"].spec, base, human))
    assert [name for name, _, _ in points(alone)[0]] == ["baseline pearson"]
    assert not {"p", "w", "side"} & set(parameters(alone))
    assert track(folder, [alone]).failure is None
    assert runs_of(folder)[1][0].data.metrics["baseline pearson"] == pytest.approx(np.corrcoef(base, human)[0, 1])


def test_data_sets_are_inputs_of_the_sweep_and_of_each_setting(folder):
    import mlflow.data

    for _ in range(2):  # a repeated sweep reads the same data once
        origin = str(folder / "grid.parquet")
        sets = [segments("de-en"), segments("cs-en", 5, origin), segments("de-en")]
        tracker = started(folder, sets=sets)
        for pair in ("de-en", "cs-en"):
            tracker.log(make_result(language_pair=pair))
        tracker.finish("finished", [])
    (parent,), children = runs_of(folder)
    inputs = {data.dataset.name: data for data in parent.inputs.dataset_inputs}
    assert set(inputs) == {"toy · de-en", "toy · cs-en"} and len(parent.inputs.dataset_inputs) == 2
    of_child = {
        run.data.params["language_pair"]: [data.dataset.name for data in run.inputs.dataset_inputs] for run in children
    }
    assert of_child == {"de-en": ["toy · de-en"], "cs-en": ["toy · cs-en"]}
    data = inputs["toy · cs-en"]
    assert segments("cs-en", 5).fingerprint().startswith(data.dataset.digest) and len(data.dataset.digest) == 16
    assert json.loads(data.dataset.profile) == {
        **{"num_rows": 5, "num_rated": 4, "num_systems": 0, "human_scores": ["da"]}
    }
    assert mlflow.data.get_source(data).load() == origin  # MLflow's own reader


def test_a_repeated_sweep_adds_nothing(folder):
    results = [make_result(metric=name) for name in ("chrf", "bleu")]
    track(folder, results)
    before = n_points(folder)
    again = dataclasses.replace(results[0], spent=Spent(0.1), cached=True)
    track(folder, [again, results[1]], config=CONFIG.replace("n_jobs: 2", "n_jobs: 7").replace("here", "there"))
    parents, children = runs_of(folder)
    assert (len(parents), len(children), n_points(folder)) == (1, 2, before)
    assert {run.data.tags["texts"] for run in children} == {"800"}


@pytest.mark.parametrize("call", ["log_inputs", "log_batch", "set_terminated"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_a_run_that_was_cut_off_is_closed_and_completed_in_place(folder, monkeypatch, call, error):
    from mlflow import MlflowClient

    def interrupted(*_args, **_options):
        raise error

    tracker = started(folder, sets=[segments()])
    tracker.log(make_result(metric="bleu"))
    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, call, interrupted)
        with pytest.raises(error) as caught:
            tracker.log(make_result())
    tracker.finish(ending(caught.value), [Refused("s", "stopped")])
    (parent,), children = runs_of(folder)
    assert parent.info.status == "KILLED"
    assert {run.data.params.get("metric") or "chrf": run.info.status for run in children} == {
        "bleu": "FINISHED",
        "chrf": "KILLED",
    }
    track(folder, [make_result(metric="bleu"), dataclasses.replace(make_result(), spent=Spent(0.01), cached=True)])
    (parent,), children = runs_of(folder)
    assert {run.info.status for run in (parent, *children)} == {"FINISHED"} and len(children) == 2
    assert n_points(folder) == 2 * (CURVES + SCALARS) + HEADLINE
    assert {len(run.inputs.dataset_inputs) for run in children} == {1}


def test_a_setting_with_another_result_gets_a_new_run_and_may_get_the_old_one_back(folder):
    track(folder, [make_result(seed=0)])
    track(folder, [make_result(seed=1)])
    _, (old, new) = runs_of(folder)
    assert (old.data.tags["superseded_by"], new.data.tags.get("superseded_by", "")) == (new.info.run_id, "")
    track(folder, [make_result(seed=0)])
    _, (old, new) = runs_of(folder)
    assert (old.data.tags["superseded_by"], new.data.tags["superseded_by"]) == ("", old.info.run_id)


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
    many = [Refused(f"setting {number}", "out of memory" * 9) for number in range(200)]
    assert track(folder, [], failed=many).failure is None
    note = runs_of(folder)[0][0].data.tags["mlflow.note.content"]
    assert 7990 < len(note) <= 8000 and note.endswith("…")


def test_an_error_in_the_sweep_itself_ends_its_run_as_failed(folder):
    tracker = started(folder)
    tracker.finish(ending(ValueError()), [Refused("s", "stopped by ValueError")])
    (parent,), _ = runs_of(folder)
    note = "0 settings tracked, 1 failed.\n\n- failed: s: stopped by ValueError"
    assert (parent.info.status, parent.data.tags["mlflow.note.content"]) == ("FAILED", note)


@pytest.mark.parametrize(
    ("error", "status"),
    [(None, "finished"), (StoreError("x"), "failed"), (KeyboardInterrupt(), "killed"), (SystemExit(143), "killed")],
)
def test_who_ended_a_sweep(error, status):
    assert ending(error) == status


def test_numbers_and_files_of_the_analysis_are_the_sweeps_and_updated_not_doubled(folder):
    (folder / "tables").mkdir()
    for name in ("analysis.json", "tables/ridge.md", "report.html"):
        (folder / name).write_text("{}")
    files = [folder / "analysis.json", folder / "tables" / "ridge.md", folder / "report.html", folder / "none.csv"]
    for better in (3.0, 3.0, 4.0):
        tracker = started(folder)
        analysis = {"medians/lime/p": -1.4, "ridge/a+b (c)": 0.5, "undefined": float("nan")}
        tracker.headline({**analysis, "settings": 5.0, "settings better": better}, f"**{better:g}** of 5", files)
        tracker.finish("finished", [])
        assert tracker.failure is None
    (parent,), children = runs_of(folder)
    headline = {"settings": 5.0, "settings better": 4.0}
    assert parent.data.metrics == {**headline, "medians/lime/p": -1.4, "ridge/a_b _c_": 0.5}
    assert parent.data.tags["mlflow.note.content"] == "**4** of 5"
    assert (n_points(folder), children) == (5, [])
    assert artifacts_of(folder, parent) == ["analysis.json", "report.html", "tables/ridge.md"]


def test_a_deleted_experiment_is_named(folder):
    track(folder, [])
    mlflow = client(folder)
    mlflow.delete_experiment(mlflow.get_experiment_by_name("tests").experiment_id)
    with pytest.raises(StoreError, match=r"'tests'.*tracking.experiment="):
        track(folder, [])


def test_no_tracking_writes_nothing(tmp_path):
    tracker = Tracker()
    tracker.start("s", CONFIG, tmp_path / "out")
    tracker.log(make_result())
    tracker.headline({"settings": 1}, "", [])
    tracker.finish("finished", [])
    assert (tracker.store(tmp_path / "out"), tracker.where(), tracker.failure) == ("", "", None)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("name", "kind"), [("mlflow", MlflowTracker), ("none", Tracker)])
def test_the_options_build(name, kind):
    assert build(load_option("tracking", name), Tracker, "tracking") == kind()


@pytest.mark.parametrize(
    ("names", "legal"),
    [
        pytest.param(["w(", "w)"], ["w_", "w_ 2"], id="two that become one stay two"),
        pytest.param(["w0.123456"], ["w0.123456"], id="a short number as given"),
        pytest.param(["a+b (c)", "de-en ü"], ["a_b _c_", "de-en ü"], id="signs that are refused"),
        pytest.param(["a/../b", "/a", ".", "a//b"], ["_a_.._b", "__a", "_.", "_a__b"], id="no path out of a folder"),
        pytest.param(["x" * 300, "x" * 301], ["x" * 238, "x" * 238 + " 2"], id="too long"),
        pytest.param([""], ["_"], id="empty"),
    ],
)
def test_names_that_mlflow_takes(names, legal, folder):
    assert legal_names(names) == legal
    tracker = started(folder)
    tracker.headline(dict.fromkeys(names, 0.5), "", [])
    assert tracker.failure is None
    assert runs_of(folder)[0][0].data.metrics == dict.fromkeys(legal, 0.5)


@pytest.mark.parametrize(
    ("argv", "typed"),
    [
        (["/x/bmx_grid/__main__.py", "+sweep=a", "limit=5"], "python -m bmx_grid +sweep=a limit=5"),
        (["/usr/bin/bmx-grid", "metric=[chrf]"], "bmx-grid 'metric=[chrf]'"),
        ([""], "python"),
        (["b", "uri=http://me:secret@host:5000"], "b 'uri=http://me:***@host:5000'"),
        (["b", "+token=a b"], "b '+token=***'"),
        (["b", "metric.x={password: secret}"], "b 'metric.x={password: ***'"),
        (["b", "metric.tokens=5"], "b metric.tokens=5"),
    ],
    ids=["module", "script", "session", "address", "blank", "mapping", "a key that only looks like a secret"],
)
def test_the_command_as_typed_without_passwords(argv, typed):
    assert source(argv)["mlflow.source.name"] == typed


@pytest.mark.parametrize(
    ("params", "output", "title"),
    [
        pytest.param(
            {"dataset": "wmt17", "metric": "a, b, c, d", "explainer": "lime", "correlation": "pearson"},
            "out",
            "s · wmt17 · 4 metrics · lime · pearson",
            id="many are counted",
        ),
        pytest.param({"dataset": "x", "limit": "20"}, "s", "s · x · first 20 segments", id="a limit"),
        pytest.param({"dataset": "x"}, "s,seed=1", "s · seed=1 · x", id="one of several sweeps"),
        pytest.param({}, "elsewhere", "s", id="nothing known"),
        pytest.param({"dataset": "y" * 400}, "s", "s · " + "y" * 246, id="too long"),
    ],
)
def test_sweeps_of_one_name_are_told_apart(params, output, title):
    assert sweep_title("s", params, output) == title


def test_a_sweep_is_the_same_wherever_and_however_it_is_run():
    same = CONFIG.replace("n_jobs: 2", "n_jobs: 9").replace("here", "there") + "on_error: stop\n"
    assert sweep_identity("s", CONFIG) == sweep_identity("s", same)
    for other in (("t", CONFIG), ("s", CONFIG.replace("seed: 0", "seed: null"))):
        assert sweep_identity("s", CONFIG)[0] != sweep_identity(*other)[0]


def test_the_store_of_a_sweep_is_another_one_when_it_is_missing_or_has_another_name(folder):
    known = MlflowTracker(experiment="tests").store(folder)
    assert MlflowTracker(experiment="others").store(folder) != known
    (folder.parent / "mlflow.db").unlink()
    assert MlflowTracker(experiment="tests").store(folder) not in ("", known)
