"""A finished sweep's folder analysed again: the sweep's own numbers, to the last bit, in every table.

What is right are the files and the analysis of the sweep itself, as it ran in this process.
"""

import html
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from fakes import composed, draw_nothing
from some_tables import peaked, rows

import bmx_grid as bmx
from bmx_grid.analysis.base import each_row
from bmx_grid.analysis.factors import fit_rows
from bmx_grid.analysis.finished import load_results
from bmx_grid.analysis.gains import settings_without_controls
from bmx_grid.analysis.load import from_arrow
from bmx_grid.analysis.points import chosen_points, selection
from bmx_grid.api.sweep import run_sweep
from bmx_grid.commands.analyse import main
from bmx_grid.core.errors import BmxError
from bmx_grid.measures.grid import Point
from bmx_grid.report import analysis_files
from bmx_grid.report.table import as_csv

pytestmark = pytest.mark.usefixtures("blank_figures")
FACTORS = ["dataset", "language_pair", "metric", "explainer"]
SMALL = (
    *("dataset=[sample]", "limit=12", "metric=[chrf]", "tracking=none", "executor=sequential", "cache_dir=cache"),
    *("grid.p={start: -3, stop: 3, step: 0.5}", "grid.w=[0,0.4,0.6]"),
)
FEW = ("evaluation.levels.resamples=40", "evaluation.significance.resamples=40")
BOOSTS = ("evaluation.boosts.resamples=40", "evaluation.boosts.draws=1")
PUBLISHED = "published points, which are not the medians"
OPTIONS = {
    PUBLISHED: (
        "explainer=[erasure,random]",
        *FEW,
        "evaluation=[grid,levels,significance]",
    ),
    "a point between those of the grid": ("explainer=[erasure]", "evaluation=[grid]", "grid.fixed.erasure.p=-0.95"),
    "no published point": ("explainer=[erasure]", "evaluation=[grid]", "~grid.fixed.erasure"),
    "another seed": ("explainer=[erasure]", "evaluation=[grid]", "seed=3"),
    "Kendall": ("explainer=[erasure]", *FEW, "evaluation=[grid,levels,significance]", "grid.correlation=kendall"),
    "one side": ("explainer=[erasure]", "evaluation=[grid]", "grid.side=hypothesis"),
    "infinite powers": (
        "explainer=[erasure]",
        "evaluation=[grid]",
        *("~grid.p", "+grid.p=[-inf,0,1,inf]"),
        "grid.fixed.erasure.p=-inf",
    ),
    "boosts with their grid": ("explainer=[erasure]", *BOOSTS, "evaluation=[grid,boosts]"),
    "boosts without a grid": ("explainer=[erasure]", *BOOSTS, "evaluation=[boosts]", "grid.correlation=spearman"),
    "metrics alone": ("metric=[chrf,sentence_bleu]", "explainer=[]", *FEW, "evaluation=[grid,levels,significance]"),
}


@pytest.fixture(scope="module")
def sweep(request, tmp_path_factory):
    """The run of a sweep with these of OPTIONS, and the analysis that it wrote its page and tables from; only read."""
    write = analysis_files.analyse_sweep
    analyses = []

    def recorded(*arguments, **options):
        result = write(*arguments, **options)
        analyses.append(result[0])
        return result

    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        draw_nothing(patch)
        patch.setattr(analysis_files, "analyse_sweep", recorded)
        folders = (f"output_dir={folder / 'out'}", f"cache_dir={folder / 'cache'}")
        run_sweep(composed(*SMALL, *OPTIONS[request.param], *folders))
    (own,) = analyses
    return bmx.Run(folder / "out"), own


@pytest.fixture
def copied(sweep, tmp_path, monkeypatch):
    """The working folder has the folder of such a sweep, out, of its own."""
    monkeypatch.chdir(tmp_path)
    run, _ = sweep
    shutil.copytree(run.place, "out")


def of(*names):
    """The sweeps of a test. Tests of one sweep are run after each other."""
    return pytest.mark.parametrize("sweep", names, indirect=True)


def tables_of(analysis):
    """By stem all that tables are made of: title, header, values, words and notes."""
    shown = {}
    for table in analysis.tables():
        rows = [[(repr(cell.value), cell.display_text, cell.marked) for cell in row] for row in table.rows]
        shown[table.stem] = (table.title, table.header, rows, table.notes)
    return shown


@of(*OPTIONS)
def test_every_table_of_the_folder_is_that_of_the_sweep(sweep):
    run, own = sweep
    expected = tables_of(own)
    assert expected
    assert tables_of(run.analysis) == expected


@of(PUBLISHED, "another seed", "infinite powers", "boosts with their grid")
def test_every_table_of_the_grids_beside_the_configuration_is_that_of_the_sweep(sweep):
    run, own = sweep
    again = tables_of(load_results(Path(run.place, "tables", "grid.parquet")).analyse())
    assert {stem: table[:3] for stem, table in again.items()} == {
        stem: table[:3] for stem, table in tables_of(own).items()
    }


@of(PUBLISHED, "Kendall", "boosts without a grid", "metrics alone")
def test_every_table_of_the_command_line_is_that_of_the_sweep(sweep, tmp_path, capsys):
    run, own = sweep
    assert main([str(run.place), "format=csv", f"output_dir={tmp_path / 'again'}"]) == 0
    capsys.readouterr()
    written = {file.stem: file.read_bytes().decode() for file in (tmp_path / "again" / "tables").iterdir()}
    assert written == {table.stem: as_csv(table) for table in own.tables()}


@of(PUBLISHED, "Kendall", "infinite powers")
def test_settings_and_points_are_one_number_in_all_tables(sweep):
    run, _ = sweep
    settings = run.settings.set_index(FACTORS)
    points = run.table("points").query("point == 'published'").set_index(FACTORS)
    found = run.analysis.compute_once(settings_without_controls)
    assert len(found)
    for row in each_row(found):
        setting_names = tuple(getattr(row, name) for name in FACTORS)
        stored = settings.loc[setting_names]
        names = ("baseline", "best", "best_w", "best_p", "fixed", "fixed_w", "fixed_p", "plateau")
        assert [stored[column] for column in names] == [getattr(row, column) for column in names]
        assert points.loc[setting_names, "gain"] == row.fixed_gain
    surface = run.grid[run.grid.w == 1].join(settings.baseline, on=FACTORS)
    assert (surface.correlation == surface.baseline).all(), "the metric alone is one number at every p"


@of("another seed")
def test_tables_that_the_analysis_wrote_are_its_own(sweep):
    run, _ = sweep
    for name, compute in (("selection", selection), ("ridge", fit_rows)):
        pd.testing.assert_frame_equal(
            run.table(name), run.analysis.compute_once(compute), check_dtype=False, check_exact=True
        )
    assert run.analysis.seed == 3
    assert np.isfinite(run.analysis.data_frames()["overview"]["mean gain"]).all()


@of(PUBLISHED)
def test_the_figure_of_a_setting_marks_the_published_point(sweep):
    run, _ = sweep
    row = run.settings.set_index("explainer").query("language_pair == 'de-en'").loc["erasure"]
    whole = run.plot("de-en", explainer="erasure").axes[0]
    (mark,) = [line for line in whole.lines if line.get_label() == "published point"]
    assert (mark.get_xdata()[0], mark.get_ydata()[0]) == (row.fixed_p, row.fixed)
    assert row.fixed_p in (-0.5, 0.0), "the published -0.3, at the nearest point of the grid"


@of(PUBLISHED)
def test_points_that_are_given_take_precedence(sweep):
    run, _ = sweep
    results = load_results(Path(run.place))
    given = results.analyse(fixed={"erasure": Point(p=1.0, w=0.4)})
    assert given.fixed == {"erasure": Point(p=1.0, w=0.4)}
    other = from_arrow(rows({("x", "a", "m", "erasure"): peaked(1.3)}))
    assert results.analyse(select_from=other).compute_once(chosen_points).loc["erasure", "p"] == 1.3
    assert results.analyse(select_from=other, fixed=given.fixed).fixed == given.fixed


def edited(config, **changes):
    """The text of a configuration with other values."""
    return yaml.safe_dump({**yaml.safe_load(config), **changes})


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        pytest.param(lambda text: None, "config.yaml not found: the published points", id="no configuration"),
        pytest.param(lambda text: edited(text, questions=["ext.q"]), "Skipped a question of the sweep", id="question"),
        pytest.param(
            lambda text: edited(text, evaluation={"mine": {"_target_": "ext.Mine"}}),
            "'ext.Mine' is outside",
            id="class",
        ),
    ],
)
@of(PUBLISHED)
@pytest.mark.usefixtures("copied")
def test_what_a_folder_lacks_is_said(edit, message):
    file = Path("out/config.yaml")
    text = edit(file.read_text())
    file.unlink()
    if text is not None:
        file.write_text(text)
    with pytest.warns(UserWarning, match=message):
        load_results(Path("out"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a: [", "config.yaml: cannot be read", id="no YAML"),
        pytest.param("[]", "config.yaml: expected the configuration of a sweep", id="no configuration"),
        pytest.param("evaluation: 5", "config.yaml: evaluation: expected", id="no evaluations"),
    ],
)
@of("another seed")
@pytest.mark.usefixtures("copied")
def test_a_damaged_configuration_is_refused(text, message):
    Path("out/config.yaml").write_text(text)
    with pytest.raises(BmxError, match=message):
        load_results(Path("out"))


EVALUATION = """
from dataclasses import dataclass
from typing import ClassVar

from bmx_grid.evaluations.base import Evaluation


@dataclass(frozen=True)
class Row:
    n: int


@dataclass(frozen=True)
class Sizes(Evaluation):
    ROWS: ClassVar[dict] = {"sizes": Row}
    QUESTIONS: ClassVar[tuple] = ("ext.question",)

    def evaluate_scope(self, settings):
        return [{"sizes": [Row(len(setting.segments))]} for setting in settings]
"""
QUESTION = """
from bmx_grid.analysis.base import Cell, Table


def compute(given):
    return {"n_files": len(given.settings)}


def tables(result):
    row = (Cell("all"), Cell(result["n_files"]))
    return [Table("how_many", "How many settings there are", ("settings", "n"), ((row,),), (), brief=True)]
"""


@pytest.fixture
def ext(tmp_path, monkeypatch):
    """A package of somebody else, whose evaluation brings a question, and the option that chooses it."""
    for name, text in {"__init__": "", "sizes": EVALUATION, "question": QUESTION}.items():
        (tmp_path / "ext").mkdir(exist_ok=True)
        (tmp_path / "ext" / f"{name}.py").write_text(text)
    (tmp_path / "conf" / "evaluation").mkdir(parents=True)
    (tmp_path / "conf" / "evaluation" / "sizes.yaml").write_text("sizes:\n  _target_: ext.sizes.Sizes\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("BMX_ALLOWED_PACKAGES", "ext")
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] == "ext"]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("evaluations", "chosen"),
    [
        pytest.param("levels,sizes", {}, id="of an evaluation, without a grid"),
        pytest.param("grid", {"questions": ["ext.question"]}, id="named, with a grid"),
    ],
)
def test_a_brief_question_of_another_package_is_in_terminal_page_and_folder(
    ext, evaluations, chosen, monkeypatch, capsys
):
    monkeypatch.chdir(ext)
    overrides = (*SMALL, "explainer=[erasure]", f"evaluation=[{evaluations}]", "dataset.sample.language_pairs=[de-en]")
    overrides += FEW[:1] if "levels" in evaluations else ()
    bmx.run(None, *overrides, output_dir="out", config_dir="conf", **chosen)
    assert capsys.readouterr().out.count("\nall       1\n") == 1
    assert "How many settings there are" in (ext / "out" / "report.html").read_text()
    assert main(["out"]) == 0
    assert capsys.readouterr().out.count("\nall       1\n") == 1
    assert "how_many" in bmx.Run("out").analysis.data_frames()


def test_a_question_that_fails_is_said_and_leaves_the_rest(ext, monkeypatch, capsys):
    monkeypatch.chdir(ext)
    (ext / "ext" / "question.py").write_text(QUESTION.replace("len(given.settings)", "1 // len(given.table)"))
    overrides = (*SMALL, *FEW[:1], "explainer=[erasure]", "evaluation=[levels,sizes]")
    bmx.run(None, *overrides, output_dir="out", config_dir="conf")
    said = "The question ext.question failed: ZeroDivisionError"
    assert said in " ".join(capsys.readouterr().out.split())
    assert "Correlation of the unboosted metrics" in (ext / "out" / "report.html").read_text()
    assert main(["out"]) == 0
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("evaluations", ["boosts", "boosts,levels", "grid,boosts"])
def test_verdicts_are_in_terminal_page_and_folder(evaluations, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    overrides = (*SMALL, *BOOSTS, "explainer=[erasure]", f"evaluation=[{evaluations}]", "grid.correlation=kendall")
    overrides += FEW[:1] if "levels" in evaluations else ()
    run = bmx.run(None, *overrides, output_dir="out")
    (verdict,) = run.table("verdicts").query("language_pair == 'all' and point == 'elsewhere'").itertuples()
    line = re.compile(rf"^{verdict.verdict} .*\bchrf .* {verdict.baseline:.3f} ", re.MULTILINE)
    screen = capsys.readouterr().out
    assert line.search(screen) and "gain in Kendall's τ over the baseline" in " ".join(screen.split())
    page = (tmp_path / "out" / "report.html").read_text()
    row = re.search(r'<table id="verdicts" .*?<tbody>.*?<tr>(.*?)</tr>', page, flags=re.DOTALL)[1]
    assert [text in row for text in ("chrF", "Erasure", f"</span> {verdict.verdict}</b>")] == [True] * 3
    assert "Kendall's τ: baseline → boosted" in html.unescape(page)
    assert line.search(run.summary())
    assert main(["out"]) == 0
    assert line.search(capsys.readouterr().out)
    assert set(run.settings.correlation) == {"kendall"}
