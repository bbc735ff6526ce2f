"""A question is one module: it is answered, written and shown without any other file knowing it."""

import importlib
import json
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from some_tables import flat, peaked, random_surfaces, rows, table

from bmx_grid.analysis import questions
from bmx_grid.analysis.base import FACTORS, Table
from bmx_grid.analysis.gains import settings_without_controls
from bmx_grid.analysis.paper_numbers import compare_with_paper
from bmx_grid.analysis.questions import (
    analyse_table,
    as_json_values,
    load_questions,
    to_dict,
    to_json,
    tracked_metrics,
)
from bmx_grid.commands.analyse import main
from bmx_grid.core.errors import ConfigError, DataError

SURFACES = random_surfaces(0, explainers=("lime", "random"), metrics=("m1", "m2", "random"))
# A question as somebody writes it outside this package: how wide the gains of an explainer are spread.
SPREAD = '''
"""How far apart the gains of an explainer lie."""

from bmx_grid.analysis.base import Column, Table
from bmx_grid.analysis.gains import settings_without_controls


def compute(tables):
    gains = tables.compute_once(settings_without_controls).groupby("explainer")["fixed_gain"]
    return {"gain_spread": gains.std(ddof=0).to_frame("deviation")}


def tables(result):
    columns = ("explainer", Column("deviation", form=".4f"))
    return [Table.from_rows("gain_spread", "Spread of gains", result["gain_spread"].reset_index(), columns, brief=True)]
'''


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package outside this one, with a question in it and a module that is none."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "spread.py").write_text(SPREAD)
    (folder / "empty.py").write_text("tables = None")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("BMX_ALLOWED_PACKAGES", "other,elsewhere")


def test_a_question_from_outside_is_in_json_tables_page_and_terminal(package, tmp_path, capsys):
    import pyarrow.parquet as pq

    pq.write_table(rows(SURFACES), tmp_path / "grid.parquet")
    arguments = [str(tmp_path), "questions=elsewhere.spread"]
    assert main([*arguments, "format=json"]) == 0
    spread = json.loads(capsys.readouterr().out)["gain_spread"]
    gains = analyse_table(table(SURFACES)).compute_once(settings_without_controls)["fixed_gain"]
    assert spread == {"lime": {"deviation": pytest.approx(float(np.std(gains)))}}
    for form, digits in (("text", ".4f"), ("markdown", ".4f"), ("latex", ".4f"), ("csv", "")):
        assert main([*arguments, f"format={form}"]) == 0
        assert format(spread["lime"]["deviation"], digits) in capsys.readouterr().out
    # as a sweep takes them
    for value in ("[elsewhere.spread]", "['elsewhere.spread']", "elsewhere.spread,elsewhere.spread"):
        assert main([str(tmp_path), f"questions={value}", "format=json"]) == 0
        assert json.loads(capsys.readouterr().out)["gain_spread"] == spread
    assert main([*arguments, f"output_dir={tmp_path}"]) == 0
    assert "Spread of gains" in (tmp_path / "report.html").read_text()
    assert "Spread of gains" in capsys.readouterr().out


def test_a_question_that_fails_when_imported_is_named_with_its_line(package, tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "elsewhere", raising=False)
    (tmp_path / "elsewhere" / "broken.py").write_text("import math\n\nmath.nothing\n")
    with pytest.raises(
        ConfigError, match=r"importing 'elsewhere.broken' fails: AttributeError: .*broken.py, line 3, in"
    ):
        questions.load_questions(["elsewhere.broken"])


# A question as somebody adds it: one file, with the columns that it reads of a table that no other question reads.
RATED = '''
"""How many segments people scored, and how high."""

from dataclasses import dataclass

from bmx_grid.analysis.base import Column, Table
from bmx_grid.evaluations.base import SettingRow


@dataclass(frozen=True)
class Scored(SettingRow):
    id: str
    human: float


def compute(tables):
    scores = tables.frame("scores", Scored)
    return {"rated": scores[scores["human"] > 0]}


def tables(result):
    return [Table.from_rows("rated", "Rated above 0", result["rated"], ("metric", "id", Column("human", form=".1f")))]
'''


def test_a_question_is_one_file_and_one_line_and_sees_every_table(tmp_path, monkeypatch):
    """The line is that of OF_GRIDS; the table of scores of a sweep is in no list of tables."""
    (tmp_path / "rated_above_0.py").write_text(RATED)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(questions, "OF_GRIDS", (*questions.OF_GRIDS, importlib.import_module("rated_above_0")))
    names = dict(zip(FACTORS, ("d1", "a", "m1", "lime"), strict=True))
    scores = pd.DataFrame([{**names, "id": name, "human": human, "other": 0} for name, human in (("x", 1), ("y", -1))])
    analysis = analyse_table(table(SURFACES), {"scores": scores}, questions.load_questions(()))
    assert to_dict(analysis)["rated"] == [{**names, "id": "x", "human": 1.0}]
    assert analysis.data_frames()["rated"].to_dict("records") == [{"metric": "m1", "id": "x", "human": 1.0}]
    broken = analyse_table(table(SURFACES), {"scores": scores.assign(human="high")}, questions.load_questions(()))
    with pytest.raises(DataError, match="the table scores: the column human holds .*string, not numbers"):
        to_dict(broken)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param("os.path", r"'os\.path' is outside the packages .*\(other, elsewhere\).* BMX_", id="not allowed"),
        pytest.param("elsewhere.sprad", r"module 'elsewhere\.sprad' not found", id="not there"),
        pytest.param("elsewhere.empty", "elsewhere.empty has no function compute and no tables", id="no question"),
        pytest.param("headline", "'headline' is outside the packages", id="no package"),
    ],
)
def test_what_is_no_question_is_refused(package, name, message):
    with pytest.raises(ConfigError, match=message):
        load_questions([name])


def test_guests_are_loaded_if_a_sweep_names_them_and_stand_before_the_questions_of_the_grid():
    code = "import sys; from bmx_grid.commands.analyse import main; main(sys.argv[1:]); print(*sys.modules)"
    call = [sys.executable, "-c", code, "--help"]
    loaded = subprocess.run(call, capture_output=True, text=True, check=True).stdout
    assert "bmx_grid.analysis.questions" in loaded and "bmx_grid.guests" not in loaded
    spans = "bmx_grid.guests.spans.error_spans"
    names = [question.__name__ for question in load_questions([spans, spans])]
    assert names.count(spans) == 1 and names.index(spans) < names.index("bmx_grid.analysis.points")
    without = to_dict(analyse_table(table(SURFACES)))
    assert without["spans"] is None and to_dict(analyse_table(table(SURFACES), {}, load_questions([spans]))) == without


def test_two_questions_may_not_write_the_same_key():
    second = SimpleNamespace(__name__="other", compute=lambda inputs: {"ridge": 1.0}, tables=lambda result: ())
    with pytest.raises(ConfigError, match=r"bmx_grid\.analysis\.factors and other both write 'ridge'"):
        to_dict(analyse_table(table(SURFACES), questions=(*load_questions(()), second)))


def test_frames_are_written_by_the_names_of_their_index_or_as_rows():
    rows = pd.DataFrame({"a": ["x", "x", "y"], "b": ["u", "v", "u"], "n": [1, 2, 3], "r": [0.5, np.nan, np.inf]})
    u, v, last = ({"n": n, "r": r} for n, r in ((1, 0.5), (2, None), (3, None)))
    assert as_json_values(rows.set_index(["a", "b"])) == {"x": {"u": u, "v": v}, "y": {"u": last}}
    assert as_json_values(rows)[2] == {"a": "y", "b": "u", **last}
    others = {"array": np.array([1.0, np.nan]), "number": np.float64(0.1), "flag": np.bool_(True), "none": None}
    assert as_json_values(others) == {"array": [1.0, None], "number": 0.1, "flag": True, "none": None}
    with pytest.raises(TypeError, match="a result holds object"):
        as_json_values({"x": object()})


def test_json_is_read_back_and_tracked_numbers_are_finite():
    analysis = analyse_table(table({**SURFACES, ("d1", "a", "m1", "lime"): np.where(np.arange(3) < 2, np.nan, flat())}))
    assert json.loads(to_json(analysis)) == to_dict(analysis)
    tracked = tracked_metrics(analysis)
    assert tracked and all(np.isfinite(value) for value in tracked.values())
    assert tracked["ridge/intercept"] == to_dict(analysis)["ridge"]["intercept"]
    assert tracked["medians/lime/w"] == to_dict(analysis)["medians"]["lime"]["w"]


def test_the_papers_numbers_are_said_in_lines():
    analysis = analyse_table(table(SURFACES))
    tracked = tracked_metrics(analysis)
    medians, ridge = compare_with_paper(analysis)
    point = f"LIME p {tracked['medians/lime/p']:g}, w {tracked['medians/lime/w']:g} (paper p -1.4, w 0.4)"
    assert point in medians
    assert ridge.startswith("Ridge regression of the gains of 12 settings: intercept ")
    assert ridge.endswith(f"R² {tracked['ridge/r2']:.2f}.")
    assert not [
        name for name in tracked_metrics(analysis) if name.split("/")[-1] in ("n", "better", "worse", "undefined")
    ]


def test_tables_are_data_frames_of_full_values():
    analysis = analyse_table(
        table({("d", "a", "m", "lime"): peaked(-1.0, gain=1 / 30), ("d", "b", "m", "lime"): flat()})
    )
    frames = analysis.data_frames()
    assert set(frames) == {shown.stem for shown in analysis.tables()}
    settings = frames["settings"].set_index("language pair")
    assert settings.loc["a", "in-sample best"] == pytest.approx(settings.loc["a", "baseline"] + 1 / 30, abs=1e-15)
    assert settings.loc["b", "w"] == 1.0 and settings["plateau"].dtype == np.int64
    assert list(Table("s", "t", ("a", "b"), (), ()).frame().columns) == ["a", "b"]


def test_nothing_but_controls_has_no_conclusion():
    analysis = analyse_table(table({("d", "a", "random", "lime"): flat()}))
    assert to_dict(analysis)["headline"] == [
        "The table holds control settings only (random metric or explainer): no conclusion is possible."
    ]
    assert [shown.stem for shown in analysis.tables()] == ["settings", "controls"]
