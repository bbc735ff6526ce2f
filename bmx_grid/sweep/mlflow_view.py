"""Where a person sees a sweep in MLflow: the command of the server, the page, and what the page shows first.

MLflow keeps views of an experiment as its tags. One is written for each sweep: the runs of its settings, with what
tells them apart and what was found as columns. It is in the list "Views" of the page, by the name of the sweep.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from urllib.parse import urlsplit

from bmx_grid.core.wording import shortened
from bmx_grid.sweep.mlflow_store import SQLITE

# Columns of a view, from left to right, and their widths in pixels.
COLUMNS = {
    **{"params.`dataset`": 90, "params.`language_pair`": 110, "params.`metric`": 130, "params.`explainer`": 90},
    **{"metrics.`gain`": 85, "metrics.`gain low`": 85, "metrics.`gain high`": 85},
    **{"tags.`verdict`": 180},
}
TAG = "mlflow.sharedViewState."
LONGEST_TITLE = 60  # characters of a view's


def view(sweep: str, name: str, created: int) -> tuple[str, str]:
    """The tag of an experiment that is the view of a sweep: its key and its value.

    sweep: its identity, which its runs have as the tag `sweep`. created: milliseconds. The largest gain is the first
    row. Charts are left to MLflow, which draws the series of groups first: correlation over p, one chart for each w.
    """
    state = {
        "searchFilter": f"tags.kind = 'setting' and tags.sweep = '{sweep}'",
        "orderByKey": "metrics.`gain`",
        "orderByAsc": False,
        "selectedColumns": list(COLUMNS),
        "columnOrder": list(COLUMNS),
        "columnWidths": COLUMNS,
        "runsHiddenMode": "FIRST_20_RUNS",
    }
    title = f"{shortened(name, LONGEST_TITLE)} {sweep[:6]}"
    saved = {"name": title, "createdAt": created, "updatedAt": created, "state": json.dumps(state)}
    return f"{TAG}{_key(sweep)}", json.dumps(saved)


def pages(server: str, experiment: str, sweep: str, run_id: str) -> list[str]:
    """The addresses of the view and of the sweep's own run in a browser.

    They have no user and no password, for which the browser asks.
    """
    parts = urlsplit(server)
    host = parts.netloc.rpartition("@")[2]
    folder = parts.path.rstrip("/")
    runs = f"{parts.scheme}://{host}{folder}/#/experiments/{experiment}/runs"
    # MLflow's own first page is for language models; this type has the runs
    view_of_settings = f"{runs}?viewStateShareKey={_key(sweep)}&workflowType=machine_learning"
    return [view_of_settings, f"{runs}/{run_id}"]


def server_command(address: str) -> str:
    """The command that shows a SQLite store, to be typed where this program runs, installed in whatever environment.

    One worker: MLflow ends and restarts those of several that take more than five seconds to start.
    """
    python = _short(sys.executable)
    if os.sep not in python:  # in the working folder itself: a shell looks for a bare name elsewhere
        python = os.path.join(os.curdir, python)
    store = f"{SQLITE}{_short(address.removeprefix(SQLITE))}"
    return shlex.join([python, "-m", "mlflow", "ui", "--workers", "1", "--backend-store-uri", store])


def _key(sweep: str) -> str:
    return sweep[:12]


def _short(path: str) -> str:
    """The path, relative to the working folder where that is shorter."""
    return min(path, os.path.relpath(path), key=len)
