"""Scripts of experiments/ fit the package: each can be loaded, and the tables of boosts are those of a sweep."""

import itertools

import pytest
from fakes import ROOT
from scripts import script

from bmx_grid.api import compose
from bmx_grid.api.sweep import run_sweep
from bmx_grid.core.errors import DataError

SCRIPTS = sorted((ROOT / "experiments").rglob("*.py"))
SWEEP = "dataset=[sample] metric=[chrf] explainer=[erasure] boost=[power_mean_grid,mean] limit=40 analysis=false"


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: "/".join(path.parts[-2:]))
def test_a_script_finds_what_it_imports(path):
    with script(path) as module:
        assert module.__doc__


@pytest.fixture(scope="module")
def make():
    with script(ROOT / "experiments" / "beyond_bmx" / "make.py") as module:
        yield module


def test_tables_of_boosts_have_a_row_for_each_on_its_widest_scope(make, tmp_path):
    folder = tmp_path / "sweep"
    places = [f"output_dir={folder}", f"cache_dir={tmp_path / 'cache'}", "tracking=none", "executor=sequential"]
    run_sweep(compose.compose_config([*SWEEP.split(), *places]))
    declared = itertools.takewhile(lambda line: "published points" not in line, make.tables(folder))
    boosts = [cells[2] for line in declared if len(cells := line.strip("| ").split(" | ")) == 10]
    assert boosts == ["boost", "power_mean_grid", "mean"]


def test_a_folder_without_verdicts_is_named(make, tmp_path):
    with pytest.raises(DataError, match="verdicts"):
        next(make.tables(tmp_path))
