"""Sweeps tracked for tests, and a look into the store past the tracker."""

import sqlite3

from some_results import P, W

from bmx_grid.sweep.tracking import MlflowTracker

CONFIG = "name: s\ndataset: {toy: {}}\nmetric: {chrf: {}, bleu: {}}\nseed: 0\nexecutor: {n_jobs: 2}\noutput_dir: here\n"
CURVES = len(P) * len(W)  # points of a setting's curves
SCALARS = 4 + 1  # numbers about the grid, and the fixed point's
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
    tracker.headline({"mean_gain": 0.1}, "All is well.", [folder / "grid.parquet"], ["LIME helps.", "So-so."])
    tracker.finish(list(failed))
    return tracker


def address(folder):
    """The store beside the folder."""
    return f"sqlite:///{folder.parent / 'mlflow.db'}"


def client(folder):
    """MLflow's own view of the store beside the folder."""
    from mlflow import MlflowClient

    return MlflowClient(address(folder))


def runs_of(folder):
    """The runs of sweeps and those of settings, oldest first."""
    mlflow = client(folder)
    runs = mlflow.search_runs([mlflow.get_experiment_by_name("tests").experiment_id], order_by=["start_time ASC"])
    sweeps = [run for run in runs if run.data.tags["kind"] == "sweep"]
    return sweeps, [run for run in runs if run.data.tags["kind"] == "setting"]


def n_points(folder):
    """All points in the store, counted past MLflow."""
    with sqlite3.connect(folder.parent / "mlflow.db") as database:
        return database.execute("SELECT COUNT(*) FROM metrics").fetchone()[0]
