"""The paper's tables: their contents against hand values, and the four ways they are written."""

import csv
import io
import math
import re

import numpy as np
import pytest
from bmx_grid.report.tables import results as tables_of_results
from bmx_grid.report.tables import settings as tables_of_settings
from bmx_grid.report.tables.all import paper_tables, write_tables
from some_tables import P, flat, peaked, random_surfaces, table

from bmx_grid.analysis.given import Options, Point
from bmx_grid.analysis.load import load_table
from bmx_grid.analysis.run import analyse
from bmx_grid.analysis.signature import signature
from bmx_grid.report.table import FORMATS, Cell, Table, as_csv, as_latex, as_markdown, as_text, latex

HERE = Options(fixed={"lime": Point(0.5, 0.5), "shap": Point(0.5, 0.5)})
# At (0.5, 0.5) the gains are lime +0.1 and -0.2, shap +0.05 and +0.02.
SURFACES = {
    ("d", "a", "m", "lime"): peaked(0.5, gain=0.1, baseline=0.5),
    ("d", "b", "m", "lime"): flat(0.4, 0.2),
    ("d", "a", "m", "shap"): peaked(0.5, gain=0.05, baseline=0.5),
    ("d", "b", "m", "shap"): peaked(0.5, gain=0.02, baseline=0.4),
}
SMALL = Table(
    "a_stem",
    "Title, 50 % of my_set",
    ("name", "r"),
    (
        ((Cell("my_metric|x"), Cell(1 / 3, ".4f", best=True, improved=True)), (Cell("b"), Cell(-0.25, ".4f"))),
        ((Cell("c"), Cell(math.nan, ".4f", best=True)), (Cell("d"), Cell(None))),
    ),
    ("A note with 5 %.", "sig|a_b"),
)


def shown(found):
    return [[cell.shown + "+" * cell.improved + "*" * cell.best for cell in row] for row in found.rows]


def test_text():
    assert as_text(SMALL).splitlines() == [
        "Title, 50 % of my_set",
        "name" + " " * 16 + "r",
        "-" * 21,
        "my_metric|x  0.3333+*",
        "b" + " " * 13 + "-0.2500",
        "-" * 21,
        "c" + " " * 16 + "n/a*",
        "d",
        "-" * 21,
        "A note with 5 %.",
        "sig|a_b",
    ]


def test_markdown():
    assert as_markdown(SMALL).splitlines() == [
        r"**Title, 50 % of my\_set**",
        "",
        "| name | r |",
        "| --- | ---: |",
        r"| my\_metric\|x | **0.3333+** |",
        "| b | -0.2500 |",
        "| c | **n/a** |",
        "| d |  |",
        "",
        "A note with 5 %.",
        "",
        r"sig\|a\_b",
    ]


def test_latex():
    assert as_latex(SMALL).splitlines() == [
        "% sig|a_b",
        r"% needs \usepackage{booktabs,graphicx}",
        r"\begin{table}",
        r"\centering\small",
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"name & r \\",
        r"\midrule",
        r"my\_metric\textbar{}x & \textbf{0.3333}\textsuperscript{+} \\",
        r"b & $-0.2500$ \\",
        r"\midrule",
        r"c & \textbf{n/a} \\",
        r"d &  \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\caption{Title, 50 \% of my\_set. A note with 5 \%.}",
        r"\label{tab:a_stem}",
        r"\end{table}",
    ]


def test_csv_holds_numbers_in_full_and_undefined_ones_empty():
    rows = list(csv.reader(io.StringIO(as_csv(SMALL))))
    assert rows == [["name", "r"], ["my_metric|x", repr(1 / 3)], ["b", "-0.25"], ["c", ""], ["d", ""]]


@pytest.mark.parametrize("sign", list(r"\{}_%&#$^~|<>"))
def test_no_sign_of_latex_is_left_alone(sign):
    escaped = latex(f"a{sign}b")
    assert escaped != f"a{sign}b"
    assert re.fullmatch(r"a\\(?:[{}_%&#$]|text[a-z]+\{\})b", escaped)


def test_a_row_of_other_length_is_refused():
    with pytest.raises(ValueError, match="x: 1 cells for 2 columns"):
        Table("x", "t", ("a", "b"), (((Cell("one"),),),), ())


def test_results_by_hand():
    (found,) = tables_of_settings.results(analyse(table(SURFACES), HERE))
    assert found.header == ("metric", "language pair", "baseline", "lime fixed", "shap fixed", "lime best", "shap best")
    assert shown(found) == [
        ["m", "a", "0.5000", "0.6000+*", "0.5500+", "0.6000+*", "0.5500+"],
        ["m", "b", "0.4000", "0.2000", "0.4200+*", "0.4000", "0.4200+*"],
        ["m", "average", "0.4500", "0.4000", "0.4850+*", "0.5000+*", "0.4850+"],
    ]


def test_a_setting_that_was_not_run_leaves_a_gap_and_no_average():
    analysis = analyse(table({names: one for names, one in SURFACES.items() if names != ("d", "b", "m", "lime")}), HERE)
    (found,) = tables_of_settings.results(analysis)
    assert [row[3] for row in shown(found)] == ["0.6000+*", "", "n/a"]
    assert [row[4] for row in shown(found)] == ["0.5500+", "0.4200+*", "0.4850+*"]


def test_held_out_tables_are_there_when_points_come_from_elsewhere():
    (found,) = tables_of_settings.held_out(analyse(table(SURFACES), HERE))
    assert found.stem == "held_out_d"
    assert [row[1:] for row in shown(found)] == [
        ["a", "0.5000", "0.6000+*", "0.5500+"],
        ["b", "0.4000", "0.2000", "0.4200+*"],
        ["average", "0.4500", "0.4000", "0.4850+*"],
    ]
    assert tables_of_settings.held_out(analyse(table(SURFACES))) == []


def test_selection_by_hand():
    found = tables_of_results.selection(analyse(table(SURFACES), HERE))
    cells = [dict(zip(found.header, row, strict=True)) for row in shown(found)]
    assert [row["explainer"] for row in cells] == ["lime", "shap", "all"]
    # lime's second setting is a tie of w = 1: its first point is p = -2, so that the median of p is -0.75.
    assert [cells[0][key] for key in ("median w", "median p", "n", "strict w", "strict p", "strict n")] == [
        *("0.75", "-0.75", "2"),
        *("0.5", "0.5", "1"),
    ]
    assert [[row[key] for key in ("better", "worse", "max gain", "mean gain")] for row in cells] == [
        ["1", "1", "+0.1000", "-0.05000"],
        ["2", "0", "+0.0500", "+0.03500"],
        ["3", "1", "+0.1000", "-0.00750"],
    ]


@pytest.mark.parametrize(
    ("segments", "expected"),
    [
        pytest.param(None, {}, id="not known"),
        pytest.param(
            {("d1", "a"): 5, ("d1", "b"): 5, ("d2", "a"): 1000, ("d2", "b"): 7},
            {"segments per pair": ["5", "7 to 1,000"], "segments": ["10", "1,007"]},
            id="known",
        ),
        pytest.param(
            {("d1", "a"): 5},
            {"segments per pair": ["5, 1 not known", "not known"], "segments": ["not known", "not known"]},
            id="some",
        ),
    ],
)
def test_data_sets(segments, expected):
    surfaces = random_surfaces(0, datasets=("d1", "d2"))
    found = tables_of_settings.datasets(analyse(table(surfaces)), segments)
    rows = {row[0]: row[1:] for row in shown(found)}
    assert rows["language pairs"] == ["a*", "a*"]
    assert rows["settings"] == ["4", "4"]
    assert {key: row for key, row in rows.items() if key.startswith("segments")} == expected
    assert any("does not say how many segments" in note for note in found.notes) == (segments is None)


def test_counts():
    found = tables_of_settings.counts(analyse(table(random_surfaces(0, explainers=("lime", "random")))))
    # 3 data sets of 2 pairs, 2 metrics, 2 explainers; 40 p and 2 w below 1.
    assert shown(found)[0] == ["d1", "2", "2", "2", "8", "40", "2", "640"]
    assert shown(found)[-1] == ["all", "2", "2", "2", "24", "40", "2", "1,920"]


@pytest.mark.parametrize(
    ("surfaces", "expected"),
    [
        pytest.param(random_surfaces(0, explainers=("lime", "random")), 11, id="several of everything"),
        pytest.param({("d", "a", "m", "lime"): peaked(0.5)}, 7, id="one setting: nothing to leave out"),
        pytest.param({("d", "a", "m", "random"): peaked(0.5)}, 2, id="controls only"),
        pytest.param({("d", "a", "m", "lime"): np.where(P[:, None] > 0, np.nan, flat())}, 7, id="undefined points"),
    ],
)
def test_every_table_is_written_four_ways_and_signed(surfaces, expected, tmp_path):
    analysis = analyse(table(surfaces))
    paths = write_tables(analysis, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in paths}
    assert len(paths) == expected * len(FORMATS)
    for path in paths:
        if path.suffix != ".csv":
            assert signature(analysis).translate({ord("|"): None}) in re.sub(r"[|\\]", "", path.read_text())
        else:
            lengths = {len(row) for row in csv.reader(io.StringIO(path.read_text()))}
            assert len(lengths) == 1
    for found in paper_tables(analysis):
        assert len(set(found.header)) == len(found.header)


def test_the_published_grid_gives_the_papers_tables(authors_grid):
    analysis = analyse(load_table(authors_grid))
    found = {one.stem: one for one in paper_tables(analysis)}
    assert shown(found["appendix_b_counts"])[-1][4:] == ["430", "600", "5", "1,290,000"]
    rows = {tuple(row[:2]): row[2:] for row in shown(found["results_eval4nlp21"])}
    # Baseline, then lime at its medians and at its best (the paper's Figure 3b).
    et_en = rows["xbertscore", "et-en"]
    assert (et_en[0], et_en[3], et_en[7]) == ("0.7072", "0.7206+*", "0.7234+*")
    lime = next(row for row in shown(found["selection_by_explainer"]) if row[0] == "lime")
    assert lime[1:9] == ["0.4", "-1.4", "68", "0.4", "-0.3", "54", "0.4", "-1.4"]
    assert lime[9:12] == ["40", "27", "1"]
    held = next(row for row in shown(found["leave_one_out"]) if row[:2] == ["dataset", "lime"])
    assert (held[3], held[5]) == ("40", "33")
    assert shown(found["ridge_coefficients"])[0] == ["language_pair", "de-zh", "+0.01263"]
