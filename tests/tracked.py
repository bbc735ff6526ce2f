"""Sweeps tracked for tests, and a look into the store past the tracker."""

import sqlite3

from some_results import P, W

from bmx_grid.sweep.tracking import MlflowTracker

CONFIG = "name: s\ndataset: {toy: {}}\nmetric: {chrf: {}, bleu: {}}\nseed: 0\nexecutor: {n_jobs: 2}\noutput_dir: here\n"
CURVES = len(P) * len(W)  # points of a setting's curves
SCALARS = 4 + 3  # numbers about the grid, and the fixed point's
HEADLINE = 1  # numbers of the parent run, as `track` gives them


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
    tracker.headline({"settings": len(results)}, "All is well.", [folder / "grid.parquet"], ["LIME helps.", "So-so."])
    tracker.finish(list(failed))
    return tracker


def client(folder):
    """MLflow's own view of the store beside the folder."""
    from mlflow import MlflowClient

    return MlflowClient(f"sqlite:///{folder.parent / 'mlflow.db'}")


def runs_of(folder):
    """Parents and children, oldest first."""
    mlflow = client(folder)
    runs = mlflow.search_runs([mlflow.get_experiment_by_name("tests").experiment_id], order_by=["start_time ASC"])
    parents = [run for run in runs if "mlflow.parentRunId" not in run.data.tags]
    return parents, [run for run in runs if "mlflow.parentRunId" in run.data.tags]


def n_points(folder):
    """All points in the store, counted past MLflow."""
    with sqlite3.connect(folder.parent / "mlflow.db") as database:
        return database.execute("SELECT COUNT(*) FROM metrics").fetchone()[0]
