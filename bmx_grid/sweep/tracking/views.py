"""Saved views of an experiment, which MLflow's page lists under Views: its sweeps, and their settings, with columns.

MLflow keeps a view as a tag of the experiment. Its form is not documented; a version that reads another one ignores
these or says that the view cannot be loaded, and the list without a view is there as ever.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

PREFIX = "mlflow.sharedViewState."
MADE = "bmx_grid.views"  # the experiment's tag that says which views it has had: deleted ones are not made again
VERSION = 1
SWEEPS = (
    *("params.dataset", "params.metric", "params.explainer", "params.correlation", "params.limit"),
    *("metrics.settings", "metrics.mean fixed gain", "metrics.mean fixed gain low", "metrics.mean fixed gain high"),
    *("metrics.settings better", "metrics.settings worse"),
)
SETTINGS = (
    *("params.language_pair", "params.metric", "params.explainer"),
    *("metrics.baseline {kind}", "metrics.fixed gain", "metrics.best gain", "metrics.best w", "metrics.best p"),
    *("metrics.segments used", "metrics.share shifted", "params.dataset", "params.correlation"),
)
BY_DATE = "attributes.start_time"
BY_GAIN = "metrics.`fixed gain`"  # not by date: MLflow's page would hide children below their parents


def views(kind: str, when: int) -> dict[str, str]:
    """Tags of an experiment that hold its views. kind: the correlation of its sweeps; when: milliseconds."""
    settings = [column.format(kind=kind) for column in SETTINGS]
    return {
        f"{PREFIX}bmx-grid-sweeps": _view("Sweeps", "tags.kind = 'sweep'", BY_DATE, SWEEPS, when),
        f"{PREFIX}bmx-grid-settings": _view("Settings", "tags.kind = 'setting'", BY_GAIN, settings, when),
        MADE: str(VERSION),
    }


def _view(name: str, wanted: str, order: str, columns: Sequence[str], when: int) -> str:
    ids = [_column(one) for one in columns]
    state: Mapping[str, object] = {
        "searchFilter": wanted,
        "orderByKey": order,
        "orderByAsc": False,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "modelVersionFilter": "All Runs",
        "datasetsFilter": [],
        "selectedColumns": ids,
        "columnOrder": ids,
    }
    return json.dumps({"name": name, "createdAt": when, "updatedAt": when, "state": json.dumps(state)})


def _column(name: str) -> str:
    """A column as the page names it: metrics.`mean gain`."""
    kind, _, key = name.partition(".")
    return f"{kind}.`{key}`"
