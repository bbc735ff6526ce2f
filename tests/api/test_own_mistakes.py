"""An exception in somebody's own code is told with its file and line, and the log has its traceback."""

import re
import traceback

import pandas as pd
import pytest

import bmx_grid as bmx
from bmx_grid.core.errors import BmxError

PROCESSES = pytest.mark.processes
FRAME = pd.DataFrame({"ref": ["a b", "c d", "e f"], "mt": ["a", "c d e", "f"], "DA": [0.1, 0.4, 0.2]})
QUICK = {"settings": {"grid.p.step": 10}, "evaluation": ["grid"]}
METRIC = """from dataclasses import dataclass
from bmx_grid.metrics.base import Metric


def helper(items):
    return items[0].textt("hypothesis")


@dataclass(frozen=True)
class Own(Metric):
    reads = ("reference", "hypothesis")
    signature = "own"

    def score(self, items):
        return helper(items)
"""


def raising(error):
    def broken(hypotheses, references):
        if error is KeyError:
            {}["boom"]  # THE LINE OF THE USER
        raise error("boom")  # THE LINE OF THE USER

    return broken


@pytest.mark.parametrize("error", [KeyError, ValueError, TypeError, AttributeError, RuntimeError])
def test_a_function_that_raises_is_named_with_its_line_and_chained(error):
    with pytest.raises(BmxError) as caught:
        bmx.grid(FRAME, raising(error), explainer="erasure", **QUICK)
    assert re.search("test_own_mistakes.py, line [0-9]+, in broken", str(caught.value))
    assert isinstance(caught.value.__cause__, error)
    assert "THE LINE OF THE USER" in "".join(traceback.format_exception(caught.value))
    with pytest.raises(BmxError, match="test_own_mistakes.py, line .*, in broken") as caught:
        bmx.load(raising(error), None).score(["b"], references=["a"])
    assert isinstance(caught.value.__cause__, error)


@pytest.fixture
def own_metric(tmp_path, monkeypatch):
    """own_metric(text): a folder with the package `ext`, whose module `own` holds this text, and an option of it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("BMX_ALLOWED_PACKAGES", f"ext_{tmp_path.name}")

    def write(text: str) -> str:
        package = f"ext_{tmp_path.name}"
        (tmp_path / package).mkdir()
        (tmp_path / package / "own.py").write_text(text)
        option = tmp_path / "conf" / "metric" / "own.yaml"
        option.parent.mkdir(parents=True)
        option.write_text(f"own:\n  _target_: {package}.own.Own\n")
        return package

    return write


def swept(*overrides):
    from bmx_grid.commands.run import main

    usual = ["dataset=[sample]", "dataset.sample.language_pairs=[de-en]", "metric=[own]", "limit=8", "tracking=none"]
    usual += ["cache_dir=c", "output_dir=o", "grid.p.step=10", "evaluation=[grid]", "analysis=false"]
    return main(["--config-dir", "conf", *usual, *overrides])


@pytest.mark.parametrize(
    "executor",
    [["executor=sequential"], pytest.param(["executor=loky", "executor.n_jobs=2"], marks=PROCESSES)],
    ids=str,
)
def test_a_sweep_names_line_and_log(own_metric, tmp_path, capsys, executor):
    package = own_metric(METRIC)
    assert swept("explainer=[erasure]", *executor) == 1
    printed = " ".join(capsys.readouterr().out.split())
    assert f"AttributeError: 'Item' object has no attribute 'textt' ({package}/own.py, line 6, in helper)" in printed
    assert "tracebacks: o/log.txt" in printed
    assert "items[0].textt" in (tmp_path / "o" / "log.txt").read_text()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("import math\n\nmath.nothing\n", 3, id="imported"),
        pytest.param(
            METRIC.replace('signature = "own"', "signature = property(lambda own: 1 / 0)"), 12, id="signature"
        ),
    ],
)
def test_what_fails_before_anything_runs_names_its_line(own_metric, capsys, text, line):
    package = own_metric(text)
    assert swept("explainer=[erasure]", "executor=sequential") != 0
    printed = capsys.readouterr()
    assert f"{package}/own.py, line {line}, in " in " ".join((printed.out + printed.err).split())
