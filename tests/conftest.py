"""Fixtures for all tests: real data and published results where they are there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fakes import ROOT


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of downloaded data sets; skips where there is none."""
    folder = Path(os.environ.get("BMX_DATA_DIR") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"real data are not here: set BMX_DATA_DIR (looked at {folder})")
    return folder


@pytest.fixture(scope="session")
def authors_grid() -> Path:
    """The published grid of the paper's authors; skips where it is not."""
    path = Path(os.environ.get("BMX_DATA_DIR") or ROOT.parent / "shared" / "data").parent / "expected"
    path = path / "bmx_authors_grid.parquet"
    if not path.is_file():
        pytest.skip(f"the authors' published grid is not here (looked at {path})")
    return path
