"""Sweeps tracked for tests, and a look into the store past the tracker."""

import sqlite3

import numpy as np

from bmx_grid.judgements import Judgements
from bmx_grid.segments import Segment, SegmentSet
from bmx_grid.sweep.tracking.base import CURVES, GRID, HEAT_MAP
from bmx_grid.sweep.tracking.mlflow import MlflowTracker

CONFIG = "name: s\ndataset: {toy: {}}\nmetric: {chrf: {}, bleu: {}}\nseed: 0\nexecutor: {n_jobs: 2}\noutput_dir: here\n"
SCALARS = 12 + 4  # numbers about the grid, and the fixed point's
HEADLINE = 1  # numbers of the parent run, as `track` gives them


def files_of(folder):
    """The files of a setting, by their names in the store."""
    return {CURVES: folder / "figure.png", HEAT_MAP: folder / "heat.png", GRID: folder / "setting.parquet"}


def segments(language_pair="de-en", n=3, origin=""):
    """A small set of segments with a human score each, the last of them unrated."""
    rows = tuple(Segment(str(row), f"hypothesis {row}", f"source {row}", f"reference {row}") for row in range(n))
    scores = np.arange(n, dtype=np.float64)
    scores[-1] = np.nan
    return SegmentSet("toy", language_pair, rows, Judgements({"da": scores}), origin)


def started(folder, config=CONFIG, name="s", **options):
    """A tracker that has opened a sweep."""
    tracker = MlflowTracker(experiment="tests", **options)
    tracker.start(name, config, folder)
    return tracker


def track(folder, results, failed=(), config=CONFIG, name="s", **options):
    """One run of a sweep with these results."""
    tracker = started(folder, config, name, **options)
    tracker.reads([segments()])
    for result in results:
        tracker.log(result, files_of(folder))
    tracker.headline({"settings": len(results)}, "All is well.", [folder / "grid.parquet"])
    tracker.finish("finished", list(failed))
    return tracker


def client(folder):
    """MLflow's own view of the store beside the folder."""
    from mlflow import MlflowClient

    return MlflowClient(f"sqlite:///{folder.parent / 'mlflow.db'}")


def runs_of(folder):
    """Parents and children, oldest first."""
    mlflow = client(folder)
    found = mlflow.search_runs([mlflow.get_experiment_by_name("tests").experiment_id], order_by=["start_time ASC"])
    parents = [run for run in found if "mlflow.parentRunId" not in run.data.tags]
    return parents, [run for run in found if "mlflow.parentRunId" in run.data.tags]


def analyses_of(folder):
    """The runs of analyses, oldest first."""
    return [run for run in runs_of(folder)[1] if run.data.tags["kind"] == "analysis"]


def artifacts_of(folder, run):
    """The names of all files of a run, those of folders with their folder."""

    def below(path):
        for one in client(folder).list_artifacts(run.info.run_id, path):
            yield from below(one.path) if one.is_dir else [one.path]

    return sorted(below(None))


def history(folder, run, key):
    """(step, value) of a metric."""
    return [(one.step, one.value) for one in client(folder).get_metric_history(run.info.run_id, key)]


def n_points(folder):
    """All points in the store, counted past MLflow."""
    with sqlite3.connect(folder.parent / "mlflow.db") as database:
        return database.execute("SELECT COUNT(*) FROM metrics").fetchone()[0]
