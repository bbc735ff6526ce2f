"""A boost, an evaluation, an executor and a question from another package, as docs/contributing shows them.

A metric and an explainer: docs/how-to/add_a_metric_or_explainer.md, which test_doc_pages.py runs.
"""

import os
import re
import sys
from pathlib import Path

import pandas as pd
import pytest
from fakes import ROOT
from started import Forked

from bmx_grid.commands.analyse import main as analyse
from bmx_grid.commands.run import main as sweep

PAGES = (
    "boost",
    "evaluation",
    "question",
    "executor",
)  # of docs/contributing, whose blocks are the files of such a package


@pytest.fixture(scope="module")
def folder(tmp_path_factory, forks) -> Path:
    """A sweep with all of them, run as a user would run it."""
    place = tmp_path_factory.mktemp("outside")
    for page in PAGES:
        text = (ROOT / "docs" / "contributing" / f"{page}.md").read_text()
        for name, block in re.findall(r'```\w+ title="(.*?)"\n(.*?)```', text, flags=re.DOTALL):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(block)
    (place / "ext" / "__init__.py").write_text("")
    run(forks, place)
    return place


def run(forks: str, place: Path) -> str:
    chosen = ("metric=[chrf]", "explainer=[erasure]", "boost=[power_mean_grid,median]", "executor=noted")
    evaluated = "evaluation=[grid,boosts,per_system]"
    small = ("dataset=[sample]", "dataset.sample.language_pairs=[de-en]", "limit=9", "tracking=none")
    asked = ("questions=[ext.question]", "output_dir=out", "cache_dir=cache")
    known = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{place}", "BMX_ALLOWED_PACKAGES": "ext"}
    command = ["-m", "bmx_grid", "--config-dir", "conf", *chosen, evaluated, *small, *asked]
    done = Forked(forks, command, place, cwd=place, environment=known)
    out, err = done.communicate()
    assert done.wait() == 0, err
    return out


def test_a_sweep_uses_all_of_them(folder):
    """tests/analysis/test_questions.py asks a question of a finished sweep."""
    table = pd.read_parquet(folder / "out" / "tables" / "per_system.parquet")
    assert list(table.columns) == ["dataset", "language_pair", "metric", "explainer", "system", "mean", "human", "n"]
    assert table.groupby("metric", observed=True).n.sum().to_dict() == {"chrf": 9}
    boosts = pd.read_parquet(folder / "out" / "tables" / "boosts.parquet")
    assert "median" in set(boosts.boost)
    assert set((folder / "jobs.txt").read_text().split()) == {"job"}
    assert "How far a grid gets from its baseline" in (folder / "out" / "report.html").read_text()


def test_a_changed_question_is_answered_again(folder, forks):
    assert "is up to date" in run(forks, folder)
    question = folder / "ext" / "question.py"
    question.write_text(question.read_text().replace("How far a grid gets", "How far any grid gets"))
    assert "is up to date" not in run(forks, folder)
    assert "How far any grid gets" in (folder / "out" / "report.html").read_text()


@pytest.mark.parametrize(
    ("command", "arguments", "message"),
    [
        pytest.param(sweep, ("--config-dir", "conf", "evaluation=[per_system]"), "PerSystem' is outside", id="option"),
        pytest.param(analyse, ("out", "questions=ext.question"), "BMX_ALLOWED_PACKAGES", id="question"),
        pytest.param(sweep, ("questions=[ext.question]", "dry_run=true"), "BMX_ALLOWED_PACKAGES", id="of a sweep"),
    ],
)
def test_nothing_outside_runs_unless_its_package_is_named(folder, command, arguments, message, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delenv("BMX_ALLOWED_PACKAGES", raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == "ext"]:
        monkeypatch.delitem(sys.modules, name)
    assert command(arguments) == 2
    assert message in capsys.readouterr().err
    assert "ext" not in sys.modules
