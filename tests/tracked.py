"""Sweeps tracked for tests, and a look into the store past the tracker."""

import shutil
import sqlite3
from contextlib import closing

from some_results import P, W

from bmx_grid.evaluations.base import Estimate
from bmx_grid.sweep.mlflow_runs import Finding
from bmx_grid.sweep.tracking import MlflowTracker

CONFIG = "name: s\ndataset: {toy: {}}\nmetric: {chrf: {}, bleu: {}}\nseed: 0\nexecutor: {n_jobs: 2}\noutput_dir: here\n"
CURVES = len(P) * len(W) + len(P)  # points of a setting's curves, and p at each
FOUND = Finding("helps", Estimate(0.25, 0.125, 0.375), 0.5, "<p>a page</p>")
SCALARS = 5 + 4  # the gain and what it is of, the published point's correlation and the best point
HEADLINE = 1  # numbers of the sweep's run, as `track` gives them


def started(folder, config=CONFIG, **options):
    """A tracker that has opened a sweep."""
    tracker = MlflowTracker(experiment="tests", **options)
    tracker.start("s", config, folder)
    return tracker


def track(folder, results, failed=(), config=CONFIG, **options):
    """One run of a sweep with these results."""
    tracker = started(folder, config, **options)
    for result in results:
        tracker.log(result)
    for result in results:
        tracker.judge(result, lambda: FOUND)
    tracker.headline({"mean_gain": 0.1}, "All is well.", [folder / "grid.parquet"], {})
    tracker.finish(list(failed))
    return tracker


def copy_store(source, folder):
    """The store beside `source`, with its artifacts, beside another folder."""
    shutil.copy(source.parent / "mlflow.db", folder.parent / "mlflow.db")
    shutil.copytree(source.parent / "mlruns", folder.parent / "mlruns")
    with closing(sqlite3.connect(folder.parent / "mlflow.db")) as database, database:
        for table, column in (("runs", "artifact_uri"), ("experiments", "artifact_location")):
            here = (str(source.parent), str(folder.parent))
            database.execute(f"UPDATE {table} SET {column} = replace({column}, ?, ?)", here)


def address(folder):
    """The store beside the folder."""
    return f"sqlite:///{folder.parent / 'mlflow.db'}"


def client(folder):
    """MLflow's own view of the store beside the folder."""
    from mlflow import MlflowClient

    return MlflowClient(address(folder))


def runs_of(folder):
    """The runs of sweeps, and those of settings, oldest first."""
    return all_runs(folder, "sweep"), all_runs(folder, "setting")


def all_runs(folder, kind):
    """The runs of this kind, oldest first."""
    mlflow = client(folder)
    runs = mlflow.search_runs([mlflow.get_experiment_by_name("tests").experiment_id], order_by=["start_time ASC"])
    return [run for run in runs if run.data.tags["kind"] == kind]


def n_points(folder):
    """All points in the store, counted past MLflow."""
    with sqlite3.connect(folder.parent / "mlflow.db") as database:
        return database.execute("SELECT COUNT(*) FROM metrics").fetchone()[0]
