"""Fixtures for tests of tracking: a store made once, and a folder of outputs beside a copy of it."""

import shutil

import pytest
from tracked import CONFIG

from bmx_grid.sweep.tracking.mlflow import MlflowTracker


@pytest.fixture(scope="session")
def template(tmp_path_factory):
    """A fresh database, made once: MLflow takes seconds for it."""
    folder = tmp_path_factory.mktemp("template")
    MlflowTracker().start("template", CONFIG, folder / "out")
    return folder / "mlflow.db"


@pytest.fixture
def folder(template, tmp_path):
    """An output folder with a store beside it, and a figure and a table to log."""
    shutil.copy(template, tmp_path / "mlflow.db")
    (tmp_path / "out").mkdir()
    for name in ("grid.parquet", "figure.png", "setting.parquet"):
        (tmp_path / "out" / name).write_bytes(b"content of " + name.encode())
    return tmp_path / "out"
