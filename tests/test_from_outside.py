"""An evaluation, an executor and a question from another package: one module (and one YAML) each.

A metric and an explainer: docs/own_parts.md, which test_docs.py runs.
"""

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from fakes import ROOT

from bmx_grid.commands.analyse import main as analyse
from bmx_grid.commands.run import main as sweep

MODULES = {
    "evaluation": '''
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
from bmx_grid.evaluations.base import Evaluation
from bmx_grid.core.identity import identity

@dataclass(frozen=True)
class SystemMean:
    system: str
    mean: float
    human: float
    n: int

@dataclass(frozen=True)
class PerSystem(Evaluation):
    """Mean score and mean human score of each system."""
    ROWS: ClassVar[dict] = {"per_system": SystemMean}
    least: int = identity(1)

    def of_scope(self, settings):
        (setting,) = settings
        names = np.array([segment.system for segment in setting.segments.segments])
        base, human = setting.scores.base_scores, setting.segments.human_scores
        rows = [SystemMean(name, base[names == name].mean(), human[names == name].mean(), int((names == name).sum()))
                for name in sorted(set(names.tolist()))]
        return [{"per_system": [row for row in rows if row.n >= self.least]}]
''',
    "executor": '''
from dataclasses import dataclass
from bmx_grid.core.identity import runtime
from bmx_grid.sweep.executors.base import Executor

@dataclass(frozen=True)
class Noted(Executor):
    """One job after the other, each noted in a file."""
    log: str = runtime("")

    def run(self, jobs):
        for job in jobs:
            with open(self.log, "a") as file:
                file.write("job\\n")
            yield job.work()
''',
    "question": """
from bmx_grid.analysis.base import Cell, Table

def compute(given):
    table = given.table
    return {"widest_gap": float(abs(table.correlation - table.baseline[:, None, None]).max())}

def tables(result):
    row = (Cell("all"), Cell(result["widest_gap"], ".3f"))
    return [Table("widest_gap", "How far a grid gets from its baseline", ("settings", "gap"), ((row,),), ())]
""",
}
OPTIONS = {
    "evaluation/per_system": "per_system:\n  _target_: ext.evaluation.PerSystem\n  least: 1\n",
    "executor/noted": "_target_: ext.executor.Noted\nlog: jobs.txt\n",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A sweep with all of them, run as a user would run it."""
    place = tmp_path_factory.mktemp("outside")
    (place / "ext").mkdir()
    (place / "ext" / "__init__.py").write_text("")
    for name, code in MODULES.items():
        (place / "ext" / f"{name}.py").write_text(code)
    for name, text in OPTIONS.items():
        (place / "conf" / f"{name}.yaml").parent.mkdir(parents=True, exist_ok=True)
        (place / "conf" / f"{name}.yaml").write_text(text)
    chosen = ("metric=[chrf]", "explainer=[erasure]", "evaluation=[grid,per_system]", "executor=noted")
    small = ("dataset=[sample]", "dataset.sample.language_pairs=[de-en]", "limit=9", "tracking=none")
    asked = ("questions=[ext.question]", "output_dir=out", "cache_dir=cache")
    known = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{place}", "BMX_ALLOWED_PACKAGES": "ext"}
    command = [sys.executable, "-m", "bmx_grid", "--config-dir", "conf", *chosen, *small, *asked]
    done = subprocess.run(command, cwd=place, env=known, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return place


def test_a_sweep_uses_all_of_them(folder):
    """tests/analysis/test_questions.py asks a question of a finished sweep."""
    table = pd.read_parquet(folder / "out" / "tables" / "per_system.parquet")
    assert list(table.columns) == ["dataset", "language_pair", "metric", "explainer", "system", "mean", "human", "n"]
    assert table.groupby("metric", observed=True).n.sum().to_dict() == {"chrf": 9}
    assert set((folder / "jobs.txt").read_text().split()) == {"job"}
    assert "How far a grid gets from its baseline" in (folder / "out" / "report.html").read_text()


@pytest.mark.parametrize(
    ("command", "arguments", "said"),
    [
        pytest.param(sweep, ("--config-dir", "conf", "evaluation=[per_system]"), "PerSystem' is outside", id="option"),
        pytest.param(analyse, ("out", "questions=ext.question"), "BMX_ALLOWED_PACKAGES", id="question"),
        pytest.param(sweep, ("questions=[ext.question]", "dry_run=true"), "BMX_ALLOWED_PACKAGES", id="of a sweep"),
    ],
)
def test_nothing_outside_runs_unless_its_package_is_named(folder, command, arguments, said, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delenv("BMX_ALLOWED_PACKAGES", raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == "ext"]:
        monkeypatch.delitem(sys.modules, name)
    assert command(arguments) == 2
    assert said in capsys.readouterr().err
    assert "ext" not in sys.modules
