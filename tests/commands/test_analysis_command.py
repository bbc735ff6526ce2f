"""python -m bmx_grid analyse: what is written, what is said, and mistakes."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from some_tables import flat, peaked, random_surfaces, rows

from bmx_grid.commands.analyse import main

SURFACES = {
    **random_surfaces(0, datasets=("d1", "d2"), explainers=("lime", "random"), metrics=("m1", "m2", "random")),
    ("d1", "a", "m3", "lime"): flat(),
    ("d2", "a", "m3", "lime"): flat(),
}


@pytest.fixture
def results(tmp_path):
    pq.write_table(rows(SURFACES), tmp_path / "grid.parquet")
    return tmp_path


@pytest.fixture
def read(capsys):
    """read(*arguments) -> what the command gives as JSON."""

    def go(*arguments):
        assert main([*map(str, arguments), "format=json"]) == 0
        return json.loads(capsys.readouterr().out, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))

    return go


@pytest.mark.parametrize(
    ("form", "name"), [([], "report.html"), (["format=json"], "analysis.json"), (["format=text"], "tables/gains.txt")]
)
def test_files_of_somebody_else_are_not_replaced(form, name, results, tmp_path, capsys, blank_figures):
    assert main([str(results), *form, f"output_dir={tmp_path / 'out'}"]) == 0
    assert main([str(results), *form, f"output_dir={tmp_path / 'out'}"]) == 0  # its own are
    written = next(path for path in (tmp_path / "out").rglob("*.*") if path.match(f"*{Path(name).suffix}"))
    mine = tmp_path / "mine" / written.relative_to(tmp_path / "out")
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    capsys.readouterr()
    assert main([str(results), *form, f"output_dir={tmp_path / 'mine'}"]) == 2
    assert f"{mine} was not written by bmx_grid" in capsys.readouterr().err
    assert mine.read_text() == "mine"


def test_what_was_read_is_said_and_nothing_is_written(results, capsys):
    assert main([str(results)]) == 0
    shown = capsys.readouterr().out
    sentences = " ".join(shown.split())
    assert "26 settings, 2,080 correlations with w other than 1; 10 settings without" in sentences
    assert "No boost was judged on other segments" in sentences and "Gains at one (w, p) per explainer" in sentences
    assert max(len(line) for line in shown.splitlines() if "|" not in line) <= 120
    assert [path.name for path in results.iterdir()] == ["grid.parquet"]


def test_a_format_goes_to_standard_output_or_below_a_folder(results, tmp_path, capsys):
    assert main([str(results), "format=latex"]) == 0
    printed = capsys.readouterr().out
    assert main([str(results), "format=latex", f"output_dir={tmp_path / 'out'}"]) == 0
    file = tmp_path / "out" / "tables" / "ridge_coefficients.tex"
    assert file.read_text() in printed and str(file) in capsys.readouterr().out


def test_every_named_result_is_in_json(results, read):
    named = read(results)
    assert (named["n_settings"], named["n_correlations"], named["n_settings_without_controls"]) == (26, 2080, 10)
    assert {"w", "p", "n"} == set(named["medians"]["lime"]) and named["fixed"]["lime"]["n"] == 10
    assert set(named["ridge"]["coefficients"]) == {"d1", "d2", "a", "b", "m1", "m2", "m3", "lime"}
    assert set(named["leave_one_out"]) == {"dataset", "language_pair", "metric"}
    assert named["controls"]["random explainer"]["lime"]["n"] == 8
    assert named["controls"]["random metric"]["lime"]["n"] == 4
    assert len(named["settings"]) == 26
    assert named["settings"]["d2 · a · m3 · lime"]["best_p"] == -2.0
    assert named["settings"]["d2 · a · m3 · lime"]["ties_baseline"] is True


def test_parameters_of_another_table_are_applied(results, tmp_path, read):
    other = tmp_path / "other.parquet"
    pq.write_table(rows({("x", "a", "m", "lime"): peaked(1.3)}), other)
    named = read(results, f"select.from={other}")
    assert (named["fixed"]["lime"]["p"], named["fixed"]["lime"]["w"]) == (1.3, 0.5)
    assert "other.parquet, held out (no data set and language pair in common)" in named["fixed"]["lime"]["origin"]
    assert named["medians"]["lime"]["p"] != 1.3


def test_given_points_are_moved_to_the_nearest_of_the_grid(results, read, capsys):
    lime = read(results, "fixed.lime.w=0.5", "fixed.lime.p=-0.95")["fixed"]["lime"]
    assert (lime["p"], lime["used_p"]) == (-0.95, -1.0)
    point = ("fixed.lime.w=0.5", "fixed.lime.p=-13.1")
    assert main([str(results), *point]) == 0
    assert "p = -13.1, w = 0.5, which is not in this grid" in " ".join(capsys.readouterr().out.split())
    assert read(results, *point)["fixed"]["lime"]["undefined"] == 10


def test_all_figures_are_those_of_the_paper_and_of_each_setting(results, tmp_path, capsys, blank_figures):
    out = tmp_path / "out"
    assert main([str(results), f"output_dir={out}", "figures=all"]) == 0
    stems = [file.stem for file in (out / "figures").iterdir()]
    assert {"ridge", "gain_density_by_explainer", "best_w_and_p_by_explainer"} <= set(stems)
    assert sum(stem.startswith("correlation_over_p_") for stem in stems) == 26
    assert f"written: {out / 'figures'}\n         {out / 'report.html'}" in capsys.readouterr().out


def test_figures_are_written_in_the_formats_that_are_named(results, tmp_path, blank_figures):
    """The page shows them whatever the formats of the files are."""
    assert main([str(results), f"output_dir={tmp_path}", "figures.format=[png,pdf]", "figures=all"]) == 0
    files = [file.name for file in (tmp_path / "figures").iterdir()]
    assert {"ridge.png", "ridge.pdf"} <= set(files) and not [name for name in files if name.endswith(".svg")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["output_dir=x"], "PATH is missing", id="no table"),
        pytest.param(["HERE", "outputdir=x"], "unknown key 'outputdir'. Did you mean 'output_dir'?", id="key"),
        pytest.param(["results=HERE"], "unknown key 'results'", id="no key for paths"),
        pytest.param(["HERE", "format=pdf"], "format: unknown value 'pdf'", id="format"),
        pytest.param(["HERE", "--questions", "a.b"], "unknown option '--questions'. Available: --help.", id="option"),
        pytest.param(["HERE", "--format=csv"], "Keys have no dashes: format=VALUE", id="a key with dashes"),
        pytest.param(["HERE", "questions=[a.b"], "questions=[a.b", id="half a list"),
        pytest.param(["HERE", "questions=[1]"], "questions[0]: expected a text, got 1", id="no name"),
        pytest.param(["HERE", "figures=all"], "give output_dir=DIR, no format", id="figures without a folder"),
        pytest.param(
            ["HERE", "figures=al"], "figures.which: unknown value 'al'. Did you mean 'all'?", id="which figures"
        ),
        pytest.param(
            ["HERE", "output_dir=OUT", "figures.format=[svg,gif]"],
            "figures.format[1]: unknown value 'gif'. Available: pdf, png, svg.",
            id="format of figures",
        ),
        pytest.param(["HERE", "HERE", "questions=x"], "questions: several sweeps are compared with", id="of one sweep"),
        pytest.param(["HERE", "fixed.lime.p=-1"], "fixed.lime: w must be given, as fixed.lime.w=VALUE", id="half"),
        pytest.param(["HERE", f"output_dir={__file__}"], "is a file; name a folder", id="a file"),
        pytest.param(["HERE", "fixed.lime.p=nan", "fixed.lime.w=0.5"], "fixed.lime: a p of the grid is NaN", id="NaN"),
        pytest.param(["HERE", "fixed.lime.q=1"], "fixed.lime: unknown key 'q'", id="no coordinate"),
        pytest.param(
            ["HERE", "fixed.lmie.p=1", "fixed.lmie.w=1"], "unknown explainer 'lmie'. Did you mean 'lime'?", id="name"
        ),
        pytest.param(["HERE", "select.from=HERE"], "shares 10 settings with it: d1 · a · m1 · lime; ", id="itself"),
        pytest.param(["HERE", "format=json", "output_dir=/dev/null/x"], "cannot write /dev/null/x/", id="folder"),
    ],
)
def test_mistakes_are_one_sentence_and_status_2(results, capsys, arguments, message):
    assert main([argument.replace("HERE", str(results)) for argument in arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.startswith("error: ")
    assert "Traceback" not in captured.err


def test_hostile_names_in_a_table_are_refused_before_anything_is_written(tmp_path, capsys):
    pq.write_table(rows({("d", "a", "m", "x/../../../../evil"): peaked(-1.0)}), tmp_path / "grid.parquet")
    out = tmp_path / "deep" / "out"
    assert main([str(tmp_path / "grid.parquet"), f"output_dir={out}"]) == 2
    assert "row 1: the explainer 'x/../../../../evil' cannot be part of file names" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["grid.parquet"]


def test_a_hostile_file_name_stays_text(tmp_path, capsys):
    folder = tmp_path / "a\n\\input{x}\n<script>=1"
    folder.mkdir()
    pq.write_table(rows({("d", "a", "m", "lime"): peaked(-1.0)}), folder / "grid.parquet")
    for form in ("text", "latex", "markdown", "json"):
        assert main([str(folder), f"format={form}"]) == 0
        assert "\n\\input" not in capsys.readouterr().out
    assert main([str(folder), f"output_dir={tmp_path / 'out'}"]) == 0
    assert "<script>=1" not in (tmp_path / "out" / "report.html").read_text()
