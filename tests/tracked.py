"""Sweeps tracked for tests, and a look into the store past the tracker."""

import sqlite3

import numpy as np
from some_results import P, W

from bmx_grid.datasets.judgements import Judgements
from bmx_grid.datasets.segments import Segment, SegmentSet
from bmx_grid.sweep.tracking import MlflowTracker

CONFIG = "name: s\ndataset: {toy: {}}\nmetric: {chrf: {}, bleu: {}}\nseed: 0\nexecutor: {n_jobs: 2}\noutput_dir: here\n"
CURVES = len(P) * (len(W) - 1) + 2  # points of a setting's curves: that of w = 1 is flat, and has its two ends
SCALARS = 12 + 4  # numbers about the grid, and the fixed point's
HEADLINE = 1  # numbers of the parent run, as `track` gives them


def segments(language_pair="de-en", n=3, origin=""):
    """A small set of segments with a human score each, the last of them unrated."""
    rows = tuple(Segment(str(row), f"hypothesis {row}", f"source {row}", f"reference {row}") for row in range(n))
    scores = np.arange(n, dtype=np.float64)
    scores[-1] = np.nan
    return SegmentSet("toy", language_pair, rows, Judgements({"da": scores}), origin)


def started(folder, config=CONFIG, name="s", sets=(), **options):
    """A tracker that has opened a sweep."""
    tracker = MlflowTracker(experiment="tests", **options)
    tracker.start(name, config, folder, sets)
    return tracker


def track(folder, results, failed=(), config=CONFIG, name="s", **options):
    """One run of a sweep with these results."""
    tracker = started(folder, config, name, [segments()], **options)
    for result in results:
        tracker.log(result)
    tracker.headline({"settings": len(results)}, "All is well.", [folder / "grid.parquet"], ["LIME helps.", "So-so."])
    tracker.finish("finished", list(failed))
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


def artifacts_of(folder, run):
    """The names of all files of a run, those of folders with their folder."""

    def below(path):
        for entry in client(folder).list_artifacts(run.info.run_id, path):
            yield from below(entry.path) if entry.is_dir else [entry.path]

    return sorted(below(None))


def history(folder, run, key):
    """(step, value) of a metric."""
    return [(point.step, point.value) for point in client(folder).get_metric_history(run.info.run_id, key)]


def n_points(folder):
    """All points in the store, counted past MLflow."""
    with sqlite3.connect(folder.parent / "mlflow.db") as database:
        return database.execute("SELECT COUNT(*) FROM metrics").fetchone()[0]
