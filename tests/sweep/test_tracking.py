"""What is tracked of a sweep: every correlation once, whatever is repeated or interrupted."""

import dataclasses

import numpy as np
import pytest
from some_results import make_result, with_evaluated, with_grid, without_point
from tracked import CONFIG, CURVES, HEADLINE, SCALARS, client, n_points, runs_of, started, track

from bmx_grid.core.configure import build, load_option
from bmx_grid.evaluations.grid import metric_alone
from bmx_grid.sweep.results import Spent
from bmx_grid.sweep.settings import Refused
from bmx_grid.sweep.tracking import MlflowTracker, Tracker, parameters, points, source, sweep_identity

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
    assert [entry.path for entry in client(folder).list_artifacts(parent.info.run_id)] == ["grid.parquet"]


def test_every_grid_point_is_there_once_at_its_step(folder):
    result = make_result()
    track(folder, [result])
    (child,) = runs_of(folder)[1]
    for column, name in enumerate(("pearson/w0", "pearson/w0.4", "pearson/w1")):
        history = client(folder).get_metric_history(child.info.run_id, name)
        curve = zip(range(-30, 30), result.grid.correlation[:, column], strict=True)
        assert [(point.step, point.value) for point in history] == list(curve)
        assert [point.timestamp - child.info.start_time for point in history] == list(range(60)), "pages draw over time"
    assert n_points(folder) == CURVES + SCALARS + HEADLINE
    assert child.data.metrics["best pearson"] == result.grid.best
    assert child.data.metrics["best p"] == result.grid.best_p
    assert child.data.metrics["fixed pearson"] == result.published.correlation


def test_the_papers_grid_has_all_of_its_points(folder):
    """More than MLflow takes at once: it refuses a call with 1,001 entries."""
    sent = points(make_result(**PAPER))
    curves = [entry for entry in sent if "/" in entry[0]]
    assert (len(curves), sent[0][0]) == (3600, "fixed pearson")
    assert {step for _, _, step in curves} == set(range(-300, 300))
    assert {name for name, _, _ in curves} == {f"pearson/w{w}" for w in ("0", "0.2", "0.4", "0.6", "0.8", "1")}
    assert track(folder, [make_result(**PAPER)]).failure is None
    assert n_points(folder) == 3600 + SCALARS + HEADLINE


@pytest.mark.parametrize(
    ("p", "steps"),
    [((-1.0, 0.0, 1.0), [-10, 0, 10]), ((-0.25, 0.0, 0.25), [0]), ((0.1 + 0.2, 0.4), [3, 4]), ((0.1, np.inf), [1])],
    ids=["whole", "quarters", "a rounding error", "infinite"],
)
def test_steps_are_whole_tenths_of_p(p, steps):
    assert sorted(step for name, _, step in points(make_result(p=p)) if name == "pearson/w0") == steps


def test_what_is_undefined_is_not_sent():
    holes = make_result().grid.correlation.copy()
    holes[:7, 0], holes[0, 1] = np.nan, np.inf
    sent = points(with_grid(make_result(), correlation=holes, best_p=np.nan))
    assert len(sent) == CURVES + SCALARS - 9
    assert not [name for name, _, _ in points(without_point(make_result())) if name.startswith("fixed")]
    base, human = np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 1.0, 3.0, 2.0])
    result = without_point(make_result(explainer="none"))
    alone = with_evaluated(result, grid=metric_alone(result.evaluated["grid"].spec, base, human))
    assert points(alone) == [("baseline pearson", pytest.approx(np.corrcoef(base, human)[0, 1]), 0)]
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


@pytest.mark.parametrize(("call", "error"), [("log_batch", KeyboardInterrupt), ("set_terminated", SystemExit)])
def test_a_run_that_was_cut_off_is_closed_and_completed_in_place(folder, monkeypatch, call, error):
    def interrupted(*_args, **_options):
        raise error

    tracker = started(folder)
    tracker.log(make_result(metric="bleu"))
    with monkeypatch.context() as patch:
        patch.setattr(f"mlflow.MlflowClient.{call}", interrupted)
        with pytest.raises(error) as caught:
            tracker.log(make_result())
    tracker.finish([Refused("s", "stopped")], caught.value)
    (parent,), children = runs_of(folder)
    assert sorted(run.info.status for run in (parent, *children)) == ["FINISHED", "KILLED", "KILLED"]
    track(folder, [make_result(metric="bleu"), dataclasses.replace(make_result(), spent=Spent(0.01), cached=True)])
    (parent,), children = runs_of(folder)
    assert {run.info.status for run in (parent, *children)} == {"FINISHED"} and len(children) == 2
    assert n_points(folder) == 2 * (CURVES + SCALARS) + HEADLINE


def test_failures_are_told_and_forgotten_when_mended(folder):
    track(folder, [make_result()], failed=[Refused("toy · comet", "comet is not installed")])
    (parent,), _ = runs_of(folder)
    assert parent.info.status == "FAILED"
    assert "- failed: toy · comet: comet is not installed" in parent.data.tags["mlflow.note.content"]
    track(folder, [make_result()])
    (parent,), _ = runs_of(folder)
    assert parent.info.status == "FINISHED" and "comet" not in parent.data.tags["mlflow.note.content"]
    many = [Refused(f"setting {number}", "out of memory" * 9) for number in range(200)]
    assert track(folder, [], failed=many).failure is None
    assert len(runs_of(folder)[0][0].data.tags["mlflow.note.content"]) <= 8000
    started(folder).finish([Refused("s", "stopped by ValueError")], ValueError())
    (parent,), _ = runs_of(folder)
    note = "- failed: s: stopped by ValueError"
    assert (parent.info.status, parent.data.tags["mlflow.note.content"]) == ("FAILED", note)


def test_numbers_and_files_of_the_analysis_are_the_sweeps_and_updated_not_doubled(folder):
    (folder / "tables").mkdir()
    for name in ("tables/ridge.md", "report.html"):
        (folder / name).write_text("{}")
    for better in (3.0, 3.0, 4.0):
        tracker = started(folder)
        analysis = {"medians/lime/p": -1.4, "ridge/a+b (c)": 0.5, "undefined": float("nan")}
        files = [folder / "tables" / "ridge.md", folder / "report.html", folder / "none.csv"]
        tracker.headline({**analysis, "settings better": better}, f"**{better:g}** of 5", files, ())
        tracker.finish([])
        assert tracker.failure is None
    (parent,), _ = runs_of(folder)
    assert parent.data.metrics == {"settings better": 4.0, "medians/lime/p": -1.4, "ridge/a_b _c_": 0.5}
    assert parent.data.tags["mlflow.note.content"] == "**4** of 5"
    assert n_points(folder) == 4
    listed = [entry.path for folder_of in (None, "tables") for entry in client(folder).list_artifacts(
        parent.info.run_id, folder_of)]  # fmt: skip
    assert sorted(listed) == ["report.html", "tables", "tables/ridge.md"]


def test_no_tracking_writes_nothing(tmp_path):
    tracker = Tracker()
    tracker.start("s", CONFIG, tmp_path / "out")
    tracker.log(make_result())
    tracker.headline({"settings": 1}, "", (), ())
    tracker.finish([])
    assert (tracker.store(tmp_path / "out"), tracker.where(), tracker.failure) == ("", "", None)
    assert not list(tmp_path.iterdir())
    for name, kind in (("mlflow", MlflowTracker), ("none", Tracker)):
        assert build(load_option("tracking", name), Tracker, "tracking") == kind()


def test_a_sweep_and_its_store_are_the_same_wherever_and_however_it_is_run(folder):
    same = CONFIG.replace("n_jobs: 2", "n_jobs: 9").replace("here", "there") + "on_error: stop\n"
    assert sweep_identity("s", CONFIG) == sweep_identity("s", same)
    for other in (("t", CONFIG), ("s", CONFIG.replace("seed: 0", "seed: null"))):
        assert sweep_identity("s", CONFIG)[0] != sweep_identity(*other)[0]
    known = MlflowTracker(experiment="tests").store(folder)
    assert MlflowTracker(experiment="others").store(folder) != known
    (folder.parent / "mlflow.db").unlink()
    assert MlflowTracker(experiment="tests").store(folder) not in ("", known)
    for argv, typed in (
        (["/usr/bin/bmx-grid", "metric=[chrf]"], "bmx-grid 'metric=[chrf]'"),
        ([""], "python"),
        (["b", "uri=http://me:secret@host:5000"], "b 'uri=http://me:***@host:5000'"),
    ):
        assert source(argv)["mlflow.source.name"] == typed
