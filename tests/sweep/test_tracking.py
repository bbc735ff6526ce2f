"""What is tracked of a sweep: every point once, whatever is repeated or interrupted."""

import dataclasses
import shutil

import numpy as np
import pytest
from some_results import P, W, at_point, make_result, with_evaluated, with_grid
from tracked import (
    CONFIG,
    HEADLINE,
    SCALARS,
    analyses_of,
    artifacts_of,
    client,
    files_of,
    history,
    n_points,
    runs_of,
    segments,
    started,
    track,
)

from bmx_grid.configure import build, load_option
from bmx_grid.errors import StoreError
from bmx_grid.evaluations.grid import metric_alone
from bmx_grid.sweep.settings import Refused
from bmx_grid.sweep.tracking.base import CURVES, GRID, HEAT_MAP, NoTracker, Tracker, ending
from bmx_grid.sweep.tracking.entries import finite, legal_names, parameters, points, step_scale, sweep_identity
from bmx_grid.sweep.tracking.mlflow import MlflowTracker

FILES = (CURVES, GRID, HEAT_MAP)


def test_a_sweep_is_a_parent_run_with_a_child_for_each_setting(folder):
    results = [make_result(metric=name) for name in ("chrf", "bleu")]
    track(folder, results)
    (parent,), children = runs_of(folder)
    assert parent.data.params == {"dataset": "toy", "metric": "chrf, bleu", "seed": "0"}
    assert parent.info.run_name == "s · toy · chrf, bleu"
    assert {run.data.tags["mlflow.parentRunId"] for run in children} == {parent.info.run_id}
    assert {run.info.run_name for run in children} == {result.label for result in results}
    assert {run.info.status for run in (parent, *children)} == {"FINISHED"}
    child = next(run for run in children if run.data.params["metric"] == "chrf")
    assert child.data.params["w"] == "0, 0.4, 1"
    assert child.data.params["language_pair"] == "de-en"
    assert child.data.tags["signature"] == results[0].signature
    assert artifacts_of(folder, parent) == ["grid.parquet"]


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
        pytest.param((0.1 + 0.2, 0.4, 0.5), 10, id="a rounding error needs no finer step"),
        pytest.param((-np.inf, 0.1, np.inf), 10, id="infinite p have no step"),
    ],
)
def test_no_two_p_share_a_step(p, scale):
    result = make_result(p=p)
    assert step_scale(result) == scale
    curve = "pearson/w0" if scale == 10 else f"pearson by {scale} p/w0"
    steps = [step for name, _, step in points(result)[0] if name == curve]
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
    result = at_point(make_result(), np.nan)
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
        again.log(dataclasses.replace(result, seconds=0.1, n_texts=0, cached=True), {GRID: folder / "none"})
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
        tracker.log(result, {GRID: artifact})
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
    monkeypatch.setattr("bmx_grid.sweep.tracking.runs.ALL_AT_ONCE", 80)
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
    tracker.reads([segments()])
    with monkeypatch.context() as patch:
        for name in ("log_inputs", "log_batch", "log_artifacts", "set_terminated", "set_tag"):
            patch.setattr(MlflowClient, name, cut(getattr(MlflowClient, name)))
        with pytest.raises(KeyboardInterrupt):
            tracker.log(result, files_of(folder))
    assert runs_of(folder)[1][0].data.tags.get("complete") is None
    track(folder, [dataclasses.replace(result, seconds=0.01, cached=True)])
    (child,) = runs_of(folder)[1]
    assert (child.data.tags["complete"], child.info.status) == ("true", "FINISHED")
    assert n_points(folder) == len(P) * len(W) + SCALARS + HEADLINE
    assert len(artifacts_of(folder, child)) == len(FILES) + 2  # the image and its small copy
    assert len(child.inputs.dataset_inputs) == 1


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


def test_a_deleted_experiment_is_named(folder):
    track(folder, [])
    mlflow = client(folder)
    mlflow.delete_experiment(mlflow.get_experiment_by_name("tests").experiment_id)
    with pytest.raises(StoreError, match=r"'tests'.*tracking.experiment="):
        track(folder, [])


def test_no_tracking_writes_nothing(tmp_path):
    tracker = NoTracker()
    tracker.start("s", CONFIG, tmp_path / "out")
    assert not tracker.wants_artifacts(make_result())
    tracker.reads([segments()])
    tracker.log(make_result(), {CURVES: tmp_path / "figure.png"})
    tracker.headline({"settings": 1}, "", [])
    tracker.analysis({"a": 1.0}, [])
    tracker.finish("finished", [])
    assert not tracker.is_complete("s", CONFIG, tmp_path / "out", {})
    assert (tracker.where(), tracker.failure) == ("", None)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("name", "kind"), [("mlflow", MlflowTracker), ("none", NoTracker)])
def test_the_options_build(name, kind):
    assert build(load_option("tracking", name), Tracker, "tracking") == kind()


@pytest.mark.parametrize(
    ("error", "status"),
    [(None, "finished"), (StoreError("x"), "failed"), (KeyboardInterrupt(), "killed"), (SystemExit(143), "killed")],
)
def test_who_ended_a_sweep(error, status):
    assert ending(error) == status


def test_the_papers_grid_is_sent_in_batches_that_mlflow_takes(folder, monkeypatch):
    """MLflow refuses a call with 1,001 metrics or 101 parameters; the refusal would end the tracking."""
    from mlflow import MlflowClient

    calls = []
    send = MlflowClient.log_batch

    def spy(self, run_id, metrics=(), params=(), tags=()):
        calls.append((len(metrics), len(params), len(tags)))
        return send(self, run_id, metrics=metrics, params=params, tags=tags)

    monkeypatch.setattr(MlflowClient, "log_batch", spy)
    paper = make_result(p=tuple((np.arange(-300, 300) / 10).tolist()), w=(0.0, 0.2, 0.4, 0.6, 0.8, 1.0))
    paper = dataclasses.replace(paper, parameters={f"field_{number}": number for number in range(230)})
    tracker = track(folder, [paper])
    assert tracker.failure is None
    assert n_points(folder) == 3600 + SCALARS + HEADLINE
    assert sum(metrics for metrics, _, _ in calls) == 3600 + SCALARS + HEADLINE
    assert max(map(sum, calls)) == 1000
    assert len([call for call in calls if call[0] > HEADLINE]) == 4
    (child,) = runs_of(folder)[1]
    assert child.data.params["field_229"] == "229"
    assert all(max(params, tags) <= 100 for _, params, tags in calls)


def test_curves_come_first_on_a_settings_page():
    """MLflow's page shows groups of metrics (up to the first /) before single ones, each sorted by name."""
    sent, _ = points(make_result())
    curves = {name for name, _, step in sent if step}
    assert {name.split("/")[0] for name in curves} == {"pearson"}
    assert not [name for name, _, _ in sent if "/" in name and name not in curves]


def test_the_metric_alone_is_tracked_without_a_grid(folder):
    base = np.array([1.0, 2.0, 3.0, 4.0])
    human = np.array([2.0, 1.0, 3.0, 2.0])
    result = at_point(make_result(explainer="none"), np.nan)
    alone = with_evaluated(result, grid=metric_alone(result.evaluated["grid"].spec, base, human))
    assert alone.baseline == pytest.approx(np.corrcoef(base, human)[0, 1])
    assert ("baseline pearson", alone.baseline, 0) in points(alone)[0]
    assert not [name for name, _, _ in points(alone)[0] if "/" in name or name.startswith("best")]
    assert not {"p", "w", "side"} & set(parameters(alone))
    assert track(folder, [alone]).failure is None
    assert runs_of(folder)[1][0].data.metrics["baseline pearson"] == pytest.approx(alone.baseline)


@pytest.mark.parametrize(
    ("given", "legal"),
    [
        pytest.param(["w 0.30000000000000004"], ["w 0.3"], id="digits of a rounding error"),
        pytest.param(["w0.30000000000000004", "w0.3"], ["w0.3", "w0.3 2"], id="two that become one stay two"),
        pytest.param(["w0.123456"], ["w0.123456"], id="a short number as given"),
        pytest.param(["a+b (c)", "de-en ü"], ["a_b _c_", "de-en ü"], id="signs that are refused"),
        pytest.param(["a/../b", "/a", ".", "a//b"], ["_a_.._b", "__a", "_.", "_a__b"], id="no path out of a folder"),
        pytest.param(["x" * 300, "x" * 301], ["x" * 250, "x" * 238 + " 2"], id="too long"),
        pytest.param([""], ["_"], id="empty"),
    ],
)
def test_names_that_mlflow_takes(given, legal, folder):
    assert legal_names(given) == legal
    tracker = started(folder)
    tracker.headline(dict.fromkeys(given, 0.5), "", [])
    assert tracker.failure is None
    tracker.finish("finished", [])
    assert runs_of(folder)[0][0].data.metrics == dict.fromkeys(legal, 0.5)


def test_undefined_numbers_are_left_out():
    assert finite({"a": 1, "b": np.nan, "c": np.inf, "d": 0.0}) == {"a": 1.0, "d": 0.0}


def test_the_headline_is_updated_not_doubled(folder):
    for better in (3.0, 3.0, 4.0):
        tracker = started(folder)
        tracker.headline({"settings": 5.0, "settings better": better}, f"**{better:g}** of 5", [folder / "none.csv"])
        tracker.finish("finished", [])
        assert tracker.failure is None
    (parent,), _ = runs_of(folder)
    assert parent.data.metrics == {"settings": 5.0, "settings better": 4.0}
    assert parent.data.tags["mlflow.note.content"] == "**4** of 5"
    assert n_points(folder) == 3


def test_a_long_note_is_shortened_not_refused(folder):
    tracker = track(folder, [], failed=[Refused(f"setting {number}", "out of memory" * 9) for number in range(200)])
    assert tracker.failure is None
    note = runs_of(folder)[0][0].data.tags["mlflow.note.content"]
    assert len(note) == 8000 and note.endswith("…")


def analysed(folder, numbers, text="{}"):
    (folder / "tables").mkdir(exist_ok=True)
    files = [folder / "analysis.json", folder / "tables" / "ridge.md", folder / "report.html"]
    for path in files:
        path.write_text(text)
    tracker = started(folder)
    tracker.analysis(numbers, files)
    tracker.finish("finished", [])
    assert tracker.failure is None


def test_the_analysis_is_a_run_of_its_own_once(folder):
    for _ in range(2):
        analysed(folder, {"medians/lime/p": -1.4, "ridge/a+b (c)": 0.5, "undefined": float("nan")})
    (parent,), _ = runs_of(folder)
    (run,) = analyses_of(folder)
    assert parent.data.metrics == {}
    assert parent.data.tags["analysis"] == run.info.run_id
    assert run.data.metrics == {"medians/lime/p": -1.4, "ridge/a_b _c_": 0.5}
    assert (run.info.run_name, run.info.status) == ("analysis", "FINISHED")
    assert run.data.tags["mlflow.parentRunId"] == parent.info.run_id
    assert n_points(folder) == 2
    found = {one.path for one in client(folder).list_artifacts(run.info.run_id)}
    assert found == {"analysis.json", "report.html", "tables"}


def test_another_analysis_takes_the_place_of_the_one_before_and_gives_it_back(folder):
    for text in ("{}", "[1]", "{}"):
        analysed(folder, {"a": 1.0}, text)
    first, second = analyses_of(folder)
    assert "superseded_by" not in first.data.tags
    assert second.data.tags["superseded_by"] == first.info.run_id
    assert runs_of(folder)[0][0].data.tags["analysis"] == first.info.run_id


def test_a_result_that_comes_back_is_the_present_one_again(folder):
    for seed in (0, 1, 0):
        track(folder, [make_result(seed=seed)])
    first, second = runs_of(folder)[1]
    assert "superseded_by" not in first.data.tags
    assert second.data.tags["superseded_by"] == first.info.run_id


def test_files_that_were_deleted_are_logged_again(folder):
    track(folder, [make_result()])
    before = n_points(folder)
    shutil.rmtree(folder.parent / "mlruns")
    track(folder, [make_result()])
    (child,) = runs_of(folder)[1]
    assert len(artifacts_of(folder, child)) == len(FILES) + 2
    assert n_points(folder) == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupted_sweep_leaves_no_run_open(folder, monkeypatch, error):
    """Interrupted while a setting is recorded, after its run was made."""
    from mlflow import MlflowClient

    def interrupted(*_args, **_options):
        raise error

    tracker = started(folder)
    tracker.log(make_result(metric="bleu"), files_of(folder))
    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, "log_artifacts", interrupted)
        with pytest.raises(error) as caught:
            tracker.log(make_result(), files_of(folder))
    tracker.finish(ending(caught.value), [Refused("s", "stopped")])
    (parent,), children = runs_of(folder)
    assert parent.info.status == "KILLED"
    assert {run.info.run_name: run.info.status for run in children} == {
        make_result(metric="bleu").label: "FINISHED",
        make_result().label: "KILLED",
    }
    track(folder, [make_result(metric="bleu"), make_result()])
    (parent,), children = runs_of(folder)
    assert {run.info.status for run in (parent, *children)} == {"FINISHED"} and len(children) == 2


def test_a_sweep_interrupted_at_its_start_is_closed(folder, monkeypatch):
    from mlflow import MlflowClient

    def interrupted(*_args, **_options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, "update_run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            started(folder)
    assert [run.info.status for run in runs_of(folder)[0]] == ["KILLED"]


def test_a_sweep_interrupted_at_its_very_end_is_closed(folder, monkeypatch):
    from mlflow import MlflowClient

    close = MlflowClient.set_terminated
    interrupts = [KeyboardInterrupt]

    def interrupted(*given, **options):
        if interrupts:
            raise interrupts.pop()
        return close(*given, **options)

    tracker = started(folder)
    monkeypatch.setattr(MlflowClient, "set_terminated", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tracker.finish("finished", [])
    assert [run.info.status for run in runs_of(folder)[0]] == ["KILLED"]


def test_an_error_in_the_sweep_itself_ends_its_run_as_failed(folder):
    tracker = started(folder)
    tracker.finish(ending(ValueError()), [Refused("s", "stopped by ValueError")])
    (parent,), _ = runs_of(folder)
    assert (parent.info.status, parent.data.tags["mlflow.note.content"]) == (
        "FAILED",
        "0 settings tracked, 1 failed.\n\n- failed: s: stopped by ValueError",
    )
