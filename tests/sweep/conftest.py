"""Fixtures for tests of sweeps and of tracking: a small sweep, and outputs beside a copy of a store."""

import io
import shutil
from contextlib import redirect_stdout

import pytest
from clusters import PATHS, command, planned, tables

from bmx_grid.commands.run import compose_and_run
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


@pytest.fixture(scope="module")
def fakes_everywhere():
    """Classes of `fakes` are allowed here and in all processes that are started."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ALLOWED_PACKAGES, "fakes")
        patch.setenv("PYTHONPATH", PATHS)
        yield


@pytest.fixture(scope="module")
def by_one_process(fakes_everywhere, tmp_path_factory):
    """The tables of `clusters.command` with executor=sequential, and how many texts it planned."""
    folder = tmp_path_factory.mktemp("whole")
    with redirect_stdout(io.StringIO()) as shown:
        assert compose_and_run(command(folder, "executor=sequential", seconds=0)[3:]) == 0
    return tables(folder), planned(shown.getvalue())
