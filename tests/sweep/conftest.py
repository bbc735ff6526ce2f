"""Fixtures for tests of sweeps and of tracking: a small sweep, and outputs beside a copy of a store."""

import shutil

import pytest

from bmx_grid.core.configure import ALLOWED_PACKAGES


@pytest.fixture
def sweep(request, swept, monkeypatch, blank_figures):
    """sweep(*overrides, out="out", metrics=None) -> number of failures, of the test module's SMALL in this process.

    Outputs and cache are in the test's own folder, and classes of `fakes` are allowed.
    """
    monkeypatch.setenv(ALLOWED_PACKAGES, "fakes")

    def go(*overrides: str, out: str = "out", metrics: dict | None = None) -> int:
        groups = {} if metrics is None else {"metric": metrics}
        return swept(*request.module.SMALL, *overrides, out=out, **groups)

    return go


@pytest.fixture
def folder(template, tmp_path):
    """An output folder with a store beside it, and a table to log."""
    shutil.copy(template, tmp_path / "mlflow.db")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "grid.parquet").write_bytes(b"content")
    return tmp_path / "out"
