"""Fixtures for tests of sweeps and of tracking: a small sweep, and outputs beside a copy of a store."""

import shutil

import pytest
from fakes import composed

from bmx_grid.commands.sweep import run
from bmx_grid.core.configure import ALLOWED_PACKAGES


@pytest.fixture
def sweep(request, tmp_path, monkeypatch, blank_figures):
    """sweep(*overrides, out="out", metrics=None) -> number of failures, of the test module's SMALL in this process.

    Outputs and cache are in the test's own folder, and classes of `fakes` are allowed.
    """
    monkeypatch.setenv(ALLOWED_PACKAGES, "fakes")

    def go(*overrides: str, out: str = "out", metrics: dict | None = None) -> int:
        folders = (f"output_dir={tmp_path / out}", f"cache_dir={tmp_path / 'cache'}")
        config = composed(*request.module.SMALL, *folders, *overrides)
        if metrics is not None:
            config["metric"] = metrics
        return run(config)

    return go


@pytest.fixture
def folder(template, tmp_path):
    """An output folder with a store beside it, and a table to log."""
    shutil.copy(template, tmp_path / "mlflow.db")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "grid.parquet").write_bytes(b"content")
    return tmp_path / "out"
