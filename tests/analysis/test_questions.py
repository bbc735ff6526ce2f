"""A question is one module: it is answered, written and shown without any other file knowing it."""

import json
import re
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from some_frames import frames, verdicts
from some_tables import flat, peaked, random_surfaces, rows, table

from bmx_grid.analysis import fixed
from bmx_grid.analysis.as_json import as_plain, headline_numbers, numbers, plain, to_json
from bmx_grid.analysis.base import Cell, Table, inlined, point_cells, working, written
from bmx_grid.analysis.given import Given, Options, Point
from bmx_grid.analysis.questions import QUESTIONS, with_others
from bmx_grid.analysis.run import analyse
from bmx_grid.commands.analyse import main
from bmx_grid.errors import ConfigError

SURFACES = random_surfaces(0, explainers=("lime", "random"), metrics=("m1", "random"))
# A question as somebody writes it outside this package: how wide the gains of an explainer are spread.
SPREAD = '''
"""How far apart the gains of an explainer lie."""

from dataclasses import dataclass

import numpy as np

from bmx_grid.analysis import fixed
from bmx_grid.analysis.base import Cell, Table, working


@dataclass(frozen=True)
class Spread:
    """The standard deviation of the gains at the fixed points, by explainer."""

    gain_spread: dict
    unit: str = working()


def compute(given):
    gain = given.ask(fixed.compute).evaluation.gain
    real = given.real
    found = {name: float(np.nanstd(gain[real.where(explainer=name)])) for name in real.factor_levels("explainer")}
    return Spread(found, "correlation")


def tables(result):
    rows = tuple((Cell(name), Cell(value, ".4f")) for name, value in result.gain_spread.items())
    header, notes = ("explainer", "deviation"), (f"In {result.unit}.",)
    return [Table("gain_spread", "Spread of gains", header, (rows,), notes, brief=True)]
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
    asked = [str(tmp_path), "questions=elsewhere.spread"]
    assert main([*asked, "format=json"]) == 0
    found = json.loads(capsys.readouterr().out)["gain_spread"]
    gains = analyse(table(SURFACES)).fixed.gain
    assert found == {"lime": pytest.approx(float(np.std(gains)))}
    for form, digits in (("text", ".4f"), ("markdown", ".4f"), ("latex", ".4f"), ("csv", "")):
        assert main([*asked, f"format={form}"]) == 0
        assert format(found["lime"], digits) in capsys.readouterr().out
    assert main([*asked, f"output_dir={tmp_path}"]) == 0
    assert "Spread of gains" in (tmp_path / "report.html").read_text()
    assert "Spread of gains" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param("os.path", r"'os\.path' is outside the packages .*\(other, elsewhere\).* BMX_", id="not allowed"),
        pytest.param("elsewhere.sprad", r"there is no module 'elsewhere\.sprad'", id="not there"),
        pytest.param("elsewhere.empty", "elsewhere.empty has no function compute and no tables", id="no question"),
        pytest.param("headline", "'headline' is outside the packages", id="no package"),
    ],
)
def test_what_is_no_question_is_refused(package, name, message):
    with pytest.raises(ConfigError, match=message):
        with_others([name])


def test_a_question_of_this_package_named_again_is_asked_once():
    assert with_others([QUESTIONS[0].__name__]) == QUESTIONS


def test_every_question_has_compute_and_tables_and_answers_once():
    analysis = analyse(table(SURFACES))
    answers = analysis.answers()
    assert list(answers) == [question.__name__ for question in QUESTIONS]
    assert all(analysis.ask(question.compute) is answers[question.__name__] for question in QUESTIONS)
    stems = [one.stem for one in analysis.tables()]
    assert len(set(stems)) == len(stems)


def test_names_are_written_as_they_are_read():
    surfaces = {("Ü", "日", "m", "lime"): peaked(-1.0)}
    assert '"Ü · 日 · m · lime"' in to_json(analyse(table(surfaces)))


def test_without_tests_nothing_is_marked():
    cells = [cell for one in analyse(table(SURFACES)).tables() for row in one.rows for cell in row]
    assert cells and not any(cell.marked for cell in cells)


@pytest.mark.parametrize(
    ("beside", "brief"),
    [
        pytest.param({}, {"overview"}, id="the grid alone"),
        pytest.param(frames({("d1", "a", "m1", "lime"): 0.1}), {"overview"}, id="tests"),
        pytest.param({"verdicts": verdicts({"metric": "m1"})}, {"overview"}, id="verdicts"),
    ],
)
def test_columns_of_names_come_first_and_few_tables_are_brief(beside, brief):
    made = analyse(table(SURFACES), Options(fixed={"lime": Point(0.5, 0.5)}), frames=beside).tables()
    for one in made:
        texts = [all(isinstance(row[at].value, str) for row in one.rows) for at in range(len(one.header))]
        assert not one.rows or one.names == [*texts, False].index(False), one.stem
    assert {one.stem for one in made if one.brief} == brief


def test_two_questions_may_not_write_the_same_key():
    @dataclass(frozen=True)
    class Result:
        ridge: float

    class Other:
        @staticmethod
        def compute(given):
            return Result(1.0)

        @staticmethod
        def tables(result):
            return ()

    with pytest.raises(ConfigError, match=r"bmx_grid\.analysis\.regression and Other both write 'ridge'"):
        plain(analyse(table(SURFACES), questions=(*QUESTIONS, Other)))


def test_results_are_written_as_their_fields_say():
    @dataclass(frozen=True)
    class Inner:
        a: int
        b: float

    @dataclass(frozen=True)
    class Result:
        pairs: dict
        array: np.ndarray
        number: np.float64
        flag: np.bool_
        nothing: float
        inner: Inner = inlined()
        other: Inner = inlined("other_", only=("b",))
        rounded: np.ndarray = written("short", digits=2)
        hidden: object = working()

    result = Result(
        {("a", "b"): 1, ("a", "c"): Inner(1, np.inf)},
        *(np.array([1.0, np.nan]), np.float64(0.1), np.bool_(True), float("nan"), Inner(2, 0.5), Inner(3, 0.25)),
        np.array([1.234, 0.0]),
        object(),
    )
    assert as_plain(result) == {
        "pairs": {"a": {"b": 1, "c": {"a": 1, "b": None}}},
        **{"array": [1.0, None], "number": 0.1, "flag": True, "nothing": None, "a": 2, "b": 0.5, "other_b": 0.25},
        "short": [1.2, 0.0],
    }
    with pytest.raises(TypeError, match="a Result holds object"):
        as_plain({"x": object()})


def test_json_is_read_back_and_tracked_numbers_are_finite():
    analysis = analyse(table({**SURFACES, ("d1", "a", "m1", "lime"): np.where(np.arange(3) < 2, np.nan, flat())}))
    assert json.loads(to_json(analysis)) == plain(analysis)
    assert len(headline_numbers(analysis)) == 9
    for found in (headline_numbers(analysis), numbers(analysis)):
        assert found
        assert all(np.isfinite(value) for value in found.values())


def test_tables_are_data_frames_of_full_values():
    analysis = analyse(table({("d", "a", "m", "lime"): peaked(-1.0, gain=1 / 30), ("d", "b", "m", "lime"): flat()}))
    frames = analysis.data_frames()
    assert set(frames) == {one.stem for one in analysis.tables()}
    settings = frames["settings"].set_index("language_pair")
    assert settings.loc["a", "gain"] == pytest.approx(1 / 30, abs=1e-15)
    assert settings.loc["b", "best_w"] == 1.0
    assert settings["plateau"].dtype == np.int64
    assert frames["selection_by_explainer"]["median w"].tolist() == [0.75]
    made = Table(
        "s", "t", ("name", "n", "r"), (((Cell("a"), Cell(1), Cell(None)), (Cell("b"), Cell(2), Cell(0.5))),), ()
    )
    expected = pd.DataFrame({"name": ["a", "b"], "n": [1, 2], "r": [np.nan, 0.5]})
    pd.testing.assert_frame_equal(made.frame(), expected)
    empty = Table("s", "t", ("a", "b"), (), ())
    assert list(empty.frame().columns) == ["a", "b"]


def test_points_with_w_1_read_metric_alone():
    assert [cell.shown for cell in point_cells(0.4, -1.4)] == ["0.4", "-1.4"]
    assert [cell.shown for cell in point_cells(1.0, -30.0)] == ["1", "metric alone"]
    analysis = analyse(table({("d", pair, "m", "lime"): flat() for pair in "ab"}))
    (overview,) = [one for one in analysis.tables() if one.stem == "overview"]
    assert [cell.shown for cell in overview.rows[0]][1:3] == ["1", "metric alone"]


def test_headline_is_cautious():
    analysis = analyse(table(SURFACES))
    told = " ".join([*plain(analysis)["answers"], *plain(analysis)["headline"]])
    assert "No boost was judged on other segments" in told
    assert "have a mean gain above 0 (one-sided sign test p = " in told
    assert re.search(r"The largest gain, \+0\.\d+, comes from a baseline of 0\.\d+", told)
    assert "Across data sets (transfer:" in told
    assert "held-out" not in told
    (overview,) = [one for one in analysis.tables() if one.stem == "overview"]
    said = "Transfer: at the median point of the settings of the other data sets; in-sample: of all settings of the"
    assert [note.startswith(said) for note in overview.notes].count(True) == 1
    assert overview.header[-2:] == ("in-sample mean gain", "transfer mean gain")
    assert "random" not in told  # controls are judged where they were chosen: they are in their table only
    (controls,) = [one for one in analysis.tables() if one.stem == "controls"]
    assert not controls.brief
    assert "at the points of the real explainers" in controls.notes[0]


def test_nothing_but_controls_has_no_conclusion():
    analysis = analyse(table({("d", "a", "random", "lime"): flat()}))
    assert plain(analysis)["headline"] == [
        "The table holds control settings only (random metric or explainer): there is nothing to conclude."
    ]
    assert [one.stem for one in analysis.tables()] == ["datasets", "counts", "controls", "settings"]


def test_answers_are_computed_when_asked_and_kept():
    given, asked = Given(table(SURFACES), Options()), []

    def compute(one):
        asked.append(one)
        return one.ask(fixed.compute)

    assert given.ask(compute) is given.ask(compute) is given.ask(fixed.compute)
    assert asked == [given]


def test_a_column_given_twice_is_refused():
    with pytest.raises(ValueError, match="s: a column name is given twice"):
        Table("s", "t", ("a", "a"), (), ())
