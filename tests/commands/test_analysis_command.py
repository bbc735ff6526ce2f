"""python -m bmx_grid analyse: what is written, what is said, and mistakes."""

import json
import subprocess
import sys

import pyarrow.parquet as pq
import pytest
from fakes import ROOT
from some_tables import flat, peaked, random_surfaces, rows

from bmx_grid.commands.analyse import main

SURFACES = {
    **random_surfaces(0, datasets=("d1", "d2"), explainers=("lime", "random"), metrics=("m1", "m2", "random")),
    ("d2", "a", "m3", "lime"): flat(),
}
QUICKLY = ("figures=false", "report=false")  # they have tests of their own


@pytest.fixture
def results(tmp_path):
    pq.write_table(rows(SURFACES), tmp_path / "grid.parquet")
    return tmp_path


def read(folder):
    return json.loads(
        (folder / "analysis.json").read_text(), parse_constant=lambda name: pytest.fail(f"{name} in JSON")
    )


def test_every_named_result_is_written(results, capsys):
    assert main([f"results={results}", *QUICKLY]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "25 settings, 2,000 correlations with w other than 1; 9 settings without" in told
    assert str(results / "analysis.json") in told
    found = read(results)
    assert (found["n_settings"], found["n_correlations"], found["n_settings_without_controls"]) == (25, 2000, 9)
    assert set(found["medians"]) == set(found["fixed"]) == {"lime"}
    assert {"w", "p", "n"} == set(found["medians"]["lime"])
    assert {"better", "worse", "unchanged", "max_gain", "mean_gain"} <= set(found["fixed"]["lime"])
    assert found["fixed"]["lime"]["n"] == 9
    assert set(found["ridge"]["coefficients"]) == {"d1", "d2", "a", "b", "m1", "m2", "m3", "lime"}
    assert set(found["gain_baseline_pearson"]) == {"all", "lime"}
    for method in ("leave_one_out", "nested"):
        assert set(found[method]) == {"dataset", "language_pair", "metric"}
        assert {"better", "mean_gain", "optimism"} <= set(found[method]["dataset"]["lime"])
    assert found["controls"]["random_explainer"]["by_explainer"]["lime"]["n"] == 8
    assert found["controls"]["random_metric"]["n"] == 4
    assert len(found["settings"]) == 25
    assert found["settings"]["d2 · a · m3 · lime"]["best_p"] == -2.0
    assert found["settings"]["d2 · a · m3 · lime"]["ties_baseline"] is True


def test_undefined_numbers_are_null(results):
    assert main([f"results={results}", "tie=mildest", *QUICKLY]) == 0
    found = read(results)
    assert found["settings"]["d2 · a · m3 · lime"]["best_p"] is None
    assert found["medians"]["lime"]["n"] == 8


def test_one_setting_only(tmp_path, capsys):
    pq.write_table(rows({("d", "a", "m", "lime"): peaked(-1.0)}), tmp_path / "one.parquet")
    assert main([f"results={tmp_path / 'one.parquet'}", f"output_dir={tmp_path / 'out'}", *QUICKLY]) == 0
    found = read(tmp_path / "out")
    assert found["medians"]["lime"] == {"p": -1.0, "w": 0.5, "n": 1}
    assert found["fixed"]["lime"]["better"] == 1
    assert found["gain_baseline_pearson"] == {"all": None, "lime": None}
    assert found["leave_one_out"]["dataset"]["lime"]["mean_gain"] is None
    told = capsys.readouterr().out
    assert "transfer" not in told
    assert "1 setting, 80 correlations" in " ".join(told.split())


def test_controls_only(tmp_path):
    pq.write_table(rows({("d", "a", "random", "lime"): flat()}), tmp_path / "grid.parquet")
    assert main([f"results={tmp_path}", *QUICKLY]) == 0
    found = read(tmp_path)
    assert (found["n_settings"], found["n_settings_without_controls"], found["medians"]) == (1, 0, {})


def test_parameters_of_another_table_are_applied(results, tmp_path):
    other = tmp_path / "other.parquet"
    pq.write_table(rows({("x", "a", "m", "lime"): peaked(1.3)}), other)
    assert main([f"results={results}", f"select.from={other}", *QUICKLY]) == 0
    found = read(results)
    assert (found["fixed"]["lime"]["p"], found["fixed"]["lime"]["w"]) == (1.3, 0.5)
    assert found["fixed"]["lime"]["provenance"] == "held out"
    assert "other.parquet, held out (no data set and language pair in common)" in found["fixed"]["lime"]["origin"]
    assert found["medians"]["lime"]["p"] != 1.3


def test_a_selection_without_the_explainer_says_so(results, tmp_path, capsys):
    other = tmp_path / "other.parquet"
    pq.write_table(rows({("x", "a", "m", "shap"): peaked(1.3)}), other)
    assert main([f"results={results}", f"select.from={other}", *QUICKLY]) == 0
    found = read(results)["fixed"]["lime"]
    assert (found["p"], found["n"], found["undefined"]) == (None, 0, 9)
    assert "has no lime" in capsys.readouterr().out


def test_given_points(results):
    assert main([f"results={results}", "fixed.lime.w=0.5", "fixed.lime.p=-0.95", *QUICKLY]) == 0
    found = read(results)["fixed"]["lime"]
    assert (found["p"], found["used_p"], found["provenance"]) == (-0.95, -1.0, "given")


def test_a_point_outside_the_grid_is_said(results, capsys):
    assert main([f"results={results}", "fixed.lime.w=0.5", "fixed.lime.p=-13.1", *QUICKLY]) == 0
    assert "p = -13.1, w = 0.5, which is not in this grid" in " ".join(capsys.readouterr().out.split())
    assert read(results)["fixed"]["lime"]["undefined"] == 9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["output_dir=x"], "results=PATH is missing", id="no table"),
        pytest.param(["results=HERE", "tie=frist"], "tie: unknown value 'frist'. Did you mean 'first'?", id="tie"),
        pytest.param(["results=HERE", "outputdir=x"], "unknown key 'outputdir'. Did you mean 'output_dir'?", id="key"),
        pytest.param(["results=HERE", "tie"], "'tie' is not KEY=VALUE", id="no value"),
        pytest.param(["results=HERE", "tie=first", "tie=mildest"], "tie is given twice", id="twice"),
        pytest.param(["results=HERE", "fixed.lime.p=-1"], "fixed.lime: give both p and w, not p only", id="half"),
        pytest.param(["results=HERE", "fixed.lime.p=x"], "fixed.lime.p=x: expected a number", id="no number"),
        pytest.param(["results=HERE", f"output_dir={__file__}"], "is a file; name a folder", id="a file"),
        pytest.param(["results=HERE", "fixed.lime.p=nan"], "fixed.lime.p=nan: expected a number", id="undefined"),
        pytest.param(["results=HERE", "fixed.lime.w=3"], "fixed.lime.w=3: w is the share", id="w above 1"),
        pytest.param(["results=HERE", "fixed.lime=1"], "fixed.lime=1: expected fixed.EXPLAINER.p", id="no coordinate"),
        pytest.param(
            ["results=HERE", "fixed.lmie.p=1", "fixed.lmie.w=1"],
            "unknown explainer 'lmie'. Did you mean 'lime'?",
            id="name",
        ),
        pytest.param(["results=HERE", "side=source"], "no row of side 'source'; the table holds both", id="side"),
        pytest.param(["results=HERE", "select.from=nowhere.parquet"], "there is no results table nowhere", id="other"),
        pytest.param(
            ["results=HERE", "select.from=HERE"], "is the analysed table itself (9 settings). Points would", id="itself"
        ),
        pytest.param(["results=HERE", "questions=os"], "questions: 'os' is outside the packages", id="question"),
        pytest.param(["results=HERE", "tracking=mlflow"], "tracking=mlflow: only none", id="tracking"),
        pytest.param(["results=HERE", "output_dir=/dev/null/x"], "cannot write /dev/null/x/analysis.json", id="folder"),
    ],
)
def test_mistakes_are_one_sentence_and_status_2(results, capsys, arguments, message):
    assert main([argument.replace("HERE", str(results)) for argument in arguments]) == 2
    found = capsys.readouterr()
    assert message in found.err
    assert found.err.startswith("error: ")
    assert "Traceback" not in found.err


def test_hostile_names_in_a_table_are_refused_before_anything_is_written(tmp_path, capsys):
    pq.write_table(rows({("d", "a", "m", "x/../../../../evil"): peaked(-1.0)}), tmp_path / "grid.parquet")
    out = tmp_path / "deep" / "out"
    assert main([f"results={tmp_path / 'grid.parquet'}", f"output_dir={out}"]) == 2
    assert "row 1: the explainer 'x/../../../../evil' cannot be part of file names" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["grid.parquet"]


def test_a_hostile_file_name_stays_text(tmp_path, capsys):
    folder = tmp_path / "a\n\\input{x}\n<script>=1"
    folder.mkdir()
    pq.write_table(rows({("d", "a", "m", "lime"): peaked(-1.0)}), folder / "grid.parquet")
    assert main([f"results={folder}", "figures=false"]) == 0
    assert "<script>=1/grid" not in (folder / "report.html").read_text()
    for path in (folder / "tables").glob("*.tex"):
        assert not any(line.startswith("\\input") for line in path.read_text().splitlines()), path.name
    assert "\n\\input" not in capsys.readouterr().out


def test_as_a_program_with_help():
    found = subprocess.run(
        [sys.executable, "-m", "bmx_grid", "analyse", "--help"], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert "results=PATH" in found.stdout
    code = "import sys, bmx_grid.commands.analyse; print(sorted(set(sys.modules) & set(sys.argv[1:])))"
    heavy = ["pyarrow", "pandas", "scipy", "sklearn"]
    found = subprocess.run([sys.executable, "-c", code, *heavy], capture_output=True, text=True, cwd=ROOT, check=True)
    assert found.stdout.strip() == "[]"
